"""Aligning a judge's prompt with people: which one is chosen by half of the labels, and what it gains on the others.

The halves are cut by question. What chooses sees the verdicts and labels of its own half and nothing else.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from claimeval.data.labels import HumanLabel, label, label_rows
from claimeval.data.reading import NO_COLUMN
from claimeval.data.reading import sample as read_sample
from claimeval.data.rows import dataframe
from claimeval.evaluation.claims import ASSESS_PROMPT, ClaimsJob, ClaimsOptions, make_job
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.tune import Candidate
from claimeval.judging.panel import Panel
from claimeval.judging.prompts import Prompt, load
from claimeval.metrics.derived import MetricSelection
from claimeval.metrics.rows import METRICS, Metric
from claimeval.runs.agreement import RaterReport, rater_report
from claimeval.runs.correct import Correction, correct
from claimeval.runs.directory import MANIFEST, cluster_field, load_manifest, read_results
from claimeval.runs.labeling import labels_in, metric_of
from claimeval.runs.labels import HumanLabelCounts, RaterTable, claims_for_label, join
from claimeval.statistics import mean_interval, paired_difference
from claimeval.statistics.agreement import kappa_difference
from claimeval.statistics.formatting import decimal, interval
from claimeval.statistics.selection import (
    FOLDS,
    cross_validated_kappa,
    first_within_error,
    labels_for_power,
    power,
    stratified_parts,
)
from claimeval.types import html
from claimeval.types.clusters import cluster_of
from claimeval.types.errors import DataError, UsageError
from claimeval.types.estimates import Cost, Estimate
from claimeval.types.records import Assessment, Claim, Evidence, Record, Sample, SampleResult, Verdict
from claimeval.types.requests import Judge

if TYPE_CHECKING:
    import pandas

LEAST = 60
"""Labels below which nothing is tuned unless asked for all the same."""
GAIN = 0.1
"""The true gain in agreement whose power is stated."""
TRANSFER = ", second judge"
"""What follows the name of an arm of the second judge."""


class Power(Record):
    """What the labels can show, stated before any call."""

    labels: int
    """Labeled claims."""
    questions: int
    """Questions, or what `cluster` names."""
    selected_on: int
    """Labels of the half by which a prompt is chosen."""
    reported_on: int
    """Labels of the other half."""
    power: float
    """How often a true gain of 10 points in agreement would be seen, if claims of one question are independent."""
    least_power: float
    """The same if a judge is right or wrong about all claims of a question, so that questions count, not claims."""
    labels_needed: int | None
    """Labels with which it would be seen in 80 % of cases; None beyond 20,000."""

    def in_words(self) -> str:
        """Return the line that stands before the calls."""
        line = (
            f"{self.labels} labeled claims on {self.questions} questions: {self.selected_on} to choose a prompt by, "
            f"{self.reported_on} to report on. A true gain of 10 points in agreement would be seen in "
            f"{self.power:.0%} of cases"
        )
        if self.least_power < self.power - 0.02:
            line += f" ({self.least_power:.0%} if a judge is right or wrong about whole questions)"
        if self.labels_needed is None or self.labels_needed <= self.labels:
            return line
        return f"{line}; label {self.labels_needed - self.labels} more, {self.labels_needed} in all, for 80%"


class CandidateKappa(Record):
    """A prompt on the half of the labels by which one is chosen."""

    name: str
    sentences: tuple[str, ...]
    """What it adds to the prompt in use."""
    kappa: float | None
    """Cohen's kappa with people, averaged over five folds of questions."""
    standard_error: float | None
    agreement: float | None
    """Share of claims with the label of people, of those that have one."""
    unassessed: int
    """Claims without a label of the judge."""


class Gain(Record):
    """One judge with the prompt in use and with the chosen one, on the half of the labels that chose nothing."""

    judge: str
    before: RaterReport
    after: RaterReport
    agreement: Estimate
    """By how much the share of claims with the label of people grows, with its paired interval."""
    p: float | None
    """Two-sided, of the sign-flip test over questions; McNemar's where each has one claim."""
    kappa: Estimate
    """By how much Cohen's kappa grows."""

    @property
    def beyond_noise(self) -> bool:
        """Whether the interval of the gain is above 0, and kappa did not fall."""
        return beyond_noise(self.agreement, self.kappa)


