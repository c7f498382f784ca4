"""Markdown for a comment, tables for a spreadsheet, JSON for a script, and the command that writes
them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from claimeval.data.rows import guarded, unguarded, write_csv
from claimeval.judging.panel import Panel
from claimeval.report import forms, render, tables
from claimeval.runs.directory import RunResults, load_manifest
from claimeval.types.errors import visible
from claimeval.types.records import SampleResult
from tests.command_line import call
from tests.report.runs import BRIDGE, TOWER, TOWER_SAYS, make
from tests.sample_runs import attach, scored


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("runs") / "towers", [TOWER, BRIDGE])


def test_markdown_has_other_scores_and_the_order_of_documents(tmp_path: Path) -> None:
    run = make(tmp_path / "run", panel=Panel(shuffle_contexts=1))
    found = scored({"words": 0.5, "grade": None}, "refused", unit="grade")
    odd = SampleResult.of(TOWER, scores=found)
    attach(run, "odd", [odd], {"words": "share", "grade": "grade"})
    text = forms.text(run, "md")
    assert "| `words` | 0.50 | - | 1 | 0 |" in text
    assert "| `grade (grade)` | - | - | 0 | 1 |" in text
    assert "without a score: 1 refused (`grade`)" in text
    assert "0 of 3 claims flip in one of 1 other orders" in text


def test_what_is_no_share_of_claims_has_no_counts(tmp_path: Path) -> None:
    run = make(tmp_path / "run", derived=("factscore@1",))
    row = next(line for line in forms.text(run, "md").splitlines() if "factscore" in line)
    assert row == "| `factscore@1` | 0.33 | - | 1 | 0 |  | - |"
    written = io.StringIO()
    write_csv(written, tables.rows(load_manifest(run), RunResults.of(run), "samples"))
    (line,) = csv.DictReader(written.getvalue().splitlines())
    assert float(line["factscore@1"]) == pytest.approx(1 / 3)
    assert line["factscore@1_supported"] == line["factscore@1_claims"] == ""


def test_the_comment_has_means_warnings_and_worst_claims(run: Path) -> None:
    text = forms.text(run, "md")
    assert text.startswith(
        "### `towers.jsonl`: 2 samples, judged by `strict`, claims extracted by `taker`\n\n1 of 2"
        " answers contradicts the documents"
    )
    # (1/3 + 1) / 2; 2 of 4 claims
    assert "| `faithfulness` | 0.67 | " in text
    assert " | 2 | 0 | 2 of 4 | 0.50 |" in text
    assert (
        "\n  - claim: `It is 90 metres high.`\n  - verdict: `contradicted by the contexts" in text
    )
    assert (
        "| judge | step | questions | tokens in | tokens out | verdicts | cost of replies |" in text
    )
    assert "| unknown |" in text, "nobody stated a price"
    assert len(text) < 65_536, "what a comment on a pull request can hold"


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("plain", "`plain`"),
        ("a|b", "`a\\|b`"),
        ("a`b", "``a`b``"),
        ("`a``b`", "``` `a``b` ```"),
        ("two\nlines", "`two lines`"),
        ("\u202eover", "`⟨U+202E⟩over`"),
        ("", "(empty)"),
        ("\n", "(empty)"),
        ("@everyone [x](javascript:1) <b>", "`@everyone [x](javascript:1) <b>`"),
    ],
)
def test_texts_of_others_stand_in_code_spans(text: str, span: str) -> None:
    assert render.code(text) == span


def test_visible_cuts_and_writes_out(run: Path) -> None:
    assert visible("a\tb\r\n\x00\ud83d", None) == "a b ⟨U+0000⟩⟨U+D83D⟩"
    assert visible("abcdef", 4) == "abc…"
    assert visible("👩‍👧 می‌خواهم") == "👩‍👧 می‌خواهم"


def test_a_row_a_sample(run: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(forms.text(run, "csv"))))
    assert [row["id"] for row in rows] == ["tower", "bridge"]
    assert rows[0]["answer"] == TOWER.answer
    # the claims of the answer and of the reference, and a question about each
    assert (rows[0]["calls"], rows[0]["prompt_tokens"]) == ("4", "0")
    counts = {
        name: rows[0][f"faithfulness_{name}"]
        for name in ("because", "supported", "judged", "claims")
    }
    assert counts == {"because": "", "supported": "1", "judged": "3", "claims": "3"}
    assert float(rows[0]["faithfulness"]) == pytest.approx(1 / 3)


def test_a_row_a_claim_and_evidence(run: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(forms.text(run, "csv", rows="claims"))))
    assert len(rows) == 6
    assert rows[1]["claim"] == "It is 90 metres high."
    assert (rows[1]["against"], rows[1]["label"], rows[1]["strict: label"]) == (
        "contexts",
        "contradicted",
        "contradicted",
    )
    assert rows[1]["strict: cites"] == "guide"
    (guide,) = (document.text for document in TOWER.contexts or () if document.id == "guide")
    assert rows[1]["cited_text"] == guide


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+1", "'=1+1"),
        ("+a", "'+a"),
        ("-a", "'-a"),
        ("@a", "'@a"),
        ("＝1+1", "'＝1+1"),
        ("\tx", "'\tx"),
        ("'=1", "''=1"),
        ("a=b", "a=b"),
        ("'a", "'a"),
        (-1.5, -1.5),
        ("", ""),
        (None, None),
    ],
)
def test_no_cell_is_a_formula(cell: tables.Cell, written: tables.Cell) -> None:
    assert guarded(cell) == written
    assert unguarded(written) == cell


def test_json_has_the_numbers_of_the_overview_and_digests_for_prompts(run: Path) -> None:
    found = json.loads(forms.text(run, "json"))
    assert found["summary"]["metrics"]["faithfulness"]["mean"] == pytest.approx(2 / 3)
    assert found["metrics"][0]["labels"] == {
        "supported": 2,
        "contradicted": 1,
        "not_found": 1,
        "unassessed": 0,
    }
    assert "source" not in found["manifest"]["prompts"][0]
    assert len(found["manifest"]["prompts"][0]["digest"]) == 64


def test_json_of_two_runs_has_the_comparison(run: Path) -> None:
    found = json.loads(forms.text(run, "json", compared=run))
    assert found["comparison"]["metrics"][0]["difference"]["value"] == 0
    assert found["a"]["name"] == found["b"]["name"] == "towers"


def test_the_command_prints_texts_and_writes_pages(run: Path, tmp_path: Path) -> None:
    def invoke(*words: object) -> str:
        done = call("report", *words)
        assert done.stderr == ""
        return done.stdout

    assert invoke(run, "--format", "md") == forms.text(run, "md")
    written = forms.text(run, "csv", rows="claims")
    assert invoke(run, "-f", "csv", "--rows", "claims").splitlines() == written.splitlines()
    assert invoke(run) == f"Report: {run / 'report.html'}\n"
    assert invoke(run, "--compare", run) == f"Report: {run / 'compared-with-towers.html'}\n"
    out = tmp_path / "new" / "comment.md"
    assert invoke(run, "-f", "md", "--out", out) == f"Report: {out}\n"
    image = "![Means of towers](comment-metrics.svg)\n\n"
    assert out.read_text(encoding="utf-8").replace(image, "") == forms.text(run, "md")
    assert (tmp_path / "new" / "comment-metrics.svg").is_file()


def test_panels_show_every_judge_in_the_tables(tmp_path: Path) -> None:
    run = make(tmp_path / "run", says={"openai:a@http://x": TOWER_SAYS, "openai:b@http://x": {}})
    head = forms.text(run, "csv", rows="claims").splitlines()[0]
    assert "a: label,a: probability,a: explanation,a: cites,b: label" in head
