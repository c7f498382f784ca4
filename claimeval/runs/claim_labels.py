"""Drawing claims of a run for people to label, and keeping their labels beside the run.

`annotation/METRIC.json` says what was drawn and with what probability each claim of the run was, which a corrected
score needs; `annotation/METRIC.labels.jsonl` has the labels, a line each, appended and flushed as they are given.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from claimeval.data.labels import HumanLabel, label
from claimeval.data.rows import SourceRow, guarded, read_rows
from claimeval.metrics.rows import Metric
from claimeval.runs.directory import append_line, load_manifest, read_results, write_text
from claimeval.statistics import Draw, draw_by_uncertainty, draw_stratified, draw_uniform
from claimeval.types.errors import DataError, UsageError, unknown_name
from claimeval.types.records import Assessment, Claim, Label, Record, SampleResult

FOLDER = "annotation"
Design = Literal["uniform", "stratified", "uncertainty"]


class Item(Record):
    """One claim of a run that somebody is to label, with the probability with which it was drawn."""

    sample: str
    claim_id: str
    probability: float


class ClaimDraw(Record):
    """What was drawn from a run for one metric."""

    metric: Metric
    design: Design
    seed: int
    population: int
    """Claims with a label of the judges, from which was drawn."""
    items: tuple[Item, ...]
    """In the order in which they are to be labelled: shuffled, so that stopping early leaves a fair part."""


class ClaimToLabel(Record):
    """What a person sees: the claim and its evidence, and nothing that a judge said."""

    item: Item
    result: SampleResult
    claim: Claim


def draw(run: Path, metric: str | None, count: int, design: Design, seed: int) -> ClaimDraw:
    """Draw judged claims of a metric, or return the earlier draw.

    Args:
        run: The run directory.
        metric: Name of the metric. Default: the first metric of the run.
        count: Number of claims; all if there are fewer.
        design: How claims are drawn.
        seed: Seed of the draw.

    Returns:
        The draw.

    Raises:
        UsageError: If something else was drawn already, or the run has no judged claim.
    """
    row = metric_of(run, metric)
    if (before := drawn(run, row.name)) is not None:
        asked = (len(before.items), before.design, before.seed)
        if asked != (min(count, before.population), design, seed):
            raise UsageError(
                f"{len(before.items)} claims were already drawn for {row.name} ({before.design}, seed {before.seed}); "
                f"go on with these options, or remove {_path(run, row.name)} to draw anew"
            )
        return before
    judged = [(r.sample.id, a) for r in read_results(run) for a in _assessments(r, row) if a.label is not None]
    chosen = _draw([a for _, a in judged], min(count, len(judged) or count), design, seed)
    items = [
        Item(sample=judged[i][0], claim_id=judged[i][1].subject, probability=chosen.probabilities[i])
        for i in chosen.chosen
    ]
    order = draw_order(len(items), seed)
    found = ClaimDraw(
        metric=row, design=design, seed=seed, population=len(judged), items=tuple(items[i] for i in order)
    )
    path = _path(run, row.name)
    path.parent.mkdir(exist_ok=True)
    write_text(path, found.model_dump_json(indent=1) + "\n")
    return found


def draw_order(count: int, seed: int) -> list[int]:
    """A shuffled order of so many items."""
    import random

    order = list(range(count))
    random.Random(seed).shuffle(order)
    return order


def _draw(judged: list[Assessment], count: int, design: Design, seed: int) -> Draw:
    if design == "uniform":
        return draw_uniform(len(judged), count, seed=seed)
    if design == "stratified":
        return draw_stratified([a.label for a in judged], count, seed=seed)
    return draw_by_uncertainty([_uncertainty(a) for a in judged], count, seed=seed)


def _uncertainty(assessment: Assessment) -> float:
    """p (1 - p) of the probability of "supported", or of the share of the verdicts that say so; 0 where there was
    nothing to assess against."""
    if assessment.unasked:
        return 0.0
    known = [v.probability for v in assessment.verdicts if v.probability is not None]
    labelled = [v.support == "supported" for v in assessment.verdicts if v.label is not None]
    p = sum(known) / len(known) if known else sum(labelled) / len(labelled) if labelled else 0.5
    return p * (1 - p)


def drawn(run: Path, metric: str) -> ClaimDraw | None:
    """What was drawn for a metric; None when nothing was. DataError where the file is damaged."""
    path = _path(run, metric)
    if not path.exists():
        return None
    try:
        return ClaimDraw.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise DataError(f"{path} is not a drawing: {error.errors()[0]['msg']}") from error


def questions(run: Path, found: ClaimDraw, answered: set[tuple[str, str]]) -> Iterator[ClaimToLabel]:
    """The drawn claims that nobody answered yet, in the order of the drawing."""
    wanted = {item.sample for item in found.items if (item.sample, item.claim_id) not in answered}
    results = {result.sample.id: result for result in read_results(run) if result.sample.id in wanted}
    for item in found.items:
        if (item.sample, item.claim_id) not in answered:
            result = results[item.sample]
            claim = next(claim for claim in result.claims if claim.id == item.claim_id)
            yield ClaimToLabel(item=item, result=result, claim=claim)


class ClaimLabels:
    """The labels given so far for a metric of a run; a later label of the same claim stands for the earlier."""

    def __init__(self, run: Path, metric: str) -> None:
        self.path = _path(run, metric).with_suffix(".labels.jsonl")
        self._given: dict[tuple[str, str], HumanLabel | None] = {}
        if self.path.exists():
            for row in read_rows(self.path):
                self._given[str(row.fields["id"]), str(row.fields["claim_id"])] = label(row)

    @property
    def answered(self) -> set[tuple[str, str]]:
        """Sample and claim of all answers, "undecided" included."""
        return set(self._given)

    @property
    def given(self) -> list[HumanLabel]:
        """All labels that say something."""
        return [found for found in self._given.values() if found]

    def add(self, question: ClaimToLabel, against: str, said: Label | Literal["unsure"], annotator: str | None) -> None:
        """Write one answer to the file before returning.

        Args:
            question: The claim.
            against: The evidence of the label.
            said: The label, or `unsure`.
            annotator: Name of the annotator.
        """
        fields = {
            "id": question.item.sample,
            "claim_id": question.claim.id,
            "text": question.claim.text,
            "against": against,
            "label": said,
            **({"annotator": annotator} if annotator else {}),
        }
        append_line(self.path, fields)
        self._given[question.item.sample, question.claim.id] = label(SourceRow(str(self.path), 0, dict(fields)))


COLUMNS = ("id", "claim_id", "text", "against", "question", "evidence", "label")


def export(run: Path, found: ClaimDraw, path: Path) -> int:
    """Writes the drawn claims as CSV for people who label elsewhere; the column `label` is theirs to fill."""
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for question in questions(run, found, set()):
            sample, against = question.result.sample, found.metric.against
            evidence = "\n\n".join(document.text for document in sample.documents(against) or ())
            row = (sample.id, question.claim.id, question.claim.text, against, sample.question, evidence, "")
            writer.writerow(map(guarded, row))
    return len(found.items)


def metric_of(run: Path, name: str | None) -> Metric:
    """A metric of a run by name, the first for None; UsageError with the closest name otherwise."""
    metrics = {metric.name: metric for metric in load_manifest(run).rows}
    if name is None:
        return next(iter(metrics.values()))
    if name not in metrics:
        raise unknown_name("metric of the run", name, metrics)
    return metrics[name]


def _assessments(result: SampleResult, metric: Metric) -> Iterator[Assessment]:
    of = result.counted(metric.name, metric.claims_of)
    return (a for a in result.assessments if a.evidence.part == metric.against and a.subject in of)


def _path(run: Path, metric: str) -> Path:
    return run / FOLDER / f"{metric}.json"
