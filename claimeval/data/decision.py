"""Decide once, for a whole file, where each field of a sample is, or what has to be asked.

A file is read without a question only if one reading is left. Names say what a column may be and
never decide between two columns that may be one field: such a file is refused with every reading,
as options that can be typed as printed. What is missing and what is ambiguous stands in one
refusal.

These laws hold for what is inferred. What the caller names is taken as named.

- No path serves two fields.
- Of two paths of which one holds a part of the other's text, the part is left out.
- Evidence is never the answer, the question, or all messages of the same conversation.
- The order of columns and rows of equal rank never matters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from claimeval.data import documents
from claimeval.data.context_ids import has_ids
from claimeval.data.conversations import exchanges, messages_in, said_in
from claimeval.data.field_names import (
    Words,
    answers,
    by_a_system,
    describes,
    is_generic,
    is_gold,
    is_singular,
    may_answer,
    may_reply,
    names_documents,
    names_ids,
    rank_of_text,
    says_nothing_of_its_kind,
    speaks_of_documents,
    words_of,
)
from claimeval.data.mapping import SETTINGS, RowMapping, options, presets
from claimeval.data.paths import is_pattern, numbers, opened, passages, roots, values_at
from claimeval.data.profile import PathValues, profile
from claimeval.data.reasoning import mark_of
from claimeval.data.rows import SourceRow
from claimeval.types.records import Sample

Paths = str | tuple[str, ...]
Reading = Mapping[str, Paths]
"""Paths by field, which can be given as a mapping."""
Read = Callable[[SourceRow, RowMapping], Sample | None]
"""Reads the sample in a row with a mapping; None if it cannot be read."""

FIELDS = ("question", "answer", "contexts")
"""Fields that a file is refused for if they may be elsewhere."""
NO_COLUMN = "no column is known"
REFERENCES = ("reference_answers", "reference_contexts")
"""Fields that are offered and never asked for."""
_READINGS = 6
"""Readings that a refusal lists at most."""
_ALTERNATIVES = 3
"""Other paths of a field in a refusal, at most."""
_OF_DOCUMENTS = frozenset(
    {"page_content", "pageContent", "node", "document.content", "kwargs", "_source"}
)
"""Names that only documents have."""
_UNNAMED = 2
"""The rank of a list of documents whose name does not say that these are documents."""
_LONG_WORD = 4
"""Letters from which a word seldom is one of grammar alone."""
_SENTENCE = 4
"""Words from which a text may be an answer or a passage although its name hardly says so."""


class Candidate(NamedTuple):
    """A path that may lead to a field, and why."""

    path: str
    why: str
    rank: tuple[int, ...] = ()
    """Lower is better."""


class Question(NamedTuple):
    """Something that has to be asked about a field."""

    field: str
    problem: str
    readings: tuple[Reading, ...]
    """All readings, the likeliest first."""
    skippable: bool = False
    """Whether the field may also be left out."""


@dataclass(frozen=True)
class Decision:
    """Where the fields of a file are."""

    mapping: RowMapping
    candidates: Mapping[str, tuple[Candidate, ...]]
    """Paths that may lead to each field, the likeliest first, with the reason."""
    questions: tuple[Question, ...]
    offered: Reading
    """Paths of fields that are missing and may be there, which is no reason to refuse the file."""
    remarks: tuple[str, ...] = ()
    """What is noticed in the texts that are read."""
    stop: str | None = None
    """What is wrong with the texts that are read, and no other path mends."""

    @property
    def readings(self) -> tuple[Reading, ...]:
        """All readings of the file: the likeliest, and those that differ from it in one field."""
        if not self.questions:
            return ()
        references = {name: self.offered[name] for name in REFERENCES if name in self.offered}
        likeliest = [references, *(question.readings[0] for question in self.questions)]
        readings = [_together(likeliest)]
        for number, question in enumerate(self.questions, 1):
            for other in question.readings[1:]:
                readings.append(_together([*likeliest[:number], other, *likeliest[number + 1 :]]))
        return tuple(map(_in_order, filter(_is_apart, readings)))[:_READINGS]

    @property
    def refusal(self) -> str | None:
        """What has to be asked, with every reading as options; None if nothing has to."""
        if not self.questions:
            return self.stop
        by_problem = dict.fromkeys(question.problem for question in self.questions)
        skippable = [question.field for question in self.questions if question.skippable]
        without = " ".join(f"--field {name}=" for name in skippable)
        readings = ", or ".join(map(options, self.readings))
        end = f" ({without}: read without)" if skippable else ""
        return f"{'; '.join(by_problem)}: add {readings}{end}"


def _together(readings: Iterable[Reading]) -> Reading:
    together: dict[str, Paths] = {}
    for reading in readings:
        together |= reading
    return together


def _is_apart(reading: Reading) -> bool:
    """Return whether no path of a reading serves two fields."""
    paths: list[str] = []
    for name, given in reading.items():
        if name not in SETTINGS:
            paths += [given] if isinstance(given, str) else given
    paths = list(filter(None, paths))
    return len(set(paths)) == len(paths)


def _in_order(reading: Reading) -> Reading:
    order = ("messages", *FIELDS, *REFERENCES)
    names = sorted(reading, key=lambda name: order.index(name) if name in order else -1)
    return {name: reading[name] for name in names}


def decide(
    rows: Sequence[SourceRow], mapping: RowMapping, known: Mapping[str, Sequence[str]], read: Read
) -> Decision:
    """Return where the fields of a file are.

    Args:
        rows: The first rows, and later ones that have other columns.
        mapping: What the caller names, over the preset of a recognized export.
        known: The names that are recognized, by field.
        read: Reads the sample in a row.
    """
    return _Table(rows, mapping, known, read).decision()


class _Table:
    """The rows that are looked at, what is read of them today, and what else they have."""

    def __init__(
        self,
        rows: Sequence[SourceRow],
        mapping: RowMapping,
        known: Mapping[str, Sequence[str]],
        read: Read,
    ) -> None:
        self._mapping = mapping
        self._known = known
        self._read = read
        self._rows = [row._replace(fields=dict(row.origin), raw=None) for row in rows]
        self._paths = profile([row.fields for row in self._rows])
        self._columns = {field: self._columns_of(field) for field in (*known, *mapping.fields)}
        """The columns or paths that each field is read from."""
        self._several = {
            field: columns for field in known if len(columns := self._different(field)) > 1
        }
        """Fields with several known names that hold different values."""
        self._objects = tuple(name for name in FIELDS[:2] if self._holds_objects(name))
        """Fields whose column has objects or lists instead of texts."""
        settled = {field: columns[:1] for field, columns in self._several.items()}
        settled |= dict.fromkeys(self._objects, ("",))
        readable = mapping.overridden_by(RowMapping(fields=settled)) if settled else mapping
        self._samples = [read(row, readable) for row in self._rows]

    def decision(self) -> Decision:
        """Return the mapping, what has to be asked, and what can be offered."""
        if stop := self._references() or self._of_messages():
            return Decision(self._mapping, {}, (), {}, stop=stop)
        if self._mapping.of_spans:
            return Decision(self._mapping, {}, tuple(self._json_texts()), {})
        asked: dict[str, Question] = {}
        for question in self._about_what_is_read():
            asked.setdefault(question.field, question)
        named: set[str] = set()
        for question in asked.values():
            named.update(chain.from_iterable(question.readings))
        missing = [name for name in FIELDS if name not in named and self._lacks(name)]
        found = self._search(missing, asked)
        missing_fields = self._missing(found, is_refused=bool(asked))
        for question in (*missing_fields, *self._some_rows(asked)):
            asked.setdefault(question.field, question)
        reasoning = self._reasoning() if asked else None
        if reasoning:
            asked[reasoning.field] = reasoning
        offered: dict[str, Paths] = {}
        for name, candidates in found.items():
            if candidates and name not in asked:
                offered |= self._fully(name, candidates[0].path)
        ids = self._about_context_ids()
        if ids and self._columns.get("reference_context_ids") and "contexts" not in asked:
            asked[ids.field] = ids
        elif ids and not asked:
            offered |= ids.readings[0]
        return Decision(
            mapping=self._mapping,
            candidates={name: tuple(each) for name, each in found.items()},
            questions=tuple(asked.values()),
            offered=offered,
            stop=self._stop(asked),
            remarks=(*self._several_passages(), *self._html()),
        )

    def _about_what_is_read(self) -> Iterable[Question]:
        yield from self._known_names()
        yield from self._beside_messages()
        yield from self._second_columns()
        yield from self._contents()

    def _about_context_ids(self) -> Question | None:
        columns = self._context_ids()
        if not columns:
            return None
        problem = f"ids of contexts may be in {_or(columns)}"
        readings = tuple({"context_ids": column} for column in columns)
        return Question("context_ids", problem, readings, skippable=True)

    def _context_ids(self) -> list[str]:
        """Return columns that may have the ids of contexts without ids: as many of them, each once,
        in every row."""
        if self._mapping.is_given("context_ids") or self._columns.get("context_ids"):
            return []
        samples = [sample for sample in self._samples if sample and sample.contexts]
        if not samples or all(map(has_ids, samples)):
            return []
        taken = self._taken()
        names = dict.fromkeys(chain.from_iterable(row.fields for row in self._rows))
        return [name for name in names if name not in taken and self._may_be_ids(name)]

    def _may_be_ids(self, column: str) -> bool:
        words = words_of(column)
        if is_gold(words) or not names_ids(words):
            return False
        for row, sample in zip(self._rows, self._samples, strict=True):
            contexts = sample.contexts if sample else None
            ids = opened(row.fields.get(column))
            if not contexts:
                continue
            if not isinstance(ids, list) or len(ids) != len(contexts):
                return False
            texts = [str(name) for name in ids if isinstance(name, (str, int))]
            if len(set(texts)) < len(contexts):
                return False
        return True

    # What is read

    def _columns_of(self, field: str) -> tuple[str, ...]:
        paths = self._mapping.fields.get(field)
        if paths is None:
            paths = tuple(self._known.get(field, ()))
            return tuple(path for path in paths if self._fills(path, field))
        leading: list[str] = []
        for path in filter(None, paths):
            if not any(_leads(row, path) for row in self._rows):
                continue
            names = self._roots(path) if is_pattern(path) else (path,)
            leading += dict.fromkeys(names)
        return tuple(leading)

    def _fills(self, column: str, field: str) -> bool:
        """Return whether some row has something in a column that may be a value of a field."""
        for row in self._rows:
            value = row.fields.get(column)
            if field == "contexts" and isinstance(value, (int, float)):
                continue
            if value is not None and value == value and value not in ("", [], {}):
                return True
        return False

    def _has(self, sample: Sample | None, field: str) -> bool:
        if sample is None:
            return False
        if field == "question":
            return bool(sample.question.strip())
        if field == "answer":
            return sample.answer is not None
        if field == "contexts":
            return any(each.text.strip() for each in sample.contexts or ())
        return bool(getattr(sample, field))

    def _lacks(self, field: str) -> bool:
        """Return whether no row has a field that the caller did not name."""
        if self._mapping.is_given(field) or self._mapping.fields.get(field) == ("",):
            return False
        if self._columns.get(field) and not any(self._samples):
            return (
                False  # it has a column, and what is wrong with the rows is said when they are read
            )
        return not any(self._has(sample, field) for sample in self._samples)

    def _taken(self, but: Collection[str] = ()) -> set[str]:
        taken: set[str] = set()
        for field, columns in self._columns.items():
            if field not in (*but, "sources", "metadata", "evidence"):
                taken.update(columns)
        return taken

    def _texts_of(self, field: str, row: int) -> list[str]:
        """Return the texts that a row's sample has in a field."""
        sample = self._samples[row]
        if sample is None:
            return []
        if field == "contexts":
            return [each.text for each in sample.contexts or ()]
        text = sample.question if field == "question" else sample.answer
        return [text] if text else []

    def _different(self, field: str) -> tuple[str, ...]:
        """Return the known names of a field that are in the rows; one if their values are the
        same."""
        if field in self._mapping.fields:
            return ()
        columns = self._columns[field]
        for row in self._rows:
            values = [row.fields[name] for name in columns if row.fields.get(name) is not None]
            if any(value != values[0] for value in values[1:]):
                return columns
        return columns[:1]

    def _holds_objects(self, field: str) -> bool:
        """Return whether most values of a known column are objects, or lists that are no
        conversation and no list of gold answers."""
        if field in self._mapping.fields or not self._columns[field]:
            return False
        column = self._columns[field][0]
        values = [row.fields[column] for row in self._rows if row.fields.get(column) is not None]
        within = [value for value in values if isinstance(value, (dict, list))]
        path = self._paths.get(column)
        listed = path is not None and path.kind in ("texts", "messages")
        listed |= field == "answer" and all(said_in(value) for value in within)
        return 2 * len(within) > len(values) and not listed

    # What has to be asked

    def _known_names(self) -> Iterable[Question]:
        """Ask for fields that two columns have known names of."""
        for field, columns in self._several.items():
            if field == "answer":
                continue  # with all other columns that may be answers
            if field == "contexts":
                continue
            named = " and ".join(map(repr, columns))
            readings = tuple({field: column} for column in columns)
            yield Question(field, f"{named} are names of {field}", readings)

    def _beside_messages(self) -> Iterable[Question]:
        """Ask for the answer of conversations with an answer beside which a column has another."""
        read = self._columns.get("messages", ())
        given = self._mapping.is_given("answer") or self._mapping.is_given("messages")
        if given or not read or read[0] not in self._paths:
            return
        said: dict[int, str] = {}
        for row, exchange in self._paths[read[0]].last_exchanges().items():
            asked = self._asked_beside(row)
            if asked is None or asked in exchange.question:  # else the messages are the history
                said[row] = str(exchange.answer)
        columns: list[str] = []
        for path in self._paths.values():
            known = path.path in self._columns.get("answer", ())
            taken = self._is_within(path, read) or path.path in self._taken(but=("answer",))
            if (known or (not taken and self._may_be_answer(path))) and _differ(path, said):
                columns.append(path.path)
        if columns:
            yield self._choice_beside(read[0], columns)

    def _asked_beside(self, row: int) -> str | None:
        """Return the question of a row that stands in a column of texts."""
        for name in self._columns.get("question", ()):
            path = self._paths.get(name)
            if path and path.kind == "text" and row in path.values:
                return str(path.values[row]).strip()
        return None

    def _choice_beside(self, messages: str, columns: Sequence[str]) -> Question:
        """Return the question whether the answer is in the messages or in one of these columns."""
        gold = [column for column in columns if not by_a_system(column)]
        systems = [column for column in columns if by_a_system(column)]
        readings: list[Reading] = [{"answer": column} for column in systems]
        whole = {"answer": ""}
        if gold and not self._columns.get("reference_answers"):
            readings.append({"answer": "", "reference_answers": gold[0]})
        readings += [whole, *({"answer": column} for column in gold)]
        problem = f"answer may be in {_or(columns)} or in the last message of {messages!r}"
        return Question("answer", problem, tuple(readings))

    def _second_columns(self) -> Iterable[Question]:
        """Ask for answers and contexts that another column may have."""
        for field, may_be in (("answer", self._may_be_answer), ("contexts", self._may_be_contexts)):
            read = self._columns.get(field, ())
            if self._mapping.is_given(field) or not read or field in self._objects:
                continue
            if field == "answer" and len(read) > 1 and self._of_a_pattern(field):
                yield self._of_several_systems(read)
                continue
            if any("." in path or "[" in path for path in read):
                continue  # an export of a tool says where its answer is
            taken = self._taken()
            others = [
                path.path
                for path in self._paths.values()
                if path.path not in taken
                and not self._is_within(path, taken)
                and may_be(path)
                and self._differs(path, field, read)
            ]
            if others or field in self._several or self._several_of_a_preset(field, read):
                yield self._choice(field, [*read, *others])

    def _several_of_a_preset(self, field: str, read: Sequence[str]) -> bool:
        """Return whether a row has different answers in two of the columns that a preset names."""
        if field != "answer" or field not in self._mapping.fields:
            return False
        paths = [self._paths[name] for name in read if name in self._paths]
        for row in range(len(self._rows)):
            texts = [path.texts(row) for path in paths if row in path.values]
            if any(not _same(text, texts[0]) for text in texts[1:]):
                return True
        return False

    def _of_a_pattern(self, field: str) -> bool:
        return any(is_pattern(path) for path in self._mapping.fields.get(field, ()))

    def _of_several_systems(self, columns: Sequence[str]) -> Question:
        """Ask which of several answers in a row is meant, each with the contexts beside it."""
        readings: list[Reading] = []
        for column in columns:
            reading = {"answer": column}
            if self._lacks("contexts"):
                beside = self._named("contexts", [column])
                beside.sort(key=lambda each: -_shared(each.path, [column]))
                if beside:
                    reading["contexts"] = beside[0].path
            readings.append(reading)
        return Question("answer", f"answer may be in {_or(columns)}", tuple(readings))

    def _may_be_answer(self, path: PathValues) -> bool:
        if path.kind != "text" or not _has_letters(path):
            return False
        if self._lacks("contexts") and self._may_be_evidence(path):
            return False  # asked about as what is missing
        if len(path.keys) > 1:
            return _is_answer_in_answer(path)
        name = path.keys[0]
        if answers(name) or (may_answer(name) and _are_sentences(path)):
            return True
        return self._may_reply(path) and self._speaks_of_the_question(path)

    def _may_be_evidence(self, path: PathValues) -> bool:
        name = path.keys[-1]
        return _rank_of_documents(path) is not None or (may_reply(name) and not by_a_system(name))

    def _may_reply(self, path: PathValues) -> bool:
        """Return whether sentences may be what a system wrote: their name says so, or says nothing
        while the answer that is read looks like a gold answer."""
        name = path.keys[0]
        asks = _rank("question", path) is not None and self._lacks("question")
        if asks or not _are_sentences(path):
            return False
        if may_reply(name):
            return True
        if self._columns.get("reference_answers") or not says_nothing_of_its_kind(name):
            return False
        return any(
            self._looks_gold(read, (read, path.path)) for read in self._columns.get("answer", ())
        )

    def _speaks_of_the_question(self, path: PathValues) -> bool:
        """Return whether most texts share a word with the question or the answer of their row, and
        are neither a prompt with the question in it nor a part of the evidence."""
        texts = {str(text) for text in path.values.values()}
        if (len(texts) == 1 and len(path.values) > 1) or 2 * _asks(path) > len(path.values):
            return False  # the same instruction in every row, or questions
        about = 0
        for row, text in path.values.items():
            said = _plain(str(text))
            asked = _plain(" ".join(self._texts_of("question", row)))
            answer = " ".join(self._texts_of("answer", row))
            evidence = _plain(" ".join(self._evidence(row)))
            is_prompt = bool(asked) and asked in said
            is_evidence = bool(evidence) and said in evidence
            if is_prompt or is_evidence:
                continue
            words = _telling_words(f"{asked} {_plain(answer)}")
            about += not words.isdisjoint(_telling_words(said))
        return 2 * about > len(path.values)

    def _may_be_contexts(self, path: PathValues) -> bool:
        if len(path.keys) > 1:
            return False
        rank = _rank_of_documents(path)
        named = rank is not None and rank[0] != _UNNAMED
        if not named and not (path.kind in ("texts", "documents") and self._are_passages_of(path)):
            return False
        return _are_passages(path)

    def _are_passages_of(self, path: PathValues) -> bool:
        """Return whether a list whose name does not say what it holds has texts that are no parts
        of the question or the answer."""
        if not says_nothing_of_its_kind(path.keys[0]):
            return False
        apart = 0
        for row in path.values:
            spoken = [*self._texts_of("question", row), *self._texts_of("answer", row)]
            said = _plain(" ".join(spoken))
            texts = list(map(_plain, path.texts(row)))
            within = [text for text in texts if text in said]
            if texts and not within:
                apart += 1
        return 2 * apart > len(path.values)

    def _differs(self, path: PathValues, field: str, read: Sequence[str]) -> bool:
        """Return whether a path has, in some row, another text than a field that is read and than
        the fields beside it."""
        differs = False
        for row in path.values:
            texts = path.texts(row)
            present = [self._paths[name].texts(row) for name in read if name in self._paths]
            same = any(_same(texts, each) for each in present)
            differs = differs or not same
        other = "contexts" if field == "answer" else "answer"
        return differs and not self._repeats(path, other) and not self._repeats(path, "question")

    def _repeats(self, path: PathValues, field: str) -> bool:
        """Return whether a path has the texts of a field in most rows."""
        repeated = 0
        for row in path.values:
            texts = path.texts(row)
            read = self._texts_of(field, row)
            parts = field != "contexts" and path.kind != "text" and bool(read)
            whole = _plain(" ".join(read))
            within = parts and all(_plain(text) in whole for text in texts)
            repeated += within or _same(texts, read)
        return 2 * repeated > len(path.values)

    def _choice(self, field: str, columns: Sequence[str]) -> Question:
        """Return the question which of these columns a field is, the likeliest first."""
        if field == "answer":
            return self._choice_of_answer(columns)
        ordered = sorted(columns, key=self._order_of_contexts)
        problem = f"contexts may be in {_or(ordered)} (they cannot be told apart)"
        return Question(field, problem, tuple({field: column} for column in ordered))

    def _choice_of_answer(self, columns: Sequence[str]) -> Question:
        gold: list[str] = []
        listed: list[str] = []
        for column in columns:
            if self._looks_gold(column, columns):
                gold.append(column)
                if self._paths[column].kind == "texts":
                    listed.append(column)
        has_references = bool(self._columns.get("reference_answers"))
        read = self._columns["answer"]

        numbers = [column for column in columns if column not in self._paths]
        ordered = sorted(
            columns,
            key=lambda column: (column in numbers, column in gold, column not in read, column),
        )
        readings: list[Reading] = [
            {"answer": column} for column in ordered if column not in listed or listed == ordered
        ]
        if gold and not has_references:
            # the commonest table: `answer` is a data set's, and a new column has the system's
            readings[0] = {"answer": ordered[0], "reference_answers": ordered[-1]}
        elif not has_references and not by_a_system(ordered[0]):
            systems = [column for column in ordered[1:] if by_a_system(column)]
            readings += [{"answer": name, "reference_answers": ordered[0]} for name in systems]
        why = "they cannot be told apart"
        if gold:
            like = "short texts that stand word for word in the contexts"
            like = "lists of texts" if listed else like
            why = f"{_or(listed or gold)} looks like gold answers: {like}"
        return Question("answer", f"answer may be in {_or(ordered)} ({why})", tuple(readings))

    def _order_of_contexts(self, column: str) -> tuple[bool, bool, bool, str]:
        words = words_of(column)
        searched = not {"retrieved", "retrieval", "search"}.isdisjoint(words)
        read = column in self._columns["contexts"]
        return (column != "contexts", not searched, not read, column)

    def _looks_gold(self, column: str, columns: Sequence[str]) -> bool:
        """Return whether most texts of a column stand word for word in the contexts and are shorter
        than those of another, or are lists of texts."""
        if column in self._paths and self._paths[column].kind == "texts":
            return True
        texts = self._paths[column].values if column in self._paths else {}
        quoted = 0
        for row, text in texts.items():
            contexts = " ".join(self._evidence(row)).casefold()
            others = [self._paths[name].texts(row) for name in columns if name in self._paths]
            longest = max(map(len, chain.from_iterable(others)), default=0)
            words = str(text).strip().rstrip(".").casefold()
            quoted += bool(words) and words in contexts and len(str(text)) < longest
        return bool(texts) and 2 * quoted > len(texts)

    def _evidence(self, row: int) -> list[str]:
        """Return the texts of the contexts of a row, as they are read or would be."""
        if not self._lacks("contexts"):
            return self._texts_of("contexts", row)
        candidates = self._named("contexts", self._taken())
        return self._paths[candidates[0].path].texts(row) if candidates else []

    def _contents(self) -> Iterable[Question]:
        """Ask about texts that hold several things: JSON, or passages that are joined."""
        yield from self._json_texts()
        if not self._mapping.is_given("contexts") and not self._mapping.split:
            yield from self._joined()

    def _json_texts(self) -> Iterable[Question]:
        for field in FIELDS[:2]:
            if self._mapping.is_given(field):
                continue
            texts = self._all_texts(field)
            jsons = [text for text in texts if _is_json(text)]
            if texts and 2 * len(jsons) >= len(texts):
                yield self._json(field)

    def _all_texts(self, field: str) -> list[str]:
        """Return the texts of all rows in a field."""
        by_row = (self._texts_of(field, row) for row in range(len(self._rows)))
        return list(chain.from_iterable(by_row))

    def _several_passages(self) -> Iterable[str]:
        """Notice contexts that are one text with several lines or paragraphs: an ordinary document,
        or several passages."""
        column = self._path_read("contexts")
        path = self._paths.get(column)
        if path is None or path.kind != "text" or self._mapping.is_given("contexts"):
            return
        step = _step(self._all_texts("contexts"))
        if step:
            split = options({"contexts": f"{column}[{step}]"})
            yield (
                f"{column} has several {step} in one text, which is one document: {split} reads"
                " each as a document"
            )

    def _html(self) -> Iterable[str]:
        """Notice texts with tags of HTML."""
        for field in FIELDS:
            tagged = 0
            for row in range(len(self._rows)):
                tagged += any(map(HTML_TAG.search, self._texts_of(field, row)))
            if tagged:
                noun = "row" if len(self._rows) == 1 else "rows"
                yield (
                    f"{field} has HTML tags in {tagged} of the first {len(self._rows)} {noun}:"
                    " judges read them as they stand, and local judges and word metrics without"
                )

    def _reasoning(self) -> Question | None:
        """Return the question about answers that hold the reasoning of a model, which stands in one
        refusal with others."""
        if self._mapping.answer_reasoning:
            return None
        for row in range(len(self._rows)):
            for text in self._texts_of("answer", row):
                if mark := mark_of(text):
                    problem = f"answers hold the reasoning of a model ({mark})"
                    readings = tuple({"answer_reasoning": choice} for choice in ("drop", "keep"))
                    return Question("answer_reasoning", problem, readings)
        return None

    def _json(self, field: str) -> Question:
        column = self._path_read(field)
        root = next(iter(self._roots(column)), column)
        path = _within(self._paths, root, field)
        whole: Reading = {field: column}
        readings = ({field: path}, whole) if path else (whole,)
        return Question(field, f"{field} is JSON text", readings)

    def _roots(self, path: str) -> tuple[str, ...]:
        by_row = (roots(tuple(row.fields), path) for row in self._rows)
        return tuple(chain.from_iterable(by_row))

    def _path_read(self, field: str) -> str:
        """Return the path that a field is read from in the first row that has it."""
        paths = self._columns.get(field) or (field,)
        for row in self._rows:
            for path in paths:
                if _leads(row, path):
                    return path
        return paths[0]

    def _joined(self) -> Iterable[Question]:
        separators: list[str] = []
        rows = 0
        for row in range(len(self._rows)):
            texts = self._texts_of("contexts", row)
            rows += bool(texts)
            if len(texts) == 1 and (separator := _separator(texts[0])):
                separators.append(separator)
        for separator in dict.fromkeys(separators):
            if 2 * separators.count(separator) >= rows:
                column = self._path_read("contexts")
                split: Reading = {"split": separator}
                problem = f"contexts seem to be joined by {separator!r} in one text"
                if separator == NUMBERED:
                    split = {"contexts": f"{column}[{NUMBERED}]"}
                    problem = "contexts seem to be numbered passages in one text"
                yield Question("contexts", problem, (split, {"contexts": column}))
                return

    # What is missing

    def _search(
        self, missing: Sequence[str], asked: Mapping[str, Question]
    ) -> dict[str, list[Candidate]]:
        """Return the candidates of the missing fields, the likeliest first, no path for two."""
        taken = self._taken_by(asked)
        found: dict[str, list[Candidate]] = {}
        fields = [*missing, *(name for name in REFERENCES if self._lacks(name))]
        if "question" in missing or "answer" in missing:
            found["messages"] = self._conversations(missing, taken)
            if found["messages"]:
                best = found["messages"][0].path
                turns = self._roles(best)
                fields = [name for name in fields if name not in turns]
                taken.add(best)

        for field in fields:
            candidates = self._named(field, taken)
            if not candidates and field in FIELDS:
                candidates = self._by_shape(field, taken)
            found[field] = candidates
            if candidates:
                taken.add(candidates[0].path)
        return found

    def _taken_by(self, asked: Mapping[str, Question]) -> set[str]:
        """Return the paths that other fields have, as they are read or asked about."""
        taken = self._taken(but=self._objects)
        for question in asked.values():
            for reading in question.readings:
                taken.update(path for path in reading.values() if isinstance(path, str))
            # what stands beside an answer within its JSON may be another field
            likeliest = [path for path in question.readings[0].values() if isinstance(path, str)]
            taken -= {
                column for column in taken if any(_leads_into(at, [column]) for at in likeliest)
            }
        return taken

    def _roles(self, path: str) -> set[str]:
        """Return the fields that conversations at a path have."""
        values = list(self._paths[path].values.values())
        fields = {"question"}
        if 2 * sum(_is_answered(value) for value in values) > len(values):
            fields.add("answer")
        return fields

    def _conversations(self, missing: Sequence[str], taken: Collection[str]) -> list[Candidate]:
        if "question" in missing and "answer" in missing:
            # a history that ends with an answer is the whole conversation
            taken = set(taken) - set(self._columns.get("history", ()))
        paths = [
            path
            for path in self._paths.values()
            if path.kind == "messages" and path.path not in taken
        ]
        wanted = [path for path in paths if set(missing) & self._roles(path.path)]
        wanted.sort(key=lambda path: (len(path.keys), path.path))
        return [Candidate(path.path, "a list of messages") for path in wanted]

    def _named(self, field: str, taken: Collection[str]) -> list[Candidate]:
        """Return the paths whose names say that they are a field, the likeliest first."""
        ranked: list[tuple[tuple[int, ...], int, PathValues]] = []
        for path in self._paths.values():
            if path.path in taken or self._is_within(path, taken):
                continue
            rank = _rank(field, path)
            if rank is not None and field == "question":
                # of two names, the one whose texts are questions
                rank = (rank[0], 2 * _asks(path) <= len(path.values), *rank[1:])
            if rank is not None and not (field == "contexts" and self._is_no_evidence(path, taken)):
                ranked.append((rank, -_shared(path.path, taken), path))
        ranked.sort(key=lambda each: (each[0], each[1], each[2].path))
        wholes = self._wholes(field, [path for _, _, path in ranked])
        why = f"its name is one of {field}"
        return [
            Candidate(path.path, why, (*rank, unlike))
            for rank, unlike, path in ranked
            if path in wholes
        ]

    def _is_within(self, path: PathValues, taken: Collection[str]) -> bool:
        """Return whether a path leads into one that another field has; what a message carries
        beside its text is not taken with the conversation."""
        for at in taken:
            if path.path.startswith((f"{at}.", f"{at}[")):
                outer = self._paths.get(at)
                if outer is None or outer.kind != "messages":
                    return True
        return False

    def _wholes(self, field: str, paths: Sequence[PathValues]) -> list[PathValues]:
        """Leave out paths with a part, or a copy, of the text of another."""
        if field not in FIELDS[:2]:
            likelier: list[str] = []
            for path in paths:
                if not _leads_into(path.path, likelier):
                    likelier.append(path.path)
            return [path for path in paths if path.path in likelier]
        kept: list[PathValues] = []
        for path in paths:
            wholes = [other for other in paths if other is not path and _holds(other, path)]
            copies = [other for other in kept if _holds(path, other) and _holds(other, path)]
            longer = [other for other in wholes if not _holds(path, other)]
            if not copies and not (longer and "[" in path.path):
                kept.append(path)
        return kept

    def _is_no_evidence(self, path: PathValues, taken: Collection[str]) -> bool:
        """Return whether a path has the answer, the question, or the messages of a conversation, as
        far as they are known, or parts of them, such as those that citations are about, in most
        rows."""
        repeats = 0
        for row in path.values:
            texts = set(map(_plain, path.texts(row)))
            said = self._said(row, taken)
            spoken = [text for text in said if not _is_json(text)]
            repeats += bool(texts)
            for text in texts - said:
                if not any(text in other for other in spoken):
                    repeats -= 1
                    break
        return 2 * repeats > len(path.values)

    def _said(self, row: int, taken: Collection[str]) -> set[str]:
        """Return what a row says in its question, its answer and the paths that fields have."""
        said: set[str] = set()
        for field in FIELDS[:2]:
            said.update(map(_plain, self._texts_of(field, row)))
        for at in taken:
            if (other := self._paths.get(at)) and other.kind in ("text", "messages"):
                said.update(map(_plain, other.texts(row)))
        return said

    def _by_shape(self, field: str, taken: Collection[str]) -> list[Candidate]:
        """Return the likeliest path of a field by what the paths hold: questions end with a
        question mark, and answers are the longest other texts."""
        free = [path for path in self._paths.values() if self._is_free(path, taken)]
        if field == "contexts":
            return self._lists_by_shape(free, taken)
        texts = [path for path in free if path.kind == "text" and _has_spaces(path)]
        if field == "question":
            asking = [path for path in texts if _asks(path)]
            asking.sort(key=lambda path: (-_asks(path), len(path.keys), path.path))
            return [Candidate(path.path, "texts with a question mark") for path in asking]
        if self._knows_a_column():
            texts = [path for path in texts if _are_sentences(path)]
        texts.sort(key=lambda path: (not may_reply(path.keys[-1]), -_length(path), path.path))
        return [Candidate(path.path, "the longest texts") for path in texts]

    def _is_free(self, path: PathValues, taken: Collection[str]) -> bool:
        """Return whether a path may be any field, as far as its name says."""
        if path.path in taken or self._is_within(path, taken) or self._is_one_of_many(path):
            return False
        return not describes(words_of(path.keys[-1])) and not is_gold(_all_words(path))

    def _lists_by_shape(
        self, free: Iterable[PathValues], taken: Collection[str]
    ) -> list[Candidate]:
        evidence = [path for path in free if not self._is_no_evidence(path, taken)]
        lists = sorted(filter(_has_documents, evidence), key=_documents_first)
        if lists or not self._knows_a_column():
            return [Candidate(path.path, "a list of texts") for path in lists]
        texts = sorted(filter(_is_text_of_sentences, evidence), key=_longest_first)
        return [Candidate(path.path, "the longest texts") for path in texts]

    def _is_one_of_many(self, path: PathValues) -> bool:
        """Return whether the name of a path has a number, and several others differ only in it, as
        in an object of questions by their ids."""
        stem = _DIGITS.sub("0", path.path)
        alike = [other for other in self._paths if _DIGITS.sub("0", other) == stem]
        return path.keys[-1][-1:].isdigit() and len(alike) > 2

    def _missing(
        self, found: Mapping[str, Sequence[Candidate]], *, is_refused: bool
    ) -> Iterable[Question]:
        """Ask for fields that would not be read and may be elsewhere.

        Documents under a name that says nothing are asked about only if the file is refused anyway.
        """
        known = self._knows_a_column()
        certain: dict[str, list[Reading]] = {}
        for field in self._asked_about(found, is_refused=is_refused):
            if readings := self._readings_of(field, found[field]):
                certain[field] = readings
        names = [name for name in certain if name != "messages"]
        if "messages" in certain:
            names = [*sorted(self._roles(found["messages"][0].path)), *names]
        if not names:
            return
        problem = f"{_and(names)} would not be read, and may be in other fields"
        if not known:
            columns = dict.fromkeys(chain.from_iterable(row.fields for row in self._rows))
            problem = f"{NO_COLUMN}; it has {', '.join(columns)}"
        for field, readings in certain.items():
            yield Question(field, problem, tuple(readings), skippable=known and field != "messages")

    def _asked_about(
        self, found: Mapping[str, Sequence[Candidate]], *, is_refused: bool
    ) -> list[str]:
        """Return the fields whose likeliest path is certain enough to refuse the file, in order."""
        fields = list(filter(found.get, (*FIELDS, "messages")))
        if not self._knows_a_column():
            return fields
        certain: list[str] = []
        listed: list[str] = []
        for name in fields:
            likeliest = found[name][0]
            if self._is_certain(name, likeliest):
                certain.append(name)
            elif name == "contexts" and self._paths[likeliest.path].kind == "documents":
                listed.append(name)
        return certain + listed if certain or is_refused else []

    def _readings_of(self, field: str, candidates: Sequence[Candidate]) -> list[Reading]:
        """Return the readings of a field that would not be read, the likeliest first."""
        paths = [candidates[0].path, *self._rivals(field, candidates)]
        if field == "answer":
            gold: list[str] = []
            others: list[str] = []
            systems: list[str] = []
            for path in paths:
                if self._looks_gold(path, paths):
                    gold.append(path)
                elif by_a_system(self._paths[path].keys[-1]):
                    systems.append(path)
                else:
                    others.append(path)
            paths = systems + others + gold
        if field == "contexts":
            paths = [*self._steps(paths[0]), *paths[1:]]
        readings: list[Reading] = []
        for path in paths:
            reading = self._fully(field, path)
            if reading and reading not in readings:
                readings.append(reading)
        return readings

    def _is_certain(self, field: str, candidate: Candidate) -> bool:
        """Return whether a path is a field by its name, by its messages, or by what its texts ask
        or speak of."""
        path = self._paths[candidate.path]
        if field == "question" and not candidate.rank:
            return 2 * _asks(path) > len(path.values)
        if field == "answer" and not candidate.rank:
            return may_reply(path.keys[-1]) and self._speaks_of_the_question(path)
        return field == "messages" or (bool(candidate.rank) and candidate.rank[0] != _UNNAMED)

    def _steps(self, path: str) -> list[str]:
        """Return a path to evidence, also with the step into a text that holds several passages.

        A plural name says that they are several, else the whole text goes first.
        """
        values = self._paths[path]
        if values.kind != "text":
            return [path]
        texts = [str(text) for text in values.values.values()]
        step = _step(texts)
        if not step:
            return [path]
        name = path.rsplit(".")[-1]
        several = step == NUMBERED or not is_singular(name)
        stepped = f"{path}[{step}]"
        return [stepped, path] if several else [path, stepped]

    def _knows_a_column(self) -> bool:
        """Return whether some row can be read, if only in part."""
        return any(self._columns[field] for field in FIELDS) or any(self._samples)

    def _stop(self, asked: Collection[str]) -> str | None:
        """Return what is wrong with the contexts that are read, which no other path mends."""
        if self._mapping.is_given("contexts") or "contexts" in asked:
            return None
        lists = [
            texts for row in range(len(self._rows)) if (texts := self._texts_of("contexts", row))
        ]
        if lists and all(_NAME.fullmatch(text) for text in chain.from_iterable(lists)):
            column = self._path_read("contexts")
            return (
                f"{column} seem to be names of documents, without their texts, which are in the"
                f" corpus: add the texts to each row as a list {column}. If they are the texts:"
                f" {options({'contexts': column})}"
            )
        if lists or self._mapping.fields.get("contexts") == ("",):
            return None
        note = self._notes.get("contexts")
        return self._without_texts() or (note and f"{note} (--field contexts=: read without)")

    @property
    def _notes(self) -> Mapping[str, str]:
        preset = presets().get(self._mapping.preset or "")
        return preset.notes if preset else {}

    def _references(self) -> str | None:
        """Return what is wrong with questions that only name where their texts are."""
        questions = [self._texts_of("question", row) for row in range(len(self._rows))]
        questions = [texts for texts in questions if texts]
        references = [texts for texts in questions if _REFERENCE.fullmatch(texts[0])]
        if references and references == questions and not self._mapping.is_given("question"):
            whole = self._notes.get("question", "export the texts that they refer to")
            return f"questions are references, not texts: {whole}"
        return None

    def _of_messages(self) -> str | None:
        """Return what is wrong with rows that are single messages, of users and of assistants."""
        if self._mapping.fields or any(self._columns.get(name) for name in FIELDS):
            return None
        roles: set[str] = set()
        for row in self._rows:
            messages = messages_in([row.fields])
            if not messages or len(messages) > 1:
                return None
            roles.add(messages[0].role)
        if not roles >= {"user", "assistant"}:
            return None
        return (
            "each row is one message: make one row of each conversation, with its messages in order"
            ' as a list, {"messages": [{"role": "user", "content": "..."}, ...]}'
        )

    def _without_texts(self) -> str | None:
        """Return what is wrong with rows that have an answer and only the names of documents."""
        for row, sample in zip(self._rows, self._samples, strict=True):
            if sample is None or sample.answer is None:
                continue
            for name, value in row.fields.items():
                listed = opened(value)
                if not isinstance(listed, list) or not listed:
                    continue
                objects = all(isinstance(item, dict) for item in listed)
                texts = any(map(documents.document, listed))
                if objects and not texts and speaks_of_documents(words_of(name)):
                    return (
                        f"{name} has {', '.join(listed[0])} of documents, but not their texts,"
                        " which are in the corpus: add them to each object as text (--field"
                        " contexts=: read without)"
                    )
        return None

    def _rivals(self, field: str, candidates: Sequence[Candidate]) -> list[str]:
        """Return the other paths that may be a field as well as the first."""
        first = self._paths[candidates[0].path]
        rivals: list[str] = []
        for candidate in candidates[1:]:
            path = self._paths[candidate.path]
            beside = path.keys[:-1] == first.keys[:-1]
            beside = beside and candidate.rank[-1:] == candidates[0].rank[-1:]
            named = field != "answer" or answers(path.keys[-1])
            rank = candidate.rank[:-1] if field == "answer" else candidate.rank
            equal = bool(rank) and rank == candidates[0].rank[: len(rank)]
            if (equal or (beside and named)) and field != "messages":
                rivals.append(candidate.path)
        return rivals[:_ALTERNATIVES]

    def _fully(self, field: str, path: str) -> Reading:
        """Return the reading of a field from a path; of rows without it, that they do not have it.
        Empty if most rows do not have it or cannot be read with it."""
        lacking = leading = 0
        question = ""
        for row, sample in zip(self._rows, self._samples, strict=True):
            if field != "messages" and self._has(sample, field):
                continue
            asked = sample.question if sample else ""
            if _leads(row, path):
                leading += 1
                question = asked
            elif asked and asked == question:
                continue  # a further document of a question whose answer stands in its first row
            lacking += 1
        if 2 * leading < lacking:
            return {}
        named: Paths = path
        if field in ("contexts", *REFERENCES):
            names = dict.fromkeys(chain.from_iterable(row.fields for row in self._rows))
            named = _with_siblings(path, self._paths, names)
        if leading < lacking:
            named = (*([named] if isinstance(named, str) else named), "")
        return {field: named}

    def _some_rows(self, asked: Collection[str]) -> Iterable[Question]:
        """Ask for a question or an answer that some rows have under a name that others lack."""
        for field in FIELDS[:2]:
            if field in asked or self._mapping.is_given(field) or self._lacks(field):
                continue
            lacking = [
                row
                for row, sample in zip(self._rows, self._samples, strict=True)
                if not self._has(sample, field)
            ]
            having = [row for row in self._rows if row not in lacking]
            if not lacking or not having:
                continue
            for candidate in self._named(field, self._taken()):
                path = candidate.path
                in_lacking = sum(row.leads(path) for row in lacking)
                if 2 * in_lacking >= len(lacking) and not any(row.leads(path) for row in having):
                    usual = self._mapping.fields.get(field) or self._columns[field]
                    problem = f"{lacking[0].location}: {field} is in {path!r}"
                    yield Question(field, problem, ({field: (*usual, path)},))
                    break


