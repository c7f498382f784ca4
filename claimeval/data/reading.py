"""Read samples from rows. Common field names are recognized, and all other fields are kept as
metadata.

Conversations are messages as chat APIs, ragas and ShareGPT write them. A list of messages ends with
the assistant's answer or with the user's question. What came before the question is the history,
and what tools returned after it are the contexts.
"""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, cast, get_args

from pydantic import ValidationError

from claimeval.data import documents
from claimeval.data.cells import looks_like_list, read_cell
from claimeval.data.context_ids import DOCUMENT_IDS, RETRIEVED_IDS
from claimeval.data.conversations import (
    NO_EXCHANGE,
    Exchange,
    LoggedMessage,
    exchanges,
    messages_in,
    said_in,
    turns_of,
)
from claimeval.data.decision import FIELDS, NO_COLUMN, Decision, decide
from claimeval.data.field_names import describes, words_of
from claimeval.data.long_tables import ONE_ROW_A_DOCUMENT, Layout, LongTable, joined
from claimeval.data.mapping import (
    CONVERSATIONS,
    LOOKED_AT,
    NO_MAPPING,
    SETTINGS,
    Preset,
    RowMapping,
    columns,
    described,
    is_chosen,
    mapped,
    options,
    presets,
)
from claimeval.data.nowhere import NOWHERE, Nowhere
from claimeval.data.path_ranks import inside
from claimeval.data.paths import is_pattern, opened, roots, values_at
from claimeval.data.reasoning import settle_reasoning
from claimeval.data.rows import SourceRow, read_rows
from claimeval.data.trace_kinds import trace_kind
from claimeval.metrics.rows import BUILT_IN, ambiguous
from claimeval.types.errors import DataError, first_problem, unknown_name
from claimeval.types.ids import id_text
from claimeval.types.records import GivenClaim, References, Sample

ALIASES: dict[str, tuple[str, ...]] = {
    "id": ("id", "question_id", "query_id"),
    "question": ("question", "query", "user_input"),
    "history": ("history", "chat_history"),
    "messages": CONVERSATIONS,
    "answer": ("answer", "response"),
    "contexts": ("contexts", "retrieved_contexts", "retrieved_context", "source_nodes"),
    "context_ids": (*RETRIEVED_IDS, *DOCUMENT_IDS),
    "sources": ("sources",),
    "sentence_ends": ("sentence_ends",),
    "reference_answers": (
        "reference_answers",
        "reference_answer",
        "reference",
        "gt_answer",
        "ground_truth",
        "ground_truths",
    ),
    "reference_claims": ("reference_claims", "nuggets"),
    "reference_contexts": ("reference_contexts",),
    "reference_context_ids": ("reference_context_ids",),
    "is_answerable": ("is_answerable", "is_answerable_label"),
    "generator": ("generator",),
    "reference_author": ("reference_author", "reference_answer_by"),
    "evidence": ("evidence",),
    "metadata": ("metadata", "metadata_field"),
}
"""The fields of a sample, and their names in claimeval, the TREC RAG track, LlamaIndex, ragas and
RAGChecker."""

NUGGETS: dict[str, tuple[str, ...]] = {"id": ("qid",), "answer": ("answer_text",)}
"""Further names in rows with `nuggets`, as nuggetizer writes them."""

_FIELD_OF: dict[str, str] = {}
for _field, _aliases in ALIASES.items():
    _FIELD_OF.update(dict.fromkeys(_aliases, _field))

_ANSWERABLE = dict.fromkeys(("answerable", "true", "yes", "1"), True)
_ANSWERABLE |= dict.fromkeys(("unanswerable", "false", "no", "0"), False)
_CONTENT = frozenset(ALIASES) - {"id", "generator", "reference_author", "is_answerable", "metadata"}
"""A sample has at least one of these fields."""
EARLIER = "{} earlier {answers} {are} not judged: --turns all ({times:.3g} times as many samples)"
REPEATED = "{} {documents} that a retriever returned more than once {are} kept once"
DROPPED = "the reasoning in {} {answers} is left out (--answer-reasoning drop)"
NOTICED = (EARLIER, REPEATED, DROPPED)
"""Sentences about what a user should know of the rows."""
OVERLOOKED = "overlooked"
REFUSED = (ONE_ROW_A_DOCUMENT, OVERLOOKED, NOWHERE)
"""Kinds of errors about a whole file, which end a pass also where rows may be left out."""
CHECKED = 1000
"""Rows among which a decision looks for other columns."""
_SIGNATURES = 100
"""Sets of columns that a decision looks at, at most."""
MAX_FURTHER = 20_000
"""Rows that are read after the first error, to count malformed rows."""
_WORDS_OF_A_TEXT = 12
"""Number of words from which an item of a column `sources` is a text and not the name of one."""
_SHOWN = 20
"""Maximum number of errors that are kept and listed."""


