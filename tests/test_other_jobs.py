"""The job of docs/reference/custom-jobs.md, installed as another package: it is run, judged again,
compared, merged, removed."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from benchmarks.loopback import Options
from benchmarks.loopback.judge import Body, Reply, text_of
from claimeval.evaluation import kinds
from tests.command_line import call, spawn
from tests.conftest import StartServer

ROOT = Path(__file__).parents[1]
ANSWERS = {
    "a": "Gladly! It is open until six.",
    "b": "Until six.",
    "c": "Read the sign yourself!",
    "d": "Until six, I think.",
}
SAYS = {"Gladly": "friendly", "Until": "neutral", "Read": "rude"}


def tone(body: Body) -> Reply:
    word = re.search(r"<answer>\"(\w+)", text_of(body))
    assert word, "the prompt has the answer"
    return Reply(json.dumps({"reason": "by its first word", "tone": SAYS[word[1]]}))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder in which Python finds the package."""
    page = (ROOT / "docs" / "reference" / "custom-jobs.md").read_text(encoding="utf-8")
    site = tmp_path / "site"
    info = tmp_path / "site" / "house_tone-1.0.dist-info"
    info.mkdir(parents=True)
    code = page.partition("## The file")[2].partition("```python\n")[2].partition("```")[0]
    (site / "house_tone.py").write_text(code, encoding="utf-8")
    (site / "tone.j2").write_text(
        page.partition("```jinja\n")[2].partition("```")[0], encoding="utf-8"
    )
    entry = page.partition('[project.entry-points."claimeval.jobs"]\n')[2].partition("```")[0]
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: house-tone\nVersion: 1.0\n", encoding="utf-8"
    )
    (info / "entry_points.txt").write_text(
        f"[claimeval.jobs]\n{entry}".replace('"', ""), encoding="utf-8"
    )
    monkeypatch.syspath_prepend(site)
    _forget()
    yield site
    _forget()
    sys.modules.pop("house_tone", None)


def _forget() -> None:
    kinds.installed.cache_clear()
    kinds.kind.cache_clear()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [
        json.dumps({"id": name, "question": "When does it close?", "answer": text})
        for name, text in ANSWERS.items()
    ]
    (tmp_path / "data.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return tmp_path


def test_the_job_has_a_command_and_a_function(
    site: Path, folder: Path, start_server: StartServer
) -> None:
    server = start_server(Options(), judge=tone)
    judge = f"openai:m@{server.url}"
    done = call("tone", "data.jsonl", "-j", judge, "-o", "run", folder=folder)
    assert " tone: 1 friendly, 2 neutral, 1 rude" in done.stdout
    run = ce.Run.load(folder / "run")
    assert (run.job, run["tone"].mean, len(server.exchanges())) == (
        "tone",
        (1 + 0.5 + 0 + 0.5) / 4,
        4,
    )
    again = ce.judge(
        "tone", folder / "data.jsonl", judges=judge, options=ce.RunOptions(cache=folder / "cache")
    )
    assert again.summary == run.summary
    with pytest.raises(ce.UsageError, match="Did you mean 'tone_prompt'"):
        ce.judge("tone", folder / "data.jsonl", judges=judge, settings={"tone_promt": "x.j2"})
    with pytest.raises(ce.UsageError, match=r"unknown job: 'tune'"):
        ce.judge("tune", folder / "data.jsonl", judges=judge)


def test_its_command_is_listed_helps_and_is_planned(site: Path, folder: Path) -> None:
    listed = call("--help", folder=folder).stdout
    assert re.search(r"Installed:\n +tone +Judge with a job of another package", listed)
    shown = call("tone", "--help", folder=folder).stdout
    assert "Judge the tone of answers." in shown
    assert re.search(r"--tone-prompt TEXT +Another prompt, as a .j2 file", shown)
    planned = call("plan", "tone", "data.jsonl", "-j", "openai:gpt-5-mini", "--json", folder=folder)
    assert json.loads(planned.stdout)["calls"] == [4, 4]


def test_its_runs_are_judged_again_compared_and_merged(
    site: Path, folder: Path, start_server: StartServer
) -> None:
    server = start_server(Options(), judge=tone)
    judge = f"openai:m@{server.url}"
    for shard in ("1/2", "2/2"):
        call("tone", "data.jsonl", "-j", judge, "-o", "run", "--shard", shard, folder=folder)
    call("merge", "run", folder=folder)
    assert ce.Run.load(folder / "run")["tone"].mean == 0.5
    other = {"name": "other", "model": "openai:m2", "endpoint": server.url}
    two = ce.rejudge(folder / "run", judges=other, keep_verdicts=True, out=folder / "two")
    assert (two["tone"].mean, len(server.exchanges())) == (0.5, 8)
    voted = ce.rejudge(folder / "two", panel=ce.PanelOptions(vote="median"), out=folder / "voted")
    assert (voted["tone"].mean, len(server.exchanges())) == (0.5, 8)
    compared = call("compare", "run", "two", folder=folder)
    assert "tone" in compared.stdout


def test_a_job_of_this_package_has_its_command_by_a_line_in_the_table(
    site: Path, folder: Path, start_server: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the file of the example stood in `claimeval/evaluation/`, and no other package were
    installed."""
    monkeypatch.setitem(
        sys.modules, "claimeval.evaluation.tone", importlib.import_module("house_tone")
    )
    (site / "house_tone-1.0.dist-info" / "entry_points.txt").write_text("", encoding="utf-8")
    source = Path(kinds.__file__).read_text(encoding="utf-8")
    line = '    "rate": "rate",\n'
    assert line in source
    with_line: dict[str, Any] = {"__name__": kinds.__name__}
    exec(
        compile(source.replace(line, f'{line}    "tone": "tone",\n'), kinds.__file__, "exec"),
        with_line,
    )
    monkeypatch.setattr(kinds, "JOBS", with_line["JOBS"])
    monkeypatch.setattr(kinds, "WRITTEN_OUT", with_line["WRITTEN_OUT"])
    _forget()
    command = (
        "tone",
        "data.jsonl",
        "-j",
        f"openai:m@{start_server(Options(), judge=tone).url}",
        "-o",
        "run",
    )
    call(*command, folder=folder)
    assert ce.Run.load(folder / "run")["tone"].mean == 0.5


def test_without_its_package_a_run_is_read_and_not_judged_again(
    site: Path, folder: Path, start_server: StartServer
) -> None:
    server = start_server(Options(), judge=tone)
    command = ("tone", "data.jsonl", "-j", f"openai:m@{server.url}", "-o", "run")
    call(*command, folder=folder)
    report = spawn("report", "run", "-f", "md", folder=folder, PYTHONPATH=str(ROOT))
    assert "tone" in report.stdout
    for refused in (
        ("rejudge", "run", "--vote", "median", "-o", "b"),
        ("tone", "data.jsonl", "-j", "openai:m"),
    ):
        done = spawn(*refused, folder=folder, PYTHONPATH=str(ROOT), exits=2)
        assert (done.returncode, "bug in claimeval" in done.stderr) == (2, False), done.stderr
