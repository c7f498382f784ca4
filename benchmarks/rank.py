"""Speed and memory of the rank metrics, compared with pytrec_eval, trec_eval and ranx, whose values must be equal.

    python benchmarks/rank.py                             1,000 queries with 100 and with 1,000 documents, minutes
    python benchmarks/rank.py --sizes 50000x100           queries x documents, several joined by commas
    python benchmarks/rank.py --trec-eval path/trec_eval  with the C program, where it is not on the PATH
    python benchmarks/rank.py --small                     one query of ten documents, seconds

Six measures per query: map, ndcg, ndcg@10, recip_rank, P@10, recall@100. `dict` starts with dicts of dicts, `file` with
TREC files and includes reading them. All programs run in turn, the best of `--rounds` turns counts, and a different
value stops the program. Peak memory is that of a separate process. Peers are measured if they are installed (`pip
install pytrec-eval-terrier ranx`, best in a separate environment). Scores are distinct unless `--ties` is given, and
then ranx is left out, because it orders equal scores arbitrarily.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from claimeval import ir

Mode = Literal["dict", "file"]

MEASURES = ("map", "ndcg", "ndcg@10", "recip_rank", "P@10", "recall@100")
TREC = ("map", "ndcg", "ndcg_cut.10", "recip_rank", "P.10", "recall.100")
PRINTED = ("map", "ndcg", "ndcg_cut_10", "recip_rank", "P_10", "recall_100")
RANX = ("map", "ndcg", "ndcg@10", "mrr", "precision@10", "recall@100")


class Data(NamedTuple):
    """Judgments and a run, as files and as dicts."""

    qrels: Path
    run: Path
    judged: dict[str, dict[str, int]]
    retrieved: dict[str, dict[str, float]]


def draw(folder: Path, queries: int, documents: int, judged: int, ties: float) -> None:
    """Half of the judged documents are retrieved; grades are 0, 0, 1 or 2; scores fall."""
    chance = random.Random(queries + documents)
    with (folder / "qrels").open("w") as qrels, (folder / "run").open("w") as run:
        for number in range(queries):
            retrieved = chance.sample(range(1_000_000), documents)
            scores = sorted(chance.sample(range(1_000_000), documents), reverse=True)
            for rank in range(1, documents):
                if chance.random() < ties:
                    scores[rank] = scores[rank - 1]
            for rank, (document, score) in enumerate(zip(retrieved, scores, strict=True), 1):
                run.write(f"q{number:05d} Q0 doc{document:07d} {rank} {score / 10_000} tag\n")
            missed = chance.sample(range(1_000_000, 2_000_000), judged - judged // 2)
            for document in chance.sample(retrieved, judged // 2) + missed:
                qrels.write(f"q{number:05d} 0 doc{document:07d} {chance.choice((0, 0, 1, 2))}\n")


def read(folder: Path) -> Data:
    """The files, and dicts of them as a user's own loop makes them."""
    data = Data(folder / "qrels", folder / "run", {}, {})
    for line in data.qrels.open():
        query, _, document, grade = line.split()
        data.judged.setdefault(query, {})[document] = int(grade)
    for line in data.run.open():
        query, _, document, _, score, _ = line.split()
        data.retrieved.setdefault(query, {})[document] = float(score)
    return data


def ours(data: Data, mode: Mode) -> Any:
    """claimeval, from dicts or straight from the files."""
    if mode == "file":
        return ir.evaluate(data.qrels, data.run, MEASURES).per_query
    return ir.evaluate(data.judged, data.retrieved, MEASURES).per_query


def pytrec_eval(data: Data, mode: Mode) -> Any:
    """The Python binding of trec_eval, with its own readers."""
    module: Any = importlib.import_module("pytrec_eval")
    judged, retrieved = data.judged, data.retrieved
    if mode == "file":
        with data.qrels.open() as qrels, data.run.open() as run:
            judged, retrieved = module.parse_qrel(qrels), module.parse_run(run)
    return module.RelevanceEvaluator(judged, set(TREC)).evaluate(retrieved)


def ranx(data: Data, mode: Mode) -> Any:
    """ranx, which compiles its loops in the first turn."""
    module: Any = importlib.import_module("ranx")
    if mode == "file":
        qrels = module.Qrels.from_file(str(data.qrels), kind="trec")
        run = module.Run.from_file(str(data.run), kind="trec")
    else:
        qrels, run = module.Qrels(data.judged), module.Run(data.retrieved)
    module.evaluate(qrels, run, list(RANX), return_mean=False)
    return {query: {name: run.scores[name][query] for name in RANX} for query in run.scores["map"]}


def c_program(data: Data, mode: Mode, path: str = "trec_eval") -> Any:
    """trec_eval itself; its output is not parsed within the time."""
    options = [option for name in TREC for option in ("-m", name)]
    command = [path, "-q", "-n", *options, str(data.qrels), str(data.run)]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def parsed(output: str) -> dict[str, dict[str, float]]:
    """What trec_eval printed."""
    table: dict[str, dict[str, float]] = {}
    for line in output.splitlines():
        name, query, value = line.split()
        table.setdefault(query, {})[name] = float(value)
    return table


class Tool(NamedTuple):
    """One program: what it is called, how it is called, and what it calls the measures."""

    name: str
    evaluate: Callable[[Data, Mode], Any]
    names: tuple[str, ...]
    accuracy: float = 1e-12

    def check(self, result: Any, expected: Any) -> None:
        """Stop at the first value that differs from ours."""
        table = parsed(result) if isinstance(result, str) else result
        for query, values in expected.items():
            for name, twin in zip(MEASURES, self.names, strict=True):
                if abs(values[name] - table[query][twin]) > self.accuracy:
                    raise SystemExit(
                        f"{name} of {query}: {self.name} says {table[query][twin]}, claimeval {values[name]}"
                    )