def beyond_noise(agreement: Estimate, kappa: Estimate) -> bool:
    """Return whether the interval of a gain in agreement is above 0, and kappa did not fall."""
    return (agreement.low or 0.0) > 0 and (kappa.value or 0.0) >= 0


class Tuning(Record):
    """What aligning a prompt with people came to."""

    prompt: str
    """Name of the prompt in use."""
    chosen: str
    """Name of the candidate that was chosen; empty if it is the prompt in use."""
    sentences: tuple[str, ...]
    """What the chosen prompt adds."""
    power: Power
    candidates: tuple[CandidateKappa, ...]
    seeming_gain: float | None
    """Gain in agreement on the labels by which the prompt was chosen, which is too good to be true."""
    gain: Gain
    transfer: Gain | None
    """The same of a second judge, for which nothing was chosen."""
    equal_labels: Estimate | None
    """Share of equal labels, of two labels of one claim: no judge agrees more with people. None if no claim has two."""
    labels: HumanLabelCounts
    correction: Correction | None
    """Of a run, its score corrected by the same labels, which takes no call."""
    cost: Cost
    written: str | None = None
    """The file of the chosen prompt; None if none was written."""

    @property
    def beyond_noise(self) -> bool:
        """Whether the gain is more than the noise of these labels."""
        return bool(self.chosen) and self.gain.beyond_noise

    def to_pandas(self) -> pandas.DataFrame:
        """Return a row a candidate, the prompt in use first, on the choosing half; undefined numbers are NaN."""
        columns = ("prompt", "adds", "kappa", "standard_error", "agreement", "unassessed", "chosen")
        rows = [
            (
                *(one.name, " ".join(one.sentences), one.kappa, one.standard_error, one.agreement, one.unassessed),
                one.name == (self.chosen or self.prompt),
            )
            for one in self.candidates
        ]
        return dataframe(columns, rows, ("kappa", "standard_error", "agreement"))

    def _repr_html_(self) -> str:
        """The candidates on the choosing half, the gain on the other, and what the numbers say."""
        chosen = self.chosen or self.prompt
        candidates = (
            (
                f"{one.name} *" if one.name == chosen else one.name,
                *map(decimal, (one.kappa, one.standard_error, one.agreement)),
                str(one.unassessed),
            )
            for one in self.candidates
        )
        gains = (
            (gain.judge, name, decimal(one.value), interval(one.interval))
            for gain in (self.gain, self.transfer)
            if gain
            for name, one in (("equal to people", gain.agreement), ("kappa", gain.kappa))
        )
        return html.shown(
            html.element("p", html.element("b", "tune"), f" {self.power.in_words()}"),
            html.table(("prompt, on the choosing half", "kappa", "± error", "equal", "unassessed"), candidates),
            html.table(("judge", f"gain on the other {self.power.reported_on} labels", "", "95 %"), gains),
            html.element("p", self.conclusion()),
        )

    def conclusion(self) -> str:
        """Return what the numbers say, in a sentence."""
        if self.beyond_noise:
            return f"{self.prompt} with {self.chosen} agrees more with people than {self.prompt} alone."
        stays = "no candidate is better by more than one standard error" if not self.chosen else "the interval holds 0"
        if self.chosen and (self.gain.agreement.low or 0.0) > 0:
            stays = "agreement grows and kappa falls: labels only moved to the more frequent one"
        return f"No gain that these labels can show: {stays}."


