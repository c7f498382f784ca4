"""What a report says of a run as a whole: the records behind the page's overview, the Markdown and the JSON.

What a reader must know before believing the numbers of a run.

Adds up, in one pass over the results of a run, what the report says of it as a whole.

The claims to look at first: the worst one of each of the samples with the most unsupported claims.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median

from pydantic import Field

from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary import Summary
from claimeval.evaluation.summary.cost import total
from claimeval.metrics.derived import derived
from claimeval.metrics.extraction import ExaminedClaims, ExtractionSummary
from claimeval.metrics.flips import Flip, FlipCounts
from claimeval.metrics.rows import Metric
from claimeval.metrics.scoring import MetricSummary
from claimeval.providers.prices import counted
from claimeval.runs import directory
from claimeval.runs.causes import CausePart, cells
from claimeval.runs.directory import ScoresSummary, load_manifest, load_summary, read_results
from claimeval.runs.judges import EXCERPT as REPLY_EXCERPT
from claimeval.runs.judges import FailedReply, JudgeNumbers, judge_numbers
from claimeval.runs.slices import ChangeSlices, DiagnosisCounts, DiagnosisTally, Slices, SliceTally
from claimeval.statistics.formatting import (
    decimal,
    interval,
    p_value,
    percent,
    signed,
    signed_estimate,
    signed_interval,
)
from claimeval.types.estimates import Cost, Estimate
from claimeval.types.records import Assessment, Call, Claim, Evidence, Reason, Record, SampleResult
from claimeval.types.requests import Judge

BINS = 12
"""Bars of a distribution: exactly 0, ten tenths in between (lower end excluded), exactly 1."""


class LabelCounts(Record):
    """How many claims got which label."""

    supported: int = 0
    contradicted: int = 0
    not_found: int = 0
    unassessed: int = 0


class MetricOverview(Record):
    """What is shown of one metric beside its summary."""

    metric: Metric
    labels: LabelCounts
    distribution: tuple[int, ...]
    """Samples by value, in `BINS` bars."""


class JudgeOverview(Record):
    """What one judge or extractor was asked and said."""

    name: str
    short: str
    """The name as tables show it."""
    model: str
    endpoint: str | None
    served_models: dict[str, int]
    """Replies by the model name that came with them."""
    prompts: tuple[str, ...]
    """Names of the prompts that its verdicts come from; none where it was asked elsewhere."""
    extractions: int
    """Calls that took claims from texts."""
    assessments: int
    """All other calls: for verdicts."""
    failed: dict[Reason, int]
    """Calls without a usable reply, by reason."""
    replies: int
    """Calls with a reply, usable or not."""
    cost: Cost
    assessment_cost: Cost
    """The part of it that verdicts cost."""
    seconds: float | None
    """Median of the seconds that a reply took; None if no call is timed."""
    examples: dict[Reason, FailedReply]
    """The first failed call of each reason."""
    uncounted: int
    """Replies that came without a count of tokens."""
    labels: LabelCounts
    """Verdicts over all claims and metrics."""


class RankOverview(Record):
    """What one rank of the retrieved contexts is good for."""

    rank: int
    samples: int
    """Samples with a context at this rank."""
    cited: int
    """Those whose context a judge named for a claim that the panel found supported."""
    relevant: int | None
    """Those whose context is among the sample's reference contexts; None where no sample says which these are."""


