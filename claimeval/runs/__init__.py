"""Finished runs: the directory, votes and judgments made again, comparison, human labels,
experiments, imports."""
