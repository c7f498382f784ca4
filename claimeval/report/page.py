"""The page of a run, of two runs, or of an experiment: one HTML file that opens from disk and makes no requests."""

from __future__ import annotations

import html
import itertools
import json
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import IO, NamedTuple

from pydantic import ValidationError

from claimeval.metrics.flips import Flip
from claimeval.metrics.scoring import ends_in_words
from claimeval.report.assets import page
from claimeval.report.packing import Details, Index, as_json, block, row
from claimeval.report.requests import Literals, Rebuilder, RequestPieces, pack
from claimeval.runs.compare import SamplePair, compare, shared_metrics, shared_others
from claimeval.runs.directory import load_manifest, to_line
from claimeval.runs.experiments import printing
from claimeval.runs.experiments.results import ArmFlip, ExperimentResult
from claimeval.runs.overview import Overview, PairedRuns, gather
from claimeval.statistics.formatting import decimal
from claimeval.types.errors import DataError, visible
from claimeval.types.records import REASONS, SampleResult
from claimeval.types.requests import Message

TABLE, FLIPS = "experiment.json", "flips.jsonl"
MAX_FLIPS = 5000
"""Flipped claims in the page of an experiment. The file has all."""


def render(file: IO[str], folder: Path, compared: Path | None = None) -> None:
    """Write the page of a run, or of two runs that are compared, to an open file, sample by sample.

    Raises DataError if a directory has no finished run, and UsageError if two runs share no metric or no sample.
    """
    with _scratch() as rows, _scratch() as chunks:
        index, details = Index(rows), Details(chunks)
        content = _one(folder, index, details) if compared is None else _two(folder, compared, index, details)
        details.close()
        index.close(details.starts)
        overview = content.overview
        filled = page("report").html
        for name, text in (
            ("title", html.escape(visible(overview.manifest.data.path or overview.name))),
            ("table", _table(overview)),
        ):
            filled = filled.replace(f"<!--{name}-->", text)
        before, after = filled.split("<!--data-->")
        between, after = after.split("<!--details-->")
        file.write(before + block("overview", as_json(content.element())))
        _copy(rows, file)
        file.write(between)
        _copy(chunks, file)
        file.write(after)


def _scratch() -> IO[str]:
    return tempfile.TemporaryFile("w+", encoding="ascii")


def _copy(scratch: IO[str], file: IO[str]) -> None:
    scratch.seek(0)
    shutil.copyfileobj(scratch, file)


class _Content(NamedTuple):
    """Content of a page besides the details of its samples."""

    overview: Overview
    other: Overview | None
    comparison: PairedRuns | None

    def element(self) -> dict[str, object]:
        """Return the content of the element `overview`."""
        runs = [overview.model_dump(mode="json") for overview in (self.overview, self.other) if overview]
        return {
            "runs": runs,
            "comparison": self.comparison.model_dump(mode="json") if self.comparison else None,
            "reasons": REASONS,
            "version": version("claimeval"),
        }


def _one(folder: Path, index: Index, details: Details) -> _Content:
    manifest = load_manifest(folder)
    rebuilder = Rebuilder(manifest)

    def add(result: SampleResult) -> None:
        """Add a sample to the index and its details."""
        index.add((row(result, manifest.rows, manifest.others),))
        details.add([to_line(result)], [_requests(result, rebuilder, details.literals)])

    return _Content(gather(folder, add), None, None)


def _two(folder: Path, compared: Path, index: Index, details: Details) -> _Content:
    manifests = load_manifest(folder), load_manifest(compared)
    metrics, others = shared_metrics(*manifests), shared_others(*manifests)
    rebuilders = [Rebuilder(manifest) for manifest in manifests]

    def add(pair: SamplePair, flips: list[Flip]) -> None:
        """Add a pair of samples to the index and its details."""
        index.add((row(pair.a, metrics, others), row(pair.b, metrics, others), len(flips)))
        requests = [_requests(result, r, details.literals) for result, r in zip(pair, rebuilders, strict=True)]
        details.add([to_line(result) for result in pair], requests)

    return _Content(*compare(folder, compared, add))


def _requests(result: SampleResult, rebuilder: Rebuilder, literals: Literals) -> list[RequestPieces | None]:
    """Return the request of each call, or None if it cannot be rebuilt with the call's key.

    The judges of a panel get the same messages, which are packed once.
    """
    packed: dict[tuple[Message, ...], RequestPieces] = {}
    requests: list[RequestPieces | None] = []
    for call in result.calls:
        request = rebuilder.rebuild(result, call)
        if request is not None and request.messages not in packed:
            packed[request.messages] = pack(request, result.sample, call.evidence, literals)
        requests.append(None if request is None else packed[request.messages])
    return requests


def _table(overview: Overview) -> str:
    """Return the means as a plain table, for browsers without scripts."""
    rows = "".join(
        f"<tr><th>{html.escape(visible(name))}</th><td>{decimal(metric.mean)}</td>"
        f"<td>{ends_in_words(metric)}</td><td>{metric.n}</td></tr>"
        for name, metric in overview.summary.metrics.items()
    )
    return f"<table><tr><th>metric</th><th>mean</th><th>95 % interval</th><th>samples</th></tr>{rows}</table>"


def is_experiment(folder: Path) -> bool:
    """Return whether a directory is that of an experiment."""
    return (folder / TABLE).is_file()


def render_experiment(file: IO[str], folder: Path) -> None:
    """Write the page of an experiment to an open file. Raises DataError if its tables cannot be read."""
    try:
        table = ExperimentResult.model_validate(json.loads((folder / TABLE).read_text(encoding="utf-8")))
        with (folder / FLIPS).open("rb") as lines:
            flips = [ArmFlip.model_validate_json(line) for line in itertools.islice(lines, MAX_FLIPS)]
    except (OSError, ValidationError, ValueError) as error:
        raise DataError(f"The experiment {folder} cannot be read: {str(error).splitlines()[0]}") from error
    arms = tuple(arm.model_copy(update={"run": Path(arm.run).name}) for arm in table.arms)
    content = {
        "name": folder.resolve().name,
        "table": table.model_copy(update={"data": Path(table.data).name, "arms": arms}).model_dump(mode="json"),
        "changes": printing.other_changes(table),
        "selection": printing.chosen(table.selection) if table.selection else None,
        "failures": printing.failures(table),
        "flips": [flip.model_dump(mode="json") for flip in flips],
    }
    filled = page("experiment").html.replace("<!--title-->", html.escape(visible(Path(table.data).name)))
    file.write(filled.replace("<!--data-->", block("experiment", as_json(content))))