@dataclass(frozen=True)
class LabeledClaims:
    """Claims that people labeled, with their evidence, and what they were assessed by."""

    items: tuple[SampleResult, ...]
    """The samples with a label, of each the labeled claims."""
    labels: tuple[HumanLabel, ...]
    metric: Metric
    prompt: Prompt
    cluster: str | None
    run: Path | None
    """The run directory that they come from; None for a file."""
    blank: HumanLabelCounts
    """Rows of a file that say nothing."""

    def job(self, judge: Judge) -> ClaimsJob:
        """Return what a judge is asked about them with the prompt in use."""
        job = make_job(
            ClaimsOptions(judges=(judge,), assess_prompt=ASSESS_PROMPT, cluster=self.cluster),
            MetricSelection((self.metric,), ()),
        )
        return replace(job, assess_prompt=self.prompt, panel=self.panel, extracts=False)

    @property
    def panel(self) -> Panel:
        """The panel of one judge on the scale of the prompt."""
        assert self.prompt.scale, "an assess prompt has a scale; loading checks it"
        return Panel(scale=self.prompt.scale)

    def table(self, results: Iterable[SampleResult], arms: Sequence[str]) -> RaterTable:
        """Return the labels of people beside those of arms; results have an assessment for each arm.

        If people never say "contradicted", it is taken for "not found" where a judge says it.
        """
        judged = [by_arm(result) for result in results]
        ids = {result.sample.id for result in judged}
        labels = [one for one in self.labels if one.sample in ids]
        joined = join(judged, arms, self.panel, labels, self.metric.against, self.cluster)
        if all(one.label != "contradicted" for one in self.labels):
            for name, column in joined.raters.items():
                joined.raters[name] = ["not_found" if label == "contradicted" else label for label in column]
        return joined


def by_arm(result: SampleResult) -> SampleResult:
    """Return the result of a tune job with one assessment a claim, in which each arm is a judge."""
    verdicts: defaultdict[tuple[str, Evidence], list[Verdict]] = defaultdict(list)
    for a in result.assessments:
        verdicts[a.subject, a.evidence] += [v.model_copy(update={"judge": a.question}) for v in a.verdicts]
    together = tuple(
        Assessment(
            subject=subject, question="support", evidence=evidence, verdicts=tuple(by_judge), unassessed="no_quorum"
        )
        for (subject, evidence), by_judge in verdicts.items()
    )
    return result.model_copy(update={"assessments": together})


def read_labeled(path: Path, assess_prompt: str | None, cluster: str | None) -> LabeledClaims:
    """Return the labeled claims of a run directory or of a table.

    A table has a labeled claim in each row: `id`, `question`, `contexts` (or another part of a sample, named by
    `against`), `claim` and `label`, and `annotator` if there are several.

    Args:
        path: A run with labels that `annotate` wrote or that it was imported with; or a table.
        assess_prompt: The prompt to align. Default: that of the run; for a table `three_way`, or `binary` if people
            never say "contradicted".
        cluster: The field by which claims belong together. Default: as in the run, or the question.

    Raises:
        UsageError: There are no labels, or the prompt is not one that assesses claims.
        DataError: A row is malformed.
    """
    if path.is_dir() or path.name == MANIFEST:
        return _of_run(path if path.is_dir() else path.parent, assess_prompt, cluster)
    return _of_table(path, assess_prompt, cluster)


def _of_run(run: Path, assess_prompt: str | None, cluster: str | None) -> LabeledClaims:
    manifest = load_manifest(run)
    if not manifest.rows:
        raise UsageError(f"{run} is a run of {manifest.job}; prompts are aligned with labels of claims")
    metric = metric_of(run, None)
    if metric.prompt:
        raise UsageError(
            f"{metric.name} is not about whether a text supports claims, which is what prompts are aligned for"
        )
    run_labels = labels_in(run, metric.name)
    if run_labels is None:
        raise UsageError(
            f"no labels yet: label claims with `claimeval annotate {run}`, or pass a table of labeled claims"
        )
    labels = tuple(run_labels)
    by_sample: defaultdict[str, list[HumanLabel]] = defaultdict(list)
    for one in labels:
        if one.evidence is None or one.evidence.part == metric.against:
            by_sample[one.sample].append(one)
    items = (_labeled(r, by_sample[r.sample.id], metric) for r in read_results(run) if r.sample.id in by_sample)
    return LabeledClaims(
        tuple(item for item in items if item.claims),
        labels,
        metric,
        load("assess", assess_prompt) if assess_prompt else _prompt_of(manifest, metric, labels),
        cluster_field(run, cluster),
        run,
        HumanLabelCounts(blank=run_labels.blank, undecided=run_labels.undecided),
    )


