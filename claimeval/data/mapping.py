"""Mappings from the rows of an export to the fields of samples, as the caller gives them or as a
preset of a tool.

A mapping names for each field one or several paths, of which the first that gives something counts;
contexts take the values of all. A key that begins a path is left out of the metadata.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from claimeval.data import documents
from claimeval.data.conversations import spoken
from claimeval.data.paths import LISTS, is_path, is_pattern, opened, roots, values_at
from claimeval.data.reasoning import AnswerReasoning
from claimeval.data.rows import SourceRow
from claimeval.data.trace_kinds import TRACES
from claimeval.types.errors import UsageError, first_problem, read_yaml, unknown_name
from claimeval.types.records import Numbering, Record, Sample

Turns = Literal["last", "all"]
"""The answers of a conversation that are samples."""
MappingSpec = str | Path | Mapping[str, Any]
"""A YAML file, the name of a preset, or the content of a mapping."""
_PRESETS = Path(__file__).with_name("presets.yaml")
CONVERSATIONS = ("messages", "conversations")
"""Names of columns with a conversation."""
LOOKED_AT = 20
"""Rows that are looked at to recognize an export."""
FIELDS = (
    *(name for name in Sample.model_fields if name not in ("references", "numbering")),
    "context_ids",
    "messages",
)
_DOCUMENT_LISTS = ("contexts", "reference_contexts")
_DOCUMENTS_OF = {"context_ids": "contexts", "reference_context_ids": "reference_contexts"}
"""The documents of which a field has the ids."""


class RowMapping(Record):
    """Where the fields of a sample are in the rows of a file."""

    preset: str | None = None
    """The export that was recognized, or that the caller named."""
    rows: str | None = None
    """Path of the list of rows in a JSON file or in a line."""
    where: str | None = None
    """A path that rows have to have, NAME=VALUE, or NAME= for rows that do not have it; other rows
    are left out."""
    group: str | None = None
    """Columns, separated by commas, whose equal values make rows one sample; `none` for rows that
    are samples."""
    split: str | None = None
    """The separator of contexts that are joined in one text."""
    join: str | None = None
    """The text between the parts of an answer; None if an answer is one text."""
    sheet: str | None = None
    """The sheet of a spreadsheet; None if it has one."""
    turns: Turns | None = None
    """Whether every answer of a conversation is a sample or, by default, the last one."""
    answer_reasoning: AnswerReasoning | None = None
    """What is done with reasoning of a model in answers; None: it is refused."""
    numbering: Numbering | None = None
    """What the numbers in the answers' citations are; None: found over all samples."""
    missing: tuple[str, ...] | None = None
    """Texts that the file has in place of nothing, such as `null` or `-`."""
    fields: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """The paths of each field. An empty path says that the data, or rows without the other paths,
    do not have it."""
    given: frozenset[str] = Field(default=frozenset(), exclude=True)
    """Fields whose paths are the caller's and not those of the preset."""
    read_as: str | None = Field(default=None, exclude=True)
    """What was recognized, in words."""

    def is_given(self, field: str) -> bool:
        """Return whether the path of a field is the caller's and not that of the preset."""
        return field in (self.given if self.preset else self.fields)

    @property
    def of_spans(self) -> bool:
        """Whether spans are read as one sample a trace, which paths cannot say."""
        return self.preset in TRACES

    @property
    def changes_rows(self) -> bool:
        """Whether fields are elsewhere than in columns by their names."""
        paths = self.fields.values()
        has_paths = (
            bool(paths) if self.preset else any(len(each) > 1 or is_path(each[0]) for each in paths)
        )
        return has_paths or any((self.where, self.split, self.missing))

    @property
    def row_each(self) -> bool:
        """Whether each row is a sample."""
        grouped = self.group not in (None, "none")
        return not (self.of_spans or self.where or self.rows or grouped or self.turns == "all")

    def overridden_by(self, other: RowMapping) -> RowMapping:
        """Return this mapping with what the other one has."""
        settings = {name: value for name in SETTINGS if (value := getattr(other, name))}
        own = {
            field
            for field, paths in other.fields.items()
            if not other.preset or self.fields.get(field) != paths
        }
        fields = {"fields": {**self.fields, **other.fields}, "given": self.given | own}
        return self.model_copy(update={**settings, **fields})

    @property
    def content(self) -> dict[str, str | tuple[str, ...]]:
        """The content of a mapping file."""
        settings = self.model_dump(exclude={"fields", "read_as"}, exclude_none=True)
        return settings | {
            name: paths[0] if len(paths) == 1 else paths for name, paths in self.fields.items()
        }


