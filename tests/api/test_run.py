"""A `Run`: metrics by name, results from disk, gates, slices, tables, reports, and what is in its
directory."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

import claimeval as ce
from benchmarks.loopback import ThreadHandle, claim_judge
from benchmarks.loopback.judge import Body, Reply, text_of
from claimeval.api.run import Run
from claimeval.runs.directory import RunResults
from claimeval.runs.slices import slices
from claimeval.testing import ScriptedJudge
from tests.api.test_claims import SAMPLES, spec
from tests.conftest import StartServer

TOPICS = [
    {**sample, "metadata": {"topic": topic}}
    for sample, topic in zip(SAMPLES, ("a", "b", "b"), strict=True)
]


@pytest.fixture
def run(start_server: StartServer) -> Run:
    return ce.score(
        TOPICS, judges=spec(start_server(judge=claim_judge.answer)), metrics="faithfulness,coverage"
    )


def test_a_metric_is_had_by_name_and_a_typo_names_the_nearest(run: Run) -> None:
    assert run["faithfulness"].mean == 0.75
    assert run["groundedness"] is run["faithfulness"], "names of other tools are understood"
    assert run.summary["groundedness"].mean == 0.75
    for metrics in (run, run.summary):
        with pytest.raises(KeyError, match="Did you mean 'faithfulness'"):
            metrics["faithfullness"]


def test_a_metric_is_shown_on_one_line(run: Run) -> None:
    # Two of three samples have a value of faithfulness, 1 and 0.5; the answer of the third is
    # empty.
    shown = repr(run["faithfulness"])
    assert re.fullmatch(r"<MetricSummary 0\.75, \d\.\d\d to \d\.\d\d, n 2, missing 1>", shown)
    assert f"{run['faithfulness']}" == shown
    nobody = ce.score(SAMPLES[2:], judges="local:lexical", metrics="faithfulness")
    assert repr(nobody["faithfulness"]) == "<MetricSummary undefined (no_claims), n 0, missing 1>"


def test_calls_tokens_and_cost_are_told_by_judge_and_step(run: Run) -> None:
    assert run.record.cost is not None
    by = {(one.judge, one.step): one.cost for one in run.record.cost.by}
    assert {step: cost.calls for (_, step), cost in by.items()} == {
        "extract": 5,
        "assess": 4,
    }, "nobody is asked of the empty answer"
    assert sum(cost.prompt_tokens or 0 for cost in by.values()) == (
        run.cost and run.cost.prompt_tokens
    )
    assert {cost.dollars for cost in (*by.values(), run.cost) if cost} == {None}, (
        "nobody stated a price"
    )


def test_a_reason_for_missing_verdicts_comes_with_what_the_judge_replied(
    start_server: StartServer,
) -> None:
    """One reply to a question about claims is no JSON, and the claim that is MISSING is left out
    each time."""

    def judge(body: Body) -> Reply:
        reply = claim_judge.answer(body)
        return (
            Reply("I would rather not.")
            if "WRONG" in text_of(body) and "verdicts" in str(reply.content)
            else reply
        )

    with pytest.warns(UserWarning, match=r"unparsable|incomplete") as warned:
        run = ce.score(TOPICS, judges=spec(start_server(judge=judge)), metrics="faithfulness")
    lines = [str(one.message) for one in warned]
    assert any(
        line.startswith("unparsable: ") and "on bad: I would rather not." in line for line in lines
    ), lines
    example = run.record.failures["unparsable"]
    assert (example.sample, example.excerpt) == ("bad", "I would rather not.")


def test_a_run_is_a_sequence_of_results(run: Run) -> None:
    assert len(run) == 3
    assert [result.sample.id for result in run] == ["good", "bad", "silent"]
    assert [sample.id for sample in run.samples] == ["good", "bad", "silent"]
    assert run.samples[-1].id == "silent"
    assert (run.complete, run.path, run.job, dict(run.attached)) == (True, None, "score", {})


def test_results_on_disk_are_read_when_they_are_needed(
    run: Run, server: ThreadHandle, tmp_path: Path
) -> None:
    stored = ce.score(TOPICS, judges=spec(server), metrics=["faithfulness"], out=tmp_path / "run")
    assert isinstance(stored.results, RunResults)
    assert stored.path == tmp_path / "run"
    assert {path.name for path in stored.path.iterdir()} == {
        "manifest.json",
        "results.jsonl",
        "replies.jsonl.gz",
        "summary.json",
        "report.html",
    }
    assert stored.results[-1].sample.id == "silent"
    assert [result.sample.id for result in stored.results[1:]] == ["bad", "silent"]
    assert stored == Run.load(tmp_path / "run")
    with pytest.raises(ce.UsageError, match="other metrics"):
        ce.score(TOPICS, judges=spec(server), metrics=["coverage"], out=tmp_path / "run")
    again = ce.score(
        TOPICS, judges=spec(server), metrics=["coverage"], out=tmp_path / "run", overwrite=True
    )
    assert list(again.summary) == ["coverage"]


def test_a_folder_named_after_data_and_settings_is_the_same_for_the_same_call(
    server: ThreadHandle, tmp_path: Path
) -> None:
    out = f"{tmp_path}/runs/"
    first = ce.score(TOPICS, judges=spec(server), metrics=["faithfulness"], out=out)
    assert (
        first.path == ce.score(TOPICS, judges=spec(server), metrics=["faithfulness"], out=out).path
    )
    assert first.path != ce.score(TOPICS, judges=spec(server), metrics=["coverage"], out=out).path


def test_gates_hold_or_say_why_not(run: Run) -> None:
    held = run.gate(fail_under={"faithfulness": 0.75}, fail_over={"coverage": 0.5})
    assert [gate.outcome for gate in held] == ["passed", "passed"]
    failed = run.gate(fail_under={"faithfulness": 0.8}, fail_over={"coverage": 0.4})
    assert [(gate.outcome, gate.says) for gate in failed] == [
        ("failed", "faithfulness is 0.75, below 0.8"),
        ("failed", "coverage is 0.50, above 0.4"),
    ]
    with pytest.raises(ce.UsageError, match="unknown metric in the gate correctness"):
        run.gate(fail_under={"correctness": 0.5})
    with pytest.raises(ce.UsageError, match="from 0 to 1"):
        run.gate(fail_under={"faithfulness": 75})
    with pytest.raises(ce.UsageError, match="max_missing"):
        run.gate(max_missing=2)


def test_an_undefined_mean_fails_its_gate(server: ThreadHandle) -> None:
    silent = ce.score(SAMPLES[2:], judges=spec(server), metrics="faithfulness")
    (gate,) = silent.gate(fail_under={"faithfulness": 0})
    assert (gate.failed, gate.says) == (True, "faithfulness is undefined, below 0")
    with pytest.raises(AssertionError, match="undefined"):
        silent.assert_at_least(faithfulness=0)


def test_an_assertion_on_ratings_names_the_answers_and_why() -> None:
    def rated(prompt: str) -> str:
        is_bad = "It is red." in prompt
        if "noncommittal" in prompt:
            rating = {"reason": "Nothing is given.", "noncommittal": False}
            return json.dumps({**rating, "rating": "no" if is_bad else "fully"})
        return json.dumps({"reason": "No color is named.", "rating": "no" if is_bad else "yes"})

    rows = [
        {"id": "a", "question": "How high?", "answer": "58 m.", "contexts": ["58 m."]},
        {"id": "b", "question": "How old?", "answer": "It is red.", "contexts": ["58 m."]},
    ]
    run = ce.rate(rows, judges=ScriptedJudge(reply=rated), ask="relevance,faithfulness")
    with pytest.raises(AssertionError) as failed:
        run.assert_at_least(rated_faithfulness=0.9)
    assert str(failed.value).splitlines()[2:] == [
        "b: rated_faithfulness no: It is red.",
        "    No color is named.",
    ]
    assert run.worst_claims() == [
        "b: rated_relevance no, rated_faithfulness no: It is red.\n    Nothing is given."
    ]


def test_an_assertion_has_interval_counts_and_the_worst_claims(run: Run) -> None:
    run.assert_at_least(faithfulness=0.7)
    with pytest.raises(AssertionError) as failed:
        run.assert_at_least(faithfulness=0.9)
    text = str(failed.value)
    assert text.startswith("faithfulness is 0.75, below 0.9\nfaithfulness: 95% interval ")
    assert "n 2, 1 no_claims" in text
    assert "bad: contradicted: The WRONG king paid." in text


def test_an_assertion_shows_claims_found_wrong_before_those_nobody_could_judge() -> None:
    contexts = ["The tower is 58 metres high."]
    judge = ScriptedJudge(
        {"The tower is old.": "unsure", "The tower is red.": "contradicted"}, default="not_found"
    )
    doubtful = {
        "id": "doubtful",
        "question": "?",
        "answer": "The tower is old. It is of wood.",
        "contexts": contexts,
    }
    wrong = {
        "id": "wrong",
        "question": "??",
        "answer": "The tower is red. " + contexts[0],
        "contexts": contexts,
    }
    run = ce.score([doubtful, wrong], judges=[judge], metrics="faithfulness")
    assert [" ".join(text.split()[:2]) for text in run.worst_claims()] == [
        "wrong: contradicted:",
        "doubtful: not_found:",
        "wrong: not_found:",
        "doubtful: unassessed",
    ]
    with pytest.raises(AssertionError, match=r"bounds 0\.00 to 1\.00, n 2"):
        run.assert_at_least(faithfulness=0.9)


def test_slices_add_up_to_the_loss(run: Run) -> None:
    slices = run.by("metadata.topic", metrics="faithfulness")
    assert [
        (row.value, row.samples, row.estimate.n, row.estimate.value, row.contribution)
        for row in slices
    ] == [
        ("b", 2, 1, 0.5, 0.25),
        ("a", 1, 1, 1.0, 0.0),
    ]
    assert list(run.by("topic").to_pandas().columns)[:2] == ["topic", "metric"]
    with pytest.raises(ce.UsageError, match=r"metadata\.topic"):
        run.by("metadata.topik")
    with pytest.raises(KeyError):
        run.by("topic", metrics="correctness")


def test_an_empty_value_and_none_are_one_slice(run: Run) -> None:
    topics: tuple[dict[str, object], ...] = ({}, {"topic": ""}, {"topic": "a"})
    results = [
        result.model_copy(
            update={"sample": result.sample.model_copy(update={"metadata": metadata})}
        )
        for result, metadata in zip(run.results, topics, strict=True)
    ]
    found = slices(results, "topic", {"faithfulness": run["faithfulness"]})
    assert [(row.value, row.samples) for row in found] == [(None, 2), ("a", 1)]
    assert {value: means["faithfulness"].n for value, means in found.by_value.items()} == {
        "": 2,
        "a": 0,
    }


def test_tables_have_a_row_a_sample_claim_verdict_or_call(run: Run) -> None:
    samples = run.to_pandas()
    assert list(samples.index) == ["good", "bad", "silent"]
    assert samples["faithfulness"].tolist()[:2] == [1.0, 0.5]
    claims = run.to_pandas("claims")
    assert set(claims.query("label == 'not_found'")["id"]) == {"bad", "silent"}
    verdicts = run.to_pandas("verdicts")
    assert len(verdicts) == len(claims) - 1, "an empty answer needs no judge"
    assert set(verdicts["label"]) == {"supported", "contradicted", "not_found"}
    assert len(run.to_pandas("calls")) == sum(len(result.calls) for result in run)


def test_reports_come_as_page_comment_table_and_json(run: Run, tmp_path: Path) -> None:
    page = run.report(tmp_path / "page.html")
    assert page == (tmp_path / "page.html").read_text()
    assert "<html" in page
    assert "faithfulness" in run.report(format="md")
    assert run.report(tmp_path / "comment.MD").startswith("#")
    assert run.report(tmp_path / "table.csv").removeprefix("\ufeff").startswith("id,question,")
    assert run.report(tmp_path / "page.md", format="html") == page
    assert (
        json.loads(run.report(format="json"))["summary"]["metrics"]["faithfulness"]["mean"] == 0.75
    )
    rows = list(csv.DictReader(io.StringIO(run.report(format="csv", rows="claims"))))
    assert len(rows) == len(run.to_pandas("claims"))


def test_a_cap_gives_the_run_as_far_as_it_went(server: ThreadHandle, tmp_path: Path) -> None:
    with pytest.raises(ce.StoppedEarly, match="Budget reached") as stop:
        ce.score(
            SAMPLES,
            judges=spec(server),
            metrics="faithfulness",
            out=tmp_path / "run",
            options=ce.RunOptions(max_calls=2, concurrency=1),
        )
    run = stop.value.run
    assert isinstance(run, Run)
    assert (run.complete, run.path, len(run) < 3) == (False, tmp_path / "run", True)


def test_data_may_be_rows_of_any_shape(server: ThreadHandle, tmp_path: Path) -> None:
    import dataclasses

    import pandas

    @dataclasses.dataclass
    class Row:
        question: str
        draft: str
        contexts: list[str]

    row = Row("How high?", "It is 63 metres high.", ["63 metres"])
    columns = {name: [value] for name, value in dataclasses.asdict(row).items()}
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(dataclasses.asdict(row)) + "\n")
    shapes = [
        file,
        [row],
        dataclasses.asdict(row),
        [dataclasses.asdict(row)],
        columns,
        pandas.DataFrame(columns),
    ]
    shapes += [
        pandas.DataFrame(columns).iloc[0],
        {**dataclasses.asdict(row), "draft": row.draft.encode()},
    ]
    for shape in shapes:
        (sample,) = ce.read_samples(shape, mapping={"answer": "draft"})
        assert (sample.answer, [document.text for document in sample.contexts or ()]) == (
            row.draft,
            row.contexts,
        )
    run = ce.score(
        columns, judges=spec(server), metrics="faithfulness", mapping={"answer": "draft"}
    )
    assert [s.question for s in ce.read_samples(run)] == ["How high?"]
    assert len(list(ce.read_samples(SAMPLES, limit=2))) == 2
    with pytest.raises(ce.UsageError, match="data: int"):
        list(ce.read_samples(3))  # type: ignore[arg-type]  # what a caller without types may give
