"""Records, requests, scales, model families, options and errors, without I/O.

All records that users receive can be imported from here, as in `from claimeval.types import
Verdict`. Each is loaded on first use from the module that defines it. `__init__.pyi` declares them
for type checkers and editors.
"""

from __future__ import annotations

import importlib

_HOMES = {
    "runs.annotation": ("Annotation",),
    "data.survey": ("Survey",),
    "evaluation.forecast": ("Forecast",),
    "evaluation.manifest": ("Manifest",),
    "metrics.scoring": ("MetricSummary",),
    "runs.agreement": ("Agreement",),
    "runs.correct": ("Correction",),
    "runs.slices": ("Slices",),
    "types.errors": ("PromptError",),
    "types.estimates": ("Cost", "Estimate"),
    "types.probes": ("Probe",),
    "types.progress": ("Progress",),
    "types.records": (
        "Assessment",
        "Call",
        "Claim",
        "Evidence",
        "SampleResult",
        "Score",
        "Verdict",
    ),
    "types.scales": ("Scale",),
}
_HOME_OF: dict[str, str] = {}
for _home, _names in _HOMES.items():
    _HOME_OF.update(dict.fromkeys(_names, _home))

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'claimeval.types' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"claimeval.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value
