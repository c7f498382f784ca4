"""Metrics: the tables of metrics and their formulas, scores of samples from labels, and summaries
of runs."""
