"""Votes again over stored verdicts: other rules, no call. One sample at a time, so that memory does not grow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from claimeval.data.labels import HumanLabel
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary import Summary, Tallies
from claimeval.judging.panel.ballots import cast_ballots
from claimeval.judging.panel.error_rates import ErrorRates, Pattern, estimate_error_rates
from claimeval.judging.panel.voting import Voters
from claimeval.metrics import scoring
from claimeval.metrics.rows import Metric
from claimeval.runs.directory import ResultWriter
from claimeval.runs.labels import join, weights
from claimeval.types.families import Families
from claimeval.types.records import ASKED, Assessment, SampleResult


def settle(writer: ResultWriter, labels: Iterable[HumanLabel] | None, *, complete: bool) -> Summary:
    """Put the votes that need the whole run in the place of those made while it ran, and add up anew.

    Weights of a weighted vote come from `labels` where the manifest has none; then it is amended.
    """
    record = with_weights(writer.manifest, writer.added(), labels)
    if record != writer.manifest:
        writer.amend(record)
    voters = Voters(record.judges, record.panel, Families(record.panel.families))
    rates = rates_of(writer.added(), voters)
    tallies = Tallies(record)

    def voted(result: SampleResult) -> SampleResult:
        now = revote(result, voters, record.metrics, rates, record.derived)
        tallies.add(now)
        return now

    writer.revise(voted)
    return tallies.summary(complete=complete, rates=rates)


def with_weights(record: Manifest, results: Iterable[SampleResult], labels: Iterable[HumanLabel] | None) -> Manifest:
    """Return the manifest with weights learned from the labels, where its vote is weighted and has none."""
    panel = record.panel
    if panel.rule.learns != "weights" or panel.weights:
        return record
    names = [judge.name for judge in record.judges]
    learned = weights(join(results, names, panel, labels), panel)
    return record.model_copy(update={"panel": panel.model_copy(update={"weights": learned})})


def rates_of(results: Iterable[SampleResult], voters: Voters) -> ErrorRates | None:
    """What all verdicts together say of the judges' errors; None where the vote does not rest on it."""
    if voters.panel.rule.learns != "error_rates":
        return None
    patterns: Counter[Pattern] = Counter()
    judges = {judge.name for judge in voters.judges}
    for result in results:
        part = {claim.id: claim.of for claim in result.claims}
        for a in result.assessments:
            if a.evidence.part == ASKED or a.unasked:
                continue
            own = voters.same_family(result.sample, part[a.subject], a.evidence.part)
            left_out = own if voters.panel.on_same_family == "no-vote" else frozenset()
            ballots = cast_ballots([v for v in a.verdicts if v.judge in judges - left_out], voters.panel)
            patterns[tuple((b.judge, b.choice) for b in ballots if b.choice is not None)] += 1
    return estimate_error_rates(patterns)


def revote(
    result: SampleResult,
    voters: Voters,
    metrics: Sequence[Metric],
    rates: ErrorRates | None = None,
    derived: Sequence[str] = (),
) -> SampleResult:
    """Return the sample with the labels and scores that its verdicts come to under these rules.

    Verdicts of judges who are not voters are left out, and with them claims that nobody else assessed.

    Args:
        result: The sample with its verdicts.
        voters: The judges and the rules.
        metrics: The metrics to score.
        rates: Error rates of the judges over the whole run.
        derived: Names of derived metrics.

    Returns:
        A new result.
    """
    part = {claim.id: claim.of for claim in result.claims}
    judges = {judge.name for judge in voters.judges}

    def voted(assessments: Iterable[Assessment]) -> Iterator[Assessment]:
        for a in assessments:
            if verdicts := [verdict for verdict in a.verdicts if verdict.judge in judges]:
                yield voters.vote(result.sample, part[a.subject], a.evidence, a.subject, verdicts, rates)

    counted = result.model_copy(
        update={
            "assessments": tuple(voted(result.assessments)),
            "per_document": tuple(voted(result.per_document)),
            "orders": tuple(voted(result.orders)),
        }
    )
    columns = counted.columns()
    of_nothing = {pair: one for pair, one in scoring.unasked(metrics, counted).items() if pair not in columns}
    unscored = counted.model_copy(
        update={"assessments": tuple(chain.from_iterable((columns | of_nothing).values()))},
    )
    return unscored.model_copy(update={"scores": scoring.scores(metrics, unscored, derived)})
