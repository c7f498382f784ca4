"""Each prints one table, against a peer or a floor in the same run."""
