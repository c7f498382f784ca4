"""Names of derived metrics, and what has to be asked for them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from claimeval.evaluation import grade
from claimeval.metrics.derived import (
    DERIVED,
    GROUPS,
    MetricSelection,
    derived,
    resolve_derived,
    select_metrics,
)
from claimeval.metrics.names import numbers
from claimeval.metrics.rows import METRICS, Metric
from claimeval.types.errors import UsageError
from claimeval.types.scales import ANSWER_QUESTIONS, RELEVANCE


def names(chosen: MetricSelection) -> tuple[list[str], tuple[str, ...] | None]:
    return [row.name for row in chosen.rows], chosen.derived


@pytest.mark.parametrize(
    ("asked", "rows", "read"),
    [
        (["faithfulness"], ["faithfulness"], ()),
        (["f1"], ["correctness", "coverage"], ("f1",)),
        (["coverage", "f1"], ["coverage", "correctness"], ("f1",)),
        (["long_form_f1@64", "factscore"], ["faithfulness"], ("long_form_f1@64", "factscore@10")),
        (
            ["long_form_f1_on_topic@64"],
            ["faithfulness", "on_topic"],
            ("long_form_f1_on_topic@64",),
        ),
        (
            ["on_policy=answer:policy", "hallucination"],
            ["on_policy", "faithfulness", "correctness"],
            ("hallucination",),
        ),
        (["f1", "f1"], ["correctness", "coverage"], ("f1",)),
    ],
)
def test_rows_bring_what_they_need(
    asked: list[str], rows: list[str], read: tuple[str, ...]
) -> None:
    assert names(select_metrics(asked)) == (rows, read)


def test_every_row_needs_metrics_that_there_are() -> None:
    assert all(set(row.needs) <= METRICS.keys() for row in DERIVED.values())
    assert all(name in DERIVED or name in METRICS for group in GROUPS.values() for name in group)
    assert not DERIVED.keys() & METRICS.keys()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("long_form_f1@", "long_form_f1@64"),
        ("long_form_f1@0", "long_form_f1@64"),
        ("long_form_f1_on_topic", "long_form_f1_on_topic@64"),
        ("f1@64", "f1@K"),
        ("f1x", "unknown metric"),
    ],
)
def test_names_that_are_none(name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        derived(name)


def test_with_documents_all_that_is_fed_comes_along() -> None:
    chosen = MetricSelection((METRICS["faithfulness"], METRICS["correctness"]), None)
    assert resolve_derived(chosen, per_document=False, three_way=True) == ()
    assert resolve_derived(chosen, per_document=True, three_way=True) == (
        "faithfulness_per_document",
        "hallucination",
        "self_knowledge",
        "context_conflict_rate",
        "contradiction_rate",
    )
    assert "contradiction_rate" not in resolve_derived(chosen, per_document=True, three_way=False)
    assert resolve_derived(chosen._replace(derived=()), per_document=True, three_way=True) == ()


def test_what_cannot_be_read_off_is_refused() -> None:
    with pytest.raises(UsageError, match="add --per-document"):
        resolve_derived(select_metrics(["hallucination"]), per_document=False, three_way=True)
    with pytest.raises(UsageError, match="three_way"):
        resolve_derived(select_metrics(["contradiction_rate"]), per_document=True, three_way=False)


def test_the_part_for_the_question_is_not_for_rows_of_ones_own() -> None:
    with pytest.raises(UsageError, match="on_topic"):
        select_metrics(["mine=answer:asked"])
    assert (
        select_metrics([Metric(name="mine", claims_of="answer", against="contexts")]).rows[0].name
        == "mine"
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("hallucinaton", "hallucination"),
        ("hallucination=answer:contexts", "'hallucination' is taken"),
        ("nuggets=answer:contexts", "'nuggets' is taken"),
        ("factscore=answer:contexts", "'factscore' is taken"),
    ],
)
def test_names_that_cannot_be_asked_for(name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        select_metrics([name])


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("groundedness", "faithfulness"),
        ("answer_precision", "correctness"),
        ("answer_recall", "coverage"),
    ],
)
def test_an_accepted_name_of_another_tool_is_the_same_metric(alias: str, name: str) -> None:
    assert names(select_metrics([alias])) == ([name], ())
    with pytest.raises(UsageError, match="is taken"):
        select_metrics([f"{alias}=answer:policy"])


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("context_precision", ("context_precision_claims", "context_precision_ap")),
        ("answer_correctness", ("f1",)),
        ("answer_relevancy", ("on_topic", "rated_relevance")),
    ],
)
def test_a_name_of_another_number_is_refused_with_our_names(
    name: str, ours: tuple[str, ...]
) -> None:
    with pytest.raises(UsageError, match=f"unknown metric {name!r}") as refused:
        select_metrics([name])
    assert all(f": {one} (`claimeval" in str(refused.value) for one in ours)


def test_names_of_other_tools_lead_to_metrics_that_exist() -> None:
    """Every table of the page has a column `here`, or, of names that mean two things, `name`."""
    page = (Path(__file__).parents[2] / "docs" / "reference" / "names-in-other-tools.md").read_text(
        encoding="utf-8"
    )
    rated = {
        *(q.metric for q in ANSWER_QUESTIONS.values()),
        *RELEVANCE.flags,
        grade.RELEVANT,
        grade.GRADE,
        grade.PRECISION,
    }
    fields, *tables = re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE)
    assert (fields.splitlines()[0], len(tables)) == (
        "| tool | question | answer | contexts | reference answers |",
        8,
    )
    for table in tables:
        header, _, *body = (
            [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()
        )
        column = 2 if header[2] == "here" else 0
        for row in body:
            names = set(re.findall(r"`([^`]+)`", row[column])) - rated - set(METRICS)
            assert row[column]
            assert all(name in numbers() or derived(name).name == name for name in names)