def _labeled(result: SampleResult, labels: Sequence[HumanLabel], metric: Metric) -> SampleResult:
    """Return the sample with the claims that the labels are about."""
    of = {claim.id for claim in result.claims if claim.of == metric.claims_of}
    meant: set[str] = set()
    for one in labels:
        meant |= of if one.of_sample else of & set(claims_for_label(result, one))
    claims = tuple(claim for claim in result.claims if claim.id in meant)
    return SampleResult(sample=result.sample, claims=claims)


def _prompt_of(manifest: Manifest, metric: Metric, labels: Sequence[HumanLabel]) -> Prompt:
    support_prompts = {question.prompt for question in manifest.questions if question.name == "support"}
    recorded = [prompt for prompt in manifest.prompts if prompt.step == "assess" and prompt.id in support_prompts]
    return Prompt.of(recorded[0]) if recorded else _usual_prompt(labels)


def _usual_prompt(labels: Sequence[HumanLabel]) -> Prompt:
    return load("assess", ASSESS_PROMPT if any(one.label == "contradicted" for one in labels) else "binary")


def _of_table(path: Path, assess_prompt: str | None, cluster: str | None) -> LabeledClaims:
    rows: defaultdict[str, list[tuple[Sample, HumanLabel]]] = defaultdict(list)
    blank = 0
    for row in label_rows(path):
        word = label(row)
        if word is None:
            blank += 1
            continue
        if word.text is None:
            raise DataError(f"{row.location}: a labeled claim needs its text (`claim` or `text`)")
        fields = {
            name: value for name, value in row.fields.items() if name not in ("claim", "text", "label", "against")
        }
        try:
            one = read_sample(row._replace(fields={**fields, "id": word.sample}), {})
        except DataError as error:
            if error.kind != NO_COLUMN:
                raise
            raise DataError(
                f"{row.location}: no question and no evidence; give `question` and `contexts` with each labeled "
                "claim, or the run that was labeled with `claimeval annotate`"
            ) from error
        if rows[word.sample] and _shown(rows[word.sample][0][0]) != _shown(one):
            raise DataError(f"{row.location}, id: {word.sample!r} has other texts in an earlier row")
        rows[word.sample].append((one, word))
    if not rows:
        raise DataError(f"{path} has no labels: {blank} rows are blank or undecided. Fill the column `label`")
    items, labels = [], []
    part = _part(rows)
    for pairs in rows.values():
        numbers: dict[str, str] = {}
        for _, word in pairs:
            assert word.text is not None, "rows without a claim were refused"
            numbers.setdefault(word.text, f"answer-{len(numbers) + 1}")
            labels.append(word.model_copy(update={"claim_id": numbers[word.text], "text": None}))
        sample = pairs[0][0].model_copy(update={"answer": " ".join(numbers)})
        claims = tuple(Claim(id=name, text=text, of="answer") for text, name in numbers.items())
        items.append(SampleResult(sample=sample, claims=claims))
    prompt = load("assess", assess_prompt) if assess_prompt else _usual_prompt(labels)
    row_of = {(one.claims_of, one.against): one for one in METRICS.values() if one.prompt is None}
    metric = row_of.get(("answer", part), Metric(name="support", claims_of="answer", against=part))
    counts = HumanLabelCounts(blank=blank)
    return LabeledClaims(tuple(items), tuple(labels), metric, prompt, cluster, None, counts)


def _shown(sample: Sample) -> tuple[object, ...]:
    return sample.question, sample.contexts, sample.reference_answers, sample.evidence


