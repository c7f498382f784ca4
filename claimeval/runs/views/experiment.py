"""What is shown of an experiment: its arms by metric, their cost, claims and agreement with people,
and the choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from claimeval.metrics.derived import directed
from claimeval.metrics.flips import Flip, FlipCounts
from claimeval.runs.agreement import may_be_chance
from claimeval.runs.experiments.results import ArmMetric, ArmResult, ExperimentResult
from claimeval.runs.experiments.selection import Selection
from claimeval.runs.views import (
    Block,
    Cell,
    Column,
    Data,
    Entries,
    Named,
    Sentence,
    Table,
    caution,
    confusion,
    heading,
    itself,
    line,
    named,
    remark,
    table,
)
from claimeval.runs.views.comparison import flip
from claimeval.statistics.formatting import (
    decimal,
    digits_of,
    number_of,
    p_value,
    percent,
    signed,
    signed_interval,
)
from claimeval.types.clusters import sample_count
from claimeval.types.estimates import Estimate

CHEAPER = 0.9
"""An arm whose cost is above this part of another's does not cost less: both may print alike."""
FLIPS = 5
"""Flipped claims that are shown."""


def view(result: ExperimentResult, flips: Sequence[Flip] = ()) -> Iterator[Block]:
    """Yield what is shown of an experiment; `flips` are claims that flipped in its last arm."""
    arms = result.arms
    samples = sample_count(result.samples, result.clusters, result.cluster)
    yield heading(Data(Path(result.data).name), f": {samples}, {number_of(len(arms), 'arm')}")
    yield from map(caution, failures(result))
    for metric in arms[0].metrics:
        yield differences(result, metric)
    yield costs(result)
    if any(arm.extraction for arm in arms):
        yield claims(arms)
    yield from map(caution, not_comparable(result))
    yield from (
        remark("not counted as flips, ", Data(changes)) for changes in other_changes(result)
    )
    if any(arm.label_agreement for arm in arms):
        yield people(result)
    if result.selection:
        yield from selected(result.selection, result.baseline)
    if flips:
        yield Entries(f"Claims that flipped in {arms[-1].name}", tuple(map(flip, flips[:FLIPS])))


def first(result: ExperimentResult) -> Iterator[Block]:
    """Yield what a reader sees first: which arm to take and why, and a row for each arm."""
    samples = sample_count(result.samples, result.clusters, result.cluster)
    head = f": {samples}, {number_of(len(result.arms), 'arm')}"
    yield heading(Data(Path(result.data).name), head)
    yield from map(caution, failures(result))
    if not result.arms:
        return
    yield line(Sentence(advice(result)))
    metric = next(iter(result.arms[0].metrics))

    def difference(arm: ArmResult) -> Cell:
        if arm.name == result.baseline:
            return "baseline"
        change = arm.metrics[metric].difference
        return change.value if change else None

    def ends(arm: ArmResult) -> Cell:
        return arm.metrics[metric].difference or ""

    def agrees(arm: ArmResult) -> Cell:
        found = arm.label_agreement
        return found.same.value if found else None

    labeled = any(arm.label_agreement for arm in result.arms)
    columns = (
        Column("arm", at="name"),
        Column(
            Data(directed(metric)),
            "number",
            at=lambda arm: arm.metrics[metric].mean,
        ),
        Column("b - a", "signed", at=difference),
        Column("95% interval", "signed_ends", at=ends, estimate="ArmMetric.difference"),
        Column("as people", "percent", at=agrees, sparse=not labeled),
        Column("unassessed", "percent", 1, "unassessed_rate"),
        Column("cost", "dollars", at="cost.dollars"),
    )
    yield table("arms", columns, result.arms, notes=(f"b - a: difference to {result.baseline}",))
    yield from map(caution, not_comparable(result))
    if result.selection:
        yield from prompt_written(result.selection)


def advice(result: ExperimentResult) -> str:
    """Return which arm to take, and why."""
    if result.selection:
        return chosen(result.selection, result.baseline)
    rated = [
        arm
        for arm in result.arms
        if arm.label_agreement and arm.label_agreement.same.value is not None
    ]
    if not rated:
        return (
            "Which arm to take is not known: without labels of people a higher score is no better."
            " Label claims with `claimeval annotate`, then add --labels."
        )
    best = max(rated, key=_agreement)
    found = best.label_agreement
    assert found, "it is rated"
    # Arms whose difference to the best one has 0 in its interval may be as good; those that cover
    # less of their texts have easier claims.
    alike = [best, *(arm for arm in rated if arm is not best and may_be_chance(_behind(arm)))]
    # With few labels everything may be chance: an arm to take has a value near the best one too.
    low = found.same.reported[0] if found.same.reported else _agreement(best)
    near = [arm for arm in alike if _agreement(arm) >= low and not arm.covers_less] or [best]
    taken = _cheapest(near, best)
    agreement = taken.label_agreement
    assert agreement, "it is rated"
    text = (
        f"Take {taken.name}: it gives the label of people to {percent(_agreement(taken))} of"
        f" {number_of(agreement.claims, 'claim')}"
    )
    return f"{text}{_beside_others(taken, best, rated, alike)}."