class Problems:
    """Errors of malformed rows. Either the first one ends the pass, or all such rows are left out
    and listed."""

    def __init__(
        self,
        *,
        skip: bool = False,
        unique_ids: bool = False,
        quiet: bool = False,
    ) -> None:
        """With `quiet`, rows that are left out are not listed."""
        self.skip = skip
        """Whether malformed rows are left out. If not, `stop` raises DataError."""
        self.unique_ids = unique_ids
        """Whether rows with the id of an earlier row are malformed."""
        self.errors: list[DataError] = []
        """The first errors, at most 20."""
        self.count = 0
        """The number of all errors."""
        self.last: int | None = None
        """The number of the last row that was read, if reading stopped before the end of the
        data."""
        self.remarks: tuple[str, ...] = ()
        """What is noticed in the texts of the first rows."""
        self.offered: str | None = None
        """Options that would read more of the data."""
        self.nowhere: tuple[str, ...] = ()
        """Sentences about the paths of the mapping that no row has."""
        self.made_ids = False
        """Whether samples got the numbers of their rows as ids."""
        self.examines = quiet
        """Whether such paths are only counted, and raise nothing."""
        self.seen = Counter[str]()
        """How often each of the sentences `NOTICED` is true of the rows that were read."""
        self.samples = 0
        """The number of samples that were read."""
        self._alike = 0
        self._quiet = quiet

    def add(self, error: DataError) -> None:
        """Add the error of a row."""
        if len(self.errors) < _SHOWN:
            self.errors.append(error)
        self.count += 1
        self._alike += error.kind == self.errors[0].kind

    def all_are(self, kind: str, count: int) -> bool:
        """Return whether there are so many errors, all of a kind."""
        return bool(count) and count == self._alike and self.errors[0].kind == kind

    def notes(self, *, complete: bool = True) -> list[str]:
        """Return what a run says of how its data were read; `complete` says whether all rows were
        read."""
        more = "" if complete else " or more"
        notes = [f"{self.count}{more} malformed rows were left out"] if self.errors else []
        return notes + self.noticed(more)

    def noticed(self, more: str = "") -> list[str]:
        """Return what was noticed, as sentences; `more` stands after numbers that are not
        final."""
        return [
            sentence.format(
                f"{count:,}{more}",
                answers="answer" if count == 1 else "answers",
                documents="document" if count == 1 else "documents",
                are="is" if count == 1 else "are",
                times=1 + count / max(self.samples, 1),
            )
            for sentence in NOTICED
            if (count := self.seen[sentence])
        ]

    def clear(self) -> None:
        """Remove all errors."""
        self.errors.clear()
        self.count = self._alike = 0
        self.seen.clear()
        self.samples = 0

    @property
    def stopped(self) -> bool:
        """Whether the pass will end with an error, so that further rows are only checked."""
        return bool(self.errors) and not self.skip

    def stop(self) -> None:
        """End a pass over the rows: raise DataError for the first error, or list the rows left out,
        once."""
        if not self.errors or self._quiet:
            return
        first = self.errors[0]
        count = self.count
        alike = self._alike - 1
        if self.skip:
            self._quiet = True
            lines = [f"  {error}" for error in self.errors]
            more = [f"  ... and {count - _SHOWN} more"] if count > _SHOWN else []
            warnings.warn(
                "\n".join([f"{count} malformed {_rows(count)} left out:", *lines, *more]),
                stacklevel=2,
            )
            return
        unlike = count - 1 - alike
        up_to = f" up to row {self.last:,}" if self.last else ""
        parts = [f"{alike} more {_rows(alike)} like it{up_to}"] if alike else []
        parts += [f"{unlike} {_rows(unlike)} with other problems{up_to}"] if unlike else []
        raise DataError(
            ". ".join([str(first), *parts, "--skip-malformed leaves malformed rows out"])
        ) from first


def _rows(count: int) -> str:
    return "row" if count == 1 else "rows"


def read_samples(
    path: str | Path,
    *,
    mapping: RowMapping = NO_MAPPING,
    references: References | None = None,
    limit: int | None = None,
    problems: Problems | None = None,
    positions: range | None = None,
) -> Iterator[Sample]:
    """Yield the samples of a file in order. JSON Lines and CSV are streamed. A row without an id
    gets its number as id.

    A file of traces, recognized by its first row, is read completely, because the spans of a trace
    are one sample.

    Args:
        path: The file.
        mapping: Where the fields are, as `resolved` returns it. Takes precedence over the names
            that are recognized by default.
        references: Whether one of several reference answers is enough, for all samples.
        limit: Maximum number of samples. None: all.
        problems: Treatment of malformed rows. Default: the first error is raised, with the number
            of similar rows.
        positions: The rows to read, from 0. None: all.

    Raises:
        DataError: With file, line and field, if a row is not a sample or no column is known.
    """
    problems = problems or Problems()
    problems.clear()
    rows = rows_of_file(Path(path), mapping, problems.add, positions)
    return samples_of_rows(
        rows,
        str(path),
        problems,
        mapping=mapping,
        references=references,
        limit=limit,
        whole=positions is None,
    )


def rows_of_file(
    path: Path,
    mapping: RowMapping,
    on_error: Callable[[DataError], None],
    positions: range | None = None,
) -> Iterator[SourceRow]:
    """Yield the rows of a file, or those in the list that the mapping names.

    Args:
        path: The file.
        mapping: The mapping of its rows.
        on_error: Called with the error of a row that cannot be read.
        positions: The rows to read, from 0. None: all.
    """
    texts = {*_FIELD_OF, *chain.from_iterable(mapping.fields.values())}
    return read_rows(
        path,
        on_error,
        texts=texts,
        positions=positions,
        under=mapping.rows,
        sheet=mapping.sheet,
    )


def decision_of_file(path: Path, given: RowMapping = NO_MAPPING) -> Decision:
    """Return the decision about the rows of a file, as `decided` does."""
    return decided(given, rows_of_file(path, given, lambda _: None), str(path))


def decided(given: RowMapping, rows: Iterable[SourceRow | Sample], name: str) -> Decision:
    """Return where the fields are in data with these rows.

    The first rows are looked at, and later ones with other columns.

    Args:
        given: What the caller names; it takes precedence over the preset of an export.
        rows: The rows.
        name: The name of the data in messages.

    Raises:
        DataError: If the data can be read in more than one way; it has all readings.
    """
    first = [row for row in islice(rows, CHECKED) if isinstance(row, SourceRow)]
    mapping = resolved(given, first[:LOOKED_AT])
    chosen = first
    if mapping.of_spans:
        chosen = _of_spans(first)
    elif mapping.group not in (None, "none"):
        chosen = _of_groups(first, mapping)
    elif mapping.where:
        chosen = [row for row in first if is_chosen(row.fields, mapping.where)]
    decision = decide(_unlike(chosen), mapping, ALIASES, _sample_or_none)
    if decision.questions:
        _refuse(decision, first, name)
    if decision.refusal:
        raise DataError(f"{name}: {decision.refusal}", kind=OVERLOOKED)
    return decision


