"""Metrics by the values of fields: which fields, and contributions that add up."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from claimeval.lexical.extraction import MEASURES
from claimeval.metrics.derived import DERIVED, ZERO_IS_BEST
from claimeval.report import forms
from claimeval.runs.compare import compare
from claimeval.runs.overview import MetricComparison, Pairs, gather
from claimeval.runs.slices import MOST, SliceTally, chance_of_many
from claimeval.runs.views import run as views
from claimeval.statistics.intervals import UNSEEN
from claimeval.types.estimates import Estimate
from claimeval.types.records import Sample, Score
from tests.report.runs import TOWER, TOWER_SAYS, make
from tests.sample_runs import scored


def tally(rows: list[tuple[dict[str, object], float | None]]) -> SliceTally:
    found = SliceTally(["m"], None)
    for i, (metadata, value) in enumerate(rows):
        found.add(
            Sample.model_validate({"id": str(i), "question": f"Q{i}", "metadata": metadata}),
            scored({"m": value}),
        )
    return found


def test_fields_with_2_to_50_values_are_slices() -> None:
    rows: list[tuple[dict[str, object], float | None]] = [
        ({"two": i % 2, "one": "x", "number": i, "fifty": i % MOST, "over": i % (MOST + 1)}, 1.0)
        for i in range(120)
    ]
    assert tally(rows).fields == ("metadata.two", "metadata.fifty")


def test_a_field_without_a_value_twice_is_no_slice() -> None:
    assert tally([({"name": name}, 1.0) for name in "abc"]).fields == ()


def test_contributions_add_up_to_the_loss() -> None:
    """Of four values, mean 0.5: x has 1.0 and 0.0, y has 0.5 and 0.5; the last sample has neither
    topic nor value."""
    rows: list[tuple[dict[str, object], float | None]] = [
        ({"topic": topic}, value)
        for topic, value in (("x", 1.0), ("x", 0.0), ("y", 0.5), ("y", 0.5))
    ]
    found = tally([*rows, ({}, None)]).slices("metadata.topic")
    assert [
        (row.value, row.samples, row.estimate.n, row.estimate.value, row.contribution)
        for row in found
    ] == [
        ("x", 2, 2, 0.5, 0.25),
        ("y", 2, 2, 0.5, 0.25),
        (None, 1, 0, None, 0.0),
    ]


def test_what_adds_to_a_metric_of_faults_is_its_loss() -> None:
    """Of two values, mean 0.3: the greater one is the greater loss; of a metric that is best at 1
    it is the smaller."""
    for metric, expected in (("hallucination", [0.25, 0.05]), ("faithfulness", [0.25, 0.45])):
        found = SliceTally([metric], None, ["metadata.topic"])
        for topic, value in (("x", 0.5), ("y", 0.1)):
            found.add(
                Sample(id=topic, question=topic, metadata={"topic": topic}),
                {metric: Score.share(value)},
            )
        slices = found.slices("metadata.topic")
        assert [row.contribution for row in slices] == pytest.approx(expected)
        table = views.slices("topic", slices.by_value, {metric: "share"})
        assert [row[5] for row in table.rows] == pytest.approx(expected)
        where = (
            "; where 0 is best (hallucination), to the mean" if metric == "hallucination" else ""
        )
        assert table.notes[-1] == f"loss: what a group adds to one minus the mean{where}"


def test_metrics_of_faults_are_metrics() -> None:
    assert {*DERIVED, *MEASURES, "noncommittal"} >= ZERO_IS_BEST


def test_grades_of_one_and_less_are_no_shares() -> None:
    """Eight documents of grade 1 on a scale to 3: no contribution, and nothing says that no grade
    is above 1."""
    found = SliceTally(["grade"], None, ["metadata.topic"])
    for i in range(8):
        sample = Sample(id=str(i), question=f"Q{i}", metadata={"topic": "x"})
        found.add(sample, {"grade": Score(value=1.0, unit="grade 0 to 3")})
    (row,) = found.slices("metadata.topic")
    assert (row.contribution, row.estimate.value, row.estimate.reported) == (None, 1.0, None)
    assert row.estimate.because == UNSEEN


def test_a_metric_that_is_no_share_has_no_contribution() -> None:
    found = SliceTally(["tokens"], None, ["metadata.topic"])
    for i in range(4):
        sample = Sample(id=str(i), question=f"Q{i}", metadata={"topic": "xy"[i % 2]})
        found.add(sample, {"tokens": Score(value=7.0 + i, unit="tokens")})
    assert {row.contribution for row in found.slices("metadata.topic")} == {None}


def test_a_mean_between_0_and_1_is_a_share_only_if_its_metric_says_so() -> None:
    """The unit is asked of the metric: grades of 0 and 1 have no loss, shares of 0 and 1 have."""
    shown = dict[str, tuple[str, bool]]()
    for unit in ("share", "grade 0 to 3"):
        found = SliceTally(["m"], None, ["metadata.topic"])
        for i in range(8):
            sample = Sample(id=str(i), question=f"Q{i}", metadata={"topic": "xy"[i % 2]})
            found.add(sample, {"m": Score(value=float(i > 3), unit=unit)})
        slices = found.slices("metadata.topic")
        table = views.slices("metadata.topic", slices.by_value, {"m": unit})
        losses = " ".join(line.split()[-1] for line in str(slices).splitlines()[-2:])
        shown[unit] = losses, bool(table.notes)
    assert shown == {"share": ("0.25 0.25", True), "grade 0 to 3": ("- -", False)}


def test_many_slices_are_cautioned_about() -> None:
    known = Estimate(value=0.5, low=0.4, high=0.6, n=9, clusters=9)
    assert chance_of_many([known] * 19) is None
    assert "about 2 of them" in str(chance_of_many([known] * 40))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Four samples of two kinds; in run b those of the first kind have no contexts."""
    folder = tmp_path_factory.mktemp("runs")
    samples = [
        TOWER.model_copy(
            update={"id": f"t{i}", "question": f"Q{i}?", "metadata": {"kind": "xy"[i % 2]}}
        )
        for i in range(4)
    ]
    fewer = [
        s.model_copy(update={"contexts": ()}) if s.metadata["kind"] == "x" else s for s in samples
    ]
    return make(folder / "a", samples, {"j": TOWER_SAYS}), make(
        folder / "b", fewer, {"j": TOWER_SAYS}
    )


