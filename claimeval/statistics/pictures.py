"""Pictures of numbers as SVG: forest, slices, trend, lines, bars, points, calibration, heat map and square.

A picture has presentation attributes only (no style, no script, no id), so it may stand in a page whose policy allows
nothing else. Its text has the color of the text around it, and its other colors are of Okabe and Ito's palette, which
color-blind readers tell apart on white and on black; what a color says, a shape, a dash or a word says too. The title
and all numbers are in it as words, for those who do not see it.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from claimeval.statistics.formatting import decimal, interval, percent, signed, signed_interval
from claimeval.types.errors import UsageError, visible

BLUE, ORANGE, GREEN, PINK, GREY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a8a8a"
SERIES = (BLUE, ORANGE, GREEN, PINK, GREY)
DASHES = ("none", "7 3", "2 3", "9 3 2 3")
RAMP = ((237, 244, 251), (107, 174, 214), (8, 48, 107))
"""Light to dark: nothing to all."""
INK, PAPER, DARK_INK, DARK_PAPER = "#1c1e21", "#ffffff", "#e7e8ea", "#1e2127"
WIDTH, NARROW = 640.0, 480.0
"""Points that a picture is wide; below `NARROW`, names stand above their marks."""
LETTER = 6.4
"""Points that a letter takes, about."""
FLAT = 1e-9


class Mark(NamedTuple):
    """A value to draw, with its interval and what it is of."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    ends: str = "95 %"
    """What `low` and `high` are; anything but `95 %`, as in `bounds`, is drawn with a dashed line and a hollow mark."""
    link: str | None = None
    """The address that the mark leads to."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends; None if one is open."""
        return None if self.low is None or self.high is None else (self.low, self.high)


class Curve(NamedTuple):
    """A curve over numbers that rise."""

    name: str
    points: Sequence[tuple[float, Mark]]


class Cell(NamedTuple):
    """A cell of a square or a heat map."""

    name: str
    """What it counts, or whom it compares; said, and in a square written."""
    value: float | None
    link: str | None = None