def _of_spans(rows: Sequence[SourceRow]) -> list[SourceRow]:
    """Return the rows of samples in spans; what is left out is said when all are read."""
    from claimeval.data.traces import samples_in

    with warnings.catch_warnings(), suppress(DataError):
        warnings.simplefilter("ignore")
        return [row for row in samples_in(rows) if isinstance(row, SourceRow)]
    return []


def _of_groups(rows: Sequence[SourceRow], mapping: RowMapping) -> list[SourceRow]:
    """Return the joined rows of a table with one row a document; what is wrong with them is said
    when all are read."""
    fields = columns(mapping)
    with suppress(DataError):
        changed = mapped(rows, mapping) if mapping.changes_rows else rows
        together = joined(
            changed,
            str(mapping.group),
            lambda row: _layout(tuple(row.fields), tuple(fields.items())),
        )
        return [row._replace(raw=None) for row in together if isinstance(row, SourceRow)]
    return []


def _unlike(rows: Sequence[SourceRow]) -> list[SourceRow]:
    """Return the first rows, and one later row for each other set of columns that have a value."""
    chosen = list(rows[:LOOKED_AT])
    known = {_signature(row) for row in chosen}
    for row in rows[LOOKED_AT:]:
        signature = _signature(row)
        if signature not in known and len(known) < _SIGNATURES:
            known.add(signature)
            chosen.append(row)
    return chosen


def _signature(row: SourceRow) -> frozenset[str]:
    return frozenset(name for name, value in row.fields.items() if value not in (None, "", []))


def _sample_or_none(row: SourceRow, mapping: RowMapping) -> Sample | None:
    try:
        (changed,) = mapped([row], mapping) if mapping.changes_rows else [row]
        return sample(cast(SourceRow, changed), columns(mapping))
    except (DataError, ValueError):
        return None


def _refuse(decision: Decision, rows: Sequence[SourceRow], name: str) -> NoReturn:
    """Raise DataError with all readings. A table with one row a document is asked about in the same
    error."""
    likeliest = decision.readings[0]
    fields = {
        name: (paths,) if isinstance(paths, str) else tuple(paths)
        for name, paths in likeliest.items()
        if name not in SETTINGS
    }
    mapping = decision.mapping.overridden_by(RowMapping(fields=fields))
    if decision.mapping.group is None:
        table = LongTable(name)
        for row in mapped(rows, mapping):
            assert isinstance(row, SourceRow)
            with suppress(DataError):
                layout = _layout(tuple(row.fields), tuple(columns(mapping).items()))
                table.add(sample(row, columns(mapping)), row.fields, layout)
        table.check(likeliest)
    raise DataError(f"{name}: {decision.refusal}", kind=OVERLOOKED, readings=decision.readings)


def resolved(given: RowMapping, rows: Sequence[SourceRow]) -> RowMapping:
    """Return the mapping for data with these first rows: that of the export that they come from,
    changed by the given.

    Spans are read as traces unless a column of theirs is named.
    """
    if given.preset or not rows:
        return given
    named = set(chain.from_iterable(given.fields.values()))
    if kind := trace_kind(rows[0].fields):
        read_as = f"read as {kind}, one sample a trace"
        known = RowMapping(preset=kind, read_as=read_as)
        return given if any(map(rows[0].leads, named)) else known.overridden_by(given)
    if preset := _export(rows):
        return described(preset.mapping.overridden_by(given), rows)
    if given.split and "contexts" not in given.fields:
        return given.overridden_by(RowMapping(fields={"contexts": ALIASES["contexts"]}))
    return given


def _export(rows: Sequence[SourceRow]) -> Preset | None:
    """Return the export that rows are from; None if it is unknown."""
    looked_at = [row.fields for row in rows]
    # a file with the names of the documentation is read as it says, whatever else it has
    if any(all(row.get(field) for field in FIELDS) for row in looked_at):
        return None
    return next((preset for preset in presets().values() if preset.fits(looked_at)), None)


def samples_of_rows(
    rows: Iterable[SourceRow | Sample],
    name: str,
    problems: Problems,
    *,
    mapping: RowMapping = NO_MAPPING,
    references: References | None = None,
    limit: int | None = None,
    whole: bool = True,
) -> Iterator[Sample]:
    """Yield the samples in rows, as `read_samples` does.

    Args:
        rows: The rows, or samples.
        name: The name of the data in messages.
        problems: Treatment of malformed rows.
        mapping: Where the fields are, as `resolved` returns it.
        references: Whether one of several reference answers is enough.
        limit: Maximum number of samples. None: all.
        whole: Whether these are the rows from the first, so that a path that none of them has is an
            error.
    """
    nowhere = Nowhere.of_samples(name, mapping if whole else NO_MAPPING, ALIASES)
    if mapping.of_spans:
        from claimeval.data.traces import samples_in

        rows = samples_in(rows)
    rows = nowhere.watch(rows, raises=not problems.examines)
    reader = _RowReader(name, mapping, problems)
    if mapping.changes_rows:
        rows = mapped(rows, mapping)
    if mapping.group not in (None, "none"):
        rows = joined(rows, mapping.group, reader.layout)
    number = count = rows_after_error = 0
    for number, row in enumerate(rows, 1):
        rows_after_error += problems.stopped
        if rows_after_error > MAX_FURTHER:
            problems.last = number - 1
            break
        records = reader.read(row, number)
        records = records if limit is None else records[: limit - count]
        count += len(records)
        problems.samples = count
        for record in () if problems.stopped else records:
            yield record.model_copy(update={"references": references}) if references else record
        if count == limit:
            break
    without_columns = problems.all_are(NO_COLUMN, problems.last or number)
    problems.nowhere = nowhere.check(raises=not problems.examines)
    if without_columns and not problems.nowhere:
        # One error for all rows, in place of twenty that say the same.
        first = problems.errors[0]
        problems.clear()
        raise DataError(f"{name}: {NO_COLUMN}{str(first).partition(NO_COLUMN)[2]}")
    reader.table.check()
    problems.stop()
    if not number and not problems.nowhere:
        raise DataError(f"{name} has no samples: it needs a row for each answer")


