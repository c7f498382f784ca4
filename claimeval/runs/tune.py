"""Alignment of a judge's prompt with people: choosing a prompt on half of the labels, and its gain on the other half.

The labels are split by question. The choice uses the verdicts and labels of the choosing half only.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from claimeval.data.labels import HumanLabel, label_rows
from claimeval.data.labels import label as read_label
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
"""Minimum number of labels, unless `anyway` is set."""
GAIN = 0.1
"""The true gain in agreement for which the power is computed."""
TRANSFER = ", second judge"
"""Suffix of the names of arms of the second judge."""


class Power(Record):
    """Statistical power of the labels, known before any call."""

    labels: int
    """Labeled claims."""
    questions: int
    """Number of questions (or values of `cluster`)."""
    selected_on: int
    """Labels of the choosing half."""
    reported_on: int
    """Labels of the reporting half."""
    power: float
    """Probability of detecting a true gain of 10 points in agreement, if claims of one question are independent."""
    least_power: float
    """The same probability if a judge is right or wrong about all claims of a question."""
    labels_needed: int | None
    """Number of labels for a power of 80 %; None beyond 20,000."""

    def in_words(self) -> str:
        """Return the counts and the power in words."""
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
    """Agreement of one prompt with people on the choosing half."""

    name: str
    sentences: tuple[str, ...]
    """Sentences that it adds to the prompt in use."""
    kappa: float | None
    """Cohen's kappa with people, averaged over five folds of questions."""
    standard_error: float | None
    agreement: float | None
    """Share of claims whose label equals the human label, of those with a label of the judge."""
    unassessed: int
    """Claims without a label of the judge."""


class Gain(Record):
    """One judge with the prompt in use and with the chosen prompt, on the reporting half."""

    judge: str
    before: RaterReport
    after: RaterReport
    agreement: Estimate
    """Gain in the share of claims whose label equals the human label, with its paired interval."""
    p: float | None
    """Two-sided sign-flip test over questions; equals McNemar's test if each question has one claim."""
    kappa: Estimate
    """Gain in Cohen's kappa."""

    @property
    def beyond_noise(self) -> bool:
        """Whether the interval of the gain is above 0, and kappa did not fall."""
        return beyond_noise(self.agreement, self.kappa)


def beyond_noise(agreement: Estimate, kappa: Estimate) -> bool:
    """Return whether the interval of a gain in agreement is above 0, and kappa did not fall."""
    return (agreement.low or 0.0) > 0 and (kappa.value or 0.0) >= 0


class Tuning(Record):
    """The result of aligning a prompt with people."""

    prompt: str
    """Name of the prompt in use."""
    chosen: str
    """Name of the chosen candidate; empty if the prompt in use stays."""
    sentences: tuple[str, ...]
    """Sentences that the chosen prompt adds."""
    power: Power
    candidates: tuple[CandidateKappa, ...]
    seeming_gain: float | None
    """Gain in agreement on the choosing half, which is biased upwards."""
    gain: Gain
    transfer: Gain | None
    """The gain of the second judge."""
    equal_labels: Estimate | None
    """Share of equal labels among pairs of labels of one claim, an upper bound for judges. None if no claim has two."""
    labels: HumanLabelCounts
    correction: Correction | None
    """For a run: its score corrected with the same labels, which takes no call."""
    cost: Cost
    written: str | None = None
    """The file of the chosen prompt; None if none was written."""

    @property
    def beyond_noise(self) -> bool:
        """Whether the gain is more than the noise of these labels."""
        return bool(self.chosen) and self.gain.beyond_noise

    def to_pandas(self) -> pandas.DataFrame:
        """Return a row for each candidate on the choosing half, the prompt in use first; undefined values are NaN."""
        columns = ("prompt", "adds", "kappa", "standard_error", "agreement", "unassessed", "chosen")
        chosen = self.chosen or self.prompt
        rows = [
            (c.name, " ".join(c.sentences), c.kappa, c.standard_error, c.agreement, c.unassessed, c.name == chosen)
            for c in self.candidates
        ]
        return dataframe(columns, rows, ("kappa", "standard_error", "agreement"))

    def _repr_html_(self) -> str:
        """Show the candidates on the choosing half, the gain on the reporting half, and the conclusion."""
        chosen = self.chosen or self.prompt
        candidates = (
            (
                f"{candidate.name} *" if candidate.name == chosen else candidate.name,
                *map(decimal, (candidate.kappa, candidate.standard_error, candidate.agreement)),
                str(candidate.unassessed),
            )
            for candidate in self.candidates
        )
        gains = (
            (gain.judge, name, decimal(estimate.value), interval(estimate.interval))
            for gain in (self.gain, self.transfer)
            if gain
            for name, estimate in (("equal to people", gain.agreement), ("kappa", gain.kappa))
        )
        return html.shown(
            html.element("p", html.element("b", "tune"), f" {self.power.in_words()}"),
            html.table(("prompt, on the choosing half", "kappa", "± error", "equal", "unassessed"), candidates),
            html.table(("judge", f"gain on the other {self.power.reported_on} labels", "", "95 %"), gains),
            html.element("p", self.conclusion()),
        )

    def conclusion(self) -> str:
        """Return the conclusion from the gain, in a sentence."""
        if self.beyond_noise:
            return f"{self.prompt} with {self.chosen} agrees more with people than {self.prompt} alone."
        reason = "no candidate is better by more than one standard error" if not self.chosen else "the interval holds 0"
        if self.chosen and (self.gain.agreement.low or 0.0) > 0:
            reason = "agreement grows and kappa falls: labels only moved to the more frequent one"
        return f"No gain that these labels can show: {reason}."