def _is_answer_in_answer(path: PathValues) -> bool:
    """Return whether a path is that of an object of answers, such as `response.answer`."""
    return len(path.keys) == 2 and all(map(answers, path.keys)) and "[" not in path.path


def _longest_first(path: PathValues) -> tuple[float, str]:
    return (-_length(path), path.path)


def inside(value: object, column: str, field: str) -> str | None:
    """Return the path of a field within the value of a column; None if it has no text."""
    return _within(profile([{column: value}]), column, field)


def _within(paths: Mapping[str, PathValues], column: str, field: str) -> str | None:
    """Return the path of a field within a column: a named one, else that of the longest texts."""
    within = [
        path
        for path in paths.values()
        if path.kind == "text" and path.path.startswith((f"{column}.", f"{column}["))
    ]
    named = [(rank, path.path) for path in within if (rank := _rank(field, path)) is not None]
    if named:
        return min(named)[1]
    longest = max(within, key=_length, default=None)
    return longest.path if longest else None


HTML_TAG = re.compile(
    r"</?(?:p|div|br|hr|table|thead|tbody|tr|td|th|ul|ol|li|h[1-6]|span|b|i|u|em|strong|a|sup|sub)"
    r"(?:\s[^<>]{0,500})?/?>",
    re.IGNORECASE,
)
"""A tag of HTML."""
_FILE = re.compile(r"\.(?:pdf|docx?|pptx?|xlsx?|md|txt|html?|csv|jsonl?)$", re.IGNORECASE)
"""The end of the name of a file."""
_NAME = re.compile(r"(?=.*[A-Za-z])(?=.*[\d_])[A-Za-z0-9_.:/#-]{3,100}")
"""A text that is more likely the name of a document."""
_DIGITS = re.compile(r"\d+")
_REFERENCE = re.compile(r"(?!https?:)[a-z][\w+.-]*://\S+|(?s:[^(]*\bObjectRef\(\w+=.*)")
"""A text that only names where a value is, also as Python prints it in objects."""
NUMBERED = "numbered"
_SEPARATOR = "|"
"""What joins contexts in one text, as DeepEval writes CSV."""
_WORDS = 3
"""Words that each of joined passages has at least."""