class _RowReader:
    """Reads the samples in rows one after the other, with what later rows are checked against."""

    def __init__(self, name: str, mapping: RowMapping, problems: Problems) -> None:
        self.table = LongTable(name)
        """The rows as one row for each document, in case they are."""
        self._mapping = mapping
        self._fields = columns(mapping)
        self._pairs = tuple(self._fields.items())
        self._problems = problems
        self._ids: set[str] = set()

    def read(self, row: SourceRow | Sample, number: int) -> list[Sample]:
        """Return the samples in a row, the `number`th; none of a malformed one, which is noted.

        Raises DataError for what is wrong with the whole data.
        """
        try:
            return self._samples(row, number)
        except DataError as error:
            # What is wrong with the whole file is no bad row that `--skip-malformed` may leave out.
            if error.kind in REFUSED:
                raise
            self._problems.add(error)
            return []

    def _samples(self, row: SourceRow | Sample, number: int) -> list[Sample]:
        """Return the samples in a row. Raises DataError for a malformed row, or a sample with the
        id of an earlier one."""
        mapping = self._mapping
        if isinstance(row, Sample):
            location = f"sample {number}"
            records = [row]
        else:
            location = row.location
            records = read_row(row, self._fields, mapping, self._problems)
        if mapping.answer_reasoning != "keep":
            records = [_judged(record, location, mapping, self._problems) for record in records]
        if self.table.open and mapping.group != "none" and isinstance(row, SourceRow):
            self.table.add(records[-1], row.fields, self.layout(row))
        if self._problems.unique_ids:
            self._check_ids(records, location)
        return records

    def layout(self, row: SourceRow) -> Layout:
        return _layout(tuple(row.fields), self._pairs)

    def _check_ids(self, records: Sequence[Sample], location: str) -> None:
        for record in records:
            if record.id in self._ids:
                raise DataError(
                    f"{location}, id: {record.id!r} is the id of an earlier row", kind="repeated id"
                )
        # only now: a refused row leaves no ids behind
        self._ids.update(record.id for record in records)


def parse_references(value: str | None) -> References | None:
    """Return the value of the option `references`. Raises UsageError if it is unknown."""
    if value is not None and value not in get_args(References):
        raise unknown_name("value of references", value, get_args(References))
    return cast(References | None, value)


def sample(row: SourceRow, columns: Mapping[str, str]) -> Sample:
    """Return the sample in a row, of a conversation the last one. `columns` maps sample fields to
    column names.

    Fields that a sample does not have are kept in its metadata.
    """
    return read_row(row, columns, NO_MAPPING, Problems())[-1]


def read_row(
    row: SourceRow,
    columns: Mapping[str, str],
    mapping: RowMapping,
    problems: Problems,
) -> list[Sample]:
    """Return the samples in a row: one, or one for each answer of a conversation.

    Args:
        row: The row.
        columns: The column of each field.
        mapping: Says whether every turn of a conversation is a sample.
        problems: What is noticed is counted there.
    """
    values = _CellValues(row, columns, problems.seen)
    name = values.id()
    problems.made_ids |= not values.has_ids
    has_messages = "messages" in values.present
    exchanges_read = values.conversation() if has_messages else [{}]
    of_row = _beside_messages(values, row)
    metadata = values.metadata()
    if mapping.turns != "all" or not has_messages:
        if len(exchanges_read) > 1:
            problems.seen[EARLIER] += sum("answer" in one for one in exchanges_read[:-1])
        fields_read = {"id": name, "question": "", **exchanges_read[-1], **of_row}
        if metadata:
            fields_read["metadata"] = metadata
        return [values.validated(fields_read)]
    *earlier, last = exchanges_read
    answered = [one for one in earlier if "answer" in one]
    answers = len(answered) + ("answer" in last)
    found = []
    for turn, exchange in enumerate([*answered, last], 1):
        # what stands beside the messages belongs to the last question
        beside = of_row
        if exchange is not last:
            beside = values.beside_turn(turn, answers, mapping.fields.get("contexts", ()))
        place = {"conversation": name, **metadata, "turn": turn}
        fields_read = {"id": f"{name}/{turn}", "question": "", **exchange, **beside}
        found.append(values.validated({**fields_read, "metadata": place}))
    return found


def _beside_messages(values: _CellValues, row: SourceRow) -> dict[str, Any]:
    """Return the fields of a sample that a row has in columns of their own."""
    of_row: dict[str, Any] = {
        field: _READERS[field](values, field) for field in values.present if field in _READERS
    }
    if "context_ids" in values.present:
        of_row["contexts"] = values.contexts()
    if "reference_context_ids" not in of_row and _AUTHOR in row.origin:
        of_row |= _sources_of(of_row.get("reference_answers", ()))
    if values.references:
        of_row["references"] = values.references
    return of_row


def _judged(record: Sample, location: str, mapping: RowMapping, problems: Problems) -> Sample:
    """Return a sample whose answer has no reasoning of a model, unless it is kept, and count it."""
    changed = settle_reasoning(record, location, mapping.answer_reasoning)
    problems.seen[DROPPED] += changed is not record
    return changed


