"""The choice of an arm by human labels: on one half of the questions, with its gain on the other
half.

A hash of the question decides its half. The choice reads verdicts and labels of the choosing half
only; the other half is judged after it.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from claimeval.data.file_formats import sheet_in
from claimeval.data.labels import HumanLabel, LabelFile
from claimeval.evaluation.manifest import Ids
from claimeval.judging.panel import Panel
from claimeval.judging.prompts import Prompt
from claimeval.metrics.rows import Metric
from claimeval.runs.agreement import RaterReport, rater_report
from claimeval.runs.directory import RunResults, load_manifest, write_text
from claimeval.runs.experiments.running import ExperimentStatus, PreparedExperiment, arm_folder, run
from claimeval.runs.labeling import labels_in
from claimeval.runs.labels import LabelPlaces, RaterTable, StrayLabels, Strays, join
from claimeval.runs.pairing import folded
from claimeval.statistics import paired_difference
from claimeval.statistics.agreement import kappa_difference
from claimeval.statistics.formatting import percent
from claimeval.statistics.selection import (
    FOLDS,
    CrossValidatedKappa,
    cross_validated_kappa,
    first_within_error,
    labels_for_power,
    power,
    stratified_parts,
)
from claimeval.types.clusters import cluster_of
from claimeval.types.errors import UsageError
from claimeval.types.estimates import Estimate
from claimeval.types.options import RunOptions
from claimeval.types.records import (
    Assessment,
    Claim,
    Evidence,
    Part,
    Record,
    Sample,
    SampleResult,
    Verdict,
)
from claimeval.types.scales import BINARY, Scale

if TYPE_CHECKING:
    from claimeval.metrics.extraction import ExaminedClaims

LEAST = 60
"""Minimum number of labels, unless told otherwise."""
GAIN = 0.1
"""The true gain in agreement for which the power is computed."""
SELECTED = "selected.j2"
"""File of the chosen prompt, in the folder of the experiment."""


class LabelAgreement(Record):
    """Agreement of an arm with human labels; the positive class is "supported"."""

    claims: int
    """Labeled claims that the arm judged."""
    accuracy: Estimate = Estimate()
    balanced_accuracy: Estimate = Estimate()
    kappa: Estimate = Estimate()
    same: Estimate = Estimate()
    """Share of equal labels."""
    behind: Estimate | None = None
    """How much more often the arm that agrees with people most gives their label, over the claims
    that both judged, with an interval that holds for all pairs of arms together. None for the best
    arm, and with a selection."""
    unassessed: int = 0
    """Labeled claims without a label of the arm."""
    mean_kappa: float | None = None
    """Kappa of all labels, averaged over five folds of questions, by which an arm is chosen; None
    without a choice."""
    standard_error: float | None = None
    """Standard error of `mean_kappa`."""

    @classmethod
    def of(cls, report: RaterReport) -> LabelAgreement:
        """Return the numbers of a report."""
        shared = dict(report).keys() & cls.model_fields.keys()
        return cls(claims=report.compared, **{name: getattr(report, name) for name in shared})


class LabelPower(Record):
    """What human labels can show, known before any call."""

    labels: int
    """Labeled claims."""
    questions: int
    """Number of questions (or values of `cluster`)."""
    selected_on: int
    """Labels of the choosing half."""
    reported_on: int
    """Labels of the other half."""
    power: float
    """Probability of detecting a true gain of 10 points in agreement, if claims of one question are
    independent."""
    least_power: float
    """The same probability if a judge is right or wrong about all claims of a question."""
    labels_needed: int | None
    """Number of labels for a power of 80%; None beyond 20,000."""

    def in_words(self) -> str:
        """Return the counts and the power in words."""
        line = (
            f"{self.labels} labeled claims on {self.questions} questions: {self.selected_on} to"
            f" choose an arm by, {self.reported_on} to report on. A true gain of 10 points in"
            f" agreement would be seen in {self.power:.0%} of cases"
        )
        if self.least_power < self.power - 0.02:
            line += f" ({self.least_power:.0%} if a judge is right or wrong about whole questions)"
        if self.labels_needed is None or self.labels_needed <= self.labels:
            return line
        return (
            f"{line}; label {self.labels_needed - self.labels} more, {self.labels_needed} in all,"
            " for 80%"
        )


class Selection(Record):
    """The arm that agrees best with people on one half of the questions, and its agreement on the
    other half."""

    arm: str
    """The chosen arm; the baseline, if no other one is better by more than one standard error."""
    selected_on: dict[str, LabelAgreement]
    """Every arm on the choosing half. The numbers of the best one are too optimistic."""
    held_out: RaterReport
    """The chosen arm on the other half."""
    held_out_baseline: RaterReport
    gain: Estimate
    """Gain in the share of equal labels on the other half, with its paired interval."""
    p: float | None
    """Two-sided sign-flip test over questions; equals McNemar's test if each question has one
    claim."""
    kappa: Estimate
    """Gain in Cohen's kappa of all labels, on the other half."""
    beyond_noise: bool
    """Whether the interval of the gain is above 0, and kappa did not fall."""
    unmatched: int
    """Labels of no claim that was judged."""
    power: LabelPower
    written: str | None = None
    """The file of the chosen prompt; None if none was written."""


