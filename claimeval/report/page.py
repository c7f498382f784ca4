"""The report as one HTML file with its style, script and data, which opens from disk and asks nobody for anything."""

from __future__ import annotations

import html
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import IO, NamedTuple

from claimeval.metrics.scoring import ends_in_words
from claimeval.report.assets import page
from claimeval.report.packing import Details, Index, as_json, block, row
from claimeval.report.requests import Literals, Rebuilder, RequestPieces, pack
from claimeval.report.visible import visible
from claimeval.runs.compare import SamplePair, compare, shared_metrics
from claimeval.runs.directory import load_manifest, to_line
from claimeval.runs.overview import Comparison, Overview, gather
from claimeval.statistics.formatting import decimal
from claimeval.types.records import REASONS, SampleResult
from claimeval.types.requests import Message


def render(file: IO[str], folder: Path, compared: Path | None = None) -> None:
    """Writes the page of a run, or of two runs side by side, into an open file, sample by sample.

    DataError where a folder holds no finished run; UsageError where two runs share no metric or no sample.
    """
    with _scratch() as rows, _scratch() as chunks:
        index, details = Index(rows), Details(chunks)
        content = _one(folder, index, details) if compared is None else _two(folder, compared, index, details)
        details.close()
        index.close(details.starts)
        overview, facts = content.overview(), content.facts
        filled = page("report").html
        for mark, text in (
            ("title", html.escape(visible(facts.manifest.data or facts.name))),
            ("table", _table(facts)),
        ):
            filled = filled.replace(f"<!--{mark}-->", text)
        before, rest = filled.split("<!--data-->")
        between, after = rest.split("<!--details-->")
        file.write(before + block("overview", as_json(overview)))
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
    """What a page says beside the details of its samples."""

    facts: Overview
    other: Overview | None
    comparison: Comparison | None

    def overview(self) -> dict[str, object]:
        runs = [facts.model_dump(mode="json") for facts in (self.facts, self.other) if facts]
        return {
            "runs": runs,
            "comparison": self.comparison.model_dump(mode="json") if self.comparison else None,
            "reasons": REASONS,
            "version": version("claimeval"),
        }


def _one(folder: Path, index: Index, details: Details) -> _Content:
    manifest = load_manifest(folder)
    rebuilder = Rebuilder(manifest)

    def each(result: SampleResult) -> None:
        index.add((row(result, manifest.metrics),))
        details.add([to_line(result)], [_requests(result, rebuilder, details.literals)])

    return _Content(gather(folder, each), None, None)


def _two(folder: Path, compared: Path, index: Index, details: Details) -> _Content:
    manifests = load_manifest(folder), load_manifest(compared)
    metrics, rebuilders = shared_metrics(*manifests), [Rebuilder(manifest) for manifest in manifests]

    def each(pair: SamplePair, flipped: int) -> None:
        index.add((row(pair.a, metrics), row(pair.b, metrics), flipped))
        requests = [_requests(result, r, details.literals) for result, r in zip(pair, rebuilders, strict=True)]
        details.add([to_line(result) for result in pair], requests)

    return _Content(*compare(folder, compared, each))


def _requests(result: SampleResult, rebuilder: Rebuilder, literals: Literals) -> list[RequestPieces | None]:
    """The request behind each call; None where it cannot be rebuilt with the key of the call.

    Judges of a panel read the same words, which are cut into pieces once.
    """
    packed: dict[tuple[Message, ...], RequestPieces] = {}
    found: list[RequestPieces | None] = []
    for call in result.calls:
        request = rebuilder.rebuild(result, call)
        if request is not None and request.messages not in packed:
            packed[request.messages] = pack(request, result.sample, call.evidence, literals)
        found.append(None if request is None else packed[request.messages])
    return found


def _table(facts: Overview) -> str:
    """The means as a plain table, for a browser that runs no script."""
    rows = "".join(
        f"<tr><th>{html.escape(visible(name))}</th><td>{decimal(metric.mean)}</td>"
        f"<td>{ends_in_words(metric)}</td><td>{metric.n}</td></tr>"
        for name, metric in facts.summary.metrics.items()
    )
    return f"<table><tr><th>metric</th><th>mean</th><th>95 % interval</th><th>samples</th></tr>{rows}</table>"
