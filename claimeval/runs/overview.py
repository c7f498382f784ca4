"""The overview of a run: the records behind the report page, the Markdown and the JSON, and their
computation.

`OverviewBuilder` computes them in one pass over the results.
"""

from __future__ import annotations

import heapq
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from pydantic import Field

from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary import Summary
from claimeval.evaluation.summary.cost import total
from claimeval.metrics import scoring
from claimeval.metrics.claim_quality import ExtractionSummary
from claimeval.metrics.derived import derived
from claimeval.metrics.flips import Flip, FlipCounts
from claimeval.metrics.rows import Metric
from claimeval.providers.prices import counted
from claimeval.runs import directory
from claimeval.runs.by_rank import ByRank
from claimeval.runs.causes import CausePart, CauseRow, Culprit, rows
from claimeval.runs.directory import RunResults, ScoresSummary, load_manifest, load_summary
from claimeval.runs.front import Front, FrontBuilder
from claimeval.runs.judges import EXCERPT as REPLY_EXCERPT
from claimeval.runs.judges import FailedReply, JudgeNumbers, judge_numbers
from claimeval.runs.notes import Note, notes
from claimeval.runs.pairing import PairedBy
from claimeval.runs.slices import ChangeSlices, DiagnosisCounts, Slices, SliceTally, doubtful
from claimeval.runs.worst import SHOWN
from claimeval.statistics import mcnemar_exact, paired_difference
from claimeval.statistics.formatting import decimal, digits_of, p_value, signed, signed_estimate
from claimeval.types.errors import is_installed
from claimeval.types.estimates import Cost, Estimate
from claimeval.types.records import Assessment, Call, Claim, Reason, Record, SampleResult
from claimeval.types.requests import Judge

if TYPE_CHECKING:
    from claimeval.metrics.extraction import ExaminedClaims

MOVED = 5
"""Samples with the largest change that a metric lists."""
Pairs = list[tuple[float | None, float | None]]
"""The values of samples in two runs."""
BINS = 12
"""Bars of a distribution: exactly 0, ten tenths in between (lower end excluded), exactly 1."""


class LabelCounts(Record):
    """Number of claims by label."""

    supported: int = 0
    contradicted: int = 0
    not_found: int = 0
    unassessed: int = 0


class MetricOverview(Record):
    """What the report shows of a metric in addition to its summary."""

    metric: Metric
    labels: LabelCounts
    distribution: tuple[int, ...]
    """Samples by value, in `BINS` bars."""


class JudgeOverview(Record):
    """Calls, verdicts and cost of one judge or extractor."""

    name: str
    short: str
    """The name as tables show it."""
    model: str
    endpoint: str | None
    served_models: dict[str, int]
    """Replies by the model name that the provider reported."""
    prompts: tuple[str, ...]
    """Names of the prompts that its verdicts come from; none for imported verdicts."""
    extractions: int
    """Calls that extracted claims."""
    assessments: int
    """All other calls."""
    failed: dict[Reason, int]
    """Calls without a usable reply, by reason."""
    replies: int
    """Calls with a reply, usable or not."""
    cost: Cost
    assessment_cost: Cost
    """Cost of the calls for verdicts, which `cost` includes."""
    seconds: float | None
    """Median seconds per reply; None if no call is timed."""
    examples: dict[Reason, FailedReply]
    """The first failed call of each reason."""
    uncounted: int
    """Replies without token counts."""
    verdicts: int
    """Its verdicts, also those on claims of a gold answer that does not count."""
    labels: LabelCounts
    """Labels of its verdicts over all claims that the metrics count."""


class RankOverview(Record):
    """How often the contexts at one rank are cited and relevant."""

    rank: int
    samples: int
    """Samples with a context at this rank."""
    cited: int
    """Samples whose context at this rank a judge cites for a claim that the panel labels as
    supported."""
    relevant: int | None
    """Samples whose context at this rank is a reference context; None if no sample has reference
    contexts."""


