"""The wheel works in a fresh environment: with the lowest versions it allows, and with the newest
on every Python."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from compatibility.conftest import EXTRAS, ROOT, SECONDS, interpreter, uv

LOWEST = "3.11"
"""The oldest Python, for which the lowest versions have wheels."""
TESTS = (
    "tests/providers/test_http_client.py",
    "tests/providers/test_http_errors.py",
    "tests/providers/test_anthropic.py",
    "tests/loopback/test_faults.py",
    "tests/cli/test_command.py",
)


def environment(folder: Path, python: str, *requirements: str | Path) -> Path:
    """Make a virtual environment that has these requirements; return the folder of its programs."""
    assert (made := uv("venv", "--quiet", "--python", python, folder)).returncode == 0, made.stderr
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    install(programs, *requirements)
    return programs


def install(programs: Path, *requirements: str | Path) -> None:
    """Install these requirements, from wheels alone."""
    done = uv(
        "pip", "install", "--python", programs / "python", "--only-binary", ":all:", *requirements
    )
    if done.returncode:
        pytest.fail(done.stderr, pytrace=False)


def output(folder: Path, *command: str | Path) -> str:
    """Return what a command prints in an otherwise empty folder and home, without the checkout's
    modules."""
    variables = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "CLAIMEVAL"))
    }
    variables |= {"HOME": str(folder), "CLAIMEVAL_CACHE": str(folder / "cache")}
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, (
        f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    )
    return done.stdout


def check(programs: Path, folder: Path, *options: str) -> None:
    """Run the demo, and score against a server on this machine through each SDK."""
    folder.mkdir()
    assert "faithfulness    0.80 " in output(folder, programs / "claimeval", "demo")
    printed = output(
        folder, programs / "python", "-I", *options, ROOT / "compatibility" / "main_path.py"
    )
    assert printed.splitlines() == ["openai 0.5 2", "mistral 0.5 2"]


def floors() -> dict[str, str]:
    """Return the lowest version that pyproject.toml allows of each requirement for which it names
    one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [
        *project["dependencies"],
        *(line for extra in EXTRAS for line in project["optional-dependencies"][extra]),
    ]
    return dict(line.partition(",")[0].split(">=") for line in lines if ">=" in line)


def numbers(version: str) -> list[int]:
    """Return the numbers of a version, without zeros at its end."""
    return list(map(int, re.sub(r"(\.0)+$", "", version).split(".")))


def test_the_lowest_versions_allowed_work_and_pass_the_tests_of_the_providers(
    wheel: Path, tmp_path: Path
) -> None:
    extras = [f"--extra={extra}" for extra in EXTRAS]
    # What is named to uv counts as direct: the project's requirements, not those of a wheel.
    lowest: list[str | Path] = [
        "--resolution",
        "lowest-direct",
        "-r",
        ROOT / "pyproject.toml",
        *extras,
    ]
    programs = environment(tmp_path / "lowest", interpreter(LOWEST), *lowest)
    held = uv("pip", "freeze", "--python", programs / "python").stdout
    installed = dict(line.split("==") for line in held.splitlines())
    assert {name: numbers(installed[name]) for name in floors()} == {
        k: numbers(v) for k, v in floors().items()
    }

    (tmp_path / "held.txt").write_text(held, encoding="utf-8")
    install(programs, wheel, "pytest", "hypothesis", "-c", tmp_path / "held.txt")
    check(programs, tmp_path / "folder")
    command = [str(programs / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=SECONDS
    )
    assert done.returncode == 0, done.stdout[-4000:]


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_the_newest_versions_work_on_every_python(
    version: str, wheel: Path, tmp_path: Path
) -> None:
    check(
        environment(tmp_path / "newest", interpreter(version), wheel),
        tmp_path / "folder",
        "-W",
        "error",
    )
