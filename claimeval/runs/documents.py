"""Documents of one sample in two runs, matched by their content: the only place that decides which
are the same.

Ids alone do not say it: contexts that are given as texts have their rank as id, so a document that
moved has another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

from claimeval.lexical.words import NORMALIZATIONS
from claimeval.types.records import Document

T = TypeVar("T")
NEAR = 85
"""Similarity, in percent of the characters, from which two texts are versions of one document."""
KEPT = 0.6
"""Share of a document's runs of `RUN` words from which it is still there, cut otherwise."""
RUN = 4
PIECES = 6
PIECE = 16
SHORT = 200
"""Number of pieces of a text, in characters, of which a version or another cut of it has one; a
text that is shorter than the last may be changed in every piece."""
NAME = 60
"""Maximum number of characters of a name."""
_WORD = re.compile(r"\w+")
UNREADABLE = re.compile(
    r"(doc(ument)?|chunk|passage|context|ctx|[cdp])?[\W_]*\d+|[0-9a-f-]{16,}", re.IGNORECASE
)
"""An id that only counts, or is random; another one tells pages apart that begin with the same
line."""
Change = Literal["rewritten", "recut", "lost", "gained"]
"""What happened to a document: it has another text, is cut otherwise, or is in one run only."""


class MatchedDocuments(NamedTuple):
    """The documents of a part in two runs, by position from 0."""

    pairs: dict[int, int]
    """Documents of both runs, those with another text included: position in a, position in b."""
    changes: tuple[Mapping[int, Change], Mapping[int, Change]] = ({}, {})
    """The documents of a and of b that are not the same in the other run."""
    copies: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())
    """Those of them that repeat a document which both runs have."""

    @property
    def changed(self) -> bool:
        """Whether a judge reads other texts, apart from their order."""
        return any(self.changes)

    @property
    def moved(self) -> bool:
        """Whether documents of both runs stand in another order."""
        order = [self.pairs[i] for i in sorted(self.pairs)]
        return order != sorted(order)


def match(a: Sequence[Document], b: Sequence[Document]) -> MatchedDocuments:
    """Match documents: equal texts first, then equal ids unless they are ranks, near-equal texts,
    and other cuts."""
    if a == b:
        return MatchedDocuments({i: i for i in range(len(a))})
    contents = _contents(a), _contents(b)
    same = _paired(*contents)
    left, right = _without(dict(enumerate(a)), dict(enumerate(b)), same)
    both = {contents[0][i] for i in same}
    copies = (
        frozenset(i for i in left if contents[0][i] in both),
        frozenset(j for j in right if contents[1][j] in both),
    )
    edited: dict[int, int] = {}
    recut: tuple[set[int], set[int]] = set(), set()
    if left and right:
        # Equal ids make a rewritten document, which ranks would make of any two documents at one
        # place.
        if not (_are_ranks(a) and _are_ranks(b)):
            edited = _paired(_ids(left), _ids(right))
            left, right = _without(left, right, edited)
        near, recut = _alike(left, right)
        edited |= near
    of_a: dict[int, Change] = dict.fromkeys(left, "lost")
    of_a |= dict.fromkeys(recut[0], "recut")
    of_a |= dict.fromkeys(edited, "rewritten")
    of_b: dict[int, Change] = dict.fromkeys(right, "gained")
    of_b |= dict.fromkeys(recut[1], "recut")
    of_b |= dict.fromkeys(edited.values(), "rewritten")
    return MatchedDocuments(same | edited, (of_a, of_b), copies)


def aligned(
    a: Sequence[tuple[int, Document]], b: Sequence[tuple[int, Document]]
) -> list[tuple[int | None, int | None, str]]:
    """Return one list of the documents of both runs: rank in a, rank in b, and what changed.

    Documents of run b alone come after their predecessor there. `a` and `b` are documents with
    their ranks.
    """
    pairs, (in_a, in_b), _ = match([document for _, document in a], [document for _, document in b])
    listed: list[tuple[int | None, int | None, str]] = []
    for i in range(len(a)):
        if i in in_a:
            listed.append((i, None, in_a[i]))
        else:
            listed.append((i, pairs[i], ""))
    back = {j: i for i, j in pairs.items()}
    last = -1
    for j in range(len(b)):
        if j in in_b:
            last += 1
            listed.insert(last, (None, j, in_b[j]))
        else:
            last = listed.index((back[j], j, ""))
    return [(_rank(a, i), _rank(b, j), change) for i, j, change in listed]


def _rank(documents: Sequence[tuple[int, Document]], place: int | None) -> int | None:
    return None if place is None else documents[place][0]


def name_of(document: Document) -> str:
    """Return what people call a document: its title, a readable id, a line that heads its text, or
    its first words."""
    head, _, rest = document.text.strip().partition("\n")
    headed = head if rest.strip() and len(head) <= 2 * NAME else ""
    readable = "" if UNREADABLE.fullmatch(document.id) else document.id
    # A title has 60 characters at most, while a text may be a book.
    name = " ".join((document.title or readable or headed or document.text)[: 10 * NAME].split())
    # Chinese and Japanese have no blanks to cut at.
    return name if len(name) <= NAME else f"{name[:NAME].rpartition(' ')[0] or name[:NAME]} ..."


def folded(text: str) -> str:
    """Return a text without case, punctuation and white space at its ends."""
    return " ".join(_WORD.findall(text.casefold())) or text