class Picture(NamedTuple):
    """A picture with its title and, in words, its numbers."""

    title: str
    descriptions: tuple[str, ...]
    width: float
    height: float
    body: str

    @property
    def svg(self) -> str:
        """The element, to stand in a page or a notebook; the text around it gives the color."""
        return self._element(self._words() + self.body, class_="picture")

    @property
    def file(self) -> str:
        """The content of an `.svg` file, which is light or dark as the reader's system is."""
        dark = f"svg{{color:{DARK_INK}}}.paper{{fill:{DARK_PAPER}}}"
        style = f"<style>@media (prefers-color-scheme:dark){{{dark}}}</style>"
        paper = _tag("rect", width=self.width, height=self.height, fill=PAPER, class_="paper")
        return self._element(self._words() + style + paper + self.body, color=INK) + "\n"

    def save(self, target: Path) -> None:
        """Write an `.svg` file; UsageError for a name that ends otherwise, or a place that cannot be written."""
        check_name(target)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(self.file, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise UsageError(f"cannot write the picture {str(target)!r}: {error.strerror or error}") from error

    def _words(self) -> str:
        descriptions = "; ".join(self.descriptions)
        return f"<title>{_escape(self.title)}</title>" + (
            f"<desc>{_escape(descriptions)}</desc>" if descriptions else ""
        )

    def _element(self, inner: str, **given: object) -> str:
        return _tag(
            "svg", inner, xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {self.width:g} {self.height:g}",
            width=f"{self.width:g}", height=f"{self.height:g}", role="group" if "<a " in self.body else "img",
            font_family="system-ui, sans-serif", font_size=12, fill="currentColor", **given,
        )  # fmt: skip


def check_name(target: Path) -> None:
    """Raise UsageError unless a file to draw is an `.svg`."""
    if target.suffix.lower() != ".svg":
        raise UsageError(f"a picture is written as .svg, not as {target.name!r}")


def file_part(name: str) -> str:
    """Return a name as it may stand in the name of a file and in an address."""
    return re.sub(r"[^A-Za-z0-9_.-]", "-", name)


def beside(title: str, pictures: Sequence[Picture], across: int = 3) -> Picture:
    """Return pictures in one, from left to right, and so many in a row."""
    parts, width, height = [], 0.0, 0.0
    for start in range(0, len(pictures), across):
        row, x = pictures[start : start + across], 0.0
        for one in row:
            parts.append(_tag("svg", one.body, x=x, y=height, width=f"{one.width:g}", height=f"{one.height:g}"))
            x += one.width
        width, height = max(width, x), height + max(one.height for one in row)
    descriptions = tuple(word for one in pictures for word in (one.title, *one.descriptions))
    return Picture(title, descriptions, width, height, "".join(parts))


def forest(marks: Sequence[Mark], title: str, label: str, *, width: float = WIDTH) -> Picture:
    """Draw differences with their intervals, one a row, beside the line of no difference.

    Args:
        marks: The differences. Filled marks have an interval that excludes 0.
        title: What is compared.
        label: What the axis is of, with its unit.
        width: Points.
    """
    descriptions = [_value_in_words(mark, signed, signed_interval) for mark in marks]
    written = [_written(mark, signed, signed_interval) for mark in marks]
    return _rows(marks, title, label, descriptions, written, 0.0, width)


def slices(
    marks: Sequence[Mark], title: str, label: str, *,
    mean: float | None = None, share: Sequence[float | None] = (), width: float = WIDTH,
) -> Picture:  # fmt: skip
    """Draw values with their intervals, one a row, beside the mean of all.

    Args:
        marks: The values, in the order to draw.
        title: What the values are of.
        label: What the axis is of, with its unit.
        mean: The mean of all, as a line; None for none.
        share: What each row adds to the loss or to the change, written beside it.
        width: Points.
    """
    rows = zip(marks, share or [None] * len(marks), strict=True)
    adds = ["" if part is None else f", adds {signed(part)}" for _, part in rows]
    descriptions = [_value_in_words(mark, decimal, interval) + more for mark, more in zip(marks, adds, strict=True)]
    written = [_written(mark, decimal, interval) + more for mark, more in zip(marks, adds, strict=True)]
    return _rows(marks, title, label, descriptions, written, mean, width)


def trend(
    marks: Sequence[Mark], title: str, label: str, *,
    changes: Mapping[int, str] = {}, baseline: int | None = None, width: float = WIDTH,
) -> Picture:  # fmt: skip
    """Draw a value over runs, the oldest first, with its intervals.

    Args:
        marks: A value a run.
        title: What the values are of.
        label: What the axis is of, with its unit.
        changes: By position of a run, what changed there: judges, prompt, data.
        baseline: The position of the run that others are compared with, whose value is a line through the picture.
        width: Points.
    """
    descriptions = [_value_in_words(mark, decimal, interval) for mark in marks]
    for place, word in sorted(changes.items()):
        descriptions[place] += f", here changed: {word}"
    names = [_fitting(mark.name, 16) for mark in marks]
    left, right = 52.0, width - 16
    step = (right - left - 24) / max(len(marks) - 1, 1)
    at = [left + 12 + step * place for place in range(len(marks))]
    kinds = list(dict.fromkeys(word for _, word in sorted(changes.items())))
    top = 40.0 + (15 * len(kinds) + 12 if kinds else 0)
    turned = max(map(_cells, names), default=0) * LETTER > step - 10
    bottom = top + 150
    y = _axis(_ends(marks), bottom, top)
    parts = [_heading(title, width), _y_axis(y, left, right, label)]
    for number, word in enumerate(kinds, 1):
        remark = _fitting(f"{number}: changed {word}", int((right - left) / LETTER))
        parts.append(_text(left, 21 + 15 * number, remark, fill_opacity=0.8))
    for place, word in sorted(changes.items()):
        x, mark_number = at[place], str(kinds.index(word) + 1)
        parts.append(_line(x, top - 4, x, bottom, stroke=ORANGE, stroke_dasharray="4 3", class_="change"))
        parts.append(_text(x, top - 8, mark_number, "middle", font_weight=600))
    if baseline is not None and (level := marks[baseline].value) is not None:
        parts.append(_line(left, y(level), right, y(level), stroke_dasharray="2 4", stroke_opacity=0.7, class_="base"))
    drawn = [(x, mark, mark.value) for x, mark in zip(at, marks, strict=True) if mark.value is not None]
    spread = [(x, *mark.interval) for x, mark, _ in drawn if mark.interval]
    parts += [_band(y, spread, BLUE), _curve([(x, y(value)) for x, _, value in drawn], BLUE)]
    every = math.ceil(14 / step) if step < 14 else 1
    for place, (x, name) in enumerate(zip(at, names, strict=True)):
        if (len(marks) - 1 - place) % every == 0:
            # The last name may be wider than what is right of its mark.
            middle = min(x, width - 8 - LETTER * _cells(name) / 2)
            parts.append(_turned(x, bottom + 16, name) if turned else _text(middle, bottom + 16, name, "middle"))
    for place, (x, mark) in enumerate(zip(at, marks, strict=True)):
        parts.append(_upright(x, y, mark, descriptions[place], BLUE, 5.5 if place == baseline else 4))
    below = 0.75 * LETTER * max(map(_cells, names), default=0) + 20 if turned else 26
    return Picture(title, tuple(descriptions), width, round(bottom + below), "".join(parts))


def lines(
    curves: Sequence[Curve], title: str, x_label: str, y_label: str, *, log: bool = False, width: float = WIDTH
) -> Picture:
    """Draw curves with bands for their intervals, as nDCG over k; each has a dash of its own and its name in a legend.

    Args:
        curves: Curves whose points have the numbers they stand over.
        title: What the curves are of.
        x_label: What the numbers below are.
        y_label: What the values are.
        log: Whether each tenfold step is as wide as the next, as for k from 1 to 1000; all numbers are above 0.
        width: Points.
    """
    xs = sorted({x for curve in curves for x, _ in curve.points})
    top = 34.0 + 18 * len(curves)
    left, right, bottom = 52.0, width - 20, top + 220
    x = _axis((xs[0], xs[-1]), left, right, log=log, pad=False)
    y = _axis(_ends([mark for curve in curves for _, mark in curve.points]), bottom, top)
    parts = [_heading(title, width), _x_axis(x, top, bottom, x_label, xs if len(xs) <= 8 or log else None)]
    parts.append(_y_axis(y, left, right, y_label))
    descriptions = []
    for number, curve in enumerate(curves):
        color, dash = SERIES[number % len(SERIES)], DASHES[number % len(DASHES)]
        drawn = [(x(over), mark, mark.value) for over, mark in curve.points if mark.value is not None]
        parts += [
            _line(left, 36 + 18 * number, left + 30, 36 + 18 * number, stroke=color, stroke_width=2.5, dash=dash),
            _text(left + 38, 40 + 18 * number, _fitting(curve.name, int((width - left - 60) / LETTER)), class_="key"),
            _band(y, [(over, *mark.interval) for over, mark, _ in drawn if mark.interval], color),
            _curve([(over, y(value)) for over, _, value in drawn], color, dash),
        ]
        for over, mark in curve.points:
            hint = _value_in_words(mark, decimal, interval)
            descriptions.append(f"{curve.name}, {x_label} {over:g}, {hint}" if hint else "")
            if mark.value is not None:
                parts.append(_dot(x(over), y(mark.value), 2.5, color, descriptions[-1], "mark"))
    return Picture(title, tuple(descriptions), width, bottom + 44, "".join(parts))


def bars(values: Sequence[float], title: str, x_label: str, y_label: str, *, width: float = WIDTH) -> Picture:
    """Draw a bar a value, the greatest first: above 0 what rose, below 0 what fell.

    Args:
        values: Differences, of queries or samples.
        title: What is compared.
        x_label: What a bar is.
        y_label: What the differences are of.
        width: Points.
    """
    falling = sorted(values, reverse=True)
    reach = max(map(abs, falling), default=0) or 1.0
    top, left, right, bottom = 34.0, 60.0, width - 16, 272.0
    y = _axis((-reach, reach), bottom, top)
    x = _axis((0, max(len(falling), 1)), left, right, pad=False)
    higher, lower = sum(value > 0 for value in falling), sum(value < 0 for value in falling)
    summary = f"higher: {higher}, lower: {lower}, of {len(falling)}"
    parts = [_heading(title, width), _y_axis(y, left, right, y_label, signs=True), _line(left, y(0), right, y(0))]
    for color, kept in ((BLUE, falling[:higher]), (ORANGE, falling[len(falling) - lower :])):
        start = 0 if color is BLUE else len(falling) - lower
        steps = "".join(f"V{y(value):.2f}H{x(start + place + 1):.2f}" for place, value in enumerate(kept))
        if kept:
            path = f"M{x(start):.2f} {y(0):.2f}{steps}V{y(0):.2f}Z"
            parts.append(_tag("path", d=path, fill=color, fill_opacity=0.85, class_="bars"))
    parts.append(_text((left + right) / 2, bottom + 20, f"{x_label}; {summary}", "middle"))
    return Picture(title, (summary, *(signed(value) for value in falling[:50])), width, bottom + 30, "".join(parts))


def points(
    marks: Sequence[tuple[float, Mark]], title: str, x_label: str, y_label: str, *,
    front: bool = False, width: float = 420,
) -> Picture:  # fmt: skip
    """Draw values over other values, as agreement over cost.

    Args:
        marks: The number below, and the value over it.
        title: What the points are.
        x_label: What the numbers below are, with their unit.
        y_label: What the values are.
        front: Whether a line joins the points that no other beats: at most as far right, and at least as high.
        width: Points.
    """
    drawn = [(over, mark, mark.value) for over, mark in marks if mark.value is not None]
    left, right, top, bottom = 56.0, width - 16, 34.0, 294.0
    x = _axis((0, max((over for over, _, _ in drawn), default=1) or 1), left, right)
    y = _axis(_ends([mark for _, mark, _ in drawn]), bottom, top)
    parts = [_heading(title, width), _x_axis(x, top, bottom, x_label), _y_axis(y, left, right, y_label)]
    if front:
        best: list[tuple[float, float]] = []
        for over, _, value in sorted(drawn, key=lambda one: (one[0], -one[2])):
            if not best or value > best[-1][1]:
                best.append((over, value))
        parts.append(_curve([(x(over), y(value)) for over, value in best], GREY, "5 4"))
    descriptions = []
    for over, mark, value in drawn:
        descriptions.append(f"{_value_in_words(mark, decimal, interval)}, {x_label} {over:.3g}")
        parts.append(_upright(x(over), y, mark, descriptions[-1], BLUE, 4.5))
        end = x(over) > (left + right) / 2
        parts.append(
            _text(x(over) + (-8 if end else 8), y(value) - 6, _fitting(mark.name, 24), "end" if end else "start")
        )
    return Picture(title, tuple(descriptions), width, bottom + 44, "".join(parts))


def calibration(
    marks: Sequence[tuple[float, Mark]], title: str, *,
    x_label: str = "stated probability", y_label: str = "share that is right", width: float = 420,
) -> Picture:  # fmt: skip
    """Draw what was stated against what was found, a point a bin; on the line both are equal.

    Args:
        marks: The mean probability of each bin, and the share found in it. The area of a point grows with `n`.
        title: Whose probabilities they are.
        x_label: What was stated, from 0 to 1.
        y_label: What was found, from 0 to 1.
        width: Points; as much is its height.
    """
    left, right, top = 56.0, width - 16, 34.0
    bottom = top + right - left
    x, y = _Axis(0, 1, left, right), _Axis(0, 1, bottom, top)
    parts = [_heading(title, width), _x_axis(x, top, bottom, x_label), _y_axis(y, left, right, y_label)]
    parts.append(_line(x(0), y(0), x(1), y(1), stroke_dasharray="5 4", stroke_opacity=0.6))
    most = max((mark.n or 0 for _, mark in marks), default=0) or 1
    descriptions = [f"{x_label} {decimal(over, 2)}, {_value_in_words(mark, decimal, interval)}" for over, mark in marks]
    for (over, mark), hint in zip(marks, descriptions, strict=True):
        parts.append(_upright(x(over), y, mark, hint, BLUE, 3 + 6 * math.sqrt((mark.n or 0) / most)))
    return Picture(title, tuple(descriptions), width, bottom + 44, "".join(parts))


def heat_map(
    rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[Cell]], title: str, *,
    labels: tuple[str, str] = ("", ""), counts: bool = False,
) -> Picture:  # fmt: skip
    """Draw a table of values, dark where high, each written in its cell.

    Args:
        rows: Names of the rows.
        columns: Names of the columns.
        cells: The cells of each row; one without a value stays empty.
        title: What the values are.
        labels: What the rows and the columns are.
        counts: Whether the values are counts, shaded by their share of the row; else they are shares from 0 to 1.
    """
    names = [_fitting(name, 24) for name in rows]
    size = max(44.0, 8 + LETTER * max((len(_number(c.value, counts)) for row in cells for c in row), default=0))
    left = 24 + LETTER * max(map(_cells, names), default=0) + (16 if labels[0] else 0)
    below = [_fitting(name, 24) for name in columns]
    top = 44 + 0.75 * LETTER * max(map(_cells, below), default=0) + (16 if labels[1] else 0)
    width = max(left + size * len(columns) + 0.75 * LETTER * max(map(_cells, below), default=0) + 24, 240)
    bottom = top + size * len(rows)
    parts, descriptions = [_heading(title, width)], []
    if labels[1]:
        parts.append(_text(left + size * len(columns) / 2, 40, labels[1], "middle", fill_opacity=0.75))
    if labels[0]:
        parts.append(_text(0, 0, labels[0], "middle", transform=f"translate(14 {(top + bottom) / 2:g}) rotate(-90)"))
    for column, name in enumerate(below):
        turned = f"translate({left + size * (column + 0.5):g} {top - 8:g}) rotate(-45)"
        parts.append(_text(0, 0, name, transform=turned))
    for row, name in enumerate(names):
        parts.append(_text(left - 8, top + size * (row + 0.5) + 4, name, "end"))
        whole = sum(cell.value or 0 for cell in cells[row]) or 1
        for column, cell in enumerate(cells[row]):
            if cell.value is None:
                continue
            shade, written = cell.value / whole if counts else cell.value, _number(cell.value, counts)
            descriptions.append(f"{cell.name}: {written}")
            place = left + size * column, top + size * row, size - 2, size - 2
            parts.append(_box(place, shade, [(written, 12)], descriptions[-1], cell.link))
    if not counts:
        shades = [_tag("rect", x=left + 8 * k, y=bottom + 12, width=8, height=8, fill=_shade(k / 9)) for k in range(10)]
        ends = _text(left - 6, bottom + 20, "0", "end") + _text(left + 86, bottom + 20, "1")
        parts.append("".join(shades) + ends)
    return Picture(title, tuple(descriptions), round(width), round(bottom + (10 if counts else 30)), "".join(parts))


