"""A run's score corrected by human labels of some of its claims: raw, corrected and human-only side by side.

The unit is the claim and the cluster the question with all its samples; what is corrected is the micro score
(supported / judged claims).
Claims that `annotating` drew keep their probabilities; other labels are taken for a random sample of the claims.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

from claimeval.agreement.joining import claims_meant
from claimeval.annotating import Drawn, drawn, metric_of
from claimeval.clustering import cluster_of
from claimeval.data.labels import HumanLabel
from claimeval.errors import UsageError
from claimeval.metrics import ClaimMetric
from claimeval.records import Record, SampleResult
from claimeval.run import cluster_field, read_results
from claimeval.statistics import Correction, Estimate, active_estimate, prediction_powered, rogan_gladen

Method = Literal["auto", "ppi", "stratified", "active", "rogan-gladen"]


class Number(Record):
    """A value with its 95 % interval."""

    value: float | None
    low: float | None
    high: float | None
    undefined_because: str | None = None


class Corrected(Record):
    """One metric, judged, corrected and labelled."""

    metric: str
    method: str
    claims: int
    """Claims that the judges gave a label."""
    labelled: int
    unmatched: int
    """Labels that fit no judged claim of the metric."""
    judge: Number
    """By the judges alone; the interval knows nothing of their errors."""
    corrected: Number
    human: Number
    """By the labelled claims alone."""
    judge_weight: float | None
    """How much the judges count, from 0 (not at all) to 1."""
    labels_to_halve: int | None
    """How many more labels would halve the corrected interval."""


class _Items(NamedTuple):
    judge: list[bool]
    human: list[bool | None]
    clusters: list[int]
    labels: list[str]
    probabilities: list[float]
    unmatched: int


def correct(
    run: Path, metric: str | None, labels: Iterable[HumanLabel], method: Method, seed: int, cluster: str | None = None
) -> Corrected:
    """The metric (the run's first unless said) corrected by the labels.

    `auto` takes the method that fits how the claims were drawn: PPI++ for a uniform draw, stratified PPI++ by the
    judges' label for a stratified one, the active estimate for one by uncertainty. Rogan-Gladen is for labels from
    elsewhere. UsageError without a matching label.
    """
    row = metric_of(run, metric)
    draw = drawn(run, row.name)
    chosen = method if method != "auto" else _fitting(draw)
    items = _items(run, row, labels, draw, cluster_field(run, cluster))
    if not any(label is not None for label in items.human):
        raise UsageError(f"none of the labels is about a judged claim of {row.name} ({items.unmatched} labels read)")
    found = _correction(items, chosen, draw, seed)
    return Corrected(
        metric=row.name,
        method=found.method,
        claims=len(items.judge),
        labelled=found.labelled,
        unmatched=items.unmatched,
        judge=_number(found.judge),
        corrected=_number(found.corrected),
        human=_number(found.human),
        judge_weight=found.judge_weight,
        labels_to_halve=found.labels_to_halve,
    )


def _fitting(draw: Drawn | None) -> Method:
    fitting: dict[str, Method] = {"uniform": "ppi", "stratified": "stratified", "uncertainty": "active"}
    return fitting[draw.design] if draw else "ppi"


def _correction(items: _Items, method: Method, draw: Drawn | None, seed: int) -> Correction:
    judge = [float(supported) for supported in items.judge]
    human = [None if label is None else float(label) for label in items.human]
    if method == "rogan-gladen":
        return rogan_gladen(items.judge, items.human, clusters=items.clusters, seed=seed)
    if method == "active":
        if draw is None or draw.design != "uncertainty":
            raise UsageError("the active estimate needs claims drawn with `claimeval annotate --design uncertainty`")
        return active_estimate(judge, human, items.probabilities, clusters=items.clusters, seed=seed)
    strata = items.labels if method == "stratified" else None
    return prediction_powered(judge, human, strata=strata, clusters=items.clusters, seed=seed)


def _items(
    run: Path, metric: ClaimMetric, labels: Iterable[HumanLabel], draw: Drawn | None, cluster: str | None
) -> _Items:
    by_sample: dict[str, list[HumanLabel]] = {}
    for label in labels:
        by_sample.setdefault(label.sample, []).append(label)
    known = {(item.sample, item.claim_id): item.probability for item in draw.items} if draw else {}
    labelled = sum((label.sample, label.claim_id) in known for given in by_sample.values() for label in given)
    done = labelled / len(known) if labelled else 1.0
    items = _Items([], [], [], [], [], 0)
    unmatched = sum(map(len, by_sample.values()))
    for result in read_results(run):
        given, used = _given(result, metric, by_sample.get(result.sample.id, ()))
        unmatched -= used
        of = result.counted(metric.name, metric.claims_of)
        for assessment in result.assessments:
            if (
                assessment.claim_id in of
                and assessment.evidence.part == metric.against
                and assessment.label != "unassessed"
            ):
                items.judge.append(assessment.label == "supported")
                items.human.append(given.get(assessment.claim_id))
                items.clusters.append(cluster_of(result.sample, cluster))
                items.labels.append(assessment.label)
                items.probabilities.append(done * known.get((result.sample.id, assessment.claim_id), 1.0))
    return items._replace(unmatched=unmatched)


def _given(result: SampleResult, metric: ClaimMetric, labels: Iterable[HumanLabel]) -> tuple[dict[str, bool], int]:
    """Whether people call a claim supported, by claim id (the majority; None where divided), and labels used."""
    judged = {a.claim_id for a in result.assessments if a.evidence.part == metric.against and a.label != "unassessed"}
    said: dict[str, list[bool]] = {}
    used = 0
    for label in labels:
        if label.label is None or (label.evidence and label.evidence.part != metric.against):
            continue
        about = [claim_id for claim_id in claims_meant(result, label) if claim_id in judged]
        used += bool(about)
        for claim_id in about:
            said.setdefault(claim_id, []).append(label.label == "supported")
    return {claim_id: 2 * sum(v) > len(v) for claim_id, v in said.items() if 2 * sum(v) != len(v)}, used


def _number(estimate: Estimate) -> Number:
    return Number(
        value=estimate.value, low=estimate.low, high=estimate.high, undefined_because=estimate.undefined_because
    )
