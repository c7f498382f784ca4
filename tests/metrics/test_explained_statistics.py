"""The numbers of `agreement`, `correct` and `compare` are explained, with examples that the code
computes."""

from __future__ import annotations

import ast
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any, Union, get_args, get_origin

import pytest

from claimeval.evaluation.forecast import Forecast
from claimeval.evaluation.summary.orders import OrderEffects
from claimeval.evaluation.summary.panel import ReplicateNoise, SelfPreference
from claimeval.evaluation.validity import Order, Validity
from claimeval.metrics import names
from claimeval.metrics.scoring import MetricSummary
from claimeval.runs import agreement as measured
from claimeval.runs.by_rank import RankShare
from claimeval.runs.correct import CorrectedScore
from claimeval.runs.experiments.results import ArmResult, ExperimentResult
from claimeval.runs.experiments.selection import Selection
from claimeval.runs.judges import JudgeNumbers
from claimeval.runs.labeling import LgtmEstimate
from claimeval.runs.overview import DiscordantCounts, MetricComparison
from claimeval.runs.ratings import RatingCorrelation
from claimeval.runs.slices import Slice
from claimeval.runs.views import agreement as view
from claimeval.runs.views import comparison, experiment, ratings
from claimeval.statistics import agreement, classification, correction, intervals, panels
from claimeval.types.estimates import Estimate
from claimeval.types.records import Record

RECORDS: tuple[type[Record], ...] = (
    measured.Agreement,
    measured.CalibrationReport,
    measured.RaterReport,
    measured.RaterSlice,
    measured.RaterPair,
    CorrectedScore,
    DiscordantCounts,
    JudgeNumbers,
    MetricComparison,
    Order,
    RatingCorrelation,
    Validity,
)
COUNTED = {
    "n",
    "items",
    "questions",
    "clusters",
    "compared",
    "unassessed",
    "unmatched",
    "disputed",
    "pairs",
    "queries",
    "further",
    "verdicts",
    "relevant_from",
    "a",
    "b",
}
"""Fields that say of how much, or are the two values of another metric."""
ELSEWHERE = {"dollars_per_1000", "seconds"}
"""Costs, which are answered with the command."""


def kinds(annotation: Any) -> Iterator[Any]:
    """The types of a union."""
    if get_origin(annotation) in (Union, types.UnionType):
        yield from get_args(annotation)
    else:
        yield annotation


def numeric(record: type[Record]) -> Iterator[str]:
    """The fields of a record that are a number."""
    for name, field in record.model_fields.items():
        if name not in COUNTED and {float, int, Estimate} & set(kinds(field.annotation)):
            yield name


FIELDS = [f"{record.__name__}.{name}" for record in RECORDS for name in numeric(record)]


@pytest.mark.parametrize("field", FIELDS)
def test_every_number_of_these_commands_is_explained(field: str) -> None:
    name = field.partition(".")[2]
    explained = [one.name for one in names.numbers().values() if field in one.fields]
    assert len(explained) == 1 or (name in ELSEWHERE and names.other_command(name))


OTHERS: dict[str, tuple[type[Record], set[str]]] = {
    "score": (MetricSummary, {"micro", "bounds"}),
    "score, documents by rank": (RankShare, {"share"}),
    "score, other orders": (OrderEffects, {"rate"}),
    "score, families": (SelfPreference, {"value"}),
    "score, repeats": (ReplicateNoise, {"variance_share"}),
    "report --by": (Slice, {"contribution"}),
    "experiment": (
        ArmResult,
        {"unassessed_rate", "parse_failure_rate", "flips", "median_latency"},
    ),
    "experiment --select": (Selection, {"gain"}),
    "plan": (Forecast, {"likely_cost", "cost_bound", "cost_per_verdict"}),
    "annotate --documents": (LgtmEstimate, {"value"}),
}
"""The numbers that the other commands print beside metrics, by the record that has them."""


@pytest.mark.parametrize("command", OTHERS)
def test_numbers_of_other_commands_are_explained(command: str) -> None:
    record, fields = OTHERS[command]
    known = {field for one in names.numbers().values() for field in one.fields}
    assert {f"{record.__name__}.{field}" for field in fields} <= known
    assert all(field in record.model_fields or hasattr(record, field) for field in fields)


def test_explained_fields_exist() -> None:
    computed = {"MetricComparison.change_in_percent"}
    others = {
        f"{record.__name__}.{field}" for record, fields in OTHERS.values() for field in fields
    }
    named = {field for one in names.numbers().values() for field in one.fields}
    assert named <= {*FIELDS, *computed, *others}


def columns_of_experiments() -> Iterator[str]:
    """The heads of the columns of numbers of an experiment that are no metric's."""
    arm = ArmResult.model_construct(name="a", metrics={})
    result = ExperimentResult.model_construct(arms=(arm,), baseline="a")
    for column in experiment.costs(result).columns:
        if column.kind not in ("text", "metric"):
            yield str(column.name)


COUNTS = {"claims", "calls", "new", "cost of replies", "cost"}
"""Columns whose heads say what they count."""


@pytest.mark.parametrize("name", sorted({*columns_of_experiments()} - COUNTS))
def test_every_column_of_an_experiment_leads_to_its_number(name: str) -> None:
    assert names.number_of(name)


PLAIN = {
    "",
    "n",
    "a",
    "b",
    "metric",
    "95% interval",
    "claims",
    "samples",
    "pairs",
    "unassessed",
    "number",
    "by",
    "value",
    "width",
    "labels",
    "p",
}
"""Columns that are no number of their own; `p` is printed with its metric or its claims."""


