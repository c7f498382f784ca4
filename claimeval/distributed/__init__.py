"""Runs on several machines: shards and their merging, a shared server for calls (`serve`), and Ray.

Knows jobs and run directories, but no data files, public functions or terminals.
"""
