"""The sources in BibTeX: every paper that a number names has an entry, and no entry is idle."""

from __future__ import annotations

import re

import pytest

from claimeval.metrics import names, sources
from claimeval.statistics.estimates import METHODS

NAMED = re.compile(r"[^\W\d_][\w'-]* (?:et al\. |and [^\W\d_]+ )?\(?(?:19|20)\d\d\b")
TEXTS = [
    *(number.source for number in names.numbers().values()),
    *(method.words for method in METHODS.values()),
]
NOT_CITED = ("TREC RAG 2024",)
"""Texts with a year that name no author."""
WITHOUT_ENTRY = {"Hall 1988", "Newcombe 1998", "Donner 2008"}


@pytest.mark.parametrize("text", sorted(set(TEXTS)))
def test_every_paper_that_a_number_names_has_an_entry(text: str) -> None:
    named = [match for match in NAMED.findall(text) if match not in WITHOUT_ENTRY]
    if text.startswith(NOT_CITED):
        named = named[1:]
    assert len(sources.cited(text)) >= len(named), (named, sources.cited(text))


@pytest.mark.parametrize("key", sources.entries())
def test_every_entry_is_cited_or_stands_for_a_statistic(key: str) -> None:
    cited = {found for text in TEXTS for found in sources.cited(text)}
    assert key in cited | {"cohen1960", "clopper1934"}


@pytest.mark.parametrize("entry", sources.entries().values())
def test_an_entry_is_bibtex_with_author_title_and_year(entry: str) -> None:
    assert entry.count("{") == entry.count("}")
    head, *fields = re.split(r", (?=[a-z]+ = \{)", entry.removesuffix("}"))
    assert re.fullmatch(r"@(article|inproceedings|book)\{[a-z]+(19|20)\d\d", head)
    found = dict(field.removesuffix("}").split(" = {", 1) for field in fields)
    assert {"author", "title", "year"} <= found.keys()
    assert found["year"] == head[-4:]
    assert entry.isascii()


def test_papers_are_found_by_author_and_year_and_by_the_names_of_programs() -> None:
    assert sources.cited("Järvelin and Kekäläinen 2002; trec_eval ndcg") == ("jarvelin2002",)
    assert sources.cited("Rogan and Gladen 1978, Lee et al. 2025") == ("rogan1978", "lee2025")
    assert sources.cited("AutoNuggetizer A_strict") == ("pradeep2024",)
    assert sources.cited("percent agreement") == ()


def test_bibtex_has_each_entry_once_and_a_field_a_line() -> None:
    text = sources.bibtex(["cohen1960", "kish1965", "cohen1960"])
    assert text.count("@") == 2
    assert "@book{kish1965,\n  author = {Kish, Leslie},\n  title = {Survey Sampling},\n" in text
    assert text.endswith("  year = {1965}\n}")
