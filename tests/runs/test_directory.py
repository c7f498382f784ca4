"""A run directory that cannot be read."""

from __future__ import annotations

import errno
import fcntl
import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import pytest

import claimeval as ce
from claimeval.report import forms, page
from claimeval.runs import directory, lines
from claimeval.runs.compare import compare
from claimeval.runs.directory import RunResults, RunWriter, beside, draft, load_manifest, open_alone
from claimeval.runs.series import track
from claimeval.testing import samples, serve
from claimeval.types.chat_format import write_chat
from claimeval.types.errors import DataError, UsageError
from tests.command_line import call, spawn


def test_a_run_of_another_format_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"format": 1}')
    with pytest.raises(
        DataError, match=r"of format 1, and this version reads format 5\. Run its command again"
    ):
        load_manifest(tmp_path)


def _deep(run: Path) -> None:
    (run / "manifest.json").write_text("[" * 100_000)


def _settings(run: Path) -> None:
    path = run / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"settings": 1.5}))


def _judge(run: Path) -> None:
    path = run / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["judges"][0]["settings"] = [1]
    path.write_text(json.dumps(manifest))


def _score(run: Path) -> None:
    path = run / "results.jsonl"
    row = json.loads(path.read_text())
    row["scores"]["faithfulness"]["value"] = {"a": 1}
    path.write_text(json.dumps(row) + "\n")


@pytest.mark.parametrize(
    "command", ["rejudge run --vote any -o again", "agreement run", "compare run whole"]
)
@pytest.mark.parametrize(
    "damage", [_deep, _settings, _judge, _score], ids=lambda damage: damage.__name__[1:]
)
def test_damaged_files_of_a_run_end_a_command_with_one_line_and_2(
    tmp_path: Path, damage: Callable[[Path], None], command: str
) -> None:
    for name in ("run", "whole"):
        ce.score(samples()[:1], judges="local:lexical", metrics="faithfulness", out=tmp_path / name)
    damage(tmp_path / "run")
    done = call(*command.split(), folder=tmp_path, exits=2)
    assert done.stderr.count("\n") == 1, done.stderr
    assert "run" in done.stderr


@pytest.mark.parametrize("name", ["results.jsonl", "manifest.json", "summary.json", "report.html"])
def test_nothing_is_written_through_a_link_in_the_run_directory(tmp_path: Path, name: str) -> None:
    name = f"{name}.part" if name == "results.jsonl" else draft(Path(name)).name
    (tmp_path / "victim").write_text("precious")
    run = tmp_path / "run"
    ce.score(samples()[:1], judges="local:lexical", metrics="faithfulness", out=run)
    (run / name).symlink_to(tmp_path / "victim")
    # Two samples: the page of the same one would be kept.
    with pytest.raises(UsageError, match=f"{name} is a link"):
        ce.score(samples()[:2], judges="local:lexical", metrics="faithfulness", out=run)
    assert (tmp_path / "victim").read_text() == "precious"


def test_what_a_killed_process_left_of_a_report_is_removed_by_the_next(tmp_path: Path) -> None:
    """Process 1 runs, the child has ended, and processes of another host cannot be asked about."""
    run = ce.score(samples()[:1], judges="local:lexical", metrics="faithfulness")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    host = os.uname().nodename
    names = [
        f"report.html.{host}-{ended.pid}.part",
        f"report.html.{host}-1.part",
        f"report.html.{host}2-1.part",
    ]
    for name in (*names, f"other.html.{host}-{ended.pid}.part"):
        (tmp_path / name).touch()
    run.report(tmp_path / "report.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["report.html", *names[1:], f"other.html.{host}-{ended.pid}.part"]
    )


def test_no_other_process_writes_a_run_before_all_is_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compress(written: Path, packed: Path) -> None:
        with pytest.raises(UsageError, match="another process is writing the run"):
            open_alone(tmp_path / "run" / "results.jsonl.part")
        real(written, packed)

    real = lines.compress
    monkeypatch.setattr(directory, "compress", compress)
    run = ce.score(
        samples()[:2],
        judges="local:lexical",
        metrics="faithfulness",
        out=tmp_path / "run",
        options=ce.RunOptions(compress=True),
    )
    assert len(list(run)) == 2


