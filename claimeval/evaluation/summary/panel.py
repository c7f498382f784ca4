"""Summary of a panel: agreement, disputes, replicates, and whether judges favor their own family.

Everything is computed sample by sample, in memory that hardly grows with the run.
"""

from __future__ import annotations

import heapq
import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from types import MappingProxyType
from typing import Literal, NamedTuple

from pydantic import Field

from claimeval.judging.panel import Panel
from claimeval.judging.panel.rules import Ballot, cast_ballots, choice
from claimeval.metrics.derived import best
from claimeval.metrics.scoring import MetricSummary, MetricTally
from claimeval.metrics.tally import Keyed
from claimeval.types.estimates import Estimate
from claimeval.types.families import Families
from claimeval.types.records import (
    ASKED,
    Assessment,
    Claim,
    Evidence,
    Part,
    Reason,
    Record,
    Sample,
    SampleResult,
    Score,
    Verdict,
)


class RaterAgreement(Record):
    """Two raters over the claims that both labeled."""

    first: str
    second: str
    claims: int
    raw_agreement: float | None
    """Share of equal labels."""
    kappa: float | None
    """Cohen's kappa; None if both use only one label."""
    confusion: tuple[tuple[int, ...], ...] = ()
    """`confusion[a][b]`: claims that the first rater labels `labels[a]` of the summary and the
    second `labels[b]`."""


class Dispute(Record):
    """A claim on which the votes are split."""

    sample: str
    subject: str
    claim: str
    of: Part
    """The part that the claim is from."""
    evidence: Evidence
    votes: dict[str, str]
    """The label (or grade) of each judge, or why there is none."""
    entropy: float
    """Entropy of all votes, in bits."""


class ReplicateNoise(Record):
    """Random variation between the replicates of one judge."""

    claims: int
    """Claims with two or more labels of this judge."""
    inconsistent: int
    """Claims among them with different labels."""
    variance_share: float | None
    """Share of the variance of a single verdict (supported or not) that is between replicates of
    the same claim."""
    score_variance_share: dict[str, float | None]
    """The same for a sample's score, by metric: the share that averaging over replicates can
    remove."""


class SameFamily(Record):
    """A judge, extractor or author of the family that wrote answers of the run."""

    role: Literal["judge", "extractor", "reference_author"]
    name: str
    family: str
    samples: int
    """Samples whose answer that family wrote."""


class SelfPreference(Estimate):
    """How much more a family of judges favors answers of its own family than other judges do.

    This is the difference in differences of `statistics.self_preference`, with its 95% interval
    over questions.
    """

    metric: str
    family: str


class PanelSummary(Record):
    """Agreement and disputes of the judges of a run."""

    judges: tuple[str, ...]
    claims: int
    """Claims that the panel assessed, counted once for each evidence."""
    labels: tuple[str, ...] = ()
    """The labels (or grades) that judges choose from."""
    unanimous: int
    """Claims with two or more labels (or grades), all equal."""
    split: int
    """Claims with two or more labels that differ, even if a score counts them equally."""
    ties: int
    """Claims without a label because the judges are divided."""
    no_quorum: int
    """Claims without a label because too few judges gave one."""
    alpha: float | None
    """Krippendorff's alpha (nominal for labels, ordinal for grades); labels may be missing."""
    ac1: float | None
    """Gwet's AC1."""
    judge_pairs: tuple[RaterAgreement, ...]
    """Every pair of judges, on the claims that both labeled."""
    judge_vs_panel: tuple[RaterAgreement, ...]
    """Every judge (first) and the panel (second)."""
    noise: dict[str, ReplicateNoise]
    """By judge, if there are replicates."""
    disputes: tuple[Dispute, ...]
    """The most disputed claims, at most 20."""
    self_preference: tuple[SelfPreference, ...] = ()
    """By metric and family, if there are at least two families of generators and two of judges."""
    stopped_judges: dict[str, int] = Field(default_factory=dict)
    """Judges that an error stopped (bad key, no quota, unknown model), with the number of claims
    that they did not assess."""


DISPUTES = 20
"""Maximum number of disputed claims in a summary."""
PANEL = "panel"
"""The name of the panel as a rater."""

Votes = tuple[str | None, ...]


