"""Charts as SVG: forest, slices, trend, lines, bars, points, calibration, heat map and square.

A chart has only presentation attributes (no style, no script, no id), so that pages with a strict
content security policy can include it. Text has the color of the surrounding text. Other colors are
from Okabe and Ito's palette, which color-blind readers can distinguish on white and on black, and a
shape, a dash or a word repeats what they mean. The title and all numbers are also text, for screen
readers.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from claimeval.statistics.formatting import (
    decimal,
    digits_of,
    interval,
    percent,
    signed,
    signed_interval,
)
from claimeval.types.errors import UsageError, visible

BLUE = "#0072b2"
ORANGE = "#d55e00"
GREEN = "#009e73"
PINK = "#cc79a7"
GREY = "#8a8a8a"
SERIES = (BLUE, ORANGE, GREEN, PINK, GREY)
DASHES = ("none", "7 3", "2 3", "9 3 2 3")
RAMP = ((237, 244, 251), (107, 174, 214), (8, 48, 107))
"""Light to dark, for 0 to 1."""
INK = "#1c1e21"
PAPER = "#ffffff"
DARK_INK = "#e7e8ea"
DARK_PAPER = "#1e2127"
WIDTH = 640.0
NARROW = 480.0
"""Default width of a chart in points, and the width below which names are above their marks."""
LETTER = 6.4
"""Approximate width of a letter in points."""
FLAT = 1e-9


class Mark(NamedTuple):
    """A value to draw, with its name and interval."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    ends: str = "95%"
    """What `low` and `high` are. Anything but `95%`, such as `bounds`, has a dashed line and a
    hollow mark."""
    link: str | None = None
    """URL of the mark's link."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends; None if one is missing."""
        return None if self.low is None or self.high is None else (self.low, self.high)


class Curve(NamedTuple):
    """A curve, with its points in ascending order."""

    name: str
    points: Sequence[tuple[float, Mark]]


class Cell(NamedTuple):
    """A cell of a square or a heat map."""

    name: str
    """What the cell counts or compares, for its tooltip. A square also prints it."""
    value: float | None
    link: str | None = None


