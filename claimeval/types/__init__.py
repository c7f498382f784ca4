"""The nouns: records, requests, scales, families, options and errors. No I/O, and no other room.

The records that users receive can be imported from here, `from claimeval.types import Verdict`, wherever they are
defined; each is loaded when it is first used. `__init__.pyi` tells type checkers and editors the same.
"""

from __future__ import annotations

import importlib

_HOMES = {
    "api.people": ("Annotation",),
    "data.survey": ("Survey",),
    "evaluation.forecast": ("Forecast",),
    "evaluation.manifest": ("Manifest",),
    "metrics.scoring": ("MetricSummary",),
    "runs.agreement": ("Agreement",),
    "runs.correct": ("Correction",),
    "runs.slices": ("Slices",),
    "runs.tune": ("Tuning",),
    "types.errors": ("PromptError",),
    "types.estimates": ("Cost", "Estimate"),
    "types.probes": ("Probe",),
    "types.progress": ("Progress",),
    "types.records": ("Assessment", "Call", "Claim", "Evidence", "SampleResult", "Score", "Verdict"),
    "types.scales": ("Scale",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'claimeval.types' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"claimeval.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value
