"""Scores corrected by human labels: the items that go in, and the numbers by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import claimeval as ce
from benchmarks.loopback import ThreadHandle, claim_judge
from claimeval.data.labels import HumanLabel
from claimeval.judging.panel import Panel
from claimeval.runs.annotation import ClaimAnnotation, ClaimItem
from claimeval.runs.correct import correct, labels_of
from claimeval.runs.labeling import drawn
from claimeval.statistics import prediction_powered
from claimeval.types.errors import UsageError
from claimeval.types.records import Document, Evidence, Label, Sample
from claimeval.types.scales import PARTIAL
from tests.api.test_claims import spec
from tests.conftest import StartServer
from tests.report.runs import make

CLAIMS = [
    "The tower is high.",
    "The WRONG king built it.",
    "It is old.",
    "A MISSING priest prayed.",
]


@pytest.fixture
def run(tmp_path: Path, start_server: StartServer) -> Path:
    """Ten samples of four claims, of which the judge supports two."""
    samples = [
        {"id": f"s{i}", "question": f"Tower {i}?", "answer": " ".join(CLAIMS), "contexts": ["x"]}
        for i in range(10)
    ]
    server = start_server(judge=claim_judge.answer)
    ce.score(samples, judges=[spec(server)], metrics=["faithfulness"]).save(tmp_path / "run")
    return tmp_path / "run"


def labels(*said: Label, samples: int = 10) -> list[HumanLabel]:
    return [
        HumanLabel(sample=f"s{i}", claim_id=f"answer-{n}", label=label)
        for i in range(samples)
        for n, label in enumerate(said, 1)
    ]


def test_the_numbers_are_those_of_ppi_over_the_claims(run: Path) -> None:
    said = labels("supported", "contradicted", "not_found", "not_found", samples=6)
    found = correct(run, None, said)
    judge = [1.0, 0.0, 1.0, 0.0] * 10
    human = [1.0, 0.0, 0.0, 0.0] * 6 + [None] * 16
    expected = prediction_powered(
        judge, human, clusters=[f"s{i}" for i in range(10) for _ in range(4)]
    )
    assert (found.items, found.labeled, found.method) == (40, 24, "ppi++")
    micro = found.micro
    assert (micro.judged.value, micro.people.value, micro.corrected.n) == (0.5, 0.25, 24)
    assert micro.corrected.value == pytest.approx(expected.corrected.value)
    # 24 labels of six questions count as six, too few for an interval
    assert micro.effective == pytest.approx(6)
    assert micro.corrected.low is None
    assert micro.corrected.because == "the labels count as 6; fewer than 15 have no interval"
    assert expected.corrected.low is not None


def test_a_judge_that_people_agree_with_keeps_its_number(run: Path) -> None:
    said = labels("supported", "contradicted", "supported", "not_found", samples=5)
    found = correct(run, "faithfulness", said)
    assert found.micro.corrected.value == pytest.approx(0.5)
    assert found.macro is not None
    assert found.macro.corrected.value == pytest.approx(0.5)


def test_people_who_are_divided_count_as_no_label(run: Path) -> None:
    both = [*labels("supported", samples=4), *labels("not_found", samples=2)]
    assert correct(run, None, both).labeled == 2


def test_an_annotator_who_repeats_a_label_counts_once(run: Path) -> None:
    people: list[tuple[str, Label]] = [
        ("a", "supported"),
        ("b", "not_found"),
        ("b", "not_found"),
        ("c", "supported"),
    ]
    said = [
        HumanLabel(sample=f"s{i}", claim_id="answer-2", label=label, annotator=who)
        for i in range(3)
        for who, label in people
    ]
    found = correct(run, None, said)
    assert (found.labeled, found.micro.people.value) == (
        3,
        1.0,
    )  # two of three people; by rows it would be two against two
    assert (found.labels.conflicting, found.labels.differing, found.labels.divided) == (0, 3, 0)


def test_labels_of_whole_samples_correct_the_share_of_samples_with_every_claim_supported(
    tmp_path: Path, server: ThreadHandle
) -> None:
    """The judge supports all claims of 6 of 10 answers; people call 4 answers right that it
    supports and 2 that not."""
    good = CLAIMS[0]
    bad = " ".join(CLAIMS[:2])
    samples = [
        {
            "id": f"s{i}",
            "question": f"Tower {i}?",
            "answer": good if i < 6 else bad,
            "contexts": ["x"],
        }
        | {"reference_answers": [good]}
        for i in range(10)
    ]
    judge = spec(server)
    ce.score(samples, judges=[judge], metrics=["faithfulness", "coverage"]).save(tmp_path / "run")
    yes = {0, 1, 2, 3, 6, 7}
    said = [
        HumanLabel(sample=f"s{i}", label="supported" if i in yes else "not_found")
        for i in range(10)
    ]
    found = correct(tmp_path / "run", "faithfulness", said)
    assert (found.unit, found.items, found.labeled, found.unmatched) == ("sample", 10, 10, 0)
    assert (found.macro, found.micro.judged.value, found.micro.people.value) == (None, 0.6, 0.6)
    with pytest.raises(
        UsageError,
        match="labels of whole samples are about the answer, and coverage is over claims",
    ):
        correct(tmp_path / "run", "coverage", said)


def test_labels_about_nothing_are_counted(run: Path) -> None:
    stray = HumanLabel(sample="nobody", claim_id="answer-1", label="supported")
    elsewhere = HumanLabel(
        sample="s1", claim_id="answer-1", evidence=Evidence(part="policy"), label="supported"
    )
    found = correct(run, None, [*labels("supported"), stray, elsewhere])
    assert (found.labeled, found.unmatched) == (10, 2)
    assert found.strays.words() == (
        "1 of 12 labels fits nothing: 1 with the id or question of no sample of the run"
        " (first: sample 'nobody')"
    )
    with pytest.raises(UsageError, match="none of the labels is about a judged claim"):
        correct(run, None, [elsewhere])
    with pytest.raises(UsageError, match="most labels are not about"):
        correct(run, None, [stray])


def test_rogan_gladen_takes_the_labels_as_coming_from_elsewhere(run: Path) -> None:
    said = labels("supported", "contradicted", "supported", "not_found", samples=5)
    found = correct(run, None, said, "rogan-gladen")
    assert (found.method, found.macro) == ("rogan-gladen", None)
    assert found.micro.corrected.value == pytest.approx(0.5)


def label_drawn(run: Path, n: int, annotator: str = "", **of_claim: str) -> list[str]:
    """Label the claims of a draw, "not_found" unless the claim is named, and return the ids of
    these claims."""
    annotation = ce.annotate(run, n=n, annotator=annotator)
    claims = [item.key[1] for item in annotation]
    for item in annotation:
        item.label(of_claim.get(item.key[1].replace("-", "_"), "not_found"))
    return claims


def test_both_numbers_are_corrected(tmp_path: Path, server: ThreadHandle) -> None:
    """24 samples of one claim that the judge supports, and 24 of four of which it supports two.
    People label all: they support the one, and of the four the first alone: macro (1 + .25) / 2,
    micro (24 + 24) / 120."""
    samples = [
        {
            "id": f"s{i}",
            "question": f"Tower {i}?",
            "answer": CLAIMS[0] if i < 24 else " ".join(CLAIMS),
            "contexts": ["x"],
        }
        for i in range(48)
    ]
    judge = spec(server)
    ce.score(samples, judges=[judge], metrics=["faithfulness"]).save(tmp_path / "run")
    label_drawn(tmp_path / "run", 120, answer_1="supported")
    found = ce.correct(tmp_path / "run")
    assert found.macro is not None
    assert (found.equal, found.labeled, found.notes) == (True, 120, ())
    assert (found.macro.judged.value, found.micro.judged.value) == pytest.approx((0.75, 0.6))
    for score, value in ((found.macro, 0.625), (found.micro, 0.4)):
        assert score.people.value == pytest.approx(value)
        assert score.corrected.value == pytest.approx(value)
        assert score.corrected.n == 120
        assert score.corrected.low is not None
        assert score.corrected.low < value
    # weights of the clusters: all equal for macro, 1 and 4 for micro
    assert (found.macro.effective, found.micro.effective) == pytest.approx(
        (48, 120**2 / (24 + 24 * 16))
    )


def test_a_draw_grows_and_keeps_its_labels(run: Path) -> None:
    first = label_drawn(run, 10, answer_1="supported")
    grown = ce.annotate(run, n=25)
    assert isinstance(grown, ClaimAnnotation)
    assert (len(grown), grown.labeled) == (25, 10)
    assert [item.key[1] for item in grown.items[:10]] == first
    assert {item.probability for item in grown.draw.items} == {25 / 40}
    assert len(ce.annotate(run)) == 25
    assert len(ce.annotate(run, n=5)) == 25, "it does not shrink"


def test_few_labels_have_a_note_and_fewer_no_interval(run: Path) -> None:
    label_drawn(run, 12, answer_1="supported")
    found = ce.correct(run)
    assert found.micro.corrected.value is not None
    assert found.micro.corrected.reported is None
    assert "12 labels count as" in found.notes[0]
    assert "claimeval annotate RUN --n 100" in found.notes[0]


def test_draws_of_earlier_versions_are_read_and_one_by_uncertainty_is_weighted(run: Path) -> None:
    """A draw by uncertainty has unequal probabilities: weights of 1 / .25 and 1 / .5 on the
    labels."""
    label_drawn(run, 40, answer_1="supported")
    path = run / "annotation" / "faithfulness.json"
    draw = json.loads(path.read_text())
    for earlier, today in (("uniform", "even"), ("stratified", "label")):
        path.write_text(json.dumps({**draw, "design": earlier}))
        assert drawn(run, "faithfulness").design == today  # type: ignore[union-attr]  # it is there
    uneven = [
        {**item, "probability": 0.25 if item["claim_id"] == "answer-1" else 0.5}
        for item in draw["items"]
    ]
    path.write_text(json.dumps({**draw, "design": "uncertainty", "items": uneven}))
    found = ce.correct(run)
    assert not found.equal
    assert found.micro.people.value == pytest.approx(40 / (40 + 60))
    assert "not drawn evenly" in " ".join(found.notes)
    # ten questions of weights 4 + 2 + 2 + 2 count as ten: below 30 there is no interval
    assert found.micro.corrected.reported is None
    with pytest.raises(UsageError, match="already drawn for faithfulness"):
        ce.annotate(run, n=41)
    with pytest.raises(
        UsageError,
        match="--design uncertainty: give even or label; in place of uncertainty, draw even",
    ):
        ce.annotate(run, design="uncertainty")  # type: ignore[arg-type]


def test_labels_beyond_an_uneven_draw_are_left_out(run: Path) -> None:
    """Half of the claims were drawn, first claims with a quarter of the probability; other labels
    have none."""
    first = label_drawn(run, 20, answer_1="supported").count("answer-1")
    path = run / "annotation" / "faithfulness.json"
    draw = json.loads(path.read_text())
    uneven = [
        {**item, "probability": 0.2 if item["claim_id"] == "answer-1" else 0.8}
        for item in draw["items"]
    ]
    path.write_text(json.dumps({**draw, "design": "uncertainty", "items": uneven}))
    said = labels("supported", "not_found", "not_found", "not_found")
    found = correct(run, None, said)
    assert 0 < first < 20
    assert (found.equal, found.labeled, found.labels.undrawn) == (False, 20, 20)
    assert found.micro.people.value == pytest.approx(
        first / 0.2 / (first / 0.2 + (20 - first) / 0.8)
    )
    assert "labels left out: 20 beyond the draw, whose probabilities are unequal" in found.notes
    with pytest.raises(
        UsageError, match="rogan-gladen takes all labels as equally likely, and these were drawn un"
    ):
        correct(run, None, said, "rogan-gladen")
    drawn_items = {(item["sample"], item["claim_id"]) for item in uneven}
    elsewhere = [label for label in said if (label.sample, label.claim_id) not in drawn_items]
    found = correct(run, None, elsewhere)
    assert (found.equal, found.labeled, found.labels.undrawn) == (True, 20, 0)


def test_labels_of_other_claims_than_those_drawn_are_a_random_sample(run: Path) -> None:
    label_drawn(run, 5)
    said = labels("supported", "contradicted", "not_found", "not_found", samples=6)
    found = correct(run, None, said)
    assert (found.equal, found.method, found.labeled) == (True, "ppi++", 24)


def test_a_stratified_draw_is_corrected_by_the_words_of_the_scale(tmp_path: Path) -> None:
    """Ten claims are drawn of 30 supported, 40 partly supported and 10 not found; people find the
    partly supported ones supported too: 70 of 80. With the two kinds that do not count in one
    stratum, it would be 30/80 + 50/80 * 10/20.
    """
    says = {
        "It is so.": "support",
        "It is partly so.": "partial_support",
        "It is not so.": "not_support",
    }
    counts = {"It is so.": 30, "It is partly so.": 40, "It is not so.": 10}
    samples = [
        Sample(
            id=f"{text} {i}",
            question=f"{text} {i}",
            answer=text,
            contexts=(Document(id="1", text="It."),),
        )
        for text, count in counts.items()
        for i in range(count)
    ]
    run = make(
        tmp_path / "run",
        samples,
        {"strict": says},
        metrics=["faithfulness"],
        assess_prompt="partial",
        panel=Panel(scale=PARTIAL),
    )
    for item in ce.annotate(run, n=30, design="label"):
        assert isinstance(item, ClaimItem)
        item.label("not_found" if item.claim.text == "It is not so." else "supported")
    found = ce.correct(run)
    assert (found.method, found.labeled, found.equal) == ("weighted ppi++", 30, False)
    assert found.micro.judged.value == pytest.approx(30 / 80)
    assert found.micro.corrected.value == pytest.approx(70 / 80)


def test_undecided_labels_of_a_draw_are_counted(run: Path) -> None:
    claims = label_drawn(run, 10, answer_2="unsure")
    unsure = claims.count("answer-2")
    found = correct(run, None, labels_of(run, None, None))
    assert unsure > 0
    assert (found.labeled, found.labels.undecided) == (10 - unsure, unsure)
    assert ce.agreement(run).labels.undecided == unsure
