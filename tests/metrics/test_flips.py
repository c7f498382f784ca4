"""What a flip is, and that every command counts the same ones. Counts are worked by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from claimeval.metrics.flips import ClaimPair, FlipTally, assessments_by_text, claim_pairs, flip
from claimeval.runs.compare import compare, differences
from claimeval.runs.experiments import read
from claimeval.runs.experiments.results import tabulate
from claimeval.runs.experiments.running import arm_folder
from claimeval.types.options import RunOptions
from claimeval.types.records import Assessment, Claim, Sample, SampleResult
from claimeval.types.scales import PARTIAL
from tests.report.runs import TOWER, TOWER_SAYS, make

SAMPLE = Sample(id="s", question="Q?", answer="A.")


def assessed(label: str | None, claim: str = "c1") -> Assessment:
    because = "unsure" if label is None else None
    fields = {
        "subject": claim,
        "question": "support",
        "against": "contexts",
        "verdicts": (),
        **PARTIAL.labeled(label),
    }
    return Assessment.model_validate({**fields, "unassessed": because})


def result(*claims: tuple[str, str, str]) -> SampleResult:
    """One of (id, text, label) for each claim."""
    return SampleResult.model_validate(
        {
            "sample": SAMPLE,
            "claims": [
                {"id": i, "text": text, "of": "answer", "grounding": "exact"}
                for i, text, _ in claims
            ],
            "assessments": [assessed(label, i) for i, _, label in claims],
        }
    )


@pytest.mark.parametrize(
    ("a", "b", "change"),
    [
        ("supported", "not_found", "flipped"),
        ("contradicted", "supported", "flipped"),
        ("contradicted", "not_found", "relabeled"),
        ("supported", None, "labeled_once"),
        (None, "contradicted", "labeled_once"),
        (None, None, None),
        ("supported", "supported", None),
    ],
)
def test_a_flip_is_another_counted_value(a: str, b: str, change: str | None) -> None:
    pair = ClaimPair(
        Claim(grounding="ungrounded", id="c1", text="It is old.", of="answer"),
        assessed(a),
        assessed(b),
    )
    assert pair.change(graded=False) == change


def test_on_the_same_scale_of_grades_another_grade_is_a_flip() -> None:
    claim = Claim(grounding="ungrounded", id="c1", text="It is old.", of="answer")
    pair = ClaimPair(claim, assessed("not_found"), assessed("partly_supported"))
    assert (pair.change(graded=True), pair.change(graded=False)) == ("flipped", "relabeled")


def test_claims_are_matched_by_their_text_whatever_their_ids() -> None:
    a = result(("c1", "It is old.", "supported"), ("c2", "It is red.", "supported"))
    b = result(
        ("c1", "It is red.", "supported"),
        ("c2", "It is old.", "not_found"),
        ("c3", "It is new.", "supported"),
    )
    tally = FlipTally({("answer", "contexts")}, graded=False)
    flips = [flip(a, pair) for pair in tally.add(claim_pairs(a, *map(assessments_by_text, (a, b))))]
    assert [(one.subject, one.claim, one.a, one.b) for one in flips] == [
        ("c1", "It is old.", "supported", "not_found")
    ]
    assert tally.counts() == (2, 1, 0, 0)  # "It is new." is compared with nothing


def test_of_claims_that_read_alike_the_first_belongs_to_the_first() -> None:
    a = result(("c1", "It is old.", "supported"), ("c2", "It is old.", "not_found"))
    assert [
        (pair.a.label, pair.b.label) for pair in claim_pairs(a, *[assessments_by_text(a)] * 2)
    ] == [
        ("supported", "supported"),
        ("not_found", "not_found"),
    ]


@pytest.mark.parametrize(
    ("baseline", "other", "counts"),
    [
        # three claims a sample: what the first judge calls supported, contradicted, not_found
        (TOWER_SAYS, dict.fromkeys(TOWER_SAYS, "not_found"), (0, 6, 0)),
        (
            TOWER_SAYS,
            {"It is 90 metres high.": "unsure", "Its keeper was a poet.": "supported"},
            (6, 0, 6),
        ),
        ({}, {"The tower opened in 1902.": "unsure"}, (0, 0, 6)),
    ],
    ids=["relabeled", "both", "abstained"],
)
def test_experiment_and_compare_count_the_same_flips(
    tmp_path: Path, baseline: dict[str, str], other: dict[str, str], counts: tuple[int, int, int]
) -> None:
    samples = [TOWER.model_copy(update={"id": f"t{i}"}) for i in range(6)]
    data = tmp_path / "towers.jsonl"
    data.write_text(
        "".join(
            json.dumps({"id": s.id, "question": s.question, "answer": s.answer}) + "\n"
            for s in samples
        )
    )
    file = tmp_path / "e.yaml"
    file.write_text(
        f"data: {data}\nmetrics: [faithfulness]\njudges: openai:m\narms: [{{name: a}}, {{name:"
        " b}]\n"
    )
    design = read(file)
    runs = []
    for arm, says in zip(design.arms, (baseline, other), strict=True):
        runs.append(arm_folder(tmp_path, arm))
        make(runs[-1], samples, {"judge": says}, metrics=["faithfulness"])
    row = tabulate(design, tmp_path, RunOptions(cache=tmp_path / "cache"), {}).arms[1]
    comparison = compare(runs[0], runs[1]).comparison
    assert (
        differences(runs[0], runs[1]) == comparison
    )  # also what judges said of the flipped claims, which is read for these alone
    assert (row.flips, row.relabeled, row.labeled_once) == counts
    assert (comparison.flipped, comparison.relabeled, comparison.labeled_once) == counts
    assert len(comparison.flips) == counts[0]