@dataclass(frozen=True)
class LabeledClaims:
    """Claims that people labeled, with their evidence and the prompt in use."""

    items: tuple[SampleResult, ...]
    """The samples with a label, with their labeled claims only."""
    labels: tuple[HumanLabel, ...]
    metric: Metric
    prompt: Prompt
    cluster: str | None
    run: Path | None
    """The run directory of the labels; None for a table."""
    blank: HumanLabelCounts
    """Counts of rows without a label."""

    def job(self, judge: Judge) -> ClaimsJob:
        """Return the job that asks a judge about the claims with the prompt in use."""
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
        """Return the table of human labels and labels by arm; `results` have an assessment for each arm.

        If people never use "contradicted", a judge's "contradicted" counts as "not found".
        """
        judged = [by_arm(result) for result in results]
        ids = {result.sample.id for result in judged}
        labels = [label for label in self.labels if label.sample in ids]
        joined = join(judged, arms, self.panel, labels, self.metric.against, self.cluster)
        if all(label.label != "contradicted" for label in self.labels):
            for name, column in joined.raters.items():
                joined.raters[name] = ["not_found" if label == "contradicted" else label for label in column]
        return joined


def by_arm(result: SampleResult) -> SampleResult:
    """Return the result of a tune job with one assessment per claim, in which each arm is a judge."""
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
        path: A run with labels from `annotate` or imported with it; or a table.
        assess_prompt: The prompt to align. Default: that of the run; for a table `three_way`, or `binary` if people
            never use "contradicted".
        cluster: The field whose equal values are one cluster. Default: as in the run, or the question.

    Raises:
        UsageError: There are no labels, or the prompt does not assess claims.
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
    for label in labels:
        if label.evidence is None or label.evidence.part == metric.against:
            by_sample[label.sample].append(label)
    items = (_labeled(r, by_sample[r.sample.id], metric) for r in read_results(run) if r.sample.id in by_sample)
    return LabeledClaims(
        tuple(item for item in items if item.claims),
        labels,
        metric,
        load("assess", assess_prompt) if assess_prompt else _prompt_of(manifest, labels),
        cluster_field(run, cluster),
        run,
        HumanLabelCounts(blank=run_labels.blank, undecided=run_labels.undecided),
    )


def _labeled(result: SampleResult, labels: Sequence[HumanLabel], metric: Metric) -> SampleResult:
    """Return the sample with the claims that the labels are about."""
    counted = {claim.id for claim in result.claims if claim.of == metric.claims_of}
    labeled: set[str] = set()
    for label in labels:
        labeled |= counted if label.of_sample else counted & set(claims_for_label(result, label))
    claims = tuple(claim for claim in result.claims if claim.id in labeled)
    return SampleResult(sample=result.sample, claims=claims)


def _prompt_of(manifest: Manifest, labels: Sequence[HumanLabel]) -> Prompt:
    support_prompts = {question.prompt for question in manifest.questions if question.name == "support"}
    recorded = [prompt for prompt in manifest.prompts if prompt.step == "assess" and prompt.id in support_prompts]
    return Prompt.of(recorded[0]) if recorded else _usual_prompt(labels)


def _usual_prompt(labels: Sequence[HumanLabel]) -> Prompt:
    return load("assess", ASSESS_PROMPT if any(label.label == "contradicted" for label in labels) else "binary")


