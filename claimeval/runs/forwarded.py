"""The page that is forwarded to people who never open a report: what happened, four rows in plain
words, why, three answers, how sure, and what it cost.

It is decided here, once, for the page, the first lines of the report, and the comment of a pull
request.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Literal, NamedTuple

from claimeval.evaluation.evidence import deciding_verdict
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary.cost import RunCost
from claimeval.evaluation.summary.headline import (
    CORRECT,
    PLACES,
    labels_of,
    pairs_of,
    sample_facts,
)
from claimeval.metrics.derived import LOWER_IS_BETTER, derived, directed
from claimeval.metrics.rows import METRICS
from claimeval.metrics.scoring import MetricSummary
from claimeval.runs.causes import CHANCE, Culprit
from claimeval.runs.directory import RunResults, label_files, load_manifest
from claimeval.runs.front import head
from claimeval.runs.overview import MetricComparison, Overview, PairedRuns, data_name
from claimeval.runs.views import BOUNDED
from claimeval.statistics import paired_difference
from claimeval.statistics.estimates import coverage_notes
from claimeval.statistics.formatting import (
    decimal,
    dollars,
    number_of,
    percent,
    signed,
    signed_interval,
)
from claimeval.statistics.intervals import mean_interval
from claimeval.types.clusters import cluster_of
from claimeval.types.errors import UsageError, visible
from claimeval.types.estimates import Estimate
from claimeval.types.records import COUNTED, Label, Part, Record, SampleResult

READ_CLAIMS = "Answers to read first, each with the claim that decides"
ROWS = 4
ANSWERS = 3
CHANGED = 12
"""Samples that a comparison lists."""
CAUSES = 3
"""Causes that the paragraph names."""
TEXT = 240
"""Characters of a text of an answer."""
SYSTEMS = 3
"""Systems that are named; of more, the number is shown."""
CONTRADICTED = "contradicted"
"""The row of the claims that the gold answer contradicts; it is no metric of a run."""
PLAIN = {
    "context_recall": "of the gold answer is in the documents that were found",
    "faithfulness": "of the answer is supported by these documents",
    "coverage": "of the gold answer is in the answer",
    CONTRADICTED: "of the answer contradicts the gold answer",
}
"""Metrics in words that need no explanation, in the order of their rows."""


class PlainRow(Record):
    """One number in plain words."""

    metric: str
    """The metric; `contradicted` for claims that the gold answer contradicts."""
    words: str
    in_percent: bool
    """Whether it is a share of claims; other means are decimals, as in the title."""
    before: float | None = None
    """The mean of the first of two runs."""
    value: float | None
    """The mean of the run, or of the second of two."""
    estimate: Estimate
    """The mean with its ends, or the difference of two runs with its interval."""
    differs: bool | None = None
    """Whether two runs differ beyond chance; None for one run."""
    worse: int = 0
    """Samples in which the second run is worse."""
    better: int = 0
    counts: str = ""
    """What was counted in one run."""

    @property
    def name(self) -> str:
        """The metric that has the number."""
        return "in correctness" if self.metric == CONTRADICTED else directed(self.metric)

    @property
    def shown(self) -> str:
        """The value as it is printed: a share in percent."""
        return _shown(self.value, in_percent=self.in_percent)

    @property
    def shown_before(self) -> str:
        """The earlier value as it is printed."""
        return _shown(self.before, in_percent=self.in_percent)

    @property
    def change(self) -> str:
        """The difference with its interval, or the interval or bounds of the value."""
        ends = self.estimate.reported
        if self.differs is None:
            if not ends:
                return ""
            low, high = (decimal(self._scale * end, self._digits) for end in ends)
            return f"{low} to {high}{'*' * (self.estimate.ends == 'bounds')}"
        low_high = ""
        difference = self._signed(self.estimate.value or 0.0)
        if ends:
            low_high = " to ".join(map(self._signed, ends))
            difference = f"{difference} ({low_high})"
        if self.differs:
            return difference
        if ends and (ends[0] > 0 or ends[1] < 0):
            # Its interval is of this metric alone, and its p-value is that of one among several.
            return f"{difference}, may be chance among several metrics"
        return "no difference beyond chance" + (f" ({low_high})" if low_high else "")

    @property
    def _scale(self) -> int:
        return 100 if self.in_percent else 1

    @property
    def _digits(self) -> int:
        return 0 if self.in_percent else 2

    def _signed(self, value: float) -> str:
        return signed(self._scale * value, self._digits)

    @property
    def samples(self) -> str:
        """How many samples changed, or what was counted."""
        return self.counts if self.differs is None else f"{self.worse} worse, {self.better} better"


class DecidingClaim(Record):
    """An answer with the claim that decides."""

    sample_id: str
    question: str
    gold: str
    """The gold answer; empty if there is none."""
    before: str = ""
    """The answer of the first of two runs; empty for one run."""
    answer: str
    claim: str
    of: Part = "answer"
    """The part that the claim was extracted from."""
    label: str = "not_found"
    """The last label of the claim."""
    subject: str
    run: Literal["a", "b"] = "b"
    """The run that the id of the claim is from."""
    metric: str | None = None
    verdict: str
    """Its label, of two runs that in each, in words."""
    why: str = ""
    """The reason of the judge, or what the evidence has of the claim."""


class ForwardedPage(Record):
    """What a person reads who never opens the report."""

    title: str
    facts: tuple[str, ...]
    """When, what was judged, and by whom."""
    of: tuple[str, ...] = ()
    """The generator, if it is named, and the day of each run."""
    names: tuple[str, ...]
    """Both runs of a comparison; empty for one run."""
    rows: tuple[PlainRow, ...]
    of_claims: bool = True
    """Whether the rows are shares of claims."""
    why: str
    answers: tuple[DecidingClaim, ...]
    heading: str
    """What the answers are."""
    cautions: tuple[str, ...]
    """What to know before trusting the numbers."""
    sure: tuple[str, ...]
    """How far the numbers can be trusted."""
    paid: str
    changed: tuple[DecidingClaim, ...] = ()
    """The samples of two runs that changed, the answers to read first among them."""
    private: tuple[str, ...] = ()
    """Texts of the data that title and paragraph may name."""

    def without_texts(self) -> ForwardedPage:
        """Return the page without any text of the data: numbers, and names of runs and judges."""
        return self.model_copy(
            update={
                "title": self._masked(self.title),
                "why": self._masked(self.why),
                "cautions": tuple(map(self._masked, self.cautions)),
                "sure": tuple(map(self._masked, self.sure)),
                "answers": (),
                "changed": (),
                "private": (),
            }
        )

    def _masked(self, sentence: str) -> str:
        """Return a sentence with an ellipsis in place of quotes and of names of the data."""
        text = re.sub("“[^”]*”", "“…”", sentence)
        # Longest first: one name may be the beginning of another.
        for name in sorted(self.private, key=len, reverse=True):
            # A document called “Pay” is no part of “Payment”.
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "…", text)
        return text


def _shown(value: float | None, *, in_percent: bool) -> str:
    if value is None:
        return "no score"
    return decimal(100 * value, 0) + "%" if in_percent else decimal(value, 2)


class _Contradictions(NamedTuple):
    """Claims of an answer that the gold answer contradicts."""

    share: float | None
    contradicted: int
    judged: int


class RunTally:
    """Counts what the page needs of one run, sample by sample."""

    def __init__(self, manifest: Manifest) -> None:
        self._metrics = pairs_of(manifest.rows)
        self._tells = manifest.tells_contradictions
        self._cluster = manifest.cluster
        self.systems: Counter[str] = Counter()
        self.clusters: dict[str, int] = {}
        self.contradictions: dict[str, _Contradictions] = {}
        self.faulty = 0
        self.gold = 0
        """Samples whose gold answer was looked for in the documents."""
        self.not_retrieved = 0
        """Faulty answers to questions whose documents lack a part of the gold answer."""

    def add(self, result: SampleResult) -> None:
        """Add the result of a sample."""
        if result.sample.generator:
            self.systems[result.sample.generator] += 1
        if not self._metrics:
            return
        labels = labels_of(result, self._metrics)
        facts = sample_facts(result, self._metrics, labels)
        if facts.gold:
            failed = facts.fails or facts.declines
            self.gold += 1
            self.faulty += failed
            self.not_retrieved += failed and bool(facts.not_retrieved)
        if CORRECT in self._metrics and self._tells:
            known = [label for label in labels.get(CORRECT, {}).values() if label is not None]
            wrong = known.count("contradicted")
            share = wrong / len(known) if known else None
            sample_id = result.sample.id
            self.contradictions[sample_id] = _Contradictions(share, wrong, len(known))
            self.clusters[sample_id] = cluster_of(result.sample, self._cluster)

    def estimate(self) -> Estimate:
        """Return the mean share of claims that the gold answer contradicts."""
        shares = [
            (one.share, self.clusters[name])
            for name, one in self.contradictions.items()
            if one.share is not None
        ]
        values = [share for share, _ in shares]
        return Estimate.of(mean_interval(values, clusters=[cluster for _, cluster in shares]))


class PairTally:
    """Counts what the page needs of two runs, from pairs of samples."""

    def __init__(self, manifests: Sequence[Manifest]) -> None:
        self.runs = [RunTally(manifest) for manifest in manifests]
        self.ids: list[tuple[str, str]] = []

    def add(self, a: SampleResult, b: SampleResult) -> None:
        """Add a sample in both runs."""
        self.runs[0].add(a)
        self.runs[1].add(b)
        self.ids.append((a.sample.id, b.sample.id))

    def contradictions(self) -> tuple[list[float | None], list[float | None], list[int]]:
        """Return the shares of both runs, and the clusters of their samples."""
        first, second = self.runs
        before = list[float | None]()
        after = list[float | None]()
        clusters = list[int]()
        for a, b in self.ids:
            if a in first.contradictions and b in second.contradictions:
                before.append(first.contradictions[a].share)
                after.append(second.contradictions[b].share)
                clusters.append(first.clusters[a])
        return before, after, clusters


def of_run(folder: Path, overview: Overview, tally: RunTally) -> ForwardedPage:
    """Return the page of one run.

    Args:
        folder: The run directory, for labels of people and the texts of answers.
        overview: The overview of the run.
        tally: The counts of all its results.
    """
    manifest = overview.manifest
    summary = overview.summary
    return ForwardedPage(
        title=overview.front.sentence or f"{number_of(summary.samples, 'sample')} scored",
        facts=_given(
            _day(folder),
            _system(manifest, tally),
            "".join(head(manifest, summary)),
            _agreement(folder, manifest),
        ),
        of=(", ".join(_given(_generators(tally), _day(folder))),),
        names=(),
        rows=tuple(_rows_of_run(overview, tally))[:ROWS],
        of_claims=manifest.of_claims,
        why=_where_it_fails(tally) if manifest.concludes else "",
        answers=tuple(_worst(folder, overview)),
        heading=READ_CLAIMS if manifest.of_claims else "Answers to read first",
        cautions=tuple(note.text for note in overview.cautions),
        sure=(*_sure(overview), *_corrected(folder, summary.metrics)),
        paid=_paid(summary.cost),
        private=tuple(slices.field.removeprefix("metadata.") for slices in overview.slices),
    )


def of_pair(
    folders: tuple[Path, Path],
    overviews: tuple[Overview, Overview],
    pair: PairedRuns,
    tally: PairTally,
) -> ForwardedPage:
    """Return the page of two runs.

    Args:
        folders: The run directories.
        overviews: Their overviews.
        pair: Their comparison.
        tally: The counts of the samples in both.
    """
    manifests = [overview.manifest for overview in overviews]
    judged = [
        _named(letter, name, folder, manifest, of_run)
        for letter, name, folder, manifest, of_run in zip(
            "ab", (pair.a, pair.b), folders, manifests, tally.runs, strict=True
        )
    ]
    both = f"{number_of(pair.shared, 'sample')} in both"
    by = "".join(head(manifests[1], overviews[1].summary)).partition(", ")[2]
    labeled = next((i for i in (1, 0) if label_files(folders[i])), 1)
    changed = tuple(_changed(folders, pair))
    return ForwardedPage(
        title=pair.culprit.sentence,
        facts=_given(*judged, both, by, _agreement(folders[labeled], manifests[labeled])),
        of=tuple(
            ", ".join(_given(_generators(of_run), _day(folder)))
            for folder, of_run in zip(folders, tally.runs, strict=True)
        ),
        names=("a", "b"),
        rows=tuple(_rows_of_pair(pair, tally, _of_claims(overviews[1])))[:ROWS],
        of_claims=all(manifest.of_claims for manifest in manifests),
        why=_why(pair),
        answers=_first_to_read(changed, pair),
        changed=changed,
        heading=(
            READ_CLAIMS if pair.culprit.significant else "Answers that changed, which may be chance"
        ),
        cautions=pair.abstained,
        sure=(
            *_sure_of_both(overviews),
            *_covers("Changes", "MetricComparison.difference"),
            *_corrected(folders[labeled], overviews[labeled].summary.metrics),
        ),
        paid="; ".join(
            f"{letter}: {paid}"
            for letter, overview in zip("ab", overviews, strict=True)
            if (paid := _paid(overview.summary.cost))
        ),
        private=_private(pair),
    )


def _given(*facts: str) -> tuple[str, ...]:
    return tuple(filter(None, facts))


def _named(letter: str, name: str, folder: Path, manifest: Manifest, tally: RunTally) -> str:
    """Return a run of two with its system and day."""
    of_run = ", ".join(_given(_system(manifest, tally), _day(folder)))
    return f"{letter} = {name}" + (f" ({of_run})" if of_run else "")


def _day(folder: Path) -> str:
    """Return the day on which the run began, in UTC; empty if the manifest does not say it."""
    return (load_manifest(folder).created or "")[:10]


def _system(manifest: Manifest, tally: RunTally) -> str:
    """Return what answered: the generators of the samples, else the name of the data."""
    return _generators(tally) or data_name(manifest) or ""


def _generators(tally: RunTally) -> str:
    """Return the generators of the samples; empty if none is named."""
    names = [name for name, _ in tally.systems.most_common()]
    return f"{len(names)} systems" if len(names) > SYSTEMS else ", ".join(names)


def _agreement(folder: Path, manifest: Manifest) -> str:
    """Return how often the judges agree with people; nothing for a run without claims."""
    if not manifest.of_claims or not manifest.concludes:
        return ""
    if not label_files(folder):
        return "not compared with people"
    from claimeval.runs.agreement import measure_run

    try:
        raters = measure_run(folder).raters
    except UsageError:  # all labels are undecided, for example
        return "not compared with people"
    panel = next((rater for rater in raters if rater.rater == "panel"), None)
    rater = panel or next(iter(raters), None)
    if rater is None or rater.same.value is None:
        return "not compared with people"
    equal = round(rater.same.value * rater.compared)
    return f"agreed with people on {equal:,} of {number_of(rater.compared, 'labeled claim')}"


# rows


def _words(name: str) -> str:
    """Return what a metric measures, in words."""
    if name in PLAIN:
        return PLAIN[name]
    if name in METRICS:
        return METRICS[name].description
    try:
        return derived(name).description
    except (KeyError, UsageError):
        return directed(name)


def _ordered(names: Iterable[str]) -> list[str]:
    """Return the names of metrics, those in plain words first."""
    names = list(names)
    return [name for name in PLAIN if name in names] + [n for n in names if n not in PLAIN]


def _rows_of_run(overview: Overview, tally: RunTally) -> Iterator[PlainRow]:
    metrics = overview.summary.metrics
    of_claims = _of_claims(overview)
    names = [*metrics, *([CONTRADICTED] if tally.contradictions else [])]
    # Correctness is in the row of contradictions: what an answer says more is not wrong.
    if CONTRADICTED in names and len(names) > ROWS:
        names = [name for name in names if name != "correctness"]
    for name in _ordered(names):
        if name == CONTRADICTED:
            yield _contradicted(tally)
            continue
        metric = metrics[name]
        counts = ""
        if metric.total:
            judged = number_of(metric.judged or 0, COUNTED.get(name, "claim"))
            counts = f"{metric.hits or 0:,} of {judged}"
        yield PlainRow(
            metric=name,
            words=_words(name),
            in_percent=name in of_claims,
            value=metric.mean,
            estimate=Estimate(
                value=metric.mean,
                low=metric.low,
                high=metric.high,
                n=metric.n,
                clusters=metric.clusters,
                ends=metric.ends,
            ),
            counts=counts,
        )


def _contradicted(tally: RunTally) -> PlainRow:
    found = tally.contradictions.values()
    wrong = sum(one.contradicted for one in found)
    judged = sum(one.judged for one in found)
    estimate = tally.estimate()
    return PlainRow(
        metric=CONTRADICTED,
        words=PLAIN[CONTRADICTED],
        in_percent=True,
        value=estimate.value,
        estimate=estimate,
        counts=f"{wrong:,} of {number_of(judged, 'claim')}",
    )


def _of_claims(overview: Overview) -> frozenset[str]:
    """Return the metrics of a run that are shares of claims."""
    if not overview.manifest.of_claims:
        return frozenset()
    metrics = overview.summary.metrics
    return frozenset(name for name, metric in metrics.items() if metric.unit == "share")


def _rows_of_pair(
    pair: PairedRuns, tally: PairTally, of_claims: Collection[str]
) -> Iterator[PlainRow]:
    metrics = {metric.metric: metric for metric in pair.metrics}
    both = all(run.contradictions for run in tally.runs)
    names = [*metrics, *([CONTRADICTED] if both else [])]
    # The metric of the title is never left out.
    culprit = pair.culprit.metric
    if both and len(names) > ROWS and culprit != "correctness":
        names.remove("correctness")
    ordered = _ordered(names)
    if culprit in ordered[ROWS:]:
        ordered = [*ordered[: ROWS - 1], str(culprit)]
    for name in ordered:
        if name == CONTRADICTED:
            yield _contradicted_in_both(tally, len(metrics))
        else:
            yield _compared(metrics[name], in_percent=name in of_claims)


def _compared(metric: MetricComparison, *, in_percent: bool) -> PlainRow:
    lower = metric.metric in LOWER_IS_BETTER
    return PlainRow(
        metric=metric.metric,
        words=_words(metric.metric),
        in_percent=in_percent,
        before=metric.a,
        value=metric.b,
        estimate=metric.difference,
        differs=metric.p_adjusted is not None and metric.p_adjusted < CHANCE,
        worse=metric.increased if lower else metric.decreased,
        better=metric.decreased if lower else metric.increased,
    )


def _contradicted_in_both(tally: PairTally, tested: int) -> PlainRow:
    """Return the row of contradictions; `tested` metrics were tested before it, which its p-value
    is corrected for (Bonferroni)."""
    before, after, clusters = tally.contradictions()
    paired = paired_difference(after, before, clusters=clusters, shares=True)
    pairs: list[tuple[float, float]] = []
    for x, y in zip(before, after, strict=True):
        if x is not None and y is not None:
            pairs.append((x, y))
    return PlainRow(
        metric=CONTRADICTED,
        words=PLAIN[CONTRADICTED],
        in_percent=True,
        before=fmean(x for x, _ in pairs) if pairs else None,
        value=fmean(y for _, y in pairs) if pairs else None,
        estimate=Estimate.of(paired),
        differs=paired.p is not None and paired.p * (tested + 1) < CHANCE,
        worse=sum(y > x for x, y in pairs),
        better=sum(y < x for x, y in pairs),
    )


# why


def _where_it_fails(tally: RunTally) -> str:
    """Return how many faulty answers lack documents, counted; empty if that was not asked."""
    if not tally.gold or not tally.faulty:
        return ""
    held = tally.faulty - tally.not_retrieved
    return (
        f"{tally.faulty:,} of {number_of(tally.gold, 'answer')}"
        f" {'has' if tally.faulty == 1 else 'have'} a fault. The"
        f" documents lack a part of the gold answer for {tally.not_retrieved:,} of them, and have"
        f" all of it for {held:,}."
    )


def _why(pair: PairedRuns) -> str:
    """Return what the difference consists of, or how large one may be that chance hides."""
    culprit = pair.culprit
    metric = next((one for one in pair.metrics if one.metric == culprit.metric), None)
    if metric is None or metric.difference.value is None:
        return ""
    if not culprit.significant:
        return _hidden_by_chance(metric)
    moved = "rise" if metric.difference.value > 0 else "fall"
    parts = _largest_parts(metric)
    if not parts:
        return ""
    total = metric.change_in_words
    text = f"The {moved} of {metric.metric}, {total}, consists of: {parts}."
    return text + _where(culprit)


def _largest_parts(metric: MetricComparison) -> str:
    """Return the parts of a difference by cause, largest first, and the number of those left
    out."""
    rows = [row for row in metric.cause_rows if row.part and not row.inner]
    rows.sort(key=lambda row: -abs(float(row.figure)))
    parts = [
        f"{row.figure} {row.words} ({number_of(row.part.samples, 'sample')})"
        for row in rows[:CAUSES]
        if row.part
    ]
    rest = f", and {len(rows) - CAUSES} smaller parts" if len(rows) > CAUSES else ""
    return f"{'; '.join(parts)}{rest}"


def _where(culprit: Culprit) -> str:
    if not culprit.slices:
        return ""
    first = culprit.slices[0]
    if first.share < 0.5:
        return ""
    field = first.field.removeprefix("metadata.")
    part = "All" if first.share > 1 - 1e-9 else percent(first.share)
    return (
        f" {part} of it is in {field} = {first.value}: {first.affected} of"
        f" {number_of(first.samples, 'sample')}."
    )


def _hidden_by_chance(metric: MetricComparison) -> str:
    ends = metric.difference.reported
    if not ends:
        return f"{number_of(metric.n, 'sample')} cannot show a difference."
    return (
        f"{number_of(metric.n, 'sample')} leave open whether {metric.metric} changed by"
        f" {signed_interval(ends)}."
    )


# answers


def _worst(folder: Path, overview: Overview) -> Iterator[DecidingClaim]:
    """Yield the answers to read first of one run."""
    front = overview.front
    wanted = [claim.sample_id for claim in front.read[:ANSWERS]] + [
        answer.sample_id for answer in front.answers[:ANSWERS]
    ]
    samples = {result.sample.id: result.sample for result in _results(folder, wanted).values()}
    for claim in front.read[:ANSWERS]:
        sample = samples[claim.sample_id]
        place = PLACES.get(claim.evidence.part, claim.evidence.part)
        label = "contradicted by" if claim.label == "contradicted" else "not in"
        yield DecidingClaim(
            sample_id=sample.id,
            question=_cut(sample.question),
            gold=_gold(sample.reference_answers),
            answer=_around(sample.answer or "", claim.claim),
            claim=claim.claim,
            label=claim.label,
            subject=claim.subject,
            metric=claim.metric,
            verdict="wrong citation" if claim.citation else f"{label} {place}",
            why=_cut(claim.why),
        )
    for answer in front.answers[:ANSWERS]:
        sample = samples[answer.sample_id]
        yield DecidingClaim(
            sample_id=sample.id,
            question=_cut(sample.question),
            gold=_gold(sample.reference_answers),
            answer=_cut(sample.answer or ""),
            claim="",
            subject="",
            verdict=", ".join(f"{name}: {word}" for name, word in answer.ratings.items()),
            why=_cut(answer.explanation or ""),
        )


class _Change(NamedTuple):
    """A claim that counts differently in two runs."""

    sample_id: str
    subject: str
    run: Literal["a", "b"]
    claim: str
    of: Part
    against: Part
    labels: tuple[Label | None, Label | None]
    metric: str | None

    @property
    def words(self) -> str:
        """What counts differently, in words."""
        labels = " → ".join(
            "absent" if one is None else one.replace("_", " ") for one in self.labels
        )
        of = PLACES.get(self.of, self.of)
        return f"claim of {of}, against {PLACES.get(self.against, self.against)}: {labels}"


def _candidates(pair: PairedRuns) -> Iterator[_Change]:
    """Yield claims that count differently: those that went the way of a difference beyond chance,
    most important first, then those that flipped, then all others."""
    causes = list(_of_causes(pair))
    if pair.culprit.significant:
        yield from (change for change, with_it in causes if with_it)
    for flip in pair.flips:
        yield _Change(
            sample_id=flip.sample_id,
            subject=flip.subject,
            run="a",
            claim=flip.claim,
            of=flip.of,
            against=flip.evidence.part,
            labels=(flip.a, flip.b),
            metric=None,
        )
    yield from (change for change, _ in causes)


def _of_causes(pair: PairedRuns) -> Iterator[tuple[_Change, bool]]:
    """Yield the claims of the causes, those of the named one first, and whether each went the way
    of the difference."""
    culprit = pair.culprit
    difference = next(
        (one.difference.value for one in pair.metrics if one.metric == culprit.metric), None
    )
    metric = METRICS.get(culprit.metric or "")
    parts = sorted(culprit.causes, key=lambda part: (part.cause != culprit.cause, -abs(part.value)))
    for one in chain.from_iterable(part.largest for part in parts):
        if one.claim and one.subject:
            change = _Change(
                sample_id=one.sample_id,
                subject=one.subject,
                run=one.run,
                claim=one.claim,
                of=metric.claims_of if metric else "answer",
                against=metric.against if metric else "contexts",
                labels=(one.a, one.b),
                metric=culprit.metric,
            )
            yield change, one.value * (difference or 0.0) > 0


def _first_to_read(changed: Sequence[DecidingClaim], pair: PairedRuns) -> tuple[DecidingClaim, ...]:
    """Return the answers to read first, none that went against a difference beyond chance."""
    with_it = {(change.sample_id, change.claim) for change, with_it in _of_causes(pair) if with_it}
    if not pair.culprit.significant:
        return tuple(changed[:ANSWERS])
    return tuple([one for one in changed if (one.sample_id, one.claim) in with_it][:ANSWERS])


def _changed(folders: tuple[Path, Path], pair: PairedRuns) -> Iterator[DecidingClaim]:
    """Yield the samples of two runs that changed, with one claim each, first those to read
    first."""
    chosen: dict[str, _Change] = {}
    for one in _candidates(pair):
        chosen.setdefault(one.sample_id, one)
        if len(chosen) == CHANGED:
            break
    before = _results(folders[0], chosen)
    after = _after(folders[1], before, pair)
    for sample_id, one in chosen.items():
        a = before.get(sample_id)
        b = after.get(sample_id)
        if a is None or b is None:
            continue
        yield DecidingClaim(
            sample_id=sample_id,
            question=_cut(a.sample.question),
            gold=_gold(a.sample.reference_answers),
            before=_around(a.sample.answer or "", one.claim),
            answer=_around(b.sample.answer or "", one.claim),
            claim=one.claim,
            of=one.of,
            label=one.labels[1] or "not_found",
            subject=one.subject,
            run=one.run,
            metric=one.metric,
            verdict=one.words,
            why=_reason((a, b), one),
        )


def _after(
    folder: Path, before: Mapping[str, SampleResult], pair: PairedRuns
) -> dict[str, SampleResult]:
    """Return the results of the second run by the ids of the first."""
    if pair.paired_by != "question":
        return _results(folder, before)
    by_question = {result.sample.question: name for name, result in before.items()}
    found: dict[str, SampleResult] = {}
    for result in RunResults.of(folder) if by_question else ():
        if name := by_question.get(result.sample.question):
            found.setdefault(name, result)
    return found


def _reason(runs: Sequence[SampleResult], change: _Change) -> str:
    """Return what a judge wrote about the claim that decides, in the second run if it has the
    claim."""
    for result in reversed(runs):
        ids = {claim.id for claim in result.claims if claim.text == change.claim}
        for one in result.whole:
            verdict = deciding_verdict(one) if one.subject in ids else None
            if verdict and verdict.explanation and one.against == change.against:
                return _cut(f"judge: {verdict.explanation}")
    return ""


def _results(folder: Path, ids: Iterable[str]) -> dict[str, SampleResult]:
    """Return the results of some samples by id."""
    results = RunResults.of(folder)
    places = results.places(set(ids))
    return {name: results[place] for name, place in places.items()}


def _gold(answers: Sequence[str] | None) -> str:
    return _cut(answers[0]) if answers else ""


def _around(answer: str, claim: str) -> str:
    """Return the part of a long answer that has the claim word for word, else its beginning."""
    text = visible(answer)
    start = text.find(visible(claim))
    if len(text) <= TEXT or start <= 0:
        return _cut(text)
    first = max(0, min(start - TEXT // 4, len(text) - TEXT))
    return f"{'…' * bool(first)}{_cut(text[first:])}"


def _cut(text: str) -> str:
    """Return the beginning of a text on one line, up to a whole word."""
    line = visible(text)
    if len(line) <= TEXT:
        return line
    words = line[:TEXT].rsplit(" ", 1)[0] if " " in line[:TEXT] else line[:TEXT]
    return f"{words} …"


# how sure, and what was paid


def _sure(overview: Overview) -> Iterator[str]:
    """Yield how few the samples are, what has no score, and what the interval is."""
    front = overview.front
    yield from filter(None, (front.few, front.missing))
    metrics = overview.summary.metrics.values()
    if any(metric.ends == "bounds" for metric in metrics):
        yield f"{BOUNDED} of the claims."


def _sure_of_both(overviews: Iterable[Overview]) -> Iterator[str]:
    """Yield the same for two runs, with their cautions; what both have is said once."""
    texts: dict[str, str] = {}
    for letter, overview in zip("ab", overviews, strict=True):
        for text in (*(note.text for note in overview.cautions), *_sure(overview)):
            texts[text] = texts.get(text, "") + letter
    for text, letters in texts.items():
        yield text if letters == "ab" else f"{letters}: {text}"


def _corrected(folder: Path, metrics: Mapping[str, MetricSummary]) -> Iterator[str]:
    """Yield the first metric with labels of people, corrected by them."""
    if not label_files(folder):
        return
    from claimeval.runs.correct import correct, labels_of

    for name in metrics:
        if not label_files(folder, name):
            continue
        try:
            score = correct(folder, name, labels_of(folder, None, name))
        except UsageError:  # none of the labels counts
            continue
        number = (score.macro or score.micro).corrected
        ends = number.reported
        if number.value is None or not ends:
            continue
        low, high = (decimal(100 * end, 0) for end in ends)
        yield (
            f"Corrected by {number_of(score.labeled, 'label')} of people, {name} is"
            f" {decimal(100 * number.value, 0)}% ({low} to {high})."
        )
        if score.macro:
            yield from _covers("Corrected", "CorrectedScore.corrected")
        return


def _covers(shown: str, estimate: str) -> Iterator[str]:
    """Yield a sentence on intervals that cover too little."""
    return (f"{note}." for note in coverage_notes(shown, estimate))


def _paid(cost: RunCost | None) -> str:
    """Return what the replies of a run cost, also if the cache had them; empty if they are
    free."""
    if cost is None or (cost.total.dollars == 0 and cost.total.prompt_tokens is None):
        return ""
    total = cost.total
    replies = f"{total.calls + total.reused:,} replies"
    if total.dollars is None:
        return f"unknown for {replies}: no price is stated"
    return f"${dollars(total.dollars)} for {replies}, with those paid for earlier"


# names of the data


def _private(pair: PairedRuns) -> tuple[str, ...]:
    """Return the names of documents and slices that a sentence on two runs may have."""
    names = {document.name for document in pair.culprit.documents}
    for metric in pair.metrics:
        names.update(part.name for part in metric.because if part.name)
    for slices in pair.slices:
        field = slices.field.removeprefix("metadata.")
        names.update(f"{field} = {row.value}" for row in slices.rows)
    for one in pair.culprit.slices:
        names.add(f"{one.field.removeprefix('metadata.')} = {one.value}")
    return tuple(sorted(names))
