"""Which numbers the citations of a data set use, decided over all of its samples.

A system may show its model the contexts under other numbers than their ranks from 1: from 0, under
labels that are printed before them (`[2] The tower ...`), or under their ids. One answer often fits
several of these readings; all answers together rarely do.

Readings are compared by counting. First, the answers with a number that only one of the two
explains: `[0]` is no rank, and `[5]` of five contexts no place from 0. If there are none, printed
labels and ids that are numbers take precedence over ranks. If the answers are divided, or the
number is only a part of the id, the words of the citing sentences are counted in the contexts that
the two readings mean. If that leaves it open, the caller is asked.

Whether numbers in brackets are citations at all is never decided here: a system that cites wrongly
looks the same as one whose answers have `data[3]` and `Press [1]`, and a lost mark is worse than a
false one. Where few answers have them and their words do not show that they cite, a note has both
counts, and the caller can state that they are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from claimeval.lexical.brackets import CitationMark
from claimeval.lexical.citations import absent_sources, is_bare, marks, masked
from claimeval.lexical.words import words_apart
from claimeval.metrics.citations import (
    Citation,
    is_number,
    names_of,
    of,
    ranks_of,
    sentence_spans,
    shown,
)
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
MOST = 100
"""Answers with numbers in brackets whose words are compared. More would make the sign test surer of
what it shows already, and take as long as all other steps."""


class NumberingFound(NamedTuple):
    """What the numbers are, and a note where they are not what a reader would expect."""

    numbering: Numbering | None
    """None: an id that is a number, else a rank."""
    note: str | None
    doubt: str | None = None
    """A note that numbers in brackets may be no citations, where few answers have them and nothing
    shows that they cite."""


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
    brackets = _BracketCounts()
    possible: dict[Numbering, bool] = {}
    for sample in samples:
        cited = _cited_numbers(sample)
        brackets.add(sample, cited.bracket)
        if not cited.numbers:
            continue
        marked += 1
        for numbering, is_certain in _readings(sample, cited.numbers):
            possible[numbering] = possible.get(numbering, True) and is_certain
    found = NumberingFound(None, None)
    if possible:
        found = _decide(samples, possible, marked, ask=ask)
    return found._replace(doubt=_doubt(brackets, found.numbering))


def _decide(
    samples: Iterable[Sample],
    possible: dict[Numbering, bool],
    marked: int,
    *,
    ask: bool,
) -> NumberingFound:
    """Return the best of the possible numberings and ranks from 1.

    Args:
        samples: The samples.
        possible: Whether each possible numbering is certain.
        marked: How many answers have numbers.
        ask: Whether an undecided case is an error.
    """
    order: tuple[Numbering, ...] = ("printed", "id", "zero")
    chosen, *others = [numbering for numbering in order if numbering in possible]
    unexplained = 0
    for other in (*others, "rank"):
        evidence = _compare(samples, chosen, other)
        is_first = _first_is_right(
            evidence,
            marked,
            is_certain=possible[chosen],
            is_other_certain=possible.get(other, False),
        )
        if is_first is None and ask:
            raise UsageError(
                f"the numbers of the citations can be {IN_WORDS[chosen]} or {IN_WORDS[other]},"
                f" which are other contexts in {evidence.differ} of {marked} answers with numbers:"
                f" add --field numbering={chosen}, or --field numbering={other}, or"
                " --field numbering=none if brackets cite nothing"
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


class _CitedNumbers(NamedTuple):
    """The numbers that an answer cites by, other than places in `Sample.sources`."""

    numbers: frozenset[str] = frozenset()
    bracket: CitationMark | None = None
    """The first mark that is numbers in brackets; None if there is none."""


def _cited_numbers(sample: Sample) -> _CitedNumbers:
    """Return the numbers that an answer cites by."""
    if not _may_cite(sample):
        return _CitedNumbers()
    answer = sample.answer or ""
    known = names_of(sample.contexts or ())
    found = marks(answer, known, shown=shown(sample))
    if not found:
        return _CitedNumbers()
    absent = absent_sources(answer, known)
    names = set(chain.from_iterable([mark.names for mark in found])).difference(absent)
    bracket = next((mark for mark in found if is_number(answer, mark, absent)), None)
    return _CitedNumbers(frozenset(filter(str.isdecimal, names)), bracket)


def _may_cite(sample: Sample) -> bool:
    """Return whether an answer can cite contexts by numbers whose meaning is not given."""
    return bool(sample.answer and sample.contexts) and not sample.sources


class _BracketCounts:
    """How many answers have numbers in brackets that look like citations."""

    def __init__(self) -> None:
        self.answers = 0
        """Answers that can cite contexts."""
        self.bracketed = 0
        """Those with numbers in brackets."""
        self.first = ""
        """The first of these brackets, with the words around it."""
        self.kept: list[Sample] = []
        """The first samples with numbers in brackets, at most `MOST`."""

    def add(self, sample: Sample, bracket: CitationMark | None) -> None:
        """Count a sample with the first of its brackets."""
        self.answers += _may_cite(sample)
        if bracket is None:
            return
        self.bracketed += 1
        self.first = self.first or _in_its_words(sample.answer or "", bracket)
        if len(self.kept) < MOST:
            self.kept.append(sample)


def _in_its_words(answer: str, bracket: CitationMark) -> str:
    """Return a bracket with up to three words on either side of it."""
    before = _WORDS_BEFORE.search(answer, max(0, bracket.start - 120), bracket.start)
    after = _WORDS_AFTER.match(answer, bracket.end)
    assert before is not None, "no words are words too"
    assert after is not None, "no words are words too"
    text = " ".join(answer[before.start() : after.end()].split())
    # Pages without texts leave out what stands in such quotation marks.
    return "".join([sign for sign in text if sign.isprintable() and sign not in "“”"])


_WORDS_BEFORE = re.compile(r"(?:\S{1,30}\s{1,3}){0,2}\S{0,30}\s{0,3}\Z")
_WORDS_AFTER = re.compile(r"\S{0,30}(?:\s{1,3}\S{1,30}){0,3}")


def _doubt(brackets: _BracketCounts, numbering: Numbering | None) -> str | None:
    """Return a note that numbers in brackets may be no citations: they stand in less than half of
    the answers, and their sentences are not closer to the contexts that they mean."""
    if not brackets.bracketed or 2 * brackets.bracketed >= brackets.answers:
        return None
    closer = 0
    farther = 0
    for sample in brackets.kept:
        difference = _closeness(sample.model_copy(update={"numbering": numbering}))
        closer += difference > 0
        farther += difference < 0
    # A sign test of five answers shows nothing, though all of them are closer.
    if closer and (not farther or _preferred((closer, farther))):
        return None
    compared = number_of(len(brackets.kept), "answer")
    if len(brackets.kept) < brackets.bracketed:
        compared = f"the first {compared}"
    return (
        f"numbers in brackets, as in “{brackets.first}”, are read as citations in"
        f" {brackets.bracketed:,} of {brackets.answers:,} answers with contexts. Words do not show"
        " that they are: the sentences with brackets share more words with the contexts of the"
        f" numbers than with the others in {closer:,} of {compared}. If they cite nothing, add"
        " --field numbering=none"
    )


def _closeness(sample: Sample) -> float:
    """Return how many more words the sentences with numbers in brackets share with the contexts
    that these mean than with the other contexts, on average."""
    answer = sample.answer or ""
    text = masked(answer)
    spans = sentence_spans(sample)
    contexts = [_words_of(context) for context in sample.contexts or ()]
    total = 0.0
    for citation in of(sample, spans):
        if not is_bare(answer[citation.start : citation.end]):
            continue
        meant = ranks_of(citation.cited)
        near: list[float] = []
        far: list[float] = []
        words = _words(text[slice(*spans[citation.sentence - 1])])
        for rank, shared in enumerate(_shares(words, contexts), 1):
            (near if rank in meant else far).append(shared)
        # With every context cited, there is nothing to compare with.
        if far:
            total += _mean(near) - _mean(far)
    # Thirds that are added up in another order are no difference.
    return round(total, 9)


def _shares(words: Iterable[str], contexts: Sequence[Set[str]]) -> list[float]:
    """Return how many words each context has; one that several have counts as a share of each, for
    the first context of a retriever has more of the common ones."""
    shares = [0.0] * len(contexts)
    for word in words:
        holders = [place for place, context in enumerate(contexts) if word in context]
        for place in holders:
            shares[place] += 1 / len(holders)
    return shares


def _mean(counts: Sequence[float]) -> float:
    """Return the mean; 0 for no counts, as a number that no context has shares no words."""
    return sum(counts) / len(counts) if counts else 0.0


def _readings(sample: Sample, numbers: frozenset[str]) -> list[tuple[Numbering, bool]]:
    """Return the readings of the numbers of an answer under which one of them is no rank from 1, or
    another context; each with whether it needs no further evidence."""
    contexts = sample.contexts or ()
    found: list[tuple[Numbering, bool]] = []
    printed = printed_numbers(contexts)
    ids = id_numbers(contexts)
    is_id = _differs_from_rank(ids, numbers)
    # A printed `[1]` before the first context reads as its rank does, and needs no decision, unless
    # another context has the id 1: its place in a list that was ranked again, say.
    is_shown = bool(is_id and printed and printed.is_certain)
    if printed and (is_shown or _differs_from_rank(printed, numbers)):
        found.append(("printed", printed.is_certain))
    if ids and is_id:
        found.append(("id", ids.is_certain))
    if "0" in numbers:
        found.append(("zero", True))
    return found


def _differs_from_rank(known: Numbers | None, numbers: frozenset[str]) -> bool:
    """Return whether some of the numbers of an answer is that of another context than of its
    rank."""
    ranks = known.ranks if known else {}
    return any(number in ranks and ranks[number] != int(number) for number in numbers)


def _first_is_right(
    evidence: _ReadingCounts, marked: int, *, is_certain: bool, is_other_certain: bool
) -> bool | None:
    """Return whether the first of two readings is right; None if nothing tells."""
    first, second = evidence.explained
    if not evidence.differ:
        return True
    if first == second == 0 and is_certain:
        # Printed numbers go before ids that are numbers, unless words tell otherwise.
        return not (is_other_certain and _preferred(evidence.closer) is False)
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
        if not _cited_numbers(sample).numbers:
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
                shared += len(said & _words_of((sample.contexts or ())[rank - 1]))
    return shared


def _words_of(document: Document) -> frozenset[str]:
    return _words(f"{document.title or ''} {document.text}")


@lru_cache(maxsize=256)
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", words_apart(text).casefold()))