class Preset(Record):
    """An export of a tool: how it is recognized, and its mapping."""

    known_from: Literal["export", "source", "documentation"]
    """What its names were read from: a file that the tool wrote, its source, or its
    documentation."""
    has: tuple[str, ...]
    lacks: tuple[str, ...] = ()
    notes: dict[str, str] = Field(default_factory=dict)
    """Why the export does not have a field, and where it is."""
    mapping: RowMapping

    def fits(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether one of the rows has all paths of this export."""
        return any(_has(row, self.has, all) and not _has(row, self.lacks, any) for row in rows)


NO_MAPPING = RowMapping()
SETTINGS = tuple(
    name for name in RowMapping.model_fields if name not in ("fields", "given", "read_as")
)


def _has(row: Mapping[str, Any], paths: Iterable[str], quantifier: Any) -> bool:
    keys = row.keys()
    return bool(quantifier(path in keys or is_chosen(row, path) for path in paths))


OF_PRESET = tuple(name for name in Preset.model_fields if name != "mapping")
"""Keys of an entry of the table that are no mapping."""


@lru_cache(maxsize=1)
def presets() -> dict[str, Preset]:
    """Return the exports that are recognized, by name."""
    table = read_yaml(_PRESETS, "table of exports")
    return {
        name: Preset(
            **{key: row.pop(key) for key in OF_PRESET if key in row},
            mapping=_parsed({"preset": name, **row}, name),
        )
        for name, row in table.items()
    }


def options(paths: Mapping[str, str | Sequence[str]]) -> str:
    """Return `--field` options for these paths."""
    parts: list[str] = []
    for name, given in paths.items():
        own = name in ("group", "answer_reasoning")
        option = f"--{name.replace('_', '-')} " if own else f"--field {name}="
        paths_given = [given] if isinstance(given, str) else given
        parts += [f"{option}{shlex.quote(path)}" for path in paths_given]
    return " ".join(parts)


def parse_mapping(given: MappingSpec | None, **settings: str | None) -> RowMapping:
    """Return the mapping in a file, a preset by its name, or the content of a mapping, with
    settings that take precedence over those in it.

    Raises:
        UsageError: The file cannot be read, or a name in it is unknown.
    """
    if isinstance(given, str) and given in presets():
        given = {"preset": given}
    if isinstance(given, (str, Path)):
        content = read_yaml(Path(given), "mapping")
        name = str(given)
    else:
        content = given or {}
        name = "mapping"
    if not isinstance(content, Mapping):
        raise UsageError(
            f"{name}: {type(content).__name__}; give paths by the fields of samples, as in answer:"
            " draft"
        )
    given_settings = {key: value for key, value in settings.items() if value}
    return _over_preset(_parsed({**content, **given_settings}, name))


def _over_preset(mapping: RowMapping) -> RowMapping:
    """Return a mapping over that of the preset that it names. Raises UsageError if there is
    none."""
    if not mapping.preset:
        return mapping
    if mapping.of_spans:
        return RowMapping(preset=mapping.preset).overridden_by(mapping)
    if mapping.preset not in presets():
        raise unknown_name("preset", mapping.preset, presets())
    return presets()[mapping.preset].mapping.overridden_by(mapping)


def _parsed(content: Mapping[str, Any], name: str) -> RowMapping:
    paths = {field: value for field, value in content.items() if field not in SETTINGS}
    for field in paths:
        if field not in FIELDS:
            raise unknown_name("field of a sample", field, FIELDS)
        if isinstance(paths[field], Mapping):
            raise UsageError(
                f"{name}, {field}: needs a path or a list of paths, such as {field}: draft, got"
                f" {paths[field]!r}"
            )
    try:
        return RowMapping(
            **{key: content[key] for key in SETTINGS if key in content},
            fields={
                key: (value,) if isinstance(value, str) else tuple(value or ("",))
                for key, value in paths.items()
            },
        )
    except (ValidationError, TypeError) as error:
        field, problem, value = (
            first_problem(error) if isinstance(error, ValidationError) else ("", str(error), "")
        )
        raise UsageError(f"{name}, {field}: {problem}{value and f', got {value}'}") from error


_NAMED = ("messages", "question", "answer", "contexts", "reference_answers")
"""Fields whose paths are said when an export is recognized."""


def described(mapping: RowMapping, rows: Sequence[SourceRow]) -> RowMapping:
    """Return the mapping of a recognized export with a line that says which of its paths are in the
    rows."""
    parts = []
    for field, paths in mapping.fields.items():
        if field in _NAMED:
            used = _paths_with_values(field, paths, rows)
            parts += [f"{field} from {' or '.join(used)}"] if used else []
    read_as = (
        f"read as {mapping.preset}: {', '.join(parts)}" if parts else f"read as {mapping.preset}"
    )
    return mapping.model_copy(update={"read_as": read_as})


def _paths_with_values(
    field: str,
    paths: Sequence[str],
    rows: Sequence[SourceRow],
) -> dict[str, None]:
    """Return the paths of a field that some row has, and for a pattern the columns it matches."""
    used: dict[str, None] = {}
    for path in filter(None, paths):
        columns_matched = is_pattern(path) and field not in LISTS
        for row in rows:
            if _has(row.fields, (path,), any):
                names = roots(tuple(row.fields), path) if columns_matched else (path,)
                used.update(dict.fromkeys(names))
    return used


def mapped(rows: Iterable[SourceRow | Sample], mapping: RowMapping) -> Iterator[SourceRow | Sample]:
    """Yield the rows with a column for each field that the mapping has, named as `columns` says."""
    for row in rows:
        if not isinstance(row, SourceRow):
            yield row
        elif mapping.where is None or is_chosen(row.fields, mapping.where):
            if missing := mapping.missing:
                row = row._replace(
                    fields={name: None if at in missing else at for name, at in row.fields.items()}
                )
            yield _mapped(row, mapping)


_CONDITION = re.compile(r"(?P<path>(?:\[[^\]]*\]|[^=])*)(?P<equals>=?)(?P<value>.*)", re.DOTALL)
"""A path, `=` and a value; in brackets, `=` is a part of the path."""


def is_chosen(row: Mapping[str, Any], where: str) -> bool:
    """Return whether a row has the path that rows have to have, with its value."""
    match = _CONDITION.match(where)
    path, equals, wanted = match.groups() if match else (where, "", "")
    found = values_at(row, path)
    if wanted:
        return any(_written(value) in (wanted, wanted.lower()) for value in found)
    return any(True for _ in found) != bool(equals)


def _written(value: object) -> str:
    """Return a value as a condition writes it; true and false as JSON has them."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def columns(mapping: RowMapping) -> dict[str, str]:
    """Return the column of each field in mapped rows."""
    return {field: _column(paths) for field, paths in mapping.fields.items()}


def _column(paths: Sequence[str]) -> str:
    return " or ".join(filter(None, paths))


def _mapped(row: SourceRow, mapping: RowMapping) -> SourceRow:
    values = dict[str, object]()
    used = set[str]()
    spoken = set[str]()
    """Columns that have the question or the answer."""
    whole = set[str]()
    """Columns that a field has as they are, although another has a part of them."""
    names = tuple(row.fields)
    for field, paths in mapping.fields.items():
        column = _column(paths)
        if _is_plain_column(row, paths, mapping):
            whole.update(paths)
            continue  # a column by its name, or the error of a column that is not there
        starts = [roots(names, path) for path in paths]
        given = mapping.is_given(field)
        if given and not any(starts) and "" not in paths:
            continue
        values[column] = _value(row.fields, field, paths, mapping)
        # A preset names an id that a row may lack, and then its number is one.
        if field == "id" and not given and values[column] is None:
            values[column] = row.number
        used.update(_dropped(field, starts, mapping))
        if field in ("question", "answer", "messages"):
            spoken.update(chain.from_iterable(starts))
        if field == "answer" and mapping.join is not None:
            parts = chain.from_iterable(values_at(row.fields, path) for path in paths if path)
            values["sentence_ends"] = _ends(map(_cited, parts), mapping.join)
    # A column that a field is read from is dropped, but not the conversation: contexts within a
    # message would take all its turns away.
    used -= whole | (set(CONVERSATIONS) - spoken)
    kept = {name: value for name, value in row.fields.items() if name not in used}
    return row._replace(fields={**kept, **values}, raw=row.fields)


def _dropped(field: str, starts: Iterable[Iterable[str]], mapping: RowMapping) -> Iterator[str]:
    """Yield the columns of which nothing is left once a field is read from them; none for ids
    within documents, such as `contexts[*].metadata.id`, which leave these to be read too."""
    documents = _DOCUMENTS_OF.get(field)
    if documents is None or documents in mapping.fields:
        yield from chain.from_iterable(starts)


def _is_plain_column(row: SourceRow, paths: Sequence[str], mapping: RowMapping) -> bool:
    if len(paths) != 1 or mapping.preset or mapping.split:
        return False
    return paths[0] in row.fields or not is_path(paths[0])


def _value(row: Mapping[str, Any], field: str, paths: Sequence[str], mapping: RowMapping) -> object:
    """Return the value of a field: of the first path that gives something; lists of documents take
    all of a path, and a conversation those of all paths."""
    if field == "messages" and len(paths) > 1:
        return _conversation(row, paths)
    if field in _DOCUMENT_LISTS:
        return _documents_at(row, paths, mapping.split)
    empty: object = None
    for path in paths:
        found = list(values_at(row, path)) if path else []
        if not found:
            empty = [] if field in LISTS and _is_empty_list(row, path) else empty
            continue
        is_text = field in ("question", "answer")
        value = _text(found, field, mapping.join) if is_text else _one(found)
        # A blank text gives way to the next path, and is a fact about the system at the last one.
        is_blank = isinstance(value, str) and not value.strip()
        if field in LISTS or (value is not None and (not is_blank or path == paths[-1])):
            return value
    return empty


def _documents_at(
    row: Mapping[str, Any],
    paths: Sequence[str],
    split: str | None,
) -> list[Any] | None:
    """Return the documents at all paths; None if they are not recorded, and an empty list if
    nothing was retrieved."""
    merged: list[Any] = []
    is_recorded = False
    for path in filter(None, paths):
        found = list(values_at(row, path))
        is_recorded = is_recorded or bool(found) or _is_empty_list(row, path)
        items = chain.from_iterable(_documents(value, split) for value in found)
        merged += [item for item in items if item not in merged]
    return merged if is_recorded else None


def _conversation(row: Mapping[str, Any], paths: Sequence[str]) -> list[Any] | None:
    """Return the messages at several paths, as those of a request and of its reply. A text is a
    message of the user at the first path, and else of the assistant."""
    messages: list[Any] = []
    for path in paths:
        for value in values_at(row, path):
            content = opened(value)
            if isinstance(content, list):
                messages += content
            elif isinstance(content, str):
                role = "assistant" if messages else "user"
                messages.append({"role": role, "content": content})
            else:
                messages.append(content)
    return messages or None


def _one(found: list[Any]) -> Any:
    return found[0] if len(found) == 1 else found


def _documents(value: Any, split: str | None) -> list[Any]:
    value = opened(value)
    if split and isinstance(value, str):
        return [part.strip() for part in value.split(split)]
    return documents.listed(value)


def _text(found: list[Any], field: str, join: str | None) -> object:
    """Return the text in the values at a path, also within objects and messages."""
    if join is not None:
        return join.join(map(_cited, found))
    value = _one(found)
    if isinstance(value, str) and value[:1] not in ("{", "[", '"'):
        return value
    parts = opened(value)
    if parts in ({}, []):
        return None
    if isinstance(parts, list) and (
        field == "question" or all(isinstance(part, str) for part in parts)
    ):
        # Data sets such as SQuAD have one answer as a list of one.
        return parts[0] if len(parts) == 1 and isinstance(parts[0], str) else parts
    text = spoken(parts, "user" if field == "question" else "assistant")
    return value if text is None else text


def _cited(part: Any) -> str:
    """Return a part of an answer, with the citations beside it as marks: `[1]` for index 0, else
    the id."""
    if not isinstance(part, Mapping):
        return str(part)
    cited = part.get("citations") or ()
    marks = "".join(f"[{name + 1 if isinstance(name, int) else name}]" for name in cited)
    return f"{part.get('text', '')}{marks and f' {marks}'}"


def _ends(parts: Iterable[str], join: str) -> list[int]:
    """Return where each part of a joined text ends."""
    ends: list[int] = []
    for part in parts:
        ends.append((ends[-1] + len(join) if ends else 0) + len(part))
    return ends


def _is_empty_list(row: Mapping[str, Any], path: str) -> bool:
    """Return whether a path without values leads through an empty list: nothing was retrieved,
    rather than recorded."""
    before, every, _ = path.partition("[*]")
    return bool(every) and any(opened(value) == [] for value in values_at(row, before))