class Overview(Record):
    """Everything the report shows of a run as a whole."""

    name: str
    """The run directory's name."""
    manifest: Manifest
    summary: Summary
    cautions: tuple[Note, ...]
    metrics: tuple[MetricOverview, ...]
    """In the order of the manifest."""
    derived: dict[str, str]
    """Descriptions of the derived metrics, by name."""
    distributions: dict[str, tuple[int, ...]]
    """Samples by value, in `BINS` bars, for each derived metric that is a share."""
    sides: tuple[ScoresSummary, ...]
    """Summaries of the attached runs."""
    judges: tuple[JudgeOverview, ...]
    ranks: tuple[RankOverview, ...]
    by_rank: ByRank | None = None
    """Gold claims in the answer by the rank of their evidence."""
    front: Front
    """What a reader sees first; `read` has the worst claim of each of the samples with the most
    unsupported claims."""
    extraction: ExtractionSummary | None = None
    """Quality of the claims, from their words alone."""
    diagnosis: DiagnosisCounts | None = None
    """Whether retrieval or generation is to blame; None unless samples have context recall and
    faithfulness, and if a judge only compares words."""
    slices: tuple[Slices, ...] = ()
    """In reports: the metrics by every field with 2 to 50 values."""
    judge_numbers: tuple[JudgeNumbers, ...] = ()
    """Comparison of the judges."""


class SampleChange(Record):
    """A sample whose value changed."""

    sample: str
    before: float
    after: float


class DiscordantCounts(Record):
    """Claims that both runs judged but only one counts as supported, with McNemar's test."""

    only_a: int
    only_b: int
    p: float
    """Exact and two-sided; assumes that claims are independent."""


class MetricComparison(Record):
    """One metric in two runs, over the samples that have a value in both. Differences are b - a."""

    metric: str
    """Its name; `JOB/NAME`, as in `measure/f1`, if another source has a metric of that name."""
    source: str = "claims"
    """`claims` for metrics over claims, else the job of the scores: `rate`, `lexical`, ..."""
    n: int
    clusters: int
    """Number of questions (or values of `--cluster`) of these samples; the test flips whole
    clusters."""
    a: float | None
    """Mean of these samples in run a."""
    b: float | None
    difference: Estimate
    p: float | None
    """Two-sided test of the difference, the one of its interval (`paired_difference`)."""
    p_adjusted: float | None = None
    """`p` after Holm's correction over all comparisons that were tested together."""
    increased: int
    """Samples whose value is higher in b."""
    decreased: int
    dropped: int
    """Shared samples without a value in one of the runs or in both."""
    changed_samples: tuple[SampleChange, ...] = ()
    """The samples that changed most, largest change first."""
    contribution: float | None = None
    """For a slice: what its samples add to the difference over all samples."""
    discordant: DiscordantCounts | None = None
    """For a metric over claims; None if no claim is in both runs."""
    because: tuple[CausePart, ...] = ()
    """The change by cause; the parts add up to `change`."""
    change: float | None = None
    """The mean of run b minus that of run a, each over all its samples with a value. It equals the
    difference if all of these samples have a value in both runs; otherwise the parts `score` and
    `samples` make up the rest."""

    @classmethod
    def of(
        cls,
        name: str,
        source: str,
        ids: Sequence[str],
        values: Pairs,
        clusters: Sequence[int],
        unit: str | None,
    ) -> MetricComparison:
        """Return the comparison of one metric from the values of each sample in both runs.

        Args:
            name: The name of the metric.
            source: The job that computed it.
            ids: The ids of the samples.
            values: The values of each sample in a and in b; None if undefined.
            clusters: The cluster of each sample.
            unit: The unit of the values.
        """
        both = [
            (x, y, sample)
            for sample, (x, y) in zip(ids, values, strict=True)
            if x is not None and y is not None
        ]
        before = [x for x, _ in values]
        after = [y for _, y in values]
        paired = paired_difference(after, before, clusters=clusters, shares=unit == "share")
        changed = heapq.nlargest(
            MOVED, ((abs(y - x), sample, x, y) for x, y, sample in both if x != y)
        )
        return cls(
            metric=name,
            source=source,
            n=len(both),
            clusters=paired.clusters,
            a=sum(x for x, _, _ in both) / len(both) if both else None,
            b=sum(y for _, y, _ in both) / len(both) if both else None,
            difference=Estimate.of(paired),
            p=paired.p,
            increased=sum(y > x for x, y, _ in both),
            decreased=sum(y < x for x, y, _ in both),
            dropped=paired.dropped,
            changed_samples=tuple(
                SampleChange(sample=sample, before=x, after=y) for _, sample, x, y in changed
            ),
        )

    @property
    def change_in_percent(self) -> str:
        """The difference in percent of the mean of run a, as in `+12%`; empty without a mean above
        0."""
        if not self.a or self.a < 0 or self.b is None:
            return ""
        return f"{100 * (self.b - self.a) / self.a:+.0f}%"

    @property
    def cause_rows(self) -> list[CauseRow]:
        """Rows of the table of causes, whose rounded figures add up."""
        digits = digits_of(self.difference.reported)
        return rows(self.because, self.difference.value, self.change, digits)

    @property
    def change_in_words(self) -> str:
        """The difference with its sign and the decimals of its interval."""
        return signed(self.difference.value, digits_of(self.difference.reported))

    def __repr__(self) -> str:
        change = signed_estimate(self.difference.value, self.difference.reported)
        digits = digits_of(self.difference.reported)
        means = f"{decimal(self.a, digits)} to {decimal(self.b, digits)}"
        return (
            f"<MetricComparison {self.metric}: {means}, {change}, p {p_value(self.p)}, n {self.n}>"
        )

    __str__ = __repr__


