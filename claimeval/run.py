"""The run directory: what was asked (`manifest.json`), what came of it (`results.jsonl`), the sum (`summary.json`).

`results.jsonl` has one line a sample, in the order of the data, and `summary.json` is computed from those lines; both
are the same for every run of the same settings over the same replies, however often it was interrupted. While a run
is under way the lines go to `results.jsonl.part`. A run directory needs nothing else to be re-judged or reported.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import Field, JsonValue, ValidationError
from pydantic_core import PydanticSerializationError

from claimeval.calls import Judge
from claimeval.errors import DataError, UsageError
from claimeval.metrics import ClaimMetric
from claimeval.pipeline import Plan
from claimeval.records import Record, SampleResult
from claimeval.scoring import MetricSummary, Tally

MANIFEST, RESULTS, SUMMARY = "manifest.json", "results.jsonl", "summary.json"
RUN_FORMAT = 1


class PromptRecord(Record):
    """A prompt as it was when the run used it."""

    name: str
    step: str
    digest: str
    source: str


class Manifest(Record):
    """Everything that decides a run's numbers, apart from the data and the replies."""

    format: int = RUN_FORMAT
    metrics: tuple[ClaimMetric, ...]
    judges: tuple[Judge, ...]
    extractor: Judge
    prompts: tuple[PromptRecord, ...]
    notes: tuple[str, ...] = ()
    """What must stand beside the numbers, such as "lexical support score, not an LLM judgement"."""
    data: str | None = None
    """The file the samples came from."""
    versions: dict[str, str] = Field(default_factory=dict)

    def differs(self, other: Manifest) -> str | None:
        """The first setting in which two runs differ, None when the same numbers must come out."""
        for field in ("metrics", "judges", "extractor", "prompts", "data"):
            if getattr(self, field) != getattr(other, field):
                return field
        return None


class Summary(Record):
    """What a run adds up to. `complete` is False when it stopped before the last sample."""

    complete: bool
    samples: int
    metrics: dict[str, MetricSummary]
    notes: tuple[str, ...] = ()

    def __getitem__(self, metric: str) -> MetricSummary:
        return self.metrics[metric]


def manifest(plan: Plan, notes: tuple[str, ...], data: str | None) -> Manifest:
    """The manifest of a plan that is about to run."""
    prompts = (plan.extract_prompt, plan.assess_prompt)
    packages = ("claimeval", "openai", "mistralai", "pydantic", "jinja2", "diskcache")
    return Manifest(
        metrics=plan.metrics,
        judges=plan.judges,
        extractor=plan.extractor,
        prompts=tuple(PromptRecord(name=p.name, step=p.step, digest=p.digest, source=p.source) for p in prompts),
        notes=notes,
        data=data,
        versions={package: version(package) for package in packages},
    )


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
        if not overwrite:
            _check_free(folder, manifest)
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / MANIFEST, manifest.model_dump_json(indent=1, exclude_defaults=False))
        self._part = folder / f"{RESULTS}.part"
        self._file = self._part.open("wb")

    def add(self, result: SampleResult) -> None:
        """Appends one sample."""
        self._file.write(to_line(result))

    def finish(self, summary: Summary) -> None:
        """Puts results and summary in place."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._part.replace(self.folder / RESULTS)
        write_summary(self.folder, summary)

    def abandon(self) -> None:
        """Closes the file without putting it in place."""
        self._file.close()


def _check_free(folder: Path, manifest: Manifest) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise UsageError(f"{folder} is a file; --out names a directory")
    if not (folder / MANIFEST).exists():
        if any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty and holds no run; give another --out")
        return
    if field := manifest.differs(load_manifest(folder)):
        raise UsageError(f"{folder} holds a run with other {field}; give another --out, or --overwrite it")


def write_summary(folder: Path, summary: Summary) -> None:
    _write(folder / SUMMARY, json.dumps(summary.model_dump(), indent=1, ensure_ascii=False))


def _write(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".part")
    part.write_text(text + "\n", encoding="utf-8")
    part.replace(path)


def load_manifest(folder: Path) -> Manifest:
    """The manifest of a run directory."""
    return Manifest.model_validate(_read_json(folder, MANIFEST))


def load_summary(folder: Path) -> Summary:
    """The summary of a run directory."""
    return Summary.model_validate(_read_json(folder, SUMMARY))


def _read_json(folder: Path, name: str) -> Mapping[str, JsonValue]:
    path = folder / name
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError(f"{folder} is not a finished run: it has no {name}") from error
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise DataError(f"{path} is not a JSON object")
    return content


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


class Tallies:
    """Adds up all metrics of a run, sample by sample."""

    def __init__(self, metrics: Sequence[ClaimMetric], notes: tuple[str, ...]) -> None:
        self._notes = notes
        self._rows = [(metric, Tally("; ".join(notes) or None)) for metric in metrics]
        self._samples = 0

    def add(self, result: SampleResult) -> None:
        """Counts one sample in."""
        self._samples += 1
        claims = {extraction.of: extraction.claims for extraction in result.extractions}
        for (metric, tally), score in zip(self._rows, result.scores, strict=True):
            ids = {claim.id for claim in claims.get(metric.claims_of, ())}
            tally.add(
                score,
                [
                    a.unassessed_because
                    for a in result.assessments
                    if a.unassessed_because and a.against == metric.against and a.claim_id in ids
                ],
                sum(claim.grounding == "ungrounded" for claim in claims.get(metric.claims_of, ())),
            )

    def summary(self, *, complete: bool = True) -> Summary:
        """What the samples so far come to."""
        return Summary(
            complete=complete,
            samples=self._samples,
            metrics={metric.name: tally.summary() for metric, tally in self._rows},
            notes=self._notes,
        )
