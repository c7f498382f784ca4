"""Start-up time of imports, help pages and ten samples in a new process, compared with ragas and deepeval.

    python benchmarks/start_up.py [ROUNDS]

Prints the minimum and the median CPU time (user and system) and the minimum wall clock of ROUNDS (15) interleaved runs
in milliseconds, and the CPU time beyond that of a bare interpreter. The goals are 120 ms for `--help` and 400 ms for
ten samples. The imports of numpy and pydantic, which scoring needs, are listed for comparison.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

BARE = "python -c pass"
COMMANDS = {
    BARE: ["-c", "pass"],
    "import claimeval": ["-c", "import claimeval"],
    "from claimeval import lexical": ["-c", "from claimeval import lexical"],
    "claimeval --help": ["-m", "claimeval", "--help"],
    "claimeval score --help": ["-m", "claimeval", "score", "--help"],
    "claimeval cache stats --help": ["-m", "claimeval", "cache", "stats", "--help"],
    "import numpy, pydantic.main": ["-c", "import numpy, pydantic.main"],
    "import ragas": ["-c", "import ragas"],
    "import deepeval": ["-c", "import deepeval"],
}


DEMO = Path(__file__).parents[1] / "examples" / "data" / "demo.jsonl"


def ten_samples(folder: str) -> list[str]:
    """Return the command that scores ten samples with the lexical judge, with a report."""
    folders = ["-o", f"{folder}/run", "--overwrite", "--cache", f"{folder}/cache"]
    return ["-m", "claimeval", "score", str(DEMO), "--limit", "10", "-j", "local:lexical", *folders]


class Times(NamedTuple):
    """Milliseconds of one new process."""

    cpu: float
    wall: float


def runs(arguments: list[str]) -> bool:
    """Return whether a new process can run this command."""
    return subprocess.run([sys.executable, *arguments], capture_output=True, check=False).returncode == 0


def measure(arguments: list[str]) -> Times:
    """Measure one new process."""
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    return Times(1000 * (usage.ru_utime + usage.ru_stime), 1000 * (time.perf_counter() - started))


def main(rounds: int) -> None:
    """Measure all commands in turn and print the table."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # otherwise, each process compiles its modules again
    with TemporaryDirectory() as folder:
        run = f"{folder}/run"
        of_ten_samples = {
            "claimeval score, ten samples": ten_samples(folder),
            "claimeval report of them": ["-m", "claimeval", "report", run],
            "claimeval compare of them": ["-m", "claimeval", "compare", run, run],
        }
        measure_all({**COMMANDS, **of_ten_samples}, rounds)


def measure_all(candidates: dict[str, list[str]], rounds: int) -> None:
    """Measure the commands that can run, in turn, and print the table."""
    commands = {name: arguments for name, arguments in candidates.items() if runs(arguments)}
    times: dict[str, list[Times]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, arguments in commands.items():
            times[name].append(measure(arguments))
    bare = min(run.cpu for run in times[BARE])
    columns = ("least CPU", "median CPU", "least wall", "CPU over bare")
    print(f"{'milliseconds of a fresh process':32}" + "".join(f"{column:>15}" for column in columns))
    for name, measured in times.items():
        cpu, wall = [run.cpu for run in measured], min(run.wall for run in measured)
        print(f"{name:32}{min(cpu):15.0f}{statistics.median(cpu):15.0f}{wall:15.0f}{min(cpu) - bare:15.0f}")
    for name in candidates.keys() - commands.keys():
        print(f"{name:32} not installed, or its import fails")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
