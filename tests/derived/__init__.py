"""Tests of the metrics that are read off verdicts."""
