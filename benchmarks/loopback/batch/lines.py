"""The lines of an input file, which are validated when the batch is created, and read in any order
when it runs."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.loopback.batch.jobs import Problem
from benchmarks.loopback.batch.plan import Batching
from benchmarks.loopback.dialects import Name

REPORTED = 50
"""Maximum number of problems that are reported for a batch."""

Line = dict[str, Any]


def count(paths: Iterable[Path]) -> int:
    """Return the number of requests in the files."""
    return sum(1 for path in paths for _ in _raw(path))


def problems(
    dialect: Name, paths: Iterable[Path], endpoint: str, plan: Batching
) -> tuple[Problem, ...]:
    """Return the problems of the files. Line numbers continue from file to file."""
    found: list[Problem] = []
    seen: set[str] = set()
    models: set[str] = set()
    number = 0
    for number, raw in enumerate((raw for path in paths for raw in _raw(path)), start=1):
        line = parse(raw)
        if line is None or not isinstance(line.get("body"), dict):
            found.append(
                Problem("invalid_json_line", "This line is not parseable as valid JSON.", number)
            )
            continue
        custom_id = line.get("custom_id")
        if dialect == "openai":
            if not isinstance(custom_id, str) or not custom_id:
                found.append(
                    Problem(
                        "missing_required_parameter",
                        "Missing required parameter: 'custom_id'.",
                        number,
                    )
                )
            if line.get("method") != "POST" or line.get("url") != endpoint:
                found.append(
                    Problem(
                        "url_mismatch", "The URL of this line is not that of the batch.", number
                    )
                )
            models.add(str(line["body"].get("model")))
        if custom_id in seen:
            found.append(
                Problem(
                    "duplicate_custom_id", f"The custom_id {custom_id!r} was used before.", number
                )
            )
        seen.add(str(custom_id))
    if number == 0:
        found.append(Problem("empty_file", "The input file is empty."))
    if number > plan.max_requests:
        found.append(
            Problem(
                "too_many_tasks",
                f"The file has {number} requests, at most {plan.max_requests} may be.",
            )
        )
    if len(models) > 1:
        found.append(
            Problem(
                "model_mismatch", f"All lines must name one model; these name {sorted(models)}."
            )
        )
    return tuple(found[:REPORTED])


def shuffled(paths: Iterable[Path], seed: str) -> Iterator[Line]:
    """Yield all lines in an order that depends only on the seed, with one line in memory at a
    time."""
    places: list[tuple[Path, int]] = []
    for path in paths:
        at = 0
        with path.open("rb") as lines:
            for raw in lines:
                if raw.strip():
                    places.append((path, at))
                at += len(raw)
    random.Random(seed).shuffle(places)
    opened = {path: path.open("rb") for path in {path for path, _ in places}}
    try:
        for path, at in places:
            opened[path].seek(at)
            line = parse(opened[path].readline())
            assert line is not None  # problems() has read them all
            yield line
    finally:
        for file in opened.values():
            file.close()


def parse(raw: bytes) -> Line | None:
    """Return the JSON object of a line; None if there is none."""
    try:
        line = json.loads(raw)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None


def _raw(path: Path) -> Iterator[bytes]:
    with path.open("rb") as lines:
        yield from (raw for raw in lines if raw.strip())
