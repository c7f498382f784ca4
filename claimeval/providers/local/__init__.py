"""Engines that run on this machine: entailment, perplexity, reward and the lexical judge.

Nothing here opens a connection.
"""
