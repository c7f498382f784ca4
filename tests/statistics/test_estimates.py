"""Every estimate that a door prints has a row in the table of estimates, and every method of an
interval a simulation."""

from __future__ import annotations

import ast
import importlib
import inspect
import math
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ForwardRef, get_args

import pytest

import claimeval
from benchmarks.estimate_coverage import SHAPES, SIMULATIONS, Shape, coverage
from claimeval import statistics
from claimeval.statistics import IntervalEstimate, agreement, slopes
from claimeval.statistics.estimates import COVERED, ESTIMATES, METHODS, coverage_in, coverage_notes
from claimeval.types.estimates import Estimate
from claimeval.types.records import Record

OPTIONAL = ("ray_engine", "__main__")
"""Modules that need a third party to be imported, or that run."""


def records(parent: type[Record] = Record) -> Iterator[type[Record]]:
    """All records, also those of modules that nothing has imported yet."""
    for child in parent.__subclasses__():
        yield child
        yield from records(child)


def has_estimate(annotation: Any) -> bool:
    if isinstance(annotation, type):
        return issubclass(annotation, (Estimate, IntervalEstimate))
    return any(map(has_estimate, get_args(annotation)))


def without_record() -> Iterator[type]:
    """The classes outside the library of statistics that are no records, as a table that is
    formatted by hand has them."""
    for name, module in list(sys.modules.items()):
        if name.startswith("claimeval.") and not name.startswith("claimeval.statistics"):
            for kind in vars(module).values():
                is_own = isinstance(kind, type) and kind.__module__ == name
                if is_own and not issubclass(kind, Record):
                    yield kind


def of_field(annotation: Any) -> bool:
    """Whether a field holds an estimate. Its annotation may name what is only imported to check
    types."""
    if isinstance(annotation, ForwardRef):  # that of a NamedTuple
        annotation = annotation.__forward_arg__
    if not isinstance(annotation, str):
        return has_estimate(annotation)
    names = {found.__name__ for found in subclasses(Estimate) | subclasses(IntervalEstimate)}
    return not names.isdisjoint(re.findall(r"\w+", annotation))


def subclasses(kind: type) -> set[type]:
    return {kind}.union(*map(subclasses, kind.__subclasses__()))


def printed() -> set[str]:
    """`Record.field` of each estimate in a record or another class outside the library, and each
    class with two ends: a record, or one that says what its ends are."""
    for module in pkgutil.walk_packages(claimeval.__path__, "claimeval."):
        if not module.name.endswith(OPTIONAL):
            importlib.import_module(module.name)
    found: set[str] = set()
    for record in records():
        if not record.__module__.startswith("claimeval."):
            continue
        fields = record.model_fields
        found.update(
            f"{record.__name__}.{name}"
            for name, field in fields.items()
            if has_estimate(field.annotation)
        )
        if record is not Estimate and fields.keys() >= {"low", "high"}:
            found.add(record.__name__)
    for kind in without_record():
        annotations = inspect.get_annotations(kind)
        found.update(f"{kind.__name__}.{name}" for name, of in annotations.items() if of_field(of))
        if annotations.keys() >= {"low", "high", "ends"}:
            found.add(kind.__name__)
    return found


def test_every_estimate_that_a_record_has_is_in_the_table() -> None:
    assert printed() == ESTIMATES.keys()


INTERVALS = {row.function for row in METHODS.values() if row.function} | {
    "bootstrap_sums",
    "difference_interval",
    "edge_interval",
    "pairwise_agreement",
    "raw_agreement",
    "wilson_interval",
}
"""The functions that make intervals."""
CARRIERS = {name.partition(".")[0] for name in ESTIMATES} | {"Estimate"}
"""The classes that have the intervals of the table."""


def prints_beside_the_table(source: str) -> bool:
    """Whether a module makes intervals and names no class of the table that takes them."""
    tree = ast.parse(source)
    called = {
        getattr(node.func, "id", getattr(node.func, "attr", ""))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
    }
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    return not called.isdisjoint(INTERVALS) and CARRIERS.isdisjoint(named | defined)


def test_no_module_formats_an_interval_that_no_class_of_the_table_has() -> None:
    package = Path(claimeval.__file__).parent
    found = [
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if path.parent.name != "statistics"
        and prints_beside_the_table(path.read_text(encoding="utf-8"))
    ]
    assert found == []
    assert prints_beside_the_table("print(interval(mean_interval(values).low))")
    assert not prints_beside_the_table("found = Estimate.of(mean_interval(values))")


