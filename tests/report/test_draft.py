"""The page that is made while judges are asked is the page that is made of the run directory."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import claimeval as ce
from benchmarks.loopback import Options, claim_judge
from benchmarks.loopback.judge import Body, Reply, text_of
from claimeval.report import forms, page
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


def written(folder: Path) -> str:
    """The page of a run directory, without its last line, which says what it is made of."""
    *lines, made_of = (folder / "report.html").read_text().splitlines(keepends=True)
    assert made_of.startswith("<!--made of ")
    return "".join(lines)


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
        assert written(run.path) == rendered(run.path)


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


def _is_kept(folder: Path, again: Callable[[], object]) -> bool:
    """Whether the page is the same file after another command."""
    before = (folder / "report.html").stat()
    again()
    after = (folder / "report.html").stat()
    return (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


Scores = Callable[..., Path]


@pytest.fixture
def score(start_server: StartServer, tmp_path: Path) -> Scores:
    """The same command each time: score the first samples into a directory, `run` at first."""
    options = ce.RunOptions(cache=tmp_path / "cache")
    of_all = judge(start_server)

    def again(number: int = len(SAMPLES), name: str = "run") -> Path:
        asked = SAMPLES[:number]
        out = tmp_path / name
        ce.score(asked, judges=of_all, metrics="faithfulness", options=options, out=out)
        return out

    return again


def test_the_same_command_again_keeps_the_page_until_something_is_another(
    score: Scores, tmp_path: Path
) -> None:
    folder = score()
    assert _is_kept(folder, score)
    assert not _is_kept(folder, lambda: score(9))
    assert not _is_kept(folder, score)
    page_before = written(folder)

    (folder / "report.html").unlink()
    score()
    assert written(folder) == page_before == rendered(folder)

    (folder / "report.html").write_text("cut off")
    score()
    assert written(folder) == page_before

    next(iter(ce.annotate(folder, n=5))).label("supported")
    assert not _is_kept(folder, score)
    assert written(folder) == rendered(folder) != page_before
    assert _is_kept(folder, score)

    folder = folder.rename(tmp_path / "other")
    assert not _is_kept(folder, lambda: score(name="other"))
    assert written(folder) == rendered(folder)


def test_labels_in_a_linked_directory_make_another_page(score: Scores, tmp_path: Path) -> None:
    folder = score()
    labels = ce.annotate(folder, n=5)
    (folder / "annotation").rename(tmp_path / "labels")
    (folder / "annotation").symlink_to(tmp_path / "labels")
    score()
    assert _is_kept(folder, score)
    next(iter(labels)).label("supported")
    assert not _is_kept(folder, score)
    assert written(folder) == rendered(folder)


def test_labels_that_come_while_the_page_is_made_make_another_page(
    monkeypatch: pytest.MonkeyPatch, score: Scores
) -> None:
    folder = score()
    labels = ce.annotate(folder, n=5)
    as_it_is = page.render

    def render_and_label(file: io.StringIO, run: Path, compared: Path | None) -> None:
        as_it_is(file, run, compared)
        next(iter(labels)).label("supported")

    monkeypatch.setattr("claimeval.report.page.render", render_and_label)
    forms.write(folder, "html")
    assert not forms.is_current(folder)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that fails to read")
def test_a_file_that_cannot_be_read_does_not_stop_the_page(score: Scores) -> None:
    folder = score()
    (folder / "foreign").symlink_to("/proc/self/mem")  # reading its first byte is an error
    score()
    assert written(folder) == rendered(folder)
    assert _is_kept(folder, score)


@pytest.mark.parametrize("caught_up", [0, 200])
@pytest.mark.parametrize("begun", [3, 11])
def test_the_page_of_a_resumed_run_has_what_was_there_before(
    monkeypatch: pytest.MonkeyPatch,
    start_server: StartServer,
    tmp_path: Path,
    begun: int,
    caught_up: int,
) -> None:
    monkeypatch.setattr("claimeval.api.jobs.CAUGHT_UP", caught_up)
    options = ce.RunOptions(cache=tmp_path / "cache", concurrency=1)
    of_all = judge(start_server)
    for number in (begun, len(SAMPLES)):
        ce.score(
            SAMPLES[:number],
            judges=of_all,
            metrics="faithfulness",
            options=options,
            out=tmp_path / "run",
        )
    assert written(tmp_path / "run") == rendered(tmp_path / "run")
    alone = tmp_path / "alone" / "run"
    ce.score(SAMPLES, judges=of_all, metrics="faithfulness", options=options, out=alone)
    assert written(tmp_path / "run") == written(alone)


def test_the_page_of_a_run_is_made_again_with_what_is_measured_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    ce.score(SAMPLES, judges="local:lexical", metrics="faithfulness", out=folder)
    before = written(folder)
    ce.measure(folder, metrics="token_recall", out=f"{folder}/")
    assert (folder / "measure").is_dir()
    assert before != written(folder) == rendered(folder)