def square(
    cells: Sequence[Sequence[Cell]], title: str, rows: tuple[str, str], columns: tuple[str, str], *, width: float = 420
) -> Picture:
    """Draw four cells with their counts and shares, and what each of them means.

    Args:
        cells: The upper two and the lower two, from left to right.
        title: What is counted.
        rows: What the upper and the lower two have in common.
        columns: What the left and the right two have in common.
        width: Points.
    """
    whole = sum(cell.value or 0 for row in cells for cell in row) or 1
    left, top, height = 30.0, 52.0, 104.0
    size = (width - left - 8) / 2
    parts, descriptions = [_heading(title, width)], []
    for half in (0, 1):
        parts.append(_text(left + size * (half + 0.5), top - 8, columns[half], "middle", fill_opacity=0.8))
        turned = f"translate(18 {top + height * (half + 0.5):g}) rotate(-90)"
        parts.append(_text(0, 0, _fitting(rows[half], 16), "middle", transform=turned, fill_opacity=0.8))
    for row, two in enumerate(cells):
        for column, cell in enumerate(two):
            share = (cell.value or 0) / whole
            descriptions.append(f"{rows[row]}, {columns[column]}: {cell.name}, {cell.value or 0:g} ({percent(share)})")
            words = [(line, 12) for line in _wrapped(cell.name, int(size / LETTER) - 2)]
            place = left + size * column, top + height * row, size - 3, height - 3
            texts = [(f"{cell.value or 0:,g}", 22), (percent(share), 12), *words]
            parts.append(_box(place, share, texts, descriptions[-1], cell.link))
    return Picture(title, tuple(descriptions), width, top + 2 * height + 6, "".join(parts))


