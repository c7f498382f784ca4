"""Draw rows from a log of any size in one pass and bounded memory, uniformly or stratified, without
duplicates.

Every question gets a number in [0, 1) from a seeded hash of its words, and the questions with the
smallest numbers are drawn (bottom-k sampling, Cohen & Kaplan 2007). So each distinct question has
the same probability, however often it was asked. Duplicates are detected without a table of all
questions. The order of the log does not matter, and a log that grows keeps most of its draw. Each
stratum uses its own numbers, so that a question in several strata does not have a higher
probability. A question that is drawn for one stratum is not drawn for another.
"""

from __future__ import annotations

import heapq
import itertools
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from rapidfuzz import fuzz, process

from claimeval.data.mapping import LOOKED_AT
from claimeval.data.nowhere import instead
from claimeval.data.paths import values_at
from claimeval.data.reading import ALIASES
from claimeval.data.rows import SourceRow
from claimeval.statistics.sampling import allocate
from claimeval.types import html
from claimeval.types.errors import DataError, UsageError, visible

DUPLICATE_THRESHOLD = 90.0
"""`rapidfuzz.fuzz.token_sort_ratio`, from 0 to 100, from which two questions are near
duplicates."""
COUNT = 200
"""Default number of rows to draw."""
RESERVE = 3
"""Rows kept in memory for each row to be drawn, so that near duplicates can be replaced."""
MIN_KEPT = 2000
"""Minimum number of rows of each stratum that are kept in memory, so that small strata are counted
exactly."""
NO_STRATUM = "(none)"
MIN_PER_STRATUM = 15
"""Minimum number of rows of each stratum, if it has as many and the draw is large enough."""

_NUMBERS = re.compile(r"\d+")
_WORDS = re.compile(r"\w+")


class LogStratum(NamedTuple):
    """A stratum of the log, or the whole log."""

    rows: int
    questions: int
    """Distinct questions, or all rows if duplicates are kept."""
    exact: bool
    """Whether the questions were counted. If not, the number is an estimate within a few
    percent."""
    drawn: int
    near_duplicates: int
    """Rows left out because a drawn row, possibly of another stratum, is the same or nearly the
    same."""


EXCERPT = 100
"""Characters of a value in a notebook."""


class DrawnRows(list[dict[str, Any]]):
    """Rows drawn from a log. Each has the additional field `drawn`: source, row, stratum and
    sampling probability."""

    def __init__(
        self,
        rows: Iterable[dict[str, Any]],
        strata: Mapping[str, LogStratum],
        empty_questions: int,
    ) -> None:
        super().__init__(rows)
        self.strata = strata
        """Counts of rows and distinct questions, in the log and drawn, by value of the field
        `stratify`."""
        self.empty_questions = empty_questions
        """Number of rows with an empty question, which were left out."""

    def __repr__(self) -> str:
        questions = sum(stratum.questions for stratum in self.strata.values())
        return f"<DrawnRows: {len(self)} of {questions:,} distinct questions>"

    def _repr_html_(self) -> str:
        """Show the questions with where they come from."""
        names = dict.fromkeys(itertools.chain.from_iterable(self))
        names.pop("drawn", None)
        rows = ([visible(str(row.get(name, "")), EXCERPT) for name in names] for row in self)
        return html.shown(html.table(names, rows))


class _Kept(NamedTuple):
    """A row in a reservoir; rows with the smallest numbers are the largest of these."""

    order: float
    """Minus its number."""
    position: int
    row: SourceRow
    words: str