def tools(trec_eval: str | None, mode: Mode, *, ties: bool) -> Iterator[Tool]:
    """Ours and the peers that are there."""
    yield Tool("claimeval", ours, MEASURES)
    if importlib.util.find_spec("pytrec_eval"):
        yield Tool("pytrec_eval", pytrec_eval, PRINTED)
    if trec_eval and mode == "file":
        yield Tool("trec_eval (C)", partial(c_program, path=trec_eval), PRINTED, accuracy=5.01e-5)
    if importlib.util.find_spec("ranx") and not ties:
        yield Tool("ranx", ranx, RANX)


def seconds(data: Data, mode: Mode, competitors: list[Tool], rounds: int) -> dict[str, float]:
    """The best time of each tool; they take turns."""
    best: dict[str, float] = {}
    for _ in range(rounds):
        expected: Any = None
        for tool in competitors:
            start = time.perf_counter()
            result = tool.evaluate(data, mode)
            best[tool.name] = min(best.get(tool.name, float("inf")), time.perf_counter() - start)
            expected = result if expected is None else expected
            tool.check(result, expected)
    return best


def megabytes(folder: Path, mode: Mode, tool: str, trec_eval: str | None) -> float:
    """The peak memory of a new process in which one tool does its work once."""
    command = [sys.executable, __file__, "--alone", str(folder), mode, tool, "--trec-eval", trec_eval or ""]
    return float(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def work_alone(folder: Path, mode: Mode, name: str, trec_eval: str | None) -> None:
    """Do the work of one tool and print the peak memory in megabytes."""
    data = read(folder) if mode == "dict" else Data(folder / "qrels", folder / "run", {}, {})
    next(tool for tool in tools(trec_eval, mode, ties=False) if tool.name == name).evaluate(data, mode)
    print(_peak_of_children() if name.startswith("trec_eval") else _peak())


def _peak() -> float:
    """Megabytes; Linux counts the parent's memory into `ru_maxrss` of a new process, so that its own mark is read."""
    marks = Path("/proc/self/status")
    if not marks.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return int(next(line.split()[1] for line in marks.open() if line.startswith("VmHWM"))) / 1024


def _peak_of_children() -> float:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


GOALS = {
    ("file", 1000, "pytrec_eval"): 2.0,
    ("file", 1000, "trec_eval (C)"): 1.5,
    ("file", 100, "pytrec_eval"): 2.0,
    ("file", 100, "trec_eval (C)"): 1.5,
    ("dict", 100, "pytrec_eval"): 1.5,
    ("dict", 100, "ranx"): 8.0,
    ("dict", 1000, "pytrec_eval"): 5.0,
}
"""How many times as fast as the peer claimeval should be, by mode and documents a query."""


def small() -> None:
    """Print what one query of ten documents takes, with evaluators that are kept and that are made for it."""
    with tempfile.TemporaryDirectory() as name:
        draw(Path(name), 1, 10, 10, 0.0)
        data = read(Path(name))
    peer: Any = importlib.import_module("pytrec_eval")
    judged, retrieved = data.judged, data.retrieved
    kept, kept_peer = ir.Evaluator(judged, MEASURES), peer.RelevanceEvaluator(judged, set(TREC))
    expected = kept_peer.evaluate(retrieved)
    Tool("pytrec_eval", pytrec_eval, PRINTED).check(expected, kept.evaluate(retrieved).per_query)
    print("| evaluator | claimeval us | pytrec_eval us | ratio | goal |\n|---|---|---|---|---|")
    turns: dict[str, tuple[Callable[[], Any], Callable[[], Any], float]] = {
        "kept": (lambda: kept.evaluate(retrieved), lambda: kept_peer.evaluate(retrieved), 10 / 3),
        "new": (lambda: ours(data, "dict"), lambda: pytrec_eval(data, "dict"), 60 / 53),
    }
    for label, (mine, theirs, goal) in turns.items():
        best = [float("inf")] * 2
        for _ in range(30):
            for place, work in enumerate((mine, theirs)):
                best[place] = min(best[place], timeit.timeit(work, timer=time.process_time, number=500) / 500 * 1e6)
        print(f"| {label} | {best[0]:.1f} | {best[1]:.1f} | {best[0] / best[1]:.2f} | {goal:.2f} |")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000x100,1000x1000", help="queries x documents")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--judged", type=int, default=30, help="judged documents a query")
    parser.add_argument("--ties", type=float, default=0.0, help="share of documents that tie with the one before")
    parser.add_argument("--trec-eval", default=shutil.which("trec_eval"), help="the C program")
    parser.add_argument("--small", action="store_true", help="one query of ten documents alone")
    parser.add_argument("--alone", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        folder, mode, tool = options.alone
        work_alone(Path(folder), mode, tool, options.trec_eval)
        return
    if options.small:
        small()
        return
    print("| queries x docs | from | program | ms | us a query | times claimeval | goal | peak MB |")
    print("|---|---|---|---|---|---|---|---|")
    for size in options.sizes.split(","):
        queries, documents = map(int, size.split("x"))
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            draw(folder, queries, documents, options.judged, options.ties)
            data = read(folder)
            for mode in get_args(Mode):
                competitors = list(tools(options.trec_eval, mode, ties=options.ties > 0))
                times = seconds(data, mode, competitors, options.rounds)
                for tool, best in times.items():
                    goal = GOALS.get((mode, documents, tool), "")
                    peak = megabytes(folder, mode, tool, options.trec_eval)
                    print(
                        f"| {queries}x{documents} | {mode} | {tool} | {best * 1e3:.1f} | {best / queries * 1e6:.1f} "
                        f"| {best / times['claimeval']:.2f} | {goal} | {peak:.0f} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
