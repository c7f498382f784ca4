"""Experiments: prompt variants, judges and panels over the same samples, compared in pairs."""
