"""Texts that are longer than a judge's window: cut into windows, and what the verdicts on all windows come to.

Documents stay whole where they can. One that is longer than a window is cut at ends of sentences into pieces that
overlap, so that what stands at a cut is read with its surroundings once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from claimeval.judging.prompts import quoted
from claimeval.judging.requests import document_text
from claimeval.lexical.sentences import sentences
from claimeval.types.records import Document, Verdict
from claimeval.types.requests import Failure
from claimeval.types.scales import Scale

LINE = 16
"""Bytes of a document's line in a prompt beside the document."""
OVERLAP = 0.1
"""Share of a piece that the next piece repeats."""
SHORTEST = 400
"""Bytes of the shortest window: what does not fit with so little evidence does not fit at all."""


def split(documents: Sequence[Document], room: int) -> list[tuple[Document, ...]]:
    """Return documents in windows of at most `room` bytes as a prompt shows them, in their order.

    Every character that is no white space is in at least one window.

    Args:
        documents: The documents.
        room: Size of the documents in one prompt, with what stands around them.

    Returns:
        The windows; empty if `room` is below `SHORTEST`, or if there are no documents.
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
                window, used = [], 0
            window.append(piece)
            used += size
    return [*windows, tuple(window)] if window else windows


def _size(document: Document) -> int:
    return _bytes(document_text(document)) + LINE


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _pieces(document: Document, room: int) -> Iterator[Document]:
    """Yield the document, or overlapping pieces of it under its id and title."""
    if _size(document) <= room:
        yield document
        return
    title = document.title or ""
    if _bytes(quoted(title)) > room // 2:  # a title as long as a text is a part of the text
        document = document.model_copy(update={"title": None, "text": f"{title}\n{document.text}"})
    frame = _size(document.model_copy(update={"text": ""}))
    for start, end in cuts(document.text, room - frame):
        yield document.model_copy(update={"text": document.text[start:end]})


def cuts(text: str, room: int) -> Iterator[tuple[int, int]]:
    """Yield where pieces of at most `room` bytes begin and end, each after the first repeating the end of the last."""
    starts = [0, *(sentence.start for sentence in sentences(text)[1:])]
    parts = [
        part for between in zip(starts, [*starts[1:], len(text)], strict=True) for part in _parts(text, *between, room)
    ]
    sizes = [_bytes(quoted(text[start:end])) for start, end in parts]
    first = 0
    while True:
        last, used = first, sizes[first]
        while last + 1 < len(parts) and (used := used + sizes[last + 1]) <= room:
            last += 1
        yield parts[first][0], parts[last][1]
        if last + 1 == len(parts):
            return
        following, repeated = last + 1, 0
        while following - 1 > first and (repeated := repeated + sizes[following - 1]) <= room * OVERLAP:
            following -= 1
        if following == last + 1 and last - first > 1:  # at least one sentence is repeated
            following = last
        first = following


def _parts(text: str, start: int, end: int, room: int) -> Iterator[tuple[int, int]]:
    """Yield the sentence between these places, or parts of it where it is longer than a window."""
    longest = max(1, room // 4)  # so that a piece has several parts and can repeat one
    if _bytes(quoted(text[start : min(end, start + room + 1)])) <= room:
        longest = room
    while _bytes(quoted(text[start : min(end, start + longest + 1)])) > longest:
        cut = start + longest
        while _bytes(quoted(text[start:cut])) > longest and cut > start + 1:
            cut = start + (cut - start) // 2
        space = text.rfind(" ", start + (cut - start) // 2, cut)
        cut = space if space > start else cut
        yield start, cut
        start = cut
    yield start, end


def merge(verdicts: Sequence[Verdict | Failure], scale: Scale) -> Verdict | Failure:
    """Return what verdicts on the windows of one body of evidence come to for all of it.

    The most favorable label counts: support by any window is support. Of the others, contradicted goes before not
    found. A window without a verdict leaves the whole without one, unless another window settles it.

    Args:
        verdicts: The verdicts of one judge on one subject, a window each, or why there is none.
        scale: The scale of the labels.
    """
    of_windows = [verdict for verdict in verdicts if isinstance(verdict, Verdict)]
    labeled = [verdict for verdict in of_windows if verdict.label is not None]

    def favor(verdict: Verdict) -> tuple[float, bool]:
        """Rank a verdict: by what its label counts, then contradicted before the other labels."""
        assert verdict.label is not None, "only verdicts with a label are ranked"
        return scale.value(verdict.label), verdict.support == "contradicted"

    best = max(labeled, key=favor, default=None)
    settled = best is not None and best.label is not None and scale.value(best.label) == max(scale.values)
    if not settled and (failure := next((one for one in verdicts if isinstance(one, Failure)), None)):
        return failure
    if best is None or (favor(best) == (min(scale.values), False) and len(labeled) < len(of_windows)):
        best = next(verdict for verdict in of_windows if verdict.label is None)
    same = [verdict for verdict in of_windows if verdict.label == best.label]
    likely = [verdict.probability for verdict in of_windows if verdict.probability is not None]
    return best.model_copy(
        update={
            "cites": tuple(dict.fromkeys(name for verdict in same for name in verdict.cites)),
            "probability": max(likely, default=None),
            "windows": len(verdicts),
        }
    )
