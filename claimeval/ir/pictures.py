"""Picture of runs: precision over recall, and the differences of two runs query by query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Literal

from claimeval.ir.evaluation import Evaluation
from claimeval.ir.names import Measure
from claimeval.types.errors import UsageError

Anchor = Literal["start", "middle", "end"]

CURVE = tuple(f"iprec@{recall / 10:g}" for recall in range(11))
"""The measures that ``draw`` needs for the curve of precision over recall."""

_COLORS = ("#1f6fb2", "#d1661f", "#2f8f4e", "#8a4fb0", "#555555", "#b03a5b")
_GREY = "#cccccc"
_FONT = 13
_SIDE, _GAP, _MARGIN, _ROW = 300.0, 90.0, 60.0, 20.0


@dataclass
class Figure:
    """Shapes in the order they are painted; x grows to the right, y downwards, in points."""

    width: float
    height: float
    lines: list[tuple[list[tuple[float, float]], str, float]] = field(default_factory=list)
    """Points, color, width."""
    boxes: list[tuple[float, float, float, float, str]] = field(default_factory=list)
    """Left, top, right, bottom, color."""
    words: list[tuple[float, float, str, Anchor]] = field(default_factory=list)
    """Place of the base line, text, and which end of the text is at that point."""

    def save(self, target: Path) -> None:
        """Write the figure as an ``.svg`` file; UsageError for a name that ends otherwise."""
        if target.suffix.lower() != ".svg":
            raise UsageError(f"a picture is written as .svg, not as {target.name!r}")
        target.write_text(self.svg(), encoding="utf-8")

    def svg(self) -> str:
        """Return the figure as an SVG document."""
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:g}" height="{self.height:g}" '
            f'viewBox="0 0 {self.width:g} {self.height:g}" font-family="sans-serif" font-size="{_FONT}">',
            f'<rect width="{self.width:g}" height="{self.height:g}" fill="white"/>',
        ]
        parts += [
            f'<rect x="{left:.2f}" y="{top:.2f}" width="{right - left:.2f}" height="{bottom - top:.2f}" '
            f'fill="{color}"/>'
            for left, top, right, bottom, color in self.boxes
        ]
        parts += [
            f'<polyline points="{" ".join(f"{x:.2f},{y:.2f}" for x, y in points)}" fill="none" '
            f'stroke="{color}" stroke-width="{width:g}"/>'
            for points, color, width in self.lines
        ]
        parts += [
            f'<text x="{x:.2f}" y="{y:.2f}" text-anchor="{anchor}">{escape(text)}</text>'
            for x, y, text, anchor in self.words
        ]
        return "\n".join([*parts, "</svg>", ""])


def comparable(measures: Sequence[Measure]) -> str:
    """Return the first measure that is no count, since a picture compares values of queries; UsageError if all are."""
    for measure in measures:
        if measure.row.summary != "sum":
            return measure.name
    raise UsageError("a picture compares values of queries; ask for a measure that is no count, such as map")


def draw(evaluations: Sequence[Evaluation], labels: Sequence[str], measure: str, target: Path) -> None:
    """Draw runs into an ``.svg`` file.

    On the left is the mean interpolated precision at eleven levels of recall; on the right, for the first two runs, how
    much better the second is in ``measure``, one bar a query, sorted.

    Args:
        evaluations: One evaluation a run, with the measures of ``CURVE`` and ``measure``.
        labels: The name of each run.
        measure: The measure that the bars show.
        target: The file to write.

    Raises:
        UsageError: If the file is no ``.svg``, or two runs have no query in common.
    """
    pair = len(evaluations) > 1
    top = _MARGIN + _ROW * len(evaluations)
    figure = Figure(width=2 * _MARGIN + _SIDE + (_GAP + _SIDE if pair else 0), height=top + _SIDE + _MARGIN)
    for row, label in enumerate(labels):
        height = _MARGIN / 2 + _ROW * row
        figure.boxes.append((_MARGIN, height - 8, _MARGIN + 24, height - 3, _COLORS[row % len(_COLORS)]))
        figure.words.append((_MARGIN + 32, height, label, "start"))
    _draw_curves(figure, evaluations, top)
    if pair:
        _draw_differences(figure, differences(evaluations[0], evaluations[1], measure), labels, measure, top)
    figure.save(target)


def differences(first: Evaluation, second: Evaluation, measure: str) -> list[float]:
    """Return the second run's value minus the first's, for each query with both values, falling."""
    pairs = [
        (first.per_query[query][measure], second.per_query[query][measure])
        for query in first.per_query
        if query in second.per_query
    ]
    return sorted((b - a for a, b in pairs if a is not None and b is not None), reverse=True)


def _draw_curves(figure: Figure, evaluations: Sequence[Evaluation], top: float) -> None:
    left = _MARGIN
    figure.words.append((left + _SIDE / 2, top - 12, "interpolated precision over recall", "middle"))
    for tenth in range(0, 11, 2):
        x, y = left + _SIDE * tenth / 10, top + _SIDE * (1 - tenth / 10)
        figure.lines.append(([(left, y), (left + _SIDE, y)], _GREY, 1))
        figure.words.append((left - 8, y + 4, f"{tenth / 10:.1f}", "end"))
        figure.words.append((x, top + _SIDE + 20, f"{tenth / 10:.1f}", "middle"))
    for number, evaluation in enumerate(evaluations):
        points = [
            (left + _SIDE * place / 10, top + _SIDE * (1 - (evaluation.mean[name] or 0.0)))
            for place, name in enumerate(CURVE)
        ]
        figure.lines.append((points, _COLORS[number % len(_COLORS)], 2))


def _draw_differences(figure: Figure, values: Sequence[float], labels: Sequence[str], measure: str, top: float) -> None:
    if not values:
        raise UsageError(f"the runs {labels[0]!r} and {labels[1]!r} have no query in common to compare")
    left, middle = _MARGIN + _SIDE + _GAP, top + _SIDE / 2
    largest = max(map(abs, values)) or 1.0
    better, worse = sum(value > 0 for value in values), sum(value < 0 for value in values)
    figure.words.append((left + _SIDE / 2, top - 12, f"{measure}: difference per query", "middle"))
    figure.words.append(
        (left + _SIDE / 2, top + _SIDE + 20, f"better: {better}, worse: {worse}, of {len(values)} queries", "middle")
    )
    for share in (1.0, 0.0, -1.0):
        y = middle - share * _SIDE / 2
        figure.lines.append(([(left, y), (left + _SIDE, y)], _GREY, 1))
        figure.words.append((left - 8, y + 4, f"{share * largest:+.3f}" if share else "0", "end"))
    step = _SIDE / len(values)
    for place, value in enumerate(values):
        end = middle - value / largest * _SIDE / 2
        x = left + place * step
        color = _COLORS[1] if value > 0 else _COLORS[0]
        figure.boxes.append((x, min(middle, end), x + 0.9 * step, max(middle, end), color))
