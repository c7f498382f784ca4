"""Search among the passages of documents by their words: BM25 of SQLite's FTS5.

Passages stand in reading order, so that the passages beside one are known. An index is a file that
is opened again without reading the passages, and needs little memory. On 100,000 passages of 115
words, FTS5 was as fast to build as the libraries that are written for it, in a twentieth of their
memory.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from functools import cached_property
from hashlib import blake2b
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple, Self

from claimeval.lexical.words import is_unspaced_script, words_apart

VERSION = 1
"""Raise it when the tables or the words change: older files are built anew."""
COMMON = 0.1
"""A word in more than this share of the passages is left out of queries: it takes most of the time
and moves the first hit in none of 300 queries."""
LEAST_COMMON = 20
"""Number of passages up to which no word is common."""
FEWEST = 3
"""Words of a query that are kept however common they are."""
_WORD = re.compile(r"[^\W_]+")
_TOKENIZER = "tokenize='porter unicode61 remove_diacritics 2'"
_TABLES = f"""
CREATE TABLE passages
    (place INTEGER PRIMARY KEY, id TEXT, document TEXT, title TEXT, text TEXT, hash BLOB);
CREATE VIRTUAL TABLE words USING fts5(text, content='', {_TOKENIZER});
CREATE TABLE common (word TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_QUERY_TABLES = f"""
CREATE VIRTUAL TABLE temp.query USING fts5(text, {_TOKENIZER});
CREATE VIRTUAL TABLE temp.stems USING fts5vocab(temp, query, instance);
"""
_BATCH = 1000


class Passage(NamedTuple):
    """A part of a document."""

    id: str
    document: str
    """Name of the document. Passages of the same one that follow each other stand beside each
    other; with an empty name, a passage stands beside none."""
    text: str
    title: str | None = None

    @property
    def searched(self) -> str:
        """The text that is searched: with the title, if there is one."""
        return f"{self.title}\n{self.text}" if self.title else self.text


class PassageIndex:
    """Passages in reading order that are searched by their words. A passage is named by its place,
    from 0.

    >>> index = PassageIndex.build([Passage("a", "x", "It is old."), Passage("b", "x", "No tea.")])
    >>> index.search("tea", 5), index.beside(1)
    ([1], (0,))
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        """Search the passages of an open database; `build` and `open` make one."""
        self._database = database
        database.executescript(_QUERY_TABLES)

    @classmethod
    def build(cls, passages: Iterable[Passage], path: Path | None = None) -> Self:
        """Index passages, into a new file or in memory."""
        database = _connect(path)
        database.executescript(_TABLES)
        rows = enumerate(passages)
        while batch := list(islice(rows, _BATCH)):
            stored = [
                (place, one.id, one.document, one.title, one.text, _hash(one.text))
                for place, one in batch
            ]
            database.executemany("INSERT INTO passages VALUES (?, ?, ?, ?, ?, ?)", stored)
            words = [(place, words_apart(one.searched)) for place, one in batch]
            database.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", words)
        database.execute("CREATE INDEX by_id ON passages (id)")
        database.execute("CREATE INDEX by_text ON passages (hash)")
        database.execute("INSERT INTO words (words) VALUES ('optimize')")
        (count,) = database.execute("SELECT count(*) FROM passages").fetchone()
        database.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, words, row)")
        database.execute(
            "INSERT INTO common SELECT term FROM temp.vocabulary WHERE doc > ?",
            (max(LEAST_COMMON, int(COMMON * count)),),
        )
        database.execute(f"PRAGMA user_version = {VERSION}")
        database.commit()
        return cls(database)

    @classmethod
    def open(cls, path: Path) -> Self | None:
        """Open the file of an index; None if there is none, or if it is of another version or was
        not finished."""
        if not path.exists():
            return None
        database = _connect(path)
        try:
            (version,) = database.execute("PRAGMA user_version").fetchone()
        except sqlite3.DatabaseError:
            version = None
        if version != VERSION:
            database.close()
            return None
        return cls(database)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    @cached_property
    def _count(self) -> int:
        (count,) = self._database.execute("SELECT count(*) FROM passages").fetchone()
        return int(count)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: int) -> Passage:
        found = self._database.execute(
            "SELECT id, document, text, title FROM passages WHERE place = ?", (place,)
        ).fetchone()
        if found is None:
            raise IndexError(place)
        return Passage(*found)

    def __iter__(self) -> Iterator[Passage]:
        return (self[place] for place in range(len(self)))

    @cached_property
    def documents(self) -> int:
        """The number of documents with a name."""
        query = "SELECT count(DISTINCT document) FROM passages WHERE document != ''"
        (count,) = self._database.execute(query).fetchone()
        return int(count)

    @cached_property
    def scattered(self) -> frozenset[str]:
        """The documents whose passages do not follow each other, as in an export without order:
        nothing shows which passages of these are neighbors."""
        query = (
            "SELECT document FROM passages WHERE document != '' GROUP BY document"
            " HAVING max(place) - min(place) + 1 > count(*)"
        )
        return frozenset(document for (document,) in self._database.execute(query))

    def search(
        self, query: str, limit: int, *, within: str | None = None, without: Collection[int] = ()
    ) -> list[int]:
        """Return the places of the passages that fit a query best, the best first.

        Passages with equal texts are one, of which the first is returned.

        Args:
            query: A text, of which any words may be in a passage.
            limit: The most places to return.
            within: The only document to search; None for all.
            without: Places that are left out, with all passages of the same text.
        """
        terms = self._terms(query)
        if not terms:
            return []
        marks = ", ".join("?" * len(without))
        rows = self._database.execute(
            f"SELECT hash FROM passages WHERE place IN ({marks})", tuple(without)
        )
        hashes = {bytes(digest) for (digest,) in rows}
        found = list[int]()
        for place, digest in self._matches(terms, within):
            if digest not in hashes:
                hashes.add(digest)
                found.append(place)
            if len(found) == limit:
                break
        return found

    def _matches(self, terms: str, within: str | None) -> Iterator[tuple[int, bytes]]:
        rows = self._database.execute(
            "SELECT place, hash FROM words JOIN passages ON place = words.rowid"
            " WHERE words MATCH ? AND (? IS NULL OR document = ?) ORDER BY rank",
            (terms, within, within),
        )
        with closing(rows):
            yield from rows

    def _terms(self, query: str) -> str:
        """Return the words of a query that are not common, in the language of FTS5."""
        words = _words(query)
        stems = self._stems(words)
        asked = list(stems.values())
        marks = ", ".join("?" * len(asked))
        rows = self._database.execute(f"SELECT word FROM common WHERE word IN ({marks})", asked)
        common = {word for (word,) in rows}
        rare = [word for word in words if stems.get(word) not in common]
        # A question of common words alone, "what is the price", would otherwise find nothing.
        chosen = rare if len(rare) >= FEWEST else words
        terms = [f'"{word}"' for word in chosen]
        if is_unspaced_script(query):
            terms += _pairs(query)
        return " OR ".join(terms)

    def rest_of(self, query: str, place: int) -> str:
        """Return the words of a query that a passage does not have in any form."""
        words = _words(query)
        stems = self._stems(words)
        known = set(self._stems(_words(self[place].searched)).values())
        return " ".join(word for word in words if stems.get(word) not in known)

    def _stems(self, words: Sequence[str]) -> dict[str, str]:
        """Return the stem of each word, as the index has it."""
        database = self._database
        database.execute("DELETE FROM temp.query")
        database.executemany(
            "INSERT INTO temp.query (rowid, text) VALUES (?, ?)", enumerate(words, 1)
        )
        rows = database.execute("SELECT doc, term FROM temp.stems")
        return {words[number - 1]: term for number, term in rows}

    def beside(self, place: int) -> tuple[int, ...]:
        """Return the places before and after a passage that are of the same document."""
        document = self[place].document
        if not document:
            return ()
        rows = self._database.execute(
            "SELECT place FROM passages WHERE place IN (?, ?) AND document = ? ORDER BY place",
            (place - 1, place + 1, document),
        )
        return tuple([int(number) for (number,) in rows])

    def find(self, name: str | None, text: str) -> int | None:
        """Return the place of the passage with this text: that with the id, else the first one;
        None if there is none. White space does not count."""
        rows = self._database.execute(
            "SELECT place, id FROM passages WHERE hash = ? ORDER BY place", (_hash(text),)
        ).fetchall()
        if not rows:
            return None
        return next((int(place) for place, known in rows if known == name), int(rows[0][0]))

    def has_id(self, name: str) -> bool:
        """Return whether a passage has this id."""
        query = "SELECT 1 FROM passages WHERE id = ? LIMIT 1"
        return self._database.execute(query, (name,)).fetchone() is not None

    def size(self, places: Iterable[int]) -> int:
        """Return the number of characters of passages together."""
        numbers = list(places)
        marks = ", ".join("?" * len(numbers))
        query = f"SELECT coalesce(sum(length(text)), 0) FROM passages WHERE place IN ({marks})"
        (total,) = self._database.execute(query, numbers).fetchone()
        return int(total)


def _connect(path: Path | None) -> sqlite3.Connection:
    # a run prepares its items in one thread and may read them in another, never in both at once
    return sqlite3.connect(path or ":memory:", check_same_thread=False)


def _hash(text: str) -> bytes:
    """Return the digest of a text without differences in white space."""
    return blake2b(" ".join(text.split()).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _words(text: str) -> list[str]:
    return list(dict.fromkeys(_WORD.findall(words_apart(text).lower())))


def _pairs(query: str) -> Iterator[str]:
    """Yield phrases of two neighboring characters of scripts without spaces.

    A single character of Chinese says little: pairs are the usual words of a search in it.
    """
    for run in re.findall(r"[^\W_]+", query):
        for pair in pairwise(run):
            if all(map(is_unspaced_script, pair)):
                yield f'"{pair[0]} {pair[1]}"'