class _Axis(NamedTuple):
    """Where on the paper a number stands."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = (math.log10(one) if self.log else one for one in (self.low, self.high, value))
        return round(self.start + (self.end - self.start) * (at - low) / (high - low or 1), 2)


def _axis(ends: tuple[float, float], start: float, end: float, *, log: bool = False, pad: bool = True) -> _Axis:
    low, high = ends
    if high - low < FLAT:
        low, high = (low / 2, high * 2) if log else (low - 0.05, high + 0.05)
    room = (high - low) * 0.06 if pad else 0
    return _Axis(low - room, high + room, start, end, log)


def _ends(marks: Iterable[Mark]) -> tuple[float, float]:
    numbers = [x for mark in marks for x in (mark.value, mark.low, mark.high) if x is not None]
    return (min(numbers), max(numbers)) if numbers else (0.0, 1.0)


def ticks(low: float, high: float, most: int = 6) -> list[tuple[float, str]]:
    """Return round numbers from low to high as they are written: steps of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / max(most - 1, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999)
    digits = max(0, -math.floor(math.log10(step) + FLAT))
    first, last = math.ceil(low / step - FLAT), math.floor(high / step + FLAT)
    return [(k * step, decimal(k * step, digits)) for k in range(first, last + 1)]


def _rows(
    marks: Sequence[Mark], title: str, label: str,
    descriptions: Sequence[str], written: Sequence[str], line: float | None, width: float,
) -> Picture:  # fmt: skip
    """Draw a mark a row over one axis, with its name before it and its numbers behind it (or both above it)."""
    above = width < NARROW
    most = int(width * (0.5 if above else 0.34) / LETTER)
    names = [_fitting(mark.name, most) for mark in marks]
    left = 16.0 if above else 20 + LETTER * max(map(_cells, names), default=0)
    right = width - 16 if above else width - 20 - LETTER * max(map(_cells, written), default=0)
    row, top = (38, 36) if above else (24, 36)
    bottom = top + row * len(marks) + 4
    low, high = _ends([*marks, *([] if line is None else [Mark("", line)])])
    x = _axis((low, high), left, right)
    rules = [(top + row * place + 22, top + row * (place + 1)) for place in range(len(marks))] if above else None
    parts = [_heading(title, width), _x_axis(x, top, bottom, label, rules=rules)]
    if line is not None:
        dash = "none" if line == 0 else "5 4"
        parts += [_line(x(line), y1, x(line), y2, dash=dash, class_="base") for y1, y2 in rules or [(top, bottom)]]
    for place, mark in enumerate(marks):
        y = top + row * place + (27 if above else 14)
        at = y - 10 if above else y + 4
        parts.append(_text(16 if above else left - 8, at, names[place], "start" if above else "end"))
        parts.append(_text(width - 16 if above else right + 12, at, written[place], "end" if above else "start"))
        if mark.value is None:
            continue
        clear = mark.ends == "95 %" and (line != 0 or (mark.low or 0) > 0 or (mark.high or 0) < 0)
        color = BLUE if line != 0 or mark.value > 0 else ORANGE
        color = color if clear or line != 0 else GREY
        body = ""
        if mark.interval:
            dash = "none" if mark.ends == "95 %" else "3 2"
            body = _line(x(mark.interval[0]), y, x(mark.interval[1]), y, stroke=color, stroke_width=2.5, dash=dash)
        body += _dot(x(mark.value), y, 4.5, color, descriptions[place], "mark" if clear else "mark hollow")
        parts.append(_linked(body, mark.link, descriptions[place]))
    return Picture(title, tuple(descriptions), width, bottom + 44, "".join(parts))


