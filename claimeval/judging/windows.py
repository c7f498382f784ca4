"""Split documents that exceed a judge's context window, and merge the verdicts on the windows.

Documents stay whole if possible. A document longer than a window is cut between sentences into
overlapping pieces, so that the text around a cut is read together once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from claimeval.judging.prompts import quoted
from claimeval.judging.requests import document_text
from claimeval.lexical.sentences import sentences
from claimeval.types.records import Document, ReadVerdict
from claimeval.types.requests import Failure
from claimeval.types.scales import Scale

LINE = 16
"""Bytes of a document's line in a prompt in addition to the document."""
OVERLAP = 0.1
"""Share of a piece that the next piece repeats."""
SHORTEST = 400
"""Bytes of the shortest useful window."""


def split(documents: Sequence[Document], room: int) -> list[tuple[Document, ...]]:
    """Return the documents, in order, in windows of at most `room` bytes as a prompt shows them.

    Every character except white space is in at least one window. There are no windows if `room` is
    below `SHORTEST`, or if there are no documents.
    """
    if room < SHORTEST:
        return []
    windows: list[tuple[Document, ...]] = []
    window: list[Document] = []
    used = 0
    for document in documents:
        for piece in _pieces(document, room):
            size = _size(piece)
            if window and used + size > room:
                windows.append(tuple(window))
                window = []
                used = 0
            window.append(piece)
            used += size
    return [*windows, tuple(window)] if window else windows


def _size(document: Document) -> int:
    return _bytes(document_text(document)) + LINE


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _pieces(document: Document, room: int) -> Iterator[Document]:
    """Yield the document, or overlapping pieces of it with its id and title."""
    if _size(document) <= room:
        yield document
        return
    title = document.title or ""
    if (
        _bytes(quoted(title)) > room // 2
    ):  # repeated in every piece, such a title would leave little room
        document = document.model_copy(update={"title": None, "text": f"{title}\n{document.text}"})
    frame = _size(document.model_copy(update={"text": ""}))
    for start, end in cuts(document.text, room - frame):
        yield document.model_copy(update={"text": document.text[start:end]})


def cuts(text: str, room: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of pieces of at most `room` bytes, each of which repeats the end of the piece
    before it."""
    starts = [0, *(sentence.start for sentence in sentences(text)[1:])]
    parts: list[tuple[int, int]] = []
    for start, end in pairwise([*starts, len(text)]):
        parts += _parts(text, start, end, room)
    sizes = [_bytes(quoted(text[start:end])) for start, end in parts]
    yield from ((parts[first][0], parts[last][1]) for first, last in runs(sizes, room, repeat=True))


def runs(sizes: Sequence[int], room: int, *, repeat: bool = False) -> Iterator[tuple[int, int]]:
    """Yield the first and the last item of runs within the room; each repeats the end of the one
    before.

    With `repeat`, a run of three or more has at least one item repeated, also where that leaves no
    room for the next. An item that is larger than the room is a run by itself.
    """
    first = 0
    while first < len(sizes):
        last = first
        used = sizes[first]
        while last + 1 < len(sizes) and (used := used + sizes[last + 1]) <= room:
            last += 1
        yield first, last
        if last + 1 == len(sizes):
            return
        next_first = last + 1
        repeated = 0
        while (
            next_first - 1 > first
            and (repeated := repeated + sizes[next_first - 1]) <= room * OVERLAP
        ):
            next_first -= 1
        # A sentence that is longer than the overlap is repeated all the same, or a pronoun after
        # the cut would have no noun.
        if repeat and next_first == last + 1 and last - first > 1:
            next_first = last
        if not repeat and sum(sizes[next_first : last + 2]) > room:
            next_first = last + 1
        first = next_first


def _parts(text: str, start: int, end: int, room: int) -> Iterator[tuple[int, int]]:
    """Yield the span of a sentence, or spans of its parts if it is longer than a window."""
    longest = max(1, room // 4)  # so that a piece has several parts and can repeat one
    if _bytes(quoted(text[start : min(end, start + room + 1)])) <= room:
        longest = room
    while _bytes(quoted(text[start : min(end, start + longest + 1)])) > longest:
        cut = start + longest
        # An escaped sign such as `\u200b` takes six bytes in a prompt, so that characters are no
        # measure.
        while _bytes(quoted(text[start:cut])) > longest and cut > start + 1:
            cut = start + (cut - start) // 2
        space = text.rfind(" ", start + (cut - start) // 2, cut)
        cut = space if space > start else cut
        yield start, cut
        start = cut
    yield start, end


def merge(verdicts: Sequence[ReadVerdict | Failure], scale: Scale) -> ReadVerdict | Failure:
    """Merge one judge's verdicts on one subject, one per window of the evidence.

    The most favorable label counts: support by any window is support, and contradicted takes
    precedence over not found. If a window has no verdict, the merged verdict has none either,
    unless another window has the highest label.
    """
    assessed = [verdict for verdict in verdicts if isinstance(verdict, ReadVerdict)]
    decisive = _decisive(assessed, scale)
    failure = next((verdict for verdict in verdicts if isinstance(verdict, Failure)), None)
    label = None if decisive is None else decisive.label
    settled = label is not None and scale.value(label) == max(scale.values)
    # A window that was not read may support the claim, unless another one does already.
    if failure is not None and not settled:
        return failure
    assert decisive is not None, "without a failure, each window has a verdict"
    return _joined(decisive, assessed)._replace(windows=len(verdicts))


def _decisive(assessed: Sequence[ReadVerdict], scale: Scale) -> ReadVerdict | None:
    """Return the verdict that decides on the evidence of all windows; one without a label if only
    windows without support have one, since what the judge was unsure of may be support."""
    labeled = [verdict for verdict in assessed if verdict.label is not None]

    def favor(verdict: ReadVerdict) -> tuple[float, bool]:
        """Rank a verdict by the value of its label, then contradicted above other labels."""
        assert verdict.label is not None, "only verdicts with a label are ranked"
        return scale.value(verdict.label), verdict.support == "contradicted"

    best = max(labeled, key=favor, default=None)
    if best is None or (favor(best) == (min(scale.values), False) and len(labeled) < len(assessed)):
        return next((verdict for verdict in assessed if verdict.label is None), None)
    return best


def _joined(decisive: ReadVerdict, assessed: Iterable[ReadVerdict]) -> ReadVerdict:
    """Return the verdict that decides with the documents of all windows that say the same, and the
    highest probability."""
    cites: dict[str, None] = {}
    probabilities: list[float] = []
    for verdict in assessed:
        if verdict.label == decisive.label:
            cites |= dict.fromkeys(verdict.cites)
        if verdict.probability is not None:
            probabilities.append(verdict.probability)
    return decisive._replace(cites=tuple(cites), probability=max(probabilities, default=None))
