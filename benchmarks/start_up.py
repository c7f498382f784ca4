"""How long `import claimeval` and pages of help take in a fresh process, beside ragas and deepeval if installed.

    python benchmarks/start_up.py [ROUNDS]

Prints, of ROUNDS (15) interleaved runs, the least and the median CPU (user and system) and the least wall clock in
milliseconds, and the CPU over that of a bare interpreter.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

BARE = "python -c pass"
COMMANDS = {
    BARE: ["-c", "pass"],
    "import claimeval": ["-c", "import claimeval"],
    "from claimeval import lexical": ["-c", "from claimeval import lexical"],
    "claimeval --help": ["-m", "claimeval", "--help"],
    "claimeval score --help": ["-m", "claimeval", "score", "--help"],
    "claimeval cache stats --help": ["-m", "claimeval", "cache", "stats", "--help"],
    "import ragas": ["-c", "import ragas"],
    "import deepeval": ["-c", "import deepeval"],
}


class Times(NamedTuple):
    """Milliseconds of one fresh process."""

    cpu: float
    wall: float


def runs(arguments: list[str]) -> bool:
    """Whether a fresh process can do this at all."""
    return subprocess.run([sys.executable, *arguments], capture_output=True, check=False).returncode == 0


def measure(arguments: list[str]) -> Times:
    """Run one fresh process."""
    before, started = os.times(), time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - started, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Times(1000 * cpu, 1000 * wall)


def main(rounds: int) -> None:
    """Measure all commands in turn and print the table."""
    commands = {name: arguments for name, arguments in COMMANDS.items() if runs(arguments)}
    times: dict[str, list[Times]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, arguments in commands.items():
            times[name].append(measure(arguments))
    bare = min(run.cpu for run in times[BARE])
    columns = ("least CPU", "median CPU", "least wall", "CPU over bare")
    print(f"{'milliseconds of a fresh process':32}" + "".join(f"{column:>15}" for column in columns))
    for name, found in times.items():
        cpu, wall = [run.cpu for run in found], min(run.wall for run in found)
        print(f"{name:32}{min(cpu):15.0f}{statistics.median(cpu):15.0f}{wall:15.0f}{min(cpu) - bare:15.0f}")
    for name in COMMANDS.keys() - commands.keys():
        print(f"{name:32} not installed, or it does not import")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
