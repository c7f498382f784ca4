"""Lexical metrics: what can be said of an answer by comparing words, deterministic and without a judge.

K-precision (faithfulness to the contexts), token recall, precision and F1, strict recall, exact match, answer
containment and ROUGE-L (correctness against reference answers). `METRICS` is the table of them.

>>> from claimeval import lexical
>>> lexical.measure("It is Paris.", references=["Paris"], metrics=["token_recall"])
{'token_recall': 1.0, 'answer_length': 3.0}
"""

from claimeval.lexical.metrics import METRICS, Metric
from claimeval.lexical.scoring import Mean, Row, Texts, measure, score, summarise
from claimeval.lexical.words import NORMALISATIONS, normalise, unspaced

__all__ = [
    "METRICS",
    "NORMALISATIONS",
    "Mean",
    "Metric",
    "Row",
    "Texts",
    "measure",
    "normalise",
    "score",
    "summarise",
    "unspaced",
]