class _Reservoir:
    """The rows of a stratum with the smallest numbers."""

    def __init__(self, size: float, below: float = 1.0) -> None:
        """Keep at most `size` rows, and only those with numbers below this one."""
        self._size = size
        self._below = below
        self._heap: list[_Kept] = []
        self._numbers: set[float] = set()
        self.rows = 0
        self.exact = True
        """The number of rows, and whether no row had to be dropped."""

    def offer(self, number: float, row: SourceRow, words: str) -> None:
        """Keep the row if its number is among the smallest."""
        self.rows += 1
        if number in self._numbers:
            return
        if number >= self._below:
            self.exact = False
            return
        heapq.heappush(self._heap, _Kept(-number, row.number, row, words))
        self._numbers.add(number)
        if len(self._heap) > self._size:
            self._numbers.remove(-heapq.heappop(self._heap).order)
            self.exact = False
            self._below = -self._heap[0].order

    def questions(self) -> int:
        """Return the number of distinct questions.

        If they exceed the size, the estimate is (k - 1) / the k-th smallest number (Beyer et al.
        2007).
        """
        kept = len(self._heap)
        if self.exact:
            return kept
        return min(max(kept, round((kept - (self._size < math.inf)) / self._below)), self.rows)

    def smallest(self) -> list[_Kept]:
        """Return the rows in the order of their numbers."""
        return sorted(self._heap, reverse=True)


def draw(
    rows: Iterable[SourceRow],
    count: int | None = None,
    *,
    source: str = "rows",
    every: int | None = None,
    seed: int,
    stratify: str | Sequence[str] | None = None,
    question_field: str | None = None,
    duplicate_threshold: float | None = DUPLICATE_THRESHOLD,
    min_per_stratum: int = MIN_PER_STRATUM,
) -> DrawnRows:
    """Draw rows from a log. Memory grows with `count` and the number of strata.

    Args:
        rows: The rows of the log.
        source: Name of the log.
        count: Number of rows to draw. Fewer are drawn if the log has fewer distinct questions.
            Default: 200.
        every: Draw one in this many distinct questions instead: those whose number is below its
            inverse.
        seed: Seed of the draw.
        stratify: Fields whose values together are the strata, such as `generator` and
            `metadata.topic`.
        question_field: Field with the question. Default: the names that are recognized in samples.
        duplicate_threshold: Similarity, from 0 to 100, from which two questions are near
            duplicates. None: keep all duplicates and give every row the same probability, so that
            frequent questions are drawn more often.
        min_per_stratum: Minimum number of rows of each stratum, if it has as many.

    Returns:
        The rows in the order of the log, and counts by stratum. Rows with a blank question are left
        out.

    Raises:
        UsageError: If there are more strata than rows to draw, or `every` is given with a count or
            strata, or draws nothing.
        DataError: If a row has no question, no row has the field of the strata, or the log is
            empty.
    """
    _check_request(count, every, stratify)
    count = COUNT if count is None else count
    keep_duplicates = duplicate_threshold is None
    fields = _fields(stratify)
    log = _Log(count, every, seed, fields, keep_duplicates=keep_duplicates)
    for row in rows:
        log.add(row, _question(row, question_field))
    log.check()
    counted = {
        name: kept.rows if keep_duplicates else kept.questions()
        for name, kept in sorted(log.reservoirs.items())
    }
    # `every` has one stratum, from which all rows are drawn whose number is small enough
    sizes = counted if every is None else {"": log.drawn_of_every()}
    count = min(count if every is None else sizes[""], sum(sizes.values()))
    shares = allocate(list(sizes.values()), count, min_per_stratum if stratify else 1)
    distinct = None if duplicate_threshold is None else DistinctQuestions(duplicate_threshold)
    drawn: list[dict[str, Any]] = []
    strata = {}
    # small strata choose first: a near duplicate then costs the stratum with more to choose from
    by_size = sorted(zip(sizes.items(), shares, strict=True), key=lambda pair: pair[0][1])
    for (name, size), share in by_size:
        reservoir = log.reservoirs[name]
        candidates, duplicates = _without_duplicates(reservoir.smallest(), share, distinct)
        probability = 1 / every if every else min(1.0, len(candidates) / max(1, size - duplicates))
        of_stratum = {"stratum": name} if stratify else {}
        drawn += [
            with_origin(kept.row, source, seed, probability, **of_stratum) for kept in candidates
        ]
        exact = keep_duplicates or reservoir.exact
        strata[name] = LogStratum(reservoir.rows, counted[name], exact, len(candidates), duplicates)
    in_order = sorted(drawn, key=lambda row: row["drawn"]["row"])
    return DrawnRows(in_order, dict(sorted(strata.items())), log.empty)