def _separator(text: str) -> str | None:
    """Return what joins several passages in a text."""
    if text.lstrip().startswith("[") and len(numbers(text)) > 1:
        return NUMBERED
    parts = text.split(_SEPARATOR)
    # those of a table have spaces beside the separators
    joined = all(part == part.strip() and len(part.split()) >= _WORDS for part in parts)
    return _SEPARATOR if len(parts) > 1 and joined else None


def _step(texts: Sequence[str]) -> str | None:
    """Return the step that most of these texts hold several passages by."""
    for step in (NUMBERED, "paragraphs", "lines"):
        several = 0
        for text in texts:
            parts = passages(text, step)
            several += len(parts) > 1 and all(len(part.split()) >= _WORDS for part in parts)
        if 2 * several > len(texts):
            return step
    return None


def _is_json(text: str) -> bool:
    text = text.strip()
    return text[:1] in ("{", "[") and text[-1:] in ("}", "]") and not isinstance(opened(text), str)


def _rank(field: str, path: PathValues) -> tuple[int, ...] | None:
    """Return how well a path fits a field, lower is better; None if it cannot be one."""
    keys = [words_of(key) for key in path.keys]
    if field in REFERENCES:
        return _rank_of_references(field, path)
    if field == "contexts":
        return _rank_of_documents(path)
    if path.kind != "text" or not _has_letters(path):
        return None
    return rank_of_text(field, keys)


