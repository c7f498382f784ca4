"""The command line, called in this process or as a process of its own: exit code, output and
messages."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from claimeval.cli.main import main
from tests.canary import holds_a_key

Done = subprocess.CompletedProcess[str]


def call(
    *arguments: object,
    folder: Path | None = None,
    stdin: str = "",
    exits: int | None = 0,
    **environment: str,
) -> Done:
    """`claimeval ARGUMENTS` in this process, in a folder; environment variables as keywords.

    `exits` is the exit code that it has to have, None for any. Output goes to files, so that it is
    encoded as in a pipe: in UTF-8, or in `PYTHONIOENCODING`.
    """
    told = list(map(str, arguments))
    code = 0
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with (
            _as_a_process(told, folder, stdin, environment),
            _text(out, environment) as stdout,
            _text(err, environment, "backslashreplace") as se,
        ):
            sys.stdout = stdout
            sys.stderr = se
            try:
                main()
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
            sys.stdout.close()
            sys.stderr.close()
        done = subprocess.CompletedProcess(
            ["claimeval", *told], code, _read(out, environment), _read(err, environment)
        )
    return checked(done, exits)


def spawn(
    *arguments: object,
    folder: Path | None = None,
    stdin: str | None = None,
    exits: int | None = 0,
    **environment: str,
) -> Done:
    """The same in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "claimeval", *map(str, arguments)],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != "COLUMNS"} | environment,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return checked(done, exits)


def folded(text: str) -> list[str]:
    """The lines of a text that are not empty, with single spaces."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def checked(done: Done, exits: int | None) -> Done:
    assert exits in (
        None,
        done.returncode,
    ), f"exit code {done.returncode}: {done.stderr or done.stdout}"
    assert not holds_a_key(done.stdout + done.stderr), "the command prints a key"
    return done


@contextlib.contextmanager
def _as_a_process(
    arguments: list[str], folder: Path | None, stdin: str, environment: dict[str, str]
) -> Iterator[None]:
    """What a process has to itself, put back afterwards."""
    program: Any = sys.modules["__main__"]
    before = (sys.argv, sys.stdin, sys.stdout, sys.stderr, program.__package__, dict(os.environ))
    os.environ.pop("COLUMNS", None)
    os.environ.update(environment)
    sys.argv = ["claimeval", *arguments]
    program.__package__ = None
    handlers = {
        number: signal.getsignal(number)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    try:
        with contextlib.chdir(folder or Path.cwd()):
            yield
    finally:
        sys.argv, sys.stdin, sys.stdout, sys.stderr, program.__package__, kept = before
        for number, handler in handlers.items():
            if signal.getsignal(number) is not handler:
                signal.signal(number, handler)
        for name in os.environ.keys() - kept.keys():
            del os.environ[name]
        os.environ.update(kept)


def _text(file: Any, environment: dict[str, str], errors: str = "strict") -> io.TextIOWrapper:
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    return open(
        os.dup(file.fileno()), "w", encoding=encoding, errors=errors
    )  # the caller closes it


def _read(file: Any, environment: dict[str, str]) -> str:
    file.seek(0)
    data = file.read()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode(environment["PYTHONIOENCODING"])
    return str(text).replace("\r\n", "\n")
