"""Find out whether a file would be read otherwise than it is meant: fields beside those that are
read, JSON as a text, names of documents as their texts. Such a file is refused with the options
that read it.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from claimeval.data.hints import longest_text, options, proposals, speaks_of_documents, words_of
from claimeval.data.mapping import RowMapping, presets
from claimeval.data.paths import is_pattern, opened, roots, values_at
from claimeval.data.rows import SourceRow
from claimeval.types.errors import DataError
from claimeval.types.records import Sample

OVERLOOKED = "overlooked"
"""The kind of the error."""
_LOOKED_AT = 1000
"""Rows that are looked at, from the first."""
_KEPT = 20
"""Rows that are kept to look for a field in them."""
_TEXTS = ("question", "answer")
_NAME = re.compile(r"(?=.*[A-Za-z])(?=.*[\d_])[A-Za-z0-9_.:/#-]{3,100}")
"""A text that is more likely the name of a document."""
_REFERENCE = re.compile(r"(?!https?:)[a-z][\w+.-]*://\S+|(?s:[^(]*\bObjectRef\(\w+=.*)")
"""A text that only names where a value is, also as Python prints it in objects."""
_SEPARATOR = "|"
_WORDS = 3
"""What joins contexts in one text, as DeepEval writes CSV, and the words that each has at least."""
Reads = Callable[[Sequence[SourceRow], RowMapping], bool]
"""Whether rows can be read with a mapping."""


class Overlooked:
    """Looks at samples and their rows one by one."""

    def __init__(
        self, name: str, mapping: RowMapping, names: Mapping[str, Sequence[str]], reads: Reads
    ) -> None:
        self._name = name
        self._mapping = mapping
        self._names = names
        self._reads = reads
        fields = (*_TEXTS, "contexts", "reference_answers")
        self._having: dict[str, list[SourceRow]] = {field: [] for field in fields}
        self._lacking: dict[str, list[SourceRow]] = {field: [] for field in fields}
        self._json: dict[str, SourceRow] = {}
        self._rows = 0
        self._seen = Counter[str]()
        self._jsons = Counter[str]()
        self._names_only = Counter[bool]()
        self._references = self._joined = self._separate = 0
        """Questions that are references, contexts that seem to be joined in one text, and other
        contexts."""

    @property
    def open(self) -> bool:
        """Whether further rows are looked at."""
        return self._rows < _LOOKED_AT

    def add(self, sample: Sample, row: SourceRow) -> bool:
        """Add the sample in a row. Return whether it is the last one that is looked at."""
        self._rows += 1
        texts = [each.text for each in sample.contexts or ()]
        has = {
            "question": bool(sample.question.strip()),
            "answer": sample.answer is not None,
            "contexts": any(text.strip() for text in texts),
            "reference_answers": bool(sample.reference_answers),
        }
        for field, present in has.items():
            self._seen[field] += present
            kept = (self._having if present else self._lacking)[field]
            if len(kept) < _KEPT:
                kept.append(row)
        for field, text in zip(_TEXTS, (sample.question, sample.answer), strict=True):
            if (
                text
                and text[0] in "{["
                and text.rstrip()[-1:] in ("}", "]")
                and not isinstance(opened(text), str)
            ):
                self._jsons[field] += 1
                self._json.setdefault(field, row)
        self._references += bool(_REFERENCE.fullmatch(sample.question))
        joined = len(texts) == 1 and _are_joined(texts[0].split(_SEPARATOR))
        self._separate += bool(texts) and not joined
        self._joined += joined
        if texts:
            self._names_only[all(map(_NAME.fullmatch, texts))] += 1
        return not self.open

    def check(self) -> str | None:
        """Return options that would read more, if there are any. Raises DataError for what is read
        otherwise."""
        if not self._rows:
            return None
        notes = presets()[self._mapping.preset].notes if self._mapping.preset in presets() else {}
        if self._references == self._seen["question"] > 0 and not self._mapping.is_given(
            "question"
        ):
            whole = notes.get("question", "export the texts that they refer to")
            raise self._error(f"questions are references, not texts: {whole}")
        self._check_json()
        if self._mapping.of_spans:
            return None
        self._check_names()
        self._check_joined()
        absent = [
            field
            for field in self._having
            if not self._seen[field] and self._mapping.fields.get(field) != ("",)
        ]
        found = self._offered({field: self._lacking[field] for field in absent})
        missing = [field for field in found if field != "reference_answers"]
        if missing:
            without = " ".join(f"--field {field}=" for field in missing)
            raise self._error(
                f"{_and(missing)} would not be read, and may be in other fields: add"
                f" {options(found)} ({without}: read without)"
            )
        self._check_documents_without_texts()
        if "contexts" in notes and "contexts" in absent:
            raise self._error(f"{notes['contexts']} (--field contexts=: read without)")
        self._check_some_rows()
        return options(found) or None

    def _offered(self, lacking: Mapping[str, Sequence[SourceRow]]) -> dict[str, tuple[str, ...]]:
        """Return paths of fields that rows lack, which can be read together.

        A path that leads nowhere in at most half of the rows is followed by an empty one, for those
        rows.
        """
        rows = {id(row): row for of_field in lacking.values() for row in of_field}.values()
        originals = [row._replace(fields=dict(row.origin), raw=None) for row in rows]
        names = tuple(dict.fromkeys(name for row in originals for name in row.fields))
        paths = [path for of_field in self._mapping.fields.values() for path in of_field]
        taken = {
            *paths,
            *(name for path in paths if is_pattern(path) for name in roots(names, path)),
        }
        taken |= {
            name
            for field, names in self._names.items()
            if field not in (*lacking, "sources")
            for name in names
        }
        readable: dict[str, tuple[str, ...]] = {}
        for field, path in proposals(
            [row.fields for row in originals], list(lacking), taken, certain=True
        ).items():
            leading = sum(row.leads(path) for row in lacking[field])
            fields = {**readable, field: (path,) if leading == len(lacking[field]) else (path, "")}
            if 2 * leading >= len(lacking[field]) and self._reads(
                originals, self._mapping.overridden_by(RowMapping(fields=fields))
            ):
                readable = fields
        return readable

    def _check_json(self) -> None:
        for field, row in self._json.items():
            if 2 * self._jsons[field] < self._seen[field] or self._mapping.is_given(field):
                continue
            names = [*self._mapping.fields.get(field, ()), *self._names[field]]
            column = next(
                (root for name in names for root in roots(tuple(row.origin), name)), field
            )
            inside = {column: row.origin.get(column)}
            path = proposals([inside], [field]).get(field) or longest_text(inside[column], column)
            better = f"add {options({field: path})}, or " if path else "add "
            raise self._error(
                f"{field} is JSON text: {better}{options({field: column})} to take the whole"
            )

    def _check_names(self) -> None:
        if (
            self._names_only[True]
            and not self._names_only[False]
            and not self._mapping.is_given("contexts")
        ):
            column = self._path_of_contexts()
            raise self._error(
                f"{column} seem to be names of documents, without their texts, which are in the"
                f" corpus: add the texts to each row as a list {column}. If they are the texts:"
                f" {options({'contexts': column})}"
            )

    def _check_joined(self) -> None:
        """Raise DataError if contexts seem to be joined in one text."""
        if (
            self._joined
            and self._joined >= self._separate
            and not self._mapping.is_given("contexts")
        ):
            raise self._error(
                f"contexts seem to be joined by {_SEPARATOR!r}: add --field"
                f" split={shlex.quote(_SEPARATOR)}, or"
                f" {options({'contexts': self._path_of_contexts()})} if each is one text"
            )

    def _path_of_contexts(self) -> str:
        row = self._having["contexts"][0].origin
        paths = (*self._mapping.fields.get("contexts", ()), *self._names["contexts"])
        return next((path for path in paths if any(True for _ in values_at(row, path))), "contexts")

    def _check_documents_without_texts(self) -> None:
        """Raise DataError if the rows only have the names of their documents."""
        if (
            self._seen["contexts"]
            or not self._seen["answer"]
            or self._mapping.fields.get("contexts") == ("",)
        ):
            return
        for name, value in self._lacking["contexts"][0].origin.items():
            listed = opened(value)
            objects = (
                isinstance(listed, list)
                and listed
                and all(isinstance(item, dict) for item in listed)
            )
            if objects and speaks_of_documents(words_of(name)):
                raise self._error(
                    f"{name} has {', '.join(listed[0])} of documents, but not their texts, which"
                    " are in the corpus: add them to each object as text (--field contexts=: read"
                    " without)"
                )

    def _check_some_rows(self) -> None:
        """Raise DataError if rows without a question or an answer have it under a name that others
        do not have."""
        for field in _TEXTS:
            lacking = self._lacking[field]
            having = self._having[field]
            if not lacking or not having or self._mapping.is_given(field):
                continue
            paths = self._offered({field: lacking}).get(field)
            if paths and not any(roots(tuple(row.origin), paths[0]) for row in having):
                usual = self._mapping.fields.get(field) or tuple(
                    name for name in self._names[field] if any(name in row.origin for row in having)
                )
                where = lacking[0].location
                raise self._error(
                    f"{where}: {field} is in {paths[0]!r}: add {options({field: [*usual, *paths]})}"
                )

    def _error(self, problem: str) -> DataError:
        return DataError(f"{self._name}: {problem}", kind=OVERLOOKED)


def _are_joined(parts: Sequence[str]) -> bool:
    """Return whether these parts of a text are texts; those of a table have spaces beside the
    separators."""
    return len(parts) > 1 and all(
        part == part.strip() and len(part.split()) >= _WORDS for part in parts
    )


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