def _of_table(path: Path, assess_prompt: str | None, cluster: str | None) -> LabeledClaims:
    rows: defaultdict[str, list[tuple[Sample, HumanLabel]]] = defaultdict(list)
    blank = 0
    for row in label_rows(path):
        word = read_label(row)
        if word is None:
            blank += 1
            continue
        if word.text is None:
            raise DataError(f"{row.location}: a labeled claim needs its text (`claim` or `text`)")
        fields = {
            name: value for name, value in row.fields.items() if name not in ("claim", "text", "label", "against")
        }
        try:
            sample = read_sample(row._replace(fields={**fields, "id": word.sample}), {})
        except DataError as error:
            if error.kind != NO_COLUMN:
                raise
            raise DataError(
                f"{row.location}: no question and no evidence; give `question` and `contexts` with each labeled "
                "claim, or the run that was labeled with `claimeval annotate`"
            ) from error
        if rows[word.sample] and _shown(rows[word.sample][0][0]) != _shown(sample):
            raise DataError(f"{row.location}, id: {word.sample!r} has other texts in an earlier row")
        rows[word.sample].append((sample, word))
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
    metrics = {(metric.claims_of, metric.against): metric for metric in METRICS.values() if metric.prompt is None}
    metric = metrics.get(("answer", part), Metric(name="support", claims_of="answer", against=part))
    counts = HumanLabelCounts(blank=blank)
    return LabeledClaims(tuple(items), tuple(labels), metric, prompt, cluster, None, counts)


def _shown(sample: Sample) -> tuple[object, ...]:
    return sample.question, sample.contexts, sample.reference_answers, sample.evidence


def _part(rows: Mapping[str, Sequence[tuple[Sample, HumanLabel]]]) -> str:
    """Return the evidence of the labels: the part that they name, else the first one that samples have."""
    named = {label.evidence.part for pairs in rows.values() for _, label in pairs if label.evidence}
    if len(named) > 1:
        raise UsageError(f"labels are about {' and '.join(sorted(named))}; tune on a file with one of them")
    samples = [pairs[0][0] for pairs in rows.values()]
    if named:
        return named.pop()
    evidence_sets = dict.fromkeys(name for sample in samples for name in sample.evidence)
    parts = ("contexts", "reference", *evidence_sets)
    matching = next((part for part in parts if any(sample.has(part) for sample in samples)), None)
    if matching is None:
        raise UsageError("no row says what its claim was labeled against; add a column contexts (a list of texts)")
    return matching


class Halves(NamedTuple):
    """The samples of the choosing and the reporting half, which share no question."""

    choose: tuple[SampleResult, ...]
    report: tuple[SampleResult, ...]
    power: Power


def halve(labeled: LabeledClaims, seed: int, candidates: int, *, anyway: bool = False) -> Halves:
    """Split the labeled claims into halves by question, with the same share of every label, and compute their power.

    Args:
        labeled: The claims.
        seed: Another seed gives other halves.
        candidates: The number of prompts that will be tried.
        anyway: Continue with fewer than 60 labels.

    Raises:
        UsageError: There are fewer than 60 labels, or all labels are equal.
    """
    evidence = Evidence(part=labeled.metric.against)

    def unjudged(item: SampleResult) -> SampleResult:
        """Return the item with an empty assessment of each claim."""
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
    """The chosen candidate, and the agreement of all candidates on the choosing half."""

    chosen: Candidate
    candidates: tuple[CandidateKappa, ...]
    seeming_gain: float | None


def choose(candidates: Sequence[Candidate], table: RaterTable, seed: int) -> Choice:
    """Return the candidate with the highest cross-validated kappa, or an earlier one within one standard error of it.

    Args:
        candidates: The prompt in use, then the others, simplest first.
        table: The labels of people and of the candidates.
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
    chosen = next(candidate for candidate in candidates if candidate.name == name)
    shares = {row.name: row.agreement for row in rows}
    before, after = shares[candidates[0].name], shares[name]
    return Choice(chosen, tuple(rows), None if before is None or after is None else after - before)


class GainNumbers(NamedTuple):
    """Gain of a judge from one prompt to another, as in `Gain`."""

    agreement: Estimate
    p: float | None
    kappa: Estimate


def gain_numbers(table: RaterTable, before: str, after: str) -> GainNumbers:
    """Return the gain of the rater `after` over the rater `before` of a table, by the labels of people."""
    human, first, second = table.human, table.raters[before], table.raters[after]
    equal = (
        [None if a is None or b is None else float(a == b) for a, b in zip(order, human, strict=True)]
        for order in (second, first)
    )
    difference = paired_difference(*equal, clusters=table.clusters)
    kappa = kappa_difference(human, first, second, clusters=table.clusters)
    return GainNumbers(Estimate.of(difference), difference.p, Estimate.of(kappa))


def gain(judge: str, table: RaterTable, panel: Panel, before: str, after: str) -> Gain:
    """Return the gain of a judge from one prompt to another over the same labels.

    Args:
        judge: Name of the judge.
        table: The labels of people and of both prompts.
        panel: The panel, which has the scale.
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
    """Return the share of equal labels among pairs of labels of one claim; None if no claim has two.

    Labels are compared on the scale of the prompt, as with a judge.
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
    """Return the score of the run corrected with its labels; None for a table, or if no correction is possible."""
    if labeled.run is None:
        return None
    try:
        return correct(labeled.run, labeled.metric.name, labeled.labels, "auto", seed, labeled.cluster)
    except UsageError:
        return None
