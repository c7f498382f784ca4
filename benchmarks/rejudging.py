"""CPU time of voting again, comparing and reporting large runs.

    python -m benchmarks.rejudging --samples 100000

The runs repeat a hundred samples with verdicts of three judges under other ids. The commands run in
separate processes. The lower bound is parsing the lines of one run once.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.loopback import claim_judge
from benchmarks.runs import ROOT, table
from claimeval.evaluation.claims import ClaimsOptions, make_job
from claimeval.evaluation.summary import SummaryBuilder
from claimeval.execution import Executor
from claimeval.metrics.derived import select_metrics
from claimeval.runs.directory import RunWriter
from claimeval.types.chat_format import read_chat, write_chat
from claimeval.types.records import Document, Sample, SampleResult
from claimeval.types.requests import Judge, Outcome, Request

JUDGES = ("one", "two", "three")
DISTINCT = 100
"""Number of samples that are judged. The others are copies with other ids."""


class _Undecided(Executor):
    """Judges in this process that sometimes give another label."""

    def __init__(self, seed: str) -> None:
        self._rng = random.Random(seed)

    async def ask(self, request: Request) -> Outcome:
        asked = {"messages": [{"role": m.role, "content": m.content} for m in request.messages]}
        reply = json.loads(str(claim_judge.answer(asked).content))
        for verdict in reply.get("verdicts", ()):
            if self._rng.random() < 0.2:
                verdict["label"] = self._rng.choice(("supported", "contradicted", "not_found"))
        return read_chat(write_chat(json.dumps(reply), request.judge.name))


def write_run(folder: Path, count: int, seed: str) -> int:
    """Write a run, and return the size of its samples in bytes."""
    judges = [
        Judge(name=name, model="openai:judge", endpoint=f"http://127.0.0.1:9/{name}")
        for name in JUDGES
    ]
    job = make_job(ClaimsOptions(judges=judges), select_metrics(("faithfulness",)))
    executor = _Undecided(seed)
    size = 0
    with RunWriter(folder, job.manifest, overwrite=True) as writer:
        tallies = SummaryBuilder(writer.manifest)

        def add(number: int, one: SampleResult) -> int:
            """Add a result under the id and the question of its number."""
            sample = one.sample.model_copy(
                update={"id": f"s{number}", "question": f"What about tower {number}?"}
            )
            result = one.model_copy(update={"sample": sample})
            writer.add(result)
            tallies.add(result)
            return len(sample.model_dump_json(exclude_defaults=True)) + 1

        distinct = [
            asyncio.run(job.evaluate(_sample(i), executor)) for i in range(min(count, DISTINCT))
        ]
        for number in range(count):
            size += add(number, distinct[number % DISTINCT])
        writer.finish(tallies.summary())
    return size


def _sample(i: int) -> Sample:
    texts = (
        f"Tower {i} was built in 1{i:03}. It stands by the river.",
        "The king paid for no tower, the city did.",
    )
    return Sample(
        id=f"s{i}",
        question=f"What about tower {i}?",
        answer=f"Tower {i} was built in 1{i:03}. The WRONG king paid for tower {i}.",
        contexts=tuple(Document(id=f"page-{n}", text=text) for n, text in enumerate(texts)),
    )


def command_seconds(*arguments: str) -> float:
    """Return the CPU seconds of a command in a separate process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "claimeval", *arguments], cwd=ROOT, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    return usage.ru_utime + usage.ru_stime


def parsed_seconds(folder: Path) -> float:
    """Return the CPU seconds of parsing every line of a run."""
    started = time.process_time()
    with (
        (folder / "results.jsonl").open("rb") as results,
        gzip.open(folder / "replies.jsonl.gz") as replies,
    ):
        for line, asked in zip(results, replies, strict=True):
            json.loads(line), json.loads(asked)
    return time.process_time() - started


def large_runs(count: int) -> None:
    """Measure commands over large runs.

    The goals for 100,000 samples are 10 s to vote again, 10 s to compare, 20 s and 20 MB for the
    report, and results of at most 3 times the size of the data.
    """
    os.environ.pop(
        "PYTHONDONTWRITEBYTECODE", None
    )  # otherwise, each command compiles its modules again
    with tempfile.TemporaryDirectory() as name:
        one = Path(name, "one")
        other = Path(name, "other")
        data = write_run(one, count, "one")
        write_run(other, count, "other")
        floor = parsed_seconds(one)
        found: list[tuple[object, ...]] = [("floor: each line of one run parsed", floor, 1.0)]
        for said, *arguments in (
            (
                "rejudge --vote median",
                "rejudge",
                str(one),
                "--vote",
                "median",
                "--out",
                f"{name}/voted",
            ),
            ("compare", "compare", str(one), str(other)),
            ("report", "report", str(one)),
        ):
            seconds = command_seconds(*arguments)
            found.append((said, seconds, seconds / floor))
        table(f"CPU of commands over {count:,} samples", ("", "seconds", "x floor"), found)
        sizes = [
            (file, Path(name, "one", file).stat().st_size)
            for file in ("results.jsonl", "report.html")
        ]
        table(
            "bytes", ("", "MB", "x data"), [(file, size / 1e6, size / data) for file, size in sizes]
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=10_000)
    large_runs(parser.parse_args().samples)


if __name__ == "__main__":
    main()