class WorstClaim(Record):
    """A claim that its evidence does not carry."""

    sample_id: str
    question: str
    subject: str
    claim: str
    evidence: Evidence
    label: str
    explanation: str | None
    """The words of the first judge who gave that label."""
    excerpt: str | None = None
    """How the first document begins that a judge named, after its id in brackets; None when none was named."""
    documents: int = 0
    """How many documents the claim was assessed against."""
    metric: str | None = None
    """The metric that counts the claim, with its score of the sample."""
    score: float | None = None
    supported: int = 0
    judged: int = 0
    """Claims of the answer that this evidence supports, of those with a label."""
    votes: dict[str, int] = Field(default_factory=dict)
    """Verdicts on the claim by label, `unassessed` for those without."""

    @property
    def standing(self) -> str:
        """Return how much of the answer holds and how the judges voted, in words."""
        counted = f"{self.metric or 'supported'} {decimal(self.score)}, {self.supported} of {self.judged} claims hold"
        if sum(self.votes.values()) < 2:
            return counted
        votes = ", ".join(f"{n} {label.replace('_', ' ')}" for label, n in self.votes.items())
        return f"{counted}; verdicts: {votes}"


class Caution(Record):
    """Something that a reader must know before believing a number."""

    kind: str
    text: str


class Overview(Record):
    """What a run comes to."""

    name: str
    """The run directory's name."""
    manifest: Manifest
    summary: Summary
    cautions: tuple[Caution, ...]
    metrics: tuple[MetricOverview, ...]
    """In the order of the manifest."""
    derived: dict[str, str]
    """What the metrics are, in words, that are read off the verdicts of these."""
    distributions: dict[str, tuple[int, ...]]
    """Samples by value, in `BINS` bars, of those of them that are shares."""
    sides: tuple[ScoresSummary, ...]
    """Scores without a judge."""
    judges: tuple[JudgeOverview, ...]
    ranks: tuple[RankOverview, ...]
    worst: tuple[WorstClaim, ...]
    """The worst claim of each of the worst samples: those with the most claims that are not supported."""
    extraction: ExtractionSummary | None = None
    """Quality of the claims, as far as words alone show it."""
    diagnosis: DiagnosisCounts | None = None
    """Whether retrieval or generation is to blame; None unless samples have context recall and faithfulness."""
    slices: tuple[Slices, ...] = ()
    """In reports, the metrics by every field with 2 to 50 values."""
    judge_numbers: tuple[JudgeNumbers, ...] = ()
    """The judges beside each other."""


class SampleChange(Record):
    """A sample whose value changed."""

    sample: str
    before: float
    after: float


class DiscordantCounts(Record):
    """Claims that both runs have and judged, counted as supported in one of them only, with McNemar's test."""

    only_a: int
    only_b: int
    p: float
    """Exact and two-sided; it takes claims as independent."""


class MetricComparison(Record):
    """One metric in two runs, over the samples that have a value in both. Differences are b - a."""

    metric: str
    """Its name; `JOB/NAME`, as in `measure/f1`, if another source has a metric of that name."""
    source: str = "claims"
    """`claims` for what judges said of claims, else the job whose scores they are: `rate`, `lexical`, ..."""
    n: int
    clusters: int
    """Questions (or what `--cluster` names) that these samples are about; the test flips whole ones."""
    a: float | None
    """Mean of these samples in run a."""
    b: float | None
    difference: Estimate
    p: float | None
    """Two-sided sign-flip permutation test."""
    p_adjusted: float | None = None
    """The same after Holm's correction over all that were tested together."""
    increased: int
    """Samples whose value is higher in b."""
    decreased: int
    dropped: int
    """Shared samples without a value in one of the runs."""
    changed_samples: tuple[SampleChange, ...] = ()
    """The samples that moved most, the greatest change first."""
    contribution: float | None = None
    """Of a slice: what its samples add to the difference over all samples."""
    discordant: DiscordantCounts | None = None
    """Of a metric over claims."""
    because: tuple[CausePart, ...] = ()
    """What the change consists of, by cause; the parts add up to `change`."""
    change: float | None = None
    """The mean of run b minus that of run a, each over all its samples with a value. It equals the difference if all
    of these have a value in both runs; if not, the parts `score` and `samples` lead from one to the other."""

    @property
    def cells(self) -> tuple[str, ...]:
        """As tables have it: both means, difference, interval, p after Holm, samples higher and lower in b, n."""
        return (
            decimal(self.a),
            decimal(self.b),
            signed(self.difference.value),
            signed_interval(self.difference.interval),
            p_value(self.p_adjusted),
            f"{self.increased}, {self.decreased}",
            str(self.n),
        )


