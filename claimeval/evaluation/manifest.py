"""Manifests of runs: data, metrics, prompts, judges and settings."""

from __future__ import annotations

import gzip
import hashlib
import platform
from collections.abc import Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
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
from claimeval.data.mapping import NO_MAPPING, RowMapping
from claimeval.judging.panel import Panel
from claimeval.judging.prompts import PromptRecord
from claimeval.metrics.derived import is_derived, select_metrics
from claimeval.metrics.rows import METRICS, Metric
from claimeval.providers import answers_any, reads_prompts, row_of
from claimeval.providers.specs import short_names
from claimeval.types.records import Part, Record
from claimeval.types.requests import Judge, Learned
from claimeval.types.scales import Scale

INCIDENTAL = {"learned", "price", "key_variable"}
"""The fields of a judge that do not affect numbers."""
RUN_FORMAT = 5
"""Increased when the files of runs change their meaning; runs of another format are refused."""


Ids = Literal["given", "made"]


class DataSource(Record):
    """The samples of a run: a file, or samples given in Python."""

    path: str | None = None
    digest: str | None = None
    """SHA-256 of the file's bytes."""
    samples: int | None = None
    """Number of samples; None if it is unknown. A run that stopped early has results of fewer."""
    limit: int | None = None
    """Maximum number of samples that are read; None for all."""
    mapping: dict[str, str | tuple[str, ...]] = Field(default_factory=dict)
    """How the rows are read, as in a mapping file, also of an export that was recognized."""
    ids: Ids | None = None
    """`given` if the data have ids of samples, `made` if these are the numbers of the rows; None if
    that is unknown."""


class RunSource(Record):
    """The source of a rejudged run: another run, or the results of another tool."""

    path: str | None = None
    """None for a run in memory."""
    digest: str | None = None
    """SHA-256 of its results, uncompressed."""
    asked_with: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """The ids of the prompts that the verdicts of each judge come from; empty if the judge was
    asked elsewhere."""

    @classmethod
    def of(
        cls,
        path: Path | None,
        results: Path | None,
        asked_with: Mapping[str, tuple[str, ...]],
    ) -> RunSource:
        """Return the record of a source whose results are in a file."""
        digest = None
        if results:
            with gzip.open(results) if results.suffix == ".gz" else results.open("rb") as opened:
                digest = hashlib.file_digest(opened, "sha256").hexdigest()
        return cls(path=str(path) if path else None, digest=digest, asked_with=dict(asked_with))


class QuestionRecord(Record):
    """A question about claims, documents or a whole answer, with its scale and panel settings."""

    name: str
    prompt: str | None
    """Id of the prompt; None if all verdicts come from elsewhere."""
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


def _write_judge(judge: Judge) -> dict[str, JsonValue]:
    """Return a judge as manifests have it: its identity, then the settings that differ from the
    defaults."""
    settings = judge.model_dump(mode="json", exclude_defaults=True)
    identity = {name: settings.pop(name, None) for name in ("name", "model", "endpoint")}
    return {
        "id": judge.id,
        **identity,
        "learned": settings.pop("learned", {}),
        "settings": settings,
    }


def _read_judge(value: Any) -> Any:
    if not isinstance(value, dict) or not isinstance(value.get("settings"), dict):
        return value
    return {
        **{name: field for name, field in value.items() if name not in ("id", "settings")},
        **value["settings"],
    }


_Judge = Annotated[Judge, BeforeValidator(_read_judge), PlainSerializer(_write_judge)]
JOB_SETTINGS = ("per_document", "shuffle_contexts")
"""Settings of the job that its panel has too."""


