"""Files and batches of both providers, stored in a folder so that a restarted server continues with
them."""