_AUTHOR = "reference_answer_by"
"""A column that only rows of a LabelledRagDataset have."""
_SOURCES = re.compile(r"\s*^SOURCE\(S\):[ \t]*(\S.*?)\s*\Z", re.MULTILINE)


def _sources_of(answers: Sequence[str]) -> dict[str, Any]:
    """Return the gold answers and the ids of the gold documents that LabelledRagDatasets list at
    their end, as in `SOURCE(S): 2022 Q3.pdf, 2023 Q1.pdf`; nothing if they list none."""
    texts = []
    ids: dict[str, None] = {}
    for answer in answers:
        sources = _SOURCES.search(answer)
        texts.append(answer[: sources.start()] if sources else answer)
        names = sources[1].split(", ") if sources else []
        ids.update(dict.fromkeys(name.strip() for name in names if name.strip()))
    if not ids:
        return {}
    return {"reference_answers": texts, "reference_context_ids": list(ids)}


class _Assignment(NamedTuple):
    """The assignment of columns to fields of a sample."""

    fields: tuple[tuple[str, tuple[str, ...]], ...]
    """Each field with its possible columns, of which at most one may have a value."""
    other: tuple[str, ...]
    """Columns without a field."""
    known: bool
    """Whether a column has content of a sample."""
    id_column: str
    """The column of the id; empty if there is none."""


@lru_cache(maxsize=64)
def _assignment(names: tuple[str, ...], columns: tuple[tuple[str, str], ...]) -> _Assignment:
    requested = dict(columns)
    fields: dict[str, tuple[str, ...]] = {field: (column,) for field, column in columns}
    for field, aliases in ALIASES.items():
        aliases += NUGGETS.get(field, ()) if "nuggets" in names else ()
        present = tuple(
            name for name in aliases if name in names and name not in requested.values()
        )
        if present and field not in requested:
            fields[field] = present
    used = set(chain.from_iterable(fields.values()))
    other = tuple(name for name in names if name not in used)
    has_content = not _CONTENT.isdisjoint([*fields, *map(_FIELD_OF.get, names)])
    id_column = fields.get("id", ("",))[0]
    return _Assignment(tuple(fields.items()), other, has_content, id_column)


@lru_cache(maxsize=64)
def _layout(names: tuple[str, ...], columns: tuple[tuple[str, str], ...]) -> Layout:
    return Layout.of(names, dict(_assignment(names, columns).fields))


