"""Adds up how the judges of a run agree, sample by sample, in memory that hardly grows with the run."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import Literal

from claimeval.evaluation.summary.records import Dispute, PanelSummary, RaterAgreement, ReplicateNoise, SelfPreference
from claimeval.judging.panel import Panel
from claimeval.judging.panel.ballots import Ballot, cast_ballots, choice
from claimeval.judging.panel.error_rates import ErrorRates
from claimeval.types.records import ASKED, Assessment, Claim, Sample, SampleResult, Verdict

DISPUTES = 20
"""The claims that divide the judges most that a summary lists."""
PANEL = "panel"
"""The panel's own label among the raters."""

Votes = tuple[str | None, ...]


class PanelTally:
    """Counts how often each pattern of votes occurs; everything said of agreement follows from that."""

    def __init__(self, judges: Sequence[str], panel: Panel) -> None:
        self._judges = tuple(judges)
        self._panel = panel
        self._patterns: Counter[Votes] = Counter()
        """The choice of every judge and, last, the panel's."""
        self._ties = self._no_quorum = self._claims = 0
        self._disputed: list[tuple[float, int, Dispute]] = []
        self._repeats: dict[str, Counter[tuple[int, int]]] = {name: Counter() for name in self._judges}
        """Per judge how many claims got so many "supported" in so many labels."""
        self._changed: Counter[str] = Counter()
        self._stopped: Counter[str] = Counter()

    def add(self, result: SampleResult) -> None:
        """Counts the verdicts of one sample in."""
        claims = {claim.id: claim for claim in result.claims}
        for assessment in result.assessments:
            if assessment.evidence.part == ASKED or assessment.unasked:
                continue
            ballots = {ballot.judge: ballot for ballot in cast_ballots(assessment.verdicts, self._panel)}
            votes = [ballots[name].choice if name in ballots else None for name in self._judges]
            self._patterns[(*votes, self._decided(assessment))] += 1
            self._claims += 1
            self._stopped.update({v.judge for v in assessment.verdicts if v.unassessed == "judge_stopped"})
            self._ties += assessment.unassessed == "tie"
            self._no_quorum += assessment.unassessed == "no_quorum"
            if self._panel.replicates > 1:
                self._count_repeats(assessment.verdicts)
            if assessment.entropy:
                self._list_dispute(result.sample, claims[assessment.subject], assessment, ballots)

    def _decided(self, assessment: Assessment) -> str | None:
        return None if assessment.tied else assessment.label

    def _count_repeats(self, verdicts: Sequence[Verdict]) -> None:
        for judge in self._judges:
            said = [v for v in verdicts if v.judge == judge and v.label is not None]
            self._repeats[judge][sum(v.support == "supported" for v in said), len(said)] += 1
            self._changed[judge] += len({choice(v, self._panel) for v in said}) > 1

    def _list_dispute(
        self, sample: Sample, claim: Claim, assessment: Assessment, ballots: Mapping[str, Ballot]
    ) -> None:
        assert assessment.entropy is not None, "only claims with votes are disputed"
        if len(self._disputed) == DISPUTES and assessment.entropy <= self._disputed[0][0]:
            return
        dispute = Dispute(
            sample=sample.id,
            subject=claim.id,
            claim=claim.text,
            of=claim.of,
            evidence=assessment.evidence,
            votes={name: str(b.because if b.choice is None else b.choice) for name, b in ballots.items()},
            entropy=assessment.entropy,
        )
        push = heapq.heappush if len(self._disputed) < DISPUTES else heapq.heappushpop
        push(self._disputed, (assessment.entropy, -self._claims, dispute))

    def summary(
        self,
        preferences: Sequence[SelfPreference] = (),
        noise_of_scores: Mapping[str, Mapping[str, float | None]] | None = None,
        rates: ErrorRates | None = None,
    ) -> PanelSummary:
        """What the samples so far show; `noise_of_scores` is per metric and judge."""
        from claimeval.statistics import NO_INTERVAL, gwet_ac1, krippendorff_alpha

        measured_on = self._panel.asked_about_all(self._judges)
        unanimous = split = 0
        for votes, n in self._patterns.items():
            given = [vote for vote in votes[: len(measured_on)] if vote is not None]
            unanimous += n * (len(given) > 1 and len(set(given)) == 1)
            split += n * (len(set(given)) > 1)
        ratings = [votes[: len(measured_on)] for votes in self._patterns] if measured_on else []
        counts = list(self._patterns.values()) if measured_on else []
        order = self._panel.scale.ranked
        scale: Literal["ordinal", "nominal"] = "ordinal" if self._panel.scale.ordered else "nominal"
        pairs = _PairwiseTally(self._patterns, (*self._judges, PANEL), order, set(self._judges) - set(measured_on))
        last = len(self._judges)
        return PanelSummary(
            judges=self._judges,
            claims=self._claims,
            measured_on=measured_on,
            unanimous=unanimous,
            split=split,
            ties=self._ties,
            no_quorum=self._no_quorum,
            alpha=krippendorff_alpha(ratings, scale=scale, labels=order, counts=counts, resampling=NO_INTERVAL).value
            if counts
            else None,
            ac1=gwet_ac1(ratings, labels=order, counts=counts, resampling=NO_INTERVAL).value if counts else None,
            judge_pairs=tuple(pairs.agreement(i, j) for i, j in combinations(range(last), 2)) if measured_on else (),
            judge_vs_panel=tuple(pairs.agreement(i, last) for i in range(last)) if measured_on else (),
            noise={judge: self._noise(judge, noise_of_scores or {}) for judge in self._judges if self._repeats[judge]},
            disputes=tuple(dispute for *_, dispute in sorted(self._disputed, key=lambda d: (-d[0], -d[1]))),
            self_preference=tuple(preferences),
            error_rates=rates,
            stopped_judges={name: self._stopped[name] for name in self._judges if self._stopped[name]},
        )

    def _noise(self, judge: str, noise_of_scores: Mapping[str, Mapping[str, float | None]]) -> ReplicateNoise:
        from claimeval.statistics import variance_components

        repeats = self._repeats[judge]
        groups = [[1.0] * hits + [0.0] * (labels - hits) for hits, labels in repeats]
        return ReplicateNoise(
            claims=sum(n for (_, labels), n in repeats.items() if labels > 1),
            inconsistent=self._changed[judge],
            variance_share=variance_components(groups, list(repeats.values())).within_share,
            score_variance_share={metric: shares.get(judge) for metric, shares in noise_of_scores.items()},
        )