def _x_axis(
    x: _Axis, top: float, bottom: float, label: str, at: Sequence[float] | None = None, *,
    rules: Sequence[tuple[float, float]] | None = None,
) -> str:  # fmt: skip
    """Draw numbers and their rules from top to bottom, or where `rules` says, which leave room for words."""
    if at is None:
        marks = ticks(min(x.low, x.high), max(x.low, x.high), max(5, int(abs(x.end - x.start) / 64)))
    else:
        marks = [(value, f"{value:g}") for value in at]
    parts, free = [], -math.inf
    for value, number in marks:
        parts += [_line(x(value), y1, x(value), y2, stroke_opacity=0.14) for y1, y2 in rules or [(top, bottom)]]
        if x(value) - LETTER * len(number) / 2 > free:
            parts.append(_text(x(value), bottom + 16, number, "middle", class_="x-tick"))
            free = x(value) + LETTER * len(number) / 2 + 4
    return "".join(parts) + _text((x.start + x.end) / 2, bottom + 34, label, "middle", fill_opacity=0.8)


def _y_axis(y: _Axis, left: float, right: float, label: str, *, signs: bool = False) -> str:
    parts = []
    for value, number in ticks(y.low, y.high, 6):
        parts.append(_line(left, y(value), right, y(value), stroke_opacity=0.14))
        sign = "+" if signs and value > FLAT else ""
        parts.append(_text(left - 6, y(value) + 4, sign + number, "end", class_="y-tick"))
    middle = (y.start + y.end) / 2
    name = _fitting(label, int(abs(y.start - y.end) / LETTER))
    return "".join(parts) + _text(
        0, 0, name, "middle", transform=f"translate(13 {middle:g}) rotate(-90)", fill_opacity=0.8
    )