def _beside_others(
    taken: ArmResult, best: ArmResult, rated: Sequence[ArmResult], alike: Sequence[ArmResult]
) -> str:
    """Return how the arm to take compares with the other ones that people rated, in words."""
    chance = "by chance alone"
    if taken is not best:
        return (
            f", and costs less than {best.name}, whose {percent(_agreement(best))} may be better"
            f" {chance}"
        )
    if len(rated) == 1:
        return ""
    tied = sum(_agreement(arm) == _agreement(best) for arm in rated) > 1
    most = ", and no arm to more" if tied else f", the most of {len(rated)} arms"
    lower = [arm for arm in alike if _agreement(arm) < _agreement(best)]
    if not lower:
        return most
    if len(lower) > 1:
        return f"{most}, but {len(lower)} others may be lower {chance}"
    return (
        f"{most}, but the {percent(_agreement(lower[0]))} of {lower[0].name} may be lower {chance}"
    )


def _cheapest(alike: Sequence[ArmResult], best: ArmResult) -> ArmResult:
    """Return the arm that costs clearly less than the best one, of those as good by chance; else
    the best one."""
    if best.cost.dollars is None:
        return best
    most = CHEAPER * best.cost.dollars
    cheaper = [arm for arm in alike if arm.cost.dollars is not None and arm.cost.dollars < most]
    return min(
        cheaper,
        key=lambda arm: (arm.cost.dollars or 0.0, -_agreement(arm)),
        default=best,
    )


def _behind(arm: ArmResult) -> Estimate | None:
    """Return how far an arm is behind the best one, if its claims can be compared."""
    return arm.label_agreement.behind if arm.label_agreement else None


def _agreement(arm: ArmResult) -> float:
    found = arm.label_agreement
    return found.same.value or 0.0 if found else 0.0


CHANGES = (
    Column(
        "95% interval",
        "signed_ends",
        at=lambda cell: cell.difference or "",
        estimate="ArmMetric.difference",
    ),
    Column("p (Holm)", "p", at=lambda cell: cell.p_adjusted if cell.difference else ""),
)


def differences(result: ExperimentResult, metric: str) -> Table:
    """Return the mean of each arm, and its paired difference to the baseline."""

    def difference(cell: ArmMetric) -> Cell:
        """Return the difference, or for the baseline its name."""
        if cell.difference:
            return cell.difference.value
        return "baseline" if cell is baseline else None

    baseline = next(
        (arm.metrics[metric] for arm in result.arms if arm.name == result.baseline), None
    )
    to = Column(Data(f"difference to {result.baseline}"), "signed", at=difference)
    mean = (
        Column("mean", "number", at="mean"),
        Column("95% interval", "ends", at=itself),
        Column("n", "count", 1, "n"),
    )
    rows = [Named(Data(arm.name), arm.metrics[metric]) for arm in result.arms]
    return table(
        metric,
        named("arm", (*mean, to, *CHANGES)),
        rows,
        Data(directed(metric)),
    )


def costs(result: ExperimentResult) -> Table:
    """Return what each arm asked, what failed, and what it cost."""

    def flipped(arm: ArmResult) -> str:
        return "" if arm.name == result.baseline else f"{arm.flips} of {arm.compared}"

    columns = (
        Column("arm", at="name"),
        Column("claims", "count", at="claims"),
        Column("unassessed", "percent", at="unassessed_rate"),
        Column("unreadable replies", "percent", at="parse_failure_rate"),
        Column("flipped", at=flipped),
        Column("calls", "count", at="cost.calls"),
        Column("new", "count", at="new_calls"),
        Column("tokens in", "count", 2, "cost.prompt_tokens", sparse=True),
        Column("tokens out", "count", 2, "cost.completion_tokens", sparse=True),
        Column("cost of replies", "dollars", at="cost.dollars"),
        Column("seconds a call", "seconds", 1, "median_latency"),
    )
    return table("cost", columns, result.arms, "Cost and speed")


MEASURES = (
    "claims_per_sentence",
    "statements_lost",
    "numbers_lost",
    "names_lost",
)


def claims(arms: Sequence[ArmResult]) -> Table:
    """Return the quality of the claims of each arm, by their words alone."""
    columns = (Column("arm"), *(Column(name.replace("_", " "), "number") for name in MEASURES))
    rows = [
        (Data(arm.name), *(arm.extraction.measures[name].in_words for name in MEASURES))
        for arm in arms
        if arm.extraction
    ]
    return table("claims", columns, rows, "Claims")