def _all_words(path: PathValues) -> set[str]:
    return set(chain.from_iterable(map(words_of, path.keys)))


def _rank_of_references(field: str, path: PathValues) -> tuple[int, ...] | None:
    last = words_of(path.keys[-1])
    words = _all_words(path)
    about = speaks_of_documents(words - {"reference"}) == (field == "reference_contexts")
    fits = path.kind in ("text", "texts") or field == "reference_contexts"
    golds = path.kind == "texts" and last == ("answer",)
    if (not is_gold(words) and not golds) or not about or not fits or describes(last):
        return None
    return (len(path.keys), len(last))


def _rank_of_documents(path: PathValues) -> tuple[int, ...] | None:
    """Return how well a path fits contexts: documents go before lists of texts, and these before
    one text."""
    if path.kind == "messages" or _is_gold_evidence(path):
        return None
    if path.kind == "text":
        return _rank_of_one_text(path)
    last = words_of(path.keys[-1])
    depth = len(path.keys)
    telling = speaks_of_documents(_telling(path), listed=True)
    named = telling or speaks_of_documents(_all_words(path))
    if path.kind == "texts":
        return (1, depth) if named and _are_passages(path) and not describes(last) else None
    if speaks_of_documents(last, listed=True):
        return (0, depth)
    return (1 if named or _is_typed(path) else _UNNAMED, depth)


