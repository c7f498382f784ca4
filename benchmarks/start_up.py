"""How long `import claimeval` and `claimeval --help` take in a fresh process, beside ragas and deepeval if installed.

    python benchmarks/start_up.py [ROUNDS]

Prints the best and the median of ROUNDS (15) interleaved runs in milliseconds, and the ratio to a bare interpreter.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import claimeval": ["-c", "import claimeval"],
    "from claimeval import lexical": ["-c", "from claimeval import lexical"],
    "claimeval --help": ["-m", "claimeval", "--help"],
    "import ragas": ["-c", "import ragas"],
    "import deepeval": ["-c", "import deepeval"],
}


def runs(arguments: list[str]) -> bool:
    """Whether a fresh process can do this at all."""
    return subprocess.run([sys.executable, *arguments], capture_output=True, check=False).returncode == 0


def wall(arguments: list[str]) -> float:
    """Milliseconds of one fresh process."""
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return 1000 * (time.perf_counter() - started)


def main(rounds: int) -> None:
    """Measures all commands in turn and prints the table."""
    absent = [name for name in ("import ragas", "import deepeval") if not runs(COMMANDS[name])]
    commands = {name: arguments for name, arguments in COMMANDS.items() if name not in absent}
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, arguments in commands.items():
            times[name].append(wall(arguments))
    floor = min(times["python -c pass"])
    print(f"{'fresh process':32} {'best ms':>8} {'median ms':>10} {'over bare python':>17}")
    for name, found in times.items():
        print(f"{name:32} {min(found):8.0f} {statistics.median(found):10.0f} {min(found) - floor:14.0f} ms")
    for name in absent:
        print(f"{name:32} not installed, or it does not import")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