class _CellValues:
    """The values of a row by the field of a sample, and all others."""

    def __init__(self, row: SourceRow, columns: Mapping[str, str], seen: Counter[str]) -> None:
        self._row = row
        self._seen = seen
        self._named = columns
        self._columns: dict[str, str] = {}
        """The column of each field that has a value."""
        self.present: dict[str, Any] = {}
        """The values by field."""
        fields = row.fields
        assigned = _assignment(tuple(fields), tuple(columns.items()))
        self._take_all(assigned)
        self._id_column = assigned.id_column
        if not assigned.known:
            problem = f"{NO_COLUMN}; the rows are empty"
            if fields:
                names = ", ".join(fields)
                problem = (
                    f"{NO_COLUMN}; it has {names}. None of them has texts of a sample;"
                    " a row needs a question, an answer or contexts"
                )
            raise DataError(f"{row.location}: {problem}", kind=NO_COLUMN)
        self._other = {
            name: fields[name] for name in assigned.other if not _is_nothing(fields[name])
        }
        # A sample that claimeval wrote has `claims: []` if none were given; it is no metadata.
        if self._other.get("claims") == []:
            del self._other["claims"]
        self._read_turns(columns)
        self._read_reply()
        self._set_aside(columns)
        references = self._other.get("references")
        self.references: References | None = None
        if isinstance(references, str) and references in get_args(References):
            self.references = cast(References, self._other.pop("references"))

    def _set_aside(self, columns: Mapping[str, str]) -> None:
        """Keep as metadata what only has the name of a field, unless the caller names its
        column."""
        column = self._columns.get("context_ids", "")
        # `document_id` beside a question is where the question is from, and no context.
        if column in DOCUMENT_IDS and "contexts" not in self.present and column not in columns:
            self._other[column] = self.present.pop("context_ids")
        if "sources" in self.present and "sources" not in columns and not self._names_sources():
            self._other[self._columns["sources"]] = self.present.pop("sources")
        if self._is_plain_evidence(columns):
            self._other["evidence"] = self.present.pop("evidence")
        if "nuggets" not in columns.values() and self._counts_nuggets():
            self._other["nuggets"] = self.present.pop("reference_claims")

    def _counts_nuggets(self) -> bool:
        """Return whether claims have no texts, as counts of nuggets have none."""
        if self._columns.get("reference_claims") != "nuggets":
            return False
        listed = opened(self.present["reference_claims"])
        items = listed if isinstance(listed, list) else [listed]
        texts = [item.get("text") if isinstance(item, dict) else item for item in items]
        return bool(texts) and not any(isinstance(text, str) for text in texts)

    def _take_all(self, assigned: _Assignment) -> None:
        """Take the values of all fields."""
        fields = self._row.fields
        for field, candidates in assigned.fields:
            column = candidates[0]
            if len(candidates) == 1 and isinstance(fields.get(column), (str, list)):
                # almost all of them; a call for each field takes a tenth of reading
                self.present[field] = fields[column]
                self._columns[field] = column
                continue
            for column in candidates:
                self._take(field, column, one_of=len(candidates))

    def _take(self, field: str, column: str, *, one_of: int) -> None:
        """Take the value of a field from a column, of which it has `one_of`: an earlier one stays
        where this one has nothing else to say."""
        if column not in self._row.fields:
            raise self._error(f"no field {column!r}, which was given for {field}")
        value = self._row.fields[column]
        if value is None or value != value:  # NaN, the missing value of tables
            return
        if field == "contexts" and one_of > 1 and isinstance(value, (int, float)):
            return  # a column "passages" beside the contexts may count them
        if field in self.present:
            before = self.present[field]
            if _is_blank(value) or value == before:
                return
            if not _is_blank(before):
                first = self._columns[field]
                both = f"both {first!r} and {column!r} are names of {field}"
                raise self._error(
                    f"{both}: add {options({field: first})} or {options({field: column})}"
                )
        self.present[field] = value
        self._columns[field] = column

    def _read_turns(self, columns: Mapping[str, str]) -> None:
        """Read lists of messages. A column with the name of such a list but without messages is
        metadata."""
        for field in ("history", "messages", "question"):
            value = self.present.get(field)
            listed = opened(value)
            if value is None or (field == "question" and isinstance(listed, str)):
                continue
            messages = messages_in(listed)
            if not messages and field == "question" and not isinstance(value, list):
                continue
            if messages is not None:
                del self.present[field]
                if field == "history":
                    self.present["history"] = turns_of(messages)
                else:
                    self.present["messages"] = messages
            elif field in columns:
                raise self._error(
                    "no messages; give a list of objects with role and content", field=field
                )
            elif field != "question":
                del self.present[field]
                self._other[self._columns[field]] = value

    def _read_reply(self) -> None:
        """Read an answer that is a list of messages or items: with its question, they are a
        conversation."""
        answer = self.present.get("answer")
        messages = said_in(answer) if isinstance(answer, list) else None
        if messages is None or "messages" in self.present:
            return
        del self.present["answer"]
        question = self.present.get("question")
        asked = (LoggedMessage("user", question),) if isinstance(question, str) else ()
        self.present["messages"] = (*asked, *messages)

    def _is_plain_evidence(self, columns: Mapping[str, str]) -> bool:
        """Return whether `evidence` is a column of a data set, without lists of documents by
        name."""
        value = self.present.get("evidence")
        return (
            value is not None and "evidence" not in columns and not isinstance(opened(value), dict)
        )

    def _names_sources(self) -> bool:
        """Return whether `sources` are names of contexts, texts or integers, beside contexts."""
        items = self._items("sources") or []
        return "contexts" in self.present and all(
            isinstance(item, int)
            or (isinstance(item, str) and len(item.split()) < _WORDS_OF_A_TEXT)
            for item in items
        )

    def _error(self, problem: str, given: str = "", field: str | None = None) -> DataError:
        """Return the error of a value; `given` is the part of the message that differs between
        rows."""
        column = f", {self._columns.get(field, field)}" if field else ""
        return DataError(
            f"{self._row.location}{column}: {problem}{given}", kind=f"{column}: {problem}"
        )

    def invalid(self, error: ValidationError) -> DataError:
        """Return the error of a value that is invalid in a record."""
        field, problem, value = first_problem(error)
        return self._error(problem, f", got {value}", field)

    def validated(self, fields: Mapping[str, Any]) -> Sample:
        """Return the sample with these fields. Raises DataError for a wrong one."""
        try:
            return Sample.model_validate(fields)
        except ValidationError as error:
            raise self.invalid(error) from error

    @property
    def has_ids(self) -> bool:
        """Whether the row has a column for the id of its sample."""
        return bool(self._id_column)

    def id(self) -> str:
        """Return the id, by default the number of the row."""
        if self._id_column and "id" not in self.present:
            raise self._error(
                "nothing; give every row an id, or none to number the rows", field=self._id_column
            )
        value = self.present.get("id", self._row.number)
        if type(value) is str and value:
            return value
        try:
            return id_text(value, "")
        except DataError:
            problem = "expected a text or a whole number"
            raise self._error(problem, f", got {str(value)[:60]!r}", "id") from None

    def text(self, field: str) -> str | None:
        """Return a text, or a number as text; None if there is none."""
        value = self.present.get(field)
        if value is None or isinstance(value, str):
            return value
        if not isinstance(value, (bool, int, float)):
            better = self._instead_of(value, field)
            raise self._error(f"{_kind(value)}; give one text", better, field=field)
        return _written(value)

    def _instead_of(self, value: object, field: str) -> str:
        """Return which option reads a value that is no text, as the end of a message."""
        column = self._path(field)
        if is_pattern(column):
            columns = roots(tuple(self._row.origin), column)
            return f": choose one, {' or '.join(options({field: name}) for name in columns)}"
        texts = isinstance(value, list) and all(isinstance(text, str) for text in value)
        if field == "answer" and value and texts:
            gold = options({"reference_answers": column, "answer": ""})
            return f", or if these are gold answers, add {gold}"
        path = inside(value, column, field) if field in FIELDS[:2] else None
        return f": add {options({field: path})}" if path else ""

    def _path(self, field: str) -> str:
        """Return the path that a field has its value from."""
        column = self._columns.get(field, field)
        paths = column.split(" or ")
        return next(
            (path for path in paths if any(True for _ in values_at(self._row.origin, path))), column
        )

    def conversation(self) -> list[dict[str, Any]]:
        """Return the fields of a sample for each question in the messages, with answer and
        documents after it. The last one is the sample of the row."""
        messages = cast("tuple[LoggedMessage, ...]", self.present["messages"])
        found = exchanges(messages) or [NO_EXCHANGE]
        last = found[-1]
        question = self.text("question")
        answer = self.text("answer")
        # a prompt may have the question between instructions and documents
        is_asked = question is None or question.strip() in last.question
        if not is_asked and (last.question or answer is not None):
            return [{"history": turns_of(messages)}]
        said = last.answer
        differ = None not in (answer, said) and str(answer).strip() != str(said).strip()
        if differ and "answer" not in self._named:
            own = options({"answer": self._columns["answer"]})
            raise self._error(
                f"the last message of the assistant is not the answer: add {own} to judge that of"
                f" the column, or {options({'answer': ''})} to judge the message",
                field="messages",
            )
        return [self._exchange(exchange, is_last=exchange is last) for exchange in found]

    def _exchange(self, exchange: Exchange, *, is_last: bool) -> dict[str, Any]:
        given: dict[str, Any] = {
            "history": turns_of(exchange.before),
            "question": exchange.question,
        }
        if exchange.answer is not None:
            given["answer"] = exchange.answer
        has_own = is_last and "contexts" in self.present
        if exchange.documents is not None and not has_own:
            given["contexts"] = documents.numbered(exchange.documents)
        return given

    def _items(self, field: str) -> list[Any] | None:
        value = self.present.get(field)
        if isinstance(value, str):
            value = self._parsed(value, field)
        if value is None or isinstance(value, list):
            return value
        if not isinstance(value, (str, dict)) and "contexts" in field:
            raise self._error(f"{_kind(value)}; give a list of texts", field=field)
        return [value]

    def _parsed(self, text: str, field: str) -> Any:
        """Return the list or object in a text, else the text."""
        value = read_cell(text)
        if isinstance(value, str):
            if looks_like_list(text):
                forms = """write ["a", "b"] or ['a', 'b']"""
                raise self._error(f"looks like a list and cannot be read; {forms}", field=field)
        elif field == "reference_answers" and isinstance(value, list) and value:
            return value if any(isinstance(item, (str, dict)) for item in value) else text
        return value

    def texts(self, field: str) -> list[str]:
        """Return the texts of a list."""
        items = (
            item.get("text") if isinstance(item, dict) else item
            for item in self._items(field) or ()
        )
        return [
            self._scalar(item, number, field, (str, bool, int, float), "a text")
            for number, item in enumerate(items, 1)
            if not _is_nothing(item)
        ]

    def ids(self, field: str) -> list[str]:
        """Return a list of ids."""
        names: list[str] = []
        for number, item in enumerate(self._items(field) or (), 1):
            try:
                names.append(id_text(item, ""))
            except DataError:
                raise self._error(
                    f"item {number}: {_kind(item)}; give a text or a whole number", field=field
                ) from None
        return names

    def numbers(self, field: str) -> list[int]:
        """Return a list of whole numbers."""
        items = enumerate(self._items(field) or (), 1)
        numbers: list[int] = []
        for place, item in items:
            if not isinstance(item, int) or isinstance(item, bool):
                raise self._error(f"item {place}: {_kind(item)}; give a whole number", field=field)
            numbers.append(item)
        return numbers

    def _scalar(
        self,
        item: Any,
        number: int,
        field: str,
        kinds: tuple[type, ...],
        what: str,
    ) -> str:
        if not isinstance(item, kinds) or (isinstance(item, bool) and bool not in kinds):
            raise self._error(f"item {number}: {_kind(item)}; give {what}", field=field)
        return _written(cast("str | int", item))

    def claims(self, field: str) -> list[GivenClaim]:
        """Return the given claims, from texts or from objects with text, importance and
        assignment."""
        claims = []
        for number, item in enumerate(self._items(field) or (), 1):
            row = item if isinstance(item, dict) else {"text": item}
            values = {name: row.get(name) for name in ("text", "importance", "assignment")}
            if values["assignment"] == "failed":
                values["assignment"] = None
            try:
                claims.append(GivenClaim.model_validate(values))
            except ValidationError as error:
                name, problem, value = first_problem(error)
                raise self._error(
                    f"item {number}, {name}: {problem}", f", got {value}", field
                ) from error
        return claims

    def contexts(self, field: str = "contexts") -> list[dict[str, Any]]:
        """Return the retrieved documents."""
        items = self._items(field) or []
        ids = (
            self.ids("context_ids") if "context_ids" in self.present else self._ids_of_texts(items)
        )
        one = len(items) == 1 and isinstance(items[0], dict)
        return self._documents(documents.listed(items[0]) if one else items, field, ids)

    def _ids_of_texts(self, items: list[Any]) -> list[str] | None:
        """Return `sources` as the ids of contexts that are texts, one for each of them."""
        names = self.ids("sources") if "sources" in self.present else []
        unique = len(set(names)) == len(names) == len(items) and not any(map(str.isdecimal, names))
        return names if names and unique and all(isinstance(item, str) for item in items) else None

    def beside_turn(self, turn: int, answers: int, paths: Iterable[str]) -> dict[str, Any]:
        """Return the contexts of an earlier turn if a path takes the last item of a list that has
        one for each answer, as `reference[-1].chunks` does."""
        for path in paths:
            outer, last, inner = path.partition("[-1]")
            for items in values_at(self._row.origin, outer) if last else ():
                listed = opened(items)
                if isinstance(listed, list) and len(listed) == answers:
                    given = values_at(listed[turn - 1], inner.removeprefix("."))
                    pages = list(chain.from_iterable(map(documents.listed, given)))
                    return {"contexts": self._documents(pages, "contexts")}
        return {}

    def _documents(
        self,
        items: list[Any],
        field: str,
        ids: list[str] | None = None,
    ) -> list[dict[str, Any]]:
        """Return the fields of documents from objects, or from texts with a list of ids. The
        default id is the rank."""
        if ids is not None and len(ids) != len(items):
            raise self._error(
                f"{len(items)} contexts but {len(ids)} context ids{self._other_ids(len(items))}"
            )
        found: dict[str, dict[str, Any]] = {}
        for rank, item in enumerate(documents.with_empty_texts(items), 1):
            document = self._document(item, field, rank, None if ids is None else ids[rank - 1])
            name = document["id"]
            earlier = found.setdefault(name, document)
            if earlier is document:
                continue
            if earlier["text"] != document["text"]:
                if ids is None and (of_parts := documents.ids_of_parts(items)):
                    return self._documents(items, field, of_parts)
                path = self._path(field).removesuffix("[*]")
                key = documents.text_path(item, document["text"])
                numbers = options({field: f"{path}[*].{key}"} if key else {"context_ids": ""})
                problem = f"duplicate document id (to number them, add {numbers})"
                raise self._error(problem, f", got {name[:60]!r}", field=field)
            self._seen[REPEATED] += 1
        return list(found.values())

    def _other_ids(self, contexts: int) -> str:
        """Return what to do about ids that are not those of the contexts."""
        column = self._columns.get("context_ids", "")
        if not contexts:
            return (
                "; ids without texts are ranked with `claimeval rank` or `ir.evaluate`, against"
                f" qrels ({options({'context_ids': ''})}: read without)"
            )
        if column in RETRIEVED_IDS:
            return ""
        gold = options({"reference_context_ids": column, "context_ids": ""})
        return (
            f": if {column!r} has ids of other documents, add {options({'context_ids': ''})}, or"
            f" {gold} if these are the relevant ones"
        )

    def _document(self, item: Any, field: str, rank: int, name: str | None) -> dict[str, Any]:
        item = "" if _is_nothing(item) else item
        if isinstance(item, str):
            return {"text": item, **({"id": name} if name else documents.ranked(rank))}
        if not isinstance(item, (dict, list, tuple)):
            raise self._error(
                f"item {rank}: {_kind(item)}; give a text or an object with text", field=field
            )
        found = documents.document(item)
        if found is None:
            raise self._error(f"item {rank}: no text{self._elsewhere(item, field)}", field=field)
        given = name or str(found.get("id", ""))
        return {**found, **({"id": given} if given else documents.ranked(rank))}

    def _elsewhere(self, item: Any, field: str) -> str:
        """Return what to do about an item without a text under a known name."""
        names = (
            {name: value for name, value in item.items() if value not in (None, "")}
            if isinstance(item, dict)
            else {}
        )
        named = {
            name: value
            for name, value in names.items()
            if isinstance(value, str) and not name.endswith("id")
        }
        texts = {name: value for name, value in named.items() if not describes(words_of(name))}
        longest = max(texts, key=lambda name: len(texts[name]), default=None)
        if longest:
            return f"; add {options({field: f'{self._columns.get(field, field)}[*].{longest}'})}"
        return (
            f", only {', '.join(map(str, names)) or _kind(item)}; the texts of the documents are"
            " needed"
        )

    def answerable(self, field: str) -> bool:
        """Return whether the question can be answered."""
        value = self.present[field]
        if isinstance(value, bool):
            return value
        word = (
            str(int(value) if isinstance(value, float) and value.is_integer() else value)
            .strip()
            .lower()
        )
        if word not in _ANSWERABLE:
            raise self._error("expected true or false", f", got {str(value)[:60]!r}", field)
        return _ANSWERABLE[word]

    def author(self, field: str) -> str | None:
        """Return the name of a model, also from LlamaIndex' `{"model_name", "type"}`. None means a
        human author."""
        value = self.present[field]
        if isinstance(value, str):
            value = read_cell(value)
        if not isinstance(value, dict):
            return self.text(field)
        return str(value.get("model_name") or "") or None if value.get("type") == "ai" else None

    def evidence(self, field: str) -> dict[str, list[dict[str, Any]]]:
        """Return the named lists of documents."""
        value = self.present[field]
        if isinstance(value, str):
            value = self._parsed(value, field)
        if not isinstance(value, dict):
            raise self._error(
                f"{_kind(value)}; give an object of named document lists", field=field
            )
        for name in map(str, value):
            if name in BUILT_IN:
                raise self._error(
                    f"{name!r} is a part of every sample. Use another name", field=field
                )
            if problem := ambiguous(name):
                raise self._error(problem, field=field)
        return {
            str(name): self._documents(
                given if isinstance(given, list) else [given], f"evidence.{name}"
            )
            for name, given in value.items()
        }

    def metadata(self) -> dict[str, Any]:
        """Return the metadata, with all values that are not fields of a sample, as JSON."""
        value = self.present.get("metadata", {})
        if not value and not self._other:
            return {}
        if isinstance(value, str):
            value = read_cell(value)
        metadata = (
            value if isinstance(value, dict) else {self._columns.get("metadata", "metadata"): value}
        )
        return {str(name): _finite(value) for name, value in {**metadata, **self._other}.items()}


