"""CPU time of a run whose replies are all stored, beside ragas with its cache.

    uv run --isolated --with ragas==0.4.3 --with 'langchain-community<0.4' --with . \
        python -m benchmarks.stored_replies [--samples 1000] [--rounds 3]

Both evaluate faithfulness twice, with a judge in this process; the second time is measured, in a
process of its own, without its imports. claimeval writes a new run directory with its page, ragas
returns a table. Of claimeval, a second row is the same command once more into its directory, which
keeps what it had written. The programs take turns, and the medians are compared.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import tokens
from benchmarks.runs import table

SHAPES = ("short", "middle")
"""Samples of `tokens`."""
WARM_UP = 5
"""Samples that load what a run loads on first use."""
TURNS = {"claimeval": "new", "claimeval, the same directory": "same", "ragas": "ragas"}


def of_claimeval(folder: Path, samples: list[dict[str, Any]], out: str) -> None:
    """Score from the replies in a folder into a directory in it."""
    import claimeval as ce

    def judge(messages: list[dict[str, str]]) -> str:
        reply, _ = tokens.answer("\n\n".join(message["content"] for message in messages))
        return reply

    model = ce.Judge.from_callable("judge", judge, model=tokens.KNOWN)
    options = ce.RunOptions(cache=folder / "cache")
    run = ce.score(samples, judges=model, metrics="faithfulness", out=folder / out, options=options)
    assert run.complete, run.notes


def of_ragas(folder: Path, samples: list[dict[str, Any]]) -> None:
    """Evaluate from the replies in a folder."""
    from ragas import EvaluationDataset, RunConfig, evaluate
    from ragas.cache import DiskCacheBackend
    from ragas.metrics import Faithfulness

    cache = DiskCacheBackend(str(folder / "ragas"))
    model = tokens.ragas_judge(lambda *_: None, cache)
    data = [
        {
            "user_input": sample["question"],
            "response": sample["answer"],
            "retrieved_contexts": sample["contexts"],
        }
        for sample in samples
    ]
    evaluate(
        EvaluationDataset.from_list(data),
        metrics=[Faithfulness(llm=model)],
        show_progress=False,
        run_config=RunConfig(max_workers=64),
    )


def turn(name: str, folder: Path, samples: list[dict[str, Any]]) -> float:
    """Return the CPU seconds of one turn."""
    shutil.rmtree(folder / "new", ignore_errors=True)
    work: Callable[[list[dict[str, Any]], str], None]
    if name == "ragas":
        work = lambda rows, _: of_ragas(folder, rows)  # noqa: E731
    else:
        work = lambda rows, out: of_claimeval(folder, rows, out)  # noqa: E731
    work(samples[:WARM_UP], "warm")
    started = time.process_time()
    work(samples, name)
    return time.process_time() - started


def measured(name: str, folder: Path, shape: str, count: int) -> float:
    """Return the CPU seconds of a turn in a process of its own."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.stored_replies"]
    command += ["--turn", name, "--folder", str(folder), "--shape", shape, "--samples", str(count)]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(result.stdout.split()[-1])


def compare(count: int, rounds: int) -> None:
    """Measure all turns with samples of each shape, and print the table."""
    lines: list[tuple[object, ...]] = []
    for shape in SHAPES:
        with tempfile.TemporaryDirectory() as name:
            for first in TURNS.values():
                measured(first, Path(name), shape, count)
            spent: dict[str, list[float]] = {title: [] for title in TURNS}
            for _ in range(rounds):
                for title, each in TURNS.items():
                    spent[title].append(measured(each, Path(name), shape, count))
        medians = {title: statistics.median(seconds) for title, seconds in spent.items()}
        for title, median in medians.items():
            lines.append((title, shape, median, min(spent[title]), median / medians["ragas"]))
    columns = ("", "samples", "median CPU s", "best CPU s", "to ragas")
    table(f"{count:,} samples from stored replies", columns, lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--turn", choices=TURNS.values(), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--shape", choices=SHAPES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if not given.turn:
        compare(given.samples, given.rounds)
        return
    warnings.simplefilter("ignore")
    os.environ |= {"RAGAS_DO_NOT_TRACK": "true", "OPENAI_API_KEY": "none"}
    print(turn(given.turn, given.folder, tokens.rows(given.samples, tokens.SHAPES[given.shape])))


if __name__ == "__main__":
    main()
