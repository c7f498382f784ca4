"""What a run was asked: data, metrics, prompts, judges and settings, as its manifest records them."""

from __future__ import annotations

import gzip
import hashlib
import platform
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

import pydantic
from pydantic import (
    BeforeValidator,
    Field,
    JsonValue,
    PlainSerializer,
    field_serializer,
    field_validator,
    model_validator,
)

from claimeval import __version__
from claimeval.judging.panel import Panel
from claimeval.judging.prompts import PromptRecord
from claimeval.metrics.derived import is_derived
from claimeval.metrics.rows import METRICS, Metric
from claimeval.providers import reads_prompts, row_of
from claimeval.providers.specs import short_names
from claimeval.types.records import Record
from claimeval.types.requests import Judge, Learned
from claimeval.types.scales import Scale

INDIFFERENT = {"learned", "price", "key_variable"}
"""The fields of a judge that decide no number."""
RUN_FORMAT = 4
"""Increased when files of a run change their meaning; runs of another format are refused."""


class DataSource(Record):
    """The samples of a run: a file, or samples that were given in Python."""

    path: str | None = None
    digest: str | None = None
    """SHA-256 of the file's bytes."""
    samples: int | None = None
    """How many samples the run has; None before its end."""
    limit: int | None = None
    """How many of its samples were read; None for all."""
    fields: dict[str, str] = Field(default_factory=dict)
    """The column of each field of a sample that has another name in the file."""


class RunSource(Record):
    """What was judged again: a run, or the results of another tool."""

    path: str | None = None
    """None for a run in memory."""
    digest: str | None = None
    """SHA-256 of its results, uncompressed."""
    asked_with: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """By judge, the ids of the prompts that its verdicts come from; empty for a judge that was asked elsewhere, whose
    prompts are not known."""

    @classmethod
    def of(cls, path: Path | None, results: Path | None, asked_with: Mapping[str, tuple[str, ...]]) -> RunSource:
        """Return the record of a source whose results are in a file."""
        digest = _content_digest(results) if results else None
        return cls(path=str(path) if path else None, digest=digest, asked_with=dict(asked_with))


class QuestionRecord(Record):
    """A question about claims, documents or a whole answer: its words, and how verdicts on it are counted."""

    name: str
    prompt: str | None
    """Id of the prompt; None where all verdicts come from elsewhere."""
    scale: Scale
    subjects: Literal["claims", "documents", "answer"]
    panel: Panel

    @model_validator(mode="before")
    @classmethod
    def _panel_of_the_scale(cls, fields: Any) -> Any:
        if not isinstance(fields, dict) or not isinstance(panel := fields.get("panel"), dict):
            return fields
        return {**fields, "panel": {"scale": fields.get("scale"), **panel}}

    @field_serializer("panel")
    def _changed_settings(self, panel: Panel) -> dict[str, Any]:
        return panel.model_dump(mode="json", exclude={"scale"}, exclude_defaults=True)


def _written(judge: Judge) -> dict[str, JsonValue]:
    """Return a judge as manifests have it: what identifies it, then what differs from the defaults."""
    settings = judge.model_dump(mode="json", exclude_defaults=True)
    identity = {name: settings.pop(name, None) for name in ("name", "model", "endpoint")}
    return {"id": judge.id, **identity, "learned": settings.pop("learned", {}), "settings": settings}


def _read(value: Any) -> Any:
    if not isinstance(value, dict) or "settings" not in value:
        return value
    return {**{name: one for name, one in value.items() if name not in ("id", "settings")}, **value["settings"]}


_Judge = Annotated[Judge, BeforeValidator(_read), PlainSerializer(_written)]
_ASKED = ("per_document", "shuffle_contexts", "extract_per_judge")
"""What a panel holds of the settings of the job."""


