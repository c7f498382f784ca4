"""The table of metrics, the matrix of claims and documents, formulas, and the way from labels to scores and summaries.

Knows labels, never how they were asked for.
"""
