"""Time on one core and memory of importing recorded replies, counting votes again, and rejudging.

    python -m benchmarks.rejudging [--replies 100000]
    python -m benchmarks.rejudging --samples 100000    # runs of this size: vote again, compare, report

The lower bound is reading the file with `json.loads` and writing it with `json.dumps`, once each. Replies have the
forms of published judges: a first word with a reason, reasons with a marked answer, a plain statement, and one in fifty
that says both and is refused. Every claim has three judges and a human label.

The runs of `--samples` repeat a hundred samples with verdicts of three judges under other ids. The commands run in
separate processes. The lower bound is parsing the lines of one run once.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.loopback import claim_judge
from benchmarks.runs import ROOT, table
from claimeval.evaluation.claims import ClaimsOptions, make_job
from claimeval.evaluation.summary import SummaryBuilder
from claimeval.metrics.derived import select_metrics
from claimeval.runs.directory import RunWriter
from claimeval.types.chat_format import read_chat, write_chat
from claimeval.types.options import PanelOptions
from claimeval.types.records import Document, Sample, SampleResult
from claimeval.types.requests import Judge, Outcome, Request

JUDGES = ("one", "two", "three")
CLAIMS = 4
"""Claims a sample."""
MAPPING: dict[str, Any] = {
    "id": "sample",
    "question": "question",
    "answer": "answer",
    "contexts": "context",
    "claim": "claim",
    "claim_id": "number",
    "against": "contexts",
    "judges": {name: f"replies/{name}" for name in JUDGES},
    "forms": ["first_word", "answer", "statement"],
    "human_label": "human",
}
YES = (
    "Yes, the candidate is correct. The passage says so in its second sentence, and nothing contradicts it.",
    "The passage names the place and the year.\nBoth agree with what is claimed.\nAnswer: Yes",
    "The statement is fully supported by the document.",
)
NO = (
    "No, the candidate is not correct. The passage gives another year and does not mention the place at all.",
    "The passage names the place but not the year.\nSo the claim goes beyond it.\nAnswer: No",
    "The statement is not supported by the document, which is about something else.",
)
BOTH = "No, the candidate is correct. The season ended in January."
STEPS = ("floor", "import", "majority", "dawid_skene", "agreement")


def rows(replies: int) -> Iterator[dict[str, Any]]:
    """Yield rows of recorded replies, always the same."""
    rng = random.Random(5)
    for i in range(replies // len(JUDGES)):
        sample, truth = i // CLAIMS, rng.random() < 0.6
        said = {}
        for judge in JUDGES:
            agrees = rng.random() < 0.85
            said[judge] = BOTH if rng.random() < 0.02 else rng.choice(YES if agrees == truth else NO)
        claim = f"Claim {i} says that tower {sample} was finished in {1800 + i % 200}."
        yield {
            "sample": f"s{sample}",
            "question": f"What about tower {sample}?",
            "answer": f"Tower {sample} has a history. {claim}",
            "context": f"Tower {sample} stands by the river and was finished long ago. " * 3,
            "claim": claim,
            "number": f"answer-{i % CLAIMS + 1}",
            "replies": said,
            "human": "Yes" if truth else "No",
        }


def floor(folder: Path) -> None:
    """Only read and write the file."""
    with (folder / "replies.jsonl").open(encoding="utf-8") as file, (folder / "copy.jsonl").open("w") as copy:
        for line in file:
            copy.write(json.dumps(json.loads(line)) + "\n")


def imported(folder: Path) -> None:
    from claimeval.data.recorded import field_map
    from claimeval.runs.import_replies import import_judged, open_file

    path = folder / "replies.jsonl"
    import_judged(open_file(path, field_map(MAPPING)), str(path), folder / "run", overwrite=True)


def revote(vote: str) -> Callable[[Path], None]:
    def step(folder: Path) -> None:
        from claimeval.api.claims import rejudge

        rejudge(folder / "run", panel=PanelOptions(vote=vote), out=folder / vote, overwrite=True)

    return step


def agreement(folder: Path) -> None:
    from claimeval.data.labels import read_labels
    from claimeval.runs.agreement import measure
    from claimeval.runs.directory import load_manifest, read_results
    from claimeval.runs.labels import join

    panel = load_manifest(folder / "run").panel
    measure(join(read_results(folder / "run"), JUDGES, panel, read_labels(folder / "run" / "labels.jsonl")), panel)


WAYS: dict[str, Callable[[Path], None]] = {
    "floor": floor,
    "import": imported,
    "majority": revote("majority"),
    "dawid_skene": revote("dawid_skene"),
    "agreement": agreement,
}
SAYS = {
    "floor": "floor: json in, json out",
    "import": "import-replies: verdicts, votes, agreement of judges, summary, run written",
    "majority": "rejudge --vote majority: all votes counted anew, run written",
    "dawid_skene": "rejudge --vote dawid_skene: learned from the whole run, counted, written",
    "agreement": "agreement with human labels, intervals over questions",
}


def measured(step: str, folder: Path) -> tuple[float, float]:
    """Return CPU seconds and peak MiB of a step in a separate process."""
    command = [sys.executable, "-m", "benchmarks.rejudging", "--step", step, "--folder", str(folder)]
    done = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return done["seconds"], done["mebibytes"]


# --- a run of many samples ---

DISTINCT = 100
"""Number of samples that are judged. The others are copies with other ids."""


class _Undecided:
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
    judges = [Judge(name=name, model="openai:judge", endpoint=f"http://127.0.0.1:9/{name}") for name in JUDGES]
    job = make_job(ClaimsOptions(judges=judges), select_metrics(("faithfulness",)))
    executor, size = _Undecided(seed), 0
    with RunWriter(folder, job.manifest, overwrite=True) as writer:
        tallies = SummaryBuilder(writer.manifest)

        def add(number: int, one: SampleResult) -> int:
            """Add a result under the id and the question of its number."""
            sample = one.sample.replaced(id=f"s{number}", question=f"What about tower {number}?")
            result = one.replaced(sample=sample)
            writer.add(result)
            tallies.add(result)
            return len(sample.model_dump_json(exclude_defaults=True)) + 1

        distinct = [asyncio.run(job.evaluate(_sample(i), executor)) for i in range(min(count, DISTINCT))]
        for number in range(count):
            size += add(number, distinct[number % DISTINCT])
        writer.finish(tallies.summary())
    return size


def _sample(i: int) -> Sample:
    texts = (f"Tower {i} was built in 1{i:03}. It stands by the river.", "The king paid for no tower, the city did.")
    return Sample(
        id=f"s{i}",
        question=f"What about tower {i}?",
        answer=f"Tower {i} was built in 1{i:03}. The WRONG king paid for tower {i}.",
        contexts=tuple(Document(id=f"page-{n}", text=text) for n, text in enumerate(texts)),
    )


def command_seconds(*arguments: str) -> float:
    """Return the CPU seconds of a command in a separate process."""
    process = subprocess.Popen([sys.executable, "-m", "claimeval", *arguments], cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    return usage.ru_utime + usage.ru_stime


def parsed_seconds(folder: Path) -> float:
    """Return the CPU seconds of parsing every line of a run."""
    started = time.process_time()
    with (folder / "results.jsonl").open("rb") as results, gzip.open(folder / "replies.jsonl.gz") as replies:
        for line, asked in zip(results, replies, strict=True):
            json.loads(line), json.loads(asked)
    return time.process_time() - started


def large_runs(count: int) -> None:
    """Measure commands over large runs.

    The goals for 100,000 samples are 10 s to vote again, 10 s to compare, 20 s and 20 MB for the report, and results of
    at most 3 times the size of the data.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # otherwise, each command compiles its modules again
    with tempfile.TemporaryDirectory() as name:
        one, other = Path(name, "one"), Path(name, "other")
        data = write_run(one, count, "one")
        write_run(other, count, "other")
        floor = parsed_seconds(one)
        found: list[tuple[object, ...]] = [("floor: each line of one run parsed", floor, 1.0)]
        for said, *arguments in (
            ("rejudge --vote median", "rejudge", str(one), "--vote", "median", "--out", f"{name}/voted"),
            ("compare", "compare", str(one), str(other)),
            ("report", "report", str(one)),
        ):
            seconds = command_seconds(*arguments)
            found.append((said, seconds, seconds / floor))
        table(f"CPU of commands over {count:,} samples", ("", "seconds", "x floor"), found)
        sizes = [(file, Path(name, "one", file).stat().st_size) for file in ("results.jsonl", "report.html")]
        table("bytes", ("", "MB", "x data"), [(file, size / 1e6, size / data) for file, size in sizes])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replies", type=int, default=100_000)
    parser.add_argument("--samples", type=int, help="measure commands over runs of so many samples instead")
    parser.add_argument("--step", choices=STEPS)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.samples:
        large_runs(given.samples)
        return
    if given.step:
        started = time.process_time()
        WAYS[given.step](given.folder)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": time.process_time() - started, "mebibytes": peak}))
        return
    print(f"{given.replies} recorded replies of {len(JUDGES)} judges, one core\n")
    print("| step | CPU s | us a reply | x floor | peak MiB | peak MiB at a tenth |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as large, tempfile.TemporaryDirectory() as small:
        folders = {Path(large): given.replies, Path(small): given.replies // 10}
        for folder, replies in folders.items():
            with (folder / "replies.jsonl").open("w", encoding="utf-8") as file:
                file.writelines(json.dumps(row) + "\n" for row in rows(replies))
        base = 0.0
        for step in STEPS:
            seconds, peak = measured(step, Path(large))
            _, less = measured(step, Path(small))
            base = base or seconds
            each = seconds / given.replies * 1e6
            print(f"| {SAYS[step]} | {seconds:.2f} | {each:.1f} | {seconds / base:.1f} | {peak:.0f} | {less:.0f} |")


if __name__ == "__main__":
    main()
