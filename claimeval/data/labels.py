"""Read human labels of claims and samples from a file with one label per row.

A row has the sample's id (`id`) or its question, the claim (`claim_id`, or `text` with the claim
or a passage; neither for a label of the whole sample), and a label or grade. Optional: `against`
(the evidence) and `annotator`.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from claimeval.data.rows import SourceRow, read_rows, unguarded
from claimeval.judging.recorded import Vocabulary
from claimeval.judging.reply_values import fold
from claimeval.metrics.rows import BUILT_IN
from claimeval.types.errors import DataError, is_misspelt, unknown_name
from claimeval.types.ids import id_text
from claimeval.types.records import Evidence, Label, Part, Record

logger = logging.getLogger("claimeval")

NAMES = {
    "sample": ("id", "sample_id", "sample", "question_id"),
    "question": ("question",),
    "claim_id": ("claim_id", "document_id", "document"),
    "text": ("text", "claim"),
    "against": ("against",),
    "label": ("label", "human", "verdict"),
    "grade": ("grade",),
    "annotator": ("annotator", "annotator_id"),
    "design": ("design",),
}
"""Field names in a row."""
_KNOWN = frozenset((*chain.from_iterable(NAMES.values()), "note", "cites"))
_TEXTS = frozenset((*NAMES["sample"], *NAMES["question"], *NAMES["claim_id"], *NAMES["text"]))

DESIGNS = ("disputed", "seen", "even", "label")
"""How a claim can have been chosen. Labels of the first two are no random sample."""
_OPTIONAL = ("claim_id", "text", "against", "annotator", "design")
"""Fields without which a row has another meaning: without a claim, it is of the whole answer."""

_EXAMPLES = ("supported", "contradicted", "not_found", "yes", "no")
_WORDS = Vocabulary()
_PLAIN: dict[int, Label] = {1: "supported", 0: "not_found"}
_NO = frozenset(
    map(
        fold,
        (
            *("0", "no", "false", "incorrect", "wrong", "inaccurate", "inconsistent"),
            *("unsupported", "not supported", "ungrounded", "unfaithful", "not attributable"),
        ),
    )
)
"""Words for `not_found` that do not say whether the evidence contradicts the claim."""
_UNSURE = "?"
"""The key for `unsure` of `annotate`, which people type into a sheet too."""


class HumanLabel(Record):
    """A human label of a claim or of a whole sample."""

    sample: str
    """Id of the sample; empty if the row has a question alone."""
    question: str | None = None
    """The question of the sample, by which a run finds it if the id says another one."""
    claim_id: str | None = None
    text: str | None = None
    """The claim, or a passage of the text that the claims were extracted from."""
    evidence: Evidence | None = None
    """The evidence that the annotator used; None if the row does not name it."""
    label: Label | None = None
    """None if there is only a grade."""
    grade: int | None = None
    word: str | None = None
    """The label of a document or an answer, as a word of the judges' scale."""
    annotator: str | None = None
    says_no: bool = False
    """Whether the label says no, but not whether the evidence contradicts the claim or lacks it."""
    design: str | None = None
    """`disputed` if its claim was chosen because judges or people differ; None for a draw, or
    labels from elsewhere."""

    @property
    def of_sample(self) -> bool:
        """Whether the label is for the whole sample."""
        return self.claim_id is None and self.text is None


class _WholeAnswers:
    """Labels of whole answers, of which one person gives one: several, which differ in a column
    that is not read, are about something smaller or by several people."""

    def __init__(self) -> None:
        self._first: dict[tuple[str | None, ...], dict[str, Any]] = {}
        self._repeated = Counter[str]()
        """By column, the number of rows with another value than the first one of their answer."""

    def add(self, label: HumanLabel, row: SourceRow) -> None:
        """Add a label of a whole answer."""
        against = label.evidence.part if label.evidence else None
        key = label.sample, label.question, label.annotator, against
        first = self._first.setdefault(key, row.fields)
        for name in row.fields.keys() & first.keys():
            value = row.fields[name]
            if name not in _KNOWN and isinstance(value, str) and value != first[name]:
                self._repeated[name] += 1

    def warn(self, path: Path) -> None:
        """Warn of the column in which most answers have several rows."""
        columns = [name for name, rows in self._repeated.items() if rows >= len(self._first)]
        if columns:
            name = max(columns, key=lambda name: (self._repeated[name], name))
            logger.warning(
                "%s has several labels for most whole answers, which differ in the column %r. That"
                " column is not read: if it has the claim, name it `text`; if it says who labeled,"
                " name it `annotator`",
                path,
                name,
            )


