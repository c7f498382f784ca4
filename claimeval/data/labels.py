"""Human labels of claims or samples: a file, a row a label.

A row names its sample (`id`), what is labelled (`claim_id`, or `text`: the claim, or a passage of the text it was taken
from; neither for the whole sample), the label in words or as a grade, and where it helps `against` (which evidence the
person looked at) and `annotator`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from claimeval.data.rows import SourceRow, read_rows
from claimeval.judging.recorded.vocabulary import Vocabulary
from claimeval.types.errors import DataError
from claimeval.types.records import Evidence, Label, Record

NAMES = {
    "sample": ("id", "sample_id", "sample", "question_id"),
    "claim_id": ("claim_id",),
    "text": ("text", "claim"),
    "against": ("against",),
    "said": ("label", "human", "verdict"),
    "grade": ("grade",),
    "annotator": ("annotator", "annotator_id"),
}
"""The names that the fields of a row go by."""

_EXAMPLES = ("supported", "contradicted", "not_found", "yes", "no")
_WORDS = Vocabulary()
_PLAIN: dict[int, Label] = {1: "supported", 0: "not_found"}


class HumanLabel(Record):
    """What a person says of a claim, or of a whole sample."""

    sample: str
    claim_id: str | None = None
    text: str | None = None
    """The claim, or a passage of the text that claims were taken from."""
    evidence: Evidence | None = None
    """What the person held the claim against; None where the label does not say."""
    label: Label | None = None
    """None where a grade is all there is."""
    grade: int | None = None
    annotator: str | None = None

    @property
    def of_sample(self) -> bool:
        """Whether it is about the whole sample, not a claim."""
        return self.claim_id is None and self.text is None


class LabelFile:
    """The labels of a file (.jsonl, .json, .csv, .parquet) in order. Blank and undecided ones are left out and counted.

    DataError, with file and line, for a row without a sample and for a label that is no known word; and, at the end,
    for a file without any label.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.blank = 0
        """Rows without a label, as far as the file was read."""
        self.undecided = 0

    def __iter__(self) -> Iterator[HumanLabel]:
        self.blank = self.undecided = given = 0
        for row in read_rows(self._path):
            if found := label(row):
                given += 1
                yield found
            elif all(_empty(_named(row, NAMES[field])) for field in ("said", "grade")):
                self.blank += 1
            else:
                self.undecided += 1
        if not given:
            counts = f"{self.blank} rows are blank, {self.undecided} undecided"
            raise DataError(f"{self._path} has no label: {counts}; fill the column `label` ({', '.join(_EXAMPLES)})")


def read_labels(path: Path) -> LabelFile:
    """The labels of a file."""
    return LabelFile(path)


def label(row: SourceRow) -> HumanLabel | None:
    """The label in a row; None where it is empty or the person was undecided."""
    given = {field: _named(row, names) for field, names in NAMES.items()}
    if given["sample"] is None:
        raise DataError(f"{row.place}: a label needs the id of its sample (one of {', '.join(NAMES['sample'])})")
    said, graded = given.pop("said"), given.pop("grade")
    if _empty(said) and _empty(graded):
        return None
    meaning, grade = meant(graded if _empty(said) else said, row.place)
    if not _empty(graded):
        grade = meant(graded, row.place)[1]
    if meaning is None and grade is None:
        return None
    texts = {field: None if value is None else str(value) for field, value in given.items()}
    against = texts.pop("against")
    evidence = None if against is None else Evidence(part=against)
    return HumanLabel.model_validate({**texts, "evidence": evidence, "label": meaning, "grade": grade})


def meant(said: Any, place: str, words: Vocabulary = _WORDS) -> tuple[Label | None, int | None]:
    """What a word or number of a person says: a label, a grade, or neither where the person was undecided.

    1 and 0 are a grade and also yes and no: which of them counts depends on the run they are held against.
    """
    text = str(said).strip()
    if isinstance(said, bool):
        return _PLAIN[said], None
    meaning = words.meaning(text)
    if meaning:
        return (None if meaning == "unsure" else meaning), None
    try:
        grade = int(text)
    except ValueError:
        raise DataError(
            f"{place}: {text[:40]!r} is no label that is known; use supported, contradicted, not_found, yes, "
            "no, or a whole number"
        ) from None
    return _PLAIN.get(grade), grade


def _empty(value: object) -> bool:
    return value is None or not str(value).strip()


def _named(row: SourceRow, names: tuple[str, ...]) -> object:
    return next((row.fields[name] for name in names if row.fields.get(name) is not None), None)
