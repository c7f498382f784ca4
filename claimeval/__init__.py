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
    from claimeval.api import Report, ascore, score
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

_HOMES = {
    "api": ("Report", "ascore", "score"),
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
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "METRICS",
    "Assessment",
    "Call",
    "Claim",
    "ClaimMetric",
    "ClaimevalError",
    "DataError",
    "Document",
    "Extraction",
    "Judge",
    "Manifest",
    "MetricSummary",
    "Panel",
    "PromptError",
    "Report",
    "Sample",
    "SampleResult",
    "Score",
    "StoppedEarly",
    "StoreError",
    "Summary",
    "UsageError",
    "Verdict",
    "arejudge",
    "ascore",
    "compare",
    "read_samples",
    "rejudge",
    "score",
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
