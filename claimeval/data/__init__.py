"""Input: samples, corpora, grades and labels from JSON Lines, JSON, CSV and Parquet, and files of
other tools."""
