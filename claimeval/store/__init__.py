"""Raw replies on disk: the store, what a row holds, locks between processes, statistics and transfer.

Knows bytes and keys, never what a reply means.
"""
