"""What runs on this machine without a provider: the lexical support score, the claim splitter, and neural models."""
