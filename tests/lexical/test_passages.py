"""Search among passages: what is found, what stands beside it, and an index opened again."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claimeval.lexical.passages import Passage, PassageIndex

TOWER = [
    Passage("a1", "a", "The tower is 63 metres high."),
    Passage("a2", "a", "It was opened in 1902 by the mayor."),
    Passage("a3", "a", "The lift holds eight people."),
    Passage("b1", "b", "The bridge was opened in 1914."),
    Passage("c1", "", "Opened tins are kept cold."),
    Passage("c2", "", "The  lift holds\neight people."),
]


def test_the_best_passage_comes_first_and_equal_texts_are_one() -> None:
    index = PassageIndex.build(TOWER)
    assert index.search("the mayor opened it", 10)[0] == 1
    assert index.search("lift for eight people", 10) == [2], "5 has the same text"
    assert index.search("lift for eight people", 10, without=[5]) == []
    assert index.search("...", 10) == []


def test_a_word_is_found_in_its_other_forms() -> None:
    """As of English only: the stems are Porter's."""
    assert PassageIndex.build(TOWER).search("towers", 1) == [0]


def test_the_search_may_be_within_one_document() -> None:
    index = PassageIndex.build(TOWER)
    assert set(index.search("opened", 10)) == {1, 3, 4}
    assert index.search("opened", 10, within="b") == [3]


def test_the_rest_of_a_query_is_what_a_passage_lacks() -> None:
    index = PassageIndex.build(TOWER)
    assert index.rest_of("The towers and the bridge, 63 metres", 0) == "and bridge"


def test_passages_beside_one_are_of_the_same_document() -> None:
    index = PassageIndex.build(TOWER)
    assert [index.beside(place) for place in range(6)] == [(1,), (0, 2), (1,), (), (), ()]


def test_a_passage_is_found_by_text_and_then_by_id() -> None:
    index = PassageIndex.build(TOWER)
    assert index.find("c2", "The lift holds eight people.") == 5
    assert index.find("x", "The lift  holds eight people.") == 2
    assert index.find("a1", "The tower is 64 metres high.") is None
    assert (index.has_id("a1"), index.has_id("x")) == (True, False)


def test_words_of_more_than_a_tenth_of_the_passages_are_left_out_of_queries() -> None:
    """`was` is in all 300 passages, so a query with three rarer words does not look at it."""
    many = [Passage(str(i), "", f"It was number{i} of group{i % 30}.") for i in range(300)]
    index = PassageIndex.build(many)
    assert index._terms("It was number7, group7 of what") == '"number7" OR "group7" OR "what"'
    assert index._terms("it was") == '"it" OR "was"', "nothing else is asked"
    assert index.search("it was number7 of something", 1) == [7]


def test_an_index_is_opened_again_without_the_passages(tmp_path: Path) -> None:
    file = tmp_path / "index.sqlite"
    assert PassageIndex.open(file) is None
    PassageIndex.build(TOWER, file).close()
    index = PassageIndex.open(file)
    assert index is not None
    assert (len(index), index.documents, index[1]) == (6, 2, TOWER[1])
    assert index.search("mayor", 3) == [1]
    assert list(index) == TOWER
    with pytest.raises(IndexError):
        _ = index[6]
    index.close()


def test_a_file_of_another_version_or_none_at_all_is_not_opened(tmp_path: Path) -> None:
    half = tmp_path / "half.sqlite"
    sqlite3.connect(half).close()
    half.write_bytes(b"")
    assert PassageIndex.open(half) is None
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(b"no database" * 100)
    assert PassageIndex.open(damaged) is None


CHINESE = [
    "埃菲尔铁塔位于法国巴黎，高三百三十米，于一八八九年建成。",
    "北京故宫是明清两代的皇家宫殿，位于北京中轴线的中心。",
    "长江是中国最长的河流，全长约六千三百公里。",
    "京都北部的山区以雪景闻名。",
]
JAPANESE = [
    "東京タワーは東京都港区にある高さ三百三十三メートルの電波塔です。",
    "富士山は日本で最も高い山で、標高は三千七百七十六メートルです。",
    "京都には多くの寺と神社があります。",
]


@pytest.mark.parametrize(
    ("passages", "query", "place"),
    [
        (CHINESE, "故宫在北京", 1),
        (CHINESE, "铁塔的高度是三百三十米", 0),
        (CHINESE, "中国最长的河", 2),
        (JAPANESE, "日本で一番高い山は富士山", 1),
        (JAPANESE, "京都の神社", 2),
    ],
)
def test_chinese_and_japanese_are_searched_by_pairs_of_characters(
    passages: list[str], query: str, place: int
) -> None:
    index = PassageIndex.build([Passage(str(i), "", text) for i, text in enumerate(passages)])
    assert index.search(query, 1) == [place]


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=60), st.lists(st.text(max_size=40), max_size=8))
def test_no_query_breaks_the_search(query: str, texts: list[str]) -> None:
    """Signs of the query language of FTS5 are words or nothing."""
    index = PassageIndex.build([Passage(str(i), "x", text) for i, text in enumerate(texts)])
    found = index.search(query, 3)
    assert len(set(found)) == len(found) <= 3
    assert all(0 <= place < len(texts) for place in found)
    index.close()
