"""Check which metrics a data set has inputs for and what is wrong with it, in one pass and without
calls."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from statistics import median

from pydantic import Field

from claimeval.data.context_ids import ContextIds, ContextIdTally
from claimeval.data.mapping import RowMapping, presets
from claimeval.metrics.rows import FIELDS, Metric
from claimeval.statistics.formatting import number_of
from claimeval.types import html
from claimeval.types.errors import DataError, repeated_id, visible
from claimeval.types.records import ASKED, Document, Part, Record, Sample

EXCERPT = 100
"""Characters of a text that are shown."""

_INVALID_TEXT = re.compile("\ufffd|Ã[\u0080-\u00bf]|â€[\u0080-\u00ff™œ“”˜š¦]|Â[\u00a0-\u00bf]")
"""The replacement character, and UTF-8 that was read as Latin-1 or Windows-1252."""
_NOTHING = frozenset({"nan", "NaN", "<NA>", "NaT", "None", "null"})
"""Missing values as pandas, NumPy, Python and JSON write them."""


class MissingField(Record):
    """Samples without an input of a metric."""

    part: str
    count: int
    first: str
    """Id of the first such sample."""

    @property
    def field(self) -> str:
        """The name of the field in a sample."""
        if self.part == ASKED:
            return "question"
        return FIELDS.get(self.part, f"evidence.{self.part}")


class Survey(Record):
    """Counts and problems of a data set."""

    samples: int
    missing_fields: dict[str, tuple[MissingField, ...]]
    """The inputs that some samples do not have, by metric."""
    empty_contexts: int = 0
    """Samples with no contexts, or only blank ones."""
    empty_answers: int = 0
    no_answer: int = 0
    """Samples without the field `answer`."""
    no_question: MissingField | None = None
    """Samples without a question, if there are any."""
    duplicate_ids: tuple[str, ...] = ()
    duplicate_numbers: tuple[int, int] | None = None
    """Numbers, from 1, of the first two samples with the same id."""
    invalid_text: dict[str, str] = Field(default_factory=dict)
    """Ids of samples with text in a wrong encoding, and an excerpt."""
    written_nothing: dict[str, str] = Field(default_factory=dict)
    """Ids of samples with a text such as "nan", which programs write for missing values, and that
    text."""
    generators: dict[str, int] = Field(default_factory=dict)
    contexts: tuple[int, float, int] | None = None
    """The minimum, median and maximum number of contexts of a sample; None if no sample has
    contexts."""
    example: Sample | None = None
    """The first sample."""
    malformed: tuple[str, ...] = ()
    """The first 20 rows that cannot be read: file, line, field and problem."""
    nowhere: tuple[str, ...] = ()
    """Paths of the mapping that no row has, a sentence each, with the nearest path that rows
    have."""
    mapping: RowMapping = RowMapping()
    """How the rows are read."""
    offered: str | None = None
    """Options that would read more fields."""
    noticed: tuple[str, ...] = ()
    """What is left out of the rows or not read of them, in sentences."""
    malformed_rows: int = 0
    """The number of rows that cannot be read."""
    context_ids: ContextIds | None = None
    """Ids of contexts and of reference contexts; None if no sample has both."""
    metadata: dict[str, int] = Field(default_factory=dict)
    """Names in the metadata of samples, which include unknown fields of the file."""
    references_without_claims: int = Field(default=0, exclude=True)
    """Number of samples without claims of their gold answer."""
    metrics: tuple[Metric, ...] = Field(default=(), exclude=True)
    """The metrics whose inputs were checked."""

    @property
    def ok(self) -> bool:
        """Whether there are samples, all rows can be read, no id repeats and every path of the
        mapping leads somewhere."""
        problems = self.malformed or self.duplicate_ids or self.nowhere
        return bool(self.samples) and not problems

    @property
    def readable(self) -> str:
        """How many samples can be read, in words."""
        return f"{self.samples} readable {'sample' if self.samples == 1 else 'samples'}"

    def has_inputs_for(self, metric: str) -> bool:
        """Return whether some sample has the inputs of a metric."""
        return sum(missing.count for missing in self.missing_fields[metric]) < self.samples

    @property
    def availability(self) -> list[tuple[str, str, str, str]]:
        """The name, the two parts and the availability of the inputs of each metric."""
        return [
            (metric.name, metric.claims_of, metric.against, self._availability(metric))
            for metric in self.metrics
        ]

    def _availability(self, metric: Metric) -> str:
        remarks = [
            f"{lack.count} lack {lack.field} (first: {lack.first})"
            for lack in self.missing_fields[metric.name]
        ]
        if not self.has_inputs_for(metric.name):
            return f"no: {'; '.join(remarks)}"
        if "contexts" in (metric.claims_of, metric.against) and self.empty_contexts:
            remarks.append(f"{self.empty_contexts} retrieved nothing and count 0")
        return f"yes, but {'; '.join(remarks)}" if remarks else "yes"

    @property
    def remarks(self) -> list[str]:
        """Remarks on unusual data and on other fields, one line each."""
        remarks = [self.mapping.read_as] if self.mapping.read_as else []
        remarks += self.noticed
        if self.no_question:
            remarks.append(
                f"{number_of(self.no_question.count, 'sample')} without a question (first:"
                f" {self.no_question.first!r})"
            )
        if self.duplicate_numbers:
            first, second = self.duplicate_numbers
            remarks.append(
                f"{number_of(len(self.duplicate_ids), 'id')} more than once, first"
                f" {self.duplicate_ids[0]!r} (samples {first} and {second})"
            )
        if self.no_answer or self.empty_answers:
            remarks.append(
                f"{number_of(self.no_answer, 'sample')} without an answer,"
                f" {self.empty_answers} with an empty one"
            )
        if self.invalid_text:
            sample, excerpt = next(iter(self.invalid_text.items()))
            remarks.append(
                f"wrongly decoded, as it looks: {number_of(len(self.invalid_text), 'sample')}"
                f" (first: {sample!r}:"
                f" ...{excerpt}...)"
            )
        if self.written_nothing:
            sample, text = next(iter(self.written_nothing.items()))
            remarks.append(
                f"{number_of(len(self.written_nothing), 'sample')} with a text {text!r} (first:"
                f" {sample!r}); it counts as any text: leave the field empty if nothing is meant"
            )
        if self.contexts:
            fewest, median, most_contexts = self.contexts
            remarks.append(
                f"contexts per sample: min {fewest}, median {median:g}, max {most_contexts}"
            )
        if self.context_ids:
            remarks.append(self.context_ids.in_words)
            remarks.append(self.context_ids.caution or "")
        if self.metadata:
            remarks.append("kept as metadata: " + ", ".join(self.metadata))
        if self.offered:
            remarks.append(f"some of these could be fields: {self.offered}")
        if self.note:
            remarks.append(self.note)
        generators = [f"{name} ({n})" for name, n in self.generators.items()]
        return [*filter(None, remarks), "generators: " + ", ".join(generators[:8])]

    @property
    def advice(self) -> str:
        """What to do about fields that no sample has, as the end of a message."""
        known = (self.note, self.offered and f"add {self.offered}")
        return "".join(f"; {part}" for part in known if part)

    @property
    def note(self) -> str | None:
        """What an export does not have that was recognized, if the samples lack it."""
        known = presets().get(self.mapping.preset or "")
        return known.notes.get("answer") if known and self.no_answer == self.samples else None

    @property
    def example_in_words(self) -> list[tuple[str, str]]:
        """Excerpts of the fields of the first sample that have a value; of a list, the first two
        items."""
        fields = []
        for name, value in self.example or ():
            if isinstance(value, tuple):
                items = [item.text if isinstance(item, Document) else str(item) for item in value]
                if items:
                    shown = " | ".join(visible(item, EXCERPT // 2) for item in items[:2])
                    fields.append((f"{name} ({len(items)})", shown))
            elif value not in (None, "", {}):
                fields.append((name, visible(str(value), EXCERPT)))
        return fields

    def _repr_html_(self) -> str:
        """Return the output of `claimeval doctor` for a notebook."""
        more = self.malformed_rows - len(self.malformed)
        malformed = [*self.malformed, *([f"... and {more} more"] if more else [])]
        if not self.samples:
            return html.shown(html.listed("No row can be read", malformed))
        return html.shown(
            html.element("p", html.element("b", self.readable)),
            html.listed(f"{self.malformed_rows} malformed", malformed),
            html.table(("metric", "claims of", "against", "available"), self.availability),
            html.listed("Remarks", self.remarks),
            html.listed(
                "The first sample as read",
                (f"{name}: {text}" for name, text in self.example_in_words),
            ),
        )

    def __repr__(self) -> str:
        lines = [f"  {name}: {available}" for name, _, _, available in self.availability]
        if self.malformed_rows:
            lines.append(f"  malformed rows: {self.malformed_rows:,}")
        return "\n".join([f"<Survey of {self.readable}", *lines]) + ">"

    __str__ = __repr__


def counted(missing: MissingField | None, part: Part, sample: Sample) -> MissingField:
    """Return the count of samples without a part, increased by this sample."""
    if missing is None:
        return MissingField(part=part, count=1, first=sample.id)
    return missing.model_copy(update={"count": missing.count + 1})


def left_out(missing: MissingField, samples: int, prompt: str) -> str:
    """Return how many samples count as `missing_input` because they have no question. Raises
    DataError if all do."""
    if missing.count == samples:
        raise DataError(
            f"no sample has a question (first: {missing.first!r}), which prompt {prompt} reads."
            " Take a prompt that does not read it"
        )
    return (
        f"{missing.count} of {samples} samples lack question (first: {missing.first!r}): counted as"
        " missing_input"
    )


def distinct(samples: Iterable[Sample]) -> Iterator[Sample]:
    """Yield the samples. Raises DataError at a repeated id, and at the end if there are no
    samples."""
    numbers: dict[str, int] = {}
    for number, sample in enumerate(samples, 1):
        if (first := numbers.setdefault(sample.id, number)) != number:
            raise repeated_id(sample.id, first, number)
        yield sample
    if not numbers:
        raise DataError("there are no samples")


def survey(samples: Iterable[Sample], metrics: Sequence[Metric]) -> Survey:
    """Check every sample once. Only the ids are kept in memory. Raises DataError if there are no
    samples."""
    count = empty_contexts = empty_answers = no_answer = 0
    without_claims = 0
    missing = _MissingParts(metrics)
    numbers = dict[str, int]()
    duplicates = dict[str, tuple[int, int]]()
    no_question: MissingField | None = None
    invalid_text = dict[str, str]()
    written_nothing = dict[str, str]()
    generators = Counter[str]()
    metadata = Counter[str]()
    contexts = array("l")
    example: Sample | None = None
    ids = ContextIdTally()
    for sample in samples:
        count += 1
        example = example or sample
        if sample.contexts is not None:
            contexts.append(len(sample.contexts))
        if (earlier := numbers.setdefault(sample.id, count)) != count:
            duplicates.setdefault(sample.id, (earlier, count))
        empty_contexts += sample.contexts is not None and not any(
            context.has_words for context in sample.contexts
        )
        no_answer += sample.answer is None
        without_claims += not sample.reference_claims
        if not sample.question.strip():
            no_question = counted(no_question, "question", sample)
        empty_answers += sample.answer is not None and not sample.answer.strip()
        # A file in a wrong encoding has it in every row, and the search is slow.
        if len(invalid_text) < 100 and (excerpt := _invalid_text(sample)):
            invalid_text[sample.id] = excerpt
        if nothing := next((text for text in _texts(sample) if text in _NOTHING), None):
            written_nothing[sample.id] = nothing
        ids.add(sample)
        generators[sample.generator or "unknown"] += 1
        metadata.update(sample.metadata.keys())
        missing.add(sample)
    if not count:
        raise DataError("The data set has no samples")
    return Survey(
        samples=count,
        missing_fields=missing.fields(),
        empty_contexts=empty_contexts,
        empty_answers=empty_answers,
        no_answer=no_answer,
        no_question=no_question,
        duplicate_ids=tuple(duplicates),
        duplicate_numbers=next(iter(duplicates.values()), None),
        invalid_text=invalid_text,
        written_nothing=written_nothing,
        generators=dict(generators.most_common()),
        metadata=dict(metadata.most_common()),
        references_without_claims=without_claims,
        metrics=tuple(metrics),
        context_ids=ids.counts(),
        contexts=(min(contexts), median(contexts), max(contexts)) if contexts else None,
        example=example,
    )


class _MissingParts:
    """Counts, by metric, the samples that lack a part it needs."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics
        named = chain.from_iterable((metric.claims_of, metric.against) for metric in metrics)
        self._parts = sorted(set(named))
        self._lacks: dict[tuple[bool, ...], list[tuple[str, Part]]] = {}
        """The missing part of each metric, by the presence of each part: most samples of a file
        have the same parts."""
        self._counts: dict[str, dict[str, tuple[int, str]]] = {one.name: {} for one in metrics}

    def add(self, sample: Sample) -> None:
        asked = bool(sample.question.strip())
        given = bool(sample.reference_claims), asked
        has = (*given, *(sample.has(part) for part in self._parts))
        if has not in self._lacks:
            missing = []
            for metric in self._metrics:
                part = metric.missing_part(sample)
                if not part and not asked and metric.against == ASKED:
                    part = ASKED
                missing.append((metric.name, part))
            self._lacks[has] = [(name, part) for name, part in missing if part]
        for name, part in self._lacks[has]:
            n, first = self._counts[name].get(part, (0, sample.id))
            self._counts[name][part] = n + 1, first

    def fields(self) -> dict[str, tuple[MissingField, ...]]:
        """Return the missing parts by metric, each with its first sample."""
        fields: dict[str, tuple[MissingField, ...]] = {}
        for name, parts in self._counts.items():
            fields[name] = tuple(
                MissingField(part=part, count=n, first=first) for part, (n, first) in parts.items()
            )
        return fields


def _texts(sample: Sample) -> tuple[str, ...]:
    return (
        sample.question,
        sample.answer or "",
        *(d.text for d in sample.contexts or ()),
        *sample.reference_answers,
    )


def _invalid_text(sample: Sample) -> str | None:
    for text in _texts(sample):
        if not text.isascii() and (match := _INVALID_TEXT.search(text)):
            return text[max(0, match.start() - 20) : match.end() + 20]
    return None
