"""Test sets made from a corpus: questions written by a judge, filtered by rules and by a judge."""
