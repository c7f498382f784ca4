"""Pictures of runs: what they say is what the records hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimeval import Run, compare, score
from claimeval.judging.panel import Panel
from claimeval.report import forms, pictures
from claimeval.runs.agreement import measure
from claimeval.runs.labels import join
from claimeval.statistics.formatting import decimal, interval, signed, signed_interval
from claimeval.testing import ScriptedJudge
from tests.runs.test_agreement import JUDGES, label, result

SAMPLES = [
    {
        "id": f"q{i}",
        "question": f"How {i}?",
        "answer": f"It is {i}. It is blue.",
        "contexts": ["x"],
        "metadata": {"topic": "law" if i < 4 else "art"},
    }
    for i in range(6)
]


@pytest.fixture(scope="module")
def runs() -> tuple[Run, Run]:
    says = {f"It is {i}.": "supported" for i in range(6)}
    one = ScriptedJudge(says | {"It is blue.": "supported"}, name="one")
    other = ScriptedJudge(says | {"It is 2.": "contradicted"}, default="not_found", name="other")
    a, b = (score(SAMPLES, judges=judge, metrics="faithfulness") for judge in (one, other))
    return a, b


def test_the_picture_of_a_run_has_its_shares_and_the_ends_that_tables_print(
    runs: tuple[Run, Run],
) -> None:
    drawn = pictures.of_metrics(runs[1].summary, "Means")

    assert drawn is not None
    expected = [
        f"{name}: {decimal(m.mean)}, {'bounds' if m.ends == 'bounds' else '95%'}"
        f" {interval(m.reported)}, n = {m.n}"
        for name, m in runs[1].summary.items()
    ]
    assert list(drawn.descriptions) == expected
    assert drawn.descriptions[0].startswith(
        "faithfulness: 0.42, "
    )  # five samples with 1 of 2, one with 0 of 2: 2.5 / 6


def test_a_run_without_a_mean_has_no_picture() -> None:
    assert pictures.of_metrics({}, "Means") is None


def test_the_picture_of_a_comparison_has_the_differences(runs: tuple[Run, Run]) -> None:
    pair = compare(*runs).against(1)

    drawn = pictures.of_comparison(pair)

    assert list(drawn.descriptions) == [
        f"{m.metric}: {signed(m.difference.value)}"
        + (f", 95% {signed_interval(m.difference.reported)}" if m.difference.reported else "")
        + f", n = {m.n}"
        for m in pair.metrics
    ]
    assert drawn.descriptions[0].startswith("faithfulness: -0.58")


def test_a_metric_with_another_unit_does_not_share_the_axis_of_shares(
    runs: tuple[Run, Run],
) -> None:
    pair = compare(*runs).against(1)
    words = pair.metrics[0].model_copy(update={"metric": "answer_length", "a": 150.0, "b": 130.0})

    both = pictures.of_comparison(pair.model_copy(update={"metrics": (*pair.metrics, words)}))
    alone = pictures.of_comparison(pair.model_copy(update={"metrics": (words,)}))

    assert [said.partition(":")[0] for said in both.descriptions] == ["faithfulness"]
    assert [said.partition(":")[0] for said in alone.descriptions] == ["answer_length"]


def test_slices_are_drawn_by_what_they_add_to_the_loss(runs: tuple[Run, Run]) -> None:
    slices = runs[1].by("metadata.topic", metrics="faithfulness")

    (drawn,) = pictures.of_slices(slices)

    assert [said.partition(":")[0] for said in drawn.descriptions] == ["law", "art"]
    assert drawn.descriptions[0].endswith("n = 4, adds +0.42")  # (3 x 0.5 + 1) / 6
    assert drawn.descriptions[1].endswith("n = 2, adds +0.17")  # 2 x 0.5 / 6


def test_agreement_is_a_map_of_kappas_and_a_confusion_a_rater() -> None:
    one = result({"contexts": ["++", "+0", "-0"]})
    labels = [label("supported", claim_id="answer-1"), label("not_found", claim_id="answer-2")]
    found = measure(join([one], JUDGES, Panel(), labels), Panel())

    drawn = pictures.of_agreement(found, {"a": "first"})

    assert drawn is not None
    kappa = next(
        pair.kappa.value for pair in found.pairs if (pair.first, pair.second) == ("a", "b")
    )
    assert f"first and b: {decimal(kappa, 2)}" in drawn.descriptions
    assert {"people supported, first supported: 1", "people not found, b not found: 1"} <= set(
        drawn.descriptions
    )
    assert pictures.of_agreement(measure(join([one], ("a",), Panel(), None), Panel())) is None


def test_a_file_of_markdown_has_its_pictures_beside_it(
    runs: tuple[Run, Run], tmp_path: Path
) -> None:
    for name, run in zip("ab", runs, strict=True):
        run.save(tmp_path / name)

    forms.write(tmp_path / "a", "md", tmp_path / "of a.md")
    forms.write(tmp_path / "a", "md", tmp_path / "both.md", compared=tmp_path / "b")

    assert "![Means of a](of%20a-metrics.svg)" in (tmp_path / "of a.md").read_text()
    assert "faithfulness: 1.00" in (tmp_path / "of a-metrics.svg").read_text()
    assert "![b minus a](both-differences.svg)" in (tmp_path / "both.md").read_text()
    assert "faithfulness: -0.58" in (tmp_path / "both-differences.svg").read_text()
    assert "![" not in forms.text(tmp_path / "a", "md"), "nobody says where standard output goes"
