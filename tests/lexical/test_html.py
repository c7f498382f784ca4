"""Tags of HTML part sentences, items and cells, and every character keeps its place."""

from __future__ import annotations

import pytest

from claimeval.lexical.claims import split_claims
from claimeval.lexical.sentences import sentences, untagged
from claimeval.lexical.support import label, prepare, score_claim

REVENUE = "Net revenue was 23.6 billion dollars in 2022."
MARGIN = "Gross margin was 45 percent in 2022."
BOARD = "The board of AMD has nine members."


@pytest.mark.parametrize(
    "answer",
    [
        f"<p>{REVENUE}</p><p>{MARGIN}</p><p>{BOARD}</p>",
        f"<p>{REVENUE}</p><ul><li>{MARGIN}</li><li>{BOARD}</li></ul>",
        f"{REVENUE}<br>{MARGIN}<br/>{BOARD}",
        f"<div class='a b'><b>{REVENUE}</b> <i>{MARGIN}</i> {BOARD}</div>",
        f"<OL>\n  <LI>{REVENUE}</LI>\n  <LI>{MARGIN}</LI>\n  <LI>{BOARD}</LI>\n</OL>",
        f"<h2>Facts</h2><p>{REVENUE} {MARGIN}</p>{BOARD}",
        f"<!-- 77 -->{REVENUE} <!--\n<p>12</p> -->{MARGIN}<p>{BOARD}</p>",
        f"<script>let n = 5;</script>{REVENUE} <style>p {{margin: 3px}}</style>{MARGIN} {BOARD}",
    ],
)
def test_tags_part_sentences(answer: str) -> None:
    assert [claim.text for claim in split_claims(answer)] == [REVENUE, MARGIN, BOARD]


@pytest.mark.parametrize("space", ["", "\n", "\n  "])
def test_rows_of_a_table_are_claims_with_the_names_of_the_columns(space: str) -> None:
    rows = [
        ("th", "metric", "2022"),
        ("td", "Net revenue", "23.6 billion"),
        ("td", "Margin", "45 percent"),
    ]
    table = "<table>"
    for tag, *cells in rows:
        table += "<tr>" + "".join(f"{space}<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>"
    expected = ["Net revenue; 2022: 23.6 billion", "Margin; 2022: 45 percent"]
    assert [claim.text for claim in split_claims(f"{table}</table>")] == expected


@pytest.mark.parametrize(
    ("answer", "claim"),
    [
        ("<p>Water is H<sub>2</sub>O.</p>", "Water is H2O."),
        ("Revenue &amp; margin rose by 5&nbsp;%.", "Revenue & margin rose by 5 %."),
        ("It rose if a < b and c > d.", "It rose if a < b and c > d."),
        ("The tag <cite>1</cite> is left out.", "The tag is left out."),
        ("<span>It</span> is <em>very</em> high.", "It is very high."),
    ],
)
def test_words_are_joined_as_they_are_read(answer: str, claim: str) -> None:
    assert [each.text for each in split_claims(answer)] == [claim]


def test_every_character_keeps_its_place() -> None:
    answer = f"<div><p>{REVENUE}</p><table><tr><td>{MARGIN}</td></tr></table>{BOARD}</div>"
    shown = untagged(answer)
    assert len(shown) == len(answer)
    assert [answer[slice(*span)] for span in sentences(answer)] == [REVENUE, MARGIN, BOARD]
    assert untagged(REVENUE) == REVENUE


def test_documents_of_html_support_what_they_say() -> None:
    evidence = prepare([f"<p>{REVENUE}</p><p>Gross margin was 45&nbsp;percent in 2022.</p>"])
    for claim in (REVENUE, MARGIN):
        assert label(score_claim(claim, evidence).score) == "supported"


@pytest.mark.parametrize("text", ["<" * 50_000, "<p " * 30_000, "<p>" * 30_000, "<td>x" * 20_000])
def test_odd_long_texts_are_read_to_their_end(text: str) -> None:
    assert len(untagged(text)) == len(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Put `<script>` in the head. It loads the file. Close it with `</script>`.",
            ["Put `<script>` in the head.", "It loads the file.", "Close it with `</script>`."],
        ),
        (
            "A comment begins with `<!--` and ends with `-->`. It is not shown.",
            ["A comment begins with `<!--` and ends with `-->`.", "It is not shown."],
        ),
        # What is never closed hides nothing.
        ("It is old. <!-- It is large.", ["It is old.", "<!-- It is large."]),
    ],
)
def test_tags_that_a_reader_sees_hide_nothing(text: str, expected: list[str]) -> None:
    found = [text[start:end] for start, end in sentences(text)]
    assert [one.strip("\f ") for one in found] == expected
