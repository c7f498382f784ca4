"""Input: samples, corpora, grades and labels from JSON Lines, JSON, CSV and Parquet, and files of other tools."""

from claimeval.data.reading import read_samples

__all__ = ["read_samples"]