class LabelFile:
    """Labels of files (.jsonl, .json, .csv, .parquet) in order. Blank and undecided rows are
    skipped and counted.

    Raises DataError with file and line for a row without a sample or with an unknown label, and for
    files without labels.
    """

    def __init__(
        self,
        *paths: Path,
        words: Collection[str] = (),
        parts: Collection[Part] = (),
        place: Callable[[HumanLabel], HumanLabel] = lambda label: label,
        sheet: str | None = None,
    ) -> None:
        """`words` are labels of the run's scales in addition to the labels of claims. `parts` are
        what the claims of the run were assessed against: other evidence is refused unless samples
        have it too. Without `parts`, any is accepted. `sheet` is that of a spreadsheet."""
        self._paths = paths
        self._sheet = sheet
        self._words = words
        self._parts = parts
        self._place = place
        self.blank = 0
        """Rows without a label, as far as the file was read."""
        self.undecided = 0

    def __iter__(self) -> Iterator[HumanLabel]:
        self.blank = self.undecided = labeled = 0
        columns: dict[str, None] = {}
        whole = _WholeAnswers()
        for row in self._rows():
            if not labeled:
                _check_columns(row)
                columns |= dict.fromkeys(row.fields)
            human_label = label(row, self._words)
            if human_label:
                self._check_evidence(human_label.evidence, row)
                labeled += 1
                if human_label.of_sample:
                    whole.add(human_label, row)
                yield self._place(human_label)
            elif all(_empty(row.first(NAMES[field])) for field in ("label", "grade")):
                self.blank += 1
            else:
                self.undecided += 1
        whole.warn(self._paths[0])
        if not labeled:
            counts = f"{self.blank} rows are blank, {self.undecided} undecided"
            if columns and columns.keys().isdisjoint((*NAMES["label"], *NAMES["grade"])):
                counts = f"its columns are {', '.join(columns)}"
            files = " and ".join(map(str, self._paths)) + (
                " has" if len(self._paths) == 1 else " have"
            )
            raise DataError(
                f"{files} no labels: {counts}. Fill the column `label` ({', '.join(_EXAMPLES)})"
            )

    def _rows(self) -> Iterator[SourceRow]:
        for path in self._paths:
            yield from label_rows(path, self._sheet)

    def _check_evidence(self, evidence: Evidence | None, row: SourceRow) -> None:
        known = (*self._parts, *BUILT_IN)
        if evidence and self._parts and evidence.part not in known:
            error = unknown_name("evidence", evidence.part, self._parts)
            raise DataError(f"{row.location}, against: {error}")


def label_rows(path: Path, sheet: str | None = None) -> Iterator[SourceRow]:
    """Yield the rows of a label file, or of a sheet of it; in tables, apostrophes that protect
    cells from spreadsheets are removed."""
    for row in read_rows(path, texts=_TEXTS, sheet=sheet):
        if path.suffix.lower() in (".csv", ".tsv"):
            row = row._replace(fields={name: unguarded(cell) for name, cell in row.fields.items()})
        yield row


def _check_columns(row: SourceRow) -> None:
    """Raise DataError for a column that is misspelt: rows with `Text` in place of `text` would be
    labels of whole answers."""
    others = [column for column in row.fields if column not in _KNOWN]
    absent = [field for field in _OPTIONAL if row.fields.keys().isdisjoint(NAMES[field])]
    for field in absent:
        name = NAMES[field][0]
        for column in others:
            if is_misspelt(column, name):
                raise DataError(
                    f"{row.location}: the column {column!r} is not read. Did you mean {name!r}?"
                )


