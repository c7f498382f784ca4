"""Three or more runs: the last against a baseline, and the trend, which a steady fall does not
escape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from claimeval.report import pictures
from claimeval.runs.series import Series, track
from claimeval.runs.views import series
from claimeval.types.records import Sample, SampleResult
from tests.sample_runs import attach, scored


def write(folder: Path, runs: Sequence[Mapping[str, float]]) -> list[Path]:
    """A run directory for each mapping of samples to values, the first named r0."""
    for place, values in enumerate(runs):
        rows = [
            SampleResult.of(Sample(id=name, question=name), scores=scored({"words": value}))
            for name, value in values.items()
        ]
        attach(folder, f"r{place}", rows, {"words": "share"})
    return [folder / f"r{place}" for place in range(len(runs))]


THREE = ({"x": 1.0, "y": 0.5}, {"x": 0.5, "y": 0.5, "z": 0.2}, {"x": 0.0, "y": 0.5, "z": 0.6})


def test_the_trend_is_the_mean_of_the_slopes_of_samples(tmp_path: Path) -> None:
    """x falls by 0.5 a run, y stays, z, which is in two runs, rises by 0.4: -0.1 / 3."""
    (words,) = track(write(tmp_path, THREE)).tracks

    assert words.trend.slope.value == pytest.approx(-0.1 / 3)
    assert (words.trend.slope.n, words.trend.rising, words.trend.falling) == (3, 1, 1)
    assert words.trend.in_words.startswith("trend: -0.03 per run")


@pytest.mark.parametrize(
    ("baseline", "differences", "last", "said"),
    [
        (0, [None, -0.25, -0.5], 2, "r2 against r0: -0.50"),
        (1, [0.25, None, -0.1 / 3], 2, "r2 against r1: -0.03"),
        (2, [0.5, 0.1 / 3, None], 1, "r1 against r2: +0.03"),
    ],
)
def test_every_run_is_held_against_the_baseline_over_the_samples_of_both(
    tmp_path: Path, baseline: int, differences: list[float | None], last: int, said: str
) -> None:
    found = track(write(tmp_path, THREE), baseline=baseline)

    (words,) = found.tracks
    assert [one and one.difference.value for one in words.against] == [
        one if one is None else pytest.approx(one) for one in differences
    ]
    assert found.last == last
    assert found.against_in_words(words).startswith(said)


def test_a_sample_that_a_run_between_lacks_counts_against_the_baseline_and_in_the_trend(
    tmp_path: Path,
) -> None:
    """y is in the first and the last run: with x, -1 and 0 against the baseline, and slopes of -.5
    and 0."""
    (words,) = track(
        write(tmp_path, [{"x": 1.0, "y": 0.5}, {"x": 0.5}, {"x": 0.0, "y": 0.5}])
    ).tracks

    assert words.against[2]
    assert (words.against[2].n, words.against[2].difference.value) == (2, -0.5)
    assert (words.trend.slope.n, words.trend.slope.value) == (2, -0.25)


def steady(folder: Path) -> Series:
    """Six runs; in each of the later five, two more of 40 samples fall from 1 to 0, so ten have
    fallen in the end."""
    return track(
        write(
            folder,
            [{f"s{i}": 0.0 if i < 2 * place else 1.0 for i in range(40)} for place in range(6)],
        )
    )


def test_a_steady_fall_is_no_noise(tmp_path: Path) -> None:
    (words,) = steady(tmp_path).tracks

    assert all(change.p_adjusted == 1.0 for change in words.changes), (
        "2 of 2 signs: p 0.5 each, 1 after Holm"
    )
    last = words.against[5]
    assert last is not None
    assert (last.difference.value, last.increased, last.decreased) == (-0.25, 0, 10)
    assert last.p_adjusted == pytest.approx(2 / 2**10), "ten signs, all down"
    assert words.trend.p_adjusted is not None
    assert words.trend.p_adjusted == pytest.approx(2 / 2**10)


def test_p_values_of_metrics_are_adjusted_together(tmp_path: Path) -> None:
    for place in range(3):
        rows = [
            SampleResult.of(
                Sample(id=f"s{i}", question=f"{i}"), scores=scored({"a": value, "b": value})
            )
            for i, value in ((i, 1.0 - place * 0.1 * (i + 1)) for i in range(5))
        ]
        attach(tmp_path, f"r{place}", rows, {"a": "share", "b": "share"})

    for one in track([tmp_path / f"r{place}" for place in range(3)]).tracks:
        last = one.against[2]
        assert last is not None
        assert (last.p, last.p_adjusted) == (2 / 2**5, 4 / 2**5)
        assert (one.trend.p, one.trend.p_adjusted) == (2 / 2**5, 4 / 2**5)


def test_the_picture_has_the_mean_of_every_run(tmp_path: Path) -> None:
    (drawn,) = pictures.of_series(steady(tmp_path))

    assert [said.partition(",")[0] for said in drawn.descriptions] == [
        "r0: 1.00",
        "r1: 0.95",
        "r2: 0.90",
        "r3: 0.85",
        "r4: 0.80",
        "r5: 0.75",
    ]
    assert drawn.title == "words"


def test_tables_of_metrics_of_which_a_low_value_is_good_have_an_arrow(tmp_path: Path) -> None:
    for place, value in enumerate((0.9, 0.8, 0.7)):
        scores = scored({"hallucination": value, "words": value})
        rows = [SampleResult.of(Sample(id="x", question="x"), scores=scores)]
        attach(tmp_path, f"r{place}", rows, {"hallucination": "share", "words": "share"})

    tracks = track([tmp_path / f"r{place}" for place in range(3)]).tracks

    assert {one.metric: series.steps(one).title for one in tracks} == {
        "hallucination": "hallucination ↓",
        "words": "words",
    }
