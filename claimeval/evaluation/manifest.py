"""What a run was asked: data, metrics, prompts, judges and settings, as its manifest records them."""

from __future__ import annotations

import functools
import hashlib
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue

from claimeval.judging.panel import Panel
from claimeval.judging.prompts import PromptRecord
from claimeval.metrics.rows import Metric
from claimeval.providers.specs import short_names
from claimeval.types.records import Record
from claimeval.types.requests import Judge, Learned
from claimeval.types.scales import Scale

LEARNED = {"learned", "price"}
"""The fields of a judge that decide no number."""
RUN_FORMAT = 2
"""Increased when files of a run change their meaning; runs of another format are refused."""


class DataSource(Record):
    """The samples of a run: a file, or samples that were given in Python."""

    path: str | None = None
    digest: str | None = None
    """SHA-256 of the file's bytes."""
    limit: int | None = None
    """How many of its samples were read; None for all."""


class QuestionRecord(Record):
    """A question about claims, documents or a whole answer: its words, and how verdicts on it are counted."""

    name: str
    prompt: str
    """Id of the prompt."""
    scale: Scale
    subjects: Literal["claims", "documents", "answer"]
    panel: Panel


class Manifest(Record):
    """Everything that decides a run's numbers, apart from the data and the replies."""

    format: int = RUN_FORMAT
    job: str = "score"
    """The job's name: `score`, `rate`, `grade`, `measure`, `write_queries`."""
    metrics: tuple[Metric, ...] = ()
    """Metrics over claims."""
    derived: tuple[str, ...] = ()
    """Metrics that are read off the verdicts of these, by name."""
    units: dict[str, str] = Field(default_factory=dict)
    """Metrics that are not of claims, by name, with their unit."""
    questions: tuple[QuestionRecord, ...] = ()
    """What judges are asked about documents and whole answers."""
    judges: tuple[Judge, ...] = ()
    extractor: Judge | None = None
    """Who takes the claims from the texts; None for a job that takes none."""
    prompts: tuple[PromptRecord, ...] = ()
    asked_with: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """By judge, the ids of the prompts that its verdicts come from; empty for a judge that was asked elsewhere, whose
    prompts are not known."""
    panel: Panel = Panel()
    notes: tuple[str, ...] = ()
    """What must stand beside the numbers, such as "lexical support score, not an LLM judgement"."""
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    """The other parameters of the job."""
    data: DataSource = DataSource()
    cluster: str | None = None
    """The field by which samples belong together in intervals; None for their question."""
    versions: dict[str, str] = Field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all metrics, in the order of the scores."""
        return (*(metric.name for metric in self.metrics), *self.derived, *self.units)

    def panel_for(self, question: str) -> Panel:
        """How verdicts on a question are counted."""
        panels = {one.name: one.panel for one in self.questions}
        return panels.get(question) or self.panel.for_question(question)

    @property
    def asked(self) -> tuple[Judge, ...]:
        """The judges and, where there is one, the extractor."""
        return self.judges if self.extractor is None else (*self.judges, self.extractor)

    @property
    def short_names(self) -> dict[str, str]:
        """What the judges and the extractor are called in tables, by name."""
        return short_names(judge.name for judge in self.asked)

    @property
    def identity(self) -> str:
        """A digest of what is asked of whom; two runs with the same one ask the same questions about the same items."""
        digest = hashlib.sha256(self.job.encode())
        for part in (*self.metrics, *self.asked, *self.questions):
            digest.update(part.model_dump_json(exclude=LEARNED).encode())
        digest.update(repr((self.units, self.settings)).encode())
        panel = self.panel
        digest.update(
            f"{panel.per_document} {panel.shuffle_contexts} {panel.replicates} {panel.extract_per_judge}".encode()
        )
        for prompt in self.prompts:
            digest.update(prompt.digest.encode())
        return digest.hexdigest()

    def with_learned(self, learned: Mapping[str, Learned]) -> Manifest:
        """The manifest with what a run learned of its judges, by name."""

        def told(judge: Judge) -> Judge:
            return judge.model_copy(update={"learned": learned.get(judge.name, judge.learned)})

        extractor = self.extractor and told(self.extractor)
        return self.model_copy(update={"judges": tuple(map(told, self.judges)), "extractor": extractor})

    def of_data(self, data: str | None, *, limit: int | None = None) -> Manifest:
        """The manifest of a run over a file, or over samples that were given in Python (`data` None)."""
        digest = _digest(Path(data)) if data and Path(data).is_file() else None
        return self.model_copy(update={"data": DataSource(path=data, digest=digest, limit=limit)})

    def differs(self, other: Manifest) -> str | None:
        """The first setting in which two runs differ, None when the same numbers must come out."""
        asked = ("job", "metrics", "derived", "units", "questions", "judges", "extractor", "prompts", "asked_with")
        for field in (*asked, "panel", "settings", "cluster"):
            if _without_learned(getattr(self, field)) != _without_learned(getattr(other, field)):
                return field
        for field in DataSource.model_fields:
            if getattr(self.data, field) != getattr(other.data, field):
                return f"data.{field}"
        return None


def _without_learned(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(map(_without_learned, value))
    return value.model_copy(update={"learned": Learned(), "price": None}) if isinstance(value, Judge) else value


def versions() -> dict[str, str]:
    """The versions of everything that can change a number."""
    packages = ("claimeval", "openai", "mistralai", "pydantic", "jinja2", "diskcache")
    return {"python": platform.python_version(), **{package: _version(package) for package in packages}}


_version = functools.cache(version)


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
