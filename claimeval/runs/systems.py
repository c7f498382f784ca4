"""Which runs belong together: those that share at least half of their questions, whatever their
files are called."""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from claimeval.runs.directory import results_file
from claimeval.runs.lines import Lines

SIZE = 512
"""Number of questions up to which shares are exact; of more, the smallest hashes are a random
sample."""


class Sketch(NamedTuple):
    """The questions of a run, and who answered them."""

    hashes: frozenset[int]
    """The smallest hashes of the questions."""
    questions: int
    generator: str
    """The most frequent generator; empty if no sample names one."""


def sketch(folder: Path) -> Sketch:
    """Read the questions of a run. A line that cannot be read is skipped; a sample without a
    question has its id."""
    results = results_file(folder)
    generators = Counter[str]()
    hashes = set[int]()
    for line in Lines(results):
        try:
            sample = json.loads(line)["sample"]
            text = " ".join((sample.get("question") or sample["id"]).casefold().split())
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        hashes.add(
            # A lone surrogate, half of an emoji that a cut left, is no UTF-8.
            int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).digest())
        )
        if generator := sample.get("generator"):
            generators[generator] += 1
    most = next((name for name, _ in generators.most_common(1)), "")
    return Sketch(frozenset(heapq.nsmallest(SIZE, hashes)), len(hashes), most)


def share_half(a: Sketch, b: Sketch) -> bool:
    """Return whether two runs share at least half of the questions of the one that has fewer."""
    common: float = len(a.hashes & b.hashes)
    if max(a.questions, b.questions) > SIZE:
        # The smallest hashes of the union are a random sample of it, so that the share of them in
        # both runs estimates |A and B| / |A or B| (Broder 1997, On the resemblance of documents).
        smallest = heapq.nsmallest(SIZE, a.hashes | b.hashes)
        both = sum(one in a.hashes and one in b.hashes for one in smallest) / max(1, len(smallest))
        common = both / (1 + both) * (a.questions + b.questions)
    return 2 * common >= min(a.questions, b.questions) > 0


def together(runs: Mapping[str, Sketch]) -> list[list[str]]:
    """Return the runs of each system, in the given order. Two runs of one system may be linked by
    others."""
    groups: list[tuple[list[str], dict[frozenset[int], Sketch]]] = []
    for name, found in runs.items():
        linked = [
            group
            for group in groups
            if found.hashes in group[1]
            or any(share_half(found, other) for other in group[1].values())
        ]
        names = [name]
        # A hundred nightly runs over the same questions are compared once, not a hundred times.
        kinds = {found.hashes: found}
        for group in linked:
            groups.remove(group)
            names = [*group[0], *names]
            kinds = group[1] | kinds
        groups.append((names, kinds))
    order = {name: place for place, name in enumerate(runs)}
    return [sorted(names, key=order.__getitem__) for names, _ in groups]
