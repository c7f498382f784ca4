"""Fast reader of TREC files in the usual form: from the text to ranked columns, without an object for each line.

Both files have one line a judgment or document, all lines of a query together. Judgments are looked up in the run by
hashes of the document ids, within blocks of whole queries, and every match is compared byte by byte.
"""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

import numpy as np

from claimeval.ir.order import Tied, Ties, arrange, places
from claimeval.ir.ranked import Floats, Ints, Ranked, whole_numbers
from claimeval.ir.text_columns import Field, FileContent, Irregular, LineBlock, TextTable, Words, decimals, same


class ColumnarRun(NamedTuple):
    """What two files hold."""

    ranked: Ranked
    """Of the queries of the qrels, sorted."""
    in_run: frozenset[str]
    """The queries of the run."""
    run_id: str
    """The tag in the run's last line."""


def rank(qrels: FileContent, run: FileContent, ties: Ties, lowest: int = 0) -> ColumnarRun | None:
    """Rank the documents graded ``lowest`` or better; None if the content needs the readers of ``trec_files``.

    That is so for comments, empty lines, queries whose lines are scattered, and for everything that is wrong.

    Args:
        qrels: The judgments, four fields a line.
        run: The run, six fields a line.
        ties: The order of documents with equal scores; ``error`` always needs the other readers.
        lowest: The lowest grade to rank; 0 includes judged documents that are not relevant.
    """
    if ties == "error":
        return None
    try:
        judgments = _read_judgments(TextTable(qrels))
        return _rank(judgments, TextTable(run), ties, lowest)
    except Irregular:
        return None


class _Judgments(NamedTuple):
    """The judgments in the order of the file."""

    text: TextTable
    numbers: dict[bytes, int]
    """Query to its number, in the order of the file."""
    counts: Ints
    """Judgments per query."""
    first: Ints
    """The row where each query begins."""
    documents: Field
    hashes: Words
    grades: Ints

    def rows(self, queries: Ints) -> Ints:
        """Return the rows of the judgments of these queries."""
        counts = self.counts[queries]
        return np.repeat(self.first[queries] - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())


def _read_judgments(text: TextTable) -> _Judgments:
    numbers: dict[bytes, int] = {}
    counts, starts, ends, hashes, grades = [], [], [], [], []
    for block in text.blocks(4):
        _number(text, block, numbers)
        sizes = np.diff(block.starts)
        document, key = block.fields[2], text.hashes(block.fields[2])
        _refuse_duplicates(np.sort(_tag(key, np.repeat(np.arange(len(sizes)), sizes))))
        values = decimals(text, block.fields[3])
        if not whole_numbers(values).all():
            raise Irregular
        counts.append(sizes)
        starts.append(document.start)
        ends.append(document.end)
        hashes.append(key)
        grades.append(values.astype(np.int64))
    return _Judgments(
        text,
        numbers,
        per_query := np.concatenate(counts),
        np.cumsum(per_query) - per_query,
        Field(np.concatenate(starts), np.concatenate(ends)),
        np.concatenate(hashes),
        np.concatenate(grades),
    )


