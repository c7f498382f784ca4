"""Past one machine: a run in shards and how they are merged into the files that one process writes, the one asker,
and Ray.

Knows jobs and run directories; knows nothing of data files, doors or terminals.
"""
