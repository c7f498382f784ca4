"""Experiments: prompt variants, judges and panels over the same samples, compared in pairs.

`design` reads what is to be varied, `running` carries the arms out over one store, so that a question that two arms
share is asked once, `results` adds up and compares, `printing` writes tables.
"""
