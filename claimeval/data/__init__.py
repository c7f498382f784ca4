"""Samples in: JSON Lines, JSON, CSV, Parquet, and the files of other tools, recognised by their shape."""

from claimeval.data.reading import read_samples

__all__ = ["read_samples"]
