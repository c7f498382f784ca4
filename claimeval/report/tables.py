"""The results as tables for spreadsheets: a row a sample, or a row a claim and evidence.

A cell of text that a spreadsheet would take for a formula gets an apostrophe in front.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Literal

from claimeval.evaluation.manifest import Manifest
from claimeval.runs.directory import load_manifest, read_results
from claimeval.types.records import SampleResult, Verdict

Rows = Literal["samples", "claims"]
Cell = str | int | float | None


def write(file: IO[str], folder: Path, rows: Rows) -> None:
    """Writes the results of a run as CSV with a header line; undefined values are empty cells."""
    manifest = load_manifest(folder)
    table = _samples if rows == "samples" else _claims
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows([plain(cell) for cell in row] for row in table(manifest, read_results(folder)))


def plain(cell: Cell) -> Cell:
    """The cell as a spreadsheet shall show it: text that begins like a formula is no formula."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r", "\n") else cell


def _samples(manifest: Manifest, results: Iterable[SampleResult]) -> Iterator[list[Cell]]:
    names = manifest.names
    parts = ("", "_because", "_supported", "_judged", "_claims")
    yield ["id", "question", "answer", "generator", *(f"{name}{part}" for name in names for part in parts)]
    for result in results:
        sample = result.sample
        row: list[Cell] = [sample.id, sample.question, sample.answer, sample.generator]
        for name in names:
            score = result.score(name)
            row += [score.value, score.undefined_because]
            row += [score.hits, score.judged, score.total] if score.ends is None else [None, None, None]
        yield row


def _claims(manifest: Manifest, results: Iterable[SampleResult]) -> Iterator[list[Cell]]:
    judges = [judge.name for judge in manifest.judges]
    shorter = manifest.short_names
    said = ("label", "probability", "explanation", "cites")
    head = ["id", "claim_id", "of", "claim", "grounding", "against", "document", "order"]
    head += ["label", "unassessed", "agreement"]
    yield [*head, *(f"{shorter[judge]}: {word}" for judge in judges for word in said)]
    for result in results:
        claims = {claim.id: claim for claim in result.claims}
        for assessment in (*result.assessments, *result.cells):
            claim = claims[assessment.subject]
            verdicts = {verdict.judge: verdict for verdict in assessment.verdicts}
            row: list[Cell] = [result.sample.id, claim.id, claim.of, claim.text, claim.grounding]
            row += [assessment.evidence.part, assessment.evidence.document, assessment.evidence.order]
            row += [assessment.label, assessment.unassessed, assessment.agreement]
            yield row + [cell for judge in judges for cell in _said(verdicts.get(judge))]


def _said(verdict: Verdict | None) -> list[Cell]:
    if verdict is None:
        return [None] * 4
    label = verdict.unassessed or verdict.label
    return [label, verdict.probability, verdict.explanation, " ".join(verdict.cites)]
