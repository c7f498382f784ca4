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
from types import MappingProxyType
from typing import Any, NamedTuple

from claimeval.data import documents
from claimeval.data.context_ids import has_ids
from claimeval.data.conversations import exchanges, messages_in, said_in
from claimeval.data.field_names import (
    answers,
    by_a_system,
    describes,
    is_apart_from_remarks,
    is_gold,
    is_of_a_system,
    is_singular,
    may_answer,
    may_have_passages,
    may_reply,
    may_sum_up,
    names_gold_documents,
    names_ids,
    says_nothing_of_a_list,
    says_nothing_of_its_kind,
    speaks_of_documents,
    words_of,
)
from claimeval.data.mapping import SETTINGS, RowMapping, options, presets
from claimeval.data.path_ranks import (
    REFERENCES,
    UNNAMED,
    path_within,
    rank_of,
    rank_of_documents,
    words_of_path,
)
from claimeval.data.path_texts import (
    HTML_TAG,
    NUMBERED,
    are_passages,
    are_same,
    are_sentences,
    count_questions,
    facts_in,
    folded,
    has_documents,
    has_letters,
    has_spaces,
    have_sentences,
    holds,
    is_json,
    is_name,
    is_text_of_sentences,
    mean_length,
    separator_of,
    step_of,
    telling_words,
)
from claimeval.data.paths import is_pattern, opened, roots, values_at
from claimeval.data.profile import PathValues, first_item, profile
from claimeval.data.reasoning import mark_of
from claimeval.data.rows import SourceRow
from claimeval.lexical.words import is_unspaced_script
from claimeval.types.records import Sample

Paths = str | tuple[str, ...]
Reading = Mapping[str, Paths]
"""Paths by field, which can be given as a mapping."""
Read = Callable[[SourceRow, RowMapping], Sample | None]
"""Reads the sample in a row with a mapping; None if it cannot be read."""

FIELDS = ("question", "answer", "contexts")
"""Fields that a file is refused for if they may be elsewhere."""
NO_COLUMN = "no column is known"
_READINGS = 6
"""Readings that a refusal lists at most."""
_ALTERNATIVES = 3
"""Other paths of a field in a refusal, at most."""


class Candidate(NamedTuple):
    """A path that may lead to a field, and why."""

    path: str
    why: str
    rank: tuple[int, ...] = ()
    """Lower is better."""


class OpenQuestion(NamedTuple):
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
    questions: tuple[OpenQuestion, ...]
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


def _first_by_field(questions: Iterable[OpenQuestion]) -> dict[str, OpenQuestion]:
    """Return the first question about each field."""
    first: dict[str, OpenQuestion] = {}
    for question in questions:
        first.setdefault(question.field, question)
    return first


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
    rows: Sequence[SourceRow],
    mapping: RowMapping,
    known: Mapping[str, Sequence[str]],
    read: Read,
) -> Decision:
    """Return where the fields of a file are.

    Args:
        rows: The first rows, and later ones that have other columns.
        mapping: What the caller names, over the preset of a recognized export.
        known: The names that are recognized, by field.
        read: Reads the sample in a row.
    """
    return _ReadColumns(rows, mapping, known, read).decision()


