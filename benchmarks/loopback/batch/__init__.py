"""Files and batches of both providers, kept in a folder so that a restarted server goes on where it was."""
