"""CPU that the command line takes to show a page of help: user and system time, least and median of nine processes.

python benchmarks/startup.py
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

PAGES = (["--help"], ["score", "--help"], ["cache", "stats", "--help"])
RUNS = 9


def cpu(arguments: list[str]) -> float:
    """Return the milliseconds of CPU of one process."""
    before = os.times()
    subprocess.run([sys.executable, "-m", "claimeval", *arguments], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return 1000 * (after.children_user + after.children_system - before.children_user - before.children_system)


def main() -> None:
    """Measure each page."""
    for page in PAGES:
        found = sorted(cpu(page) for _ in range(RUNS))
        print(f"{' '.join(page):24} {found[0]:5.0f} / {statistics.median(found):5.0f} ms")


if __name__ == "__main__":
    main()
