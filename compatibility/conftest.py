"""What the tests of an installation share: the wheel, uv, and the interpreters of this machine.

They need the package index, so they are not among the tests of `make test`: `make compatibility`
runs them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from uv import find_uv_bin

ROOT = Path(__file__).parents[1]
EXTRAS = ("anthropic", "pandas", "parquet")
"""The light extras, which are installed too."""
SECONDS = 400
"""The longest that one command may take."""


def uv(*arguments: str | Path, lines: str = "") -> subprocess.CompletedProcess[str]:
    """Run uv, with these lines as its standard input."""
    command: list[str] = [find_uv_bin(), *map(str, arguments)]
    return subprocess.run(
        command, input=lines, capture_output=True, text=True, check=False, timeout=SECONDS
    )


def resolved(*requirements: str, python: str = sys.executable) -> dict[str, str]:
    """Return the newest versions that satisfy all requirements together, from wheels alone; the
    test fails without."""
    options = [
        "--quiet",
        "--only-binary",
        ":all:",
        "--no-header",
        "--no-annotate",
        "--python-version",
        python,
    ]
    done = uv("pip", "compile", "-", *options, lines="\n".join(requirements))
    if done.returncode:
        pytest.fail(
            f"{' and '.join(requirements)} cannot be installed together:\n{done.stderr}",
            pytrace=False,
        )
    return dict(line.split("==") for line in done.stdout.splitlines() if "==" in line)


def interpreter(version: str) -> str:
    """Return a Python of this version, among those of uv and pyenv; the test is skipped where there
    is none."""
    pyenv = (Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python")
    for python in (uv("python", "find", version).stdout.strip(), *map(str, pyenv)):
        if python and uv("python", "find", python).returncode == 0:
            return python
    pytest.skip(f"no Python {version} on this machine")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the checkout; the test is skipped where no package index is reached."""
    done = uv("pip", "compile", "-", "--quiet", "--refresh", lines="iniconfig")
    if done.returncode:
        pytest.skip(f"no package index is reached: {done.stderr.strip()}")
    folder = tmp_path_factory.mktemp("wheel")
    options: list[str] = ["--no-isolation", "--wheel", "--outdir", str(folder), str(ROOT)]
    subprocess.run([sys.executable, "-m", "build", *options], check=True, capture_output=True)
    (made,) = folder.glob("*.whl")
    return made


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what was resolved beside each neighbour."""
    reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    rows = [value for report in reports for name, value in report.user_properties if name == "row"]
    if rows:
        terminalreporter.section("versions that are installed together with claimeval")
        for row in sorted(map(str, rows)):
            terminalreporter.write_line(row)
