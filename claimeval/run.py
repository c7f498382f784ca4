"""The run directory: what was asked (`manifest.json`), what came of it (`results.jsonl`), the sum (`summary.json`).

`results.jsonl` has one line a sample, in the order of the data, and `summary.json` is computed from those lines; both
are the same for every run of the same settings over the same replies, however often it was interrupted. While a run
is under way the lines go to `results.jsonl.part`. A run directory needs nothing else to be re-judged or reported.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import platform
from array import array
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO, TypeVar

from pydantic import Field, ValidationError
from pydantic_core import PydanticSerializationError

from claimeval.calls import Judge
from claimeval.clustering import check_cluster, cluster_of
from claimeval.derived import unknown_because
from claimeval.errors import DataError, StoppedEarly, UsageError
from claimeval.families import Families
from claimeval.judges import short_names
from claimeval.metrics import ClaimMetric
from claimeval.panel import Panel
from claimeval.panel.call_counts import CallTally
from claimeval.panel.learning import ErrorRates
from claimeval.panel.members import MemberTally
from claimeval.panel.orders import OrderEffects, OrderTally
from claimeval.panel.preference import Kinship, Preferences
from claimeval.panel.summary import CallCounts, PanelSummary, SameFamily
from claimeval.panel.tally import PanelTally
from claimeval.plan import Plan
from claimeval.prompting import PromptRecord
from claimeval.records import Assessment, Part, Record, SampleResult
from claimeval.scoring import MetricSummary, Tally

MANIFEST, RESULTS, SUMMARY = "manifest.json", "results.jsonl", "summary.json"
RUN_FORMAT = 1

R = TypeVar("R", bound=Record)


_ALONE = Panel()


class Manifest(Record):
    """Everything that decides a run's numbers, apart from the data and the replies."""

    format: int = RUN_FORMAT
    metrics: tuple[ClaimMetric, ...]
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


class Summary(Record):
    """What a run adds up to. `complete` is False when it stopped before the last sample."""

    complete: bool
    samples: int
    clusters: int
    """Questions that these are about, or what `--cluster` names."""
    metrics: dict[str, MetricSummary]
    notes: tuple[str, ...] = ()
    panel: PanelSummary | None = None
    """How the judges stand to each other; None for one judge asked once."""
    same_family: tuple[SameFamily, ...] = ()
    """Judges, extractor and authors of gold answers that are of the family of an answer's generator."""
    calls: CallCounts | None = None
    orders: OrderEffects | None = None
    """What other orders of the documents do to the labels, where they were asked about."""

    def __getitem__(self, metric: str) -> MetricSummary:
        return self.metrics[metric]


def manifest(plan: Plan, notes: tuple[str, ...], data: str | None, *, limit: int | None = None) -> Manifest:
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


def to_line(result: SampleResult) -> bytes:
    """One line of `results.jsonl`. Lone surrogates, which UTF-8 cannot hold, are written as JSON escapes."""
    try:
        return result.model_dump_json(exclude_defaults=True).encode() + b"\n"
    except PydanticSerializationError:
        return json.dumps(result.model_dump(exclude_defaults=True), separators=(",", ":")).encode() + b"\n"


def from_line(line: bytes) -> SampleResult:
    """The record in a line of `results.jsonl`."""
    try:
        return SampleResult.model_validate_json(line)
    except ValidationError:
        return SampleResult.model_validate(json.loads(line))


