"""Draws rows from a log of any size in one pass and bounded memory: uniform or by strata, each question once.

Every question gets a number in [0, 1) from a seeded hash of its words, and those with the smallest numbers are drawn
(bottom-k sampling, Cohen & Kaplan 2007). So each distinct question is as likely as any other however often it was
asked, equal questions meet without a table of all that were seen, the order of the log does not matter, and a log that
has grown keeps most of its draw. Strata draw with numbers of their own, so that a question that stands in several is no
likelier to be drawn; once drawn for one, it is not drawn for another.
"""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

from rapidfuzz import fuzz, process

from claimeval.data.reading import ALIASES
from claimeval.data.rows import SourceRow
from claimeval.statistics.sampling import allocate
from claimeval.types.errors import DataError, UsageError

NEAR = 90.0
"""From which `rapidfuzz.fuzz.token_sort_ratio` on, of 100, two questions are near copies."""
SPARE = 3
"""How many times the rows to be drawn are held, so that near copies can be replaced."""
HELD = 2000
"""Rows of each stratum that are held in any case, so that the questions of a small one are counted exactly."""
NO_STRATUM = "(none)"
AT_LEAST = 15
"""Rows of each stratum, where it has and the draw allows so many."""

_NUMBERS = re.compile(r"\d+")
_WORDS = re.compile(r"\w+")


class DrawnRow(NamedTuple):
    """One row of the draw."""

    row: SourceRow
    stratum: str | None
    probability: float
    """Of a question of this stratum to be drawn; in (0, 1]."""


class LogStratum(NamedTuple):
    """One stratum of the log, or all of it."""

    rows: int
    questions: int
    """Distinct ones; the rows themselves where copies are kept."""
    exact: bool
    """Whether the questions were counted; otherwise they are estimated to a few per cent."""
    drawn: int
    near_copies: int
    """Rows left out of the draw because another one in it, perhaps of another stratum, is the same or nearly."""


class Drawing(NamedTuple):
    """What was drawn, in the order of the log."""

    rows: tuple[DrawnRow, ...]
    strata: dict[str, LogStratum]
    empty: int
    """Rows whose question holds no character that shows; they were left out."""


class _ReservoirRow(NamedTuple):
    number: float
    row: SourceRow
    words: str


