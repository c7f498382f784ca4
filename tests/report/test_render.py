"""Views in every form: the same numbers, and no text of the data that is more than text."""

from __future__ import annotations

import csv
import io
import re

import pytest

from claimeval.cli.printer import Output
from claimeval.data.rows import write_csv
from claimeval.report import render
from claimeval.runs.views import (
    Block,
    Column,
    Data,
    Entries,
    Entry,
    caution,
    confusion,
    heading,
    notebook,
    remark,
    table,
)
from claimeval.types.estimates import Estimate

HOSTILE = [
    "\x1b]0;owned\x1b\\",
    "\x1b[31mEVIL",
    "a\r=1+1",
    "=1+1",
    "a\nb",
    "a|b",
    "`x`",
    "<script>alert(1)</script>",
    "[x](javascript:1)",
    "\u202eabc",
    "\ud800",
    "\x00",
    "\x85",
    "\u2028",
    "@user",
    "![i](http://x/y)",
    "＝1+1",
    "&lt;",
    "$$x$$",
    "\x9b31m",
    "\u200b",
    "-1+1",
    "+1",
    "\t=1",
    "a\x0b\x0cb",
    '"quoted", "twice"',
    "'=1",
    "; =1",
    "\ufeff=1",
    "｀x｀",
    "\U000e0041tag",
]
"""31 texts: escape codes, line ends, formulas, markup of Markdown and HTML, characters that are not
seen."""
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u2028\u202e\ufeff\ud800\U000e0041]")
HIGH = Estimate(value=0.75, low=0.5, high=0.9, ends="interval")
BOUNDED = Estimate(value=0.25, low=0.1, high=0.6, ends="bounds")


def blocks(name: str) -> list[Block]:
    """One view of each kind with a hostile text in every place."""
    columns = (Column(Data(name)), Column("n", "count"))
    return [
        heading(Data(name), ": ", Data(name)),
        remark(Data(name)),
        caution(name),
        table("t", columns, [(Data(name), 1)], Data(name), (Data(name),)),
        confusion("c", Data(name), [name], [[2]]),
        Entries(Data(name), (Entry(Data(name), ((Data(name), Data(name)),)),)),
    ]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_no_text_of_the_data_leaves_its_place(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    Output().draw(blocks(name))
    printed = capsys.readouterr().out
    assert not RAW.search(printed)
    written = render.markdown(blocks(name))
    assert not RAW.search(written)
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", written)
    assert not re.search(r"(?<!\\)(<|\]\(|!\[)|@user", outside), (
        "all of it is escaped or stands in code spans"
    )
    rows = [line for line in written.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {3}, "two cells in each row"
    page = notebook.html(blocks(name))
    assert not RAW.search(page)
    assert set(re.findall(r"<(\w+)", page)) <= {
        *("p", "b", "h4", "ol", "li", "div", "small", "table", "thead", "tbody", "tr", "th", "td")
    }
    file = io.StringIO(newline="")
    write_csv(file, render.cells(blocks(name)[3]))  # type: ignore[arg-type]
    read = list(csv.reader(io.StringIO(file.getvalue(), newline="")))
    assert [len(row) for row in read] == [2, 2]
    assert not any(
        cell.lstrip().startswith(tuple("=+-@\t\r＝＋－＠")) for row in read for cell in row
    )


def test_every_form_has_the_same_numbers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    columns = (
        Column("metric"),
        Column("n", "count"),
        Column("mean", "number"),
        Column("95%", "ends"),
        Column("p", "p"),
        Column("with ends", "estimate"),
        Column("change", "signed"),
        Column("of it", "signed_ends"),
        Column("share", "percent"),
        Column("cost", "dollars"),
        Column("took", "seconds"),
    )
    view = table(
        "all",
        columns,
        [
            ("x", 1200, 0.75, HIGH, 0.0001, HIGH, 0.2125, HIGH, 0.125, 0.004, 1.239),
            ("y", 3, 0.25, BOUNDED, None, BOUNDED, None, BOUNDED, None, None, None),
        ],
    )
    texts = [
        [
            "x",
            "1,200",
            "0.75",
            "0.50 to 0.90",
            "< 0.001",
            "0.75 (0.50 to 0.90)",
            "+0.21",
            "+0.50 to +0.90",
            "12.5%",
            "$0.0040",
            "1.24",
        ],
        [
            "y",
            "3",
            "0.25",
            "0.10 to 0.60*",
            "-",
            "0.25 (0.10 to 0.60)*",
            "-",
            "+0.10 to +0.60",
            "-",
            "unknown",
            "-",
        ],
    ]
    Output().draw([view])
    lines = capsys.readouterr().out.splitlines()
    assert [re.split(r"\s{2,}", line.strip()) for line in lines[1:3]] == texts
    assert lines[3] == " * bounds, not an interval: judges abstained on over a tenth of the claims"
    marks = [[cell.replace("<", r"\<").replace("*", r"\*") for cell in row] for row in texts]
    assert [line[2:-2].split(" | ") for line in render.markdown([view]).splitlines()[2:4]] == marks
    assert [list(row) for row in render.as_json(view)["rows"]] == texts
    assert re.findall(r"<t[hd]>([^<]*)</t[hd]>", notebook.html([view]))[len(columns) :] == [
        cell.replace("<", "&lt;") for row in texts for cell in row
    ]
    heads, first, second = render.cells(view)
    assert heads[3:6] == ["low", "high", "ends"]
    assert first[:6] == ["x", 1200, 0.75, 0.5, 0.9, "interval"]
    assert second[-3:] == [None, None, None]


def test_words_begin_at_the_left_in_a_notebook() -> None:
    head = (Column("metric"), Column("because of"), Column("b - a", "signed"))
    drawn = notebook.html([table("causes", head, [("a", "b", 0.5)])])
    assert '<th>a</th><td class="words">b</td><td>+0.50</td>' in drawn
    assert '<th>metric</th><th class="words">because of</th><th>b - a</th>' in drawn