def _part(rows: Mapping[str, Sequence[tuple[Sample, HumanLabel]]]) -> str:
    """Return the part of the samples that labels are about."""
    named = {one.evidence.part for pairs in rows.values() for _, one in pairs if one.evidence}
    if len(named) > 1:
        raise UsageError(f"labels are about {' and '.join(sorted(named))}; tune on a file with one of them")
    samples = [pairs[0][0] for pairs in rows.values()]
    if named:
        return named.pop()
    matching = next(
        (part for part in ("contexts", "reference", *_sets(samples)) if any(s.has(part) for s in samples)), None
    )
    if matching is None:
        raise UsageError("no row says what its claim was labeled against; add a column contexts (a list of texts)")
    return matching


def _sets(samples: Iterable[Sample]) -> dict[str, None]:
    return dict.fromkeys(name for sample in samples for name in sample.evidence)


class Halves(NamedTuple):
    """The samples by which a prompt is chosen, and those on which it is reported; no question is in both."""

    choose: tuple[SampleResult, ...]
    report: tuple[SampleResult, ...]
    power: Power


def halve(labeled: LabeledClaims, seed: int, candidates: int, *, anyway: bool = False) -> Halves:
    """Cut the labeled claims into halves by question, with the same share of every label, and say what they can show.

    Args:
        labeled: The claims.
        seed: Another seed gives other halves.
        candidates: How many prompts will be tried.
        anyway: Go on with fewer than 60 labels.

    Raises:
        UsageError: There are fewer than 60 labels, or only one.
    """
    evidence = Evidence(part=labeled.metric.against)

    def unjudged(item: SampleResult) -> SampleResult:
        """Return the item with an assessment of each claim that nobody made."""
        blank = tuple(
            Assessment(subject=c.id, question="", evidence=evidence, verdicts=(), unassessed="not_in_cache")
            for c in item.claims
        )
        return item.model_copy(update={"assessments": blank})

    joined = labeled.table(map(unjudged, labeled.items), ())
    pairs = [
        (label, cluster) for label, cluster in zip(joined.human, joined.clusters, strict=True) if label is not None
    ]
    count, labels = len(pairs), sorted({label for label, _ in pairs})
    if count < LEAST and not anyway:
        raise UsageError(
            f"{count} labeled claims are too few to choose a prompt by one half and test it on the other; {LEAST} are "
            "the least, and 400 show a gain of 10 points in 80% of cases. Label more with `claimeval annotate`, "
            "correct the score with what there is (`claimeval correct`), or give --anyway"
        )
    if len(labels) < 2 or len(set(joined.clusters)) < 4:
        what = (
            f"all {count} labels say {labels[0]}" if len(labels) == 1 else f"{count} labels on fewer than 4 questions"
        )
        raise UsageError(f"{what}, so prompts cannot be compared")
    parts = stratified_parts([label for label, _ in pairs], [cluster for _, cluster in pairs], 2, seed=seed)
    half = {cluster: part for (_, cluster), part in zip(pairs, parts, strict=True)}
    of = [half.get(cluster_of(item.sample, labeled.cluster)) for item in labeled.items]
    choose, report = (tuple(item for item, n in zip(labeled.items, of, strict=True) if n == part) for part in (0, 1))
    return Halves(
        choose,
        report,
        Power(
            labels=count,
            questions=len({cluster for _, cluster in pairs}),
            selected_on=parts.count(0),
            reported_on=parts.count(1),
            power=power(2 * parts.count(1), GAIN, candidates=candidates),
            least_power=power(2 * list(half.values()).count(1), GAIN, candidates=candidates),
            labels_needed=labels_for_power(GAIN, candidates=candidates),
        ),
    )


class Choice(NamedTuple):
    """The candidate that was chosen, and what all came to on the half that chose."""

    chosen: Candidate
    candidates: tuple[CandidateKappa, ...]
    seeming_gain: float | None


