"""Runs on several machines: shards and their merging, and Ray.

Knows jobs and run directories, but no data files, public functions or terminals.
"""
