"""`claimeval relevance`, against a loopback judge."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import claimeval as ce
from benchmarks.loopback.judge import Body, Reply, text_of
from claimeval import ir
from claimeval.runs.directory import RunResults
from tests.cli.conftest import Run
from tests.conftest import StartServer
from tests.sample_runs import reasons, values

SAMPLES = [
    {
        "id": "q1",
        "question": "What is red?",
        "context_ids": ["a", "b"],
        "contexts": ["GRADE3 roses", "GRADE0 grass"],
    },
    {
        "id": "q2",
        "question": "What is wet?",
        "context_ids": ["c", "d"],
        "contexts": ["GRADE1 rain", "BROKEN"],
    },
]
CORPUS = [
    {"_id": "a", "text": "GRADE3"},
    {"_id": "b", "title": "GRADE0", "text": "x"},
    {"_id": "unused", "text": ""},
]
_DOCUMENT = re.compile(r'^(d\d+): "(?:B\\n)?(.*)"$', re.MULTILINE)


def answer(body: Body) -> Reply:
    """Grades a document by the number it holds; nonsense for one that says BROKEN."""
    documents = _DOCUMENT.findall(text_of(body).rpartition("<documents>")[2])
    if any("BROKEN" in text for _, text in documents):
        return Reply("I would say three.")
    found = [
        {"id": name, "reason": "by rule", "grade": int(text.partition("GRADE")[2][0])}
        for name, text in documents
    ]
    return Reply(json.dumps({"grades": found}))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return lines(tmp_path / "samples.jsonl", SAMPLES)


def lines(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_grades_are_qrels_that_rank_reads_and_a_failure_is_a_hole(
    claimeval: Run, data: Path, start_server: StartServer
) -> None:
    server = start_server(judge=answer)
    command = ("grade", data, "-j", f"openai:m@{server.url}", "-o", "out", "--max-missing", "0.5")
    done = claimeval(*command, "--json", OPENAI_API_KEY="k")
    shown = json.loads(done.stdout)
    assert shown["counts"] == {
        "pairs": 4,
        "graded": 3,
        "grades": {"0": 1, "1": 1, "3": 1},
        "unassessed": {"unparsable": 1},
    }
    here = data.parent / "here"
    assert (here / "out" / "qrels.txt").read_text() == "q1 0 a 3\nq1 0 b 0\nq2 0 c 1\n"
    first, second = RunResults.of(here / "out")
    assert first.assessments[0].verdicts[0].explanation == "by rule"
    lost = second.assessments[1]
    assert (lost.subject, lost.label, lost.unassessed) == ("d", None, "unparsable")
    assert [call.reply for call in second.calls if call.subjects == ("d",)] == [
        "I would say three."
    ] * 2

    # q1: grades 3 and 0 of which 3 is relevant: 1 of 2, first rank; q2: grade 1 and a hole that is
    # relevant or not
    samples = shown["metrics"]
    assert samples["context_relevance"]["mean"] == 0.5
    assert samples["context_relevance"]["bounds"] == [(0.5 + 0) / 2, (0.5 + 0.5) / 2]
    assert samples["context_precision_ap"]["mean"] == 1.0
    assert samples["context_precision_ap"]["bounds"] == [(1 + 0) / 2, (1 + 0.5) / 2]
    assert samples["context_grade"]["mean"] == 1.5
    assert samples["context_grade"]["missing"] == {"unparsable": 1}

    asked = len(server.exchanges())
    before = (here / "out" / "results.jsonl").read_text()
    again = claimeval(*command, OPENAI_API_KEY="k")
    assert "1 unparsable" in again.stdout
    assert len(server.exchanges()) == asked == 5
    assert (here / "out" / "results.jsonl").read_text() == before

    (here / "my.run").write_text("q1 Q0 b 1 2.0 t\nq1 Q0 a 2 1.0 t\nq2 Q0 c 1 1.0 t\n")
    # the scale is relevant from 2, as in context_relevance: a (3) at rank 2 and nothing for q2;
    # from 1 on c counts too
    ranked = claimeval("rank", "out/qrels.txt", "my.run", "-m", "mrr")
    assert "0.2500" in ranked.stdout
    assert "grades reach 3, relevant from 2 on (-l)" in ranked.stdout
    assert "Rank by them: claimeval rank out/qrels.txt YOUR.run -l 2" in again.stdout
    assert (
        claimeval("rank", "out/qrels.txt", "my.run", "-m", "mrr", "-l", "2").stdout == ranked.stdout
    )
    loose = claimeval("rank", "out/qrels.txt", "my.run", "-m", "mrr", "-l", "1").stdout
    assert "0.7500" in loose
    assert "relevant from 1 on" in loose
    as_trec_eval = claimeval("rank", "out/qrels.txt", "my.run", "-m", "recip_rank", "--trec")
    assert "0.7500" in as_trec_eval.stdout
    assert "relevant from 1 on" in as_trec_eval.stderr
    (here / "copy.txt").write_text((here / "out" / "qrels.txt").read_text())
    assert "relevant from 1 on" in claimeval("rank", "copy.txt", "my.run", "-m", "mrr").stdout
    counts = json.loads(claimeval("rank", "out/qrels.txt", "my.run", "-m", "mrr", "--json").stdout)[
        "runs"
    ][0]["counts"]
    assert (counts["level"], counts["highest_grade"]) == (2, 3)
    assert "relevant from" not in claimeval("rank", "out/qrels.txt", "my.run", "-m", "ndcg").stdout


def test_grades_of_which_none_is_left_make_no_qrels(
    claimeval: Run, tmp_path: Path, start_server: StartServer
) -> None:
    server = start_server(judge=answer)
    rows = [{"id": "q", "question": "What?", "contexts": ["BROKEN one", "BROKEN two"]}]
    data = lines(tmp_path / "broken.jsonl", rows)
    done = claimeval(
        "grade", data, "-j", f"openai:m@{server.url}", "-o", "out", "--max-missing", "1"
    )
    assert "no pair was graded, so there is no qrels.txt" in done.stderr
    assert "Grades:" not in done.stdout
    assert sorted(
        path.name for path in (tmp_path / "here" / "out").iterdir() if path.is_file()
    ) == [
        "manifest.json",
        "replies.jsonl.gz",
        "report.html",
        "results.jsonl",
        "summary.json",
    ]


def test_recorded_grades_off_the_scale_are_refused_counted_and_in_no_qrels(
    claimeval: Run, tmp_path: Path
) -> None:
    rows = [
        ("q1", "a", 3, 3),
        ("q1", "b", 0, 0),
        ("q2", "c", 2, 10),
        ("q2", "d", 1, 1),
        ("q3", "e", 0, -1),
    ]
    table = [
        {"query_id": q, "doc_id": d, "human": people, "grades": {"m": said}}
        for q, d, people, said in rows
    ]
    judged = lines(tmp_path / "judged.jsonl", table)
    command = ("agreement", judged, "--labels", judged, "--out", "out")
    done = claimeval(*command)
    assert "m: 2 refused, off the scale 0 to 3 (q2 c: 10, q3 e: -1)" in done.stdout
    assert "Rank by them: claimeval rank out/m.qrels YOUR.run -l 2" in done.stdout
    assert (tmp_path / "here" / "out" / "m.qrels").read_text() == "q1 0 a 3\nq1 0 b 0\nq2 0 d 1\n"
    found = json.loads(claimeval(*command, "--json").stdout)["assessors"]["m"]
    # the three grades that are left agree exactly, and the two refused are unassessed
    assert (
        found["pairs"],
        found["unassessed"],
        found["exact"]["value"],
        found["kappa_quadratic"]["value"],
    ) == (
        3,
        2,
        1,
        1,
    )
    assert found["refused"][0] == {"query": "q2", "document": "c", "grade": 10}
    none = lines(tmp_path / "none.jsonl", [{"query_id": "q1", "doc_id": "a", "grade": 7}])
    refused = claimeval("agreement", none, "--labels", judged, exits=2)
    assert "give another --scale" in refused.stderr


def test_context_relevance_stands_beside_the_scores_of_a_run(
    claimeval: Run, data: Path, start_server: StartServer
) -> None:
    server = start_server(judge=answer)
    answered = lines(data, [{**row, "answer": "It is."} for row in SAMPLES])
    claimeval("score", answered, "-j", "local:lexical", "-m", "faithfulness", "-o", "run")
    command = ("grade", "run", "-j", f"openai:m@{server.url}", "--max-missing", "0.5")
    done = claimeval(*command)
    assert "context_precision_ap" in done.stdout
    run = data.parent / "here" / "run"
    assert (run / "grade" / "qrels.txt").read_text() == "q1 0 a 3\nq1 0 b 0\nq2 0 c 1\n"
    first, second = RunResults.of(run / "grade")
    assert values(first) == {
        "context_relevance": 0.5,
        "context_precision_ap": 1.0,
        "context_grade": 1.5,
    }
    assert reasons(second)["context_precision_ap"] == "unparsable"
    assert {name: score.bounds for name, score in second.scores.items()}["context_grade"] == (
        0.5,
        2.0,
    )


def test_a_lost_share_over_the_gate_exits_with_one(
    claimeval: Run, data: Path, start_server: StartServer
) -> None:
    server = start_server(judge=answer)
    done = claimeval(
        "grade", data, "-j", f"openai:m@{server.url}", "-o", "out", OPENAI_API_KEY="k", exits=1
    )
    assert "25.0% of the pairs were lost" in done.stderr


def test_a_cap_stops_resumably_and_leaves_no_qrels(
    claimeval: Run, data: Path, start_server: StartServer
) -> None:
    server = start_server(judge=answer)
    command = ("grade", data, "-j", f"openai:m@{server.url}", "-o", "out", "--max-missing", "1")
    stopped = claimeval(*command, "--max-calls", "2", OPENAI_API_KEY="k", exits=3)
    assert "Budget reached" in stopped.stderr
    assert not (data.parent / "here" / "out" / "qrels.txt").exists()
    claimeval(*command, OPENAI_API_KEY="k")
    assert len(server.exchanges()) == 5


def test_a_pool_of_runs_over_a_corpus_is_graded_and_held_against_people(
    claimeval: Run, tmp_path: Path, start_server: StartServer
) -> None:
    server = start_server(judge=answer)
    corpus = lines(tmp_path / "corpus.jsonl", CORPUS)
    (tmp_path / "queries.tsv").write_text("q1\tWhat is red?\n")
    (tmp_path / "one.run").write_text("q1 Q0 a 1 2.0 t\nq1 Q0 b 2 1.0 t\n")
    (tmp_path / "two.run").write_text("q1 Q0 b 1 2.0 t\nq1 Q0 gone 2 1.5 t\nq1 Q0 a 3 1.0 t\n")
    (tmp_path / "human.txt").write_text("q1 0 a 3\nq1 0 b 1\n")
    done = claimeval(
        *("grade", tmp_path / "queries.tsv", "--corpus", corpus, "--qrels", tmp_path / "human.txt"),
        *("--trec-run", tmp_path / "one.run", "--trec-run", tmp_path / "two.run", "-m", "mrr"),
        *("-j", f"openai:m@{server.url}", "-o", "out", "--json"),
        OPENAI_API_KEY="k",
    )
    assert "1 of 3 pairs have no text" in done.stderr
    shown = json.loads(done.stdout)
    assert shown["counts"]["unassessed"] == {"missing_input": 1}
    (held,) = shown["against_people"].values()
    assert held["pairs"] == 2
    assert held["kappa_binary"]["value"] == 1.0
    assert held["orders"][0]["tau"] == 1.0
    runs = (tmp_path / "one.run", tmp_path / "two.run")
    in_python = ce.agreement(
        tmp_path / "here" / "out", tmp_path / "human.txt", trec_runs=runs, measures="mrr"
    )
    (report,) = in_python.assessors.values()
    assert report.model_dump(mode="json", exclude={"steps", "refused"}) == held
    assert (
        "against people" in claimeval("agreement", "out", "--labels", tmp_path / "human.txt").stdout
    )
    refused = claimeval(
        "agreement", "out", "--labels", tmp_path / "human.txt", "--by", "metadata.x", exits=2
    )
    assert "by: not for grades of a run, which take trec_runs" in refused.stderr
    assert ir.read_qrels(tmp_path / "here" / "out" / "qrels.txt") == {"q1": {"a": 3, "b": 0}}


def test_grades_that_are_there_are_compared_without_a_call(claimeval: Run, tmp_path: Path) -> None:
    (tmp_path / "human.txt").write_text("q 0 a 3\nq 0 b 0\nq 0 c 1\n")
    (tmp_path / "same.txt").write_text("q 0 a 3\nq 0 b 0\nq 0 c 1\n")
    (tmp_path / "other.txt").write_text("q 0 a 0\nq 0 b 3\n")
    done = claimeval(
        *("agreement", tmp_path / "same.txt", tmp_path / "other.txt"),
        *("--labels", tmp_path / "human.txt", "--json"),
    )
    shown = json.loads(done.stdout)["assessors"]
    assert shown["same.txt"]["kappa"]["value"] == 1.0
    assert (shown["other.txt"]["unassessed"], shown["other.txt"]["kappa_binary"]["value"]) == (
        1,
        -1.0,
    )


def test_grades_of_people_that_fit_nothing_are_said_before_any_call(
    claimeval: Run, data: Path, start_server: StartServer
) -> None:
    server = start_server(judge=answer)
    human = data.parent / "human.txt"
    for text, words in (
        ("q9 0 z 1\n", "people graded none of these pairs"),
        ("q1 0 a 2000\n", "2000 is no grade"),
    ):
        human.write_text(text)
        done = claimeval(
            "grade",
            data,
            "-j",
            f"openai:m@{server.url}",
            "--qrels",
            human,
            OPENAI_API_KEY="k",
            exits=2,
        )
        assert words in done.stderr
    assert not server.exchanges()


def test_other_settings_do_not_go_over_an_earlier_grading(
    claimeval: Run, data: Path, start_server: StartServer
) -> None:
    command = (
        "grade",
        data,
        "-j",
        f"openai:m@{start_server(judge=answer).url}",
        "-o",
        "out",
        "--max-missing",
        "1",
    )
    claimeval(*command, OPENAI_API_KEY="k")
    done = claimeval(*command, "--prompt", "plain", OPENAI_API_KEY="k", exits=2)
    assert "a run with other questions" in done.stderr
    claimeval(*command, "--prompt", "plain", "--overwrite", OPENAI_API_KEY="k")
