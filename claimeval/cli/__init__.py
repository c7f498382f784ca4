"""The command line: one file a command, put together in `main`."""