def label(row: SourceRow, words: Collection[str] = ()) -> HumanLabel | None:
    """Return the label in a row, or None if it is blank or undecided; `words` are additional
    labels."""
    values = {field: row.first(names) for field, names in NAMES.items()}
    if values["sample"] is None and _empty(values["question"]):
        raise DataError(
            f"{row.location}: a label needs the id of its sample (one of"
            f" {', '.join(NAMES['sample'])}) or its question"
        )
    meaning = _meaning(values.pop("label"), values.pop("grade"), words, row.location)
    if meaning is None:
        return None
    texts = {field: None if value is None else str(value) for field, value in values.items()}
    texts["sample"] = ""
    if values["sample"] is not None:
        texts["sample"] = id_text(values["sample"], f"{row.location}, sample")
    # In a sheet, a space behind a name cannot be seen.
    texts["annotator"] = (texts["annotator"] or "").strip() or None
    texts["design"] = _design(texts["design"], row.location)
    against = texts.pop("against")
    evidence = None if against is None else Evidence(part=against)
    return HumanLabel.model_validate({**texts, "evidence": evidence, **meaning._asdict()})


def _design(cell: str | None, location: str) -> str | None:
    """Return how the claim of a label was chosen; None if the row does not say it."""
    if not cell or not cell.strip():
        return None
    design = cell.strip().casefold()
    if design not in DESIGNS:
        raise DataError(f"{location}, design: {unknown_name('design', cell, DESIGNS)}")
    return design


class _StatedLabel(NamedTuple):
    """What a person stated, in the fields of a label."""

    label: Label | None = None
    grade: int | None = None
    word: str | None = None
    """A word of the run's own scales."""
    says_no: bool = False
    """As in `HumanLabel`."""


def _meaning(word: Any, number: Any, words: Collection[str], location: str) -> _StatedLabel | None:
    """Return what the cells for a label and a grade state; None if they are blank or undecided.

    Args:
        word: The cell for a label.
        number: The cell for a grade.
        words: Words of the run's own scales.
        location: Where the row is.
    """
    if _empty(word) and _empty(number):
        return None
    known = next((one for one in words if one == str(word).strip().casefold()), None)
    meaning = _StatedLabel(word=known)
    # A word of the run's scale is no label of claims: "polite" would be an unknown label.
    if known is None:
        stated = number if _empty(word) else word
        if str(stated).strip() == _UNSURE:
            return None
        label, grade = parse_label(stated, location)
        # A grade of 0 may also be a no, as pandas writes it: 0.0.
        says_no = label == "not_found" and fold(str(stated).strip().removesuffix(".0")) in _NO
        meaning = _StatedLabel(label, grade, says_no=says_no)
    if not _empty(number):
        meaning = meaning._replace(grade=parse_label(number, location)[1])
    return None if meaning == _StatedLabel() else meaning


def parse_label(
    value: Any,
    location: str,
    words: Vocabulary = _WORDS,
) -> tuple[Label | None, int | None]:
    """Return the label and the grade that a value stands for, or neither if the annotator was
    undecided.

    1 and 0 are a grade and also a label (yes and no). The run that they are compared with decides
    which one counts.
    """
    text = str(value).strip()
    # `true` is a yes; as a number it would be the grade 1.
    if isinstance(value, bool):
        return _PLAIN[value], None
    meaning = words.meaning(text)
    if meaning:
        return (None if meaning == "unsure" else meaning), None
    try:
        grade = int(text.removesuffix(".0"))  # pandas writes integers as floats if a row has none
    except ValueError:
        raise DataError(
            f"{location}: unknown label {text[:40]!r}. Use supported, contradicted, not_found, yes,"
            " no, unsure, or an integer"
        ) from None
    return _PLAIN.get(grade), grade


def _empty(value: object) -> bool:
    return value is None or not str(value).strip()
