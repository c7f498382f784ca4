"""claimeval: how far the answers of a question-answering system can be trusted, claim by claim.

>>> import claimeval as ce
>>> report = ce.score("answers.jsonl", judges=["openai:gpt-5-mini"])  # doctest: +SKIP
>>> report.summary["faithfulness"].mean  # doctest: +SKIP
0.91

Importing does nothing but this; every name is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claimeval.api.claims import arejudge, ascore, rejudge, score
    from claimeval.api.comparison import compare
    from claimeval.api.data import read_samples
    from claimeval.api.ratings import (
        agrade,
        arate,
        grade,
        rate,
    )
    from claimeval.api.run import Run
    from claimeval.api.test_sets import WrittenSet, awrite_queries, draw_sample, write_queries
    from claimeval.evaluation.baseline import RatingComparison
    from claimeval.evaluation.manifest import Manifest
    from claimeval.evaluation.summary.run import Summary
    from claimeval.metrics.rows import METRICS, Metric
    from claimeval.metrics.scoring import MetricSummary, SampleScores
    from claimeval.runs.scores import ScoresSummary
    from claimeval.runs.track import track
    from claimeval.types.errors import ClaimevalError, DataError, PromptError, StoppedEarly, StoreError, UsageError
    from claimeval.types.options import PanelOptions, RunOptions
    from claimeval.types.records import (
        Assessment,
        Call,
        Claim,
        Document,
        Extraction,
        Sample,
        SampleResult,
        Score,
        Verdict,
    )
    from claimeval.types.requests import Judge

_HOMES = {
    "api.claims": (
        "arejudge",
        "ascore",
        "rejudge",
        "score",
    ),
    "api.comparison": ("compare",),
    "api.data": ("read_samples",),
    "api.ratings": (
        "agrade",
        "arate",
        "grade",
        "rate",
    ),
    "api.test_sets": (
        "WrittenSet",
        "awrite_queries",
        "draw_sample",
        "write_queries",
    ),
    "evaluation.baseline": ("RatingComparison",),
    "evaluation.manifest": ("Manifest",),
    "evaluation.summary.run": ("Summary",),
    "metrics.rows": (
        "METRICS",
        "Metric",
    ),
    "metrics.scoring": ("MetricSummary", "SampleScores"),
    "api.run": ("Run",),
    "runs.scores": ("ScoresSummary",),
    "runs.track": ("track",),
    "types.errors": (
        "ClaimevalError",
        "DataError",
        "PromptError",
        "StoppedEarly",
        "StoreError",
        "UsageError",
    ),
    "types.options": (
        "PanelOptions",
        "RunOptions",
    ),
    "types.records": (
        "Assessment",
        "Call",
        "Claim",
        "Document",
        "Extraction",
        "Sample",
        "SampleResult",
        "Score",
        "Verdict",
    ),
    "types.requests": ("Judge",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "METRICS",
    "Assessment",
    "Call",
    "Claim",
    "ClaimevalError",
    "DataError",
    "Document",
    "Extraction",
    "Judge",
    "Manifest",
    "Metric",
    "MetricSummary",
    "PanelOptions",
    "PromptError",
    "RatingComparison",
    "Run",
    "RunOptions",
    "Sample",
    "SampleResult",
    "SampleScores",
    "Score",
    "ScoresSummary",
    "StoppedEarly",
    "StoreError",
    "Summary",
    "UsageError",
    "Verdict",
    "WrittenSet",
    "agrade",
    "arate",
    "arejudge",
    "ascore",
    "awrite_queries",
    "compare",
    "draw_sample",
    "grade",
    "rate",
    "read_samples",
    "rejudge",
    "score",
    "track",
    "write_queries",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("claimeval")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'claimeval' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"claimeval.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
