"""The lexical support score: how far the words of a text carry a claim. No model."""