def test_the_methods_of_the_table_are_those_that_are_simulated() -> None:
    used = {name for names in ESTIMATES.values() for name in names}
    assert used <= METHODS.keys()
    assert METHODS.keys() - used == set()
    assert SIMULATIONS.keys() == {name for name, row in METHODS.items() if row.function}
    for row in METHODS.values():
        rooms = (statistics, agreement, slopes)
        assert not row.function or any(hasattr(room, row.function) for room in rooms)
        # What has no simulation has no interval.
        assert row.function or "without an interval" in row.words


def test_the_page_of_evidence_has_no_coverage_below_that_of_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs/evidence/statistics.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `")]
    found = {row[1].strip(" `"): row[2] for row in rows if row[1].strip(" `") in METHODS}
    assert len(found) >= 5
    for name, covered in found.items():
        assert float(covered.split(",")[0]) >= METHODS[name].least, name


@pytest.mark.parametrize("method", SIMULATIONS)
def test_the_interval_of_each_method_covers_the_true_value_in_a_plain_shape(method: str) -> None:
    """Of 40 intervals at 95% at least 33 cover in all but 1 of 1,000 cases."""
    found = coverage(method, Shape(60, 0.7, 1, 1), 40)
    assert found.covered >= 100 * 33 / 40
    assert found.none < 50


def test_the_shapes_are_those_of_few_and_many_items_rare_and_frequent_alone_and_together() -> None:
    assert len(SHAPES) == 24
    assert {shape.items for shape in SHAPES} == {20, 50, 100, 400}
    assert {shape.right for shape in SHAPES} == {0.5, 0.9, 0.97}
    assert {(shape.per_question, shape.replicates) for shape in SHAPES} == {(1, 1), (5, 3)}
    assert not math.isnan(coverage("mean", SHAPES[0], 5).covered)


def test_an_interval_that_covers_too_little_says_so() -> None:
    """The figures of the rows in `docs/evidence/statistics.md`."""
    (said,) = coverage_notes("quadratic kappa", "RaterReport.weighted_kappa")
    assert said == "quadratic kappa: the 95% interval covered as little as 89% in simulations"
    assert coverage_notes("Spearman", "RatingCorrelation.spearman") == ()
    ends = {"value": 0.1, "low": 0.0, "high": 0.2}
    printed = {"metrics": [{"difference": ends, "spearman": ends}], "kappa": ends}
    assert coverage_in(printed) == {"difference": METHODS["difference"].least}
    assert coverage_in({"difference": {**ends, "low": None}}) == {}


def test_at_most_three_methods_cover_less_than_all_others_and_none_much_less() -> None:
    low = {name: method.least for name, method in METHODS.items() if method.least < COVERED}
    assert len(low) <= 3
    assert min(low.values()) >= 89


def test_the_interval_of_a_calibration_takes_the_claims_of_a_question_together() -> None:
    """Ten claims a question that are right or wrong together are one."""
    questions = [i // 10 for i in range(200)]
    truths = [question % 4 != 0 for question in questions]
    (apart,) = statistics.calibration([0.75] * 200, truths).bins
    (together,) = statistics.calibration([0.75] * 200, truths, clusters=questions).bins
    (few,) = statistics.calibration([0.75] * 20, truths[::10]).bins
    assert apart.share == together.share == few.share
    assert together.high - together.low >= few.high - few.low > 2 * (apart.high - apart.low)


def test_the_fall_of_a_share_without_a_miss_has_an_interval() -> None:
    """The jackknife of hits alone is 0, and excludes every fall."""
    places = [i % 5 / 4 for i in range(20)]
    found = slopes.straight_fall(places, [1.0] * 20, list(range(20)))
    assert found.value == 0
    assert found.low is not None
    assert found.high is not None
    assert found.low < -0.05
    assert found.high > 0.05
    falling = [1.0, 1.0, 1.0, 0.0, 0.0] * 8
    steep = slopes.straight_fall([i % 5 / 4 for i in range(40)], falling, list(range(40)))
    assert steep.value == pytest.approx(1.2)
    assert steep.low is not None
    assert 0.5 < steep.low < 1.2


def test_the_fall_of_one_place_or_of_two_clusters_has_no_value() -> None:
    assert slopes.straight_fall([0.5] * 9, [1.0] * 9, list(range(9))).value is None
    two = slopes.straight_fall([0.0, 0.5, 1.0], [1.0, 0.0, 1.0], [0, 0, 1])
    assert (two.value, two.because) == (None, slopes.TOO_FEW)
