"""How every judged command ends: its exit code and one line, whatever goes wrong, in every way to
run it.

0 done, 1 a gate failed, 2 what was given is wrong, 3 stopped and the same command goes on, 130
interrupted. Never 70.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from benchmarks.loopback import (
    Batching,
    Latency,
    Options,
    claim_judge,
    query_judge,
    serve_in_thread,
)
from benchmarks.loopback.faults import Faults
from benchmarks.loopback.judge import Body, Reply, text_of
from claimeval.execution import online
from claimeval.execution.batch import polling
from tests.command_line import call
from tests.conftest import StartServer

ROOT = Path(__file__).parents[1]
SAMPLES = 12
"""Two more than the unreadable replies after which a judge is stopped."""


class Command(NamedTuple):
    """A command with its data, before the judge."""

    words: str
    judge: str = "-j"
    gate: str | None = None
    """A metric that is below 1; None if the command has no gates."""
    modes: tuple[str, ...] = ("plain", "shard", "batch", "offline")
    written: str = "out"
    """Its run directory."""


COMMANDS = {
    "score": Command("score data.jsonl -m faithfulness", gate="faithfulness"),
    "rate": Command("rate data.jsonl --ask faithfulness", gate="rated_faithfulness"),
    "grade": Command("grade data.jsonl"),
    "rejudge": Command("rejudge source", gate="faithfulness"),
    "extraction": Command(
        "extraction data.jsonl", "--extractor", modes=("plain", "batch", "offline")
    ),
    "write-queries": Command(
        "write-queries docs.jsonl --n 12", modes=("plain", "batch", "offline")
    ),
    "experiment": Command(
        "experiment design.yaml",
        "",
        modes=("plain", "batch", "offline"),
        written="out/arms/three_way",
    ),
}
VARIANTS = {
    "rate a run": Command("rate source --ask relevance", modes=("plain", "batch")),
    "grade contexts": Command(
        "grade data.jsonl --against reference_contexts", modes=("plain", "batch")
    ),
    "grade a corpus": Command(
        "grade queries.tsv --corpus docs.jsonl --qrels qrels.txt", modes=("plain", "batch")
    ),
    "rejudge two": Command("rejudge source other", modes=("plain",)),
}
"""Commands with other data, which are only given judges that cannot be used."""
MODES = {"plain": (), "shard": ("--shard", "1/1"), "batch": ("--batch",), "offline": ("--offline",)}
HUGE = {
    "infinite cost": ("--max-cost", "1e400"),
    "23 digits": ("--max-calls", "9" * 23),
    "nan": ("--max-cost", "nan"),
}
UNUSABLE = ("wrong key", "unknown model", "unreadable", "cap 0")
FAULTS = (*UNUSABLE, "server down", "failed gate", "damaged run", *HUGE)

MEANINGLESS = {
    "offline": (*UNUSABLE, "server down", "failed gate"),  # no judge is asked
    "shard": ("failed gate",),  # gates are about the whole run: `merge` checks them
    "batch": (
        "unknown model",
    ),  # files of batches are refused, not single calls: tests/execution/test_batch_faults.py
}
"""Faults that cannot occur in a mode, and why."""


def rows(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"q{i}",
            "question": f"How high is tower {i}?",
            "answer": f"Tower {i} is high. The WRONG king built it.",
            "contexts": [f"GRADE{i % 4} Tower {i} is high."],
            "reference_answers": [f"Tower {i} is high."],
            "reference_contexts": [f"It is {i} metres high."],
        }
        for i in range(count)
    ]


def judge(body: Body) -> Reply:
    text = text_of(body)
    return (
        query_judge.answer(body)
        if '"self_contained"' in text or "<document>\n" in text
        else claim_judge.answer(body)
    )


def lines(values: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with two runs to judge again and their replies, which tests copy."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "data.jsonl").write_text(lines(rows(SAMPLES)))
    with serve_in_thread(judge=judge) as good:
        asked = ("-j", f"openai:good@{good.url}", "-m", "faithfulness", "--cache", "replies")
        for name in ("source", "other"):
            call("score", "data.jsonl", *asked, "--out", name, folder=folder, OPENAI_API_KEY="key")
        yield folder


def prepared(folder: Path, runs: Path, name: str, spec: str) -> None:
    """The data of all commands, and the runs that a command judges again."""
    (folder / "data.jsonl").write_text(lines(rows(SAMPLES)))
    (folder / "docs.jsonl").write_text(
        lines(
            [
                {"id": f"d{i}", "text": f"Tower {i} is high. It was built in 18{i:02}."}
                for i in range(SAMPLES)
            ]
        )
    )
    (folder / "design.yaml").write_text(
        f"data: data.jsonl\nmetrics: [faithfulness]\njudges: ['{spec}']\ngrid: {{assess_prompt:"
        " [three_way, binary]}\n"
    )
    (folder / "queries.tsv").write_text(
        "".join(f"q{i}\tHow high is tower {i}?\n" for i in range(SAMPLES))
    )
    (folder / "qrels.txt").write_text("".join(f"q{i} 0 d{i} 1\n" for i in range(SAMPLES)))
    for run in {"source", "other"}.intersection((COMMANDS | VARIANTS)[name].words.split()):
        shutil.copytree(runs / run, folder / run)


def words(name: str, mode: str, spec: str, *more: str) -> list[str]:
    command = (COMMANDS | VARIANTS)[name]
    asked = [command.judge, spec] if command.judge else []
    return [*command.words.split(), *asked, "--out", "out", "--cache", "cache", *MODES[mode], *more]


def expected(name: str, fault: str, mode: str) -> int:
    if fault in HUGE or fault == "damaged run":
        return 2
    if fault == "failed gate":
        return 1
    if (
        fault == "unreadable" and mode == "batch"
    ):  # replies that were paid together are read, whatever they are
        return {"experiment": 3, "write-queries": 0}.get(name, 1)
    return 3


CELLS = [
    pytest.param(name, fault, mode, id=f"{name}-{fault}-{mode}")
    for (name, command), fault, mode in itertools.product(
        (COMMANDS | VARIANTS).items(), FAULTS, MODES
    )
    if mode in command.modes
    and (name in COMMANDS or fault in UNUSABLE)
    and fault not in MEANINGLESS.get(mode, ())
    and not (fault == "failed gate" and command.gate is None)
]


@pytest.mark.parametrize(("name", "fault", "mode"), CELLS)
def test_every_command_ends_with_its_code_and_one_line(
    name: str,
    fault: str,
    mode: str,
    runs: Path,
    tmp_path: Path,
    start_server: StartServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(polling, "MIN_INTERVAL", 0.05)
    monkeypatch.setattr(polling, "FIRST_CONTACT", 0.2)
    monkeypatch.setattr(online, "UNREACHED_FOR", 0.2)
    faults = Faults(rates={"unknown_model": 1.0}) if fault == "unknown model" else Faults()
    key = "sk-right" if fault == "wrong key" else None
    answer: Callable[[Body], Reply] = (
        (lambda _: Reply("I would rather not say.")) if fault == "unreadable" else judge
    )
    server = start_server(
        Options(faults=faults, key=key, batching=Batching(seconds=0.02)), judge=answer
    )
    spec = (
        "openai:judge@http://127.0.0.1:9/v1"
        if fault == "server down"
        else f"openai:judge@{server.url}"
    )
    prepared(tmp_path, runs, name, spec)
    more = HUGE.get(fault, ("--max-calls", "0") if fault == "cap 0" else ())
    if fault == "failed gate":
        more = ("--fail-under", f"{COMMANDS[name].gate}=1")
    if fault == "damaged run":
        damaged = tmp_path / ("source" if name == "rejudge" else COMMANDS[name].written)
        damaged.mkdir(parents=True, exist_ok=True)
        (damaged / "manifest.json").write_text('{"format": 5, "panel": [[[')
    done = call(
        *words(name, mode, spec, *more),
        "--json",
        folder=tmp_path,
        OPENAI_API_KEY="sk-wrong",
        exits=None,
    )
    said = [line for line in done.stderr.splitlines() if line.startswith("claimeval: ")]
    assert done.returncode == expected(name, fault, mode), done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    assert "this is a bug" not in done.stderr
    if done.returncode:
        assert said, done.stderr
    if done.returncode == 3:
        last = said if name == "rejudge two" else said[-1:]  # each of two runs says how it ended
        assert any(
            word in "".join(last) for word in ("the same command", "same call", "run the same")
        ), said[-1]
        shown = json.loads(done.stdout)
        assert (shown["exit_code"], "the same command" in str(shown["stopped"])) == (3, True)
    if fault == "cap 0":
        assert "raise the limit" in done.stderr
        assert server.exchanges() == []


LIMITED = """
import resource, sys
from claimeval.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (6000, resource.RLIM_INFINITY))
main()
"""


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_stops_every_command_in_one_line(
    name: str, runs: Path, tmp_path: Path, start_server: StartServer
) -> None:
    server = start_server(judge=judge)
    prepared(tmp_path, runs, name, spec := f"openai:judge@{server.url}")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *words(name, "plain", spec)],
        cwd=tmp_path,
        env=os.environ
        | {
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
        },  # no module cut off at the limit
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 3, done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    assert [line for line in done.stderr.splitlines() if line.startswith("claimeval: ")]


@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_ends_every_command_with_130(
    name: str, runs: Path, tmp_path: Path, start_server: StartServer
) -> None:
    server = start_server(Options(latency=Latency(seconds=0.4)), judge=judge)
    prepared(tmp_path, runs, name, spec := f"openai:judge@{server.url}")
    process = subprocess.Popen(
        [sys.executable, "-m", "claimeval", *words(name, "plain", spec)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 30
    while not server.exchanges():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "it asks nothing"
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130, said[-2000:]
    assert "Traceback" not in said