def _is_gold_evidence(path: PathValues) -> bool:
    """Return whether a path leads to references. A list `references` may be documents, while
    `referenceResponses` and a text `reference` are gold answers."""
    words = _all_words(path)
    last = words_of(path.keys[-1])
    may_be_documents = path.kind != "text" and last[-1:] == ("reference",)
    if may_be_documents:
        words -= set(last)
    return is_gold(words)


def _is_typed(path: PathValues) -> bool:
    """Return whether the first document has a key that only documents have."""
    first = next(iter(path.values.values()))
    first = first[0] if isinstance(first, (list, tuple)) else first
    return isinstance(first, Mapping) and not _OF_DOCUMENTS.isdisjoint(first)


def _rank_of_one_text(path: PathValues) -> tuple[int, ...] | None:
    name = path.keys[-1]
    if describes(words_of(name)) or words_of(name) == ("search",):
        return None  # a search is asked, and its hits are documents
    depth = len(path.keys)
    long = _are_sentences(path)
    several = not is_singular(name) and "[" not in path.path
    if names_documents(name, in_sentences=False) and (long or several):
        return (3, depth)
    return (4, depth) if long and names_documents(name, in_sentences=True) else None


def _telling(path: PathValues) -> Words:
    """Return the words of the last key that says something: of `facts[*].text`, fact."""
    last = words_of(path.keys[-1])
    if len(path.keys) > 1 and is_generic(last):
        return words_of(path.keys[-2])
    return last