class ContradictedAnswers(Record):
    """Shared samples with a claim in the answer that its evidence contradicts."""

    a: int = 0
    b: int = 0
    only_a: int = 0
    """Samples of which only the answer of run a has one."""
    only_b: int = 0

    @property
    def p(self) -> float:
        """The p-value of McNemar's exact test."""
        return mcnemar_exact(self.only_a, self.only_b)


class PairedRuns(Record):
    """Two runs on the same samples."""

    a: str
    b: str
    shared: int
    paired_by: PairedBy = "id"
    """Whether samples of both runs are paired by id, by question or by row number."""
    clusters: int
    """Number of questions (or values of `--cluster`) of the shared samples."""
    cluster: str | None
    """The field whose equal values are one cluster in intervals and tests; None for the
    question."""
    only_a: int
    only_b: int
    changed_texts: int
    """Shared samples whose question, answer, contexts or references differ: two systems, or edited
    data."""
    changed_claims: int
    """Shared samples whose claims differ; labels are compared only for claims that both runs
    have."""
    settings: tuple[str, ...]
    """Settings that differ between the runs, in words."""
    abstained: tuple[str, ...]
    """For each run, the metrics on which judges abstained so often that the means cover only the
    other claims."""
    metrics: tuple[MetricComparison, ...]
    by: dict[str, tuple[MetricComparison, ...]] = Field(default_factory=dict)
    """The metrics for each value of the requested field; samples without the field are under ""."""
    slices: tuple[ChangeSlices, ...] = ()
    """In reports: the differences by every field with 2 to 50 values."""
    by_rank: tuple[ByRank | None, ByRank | None] = (None, None)
    """Gold claims in the answer by the rank of their evidence, in each run."""
    compared: int
    """Claims that both runs have and assessed against the same evidence. The four counts are those
    of `FlipCounts`."""
    flipped: int
    relabeled: int
    labeled_once: int
    flips: tuple[Flip, ...]
    """The first claims that flipped."""
    contradicted: ContradictedAnswers = ContradictedAnswers()
    culprit: Culprit
    """What changed, in one sentence, and what it rests on."""

    @property
    def other_changes(self) -> str:
        """The changes of claims that are not flips, in words; empty if there are none."""
        return FlipCounts(self.compared, self.flipped, self.relabeled, self.labeled_once).others()

    def __repr__(self) -> str:
        from claimeval.runs.views import comparison, plain

        return plain.text(comparison.front(self))

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from claimeval.runs.views import comparison, notebook

        return notebook.page(comparison.front(self), comparison.details(self))


RANKS = 20
"""Ranks of contexts that are counted."""


def _examined_claims(manifest: Manifest) -> ExaminedClaims | None:
    """Return what examines the claims of a run by their words; None for a run without claims, and
    in an installation without that part."""
    if not manifest.of_claims or not is_installed("claimeval.metrics.extraction"):
        return None
    from claimeval.metrics.extraction import ExaminedClaims

    return ExaminedClaims(manifest.data.samples or 0, manifest.cluster)


def gather(
    folder: Path, each: Callable[[SampleResult], None] | None = None, *, sliced: bool = False
) -> Overview:
    """Return the overview of a run directory, and call `each` with every result.

    `sliced` also splits the metrics by every field with 2 to 50 values. Raises DataError if the
    directory holds no finished run.
    """
    builder = OverviewBuilder(load_manifest(folder), sliced=sliced)
    for result in RunResults.of(folder):
        builder.add(result)
        if each:
            each(result)
    return builder.overview(folder)


