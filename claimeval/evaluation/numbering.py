"""Which numbers the citations of a data set use, decided over all of its samples.

A system may show its model the contexts under other numbers than their ranks from 1: from 0, under
labels that are printed before them (`[2] The tower ...`), or under their ids. One answer often fits
several of these readings; all answers together rarely do.

Readings are compared by counting. First, the answers with a number that only one of the two
explains: `[0]` is no rank, and `[5]` of five contexts no place from 0. If there are none, printed
labels and ids that are numbers take precedence over ranks. If the answers are divided, or the
number is only a part of the id, the words of the citing sentences are counted in the contexts that
the two readings mean. If that leaves it open, the caller is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from claimeval.lexical.citations import absent_sources, marks, masked
from claimeval.lexical.words import words_apart
from claimeval.metrics.citations import Citation, names_of, of, sentence_spans, shown
from claimeval.metrics.numbering import Numbers, id_numbers, printed_numbers
from claimeval.statistics import mcnemar_exact
from claimeval.statistics.formatting import number_of
from claimeval.types.errors import UsageError
from claimeval.types.records import Document, Numbering, Sample

IN_WORDS: Mapping[Numbering, str] = {
    "rank": "ranks of contexts, from 1",
    "zero": "ranks of contexts, from 0",
    "printed": "the numbers that are printed before the contexts",
    "id": "the numbers in the ids of the contexts",
}
CHANCE = 0.05
"""A split of the answers that is rarer than this under a fair coin decides."""
FEW = 0.05
"""Share of the answers with numbers below which those that only one reading explains are too few:
a made-up `[0]` in a thousand answers does not move all of them by one."""


class NumberingFound(NamedTuple):
    """What the numbers are, and a note where they are not what a reader would expect."""

    numbering: Numbering | None
    """None: an id that is a number, else a rank."""
    note: str | None


class _ReadingCounts(NamedTuple):
    """How many answers speak for a reading, and for another one."""

    explained: tuple[int, int] = (0, 0)
    """Answers with a number that only this reading explains."""
    closer: tuple[int, int] = (0, 0)
    """Answers whose citing sentences share more words with the contexts of this reading."""
    closer_alone: tuple[int, int] = (0, 0)
    """Those of them of which both readings explain as many numbers."""
    differ: int = 0
    """Answers in which some number has two meanings."""


def find_numbering(
    samples: Iterable[Sample],
    given: Numbering | None = None,
    *,
    ask: bool = True,
) -> NumberingFound:
    """Return what the numbers in the citations of samples are.

    Args:
        samples: The samples, which are read several times.
        given: The numbering, if the caller says it.
        ask: Whether an undecided case is an error; else printed labels, ids that are numbers and
            ranks from 0 count where they fit, and else ranks from 1.

    Raises:
        UsageError: The answers fit two readings, which mean other contexts.
    """
    if given is not None:
        return NumberingFound(given, None)
    marked = 0
    possible: dict[Numbering, bool] = {}
    for sample in samples:
        if not (numbers := _cited_numbers(sample)):
            continue
        marked += 1
        for numbering, is_certain in _readings(sample, numbers):
            possible[numbering] = possible.get(numbering, True) and is_certain
    if not possible:
        return NumberingFound(None, None)
    order: tuple[Numbering, ...] = ("printed", "id", "zero")
    chosen, *others = [numbering for numbering in order if numbering in possible]
    unexplained = 0
    for other in (*others, "rank"):
        evidence = _compare(samples, chosen, other)
        is_first = _first_is_right(evidence, marked, is_certain=possible[chosen])
        if is_first is None and ask:
            raise UsageError(
                f"the numbers of the citations can be {IN_WORDS[chosen]} or {IN_WORDS[other]},"
                f" which are other contexts in {evidence.differ} of {marked} answers with numbers:"
                f" add --field numbering={chosen}, or --field numbering={other}"
            )
        if is_first is None:
            is_first = possible[chosen]
        if is_first is False:
            chosen = other
            possible.setdefault(chosen, True)
        unexplained = max(unexplained, evidence.explained[is_first])
    if chosen == "rank" and not unexplained:
        return NumberingFound("rank", None)
    answers = number_of(marked, "answer")
    note = f"the numbers of citations are {IN_WORDS[chosen]} ({answers} with numbers)"
    if unexplained:
        fit = "fits" if unexplained == 1 else "fit"
        note += f"; {unexplained:,} of them {fit} another numbering only"
    return NumberingFound(chosen, note)


def _cited_numbers(sample: Sample) -> frozenset[str]:
    """Return the numbers that an answer cites by, other than places in `Sample.sources`."""
    if not sample.answer or not sample.contexts or sample.sources:
        return frozenset()
    known = names_of(sample.contexts)
    absent = absent_sources(sample.answer, known)
    cited: set[str] = set()
    for mark in marks(sample.answer, known, shown=shown(sample)):
        cited.update(name for name in mark.names if name.isdecimal() and name not in absent)
    return frozenset(cited)


def _readings(sample: Sample, numbers: frozenset[str]) -> list[tuple[Numbering, bool]]:
    """Return the readings of the numbers of an answer under which one of them is no rank from 1, or
    another context; each with whether it needs no further evidence."""
    contexts = sample.contexts or ()
    found: list[tuple[Numbering, bool]] = []
    numbered: tuple[tuple[Numbering, Callable[[Sequence[Document]], Numbers | None]], ...] = (
        ("printed", printed_numbers),
        ("id", id_numbers),
    )
    for numbering, read in numbered:
        known = read(contexts)
        # A printed `[1]` before the first context reads as its rank does, and needs no decision.
        if known and any(
            number in known.ranks and known.ranks[number] != int(number) for number in numbers
        ):
            found.append((numbering, known.is_certain))
    if "0" in numbers:
        found.append(("zero", True))
    return found


def _first_is_right(evidence: _ReadingCounts, marked: int, *, is_certain: bool) -> bool | None:
    """Return whether the first of two readings is right; None if nothing tells."""
    first, second = evidence.explained
    if not evidence.differ or (first == second == 0 and is_certain):
        return True
    is_common = max(first, second) >= FEW * marked
    is_one_sided = min(first, second) == 0 or mcnemar_exact(first, second) < CHANCE
    # A made-up `[0]` in a thousand answers is not common, and shared words decide then.
    if first != second and is_common and is_one_sided:
        # Two files in one: a half is numbered from 0, and the words of the others say ranks from 1.
        is_mixed = _preferred(evidence.closer_alone) is (first < second)
        return None if is_mixed else first > second
    return _preferred(evidence.closer)


def _preferred(counts: tuple[int, int]) -> bool | None:
    """Return whether the first of two readings has more answers; None if that may be chance."""
    first, second = counts
    return first > second if mcnemar_exact(first, second) < CHANCE else None


def _compare(samples: Iterable[Sample], first: Numbering, second: Numbering) -> _ReadingCounts:
    """Count the answers that speak for each of two readings."""
    explained = [0, 0]
    closer = [0, 0]
    alone = [0, 0]
    differ = 0
    for sample in samples:
        if not _cited_numbers(sample):
            continue
        left, right = (of(sample.model_copy(update={"numbering": n})) for n in (first, second))
        # Answers that mean the same contexts under both readings say nothing, however many they
        # are.
        if [citation.cited for citation in left] == [citation.cited for citation in right]:
            continue
        differ += 1
        lost = [sum(map(_is_lost, citations)) for citations in (left, right)]
        if lost[0] != lost[1]:
            explained[lost[0] > lost[1]] += 1
        shared = [_shared_words(sample, citations) for citations in (left, right)]
        if shared[0] != shared[1]:
            is_second = shared[0] < shared[1]
            closer[is_second] += 1
            alone[is_second] += lost[0] == lost[1]
    return _ReadingCounts(
        (explained[0], explained[1]), (closer[0], closer[1]), (alone[0], alone[1]), differ
    )


def _is_lost(citation: Citation) -> bool:
    """Return whether a citation has a number that means nothing."""
    return any(isinstance(name, str) for name in citation.cited)


def _shared_words(sample: Sample, citations: Sequence[Citation]) -> int:
    """Return how many words citing sentences have in common with the contexts that they cite."""
    answer = sample.answer or ""
    text = masked(answer)
    spans = sentence_spans(sample)
    shared = 0
    for citation in citations:
        if not spans:
            break
        start, end = spans[citation.sentence - 1]
        said = _words(text[start:end])
        for name in citation.cited:
            for rank in name if isinstance(name, tuple) else ():
                document = (sample.contexts or ())[rank - 1]
                shared += len(said & _words(f"{document.title or ''} {document.text}"))
    return shared


@lru_cache(maxsize=256)
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", words_apart(text).casefold()))
