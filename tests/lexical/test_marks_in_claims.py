"""Marks of any form, footnotes and hidden HTML leave a claim, and nothing else does."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimeval.lexical.citations import marks, without
from claimeval.lexical.claims import split_claims
from claimeval.lexical.sentences import sentences

PLAIN = "Bern has 134,000 inhabitants."


def rows(name: str) -> list[str]:
    return Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()


MARKED = rows("claims_with_marks.txt")
"""One sentence with marks in as many forms."""
BRACKETED = [(row + " ‖ " + row).split(" ‖ ")[:2] for row in rows("claims_with_brackets.txt")]
"""Sentences whose brackets, tags and raised numbers are their own, and their claims where a tag
within a word or a backtick is not read."""


def claimed(text: str) -> list[str]:
    return [claim.text for claim in split_claims(text)]


@pytest.mark.parametrize("row", MARKED)
def test_a_mark_of_any_form_leaves_the_claim_and_parts_sentences(row: str) -> None:
    assert claimed(row) == [PLAIN]
    assert claimed(f"{row} It lies on the Aare [2].") == [PLAIN, "It lies on the Aare."]


@pytest.mark.parametrize(("row", "claim"), BRACKETED)
def test_brackets_of_the_sentence_stay_in_the_claim(row: str, claim: str) -> None:
    assert claimed(row) == [claim]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('It is old.<ref name="a">1</ref> It is high<ref>2</ref>.', ["1", "2"]),
        ('It is old<sup><a href="#n3">3</a></sup>.', ["3"]),
        ('It is old.<sup class="reference">[4]</sup>', ["4"]),
        ("It is old [d1, d2; p. 3].", ["1", "2"]),
        ("It is old [1, §4].", ["1"]),
        ("It is old [1, pp. 3, 5].", ["1"]),
        ("It is old <source>2</source>.", ["2"]),
        ("It is old \\[1\\].", ["1"]),
    ],
)
def test_these_marks_cite_what_they_name(text: str, names: list[str]) -> None:
    assert [name for mark in marks(text) for name in mark.names] == names


TOWNS = st.sampled_from(["Bern", "Chur", "Thun", "Olten", "Zug", "Basel"])
NUMBERS = st.integers(2, 9_000)
SENTENCES = st.builds("{} has {} towers and {} gates.".format, TOWNS, NUMBERS, NUMBERS)
HIDDEN = st.lists(st.sampled_from(["qadim", "qorun", "qibla", "qatar", "qusay"]), min_size=1).map(
    " ".join
)
LABELS = st.integers(1, 99).map(str) | st.sampled_from(["note", "a", "smith-2020"])
FOOTNOTES = st.one_of(
    st.builds("[^{}]: {}".format, LABELS, HIDDEN),
    st.builds("[^{}]: https://example.org/{}".format, LABELS, st.just("qadim")),
    st.builds("[{}]: https://example.org/{} ({})".format, LABELS, st.just("qadim"), HIDDEN),
    st.builds("  [{}]: <http://example.org/{}>".format, LABELS, st.just("qadim")),
)


def words(texts: list[str]) -> list[str]:
    return [word for text in texts for word in re.findall(r"\w+", text)]


def hidden_in(claims: list[str]) -> list[str]:
    return [word for word in words(claims) if word.startswith("q")]


@given(st.lists(st.one_of(SENTENCES, FOOTNOTES), min_size=1, max_size=8), st.booleans())
def test_lines_of_footnotes_are_no_claims_and_take_no_words(lines: list[str], blank: bool) -> None:
    text = ("\n\n" if blank else "\n").join(lines)
    shown = [line for line in lines if not line.lstrip().startswith("[")]
    claims = claimed(text)
    assert hidden_in(claims) == []
    assert words(claims) == words(shown)


CODE = st.text("abc=;(){}'\" .\n12", max_size=30)
INVISIBLE = st.one_of(
    st.builds("<!--{}-->".format, HIDDEN),
    st.builds("<!-- {}\n\n<p>{}</p> > -->".format, HIDDEN, HIDDEN),
    st.builds("<script>{} var x = '{}';</script>".format, CODE, HIDDEN),
    st.builds('<SCRIPT type="text/javascript">\n{}\n</SCRIPT >'.format, HIDDEN),
    st.builds("<style media='print'>p {{ {} }}\n/* {} */</style>".format, CODE, HIDDEN),
)


@st.composite
def with_hidden_parts(draw: st.DrawFn) -> tuple[str, list[str]]:
    """Draw a text of HTML, and the sentences that a reader sees."""
    shown = draw(st.lists(SENTENCES, min_size=1, max_size=5))
    parts: list[str] = []
    for sentence in shown:
        parts.append(draw(st.one_of(st.just(""), INVISIBLE)))
        before, blank, after = sentence.partition(" has ")
        parts.append(f"{before}{draw(st.one_of(st.just(''), INVISIBLE))}{blank}{after}")
        parts.append(draw(st.sampled_from([" ", "\n\n"])))
    parts.append(draw(st.one_of(st.just(""), INVISIBLE)))
    return "".join(parts), shown


@given(with_hidden_parts())
def test_hidden_html_is_in_no_claim_and_takes_no_visible_word(case: tuple[str, list[str]]) -> None:
    text, shown = case
    claims = claimed(text)
    assert hidden_in(claims) == []
    assert words(claims) == words(shown)


SHOWN_TAGS = st.sampled_from(
    ["<!--", "-->", "<script>", "</script>", "<style>", "</style>", '<ref name="a">', "<sup>"]
)


@given(st.lists(st.tuples(SHOWN_TAGS, SENTENCES), min_size=1, max_size=5))
def test_tags_between_backticks_hide_no_sentence(parts: list[tuple[str, str]]) -> None:
    text = " ".join(f"It has the tag `{tag}` in it. {sentence}" for tag, sentence in parts)
    shown: list[str] = []
    for tag, sentence in parts:
        shown += [f"It has the tag {tag} in it.", sentence]
    assert words(claimed(text)) == words(shown)


@pytest.mark.parametrize("read", [split_claims, without, marks, sentences])
@pytest.mark.parametrize(
    "unit",
    [
        '<ref name="a">',
        "<sup><a href='1'>",
        "[d1, d2; p. 3, ",
        "(https://example.org ",
        "([a](http://b ",
        "[@a1; ",
        "{{cite|",
        "\\footnote{",
        "[^1]: ",
        "[1]: https:",
        "<!-- ",
        "<script>",
        "`<style>",
        "<source>1",
    ],
)
def test_openings_that_never_close_are_read_to_the_end(
    read: Callable[[str], object], unit: str
) -> None:
    """A quadratic reading of these takes minutes, which the limit of the suite does not allow."""
    read(unit * 6_000)
    read(f"{unit}\n" * 3_000)
