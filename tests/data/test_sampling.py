"""Drawing from a log: uniform over questions, by strata, seeded, without near copies."""

from __future__ import annotations

import random
import string
from collections import Counter
from collections.abc import Iterator

import pytest

from claimeval.data.rows import SourceRow
from claimeval.data.sampling import DrawnRows, draw, with_origin
from claimeval.types.errors import DataError, UsageError


def rows(*questions: str, **fields: str) -> list[SourceRow]:
    return [
        SourceRow(f"log, line {i}", i, {"question": q, **fields})
        for i, q in enumerate(questions, 1)
    ]


def words(count: int, seed: int = 0) -> list[str]:
    """Questions without a likeness."""
    rng = random.Random(seed)
    return ["".join(rng.choices(string.ascii_lowercase, k=12)) for _ in range(count)]


def questions(drawn: DrawnRows) -> list[object]:
    return [row["question"] for row in drawn]


def test_the_same_seed_draws_the_same_in_any_order_of_the_log() -> None:
    log = rows(*words(100))
    backwards = [row._replace(number=101 - row.number) for row in reversed(log)]
    first = questions(draw(log, 10, seed=1))
    assert len(set(first)) == 10
    assert questions(draw(log, 10, seed=1)) == first
    assert set(questions(draw(backwards, 10, seed=1))) == set(first)
    assert questions(draw(log, 10, seed=2)) != first


def test_a_log_that_grows_keeps_most_of_its_draw() -> None:
    log = words(1100)
    before = set(questions(draw(rows(*log[:1000]), 50, seed=0)))
    after = set(questions(draw(rows(*log), 50, seed=0)))
    assert len(before & after) >= 40


def test_every_question_is_as_likely_as_any_other_however_often_it_was_asked() -> None:
    log = rows("often") + rows(*["often"] * 500, "a", "b", "c")
    counts = Counter(q for seed in range(2000) for q in questions(draw(log[-10:], 1, seed=seed)))
    # four questions, 2,000 draws of one: 500 each, and five standard deviations are 97
    assert set(counts) == {"often", "a", "b", "c"}
    assert all(abs(n - 500) < 97 for n in counts.values())


def test_rows_are_the_unit_where_copies_are_kept() -> None:
    found = draw(rows(*["often"] * 90, *words(10)), 50, seed=0, duplicate_threshold=None)
    assert questions(found).count("often") >= 40
    assert found.strata[""].questions == 100
    assert {row["drawn"]["probability"] for row in found} == {0.5}


def test_equal_questions_are_one_and_of_near_copies_one_stays() -> None:
    found = draw(
        rows(
            "What is the capital of France?",
            "what is the capital of france",
            "What's the capital of France?",
            "Why?",
        ),
        10,
        seed=0,
    )
    assert len(found) == 2
    assert "Why?" in questions(found)
    assert found.strata[""].rows == 4
    assert found.strata[""].questions == 3
    assert found.strata[""].near_duplicates == 1


def test_strata_get_their_share_and_no_less_than_the_least() -> None:
    names = words(1000)
    log = [
        SourceRow(
            f"log, line {i}",
            i,
            {"question": q, "metadata": {"topic": "rare" if i <= 20 else "common"}},
        )
        for i, q in enumerate(names, 1)
    ]
    found = draw(log, 100, seed=0, stratify="metadata.topic", min_per_stratum=15)
    assert {name: one.drawn for name, one in found.strata.items()} == {"common": 85, "rare": 15}
    rare = [row["drawn"] for row in found if row["drawn"]["stratum"] == "rare"]
    assert {drawn["probability"] for drawn in rare} == {15 / 20}


def test_a_question_that_stands_in_several_strata_is_drawn_for_one() -> None:
    names = words(60)
    log = [
        SourceRow("", i, {"question": names[i % 60], "topic": topic})
        for i, topic in enumerate(t for t in "abcd" for _ in names)
    ]
    found = draw(log, 40, seed=0, stratify="topic", min_per_stratum=0)
    assert len(set(questions(found))) == len(found) == 40
    assert {one.drawn for one in found.strata.values()} == {10}
    assert len(set(questions(draw(log, 60, seed=0, stratify="topic")))) == 60


def test_probabilities_of_large_logs_keep_their_digits() -> None:
    row = with_origin(rows("Why?")[0], "log", 0, 200 / 123_456_789)
    assert row["drawn"]["probability"] == pytest.approx(200 / 123_456_789, rel=1e-5)


def test_more_strata_than_rows_to_be_drawn_are_refused() -> None:
    log = [
        SourceRow(f"log, line {i}", i, {"question": f"{i}?", "user": f"u{i}"}) for i in range(1, 9)
    ]
    with pytest.raises(UsageError, match="more than 5 values up to log, line 6"):
        draw(log, 5, seed=0, stratify="user")


def test_rows_without_the_field_are_a_stratum_unless_all_are() -> None:
    found = draw(rows("one", topic="x") + rows("two"), 2, seed=0, stratify="topic")
    assert list(found.strata) == ["(none)", "x"]
    with pytest.raises(DataError, match="no row has this field"):
        draw(rows("one", "two"), 2, seed=0, stratify="topic")


def test_empty_questions_are_left_out_and_counted() -> None:
    found = draw(rows("one", "", " \n"), 3, seed=0)
    assert (questions(found), found.empty_questions, found.strata[""].rows) == (["one"], 2, 1)


def test_a_log_of_any_size_is_held_in_a_few_rows_and_its_questions_are_estimated() -> None:
    held = 0

    def log() -> Iterator[SourceRow]:
        nonlocal held
        for i in range(50_000):
            held += 1
            yield SourceRow("", i, {"question": f"question {i % 20_000}"})

    found = draw(log(), 500, seed=0).strata[""]
    assert held == found.rows == 50_000
    assert not found.exact
    # the standard error of the estimate is 1 / sqrt(2000 - 2), 2.2%; five of them
    assert abs(found.questions - 20_000) < 20_000 * 0.11


def test_provenance_stays_in_the_row() -> None:
    (row,) = draw(rows("Why?", topic="x"), 5, source="log.jsonl", seed=3, stratify="topic")
    assert row == {
        "question": "Why?",
        "topic": "x",
        "drawn": {"from": "log.jsonl", "row": 1, "seed": 3, "stratum": "x", "probability": 1.0},
    }


def test_a_row_without_a_question_is_said_with_its_place() -> None:
    with pytest.raises(DataError, match="log, line 1: no question"):
        draw([SourceRow("log, line 1", 1, {"prompt": "Why?"})], 1, seed=0)
    assert questions(
        draw(
            [SourceRow("log, line 1", 1, {"question": "x", "prompt": "Why?"})],
            1,
            seed=0,
            question_field="prompt",
        )
    ) == ["x"]


def test_an_empty_log_is_said() -> None:
    with pytest.raises(DataError, match="has no rows"):
        draw([], 1, seed=0)


def test_questions_that_differ_in_a_number_are_no_near_copies() -> None:
    found = draw(
        rows(
            "What was the revenue of the firm in 2022?", "What was the revenue of the firm in 2023?"
        ),
        5,
        seed=0,
    )
    assert len(found) == 2
