"""Verdicts in replies that other tools recorded, read in strict forms.

A text that says both, or neither, is refused.
"""