class RunWriter:
    """Writes a run directory line by line; `finish` puts everything in place at once.

    UsageError where the folder holds something else, or a run of other settings.
    """

    def __init__(self, folder: Path, manifest: Manifest, *, overwrite: bool = False) -> None:
        self.folder = folder
        self._manifest = manifest
        self._part = folder / f"{RESULTS}.part"
        try:
            if not overwrite:
                _check_free(folder, manifest)
            folder.mkdir(parents=True, exist_ok=True)
            self._file = _open_alone(self._part)
            _write(folder / MANIFEST, manifest.model_dump_json(indent=1, exclude_defaults=False))
        except OSError as error:
            raise UsageError(f"cannot write the run directory {folder}: {error.strerror or error}") from error

    def add(self, result: SampleResult) -> None:
        """Appends one sample."""
        with _explained(self.folder):
            self._file.write(to_line(result))

    def revise(self, change: Callable[[SampleResult], SampleResult]) -> None:
        """Puts what `change` makes of each sample added so far in its place."""
        with _explained(self.folder):
            path = self._part.with_name(f"{RESULTS}.revised")
            revised = _open_alone(path)
            for result in self.added():
                revised.write(to_line(change(result)))
            path.replace(self._part)
            self._file.close()
            self._file = revised

    def amend(self, manifest: Manifest) -> None:
        """Puts a manifest that says more in the place of the one the run began with."""
        with _explained(self.folder):
            _write(self.folder / MANIFEST, manifest.model_dump_json(indent=1, exclude_defaults=False))

    def added(self) -> Iterator[SampleResult]:
        """What was added so far, read back."""
        self._file.flush()
        with self._part.open("rb") as file:
            for line in file:
                yield from_line(line)

    def finish(self, summary: Summary) -> None:
        """Puts results and summary in place."""
        with _explained(self.folder):
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._part.replace(self.folder / RESULTS)
            write_summary(self.folder, summary)

    def abandon(self) -> None:
        """Closes the file without putting it in place."""
        self._file.close()


@contextlib.contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """The system's errors in words that say what is lost: nothing."""
    try:
        yield
    except OSError as error:
        problem = error.strerror or str(error)
        raise StoppedEarly(
            f"the run directory {folder} cannot be written: {problem}. What was paid for is in the store; mend it and "
            "the same command goes on from there"
        ) from error


def _open_alone(file: Path) -> BinaryIO:
    """The file, empty and open for this process alone; UsageError while another one writes it."""
    opened = file.open("ab", buffering=1 << 20)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        opened.close()
        raise UsageError(
            f"another process is writing the run {file.parent}; wait for it or give another --out"
        ) from error
    opened.truncate(0)
    return opened


def _check_free(folder: Path, manifest: Manifest) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise UsageError(f"{folder} is a file; --out names a directory")
    if not (folder / MANIFEST).exists():
        begun = {f"{name}.part" for name in (MANIFEST, RESULTS)}  # all there is where a run was killed at its start
        if {entry.name for entry in folder.iterdir()} - begun:
            raise UsageError(f"{folder} is not empty and holds no run; give another --out")
        return
    if field := manifest.differs(load_manifest(folder)):
        words = {"data_digest": "contents of its data file", "limit": "--limit", "asked_with": "prompts of its judges"}
        what = words.get(field, field)
        raise UsageError(f"{folder} holds a run with other {what}; give another --out, or --overwrite it")


def write_summary(folder: Path, summary: Summary) -> None:
    _write(folder / SUMMARY, json.dumps(summary.model_dump(), indent=1, ensure_ascii=False))


def _write(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".part")
    part.write_text(text + "\n", encoding="utf-8")
    part.replace(path)


def load_manifest(folder: Path) -> Manifest:
    """The manifest of a run directory."""
    return _read(Manifest, folder, MANIFEST)


def load_summary(folder: Path) -> Summary:
    """The summary of a run directory."""
    return _read(Summary, folder, SUMMARY)