class OverviewBuilder:
    """Builds the overview of a run from its results, one by one."""

    def __init__(self, manifest: Manifest, *, sliced: bool = False) -> None:
        shorter = manifest.short_names
        self._sliced = SliceTally(manifest.names, manifest.cluster) if sliced else None
        self.manifest = manifest
        """The settings of the run; what a run learns about its judges may be added at its end."""
        self._labels: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._distributions = {name: [0] * BINS for name in manifest.names}
        names = {prompt.id: prompt.name for prompt in manifest.prompts}
        asked_with = {
            judge: [names[i] for i in ids if i in names]
            for judge, ids in manifest.asked_with.items()
        }
        self._judges = {
            judge.name: _JudgeTally(
                judge,
                shorter[judge.name],
                asked_with.get(judge.name, ()),
            )
            for judge in manifest.asked
        }
        self._ranks = _RankTally()
        self._front = FrontBuilder(manifest, SHOWN)
        self._claims = _examined_claims(manifest)

    def add(self, result: SampleResult) -> None:
        """Add the result of a sample."""
        claims = {claim.id: claim for claim in result.claims}
        if self._claims:
            self._claims.add(result)
        counts = [(metric, scoring.counted(metric, result)) for metric in self.manifest.rows]
        for assessment in result.whole:
            self._add_labels(assessment, counts, of_answer=assessment.subject not in claims)
        for name, score in result.scores.items():
            if score.value is not None and score.unit == "share":
                self._distributions[name][bar(score.value)] += 1
        for call in result.calls:
            if tally := self._judges.get(call.judge):
                tally.add(call, result.sample.id)
        self._ranks.add(result, claims)
        self._front.add(result)
        if self._sliced:
            self._sliced.add(result.sample, result.scores)

    def _add_labels(
        self,
        assessment: Assessment,
        counts: Sequence[tuple[Metric, Collection[str]]],
        *,
        of_answer: bool,
    ) -> None:
        """Count the label of an assessment for the metrics that count it, and those of its judges.

        `counts` are the claims of each metric. Of a whole answer, a metric counts the answers to
        its question.
        """
        metrics: list[str] = []
        for metric, ids in counts:
            if assessment.against != metric.against:
                continue
            asked = metric.claims_of == assessment.question
            if asked if of_answer else assessment.subject in ids:
                metrics.append(metric.name)
        for name in metrics:
            self._labels[name][assessment.support or "unassessed"] += 1
        for verdict in assessment.verdicts:
            if tally := self._judges.get(verdict.judge):
                tally.verdicts += 1
                tally.labels[verdict.support or "unassessed"] += bool(metrics or of_answer)

    def each(self, results: Iterable[SampleResult]) -> Iterator[SampleResult]:
        """Yield results after adding them."""
        for result in results:
            self.add(result)
            yield result

    def overview(self, folder: Path) -> Overview:
        """Return the overview of the results so far, with the summary in the run directory."""
        summary = load_summary(folder)
        source = self.manifest.source
        judges = tuple(tally.overview(summary) for tally in self._judges.values())
        hidden = source and source.model_copy(
            update={"path": source.path and _last_part(source.path)}
        )
        return Overview(
            name=folder.resolve().name,
            manifest=self.manifest.model_copy(
                update={
                    "data": self.manifest.data.model_copy(
                        update={"path": data_name(self.manifest)}
                    ),
                    "source": hidden,
                    "created": None,  # equal settings over equal replies give equal pages
                }
            ),
            summary=summary,
            cautions=notes(summary, {name: tally.short for name, tally in self._judges.items()}),
            metrics=tuple(
                MetricOverview(
                    metric=metric,
                    labels=LabelCounts(**self._labels[metric.name]),
                    distribution=tuple(self._distributions[metric.name]),
                )
                for metric in self.manifest.rows
            ),
            derived={name: derived(name).description for name in self.manifest.derived},
            distributions={
                name: tuple(self._distributions[name])
                for name in self.manifest.derived
                if summary.metrics[name].unit == "share"
            },
            sides=directory.beside(folder, summary.metrics),
            judges=judges,
            judge_numbers=judge_numbers(judges, summary.panel),
            ranks=self._ranks.ranks(),
            front=self._front.front(summary, folder),
            extraction=self._claims.summary() if self._claims else summary.extraction,
            diagnosis=self._front.diagnosis,
            by_rank=self._front.by_rank,
            slices=(
                tuple(
                    self._sliced.slices(field, doubtful(summary.metrics))
                    for field in self._sliced.fields
                )
                if self._sliced
                else ()
            ),
        )


