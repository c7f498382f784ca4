"""Cost of shards compared with a single process, and of merging a million results.

From the root of the checkout:

    python -m benchmarks.shards overhead          # CPU time of shards and their merge, compared with one process
    python -m benchmarks.shards merge             # 100,000 and 1,000,000 results in 16 parts; --samples for other sizes
    python -m benchmarks.shards data >data.jsonl  # 1,000,000 short samples, to be judged in shards on the command line

Everything runs in separate processes, with CPU time and memory from the kernel. Alternatives are measured in turn, and
their medians are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.runs import ROOT, samples, table

JUDGE = "local:lexical"
SHARDS = 16
TURNS = 3
WITHOUT_PAGE = "import claimeval as ce; from claimeval.report import forms; forms.write = lambda *a, **k: None"
"""The page of a run is written once, whatever made the run, and is left out."""
BLOCK = 500
"""Samples that are judged for the benchmark of merging; their results are written again and again."""

PLACES: tuple[str, ...] = ("Alvor", "Brenna", "Calder", "Dunmore", "Elvas", "Fenwick")
PLACES += ("Gorze", "Halden", "Ivrea", "Jarvso", "Kells", "Lund")
KINDS = ("bridge", "lighthouse", "museum", "library", "town hall", "railway station", "harbour", "theatre")
PEOPLE = ("Ana Souto", "Karl Lindt", "Mary Okoro", "Jonas Berg", "Elena Marsh", "Piet de Graaf", "Ines Vidal")
MATERIALS = ("granite", "red brick", "limestone", "oak and slate", "cast iron")


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


def score(out: str, shard: str | None) -> str:
    """Code that scores the data, or a shard of it."""
    return (
        f"{WITHOUT_PAGE}; options = ce.RunOptions(cache='cache', shard={shard!r}); "
        f"ce.score('data.jsonl', judges={JUDGE!r}, metrics='faithfulness,correctness', out={out!r}, "
        f"overwrite={shard in (None, '1/1', f'1/{SHARDS}')}, options=options)"
    )


def write_data(count: int, folder: Path) -> None:
    """Write samples as a data file."""
    with (folder / "data.jsonl").open("w") as file:
        for sample in samples(count):
            row = {
                "id": sample.id,
                "question": sample.question,
                "answer": sample.answer,
                "contexts": [document.text for document in sample.contexts or ()],
                "reference_answers": list(sample.reference_answers),
            }
            file.write(json.dumps(row) + "\n")


def short_samples(count: int) -> Iterator[dict[str, object]]:
    """Yield questions on buildings: answers of one to three sentences, some of them wrong, and one or two documents."""
    draw = random.Random(1)
    for i in range(count):
        place, kind, (who, other) = draw.choice(PLACES), draw.choice(KINDS), draw.sample(PEOPLE, 2)
        material, year, visitors = draw.choice(MATERIALS), draw.randint(1650, 1990), draw.randint(2, 900) * 1000
        documents = [
            f"The {kind} of {place} was designed by {who} and opened in {year}. It is built of {material}.",
            f"About {visitors:,} people a year visit the {kind} of {place}.",
        ]
        architect, opened = draw.choice((who, who, who, other)), year + draw.choice((0, 0, 0, 7))
        answer = [
            f"It was designed by {architect} and opened in {opened}.",
            f"It is built of {draw.choice((material, material, *MATERIALS))}.",
            f"About {visitors * draw.choice((1, 1, 2)):,} people visit it in a year.",
        ]
        yield {
            "id": f"q{i}",
            "question": f"What is known about the {kind} of {place}?",
            "answer": " ".join(answer[: draw.choice((1, 1, 1, 2, 2, 3))]),
            "contexts": documents[: draw.randint(1, 2)],
        }


def overhead(count: int) -> None:
    """The goal for one shard is 1.05 at most: a run of one shard and its merge beside a plain one, all replies cached.

    A run cut in 16 starts 16 interpreters and examines the beginning of the data 16 times; its row says what that is
    for so many samples, as the sum over all processes.
    """
    ways: dict[str, list[float]] = {"plain": [], "shard 1/1": [], "merge of 1": [], "16 shards": [], "merge of 16": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_data(count, folder)
        process(score("warm", None), folder)
        for _ in range(TURNS):
            ways["plain"].append(process(score("plain", None), folder).seconds)
            ways["shard 1/1"].append(process(score("one", "1/1"), folder).seconds)
            ways["merge of 1"].append(process(f"{WITHOUT_PAGE}; ce.Run.merge('one')", folder).seconds)
            many = [process(score("many", f"{n}/{SHARDS}"), folder).seconds for n in range(1, SHARDS + 1)]
            ways["16 shards"].append(sum(many))
            ways["merge of 16"].append(process(f"{WITHOUT_PAGE}; ce.Run.merge('many')", folder).seconds)
            for run in ("one", "many"):
                for file in ("results.jsonl", "summary.json"):
                    assert (folder / run / file).read_bytes() == (folder / "plain" / file).read_bytes()
    plain = statistics.median(ways["plain"])
    lines: list[tuple[object, ...]] = [
        (way, statistics.median(seconds), statistics.median(seconds) / plain) for way, seconds in ways.items()
    ]
    table(f"{count:,} samples, {JUDGE}, CPU seconds", ("way", "CPU s", "beside plain"), lines)


def merge(count: int) -> None:
    """The goal is 60 s at most for a million, in memory that does not grow but for the numbers that are resampled."""
    rows: list[tuple[object, ...]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_data(BLOCK, folder)
        process(score("block", None), folder)
        for many in (count // 10, count):
            size = write_parts(folder, many)
            code = "from pathlib import Path; from claimeval.distributed.parts import merge; merge(Path('run'))"
            done = process(code, folder)
            copied = process("import shutil; shutil.copyfile('run/results.jsonl', 'copy')", folder)
            rows.append((f"{many:,}", size / 1e9, done.wall, done.seconds, done.megabytes, copied.wall))
    columns = ("results", "GB", "wall s", "CPU s", "peak MB", "copying them, wall s")
    table(f"merging {SHARDS} parts", columns, rows)


def write_parts(folder: Path, count: int) -> int:
    """Write finished shards with so many results, the same again and again, and return how many bytes they have."""
    from claimeval.distributed.parts import Part, PartTallies, PartWriter, begin
    from claimeval.runs import lines
    from claimeval.runs.directory import load_manifest, read_results
    from claimeval.types.options import Shard

    manifest = load_manifest(folder / "block")
    written = [lines.write(result) for result in read_results(folder / "block")]
    results, replies = (b"".join(one) for one in zip(*written, strict=True))
    once = PartTallies(manifest)
    for result in read_results(folder / "block"):
        once.add(result)
    state = once.state()
    for file in (folder / "run").glob("*"):
        file.unlink()
    size, blocks = 0, count // BLOCK
    for number in range(1, SHARDS + 1):
        shard = Shard(number, SHARDS)
        begin(folder / "run", manifest, shard, overwrite=False)
        first, stop = blocks * (number - 1) // SHARDS, blocks * number // SHARDS
        tallies = PartTallies(manifest)
        with PartWriter(Part(folder / "run", shard)) as writer:
            for _ in range(first, stop):
                writer.add_lines(results, replies, BLOCK, has_calls=True)
                tallies.absorb(state)
            tallies._ids = array("q", range(first * BLOCK, stop * BLOCK))
            index = writer.finish(manifest, range(first * BLOCK, stop * BLOCK), tallies.state(), {})
        size += index.results.bytes + index.replies.bytes
    return size


def main() -> None:
    """Run the benchmark that is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("overhead", "merge", "data"))
    parser.add_argument("--samples", type=int)
    given = parser.parse_args()
    if given.what == "overhead":
        overhead(given.samples or 20_000)
    elif given.what == "data":
        for row in short_samples(given.samples or 1_000_000):
            print(json.dumps(row))
    else:
        merge(given.samples or 1_000_000)


if __name__ == "__main__":
    main()