class Halves(NamedTuple):
    """The labeled samples of the choosing and of the reporting half, which share no question."""

    choose: tuple[Sample, ...]
    report: tuple[Sample, ...]
    labels: tuple[HumanLabel, ...]
    power: LabelPower
    anyway: bool
    """Whether few labels are enough."""

    def labels_of(self, samples: Sequence[Sample]) -> list[HumanLabel]:
        """Return the labels of some samples."""
        ids = {sample.id for sample in samples}
        return [label for label in self.labels if label.sample in ids]


def labels_of(
    path: Path, metric: Metric, place: LabelPlaces, sheet: str | None = None
) -> LabelFile:
    """Return the labels of a file, or of a sheet of it, or those of a run directory, for a metric,
    under the ids of the samples that they are about. Raises UsageError if a directory has none."""
    parts = (metric.against,)
    labels = (
        labels_in(path, parts=parts, place=place)
        if path.is_dir()
        else LabelFile(path, parts=parts, place=place, sheet=sheet_in(path, sheet))
    )
    if labels is None:
        raise UsageError(
            f"{path} has no labels; label claims with `claimeval annotate {path}`, or name a file"
        )
    return labels


def strays_of(
    samples: Iterable[Sample],
    labels: Path,
    metric: Metric,
    sheet: str | None = None,
    ids: Ids | None = None,
) -> StrayLabels:
    """Return how many labels are of none of the samples of an experiment.

    Args:
        samples: The samples.
        labels: The file with labels of people.
        metric: The metric whose claims are labeled.
        sheet: The sheet of a workbook that has several.
        ids: How the ids of the samples were given.
    """
    questions = {one.id: folded(one.question) for one in samples}
    strays = Strays()
    for label in labels_of(labels, metric, LabelPlaces(lambda: questions, ids), sheet):
        strays.read(1)
        if label.sample not in questions:
            strays.add("no_sample", [label.sample])
    return strays.counted


def halve(
    samples: Iterable[Sample],
    labels: Path,
    metric: Metric,
    arms: int,
    cluster: str | None,
    *,
    anyway: bool,
    sheet: str | None = None,
    ids: Ids | None = None,
) -> Halves:
    """Return the labeled samples in two halves by a hash of the question, and the power of their
    labels.

    Args:
        samples: All samples, which are read twice.
        labels: A file of labels, or a run with labels.
        metric: The metric that arms are compared by.
        arms: The number of arms.
        cluster: The field whose equal values are one cluster; None for the question.
        anyway: Whether fewer than 60 labels are enough.
        sheet: The sheet of labels in a spreadsheet.
        ids: Whether the samples have ids of the data.

    Raises:
        UsageError: There are too few labels, or all are equal.
    """
    place = LabelPlaces(lambda: {one.id: folded(one.question) for one in samples}, ids)
    about = [
        label
        for label in labels_of(labels, metric, place, sheet)
        if label.evidence is None or label.evidence.part == metric.against
    ]
    labeled = {label.sample for label in about}
    halves: tuple[list[Sample], list[Sample]] = ([], [])
    clusters: tuple[set[int], set[int]] = (set(), set())
    for sample in samples:
        if sample.id in labeled:
            number = cluster_of(sample, cluster)
            halves[number & 1].append(sample)
            clusters[number & 1].add(number)
    choose, report = map(tuple, halves)
    # Several annotators of one claim are one label, as they are when arms are compared.
    items = {(label.sample, label.claim_id, label.text, label.evidence): label for label in about}
    counts = []
    for half in halves:
        ids_of_half = {sample.id for sample in half}
        counts.append(sum(sample in ids_of_half for sample, *_ in items))
    _check_counts(counts, items.values(), anyway=anyway)
    questions = [len(of_half) for of_half in clusters]
    numbers = LabelPower(
        labels=sum(counts),
        questions=sum(questions),
        selected_on=counts[0],
        reported_on=counts[1],
        # `power` takes the labels of two equal halves, which the hash of a question seldom makes.
        power=power(2 * counts[1], GAIN, arms - 1),
        least_power=power(2 * questions[1], GAIN, arms - 1),
        labels_needed=labels_for_power(GAIN, arms - 1),
    )
    return Halves(choose, report, tuple(about), numbers, anyway)