def not_comparable(result: ExperimentResult) -> list[str]:
    """Return a line for every arm whose claims cover less of their texts than those of another
    arm."""
    return [
        f"{arm.name} scores fewer claims: not comparable; it covers less {arm.covers_less}"
        for arm in result.arms
        if arm.covers_less
    ]


def other_changes(result: ExperimentResult) -> list[str]:
    """Return a line for each arm about changes of claims, compared with the baseline, that are not
    flips."""
    counts = {
        arm.name: FlipCounts(arm.compared, arm.flips, arm.relabeled, arm.labeled_once)
        for arm in result.arms
    }
    return [
        f"{name} against {result.baseline}: {words}"
        for name, flips in counts.items()
        if (words := flips.others())
    ]


def failures(result: ExperimentResult) -> list[str]:
    """Return a line for each arm without scores."""
    lines = [f"arm {name} failed: {why}" for name, why in result.failed.items()]
    return (
        [*lines, "The baseline failed, so there are no differences."]
        if result.baseline in result.failed
        else lines
    )


PEOPLE = (
    Column("arm", at="name"),
    Column("labeled claims", "count", at="label_agreement.claims"),
    Column("accuracy", "number", at="label_agreement.accuracy.value"),
    Column("balanced accuracy", "number", at="label_agreement.balanced_accuracy.value"),
    Column("95% interval", "ends", at="label_agreement.balanced_accuracy"),
    Column("kappa", "number", at="label_agreement.kappa.value"),
)


def people(result: ExperimentResult) -> Table:
    """Return the agreement of each arm with people; with a selection, on the choosing half."""

    def folds(arm: ArmResult) -> str:
        found = arm.label_agreement
        return f"{decimal(found.mean_kappa)} ± {decimal(found.standard_error)}" if found else ""

    over = (Column("kappa over folds", "number", at=folds),) if result.selection else ()
    half = " on the choosing half" if result.selection else ""
    return table("people", (*PEOPLE, *over), result.arms, f"Agreement with people{half}")


GAIN = (
    Column(""),
    Column("baseline", "number"),
    Column("chosen", "number"),
    Column("gain", "signed"),
    Column("95% interval", "signed_ends", estimate="Selection.gain"),
    Column("p", "p"),
)


def selected(selection: Selection, baseline: str) -> Iterator[Block]:
    """Yield the chosen arm and the baseline on the other half, and the choice in words."""
    before = selection.held_out_baseline
    after = selection.held_out
    gain = selection.gain
    kappa = selection.kappa
    rows: list[tuple[Cell, ...]] = [
        ("equal to people", before.same.value, after.same.value, gain.value, gain, selection.p),
        (
            "kappa",
            before.kappa_of_labels.value,
            after.kappa_of_labels.value,
            kappa.value,
            kappa,
            "",
        ),
        ("unassessed", str(before.unassessed), str(after.unassessed), "", "", ""),
    ]
    yield table("gain", GAIN, rows, f"Agreement with people on the other {after.compared} labels")
    for name, report in {baseline: before, selection.arm: after}.items():
        yield confusion(
            f"confusion/{name}", Data(f"people \\ {name}"), report.labels, report.confusion
        )
    yield heading("", chosen(selection, baseline))
    if selection.unmatched:
        yield caution(f"{number_of(selection.unmatched, 'label')} of no claim that was judged")
    yield from prompt_written(selection)


def prompt_written(selection: Selection) -> Iterator[Block]:
    """Yield where the prompt of the chosen arm was written, if it was."""
    if selection.written:
        yield line(
            "Prompt: ",
            Data(selection.written),
            "; use it with --assess-prompt ",
            Data(selection.written),
        )


def chosen(selection: Selection, baseline: str) -> str:
    """Return the choice and its gain in a few sentences."""
    before = selection.held_out_baseline
    after = selection.held_out
    line = (
        f"Chosen on one half of the questions ({selection.power.selected_on} labels):"
        f" {selection.arm}. "
    )
    if selection.arm == baseline:
        return f"{line}No other arm is better by more than one standard error."
    shares = f"{decimal(after.same.value)}, {baseline} {decimal(before.same.value)}"
    ends = selection.gain.reported
    gain = signed(selection.gain.value, digits_of(ends))
    change = f"{gain} ({signed_interval(ends)}, p {p_value(selection.p)})"
    line += (
        f"Equal to people on the other half ({after.compared} labels): {shares}, gain {change}. "
    )
    if selection.beyond_noise:
        return f"{line}{selection.arm} agrees more with people than {baseline}."
    falls = (selection.gain.low or 0.0) > 0
    reason = (
        "kappa falls: labels only moved to the more frequent one"
        if falls
        else "the interval holds 0"
    )
    return f"{line}No gain that these labels can show: {reason}."
