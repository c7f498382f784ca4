"""Scales of relevance: whole grades from 0 up, what each means, and from which on a document counts as relevant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, ValidationError

from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.records import Record
from claimeval.types.scales import Grades


class RelevanceScale(Record):
    """Grade `i` means `meanings[i]`."""

    name: str
    meanings: tuple[str, ...] = Field(min_length=2)
    """The sentences shown to the judge, least relevant first."""
    relevant_from: int = Field(ge=1)

    @property
    def grades(self) -> Grades:
        """The scale as votes and labels need it; a relevant document is `supported` there."""
        return Grades(least=0, most=len(self.meanings) - 1, supported_from=self.relevant_from)


UMBRELA = RelevanceScale(
    name="umbrela",
    meanings=(
        "the document has nothing to do with the question",
        "the document is about the subject of the question but does not answer it, not even in part",
        "the document holds an answer, but it is incomplete, unclear or hidden among other things",
        "the document is devoted to the question and answers it exactly",
    ),
    relevant_from=2,
)
"""The four grades of TREC Deep Learning that UMBRELA asks for (Upadhyay et al. 2024), in our own words."""

GRADED = RelevanceScale(
    name="graded",
    meanings=(
        "the document is of no use for answering the question",
        "the document helps with a part of the answer, or only with background that is needed for it",
        "the document alone is enough to answer the question",
    ),
    relevant_from=1,
)
BINARY = RelevanceScale(
    name="binary",
    meanings=(
        "the document does not help to answer the question, even if it is about the same subject",
        "the document says something that belongs in an answer to the question",
    ),
    relevant_from=1,
)
MATCH = RelevanceScale(
    name="match",
    meanings=(
        "the document does not hold what the passage says, or not the essential part of it",
        "the document says what the passage says, contains it among other things, or is a piece cut from it",
    ),
    relevant_from=1,
)
"""Whether a document holds a reference passage; the passage stands in place of the question."""
RELEVANCE_SCALES = {scale.name: scale for scale in (UMBRELA, GRADED, BINARY)}


def relevance_scale(spec: str) -> RelevanceScale:
    """A scale by name, or a user's own in a YAML file with `meanings` (a list, grade 0 first) and `relevant_from`."""
    if spec in RELEVANCE_SCALES:
        return RELEVANCE_SCALES[spec]
    path = Path(spec)
    if path.suffix not in (".yaml", ".yml"):
        raise UsageError(f"{unknown_name('scale', spec, RELEVANCE_SCALES)}; or give a YAML file with meanings")
    try:
        fields: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        scale = RelevanceScale.model_validate({"name": path.stem, **fields})
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the scale {spec!r}: {error}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"the scale {spec!r} is not YAML: {str(error).splitlines()[0]}") from error
    except TypeError as error:
        raise UsageError(f"the scale {spec!r} needs the fields `meanings` and `relevant_from`") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"the scale {spec!r}, {where}: {first['msg']}") from error
    if scale.relevant_from >= len(scale.meanings):
        raise UsageError(f"the scale {spec!r}: relevant_from {scale.relevant_from} is above its highest grade")
    return scale
