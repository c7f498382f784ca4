"""Every view in every form, with the same texts of its cells: terminal, Markdown, notebook, page
and CSV."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path

import pytest

import claimeval as ce
from benchmarks.loopback import claim_judge
from claimeval.api.forecast import planned
from claimeval.cli.printer import Output
from claimeval.data.rows import write_csv
from claimeval.evaluation.grade import summarize_grades
from claimeval.evaluation.rate import count_words
from claimeval.evaluation.raters import compare_ratings, members
from claimeval.report import render
from claimeval.runs.overview import gather
from claimeval.runs.views import (
    Block,
    agreement,
    comparison,
    experiment,
    forecast,
    notebook,
    ratings,
    run,
    series,
    tables,
    text,
)
from claimeval.types.bundled import bundled
from tests.api.test_claims import spec
from tests.conftest import StartServer

Views = dict[str, list[Block]]


@pytest.fixture
def views(tmp_path: Path, start_server: StartServer) -> Views:
    """A view of each kind, made from small runs over the demo's data."""
    judges = [spec(start_server(judge=claim_judge.answer)) for _ in range(2)]
    options = ce.RunOptions(cache=tmp_path / "store")
    data = bundled("demo.jsonl")
    labels = bundled("demo_labels.jsonl")

    def scored(name: str, judges: list[str]) -> ce.Run:
        metrics = "faithfulness,correctness,context_recall"
        return ce.score(
            data, judges=judges, metrics=metrics, limit=8, out=tmp_path / name, options=options
        )

    first = scored("one", judges)
    second = scored("two", ["local:lexical"])
    rated = ce.rate(first, judges=judges, ask="faithfulness", options=options)
    graded = ce.grade(data, judges=judges, limit=4, options=options)
    arms = [{"name": "a"}, {"name": "b", "assess_prompt": "binary"}]
    design = {
        "data": str(data),
        "judges": ["local:lexical"],
        "metrics": ["faithfulness"],
        "arms": arms,
        "limit": 8,
    }
    tried = ce.experiment(design, out=tmp_path / "arms", options=options)
    assert tried.table
    claims = ce.extraction(first, options=options)
    assert claims.record.extraction
    plan = planned(ce.score, data, judges=judges, metrics="faithfulness", limit=8, options=options)
    with_savings = plan.forecast.model_copy(update={"cheaper": {"--reasons none": 0.1}})
    compared = ce.compare(first, second, first)
    people = ce.agreement(first, labels, evidence="contexts")
    return {
        "run": [*chain(*run.of(gather(tmp_path / "one")))],
        "comparison": list(
            comparison.view(
                ce.compare(first, second, by="metadata.kind").against(1), "metadata.kind"
            )
        ),
        "series": list(series.view(compared.trend)),
        "agreement": list(agreement.view(people)),
        "correction": list(agreement.correction(ce.correct(first, labels))),
        "grades": list(
            ratings.grades(summarize_grades(graded.results, graded.manifest), graded.manifest)
        ),
        "ratings": list(
            ratings.view(
                count_words(rated.results, rated.manifest),
                members(rated.results, rated.manifest),
                compare_ratings(first.results, rated.results, None),
            )
        ),
        "extraction": list(
            run.extraction(claims.record.extraction, claims.manifest, claims.summary)
        ),
        "forecast": list(forecast.view(with_savings, plan.prepared.manifest, "samples", "score")),
        "experiment": list(experiment.view(tried.table)),
    }


class Cells(HTMLParser):
    """The texts of the cells of a page's tables."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag in ("td", "th")
        self.found += [""] * self._inside

    def handle_endtag(self, tag: str) -> None:
        self._inside &= tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.found[-1] += data


def written(blocks: list[Block]) -> Iterator[str]:
    """The texts of all cells of the tables of a view."""
    for table in tables(blocks):
        for row in table.rows:
            yield from (
                text(cell, column.kind) for cell, column in zip(row, table.columns, strict=True)
            )


def test_every_view_has_the_same_cells_in_every_form(
    views: Views, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    for name, blocks in views.items():
        cells = [cell for cell in written(blocks) if cell]
        assert len(cells) > 3, name
        Output().draw(blocks)
        printed = " ".join(capsys.readouterr().out.split())
        markdown = (
            re.sub(r"\\(.)", r"\1", render.markdown(blocks)).replace("`", "").replace("| – ", "| ")
        )
        in_notebook = [cell.removeprefix("– ") for cell in Cells(notebook.html(blocks)).found]
        on_page = json.dumps(
            [render.as_json(table)["rows"] for table in tables(blocks)], ensure_ascii=False
        )
        on_page = on_page.replace('"– ', '"')
        for cell in cells:
            assert " ".join(cell.split()) in printed, (name, cell)
            assert f"| {' '.join(cell.split())} |" in markdown, (name, cell)
            assert cell in in_notebook, (name, cell)
            assert json.dumps(cell, ensure_ascii=False) in on_page, (name, cell)


def test_every_table_is_a_csv_with_its_numbers(views: Views) -> None:
    for name, blocks in views.items():
        for table in tables(blocks):
            file = io.StringIO(newline="")
            write_csv(file, render.cells(table))
            rows = list(csv.reader(io.StringIO(file.getvalue(), newline="")))
            assert {len(row) for row in rows} == {len(rows[0])}, name
            assert len(rows) == 1 + len(table.rows)
            for row, cells in zip(rows[1:], table.rows, strict=True):
                numbers = [
                    cell
                    for cell, column in zip(cells, table.columns, strict=True)
                    if isinstance(cell, float)
                ]
                assert all(repr(number) in row for number in numbers), (name, row)
