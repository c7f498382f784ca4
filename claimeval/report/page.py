"""The report as one HTML file with its style, script and data, which opens from disk and asks nobody for anything."""

from __future__ import annotations

import html
import shutil
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import IO, NamedTuple

from claimeval.calls import Message
from claimeval.records import REASONS, SampleResult
from claimeval.report.assets import page
from claimeval.report.comparison import Pair, compare, shared_metrics
from claimeval.report.facts import Comparison, Facts
from claimeval.report.gathering import gather
from claimeval.report.packing import Details, as_json, block
from claimeval.report.requests import Literals, Packed, Rebuilder, pack
from claimeval.report.rows import Row, row
from claimeval.report.visible import visible
from claimeval.run import load_manifest, to_line


def render(file: IO[str], folder: Path, compared: Path | None = None) -> None:
    """Writes the page of a run, or of two runs side by side, into an open file, sample by sample.

    DataError where a folder holds no finished run; UsageError where two runs share no metric or no sample.
    """
    with tempfile.TemporaryFile("w+", encoding="ascii") as chunks:
        details = Details(chunks)
        content = _one(folder, details) if compared is None else _two(folder, compared, details)
        details.close()
        chunks.seek(0)
        overview, facts = content.overview(), content.facts
        index = {"rows": content.rows, "starts": details.starts}
        filled = page("report").html
        for mark, text in (
            ("title", html.escape(visible(facts.manifest.data or facts.name))),
            ("table", _table(facts)),
            ("data", block("overview", as_json(overview)) + block("index", as_json(index))),
        ):
            filled = filled.replace(f"<!--{mark}-->", text)
        before, after = filled.split("<!--details-->")
        file.write(before)
        shutil.copyfileobj(chunks, file)
        file.write(after)


class _Content(NamedTuple):
    """What a page says beside the details of its samples."""

    facts: Facts
    other: Facts | None
    comparison: Comparison | None
    rows: Sequence[tuple[Row] | tuple[Row, Row, int]]
    """The sample in run a; for two runs also in run b, and how many claims flipped."""

    def overview(self) -> dict[str, object]:
        runs = [facts.model_dump(mode="json") for facts in (self.facts, self.other) if facts]
        return {
            "runs": runs,
            "comparison": self.comparison.model_dump(mode="json") if self.comparison else None,
            "reasons": REASONS,
            "version": version("claimeval"),
        }


def _one(folder: Path, details: Details) -> _Content:
    manifest = load_manifest(folder)
    rebuilder = Rebuilder(manifest)
    rows: list[tuple[Row]] = []

    def each(result: SampleResult) -> None:
        rows.append((row(result, manifest.metrics),))
        details.add([to_line(result)], [_requests(result, rebuilder, details.literals)])

    return _Content(gather(folder, each), None, None, rows)


def _two(folder: Path, compared: Path, details: Details) -> _Content:
    manifests = load_manifest(folder), load_manifest(compared)
    metrics, rebuilders = shared_metrics(*manifests), [Rebuilder(manifest) for manifest in manifests]
    rows: list[tuple[Row, Row, int]] = []

    def each(pair: Pair, flipped: int) -> None:
        rows.append((row(pair.a, metrics), row(pair.b, metrics), flipped))
        requests = [_requests(result, r, details.literals) for result, r in zip(pair, rebuilders, strict=True)]
        details.add([to_line(result) for result in pair], requests)

    return _Content(*compare(folder, compared, each), rows)


def _requests(result: SampleResult, rebuilder: Rebuilder, literals: Literals) -> list[Packed | None]:
    """The request behind each call; None where it cannot be rebuilt with the key of the call.

    Judges of a panel read the same words, which are cut into pieces once.
    """
    packed: dict[tuple[Message, ...], Packed] = {}
    found: list[Packed | None] = []
    for call in result.calls:
        request = rebuilder.rebuild(result, call)
        if request is not None and request.messages not in packed:
            packed[request.messages] = pack(request, result.sample, call.against or "", literals)
        found.append(None if request is None else packed[request.messages])
    return found


def _table(facts: Facts) -> str:
    """The means as a plain table, for a browser that runs no script."""
    rows = "".join(
        f"<tr><th>{html.escape(visible(name))}</th><td>{_number(metric.mean)}</td>"
        f"<td>{' to '.join(map(_number, metric.ci)) if metric.ci else '-'}</td><td>{metric.n}</td></tr>"
        for name, metric in facts.summary.metrics.items()
    )
    return f"<table><tr><th>metric</th><th>mean</th><th>95 % interval</th><th>samples</th></tr>{rows}</table>"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
