"""The wheel works in a fresh environment: with the lowest versions it allows, and with the newest on every Python."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from compatibility.conftest import ROOT, SECONDS, interpreter, uv

LOWEST = "3.11"
"""The oldest Python, for which the lowest versions have wheels."""

TESTS = ("tests/providers/test_http_client.py", "tests/providers/test_http_errors.py", "tests/loopback/test_faults.py")


def environment(folder: Path, python: str, *requirements: str | Path, resolution: str = "highest") -> Path:
    """Make a virtual environment that has these requirements, and return the folder of its programs."""
    options = ("--quiet", "--python", folder, "--only-binary", ":all:", "--resolution", resolution)
    made = uv("venv", "--quiet", "--python", python, folder)
    done = made if made.returncode else uv("pip", "install", *options, *requirements)
    if done.returncode:
        pytest.fail(done.stderr, pytrace=False)
    return folder / ("Scripts" if os.name == "nt" else "bin")


def output(folder: Path, *command: str | Path) -> str:
    """Return what a command prints in an otherwise empty folder and home, without the checkout's modules."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CLAIMEVAL"))}
    variables |= {"HOME": str(folder), "CLAIMEVAL_CACHE": str(folder / "cache")}
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=variables, capture_output=True, text=True, check=False, timeout=SECONDS
    )
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def check(programs: Path, folder: Path, *options: str) -> None:
    """Run the demo, and score against a server on this machine through each SDK."""
    folder.mkdir()
    assert "faithfulness    0.753" in output(folder, programs / "claimeval", "demo")
    printed = output(folder, programs / "python", "-I", *options, ROOT / "compatibility" / "main_path.py")
    assert printed.splitlines() == ["openai 0.5 2", "mistral 0.5 2"]


def test_the_lowest_versions_allowed_work(wheel: Path, tmp_path: Path) -> None:
    programs = environment(tmp_path / "lowest", interpreter(LOWEST), wheel, resolution="lowest-direct")
    check(programs, tmp_path / "folder")


def test_the_lowest_versions_allowed_pass_the_tests_of_the_providers(wheel: Path, tmp_path: Path) -> None:
    python = interpreter(LOWEST)
    programs = environment(tmp_path / "lowest", python, wheel, resolution="lowest-direct")
    held = tmp_path / "held.txt"
    held.write_text(uv("pip", "freeze", "--python", programs / "python").stdout, encoding="utf-8")
    added = uv("pip", "install", "--quiet", "--python", programs / "python", "pytest", "hypothesis", "-c", held)
    assert added.returncode == 0, added.stderr
    command = [str(programs / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert done.returncode == 0, done.stdout[-4000:]


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_the_newest_versions_work_on_every_python(version: str, wheel: Path, tmp_path: Path) -> None:
    check(environment(tmp_path / "newest", interpreter(version), wheel), tmp_path / "folder", "-W", "error")
