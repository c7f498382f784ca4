"""The front doors of what judges are asked besides claims, blocking and, with an `a` before the name, asynchronous.

Each blocking one works inside a running event loop too.
"""