class Manifest(Record):
    """Everything that decides a run's numbers, apart from the data and the replies."""

    format: int = RUN_FORMAT
    job: str = "score"
    """The job's name: `score`, `rate`, `grade`, `measure`, `write_queries`."""
    claimeval: str = Field(default_factory=lambda: __version__)
    """The version that made the run."""
    created: str | None = None
    """When the run directory was begun, in UTC; the one field in which two runs of one command differ."""
    metrics: tuple[str | Metric, ...] = ()
    """The metrics in the order of the scores: built-in ones by name, others as they are defined."""
    questions: tuple[QuestionRecord, ...] = ()
    """What judges are asked."""
    judges: tuple[_Judge, ...] = ()
    extractor: _Judge | None = None
    """Who takes the claims from the texts; None for a job that takes none."""
    prompts: tuple[PromptRecord, ...] = ()
    panel: Panel = Panel()
    notes: tuple[str, ...] = ()
    """What must stand beside the numbers, such as "lexical support score, not an LLM judgment"."""
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    """The other parameters of the job."""
    data: DataSource = DataSource()
    source: RunSource | None = None
    """The run that was judged again; None for one that was not made from another."""
    cluster: str | None = None
    """The field by which samples belong together in intervals; None for their question."""
    versions: dict[str, str] = Field(default_factory=dict)

    @field_validator("metrics")
    @classmethod
    def _built_in_by_name(cls, metrics: tuple[str | Metric, ...]) -> tuple[str | Metric, ...]:
        return tuple(one.name if isinstance(one, Metric) and METRICS.get(one.name) == one else one for one in metrics)

    @model_validator(mode="before")
    @classmethod
    def _whole_panel(cls, fields: Any) -> Any:
        if not isinstance(fields, dict) or not isinstance(panel := fields.get("panel"), dict):
            return fields
        settings = fields.get("settings", {}) if fields.get("job", "score") == "score" else {}
        return {**fields, "panel": {**panel, **{name: settings[name] for name in _ASKED if name in settings}}}

    @field_serializer("panel")
    def _without_settings(self, panel: Panel) -> dict[str, Any]:
        usual = {name for name in (*_ASKED, "scale") if getattr(panel, name) == getattr(Panel(), name)}
        named = set(_ASKED) & self.settings.keys() if self.of_claims else set()
        return panel.model_dump(mode="json", exclude=usual | named)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all metrics, in the order of the scores."""
        return tuple(metric if isinstance(metric, str) else metric.name for metric in self.metrics)

    @property
    def of_claims(self) -> bool:
        """Whether the metrics are of claims."""
        return self.job == "score"

    @property
    def rows(self) -> tuple[Metric, ...]:
        """The metrics over claims that are shares of supported claims."""
        metrics = self.metrics if self.of_claims else ()
        return tuple(METRICS[one] if isinstance(one, str) else one for one in metrics if one not in self.derived)

    @property
    def derived(self) -> tuple[str, ...]:
        """The names of the metrics that are read off the verdicts of these."""
        metrics = self.metrics if self.of_claims else ()
        return tuple(one for one in metrics if isinstance(one, str) and is_derived(one))

    @property
    def others(self) -> tuple[str, ...]:
        """The names of the metrics that are not of claims."""
        return () if self.of_claims else self.names

    def panel_for(self, question: str) -> Panel:
        """Return how verdicts on a question are counted."""
        panels = {one.name: one.panel for one in self.questions}
        return panels.get(question) or self.panel.for_question(question)

    @property
    def asked(self) -> tuple[Judge, ...]:
        """The judges and, where there is one, the extractor."""
        return self.judges if self.extractor is None else (*self.judges, self.extractor)

    @property
    def asked_with(self) -> Mapping[str, tuple[str, ...]]:
        """By judge, the ids of the prompts that its verdicts come from, as in `RunSource`."""
        if self.source:
            return self.source.asked_with
        prompts = dict.fromkeys(one.prompt for one in self.questions if one.prompt)
        steps = {prompt.id: prompt.step for prompt in self.prompts if prompt.id in prompts or not prompts}

        def prompts_of(judge: Judge) -> tuple[str, ...]:
            """A judge that reads no prompts is asked only what a text supports."""
            return tuple(i for i in prompts or steps if steps[i] != "weigh" or reads_prompts(judge))

        return {judge.name: prompts_of(judge) for judge in self.judges}

    @property
    def short_names(self) -> dict[str, str]:
        """What the judges and the extractor are called in tables, by name."""
        return short_names(judge.name for judge in self.asked)

    @property
    def identity(self) -> str:
        """A digest of questions and judges; two runs with the same one ask the same questions about the same items."""
        digest = hashlib.sha256(self.job.encode())
        for part in (*self.asked, *self.questions):
            digest.update(part.model_dump_json(exclude=INDIFFERENT).encode())
        digest.update(repr((self.metrics, self.settings)).encode())
        panel = self.panel
        digest.update(
            f"{panel.per_document} {panel.shuffle_contexts} {panel.replicates} {panel.extract_per_judge}".encode()
        )
        for prompt in self.prompts:
            digest.update(prompt.digest.encode())
        return digest.hexdigest()

    @property
    def settings_digest(self) -> str:
        """A digest of everything in which two runs can differ, as in `differs`, and of the version of claimeval."""
        same: dict[str, Any] = {
            "created": None,
            "versions": {},
            "notes": (),
            "data": self.data.model_copy(update={"samples": None}),
        }
        same |= {"judges": _decisive(self.judges), "extractor": _decisive(self.extractor)}
        return hashlib.sha256(self.model_copy(update=same).model_dump_json().encode()).hexdigest()

    def with_learned(self, learned: Mapping[str, Learned]) -> Manifest:
        """Return the manifest with what a run learned of its judges, by name."""

        def with_lessons(judge: Judge) -> Judge:
            """Return the judge with what was learned of its server."""
            return judge.model_copy(update={"learned": learned.get(judge.name, judge.learned)})

        extractor = self.extractor and with_lessons(self.extractor)
        return self.model_copy(update={"judges": tuple(map(with_lessons, self.judges)), "extractor": extractor})

    def of_data(
        self, data: str | None, *, limit: int | None = None, fields: Mapping[str, str] = MappingProxyType({})
    ) -> Manifest:
        """Return the manifest of a run over a file, or over samples that were given in Python (`data` None)."""
        digest = file_digest(Path(data)) if data and Path(data).is_file() else None
        source = DataSource(path=data, digest=digest, limit=limit, fields=dict(fields))
        return self.model_copy(update={"data": source})

    def finished(self, samples: int) -> Manifest:
        """Return the manifest of a run that has so many samples."""
        return self.model_copy(update={"data": self.data.model_copy(update={"samples": samples})})

    def judges_alike(self, other: Manifest) -> bool:
        """Return whether two runs ask the same judges with the same prompts and settings, and count votes alike."""
        return all(
            _decisive(getattr(self, field)) == _decisive(getattr(other, field))
            for field in ("panel", "settings", "questions", "judges", "asked_with")
        )

    def differs(self, other: Manifest) -> str | None:
        """Return the first setting in which two runs differ, None when the same numbers must come out."""
        compared = ("job", "metrics", "panel", "settings", "questions", "judges", "extractor", "prompts", "asked_with")
        for field in (*compared, "cluster"):
            if _decisive(getattr(self, field)) != _decisive(getattr(other, field)):
                return field
        for field in ("path", "digest", "limit", "fields"):
            if getattr(self.data, field) != getattr(other.data, field):
                return f"data.{field}"
        for field in ("path", "digest"):
            if getattr(self.source, field, None) != getattr(other.source, field, None):
                return f"source.{field}"
        return None


def _decisive(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(map(_decisive, value))
    if not isinstance(value, Judge):
        return value
    return value.model_copy(update={"learned": Learned(), "price": None, "key_variable": None})


def versions(*judges: Judge | None) -> dict[str, str]:
    """Return the versions of what the replies of these judges pass through: Python, and packages by name."""
    named = [judge for judge in judges if judge]
    packages = {package for judge in named for package in row_of(judge).packages}
    if any(map(reads_prompts, named)):
        packages.add("jinja2")
    return {"python": platform.python_version(), "pydantic": pydantic.VERSION, **_installed(packages)}


def _installed(packages: Collection[str]) -> dict[str, str]:
    if not packages:
        return {}
    from importlib.metadata import version

    return {package: version(package) for package in sorted(packages)}


def _content_digest(file: Path) -> str:
    """Return the SHA-256 of what a file holds, unpacked."""
    if file.suffix != ".gz":
        return file_digest(file)
    with gzip.open(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def file_digest(file: Path) -> str:
    """Return the SHA-256 of a file."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