def _with_siblings(path: str, paths: Mapping[str, PathValues], columns: Iterable[str]) -> Paths:
    """Return the path of a numbered column as that of all that have another number: as a pattern,
    or one by one if other columns have that pattern too."""
    stem = path.rstrip("0123456789")
    alike = [other for other in paths if other.rstrip("0123456789") == stem != other]
    if stem == path or len(alike) < 2 or "." in path or "[" in path:
        return path
    others = [name for name in columns if name.startswith(stem) and name not in alike]
    return tuple(sorted(alike, key=_by_number)) if others else f"{stem}*"


def _by_number(name: str) -> tuple[int, str]:
    return (len(name), name)


def _differ(path: PathValues, said: Mapping[int, str]) -> bool:
    """Return whether a path has, in some row, another text than what was said there."""
    for row, text in path.values.items():
        if row in said and not _same([str(text)], [said[row]]):
            return True
    return False


def _shared(path: str, used: Iterable[str]) -> int:
    """Return how many keys a path has in common with the one of these that begins most like it."""
    shared = 0
    for other in used:
        count = 0
        for key, key_of_other in zip(_keys(path), _keys(other), strict=False):
            if key != key_of_other:
                break
            count += 1
        shared = max(shared, count)
    return shared


def _leads(row: SourceRow, path: str) -> bool:
    return any(True for _ in values_at(row.fields, path))


