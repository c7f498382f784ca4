"""The members of a panel beside it: what each judge alone makes of a metric, and how its repeats differ."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from claimeval.judging.panel import Panel
from claimeval.judging.panel.ballots import cast_ballots
from claimeval.metrics.scoring import MetricSummary, MetricTally, best
from claimeval.types.records import Assessment, Claim, Reason, Score


class MemberTally:
    """Adds up one metric for every judge apart."""

    def __init__(self, judges: Sequence[str], panel: Panel) -> None:
        self._panel = panel
        self._tallies = {judge: MetricTally() for judge in judges}
        self._repeats: dict[str, list[array[float]]] = {judge: [] for judge in judges}

    def add(
        self,
        score: Score,
        assessments: Sequence[Assessment],
        cluster: int,
        claims: Mapping[str, Claim] = MappingProxyType({}),
    ) -> dict[str, float | None]:
        """Add one sample and return the value of each judge on it.

        A judge's value covers the claims that it was asked about and those that need no judge; of the latter, claims
        that one judge extracted count for that judge alone. Of several alternatives, the judge's best one counts. If a
        reason in the sample makes the panel's score undefined, the judges' values are undefined too.

        Args:
            score: The panel's score of the sample.
            assessments: The panel's assessments of the metric's claims.
            cluster: Number of the sample's cluster.
            claims: The claims by id.

        Returns:
            The value of each judge by name.
        """
        own: dict[str, dict[int, _Counts]] = {judge: {} for judge in self._tallies}
        for assessment in assessments:
            claim = claims.get(assessment.subject)
            number = claim.alternative if claim and claim.alternative and score.alternative else 0
            if assessment.unasked and assessment.label:
                taker = claim.extractor if claim else None
                for judge in own if taker is None else {taker} & own.keys():
                    own[judge].setdefault(number, _Counts()).labels[assessment.label == "supported"] += 1
            for ballot in cast_ballots(assessment.verdicts, self._panel):
                if ballot.judge not in own:
                    continue
                counts = own[ballot.judge].setdefault(number, _Counts())
                if ballot.choice is None:
                    assert ballot.because is not None, "a ballot without a choice says why"
                    counts.reasons[ballot.because] += 1
                else:
                    counts.labels[self._panel.scale.positive(ballot.choice)] += 1
        values: dict[str, float | None] = {}
        for judge, tally in self._tallies.items():
            found = {number: one for number, counts in own[judge].items() if (one := _score(score, counts))}
            mine = best(found) if found and score.alternative else found.get(0) or _score(score, _Counts())
            if mine:
                counts = own[judge].get(mine.alternative or 0, _Counts())
                tally.add(mine, counts.reasons.elements(), cluster=cluster)
            values[judge] = mine.value if mine else None
        if self._panel.replicates > 1:
            self._add_repeats([a for a in assessments if _counts_in(score, claims.get(a.subject))])
        return values

    def _add_repeats(self, assessments: Sequence[Assessment]) -> None:
        """Each judge's score of this sample once per repeat."""
        said: dict[str, dict[int, list[bool]]] = {judge: {} for judge in self._tallies}
        for assessment in assessments:
            for verdict in assessment.verdicts:
                if verdict.label is not None and verdict.judge in said:
                    said[verdict.judge].setdefault(verdict.replicate, []).append(verdict.support == "supported")
        for judge, by_repeat in said.items():
            if by_repeat:
                self._repeats[judge].append(array("d", (sum(hits) / len(hits) for hits in by_repeat.values())))

    def summary(self) -> dict[str, MetricSummary]:
        """Per judge what the samples so far come to."""
        return {judge: tally.summary() for judge, tally in self._tallies.items()}

    def noise(self) -> Mapping[str, float | None]:
        """Per judge the share of the variance of a sample's score that lies between repeats."""
        from claimeval.statistics import variance_components

        return {judge: variance_components(groups).within_share for judge, groups in self._repeats.items()}


class _Counts:
    """What one judge said of the claims of one text."""

    def __init__(self) -> None:
        self.labels: Counter[bool] = Counter()
        self.reasons: Counter[Reason] = Counter()


def _counts_in(score: Score, claim: Claim | None) -> bool:
    return claim is None or score.alternative in (None, claim.alternative)


def _score(panels: Score, counts: _Counts) -> Score | None:
    """One judge's score of the sample; None where it was asked about none of the claims."""
    labels, reasons = counts.labels, counts.reasons
    judged, hits = labels.total(), labels[True]
    total = judged + reasons.total()
    if judged:
        return Score.share(hits / judged, hits=hits, judged=judged, total=total)
    if total:
        return Score.undefined(reasons.most_common(1)[0][0], total=total)
    if panels.total and panels.judged:
        return None
    return Score.undefined(panels.because, total=panels.total)
