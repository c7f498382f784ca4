"""Every estimate that a door prints has a row in the table of estimates, and every method of an
interval a simulation."""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

import claimeval
from benchmarks.estimate_coverage import SHAPES, SIMULATIONS, Shape, coverage
from claimeval import statistics
from claimeval.statistics import agreement
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
        return issubclass(annotation, Estimate)
    return any(map(has_estimate, get_args(annotation)))


def printed() -> set[str]:
    """`Record.field` of each estimate in a record, and each other record with two ends."""
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
    return found


def test_every_estimate_that_a_record_has_is_in_the_table() -> None:
    assert printed() == ESTIMATES.keys()


def test_the_methods_of_the_table_are_those_that_are_simulated() -> None:
    used = {name for names in ESTIMATES.values() for name in names}
    assert used <= METHODS.keys()
    assert METHODS.keys() - used == set()
    assert SIMULATIONS.keys() == {name for name, row in METHODS.items() if row.function}
    for row in METHODS.values():
        assert (
            not row.function
            or hasattr(statistics, row.function)
            or hasattr(agreement, row.function)
        )


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
