"""Finished runs: the directory, votes and judgements made again, comparison, human labels, experiments, imports."""