def test_results_that_are_put_in_their_place_meanwhile_are_not_emptied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = tmp_path / "results.jsonl.part"
    results = tmp_path / "results.jsonl"
    part.write_bytes(b"results")

    def flock(file: IO[bytes], operation: int) -> None:
        if not results.exists():
            part.replace(results)
        real(file, operation)

    real = fcntl.flock
    monkeypatch.setattr(fcntl, "flock", flock)
    with open_alone(part) as file:
        file.write(b"of another run")
    assert (results.read_bytes(), part.read_bytes()) == (b"results", b"of another run")


def test_two_processes_may_write_the_same_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    ce.score(samples()[:1], judges="local:lexical", metrics="faithfulness", out=run)
    before = (run / "report.html").read_bytes()

    def render(file: IO[str], folder: Path, compared: Path | None) -> None:
        real(file, folder, compared)
        spawn("report", run)

    real = page.render
    monkeypatch.setattr(page, "render", render)
    forms.write(run, "html")
    assert (run / "report.html").read_bytes() == before


def test_a_report_on_a_full_disk_can_be_written_by_the_same_command_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    ce.score(samples()[:1], judges="local:lexical", metrics="faithfulness", out=run)

    def render(file: IO[str], folder: Path, compared: Path | None) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(page, "render", render)
        full = call("report", run, exits=3)
    assert (
        full.returncode,
        "Free space on its disk, then run the same command again" in full.stderr,
    ) == (3, True)
    call("report", run)


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """The run directory of a process that was killed while it wrote its third sample."""
    run = tmp_path / "killed"
    ce.score(samples()[:3], judges="local:lexical", metrics="faithfulness", out=run)
    (run / "results.jsonl.part").write_bytes((run / "results.jsonl").read_bytes()[:-20])
    (run / "replies.jsonl.part").write_bytes(
        gzip.decompress((run / "replies.jsonl.gz").read_bytes())
    )
    for name in ("results.jsonl", "replies.jsonl.gz", "summary.json", "report.html"):
        (run / name).unlink()
    return run


def test_a_killed_run_is_reported_judged_again_and_compared_as_far_as_it_went(
    killed: Path, tmp_path: Path
) -> None:
    assert len(ce.Run.load(killed).results[1].calls) == 2
    line = (
        "killed is not complete: 2 samples finished; run the command that began it again to resume"
    )
    run = ce.Run.load(killed)
    assert (len(run), run.complete, run.record.samples) == (2, False, 2)
    assert [result.sample.id for result in run] == [run.results[i].sample.id for i in range(2)]
    report = call("report", killed, "--format", "md")
    assert ("2 of 3 samples (stopped early)" in report.stdout, line in report.stderr) == (
        True,
        True,
    )
    again = call("rejudge", killed, "--out", tmp_path / "again")
    assert line in again.stderr
    assert len(ce.Run.load(tmp_path / "again")) == 2
    compared = call("compare", killed, tmp_path / "again")
    assert ("2 samples in both" in compared.stdout, line in compared.stderr) == (True, True)
    assert not (killed / "results.jsonl").exists()
    assert (
        len(ce.score(samples()[:3], judges="local:lexical", metrics="faithfulness", out=killed))
        == 3
    )


def test_each_sample_is_in_the_file_once_it_is_finished(killed: Path, tmp_path: Path) -> None:
    run = ce.Run.load(killed)
    with RunWriter(tmp_path / "run", run.manifest) as writer:
        writer.add(run.results[0])
        assert len(ce.Run.load(tmp_path / "run")) == 1


def test_no_sample_is_in_the_file_without_its_replies(killed: Path, tmp_path: Path) -> None:
    run = ce.Run.load(killed)
    folder = tmp_path / "run"
    result = run.results[0]
    seen = []

    def written(name: str) -> int:
        return (folder / name).read_bytes().count(b"\n")

    with RunWriter(folder, run.manifest) as writer:
        for number in range(3):
            writer.add(
                result.model_copy(
                    update={"sample": result.sample.model_copy(update={"id": f"s{number}"})}
                )
            )
            seen.append((written("results.jsonl.part"), written("replies.jsonl.part")))
        assert [one.sample.id for one in RunResults.of(folder)] == ["s0", "s1", "s2"]
    assert seen == [(1, 1), (2, 2), (3, 3)]