def choose(candidates: Sequence[Candidate], table: RaterTable, seed: int) -> Choice:
    """Return the candidate with the highest cross-validated kappa, or an earlier one within one standard error of it.

    Args:
        candidates: The prompt in use, then the others, the simplest first.
        table: The labels of people and of the candidates, by name.
        seed: Another seed gives other folds.
    """
    labeled = [i for i, labels in enumerate(table.human) if labels is not None]
    human, clusters = [table.human[i] for i in labeled], [table.clusters[i] for i in labeled]
    folds = stratified_parts(human, clusters, FOLDS, seed=seed)
    kappas, rows = {}, []
    for candidate in candidates:
        labels = [table.raters[candidate.name][i] for i in labeled]
        kappa = kappas[candidate.name] = cross_validated_kappa(human, labels, folds)
        agreeing = [a == b for a, b in zip(labels, human, strict=True) if a is not None]
        rows.append(
            CandidateKappa(
                name=candidate.name,
                sentences=candidate.sentences,
                kappa=kappa.mean,
                standard_error=kappa.standard_error,
                agreement=math.fsum(agreeing) / len(agreeing) if agreeing else None,
                unassessed=len(labels) - len(agreeing),
            )
        )
    name = first_within_error(kappas)
    chosen = next(one for one in candidates if one.name == name)
    shares = {row.name: row.agreement for row in rows}
    before, after = shares[candidates[0].name], shares[name]
    return Choice(chosen, tuple(rows), None if before is None or after is None else after - before)


class GainNumbers(NamedTuple):
    """By how much two numbers of a judge grow from one prompt to another, as in `Gain`."""

    agreement: Estimate
    p: float | None
    kappa: Estimate


def gain_numbers(table: RaterTable, before: str, after: str) -> GainNumbers:
    """Return what the rater `after` of a table has over the rater `before`, by the labels of people."""
    human, first, second = table.human, table.raters[before], table.raters[after]
    equal = (
        [None if a is None or b is None else float(a == b) for a, b in zip(order, human, strict=True)]
        for order in (second, first)
    )
    difference = paired_difference(*equal, clusters=table.clusters)
    kappa = kappa_difference(human, first, second, clusters=table.clusters)
    return GainNumbers(Estimate.of(difference), difference.p, Estimate.of(kappa))


def gain(judge: str, table: RaterTable, panel: Panel, before: str, after: str) -> Gain:
    """Return what a judge gains from one prompt to another over the same labels.

    Args:
        judge: Name of the judge.
        table: The labels of people and of both prompts.
        panel: The panel, which knows the scale.
        before: The arm of the prompt in use.
        after: The arm of the chosen prompt.
    """
    return Gain(
        judge=judge,
        before=rater_report(before, table, panel),
        after=rater_report(after, table, panel),
        **gain_numbers(table, before, after)._asdict(),
    )


def equal_labels(labeled: LabeledClaims) -> Estimate | None:
    """Return the share of equal labels, of any two labels of one claim; None if no claim has two.

    Labels are compared on the scale of the prompt, as they are with a judge's.
    """
    choice = RaterTable((), labeled.panel).choice
    cluster = {item.sample.id: cluster_of(item.sample, labeled.cluster) for item in labeled.items}
    by_claim: defaultdict[tuple[str, object], list[object]] = defaultdict(list)
    for one in labeled.labels:
        if one.sample in cluster and (label := choice(one)) is not None:
            by_claim[one.sample, (one.claim_id, one.text, one.evidence)].append(label)
    pairs = [
        (float(first == second), cluster[sample])
        for (sample, _), labels in by_claim.items()
        for first, second in itertools.combinations(labels, 2)
    ]
    return (
        Estimate.of(mean_interval([same for same, _ in pairs], clusters=[key for _, key in pairs])) if pairs else None
    )


def correction(labeled: LabeledClaims, seed: int) -> Correction | None:
    """Return the score of the run, corrected by its labels; None for labels of a file, or that correct nothing."""
    if labeled.run is None:
        return None
    try:
        return correct(labeled.run, labeled.metric.name, labeled.labels, "auto", seed, labeled.cluster)
    except UsageError:
        return None
