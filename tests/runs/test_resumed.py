"""A run that is resumed keeps results that it had written, where judges would be asked the same."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import claimeval as ce
from benchmarks.loopback import Options, ProcessHandle, serve
from benchmarks.runs import METRICS, samples
from claimeval.store.lessons import Lessons
from claimeval.store.store import Store
from claimeval.types.options import RunOptions
from claimeval.types.requests import Judge, Learned

SAMPLES = 6
FILES = ("manifest.json", "results.jsonl", "replies.jsonl.gz", "summary.json", "report.html")
SAID = "judged by rule: contradicted"
"""What the judge writes of a claim in each answer."""
MARK = "what no judge wrote"
"""In place of it in a written result, where it shows that the result was kept."""


@pytest.fixture(scope="module")
def server() -> Iterator[ProcessHandle]:
    with serve(Options(judge="benchmarks.loopback.claim_judge:make")) as server:
        yield server


def score(server: ProcessHandle, folder: Path, **judge: object) -> ce.Run:
    settings = {"name": "judge", "model": "openai:judge", "endpoint": server.url, **judge}
    return ce.score(
        list(samples(SAMPLES)),
        judges=Judge.model_validate(settings),
        metrics=METRICS,
        out=folder / "run",
        options=RunOptions(cache=folder / "store"),
    )


def kill(run: Path, results: int, *, replies: int | None = None) -> None:
    """Leave what a run that is killed after some results would leave, its last line unfinished."""
    lines = (run / "results.jsonl").read_bytes().splitlines(keepends=True)
    asked = gzip.decompress((run / "replies.jsonl.gz").read_bytes()).splitlines(keepends=True)
    for name in FILES[1:]:
        (run / name).unlink()
    begun = b"".join(lines[results : results + 1])[:40]
    (run / "results.jsonl.part").write_bytes(b"".join(lines[:results]) + begun)
    (run / "replies.jsonl.part").write_bytes(b"".join(asked[: results + 1]))


def mark(file: Path) -> None:
    """Put another reason into the results in a file."""
    content = file.read_bytes()
    assert SAID.encode() in content
    file.write_bytes(content.replace(SAID.encode(), MARK.encode()))


def killed(server: ProcessHandle, folder: Path) -> Path:
    """Return a run that was killed after four results, which are marked."""
    score(server, folder)
    kill(folder / "run", 4)
    mark(folder / "run" / "results.jsonl.part")
    return folder / "run"


def marked(run: Path) -> list[bool]:
    """Whether each result has the other reason."""
    lines = (run / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return [MARK in line for line in lines]


def test_a_run_that_was_killed_ends_with_the_same_bytes(
    tmp_path: Path, server: ProcessHandle
) -> None:
    score(server, tmp_path)
    run = tmp_path / "run"
    undisturbed = {name: (run / name).read_bytes() for name in FILES}
    asked = len(server.exchanges())
    for results in (0, 1, 4, SAMPLES):
        kill(run, results)
        score(server, tmp_path)
        assert {name: (run / name).read_bytes() for name in FILES} == undisturbed
        assert sorted(path.name for path in run.iterdir()) == sorted(FILES)
    assert len(server.exchanges()) == asked


def test_written_results_are_not_computed_again(tmp_path: Path, server: ProcessHandle) -> None:
    run = killed(server, tmp_path)
    score(server, tmp_path)
    assert marked(run) == [True] * 4 + [False] * 2


def test_results_that_were_kept_survive_a_second_kill(
    tmp_path: Path, server: ProcessHandle
) -> None:
    run = killed(server, tmp_path)
    # The second time it dies with one result, before it has read the others.
    for name in ("results.jsonl", "replies.jsonl"):
        part = run / f"{name}.part"
        part.rename(run / f"{name}.written.part")
        lines = (run / f"{name}.written.part").read_bytes().splitlines(keepends=True)
        part.write_bytes(lines[0])
    score(server, tmp_path)
    assert marked(run) == [True] * 4 + [False] * 2


def test_the_replies_of_kept_results_count_as_answers(
    tmp_path: Path, server: ProcessHandle
) -> None:
    before = score(server, tmp_path)
    kill(tmp_path / "run", 4)
    counted = list[int]()
    ce.score(
        list(samples(SAMPLES)),
        judges=Judge(name="judge", model="openai:judge", endpoint=server.url),
        metrics=METRICS,
        out=tmp_path / "run",
        options=RunOptions(
            cache=tmp_path / "store", progress=lambda progress: counted.append(progress.cached)
        ),
    )
    assert counted[-1] == sum(len(result.calls) for result in before.results)


def test_a_result_whose_requests_are_others_is_not_kept(
    tmp_path: Path, server: ProcessHandle
) -> None:
    run = killed(server, tmp_path)
    score(server, tmp_path, seed=5)
    assert not any(marked(run))


def test_a_result_of_another_version_is_not_kept(tmp_path: Path, server: ProcessHandle) -> None:
    run = killed(server, tmp_path)
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    manifest["claimeval"] = "0.0.1"
    (run / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    score(server, tmp_path)
    assert not any(marked(run))


def test_a_result_whose_replies_are_gone_is_not_kept(tmp_path: Path, server: ProcessHandle) -> None:
    run = killed(server, tmp_path)
    shutil.rmtree(tmp_path / "store")
    score(server, tmp_path)
    assert not any(marked(run))


def test_a_result_that_lacks_a_verdict_is_not_kept(tmp_path: Path, server: ProcessHandle) -> None:
    run = killed(server, tmp_path)
    replies = run / "replies.jsonl.part"
    lines = [json.loads(line) for line in replies.read_text(encoding="utf-8").splitlines()]
    lines[1]["calls"][-1]["failed"] = "timeout"
    replies.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    score(server, tmp_path)
    assert marked(run) == [True, False, True, True, False, False]


def test_a_result_whose_requests_lacked_what_the_server_refuses_is_kept(
    tmp_path: Path, server: ProcessHandle
) -> None:
    (judge,) = score(server, tmp_path / "other", temperature=0.5).manifest.judges
    lesson = Learned(refused=("temperature",))
    with Store(tmp_path / "store") as store:
        Lessons(store.folder).add(judge.id, lesson)
    first = score(server, tmp_path, temperature=0.5)
    assert first.manifest.judges[0].learned.refused == lesson.refused
    keys = {call.key for result in first.results for call in result.calls}
    run = tmp_path / "run"
    kill(run, 4)
    mark(run / "results.jsonl.part")
    again = score(server, tmp_path, temperature=0.5)
    assert marked(run) == [True] * 4 + [False] * 2
    assert {call.key for result in again.results for call in result.calls} == keys


def test_damaged_results_are_computed_again(tmp_path: Path, server: ProcessHandle) -> None:
    score(server, tmp_path)
    run = tmp_path / "run"
    undisturbed = (run / "results.jsonl").read_bytes()
    kill(run, 4)
    part = run / "results.jsonl.part"
    lines = part.read_bytes().splitlines(keepends=True)
    # A power cut leaves zeros in a file that had grown.
    part.write_bytes(lines[0] + b"\0" * len(lines[1]) + b"\n" + lines[2])
    score(server, tmp_path)
    assert (run / "results.jsonl").read_bytes() == undisturbed
