"""What is shown of claims beside their text, and beside a person's claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from claimeval.evaluation.manifest import Manifest
from claimeval.metrics.extraction import GOLD_METRICS, ExtractionSummary
from claimeval.metrics.scoring import MetricSummary
from claimeval.runs.views import Block, Column, Data, heading, table
from claimeval.runs.views.run import claims
from claimeval.statistics.formatting import decimal

GOLD = (
    Column("precision", "number"), Column("recall", "number"), Column("F1", "number"), Column("95 % interval", "ends"),
)  # fmt: skip


def view(summary: ExtractionSummary, manifest: Manifest, metrics: Mapping[str, MetricSummary]) -> Iterator[Block]:
    """Yield the quality of claims by their words, and beside claims by people."""
    of = f": {summary.claims:,} claims ({manifest.settings['claims']})"
    subject = Data(Path(manifest.data.path or "data").name)
    yield heading(subject, f"{of} of {summary.sentences:,} sentences, {summary.texts:,} texts")
    yield from claims(summary)
    if summary.people:
        precision, recall, f1, size = (metrics[name] for name in GOLD_METRICS)
        note = f"{decimal(size.mean, 2)} claims per gold claim"
        row = "against gold claims", precision.mean, recall.mean, f1.mean, f1
        yield table("gold", (Column(""), *GOLD), [row], notes=(note,))