class _PairwiseTally:
    """RaterAgreement of any two raters, from the patterns of votes."""

    def __init__(
        self, patterns: Mapping[Votes, int], raters: Sequence[str], order: Sequence[str], later: Collection[str]
    ) -> None:
        """`later` are the judges who were asked about disputed claims only."""
        import numpy as np

        self._later = later

        place: dict[str | None, int] = {said: i for i, said in enumerate(order)}
        codes = [[place.get(vote, -1) for vote in votes] for votes in patterns]
        self._codes = np.array(codes, dtype=np.int64).reshape(len(codes), len(raters))
        self._times = np.fromiter(patterns.values(), np.int64, len(patterns))
        self._raters, self._order = raters, order

    def agreement(self, first: int, second: int) -> RaterAgreement:
        """Return the agreement of two judges by their positions."""
        import numpy as np

        from claimeval.statistics import NO_INTERVAL, cohen_kappa

        size = len(self._order)
        a, b = self._codes[:, first], self._codes[:, second]
        both = (a >= 0) & (b >= 0)
        cells = np.bincount(a[both] * size + b[both], weights=self._times[both], minlength=size * size)
        counts = [int(n) for n in cells]
        said = [(i, j) for i in range(size) for j in range(size)]
        claims = sum(counts)
        return RaterAgreement(
            first=self._raters[first],
            second=self._raters[second],
            claims=claims,
            raw_agreement=sum(counts[:: size + 1]) / claims if claims else None,
            kappa=cohen_kappa([i for i, _ in said], [j for _, j in said], counts=counts, resampling=NO_INTERVAL).value,
            disputed_only=bool({self._raters[first], self._raters[second]} & set(self._later)),
        )
