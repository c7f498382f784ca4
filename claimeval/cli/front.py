"""The first screen of a run: its front in at most 24 lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from textwrap import wrap
from typing import TYPE_CHECKING

from claimeval.cli.printer import Output
from claimeval.cli.terminal import encodes
from claimeval.types.errors import visible
from claimeval.types.options import require_at_least

if TYPE_CHECKING:
    from claimeval.runs.front import Front, FrontScore
    from claimeval.runs.worst import WorstAnswer, WorstClaim

LINES = 24
"""Lines of the first screen. With fewer claims to read, it holds more metrics."""
NOTES = 3
"""Lines of notes that are printed; `--details` prints all."""
PLACES = {"contexts": "the documents", "reference": "the gold answer", "answer": "the answer"}
"""Names of parts."""
CELLS = 10
"""Characters of a bar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What is printed of a run."""

    top: int = 3
    """Claims to read first."""
    details: bool = False
    """Print all numbers: by judge, reasons, bounds, agreement, cost."""

    def __post_init__(self) -> None:
        require_at_least(self, 0, "top")


def print_front(output: Output, front: Front, *, top: int, closing: int) -> None:
    """Print the first screen; more than the default number of claims may make it longer.

    Args:
        output: Where it is printed.
        front: The front of the run.
        top: The number of claims that was asked for.
        closing: The number of other lines: messages above, what was paid, and where to go on.
    """
    width = output.size[1]
    above = ["", fitted(front.head, width), *_notes(front, width), "", *_scores(front, width)]
    if front.missing:
        above.append(fitted(f" {front.missing}", width))
    if front.few:
        above.append(fitted(f" {front.few}", width))
    if front.sentence:
        above += ["", *wrap(front.sentence, width)]
    read = [*(_read(claim, width) for claim in front.read), *(_answer(one, width) for one in front.answers)]
    room = LINES - len(above) - closing - 3
    if top <= Shown().top:
        read = read[: max(0, room // 2)]
    if read:
        above += ["", "First to read", *(line for lines in read for line in lines)]
    for line in above:
        output.line(line)


def in_a_line(front: Front) -> str:
    """Return the scores in one line."""
    return ", ".join(f"{score.name} {score.value}{_within(score)}" for score in front.scores)


def _within(score: FrontScore) -> str:
    return f" ({score.ends}{'*' * score.bounds})" if score.ends else ""


def _notes(front: Front, width: int) -> Iterator[str]:
    """Yield the first notes; the ending says why a run stopped."""
    texts = [
        f"{'Note' if note.kind == 'note' else 'Caution'}: {note.text}"
        for note in front.notes
        if note.kind != "incomplete"
    ]
    lines = [line for text in texts for line in wrap(visible(text), width)]
    if len(lines) > NOTES:
        lines = [fitted(text, width) for text in texts[: NOTES - 1]]
        lines += [f"More notes: --details ({len(texts) - len(lines)})"] if len(texts) > len(lines) else []
    yield from lines


def _scores(front: Front, width: int) -> Iterator[str]:
    """Yield a line for each metric: its name, value, bar, ends and counts."""
    names = max((len(score.name) for score in front.scores), default=0)
    values = max((len(score.value) for score in front.scores), default=0)
    ends = max((len(score.ends) + score.bounds for score in front.scores), default=0)
    for score in front.scores:
        reported = f"{score.ends}{'*' * score.bounds}"
        line = f" {score.name:{names}}  {score.value:>{values}} {bar(score.share)}  {reported:{ends}}  {score.counts}"
        yield fitted(line, width)
    if any(score.bounds for score in front.scores):
        yield " * bounds, not an interval: judges abstained on over a tenth of the claims"


def bar(share: float | None) -> str:
    """Return a bar of `CELLS` characters, in ASCII where standard output has no others; blank without a share."""
    if share is None:
        return " " * CELLS
    filled = round(max(0.0, min(1.0, share)) * CELLS)
    full, empty = ("█", "·") if encodes("█·") else ("#", ".")
    return full * filled + empty * (CELLS - filled)


def fitted(text: str, width: int) -> str:
    """Return the text as one line of at most `width` columns; blanks at its start stay."""
    from rich.cells import cell_len, set_cell_size

    start = text[: len(text) - len(text.lstrip(" "))]
    line = start + visible(text) if "  " not in text.strip() else text
    return line if cell_len(line) <= width else f"{set_cell_size(line, width - 1).rstrip()}…"


def _read(claim: WorstClaim, width: int) -> tuple[str, str]:
    """Return a claim, and the nearest sentence of its evidence."""
    place = PLACES.get(claim.evidence.part, claim.evidence.part)
    mark = "✗" if encodes("✗") else "x"
    if claim.excerpt is None:
        near = f"nothing like it in {place}"
    elif claim.is_word_for_word:
        near = f"word for word in {place}: the judge may be wrong"
    elif claim.label == "contradicted":
        near = f"{place}: {claim.excerpt.partition('] ')[2]}"
    else:
        near = f"nearest in {place}: {claim.excerpt.partition('] ')[2]}"
    return fitted(f" {mark} {claim.sample_id}: {claim.claim}", width), fitted(f"   {near}", width)


def _answer(one: WorstAnswer, width: int) -> tuple[str, str]:
    """Return an answer, and its bad ratings with the reason of the first."""
    mark = "✗" if encodes("✗") else "x"
    (first, word), *others = one.ratings.items()
    more = f" (also {', '.join(name for name, _ in others)})" if others else ""
    because = f": {one.explanation}" if one.explanation else ""
    return fitted(f" {mark} {one.sample_id}: {one.answer}", width), fitted(f"   {first} {word}{more}{because}", width)


def closing(path: Path) -> tuple[str, ...]:
    """Return where to go on from a run directory."""
    report = path / "report.html"
    return (
        f"Report: {report}" if report.exists() else f"`claimeval report {quote(str(path))}` writes the report",
        f"All numbers: --details. Look around: claimeval view {quote(str(path.parent))}",
    )