class Manifest(Record):
    """All settings that affect the numbers of a run, apart from data and replies."""

    format: int = RUN_FORMAT
    job: str = "score"
    """The job's name: `score`, `rate`, `grade`, `measure`, `write_queries`."""
    claimeval: str = Field(default_factory=lambda: __version__)
    """The version of claimeval that made the run."""
    created: str | None = None
    """When the run directory was created, in UTC; the only field that differs when a command is
    repeated."""
    metrics: tuple[str | Metric, ...] = ()
    """The metrics in the order of the scores: built-in ones by name, custom ones with their
    definition."""
    questions: tuple[QuestionRecord, ...] = ()
    """The questions to the judges."""
    judges: tuple[_Judge, ...] = ()
    extractor: _Judge | None = None
    """The model that extracts claims; None for jobs without extraction."""
    prompts: tuple[PromptRecord, ...] = ()
    panel: Panel = Panel()
    notes: tuple[str, ...] = ()
    """Notes to print with the numbers, such as "lexical support score, not an LLM judgment"."""
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    """The other settings of the job."""
    data: DataSource = DataSource()
    source: RunSource | None = None
    """The source of a rejudged run; None for other runs."""
    cluster: str | None = None
    """Field that defines clusters of samples in intervals; None for the question."""
    versions: dict[str, str] = Field(default_factory=dict)

    @field_validator("metrics")
    @classmethod
    def _built_in_by_name(cls, metrics: tuple[str | Metric, ...]) -> tuple[str | Metric, ...]:
        return tuple(
            m.name if isinstance(m, Metric) and METRICS.get(m.name) == m else m for m in metrics
        )

    @model_validator(mode="before")
    @classmethod
    def _panel_with_settings(cls, fields: Any) -> Any:
        if not isinstance(fields, dict) or not isinstance(panel := fields.get("panel"), dict):
            return fields
        settings = fields.get("settings", {}) if fields.get("job", "score") == "score" else {}
        if not isinstance(settings, dict):
            return fields
        return {
            **fields,
            "panel": {
                **panel,
                **{name: settings[name] for name in JOB_SETTINGS if name in settings},
            },
        }

    @field_serializer("panel")
    def _without_settings(self, panel: Panel) -> dict[str, Any]:
        defaults = {
            name
            for name in (*JOB_SETTINGS, "scale")
            if getattr(panel, name) == getattr(Panel(), name)
        }
        in_settings = set(JOB_SETTINGS) & self.settings.keys() if self.of_claims else set()
        return panel.model_dump(mode="json", exclude=defaults | in_settings)

    @property
    def text(self) -> str:
        """The content of its file."""
        return self.model_dump_json(indent=1, exclude_defaults=False) + "\n"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all metrics, in the order of the scores."""
        return tuple(metric if isinstance(metric, str) else metric.name for metric in self.metrics)

    @property
    def of_claims(self) -> bool:
        """Whether the metrics are about claims."""
        return self.job == "score"

    @property
    def rows(self) -> tuple[Metric, ...]:
        """The metrics that are shares of supported claims."""
        metrics = self.metrics if self.of_claims else ()
        return tuple(
            METRICS[m] if isinstance(m, str) else m for m in metrics if m not in self.derived
        )

    @property
    def derived(self) -> tuple[str, ...]:
        """The names of the derived metrics."""
        metrics = self.metrics if self.of_claims else ()
        return tuple(m for m in metrics if isinstance(m, str) and is_derived(m))

    @property
    def evidence(self) -> tuple[Part, ...]:
        """The parts that claims were assessed against, also for derived metrics."""
        if not self.of_claims or not self.metrics:
            return ()
        selected = select_metrics(self.metrics).rows
        return tuple(dict.fromkeys(row.against for row in selected))

    @property
    def others(self) -> tuple[str, ...]:
        """The names of the metrics that are not about claims."""
        return () if self.of_claims else self.names

    @property
    def concludes(self) -> bool:
        """Whether the verdicts allow sentences about answers: not if a judge only compares
        words."""
        return not any(row_of(judge).compares_words(judge) for judge in self.judges)

    @property
    def tells_contradictions(self) -> bool:
        """Whether a judge can say that evidence contradicts a claim. Of judges that say yes or no,
        zero contradicted claims say nothing."""
        if "contradicted" not in self.panel.scale.words:
            return False
        return any(
            judge.reply is None or judge.reply.gives("contradicted") for judge in self.judges
        )

    @property
    def asked(self) -> tuple[Judge, ...]:
        """The judges, and the extractor if there is one."""
        return self.judges if self.extractor is None else (*self.judges, self.extractor)

    @property
    def asked_with(self) -> Mapping[str, tuple[str, ...]]:
        """The ids of the prompts that the verdicts of each judge come from, as in `RunSource`."""
        if self.source:
            return self.source.asked_with
        prompts = dict.fromkeys(record.prompt for record in self.questions if record.prompt)
        steps = {
            prompt.id: prompt.step for prompt in self.prompts if prompt.id in prompts or not prompts
        }

        def prompts_of(judge: Judge) -> tuple[str, ...]:
            """Return the prompts of a judge; one that reads no prompts is asked only about
            support."""
            return tuple(i for i in prompts or steps if steps[i] != "weigh" or answers_any(judge))

        return {judge.name: prompts_of(judge) for judge in self.judges}

    @property
    def short_names(self) -> dict[str, str]:
        """The short names of judges and extractor for tables, by name."""
        return short_names(judge.name for judge in self.asked)

    @property
    def identity(self) -> str:
        """A digest of questions and judges; runs with the same digest send the same requests for
        the same items."""
        digest = hashlib.sha256(self.job.encode())
        for part in (*self.asked, *self.questions):
            digest.update(part.model_dump_json(exclude=INCIDENTAL).encode())
        digest.update(repr((self.metrics, self.settings)).encode())
        panel = self.panel
        digest.update(f"{panel.per_document} {panel.shuffle_contexts} {panel.replicates}".encode())
        for prompt in self.prompts:
            digest.update(prompt.digest.encode())
        return digest.hexdigest()

    @property
    def settings_digest(self) -> str:
        """A digest of all settings in which two runs can differ (see `differs`), and of the version
        of claimeval."""
        same: dict[str, Any] = {"created": None, "versions": {}, "notes": ()}
        same |= {"data": self.data.model_copy(update={"samples": None})}
        same |= {"judges": _decisive(self.judges), "extractor": _decisive(self.extractor)}
        return hashlib.sha256(self.model_copy(update=same).model_dump_json().encode()).hexdigest()

    def with_learned(self, learned: Mapping[str, Learned]) -> Manifest:
        """Return the manifest with what a run learned about its judges, by name."""

        def with_lessons(judge: Judge) -> Judge:
            """Return the judge with what was learned about its server."""
            return judge.model_copy(update={"learned": learned.get(judge.name, judge.learned)})

        extractor = self.extractor and with_lessons(self.extractor)
        return self.model_copy(
            update={"judges": tuple(map(with_lessons, self.judges)), "extractor": extractor}
        )

    def of_data(
        self,
        data: str | None,
        *,
        limit: int | None = None,
        mapping: RowMapping = NO_MAPPING,
        ids: Ids | None = None,
    ) -> Manifest:
        """Return the manifest of a run on a file, or on samples given in Python.

        Args:
            data: Path of the file; None for samples given in Python.
            limit: Maximum number of samples that are read.
            mapping: How rows are read.
            ids: What the ids of the samples are.
        """
        digest = file_digest(Path(data)) if data and Path(data).is_file() else None
        source = DataSource(path=data, digest=digest, limit=limit, mapping=mapping.content, ids=ids)
        return self.model_copy(update={"data": source})

    def of_samples(self, samples: int | None) -> Manifest:
        """Return the manifest of a run on this number of samples."""
        return self.model_copy(update={"data": self.data.model_copy(update={"samples": samples})})

    def judges_alike(self, other: Manifest) -> bool:
        """Return whether two runs have the same judges, prompts, settings and panel."""
        return self.is_alike(other, "panel", "settings", "questions", "judges", "asked_with")

    def is_alike(self, other: Manifest, *fields: str) -> bool:
        """Return whether two runs are the same in these fields, whatever was learned about judges
        and their prices."""
        return all(
            _decisive(getattr(self, field)) == _decisive(getattr(other, field)) for field in fields
        )

    def differs(self, other: Manifest) -> str | None:
        """Return in words the first setting in which two runs differ; None if they must have the
        same numbers."""
        compared = (
            "job",
            "metrics",
            "panel",
            "settings",
            "questions",
            "judges",
            "extractor",
            "prompts",
            "asked_with",
        )
        for field in (*compared, "cluster"):
            if not self.is_alike(other, field):
                return "prompts of its judges" if field == "asked_with" else field
        data = {"path": "data", "digest": "contents of its data file", "limit": "--limit"}
        for field, words in (data | {"mapping": "--field, --mapping or --group"}).items():
            if getattr(self.data, field) != getattr(other.data, field):
                return words
        for field, words in (("path", "source"), ("digest", "contents of its source")):
            if getattr(self.source, field, None) != getattr(other.source, field, None):
                return words
        return None


def _decisive(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(map(_decisive, value))
    if not isinstance(value, Judge):
        return value
    return value.model_copy(update={"learned": Learned(), "price": None, "key_variable": None})


def versions(*judges: Judge | None) -> dict[str, str]:
    """Return the versions of Python and of the packages that process the replies of these
    judges."""
    present = [judge for judge in judges if judge]
    packages = set(chain.from_iterable(row_of(judge).packages for judge in present))
    if any(map(reads_prompts, present)):
        packages.add("jinja2")
    found = {"python": platform.python_version(), "pydantic": pydantic.VERSION}
    if packages:
        from importlib.metadata import PackageNotFoundError, version

        for package in sorted(packages):
            with suppress(
                PackageNotFoundError
            ):  # the judge that needs it says so when it is opened
                found[package] = version(package)
    return found


def file_digest(file: Path) -> str:
    """Return the SHA-256 of a file."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
