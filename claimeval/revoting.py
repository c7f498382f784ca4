"""Votes again over stored verdicts: other rules, no call. One sample at a time, so that memory does not grow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from claimeval import scoring
from claimeval.metrics import ClaimMetric
from claimeval.panel.ballots import cast
from claimeval.panel.learning import ErrorRates, Pattern, learn
from claimeval.panel.voters import Voters
from claimeval.records import Assessment, Part, SampleResult


def rates_of(results: Iterable[SampleResult], voters: Voters) -> ErrorRates | None:
    """What all verdicts together say of the judges' errors; None where the vote does not rest on it."""
    if not voters.panel.needs_whole_run:
        return None
    patterns: Counter[Pattern] = Counter()
    judges = {judge.name for judge in voters.judges}
    for result in results:
        part = {claim.id: claim.of for claim in result.claims}
        for a in result.assessments:
            own = voters.own_family(result.sample, part[a.claim_id], a.against)
            left_out = own if voters.panel.leave_own_family_out else frozenset()
            ballots = cast([v for v in a.verdicts if v.judge in judges - left_out], voters.panel)
            patterns[tuple((b.judge, b.choice) for b in ballots if b.choice is not None)] += 1
    return learn(patterns)


def revote(
    result: SampleResult, voters: Voters, metrics: Sequence[ClaimMetric], rates: ErrorRates | None = None
) -> SampleResult:
    """The sample with the labels and scores that its verdicts come to by these rules.

    Verdicts of judges who are not among the voters are left out, and with them claims that nobody else assessed.
    """
    part = {claim.id: claim.of for claim in result.claims}
    judges = {judge.name for judge in voters.judges}
    columns: dict[tuple[Part, Part], list[Assessment]] = {}
    for a in result.assessments:
        if verdicts := [verdict for verdict in a.verdicts if verdict.judge in judges]:
            of = part[a.claim_id]
            now = voters.vote(result.sample, of, a.against, a.claim_id, verdicts, rates)
            columns.setdefault((of, a.against), []).append(now)
    extractions = {extraction.of: extraction for extraction in result.extractions}
    return result.model_copy(
        update={
            "assessments": tuple(assessment for column in columns.values() for assessment in column),
            "scores": scoring.scores(metrics, result.sample, extractions, columns),
        }
    )
