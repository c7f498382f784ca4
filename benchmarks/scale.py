"""Growth of a run's cost with the number of samples, claims per answer, documents per question, and
judges.

    # all four, samples to 10,000; a quarter of an hour
    python -m benchmarks.scale
    # largest measured size; larger ones are extrapolated
    python -m benchmarks.scale samples --most 1000000
    python -m benchmarks.scale claims documents judges

Every point is a `score` with local judges in a separate process, with CPU time and memory from the
kernel, and the sizes of its run directory, with the page, and of its reply cache. "one more" is the
cost of one more sample, claim, document or judge between a size and the one before it. "exponent"
is the slope of the logarithms of the last two sizes' costs beyond the first: 1 is linear, 2
quadratic, and "flat" means nearly no growth. The exit code is 1 if a cost grows faster than
linearly, beyond the noise of a busy machine.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import claimeval as ce
from benchmarks.runs import ROOT, table
from claimeval.testing import ScriptedJudge

FACT = "Tower {n} was built by Ana Souto in {year}."
GROWS = ("CPU s", "peak MB", "run MB", "cache MB")
LINEAR = 1.2
"""The largest exponent that noise explains."""
FLAT = 0.25
"""Growth over all sizes, as a share of the first, that is called none."""


class Cost(NamedTuple):
    """What a process used."""

    seconds: float
    """CPU seconds."""
    wall: float
    megabytes: float
    """Peak resident memory."""


def process(code: str, folder: Path) -> Cost:
    """Run Python code in a process of its own."""
    began = time.perf_counter()
    child = os.spawnve(
        os.P_NOWAIT,
        sys.executable,
        [sys.executable, "-W", "ignore", "-c", f"import os; os.chdir({str(folder)!r}); {code}"],
        {**os.environ, "PYTHONPATH": str(ROOT)},
    )
    _, status, used = os.wait4(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, code
    return Cost(used.ru_utime + used.ru_stime, time.perf_counter() - began, used.ru_maxrss / 1024)


class Axis(NamedTuple):
    """What grows, and what stands still meanwhile."""

    sizes: tuple[int, ...]
    samples: int
    """How many there are; 0 where they are what grows."""
    claims: int = 4
    documents: int = 3


AXES = {
    "samples": Axis((100, 300, 1_000, 3_000, 10_000, 100_000, 1_000_000), 0),
    "claims": Axis((1, 100, 500, 2_000), 4),
    "documents": Axis((1, 100, 300, 1_000), 10),
    "judges": Axis((1, 4, 8, 16, 32), 100),
}


def rows(axis: str, size: int) -> Iterator[dict[str, object]]:
    """The samples of one point."""
    _, samples, claims, documents = AXES[axis]
    claims = size if axis == "claims" else claims
    documents = size if axis == "documents" else documents
    for i in range(samples or size):
        facts = [
            FACT.format(n=10_000 * i + n, year=1100 + (i + n) % 900)
            for n in range(max(claims, documents))
        ]
        yield {
            "id": f"sample-{i}",
            "question": f"What should I know about towers {10_000 * i} and up?",
            "answer": " ".join(facts[:claims]),
            "contexts": [
                f"{fact} It is of granite. It stands to this day." for fact in facts[:documents]
            ],
            "reference_answers": [facts[0]],
        }


def work(axis: str, size: int) -> None:
    """Judge the samples of this folder; every judge of a panel has labels of its own, so that none
    shares replies."""
    judges: list[str | ce.Judge] = ["local:lexical"]
    if axis == "judges":
        judges = [
            ScriptedJudge({f"claim {n}": "supported"}, name=f"judge-{n}") for n in range(size)
        ]
    ce.score(
        "data.jsonl",
        judges=judges,
        metrics="faithfulness",
        out="run",
        options=ce.RunOptions(cache="cache"),
    )


class Point(NamedTuple):
    """What one size cost, in the order of GROWS."""

    size: int
    costs: tuple[float, ...]


def measure(axis: str, size: int) -> Point:
    """Run one point."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "data.jsonl").open("w") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows(axis, size))
        used = process(f"from benchmarks.scale import work; work({axis!r}, {size})", folder)
        sizes = (
            sum(file.stat().st_size for file in (folder / part).rglob("*")) / 1e6
            for part in ("run", "cache")
        )
        return Point(size, (used.seconds, used.megabytes, *sizes))


def one_more(points: list[Point], column: int) -> float:
    """What one more costs between the last two sizes."""
    before, last = points[-2:]
    return (last.costs[column] - before.costs[column]) / (last.size - before.size)


def exponent(points: list[Point], column: int) -> float | None:
    """The slope of the logarithm of what the sizes cost over the first, between the last two; None
    if it is flat."""
    first, before, last = points[0], *points[-2:]
    grown = [point.costs[column] - first.costs[column] for point in (before, last)]
    if grown[1] < FLAT * first.costs[column] or min(grown) <= 0:
        return None
    return math.log(grown[1] / grown[0]) / math.log(
        (last.size - first.size) / (before.size - first.size)
    )


def grow(axis: str, most: int) -> bool:
    """Print how the cost grows along one axis; return whether it is linear at most."""
    points: list[Point] = []
    lines: list[tuple[object, ...]] = []
    for size in AXES[axis].sizes:
        if size <= most:
            points.append(measure(axis, size))
            each = [
                1e6 * one_more(points, column) if len(points) > 1 else ""
                for column in range(len(GROWS))
            ]
            lines.append(
                (
                    f"{size:,}",
                    *(cell for pair in zip(points[-1].costs, each, strict=True) for cell in pair),
                )
            )
        else:
            far = [
                cost + (size - points[-1].size) * one_more(points, i)
                for i, cost in enumerate(points[-1].costs)
            ]
            lines.append((f"{size:,} by the slope", *(cell for cost in far for cell in (cost, ""))))
    exponents = [exponent(points, column) for column in range(len(GROWS))]
    lines.append(
        ("exponent", *(cell for e in exponents for cell in ("flat" if e is None else e, "")))
    )
    units = {"CPU s": "us", "peak MB": "bytes", "run MB": "bytes", "cache MB": "bytes"}
    columns = (axis, *(cell for name in GROWS for cell in (name, f"one more, {units[name]}")))
    table(f"{axis}, {AXES[axis].samples or 'so many'} samples", columns, lines)
    worse = [name for name, e in zip(GROWS, exponents, strict=True) if e is not None and e > LINEAR]
    if worse:
        print(f"worse than linear in {axis}: {', '.join(worse)}")
    return not worse


def main() -> int:
    """Measure the axes that are named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "axes",
        nargs="*",
        default=list(AXES),
        metavar="AXIS",
        help=f"{', '.join(AXES)}; all of them",
    )
    parser.add_argument(
        "--most", type=int, default=10_000, help="the largest size that is measured [10000]"
    )
    given = parser.parse_args()
    if unknown := set(given.axes) - AXES.keys():
        parser.error(f"no axis {min(unknown)!r}")
    linear = [grow(axis, given.most) for axis in given.axes]
    return 0 if all(linear) else 1


if __name__ == "__main__":
    sys.exit(main())