class PanelTally:
    """Counts claims by their pattern of votes, from which agreement is computed."""

    def __init__(self, judges: Sequence[str], panel: Panel) -> None:
        self._judges = tuple(judges)
        self._panel = panel
        self._patterns: Counter[Votes] = Counter()
        """The choice of every judge and, last, the panel's."""
        self._ties = self._no_quorum = self._claims = 0
        self._disputed: list[tuple[float, int, Dispute]] = []
        self._repeats: dict[str, Counter[tuple[int, int]]] = {
            name: Counter() for name in self._judges
        }
        """Number of claims by judge, number of "supported" labels and number of labels."""
        self._changed: Counter[str] = Counter()
        self._stopped: Counter[str] = Counter()

    def add(self, result: SampleResult) -> None:
        """Add the verdicts on one sample."""
        claims = {claim.id: claim for claim in result.claims}
        for assessment in result.whole:
            # Weights of claims are no labels of support, and 0 without a judge is no agreement of
            # judges.
            if assessment.against == ASKED or assessment.unasked:
                continue
            ballots = {
                ballot.judge: ballot for ballot in cast_ballots(assessment.verdicts, self._panel)
            }
            votes = [ballots[name].choice if name in ballots else None for name in self._judges]
            self._patterns[(*votes, None if assessment.tied else assessment.label)] += 1
            self._claims += 1
            self._stopped.update(
                {v.judge for v in assessment.verdicts if v.unassessed == "judge_stopped"}
            )
            self._ties += assessment.unassessed == "tie"
            self._no_quorum += assessment.unassessed == "no_quorum"
            if self._panel.replicates > 1:
                self._count_repeats(assessment.verdicts)
            if assessment.entropy:
                self._add_dispute(result.sample, claims[assessment.subject], assessment, ballots)

    def _count_repeats(self, verdicts: Sequence[Verdict]) -> None:
        for judge in self._judges:
            labeled = [v for v in verdicts if v.judge == judge and v.label is not None]
            self._repeats[judge][sum(v.support == "supported" for v in labeled), len(labeled)] += 1
            self._changed[judge] += len({choice(v, self._panel) for v in labeled}) > 1

    def _add_dispute(
        self,
        sample: Sample,
        claim: Claim,
        assessment: Assessment,
        ballots: Mapping[str, Ballot],
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
            votes={
                name: str(b.because if b.choice is None else b.choice)
                for name, b in ballots.items()
            },
            entropy=assessment.entropy,
        )
        # A heap of twenty, since a run of a million claims may dispute half of them.
        push = heapq.heappush if len(self._disputed) < DISPUTES else heapq.heappushpop
        push(self._disputed, (assessment.entropy, -self._claims, dispute))

    def _unanimity(self) -> dict[str, int]:
        """Count the claims with several labels that are equal, and those with labels that
        differ."""
        unanimous = split = 0
        for votes, n in self._patterns.items():
            labels = [vote for vote in votes[: len(self._judges)] if vote is not None]
            unanimous += n * (len(labels) > 1 and len(set(labels)) == 1)
            split += n * (len(set(labels)) > 1)
        return {"unanimous": unanimous, "split": split}

    def _agreement(self) -> _PanelAgreement:
        """Return the agreement of all judges beyond chance."""
        from claimeval.statistics import NO_INTERVAL, gwet_ac1, krippendorff_alpha

        if not self._patterns:
            return _PanelAgreement()
        # A million claims of three judges have 256 patterns at most; the statistics take counts.
        ratings = [votes[: len(self._judges)] for votes in self._patterns]
        counts = list(self._patterns.values())
        order = self._panel.scale.ranked
        alpha = krippendorff_alpha(
            ratings,
            scale="ordinal" if self._panel.scale.ordered else "nominal",
            labels=order,
            counts=counts,
            resampling=NO_INTERVAL,
        )
        ac1 = gwet_ac1(ratings, labels=order, counts=counts, resampling=NO_INTERVAL)
        return _PanelAgreement(alpha.value, ac1.value)

    def summary(
        self,
        preferences: Sequence[SelfPreference] = (),
        noise_of_scores: Mapping[str, Mapping[str, float | None]] | None = None,
    ) -> PanelSummary:
        """Return the summary of the samples so far; `noise_of_scores` is by metric and judge."""
        last = len(self._judges)
        order = self._panel.scale.ranked
        agreement = self._agreement()
        pairs = _PairwiseTally(self._patterns, (*self._judges, PANEL), order)
        return PanelSummary(
            judges=self._judges,
            labels=tuple(order),
            claims=self._claims,
            **self._unanimity(),
            ties=self._ties,
            no_quorum=self._no_quorum,
            alpha=agreement.alpha,
            ac1=agreement.ac1,
            judge_pairs=tuple(pairs.agreement(i, j) for i, j in combinations(range(last), 2)),
            judge_vs_panel=tuple(pairs.agreement(i, last) for i in range(last)),
            noise={
                judge: self._noise(judge, noise_of_scores or {})
                for judge in self._judges
                if self._repeats[judge]
            },
            disputes=tuple(
                dispute for *_, dispute in sorted(self._disputed, key=lambda d: (-d[0], -d[1]))
            ),
            self_preference=tuple(preferences),
            stopped_judges={
                name: self._stopped[name] for name in self._judges if self._stopped[name]
            },
        )

    def _noise(
        self,
        judge: str,
        noise_of_scores: Mapping[str, Mapping[str, float | None]],
    ) -> ReplicateNoise:
        from claimeval.statistics import variance_components

        repeats = self._repeats[judge]
        groups = [[1.0] * hits + [0.0] * (labels - hits) for hits, labels in repeats]
        return ReplicateNoise(
            claims=sum(n for (_, labels), n in repeats.items() if labels > 1),
            inconsistent=self._changed[judge],
            variance_share=variance_components(groups, list(repeats.values())).within_share,
            score_variance_share={
                metric: shares.get(judge) for metric, shares in noise_of_scores.items()
            },
        )


