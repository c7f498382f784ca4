"""The table of claim metrics. Each metric has the part that claims are extracted from, and the
evidence.

The value of a sample is the share of its judged claims that are supported. For the last two
metrics, judges get another question than whether a text supports a claim, and "supported" means on
topic or vital.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from claimeval.metrics import names
from claimeval.types.errors import UsageError
from claimeval.types.records import ASKED, CONTEXTS_AND_HISTORY, HISTORY, Part, Record, Sample


class Metric(Record):
    """A claim metric. Use a custom metric like a name, as in `score(...,
    metrics=[Metric(...)])`.

    Examples:
        >>> novel = ce.Metric(name="from_contexts", claims_of="answer", against="contexts")
        >>> run = ce.score("answers.jsonl", judges="local:lexical", metrics=["f1", novel], limit=2)
        >>> list(run.summary)
        ['from_contexts', 'correctness', 'coverage', 'f1']
    """

    name: str
    """Its name in tables and files."""
    claims_of: Part
    """The text whose claims are counted, such as `answer` or `reference`."""
    against: Part
    """The evidence: a claim counts if this part supports it. Samples without it have no score."""
    description: str = ""
    """What it says, in a few words; `claimeval metrics` prints it."""
    prompt: str | None = None
    """Name of its prompt, if the question is not whether a text supports a claim."""

    @classmethod
    def all(cls) -> tuple[Metric, ...]:
        """Return all claim metrics. `claimeval metrics` also lists the metrics that are derived
        from them."""
        return tuple(METRICS.values())

    @property
    def takes_best(self) -> bool:
        """Whether the best of several alternative gold answers counts. Metrics about the gold
        answers count all."""
        return self.claims_of == "reference" and self.against not in (ASKED, "reference_contexts")

    def missing_part(self, sample: Sample) -> Part | None:
        """Return the part that this metric needs and the sample does not have; None if the sample
        has both."""
        if not sample.has_claims(self.claims_of):
            return self.claims_of
        return None if sample.has(self.against) else self.against


FIELDS: dict[Part, str] = {
    "answer": "answer",
    "reference": "reference_answers",
    "contexts": "contexts",
    "reference_contexts": "reference_contexts",
    HISTORY: "history",
    CONTEXTS_AND_HISTORY: "contexts",
}
"""The field of a sample for each built-in part."""

BUILT_IN: tuple[Part, ...] = (*FIELDS, ASKED)
"""The built-in parts. Evidence sets have other names."""

_AMBIGUOUS = re.compile(r"(.+)([.~])(\d+)", re.DOTALL)


def ambiguous(name: str) -> str | None:
    """Return why a name cannot be used for an evidence set or a custom metric; None if it can."""
    if not (match := _AMBIGUOUS.fullmatch(name)):
        return None
    base, mark, number = match.groups()
    what = f"document {number}" if mark == "." else f"order {number}"
    return (
        f"the name {name!r} looks like {what} of {base!r}; use a name that does not end in {mark!r}"
        " and digits"
    )


_TABLE: tuple[tuple[str, Part, Part, str, str | None], ...] = (
    ("faithfulness", "answer", "contexts", "answer grounded in what was retrieved", None),
    ("correctness", "answer", "reference", "precision against the gold answer", None),
    ("coverage", "reference", "answer", "recall of the gold answer", None),
    (
        "context_recall",
        "reference",
        "contexts",
        "retrieval brought what the gold answer needs",
        None,
    ),
    (
        "reference_support",
        "reference",
        "reference_contexts",
        "gold answer borne out by the texts it was made from",
        None,
    ),
    (
        "on_topic",
        "answer",
        "asked",
        "claims of the answer that are about the question",
        "weigh/on_topic",
    ),
    (
        "vital",
        "reference",
        "asked",
        "claims of the gold answer that a good answer must have",
        "weigh/vital",
    ),
)
METRICS = {
    name: Metric(
        name=name,
        claims_of=claims_of,
        against=against,
        description=description,
        prompt=prompt,
    )
    for name, claims_of, against, description, prompt in _TABLE
}

ALIASES = {
    "groundedness": "faithfulness",
    "answer_precision": "correctness",
    "answer_recall": "coverage",
    "factscore": "factscore@10",
}
"""Names of the same numbers in other tools. What all other names of the field mean is in
`names.yaml`."""
OF_RAGAS = ("context_precision", "answer_correctness", "answer_relevancy")
"""Names that custom metrics cannot have, because every reader takes them for those of ragas."""

SUPPORT = tuple(row for row in METRICS.values() if not row.prompt)
"""Metrics whose question is whether a text supports a claim."""

ABOUT_ANSWERS = ("faithfulness", "correctness", "coverage", "context_recall")
"""The default metrics. `reference_support`, which is about the test set, is the default if none of
them can be used."""

_ROW = re.compile(r"([A-Za-z_][\w.-]*)=([A-Za-z_][\w.-]*):([A-Za-z_][\w.+-]*)")


def metric(spec: str | Metric) -> Metric:
    """Return a metric by name, or from `name=claims_of:against` (`on_policy=answer:policy`)."""
    if isinstance(spec, Metric):
        return _clear(spec)
    if "=" in spec:
        match = _ROW.fullmatch(spec.strip())
        if not match:
            raise _malformed(spec)
        name, claims_of, against = match.groups()
        if name in METRICS or name in ALIASES or name in OF_RAGAS:
            raise UsageError(
                f"metric name {name!r} is taken by a built-in metric; choose another name"
            )
        if ASKED in (claims_of, against):
            raise UsageError(
                f"metric {spec!r}: use on_topic or vital for the relation of claims to the question"
            )
        return _clear(Metric(name=name, claims_of=claims_of, against=against))
    name = canonical_name(spec)
    if name not in METRICS:
        raise names.unknown("metric", name, METRICS)
    return METRICS[name]


def _malformed(spec: str) -> UsageError:
    """Return the error for a metric with `=` that is not written as one of a user."""
    if known := names.elsewhere(spec):  # `factual_correctness(mode=precision)`, a column of ragas
        return UsageError(f"unknown metric {spec!r}: {known}")
    return UsageError(
        f"metric {spec!r} is not of the form name=claims_of:against, as in on_policy=answer:policy"
    )


def canonical_name(name: str) -> str:
    """Return the name of a metric for a name or an alias."""
    name = name.strip()
    return ALIASES.get(name, name)


def _clear(row: Metric) -> Metric:
    """Return the metric. Raises UsageError if one of its names looks like a document, an order or a
    join of parts."""
    for name in (row.name, row.claims_of, row.against):
        if problem := ambiguous(name):
            raise UsageError(f"metric {row.name!r}: {problem}")
    for part in (row.claims_of, row.against):
        if (
            part != CONTEXTS_AND_HISTORY
            and "+" in part
            and not set(BUILT_IN).isdisjoint(part.split("+"))
        ):
            raise UsageError(
                f"metric {row.name!r}: {part!r} is not an evidence set; the only join is"
                f" {CONTEXTS_AND_HISTORY!r}"
            )
    return row


def metric_names(metrics: str | Iterable[str | Metric]) -> tuple[str | Metric, ...]:
    """Return metrics one by one, given as a list or as one text with commas. Raises UsageError for
    a text with semicolons."""
    if isinstance(metrics, str) and ";" in metrics:
        meant = metrics.replace(";", ",")
        raise UsageError(f"metrics {metrics!r}: separate them with commas, as in {meant}")
    return tuple(metrics.split(",")) if isinstance(metrics, str) else tuple(metrics)


def rows(specs: Iterable[str | Metric]) -> tuple[Metric, ...]:
    """Return several metrics, from a list or a text with commas. Raises UsageError for
    duplicates."""
    chosen = tuple(map(metric, metric_names(specs)))
    listed = [row.name for row in chosen]
    if not listed:
        raise UsageError(f"no metrics requested. Known: {', '.join(METRICS)}")
    if len(set(listed)) < len(listed):
        twice = next(name for name in listed if listed.count(name) > 1)
        raise UsageError(f"metric {twice!r} is requested twice")
    return chosen