class Picture(NamedTuple):
    """A chart with its title and a description of its numbers."""

    title: str
    descriptions: tuple[str, ...]
    width: float
    height: float
    body: str

    @property
    def svg(self) -> str:
        """The element for a page or a notebook, in the color of the surrounding text."""
        return self._element(self._words() + self.body, class_="picture")

    @property
    def file(self) -> str:
        """The content of an `.svg` file, which follows the light or dark theme of the system."""
        dark = f"svg{{color:{DARK_INK}}}.paper{{fill:{DARK_PAPER}}}"
        style = f"<style>@media (prefers-color-scheme:dark){{{dark}}}</style>"
        # The element has no background of its own, and a dark window would show dark text on dark.
        paper = _tag(
            "rect",
            width=self.width,
            height=self.height,
            fill=PAPER,
            class_="paper",
        )
        return self._element(self._words() + style + paper + self.body, color=INK) + "\n"

    def save(self, target: Path) -> None:
        """Write an `.svg` file. Raises UsageError for another file extension or a path that cannot
        be written."""
        check_name(target)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(self.file, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise UsageError(
                f"cannot write the picture {str(target)!r}: {error.strerror or error}"
            ) from error

    def _words(self) -> str:
        descriptions = "; ".join(self.descriptions)
        description = f"<desc>{_escape(descriptions)}</desc>" if descriptions else ""
        return f"<title>{_escape(self.title)}</title>{description}"

    def _element(self, inner: str, **attributes: object) -> str:
        return _tag(
            "svg",
            inner,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {self.width:g} {self.height:g}",
            width=f"{self.width:g}",
            height=f"{self.height:g}",
            role="group" if "<a " in self.body else "img",
            font_family="system-ui, sans-serif",
            font_size=12,
            fill="currentColor",
            **attributes,
        )


def check_name(target: Path) -> None:
    """Raise UsageError unless the file is an `.svg`."""
    if target.suffix.lower() != ".svg":
        raise UsageError(f"a picture is a .svg file, not {target.name!r}")


def file_part(name: str) -> str:
    """Return a name with only characters that are safe in file names and URLs."""
    return re.sub(r"[^A-Za-z0-9_.-]", "-", name)


def beside(title: str, pictures: Sequence[Picture], across: int = 3) -> Picture:
    """Return one picture of several, `across` per row."""
    parts = []
    width = 0.0
    height = 0.0
    for start in range(0, len(pictures), across):
        row = pictures[start : start + across]
        x = 0.0
        for picture in row:
            size = {"width": f"{picture.width:g}", "height": f"{picture.height:g}"}
            parts.append(_tag("svg", picture.body, x=x, y=height, **size))
            x += picture.width
        width = max(width, x)
        height += max(picture.height for picture in row)
    descriptions = list[str]()
    for picture in pictures:
        descriptions += (picture.title, *picture.descriptions)
    return Picture(title, tuple(descriptions), width, height, "".join(parts))


def forest(
    marks: Sequence[Mark],
    title: str,
    label: str,
    *,
    beside: Sequence[Mark] = (),
    width: float = WIDTH,
) -> Picture:
    """Draw a forest plot: one difference with its interval per row, and a line at 0.

    Args:
        marks: The differences. Filled marks have an interval that excludes 0.
        title: Title of the chart.
        label: Label of the axis, with its unit.
        beside: The differences of pictures beside it, which have the same axis, so that lengths
            can be compared.
        width: Width in points.
    """
    descriptions = [_value_in_words(mark, signs=True) for mark in marks]
    written = [_written(mark, signs=True) for mark in marks]
    return _rows(marks, title, label, descriptions, written, 0.0, width, beside)


def slices(
    marks: Sequence[Mark],
    title: str,
    label: str,
    *,
    mean: float | None = None,
    share: Sequence[float | None] = (),
    width: float = WIDTH,
) -> Picture:
    """Draw one value with its interval per row, and a line at the mean of all.

    Args:
        marks: The values, in the order to draw.
        title: Title of the chart.
        label: Label of the axis, with its unit.
        mean: The mean of all; None for no line.
        share: The contribution of each row to the loss or to the change, printed after it.
        width: Width in points.
    """
    adds = [
        "" if part is None else f", adds {signed(part)}" for part in share or [None] * len(marks)
    ]
    descriptions = [_value_in_words(mark) + more for mark, more in zip(marks, adds, strict=True)]
    written = [_written(mark) + more for mark, more in zip(marks, adds, strict=True)]
    return _rows(marks, title, label, descriptions, written, mean, width)


def trend(
    marks: Sequence[Mark],
    title: str,
    label: str,
    *,
    changes: Mapping[int, str] = {},
    breaks: Collection[int] = (),
    baseline: int | None = None,
    systems: Sequence[str] = (),
    width: float = WIDTH,
) -> Picture:
    """Draw a value with its interval over runs, oldest first.

    Args:
        marks: The value of each run.
        title: Title of the chart.
        label: Label of the axis, with its unit.
        changes: What changed, such as judges, prompt or data, by position of the run.
        breaks: Positions of runs whose values cannot be compared with those before, as other judges
            gave them.
        baseline: Position of the baseline run, whose value is a line across the chart.
        systems: The system of each run; each has a line of its own. Empty for one system.
        width: Width in points.
    """
    descriptions = _runs_in_words(marks, changes, systems)
    ordered = sorted(changes.items())
    keys = list(dict.fromkeys(systems))
    names = [_fitting(mark.name, 16) for mark in marks]
    left = 52.0
    right = width - 16
    step = (right - left - 24) / max(len(marks) - 1, 1)
    at = [left + 12 + step * place for place in range(len(marks))]
    kinds = list(dict.fromkeys(word for _, word in ordered))
    legend = 15 * len(keys)
    top = 40.0 + legend + (15 * len(kinds) + 12 if kinds else 0)
    bottom = top + 150
    y = _axis(_ends(marks), bottom, top)
    parts = [_heading(title, width), _y_axis(y, left, right, label)]
    for number, word in enumerate(kinds, 1):
        remark = _fitting(f"{number}: changed {word}", int((right - left) / LETTER))
        parts.append(_text(left, 21 + legend + 15 * number, remark, fill_opacity=0.8))
    parts += _keys(keys, left, right)
    for place, word in ordered:
        parts += _change(at[place], top, bottom, str(kinds.index(word) + 1))
    if baseline is not None and (level := marks[baseline].value) is not None:
        parts.append(
            _line(
                left,
                y(level),
                right,
                y(level),
                stroke_dasharray="2 4",
                stroke_opacity=0.7,
                class_="base",
            )
        )
    colors, curves = _trend_lines(marks, at, y, systems, breaks)
    parts += curves
    turned = _longest(names) * LETTER > step - 10
    parts += _names_below(at, names, bottom + 16, step, width, turned=turned)
    for place, (x, mark) in enumerate(zip(at, marks, strict=True)):
        parts.append(
            _upright(
                x, y, mark, descriptions[place], colors[place], 5.5 if place == baseline else 4
            )
        )
    below = 0.75 * LETTER * _longest(names) + 20 if turned else 26
    return Picture(
        title,
        tuple(descriptions),
        width,
        round(bottom + below),
        "".join(parts),
    )


def _trend_lines(
    marks: Sequence[Mark],
    at: Sequence[float],
    y: _Axis,
    systems: Sequence[str],
    breaks: Collection[int],
) -> tuple[list[str], list[str]]:
    """Return the color of each mark, and the bands and lines of each system."""
    keys = list(dict.fromkeys(systems))
    colors = [BLUE] * len(marks)
    parts = list[str]()
    lines_of = [[place for place, one in enumerate(systems) if one == key] for key in keys]
    for number, places in enumerate(lines_of or [[*range(len(marks))]]):
        color = SERIES[number % len(SERIES)]
        for place in places:
            colors[place] = color
        for piece in _pieces(places, breaks):
            parts += _trend_piece(piece, marks, at, y, color, DASHES[number % len(DASHES)])
    return colors, parts


def _trend_piece(
    piece: Sequence[int],
    marks: Sequence[Mark],
    at: Sequence[float],
    y: _Axis,
    color: str,
    dash: str,
) -> list[str]:
    """Return the band and the line of marks that can be compared."""
    drawn = [(at[i], marks[i], value) for i in piece if (value := marks[i].value) is not None]
    spread = [(x, *mark.interval) for x, mark, _ in drawn if mark.interval]
    curve = [(x, y(value)) for x, _, value in drawn]
    return [_band(y, spread, color), _curve(curve, color, dash)]


def _pieces(places: Sequence[int], breaks: Collection[int]) -> Iterator[list[int]]:
    """Yield the positions of one line in pieces; a piece begins at each break."""
    piece = list[int]()
    for place in places:
        if place in breaks and piece:
            yield piece
            piece = []
        piece.append(place)
    if piece:
        yield piece


def _keys(keys: Sequence[str], left: float, right: float) -> Iterator[str]:
    """Yield the legend of several systems, below the title."""
    for number, key in enumerate(keys):
        y = 36 + 15 * number
        color = SERIES[number % len(SERIES)]
        dash = DASHES[number % len(DASHES)]
        yield _line(left, y, left + 24, y, stroke=color, stroke_width=2.5, dash=dash)
        name = _fitting(key, int((right - left - 32) / LETTER))
        yield _text(left + 30, y + 4, name, class_="key")


def _change(x: float, top: float, bottom: float, number: str) -> list[str]:
    line = _line(
        x,
        top - 4,
        x,
        bottom,
        stroke=ORANGE,
        stroke_dasharray="4 3",
        class_="change",
    )
    return [line, _text(x, top - 8, number, "middle", font_weight=600)]


def _names_below(
    at: Sequence[float],
    names: Sequence[str],
    y: float,
    step: float,
    width: float,
    *,
    turned: bool,
) -> list[str]:
    """Write names below an axis, as many of them as there is room for, with the last."""
    # Turned names of 12 points need 14 beside each other.
    every = math.ceil(14 / step) if step < 14 else 1
    parts: list[str] = []
    for place, (x, name) in enumerate(zip(at, names, strict=True)):
        if (len(names) - 1 - place) % every:
            continue
        if turned:
            transform = f"translate({x + 4:g} {y - 4:g}) rotate(-45)"
            parts.append(_text(0, 0, name, "end", transform=transform))
        else:
            # The last name may be wider than the space to the right of its mark.
            middle = min(x, width - 8 - LETTER * _cells(name) / 2)
            parts.append(_text(middle, y, name, "middle"))
    return parts


def lines(
    curves: Sequence[Curve],
    title: str,
    x_label: str,
    y_label: str,
    *,
    log: bool = False,
    width: float = WIDTH,
) -> Picture:
    """Draw curves with bands for their intervals and a legend, such as nDCG over k.

    Args:
        curves: The curves.
        title: Title of the chart.
        x_label: Label of the horizontal axis.
        y_label: Label of the vertical axis.
        log: Whether the horizontal axis is logarithmic; all its numbers must be above 0.
        width: Width in points.
    """
    xs = sorted({x for curve in curves for x, _ in curve.points})
    top = 34.0 + 18 * len(curves)
    left = 52.0
    right = width - 20
    bottom = top + 220
    x = _axis(
        (xs[0], xs[-1]),
        left,
        right,
        log=log,
        pad=False,
    )
    y = _axis(
        _ends([mark for curve in curves for _, mark in curve.points]),
        bottom,
        top,
    )
    parts = [
        _heading(title, width),
        _x_axis(x, top, bottom, x_label, xs if len(xs) <= 8 or log else None),
    ]
    parts.append(_y_axis(y, left, right, y_label))
    descriptions: list[str] = []
    for number, curve in enumerate(curves):
        color = SERIES[number % len(SERIES)]
        dash = DASHES[number % len(DASHES)]
        key = 36 + 18 * number
        parts += [
            _line(left, key, left + 30, key, stroke=color, stroke_width=2.5, dash=dash),
            _text(
                left + 38,
                key + 4,
                _fitting(curve.name, int((width - left - 60) / LETTER)),
                class_="key",
            ),
        ]
        hints: list[str] = []
        for over, mark in curve.points:
            hint = _value_in_words(mark)
            hints.append(f"{curve.name}, {x_label} {over:g}, {hint}" if hint else "")
        descriptions += hints
        parts += _drawn_curve(curve, (x, y), color, dash, hints)
    return Picture(title, tuple(descriptions), width, bottom + 44, "".join(parts))


def _drawn_curve(
    curve: Curve, axes: tuple[_Axis, _Axis], color: str, dash: str, hints: Sequence[str]
) -> Iterator[str]:
    """Yield the band, the line and the points of a curve."""
    x, y = axes
    drawn = [(x(over), mark, mark.value) for over, mark in curve.points if mark.value is not None]
    spread = [(over, *mark.interval) for over, mark, _ in drawn if mark.interval]
    yield _band(y, spread, color)
    yield _curve([(over, y(value)) for over, _, value in drawn], color, dash)
    for (over, mark), hint in zip(curve.points, hints, strict=True):
        if mark.value is not None:
            yield _dot(x(over), y(mark.value), 2.5, color, hint, "mark")


def bars(
    values: Sequence[float], title: str, x_label: str, y_label: str, *, width: float = WIDTH
) -> Picture:
    """Draw a bar for each difference, largest first.

    Args:
        values: The differences of queries or samples.
        title: Title of the chart.
        x_label: Label of the bars.
        y_label: Label of the vertical axis.
        width: Width in points.
    """
    falling = sorted(values, reverse=True)
    reach = max(map(abs, falling), default=0) or 1.0
    top = 34.0
    left = 60.0
    right = width - 16
    bottom = 272.0
    y = _axis((-reach, reach), bottom, top)
    x = _axis(
        (0, max(len(falling), 1)),
        left,
        right,
        pad=False,
    )
    higher = sum(value > 0 for value in falling)
    lower = sum(value < 0 for value in falling)
    summary = f"higher: {higher}, lower: {lower}, of {len(falling)}"
    parts = [
        _heading(title, width),
        _y_axis(y, left, right, y_label, signs=True),
        _line(left, y(0), right, y(0)),
    ]
    for color, start, side in (
        (BLUE, 0, falling[:higher]),
        (ORANGE, len(falling) - lower, falling[len(falling) - lower :]),
    ):
        steps = "".join(
            f"V{y(value):.2f}H{x(start + place + 1):.2f}" for place, value in enumerate(side)
        )
        if side:
            path = f"M{x(start):.2f} {y(0):.2f}{steps}V{y(0):.2f}Z"
            parts.append(_tag("path", d=path, fill=color, fill_opacity=0.85, class_="bars"))
    parts.append(_text((left + right) / 2, bottom + 20, f"{x_label}; {summary}", "middle"))
    return Picture(
        title,
        (summary, *(signed(value) for value in falling[:50])),
        width,
        bottom + 30,
        "".join(parts),
    )


def _runs_in_words(
    marks: Sequence[Mark], changes: Mapping[int, str], systems: Sequence[str]
) -> list[str]:
    """Return the value of each run in words, with its system and what changed."""
    descriptions = [_value_in_words(mark) for mark in marks]
    for place, word in changes.items():
        descriptions[place] += f", here changed: {word}"
    for place, system in enumerate(systems):
        descriptions[place] = f"{system}, {descriptions[place]}"
    return descriptions


def pareto_front(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points without another that is at most as far right and at least as high, from
    left to right."""
    best: list[tuple[float, float]] = []
    for over, value in sorted(points, key=lambda point: (point[0], -point[1])):
        if not best or value > best[-1][1]:
            best.append((over, value))
    return best


def points(
    marks: Sequence[tuple[float, Mark]],
    title: str,
    x_label: str,
    y_label: str,
    *,
    front: bool = False,
    width: float = 420,
) -> Picture:
    """Draw values over other values, such as agreement over cost.

    Args:
        marks: The horizontal position and the value of each point.
        title: Title of the chart.
        x_label: Label of the horizontal axis, with its unit.
        y_label: Label of the vertical axis.
        front: Whether to join the points of the Pareto front: no other point is at most as far
            right and at least as high.
        width: Width in points.
    """
    drawn = [(over, mark, mark.value) for over, mark in marks if mark.value is not None]
    left = 56.0
    right = width - 16
    top = 34.0
    bottom = 294.0
    x = _axis(
        (0, max((over for over, _, _ in drawn), default=1) or 1),
        left,
        right,
    )
    y = _axis(_ends([mark for _, mark, _ in drawn]), bottom, top)
    parts = [
        _heading(title, width),
        _x_axis(x, top, bottom, x_label),
        _y_axis(y, left, right, y_label),
    ]
    if front:
        best = pareto_front((over, value) for over, _, value in drawn)
        parts.append(
            _curve(
                [(x(over), y(value)) for over, value in best],
                GREY,
                "5 4",
            )
        )
    descriptions = []
    for over, mark, value in drawn:
        descriptions.append(f"{_value_in_words(mark)}, {x_label} {over:.3g}")
        parts.append(
            _upright(
                x(over),
                y,
                mark,
                descriptions[-1],
                BLUE,
                4.5,
            )
        )
        offset, anchor = (-8, "end") if x(over) > (left + right) / 2 else (8, "start")
        parts.append(
            _text(
                x(over) + offset,
                y(value) - 6,
                _fitting(mark.name, 24),
                anchor,
            )
        )
    return Picture(title, tuple(descriptions), width, bottom + 44, "".join(parts))


def calibration(
    marks: Sequence[tuple[float, Mark]],
    title: str,
    *,
    x_label: str = "stated probability",
    y_label: str = "share that is right",
    width: float = 420,
) -> Picture:
    """Draw a calibration curve: a point for each bin, and the diagonal of perfect calibration.

    Args:
        marks: The mean probability of each bin, and the observed share. The area of a point grows
            with `n`.
        title: Title of the chart.
        x_label: Label of the horizontal axis, from 0 to 1.
        y_label: Label of the vertical axis, from 0 to 1.
        width: Width in points.
    """
    left = 56.0
    right = width - 16
    top = 34.0
    bottom = top + right - left
    x = _Axis(0, 1, left, right)
    y = _Axis(0, 1, bottom, top)
    parts = [
        _heading(title, width),
        _x_axis(x, top, bottom, x_label),
        _y_axis(y, left, right, y_label),
    ]
    parts.append(
        _line(
            x(0),
            y(0),
            x(1),
            y(1),
            stroke_dasharray="5 4",
            stroke_opacity=0.6,
        )
    )
    largest = max((mark.n or 0 for _, mark in marks), default=0) or 1
    descriptions = [
        f"{x_label} {decimal(over, 2)}, {_value_in_words(mark)}" for over, mark in marks
    ]
    for (over, mark), hint in zip(marks, descriptions, strict=True):
        parts.append(
            _upright(
                x(over),
                y,
                mark,
                hint,
                BLUE,
                3 + 6 * math.sqrt((mark.n or 0) / largest),
            )
        )
    return Picture(title, tuple(descriptions), width, bottom + 44, "".join(parts))


def heat_map(
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[Cell]],
    title: str,
    *,
    labels: tuple[str, str] = ("", ""),
    counts: bool = False,
) -> Picture:
    """Draw a table of values, which are printed in their cells. High values are dark.

    Args:
        rows: Names of the rows.
        columns: Names of the columns.
        cells: The cells of each row. Cells without a value are empty.
        title: Title of the chart.
        labels: Labels of the rows and of the columns.
        counts: Whether the values are counts, shaded by their share of the row, instead of shares
            from 0 to 1.
    """
    names = [_fitting(name, 24) for name in rows]
    below = [_fitting(name, 24) for name in columns]
    numbers = [_number(cell.value, counts) for cell in chain.from_iterable(cells)]
    size = max(44.0, 8 + LETTER * max(map(len, numbers), default=0))
    # Names of columns are turned by 45 degrees, and reach as far to the right as they are high.
    slant = 0.75 * LETTER * _longest(below)
    left = 24 + LETTER * _longest(names) + (16 if labels[0] else 0)
    top = 44 + slant + (16 if labels[1] else 0)
    width = max(left + size * len(columns) + slant + 24, 240)
    bottom = top + size * len(rows)
    parts = [_heading(title, width)]
    if labels[1]:
        middle = left + size * len(columns) / 2
        parts.append(_text(middle, 40, labels[1], "middle", fill_opacity=0.75))
    if labels[0]:
        turned = f"translate(14 {(top + bottom) / 2:g}) rotate(-90)"
        parts.append(_text(0, 0, labels[0], "middle", transform=turned))
    for column, name in enumerate(below):
        turned = f"translate({left + size * (column + 0.5):g} {top - 8:g}) rotate(-45)"
        parts.append(_text(0, 0, name, transform=turned))
    descriptions: list[str] = []
    for row, name in enumerate(names):
        y = top + size * row
        parts.append(_text(left - 8, y + size / 2 + 4, name, "end"))
        for description, box in _shaded(cells[row], (left, y), size, counts=counts):
            descriptions.append(description)
            parts.append(box)
    if not counts:
        parts.append(_scale(left, bottom))
    height = round(bottom + (10 if counts else 30))
    return Picture(title, tuple(descriptions), round(width), height, "".join(parts))


def _shaded(
    row: Sequence[Cell], at: tuple[float, float], size: float, *, counts: bool
) -> Iterator[tuple[str, str]]:
    """Yield the description and the box of each cell of a row that has a value."""
    x, y = at
    # A row of counts is shaded by its own sum: a rare label would be white beside a frequent one.
    whole = sum(cell.value or 0 for cell in row) or 1
    for column, cell in enumerate(row):
        if cell.value is None:
            continue
        shade = cell.value / whole if counts else cell.value
        written = _number(cell.value, counts)
        description = f"{cell.name}: {written}"
        box = x + size * column, y, size - 2, size - 2
        yield description, _box(box, shade, [(written, 12)], description, cell.link)


def _scale(left: float, bottom: float) -> str:
    """Draw the shades from 0 to 1, below a table of shares."""
    parts = []
    for k in range(10):
        parts.append(
            _tag(
                "rect",
                x=left + 8 * k,
                y=bottom + 12,
                width=8,
                height=8,
                fill=_shade(k / 9),
            )
        )
    parts.append(_text(left - 6, bottom + 20, "0", "end"))
    parts.append(_text(left + 86, bottom + 20, "1"))
    return "".join(parts)


def square(
    cells: Sequence[Sequence[Cell]], title: str, rows: tuple[str, str], columns: tuple[str, str]
) -> Picture:
    """Draw a table of two rows and two columns, with counts and shares.

    Args:
        cells: The rows of cells.
        title: Title of the chart.
        rows: Headings of the rows.
        columns: Headings of the columns.
    """
    whole = sum(cell.value or 0 for row in cells for cell in row) or 1
    width = 420.0
    left = 30.0
    top = 52.0
    height = 104.0
    size = (width - left - 8) / 2
    parts = [_heading(title, width)]
    descriptions = []
    for half in (0, 1):
        parts.append(
            _text(
                left + size * (half + 0.5),
                top - 8,
                columns[half],
                "middle",
                fill_opacity=0.8,
            )
        )
        turned = f"translate(18 {top + height * (half + 0.5):g}) rotate(-90)"
        parts.append(
            _text(
                0,
                0,
                _fitting(rows[half], 16),
                "middle",
                transform=turned,
                fill_opacity=0.8,
            )
        )
    for row, two in enumerate(cells):
        for column, cell in enumerate(two):
            share = (cell.value or 0) / whole
            descriptions.append(
                f"{rows[row]}, {columns[column]}: {cell.name}, {cell.value or 0:g}"
                f" ({percent(share)})"
            )
            words = [(line, 12) for line in _wrapped(cell.name, int(size / LETTER) - 2)]
            box = left + size * column, top + height * row, size - 3, height - 3
            texts = [(f"{cell.value or 0:,g}", 22), (percent(share), 12), *words]
            parts.append(_box(box, share, texts, descriptions[-1], cell.link))
    return Picture(
        title,
        tuple(descriptions),
        width,
        top + 2 * height + 6,
        "".join(parts),
    )


class _Axis(NamedTuple):
    """Maps numbers to positions in the chart."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, x = (
            math.log10(number) if self.log else number for number in (self.low, self.high, value)
        )
        return round(self.start + (self.end - self.start) * (x - low) / (high - low or 1), 2)


def _axis(
    ends: tuple[float, float], start: float, end: float, *, log: bool = False, pad: bool = True
) -> _Axis:
    low, high = ends
    if high - low < FLAT:
        low, high = (low / 2, high * 2) if log else (low - 0.05, high + 0.05)
    room = (high - low) * 0.06 if pad else 0
    return _Axis(low - room, high + room, start, end, log)


def _ends(marks: Iterable[Mark]) -> tuple[float, float]:
    numbers = list[float]()
    for mark in marks:
        numbers += (x for x in (mark.value, mark.low, mark.high) if x is not None)
    return (min(numbers), max(numbers)) if numbers else (0.0, 1.0)


def ticks(low: float, high: float, count: int = 6) -> list[tuple[float, str]]:
    """Return about `count` round numbers from low to high, at least two: steps of 1, 2 or 5 times
    10^k; with texts."""
    rough = (high - low) / max(count - 1, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    # 1.1 - 0.6 is a little above 0.5, a fifth of which would need steps of 0.2.
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999)
    digits = max(0, -math.floor(math.log10(step) + FLAT))
    first = math.ceil(low / step - FLAT)
    last = math.floor(high / step + FLAT)
    if first >= last:
        # One number shows no scale.
        return ticks(low, high, count + 1)
    return [(k * step, decimal(k * step, digits)) for k in range(first, last + 1)]


def _rows(
    marks: Sequence[Mark],
    title: str,
    label: str,
    descriptions: Sequence[str],
    written: Sequence[str],
    line: float | None,
    width: float,
    beside: Sequence[Mark] = (),
) -> Picture:
    """Draw one mark per row over one axis, with its name to the left and its numbers to the right,
    or both above."""
    above = width < NARROW
    letters = int(width * (0.5 if above else 0.34) / LETTER)
    names = [_fitting(mark.name, letters) for mark in marks]
    left = 16.0 if above else 20 + LETTER * _longest(names)
    right = width - 16 if above else width - 20 - LETTER * _longest(written)
    row, top = (38, 36) if above else (24, 36)
    bottom = top + row * len(marks) + 4
    low, high = _ends([*marks, *beside, *([] if line is None else [Mark("", line)])])
    x = _axis((low, high), left, right)
    rules = (
        [(top + row * place + 22, top + row * (place + 1)) for place in range(len(marks))]
        if above
        else None
    )
    parts = [_heading(title, width), _x_axis(x, top, bottom, label, rules=rules)]
    if line is not None:
        parts += _base_line(x(line), rules or [(top, bottom)], is_zero=line == 0)
    for place, mark in enumerate(marks):
        start = top + row * place
        if above:
            y = start + 27
            parts.append(_text(16, y - 10, names[place], "start"))
            parts.append(_text(width - 16, y - 10, written[place], "end"))
        else:
            y = start + 14
            parts.append(_text(left - 8, y + 4, names[place], "end"))
            parts.append(_text(right + 12, y + 4, written[place], "start"))
        if mark.value is not None:
            parts.append(_row_mark(x, y, mark, descriptions[place], is_change=line == 0))
    return Picture(title, tuple(descriptions), width, bottom + 44, "".join(parts))


def _base_line(x: float, spans: Iterable[tuple[float, float]], *, is_zero: bool) -> Iterator[str]:
    """Draw what the rows are beside: no change, or dashed the value over all samples."""
    dash = "none" if is_zero else "5 4"
    for top, bottom in spans:
        yield _line(x, top, x, bottom, dash=dash, class_="base")


def _row_mark(x: _Axis, y: float, mark: Mark, description: str, *, is_change: bool) -> str:
    """Draw a value with its interval. Of changes, gains and losses have a color each, and those
    whose interval has 0 are grey."""
    assert mark.value is not None
    apart = (mark.low or 0) > 0 or (mark.high or 0) < 0
    clear = mark.ends == "95%" and (apart or not is_change)
    color = BLUE
    if is_change:
        color = GREY if not clear else BLUE if mark.value > 0 else ORANGE
    ends = [(x(end), y) for end in mark.interval or ()]
    return _point(
        (x(mark.value), y),
        ends,
        mark,
        description,
        color,
        4.5,
        clear=clear,
        thick=2.5,
    )


def _x_axis(
    x: _Axis,
    top: float,
    bottom: float,
    label: str,
    at: Sequence[float] | None = None,
    *,
    rules: Sequence[tuple[float, float]] | None = None,
) -> str:
    """Draw tick labels and grid lines from top to bottom, or only along `rules`, which leave space
    for text."""
    if at is None:
        marks = ticks(
            min(x.low, x.high), max(x.low, x.high), max(5, int(abs(x.end - x.start) / 64))
        )
    else:
        marks = [(value, f"{value:g}") for value in at]
    parts = []
    # Numbers that would run into the one before are left out, their grid lines stay.
    free = -math.inf
    for value, number in marks:
        parts += [
            _line(x(value), y1, x(value), y2, stroke_opacity=0.14)
            for y1, y2 in rules or [(top, bottom)]
        ]
        if x(value) - LETTER * len(number) / 2 > free:
            parts.append(_text(x(value), bottom + 16, number, "middle", class_="x-tick"))
            free = x(value) + LETTER * len(number) / 2 + 4
    return "".join(parts) + _text(
        (x.start + x.end) / 2, bottom + 34, label, "middle", fill_opacity=0.8
    )


def _y_axis(y: _Axis, left: float, right: float, label: str, *, signs: bool = False) -> str:
    parts = []
    for value, number in ticks(y.low, y.high, 6):
        parts.append(_line(left, y(value), right, y(value), stroke_opacity=0.14))
        sign = "+" if signs and value > FLAT else ""
        parts.append(
            _text(
                left - 6,
                y(value) + 4,
                sign + number,
                "end",
                class_="y-tick",
            )
        )
    middle = (y.start + y.end) / 2
    name = _fitting(label, int(abs(y.start - y.end) / LETTER))
    return "".join(parts) + _text(
        0, 0, name, "middle", transform=f"translate(13 {middle:g}) rotate(-90)", fill_opacity=0.8
    )


def _upright(x: float, y: _Axis, mark: Mark, hint: str, color: str, radius: float) -> str:
    """Draw a mark with a vertical interval."""
    if mark.value is None:
        return ""
    ends = [(x, y(end)) for end in mark.interval or ()]
    return _point(
        (x, y(mark.value)), ends, mark, hint, color, radius, clear=mark.ends == "95%", thick=1.5
    )


def _point(
    at: tuple[float, float],
    ends: Sequence[tuple[float, float]],
    mark: Mark,
    hint: str,
    color: str,
    radius: float,
    *,
    clear: bool,
    thick: float,
) -> str:
    """Draw a mark, hollow unless it is clear, and the line between its ends, if it has some."""
    dash = "none" if mark.ends == "95%" else "3 2"
    body = (
        _line(
            *ends[0],
            *ends[1],
            stroke=color,
            stroke_width=thick,
            dash=dash,
        )
        if ends
        else ""
    )
    body += _dot(*at, radius, color, hint, "mark" if clear else "mark hollow")
    return _linked(body, mark.link, hint)


def _dot(x: float, y: float, radius: float, color: str, hint: str, kind: str) -> str:
    fill = "none" if "hollow" in kind else color
    return _tag(
        "circle",
        _hint(hint),
        cx=f"{x:g}",
        cy=f"{y:g}",
        r=f"{radius:.1f}",
        fill=fill,
        stroke=color,
        stroke_width=2,
        class_=kind,
    )


def _band(y: _Axis, spread: Sequence[tuple[float, float, float]], color: str) -> str:
    if len(spread) < 2:
        return ""
    edge = [(x, y(high)) for x, _, high in spread] + [(x, y(low)) for x, low, _ in reversed(spread)]
    return _tag("polygon", points=_path(edge), fill=color, fill_opacity=0.13)


def _curve(at: Sequence[tuple[float, float]], color: str, dash: str = "none") -> str:
    dashes = {"stroke_dasharray": dash} if dash != "none" else {}
    return _tag(
        "polyline",
        points=_path(at),
        fill="none",
        stroke=color,
        stroke_width=2,
        class_="curve",
        **dashes,
    )


def _path(at: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in at)


def _box(
    at: tuple[float, float, float, float],
    shade: float,
    texts: Sequence[tuple[str, int]],
    hint: str,
    link: str | None,
) -> str:
    x, y, width, height = at
    ink = PAPER if shade > 0.5 else INK
    box = {"x": f"{x:g}", "y": f"{y:g}", "width": f"{width:g}", "height": f"{height:g}"}
    body = _tag(
        "rect",
        _hint(hint),
        rx=3,
        fill=_shade(shade),
        class_="cell",
        **box,
    )
    line = y + height / 2 - sum(size + 4 for _, size in texts) / 2
    for text, size in texts:
        line += size + 4
        body += _text(
            x + width / 2, line - 4 - size * 0.1, text, "middle", font_size=size, fill=ink
        )
    return _linked(body, link, hint)


def _shade(value: float) -> str:
    k, share = divmod(min(max(value, 0), 0.9999) * 2, 1)
    return "#" + "".join(
        f"{round(p + (q - p) * share):02x}"
        for p, q in zip(
            RAMP[int(k)],
            RAMP[int(k) + 1],
            strict=True,
        )
    )


def _number(value: float | None, count: bool) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if count else decimal(value, 2)


def _value_in_words(mark: Mark, *, signs: bool = False) -> str:
    number, ends = (signed, signed_interval) if signs else (decimal, interval)
    shown = number(mark.value, digits_of(mark.interval))
    parts = [f"{mark.name}: {shown}" if mark.name else shown]
    parts += [f"{mark.ends} {ends(mark.interval)}"] if mark.interval else []
    parts += [f"n = {mark.n:,}"] if mark.n is not None else []
    return ", ".join(parts) if mark.value is not None else f"{mark.name}: no value"


def _written(mark: Mark, *, signs: bool = False) -> str:
    """Return the numbers of a mark as printed in a row."""
    number, ends = (signed, signed_interval) if signs else (decimal, interval)
    firm = "" if mark.ends == "95%" else f" {mark.ends}"
    shown = f" ({ends(mark.interval)}{firm})" if mark.interval and mark.value is not None else ""
    value = number(mark.value, digits_of(mark.interval))
    return value + shown + ("" if mark.n is None else f", n {mark.n:,}")


def _heading(title: str, width: float) -> str:
    return _text(8, 18, _fitting(title, int(width / 7)), font_weight=600)


def _linked(body: str, link: str | None, label: str) -> str:
    """Return the body as a link. Its accessible name is the text in it, else `label`."""
    if link is None:
        return body
    kind = "aria_description" if "<text" in body else "aria_label"
    return _tag("a", body, href=link, **{kind: visible(label)})


def _longest(texts: Iterable[str]) -> int:
    """Return the width of the widest text, in letters."""
    return max(map(_cells, texts), default=0)


def _cells(text: str) -> int:
    # Chinese letters are as wide as two Latin ones.
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _fitting(text: str, limit: int) -> str:
    shown = visible(text)
    if _cells(shown) <= limit:
        return shown
    half = max(1, (limit - 1) * len(shown) // (2 * _cells(shown)))
    # The middle goes: versions of a system differ at the end of their names.
    return f"{shown[:half]}…{shown[-half:]}"


def _wrapped(text: str, limit: int) -> list[str]:
    words = visible(text).split(" ")
    first = next(
        (
            n
            for n in range(
                len(words),
                0,
                -1,
            )
            if _cells(" ".join(words[:n])) <= limit
        ),
        1,
    )
    return [_fitting(" ".join(part), limit) for part in (words[:first], words[first:]) if part]


def _text(x: float, y: float, text: str, anchor: str = "start", **attributes: object) -> str:
    return _tag("text", _escape(text), x=f"{x:g}", y=f"{y:g}", text_anchor=anchor, **attributes)


def _line(
    x1: float, y1: float, x2: float, y2: float, *, dash: str = "none", **attributes: object
) -> str:
    stroke = (
        {"stroke": "currentColor"}
        | ({} if dash == "none" else {"stroke_dasharray": dash})
        | attributes
    )
    return _tag("line", x1=f"{x1:g}", y1=f"{y1:g}", x2=f"{x2:g}", y2=f"{y2:g}", **stroke)


def _tag(name: str, inner: str = "", /, **attributes: object) -> str:
    """Return an element around `inner`, which is markup."""
    parts = "".join(
        f' {key if key == "viewBox" else key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
    )
    return f"<{name}{parts}>{inner}</{name}>" if inner else f"<{name}{parts}/>"


def _hint(text: str) -> str:
    """Return the title of a mark, which browsers show as a tooltip."""
    return f"<title>{_escape(text)}</title>"


def _escape(text: str) -> str:
    return escape(visible(text))