class _PairwiseTally:
    """Computes the agreement of any two raters from the patterns of votes."""

    def __init__(
        self,
        patterns: Mapping[Votes, int],
        raters: Sequence[str],
        order: Sequence[str],
    ) -> None:
        import numpy as np

        code_of: dict[str | None, int] = {label: i for i, label in enumerate(order)}
        codes = [[code_of.get(vote, -1) for vote in votes] for votes in patterns]
        self._codes = np.array(codes, dtype=np.int64).reshape(len(codes), len(raters))
        self._times = np.fromiter(patterns.values(), np.int64, len(patterns))
        self._raters = raters
        self._order = order

    def agreement(self, first: int, second: int) -> RaterAgreement:
        """Return the agreement of two raters by their indices."""
        import numpy as np

        from claimeval.statistics import NO_INTERVAL, cohen_kappa

        size = len(self._order)
        a = self._codes[:, first]
        b = self._codes[:, second]
        both = (a >= 0) & (b >= 0)
        cells = np.bincount(
            a[both] * size + b[both],
            weights=self._times[both],
            minlength=size * size,
        )
        counts = [int(n) for n in cells]
        pairs = list(product(range(size), range(size)))
        claims = sum(counts)
        return RaterAgreement(
            first=self._raters[first],
            second=self._raters[second],
            claims=claims,
            raw_agreement=sum(counts[:: size + 1]) / claims if claims else None,
            kappa=cohen_kappa(
                [i for i, _ in pairs],
                [j for _, j in pairs],
                counts=counts,
                resampling=NO_INTERVAL,
            ).value,
            confusion=tuple(tuple(counts[i : i + size]) for i in range(0, size * size, size)),
        )


class _PanelAgreement(NamedTuple):
    """The agreement of all judges; None without a claim."""

    alpha: float | None = None
    ac1: float | None = None


class _Groups:
    """Groups of numbers, one group per sample."""

    def __init__(self) -> None:
        self._values = array("d")
        self._sizes = array("q")

    def add(self, values: Sequence[float]) -> None:
        self._values.extend(values)
        self._sizes.append(len(values))

    def __iter__(self) -> Iterator[array[float]]:
        start = 0
        for size in self._sizes:
            yield self._values[start : start + size]
            start += size


