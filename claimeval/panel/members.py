"""The members of a panel beside it: what each judge alone makes of a metric, and how its repeats differ."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from claimeval.panel.ballots import cast
from claimeval.panel.settings import Panel
from claimeval.records import Assessment, Reason, Score
from claimeval.scoring import MetricSummary, Tally


class MemberTally:
    """Adds up one metric for every judge apart."""

    def __init__(self, judges: Sequence[str], panel: Panel) -> None:
        self._panel = panel
        self._tallies = {judge: Tally() for judge in judges}
        self._repeats: dict[str, list[array[float]]] = {judge: [] for judge in judges}

    def add(
        self, score: Score, assessments: Sequence[Assessment], takers: Mapping[str, str | None] = MappingProxyType({})
    ) -> dict[str, float | None]:
        """One sample: the panel's score and its assessments of the metric's claims; gives each judge's own value.

        A judge's value is over the claims it was asked about, and over those that nobody need be asked about, its own
        where `takers` names a judge for a claim. Where the panel's score is undefined for a reason that
        lies in the sample, so are the judges'.
        """
        labels: dict[str, Counter[str]] = {judge: Counter() for judge in self._tallies}
        reasons: dict[str, Counter[Reason]] = {judge: Counter() for judge in self._tallies}
        for assessment in assessments:
            if assessment.unasked:
                taker = takers.get(assessment.claim_id)
                for judge in labels if taker is None else {taker} & labels.keys():
                    labels[judge][assessment.label] += 1
            for ballot in cast(assessment.verdicts, self._panel):
                if ballot.judge not in labels:
                    continue
                if ballot.choice is None:
                    assert ballot.because is not None, "a ballot without a choice says why"
                    reasons[ballot.judge][ballot.because] += 1
                elif isinstance(ballot.choice, int):
                    assert self._panel.grades is not None, "grades are voted for on a scale of grades only"
                    labels[ballot.judge][self._panel.grades.label(ballot.choice)] += 1
                else:
                    labels[ballot.judge][ballot.choice] += 1
        values: dict[str, float | None] = {}
        for judge, tally in self._tallies.items():
            own = _score(score, labels[judge], reasons[judge])
            if own:
                tally.add(own, reasons[judge].elements(), 0)
            values[judge] = own.value if own else None
        if self._panel.replicates > 1:
            self._add_repeats(assessments)
        return values

    def _add_repeats(self, assessments: Sequence[Assessment]) -> None:
        """Each judge's score of this sample once per repeat."""
        said: dict[str, dict[int, list[bool]]] = {judge: {} for judge in self._tallies}
        for assessment in assessments:
            for verdict in assessment.verdicts:
                if verdict.label != "unassessed" and verdict.judge in said:
                    said[verdict.judge].setdefault(verdict.replicate, []).append(verdict.label == "supported")
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


def _score(panels: Score, labels: Counter[str], reasons: Counter[Reason]) -> Score | None:
    """One judge's score of the sample; None where it was asked about none of the claims."""
    judged, hits = labels.total(), labels["supported"]
    total = judged + reasons.total()
    if judged:
        return Score(metric=panels.metric, value=hits / judged, hits=hits, judged=judged, total=total)
    if total:
        return Score(metric=panels.metric, total=total, undefined_because=reasons.most_common(1)[0][0])
    if panels.total and panels.judged:
        return None
    return Score(metric=panels.metric, total=panels.total, undefined_because=panels.undefined_because)
