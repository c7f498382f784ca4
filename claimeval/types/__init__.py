"""The nouns: records, requests, scales, families, options and errors. No I/O, and no other room.

The records that doors return can be imported from here, `from claimeval.types import Verdict`; each is loaded from the
room that makes it when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claimeval.api.comparison import Comparison
    from claimeval.api.data import DrawnRows
    from claimeval.api.people import Annotation
    from claimeval.data.survey import Survey
    from claimeval.evaluation.forecast.walk import Forecast
    from claimeval.evaluation.manifest import Manifest
    from claimeval.evaluation.summary.run import Summary
    from claimeval.metrics.scoring import MetricSummary
    from claimeval.runs.labels.agreement import Agreement
    from claimeval.runs.labels.correct import Correction
    from claimeval.runs.slices import Slices
    from claimeval.types.errors import PromptError
    from claimeval.types.estimates import Cost, Estimate
    from claimeval.types.progress import Progress
    from claimeval.types.records import Assessment, Call, Claim, Evidence, Extraction, SampleResult, Score, Verdict
    from claimeval.types.scales import Scale

_HOMES = {
    "api.comparison": ("Comparison",),
    "api.data": ("DrawnRows",),
    "api.people": ("Annotation",),
    "data.survey": ("Survey",),
    "evaluation.forecast.walk": ("Forecast",),
    "evaluation.manifest": ("Manifest",),
    "evaluation.summary.run": ("Summary",),
    "metrics.scoring": ("MetricSummary",),
    "runs.labels.agreement": ("Agreement",),
    "runs.labels.correct": ("Correction",),
    "runs.slices": ("Slices",),
    "types.errors": ("PromptError",),
    "types.estimates": ("Cost", "Estimate"),
    "types.progress": ("Progress",),
    "types.records": ("Assessment", "Call", "Claim", "Evidence", "Extraction", "SampleResult", "Score", "Verdict"),
    "types.scales": ("Scale",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Agreement",
    "Annotation",
    "Assessment",
    "Call",
    "Claim",
    "Comparison",
    "Correction",
    "Cost",
    "DrawnRows",
    "Estimate",
    "Evidence",
    "Extraction",
    "Forecast",
    "Manifest",
    "MetricSummary",
    "Progress",
    "PromptError",
    "SampleResult",
    "Scale",
    "Score",
    "Slices",
    "Summary",
    "Survey",
    "Verdict",
]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'claimeval.types' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"claimeval.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value
