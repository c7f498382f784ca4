"""The front doors of whole answers, relevance, retrieval and test sets, against loopback judges."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from benchmarks.loopback import ThreadHandle
from benchmarks.loopback.claim_judge import answer
from benchmarks.loopback.judge import Reply
from claimeval import ir
from claimeval.api.measures import measure
from claimeval.evaluation.grade import summarize_grades
from claimeval.evaluation.raters import compare_ratings
from claimeval.types.errors import DataError, StoppedEarly, UsageError
from claimeval.types.options import PanelOptions, RunOptions
from tests.conftest import StartServer
from tests.sample_runs import values

SAMPLES: list[Mapping[str, Any]] = [
    {
        "id": "good",
        "question": "How high is the tower?",
        "answer": "It is 63 metres high.",
        "contexts": ["GRADE3 tower", "GRADE0 lawn"],
        "context_ids": ["a", "b"],
        "reference_answers": ["63 metres"],
        "reference_contexts": ["The tower measures 63 metres."],
        "reference_context_ids": ["a"],
        "is_answerable": True,
    },
    {
        "id": "bad",
        "question": "Who built it?",
        "answer": "Nobody. The builder is WRONG.",
        "contexts": ["GRADE1 stones", "GRADE2 builder"],
        "context_ids": ["c", "d"],
        "reference_answers": ["Ada"],
    },
]


@pytest.fixture
def server(start_server: StartServer, monkeypatch: pytest.MonkeyPatch) -> ThreadHandle:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    return start_server(judge=answer)


def judge(server: ThreadHandle) -> list[str]:
    return [f"openai:m@{server.url}"]


def test_answers_are_rated_and_kept_beside_a_run(server: ThreadHandle, tmp_path: Path) -> None:
    report = ce.score(SAMPLES, judges=judge(server), metrics=["faithfulness"])
    report.save(tmp_path / "run")
    ratings = ce.rate(tmp_path / "run", judges=judge(server), out=tmp_path / "run" / "rate")
    assert [values(result) for result in ratings] == [
        {
            "rated_relevance": 1.0,
            "noncommittal": 0.0,
            "rated_faithfulness": 1.0,
            "rated_correctness": 1.0,
            "answered": 1.0,
            "abstention_accuracy": 1.0,
        },
        {
            "rated_relevance": 1.0,
            "noncommittal": 0.0,
            "rated_faithfulness": 0.0,
            "rated_correctness": 0.0,
            "answered": 1.0,
            "abstention_accuracy": None,
        },
    ]
    assert ratings["rated_faithfulness"].mean == 0.5
    run = ce.Run.load(tmp_path / "run")
    assert run.attached["rate"].summary == ratings.summary
    (baseline,) = compare_ratings(run.results, ratings.results)
    assert (baseline.agreement.value, baseline.apart) == (1.0, ())
    again = ce.rate(report, judges=judge(server), options=RunOptions(offline=True))
    assert again.summary == ratings.summary


@pytest.mark.parametrize(
    "door",
    [
        lambda judge, **keywords: ce.rate(SAMPLES, judges=judge, **keywords),
        lambda judge, **keywords: ce.grade(SAMPLES, judges=judge, **keywords),
        lambda judge, **keywords: ce.score(
            SAMPLES, judges=judge, panel=PanelOptions(vote="unanimous", replicates=2), **keywords
        ),
        lambda judge, **keywords: measure(SAMPLES, "mrr,rouge_l", **keywords),
    ],
    ids=["rate", "grade", "replicates", "measure"],
)
def test_a_run_in_memory_equals_the_one_on_disk(
    door: Callable[..., ce.Run], server: ThreadHandle, tmp_path: Path
) -> None:
    assert door(judge(server)) == door(judge(server), out=tmp_path / "run")


def test_ratings_of_several_questions_are_counted_again(server: ThreadHandle) -> None:
    run = ce.rate(SAMPLES, judges=judge(server))
    sent = len(server.exchanges())
    assert ce.rejudge(run, panel=PanelOptions(vote="mean")).summary == run.summary
    assert len(server.exchanges()) == sent
    with pytest.raises(UsageError, match="the run asks several questions"):
        ce.rejudge(run, assess_prompt="plain")


def test_only_what_is_asked_is_asked(server: ThreadHandle) -> None:
    ratings = ce.rate(SAMPLES, judges=judge(server), ask="correctness")
    assert list(ratings.summary) == ["rated_correctness"]
    assert len(server.exchanges()) == 2


def test_documents_are_graded_and_the_qrels_can_be_used_at_once(
    server: ThreadHandle, tmp_path: Path
) -> None:
    found = ce.grade(SAMPLES, judges=judge(server), out=tmp_path / "grades")
    assert found.qrels == {"good": {"a": 3, "b": 0}, "bad": {"c": 1, "d": 2}}
    assert ir.read_qrels(tmp_path / "grades" / "qrels.txt") == found.qrels
    assert [values(result)["context_precision_ap"] for result in found] == [1.0, 0.5]
    assert found["context_grade"].mean == 1.5
    assert found["context_grade"].unit == "grade 0 to 3"
    first = found.results[0].assessments[0]
    assert (first.subject, first.question, first.label) == ("a", "grade", "3")
    run = {"good": {"a": 2.0, "b": 1.0}, "bad": {"c": 2.0, "d": 1.0}}
    assert ir.evaluate(found.qrels, run, "mrr", level=2).mean["mrr"] == 0.75
    assert summarize_grades(found.results, found.manifest).counts.grades == {0: 1, 1: 1, 2: 1, 3: 1}


def test_documents_without_ids_match_no_id_by_accident(
    server: ThreadHandle, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    rows = [{**row, "context_ids": None} for row in SAMPLES]
    found = ce.grade(rows, judges=judge(server), out=tmp_path / "grades")
    named = {
        "good": {"good-rank-1": 3, "good-rank-2": 0},
        "bad": {"bad-rank-1": 1, "bad-rank-2": 2},
    }
    assert found.qrels == named == ir.read_qrels(tmp_path / "grades" / "qrels.txt")
    assert "4 of 4 documents have no ids" in caplog.text
    (tmp_path / "people.qrels").write_text("good 0 1 3\n")
    with pytest.raises(DataError, match="documents have no ids, so no grades of people"):
        ce.grade(rows, judges=judge(server), qrels=tmp_path / "people.qrels")
    sent = server.exchanges()
    assert len(sent) == 4, "the second run is refused before any call"


def test_a_pair_that_was_not_graded_is_unassessed_and_not_in_the_qrels(
    start_server: StartServer,
) -> None:
    server = start_server(judge=lambda body: Reply("no grade"))
    found = ce.grade([{**SAMPLES[0], "contexts": ["text", " "]}], judges=judge(server))
    assert found.qrels == {}
    (result,) = found
    assert [vote.unassessed for vote in result.assessments] == ["unparsable", "missing_input"]
    score = result["context_relevance"]
    assert (score.value, score.because, score.bounds) == (None, "unparsable", (0.0, 1.0))
    assert len(server.exchanges()) == 2, "a document without a text is not asked about"


def test_documents_of_a_pool_are_graded(server: ThreadHandle, tmp_path: Path) -> None:
    (tmp_path / "queries.tsv").write_text("q1\tHow high is the tower?\n")
    (tmp_path / "docs.jsonl").write_text(
        '{"id": "a", "text": "GRADE3 tower"}\n{"id": "b", "text": "GRADE0 lawn"}\n'
    )
    (tmp_path / "bm25.run").write_text("q1 Q0 b 1 2.0 r\nq1 Q0 a 2 1.0 r\nq1 Q0 z 3 0.5 r\n")
    corpus = tmp_path / "docs.jsonl"
    runs = [tmp_path / "bm25.run"]
    found = ce.grade(tmp_path / "queries.tsv", judges=judge(server), corpus=corpus, trec_runs=runs)
    assert found.qrels == {"q1": {"a": 3, "b": 0}}
    assert [vote.unassessed for vote in found.results[0].assessments] == [
        None,
        None,
        "missing_input",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("other 0 a 1\n", "people graded none of these pairs in .*human.txt"),
        ("good 0 a 2000\n", "2000 is no grade"),
    ],
)
def test_grades_by_people_that_fit_nothing_are_refused_before_any_call(
    server: ThreadHandle, tmp_path: Path, text: str, words: str
) -> None:
    (tmp_path / "human.txt").write_text(text)
    with pytest.raises(DataError, match=words):
        ce.grade(SAMPLES, judges=judge(server), qrels=tmp_path / "human.txt")
    assert not server.exchanges()


def test_contexts_are_matched_with_reference_contexts(start_server: StartServer) -> None:
    yes = '{"grades": [{"id": "d1", "reason": "r", "grade": 1}]}'
    other = start_server(judge=lambda body: Reply(yes))
    found = ce.grade(SAMPLES, judges=judge(other), against="reference_contexts", measures="mrr")
    assert found.results[0].details["matched"] == ["reference-1", "other-2"]
    assert found["mrr"].missing == {"missing_input": 1}
    assert [
        (str(vote.evidence), vote.subject, vote.question) for vote in found.results[0].assessments
    ] == [
        ("reference_contexts, document 1", "a", "match"),
        ("reference_contexts, document 1", "b", "match"),
    ]
    assert len(other.exchanges()) == 2
    assert measure(SAMPLES, "mrr")["mrr"].mean == 1.0
    assert measure(SAMPLES, "mrr", match="text")["mrr"].mean == 0.0


def test_refusals_are_told_from_answers(server: ThreadHandle) -> None:
    found = ce.rate(SAMPLES, judges=judge(server), ask=["abstention"])
    assert [values(result)["answered"] for result in found] == [1.0, 1.0]
    assert found["abstention_accuracy"].n == 1


def test_the_doors_work_inside_a_running_loop(server: ThreadHandle) -> None:
    async def inside() -> tuple[float | None, float | None]:
        blocking = ce.rate(SAMPLES, judges=judge(server), ask="correctness")
        awaited = await ce.arate(SAMPLES, judges=judge(server), ask="correctness")
        return blocking.summary["rated_correctness"].mean, awaited.summary["rated_correctness"].mean

    assert asyncio.run(inside()) == (0.5, 0.5)
    assert len(server.exchanges()) == 2


def test_a_cap_is_raised_and_a_higher_one_goes_on(server: ThreadHandle) -> None:
    with pytest.raises(StoppedEarly, match="Budget reached"):
        ce.grade(SAMPLES, judges=judge(server), options=RunOptions(max_calls=2, concurrency=1))
    options = RunOptions(max_calls=4, concurrency=1)
    assert ce.grade(SAMPLES, judges=judge(server), options=options).record.complete
    assert len(server.exchanges()) == 4


def test_wrong_options_are_refused_before_any_call(server: ThreadHandle) -> None:
    for door in (ce.rate, ce.grade):
        with pytest.raises(UsageError, match="a weighted vote needs a weight for every judge"):
            door(SAMPLES, judges=judge(server), panel=PanelOptions(vote="weighted"))
    with pytest.raises(UsageError, match="no judge named"):
        ce.rate(SAMPLES, judges=[])
    assert not server.exchanges()


def test_pandas_gets_a_row_a_sample(server: ThreadHandle) -> None:
    table = ce.rate(
        [*SAMPLES, {"id": "none", "question": "Q"}], judges=judge(server), ask="correctness"
    ).to_pandas()
    assert list(table.index) == ["good", "bad", "none"]
    assert table.loc["none", "rated_correctness_because"] == "missing_input"
    assert table.loc["good", "rated_correctness"] == 1.0


def test_queries_are_written_into_a_folder(start_server: StartServer, tmp_path: Path) -> None:
    text = "Rabbits live in warrens under the hill. They come out in the evening."
    written = {
        "questions": [
            {"question": "Where do rabbits live?", "answer": "In warrens.", "passage": text[:39]}
        ]
    }
    checked = {"reason": "", "answerable": True, "self_contained": True, "realistic": True}
    server = start_server(
        judge=lambda body: Reply(json.dumps(checked if "self_contained" in str(body) else written))
    )
    corpus = [ce.Document(id="d", text=text)]
    made = ce.write_queries(corpus, judge=judge(server)[0], out=tmp_path / "set")
    assert (made.job, made["kept_queries"].mean) == ("write_queries", 1.0)
    (sample,) = made.samples
    assert sample.question == "Where do rabbits live?"
    assert sample.reference_context_ids == ("d",)
    assert made.qrels == {sample.id: {"d": 1}}
    assert list(ce.read_samples(tmp_path / "set" / "queries.jsonl")) == [sample]
    assert list(ce.read_samples(made)) == [sample]
    assert ce.write_queries(corpus, judge=judge(server)[0]) == made
    assert ce.plan(ce.write_queries, corpus, judge=judge(server)[0]).calls == (0, 0)
