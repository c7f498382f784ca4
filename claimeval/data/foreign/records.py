"""What was judged elsewhere, as this project's records: samples with claims and verdicts, human labels, scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from claimeval.data.labels import HumanLabel
from claimeval.judging.grounding import ground
from claimeval.metrics.rows import METRICS, Metric
from claimeval.types.records import Assessment, Claim, Evidence, Label, Part, Record, Sample, SampleResult, Verdict
from claimeval.types.requests import Judge
from claimeval.types.scales import Scale

RECORDED = "recorded"
"""The provider of judges whose replies are on record; nobody can ask them again."""


class JudgedSample(NamedTuple):
    """One sample as another tool left it. Its assessments hold verdicts and no label yet."""

    result: SampleResult
    human: tuple[HumanLabel, ...] = ()
    scores: dict[str, float | None] = {}  # noqa: RUF012  # never changed
    """The tool's own scores of the sample by name; None where it has none."""
    forms: tuple[tuple[str, str], ...] = ()
    """Of every reply that was read, its judge and the form it was read in."""


class RecordedResults(NamedTuple):
    """A file of judged samples; `samples` reads it again each time it is called."""

    kind: str
    """What the file is, in a word: `ragchecker`, `ragas`, `deepeval`, or `recorded`."""
    judges: tuple[Judge, ...]
    metrics: tuple[Metric, ...]
    labels: tuple[Label, ...]
    """The labels that the judges could give, least favourable first."""
    samples: Callable[[], Iterator[JudgedSample]]
    grades: Scale | None = None
    replicates: int = 1
    derived: tuple[str, ...] = ()
    """Metrics that can be read off the verdicts."""
    per_document: bool = False
    """Whether the judges were shown each context alone."""
    repeated: int = 0
    """Rows that repeat a claim text of their sample for the same judge, where no field tells claims apart."""

    @property
    def asked(self) -> dict[str, Any]:
        """How the judges were asked, as settings of a panel."""
        return {"replicates": self.replicates, "per_document": self.per_document}


class Unread(Record):
    """A recorded text in which no verdict could be read."""

    sample: str
    subject: str
    judge: str
    because: str
    reply: str


def recorded_judge(name: str) -> Judge:
    """A judge whose verdicts are on record."""
    return Judge(name=name, model=f"{RECORDED}:{name}")


def metric_of(claims_of: Part, against: Part) -> Metric:
    """The built-in metric of these parts, or a row that is named after them."""
    for row in METRICS.values():
        if (row.claims_of, row.against) == (claims_of, against):
            return row
    return Metric(name=f"{claims_of}_against_{against}", claims_of=claims_of, against=against)


def claim(claim_id: str, text: str, of: Part, sample: Sample) -> Claim:
    """A claim with its place in the text it was taken from; one of a text that the sample lacks is not looked for."""
    source = sample.text(of)
    if source is None:
        return Claim(id=claim_id, text=text, of=of, grounding="ids_only")
    where = ground(text, None, (), source, (), sample.question)
    return Claim(
        id=claim_id,
        text=text,
        of=of,
        span=where.span,
        grounding=where.grounding,
        missing_numbers=where.missing_numbers,
    )


def assessment(subject: str, evidence: Evidence, verdicts: tuple[Verdict, ...]) -> Assessment:
    """An assessment before the vote."""
    return Assessment(subject=subject, evidence=evidence, verdicts=verdicts, unassessed="tie")
