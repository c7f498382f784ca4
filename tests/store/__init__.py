"""Tests of the store of replies."""
