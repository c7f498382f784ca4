"""Samples that belong together are drawn together, in every command that has an interval or a
test."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from claimeval.data.labels import HumanLabel
from claimeval.evaluation.raters import compare_ratings
from claimeval.evaluation.validity import validity
from claimeval.metrics.scoring import MetricTally
from claimeval.runs import directory
from claimeval.runs.agreement import measure
from claimeval.runs.compare import compare
from claimeval.runs.correct import correct
from claimeval.runs.directory import RunResults, load_manifest, load_summary
from claimeval.runs.labels import join
from claimeval.runs.series import track
from claimeval.statistics import mean_interval, paired_difference
from claimeval.types.clusters import check_cluster, cluster_of, sample_count
from claimeval.types.errors import UsageError
from claimeval.types.records import Document, Sample, SampleResult, Score, Turn
from claimeval.types.scales import BINARY_RELEVANCE
from tests import sample_runs
from tests.report.runs import make

VALUES = [1.0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0]
QUESTIONS = [i // 2 for i in range(14)]


def answers(values: Iterable[float], *, apart: bool = False) -> list[Sample]:
    """Two answers to a question each, of one claim that is right or wrong."""
    return [
        Sample(
            id=f"s{i}",
            question=(
                f"How tall is\ntower  {i if apart else i // 2}?"
                if i % 2
                else f"How tall is tower {i // 2}?"
            ),
            answer="Right." if value else "Wrong.",
            contexts=(Document(id="c", text="Right."),),
            metadata={"shop": "a" if i < 6 else "b"},
        )
        for i, value in enumerate(values)
    ]


def scored(folder: Path, values: Iterable[float], *, apart: bool = False) -> Path:
    says = {"strict": {"Right.": "supported", "Wrong.": "not_found"}}
    return make(folder, answers(values, apart=apart), says=says, metrics=["faithfulness"])


def test_the_same_question_belongs_together_whatever_its_white_space() -> None:
    one = Sample(id="1", question="Who  paid?\n")
    other = Sample(id="2", question=" Who paid?")
    assert cluster_of(one) == cluster_of(other) != cluster_of(Sample(id="3", question="who paid?"))


def test_the_same_question_belongs_together_in_both_unicode_forms() -> None:
    """An e with an acute accent as one character, and as two."""
    composed = Sample(id="1", question="Caf\u00e9?")
    decomposed = Sample(id="2", question="Cafe\u0301?")
    assert (
        cluster_of(composed)
        == cluster_of(decomposed)
        != cluster_of(Sample(id="3", question="Cafe?"))
    )


def test_without_a_question_or_a_value_a_sample_belongs_to_no_other() -> None:
    bare = [Sample(id=str(i), question=" ") for i in range(3)]
    assert len({cluster_of(sample) for sample in bare}) == 3
    assert len({cluster_of(sample, "topic") for sample in bare}) == 3


def test_a_field_or_a_name_of_the_metadata_can_stand_for_the_question() -> None:
    samples = [
        Sample(id=str(i), question=str(i), generator="a:b", metadata={"topic": [i % 2]})
        for i in range(4)
    ]
    assert len({cluster_of(sample, "generator") for sample in samples}) == 1
    assert len({cluster_of(sample, "topic") for sample in samples}) == 2


def test_a_name_that_no_sample_has_is_refused_with_those_there_are() -> None:
    samples = [Sample(id="1", question="q", metadata={"topic": "x"})]
    check_cluster("topic", samples)
    check_cluster("generator", samples)
    with pytest.raises(UsageError, match=r"topics.*topic"):
        check_cluster("topics", samples)


def test_questions_are_counted_in_words_only_where_they_are_fewer() -> None:
    assert sample_count(685, 144, None) == "685 samples, 144 questions"
    assert sample_count(144, 144, None) == "144 samples"
    assert sample_count(1, 1, None) == "1 sample"
    assert sample_count(3000, 1200, None) == "3,000 samples, 1,200 questions"
    assert sample_count(9, 3, "topic") == "9 samples, 3 clusters by topic"


def test_a_tally_draws_questions_and_counts_them() -> None:
    tally = MetricTally()
    for value, question in zip(VALUES, QUESTIONS, strict=True):
        tally.add(Score.share(value, hits=int(value), judged=1, total=1), [], 0, cluster=question)
    found = tally.summary()
    by_hand = mean_interval(VALUES, clusters=QUESTIONS)
    assert (
        found.reported
        == (by_hand.low, by_hand.high)
        != (mean_interval(VALUES).low, mean_interval(VALUES).high)
    )
    assert (found.n, found.clusters) == (14, 7)


def test_where_every_question_has_one_answer_nothing_changes(tmp_path: Path) -> None:
    samples = [s.model_copy(update={"question": s.id}) for s in answers(VALUES)]
    says = {"strict": {"Right.": "supported", "Wrong.": "not_found"}}
    found = load_summary(make(tmp_path / "run", samples, says=says, metrics=["faithfulness"]))
    alone = mean_interval(VALUES)
    assert found["faithfulness"].reported == (alone.low, alone.high)
    assert (found.samples, found.clusters) == (14, 14)


def test_a_run_says_how_many_questions_it_has(tmp_path: Path) -> None:
    found = load_summary(scored(tmp_path / "run", VALUES))
    by_hand = mean_interval(VALUES, clusters=QUESTIONS)
    assert (found.samples, found.clusters, found["faithfulness"].clusters) == (14, 7, 7)
    assert found["faithfulness"].reported == (by_hand.low, by_hand.high)


def test_compare_and_track_flip_whole_questions(tmp_path: Path) -> None:
    """Differences by question 0, -1, 0, -1, 0, -1, 0 (sums): three of one sign, p = 2 / 2^3 =
    .25."""
    other = [1.0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0]
    a = scored(tmp_path / "a", VALUES)
    b = scored(tmp_path / "b", other)
    found = compare(a, b).comparison
    by_hand = paired_difference(other, VALUES, clusters=QUESTIONS)
    (metric,) = found.metrics
    assert (found.shared, found.clusters, metric.clusters) == (14, 7, 7)
    assert metric.p == pytest.approx(0.25)
    assert metric.difference.low == by_hand.low
    (change,) = track([a, b]).tracks[0].changes
    assert change.p == pytest.approx(0.25)
    assert (change.difference.clusters, change.difference.low) == (7, by_hand.low)
    shops = compare(a, b, cluster="shop").comparison
    assert (shops.clusters, shops.cluster) == (2, "shop")


def test_agreement_and_correction_draw_questions(tmp_path: Path) -> None:
    run = scored(tmp_path / "run", VALUES)
    labels = [
        HumanLabel(
            sample=f"s{i}",
            text="Right." if value else "Wrong.",
            label="supported" if i % 3 else "not_found",
        )
        for i, value in enumerate(VALUES)
    ]
    manifest = load_manifest(run)
    report = measure(join(RunResults.of(run), ["strict"], manifest.panel, labels), manifest.panel)
    same = [float((i % 3 > 0) == bool(value)) for i, value in enumerate(VALUES)]
    by_hand = mean_interval(same, clusters=QUESTIONS)
    assert report.questions == 7
    assert report.raters[0].accuracy.reported == (by_hand.low, by_hand.high)
    judge = mean_interval(VALUES, clusters=QUESTIONS)
    found = correct(run, None, labels)
    assert (found.micro.judged.low, found.micro.judged.high) == (judge.low, judge.high)


def test_side_scores_keep_what_their_samples_belong_to(tmp_path: Path) -> None:
    rows = [sample_runs.scored({"words": value}) for value in VALUES]
    samples = answers(VALUES)
    kept = [SampleResult.of(sample, scores=row) for sample, row in zip(samples, rows, strict=True)]
    sample_runs.attach(tmp_path, "odd", kept, {"words": "share"})
    (found,) = directory.beside(tmp_path)
    by_hand = mean_interval(VALUES, clusters=QUESTIONS)
    assert (found.metrics["words"].reported, found.metrics["words"].clusters) == (
        (by_hand.low, by_hand.high),
        7,
    )
    again = [cluster_of(result.sample) for result in directory.RunResults.of(tmp_path / "odd")]
    assert again == [cluster_of(sample) for sample in answers(VALUES)]


def test_ratings_beside_claims_draw_questions() -> None:
    results = [
        SampleResult.of(s, scores={"faithfulness": Score.share(v, hits=int(v), judged=1, total=1)})
        for s, v in zip(answers(VALUES), VALUES, strict=True)
    ]
    rated = [
        SampleResult.of(s, scores={"rated_faithfulness": Score.share(v)})
        for s, v in zip(answers(VALUES), VALUES, strict=True)
    ]
    (found,) = compare_ratings(results, rated)
    by_hand = mean_interval(VALUES, clusters=QUESTIONS)
    assert (found.whole.low, found.whole.high) == (by_hand.low, by_hand.high)


def test_summary_json_holds_the_clusters_beside_n(tmp_path: Path) -> None:
    content = json.loads((scored(tmp_path / "run", VALUES) / "summary.json").read_text())
    assert (content["clusters"], content["metrics"]["faithfulness"]["clusters"]) == (7, 7)


def test_grades_are_held_to_people_by_question() -> None:
    """Queries 2i and 2i+1 have one text: the six of twelve pairs that differ stand in six
    clusters."""
    human = {f"q{i}": {"a": 1, "b": i % 2, "c": 0} for i in range(12)}
    assessor = {f"q{i}": {"a": 1, "b": (i // 2) % 2, "c": 0} for i in range(12)}
    alone = validity(assessor, human, BINARY_RELEVANCE)
    pairs = validity(
        assessor, human, BINARY_RELEVANCE, clusters={f"q{i}": i // 2 for i in range(12)}
    )
    same = [float(human[q][d] == assessor[q][d]) for q in human for d in human[q]]
    by_hand = mean_interval(same, clusters=[i // 2 for i in range(12) for _ in range(3)])
    assert alone.exact.value == pairs.exact.value == pytest.approx(30 / 36)
    assert (
        (pairs.exact.low, pairs.exact.high)
        == (by_hand.low, by_hand.high)
        != (alone.exact.low, alone.exact.high)
    )


def chats(greeting: str, count: int, **metadata: str) -> list[Sample]:
    """Conversations with one greeting each and another question."""
    return [
        Sample(
            id=f"c{i}",
            question=f"How tall is tower {i}?",
            history=(Turn(role="user", content=greeting), Turn(role="assistant", content="Hello!")),
            answer="Right.",
            contexts=(Document(id="c", text="Right."),),
            metadata={name: f"{value}{i}" for name, value in metadata.items()},
        )
        for i in range(count)
    ]


def test_conversations_that_only_begin_alike_are_counted_in_a_note(tmp_path: Path) -> None:
    says = {"strict": {"Right.": "supported"}}
    alike = make(tmp_path / "a", chats("Hi", 12), says=says, metrics=["faithfulness"])
    summary = load_summary(alike)
    assert summary.clusters == 1
    assert any("12 conversations begin with the same words" in note for note in summary.notes)


def test_named_conversations_and_turns_of_one_ask_for_no_note(tmp_path: Path) -> None:
    says = {"strict": {"Right.": "supported"}}
    named = chats("Hi", 4, conversation_id="x")
    first, second, *_ = chats("Who built it?", 2)
    reply = (Turn(role="user", content=first.question), Turn(role="assistant", content="Right."))
    later = second.model_copy(update={"history": (*first.history, *reply)})
    for number, samples in enumerate((named, [first, later])):
        run = make(tmp_path / str(number), samples, says=says, metrics=["faithfulness"])
        assert not any("begin with the same words" in note for note in load_summary(run).notes)
