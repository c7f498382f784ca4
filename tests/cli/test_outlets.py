"""Output into pipes whose readers leave, onto a full disk, and into folders that are not there."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from claimeval.cli.terminal import in_words
from tests.cli.conftest import Run
from tests.command_line import call


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log whose draw is larger than any buffer."""
    path = tmp_path / "log.jsonl"
    path.write_text(
        "".join(
            f'{{"question": "What is number {i}?", "pad": "{"x" * 200}"}}\n' for i in range(3000)
        )
    )
    return path


def start(folder: Path, *arguments: object, stdout: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "claimeval", *map(str, arguments)]
    return subprocess.Popen(command, cwd=folder, stdout=stdout, stderr=subprocess.PIPE)


def test_a_reader_that_leaves_early_changes_nothing_and_is_not_mentioned(log: Path) -> None:
    process = start(log.parent, "draw", log, "-n", 3000, stdout=subprocess.PIPE)
    assert process.stdout
    assert process.stdout.readline().startswith(b'{"question"')
    process.stdout.close()
    assert process.stderr
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 0
    assert b"Error" not in said
    assert b"claimeval:" not in said


def test_a_gate_keeps_its_exit_code_when_nobody_reads(tmp_path: Path) -> None:
    sample = (
        '{"id": "1", "question": "Q?", "answer": "The moon is cheese.", "contexts": ["Rain'
        ' fell."]}\n'
    )
    (tmp_path / "s.jsonl").write_text(sample)
    reader, writer = os.pipe()
    os.close(reader)
    gate = ("-m", "faithfulness", "--fail-under", "faithfulness=0.9")
    process = start(
        tmp_path, "score", "s.jsonl", "-j", "local:lexical", *gate, "--out", "run", stdout=writer
    )
    os.close(writer)
    _, said = process.communicate()
    assert process.returncode == 1, said
    assert (tmp_path / "run" / "report.html").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is a file of Linux")
@pytest.mark.parametrize("count", [1, 3000])
def test_a_full_disk_is_one_line(log: Path, count: int) -> None:
    with open("/dev/full", "wb") as full:
        process = start(log.parent, "draw", log, "-n", count, stdout=full.fileno())
        _, said = process.communicate()
    assert process.returncode == 3
    assert said.endswith(b"claimeval: cannot write the output: No space left on device\n")
    assert b"Traceback" not in said


def test_a_folder_that_is_not_there_is_the_callers_mistake(claimeval: Run, log: Path) -> None:
    done = claimeval("draw", log, "-o", "nowhere/test.jsonl", exits=2)
    assert done.stderr == "claimeval: nowhere/test.jsonl: No such file or directory\n"


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_data_that_is_no_file_is_said_and_does_not_hang(
    claimeval: Run, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "data.jsonl"
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    done = claimeval("score", path, "-j", "local:lexical", exits=2)
    assert done.stderr.count("\n") == 1
    assert ("is a directory" if kind == "folder" else "is a pipe") in done.stderr


def test_too_many_open_files_are_resumable_and_say_what_to_raise() -> None:
    told = in_words(OSError(errno.EMFILE, "Too many open files", "tenacity/__init__.py"))
    assert told
    line, code = told
    assert code == 3
    assert "too many open files: raise the limit with `ulimit -n 1024`" in line


def test_an_error_of_the_system_that_names_no_file_is_no_failed_gate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(arguments: list[str]) -> int:
        raise OSError(errno.ENOENT, "No such file or directory")

    monkeypatch.setattr("claimeval.cli.main.run", run)
    done = call("doctor", "data.jsonl", exits=70)
    assert done.stderr.splitlines()[-1].startswith("claimeval: this is a bug in claimeval")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("score", "LOG"), "no judge named"),
        (("score", "none.jsonl", "-j", "local:lexical"), "none.jsonl does not exist"),
        (
            ("draw", "LOG", "-o", "nowhere/test.jsonl"),
            "nowhere/test.jsonl: No such file or directory",
        ),
        (("scor", "LOG"), "no such command 'scor'"),
        (("cache stats", "--cache", "none"), "none"),
    ],
)
def test_with_json_a_mistake_is_one_object_too(
    claimeval: Run, log: Path, arguments: tuple[str, ...], words: str
) -> None:
    command, *options = arguments
    given = [log if option == "LOG" else option for option in options]
    done = claimeval(*command.split(), *given, "--json", exits=2)
    found = json.loads(done.stdout)
    assert (found["exit_code"], found["path"]) == (2, None)
    assert found["command"] == command
    assert words in found["stopped"]
    assert done.stderr == f"claimeval: {found['stopped']}\n"
