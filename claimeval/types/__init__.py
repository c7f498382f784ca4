"""The nouns: records, requests, scales, families, options and errors. No I/O, and no other room.

The records that results are made of can be imported from here, `from claimeval.types import Verdict`; each is loaded
when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claimeval.types.errors import PromptError
    from claimeval.types.estimates import Cost, Estimate
    from claimeval.types.probes import Probe
    from claimeval.types.progress import Progress
    from claimeval.types.records import Assessment, Call, Claim, Evidence, SampleResult, Score, Verdict
    from claimeval.types.scales import Scale

_HOMES = {
    "errors": ("PromptError",),
    "estimates": ("Cost", "Estimate"),
    "probes": ("Probe",),
    "progress": ("Progress",),
    "records": ("Assessment", "Call", "Claim", "Evidence", "SampleResult", "Score", "Verdict"),
    "scales": ("Scale",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Assessment",
    "Call",
    "Claim",
    "Cost",
    "Estimate",
    "Evidence",
    "Probe",
    "Progress",
    "PromptError",
    "SampleResult",
    "Scale",
    "Score",
    "Verdict",
]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'claimeval.types' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"claimeval.types.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value
