"""What runs on this machine without a provider: the lexical support score and the claim splitter it uses."""