def test_a_run_without_a_finished_sample_says_that_its_command_goes_on(killed: Path) -> None:
    (killed / "results.jsonl.part").write_bytes(b"")
    with pytest.raises(
        DataError, match=r"it has no results; run the command that began it again to resume"
    ):
        ce.Run.load(killed)


def test_a_compressed_run_is_read_like_a_plain_one(tmp_path: Path) -> None:
    def score(name: str, *, compress: bool) -> ce.Run:
        options = ce.RunOptions(cache=tmp_path / "cache", compress=compress)
        return ce.score(
            samples()[:3],
            judges="local:lexical",
            metrics="faithfulness",
            out=tmp_path / name,
            options=options,
        )

    packed = score("packed", compress=True)
    plain = score("plain", compress=False)
    assert not (tmp_path / "packed" / "results.jsonl").exists()
    content = (tmp_path / "packed" / "results.jsonl.gz").read_bytes()
    assert gzip.decompress(content) == (tmp_path / "plain" / "results.jsonl").read_bytes()
    assert packed == plain
    assert packed.results[1] == plain.results[1]
    assert ce.compare(packed, plain).metrics["faithfulness"].change == 0
    sources = [
        ce.rejudge(run, panel=ce.PanelOptions(vote="any")).manifest.source
        for run in (packed, plain)
    ]
    assert len({source.digest for source in sources if source}) == 1
    score("packed", compress=False)
    assert not (tmp_path / "packed" / "results.jsonl.gz").exists()


def test_what_another_run_left_is_gone_once_it_is_overwritten(killed: Path) -> None:
    run = ce.score(samples()[:3], judges="local:lexical", metrics="faithfulness", out=killed)
    first = run.results[0]
    with RunWriter(
        killed, run.manifest.model_copy(update={"cluster": "id"}), overwrite=True
    ) as writer:
        assert not (killed / "results.jsonl").exists()
        writer.add(first)
    assert len(ce.Run.load(killed)) == 1


def test_a_run_whose_summary_is_damaged_can_be_overwritten(tmp_path: Path) -> None:
    def score(**options: Any) -> ce.Run:
        return ce.score(
            samples()[:2], judges="local:lexical", metrics="faithfulness", out=tmp_path, **options
        )

    before = score().record
    (tmp_path / "summary.json").write_text("{")
    with pytest.raises(DataError, match=r"summary\.json cannot be read"):
        score()
    assert score(overwrite=True).record == before


def test_metrics_of_several_sources_share_no_name(tmp_path: Path) -> None:
    own = {
        "words": lambda sample: float(len(sample.answer or "")),
        "faithfulness": lambda sample: 1.0,
    }
    for name, limit in (("a", 3), ("b", 2)):
        run = ce.score(
            samples()[:3], judges="local:lexical", metrics="faithfulness", out=tmp_path / name
        )
        ce.measure(run, own, out=tmp_path / name / "measure")
        ce.measure(run, {"words": own["words"]}, limit=limit, out=tmp_path / name / "other")
    run = ce.Run.load(tmp_path / "a")
    assert [name for side in beside(tmp_path / "a", run.summary) for name in side.metrics] == [
        "measure/words",
        "measure/faithfulness",
        "other/words",
    ]
    page = run.report(tmp_path / "run.md", format="md")
    assert all(
        f"`{name}`" in page
        for name in (
            "faithfulness",
            "measure/faithfulness (value)",
            "measure/words (value)",
            "other/words (value)",
        )
    )
    compared = track([tmp_path / "a", tmp_path / "b"])
    assert [one.metric for one in compared.tracks] == [
        "faithfulness",
        "measure/words",
        "measure/faithfulness",
        "other/words",
    ]
    assert [
        one.metric for one in track([tmp_path / "a", tmp_path / "b"], ["other/words"]).tracks
    ] == ["other/words"]
    names = [one.metric for one in compare(tmp_path / "a", tmp_path / "b").comparison.metrics]
    assert names == ["faithfulness", "measure/words", "measure/faithfulness", "other/words"]


