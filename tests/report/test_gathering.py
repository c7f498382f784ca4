"""What a report says of a run as a whole, on runs small enough to count by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from claimeval.evaluation.rebuilder import Rebuilder
from claimeval.report.packing import row
from claimeval.runs.directory import RunResults, load_manifest
from claimeval.runs.overview import LabelCounts, bar, gather
from claimeval.types.records import Turn
from tests.report.runs import BRIDGE, TOWER, TOWER_SAYS, make


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (0.0, 0),
        (0.01, 1),
        (0.1, 1),
        (0.1000001, 2),
        (1 / 3, 4),
        (0.3, 3),
        (0.5, 5),
        (0.999, 10),
        (1.0, 11),
    ],
)
def test_bars_hold_zero_then_tenths_then_one(value: float, place: int) -> None:
    assert bar(value) == place


def test_labels_and_values_are_counted_per_metric(tmp_path: Path) -> None:
    faithfulness, coverage = gather(make(tmp_path / "run", [TOWER, BRIDGE])).metrics
    # the tower has a claim of each label, the bridge one supported; each has one claim of the
    # reference
    assert faithfulness.labels == LabelCounts(supported=2, contradicted=1, not_found=1)
    assert faithfulness.distribution == (0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1)
    assert coverage.labels == LabelCounts(supported=2)
    assert coverage.distribution[-1] == 2


def test_of_several_gold_answers_the_labels_are_of_the_one_that_counts(tmp_path: Path) -> None:
    """One gold answer has a supported and a missing claim, the other one supported claim, which is
    the better score."""
    gold = "The tower opened in 1902. Its keeper was a poet.", "It opened in 1902."
    sample = TOWER.model_copy(update={"reference_answers": gold})
    run = make(tmp_path / "run", [sample], {"strict": TOWER_SAYS}, metrics=["coverage"])
    found = gather(run)
    (coverage,) = found.metrics
    summary = found.summary.metrics["coverage"]
    assert coverage.labels == LabelCounts(supported=1)
    assert (summary.hits, summary.judged, summary.total) == (1, 1, 1)
    assert (found.judges[0].labels, found.judges[0].verdicts) == (coverage.labels, 3)


def test_judges_are_told_with_calls_failures_and_labels(tmp_path: Path) -> None:
    run = make(tmp_path / "run", [TOWER], {"strict": TOWER_SAYS, "away": {}}, failing=["away"])
    strict, away, taker = gather(run).judges
    assert (strict.extractions, strict.assessments, strict.failed) == (0, 2, {})
    assert strict.labels == LabelCounts(supported=2, contradicted=1, not_found=1)
    assert strict.served_models == {"scripted": 2}
    assert (away.failed, away.labels) == ({"timeout": 2}, LabelCounts(unassessed=4))
    assert (taker.extractions, taker.assessments) == (2, 0)


def test_the_cost_of_a_judge_is_the_one_in_the_summary(tmp_path: Path) -> None:
    """The prices that a run was given are known to its summary alone."""
    run = make(tmp_path / "run")
    summary = json.loads((run / "summary.json").read_text())
    for one in summary["cost"]["by"]:
        one["cost"]["dollars"] = {"strict": 0.5, "taker": None}[one["judge"]]
    (run / "summary.json").write_text(json.dumps(summary))
    strict, taker = gather(run).judges
    assert (strict.cost.calls, strict.cost.dollars) == (2, 0.5)
    assert (taker.cost.calls, taker.cost.dollars) == (2, None)


def test_ranks_say_where_evidence_and_reference_contexts_stand(tmp_path: Path) -> None:
    first, second, third = gather(make(tmp_path / "run", [TOWER, BRIDGE])).ranks
    # "The tower opened in 1902." and "The bridge is old." share most words with the guide, which is
    # the reference context of both
    assert (first.samples, first.cited, first.relevant) == (2, 2, 2)
    assert (second.cited, second.relevant) == (0, 0)
    assert (third.cited, third.relevant) == (0, 0)


def test_no_ranks_where_nothing_is_named_and_nothing_is_known(tmp_path: Path) -> None:
    sample = TOWER.model_copy(update={"answer": "Bread.", "reference_context_ids": ()})
    assert gather(make(tmp_path / "run", [sample])).ranks == ()


def test_answers_with_the_most_contradicted_claims_come_first_then_the_most_unsupported(
    tmp_path: Path,
) -> None:
    poet = TOWER.model_copy(update={"id": "poet", "answer": "Its keeper was a poet."})
    high = TOWER.model_copy(
        update={"id": "high", "answer": "The tower opened in 1902. It is 90 metres high."}
    )
    facts = gather(make(tmp_path / "run", [high, poet, BRIDGE, TOWER]))
    assert [(t.sample_id, t.claim, t.label, t.supported, t.judged) for t in facts.front.read] == [
        # One claim is contradicted, and another one is not found.
        ("tower", "It is 90 metres high.", "contradicted", 1, 3),
        ("high", "It is 90 metres high.", "contradicted", 1, 2),
        ("poet", "Its keeper was a poet.", "not_found", 0, 1),
    ]
    assert facts.front.read[0].explanation == "strict: contradicted"
    assert facts.front.read[0].standing == "faithfulness 0.33, 1 of 3 claims supported"


def test_the_worst_claim_of_an_answer_is_the_one_on_which_judges_agree(tmp_path: Path) -> None:
    first = "The tower opened in 1902."
    second = "It is 90 metres high."
    says = {
        "a": {first: "contradicted", second: "contradicted"},
        "b": {first: "contradicted", second: "contradicted"},
        "c": {second: "contradicted"},
    }
    (worst,) = gather(make(tmp_path / "run", [TOWER], says)).front.read
    assert (worst.claim, worst.votes) == (second, {"contradicted": 3})
    assert worst.standing == "faithfulness 0.33, 1 of 3 claims supported; verdicts: 3 contradicted"


def test_cautions_name_families_notes_losses_and_ties(tmp_path: Path) -> None:
    notes = ("lexical support score, not an LLM judgment",)
    says = {"a": TOWER_SAYS, "b": {}}
    said = [c.text for c in gather(make(tmp_path / "ties", says=says, notes=notes)).cautions]
    assert said == [
        "Lexical support score, not an LLM judgment.",
        (
            "Judges abstained on claims or are divided (2 of 3 in faithfulness); means cover the"
            " other claims only: bounds are shown instead of an interval."
        ),
    ]
    lost = gather(make(tmp_path / "lost", failing=["strict"])).cautions
    assert [c.kind for c in lost] == ["missing", "lost"]
    assert "faithfulness 100.0% (bounds 0.00 to 1.00), coverage 100.0%" in lost[0].text
    assert gather(make(tmp_path / "fine")).cautions == ()


def test_a_judge_of_the_generators_family_is_flagged(tmp_path: Path) -> None:
    sample = TOWER.model_copy(update={"generator": "scripted:strict"})
    (found,) = gather(make(tmp_path / "run", [sample])).cautions
    assert found.kind == "same_family"
    assert found.text.startswith(
        "The judge strict is of the family (scripted:strict) that wrote 1 of 1 answers."
    )


def test_a_row_has_a_letter_for_every_claim(tmp_path: Path) -> None:
    run = make(tmp_path / "run", [TOWER, BRIDGE], {"strict": TOWER_SAYS, "kind": {}})
    metrics = load_manifest(run).rows
    tower, bridge = (row(result, metrics) for result in RunResults.of(run))
    # The judges agree on the first claim and are divided on the two others: no label, a capital.
    assert tower.cells[0] == (1.0, "sUU", None, 1, 1, ("tie",), (), 1.0)
    assert (tower.id, tower.question, tower.failed) == ("tower", TOWER.question, 0)
    assert [cell[:5] for cell in bridge.cells] == [(1.0, "s", None, 1, 1)] * 2


def test_a_row_without_a_value_says_why(tmp_path: Path) -> None:
    run = make(
        tmp_path / "run",
        [TOWER.model_copy(update={"answer": "...", "contexts": ()})],
        failing=["taker"],
    )
    (found,) = RunResults.of(run)
    cells = row(found, load_manifest(run).rows).cells
    assert [cell[:5] for cell in cells] == [
        (None, "", "no_claims", 0, 0),
        (None, "", "timeout", 0, 0),
    ]


def test_the_requests_about_a_turn_of_a_conversation_are_rebuilt(tmp_path: Path) -> None:
    earlier = (
        Turn(role="user", content="What stands on the hill?"),
        Turn(role="assistant", content="A tower."),
    )
    run = make(tmp_path / "run", [TOWER.model_copy(update={"history": earlier})])
    (result,) = RunResults.of(run)
    rebuilder = Rebuilder(load_manifest(run))
    rebuilt = [rebuilder.rebuild(result, call) for call in result.calls]
    assert rebuilt
    assert all(request and "A tower." in request.messages[-1].content for request in rebuilt)
