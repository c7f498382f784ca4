"""The reply cache: raw replies on disk, locks between processes, learned settings, statistics,
export and import.

Replies are bytes under keys here; they are parsed in `judging`.
"""