def _check_counts(counts: Sequence[int], labels: Iterable[HumanLabel], *, anyway: bool) -> None:
    """Raise UsageError if the labels of two halves are too few, or too alike to tell arms apart."""
    count = sum(counts)
    if count < LEAST and not anyway:
        raise UsageError(
            f"{count} labeled claims of the data are too few to choose an arm by one half and test"
            f" it on the other; {LEAST} are the least, and 400 show a gain of 10 points in 80% of"
            " cases. Label more with `claimeval annotate`, or give --anyway"
        )
    if count and not all(counts):
        what = "labels are of one half of the questions"
    elif len({(one.label, one.grade, one.word) for one in labels}) < 2:
        what = "labels say the same"
    else:
        return
    raise UsageError(f"all {count} {what}, so arms cannot be compared")


def check_folder(folder: Path) -> None:
    """Raise UsageError if a folder holds an experiment without a choice, whose runs have more
    samples."""
    path = folder / "experiment.json"
    if path.exists() and json.loads(path.read_bytes()).get("selection") is None:
        raise UsageError(
            f"{folder} holds an experiment over all its samples, and --select judges the labeled"
            " ones alone; name another folder with --out"
        )


async def run_and_select(
    prepared: PreparedExperiment, folder: Path, *, options: RunOptions
) -> ExperimentStatus:
    """Run all arms on the choosing half, choose one, and run it and the baseline on both halves.

    Arms that failed or cover less of their texts than another arm are not chosen. Arguments are as
    for `run`.
    """
    halves = prepared.halves
    design = prepared.design
    metric = prepared.plans[0].metrics[0]
    assert halves, "an arm is to be chosen"
    everyone = [arm.name for arm in design.arms]
    budget = prepared.budget(options)
    first = await run(
        prepared.part(halves.choose, everyone), folder, options=options, budget=budget
    )
    if first.stopped or design.baseline in first.failed:
        return first
    runs = {
        name: arm_folder(folder, design.arm(name)) for name in everyone if name not in first.failed
    }
    fair = _comparable(runs, design.baseline)
    choice = choose(fair, halves, metric, design.cluster)
    two = (design.baseline, choice.arm)
    second = await run(
        prepared.part((*halves.choose, *halves.report), two), folder, options=options, budget=budget
    )
    status = second._replace(
        calls=Counter(first.calls) + Counter(second.calls), failed=first.failed | second.failed
    )
    if status.stopped or second.failed:
        return status
    selection = report(
        choice,
        fair[two[0]],
        fair[two[1]],
        halves,
        metric,
        design.cluster,
    )
    prompts = [prepared.plans[everyone.index(name)].assess_prompt for name in two]
    return status._replace(selection=write_prompt(folder, selection, *prompts))


def _comparable(runs: Mapping[str, Path], baseline: str) -> dict[str, Path]:
    """Return the runs of the baseline and of the arms that may be chosen instead."""
    # Fewer claims are easier claims: an arm that leaves out the hard ones would win.
    examined = {name: examine(run) for name, run in runs.items()}
    others = [name for name in runs if name != baseline and not covers_less(name, examined)]
    return {name: runs[name] for name in (baseline, *others)}


def examine(run: Path) -> ExaminedClaims:
    """Return the quality counts of a run's claims, from their words alone."""
    from claimeval.metrics.extraction import ExaminedClaims

    manifest = load_manifest(run)
    examined = ExaminedClaims(manifest.data.samples or 0, manifest.cluster)
    for result in RunResults.of(run):
        examined.add(result)
    return examined


def covers_less(name: str, examined: Mapping[str, ExaminedClaims]) -> str | None:
    """Return than which arm the claims of an arm cover less of their texts, and of what; None if
    than none."""
    for other, claims in examined.items():
        if other != name and (what := examined[name].covers_less_than(claims)):
            return f"than {other} ({what})"
    return None


