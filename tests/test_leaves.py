"""What others do without: if a part below is deleted from a copy of the package, the ordinary
commands still work, and the command that needs the part names what is missing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.loopback import ThreadHandle, claim_judge, serve_in_thread
from tests.canary import CANARY, KEY_VARIABLES

ROOT = Path(__file__).parents[1]
SAMPLE = {
    "id": "a",
    "question": "Where is Berlin?",
    "answer": "Berlin is in Germany. It has a wall.",
    "contexts": ["Berlin is in Germany."],
    "reference": "In Germany.",
}
SPAN = {"traceId": "1", "spanId": "2", "name": "answer", "attributes": {"input.value": "Where?"}}
REPLY = {"id": "a", "claim": "Berlin is in Germany.", "judges": {"x": "supported"}}

DRIVER = """
import json, os, sys
import click, jinja2, numpy, pydantic, rich.console, yaml  # once for all commands
sys.path.insert(0, os.getcwd())


class Log:
    def find_spec(self, name, path=None, target=None):
        print(name, file=modules, flush=True)


modules = open("modules.txt", "w")
sys.meta_path.insert(0, Log())
for command in sys.stdin:
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(os.open("errors.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        sys.argv = ["claimeval", *command.split()]
        from claimeval.__main__ import main
        import claimeval
        assert claimeval.__file__.startswith(os.getcwd()), claimeval.__file__
        main()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Runs the commands that it reads, each in a process of its own, and writes down the modules that
they look for."""


class Copy:
    """A copy of the package in a folder, and a process that runs its commands there."""

    def __init__(self, folder: Path, driver: subprocess.Popen[str], judge: str) -> None:
        self.folder = folder
        self._driver = driver
        self._judge = judge

    def run(self, command: str) -> tuple[int, str]:
        """Return the exit code of a command and what it wrote on standard error."""
        assert self._driver.stdin
        assert self._driver.stdout
        print(command.replace("JUDGE", self._judge), file=self._driver.stdin, flush=True)
        code = int(self._driver.stdout.readline())
        return code, (self.folder / "errors.txt").read_text()

    def run_ordinary(self, *, without: str = "") -> None:
        """Run the ordinary commands, all but one, and see that they work."""
        for command in ORDINARY:
            if command != without:
                code, words = self.run(command)
                assert code == 0, f"{command}: {words}"


LEAVES: dict[str, tuple[tuple[str, ...], str]] = {
    "Ray": (("distributed/ray_engine.py",), "score s.jsonl -j JUDGE --engine ray --out x"),
    "shards": (("distributed",), "score s.jsonl -j JUDGE --shard 1/2 --out x"),
    "pushes": (("integrations",), "push r1 --to langfuse --dry-run"),
    "viewer": (("report/viewer.py",), "view ."),
    "Anthropic": (("providers/anthropic.py",), "score s.jsonl -j anthropic:m --out x"),
    "Mistral": (("providers/mistral.py",), "score s.jsonl -j mistral:m --out x"),
    "decision models": (("providers/decisions.py",), "doctor -j decisions:m"),
    "local models": (
        ("providers/local/entailment.py",),
        "score s.jsonl -j local:nli=m --out x",
    ),
    "shared words": (("lexical/support",), "score s.jsonl -j local:lexical --out x"),
    "batches": (("execution/batch",), "score s.jsonl -j openai:m --batch --out x"),
    "grades": (("evaluation/grade.py",), "grade s.jsonl -j JUDGE --out x"),
    "ratings": (("evaluation/rate.py",), "rate s.jsonl -j JUDGE --out x"),
    "validity": (("evaluation/validity.py",), "rate s.jsonl -j JUDGE --ask validity --out x"),
    "queries": (("evaluation/write_queries.py",), "write-queries s.jsonl -j JUDGE --out x"),
    "measures": (("evaluation/measure.py",), "lexical s.jsonl --out x"),
    "questions to a judge": (("evaluation/probe.py",), "doctor -j JUDGE"),
    "forecasts": (("evaluation/forecast.py",), "plan score s.jsonl -j JUDGE"),
    "claim quality": (
        (
            "evaluation/extraction.py",
            "evaluation/summary/extraction.py",
            "lexical/extraction.py",
            "metrics/extraction.py",
        ),
        "extraction s.jsonl --extractor local:lexical --out x",
    ),
    "rankings": (("ir",), "rank qrels.txt a.run"),
    "corrections": (("runs/correct.py",), "correct r1 --labels labels.jsonl"),
    "causes of a change": (("runs/culprit.py",), "compare r1 r2"),
    "series": (("runs/series.py",), "compare r1 r2 r1"),
    "traces": (("data/traces.py",), "doctor spans.jsonl"),
    "recorded replies": (("data/recorded.py",), "import-replies replies.jsonl --out x"),
}
"""The files of each leaf, and the command that needs it."""

OPTIONAL = {"batches": "", "claim quality": "", "causes of a change": "compare r1 r2"}
"""The leaves that ordinary commands look for, and the ordinary command that needs one."""

ORDINARY = (
    "--help",
    "demo --out demo",
    "score s.jsonl -j JUDGE --out r1",
    "rejudge r1 --out r2",
    "compare r1 r2",
    "report r1",
    "metrics",
)


@pytest.fixture(scope="module")
def judge() -> Iterator[str]:
    server: ThreadHandle
    with serve_in_thread(judge=claim_judge.answer) as server:
        yield f"openai:m@{server.url}"


@pytest.fixture(scope="module")
def whole(judge: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    """A copy of which nothing is deleted, and two runs."""
    with _copy(tmp_path_factory.mktemp("whole"), judge) as copy:
        for command in ORDINARY:
            if " --out r" in command:
                assert copy.run(command)[0] == 0
        yield copy


def test_ordinary_commands_neither_need_nor_look_for_most_leaves(
    judge: str, tmp_path: Path
) -> None:
    """Nothing looks for these leaves, so all at once are deleted in place of one after the
    other."""
    deleted = [
        name for leaf, (files, _) in LEAVES.items() if leaf not in OPTIONAL for name in files
    ]
    with _copy(tmp_path, judge, *deleted) as copy:
        copy.run_ordinary()
    modules = (tmp_path / "modules.txt").read_text().split()
    assert "claimeval.evaluation.claims" in modules
    assert {name for name in deleted if any(_is_of(module, name) for module in modules)} == set()


@pytest.mark.parametrize("leaf", OPTIONAL)
def test_ordinary_commands_do_without_a_leaf_that_they_look_for(
    leaf: str, judge: str, tmp_path: Path
) -> None:
    files, _ = LEAVES[leaf]
    with _copy(tmp_path, judge, *files) as copy:
        copy.run_ordinary(without=OPTIONAL[leaf])


@pytest.mark.parametrize("leaf", LEAVES)
def test_the_command_that_needs_a_leaf_names_it(leaf: str, whole: Copy, tmp_path: Path) -> None:
    files, needing = LEAVES[leaf]
    package = whole.folder / "claimeval"
    aside = [(package / name, tmp_path / str(n)) for n, name in enumerate(files)]
    for path, elsewhere in aside:
        path.rename(elsewhere)
    try:
        code, words = whole.run(needing.replace("--out x", f"--out {tmp_path}/x"))
    finally:
        for path, elsewhere in aside:
            elsewhere.rename(path)
    lacking = files[0].removesuffix(".py").replace("/", ".")
    assert code == 2, words
    assert f"claimeval.{lacking}" in words
    assert "which this installation does not have; install claimeval again" in words


@contextmanager
def _copy(folder: Path, judge: str, *deleted: str) -> Iterator[Copy]:
    """Copy the package as far as commands need it, with what is compiled, and delete some of its
    files."""
    unread = shutil.ignore_patterns("*-pytest-*.pyc", "*.pyc.*", "assets")
    shutil.copytree(ROOT / "claimeval", folder / "claimeval", ignore=unread)
    assets = "claimeval/report/assets"
    (folder / assets).symlink_to(ROOT / assets)
    for name in ("prompts", "examples"):
        (folder / name).symlink_to(ROOT / name)
    for name in deleted:
        path = folder / "claimeval" / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    for name, row in (("s", SAMPLE), ("spans", SPAN), ("replies", REPLY)):
        (folder / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    (folder / "qrels.txt").write_text("1 0 a 1\n")
    (folder / "a.run").write_text("1 Q0 a 1 0.5 x\n")
    (folder / "labels.jsonl").write_text('{"sample": "a", "claim": "1", "label": "supported"}\n')
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER],
        cwd=folder,
        env={
            **os.environ,
            **dict.fromkeys(KEY_VARIABLES, CANARY),
            "CLAIMEVAL_CACHE": str(folder / "cache"),
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as driver:
        yield Copy(folder, driver, judge)
        driver.communicate(timeout=120)


def _is_of(module: str, name: str) -> bool:
    """Return whether a module is a file of the package, or in a folder of it."""
    of = f"claimeval.{name.removesuffix('.py').replace('/', '.')}"
    return module == of or module.startswith(f"{of}.")