def columns() -> Iterator[str]:
    """The heads of the columns of numbers that these commands print."""
    tables = (view.RELIABILITY, view.CORRECTED, comparison.COLUMNS, comparison.DISCORDANT)
    for table in (*tables, ratings.AGAINST):
        for column in table:
            if column.kind not in ("text", "metric") or column.name == "change":
                yield str(column.name)
    yield from (name for name, _ in measured.by_measure(()))
    yield from ("same grade", "kappa, all grades")
    yield from ("Spearman", "Pearson", "same preference", "of the difference")


@pytest.mark.parametrize("name", sorted({*columns()} - PLAIN))
def test_every_column_leads_to_its_number(name: str) -> None:
    number = names.number_of(name)
    found = [number] if number else []
    found += [sense.number for sense in names.in_the_field(name)]
    assert any(one.fields for one in found)


JUDGE = [True, True, True, False]
PEOPLE = [True, True, False, False]
STATED = [0.8, 0.4, 0.6, 0.2]
REPORT = classification.binary_report(JUDGE, PEOPLE)
CALIBRATION = classification.calibration(STATED, PEOPLE)
BOTH = list(zip(JUDGE, PEOPLE, strict=True))
CORRECTED = correction.prediction_powered(
    [1, 1, 1, 0, 1, 1, 0, 0], [1, 1, 0, 0, None, None, None, None]
)
VOTES = panels.effective_votes([[True, False, False, True], [True, False, False, False]])
RATE = correction.Rate(0.7, 100)
Estimated = Callable[[], float | None]
COMPUTED: dict[str, Estimated] = {
    "judge_accuracy": lambda: REPORT.accuracy.value,
    "balanced_accuracy": lambda: REPORT.balanced_accuracy.value,
    "judge_precision": lambda: REPORT.precision.value,
    "judge_recall": lambda: REPORT.recall.value,
    "specificity": lambda: REPORT.specificity.value,
    "judge_f1": lambda: REPORT.f1.value,
    "kappa": lambda: REPORT.kappa.value,
    "kappa_of_labels": lambda: agreement.cohen_kappa("ynfn", "ynnn").value,
    "weighted_kappa": lambda: (
        agreement.cohen_kappa([2, 1, 1, 0], [2, 2, 1, 0], weights="quadratic").value
    ),
    "same_label": lambda: agreement.raw_agreement(JUDGE, PEOPLE).value,
    "auroc": lambda: classification.auroc(PEOPLE, STATED).value,
    "calibration_error": lambda: CALIBRATION.error,
    "brier_score": lambda: CALIBRATION.brier,
    "alpha": lambda: agreement.krippendorff_alpha(BOTH, scale="nominal").value,
    "ac1": lambda: agreement.gwet_ac1(BOTH).value,
    "effective_votes": lambda: VOTES and VOTES.votes,
    "labels_needed": lambda: measured.labels_needed(
        Estimate(value=0.8, low=0.7, high=0.9, n=100, clusters=100, ends="interval"), 0.05
    ),
    "spearman": lambda: (
        classification.correlation([0.1, 0.2, 0.3, 0.4], [1, 3, 2, 4], kind="spearman").value
    ),
    "pearson": lambda: classification.correlation([0, 1, 2], [0, 2, 1], kind="pearson").value,
    "corrected": lambda: CORRECTED.corrected.value,
    "ppi_lambda": lambda: CORRECTED.ppi_lambda,
    "rogan_gladen": lambda: (
        correction.rogan_gladen_rate(
            RATE, correction.Rate(0.8, 100), correction.Rate(0.9, 100)
        ).value
    ),
    "difference": lambda: (
        intervals.paired_difference([0.6, 0.8, 0.6, 0.6], [0.5, 0.6, 0.4, 0.7]).value
    ),
    "p_value": lambda: intervals.sign_flip_test([0.1, 0.2, 0.3, 0.4]).p,
    "p_adjusted": lambda: intervals.holm([0.01, 0.04])[0],
    "mcnemar_p": lambda: intervals.mcnemar_exact(0, 4),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_the_examples_are_what_is_computed(name: str) -> None:
    value = COMPUTED[name]()
    printed = names.numbers()[name].example[2]
    assert value is not None
    assert f"{value:.{len(printed.partition('.')[2])}f}" == printed


OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
SIGNS = str.maketrans({"²": "**2", "⁴": "**4"})


def calculation(text: str) -> float | None:
    """The value of a calculation of numbers; None if it has words."""
    try:
        return value_of(ast.parse(text.translate(SIGNS), mode="eval").body)
    except (SyntaxError, TypeError):
        return None


def value_of(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.BinOp(left, sign, right):
            return OPERATORS[type(sign)](value_of(left), value_of(right))
    raise TypeError(ast.dump(node))


WRITTEN = {
    name: value
    for name, one in names.numbers().items()
    if (value := calculation(one.example[1])) is not None
}


@pytest.mark.parametrize("name", WRITTEN)
def test_the_calculation_of_an_example_gives_its_value(name: str) -> None:
    printed = names.numbers()[name].example[2].strip("+%").split()[-1]
    assert abs(WRITTEN[name] - float(printed)) < 0.51 * 10 ** -len(printed.partition(".")[2])


def test_most_examples_are_calculations() -> None:
    assert len(WRITTEN) >= 0.6 * len(names.numbers())