def _upright(x: float, y: _Axis, mark: Mark, hint: str, color: str, radius: float) -> str:
    """Draw a mark with its interval from below to above."""
    if mark.value is None:
        return ""
    firm = mark.ends == "95 %"
    body = ""
    if mark.interval:
        body = _line(
            x,
            y(mark.interval[0]),
            x,
            y(mark.interval[1]),
            stroke=color,
            stroke_width=1.5,
            dash="none" if firm else "3 2",
        )
    body += _dot(x, y(mark.value), radius, color, hint, "mark" if firm else "mark hollow")
    return _linked(body, mark.link, hint)


def _dot(x: float, y: float, radius: float, color: str, hint: str, kind: str) -> str:
    fill = "none" if "hollow" in kind else color
    return _tag(
        "circle", _hint(hint), cx=f"{x:g}", cy=f"{y:g}", r=f"{radius:.1f}",
        fill=fill, stroke=color, stroke_width=2, class_=kind,
    )  # fmt: skip


def _band(y: _Axis, spread: Sequence[tuple[float, float, float]], color: str) -> str:
    if len(spread) < 2:
        return ""
    edge = [(x, y(high)) for x, _, high in spread] + [(x, y(low)) for x, low, _ in reversed(spread)]
    return _tag("polygon", points=_path(edge), fill=color, fill_opacity=0.13)