def _read(record: type[R], folder: Path, name: str) -> R:
    path = folder / name
    try:
        return record.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise DataError(f"{folder} is not a finished run: it has no {name}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise DataError(f"{path} is none that this version of claimeval reads: {where}: {first['msg']}") from error
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error


def read_results(folder: Path) -> Iterator[SampleResult]:
    """The results of a run directory one by one; DataError with the line for one that does not parse."""
    path = folder / RESULTS
    if not path.exists():
        raise DataError(f"{folder} is not a finished run: it has no {RESULTS}")
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                yield from_line(line)
            except ValueError as error:
                raise DataError(f"{path}, line {number}: not a result: {str(error).splitlines()[0]}") from error


def cluster_field(folder: Path, given: str | None) -> str | None:
    """By which field the samples of a run belong together: the given one, or the run's own; None for the question.

    UsageError where no sample has the given one.
    """
    if given is None:
        return load_manifest(folder).cluster
    check_cluster(given, (result.sample for result in read_results(folder)))
    return given


class Tallies:
    """Adds up all metrics of a run, sample by sample, and what its judges show of each other."""

    def __init__(
        self,
        metrics: Sequence[ClaimMetric],
        notes: tuple[str, ...],
        judges: Sequence[Judge] = (),
        extractor: Judge | None = None,
        panel: Panel = _ALONE,
        derived: Sequence[str] = (),
        cluster: str | None = None,
    ) -> None:
        models = {judge.name: judge.model for judge in judges}
        several = len(models) > 1 or panel.replicates > 1
        families = Families(panel.families)
        self._notes = notes
        self._cluster = cluster
        self._clusters = array("q")
        note = "; ".join(notes) or None
        self._rows = [(metric, Tally(note)) for metric in metrics]
        self._derived = {name: Tally(note) for name in derived}
        self._members = [
            MemberTally(tuple(models) if several else (), panel.about_question if metric.prompt else panel)
            for metric in metrics
        ]
        self._panel = PanelTally(tuple(models), panel) if several else None
        self._preferences = Preferences(models, families)
        self._kinship = Kinship(models, (extractor.name, extractor.model) if extractor else None, families)
        self._calls = CallTally(tuple(models), panel)
        self._orders = OrderTally(panel.shuffles) if panel.shuffles else None

    @classmethod
    def of(cls, record: Manifest) -> Tallies:
        """For the results of a run."""
        return cls(
            record.metrics,
            record.notes,
            record.judges,
            record.extractor,
            record.panel,
            record.derived,
            record.cluster,
        )

    def add(self, result: SampleResult) -> None:
        """Counts one sample in."""
        cluster = cluster_of(result.sample, self._cluster)
        self._clusters.append(cluster)
        claims = {extraction.of: extraction.claims for extraction in result.extractions}
        columns = _columns(result)
        rows = len(self._rows)
        for score in result.scores[rows:]:
            self._derived[score.metric].add(score, unknown_because(score, result), 0, cluster)
        for (metric, tally), members, score in zip(self._rows, self._members, result.scores[:rows], strict=True):
            assessments = columns.get((metric.claims_of, metric.against), [])
            counted = result.counted(metric.name, metric.claims_of)
            mine = {claim.id: claim for claim in claims.get(metric.claims_of, ())}
            tally.add(
                score,
                [a.unassessed_because for a in assessments if a.unassessed_because and a.claim_id in counted],
                sum(mine[claim_id].grounding == "ungrounded" for claim_id in counted),
                cluster,
                unasked=any(a.unasked for a in assessments),
            )
            if self._panel:
                values = members.add(score, assessments, cluster, mine)
                if "answer" in (metric.claims_of, metric.against):
                    self._preferences.add(result.sample, metric.name, values, cluster)
        if self._panel:
            self._panel.add(result)
        self._kinship.add(result.sample)
        self._calls.add(result)
        if self._orders:
            self._orders.add(result, cluster)

    def summary(self, *, complete: bool = True, rates: ErrorRates | None = None) -> Summary:
        """What the samples so far come to; `rates` are what the vote rests on, where it does."""
        rows = list(zip(self._rows, self._members, strict=True))
        noise = {metric.name: members.noise() for (metric, _), members in rows}
        return Summary(
            complete=complete,
            samples=len(self._clusters),
            clusters=len(set(self._clusters)),
            metrics={
                metric.name: tally.summary().model_copy(update={"members": members.summary()})
                for (metric, tally), members in rows
            }
            | {name: tally.summary() for name, tally in self._derived.items()},
            notes=self._notes,
            panel=self._panel.summary(tuple(self._preferences.estimates()), noise, rates) if self._panel else None,
            same_family=self._kinship.summary(),
            calls=self._calls.summary(),
            orders=self._orders.summary() if self._orders else None,
        )


def _columns(result: SampleResult) -> dict[tuple[Part, Part], list[Assessment]]:
    """The assessments by part of the claim and evidence."""
    part = {claim.id: claim.of for claim in result.claims}
    columns: dict[tuple[Part, Part], list[Assessment]] = {}
    for assessment in result.assessments:
        columns.setdefault((part[assessment.claim_id], assessment.evidence.part), []).append(assessment)
    return columns
