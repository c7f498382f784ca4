"""What a run was asked: data, metrics, prompts, judges and settings, as its manifest records them."""

from __future__ import annotations

import hashlib
import platform
from importlib.metadata import version
from pathlib import Path

from pydantic import Field

from claimeval.evaluation.plan import ClaimsJob
from claimeval.judging.panel import Panel
from claimeval.judging.prompts import PromptRecord
from claimeval.metrics.rows import Metric
from claimeval.providers.specs import short_names
from claimeval.types.records import Record
from claimeval.types.requests import Judge

RUN_FORMAT = 1


class Manifest(Record):
    """Everything that decides a run's numbers, apart from the data and the replies."""

    format: int = RUN_FORMAT
    metrics: tuple[Metric, ...]
    derived: tuple[str, ...] = ()
    """Metrics that are read off the verdicts of these, by name."""
    judges: tuple[Judge, ...]
    extractor: Judge
    prompts: tuple[PromptRecord, ...]
    asked_with: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """By judge, the ids of the prompts that its verdicts come from; empty for a judge that was asked elsewhere, whose
    prompts are not known."""
    panel: Panel = Panel()
    notes: tuple[str, ...] = ()
    """What must stand beside the numbers, such as "lexical support score, not an LLM judgement"."""
    data: str | None = None
    """The file the samples came from."""
    data_digest: str | None = None
    """SHA-256 of that file's bytes."""
    limit: int | None = None
    """How many of its samples were taken; None for all."""
    cluster: str | None = None
    """The field by which samples belong together in intervals; None for their question."""
    versions: dict[str, str] = Field(default_factory=dict)

    @property
    def short_names(self) -> dict[str, str]:
        """What the judges and the extractor are called in tables, by name."""
        return short_names(judge.name for judge in (*self.judges, self.extractor))

    def differs(self, other: Manifest) -> str | None:
        """The first setting in which two runs differ, None when the same numbers must come out."""
        fields = ("metrics", "derived", "judges", "extractor", "prompts", "asked_with", "panel")
        for field in (*fields, "data", "data_digest", "limit", "cluster"):
            if getattr(self, field) != getattr(other, field):
                return field
        return None


def manifest(plan: ClaimsJob, notes: tuple[str, ...], data: str | None, *, limit: int | None = None) -> Manifest:
    """The manifest of a plan that is about to run over a file, or over samples given in Python (`data` None)."""
    prompts = (plan.extract_prompt, plan.assess_prompt, *plan.own_prompts.values())
    return Manifest(
        metrics=plan.metrics,
        derived=plan.derived,
        judges=plan.judges,
        extractor=plan.extractor,
        prompts=tuple(prompt.record for prompt in prompts),
        asked_with={judge.name: plan.asks_with(judge) for judge in plan.judges},
        panel=plan.panel,
        notes=notes,
        data=data,
        data_digest=_digest(Path(data)) if data and Path(data).is_file() else None,
        limit=limit,
        cluster=plan.cluster,
        versions=versions(),
    )


def versions() -> dict[str, str]:
    """The versions of everything that can change a number."""
    packages = ("claimeval", "openai", "mistralai", "pydantic", "jinja2", "diskcache")
    return {"python": platform.python_version(), **{package: version(package) for package in packages}}


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
