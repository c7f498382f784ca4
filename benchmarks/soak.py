"""A run at 50 calls a second with 5 % faults: open files and memory as time goes by, and what Python warns of.

    python -m benchmarks.soak [MINUTES]      # from the root of the checkout; 60 minutes

The goal is that the last quarter has neither more memory than the second, give or take 5 %, nor more open files.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median

from tests.soak import soak


def main(minutes: float) -> None:
    """Prints a line for each quarter of the run."""
    with tempfile.TemporaryDirectory() as folder:
        soaked = soak(Path(folder), 60 * minutes)
    quarter = len(soaked.looks) // 4
    print(f"{'quarter':8} {'open files':>11} {'memory, MB':>11}   medians")
    for number in range(4):
        looks = soaked.looks[number * quarter : (number + 1) * quarter]
        print(f"{number + 1:<8} {median(x.files for x in looks):11.0f} {median(x.memory for x in looks) / 1e6:11.1f}")
    warned = [word for word in ("Warning", "Traceback", "unclosed") if word in soaked.said]
    print(f"ended with {soaked.codes[-1]}; warnings: {', '.join(warned) or 'none'}")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0)
