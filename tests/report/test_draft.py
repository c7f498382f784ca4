"""The page that is made while judges are asked is the page that is made of the run directory."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import claimeval as ce
from benchmarks.loopback import Options, claim_judge
from benchmarks.loopback.judge import Body, Reply, text_of
from claimeval.report import page
from claimeval.report.page import PageDraft
from claimeval.runs.directory import RunResults, load_manifest
from claimeval.types.requests import ExtractTask, Message, Request
from tests.conftest import StartServer

SAMPLES = [
    {
        "id": f"s{n}",
        "question": f"What of case {n}?",
        "answer": f"Case {n} is old. Case {n} is red and MISSING. It is WRONG on day {n}.",
        "contexts": [f"Case {n} is old, and case {n} is red, as everybody in town says."],
        "reference_answers": [f"Case {n} is old."],
        "topic": "even" if n % 2 else "odd",
    }
    for n in range(12)
]


def judge(start_server: StartServer, **settings: object) -> ce.Judge:
    def answer(body: Body) -> Reply:
        """Leave a claim out now and then, so that it is asked about again."""
        reply = claim_judge.answer(body)
        text = text_of(body)
        if "<claims>" in text and "case 3?" in text and "c3: " in text:
            said = json.loads(str(reply.content))["verdicts"]
            if isinstance(said, dict):  # labels alone
                fewer: object = {name: label for name, label in said.items() if name != "c3"}
            else:
                fewer = said[:-1]
            return Reply(json.dumps({"verdicts": fewer}))
        return reply

    server = start_server(Options(), judge=answer)
    return ce.Judge.model_validate({"model": "openai:m", "endpoint": server.url, **settings})


def rendered(folder: Path) -> str:
    file = io.StringIO()
    page.render(file, folder)
    return file.getvalue()


RUNS: dict[str, dict[str, object]] = {
    "one metric": {"metrics": "faithfulness"},
    "several": {"metrics": "faithfulness,correctness,coverage"},
    "per document": {"metrics": "faithfulness", "per_document": True},
    "labels alone": {"metrics": "faithfulness", "reasons": "none", "quotes": "no"},
}


@pytest.mark.parametrize("name", RUNS)
def test_the_page_is_that_of_the_run_directory(
    start_server: StartServer, tmp_path: Path, name: str
) -> None:
    options = ce.RunOptions(cache=tmp_path / "cache")
    asked: dict[str, object] = {**RUNS[name], "options": options, "judges": judge(start_server)}
    first = ce.score(SAMPLES, out=tmp_path / "first", **asked)  # type: ignore[arg-type]
    again = ce.score(SAMPLES, out=tmp_path / "again", **asked)  # type: ignore[arg-type]
    for run in (first, again):
        assert all(one.label for result in run.results for one in result.assessments)
        assert run.path
        written = (run.path / "report.html").read_text()
        assert written == rendered(run.path)


def test_a_draft_of_the_results_and_requests_is_the_page(
    start_server: StartServer, tmp_path: Path
) -> None:
    options = ce.RunOptions(cache=tmp_path / "cache")
    ce.score(
        SAMPLES,
        judges=judge(start_server),
        metrics="faithfulness",
        options=options,
        out=tmp_path / "run",
    )
    manifest = load_manifest(tmp_path / "run")
    file = io.StringIO()
    with PageDraft(manifest) as draft:
        for result in RunResults.of(tmp_path / "run"):
            draft.add(result)
        assert draft.write(file, tmp_path / "run")
    assert file.getvalue() == rendered(tmp_path / "run")


def test_a_draft_of_other_samples_or_settings_is_not_written(
    start_server: StartServer, tmp_path: Path
) -> None:
    options = ce.RunOptions(cache=tmp_path / "cache")
    ce.score(
        SAMPLES,
        judges=judge(start_server),
        metrics="faithfulness",
        options=options,
        out=tmp_path / "run",
    )
    manifest = load_manifest(tmp_path / "run")
    results = list(RunResults.of(tmp_path / "run"))
    with PageDraft(manifest) as fewer:
        fewer.add(results[0])
        assert not fewer.write(io.StringIO(), tmp_path / "run")
    other = manifest.model_copy(update={"settings": {**manifest.settings, "claim_order": 1}})
    with PageDraft(other) as draft:
        for result in results:
            draft.add(result)
        assert not draft.write(io.StringIO(), tmp_path / "run")


def test_requests_wait_for_their_sample_and_no_longer(tmp_path: Path) -> None:
    draft = PageDraft(ce.Run.load(_run(tmp_path)).manifest)
    with draft:
        for n in range(page.MAX_SENT + 10):
            draft.sent(_request(n))
        assert len(draft._sent) == page.MAX_SENT


def _run(tmp_path: Path) -> Path:
    ce.score(
        SAMPLES[:2],
        judges="local:lexical",
        metrics="faithfulness",
        options=ce.RunOptions(cache=tmp_path / "cache"),
        out=tmp_path / "run",
    )
    return tmp_path / "run"


def _request(n: int) -> Request:
    return Request(
        judge=ce.Judge(model="openai:m"),
        messages=(Message("user", f"Question {n}"),),
        reply_format="json",
        max_tokens=10,
        task=ExtractTask(text="It is old.", sentences=((0, 10),)),
    )