class MemberTally:
    """Computes one metric separately for every judge."""

    def __init__(self, judges: Sequence[str], panel: Panel, *, takes_best: bool = False) -> None:
        """With `takes_best`, the best of several alternative gold answers counts."""
        self._panel = panel
        self._positive = frozenset(filter(panel.scale.positive, panel.scale.words))
        self._takes_best = takes_best
        self._tallies = {judge: MetricTally() for judge in judges}
        self._repeats = {judge: _Groups() for judge in judges}

    def add(
        self,
        score: Score,
        assessments: Sequence[Assessment],
        cluster: int,
        claims: Mapping[str, Claim] = MappingProxyType({}),
    ) -> dict[str, float | None]:
        """Add one sample, and return the value of each judge on it.

        A judge's value covers the claims that it was asked about and those that need no judge. With
        alternatives, the judge's best one counts. If the panel's score is undefined because of the
        sample, so are the judges' values.

        Args:
            score: The panel's score of the sample.
            assessments: The panel's assessments of the metric's claims.
            cluster: Number of the sample's cluster.
            claims: The claims by id.
        """
        by_judge = self._counts(assessments, claims)
        judge_scores: dict[str, Score | None] = {}
        for judge, tally in self._tallies.items():
            by_number = by_judge[judge]
            scores: dict[int, Score] = {}
            for number, counts in by_number.items():
                of_number = _score(score, counts)
                if of_number:
                    scores[number] = of_number
            judge_score = best(scores) if scores else _score(score, _Counts())
            if judge_score:
                counts = by_number.get(judge_score.alternative or 0, _Counts())
                tally.add(judge_score, counts.reasons, cluster=cluster)
            judge_scores[judge] = judge_score
        if self._panel.replicates > 1:
            self._add_repeats(assessments, claims, judge_scores)
        return {
            judge: judge_score.value if judge_score else None
            for judge, judge_score in judge_scores.items()
        }

    def _counts(
        self,
        assessments: Sequence[Assessment],
        claims: Mapping[str, Claim],
    ) -> dict[str, dict[int, _Counts]]:
        """Count the votes of each judge, by the number of the alternative that a claim is of; 0 is
        of none."""
        by_judge = {judge: defaultdict[int, _Counts](_Counts) for judge in self._tallies}
        for assessment in assessments:
            claim = claims.get(assessment.subject)
            number = claim.alternative if claim and claim.alternative and self._takes_best else 0
            # What needs no judge, as a claim without contexts, counts alike for each.
            if assessment.unasked and assessment.label:
                for by_number in by_judge.values():
                    by_number[number].add(positive=assessment.label == "supported")
            for ballot in cast_ballots(assessment.verdicts, self._panel):
                if ballot.judge not in by_judge:
                    continue
                counts = by_judge[ballot.judge][number]
                if ballot.choice is None:
                    assert ballot.because is not None, "a ballot without a choice says why"
                    counts.reasons.append(ballot.because)
                else:
                    counts.add(positive=ballot.choice in self._positive)
        return {judge: dict(by_number) for judge, by_number in by_judge.items()}

    def _add_repeats(
        self,
        assessments: Sequence[Assessment],
        claims: Mapping[str, Claim],
        scores: Mapping[str, Score | None],
    ) -> None:
        """Add each judge's score of the sample for each replicate, over the claims that `scores`
        cover."""
        labels: dict[str, dict[int, list[bool]]] = {judge: {} for judge in self._tallies}
        for assessment in assessments:
            claim = claims.get(assessment.subject)
            for verdict in assessment.verdicts:
                score = scores.get(verdict.judge)
                if verdict.label is None or not score:
                    continue
                if claim is None or score.alternative in (None, claim.alternative):
                    labels[verdict.judge].setdefault(verdict.replicate, []).append(
                        verdict.support == "supported"
                    )
        for judge, by_repeat in labels.items():
            if by_repeat:
                self._repeats[judge].add([sum(hits) / len(hits) for hits in by_repeat.values()])

    def summary(self) -> dict[str, MetricSummary]:
        """Return the summary of each judge."""
        return {judge: tally.summary() for judge, tally in self._tallies.items()}

    def noise(self) -> Mapping[str, float | None]:
        """Return the share of the variance of a sample's score that is between replicates, by
        judge."""
        from claimeval.statistics import variance_components

        return {
            judge: variance_components(list(groups)).within_share
            for judge, groups in self._repeats.items()
        }


class _Counts:
    """Counts of one judge's verdicts on the claims of one text."""

    def __init__(self) -> None:
        self.judged = self.hits = 0
        self.reasons: list[Reason] = []

    def add(self, *, positive: bool) -> None:
        self.judged += 1
        self.hits += positive


