"""The table of metrics and the rows that users add."""

from __future__ import annotations

import pytest

from claimeval.metrics.rows import METRICS, Metric, metric, rows
from claimeval.types.errors import UsageError
from claimeval.types.records import Sample

SAMPLE = Sample(
    id="a", question="Q", answer="A", reference_answers=("R", "S"), reference_contexts=("C",)
)


@pytest.mark.parametrize("name", METRICS)
def test_every_row_says_what_it_needs(name: str) -> None:
    row = METRICS[name]
    assert row.name == name
    assert row.description
    assert row.missing_part(Sample(id="a", question="Q")) == row.claims_of


def test_all_metrics_are_listed_in_python() -> None:
    assert [metric.name for metric in Metric.all()][:4] == [
        "faithfulness",
        "correctness",
        "coverage",
        "context_recall",
    ]


def test_the_rows_are_the_ones_of_the_definition() -> None:
    assert {name: (row.claims_of, row.against) for name, row in METRICS.items()} == {
        "faithfulness": ("answer", "contexts"),
        "correctness": ("answer", "reference"),
        "coverage": ("reference", "answer"),
        "context_recall": ("reference", "contexts"),
        "reference_support": ("reference", "reference_contexts"),
        "on_topic": ("answer", "asked"),
        "vital": ("reference", "asked"),
    }


def test_a_row_of_ones_own_is_written_as_text() -> None:
    row = metric("on_policy=answer:policy")
    assert (row.name, row.claims_of, row.against) == ("on_policy", "answer", "policy")
    assert metric(row) is row


@pytest.mark.parametrize("spec", ["on_policy=answer", "=answer:policy", "x=a:b:c", "x=a b:c"])
def test_a_malformed_row_shows_the_form(spec: str) -> None:
    with pytest.raises(UsageError, match="name=claims_of:against"):
        metric(spec)


def test_an_unknown_metric_gets_the_closest_name() -> None:
    with pytest.raises(UsageError, match="Did you mean 'faithfulness'"):
        metric("faithfullness")


def test_names_are_not_taken_twice() -> None:
    with pytest.raises(UsageError, match="requested twice"):
        rows(["coverage", "coverage"])
    with pytest.raises(UsageError, match="taken by a built-in"):
        metric("coverage=answer:policy")
    with pytest.raises(UsageError, match="no metric"):
        rows([])


@pytest.mark.parametrize(
    "spec", ["x=answer:policy.2", "x=answer:contexts.1", "x.3=answer:policy", "x=law.1:answer"]
)
def test_names_that_could_be_a_document_of_a_set_are_refused_with_the_reason(spec: str) -> None:
    with pytest.raises(
        UsageError,
        match=r"looks like document \d of '\w+'; use a name that does not end in '.' and",
    ):
        metric(spec)


@pytest.mark.parametrize("against", ["history+contexts", "contexts+reference", "contexts+policy"])
def test_evidence_that_is_not_joined_is_refused_with_what_is(against: str) -> None:
    assert metric("grounded=answer:contexts+history").against == "contexts+history"
    with pytest.raises(
        UsageError, match=r"is not an evidence set; the only join is 'contexts\+history'"
    ):
        metric(f"grounded=answer:{against}")
    assert metric("x=answer:c+d").against == "c+d", "a set of evidence may have any other name"


def test_a_row_given_as_a_record_is_held_to_the_same_names() -> None:
    with pytest.raises(UsageError, match="'policy~2' looks like order 2 of 'policy'"):
        metric(Metric(name="x", claims_of="answer", against="policy~2"))


def test_points_and_digits_that_mean_nothing_else_stay_in_names() -> None:
    assert metric("by.policy_2=answer:policy2.v1").against == "policy2.v1"


def test_parts_of_a_sample_as_text_and_as_evidence() -> None:
    assert SAMPLE.text("reference") == "R\n\nS"
    assert [d.id for d in SAMPLE.documents("reference") or ()] == ["reference-1", "reference-2"]
    assert [d.text for d in SAMPLE.documents("reference_contexts") or ()] == ["C"]
    assert SAMPLE.documents("policy") is None
    assert SAMPLE.documents("contexts") is None
    assert Metric(name="m", claims_of="answer", against="policy").missing_part(SAMPLE) == "policy"