def _rank(judgments: _Judgments, text: TextTable, ties: Ties, lowest: int) -> ColumnarRun:
    in_run: dict[bytes, int] = {}
    retrieved = np.zeros(len(judgments.counts), np.int64)
    seen = np.zeros(len(judgments.counts), np.int64)
    queries, ranks, grades = [], [], []
    for block in text.blocks(6):
        number = np.array([judgments.numbers.get(name, -1) for name in _number(text, block, in_run)])
        known = np.flatnonzero(number >= 0)
        retrieved[number[known]] = np.diff(block.starts)[known]
        judged = judgments.rows(number[known])
        within_block = np.repeat(known, judgments.counts[number[known]])
        rows, matched = _match(judgments, judged, within_block, text, block)
        scores = decimals(text, block.fields[4])
        grade, query = judgments.grades[judged[matched]], within_block[matched]
        seen[number[known]] = np.bincount(query[grade >= 0], minlength=len(number))[known]
        kept = np.flatnonzero(grade >= lowest)
        ranks.append(_places(text, block, scores, rows[kept], query[kept], ties))
        queries.append(number[query[kept]])
        grades.append(grade[kept])

    names = sorted(judgments.numbers)
    sorted_number = np.empty(len(names), np.int64)
    sorted_number[[judgments.numbers[name] for name in names]] = np.arange(len(names))
    query, rank, grade = (np.concatenate(parts) for parts in (queries, ranks, grades))
    query = sorted_number[query]
    key = query * (int(rank.max(initial=0)) + 1) + rank
    order = np.argsort(key)
    in_file = np.argsort(sorted_number)
    pooled = judgments.grades >= 0
    return ColumnarRun(
        Ranked(
            queries=tuple(map(_decode, names)),
            retrieved=retrieved[in_file],
            judged=seen[in_file],
            query=query[order],
            rank=rank[order],
            grade=grade[order],
            pool_query=np.repeat(sorted_number, judgments.counts)[pooled],
            pool_grade=judgments.grades[pooled],
        ),
        frozenset(map(_decode, in_run)),
        _decode(text.bytes_of(block.fields[5].take(slice(-1, None)))[0]),
    )


def _number(text: TextTable, block: LineBlock, numbers: dict[bytes, int]) -> list[bytes]:
    """Give the queries of a block the next numbers; each may come only once."""
    names = text.bytes_of(block.fields[0].take(block.starts[:-1]))
    numbers.update(zip(names, range(len(numbers), len(numbers) + len(names)), strict=True))
    if len(numbers) != numbers[names[-1]] + 1:
        raise Irregular
    return names


def _match(judgments: _Judgments, judged: Ints, query: Ints, text: TextTable, block: LineBlock) -> tuple[Ints, Ints]:
    """Return the rows of the block that are judged, and which of the given judgments are theirs."""
    documents, sizes = block.fields[2], np.diff(block.starts)
    keys = _tag(text.hashes(documents), np.repeat(np.arange(len(sizes)), sizes))
    order = np.argsort(keys)
    keys = keys[order]
    _refuse_duplicates(keys)
    judged_keys = _tag(judgments.hashes[judged], query)
    nearest = np.minimum(np.searchsorted(keys, judged_keys), len(keys) - 1)
    matched = np.flatnonzero(keys[nearest] == judged_keys)
    rows = order[nearest[matched]]
    if not same(text, documents.take(rows), judgments.text, judgments.documents.take(judged[matched])).all():
        raise Irregular
    return rows, matched


def _places(text: TextTable, block: LineBlock, scores: Floats, rows: Ints, query: Ints, ties: Ties) -> Ints:
    documents = block.fields[2]
    order = arrange(scores, block.starts)

    def names(hits: Ints) -> list[bytes]:
        """Return the ids of the judged documents in these rows."""
        return text.bytes_of(documents.take(rows[hits]))

    starts = block.starts.tolist()

    def members(groups: list[Tied]) -> list[list[bytes]]:
        """Return the ids of each group of equal scores."""
        alike: list[int] = []
        for query, first, last, value in groups:
            begin, end = starts[query], starts[query + 1]
            if query in order.resorted:
                alike.extend((np.flatnonzero(scores[begin:end] == value) + begin).tolist())
            else:
                alike.extend(range(begin + first, begin + last))
        ids = iter(text.bytes_of(documents.take(np.array(alike))))
        return [list(islice(ids, last - first)) for _, first, last, _ in groups]

    return places(order, query, scores[rows], names, members, ties)


def _tag(hashes: Words, query: Ints) -> Words:
    """48 bits of each hash behind the number of its query within the block, which 16 bits hold (``MOST_STARTS``)."""
    return (query.astype(np.uint64) << np.uint64(48)) | (hashes >> np.uint64(16))


def _refuse_duplicates(keys: Words) -> None:
    """Raise Irregular for equal neighbors: a document twice in a query, or a chance in 2**48."""
    if (keys[1:] == keys[:-1]).any():
        raise Irregular


def _decode(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
