"""Mapping from fields of a file to samples, claims, recorded replies and human labels.

A mapping is YAML. A path in a row is written with slashes (`judges/gpt-4/raw`, `outputs/0/text`). A row is one claim
with a single reply (`judge` and `reply`) or with the replies of several judges: in the fields `judges`, in a list
`replies` in the order of `judges`, or in a list of objects `items_field`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from claimeval.data.rows import SourceRow
from claimeval.judging.recorded import Meaning
from claimeval.metrics.rows import ambiguous
from claimeval.types.errors import DataError, UsageError, read_yaml
from claimeval.types.records import Part, Record
from claimeval.types.scales import Scale, grade_scale


class RecordedJudge(Record):
    """Fields of one judge's replies."""

    reply: str
    forms: tuple[str, ...] = ()
    """The forms of the replies. Default: the forms of the mapping."""


class GradeRange(Record):
    """Range of grades, and the lowest grade that counts as supported."""

    lowest: int = 0
    highest: int = 3
    positive_from: int = 2

    @property
    def scale(self) -> Scale:
        """Return the scale of these grades."""
        return grade_scale(
            "grades", lowest=self.lowest, highest=self.highest, positive_from=self.positive_from, divided=False
        )


class FieldMap(Record):
    """Paths of the fields in a row, and the forms of the replies."""

    id: str
    """The sample's id."""
    question: str | None = None
    answer: str | None = None
    contexts: str | None = None
    """A text or a list of texts."""
    reference_answers: str | None = None
    generator: str | None = None
    claim: str
    """The text of the claim that was judged."""
    claim_id: str | None = None
    """Default: the claims of a sample are numbered."""
    of: Part = "answer"
    against: Part
    judges: dict[str, RecordedJudge] | tuple[str, ...] | None = None
    replies: str | None = None
    items_field: str | None = None
    judge: str | tuple[str, ...] | None = None
    reply: str | None = None
    forms: tuple[str, ...] = Field(min_length=1)
    words: dict[str, Meaning] = Field(default_factory=dict)
    scale: Literal["binary", "three_way"] | None = None
    """Whether "no" means contradicted. Default: binary if the forms only say yes or no, else three_way."""
    grades: GradeRange | None = None
    """The range, if the replies are grades."""
    human_label: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _expand(cls, fields: Any) -> Any:
        """Expand a path to a judge, and a single form to a list."""
        if not isinstance(fields, dict):
            return fields
        judges = fields.get("judges")
        if isinstance(judges, dict):
            judges = {str(n): {"reply": judge} if isinstance(judge, str) else judge for n, judge in judges.items()}
        forms = fields.get("forms")
        return {**fields, "judges": judges, "forms": (forms,) if isinstance(forms, str) else forms}

    @model_validator(mode="after")
    def _check_names(self) -> FieldMap:
        if problem := ambiguous(self.of) or ambiguous(self.against):
            raise ValueError(problem)
        return self

    @model_validator(mode="after")
    def _check_replies(self) -> FieldMap:
        by_name = isinstance(self.judges, dict) and not (self.replies or self.items_field or self.judge or self.reply)
        by_list = isinstance(self.judges, tuple) and self.replies and not (self.items_field or self.judge or self.reply)
        by_row = not self.judges and self.judge and self.reply and not self.replies
        if not (by_name or by_list or by_row):
            raise ValueError(
                "one of these is needed for the replies: `judges` with a path each; `judges` as a list with `replies`; "
                "or `judge` with `reply`, plus `items_field` if they are in a list"
            )
        return self


def read_mapping(path: Path) -> FieldMap:
    """Read a mapping from a YAML file. Raises UsageError if it is invalid."""
    return field_map(read_yaml(path, "mapping"), f"the mapping {str(path)!r}")


def field_map(fields: Mapping[str, Any], name: str = "the mapping") -> FieldMap:
    """Return a valid mapping. Raises UsageError, with `name`, if it is invalid."""
    try:
        return FieldMap.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{name}{', ' if field else ''}{field}: {first['msg']}") from error


def value_at(row: SourceRow, path: str, *, optional: bool = False) -> Any:
    """Return the value at a path of a row. If it is missing, return None or, unless it is optional, raise DataError."""
    value: Any = row.fields
    for part in path.split("/"):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        elif optional:
            return None
        else:
            value = None
            break
    if value is None and not optional:
        raise DataError(f"{row.location}: no field {path!r}. Known: {', '.join(row.fields)}")
    return value
