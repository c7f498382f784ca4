"""Scores corrected by human labels: the items that go in, and the numbers by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import claimeval as ce
from benchmarks.loopback import claim_judge
from claimeval.api.people import ClaimItem
from claimeval.data.labels import HumanLabel
from claimeval.judging.panel import Panel
from claimeval.runs.correct import correct, labels_of
from claimeval.statistics import prediction_powered
from claimeval.types.errors import UsageError
from claimeval.types.records import Document, Evidence, Label, Sample
from claimeval.types.scales import PARTIAL
from tests.api.test_claims import spec
from tests.conftest import StartServer
from tests.report.runs import make

CLAIMS = ["The tower is high.", "The WRONG king built it.", "It is old.", "A MISSING priest prayed."]


@pytest.fixture
def run(tmp_path: Path, start_server: StartServer) -> Path:
    """Ten samples of four claims, of which the judge supports two."""
    samples = [
        {"id": f"s{i}", "question": f"Tower {i}?", "answer": " ".join(CLAIMS), "contexts": ["x"]} for i in range(10)
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
    found = correct(run, None, said, "auto", 0)
    judge = [1.0, 0.0, 1.0, 0.0] * 10
    human = [1.0, 0.0, 0.0, 0.0] * 6 + [None] * 16
    expected = prediction_powered(judge, human, clusters=[f"s{i}" for i in range(10) for _ in range(4)])
    assert (found.items, found.labeled, found.method) == (40, 24, "ppi++")
    assert found.judged.value == 0.5
    assert found.people.value == 0.25
    assert found.corrected.value == pytest.approx(expected.corrected.value)
    assert (found.corrected.low, found.corrected.high) == (expected.corrected.low, expected.corrected.high)


def test_a_judge_that_people_agree_with_keeps_its_number(run: Path) -> None:
    said = labels("supported", "contradicted", "supported", "not_found", samples=5)
    found = correct(run, "faithfulness", said, "ppi", 0)
    assert found.corrected.value == pytest.approx(0.5)


def test_people_who_are_divided_count_as_no_label(run: Path) -> None:
    both = [*labels("supported", samples=4), *labels("not_found", samples=2)]
    assert correct(run, None, both, "ppi", 0).labeled == 2


def test_an_annotator_who_repeats_a_label_counts_once(run: Path) -> None:
    people: list[tuple[str, Label]] = [("a", "supported"), ("b", "not_found"), ("b", "not_found"), ("c", "supported")]
    said = [
        HumanLabel(sample=f"s{i}", claim_id="answer-2", label=label, annotator=who)
        for i in range(3)
        for who, label in people
    ]
    found = correct(run, None, said, "ppi", 0)
    assert (found.labeled, found.people.value) == (3, 1.0)  # two of three people; by rows it would be two against two
    assert (found.labels.conflicting, found.labels.differing, found.labels.divided) == (0, 3, 0)


def test_labels_of_whole_samples_correct_the_share_of_samples_with_every_claim_supported(
    tmp_path: Path, start_server: StartServer
) -> None:
    """The judge supports all claims of 6 of 10 answers; people call 4 answers right that it supports and 2 that not."""
    good, bad = CLAIMS[0], " ".join(CLAIMS[:2])
    samples = [
        {"id": f"s{i}", "question": f"Tower {i}?", "answer": good if i < 6 else bad, "contexts": ["x"]}
        | {"reference_answers": [good]}
        for i in range(10)
    ]
    judge = spec(start_server(judge=claim_judge.answer))
    ce.score(samples, judges=[judge], metrics=["faithfulness", "coverage"]).save(tmp_path / "run")
    yes = {0, 1, 2, 3, 6, 7}
    said = [HumanLabel(sample=f"s{i}", label="supported" if i in yes else "not_found") for i in range(10)]
    found = correct(tmp_path / "run", "faithfulness", said, "auto", 0)
    assert (found.unit, found.items, found.labeled, found.unmatched) == ("sample", 10, 10, 0)
    assert (found.judged.value, found.people.value) == (0.6, 0.6)
    with pytest.raises(UsageError, match="labels of whole samples are about the answer, and coverage is over claims"):
        correct(tmp_path / "run", "coverage", said, "auto", 0)


def test_labels_about_nothing_are_counted(run: Path) -> None:
    stray = HumanLabel(sample="nobody", claim_id="answer-1", label="supported")
    elsewhere = HumanLabel(sample="s1", claim_id="answer-1", evidence=Evidence(part="policy"), label="supported")
    found = correct(run, None, [*labels("supported"), stray, elsewhere], "ppi", 0)
    assert (found.labeled, found.unmatched) == (10, 2)
    with pytest.raises(UsageError, match="none of the labels is about a judged claim"):
        correct(run, None, [stray], "ppi", 0)


def test_rogan_gladen_takes_the_labels_as_coming_from_elsewhere(run: Path) -> None:
    said = labels("supported", "contradicted", "supported", "not_found", samples=5)
    found = correct(run, None, said, "rogan-gladen", 0)
    assert found.method == "rogan-gladen"
    assert found.corrected.value == pytest.approx(0.5)


def drawn_by_uncertainty(run: Path, n: int, annotator: str, **of_claim: str) -> list[str]:
    """Label the claims of a draw, "not_found" unless the claim is named, and return the ids of these claims."""
    annotation = ce.annotate(run, n=n, design="uncertainty", annotator=annotator)
    claims = [item.key[1] for item in annotation]
    for item in annotation:
        item.label(of_claim.get(item.key[1].replace("-", "_"), "not_found"))
    return claims


def test_a_claim_that_two_people_label_is_one_of_those_drawn_by_uncertainty(run: Path) -> None:
    """One judge is never unsure, so each of 40 claims is drawn with 10/40: the judge's .5, and (Y - F) / .25 / 40 for
    each of the ten, F 1 for claims 1 and 3, Y 1 for claim 1."""
    for annotator in ("ada", "ben"):
        claims = drawn_by_uncertainty(run, 10, annotator, answer_1="supported")
    found = correct(run, None, labels_of(run, None, None), "auto", 0)
    assert (found.method, found.labeled) == ("active", 10)
    assert found.corrected.value == pytest.approx(0.5 - claims.count("answer-3") / 10)
    assert found.people.value == pytest.approx(claims.count("answer-1") / 10)


def test_labels_of_other_claims_than_those_drawn_are_a_random_sample(run: Path) -> None:
    """Without the draw it would be the active estimate, for which the labels lack their probabilities."""
    drawn = drawn_by_uncertainty(run, 5, "")
    said = labels("supported", "contradicted", "not_found", "not_found", samples=6)
    assert len(said) > len(drawn)
    assert correct(run, None, said, "auto", 0) == correct(run, None, said, "ppi", 0)
    with pytest.raises(UsageError, match="--design uncertainty"):
        correct(run, None, said, "active", 0)


def test_a_stratified_draw_is_corrected_by_the_words_of_the_scale(tmp_path: Path) -> None:
    """Ten claims are drawn of 30 supported, 40 partly supported and 10 not found; people find the partly supported ones
    supported too: 70 of 80. With the two kinds that do not count in one stratum, it would be 30/80 + 50/80 * 10/20."""
    says = {"It is so.": "support", "It is partly so.": "partial_support", "It is not so.": "not_support"}
    counts = {"It is so.": 30, "It is partly so.": 40, "It is not so.": 10}
    samples = [
        Sample(id=f"{text} {i}", question=f"{text} {i}", answer=text, contexts=(Document(id="1", text="It."),))
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
    for item in ce.annotate(run, n=30, design="stratified"):
        assert isinstance(item, ClaimItem)
        item.label("not_found" if item.claim.text == "It is not so." else "supported")
    found = ce.correct(run)
    assert (found.method, found.labeled) == ("stratified ppi++", 30)
    assert found.judged.value == pytest.approx(30 / 80)
    assert found.corrected.value == pytest.approx(70 / 80)


def test_undecided_labels_of_a_draw_are_counted(run: Path) -> None:
    claims = drawn_by_uncertainty(run, 10, "", answer_2="unsure")
    unsure = claims.count("answer-2")
    found = correct(run, None, labels_of(run, None, None), "auto", 0)
    assert unsure > 0
    assert (found.labeled, found.labels.undecided) == (10 - unsure, unsure)
    assert ce.agreement(run).labels.undecided == unsure


def test_the_active_estimate_needs_a_draw_by_uncertainty(run: Path) -> None:
    with pytest.raises(UsageError, match="--design uncertainty"):
        correct(run, None, labels("supported"), "active", 0)