def _curve(at: Sequence[tuple[float, float]], color: str, dash: str = "none") -> str:
    given = {"stroke_dasharray": dash} if dash != "none" else {}
    return _tag("polyline", points=_path(at), fill="none", stroke=color, stroke_width=2, class_="curve", **given)


def _path(at: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in at)


def _box(
    at: tuple[float, float, float, float], shade: float, texts: Sequence[tuple[str, int]], hint: str, link: str | None
) -> str:
    x, y, width, height = at
    ink = PAPER if shade > 0.5 else INK
    place = {"x": f"{x:g}", "y": f"{y:g}", "width": f"{width:g}", "height": f"{height:g}"}
    body = _tag("rect", _hint(hint), rx=3, fill=_shade(shade), class_="cell", **place)
    line = y + height / 2 - sum(size + 4 for _, size in texts) / 2
    for text, size in texts:
        line += size + 4
        body += _text(x + width / 2, line - 4 - size * 0.1, text, "middle", font_size=size, fill=ink)
    return _linked(body, link, hint)


def _shade(value: float) -> str:
    k, share = divmod(min(max(value, 0), 0.9999) * 2, 1)
    return "#" + "".join(
        f"{round(p + (q - p) * share):02x}" for p, q in zip(RAMP[int(k)], RAMP[int(k) + 1], strict=True)
    )


