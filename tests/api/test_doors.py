"""The doors without a judge: examine, draw, import, measure, agree, correct, annotate."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import claimeval as ce
from benchmarks.loopback import ThreadHandle
from claimeval.api.comparison import experiment
from claimeval.api.data import doctor, draw, import_replies
from claimeval.api.forecast import plan
from claimeval.api.measures import measure
from claimeval.api.people import agreement, annotate, correct
from claimeval.runs.annotation import ClaimAnnotation, DocumentAnnotation
from claimeval.testing import ScriptedJudge
from tests.api.test_claims import SAMPLES, spec
from tests.command_line import call


def test_a_plan_inside_a_running_loop_reads_the_reply_cache() -> None:
    """As in a notebook, where the work is done in another thread than the cell."""

    async def cell() -> tuple[int, int]:
        return plan(ce.score, SAMPLES, judges=ScriptedJudge(), metrics="faithfulness").calls

    ce.score(SAMPLES, judges=ScriptedJudge(), metrics="faithfulness")
    assert asyncio.run(cell()) == (0, 0)


def test_doctor_counts_what_is_missing_and_malformed(tmp_path: Path) -> None:
    file = tmp_path / "data.jsonl"
    file.write_text(json.dumps(SAMPLES[0]) + '\n{"answer": ["no text"]}\n')
    found = doctor(file)
    assert (found.samples, found.contexts, found.ok) == (1, (1, 1, 1), False)
    assert "line 2" in found.malformed[0]
    assert found.example is not None
    assert found.example.id == "good"
    assert found.has_inputs_for("faithfulness")
    rows = doctor([SAMPLES[0], {"answer": ["no text"]}], metrics="faithfulness")
    assert (rows.samples, len(rows.malformed), rows.malformed_rows) == (1, 1, 1)
    many = doctor([{"answer": ["x"]}] * 50)
    assert (many.samples, len(many.malformed), many.malformed_rows) == (0, 20, 50)
    assert doctor([{"answer": ["x"]}]).samples == 0
    lack = doctor([{"answer": "x"}, {"answer": "y"}]).no_question
    assert lack is not None
    assert (lack.count, lack.first) == (2, "1")
    with pytest.raises(ce.DataError):
        doctor(tmp_path / "none.jsonl")


def test_a_draw_says_where_rows_come_from(tmp_path: Path) -> None:
    log = [
        {"question": f"What is number {n}?", "topic": "odd" if n % 2 else "even"} for n in range(40)
    ]
    drawn = draw(log, n=10, seed=1, stratify="topic", min_per_stratum=5, out=tmp_path / "set.jsonl")
    assert len(drawn) == 10
    assert {row["drawn"]["stratum"] for row in drawn} == {"odd", "even"}
    assert [json.loads(line) for line in (tmp_path / "set.jsonl").read_text().splitlines()] == list(
        drawn
    )
    assert set(drawn.strata) == {"odd", "even"}
    with pytest.raises(ce.UsageError, match="unknown field of a log"):
        draw(log, mapping={"answer": "x"})


def test_results_of_another_tool_become_a_run(tmp_path: Path) -> None:
    file = tmp_path / "judged.jsonl"
    row = {
        "row": 1,
        "question": "How high?",
        "answer": "63 metres.",
        "human": "Yes",
        "gpt": "Yes, it is.",
    }
    file.write_text(json.dumps(row) + "\n")
    mapping = {
        "id": "row",
        "question": "question",
        "answer": "answer",
        "claim": "answer",
        "against": "reference",
        "judges": {"gpt-4": "gpt"},
        "forms": ["first_word"],
        "human_label": "human",
    }
    run = import_replies(file, mapping=mapping)
    assert (len(run), run.path) == (1, None)
    stored = import_replies(file, mapping=mapping, out=tmp_path / "run")
    assert stored == run
    assert json.loads((tmp_path / "run" / "import.json").read_text())["labels"] == 1
    assert agreement(stored).raters[0].accuracy.value == 1.0


def test_qrels_are_compared_as_by_the_command(tmp_path: Path) -> None:
    """Of four pairs that people graded, three have the same grade, one is off the scale, so
    unassessed."""
    judge = tmp_path / "judge.txt"
    people = tmp_path / "people.txt"
    judge.write_text("q1 0 a 3\nq1 0 b 0\nq2 0 a 1\nq2 0 b 10\n")
    people.write_text("q1 0 a 3\nq1 0 b 0\nq2 0 a 1\nq2 0 b 2\n")
    (report,) = agreement(judge, people).assessors.values()
    assert (report.pairs, report.unassessed, report.exact.value) == (3, 1, 1.0)
    assert [(grade.query, grade.document, grade.grade) for grade in report.refused] == [
        ("q2", "b", 10)
    ]
    done = call("agreement", judge, "--labels", people, "--json")
    assert json.loads(done.stdout)["assessors"] == {"judge.txt": report.model_dump(mode="json")}
    assert list(agreement([judge, people], people, scale="umbrela").assessors) == [
        "judge.txt",
        "people.txt",
    ]
    with pytest.raises(ce.UsageError, match="give these as labels"):
        agreement(judge)


def test_agreement_of_two_runs_says_how_to_join_them(tmp_path: Path) -> None:
    runs = [tmp_path / name for name in "ab"]
    for run in runs:
        ce.score(SAMPLES[:2], judges="local:lexical", metrics="faithfulness", out=run)
    with pytest.raises(
        ce.UsageError,
        match=r"one run, given .*a, .*b; .*rejudge RUN --judge OTHER --keep-verdicts ",
    ):
        agreement(runs)


def test_metrics_without_a_judge_are_a_run(tmp_path: Path) -> None:
    run = measure(SAMPLES[:2], "token_recall", out=tmp_path / "run")
    assert (run.job, run.path) == ("measure", tmp_path / "run")
    assert run["token_recall"].n == 2
    own = measure(SAMPLES[:2], {"words": lambda sample: len((sample.answer or "").split())})
    assert [result["words"].value for result in own] == [11.0, 14.0]
    with pytest.raises(ce.DataError, match="Duplicate sample id"):
        measure([SAMPLES[0], SAMPLES[0]], "token_recall")


def test_claims_are_labeled_in_python_and_correct_the_score(
    server: ThreadHandle, tmp_path: Path
) -> None:
    run = ce.score(SAMPLES, judges=spec(server), metrics="faithfulness", out=tmp_path / "run")
    labels = annotate(run, n=4, annotator="ana")
    assert isinstance(labels, ClaimAnnotation)
    for item in labels:
        assert item.documents
        item.label("supported" if "WRONG" not in item.claim.text else "contradicted")
    assert (labels.labeled, len(labels), list(labels)) == (4, 4, [])
    found = correct(run)
    assert found.labeled == 4
    assert agreement(run, labels.path).labels is not None
    with pytest.raises(ce.UsageError, match="unknown label"):
        next(iter(annotate(ce.Run.load(run.save(tmp_path / "copy")), n=2))).label("yes")
    with pytest.raises(ce.UsageError, match="save the run first"):
        annotate(run.in_memory())
    with pytest.raises(ce.UsageError, match="no labels yet"):
        correct(run.in_memory())


def test_documents_are_labeled_in_python(tmp_path: Path) -> None:
    labels = annotate(SAMPLES[:2], documents=True, out=tmp_path / "marks.qrels")
    assert isinstance(labels, DocumentAnnotation)
    for item in labels:
        item.label("good")
    assert labels.estimate.value == 1.0
    assert labels.labeled == len(labels) == 2
    with pytest.raises(ce.UsageError, match="are for claims"):
        annotate(SAMPLES, documents=True, metric="faithfulness")


def test_a_door_is_planned_without_a_call(server: ThreadHandle, tmp_path: Path) -> None:
    judge = spec(server)
    before = plan(ce.score, SAMPLES, judges=judge, metrics="faithfulness")
    assert (before.samples, before.calls[0] >= 2, before.judges_without_price) == (
        3,
        True,
        (judge,),
    )
    assert not server.exchanges()
    run = ce.score(SAMPLES, judges=judge, metrics="faithfulness")
    sent = len(server.exchanges())
    assert plan(ce.ascore, SAMPLES, judges=judge, metrics="faithfulness").calls == (0, 0)
    again = plan(ce.rejudge, run, assess_prompt="binary")
    assert again.calls == (2, 2), "the claims are those of the run"
    design = {
        "data": str(tmp_path / "d.jsonl"),
        "judges": judge,
        "grid": {"assess_prompt": ["three_way", "binary"]},
    }
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in SAMPLES))
    assert {line.judge.partition(":")[0] for line in plan(experiment, design).lines} == {
        "three_way",
        "binary",
    }
    assert plan(ce.rate, SAMPLES, judges=judge, ask="relevance").calls[1] >= 2
    assert plan(measure, SAMPLES, "token_recall").calls == (0, 0)
    assert len(server.exchanges()) == sent
    with pytest.raises(ce.UsageError, match="cannot be planned"):
        plan(doctor, SAMPLES)


@pytest.mark.parametrize(
    ("door", "words"),
    [
        (lambda file: agreement(file, file, by="topic"), "by: not for files of grades"),
        (
            lambda file: agreement(file, ratings=("a",), scale="binary", measures="mrr"),
            "scale, measures: not for tables of ratings, which take scores, ratings, pairs",
        ),
        (
            lambda file: agreement(file, ratings=("a",), evidence="contexts"),
            "evidence: not for tables of ratings",
        ),
        (lambda file: draw(file, n=0), "n: 0; it needs 1 or more"),
        (lambda file: draw(file, duplicate_threshold=101), "it needs 100 or less"),
        (lambda file: annotate(file, depth=0), "depth: 0; it needs 1 or more"),
        (
            lambda file: ce.write_queries(file, judge="local:lexical", per_document=0),
            "per_document: 0; it needs 1",
        ),
    ],
)
def test_doors_refuse_what_their_commands_refuse(
    door: Callable[[Path], object], words: str, tmp_path: Path
) -> None:
    (tmp_path / "data.jsonl").write_text("{}\n")
    with pytest.raises(ce.UsageError, match=words):
        door(tmp_path / "data.jsonl")
