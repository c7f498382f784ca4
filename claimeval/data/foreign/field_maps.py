"""A mapping that says which fields of a file hold samples, claims, recorded replies and human labels.

It is YAML; a path into a row is written with slashes (`judges/gpt-4/raw`, `outputs/0/text`). A row is one claim with
the replies of several judges (`judges`, or a list `replies` in the order of `judges`, or a list of objects under
`each`), or a single reply (`judge` and `reply`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, ValidationError, model_validator

from claimeval.data.rows import SourceRow
from claimeval.judging.recorded.vocabulary import Meaning
from claimeval.metrics.rows import ambiguous
from claimeval.types.errors import DataError, UsageError
from claimeval.types.records import Part, Record
from claimeval.types.scales import Scale, grade_scale


class RecordedJudge(Record):
    """Where one judge's replies stand in a row."""

    reply: str
    forms: tuple[str, ...] = ()
    """How they say their verdict, where it differs from the other judges'."""


class GradeRange(Record):
    """Grades in a mapping: the lowest, the highest, and from which on a grade counts as supported."""

    least: int = 0
    most: int = 3
    supported_from: int = 2

    @property
    def scale(self) -> Scale:
        """The scale of these grades."""
        return grade_scale("grades", lowest=self.least, highest=self.most, positive_from=self.supported_from)


class FieldMap(Record):
    """Which fields hold what."""

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
    """Numbers the claims of a sample unless given."""
    of: Part = "answer"
    against: Part
    judges: dict[str, RecordedJudge] | tuple[str, ...] | None = None
    replies: str | None = None
    each: str | None = None
    judge: str | tuple[str, ...] | None = None
    reply: str | None = None
    forms: tuple[str, ...] = Field(min_length=1)
    words: dict[str, Meaning] = Field(default_factory=dict)
    scale: Literal["binary", "three_way"] | None = None
    """Whether "no" says more than "not supported"; binary unless said where all forms are free text."""
    grades: GradeRange | None = None
    """The scale where the replies are grades."""
    human: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, fields: Any) -> Any:
        """A path may stand for a judge that needs no more, and one form for a list of it."""
        if not isinstance(fields, dict):
            return fields
        judges = fields.get("judges")
        if isinstance(judges, dict):
            judges = {str(n): {"reply": where} if isinstance(where, str) else where for n, where in judges.items()}
        forms = fields.get("forms")
        return {**fields, "judges": judges, "forms": (forms,) if isinstance(forms, str) else forms}

    @model_validator(mode="after")
    def _clear_names(self) -> FieldMap:
        if problem := ambiguous(self.of) or ambiguous(self.against):
            raise ValueError(problem)
        return self

    @model_validator(mode="after")
    def _one_way(self) -> FieldMap:
        by_name = isinstance(self.judges, dict) and not (self.replies or self.each or self.judge or self.reply)
        by_list = isinstance(self.judges, tuple) and self.replies and not (self.each or self.judge or self.reply)
        by_row = not self.judges and self.judge and self.reply and not self.replies
        if not (by_name or by_list or by_row):
            raise ValueError(
                "say where the replies are: `judges` with a path each; or `judges` as a list and `replies`; or `judge` "
                "and `reply`, with `each` where they stand in a list"
            )
        return self


def read_mapping(path: Path) -> FieldMap:
    """The mapping in a YAML file; UsageError that says what is wrong with it."""
    try:
        fields: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the mapping {str(path)!r}: {error}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"the mapping {str(path)!r} is not YAML: {str(error).splitlines()[0]}") from error
    return field_map(fields, f"the mapping {str(path)!r}")


def field_map(fields: Mapping[str, Any], place: str = "the mapping") -> FieldMap:
    """A checked mapping."""
    try:
        return FieldMap.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "as a whole"
        raise UsageError(f"{place}, {where}: {first['msg']}") from error


def at(row: SourceRow, path: str, *, missing: bool = False) -> Any:
    """What stands in a row under a path; DataError where there is nothing, or None where that is allowed."""
    value: Any = row.fields
    for part in path.split("/"):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        elif missing:
            return None
        else:
            raise DataError(f"{row.place}: nothing stands under {path!r}; its fields are {', '.join(row.fields)}")
    return value