class PairedRuns(Record):
    """Two runs on the same samples."""

    a: str
    b: str
    shared: int
    clusters: int
    """Questions that the shared samples are about, or what `--cluster` names."""
    cluster: str | None
    """The field by which samples belong together in intervals and tests; None for their question."""
    only_a: int
    only_b: int
    changed_texts: int
    """Shared samples whose question, answer, contexts or references differ: two systems, or edited data."""
    changed_claims: int
    """Shared samples whose claims differ; labels are compared claim by claim only where they are the same."""
    settings: tuple[str, ...]
    """What the runs were asked differently, in words."""
    abstained: tuple[str, ...]
    """Of which run and metric many claims are open, so that means and difference are over what judges were sure of."""
    metrics: tuple[MetricComparison, ...]
    by: dict[str, tuple[MetricComparison, ...]] = Field(default_factory=dict)
    """The metrics over the samples with each value of the field that was asked for; samples without it are under ""."""
    slices: tuple[ChangeSlices, ...] = ()
    """In reports, the differences by every field with 2 to 50 values."""
    compared: int
    """Claims that both runs have and assessed against the same evidence; the four counts are those of `flips.py`."""
    flipped: int
    relabeled: int
    labeled_once: int
    flips: tuple[Flip, ...]
    """The first claims that flipped."""

    @property
    def cause_cells(self) -> list[tuple[str, ...]]:
        """What the differences consist of: metric (in its first row), cause, b - a, claims, samples."""
        return [
            (metric.metric if i == 0 else "", *row)
            for metric in self.metrics
            for i, row in enumerate(cells(metric.because, metric.difference.value, metric.change))
        ]

    @property
    def other_changes(self) -> str:
        """The changes of claims that are no flips, in words; empty if there are none."""
        return FlipCounts(self.compared, self.flipped, self.relabeled, self.labeled_once).others()


LOST = 0.01
"""Shares of lost samples and of ungrounded claims above this are said; `--max-missing` has the same default."""
ROLES = {"judge": "judge", "extractor": "extractor", "reference_author": "author of the reference answers"}


def cautions(summary: Summary, shorter: Mapping[str, str]) -> tuple[Caution, ...]:
    """Return all that applies, gravest first; `shorter` has the names of judges as they are shown."""
    return tuple(Caution(kind=kind, text=text) for kind, text in _cautions(summary, shorter))


