"""Every form of a run has the same names and numbers: the terminal, JSON, CSV, Markdown and the
page, over a dozen runs."""

from __future__ import annotations

import csv
import html
import io
import json
import random
import re
from pathlib import Path

import pytest

import claimeval as ce
from claimeval.cli.printer import Output
from claimeval.cli.running import front_of, print_run
from claimeval.metrics.derived import DOWN
from claimeval.report import forms
from claimeval.statistics.formatting import decimal, digits_of, interval
from tests.report.runs import DOCUMENTS, make

ROOMS = "ABCDEFGHIJKLMNOPQRST"
LABELS = ("supported", "supported", "supported", "contradicted", "not_found", "unsure")
VALUE = r"[+-]?\d\.(\d+)"
IN_A_ROW = re.compile(rf"{VALUE}[\s|`]+{VALUE} to {VALUE}|{VALUE} \({VALUE} to {VALUE}[,)]")
"""A value with its interval, in a table or in words."""


def drawn(folder: Path, number: int) -> Path:
    """A run of 1 to 130 samples, by one judge or three, with labels drawn at random."""
    draw = random.Random(number)
    size = (1, 2, 5, 9, 12, 20, 30, 40, 60, 80, 100, 130)[number]
    names = ("strict", "kind", "odd") if number % 3 == 2 else ("strict",)
    says: dict[str, dict[str, str]] = {name: {} for name in names}
    samples: list[ce.Sample] = []
    for i in range(size):
        rooms = [f"Room {letter} of house {i} is large." for letter in draw.sample(ROOMS, 3)]
        for name in names:
            says[name] |= {room: draw.choice(LABELS[: 5 + number % 2]) for room in rooms}
        samples.append(
            ce.Sample(
                id=f"s{i}",
                question=f"How large is house {i}?",
                answer=" ".join(rooms),
                contexts=DOCUMENTS,
                reference_answers=() if draw.random() < 0.1 else (rooms[0],),
            )
        )
    failing = ["strict"] if number == 4 else []
    return make(folder / f"run{number}", samples, says, failing=failing)


def written(run: Path, form: forms.Form, rows: str | None = None) -> str:
    file = run / f"written-{rows}.{form}"
    return forms.content(forms.write(run, form, file, rows=rows), form)


def names(cells: list[str]) -> list[str]:
    return [cell.strip(f" `{DOWN}") for cell in cells]


@pytest.mark.parametrize("number", range(12))
def test_every_form_of_a_run_has_the_same_names_and_numbers(
    number: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    folder = drawn(tmp_path, number)
    run = ce.Run.load(folder)
    print_run(Output(), run, front_of(run))
    terminal = capsys.readouterr().out
    markdown = written(folder, "md")
    page = written(folder, "html")
    means = json.loads(written(folder, "json"))["summary"]["metrics"]
    table = written(folder, "csv", "scores").removeprefix("\ufeff")
    scores = {row["metric"]: row for row in csv.DictReader(io.StringIO(table))}
    plain = re.search(r"<noscript>(.*?)</noscript>", page, re.DOTALL)
    assert plain
    rows = {
        "Markdown": [names(line.split("|")[1:-1]) for line in markdown.splitlines()],
        "page": [
            names(re.findall(r"<t[hd]>(.*?)</t[hd]>", row))
            for row in re.findall(r"<tr>.*?</tr>", html.unescape(plain[1]))
        ],
        "terminal": [names(re.split(r" {2,}", line.strip())) for line in terminal.splitlines()],
    }
    assert set(means) == {"faithfulness", "coverage"}
    judges = {f"{name}: {judge}" for name, of in means.items() for judge in of["by_judge"]}
    assert set(scores) == {*means, *judges}
    assert len(judges) in (0, 6)
    for name, metric in means.items():
        ends = (metric["low"], metric["high"])
        cell = scores[name]
        for column, value in (("mean", metric["mean"]), ("low", ends[0]), ("high", ends[1])):
            assert cell[column] == ("" if value is None else str(value)), column
        mean = decimal(metric["mean"], digits_of(ends))
        shown = interval(ends)
        for form, cells in rows.items():
            (row,) = (
                row for row in cells if row[:1] == [name] and len(row) > 2 and len(row[1]) < 7
            )
            assert row[1] == mean, form
            assert re.sub(r"\\?\*| \(bounds\)", "", row[2]) == shown, form
            assert row[3] == str(metric["n"]), form
    for text in (terminal, markdown):
        for match in IN_A_ROW.finditer(text):
            decimals = {len(part) for part in match.groups() if part}
            assert len(decimals) == 1, match[0]


def test_the_digits_of_a_value_and_its_interval_are_told_apart() -> None:
    """The pattern of the test above finds what it is to find."""
    for text in ("0.803  0.70 to 0.89", "| 0.803 | 0.70 to 0.89 |", "0.803 (0.70 to 0.89)"):
        match = IN_A_ROW.search(text)
        assert match, text
        assert {len(part) for part in match.groups() if part} == {2, 3}