def _check_request(
    count: int | None,
    every: int | None,
    stratify: str | Sequence[str] | None,
) -> None:
    """Raise UsageError for numbers that cannot be drawn, or that exclude each other."""
    if every is not None and (count is not None or stratify):
        raise UsageError(
            f"every draws the same share of all questions; leave out {'n' if count else 'stratify'}"
        )
    if every is not None and every < 1:
        raise UsageError(f"every: {every!r}; it needs 1 or more")
    if count is not None and count < 1:
        raise UsageError(f"Cannot draw {count} rows; draw at least 1")


class _Log:
    """The rows of a log that may be drawn, by stratum."""

    def __init__(
        self,
        count: int,
        every: int | None,
        seed: int,
        fields: Sequence[str],
        *,
        keep_duplicates: bool,
    ) -> None:
        self.reservoirs: dict[str, _Reservoir] = {}
        self.empty = 0
        """Number of rows with a blank question."""
        self._count = count
        self._every = every
        self._seed = seed
        self._fields = fields
        self._keep_duplicates = keep_duplicates
        self._having: set[str] = set()
        """The fields of the strata that some row has."""

    def add(self, row: SourceRow, question: str) -> None:
        """Offer a row to its stratum."""
        if not question.strip():
            self.empty += 1
            return
        words = " ".join(_WORDS.findall(question.casefold()))
        values = [_value(row, field) for field in self._fields]
        named = zip(self._fields, values, strict=True)
        self._having |= {field for field, value in named if value != NO_STRATUM}
        stratum = " / ".join(values)
        # equal questions get the same number, so that a question is drawn once however often it
        # was asked
        key = f"{row.number}" if self._keep_duplicates else words or question
        if self._fields:
            key = f"{stratum}\n{key}"
        number = seeded(key, self._seed) / 2**64
        self._reservoir(stratum, row).offer(number, row, words)

    def _reservoir(self, stratum: str, row: SourceRow) -> _Reservoir:
        if stratum not in self.reservoirs:
            if len(self.reservoirs) == self._count:
                raise self._too_many_values(row)
            size = math.inf if self._every else max(MIN_KEPT, RESERVE * self._count)
            share = 1 / self._every if self._every else 1.0
            self.reservoirs[stratum] = _Reservoir(size, share)
        return self.reservoirs[stratum]

    def _too_many_values(self, row: SourceRow) -> UsageError:
        absent = [field for field in self._fields if field not in self._having]
        advice = "Draw more rows, or use a field with fewer values"
        if absent:  # most likely misspelt
            first = next(iter(self.reservoirs.values())).smallest()[:LOOKED_AT]
            rows = [kept.row.fields for kept in first]
            advice = f"None of these rows has {absent[0]}.{instead(absent[0], rows)}"
        return UsageError(
            f"--stratify {','.join(self._fields)}: more than {self._count} values up to"
            f" {row.location}, so not every stratum can have a row. {advice}"
        )

    def check(self) -> None:
        """Raise DataError for a log without rows, or without the fields of the strata."""
        if not self.reservoirs:
            blank = f" but {self.empty} with a blank question" if self.empty else ""
            raise DataError(f"The log has no rows{blank}")
        _check_fields(self._fields, self._having, self.reservoirs.values())

    def drawn_of_every(self) -> int:
        """Return how many questions one in `every` are. Raises UsageError for none."""
        reservoir = self.reservoirs[""]
        drawn = len(reservoir.smallest())
        if not drawn:
            raise UsageError(
                f"every {self._every}: none of {reservoir.rows} questions was drawn; use a smaller"
                " number, or another seed"
            )
        return drawn


