"""What a data set can feed and what is wrong with it, found in one pass before any call is paid."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from claimeval.metrics.rows import FIELDS, Metric
from claimeval.types.errors import DataError
from claimeval.types.records import Record, Sample

_DAMAGE = re.compile("\ufffd|Ã[\u0080-\u00bf]|â€[\u0080-\u00ff™œ“”˜š¦]|Â[\u00a0-\u00bf]")
"""The replacement character, and UTF-8 that was read as Latin-1 or Windows-1252."""


class Lack(Record):
    """Samples that cannot feed a metric."""

    part: str
    count: int
    first: str
    """Id of the first such sample."""

    @property
    def field(self) -> str:
        return FIELDS.get(self.part, f"evidence.{self.part}")


class Survey(Record):
    """What was found in a data set."""

    samples: int
    lacks: dict[str, tuple[Lack, ...]]
    """Per metric the parts that some samples lack."""
    empty_contexts: int
    """Samples for which nothing was retrieved, or blank texts alone."""
    empty_answers: int
    unanswered: int
    """Samples without an answer at all."""
    duplicate_ids: tuple[str, ...]
    first_duplicates: tuple[int, int] | None = None
    """Which samples, counted from 1, are the first two with one id."""
    damaged: dict[str, str]
    """Sample ids with text that looks wrongly decoded, and an excerpt."""
    generators: dict[str, int]
    metadata: dict[str, int]
    """Names in the metadata of samples, fields of the file that no sample has among them."""

    @property
    def doubled(self) -> str:
        """The first id that stands more than once, and where; only where there is one."""
        assert self.first_duplicates, "there is an id that stands twice"
        return "{!r} (samples {} and {})".format(self.duplicate_ids[0], *self.first_duplicates)

    def feeds(self, metric: str) -> bool:
        """Whether some sample has what the metric needs."""
        return sum(lack.count for lack in self.lacks[metric]) < self.samples


def survey(samples: Iterable[Sample], metrics: Sequence[Metric]) -> Survey:
    """Looks at every sample once; needs memory for the ids only. DataError when there is none."""
    count = empty_contexts = empty_answers = unanswered = 0
    lacks: dict[str, dict[str, tuple[int, str]]] = {metric.name: {} for metric in metrics}
    seen: dict[str, int] = {}
    duplicates: list[str] = []
    first_duplicates: tuple[int, int] | None = None
    damaged: dict[str, str] = {}
    generators: Counter[str] = Counter()
    metadata: Counter[str] = Counter()
    for sample in samples:
        count += 1
        if sample.id in seen:
            duplicates.append(sample.id)
            first_duplicates = first_duplicates or (seen[sample.id], count)
        seen.setdefault(sample.id, count)
        empty_contexts += sample.documents("contexts") == ()
        unanswered += sample.answer is None
        empty_answers += sample.answer is not None and not sample.answer.strip()
        if len(damaged) < 100 and (excerpt := _damage(sample)):
            damaged[sample.id] = excerpt
        generators[sample.generator or "not said"] += 1
        metadata.update(sample.metadata.keys())
        for metric in metrics:
            if part := metric.lacks(sample):
                n, first = lacks[metric.name].get(part, (0, sample.id))
                lacks[metric.name][part] = n + 1, first
    if not count:
        raise DataError("there are no samples")
    return Survey(
        samples=count,
        lacks={
            name: tuple(Lack(part=part, count=n, first=first) for part, (n, first) in parts.items())
            for name, parts in lacks.items()
        },
        empty_contexts=empty_contexts,
        empty_answers=empty_answers,
        unanswered=unanswered,
        duplicate_ids=tuple(dict.fromkeys(duplicates)),
        first_duplicates=first_duplicates,
        damaged=damaged,
        generators=dict(generators.most_common()),
        metadata=dict(metadata.most_common()),
    )


def _damage(sample: Sample) -> str | None:
    texts = (sample.question, sample.answer or "", *(d.text for d in sample.contexts or ()), *sample.reference_answers)
    for text in texts:
        if not text.isascii() and (match := _DAMAGE.search(text)):
            return text[max(0, match.start() - 20) : match.end() + 20]
    return None
