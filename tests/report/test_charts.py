"""Pictures: what is drawn is what was given, read back from the SVG by the numbers on its axes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from claimeval.report import charts
from claimeval.report.charts import Cell, Curve, Mark, Picture
from claimeval.types.errors import UsageError

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ("April", "May", "June", "July")
MARKS = [
    Mark("April", 0.746, 0.70, 0.79, 157),
    Mark("May", 0.51, 0.42, 0.61, 40, ends="bounds"),
    Mark("June", None),
    Mark("July", 0.30, None, None, 3, link="#/july"),
]
CELLS = [[Cell("made up", 22, "#/made"), Cell("fine", 100)], [Cell("missed", 30), Cell("lucky", 8)]]


def root(picture: Picture) -> ElementTree.Element:
    return ElementTree.fromstring(picture.svg)


def of_class(picture: Picture, word: str) -> list[ElementTree.Element]:
    return [node for node in root(picture).iter() if word in (node.get("class") or "").split()]


class Scale:
    """Numbers of places, by two of the numbers that stand on an axis."""

    def __init__(self, picture: Picture, axis: str) -> None:
        below = 4 if axis == "y" else 0  # the foot of a number beside the middle of its line
        texts = of_class(picture, f"{axis}-tick")
        found = [(float(node.get(axis) or 0) - below, float(node.text or 0)) for node in texts]
        assert len(found) > 2, "an axis has at least three numbers"
        (self.start, self.low), (self.end, self.high) = found[0], found[-1]

    def __call__(self, place: object) -> float:
        return self.low + (float(str(place)) - self.start) / (self.end - self.start) * (
            self.high - self.low
        )


def near(found: Iterable[float], given: Iterable[float]) -> bool:
    return list(found) == pytest.approx(list(given), abs=0.004)


def spans(picture: Picture, axis: str) -> list[tuple[float, float]]:
    """The ends of the intervals, which are the lines with a color of their own, in a mark's
    direction."""
    scale = Scale(picture, axis)
    colors = {*charts.SERIES}
    found = [
        node
        for node in root(picture).iter(f"{SVG}line")
        if node.get("stroke") in colors and not node.get("class")
    ]
    return [(scale(node.get(f"{axis}1")), scale(node.get(f"{axis}2"))) for node in found]


@pytest.mark.parametrize("width", [640, 360])
def test_rows_stand_at_their_values_with_their_intervals(width: float) -> None:
    drawn = charts.slices(
        MARKS, "Months", "faithfulness", mean=0.6, share=[0.1, 0.2, None, 0.05], width=width
    )

    x = Scale(drawn, "x")
    assert near((x(dot.get("cx")) for dot in of_class(drawn, "mark")), (0.746, 0.51, 0.30))
    assert near(spans(drawn, "x")[0], (0.70, 0.79))
    assert near(spans(drawn, "x")[1], (0.42, 0.61))
    assert near({round(x(line.get("x1")), 2) for line in of_class(drawn, "base")}, [0.6])
    assert [dot.get("fill") for dot in of_class(drawn, "hollow")] == ["none"]
    assert drawn.descriptions == (
        "April: 0.75, 95% 0.70 to 0.79, n = 157, adds +0.10",
        "May: 0.51, bounds 0.42 to 0.61, n = 40, adds +0.20",
        "June: no value",
        "July: 0.30, n = 3, adds +0.05",
    )


def test_differences_whose_interval_has_no_zero_are_filled() -> None:
    marks = [
        Mark("up", 0.05, 0.02, 0.09),
        Mark("down", -0.11, -0.15, -0.07),
        Mark("open", 0.02, -0.03, 0.07),
    ]

    drawn = charts.forest(marks, "b against a", "b - a")

    x = Scale(drawn, "x")
    assert near((x(dot.get("cx")) for dot in of_class(drawn, "mark")), (0.05, -0.11, 0.02))
    assert [dot.get("fill") == "none" for dot in of_class(drawn, "mark")] == [False, False, True]
    assert near((x(line.get("x1")) for line in of_class(drawn, "base")), [0])
    assert drawn.descriptions[1] == "down: -0.11, 95% -0.15 to -0.07"


@pytest.mark.parametrize("width", [640, 300])
def test_a_trend_has_its_points_intervals_changes_and_baseline(width: float) -> None:
    drawn = charts.trend(
        MARKS, "faithfulness", "mean", changes={1: "judges"}, baseline=0, width=width
    )

    y = Scale(drawn, "y")
    dots = of_class(drawn, "mark")
    assert near((y(dot.get("cy")) for dot in dots), (0.746, 0.51, 0.30))
    assert near(spans(drawn, "y")[0], (0.70, 0.79))
    assert of_class(drawn, "change")[0].get("x1") == dots[1].get("cx")
    assert near((y(line.get("y1")) for line in of_class(drawn, "base")), [0.746])
    assert drawn.descriptions[1] == "May: 0.51, bounds 0.42 to 0.61, n = 40, here changed: judges"
    texts = {text.text: float(text.get("x") or 0) for text in root(drawn).iter(f"{SVG}text")}
    assert "1: changed judges" in texts
    assert texts["1"] == float(dots[1].get("cx") or 0)
    assert [a.get("href") for a in root(drawn).iter(f"{SVG}a")] == ["#/july"]


@pytest.mark.parametrize("log", [True, False])
def test_curves_stand_over_their_numbers_with_a_dash_of_their_own(log: bool) -> None:
    curves = [
        Curve(
            name,
            [
                (
                    k,
                    Mark(
                        "", 0.1 * place + up, 0.1 * place + up - 0.02, 0.1 * place + up + 0.02, 50
                    ),
                )
                for place, k in enumerate((1, 10, 100))
            ],
        )
        for name, up in (("bm25", 0.3), ("dense", 0.4))
    ]

    drawn = charts.lines(curves, "nDCG over k", "k", "nDCG@k", log=log)

    y = Scale(drawn, "y")
    dots = of_class(drawn, "mark")
    assert near((y(dot.get("cy")) for dot in dots), (0.3, 0.4, 0.5, 0.4, 0.5, 0.6))
    places = {(tick.text, float(tick.get("x") or 0)) for tick in of_class(drawn, "x-tick")}
    assert places == {
        (k, float(dot.get("cx") or 0)) for k, dot in zip(("1", "10", "100"), dots[:3], strict=True)
    }
    gaps = [
        float(b.get("cx") or 0) - float(a.get("cx") or 0) for a, b in itertools.pairwise(dots[:3])
    ]
    assert gaps[1] / gaps[0] == pytest.approx(1 if log else 10, abs=0.01)
    assert len({curve.get("stroke-dasharray") for curve in of_class(drawn, "curve")}) == 2
    assert [key.text for key in of_class(drawn, "key")] == ["bm25", "dense"]
    assert "dense, k 100, 0.60, 95% 0.58 to 0.62, n = 50" in drawn.descriptions


def test_bars_rise_and_fall_as_the_values_do_greatest_first() -> None:
    values = [-0.2, 0.5, 0.0, 0.1, -0.6]

    drawn = charts.bars(values, "dense minus bm25", "queries", "map")

    y = Scale(drawn, "y")
    paths = [path.get("d") or "" for path in of_class(drawn, "bars")]
    heights = [y(level) for path in paths for level in re.findall(r"V([\d.]+)H", path)]
    assert near(heights, (0.5, 0.1, -0.2, -0.6))
    assert drawn.descriptions[0] == "higher: 2, lower: 2, of 5"


def test_points_stand_over_their_cost_and_a_line_joins_those_that_none_beats() -> None:
    marks = [
        (2.5, Mark("large", 0.86)),
        (3.1, Mark("dear", 0.80)),
        (0.5, Mark("small", 0.81)),
        (0.0, Mark("free", 0.6)),
    ]

    drawn = charts.points(marks, "Judges", "US dollars", "agreement", front=True)

    x, y = Scale(drawn, "x"), Scale(drawn, "y")
    dots = of_class(drawn, "mark")
    assert [x(dot.get("cx")) for dot in dots] == pytest.approx([2.5, 3.1, 0.5, 0.0], abs=0.02)
    assert near((y(dot.get("cy")) for dot in dots), (0.86, 0.80, 0.81, 0.6))
    front = [
        tuple(map(float, point.split(",")))
        for point in (of_class(drawn, "curve")[0].get("points") or "").split()
    ]
    assert [(round(x(over), 1), round(y(value), 2)) for over, value in front] == [
        (0, 0.6),
        (0.5, 0.81),
        (2.5, 0.86),
    ]


def test_calibration_sets_what_was_found_over_what_was_stated() -> None:
    marks = [(0.1, Mark("", 0.15, 0.1, 0.2, 30)), (0.9, Mark("", 0.8, 0.75, 0.85, 120))]

    drawn = charts.calibration(marks, "strict")

    x, y = Scale(drawn, "x"), Scale(drawn, "y")
    dots = of_class(drawn, "mark")
    assert near((x(dot.get("cx")) for dot in dots), (0.1, 0.9))
    assert near((y(dot.get("cy")) for dot in dots), (0.15, 0.8))
    assert near(spans(drawn, "y")[1], (0.75, 0.85))
    small, large = (float(dot.get("r") or 0) - 3 for dot in dots)
    assert (small / large) ** 2 == pytest.approx(30 / 120, abs=0.03)
    assert drawn.descriptions[0] == "stated probability 0.10, 0.15, 95% 0.10 to 0.20, n = 30"


def test_a_heat_map_writes_each_value_in_its_cell_and_shades_it_by_its_height() -> None:
    names = ["strict", "lenient"]
    cells = [
        [Cell("a", None), Cell("strict and lenient", 0.9)],
        [Cell("lenient and strict", 0.4), Cell("d", None)],
    ]

    drawn = charts.heat_map(names, names, cells, "Agreement")

    assert drawn.descriptions == ("strict and lenient: 0.90", "lenient and strict: 0.40")
    dark, light = (int((cell.get("fill") or "")[1:3], 16) for cell in of_class(drawn, "cell"))
    assert dark < light
    written = [text.text for text in root(drawn).iter(f"{SVG}text")]
    assert {"strict", "lenient", "0.90", "0.40"} <= set(written)


def test_counts_of_a_heat_map_are_shaded_by_their_share_of_the_row() -> None:
    cells = [[Cell("a", 1000), Cell("b", 0)], [Cell("c", 0), Cell("d", 3)]]

    drawn = charts.heat_map(
        ["s", "c"], ["s", "c"], cells, "strict", labels=("people", "judge"), counts=True
    )

    fills = [cell.get("fill") for cell in of_class(drawn, "cell")]
    assert fills[0] == fills[3] != fills[1] == fills[2]
    assert "a: 1,000" in drawn.descriptions


def test_a_square_has_the_counts_shares_and_addresses_of_its_cells() -> None:
    drawn = charts.square(
        CELLS, "Retrieval or generation", ("found", "missed"), ("unfaithful", "faithful")
    )

    assert drawn.descriptions == (
        "found, unfaithful: made up, 22 (13.8%)",
        "found, faithful: fine, 100 (62.5%)",
        "missed, unfaithful: missed, 30 (18.8%)",
        "missed, faithful: lucky, 8 (5.0%)",
    )
    link = next(root(drawn).iter(f"{SVG}a"))
    assert (link.get("href"), link.get("aria-description")) == ("#/made", drawn.descriptions[0])
    assert {"22", "100", "30", "8", "13.8%"} <= {
        text.text for text in root(drawn).iter(f"{SVG}text")
    }


EVERY = {
    "forest": charts.forest(MARKS, "t", "l"),
    "slices": charts.slices(MARKS, "t", "l"),
    "trend": charts.trend(MARKS, "t", "l"),
    "lines": charts.lines([Curve("a", list(enumerate(MARKS, 1)))], "t", "x", "y"),
    "bars": charts.bars([0.1, -0.1], "t", "x", "y"),
    "points": charts.points(list(enumerate(MARKS)), "t", "x", "y"),
    "calibration": charts.calibration([(0.5, MARKS[0])], "t"),
    "heat map": charts.heat_map(["a", "b"], ["a", "b"], CELLS, "t"),
    "square": charts.square(CELLS, "t", ("a", "b"), ("c", "d")),
    "beside": charts.beside(
        "t", [charts.bars([1.0], "a", "x", "y"), charts.square(CELLS, "b", ("", ""), ("", ""))]
    ),
}
"""Each kind of picture."""


@pytest.mark.parametrize("picture", EVERY.values(), ids=EVERY)
def test_a_picture_may_stand_in_a_strict_page_and_says_its_numbers(picture: Picture) -> None:
    nodes = list(root(picture).iter())
    assert not [
        node
        for node in nodes
        if {"style", "id", "onload"} & set(node.attrib) or "script" in node.tag
    ]
    assert not [node for node in nodes if node.tag == f"{SVG}style"]
    assert [child.tag for child in nodes[0]][:2] == [f"{SVG}title", f"{SVG}desc"]
    assert nodes[0][1].text == "; ".join(picture.descriptions)
    links = [node for node in nodes if node.tag == f"{SVG}a"]
    assert nodes[0].get("role") == ("group" if links else "img")


@pytest.mark.parametrize("picture", EVERY.values(), ids=EVERY)
def test_nothing_hangs_over_the_edge(picture: Picture) -> None:
    for node in root(picture).iter():
        for axis, edge in (("x", picture.width), ("y", picture.height)):
            for name in (axis, f"c{axis}", f"{axis}1", f"{axis}2"):
                assert 0 <= float(node.get(name, "0")) <= edge


def test_pictures_of_nothing_are_drawn_without_marks() -> None:
    nothing = [Mark("a", None)]
    for drawn in (
        charts.forest(nothing, "t", "l"),
        charts.trend(nothing, "t", "l"),
        charts.slices(nothing, "t", "l"),
        charts.points([(1, nothing[0])], "t", "x", "y"),
        charts.calibration([], "t"),
        charts.bars([], "t", "x", "y"),
        charts.lines([Curve("a", [(1, nothing[0])])], "t", "x", "y"),
        charts.square([[Cell("", 0)] * 2] * 2, "t", ("a", "b"), ("c", "d")),
    ):
        assert not of_class(drawn, "mark")


def test_texts_cannot_be_markup_and_long_names_lose_their_middle() -> None:
    name = "</text><script>alert(1)</script>\x00\u202e" + "a" * 400 + "end"

    drawn = charts.forest([Mark(name, 0.1, 0.0, 0.2, link='"><script>')], name, name)

    assert not list(root(drawn).iter("script"))
    assert "<script" not in drawn.svg
    assert "⟨U+202E⟩" in drawn.descriptions[0] or "⟨U+202E⟩" in drawn.svg
    shown = [text.text or "" for text in root(drawn).iter(f"{SVG}text")]
    assert any(len(text) < 50 and "…" in text and text.endswith("end") for text in shown)


def test_a_file_has_paper_of_its_own_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    EVERY["trend"].save(tmp_path / "new" / "a.svg")

    found = ElementTree.parse(tmp_path / "new" / "a.svg").getroot()
    assert [node.get("fill") for node in found.iter() if node.get("class") == "paper"] == [
        charts.PAPER
    ]
    assert (tmp_path / "new" / "a.svg").read_text(encoding="utf-8") == charts.trend(
        MARKS, "t", "l"
    ).file


def test_files_are_svg_in_a_place_that_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a picture is a \.svg file, not 'x\.png'"):
        EVERY["trend"].save(tmp_path / "x.png")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write the picture"):
        EVERY["trend"].save(tmp_path / "file" / "x.svg")


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 1.0, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (-0.03, 0.11, ["0.00", "0.05", "0.10"]),
        (0, 12000, ["0", "5000", "10000"]),
    ],
)
def test_ticks_are_round_numbers_with_the_decimals_of_their_step(
    low: float, high: float, expected: list[str]
) -> None:
    assert [said for _, said in charts.ticks(low, high)] == expected


def test_an_axis_has_at_least_two_ticks() -> None:
    """Steps of 0.5 would leave 0.5 alone between 0.04 and 0.93."""
    assert [said for _, said in charts.ticks(0.04, 0.93, 5)] == ["0.2", "0.4", "0.6", "0.8"]


def luminance(color: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("paper", [charts.PAPER, charts.DARK_PAPER])
def test_colors_of_marks_stand_out_from_light_and_dark_paper(paper: str) -> None:
    for color in charts.SERIES:
        light, dark = sorted((luminance(color), luminance(paper)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3


def test_pictures_of_one_comparison_have_one_axis() -> None:
    """A point at 0.1 is one tenth of a line of the axis that also has 0.5 and 0, wherever drawn."""
    small = Mark("s", 0.1)
    large = Mark("l", 0.5)

    def step(drawn: Picture) -> float:
        """The width of one unit, of the place of the mark over that of the line at 0."""
        (dot,) = of_class(drawn, "mark")
        (base,) = of_class(drawn, "base")
        value = 0.1 if drawn.descriptions[0].startswith("s") else 0.5
        return (float(dot.get("cx") or 0) - float(base.get("x1") or 0)) / value

    first = charts.forest([small], "a minus b", "difference", beside=(small, large))
    second = charts.forest([large], "a minus b", "difference", beside=(small, large))
    assert step(first) == pytest.approx(step(second), rel=0.02)
    alone = charts.forest([small], "a minus b", "difference")
    assert step(alone) > 2 * step(first)
