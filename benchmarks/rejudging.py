"""Recorded replies to a run, votes counted anew, claims judged again: time on one core and memory.

    python -m benchmarks.rejudging [--replies 100000]

The floor in the same run is reading the file with `json.loads` and writing it with `json.dumps`, once each. Replies are
texts in the forms of published judges: a first word with a reason, reasons with a marked answer, a plain statement, and
one in fifty that says both and is refused. Three judges per claim, human labels for all.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from claimeval.types.options import PanelOptions

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
    """Rows of recorded replies, the same every time."""
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
    """Reads and writes the file, and nothing else."""
    with (folder / "replies.jsonl").open(encoding="utf-8") as file, (folder / "copy.jsonl").open("w") as copy:
        for line in file:
            copy.write(json.dumps(json.loads(line)) + "\n")


def imported(folder: Path) -> None:
    from claimeval.data.foreign.field_maps import field_map
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
    """CPU seconds and peak MiB of one step in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.rejudging", "--step", step, "--folder", str(folder)]
    done = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return done["seconds"], done["mebibytes"]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replies", type=int, default=100_000)
    parser.add_argument("--step", choices=STEPS)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
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
