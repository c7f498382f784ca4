"""Which columns of a corpus are the id and the document of a passage, and folders of texts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import claimeval as ce
from claimeval.data.corpora import open_corpus


def corpus(folder: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    file = folder / "chunks.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        ([{"id": i, "source": f"s{i // 3}", "text": "t"} for i in range(6)], ("id", "source")),
        ([{"id": i, "doc_id": i // 3, "text": "t"} for i in range(6)], ("id", "doc_id")),
        (
            [{"doc_id": i, "title": f"s{i // 3}", "text": "t"} for i in range(6)],
            ("doc_id", "title"),
        ),
        ([{"id": "a", "chunk_id": i, "text": "t"} for i in range(6)], ("chunk_id", "id")),
        (
            [{"page_content": "t", "id": i, "metadata": {"source": "x"}} for i in range(6)],
            ("id", "metadata.source"),
        ),
        (
            [{"node": {"id_": i, "text": "t", "metadata": {"source": "x"}}} for i in range(6)],
            ("node.id_", "node.metadata.source"),
        ),
        ([{"id": i, "url": f"https://x/{i}", "text": "t"} for i in range(6)], ("id", None)),
        ([{"text": f"t{i}"} for i in range(6)], (None, None)),
    ],
)
def test_columns_are_found_by_their_values(
    tmp_path: Path, rows: list[dict[str, object]], columns: tuple[str | None, str | None]
) -> None:
    """An id differs in every row; a document repeats in rows that follow each other."""
    found = open_corpus(corpus(tmp_path, rows))
    assert (found.id_column, found.document_column) == columns


def test_passages_are_read_in_order_with_title_and_document(tmp_path: Path) -> None:
    rows = [
        {"id": "x1", "source": "x", "title": "Towers", "text": "One."},
        {"id": "x2", "source": "x", "title": "Towers", "text": "Two."},
        {"id": "y1", "source": "y", "title": "Lifts", "text": "Three."},
    ]
    found = open_corpus(corpus(tmp_path, rows))
    assert [(one.id, one.document, one.title, one.text) for one in found.passages()] == [
        ("x1", "x", "Towers", "One."),
        ("x2", "x", "Towers", "Two."),
        ("y1", "y", "Lifts", "Three."),
    ]


def test_the_digest_is_that_of_the_content(tmp_path: Path) -> None:
    rows = [{"id": i, "text": "t"} for i in range(3)]
    first = open_corpus(corpus(tmp_path, rows)).digest
    assert open_corpus(corpus(tmp_path, rows)).digest == first
    assert open_corpus(corpus(tmp_path, [*rows, {"id": 3, "text": "t"}])).digest != first


def test_a_folder_is_split_by_paragraph(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("# Tower\n\nIt is high.\n\n---\n\nIt is old.")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.txt").write_text("One.\r\n\r\nTwo.")
    (tmp_path / "c.pdf").write_bytes(b"%PDF")
    found = open_corpus(tmp_path)
    assert not found.chunked
    assert [(one.id, one.document, one.text) for one in found.passages()] == [
        ("b.md#1", "b.md", "# Tower"),
        ("b.md#2", "b.md", "It is high."),
        ("b.md#3", "b.md", "It is old."),
        ("sub/a.txt#1", "sub/a.txt", "One."),
        ("sub/a.txt#2", "sub/a.txt", "Two."),
    ]


def test_what_is_no_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ce.DataError, match="does not exist"):
        open_corpus(tmp_path / "none.jsonl")
    with pytest.raises(ce.UsageError, match=r"no \.txt or \.md file"):
        open_corpus(tmp_path)
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(ce.DataError):
        open_corpus(tmp_path / "empty.jsonl")
    file = corpus(tmp_path, [{"id": 1, "number": 3}])
    with pytest.raises(ce.DataError, match="line 1: no text of a passage"):
        list(open_corpus(file).passages())