def _contents(documents: Sequence[Document]) -> dict[int, str]:
    return {i: f"{one.title}\n{one.text}" for i, one in enumerate(documents)}


def _ids(documents: Mapping[int, Document]) -> dict[int, str]:
    return {i: one.id for i, one in documents.items()}


def _paired(a: Mapping[int, str], b: Mapping[int, str]) -> dict[int, int]:
    """Return the positions of equal texts; a text that repeats is paired in order."""
    places: dict[str, list[int]] = {}
    for j, text in b.items():
        places.setdefault(text, []).append(j)
    return {i: places[text].pop(0) for i, text in a.items() if places.get(text)}


def _without(
    a: Mapping[int, T], b: Mapping[int, T], pairs: Mapping[int, int]
) -> list[dict[int, T]]:
    """Return what is in no pair."""
    taken = set(pairs.values())
    left = {i: one for i, one in a.items() if i not in pairs}
    right = {j: one for j, one in b.items() if j not in taken}
    return [left, right]


def _are_ranks(documents: Sequence[Document]) -> bool:
    """Return whether ids only count the documents: "1", "2", ..., "doc-0", "doc-1", ..."""
    numbers = []
    words = set()
    for document in documents:
        part = re.fullmatch(r"(\D*)(\d+)(\D*)", document.id)
        if part is None:
            return False
        numbers.append(int(part[2]))
        words.add((part[1], part[3]))
    # “p-1” and “q-2” name documents of two kinds, and 7, 8, 9 may be rows of a table.
    return len(words) <= 1 and any(
        numbers == list(range(first, first + len(numbers))) for first in (0, 1)
    )


def _alike(
    a: Mapping[int, Document], b: Mapping[int, Document]
) -> tuple[dict[int, int], tuple[set[int], set[int]]]:
    """Return the documents that differ in few characters, nearest first, and what is cut otherwise
    of each side."""
    alike = _sharing(a, b)
    if not alike:
        return {}, (set(), set())
    in_a = _words_of(a, {i for i, _ in alike})
    in_b = _words_of(b, {j for _, j in alike})
    pairs = _versions(alike, in_a, in_b)
    of_a, of_b = _without(in_a, in_b, pairs)
    left = {i: _runs(words) for i, words in of_a.items()}
    right = {j: _runs(words) for j, words in of_b.items()}
    first = _mostly_in(left, right)
    second = _mostly_in(right, left)
    # A long document of which a piece is left is cut, not lost, though most of its words are gone.
    cut_a = first | _cut_to(left, {j: right[j] for j in second})
    cut_b = second | _cut_to(right, {i: left[i] for i in first})
    return pairs, (cut_a, cut_b)


def _versions(
    alike: Iterable[tuple[int, int]],
    in_a: Mapping[int, Sequence[str]],
    in_b: Mapping[int, Sequence[str]],
) -> dict[int, int]:
    """Return the documents of b that are versions of those of a, by their words, nearest first."""
    from rapidfuzz import fuzz

    ratios = []
    for i, j in alike:
        text = "".join(in_a[i])
        other = "".join(in_b[j])
        ratios.append((fuzz.ratio(text, other, score_cutoff=NEAR), i, j))
    pairs: dict[int, int] = {}
    # The nearest first: pages of one template are all versions of each other.
    for ratio, i, j in sorted(ratios, key=lambda found: -found[0]):
        if ratio and i not in pairs and j not in pairs.values():
            pairs[i] = j
    return pairs


def _sharing(a: Mapping[int, Document], b: Mapping[int, Document]) -> list[tuple[int, int]]:
    """Return the pairs of documents that are worth comparing: they share a piece of text."""
    texts = {j: one.text.casefold() for j, one in b.items()}
    alike: list[tuple[int, int]] = []
    for i, one in a.items():
        text = one.text.casefold()
        alike += [(i, j) for j, other in texts.items() if _share(text, other)]
    return alike


def _words_of(documents: Mapping[int, Document], chosen: Iterable[int]) -> dict[int, Sequence[str]]:
    split = NORMALIZATIONS["multilingual"].split
    return {i: split(f"{documents[i].title or ''} {documents[i].text}") for i in chosen}


_Runs = Mapping[int, set[tuple[str, ...]]]
"""The runs of words of documents, by position."""


def _mostly_in(documents: _Runs, others: _Runs) -> set[int]:
    """Return the documents most of which is in the others."""
    union = set[tuple[str, ...]]().union(*others.values())
    return {i for i, of in documents.items() if len(of & union) >= KEPT * len(of)}


def _cut_to(documents: _Runs, pieces: _Runs) -> set[int]:
    """Return the documents that most of a piece is from."""
    found = set[int]()
    for i, of in documents.items():
        if any(len(of & piece) >= KEPT * len(piece) for piece in pieces.values()):
            found.add(i)
    return found


def _share(*texts: str) -> bool:
    """Return whether a piece of the shorter text is in the longer one, or it is so short that it
    need not be."""
    text, long = sorted(texts, key=len)
    places = range(0, len(text) - PIECE, max(1, len(text) // PIECES))
    return len(text) < SHORT or any(text[at : at + PIECE] in long for at in places)


def _runs(words: Sequence[str]) -> set[tuple[str, ...]]:
    shifted = [words[i:] for i in range(RUN)]
    return set(zip(*shifted, strict=False)) or {tuple(words)}