def _leads_into(path: str, others: Iterable[str]) -> bool:
    """Return whether a path is that of a part of what one of the others leads to."""
    return any(path.startswith((f"{other}.", f"{other}[")) for other in others)


def _keys(path: str) -> list[str]:
    return re.split(r"[.\[]", path)


def _holds(whole: PathValues, part: PathValues) -> bool:
    """Return whether a path holds the text of another in most rows."""
    held = 0
    for row, text in part.values.items():
        held += any(_plain(str(text)) in _plain(other) for other in whole.texts(row))
    return 2 * held > len(part.values)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _same(texts: Iterable[str], others: Iterable[str]) -> bool:
    """Return whether texts are the same but for white space, also if one has them joined."""
    return _plain(" ".join(texts)) == _plain(" ".join(others))


def _telling_words(text: str) -> set[str]:
    """Return the words of a text that say what it is about, as far as their length shows."""
    return {word for word in re.findall(r"\w+", text) if len(word) >= _LONG_WORD}


def _has_letters(path: PathValues) -> bool:
    return any(any(map(str.isalpha, str(text))) for text in path.values.values())


def _has_documents(path: PathValues) -> bool:
    return path.kind == "documents" or (path.kind == "texts" and _has_spaces(path))


def _documents_first(path: PathValues) -> tuple[bool, int, str]:
    return (path.kind != "documents", len(path.keys), path.path)


