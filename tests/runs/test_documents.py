"""What is drawn to be marked, what is kept, and LGTM@k worked by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from claimeval.runs.labeling import (
    DocumentDraw,
    DocumentLabel,
    DocumentLabels,
    Mark,
    QueryToLabel,
    draw_documents,
    lgtm,
)
from claimeval.types.errors import DataError, UsageError
from claimeval.types.records import Document, Sample


def documents(*names: str) -> tuple[Document, ...]:
    return tuple(Document(id=name, text=f"text of {name}") for name in names)


def items(count: int, each: int = 3) -> list[Sample]:
    return [
        Sample(
            id=f"q{i}",
            question=f"Question {i}?",
            contexts=documents(*(f"d{j}" for j in range(each))),
        )
        for i in range(count)
    ]


def drawn(*queries: QueryToLabel) -> DocumentDraw:
    return DocumentDraw(
        source="x", first=10, count=50, seed=0, population=9, without_results=2, queries=queries
    )


def shown(query: str, count: int, without_text: Sequence[str] = ()) -> QueryToLabel:
    return QueryToLabel(
        query=query,
        documents=tuple(f"d{i}" for i in range(count)),
        without_text=tuple(without_text),
    )


def answers(**marks: str) -> dict[tuple[str, str], Mark]:
    """`q1="yn?"` answers the first three documents of q1; a blank is no answer."""
    words: dict[str, Mark] = {"y": "good", "n": "bad", "?": "unsure"}
    return {
        (query, f"d{i}"): words[letter]
        for query, said in marks.items()
        for i, letter in enumerate(said)
        if letter > " "
    }


def test_lgtm_is_the_mean_over_questions_of_good_ones_among_those_marked() -> None:
    # q1 3 of 10; q2 has two results, one good; q3 is marked in part, 1 of 2: (0.3 + 0.5 + 0.5) / 3
    found = lgtm(
        drawn(shown("q1", 10), shown("q2", 2), shown("q3", 4)),
        answers(q1="yyynnnnnnn", q2="yn", q3="y?n "),
    )
    assert found.value == pytest.approx(1.3 / 3)
    assert (found.n, found.begun, found.drawn) == (3, 3, 3)
    assert (found.good, found.bad, found.unsure, found.unmarked) == (5, 9, 1, 1)
    # unsure and unmarked of q3 bad: 1/4, good: 3/4
    assert found.bounds == pytest.approx(((0.3 + 0.5 + 0.25) / 3, (0.3 + 0.5 + 0.75) / 3))
    assert found.reported
    assert found.reported[0] < 1.3 / 3 < found.reported[1]


def test_what_nobody_was_sure_of_is_not_bad_and_what_was_not_begun_does_not_count() -> None:
    found = lgtm(drawn(shown("q1", 2), shown("q2", 2), shown("q3", 5)), answers(q1="y?", q2="??"))
    assert (found.value, found.n, found.begun) == (1.0, 1, 2)
    assert found.bounds == (0.25, 1.0)
    assert found.unmarked == 5
    assert (found.reported, found.because) == (None, "one cluster has no spread to measure")


def test_without_a_mark_there_is_no_figure_and_the_reason_is_said() -> None:
    found = lgtm(drawn(shown("q1", 3, without_text=["d2"])), answers(q1="??"))
    assert (found.value, found.reported, found.n) == (None, None, 0)
    assert found.because == "nothing is marked good or bad yet"
    assert (found.unsure, found.unmarked, found.without_text) == (2, 0, 1)
    assert lgtm(drawn(shown("q1", 3)), {}).bounds is None


def test_the_interval_resamples_whole_questions() -> None:
    alike = lgtm(
        drawn(*(shown(f"q{i}", 10) for i in range(20))),
        answers(**{f"q{i}": "yyyyynnnnn" for i in range(20)}),
    )
    apart = lgtm(
        drawn(*(shown(f"q{i}", 10) for i in range(20))),
        answers(**{f"q{i}": ("y" if i % 2 else "n") * 10 for i in range(20)}),
    )
    assert alike.value == apart.value == 0.5
    assert alike.reported
    assert apart.reported
    assert apart.reported[1] - apart.reported[0] > 1.5 * (alike.reported[1] - alike.reported[0])


def test_more_questions_begin_with_the_same_ones_in_the_same_order() -> None:
    few, pairs = draw_documents(items(30), 5, first=3, seed=1, source="x")
    many, more = draw_documents(items(30), 9, first=3, seed=1, source="x")
    assert many.queries[:5] == few.queries
    assert more[: len(pairs)] == pairs
    assert (few.population, len(pairs)) == (30, 15)
    other, _ = draw_documents(items(30), 5, first=3, seed=2, source="x")
    assert other.queries != few.queries


def test_documents_are_shown_in_an_order_that_does_not_tell_their_rank() -> None:
    found, pairs = draw_documents(items(40, each=5), 40, first=5, seed=0, source="x")
    assert {shown.documents for shown in found.queries} == {("d0", "d1", "d2", "d3", "d4")}
    firsts = {pair.document.id for pair in pairs if pair.position == 1}
    assert firsts == {"d0", "d1", "d2", "d3", "d4"}


def test_questions_without_results_are_counted_and_not_drawn() -> None:
    samples = [
        Sample(id="full", question="Q", contexts=documents("a", "b", "c")),
        Sample(id="none", question="Q"),
    ]
    found, pairs = draw_documents(samples, 50, first=2, seed=0, source="x")
    assert (found.population, found.without_results) == (1, 1)
    assert found.queries == (QueryToLabel(query="full", documents=("a", "b")),)
    assert len(pairs) == 2


def test_a_document_without_a_text_is_counted_and_not_shown() -> None:
    item = Sample(id="q", question="Q?", contexts=(Document(id="empty", text=" "), *documents("a")))
    found, pairs = draw_documents([item], 1, first=10, seed=0, source="x")
    assert found.queries[0].without_text == ("empty",)
    assert [pair.document.id for pair in pairs] == ["a"]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (
            Sample(id="two words", question="Q", contexts=documents("a")),
            "cannot be written to a qrels file",
        ),
        (Sample(id="q", question="Q", contexts=documents("a", "a")), "occurs twice for question"),
        (Sample(id="q", question="Q", contexts=()), "nothing to grade"),
    ],
)
def test_what_could_not_be_written_is_refused_before_anybody_marks(
    item: Sample, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        draw_documents([item], 1, first=10, seed=0, source="x")


def test_marks_are_qrels_and_what_is_unsure_stays_beside_them(tmp_path: Path) -> None:
    path = tmp_path / "new" / "marks.qrels"
    marks = DocumentLabels(path)
    marks.begin(drawn(shown("q1", 3)))
    said: list[tuple[str, Mark]] = [("d0", "good"), ("d1", "unsure"), ("d2", "good"), ("d2", "bad")]
    for name, mark in said:
        marks.add(DocumentLabel(query="q1", document=name, mark=mark))
    assert path.read_text() == "q1 0 d0 1\nq1 0 d2 0\n"
    again = DocumentLabels(path)
    assert again.drawn == drawn(shown("q1", 3))
    assert again.answers == answers(q1="y?n")


def test_a_line_that_was_cut_off_is_dropped_and_marking_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "marks.qrels"
    marks = DocumentLabels(path)
    marks.begin(drawn(shown("q1", 3)))
    marks.add(DocumentLabel(query="q1", document="d0", mark="good"))
    with (tmp_path / "marks.qrels.jsonl").open("a") as file:
        file.write('{"query": "q1", "docu')
    again = DocumentLabels(path)
    again.add(DocumentLabel(query="q1", document="d1", mark="bad"))
    assert DocumentLabels(path).answers == answers(q1="yn")


def test_other_draws_and_other_data_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "marks.qrels"
    first, _ = draw_documents(items(30), 5, first=3, seed=1, source="x")
    DocumentLabels(path).begin(first)
    more, _ = draw_documents(items(30), 9, first=3, seed=1, source="x")
    for other in (
        draw_documents(items(30), 4, first=3, seed=1, source="x"),
        draw_documents(items(30), 5, first=3, seed=2, source="x"),
    ):
        with pytest.raises(UsageError, match="first 3 documents of 5 questions, seed 1"):
            DocumentLabels(path).begin(other[0])
    changed, _ = draw_documents(items(30, each=2), 5, first=3, seed=1, source="x")
    with pytest.raises(DataError, match="are not those that"):
        DocumentLabels(path).begin(changed)
    DocumentLabels(path).begin(more)
    assert DocumentLabels(path).drawn == more


@pytest.mark.parametrize(
    "line", ["[]", "{}", '{"query": "q", "document": "d", "mark": "fine"}', "no json"]
)
def test_a_file_of_something_else_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "marks.qrels"
    DocumentLabels(path).begin(drawn(shown("q1", 3)))
    with (tmp_path / "marks.qrels.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(DataError, match=r"marks.qrels.jsonl, line 2: no mark of a document"):
        DocumentLabels(path)


def test_qrels_of_somebody_else_are_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "human.qrels"
    path.write_text("q1 0 d0 1\n")
    with pytest.raises(UsageError, match="holds no labels to continue from"):
        DocumentLabels(path)