@pytest.mark.parametrize("refused_from", [0, 2])
def test_a_run_that_stops_early_does_not_replace_one_that_got_further(
    tmp_path: Path, refused_from: int
) -> None:
    reply = write_chat('{"reason": "r", "rating": "fully", "noncommittal": false}', "judge")
    calls: list[str] = []

    def respond(path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        if not body:  # the question after the size of the model
            return 404, b"{}"
        calls.append(path)
        if len(calls) > 4 + refused_from:
            return 401, b'{"error": {"message": "Incorrect API key provided"}}'
        return 200, reply

    data = [{"id": str(i), "question": f"Is it {i}?", "answer": "It is."} for i in range(4)]

    def rate(cache: str) -> ce.Run:
        options = ce.RunOptions(cache=tmp_path / cache, concurrency=1)
        return ce.rate(data, judges=judge, ask="relevance", out=tmp_path / "run", options=options)

    with serve(respond) as url:
        judge = f"openai:judge@{url}"
        rate("first")
        before = {
            path.name: path.read_bytes()
            for path in (tmp_path / "run").iterdir()
            if path.suffix != ".html"
        }
        with (
            pytest.warns(UserWarning, match="keeps the results of an earlier run of 4 samples"),
            pytest.raises(ce.StoppedEarly) as stopped,
        ):
            rate("another")
    assert {
        path.name: path.read_bytes()
        for path in (tmp_path / "run").iterdir()
        if path.suffix != ".html"
    } == before
    assert stopped.value.run is not None
    assert stopped.value.run["rated_relevance"].mean == 1.0


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (
            lambda row: row["scores"].clear(),
            "has no faithfulness in one of the runs: its results are damaged",
        ),
        (
            lambda row: row["scores"]["faithfulness"].update(value=float("inf")),
            "scores.faithfulness.value: ",
        ),
        (
            lambda row: row["claims"][0].update(text=3),
            "line 1: not a result: claims.0.text: needs a text",
        ),
    ],
    ids=["no score", "infinite", "a number for a text"],
)
def test_a_damaged_line_is_one_line_and_2(
    damage: Callable[[Any], None], said: str, tmp_path: Path
) -> None:
    ce.score(samples(), judges="local:lexical", metrics="faithfulness", out=tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    lines = (tmp_path / "b" / "results.jsonl").read_text().splitlines()
    damage(row := json.loads(lines[0]))
    (tmp_path / "b" / "results.jsonl").write_text("\n".join([json.dumps(row), *lines[1:], ""]))
    done = call("compare", "a", "b", folder=tmp_path, exits=2)
    (line,) = done.stderr.splitlines()
    assert said in line, line


def test_votes_on_a_question_that_the_run_does_not_ask_are_damage(tmp_path: Path) -> None:
    run = ce.score(samples(), judges="local:lexical", metrics="faithfulness", out=tmp_path / "a")
    assert run.path
    text = (run.path / "results.jsonl").read_text()
    (run.path / "results.jsonl").write_text(
        text.replace('"question":"support"', '"question":"suppoJt"')
    )
    done = call("rejudge", "a", "--vote", "any", "--out", "b", folder=tmp_path, exits=2)
    assert "asks no question 'suppoJt'" in done.stderr


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("runs/bb", "runs/bb does not exist. Did you mean 'runs/b'?"),
        ("answers.jsonl", "answers.jsonl is a file, and a run is a folder. If it has samples, "),
        (
            "runs/a/results.jsonl",
            "runs/a/results.jsonl is a file of a run; give its folder: runs/a",
        ),
        ("runs", "runs holds 2 runs: name one, or browse them with `claimeval view runs`"),
        ("empty", "empty is not a run: it has no manifest.json"),
    ],
)
@pytest.mark.parametrize("door", ["load", "compare", "report"])
def test_every_door_says_the_same_of_a_path_that_is_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, door: str, path: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "answers.jsonl").write_text('{"question": "q", "answer": "a", "contexts": ["a"]}')
    for name in ("a", "b"):
        ce.score(
            "answers.jsonl", judges="local:lexical", metrics="faithfulness", out=f"runs/{name}"
        )
    doors: dict[str, Callable[[], object]] = {
        "load": lambda: ce.Run.load(path),
        "compare": lambda: ce.compare("runs/a", path),
        "report": lambda: forms.write(Path(path), "html"),
    }
    with pytest.raises(DataError) as raised:
        doors[door]()
    assert str(raised.value).startswith(message)
