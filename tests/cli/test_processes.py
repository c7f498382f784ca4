"""Commands start in an interpreter of their own; other tests call them in the process of the test.

`score` and `draw` do so in test_outlets.py. Those that are left out import what one of these
imports, and their own file.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic_core import SchemaValidator, core_schema

from tests.command_line import call, spawn

DATA = Path(__file__).parents[2] / "examples" / "data"
LOCAL = ("-j", "local:lexical", "-m", "faithfulness")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, two runs, and rankings."""
    folder = tmp_path_factory.mktemp("processes")
    for name in ("demo.jsonl", "demo_labels.jsonl"):
        (folder / name).write_bytes((DATA / name).read_bytes())
    for name in ("a", "b"):
        call(
            "score",
            "demo.jsonl",
            *LOCAL,
            "--limit",
            6,
            "--out",
            name,
            "--cache",
            "store",
            folder=folder,
        )
    (folder / "qrels").write_text("q1 0 d 1\n")
    (folder / "one.run").write_text("q1 Q0 d 1 1 one\n")
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ("plan", "demo.jsonl", *LOCAL),
        ("compare", "a", "b"),
        ("agreement", "a", "--labels", "demo_labels.jsonl"),
        ("rank", "qrels", "one.run", "-m", "mrr"),
    ],
    ids=lambda command: command[0],
)
def test_a_command_runs_in_an_interpreter_of_its_own(
    folder: Path, command: tuple[object, ...]
) -> None:
    done = spawn(*command, folder=folder)
    assert done.stdout
    assert "Traceback" not in done.stderr


def test_a_command_looks_for_unreachable_objects_rarely_and_not_at_exit() -> None:
    script = (
        "import atexit, gc, sys\n"
        "from claimeval.cli.main import main\n"
        "atexit.register(lambda: print(gc.get_threshold()[0], gc.get_freeze_count() > 10_000))\n"
        "sys.argv = ['claimeval', '--version']\n"
        "main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "200000 True"


@pytest.mark.parametrize(
    ("error", "code", "last"),
    [
        (KeyboardInterrupt, 130, "claimeval: interrupted"),
        (ValueError, 70, "claimeval: this is a bug in claimeval"),
    ],
)
def test_an_interrupt_that_pydantic_takes_for_an_error_is_an_interrupt(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException], code: int, last: str
) -> None:
    def interrupted(*arguments: object) -> None:
        raise error

    def run(arguments: list[str]) -> int:
        with monkeypatch.context() as patch:
            patch.setattr("re.compile", interrupted)  # which is called while the validator is built
            SchemaValidator(core_schema.str_schema(pattern="a", regex_engine="python-re"))
        return 0

    monkeypatch.setattr("claimeval.cli.main.run", run)
    done = call("doctor", "data.jsonl", exits=code)
    assert done.stderr.splitlines()[-1].startswith(last)


def test_ctrl_c_while_the_command_line_is_imported_ends_it_quietly() -> None:
    script = """
import runpy, sys

class Interrupt:
    def find_spec(self, name, path, target=None):
        if name == "claimeval.cli.main":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
runpy.run_module("claimeval", run_name="__main__")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.skipif(not hasattr(signal, "sigwaitinfo"), reason="a command on Ray has no child here")
@pytest.mark.parametrize(
    ("before", "then", "code", "told"),
    [
        ("", "sys.exit(5)", 5, ""),
        ("", "os.kill(os.getpid(), signal.SIGKILL)", 3, "claimeval: the node died\n"),
        ("atexit.register(lambda: os.kill(os.getpid(), signal.SIGKILL))", "", 137, ""),
        (
            "",
            "os.kill(os.getppid(), signal.SIGTERM); signal.pause()",
            3,
            "claimeval: the node died\n",
        ),
    ],
)
def test_the_end_of_a_child_is_that_of_the_command(
    before: str, then: str, code: int, told: str
) -> None:
    """One that is killed when its work is done has the code of a shell; one that vanishes before
    has 3 and a line."""
    start = "import atexit, os, signal, sys; from claimeval.cli.terminal import go_on_in_a_child"
    script = f"{start}; {before or None}; go_on_in_a_child('the node died'); {then or None}"
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stderr) == (code, told)