class _Reservoir:
    """The rows of a stratum with the smallest numbers."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._heap: list[tuple[float, int, _ReservoirRow]] = []
        """The greatest number first, as its negative."""
        self._numbers: set[float] = set()
        self.rows = 0
        self._overflowed = False

    def offer(self, number: float, row: SourceRow, words: str) -> None:
        self.rows += 1
        if number in self._numbers:
            return
        if len(self._heap) < self._room:
            heapq.heappush(self._heap, (-number, row.number, _ReservoirRow(number, row, words)))
            self._numbers.add(number)
            return
        self._overflowed = True
        if number < -self._heap[0][0]:
            gone, _, _ = heapq.heapreplace(self._heap, (-number, row.number, _ReservoirRow(number, row, words)))
            self._numbers.remove(-gone)
            self._numbers.add(number)

    def questions(self) -> int:
        """Distinct questions; beyond the room estimated by (k - 1) / the k-th smallest number (Beyer et al. 2007)."""
        if not self._overflowed:
            return len(self._heap)
        estimate = round((len(self._heap) - 1) / -self._heap[0][0])
        return min(max(len(self._heap), estimate), self.rows)

    @property
    def exact(self) -> bool:
        return not self._overflowed

    def smallest(self) -> list[_ReservoirRow]:
        return [held for _, _, held in sorted(self._heap, key=lambda entry: -entry[0])]


def draw(
    rows: Iterable[SourceRow],
    count: int,
    *,
    seed: int,
    by: str | None = None,
    text: str | None = None,
    keep_copies: bool = False,
    near: float = NEAR,
    at_least: int = AT_LEAST,
) -> Drawing:
    """Draws `count` rows, fewer where there are no more different ones; memory grows with `count` and the strata.

    `by` names a field (`generator`, `metadata.topic`) whose values are strata: each gets its share, but `at_least` so
    many where it has them. `text` names the field that holds the question. With `keep_copies` every row is as likely
    as any other, so that frequent questions come often. Empty questions are left out and counted. UsageError for more
    strata than rows to be drawn; DataError for a row without the field of a question, for a log without a question,
    and where no row has the field of the strata.
    """
    if count < 1:
        raise UsageError(f"{count} rows cannot be drawn; at least 1")
    reservoirs: dict[str, _Reservoir] = {}
    empty = 0
    for row in rows:
        question = _question(row, text)
        if not question.strip():
            empty += 1
            continue
        words = " ".join(_WORDS.findall(question.casefold()))
        stratum = _stratum(row, by) if by else ""
        key = f"{row.number}" if keep_copies else words or question
        if by:
            key = f"{stratum}\n{key}"
        if stratum not in reservoirs:
            if len(reservoirs) == count:
                raise UsageError(
                    f"--by {by}: by {row.place} there are more values than the {count} rows that are to be drawn, so "
                    "that not all could have one; draw more, or by a field with fewer values"
                )
            reservoirs[stratum] = _Reservoir(max(HELD, SPARE * count))
        reservoirs[stratum].offer(_number(key, seed), row, words)
    if not reservoirs:
        raise DataError(f"the log holds no rows{f' but {empty} with an empty question' if empty else ''}")
    if by and set(reservoirs) == {NO_STRATUM}:
        raise DataError(f"--by {by}: no row has such a field; within `metadata` it is written metadata.{by}")
    sizes = {name: one.rows if keep_copies else one.questions() for name, one in sorted(reservoirs.items())}
    total = sum(sizes.values())
    shares = allocate(list(sizes.values()), min(count, total), at_least if by else 1)
    different = None if keep_copies else Different(near)
    found: list[DrawnRow] = []
    strata = {}
    for (name, size), share in sorted(zip(sizes.items(), shares, strict=True), key=lambda one: one[0][1]):
        reservoir = reservoirs[name]
        taken, copies = _taken(reservoir.smallest(), share, different)
        chance = min(1.0, len(taken) / max(1, size - copies))
        found += [DrawnRow(held.row, name if by else None, chance) for held in taken]
        exact = keep_copies or reservoir.exact
        strata[name] = LogStratum(reservoir.rows, size, exact, len(taken), copies)
    return Drawing(
        tuple(sorted(found, key=lambda drawn: drawn.row.number)), {name: strata[name] for name in sorted(strata)}, empty
    )


def as_line(drawn: DrawnRow, source: str, seed: int) -> str:
    """The row as a line of JSON, with where it came from and how likely it was under `drawn`."""
    origin: dict[str, object] = {"from": source, "row": drawn.row.number, "seed": seed}
    if drawn.stratum is not None:
        origin["stratum"] = drawn.stratum
    origin["probability"] = float(f"{drawn.probability:.6g}")
    return json.dumps({**drawn.row.fields, "drawn": origin}, ensure_ascii=False, default=str)


def _taken(held: list[_ReservoirRow], count: int, different: Different | None) -> tuple[list[_ReservoirRow], int]:
    """The first rows that are like none taken before, for another stratum either; and how many were left out for it."""
    taken: list[_ReservoirRow] = []
    copies = 0
    for one in held:
        if len(taken) == count:
            break
        if different is None or different.add(one.words):
            taken.append(one)
        else:
            copies += 1
    return taken, copies


class Different:
    """Questions of which no two say nearly the same: alike in their words whatever the order, with the same numbers."""

    def __init__(self, near: float = NEAR) -> None:
        self._near = near
        self._by_numbers: dict[tuple[str, ...], list[str]] = {}
        """Words in alphabetical order, as `rapidfuzz.fuzz.token_sort_ratio` compares them."""

    def add(self, question: str) -> bool:
        """Takes a question in, unless it is nearly one that was taken in before."""
        alike = self._by_numbers.setdefault(tuple(_NUMBERS.findall(question)), [])
        words = " ".join(sorted(question.split()))
        if process.extractOne(words, alike, scorer=fuzz.ratio, score_cutoff=self._near):
            return False
        alike.append(words)
        return True


def _number(key: str, seed: int) -> float:
    digest = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8, key=str(seed).encode())
    return int.from_bytes(digest.digest()[:8], "big") / 2**64


def _question(row: SourceRow, field: str | None) -> str:
    names = (field,) if field else ALIASES["question"]
    value = next((row.fields[name] for name in names if row.fields.get(name) is not None), None)
    if not isinstance(value, str):
        raise DataError(f"{row.place}: no question (a text under {', '.join(names)}); name its field with --text")
    return value


def _stratum(row: SourceRow, by: str) -> str:
    value: object = row.fields
    for part in by.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return NO_STRATUM if value is None or value == "" else str(value)