def test_differences_by_slice_add_up_to_the_difference(runs: tuple[Path, Path]) -> None:
    """Faithfulness is 1/3 everywhere in run a; in run b it is 0 where there are no contexts."""
    found = compare(*runs, sliced=True).comparison
    (field,) = found.slices
    assert field.field == "metadata.kind"
    rows = {row.value: row for row in field.rows if row.metric == "faithfulness"}
    assert {value: (row.n, row.contribution) for value, row in rows.items()} == {
        "x": (2, -1 / 6),
        "y": (2, 0.0),
    }
    assert rows["x"].difference.value == pytest.approx(-1 / 3)
    assert found.metrics[0].difference.value == pytest.approx(
        math.fsum(row.contribution or 0 for row in rows.values())
    )
    assert [part.cause for part in found.metrics[0].because] == ["lost"]
    assert compare(*runs).comparison.slices == ()


def test_reports_have_the_slices(runs: tuple[Path, Path]) -> None:
    assert [one.field for one in gather(runs[0], sliced=True).slices] == ["metadata.kind"]
    assert '"metadata.kind"' in forms.text(runs[0], "json")


def test_differences_of_grades_of_one_and_less_are_no_shares() -> None:
    """Four questions whose grades differ by 1, -1, 1 and 1: mean 0.5, standard error 0.5, t(3) =
    3.1824."""
    pairs: Pairs = [(0.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.0, 1.0)]
    compared = SliceTally(["grade"], None, ["metadata.topic"])
    for i, grades in enumerate(pairs):
        sample = Sample(id=str(i), question=f"Q{i}", metadata={"topic": "x"})
        compared.add(
            sample, *({"grade": Score(value=grade, unit="grade 0 to 3")} for grade in grades)
        )
    (row,) = compared.changes("metadata.topic").rows
    assert row.difference.high == pytest.approx(0.5 + 0.5 * 3.1824, abs=1e-4)
    found = MetricComparison.of(
        "grade", "grade", list("abcd"), pairs, list(range(4)), "grade 0 to 3"
    )
    assert found.difference == row.difference