class Choice(NamedTuple):
    """The chosen arm, and the agreement of all arms on the choosing half."""

    arm: str
    selected_on: dict[str, LabelAgreement]
    panel: Panel
    """The scale on which labels are compared."""
    unmatched: int


def choose(runs: Mapping[str, Path], halves: Halves, metric: Metric, cluster: str | None) -> Choice:
    """Return the arm with the highest cross-validated kappa, or an earlier one within one standard
    error of it.

    Args:
        runs: The run of every arm on the choosing half, the baseline first.
        halves: The halves; the labels of the reporting half are not read.
        metric: The metric.
        cluster: As for `halve`.

    Raises:
        UsageError: Too few labels are of claims that the arms judged, or people gave all claims one
            label.
    """
    labels = halves.labels_of(halves.choose)
    panel = Panel(
        scale=common_scale([load_manifest(run).panel.scale for run in runs.values()], labels)
    )
    table = claims_of_arms(runs, labels, panel, metric, cluster)
    matched = sum(label is not None for label in table.human)
    if not matched or (matched < LEAST // 4 and not halves.anyway):
        raise UsageError(
            f"{matched} of {halves.power.selected_on} labels are of claims that these arms judge."
            " Labels name claims of the run that was labeled: name its `extractor`,"
            " `extract_prompt` and data in the experiment"
        )
    table.strays.counted.check("these arms")
    name, kappas = best(table, [rater_of(name) for name in runs])
    agreement = {}
    for arm in runs:
        found = LabelAgreement.of(rater_report(rater_of(arm), table, panel))
        kappa = kappas[rater_of(arm)]
        update = {"mean_kappa": kappa.mean, "standard_error": kappa.standard_error}
        agreement[arm] = found.model_copy(update=update)
    return Choice(name.removeprefix(rater_of("")), agreement, panel, table.strays.counted.unmatched)


def best(table: RaterTable, names: Sequence[str]) -> tuple[str, dict[str, CrossValidatedKappa]]:
    """Return the rater of the highest cross-validated kappa, or an earlier one within one standard
    error, and all."""
    labeled = [i for i, label in enumerate(table.human) if label is not None]
    human = [table.human[i] for i in labeled]
    clusters = [table.clusters[i] for i in labeled]
    folds = stratified_parts(human, clusters, FOLDS)
    kappas = {
        name: cross_validated_kappa(human, [table.raters[name][i] for i in labeled], folds)
        for name in names
    }
    return first_within_error(kappas), kappas


class Gain(NamedTuple):
    """The gain of one rater over another by human labels, as in `Selection`."""

    gain: Estimate
    p: float | None
    kappa: Estimate
    beyond_noise: bool


def gain_of(table: RaterTable, before: str, after: str) -> Gain:
    """Return the gain of the rater `after` over the rater `before` of a table, by the labels of
    people."""
    human = table.human
    first = table.raters[before]
    second = table.raters[after]
    equal = (
        [
            None if a is None or b is None else float(a == b)
            for a, b in zip(order, human, strict=True)
        ]
        for order in (second, first)
    )
    difference = paired_difference(*equal, clusters=table.clusters)
    kappa = kappa_difference(human, first, second, clusters=table.clusters)
    beyond_noise = (difference.low or 0.0) > 0 and (kappa.value or 0.0) >= 0
    return Gain(Estimate.of(difference), difference.p, Estimate.of(kappa), beyond_noise)


def report(
    choice: Choice,
    baseline: Path,
    chosen: Path,
    halves: Halves,
    metric: Metric,
    cluster: str | None,
) -> Selection:
    """Return the gain of the chosen arm on the reporting half.

    Args:
        choice: The choice.
        baseline: The run of the baseline on both halves.
        chosen: The same for the chosen arm.
        halves: The halves.
        metric: The metric.
        cluster: As for `halve`.

    Raises:
        UsageError: No label of the half is of a claim that the arms judged.
    """
    runs = {"baseline": baseline, "chosen": chosen}
    table = claims_of_arms(runs, halves.labels_of(halves.report), choice.panel, metric, cluster)
    found = gain_of(table, *map(rater_of, runs))
    if not found.gain.n:
        raise UsageError(
            "no label of the other half is of a claim that both arms judge, so no gain can be"
            " reported"
        )
    before, after = (
        rater_report(
            rater_of(n),
            table,
            choice.panel,
        ).model_copy(update={"rater": n})
        for n in runs
    )
    return Selection(
        arm=choice.arm,
        selected_on=choice.selected_on,
        held_out=after,
        held_out_baseline=before,
        **found._asdict(),
        unmatched=choice.unmatched + table.strays.counted.unmatched,
        power=halves.power,
    )


def write_prompt(folder: Path, selection: Selection, before: Prompt, after: Prompt) -> Selection:
    """Write the prompt of the chosen arm, if its gain is beyond noise, and return the selection
    with the file.

    A comment after the prompt's header has the measured gain. Otherwise the file of an earlier
    choice is removed.

    Args:
        folder: The folder of the experiment.
        selection: The choice and its gain on the labels that it was not made on.
        before: The prompt of the baseline.
        after: The prompt of the chosen arm.
    """
    path = folder / SELECTED
    if not selection.beyond_noise or before.digest == after.digest:
        path.unlink(missing_ok=True)
        return selection
    header, _, text = after.source.partition("#}")
    shares = [percent(one.same.value) for one in (selection.held_out_baseline, selection.held_out)]
    numbers = f"{shares[1]} of {selection.held_out.compared} claims, the baseline on {shares[0]}"
    note = (
        f"{{# Agrees with people on {numbers}; chosen by {selection.power.selected_on} other"
        " labels. #}"
    )
    write_text(path, f"{header}#}}\n{note}{text}")
    return selection.model_copy(update={"written": str(path)})


def common_scale(scales: Sequence[Scale], labels: Iterable[HumanLabel]) -> Scale:
    """Return the scale on which arms are compared: theirs, or yes and no if they differ.

    It is also yes and no if people never say "contradicted".
    """
    first = scales[0]
    distinguishes = first.ordered or any(label.label == "contradicted" for label in labels)
    return first if distinguishes and all(scale == first for scale in scales) else BINARY


def rater_of(arm: str) -> str:
    """Return the name of an arm among raters: one may be called `panel`, as no other rater is."""
    return f"arm {arm}"


def claims_of_arms(
    runs: Mapping[str, Path],
    labels: Sequence[HumanLabel],
    panel: Panel,
    metric: Metric,
    cluster: str | None,
) -> RaterTable:
    """Return the table of labeled claims in which every arm is a rater.

    Args:
        runs: The run directory of each arm.
        labels: The labels of people.
        panel: The panel by whose scale labels are compared.
        metric: The metric whose claims are labeled.
        cluster: The field whose equal values depend on each other; None for the question.
    """
    ids = {label.sample for label in labels}
    by_sample: defaultdict[str, dict[str, SampleResult]] = defaultdict(dict)
    for name, folder in runs.items():
        for result in RunResults.of(folder):
            if result.sample.id in ids:
                by_sample[result.sample.id][rater_of(name)] = result
    together = (_together(of_arms, metric) for of_arms in by_sample.values())
    return join(
        together,
        [rater_of(name) for name in runs],
        panel,
        labels,
        metric.against,
        cluster,
    )


def _together(of_arms: Mapping[str, SampleResult], metric: Metric) -> SampleResult:
    """Return one result with the claims of all arms, in which every arm is a judge.

    Claims of the same wording are the same. Those of the first arm keep their ids.
    """
    claims: dict[tuple[Part, str], Claim] = {}
    verdicts: defaultdict[tuple[str, Evidence], list[Verdict]] = defaultdict(list)
    first = next(iter(of_arms))
    for name, result in of_arms.items():
        ids = {}
        for claim in result.claims_of(metric.claims_of):
            new = claim if name == first else claim.model_copy(update={"id": f"{name}/{claim.id}"})
            ids[claim.id] = claims.setdefault((claim.of, claim.text), new).id
        for a in result.whole:
            if a.subject in ids and a.against == metric.against and not a.unasked:
                verdicts[ids[a.subject], a.evidence].append(_vote(name, a))
    return SampleResult(
        sample=of_arms[first].sample,
        claims=tuple(claims.values()),
        assessments=tuple(
            Assessment(
                subject=s,
                question="support",
                against=e.part,
                verdicts=tuple(votes),
                # Arms are raters beside each other: no vote is counted among them.
                unassessed="no_quorum",
            )
            for (s, e), votes in verdicts.items()
        ),
    )


def _vote(arm: str, a: Assessment) -> Verdict:
    """Return the label of an arm as the verdict of one judge; ties are no label."""
    if a.tied:
        return Verdict(judge=arm, unassessed="tie")
    return Verdict(
        judge=arm,
        label=a.label,
        positive=a.positive,
        unassessed=a.unassessed,
        probability=a.probability,
    )