def _cautions(summary: Summary, shorter: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    metrics, panel, samples = summary.metrics.items(), summary.panel, summary.samples
    if not summary.complete:
        first = f"first {samples:,} samples" if samples > 1 else "first sample alone"
        numbers = f"the numbers cover the {first}" if samples else "no sample is finished"
        yield "incomplete", f"The run stopped early: {numbers}. Run the same command to resume."
    if panel and panel.stopped_judges:
        who = ", ".join(f"{shorter.get(name, name)} on {n}" for name, n in panel.stopped_judges.items())
        text = f"The panel is incomplete: of {panel.claims} claims, there are no verdicts of {who}, stopped by an error"
        yield (
            "incomplete_panel",
            f"{text} (bad key, no quota, unknown model). Run the same command to ask for what is missing.",
        )
    for note in summary.notes:
        yield "note", f"{note[0].upper()}{note[1:]}."
    for long in summary.long:
        yield "long_evidence", long.in_words(samples, shorter.get(long.judge, long.judge))
    if summary.unclear:
        what = "1 statement" if summary.unclear == 1 else f"{summary.unclear} statements"
        yield "unclear", f"No claim was extracted from {what}: neither text nor question says what is meant."
    for one in summary.same_family:
        who = f"The {ROLES[one.role]} {shorter.get(one.name, one.name)} is of the family ({one.family})"
        yield (
            "same_family",
            f"{who} that wrote {one.samples} of {samples} answers. Models tend to favor their own family.",
        )
    for preference in panel.self_preference if panel else ():
        if preference.low is not None and preference.low > 0:
            value = f"{preference.metric} {signed_estimate(preference.value, preference.interval)}"
            yield "self_preference", f"Judges of {preference.family} do favor answers of {preference.family}: {value}."
    failed = [
        f"{name} {percent(m.failure_rate)}{f' (bounds {interval(m.bounds)})' if m.bounds else ''}"
        for name, m in metrics
        if m.failure_rate > LOST
    ]
    if failed:
        yield "missing", f"Samples or claims were lost to failures: {', '.join(failed)}."
    if doubt := open_to_doubt(summary.metrics):
        yield "abstained", f"{doubt}: bounds are shown instead of an interval."
    ungrounded = [
        f"{m.ungrounded:,} of {m.total:,} in {name}" for name, m in metrics if m.total and m.ungrounded / m.total > LOST
    ]
    if ungrounded:
        yield "ungrounded", f"Claims that do not occur in the text they were extracted from: {', '.join(ungrounded)}."


def open_to_doubt(metrics: Mapping[str, MetricSummary]) -> str:
    """The metrics whose mean is over the claims that judges were sure of while many others are open; empty for none."""
    doubtful = [
        f"{m.abstained:,} of {m.total:,} in {name}" if m.total else name
        for name, m in metrics.items()
        if m.shown == "bounds"
    ]
    if not doubtful:
        return ""
    return f"Judges abstained on claims or are divided ({', '.join(doubtful)}); means cover the other claims only"


RANKS = 20
"""Ranks that are looked at."""


def gather(folder: Path, each: Callable[[SampleResult], None] | None = None, *, sliced: bool = False) -> Overview:
    """Return the facts of a run directory, whose results also go to `each`; DataError where it holds no finished run.

    `sliced` says to split the metrics by every field with 2 to 50 values.
    """
    gathered = OverviewBuilder(load_manifest(folder), sliced=sliced)
    for result in read_results(folder):
        gathered.add(result)
        if each:
            each(result)
    return gathered.facts(folder)


class OverviewBuilder:
    """Takes the results of a run one by one."""

    def __init__(self, manifest: Manifest, *, sliced: bool = False) -> None:
        shorter = manifest.short_names
        self._sliced = SliceTally(manifest.names, manifest.cluster) if sliced else None
        self._manifest = manifest
        self._labels: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._distributions = {name: [0] * BINS for name in manifest.names}
        names = {prompt.id: prompt.name for prompt in manifest.prompts}
        asked_with = {judge: [names[i] for i in ids if i in names] for judge, ids in manifest.asked_with.items()}
        self._judges = {
            judge.name: _JudgeTally(judge, shorter[judge.name], asked_with.get(judge.name, ()))
            for judge in manifest.asked
        }
        self._ranks = _RankTally()
        self._diagnosis = DiagnosisTally()
        self._worst = WorstClaims(manifest.rows)
        self._claims = ExaminedClaims(manifest.data.samples or 0, manifest.cluster) if manifest.of_claims else None

    def add(self, result: SampleResult) -> None:
        """Counts one sample in."""
        claims = {claim.id: claim for claim in result.claims}
        if self._claims:
            self._claims.add(result)
        for assessment in result.assessments:
            of = claims[assessment.subject].of if assessment.subject in claims else assessment.question
            self._labels[of, assessment.evidence.part][assessment.support or "unassessed"] += 1
            for verdict in assessment.verdicts:
                if tally := self._judges.get(verdict.judge):
                    tally.labels[verdict.support or "unassessed"] += 1
        for name, score in result.scores.items():
            if score.value is not None and score.unit == "share":
                self._distributions[name][bar(score.value)] += 1
        for call in result.calls:
            if tally := self._judges.get(call.judge):
                tally.add(call, result.sample.id)
        self._ranks.add(result, claims)
        self._worst.add(result)
        self._diagnosis.add(result)
        if self._sliced:
            self._sliced.add(result.sample, result.scores)

    def each(self, results: Iterable[SampleResult]) -> Iterator[SampleResult]:
        """Yield results, and count them in."""
        for result in results:
            self.add(result)
            yield result

    def facts(self, folder: Path) -> Overview:
        """Return what the samples so far come to, with what the run directory itself adds up to."""
        summary, source = load_summary(folder), self._manifest.source
        judges = tuple(tally.facts(summary) for tally in self._judges.values())
        hidden = source and source.model_copy(update={"path": source.path and _last_part(source.path)})
        return Overview(
            name=folder.resolve().name,
            manifest=self._manifest.model_copy(
                update={
                    "data": self._manifest.data.model_copy(update={"path": data_name(self._manifest)}),
                    "source": hidden,
                    "created": None,  # equal settings over equal replies give equal pages
                }
            ),
            summary=summary,
            cautions=cautions(summary, {name: tally.short for name, tally in self._judges.items()}),
            metrics=tuple(
                MetricOverview(
                    metric=metric,
                    labels=LabelCounts(**self._labels[metric.claims_of, metric.against]),
                    distribution=tuple(self._distributions[metric.name]),
                )
                for metric in self._manifest.rows
            ),
            derived={name: derived(name).description for name in self._manifest.derived},
            distributions={
                name: tuple(self._distributions[name])
                for name in self._manifest.derived
                if summary.metrics[name].unit == "share"
            },
            sides=directory.beside(folder, summary.metrics),
            judges=judges,
            judge_numbers=judge_numbers(judges, summary.panel),
            ranks=self._ranks.facts(),
            worst=self._worst.worst(),
            extraction=self._claims.summary() if self._claims else summary.extraction,
            diagnosis=self._diagnosis.counts(),
            slices=tuple(map(self._sliced.slices, self._sliced.fields)) if self._sliced else (),
        )


def data_name(manifest: Manifest) -> str | None:
    """Return the name of the data file; its folder is nobody's business who is sent a report."""
    return manifest.data.path and _last_part(manifest.data.path)


def _last_part(path: str) -> str:
    return re.split(r"[\\/]", path.rstrip("\\/"))[-1]


def bar(value: float) -> int:
    """Return the bar of a distribution that a value from 0 to 1 stands in: 0, then (0, 0.1] to (0.9, 1), then 1."""
    if value in (0, 1):
        return 0 if value == 0 else BINS - 1
    return next(i for i in range(1, BINS) if value <= i / 10)


class _JudgeTally:
    """What one judge was asked and said."""

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

    def facts(self, summary: Summary) -> JudgeOverview:
        """Return the overview of the judge, with its cost as in the summary."""
        steps = summary.cost.by if summary.cost else ()
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
            cost=total(one.cost for one in steps if one.judge == self._judge.name),
            assessment_cost=total(one.cost for one in steps if one.judge == self._judge.name and one.step != "extract"),
            seconds=median(self._seconds) if self._seconds else None,
            examples=dict(self._examples),
            uncounted=self._uncounted,
            labels=LabelCounts(**self.labels),
        )