class _ReadColumns:
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
        # As the file has them, since a mapping may have renamed or joined columns.
        self._rows = [row._replace(fields=dict(row.origin), raw=None) for row in rows]
        self._paths = profile([row.fields for row in self._rows])
        self._columns = {field: self._columns_of(field) for field in (*known, *mapping.fields)}
        """The columns or paths that each field is read from."""
        self._beside_texts: dict[str, tuple[str, ...]] = {}
        """Known columns that have objects where another column of the field has texts."""
        for field in FIELDS[:2]:
            self._leave_objects(field)
        self._several = {
            field: columns for field in known if len(columns := self._different(field)) > 1
        }
        """Fields with several known names that hold different values."""
        self._objects = tuple(name for name in FIELDS[:2] if self._objects_of(name))
        """Fields whose column has objects or lists instead of texts."""
        several = (*self._several, *self._beside_texts)
        settled = {field: self._columns[field][:1] for field in several}
        # A column of objects would fail each row, and what else the rows have would stay unknown.
        settled |= dict.fromkeys(self._objects, ("",))
        readable = mapping.overridden_by(RowMapping(fields=settled)) if settled else mapping
        self._samples = [read(row, readable) for row in self._rows]
        self._asking: PathValues | None = None
        """Where the question is that would not be read."""

    def decision(self) -> Decision:
        """Return the mapping, what has to be asked, and what can be offered."""
        if stop := self._references() or self._of_messages():
            return Decision(self._mapping, {}, (), {}, stop=stop)
        # A trace has one question and one answer by its spans, so columns are no rivals.
        if self._mapping.of_spans:
            return Decision(self._mapping, {}, tuple(self._json_texts()), {})
        about_what_is_read = chain(
            self._known_names(),
            self._beside_messages(),
            self._second_columns(),
            self._around_answers(),
            self._conversations_beside_gold(),
            self._contents(),
        )
        asked = _first_by_field(about_what_is_read)
        found = self._search(self._lacking(asked.values()), asked)
        missing_fields = self._missing(found, is_refused=bool(asked))
        asked = _first_by_field([*asked.values(), *missing_fields, *self._some_rows(asked)])
        # Contexts that would be refused once the questions found so far are answered are asked for
        # now, so that the command is refused once.
        if "contexts" not in asked and (unread := self._unread_beside(asked)):
            asked["contexts"] = OpenQuestion("contexts", unread, ({"contexts": ""},))
        # So is what to do with reasoning, which alone is no reason to refuse.
        reasoning = self._reasoning() if asked else None
        if reasoning:
            asked[reasoning.field] = reasoning
        offered: dict[str, Paths] = {}
        for name, candidates in found.items():
            if candidates and name not in asked:
                offered |= self._fully(name, candidates[0].path)
        ids = self._about_context_ids()
        # Ids of gold contexts are of no use without those of contexts; else they are only offered.
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

    def _lacking(self, asked: Iterable[OpenQuestion]) -> list[str]:
        """Return the fields that no row has, without those that are asked about."""
        named: set[str] = set()
        for question in asked:
            named.update(chain.from_iterable(question.readings))
        return [name for name in FIELDS if name not in named and self._lacks(name)]

    def _about_context_ids(self) -> OpenQuestion | None:
        columns = self._context_ids()
        if not columns:
            return None
        problem = f"ids of contexts may be in {_or(columns)}"
        readings = tuple({"context_ids": column} for column in columns)
        return OpenQuestion("context_ids", problem, readings, skippable=True)

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
            # One row in which they do not pair is enough: ids of other documents would give false
            # ranks.
            if not isinstance(ids, list) or len(ids) != len(contexts):
                return False
            texts = [str(name) for name in ids if isinstance(name, (str, int))]
            if len(set(texts)) < len(contexts):
                return False
        return True

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
            # NaN, which pandas writes for nothing, does not equal itself.
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

    def _asked_in(self, row: int) -> list[str]:
        """Return the question of a row, as it is read or would be."""
        asked = self._texts_of("question", row)
        return self._asking.texts(row) if self._asking and not asked else asked

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

    def _leave_objects(self, field: str) -> None:
        """Leave the known columns of objects out of those of a field, if others have texts. What is
        within them may be the field; they are not."""
        objects = self._objects_of(field)
        texts = tuple(name for name in self._columns[field] if name not in objects)
        if objects and texts:
            self._columns[field] = texts
            self._beside_texts[field] = objects

    def _objects_of(self, field: str) -> tuple[str, ...]:
        """Return the known columns of a field that have objects."""
        if field in self._mapping.fields:
            return ()
        return tuple(name for name in self._columns[field] if self._is_of_objects(field, name))

    def _is_of_objects(self, field: str, column: str) -> bool:
        """Return whether most values of a column are objects, or lists that are no conversation
        and no list of gold answers."""
        values = [row.fields[column] for row in self._rows if row.fields.get(column) is not None]
        within = [value for value in values if isinstance(value, (dict, list))]
        path = self._paths.get(column)
        listed = path is not None and path.kind in ("texts", "messages")
        # An answer as a list of parts, as OpenAI's Responses API has it, is read as one text.
        listed |= field == "answer" and all(said_in(value) for value in within)
        # Most of them: one odd row of a thousand is an error of that row.
        return 2 * len(within) > len(values) and not listed

    def _beside_columns_of_objects(self, field: str) -> OpenQuestion:
        """Return the question about a column whose name another column of objects has too."""
        column = self._columns[field][0]
        objects = _or(self._beside_texts[field])
        problem = f"{field} is in {column!r}, and {objects}, which is its name too, holds objects"
        return OpenQuestion(field, problem, ({field: column},))

    def _known_names(self) -> Iterable[OpenQuestion]:
        """Ask for fields that two columns have known names of."""
        if "question" in self._beside_texts and "question" not in self._several:
            yield self._beside_columns_of_objects("question")
        for field, columns in self._several.items():
            if field in ("answer", "contexts"):
                continue  # with all other columns that may be the field
            named = " and ".join(map(repr, columns))
            readings = tuple({field: column} for column in columns)
            yield OpenQuestion(field, f"{named} are names of {field}", readings)

    def _beside_messages(self) -> Iterable[OpenQuestion]:
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

    def _choice_beside(
        self,
        messages: str,
        columns: Sequence[str],
        unread: Reading = MappingProxyType({}),
    ) -> OpenQuestion:
        """Return the question whether the answer is in the messages or in one of these columns.

        Args:
            messages: The path of the messages.
            columns: The columns.
            unread: The reading of the messages, if they are not read.
        """
        gold = [column for column in columns if not by_a_system(column)]
        systems = [column for column in columns if by_a_system(column)]
        readings: list[Reading] = [{"answer": column} for column in systems]
        whole = {**unread, "answer": ""}
        if gold and not self._columns.get("reference_answers"):
            readings.append({**whole, "reference_answers": gold[0]})
        readings += [whole, *({"answer": column} for column in gold)]
        problem = f"answer may be in {_or(columns)} or in the last message of {messages!r}"
        return OpenQuestion("answer", problem, tuple(readings))

    def _second_columns(self) -> Iterable[OpenQuestion]:
        """Ask for answers and contexts that another column may have."""
        for field, may_be in (("answer", self._may_be_answer), ("contexts", self._may_be_contexts)):
            read = self._columns.get(field, ())
            if self._mapping.is_given(field) or not read or field in self._objects:
                continue
            by_pattern = any(map(is_pattern, self._mapping.fields.get(field, ())))
            if field == "answer" and len(read) > 1 and by_pattern:
                yield self._of_several_systems(read)
                continue
            if any("." in path or "[" in path for path in read):
                continue  # an export of a tool says where its answer is
            others = self._others(field, may_be, read)
            several = field in self._several or self._several_of_a_preset(field, read)
            if others or several:
                yield self._choice(field, [*read, *others])
            elif field in self._beside_texts:
                yield self._beside_columns_of_objects(field)

    def _conversations_beside_gold(self) -> Iterable[OpenQuestion]:
        """Ask about conversations that end with another answer to the question than the one that is
        read, which looks like a gold answer: the history of a question ends with what was said
        before it."""
        read = self._columns.get("answer", ())
        given = self._mapping.is_given("answer") or self._mapping.is_given("messages")
        if given or len(read) != 1 or read[0] not in self._paths:
            return
        taken = self._taken()
        for path in self._paths.values():
            if path.kind != "messages" or path.path in taken:
                continue
            if self._is_within(path, taken):
                continue
            if self._ends_with_another_answer(path, read[0]):
                yield self._choice_beside(path.path, read, {"messages": path.path})
                return

    def _ends_with_another_answer(self, path: PathValues, column: str) -> bool:
        """Return whether conversations end with another answer to the question than a column has,
        which looks like a gold answer."""
        said: dict[int, str] = {}
        for row, exchange in path.last_exchanges().items():
            asked = self._texts_of("question", row)
            if not exchange.question or (asked and asked[0].strip() in exchange.question):
                said[row] = str(exchange.answer)
        whole = 2 * len(said) > len(path.values)
        return whole and _differ(self._paths[column], said) and self._is_read_as_gold(path)

    def _around_answers(self) -> Iterable[OpenQuestion]:
        """Ask about sentences in which the answer stands word for word, where nothing is read as
        contexts: they are a passage, or an answer to which the one that is read is gold."""
        read = self._columns.get("answer", ())
        given = self._mapping.is_given("answer") or self._mapping.is_given("contexts")
        if given or len(read) != 1 or "answer" in self._objects or not self._lacks("contexts"):
            return
        around = self._paths.get(read[0])
        if around is None or around.kind != "text" or self._named("contexts", self._taken()):
            return
        for path in self._paths.values():
            name = path.keys[0]
            free = len(path.keys) == 1 and path.path not in self._taken()
            may_be = says_nothing_of_its_kind(name) or may_reply(name)
            if not free or not may_be or not is_text_of_sentences(path):
                continue
            longer = holds(path, around) and not holds(around, path)
            if longer and self._speaks_of_the_question(path):
                yield self._passage_or_answer(read[0], path.path)
                return

    def _passage_or_answer(self, read: str, around: str) -> OpenQuestion:
        """Return the question whether a column is the answer, or the passage of the one read."""
        as_answer: dict[str, Paths] = {"answer": around}
        if not self._columns.get("reference_answers"):
            as_answer["reference_answers"] = read
        why = f"{read!r} stands in {around!r}, which may be a passage or an answer"
        readings = (as_answer, {"answer": read, "contexts": around}, {"answer": read})
        return OpenQuestion("answer", why, readings)

    def _others(
        self,
        field: str,
        may_be: Callable[[PathValues], bool],
        read: Sequence[str],
    ) -> list[str]:
        """Return the paths that may be a field as well, and that differ from those that are
        read."""
        taken = self._taken()
        if field == "answer":
            self._paths |= self._first_of_several_answers(taken)
        others = [
            path
            for path in self._paths.values()
            if path.path not in taken
            and not self._is_within(path, taken)
            and may_be(path)
            and self._differs(path, field, read)
        ]
        # Of documents and their texts the documents are offered, and of copies one.
        if field == "contexts":
            others = _outermost(others)
        names: list[str] = []
        copies: list[dict[int, list[str]]] = []
        for path in others:
            texts: dict[int, list[str]] = {}
            for row in path.values:
                texts[row] = path.texts(row)
            if len(path.keys) == 1 or texts not in copies:
                names.append(path.path)
                copies.append(texts)
        return names

    def _first_of_several_answers(self, taken: Collection[str]) -> dict[str, PathValues]:
        """Return the paths of the first of several answers that a system wrote, if the answer that
        is read looks like a gold answer."""
        found: dict[str, PathValues] = {}
        for path in self._paths.values():
            if path.kind != "texts" or path.path in taken or self._is_within(path, taken):
                continue
            if not any(map(by_a_system, path.keys)):
                continue
            if not is_apart_from_remarks(path.keys):
                continue
            if not self._is_read_as_gold(path):
                continue
            first = first_item(path, [row.fields for row in self._rows])
            if first:
                found.setdefault(first.path, first)
        return found

    def _several_of_a_preset(self, field: str, read: Sequence[str]) -> bool:
        """Return whether a row has different answers in two of the columns that a preset names."""
        if field != "answer" or field not in self._mapping.fields:
            return False
        paths = [self._paths[name] for name in read if name in self._paths]
        for row in range(len(self._rows)):
            texts = [path.texts(row) for path in paths if row in path.values]
            if any(not are_same(text, texts[0]) for text in texts[1:]):
                return True
        return False

    def _of_several_systems(self, columns: Sequence[str]) -> OpenQuestion:
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
        return OpenQuestion("answer", f"answer may be in {_or(columns)}", tuple(readings))

    def _may_be_answer(self, path: PathValues) -> bool:
        if path.kind != "text" or not has_letters(path):
            return False
        if self._lacks("contexts") and self._may_be_evidence(path):
            return False  # asked about as what is missing
        if self._is_prompt(path):
            return False
        if len(path.keys) > 1:
            return self._may_be_answer_within(path)
        name = path.keys[0]
        if answers(name) or (may_answer(name) and are_sentences(path)):
            return True
        if may_sum_up(name) and are_sentences(path) and self._speaks_of_the_question(path):
            return True
        return self._may_reply(path) and self._speaks_of_the_question(path)

    def _may_be_answer_within(self, path: PathValues) -> bool:
        """Return whether sentences within an object may be what a system wrote: their name says
        so, or says nothing and the answer that is read looks like a gold answer."""
        if len(path.keys) == 2 and all(map(answers, path.keys)) and "[" not in path.path:
            return True  # as in `response.answer`
        if "[*]" in path.path or not are_sentences(path):
            return False
        if not is_apart_from_remarks(path.keys):
            return False
        if self._is_in(path, "evidence"):
            return False
        if not self._speaks_of_the_question(path):
            return False
        named = rank_of("answer", path) is not None
        if named and not self._is_in(path, "metadata"):
            return True
        key = path.keys[-1]
        if not named and not may_reply(key) and not says_nothing_of_its_kind(key):
            return False
        return self._is_read_as_gold(path)

    def _is_read_as_gold(self, path: PathValues) -> bool:
        """Return whether the answer that is read looks like a gold answer beside other texts."""
        return any(
            self._looks_gold(read, (read, path.path)) for read in self._columns.get("answer", ())
        )

    def _may_be_evidence(self, path: PathValues) -> bool:
        name = path.keys[-1]
        return rank_of_documents(path) is not None or (may_reply(name) and not by_a_system(name))

    def _may_reply(self, path: PathValues) -> bool:
        """Return whether sentences may be what a system wrote: their name says so, or says nothing
        and they are whole, or the answer that is read looks like a gold answer."""
        name = path.keys[0]
        asks = rank_of("question", path) is not None and self._lacks("question")
        if asks or not are_sentences(path):
            return False
        if may_reply(name):
            return True
        if not says_nothing_of_its_kind(name) or self._lacks("contexts"):
            return False  # without contexts, it may be these as well
        if have_sentences(path) or self._speaks_of_the_answer(path):
            return True
        return not self._columns.get("reference_answers") and self._is_read_as_gold(path)

    def _speaks_of_the_answer(self, path: PathValues) -> bool:
        """Return whether texts have, in most rows whose answer says more than its question, a word
        of what it says."""
        about = rows = 0
        for row, text in path.values.items():
            asked = " ".join(self._texts_of("question", row))
            answer = " ".join(self._texts_of("answer", row))
            beyond = facts_in(answer) - facts_in(asked)
            rows += bool(beyond)
            about += not beyond.isdisjoint(facts_in(str(text)))
        return 2 * about > rows

    def _speaks_of_the_question(self, path: PathValues) -> bool:
        """Return whether most texts share a word with the question or the answer of their row, and
        are neither a prompt with the question in it nor a part of the evidence."""
        texts = {str(text) for text in path.values.values()}
        if (len(texts) == 1 and len(path.values) > 1) or 2 * count_questions(path) > len(
            path.values
        ):
            return False  # the same instruction in every row, or questions
        about = 0
        for row, text in path.values.items():
            said = folded(str(text))
            asked = folded(" ".join(self._asked_in(row)))
            answer = " ".join(self._texts_of("answer", row))
            evidence = folded(" ".join(self._evidence(row)))
            is_prompt = bool(asked) and asked in said
            is_evidence = bool(evidence) and said in evidence
            if is_prompt or is_evidence:
                continue
            words = telling_words(f"{asked} {folded(answer)}")
            about += not words.isdisjoint(telling_words(said))
        return 2 * about > len(path.values)

    def _may_be_contexts(self, path: PathValues) -> bool:
        if len(path.keys) > 1 or "[" in path.path:
            return self._may_be_contexts_within(path)
        if names_gold_documents(path.keys[0]) and self._has_some_of_contexts(path):
            return False  # what people chose among the documents that are searched
        if path.kind == "text":
            documents_alone = speaks_of_documents(words_of(path.keys[0]))
            if self._lacks("answer") and not documents_alone:
                return False  # a `text` may be the answer that is missing
            return self._may_be_a_passage(path) and not self._is_part_of_contexts(path)
        if names_gold_documents(path.keys[0]):
            return are_passages(path)
        rank = rank_of_documents(path)
        named = rank is not None and rank[0] != UNNAMED
        return (named or self._are_passages_of(path)) and are_passages(path)

    def _may_be_contexts_within(self, path: PathValues) -> bool:
        """Return whether documents within an object may be contexts by their names, and are not
        those that are read, or some of these."""
        if path.kind == "text" or not are_passages(path):
            return False
        rank = rank_of_documents(path)
        if rank is None or rank[0] == UNNAMED:
            return False
        if self._is_in(path, "evidence") or self._is_in(path, "metadata"):
            return False
        if not is_apart_from_remarks(path.keys):
            return False
        if self._are_spans(path):
            return False
        return not self._is_part_of_contexts(path)

    def _is_in(self, path: PathValues, field: str) -> bool:
        """Return whether a path leads into a column that is read as another field."""
        return path.keys[0] in self._columns.get(field, ())

    def _has_some_of_contexts(self, path: PathValues) -> bool:
        """Return whether some row has a text that stands in its contexts."""
        for row in path.values:
            evidence = folded(" ".join(self._texts_of("contexts", row)))
            if any(folded(text) in evidence for text in path.texts(row)):
                return True
        return False

    def _may_be_a_passage(self, path: PathValues) -> bool:
        """Return whether texts are those of documents by their name, or hold what is read as
        contexts under a name that says nothing."""
        name = path.keys[0]
        if not have_sentences(path) or self._is_prompt(path) or self._is_the_same(path):
            return False
        if may_have_passages(name) or names_gold_documents(name):
            return True
        if words_of(name) == ("reference",) and self._columns.get("reference_answers"):
            return not is_singular(name)
        return says_nothing_of_its_kind(name) and self._holds_contexts(path)

    def _is_prompt(self, path: PathValues) -> bool:
        """Return whether most texts hold the question and all contexts of their row, as what a
        model was asked does."""
        prompts = 0
        for row, text in path.values.items():
            said = folded(str(text))
            parts = [*self._texts_of("question", row), *self._texts_of("contexts", row)]
            prompts += len(parts) > 1 and all(folded(part) in said for part in parts)
        return 2 * prompts > len(path.values)

    def _is_the_same(self, path: PathValues) -> bool:
        """Return whether all rows have the same text, which is not about most of them."""
        rows = len(path.values)
        texts = {str(text) for text in path.values.values()}
        if rows < 2 or len(texts) > 1:
            return False
        return 2 * self._rows_about(path) <= rows

    def _holds_contexts(self, path: PathValues) -> bool:
        """Return whether most texts hold a passage that is read, word for word, and not the
        question too, as a prompt does."""
        holding = 0
        for row, text in path.values.items():
            said = folded(str(text))
            asked = folded(" ".join(self._texts_of("question", row)))
            if asked and asked in said:
                continue
            passages_read = map(folded, self._texts_of("contexts", row))
            holding += any(passage in said for passage in passages_read if not is_name(passage))
        return 2 * holding > len(path.values)

    def _is_part_of_contexts(self, path: PathValues) -> bool:
        """Return whether most texts stand word for word in the contexts of their row: then they say
        which of them are meant, and are no other evidence."""
        parts = 0
        for row in path.values:
            evidence = folded(" ".join(self._texts_of("contexts", row)))
            parts += all(folded(text) in evidence for text in path.texts(row))
        return 2 * parts > len(path.values)

    def _are_passages_of(self, path: PathValues) -> bool:
        """Return whether a list whose name does not say what it holds has texts that are no parts
        of the question or the answer."""
        if path.kind == "messages":
            return False
        if not says_nothing_of_a_list(path.keys[0], in_sentences=have_sentences(path)):
            return False
        apart = 0
        for row in path.values:
            spoken = [*self._texts_of("question", row), *self._texts_of("answer", row)]
            said = folded(" ".join(spoken))
            texts = list(map(folded, path.texts(row)))
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
            same = any(are_same(texts, each) for each in present)
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
            whole = folded(" ".join(read))
            within = parts and all(folded(text) in whole for text in texts)
            repeated += within or are_same(texts, read)
        return 2 * repeated > len(path.values)

    def _choice(self, field: str, columns: Sequence[str]) -> OpenQuestion:
        """Return the question which of these columns a field is, the likeliest first."""
        if field == "answer":
            return self._choice_of_answer(columns)
        ordered = sorted(columns, key=self._order_of_contexts)
        problem = f"contexts may be in {_or(ordered)} (they cannot be told apart)"
        readings: list[Reading] = [{field: column} for column in ordered]
        gold = [column for column in ordered[1:] if names_gold_documents(column)]
        if gold and not self._columns.get("reference_contexts"):
            readings[0] = {field: ordered[0], "reference_contexts": gold[0]}
        return OpenQuestion(field, problem, tuple(readings))

    def _choice_of_answer(self, columns: Sequence[str]) -> OpenQuestion:
        gold = [column for column in columns if self._looks_gold(column, columns)]
        listed = [column for column in gold if self._paths[column].kind == "texts"]
        read = self._columns["answer"]
        # Columns without a path have numbers only, which are seldom answers.
        ordered = sorted(
            columns,
            key=lambda column: (
                column not in self._paths,
                column in gold,
                column not in read,
                column,
            ),
        )
        why = "they cannot be told apart"
        if gold:
            where = "other answers" if self._lacks("contexts") else "contexts"
            like = f"short texts that stand word for word in the {where}"
            like = "lists of texts" if listed else like
            why = f"{_or(listed or gold)} looks like gold answers: {like}"
        readings = self._readings_of_answer(ordered, gold, listed)
        return OpenQuestion("answer", f"answer may be in {_or(ordered)} ({why})", tuple(readings))

    def _readings_of_answer(
        self,
        ordered: Sequence[str],
        gold: Sequence[str],
        listed: Sequence[str],
    ) -> list[Reading]:
        """Return the readings of columns that may be the answer, the likeliest first.

        Args:
            ordered: The columns, the likeliest first.
            gold: Those that look like gold answers.
            listed: Of these, those with lists of texts.
        """
        readings: list[Reading] = [
            {"answer": column} for column in ordered if column not in listed or listed == ordered
        ]
        if self._columns.get("reference_answers"):
            return readings
        if gold:
            # the commonest table: `answer` is a data set's, and a new column has the system's
            readings[0] = {"answer": ordered[0], "reference_answers": ordered[-1]}
        elif not by_a_system(ordered[0]):
            systems = [column for column in ordered[1:] if by_a_system(column)]
            readings += [{"answer": name, "reference_answers": ordered[0]} for name in systems]
        return readings

    def _order_of_contexts(self, column: str) -> tuple[bool, bool, bool, bool, str]:
        words = words_of(column)
        searched = not {"retrieved", "retrieval", "search"}.isdisjoint(words)
        read = column in self._columns["contexts"]
        gold = names_gold_documents(column)
        return (column != "contexts", gold, not searched, not read, column)

    def _looks_gold(self, column: str, columns: Sequence[str]) -> bool:
        """Return whether most texts of a column stand word for word in the contexts, or without
        these in another column, and are shorter than its texts, or are lists of texts."""
        path = self._paths.get(column)
        if path is None:
            return False
        if path.kind == "texts":
            return True
        if by_a_system(path.keys[-1]) and are_sentences(path):
            return False
        texts = path.values
        quoted = 0
        for row, text in texts.items():
            others = [
                self._paths[name].texts(row)
                for name in columns
                if name in self._paths and name != column
            ]
            evidence = self._evidence(row) or chain.from_iterable(others)
            contexts = " ".join(evidence).casefold()
            longest = max(map(len, chain.from_iterable(others)), default=0)
            words = str(text).strip().rstrip(".").casefold()
            quoted += bool(words) and words in contexts and len(str(text)) < longest
        return bool(texts) and 2 * quoted > len(texts)

    def _evidence(self, row: int) -> list[str]:
        """Return the texts of the contexts of a row, as they are read or would be."""
        if not self._lacks("contexts"):
            return self._texts_of("contexts", row)
        candidates = [
            candidate
            for candidate in self._named("contexts", self._taken())
            if candidate.rank[0] != UNNAMED
        ]
        return self._paths[candidates[0].path].texts(row) if candidates else []

    def _contents(self) -> Iterable[OpenQuestion]:
        """Ask about texts that hold several things: JSON, or passages that are joined."""
        yield from self._json_texts()
        if not self._mapping.is_given("contexts") and not self._mapping.split:
            yield from self._joined()

    def _json_texts(self) -> Iterable[OpenQuestion]:
        for field in FIELDS[:2]:
            if self._mapping.is_given(field):
                continue
            texts = self._all_texts(field)
            jsons = [text for text in texts if is_json(text)]
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
        if path is None or self._mapping.is_given("contexts"):
            return
        alone = path.kind == "texts" and all(len(each) == 1 for each in path.values.values())
        if path.kind != "text" and not alone:
            return
        step = step_of(self._all_texts("contexts"))
        # A retriever may find one document, which has lines and paragraphs like any other.
        if step and (path.kind == "text" or step.startswith("split")):
            split = options({"contexts": f"{column}[{step}]"})
            parts = "numbered parts" if step == NUMBERED else step
            parts = parts.replace("split: ", "parts between ")
            yield (
                f"{column} has several {parts} in one text, which is one document: {split} reads"
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

    def _reasoning(self) -> OpenQuestion | None:
        """Return the question about answers that hold the reasoning of a model, which stands in one
        refusal with others."""
        if self._mapping.answer_reasoning:
            return None
        for row in range(len(self._rows)):
            for text in self._texts_of("answer", row):
                if mark := mark_of(text):
                    problem = f"answers hold the reasoning of a model ({mark})"
                    readings = tuple({"answer_reasoning": choice} for choice in ("drop", "keep"))
                    return OpenQuestion("answer_reasoning", problem, readings)
        return None

    def _json(self, field: str) -> OpenQuestion:
        column = self._path_read(field)
        root = next(iter(self._roots(column)), column)
        path = path_within(self._paths, root, field)
        whole: Reading = {field: column}
        readings = ({field: path}, whole) if path else (whole,)
        return OpenQuestion(field, f"{field} is JSON text", readings)

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

    def _joined(self) -> Iterable[OpenQuestion]:
        separators: list[str] = []
        rows = 0
        for row in range(len(self._rows)):
            texts = self._texts_of("contexts", row)
            rows += bool(texts)
            if len(texts) == 1 and (separator := separator_of(texts[0])):
                separators.append(separator)
        for separator in dict.fromkeys(separators):
            if 2 * separators.count(separator) >= rows:
                column = self._path_read("contexts")
                split: Reading = {"split": separator}
                problem = f"contexts seem to be joined by {separator!r} in one text"
                if separator == NUMBERED:
                    split = {"contexts": f"{column}[{NUMBERED}]"}
                    problem = "contexts seem to be numbered passages in one text"
                elif separator.startswith("<"):
                    split = {"contexts": f"{column}[split: {separator}]"}
                    problem = f"contexts seem to be elements {separator} in one text"
                yield OpenQuestion("contexts", problem, (split, {"contexts": column}))
                return

    def _search(
        self,
        missing: Sequence[str],
        asked: Mapping[str, OpenQuestion],
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
            elif field == "answer":
                candidates = self._before_gold(candidates, taken)
            found[field] = candidates
            if candidates:
                taken.add(candidates[0].path)
                if field == "question":
                    self._asking = self._paths[candidates[0].path]
        return found

    def _before_gold(
        self,
        candidates: Sequence[Candidate],
        taken: Collection[str],
    ) -> list[Candidate]:
        """Return the candidates of the answer; if all look like gold answers, after a column of
        longer sentences about the question whose name says nothing."""
        named = {candidate.path for candidate in candidates}
        first = candidates[0] if candidates else None
        for other in candidates[1:]:
            path = self._paths[other.path]
            by_system = any(map(by_a_system, path.keys)) and self._speaks_of_the_question(path)
            if first and by_system and self._looks_gold(first.path, (first.path, other.path)):
                rest = [each for each in candidates if each is not other]
                return [Candidate(other.path, other.why, first.rank), *rest]
        for other in self._by_shape("answer", {*taken, *named}):
            path = self._paths[other.path]
            golden = all(self._looks_gold(name, (name, other.path)) for name in named)
            if not golden or not is_apart_from_remarks(path.keys):
                continue
            if self._is_in(path, "evidence"):
                continue
            if self._speaks_of_the_question(path):
                return [Candidate(other.path, other.why, candidates[0].rank), *candidates]
        return list(candidates)

    def _taken_by(self, asked: Mapping[str, OpenQuestion]) -> set[str]:
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
        answered = asked = 0
        for value in values:
            last = exchanges(messages_in(value) or ())[-1:]
            answered += any(exchange.answer is not None for exchange in last)
            asked += any(bool(exchange.question) for exchange in last)
        fields = {"answer"} if 2 * answered > len(values) else set()
        # Replies alone, as `choices` of an API, have no question.
        if asked or not fields:
            fields.add("question")
        return fields

    def _conversations(self, missing: Sequence[str], taken: Collection[str]) -> list[Candidate]:
        if "question" in missing and "answer" in missing:
            # a history that ends with an answer is the whole conversation
            names = self._columns.get("history", ())
            taken = set(taken) - set(names)
            self._read_pairs(names)
        paths = [
            path
            for path in self._paths.values()
            if path.kind == "messages" and path.path not in taken
        ]
        wanted = [path for path in paths if set(missing) & self._roles(path.path)]
        # The outermost list is the whole conversation; those within are parts of it.
        wanted.sort(key=lambda path: (len(path.keys), path.path))
        return [Candidate(path.path, "a list of messages") for path in wanted]

    def _read_pairs(self, columns: Iterable[str]) -> None:
        """Take columns with pairs of questions and answers, as Gradio has them, for conversations:
        under another name than that of a history they would be documents with titles."""
        for column in columns:
            path = self._paths.get(column)
            if path and path.kind == "messages":
                continue
            values: dict[int, Any] = {}
            for row, source in enumerate(self._rows):
                if messages_in(source.fields.get(column)):
                    values[row] = source.fields[column]
            if values:
                self._paths[column] = PathValues(column, (column,), "messages", values)

    def _named(self, field: str, taken: Collection[str]) -> list[Candidate]:
        """Return the paths whose names say that they are a field, the likeliest first."""
        ranked: list[tuple[tuple[int, ...], int, PathValues]] = []
        for path in self._paths.values():
            if path.path in taken or self._is_within(path, taken):
                continue
            rank = rank_of(field, path)
            if rank is not None and field == "question":
                # of two names, the one whose texts are questions
                rank = (rank[0], 2 * count_questions(path) <= len(path.values), *rank[1:])
            if rank is not None and not (field == "contexts" and self._is_no_evidence(path, taken)):
                ranked.append((rank, -_shared(path.path, taken), path))
        if field == "question":
            # A prompt has the question and more in it.
            paths = [path for _, _, path in ranked]
            ranked = [
                ((rank[0], rank[1], _holds_another(path, paths), *rank[2:]), unlike, path)
                for rank, unlike, path in ranked
            ]
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
            return _outermost(paths)
        kept: list[PathValues] = []
        for path in paths:
            is_copy = any(holds(path, other) and holds(other, path) for other in kept)
            # The sentences of an answer, as `claims[*].text`, are parts; a shorter answer in a
            # column of its own may be another system's.
            is_part = "[" in path.path and any(
                holds(other, path) and not holds(path, other) for other in paths
            )
            if not is_copy and not is_part:
                kept.append(path)
        return kept

    def _is_no_evidence(self, path: PathValues, taken: Collection[str]) -> bool:
        """Return whether a path has the answer, the question, or the messages of a conversation, as
        far as they are known, or parts of them, such as those that citations are about, in most
        rows. An answer may quote what a tool returned, sentence for sentence."""
        may_be_quoted = speaks_of_documents(words_of_path(path)) and not self._are_spans(path)
        repeats = 0
        for row in path.values:
            texts = set(map(folded, path.texts(row)))
            said = self._said(row, taken)
            spoken = [text for text in said if not is_json(text)]
            repeats += bool(texts)
            for text in texts - said:
                if may_be_quoted or not any(text in other for other in spoken):
                    repeats -= 1
                    break
        return 2 * repeats > len(path.values)

    def _has_what_is_said(self, path: PathValues, taken: Collection[str]) -> bool:
        """Return whether one of the texts of a list is the answer in most rows, as the last output
        of several agents is, or holds the question, as what they were asked to do does."""
        having = 0
        for row in path.values:
            texts = set(map(folded, path.texts(row)))
            asked = folded(" ".join(self._asked_in(row)))
            prompts = bool(asked) and any(asked in text for text in texts)
            having += prompts or (len(texts) > 1 and not texts.isdisjoint(self._said(row, taken)))
        return 2 * having > len(path.values)

    def _are_spans(self, path: PathValues) -> bool:
        """Return whether texts stand beside the places where they begin and end, as the parts of an
        answer do that citations are about."""
        outer = path.path.rpartition(".")[0]
        for row, value in path.values.items():
            items = documents.listed(value)
            if path.kind != "documents":
                items = list(values_at(self._rows[row].fields, outer))
            if any(map(documents.is_span, items)):
                return True
        return False

    def _said(self, row: int, taken: Collection[str]) -> set[str]:
        """Return what a row says in its question, its answer and the paths that fields have."""
        said: set[str] = set()
        for field in FIELDS[:2]:
            said.update(map(folded, self._texts_of(field, row)))
        for at in taken:
            if (other := self._paths.get(at)) and other.kind in ("text", "messages"):
                said.update(map(folded, other.texts(row)))
        return said

    def _by_shape(self, field: str, taken: Collection[str]) -> list[Candidate]:
        """Return the likeliest path of a field by what the paths hold: questions end with a
        question mark, and answers are the longest other texts."""
        free = [path for path in self._paths.values() if self._is_free(path, taken)]
        if field == "contexts":
            return self._lists_by_shape(free, taken)
        texts = [path for path in free if path.kind == "text" and has_spaces(path)]
        if field == "question":
            # a title may be the question of a forum
            apart = [path for path in self._paths.values() if self._asks_alone(path, taken)]
            return _questions_by_shape(texts) or _questions_by_shape(apart)
        # Beside a column that is known, one of single words is more likely a label than an answer.
        if self._knows_a_column():
            texts = [path for path in texts if are_sentences(path)]
        texts.sort(
            key=lambda path: (not self._may_be_of_a_system(path), -mean_length(path), path.path)
        )
        return [Candidate(path.path, "the longest texts") for path in texts]

    def _may_be_of_a_system(self, path: PathValues) -> bool:
        return may_reply(path.keys[-1]) or is_of_a_system(words_of(path.keys[-1]))

    def _is_free(self, path: PathValues, taken: Collection[str]) -> bool:
        """Return whether a path may be any field, as far as its name says."""
        if path.path in taken or self._is_within(path, taken):
            return False
        if path.keys[-1][-1:].isdigit():
            stem = _DIGITS.sub("0", path.path)
            alike = [other for other in self._paths if _DIGITS.sub("0", other) == stem]
            # Two may be `answer1` and `answer2` of two systems; of more, as in an object of
            # questions by their ids, the path is one item.
            if len(alike) > 2:
                return False
        if is_of_a_system(words_of(path.keys[-1])):
            return self._differs_by_row(path)  # else its instructions
        return not describes(words_of(path.keys[-1])) and not is_gold(words_of_path(path))

    def _asks_alone(self, path: PathValues, taken: Collection[str]) -> bool:
        """Return whether most texts of a column, whatever its name, are questions."""
        free = path.kind == "text" and len(path.keys) == 1 and path.path not in taken
        questions = free and 2 * count_questions(path) > len(path.values)
        return questions and not is_gold(words_of(path.path)) and self._differs_by_row(path)

    def _differs_by_row(self, path: PathValues) -> bool:
        rows = len(path.values)
        texts = {str(text) for text in path.values.values()}
        return rows > 1 and len(texts) == rows

    def _lists_by_shape(
        self,
        free: Iterable[PathValues],
        taken: Collection[str],
    ) -> list[Candidate]:
        evidence = [path for path in free if not self._is_no_evidence(path, taken)]
        lists = [
            path
            for path in evidence
            if has_documents(path) and not self._has_what_is_said(path, taken)
        ]
        lists.sort(
            key=lambda path: (
                path.kind != "documents",
                not says_nothing_of_a_list(path.keys[-1]),
                len(path.keys),
                path.path,
            )
        )
        if lists or not self._knows_a_column():
            return [Candidate(path.path, "a list of texts") for path in lists]
        texts = list(filter(is_text_of_sentences, evidence))
        texts.sort(key=lambda path: (-mean_length(path), path.path))
        return [Candidate(path.path, "the longest texts") for path in texts]

    def _missing(
        self,
        found: Mapping[str, Sequence[Candidate]],
        *,
        is_refused: bool,
    ) -> Iterable[OpenQuestion]:
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
        problem = f"{_joined(names, ' and ')} would not be read, and may be in other fields"
        if not known:
            columns = dict.fromkeys(chain.from_iterable(row.fields for row in self._rows))
            problem = f"{NO_COLUMN}; it has {', '.join(columns)}"
        if "answer" in certain:
            problem += self._why_gold(found["answer"])
        for field, readings in certain.items():
            yield OpenQuestion(
                field, problem, tuple(readings), skippable=known and field != "messages"
            )

    def _asked_about(
        self,
        found: Mapping[str, Sequence[Candidate]],
        *,
        is_refused: bool,
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
            elif name == "contexts" and self._are_listed_passages(self._paths[likeliest.path]):
                listed.append(name)
        return certain + listed if certain or is_refused else []

    def _are_listed_passages(self, path: PathValues) -> bool:
        """Return whether a path has documents, or lists of sentences about the question or the
        answer."""
        if path.kind != "texts":
            return path.kind == "documents"
        may_be = have_sentences(path) and says_nothing_of_a_list(path.keys[-1])
        return may_be and 2 * self._rows_about(path) > len(path.values)

    def _rows_about(self, path: PathValues) -> int:
        """Return how many texts share a word with the question or the answer of their row. In a
        script without spaces, words are not found, and each text may."""
        about = 0
        for row in path.values:
            said = folded(" ".join(path.texts(row)))
            spoken = [*self._asked_in(row), *self._texts_of("answer", row)]
            words = telling_words(folded(" ".join(spoken)))
            shared = any(word in said for word in words)
            about += not words or shared or is_unspaced_script(said)
        return about

    def _readings_of(self, field: str, candidates: Sequence[Candidate]) -> list[Reading]:
        """Return the readings of a field that would not be read, the likeliest first."""
        paths = [candidates[0].path, *self._rivals(field, candidates)]
        if field == "answer":
            return self._readings_of_answers(paths)
        if field == "contexts":
            paths = [*self._steps(paths[0]), *paths[1:]]
        return self._readings_of_paths(field, paths)

    def _readings_of_paths(self, field: str, paths: Iterable[str]) -> list[Reading]:
        """Return the reading of a field from each of these paths that most rows have, each once."""
        readings: list[Reading] = []
        for path in paths:
            reading = self._fully(field, path)
            if reading and reading not in readings:
                readings.append(reading)
        return readings

    def _readings_of_answers(self, paths: Sequence[str]) -> list[Reading]:
        """Return the readings of the answer: from what a system wrote first, from what looks like
        gold answers last, which the likeliest reading has as references."""
        gold = self._gold_among(paths)
        others = [path for path in paths if path not in gold]
        others.sort(key=lambda path: not by_a_system(self._paths[path].keys[-1]))
        readings = self._readings_of_paths("answer", [*others, *gold])
        if not gold or not readings or not self._lacks_references():
            return readings
        references = self._fully("reference_answers", gold[0])
        if not others:
            return [{"answer": "", **references}, *readings]
        return [{**readings[0], **references}, *readings[1:]]

    def _lacks_references(self) -> bool:
        return self._lacks("reference_answers") and not self._named(
            "reference_answers", self._taken()
        )

    def _gold_among(self, paths: Sequence[str]) -> list[str]:
        """Return the paths to what looks like gold answers, of those that may be the answer.

        One alone has short texts that are no sentences, which stand in the contexts if there are
        any, under a name that does not say that a system wrote them.
        """
        if len(paths) > 1:
            return [path for path in paths if self._looks_gold(path, paths)]
        (alone,) = paths
        path = self._paths[alone]
        if path.kind != "text" or by_a_system(path.keys[-1]) or are_sentences(path):
            return []
        quoted = 0
        for row, text in path.values.items():
            evidence = " ".join(self._evidence(row)).casefold()
            quoted += not evidence or str(text).strip().rstrip(".").casefold() in evidence
        return [alone] if 2 * quoted > len(path.values) else []

    def _why_gold(self, candidates: Sequence[Candidate]) -> str:
        """Return why candidates of the answer look like gold answers, as the end of a problem;
        empty if none does."""
        paths = [candidates[0].path, *self._rivals("answer", candidates)]
        gold = self._gold_among(paths)
        # Beside references, a short answer is more likely that of another system.
        if not gold or not self._lacks_references():
            return ""
        stand = ""
        if any(map(self._evidence, self._paths[gold[0]].values)):
            stand = " that stand word for word in the contexts"
        why = f" ({_or(gold)} looks like gold answers: short texts{stand}"
        if len(gold) < len(paths):
            return f"{why})"
        return f"{why}; if so, the file has no answers of a system: add them as a column answer)"

    def _is_certain(self, field: str, candidate: Candidate) -> bool:
        """Return whether a path is a field by its name, by its messages, or by what its texts ask
        or speak of."""
        path = self._paths[candidate.path]
        # Without a name, only a question mark says that a text is a question.
        if field == "question" and not candidate.rank:
            return 2 * count_questions(path) > len(path.values)
        if field == "answer" and not candidate.rank:
            return self._may_be_of_a_system(path) and self._speaks_of_the_question(path)
        if field == "contexts" and path.kind == "text":
            # The literature that a row was made from has other words than its text.
            return bool(candidate.rank) and self._rows_about(path) > 0
        return field == "messages" or (bool(candidate.rank) and candidate.rank[0] != UNNAMED)

    def _steps(self, path: str) -> list[str]:
        """Return a path to evidence, also with the step into a text that holds several passages.

        A plural name says that they are several, else the whole text goes first.
        """
        values = self._paths[path]
        if values.kind != "text":
            return [path]
        texts = [str(text) for text in values.values.values()]
        step = step_of(texts)
        if not step:
            return [path]
        name = path.rsplit(".")[-1]
        # `context` may be one page with paragraphs, and `contexts` are several.
        marked = sum(separator_of(text) == NUMBERED for text in texts)
        several = step.startswith("split") or 2 * marked > len(texts) or not is_singular(name)
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
        note = self._without_texts() or self._notes.get("contexts")
        return note and f"{note} (--field contexts=: read without)"

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
        # Rows of one role alone are no pieces of a conversation.
        if not roles >= {"user", "assistant"}:
            return None
        return (
            "each row is one message: make one row of each conversation, with its messages in order"
            ' as a list, {"messages": [{"role": "user", "content": "..."}, ...]}'
        )

    def _unread_beside(self, asked: Collection[str]) -> str | None:
        """Return what is wrong with the contexts of rows of which other fields are asked about."""
        if not asked or not self._lacks("contexts"):
            return None
        return self._without_texts(answered=not {"answer", "messages"}.isdisjoint(asked))

    def _without_texts(self, *, answered: bool = False) -> str | None:
        """Return what is wrong with rows that have an answer and only the names of documents.

        Args:
            answered: Whether all rows have an answer, elsewhere than it is read.
        """
        for row, sample in zip(self._rows, self._samples, strict=True):
            if not answered and (sample is None or sample.answer is None):
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
                        " which are in the corpus: add them to each object as text"
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
            if field == "messages":
                # a list within a conversation, or the history before a question, is no other one
                named = self._roles(candidate.path) == self._roles(first.path)
                named = named and candidate.path not in self._columns.get("history", ())
            if equal or (beside and named):
                rivals.append(candidate.path)
        # Fifty columns of one kind would make a refusal that nobody reads.
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
        if field == "contexts":
            path = self._numbered(path)
        named: Paths = path
        if field in ("contexts", *REFERENCES):
            names = dict.fromkeys(chain.from_iterable(row.fields for row in self._rows))
            named = _with_siblings(path, self._paths, names)
        if leading < lacking:
            named = (*([named] if isinstance(named, str) else named), "")
        return {field: named}

    def _numbered(self, path: str) -> str:
        """Return the path of documents, or that of their texts if these are parts of documents and
        have no ids of their own."""
        values = self._paths.get(path)
        if values is None or values.kind != "documents":
            return path
        for value in values.values.values():
            items = documents.listed(value)
            if not documents.share_an_id(items) or documents.ids_of_parts(items):
                continue
            text = (documents.document(items[0]) or {}).get("text", "")
            if key := documents.text_path(items[0], text):
                return f"{path.removesuffix('[*]')}[*].{key}"
        return path

    def _some_rows(self, asked: Collection[str]) -> Iterable[OpenQuestion]:
        """Ask for a question or an answer that some rows have under a name that others lack."""
        for field in FIELDS[:2]:
            if field in asked or self._mapping.is_given(field) or self._lacks(field):
                continue
            lacking: list[SourceRow] = []
            having: list[SourceRow] = []
            for row, sample in zip(self._rows, self._samples, strict=True):
                (having if self._has(sample, field) else lacking).append(row)
            path = self._elsewhere(field, lacking, having) if lacking and having else None
            if path is not None:
                usual = self._mapping.fields.get(field) or self._columns[field]
                problem = f"{lacking[0].location}: {field} is in {path!r}"
                yield OpenQuestion(field, problem, ({field: (*usual, path)},))

    def _elsewhere(
        self,
        field: str,
        lacking: Sequence[SourceRow],
        having: Sequence[SourceRow],
    ) -> str | None:
        """Return the path that most of the rows that lack a field have and none of the others."""
        for candidate in self._named(field, self._taken()):
            in_lacking = sum(row.leads(candidate.path) for row in lacking)
            in_having = any(row.leads(candidate.path) for row in having)
            if 2 * in_lacking >= len(lacking) and not in_having:
                return candidate.path
        return None


def _questions_by_shape(texts: Iterable[PathValues]) -> list[Candidate]:
    asking = [path for path in texts if count_questions(path)]
    asking.sort(key=lambda path: (-count_questions(path), len(path.keys), path.path))
    return [Candidate(path.path, "texts with a question mark") for path in asking]


def _holds_another(path: PathValues, others: Iterable[PathValues]) -> bool:
    """Return whether a path has the texts of another, and more."""
    texts = [other for other in others if other.kind == path.kind == "text"]
    return any(holds(path, other) and not holds(other, path) for other in texts)


_NAME = re.compile(r"(?=.*[A-Za-z])(?=.*[\d_])[A-Za-z0-9_.:/#-]{3,100}")
"""A text that is more likely the name of a document."""
_DIGITS = re.compile(r"\d+")
_REFERENCE = re.compile(r"(?!https?:)[a-z][\w+.-]*://\S+|(?s:[^(]*\bObjectRef\(\w+=.*)")
"""A text that only names where a value is, also as Python prints it in objects."""


def _with_siblings(path: str, paths: Mapping[str, PathValues], columns: Iterable[str]) -> Paths:
    """Return the path of a numbered column as that of all that have another number: as a pattern,
    or one by one if other columns have that pattern too."""
    numbered = _NUMBERED_NAME.fullmatch(path)
    if numbered is None:
        return path
    stem, _, end = numbered.groups()
    alike = {
        other: int(match[2])
        for other in paths
        if (match := _NUMBERED_NAME.fullmatch(other)) and (match[1], match[3]) == (stem, end)
    }
    if len(alike) < 2:
        return path
    if any(paths[other].kind != "text" for other in alike):
        return path  # `docs_v1` and `docs_v2` are those of two systems
    if end and not _are_counted(alike.values()):
        return path
    # `context_*` would also match `context_source`.
    others = [
        name
        for name in columns
        if name.startswith(stem) and name.endswith(end) and name not in alike
    ]
    return tuple(sorted(alike, key=_by_number)) if others else f"{stem}*{end}"


_NUMBERED_NAME = re.compile(r"([^.\[]*?)(\d+)([^.\[\d]*)")
"""The name of a column with a number, which is the last one in it."""


def _are_counted(numbers: Iterable[int]) -> bool:
    """Return whether numbers are counted from 0 or 1, as those of `gpt4_text` and `gpt5_text` are
    not."""
    counted = sorted(numbers)
    return counted[0] < 2 and counted == list(range(counted[0], counted[-1] + 1))


def _by_number(name: str) -> tuple[int, str]:
    return (len(name), name)


def _differ(path: PathValues, said: Mapping[int, str]) -> bool:
    """Return whether a path has, in some row, another text than what was said there."""
    for row, text in path.values.items():
        if row in said and not are_same([str(text)], [said[row]]):
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


def _outermost(paths: Sequence[PathValues]) -> list[PathValues]:
    """Return paths without those that lead into an earlier one."""
    kept: list[PathValues] = []
    for path in paths:
        if not _leads_into(path.path, [other.path for other in kept]):
            kept.append(path)
    return kept


def _or(columns: Sequence[str]) -> str:
    return _joined(list(map(repr, columns)), " or ")


def _joined(names: Sequence[str], last: str) -> str:
    return last.join(filter(None, (", ".join(names[:-1]), names[-1])))