def _is_text_of_sentences(path: PathValues) -> bool:
    return path.kind == "text" and _are_sentences(path)


def _has_spaces(path: PathValues) -> bool:
    return any(" " in text for text in chain.from_iterable(map(path.texts, path.values)))


def _length(path: PathValues) -> float:
    texts = [len(str(text)) for text in path.values.values()]
    return sum(texts) / len(texts)


def _asks(path: PathValues) -> int:
    return sum(str(text).rstrip().endswith(("?", "？", "؟")) for text in path.values.values())


def _are_sentences(path: PathValues) -> bool:
    """Return whether most texts have several words."""
    long = sum(len(str(text).split()) >= _SENTENCE for text in path.values.values())
    return 2 * long > len(path.values)


def _are_passages(path: PathValues) -> bool:
    """Return whether most texts are sentences, and not the names of documents."""
    texts = list(chain.from_iterable(path.texts(row) for row in path.values))
    names = [text for text in texts if _is_name(text)]
    return 2 * len(names) < len(texts)


def _is_name(text: str) -> bool:
    short = len(text.split()) < _SENTENCE and text.rstrip()[-1:] not in (".", "!", "?", "。")
    return short or bool(_FILE.search(text))


def _is_answered(messages: object) -> bool:
    """Return whether the last question of a conversation has an answer."""
    last = exchanges(messages_in(messages) or ())[-1:]
    return any(exchange.answer is not None for exchange in last)


def _or(names: Sequence[str]) -> str:
    quoted = list(map(repr, names))
    return " or ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1])))


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
