"""BEIR folders: qrels as tab-separated files, corpus and queries as JSON Lines."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from claimeval.ir.text_columns import FileContent
from claimeval.ir.trec_files import read_qrels
from claimeval.types.errors import DataError


class Passage(TypedDict):
    """One document of a corpus."""

    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Beir:
    """One test set in the form of BEIR (Thakur et al. 2021)."""

    corpus: dict[str, Passage]
    queries: dict[str, str]
    qrels: dict[str, dict[str, int]]


def read_beir(folder: str | Path, split: str = "test") -> Beir:
    """Read ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/<split>.tsv`` of a folder; each may be gzipped (``.gz``).

    Only the queries of the split are kept. Raises DataError for a missing file or a line that cannot be read.
    """
    root = Path(folder)
    qrels = read_qrels(find_qrels(root, split))
    corpus = {key: Passage(title=title, text=text) for key, title, text in _entries(root / "corpus.jsonl")}
    queries = {key: text for key, _, text in _entries(root / "queries.jsonl") if key in qrels}
    return Beir(corpus=corpus, queries=queries, qrels=qrels)


def write_beir(data: Beir, folder: str | Path, split: str = "test") -> None:
    """Write a folder that ``read_beir`` reads back."""
    root = Path(folder)
    (root / "qrels").mkdir(parents=True, exist_ok=True)
    with open(root / "corpus.jsonl", "w", encoding="utf-8") as file:
        for key, passage in data.corpus.items():
            file.write(json.dumps({"_id": key, **passage}, ensure_ascii=False) + "\n")
    with open(root / "queries.jsonl", "w", encoding="utf-8") as file:
        for key, text in data.queries.items():
            file.write(json.dumps({"_id": key, "text": text}, ensure_ascii=False) + "\n")
    with open(root / "qrels" / f"{split}.tsv", "w", encoding="utf-8") as file:
        file.write("query-id\tcorpus-id\tscore\n")
        for query, documents in data.qrels.items():
            file.writelines(f"{query}\t{document}\t{grade}\n" for document, grade in documents.items())


def find_qrels(folder: Path, split: str = "test") -> Path:
    """Return the path of a split's qrels file; DataError if there is none."""
    path = _existing(folder / "qrels" / f"{split}.tsv")
    if path is None:
        splits = sorted(path.name for path in (folder / "qrels").glob("*.tsv*"))
        raise DataError(
            f"{folder}: there is no qrels/{split}.tsv; a BEIR folder holds corpus.jsonl, queries.jsonl and "
            f"qrels/*.tsv, here {', '.join(splits) or 'none'}"
        )
    return path


def _entries(path: Path) -> list[tuple[str, str, str]]:
    """Id, title and text of each line."""
    file = _existing(path)
    if file is None:
        raise DataError(f"{path}: there is no such file")
    entries: dict[str, tuple[str, str, str]] = {}
    for number, line in enumerate(FileContent.read(file).lines(), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            key, title, text = entry["_id"], entry.get("title") or "", entry["text"]
        except (ValueError, TypeError, AttributeError, KeyError):
            raise DataError(f'{file}, line {number}: not an object with "_id" and "text"') from None
        if not all(isinstance(value, str) for value in (key, title, text)):
            raise DataError(f'{file}, line {number}: "_id", "title" and "text" must be strings')
        if key in entries:
            raise DataError(f"{file}, line {number}: the id {key!r} appears twice")
        entries[key] = (key, title, text)
    return list(entries.values())


def _existing(path: Path) -> Path | None:
    return next((p for p in (path, path.with_name(path.name + ".gz")) if p.exists()), None)