def _score(panels: Score, counts: _Counts) -> Score | None:
    """Return one judge's score of the sample; None if it was not asked about any claim."""
    judged = counts.judged
    total = judged + len(counts.reasons)
    if judged:
        return Score.counted(counts.hits, judged, total)
    if total:
        return Score.undefined(Counter(counts.reasons).most_common(1)[0][0], total=total)
    # A judge that was asked about no claim has no score, not a score of 0.
    if panels.total and panels.judged:
        return None
    return Score.undefined(panels.because, total=panels.total)


class _MetricPreferences:
    """The values of one metric: a column per family of judges, and the generator and cluster of
    each row."""

    def __init__(self, families: Iterable[str]) -> None:
        self.columns = {family: array("d") for family in families}
        self.generators: list[str] = []
        self.clusters = array("q")


class Preferences:
    """Collects the values that each family of judges gives to answers of each family of
    generators."""

    def __init__(self, judges: Mapping[str, str], families: Families) -> None:
        """`judges` maps names to models. A model of unknown family is its own family."""
        self._families = families
        self._family = {name: families.family_of(model) or model for name, model in judges.items()}
        self._metrics = Keyed[str, _MetricPreferences](
            lambda _: _MetricPreferences(self._family.values())
        )

    def add(
        self,
        sample: Sample,
        metric: str,
        values: Mapping[str, float | None],
        cluster: int,
    ) -> None:
        """Add a sample's value of a metric by each judge; a sample without a generator does not
        count.

        Args:
            sample: The sample.
            metric: Name of the metric.
            values: The value of each judge by name.
            cluster: Number of the sample's cluster.
        """
        if sample.generator is None:
            return
        rows = self._metrics[metric]
        for family, column in rows.columns.items():
            of_family = [
                v for judge, v in values.items() if self._family[judge] == family and v is not None
            ]
            # NaN keeps the columns equally long in an array of floats; `estimates` makes it None.
            column.append(sum(of_family) / len(of_family) if of_family else math.nan)
        rows.generators.append(self._families.family_of(sample.generator) or sample.generator)
        rows.clusters.append(cluster)

    def estimates(self) -> Iterator[SelfPreference]:
        """Yield an estimate per metric and family that judged and generated, if there are two
        families on each side."""
        from claimeval.statistics import self_preference

        for metric, rows in self._metrics.items():
            # A difference in differences needs another family of judges and another of generators.
            if len(rows.columns) < 2 or len(set(rows.generators)) < 2:
                continue
            scores = {
                f: [None if math.isnan(v) else v for v in column]
                for f, column in rows.columns.items()
            }
            preference = self_preference(scores, rows.generators, clusters=rows.clusters)
            for family in sorted(set(rows.columns) & set(rows.generators)):
                estimate = Estimate.of(preference[family])
                yield SelfPreference(metric=metric, family=family, **estimate.model_dump())


class FamilyTally:
    """Counts the samples whose answer is from the family of a judge, the extractor or the gold
    answers' author."""

    def __init__(
        self,
        judges: Mapping[str, str],
        extractor: tuple[str, str] | None,
        families: Families,
    ) -> None:
        self._families = families
        self._people = [("judge", name, model) for name, model in judges.items()]
        self._people += [("extractor", *extractor)] if extractor else []
        self._found: Counter[tuple[str, str, str]] = Counter()

    def add(self, sample: Sample) -> None:
        """Add one sample; it is ignored if its generator is unknown."""
        if sample.generator is None:
            return
        author = sample.reference_author
        people = [*self._people, ("reference_author", author, author)] if author else self._people
        for role, name, model in people:
            if self._families.are_same_family(model, sample.generator):
                self._found[
                    role, name, self._families.family_of(sample.generator) or sample.generator
                ] += 1

    def summary(self) -> tuple[SameFamily, ...]:
        """Return who is of the family of a generator: judges first, then the extractor, then
        authors."""
        order = {"judge": 0, "extractor": 1, "reference_author": 2}
        return tuple(
            # `role` is a key of `order`, which mypy takes for any text.
            SameFamily(role=role, name=name, family=family, samples=n)  # type: ignore[arg-type]
            for (role, name, family), n in sorted(
                self._found.items(), key=lambda item: order[item[0][0]]
            )
        )