_READERS: dict[str, Callable[[_CellValues, str], object]] = {
    "question": _CellValues.text,
    "history": lambda values, field: values.present[field],
    "answer": _CellValues.text,
    "contexts": _CellValues.contexts,
    "sources": _CellValues.ids,
    "sentence_ends": _CellValues.numbers,
    "reference_answers": _CellValues.texts,
    "reference_claims": _CellValues.claims,
    "reference_contexts": _CellValues.texts,
    "reference_context_ids": _CellValues.ids,
    "is_answerable": _CellValues.answerable,
    "generator": _CellValues.text,
    "reference_author": _CellValues.author,
    "evidence": _CellValues.evidence,
}
"""The reader of each field of a sample."""


def _is_nothing(value: object) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _is_blank(value: object) -> bool:
    return value in ("", [], {}) or (isinstance(value, str) and value.isspace())


def _kind(value: object) -> str:
    if _is_nothing(value):
        return "nothing"
    kinds = {
        dict: "an object",
        list: "a list",
        tuple: "a list",
        bool: "true or false",
        str: "a text",
    }
    return kinds.get(
        type(value), "a number" if isinstance(value, (int, float)) else f"a {type(value).__name__}"
    )


def _written(value: str | float | bool) -> str:
    """Return a text unchanged, and numbers, true and false as JSON writes them."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _finite(value: Any) -> Any:
    """Return a value of JSON with None for numbers that are not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value