def data_name(manifest: Manifest) -> str | None:
    """Return the name of the data file without its folder, which a shared report should not
    reveal."""
    return manifest.data.path and _last_part(manifest.data.path)


def _last_part(path: str) -> str:
    # A run may have been written on Windows, whose paths this system does not split.
    return re.split(r"[\\/]", path.rstrip("\\/"))[-1]


def bar(value: float) -> int:
    """Return the bar of a distribution for a value from 0 to 1: 0, then (0, 0.1] to (0.9, 1), then
    1."""
    if value in (0, 1):
        return 0 if value == 0 else BINS - 1
    return next(i for i in range(1, BINS) if value <= i / 10)


class _JudgeTally:
    def __init__(self, judge: Judge, short: str, prompts: Iterable[str]) -> None:
        self._judge = judge
        self._prompts = tuple(prompts)
        self.short = short
        self._steps: Counter[str] = Counter()
        self._served: Counter[str] = Counter()
        self._failed: Counter[Reason] = Counter()
        self._replies = self._uncounted = 0
        self._seconds = array("d")
        self._examples: dict[Reason, FailedReply] = {}
        self.verdicts = 0
        self.labels: Counter[str] = Counter()

    def add(self, call: Call, sample: str) -> None:
        """Add a call about a sample."""
        self._steps[call.step] += 1
        if call.seconds is not None:
            self._seconds.append(call.seconds)
        if call.failed:
            self._failed[call.failed] += 1
            if call.failed not in self._examples:
                self._examples[call.failed] = FailedReply(
                    sample_id=sample,
                    step=call.step,
                    call=call.key,
                    reply=None if call.reply is None else call.reply[:REPLY_EXCERPT],
                    message=call.message,
                )
        if call.served_model:
            self._served[call.served_model] += 1
        self._replies += call.reply is not None
        self._uncounted += call.reply is not None and not counted(call)

    def overview(self, summary: Summary) -> JudgeOverview:
        """Return the overview of the judge, with its cost from the summary."""
        # Not from the calls: the prices that a run was given are known to its summary alone.
        steps = summary.cost.by if summary.cost else ()
        costs = [step for step in steps if step.judge == self._judge.name]
        return JudgeOverview(
            name=self._judge.name,
            short=self.short,
            model=self._judge.model,
            endpoint=self._judge.endpoint,
            served_models=dict(self._served.most_common()),
            prompts=self._prompts,
            extractions=self._steps["extract"],
            assessments=self._steps.total() - self._steps["extract"],
            failed=dict(self._failed.most_common()),
            replies=self._replies,
            cost=total(step.cost for step in costs),
            assessment_cost=total(step.cost for step in costs if step.step != "extract"),
            seconds=median(self._seconds) if self._seconds else None,
            examples=dict(self._examples),
            uncounted=self._uncounted,
            verdicts=self.verdicts,
            labels=LabelCounts(**self.labels),
        )


class _RankTally:
    def __init__(self) -> None:
        self._samples: Counter[int] = Counter()
        self._cited: Counter[int] = Counter()
        self._relevant: Counter[int] = Counter()
        self._any_cited = False
        self._any_relevant = False

    def add(self, result: SampleResult, claims: dict[str, Claim]) -> None:
        """Add the sample's documents by rank."""
        cites = set[str]()
        for assessment in result.whole:
            if assessment.against == "contexts":
                cites.update(assessment.supported_by)
        relevant = set(result.sample.reference_context_ids)
        self._any_cited |= bool(cites)
        self._any_relevant |= bool(relevant)
        for rank, document in enumerate((result.sample.contexts or ())[:RANKS], 1):
            self._samples[rank] += 1
            self._cited[rank] += document.id in cites
            # The reference context "1" is not the first document because that one has its rank as
            # id.
            self._relevant[rank] += not document.id_is_rank and document.id in relevant

    def ranks(self) -> tuple[RankOverview, ...]:
        """Return the ranks; empty if no judge cited a document and no sample has reference
        contexts."""
        if not (self._any_cited or self._any_relevant):
            return ()
        return tuple(
            RankOverview(
                rank=rank,
                samples=self._samples[rank],
                cited=self._cited[rank],
                relevant=self._relevant[rank] if self._any_relevant else None,
            )
            for rank in sorted(self._samples)
        )
