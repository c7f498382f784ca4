"""What a judge is asked and how its words are read, one file a question. Pure: no provider, no network, no clock."""
