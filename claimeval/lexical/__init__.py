"""Lexical metrics: compare the words of an answer with contexts and references, deterministically
and without a judge.

`METRICS` has K-precision (faithfulness to the contexts), and for correctness against reference
answers token recall, precision and F1, strict recall, exact match, containment and ROUGE-L.
`OVERLAP_METRICS` has ROUGE-1, ROUGE-2, ROUGE-Lsum, BLEU and chrF, which other libraries compute.

>>> from claimeval import lexical
>>> lexical.score_one("It is Paris.", references=["Paris"], metrics=["token_recall"])
{'token_recall': 1.0, 'answer_length': 3.0}
"""

from claimeval.lexical.metrics import (
    ALL_METRICS,
    METRICS,
    OVERLAP_METRICS,
    LexicalMean,
    LexicalMetric,
    LexicalSample,
    LexicalScores,
    score,
    score_one,
    summarize,
    versions_of,
)
from claimeval.lexical.words import NORMALIZATIONS, is_unspaced_script, normalize

__all__ = [
    "ALL_METRICS",
    "METRICS",
    "NORMALIZATIONS",
    "OVERLAP_METRICS",
    "LexicalMean",
    "LexicalMetric",
    "LexicalSample",
    "LexicalScores",
    "is_unspaced_script",
    "normalize",
    "score",
    "score_one",
    "summarize",
    "versions_of",
]
