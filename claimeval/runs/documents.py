"""Documents of one sample in two runs, matched by their content: the only place that decides which are the same.

Ids alone do not say it: contexts that are given as texts have their rank as id, so a document that moved has another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from claimeval.lexical.words import NORMALIZATIONS
from claimeval.types.records import Document

NEAR = 85
"""Similarity, in percent of the characters, from which two texts are versions of one document."""
KEPT = 0.6
"""Share of a document's runs of `RUN` words from which it is still there, cut otherwise."""
RUN = 4
NAME = 60
"""Maximum number of characters of a name."""


class MatchedDocuments(NamedTuple):
    """The documents of a part in two runs, by position from 0."""

    same: dict[int, int]
    """Documents with the same text: position in a, position in b."""
    edited: dict[int, int]
    """The same document with another text."""
    recut: tuple[tuple[int, ...], tuple[int, ...]]
    """Documents of a and of b whose words the other run has too, cut otherwise."""
    lost: tuple[int, ...]
    gained: tuple[int, ...]

    @property
    def changed(self) -> bool:
        """Whether a judge reads other texts, apart from their order."""
        return bool(self.edited or any(self.recut) or self.lost or self.gained)

    @property
    def moved(self) -> bool:
        """Whether documents of both runs stand in another order."""
        order = [self.both[i] for i in sorted(self.both)]
        return order != sorted(order)

    @property
    def both(self) -> dict[int, int]:
        """The documents of both runs, edited ones included."""
        return self.same | self.edited


def match(a: Sequence[Document], b: Sequence[Document]) -> MatchedDocuments:
    """Match documents: equal texts first, then equal ids unless they are ranks, near-equal texts, and other cuts."""
    if a == b:
        return MatchedDocuments({i: i for i in range(len(a))}, {}, ((), ()), (), ())
    same = _paired(*([f"{document.title}\n{document.text}" for document in side] for side in (a, b)))
    left = [i for i in range(len(a)) if i not in same]
    right = [j for j in range(len(b)) if j not in set(same.values())]
    edited: dict[int, int] = {}
    texts: list[dict[int, str]] = []
    if left and right:
        if not (_are_ranks(a) and _are_ranks(b)):
            by_id = _paired([a[i].id for i in left], [b[j].id for j in right])
            edited = {left[i]: right[j] for i, j in by_id.items()}
        left, right = [i for i in left if i not in edited], [j for j in right if j not in edited.values()]
        texts = [{i: _text(side[i]) for i in places} for side, places in ((a, left), (b, right))]
        edited |= _near(*texts)
        left, right = [i for i in left if i not in edited], [j for j in right if j not in edited.values()]
    recut = _recut([texts[0][i] for i in left], [texts[1][j] for j in right]) if left and right else ((), ())
    again = {left[i] for i in recut[0]}, {right[j] for j in recut[1]}
    return MatchedDocuments(
        same,
        edited,
        (tuple(sorted(again[0])), tuple(sorted(again[1]))),
        tuple(i for i in left if i not in again[0]),
        tuple(j for j in right if j not in again[1]),
    )


def aligned(
    a: Sequence[tuple[int, Document]], b: Sequence[tuple[int, Document]]
) -> list[tuple[int | None, int | None, str]]:
    """Return one list of the documents of both runs: rank in a, rank in b, and what changed.

    Documents of run b alone come after their predecessor there. `a` and `b` are documents with their ranks.
    """
    found = match([document for _, document in a], [document for _, document in b])
    changes = [dict.fromkeys(found.edited, "rewritten"), dict.fromkeys(found.edited.values(), "rewritten")]
    for of_run, places in zip(changes, found.recut, strict=True):
        of_run.update(dict.fromkeys(places, "recut"))
    back = {j: i for i, j in found.same.items()}
    listed: list[tuple[int | None, int | None]] = [(i, found.same.get(i)) for i in range(len(a))]
    last = -1
    for j in range(len(b)):
        if j in back:
            last = listed.index((back[j], j))
        else:
            last += 1
            listed.insert(last, (None, j))
    return [
        (
            None if i is None else a[i][0],
            None if j is None else b[j][0],
            (
                ""
                if i is not None and j is not None
                else changes[0].get(i, "lost")
                if i is not None
                else changes[1].get(j or 0, "gained")
            ),
        )
        for i, j in listed
    ]


def name_of(document: Document) -> str:
    """Return what people call a document: its title, a first line that heads its text, its id, else its first words."""
    head, _, rest = document.text.strip().partition("\n")
    headed = head if rest.strip() and len(head) <= 2 * NAME else ""
    name = document.title or headed or ("" if document.id.isdigit() else document.id) or document.text
    name = " ".join(name.split())
    return name if len(name) <= NAME else f"{name[:NAME].rpartition(' ')[0] or name[:NAME]} ..."


def folded(text: str) -> str:
    """Return a text without case, punctuation and white space at its ends."""
    return re.sub(r"\W+", " ", text.casefold()).strip() or text


def _text(document: Document) -> str:
    return folded(f"{document.title}\n{document.text}" if document.title else document.text)


def _paired(a: Iterable[str], b: Iterable[str]) -> dict[int, int]:
    """Return the positions of equal texts; a text that repeats is paired in order."""
    places: dict[str, list[int]] = {}
    for j, text in enumerate(b):
        places.setdefault(text, []).append(j)
    return {i: places[text].pop(0) for i, text in enumerate(a) if places.get(text)}


def _are_ranks(documents: Sequence[Document]) -> bool:
    """Return whether ids only count the documents: "1", "2", ..., "doc-0", "doc-1", ..."""
    parts = [re.fullmatch(r"(\D*)(\d+)(\D*)", document.id) for document in documents]
    if not all(parts):
        return False
    numbers = [int(part[2]) for part in parts if part]
    words = {(part[1], part[3]) for part in parts if part}
    return len(words) <= 1 and any(numbers == list(range(first, first + len(numbers))) for first in (0, 1))


def _near(a: Mapping[int, str], b: Mapping[int, str]) -> dict[int, int]:
    """Return the pairs of texts that differ in few characters, the nearest first."""
    from rapidfuzz import fuzz

    ratios = ((fuzz.ratio(one, other, score_cutoff=NEAR), i, j) for i, one in a.items() for j, other in b.items())
    pairs: dict[int, int] = {}
    for ratio, i, j in sorted(ratios, key=lambda found: -found[0]):
        if ratio and i not in pairs and j not in pairs.values():
            pairs[i] = j
    return pairs


def _recut(a: Sequence[str], b: Sequence[str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the texts of each side whose runs of words are mostly on the other side."""
    runs = [[_runs(NORMALIZATIONS["multilingual"].split(text)) for text in side] for side in (a, b)]
    unions = [set[tuple[str, ...]]().union(*side) for side in runs]
    first, second = (
        tuple(i for i, of in enumerate(side) if len(of & others) >= KEPT * len(of))
        for side, others in zip(runs, reversed(unions), strict=True)
    )
    return first, second


def _runs(words: Sequence[str]) -> set[tuple[str, ...]]:
    return set(zip(*(words[i:] for i in range(RUN)), strict=False)) or {tuple(words)}