def _number(value: float | None, count: bool) -> str:
    return "" if value is None else f"{value:,.0f}" if count else decimal(value, 2)


def _value_in_words(
    mark: Mark, number: Callable[[float | None], str], ends: Callable[[tuple[float, float] | None], str]
) -> str:
    parts = [f"{mark.name}: {number(mark.value)}" if mark.name else number(mark.value)]
    parts += [f"{mark.ends} {ends(mark.interval)}"] if mark.interval else []
    parts += [f"n = {mark.n:,}"] if mark.n is not None else []
    return ", ".join(parts) if mark.value is not None else f"{mark.name}: no value"


def _written(
    mark: Mark, number: Callable[[float | None], str], ends: Callable[[tuple[float, float] | None], str]
) -> str:
    """Return the numbers of a mark as a row has them."""
    firm = "" if mark.ends == "95 %" else f" {mark.ends}"
    shown = f" ({ends(mark.interval)}{firm})" if mark.interval and mark.value is not None else ""
    return number(mark.value) + shown + ("" if mark.n is None else f", n {mark.n:,}")


def _heading(title: str, width: float) -> str:
    return _text(8, 18, _fitting(title, int(width / 7)), font_weight=600)


def _linked(body: str, link: str | None, label: str) -> str:
    """Return a body that leads somewhere: its name is what is written in it, else what is said of it."""
    if link is None:
        return body
    kind = "aria_description" if "<text" in body else "aria_label"
    return _tag("a", body, href=link, **{kind: visible(label)})


def _cells(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _fitting(text: str, most: int) -> str:
    shown = visible(text)
    if _cells(shown) <= most:
        return shown
    half = max(1, (most - 1) * len(shown) // (2 * _cells(shown)))
    return f"{shown[:half]}…{shown[-half:]}"


def _wrapped(text: str, most: int) -> list[str]:
    words = visible(text).split(" ")
    first = next((n for n in range(len(words), 0, -1) if _cells(" ".join(words[:n])) <= most), 1)
    return [_fitting(" ".join(part), most) for part in (words[:first], words[first:]) if part]


def _turned(x: float, y: float, text: str) -> str:
    return _text(0, 0, text, "end", transform=f"translate({x + 4:g} {y - 4:g}) rotate(-45)")


def _text(x: float, y: float, text: str, anchor: str = "start", **given: object) -> str:
    return _tag("text", _escape(text), x=f"{x:g}", y=f"{y:g}", text_anchor=anchor, **given)


def _line(x1: float, y1: float, x2: float, y2: float, *, dash: str = "none", **given: object) -> str:
    shown = {"stroke": "currentColor"} | ({} if dash == "none" else {"stroke_dasharray": dash}) | given
    return _tag("line", x1=f"{x1:g}", y1=f"{y1:g}", x2=f"{x2:g}", y2=f"{y2:g}", **shown)


def _tag(name: str, inner: str = "", /, **given: object) -> str:
    """Return an element; the text in it is markup already."""
    parts = "".join(
        f' {key if key == "viewBox" else key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in given.items()
    )
    return f"<{name}{parts}>{inner}</{name}>" if inner else f"<{name}{parts}/>"


def _hint(text: str) -> str:
    """Return the title of a mark, which a browser shows under the pointer."""
    return f"<title>{_escape(text)}</title>"


def _escape(text: str) -> str:
    return escape(visible(text))
