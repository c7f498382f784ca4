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
    from claimeval.answers.baseline import Baseline
    from claimeval.api import Report, ascore, score
    from claimeval.asking.answers import Ratings, arate_answers, asort_answers, rate_answers, sort_answers
    from claimeval.asking.how import How
    from claimeval.asking.reports import SideReport
    from claimeval.asking.retrieved import (
        Grading,
        agrade_relevance,
        ascore_retrieval,
        grade_relevance,
        score_retrieval,
    )
    from claimeval.asking.test_sets import WrittenSet, awrite_queries, draw_sample, write_queries
    from claimeval.calls import Judge
    from claimeval.comparing import compare
    from claimeval.data.reading import read_samples
    from claimeval.errors import ClaimevalError, DataError, PromptError, StoppedEarly, StoreError, UsageError
    from claimeval.metrics import METRICS, ClaimMetric
    from claimeval.panel import Panel
    from claimeval.records import (
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
    from claimeval.rejudging import arejudge, rejudge
    from claimeval.run import Manifest, Summary
    from claimeval.scoring import MetricSummary
    from claimeval.side_scores import SideMetric, SideRow, SideSummary
    from claimeval.tracking import track

_HOMES = {
    "answers.baseline": ("Baseline",),
    "api": ("Report", "ascore", "score"),
    "asking.answers": ("Ratings", "arate_answers", "asort_answers", "rate_answers", "sort_answers"),
    "asking.how": ("How",),
    "asking.reports": ("SideReport",),
    "asking.retrieved": ("Grading", "agrade_relevance", "ascore_retrieval", "grade_relevance", "score_retrieval"),
    "asking.test_sets": ("WrittenSet", "awrite_queries", "draw_sample", "write_queries"),
    "calls": ("Judge",),
    "comparing": ("compare",),
    "data.reading": ("read_samples",),
    "errors": ("ClaimevalError", "DataError", "PromptError", "StoppedEarly", "StoreError", "UsageError"),
    "metrics": ("METRICS", "ClaimMetric"),
    "records": (
        *("Assessment", "Call", "Claim", "Document", "Extraction"),
        *("Sample", "SampleResult", "Score", "Verdict"),
    ),
    "panel": ("Panel",),
    "rejudging": ("arejudge", "rejudge"),
    "run": ("Manifest", "Summary"),
    "scoring": ("MetricSummary",),
    "side_scores": ("SideMetric", "SideRow", "SideSummary"),
    "tracking": ("track",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "METRICS",
    "Assessment",
    "Baseline",
    "Call",
    "Claim",
    "ClaimMetric",
    "ClaimevalError",
    "DataError",
    "Document",
    "Extraction",
    "Grading",
    "How",
    "Judge",
    "Manifest",
    "MetricSummary",
    "Panel",
    "PromptError",
    "Ratings",
    "Report",
    "Sample",
    "SampleResult",
    "Score",
    "SideMetric",
    "SideReport",
    "SideRow",
    "SideSummary",
    "StoppedEarly",
    "StoreError",
    "Summary",
    "UsageError",
    "Verdict",
    "WrittenSet",
    "agrade_relevance",
    "arate_answers",
    "arejudge",
    "ascore",
    "ascore_retrieval",
    "asort_answers",
    "awrite_queries",
    "compare",
    "draw_sample",
    "grade_relevance",
    "rate_answers",
    "read_samples",
    "rejudge",
    "score",
    "score_retrieval",
    "sort_answers",
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
