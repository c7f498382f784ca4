"""Speed of the rank metrics, compared with pytrec_eval, whose values must be equal.

    python benchmarks/rank.py
        1,000 queries with 100 and with 1,000 documents, minutes
    python benchmarks/rank.py --sizes 50000x100
        queries x documents, several joined by commas
    python benchmarks/rank.py --small
        one query of ten documents, seconds

Six measures per query: map, ndcg, ndcg@10, recip_rank, P@10, recall@100. `dict` starts with dicts
of dicts, `file` with TREC files and includes reading them. Both programs run in turn, the best of
`--rounds` turns counts, and a different value stops the program.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import random
import tempfile
import time
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from claimeval import ir

Mode = Literal["dict", "file"]

MEASURES = ("map", "ndcg", "ndcg@10", "recip_rank", "P@10", "recall@100")
TREC = ("map", "ndcg", "ndcg_cut.10", "recip_rank", "P.10", "recall.100")
PRINTED = ("map", "ndcg", "ndcg_cut_10", "recip_rank", "P_10", "recall_100")


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
    judged = data.judged
    retrieved = data.retrieved
    if mode == "file":
        with data.qrels.open() as qrels, data.run.open() as run:
            judged = module.parse_qrel(qrels)
            retrieved = module.parse_run(run)
    return module.RelevanceEvaluator(judged, set(TREC)).evaluate(retrieved)


class Tool(NamedTuple):
    """One program: what it is called, how it is called, and what it calls the measures."""

    name: str
    evaluate: Callable[[Data, Mode], Any]
    names: tuple[str, ...]
    accuracy: float = 1e-12

    def check(self, result: Any, expected: Any) -> None:
        """Stop at the first value that differs from ours."""
        for query, values in expected.items():
            for name, twin in zip(MEASURES, self.names, strict=True):
                if abs(values[name] - result[query][twin]) > self.accuracy:
                    raise SystemExit(
                        f"{name} of {query}: {self.name} says {result[query][twin]}, claimeval"
                        f" {values[name]}"
                    )


TOOLS = (Tool("claimeval", ours, MEASURES), Tool("pytrec_eval", pytrec_eval, PRINTED))


def seconds(data: Data, mode: Mode, rounds: int) -> dict[str, float]:
    """The best time of each tool; they take turns."""
    best: dict[str, float] = {}
    for _ in range(rounds):
        expected: Any = None
        for tool in TOOLS:
            start = time.perf_counter()
            result = tool.evaluate(data, mode)
            best[tool.name] = min(best.get(tool.name, float("inf")), time.perf_counter() - start)
            expected = result if expected is None else expected
            tool.check(result, expected)
    return best


GOALS = {("file", 1000): 2.0, ("file", 100): 2.0, ("dict", 100): 1.5, ("dict", 1000): 5.0}
"""How many times as fast as pytrec_eval claimeval should be, by mode and documents a query."""


def small() -> None:
    """Print what one query of ten documents takes, with evaluators that are kept and that are made
    for it."""
    with tempfile.TemporaryDirectory() as name:
        draw(Path(name), 1, 10, 10, 0.0)
        data = read(Path(name))
    peer: Any = importlib.import_module("pytrec_eval")
    judged = data.judged
    retrieved = data.retrieved
    kept = ir.Evaluator(judged, MEASURES)
    kept_peer = peer.RelevanceEvaluator(judged, set(TREC))
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
                best[place] = min(
                    best[place],
                    timeit.timeit(work, timer=time.process_time, number=500) / 500 * 1e6,
                )
        print(f"| {label} | {best[0]:.1f} | {best[1]:.1f} | {best[0] / best[1]:.2f} | {goal:.2f} |")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="1000x100,1000x1000", help="queries x documents")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--judged", type=int, default=30, help="judged documents a query")
    parser.add_argument(
        "--ties", type=float, default=0.0, help="share of documents that tie with the one before"
    )
    parser.add_argument("--small", action="store_true", help="one query of ten documents alone")
    options = parser.parse_args()
    if options.small:
        small()
        return
    print("| queries x docs | from | program | ms | us a query | times claimeval | goal |")
    print("|---|---|---|---|---|---|---|")
    for size in options.sizes.split(","):
        queries, documents = map(int, size.split("x"))
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            draw(folder, queries, documents, options.judged, options.ties)
            data = read(folder)
            for mode in get_args(Mode):
                times = seconds(data, mode, options.rounds)
                for tool, best in times.items():
                    goal = GOALS.get((mode, documents), "") if tool != "claimeval" else ""
                    print(
                        f"| {queries}x{documents} | {mode} | {tool} | {best * 1e3:.1f} |"
                        f" {best / queries * 1e6:.1f} | {best / times['claimeval']:.2f} | {goal} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