def with_origin(
    row: SourceRow,
    source: str,
    seed: int,
    probability: float,
    **stratum: str,
) -> dict[str, Any]:
    """Return a row as JSON, with where it is from in the field `drawn`.

    Args:
        row: The row.
        source: Name of the log.
        seed: Seed of the draw.
        probability: The probability in (0, 1] with which its question was drawn.
        **stratum: The stratum, if there is one.
    """
    origin = {
        "from": source,
        "row": row.number,
        "seed": seed,
        **stratum,
        "probability": float(f"{probability:.6g}"),
    }
    drawn: dict[str, Any] = json.loads(json.dumps({**row.fields, "drawn": origin}, default=str))
    return drawn


def _without_duplicates(
    candidates: list[_Kept],
    count: int,
    distinct: DistinctQuestions | None,
) -> tuple[list[_Kept], int]:
    """Return the first `count` rows that are no near duplicates of drawn ones, and the number of
    duplicates."""
    rows = list[_Kept]()
    duplicates = 0
    for candidate in itertools.takewhile(lambda _: len(rows) < count, candidates):
        if distinct is None or distinct.add(candidate.words):
            rows.append(candidate)
        else:
            duplicates += 1
    return rows, duplicates


class DistinctQuestions:
    """Questions without near duplicates, which have similar words in any order and the same
    numbers."""

    def __init__(self, threshold: float = DUPLICATE_THRESHOLD) -> None:
        self._threshold = threshold
        self._by_numbers: dict[tuple[str, ...], list[str]] = {}
        """Sorted words, as `rapidfuzz.fuzz.token_sort_ratio` compares them."""

    def add(self, question: str) -> bool:
        """Add a question. Return False if it is a near duplicate."""
        similar = self._by_numbers.setdefault(tuple(_NUMBERS.findall(question)), [])
        words = " ".join(sorted(question.split()))
        if process.extractOne(words, similar, scorer=fuzz.ratio, score_cutoff=self._threshold):
            return False
        similar.append(words)
        return True


def seeded(key: str, seed: int) -> int:
    """Return the hash of a text with a seed, below 2**64."""
    digest = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8, key=str(seed).encode())
    return int.from_bytes(digest.digest(), "big")


def _question(row: SourceRow, field: str | None) -> str:
    names = (field,) if field else ALIASES["question"]
    values = itertools.chain.from_iterable(values_at(row.fields, name) for name in names)
    value = next(values, None)
    if value is None and not row.fields.keys().isdisjoint(names):
        return ""
    if not isinstance(value, str):
        if field:
            raise DataError(f"{row.location}: no field {field!r}.{instead(field, [row.fields])}")
        raise DataError(
            f"{row.location}: no question (one of {', '.join(names)}); name its field: --field"
            " question=NAME"
        )
    return value


def _fields(names: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of fields, given as a list or as one text with commas."""
    listed = names.split(",") if isinstance(names, str) else names or ()
    return tuple(name.strip() for name in listed)


def _with_values(fields: Sequence[str], values: Sequence[str]) -> set[str]:
    named = zip(fields, values, strict=True)
    return {field for field, value in named if value != NO_STRATUM}


def _check_fields(
    fields: Sequence[str],
    having: set[str],
    reservoirs: Iterable[_Reservoir],
) -> None:
    """Raise DataError for a field of the strata that no row has."""
    for field in fields:
        if field not in having:
            some = next(iter(reservoirs)).smallest()[:LOOKED_AT]
            advice = instead(field, [kept.row.fields for kept in some])
            raise DataError(f"--stratify {field}: no row has this field.{advice}")


def _value(row: SourceRow, field: str) -> str:
    value = next(values_at(row.fields, field), None)
    return NO_STRATUM if value is None or value == "" else str(value)