class _RankTally:
    """What the ranks of the retrieved contexts are good for."""

    def __init__(self) -> None:
        self._samples: Counter[int] = Counter()
        self._cited: Counter[int] = Counter()
        self._relevant: Counter[int] = Counter()
        self._any_named = False
        self._any_relevant = False

    def add(self, result: SampleResult, claims: dict[str, Claim]) -> None:
        """Add the sample's documents by rank."""
        named = {document for a in result.assessments if a.evidence.part == "contexts" for document in cited(a)}
        relevant = set(result.sample.reference_context_ids)
        self._any_named |= bool(named)
        self._any_relevant |= bool(relevant)
        for rank, document in enumerate((result.sample.contexts or ())[:RANKS], 1):
            self._samples[rank] += 1
            self._cited[rank] += document.id in named
            self._relevant[rank] += document.id in relevant

    def facts(self) -> tuple[RankOverview, ...]:
        """Empty where no judge named a document and no sample says which contexts are relevant."""
        if not (self._any_named or self._any_relevant):
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


def cited(assessment: Assessment) -> set[str]:
    """Return the documents that judges named for a supported claim; those of judges who were outvoted do not count."""
    if assessment.support != "supported":
        return set()
    return {document for v in assessment.verdicts if v.support == "supported" for document in v.cites}


