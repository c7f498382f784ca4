"""Raw replies on disk: the store, the format of its rows, locks between processes, statistics and transfer.

Knows bytes and keys, never what a judge says in a reply.
"""
