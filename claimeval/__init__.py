"""claimeval evaluates the answers of question-answering systems claim by claim, with LLM judges.

>>> import claimeval as ce
>>> run = ce.score("answers.jsonl", judges="openai:gpt-5-mini")  # doctest: +SKIP
>>> run["faithfulness"].mean  # doctest: +SKIP
0.91

Every name is loaded on first use. The records of results are in `claimeval.types`. The libraries
`claimeval.ir`, `claimeval.lexical` and `claimeval.statistics` can be used alone.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claimeval.api.assess import aassess, assess
    from claimeval.api.check import acheck, check
    from claimeval.api.claims import arejudge, ascore, rejudge, score
    from claimeval.api.comparison import Comparison, compare, experiment
    from claimeval.api.data import doctor, draw, import_replies, read_samples
    from claimeval.api.forecast import plan, probe
    from claimeval.api.judged import judge
    from claimeval.api.locate import alocate, locate
    from claimeval.api.measures import extraction, measure
    from claimeval.api.people import agreement, annotate, correct
    from claimeval.api.ratings import agrade, arate, grade, rate
    from claimeval.api.report import read_report
    from claimeval.api.run import Run
    from claimeval.api.test_sets import write_queries
    from claimeval.metrics.rows import Metric
    from claimeval.types.errors import (
        ClaimevalError,
        DataError,
        NoteWarning,
        StoppedEarly,
        StoreError,
        UsageError,
    )
    from claimeval.types.estimates import Estimate
    from claimeval.types.gates import GateResult, Gates
    from claimeval.types.options import LocalOptions, PanelOptions, RunOptions
    from claimeval.types.records import Document, Sample
    from claimeval.types.requests import Judge

__version__ = "0.2.0"

_HOMES = {
    "api.assess": ("aassess", "assess"),
    "api.check": ("acheck", "check"),
    "api.claims": ("arejudge", "ascore", "rejudge", "score"),
    "api.comparison": ("Comparison", "compare", "experiment"),
    "api.data": ("doctor", "draw", "import_replies", "read_samples"),
    "api.forecast": ("plan", "probe"),
    "api.judged": ("judge",),
    "api.locate": ("alocate", "locate"),
    "api.measures": ("extraction", "measure"),
    "api.people": ("agreement", "annotate", "correct"),
    "api.ratings": ("agrade", "arate", "grade", "rate"),
    "api.report": ("read_report",),
    "api.run": ("Run",),
    "api.test_sets": ("write_queries",),
    "metrics.rows": ("Metric",),
    "types.errors": (
        "ClaimevalError",
        "DataError",
        "NoteWarning",
        "StoppedEarly",
        "StoreError",
        "UsageError",
    ),
    "types.estimates": ("Estimate",),
    "types.gates": ("GateResult", "Gates"),
    "types.options": ("LocalOptions", "PanelOptions", "RunOptions"),
    "types.records": ("Document", "Sample"),
    "types.requests": ("Judge",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "ClaimevalError",
    "Comparison",
    "DataError",
    "Document",
    "Estimate",
    "GateResult",
    "Gates",
    "Judge",
    "LocalOptions",
    "Metric",
    "NoteWarning",
    "PanelOptions",
    "Run",
    "RunOptions",
    "Sample",
    "StoppedEarly",
    "StoreError",
    "UsageError",
    "aassess",
    "acheck",
    "agrade",
    "agreement",
    "alocate",
    "annotate",
    "arate",
    "arejudge",
    "ascore",
    "assess",
    "check",
    "compare",
    "correct",
    "doctor",
    "draw",
    "experiment",
    "extraction",
    "grade",
    "import_replies",
    "judge",
    "locate",
    "measure",
    "plan",
    "probe",
    "rate",
    "read_report",
    "read_samples",
    "rejudge",
    "score",
    "write_queries",
]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'claimeval' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"claimeval.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