SHOWN = 10
EXCERPT = 200
"""Characters of a document that a trouble carries."""


class WorstClaims:
    """Keeps the worst claim of each of the worst samples of a run while its samples pass by."""

    def __init__(self, metrics: Iterable[Metric], shown: int = SHOWN) -> None:
        """Look at the claims that some metrics count; the first of them count more among claims that are as bad."""
        self._metrics = [metric for metric in metrics if metric.claims_of == "answer" and not metric.prompt]
        self._shown = shown
        self._samples = 0
        self._found: list[tuple[tuple[float, ...], WorstClaim]] = []

    def add(self, result: SampleResult) -> None:
        """Look at one sample; of its answer's claims at most one is kept.

        Samples rank by how many claims are not supported, then by their score; claims of a sample by their label, then
        by how many judges agree on it.
        """
        self._samples += 1
        of_answer = {claim.id for claim in result.claims if claim.of == "answer"}
        for place, metric in enumerate(self._metrics):
            claims = [
                a
                for a in result.assessments
                if a.evidence.part == metric.against and a.evidence.is_whole
                if a.subject in of_answer and a.support is not None
            ]
            bad = [a for a in claims if a.support != "supported"]
            if bad:
                worst, score = min(bad, key=_gravity), result.scores.get(metric.name)
                value = None if score is None else score.value
                rank = (-len(bad), 1.0 if value is None else value, *_gravity(worst), place, self._samples)
                if len(self._found) == self._shown and rank > self._found[-1][0]:
                    break
                entry = _worst_claim(result, worst).model_copy(
                    update={
                        "metric": metric.name,
                        "score": value,
                        "supported": len(claims) - len(bad),
                        "judged": len(claims),
                        "votes": dict(Counter(verdict.support or "unassessed" for verdict in worst.verdicts)),
                    }
                )
                self._found = sorted([*self._found, (rank, entry)], key=lambda ranked: ranked[0])[: self._shown]
                break

    def worst(self) -> tuple[WorstClaim, ...]:
        """Return the worst claims, worst first; in the order of the data among equals."""
        return tuple(trouble for _, trouble in self._found)


def _gravity(assessment: Assessment) -> tuple[int, float, float]:
    """Contradicted first, then what most verdicts agree on, then the least mean probability of "supported"."""
    verdicts = assessment.verdicts
    probabilities = [v.probability for v in verdicts if v.probability is not None]
    agree = sum(v.support == assessment.support for v in verdicts) / len(verdicts) if verdicts else 1.0
    return (
        int(assessment.support != "contradicted"),
        -agree,
        sum(probabilities) / len(probabilities) if probabilities else 0.5,
    )


def _worst_claim(result: SampleResult, assessment: Assessment) -> WorstClaim:
    assert assessment.support is not None, "only claims with a label are listed"
    documents = {document.id: document for document in result.sample.documents(assessment.evidence) or ()}
    named = next((d for v in assessment.verdicts for d in v.cites if d in documents), None)
    return WorstClaim(
        sample_id=result.sample.id,
        question=result.sample.question,
        subject=assessment.subject,
        claim=next(claim.text for claim in result.claims if claim.id == assessment.subject),
        evidence=assessment.evidence,
        label=assessment.support,
        explanation=next(
            (v.explanation for v in assessment.verdicts if v.label == assessment.label and v.explanation), None
        ),
        excerpt=None if named is None else f"[{named}] {documents[named].text[:EXCERPT]}",
        documents=len(documents),
    )
