"""The page of a large run: a selection of its samples that says what it is, with all numbers over
all of them."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from claimeval.report import forms, page
from claimeval.report.selection import SampleSelection
from claimeval.report.viewer import Viewer
from claimeval.testing import ScriptedJudge
from tests.command_line import call

SAMPLES = 60


def packed(text: str, name: str) -> Any:
    found = re.search(rf'id="{name}">([^<]*)<', text)
    assert found
    return json.loads(zlib.decompress(base64.b64decode(found[1])))


def score(folder: Path, wrong: int) -> Path:
    """A run in which every tenth answer is half right, and one is wrong."""
    rows = [
        {
            "id": f"q{i}",
            "question": f"How high is tower {i}?",
            "answer": (
                f"It is {i} metres high. It is {'black' if i in (wrong, wrong + 1) else 'red'}."
            ),
            "contexts": [f"Tower {i} is {i} m high and red."],
        }
        for i in range(SAMPLES)
    ]
    labels = {f"It is {i} metres high.": "not_found" for i in range(wrong, SAMPLES, 10)} | {
        "It is black.": "not_found"
    }
    judge = ScriptedJudge(labels, default="supported")
    ce.score(
        rows,
        judges=judge,
        metrics="faithfulness",
        out=folder,
        options=ce.RunOptions(cache=folder.parent / "c"),
    )
    return folder


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages show ten samples of a run of more than twenty."""
    monkeypatch.setattr(page, "WHOLE", 20)
    monkeypatch.setattr(page, "SHOWN", 10)


@pytest.mark.usefixtures("small_pages")
def test_a_large_run_has_a_page_of_some_samples_with_the_worst_and_numbers_of_all(
    tmp_path: Path,
) -> None:
    run = score(tmp_path / "run", wrong=3)
    forms.write(run, "html")
    text = (run / "report.html").read_text()
    rows = packed(text, "index")["rows"]
    ids = [row[0][0] for row in rows]
    assert len(ids) == 10
    assert ids == sorted(ids, key=lambda name: int(name[1:])), "in the order of the data"
    assert "q3" in ids, "the only answer of which nothing holds"
    values = [row[0][4][0][0] for row in rows]
    assert 0 in values
    assert 1 in values
    overview = packed(text, "overview")["runs"][0]
    assert overview["summary"]["samples"] == SAMPLES
    assert overview["summary"]["metrics"]["faithfulness"]["n"] == SAMPLES
    assert {claim["sample_id"] for claim in overview["front"]["read"]} <= set(ids), (
        "what the page links to is there"
    )
    said = overview["cautions"][0]
    assert said["kind"] == "selection"
    assert said["text"].startswith(
        "This page shows 10 of 60 samples: the ones with the lowest scores, and some with every"
        " value of faithfulness."
    )
    assert len(packed(text, "chunk-0")["results"]) == 10


@pytest.mark.usefixtures("small_pages")
def test_two_large_runs_have_a_page_of_what_changed_most(tmp_path: Path) -> None:
    a = score(tmp_path / "a", wrong=3)
    b = score(tmp_path / "b", wrong=5)
    forms.write(a, "html", tmp_path / "page.html", compared=b)
    text = (tmp_path / "page.html").read_text()
    rows = packed(text, "index")["rows"]
    flips = {row[0][0]: row[2] for row in rows}
    assert len(flips) == 10
    assert flips["q3"] == 1
    assert 0 in flips.values()
    content = packed(text, "overview")
    assert content["comparison"]["flipped"] == 2 * 6
    assert (
        "10 of 60 samples: the ones whose claims or scores changed most"
        in content["runs"][0]["cautions"][0]["text"]
    )
    assert [pair[1]["sample"]["id"] for pair in packed(text, "chunk-0")["results"]] == list(flips)


@pytest.mark.usefixtures("small_pages")
def test_fewer_samples_are_shown_where_they_are_long_and_the_viewer_has_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = score(tmp_path / "run", wrong=3)
    forms.write(run, "html")
    whole = (run / "report.html").stat().st_size
    monkeypatch.setattr(page, "MAX_BYTES", 4_000)
    forms.write(run, "html")
    text = (run / "report.html").read_text()
    shown = len(packed(text, "index")["rows"])
    assert 1 <= shown < 10
    assert len(text) < whole
    assert (
        f"This page shows {shown} of 60 samples"
        in packed(text, "overview")["runs"][0]["cautions"][0]["text"]
    )
    monkeypatch.setattr(page, "MAX_BYTES", 20_000_000)
    with Viewer(tmp_path) as viewer:
        seen = []
        for first in (1, 21, 41):
            found = viewer.report(["run"], first)
            assert found
            seen += [row[0][0] for row in packed(found.decode(), "index")["rows"]]
    assert seen == [f"q{i}" for i in range(SAMPLES)]


def test_the_selection_has_what_is_wanted_then_the_lowest_then_every_kind_evenly() -> None:
    selection = SampleSelection(1)
    for i in range(100):
        selection.add(
            f"s{i}",
            [None if i % 10 == 9 else float(100 - i)],
            "none" if i % 10 == 9 else str(i // 50),
        )
    places = selection.chosen(20, {"s5"})
    assert places[:6] == [5, 98, 97, 96, 95, 94]
    assert len(set(places)) == 20
    rest = places[6:]
    assert sum(i % 10 == 9 for i in rest) >= 4
    assert sum(i < 50 for i in rest) >= 6
    assert selection.chosen(20, {"s5"}) == places
    assert sorted(selection.chosen(1000, ())) == list(range(100))
    assert SampleSelection(2).chosen(5, {"x"}) == []


def test_the_page_of_a_large_run_is_written_when_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for room in ("claimeval.report.selection", "claimeval.report.page"):
        monkeypatch.setattr(f"{room}.WHOLE", 20)
    for room in ("claimeval.api.run", "claimeval.api.jobs"):
        monkeypatch.setattr(f"{room}.WRITTEN", 20)
    run = score(tmp_path / "run", wrong=3)
    assert not (run / "report.html").exists()
    done = call("rejudge", run, "--vote", "any", "--out", tmp_path / "again")
    assert f"`claimeval report {tmp_path / 'again'}` writes the report" in done.stdout.replace(
        "\n", ""
    )
    assert not (tmp_path / "again" / "report.html").exists()
    done = call("report", run)
    assert "(a selection of its 60 samples; `claimeval view` shows all)" in " ".join(
        done.stdout.split()
    )
    assert (run / "report.html").exists()
