"""The front doors, blocking and asynchronous. The command line calls these; they know no
terminal."""
