"""Scores of many samples, one record each, and the means of those records."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from claimeval.lexical.metrics import METRICS, LexicalMetric, Need, PreparedSample
from claimeval.lexical.words import Bags, Normalization, named
from claimeval.types.errors import UsageError, unknown_name

Undefined = Literal["no answer", "no question", "no contexts", "no reference answers"]

_ABSENT: dict[Need, Undefined] = {
    "question": "no question",
    "contexts": "no contexts",
    "references": "no reference answers",
}


class LexicalSample(NamedTuple):
    """The texts of one sample."""

    answer: str | None
    """None if the system gave none; an empty text is an answer without words."""
    question: str | None = None
    contexts: Sequence[str] | None = None
    """Empty if nothing was retrieved, which has no word of any answer; None if that is not known."""
    references: Sequence[str] = ()
    """Reference answers; an empty one means that nothing should have been answered."""
    id: str = ""


class LexicalScores(NamedTuple):
    """The scores of one sample."""

    id: str
    scores: dict[str, float | None]
    """By metric, in the order requested; None if undefined."""
    undefined: dict[str, Undefined]
    """Why, for each metric that is None."""


class LexicalMean(NamedTuple):
    """One metric over many samples."""

    mean: float | None
    """Over the samples where it is defined; None if there are none."""
    n: int
    """Samples where it is defined."""
    missing: dict[Undefined, int]
    """Samples where it is not, by reason."""
    bounds: tuple[float, float] | None
    """The mean if every missing value were 0, and if it were 1; None for `answer_length`, which knows no best."""


def score(
    samples: Iterable[LexicalSample], metrics: Iterable[str] = METRICS, *, normalization: str = "squad"
) -> Iterator[LexicalScores]:
    """Score every sample, in order, one at a time.

    A text that occurs again (a context that several answers share) is not split again. Memory does not grow with the
    number of samples. `answer_length` is always among the scores, last if not requested: recall says little without it.

    >>> [row] = score([LexicalSample("It is Paris.", references=["Paris"])], ["token_recall", "token_precision"])
    >>> row.scores
    {'token_recall': 1.0, 'token_precision': 0.3333333333333333, 'answer_length': 3.0}

    Args:
        samples: The samples, read lazily.
        metrics: Names of `METRICS`; all by default.
        normalization: `squad` or `multilingual`; see `words`.

    Raises:
        UsageError: If a name is unknown (at once), or a text is not a string (when its sample is reached).
    """
    names = list(dict.fromkeys([*([metrics] if isinstance(metrics, str) else metrics), "answer_length"]))
    for name in names:
        if name not in METRICS:
            raise unknown_name("lexical metric", name, METRICS)
    return _rows(samples, {name: METRICS[name] for name in names}, named(normalization))


def score_one(
    answer: str | None,
    *,
    question: str | None = None,
    contexts: Sequence[str] | None = None,
    references: Sequence[str] = (),
    metrics: Iterable[str] = METRICS,
    normalization: str = "squad",
) -> dict[str, float | None]:
    """Score one sample: the value of each metric, None if the sample lacks what the metric needs.

    >>> score_one("It is Paris.", references=["Paris", "City of Paris"], metrics=["strict_recall"])
    {'strict_recall': 1.0, 'answer_length': 3.0}

    Args:
        answer: The answer; None if the system gave none. An empty text is an answer without words.
        question: The question.
        contexts: The retrieved texts; empty if nothing was retrieved, None if that is unknown.
        references: Reference answers; the best one counts.
        metrics: Names of `METRICS`; all by default.
        normalization: `squad` or `multilingual`; see `words`.

    Returns:
        Metric to value, with `answer_length` last if not requested.

    Raises:
        UsageError: If a name is unknown or a text is not a string.
    """
    [row] = score([LexicalSample(answer, question, contexts, references)], metrics, normalization=normalization)
    return row.scores


def summarize(rows: Iterable[LexicalScores]) -> dict[str, LexicalMean]:
    """Return the mean of every metric, with what is missing and the bounds it sets; no rows give no metrics."""
    values: defaultdict[str, list[float]] = defaultdict(list)
    missing: defaultdict[str, Counter[Undefined]] = defaultdict(Counter)
    for row in rows:
        for name, value in row.scores.items():
            if value is None:
                missing[name][row.undefined[name]] += 1
            else:
                values[name].append(value)
    names = [name for name in METRICS if name in values or name in missing]
    return {name: _mean(name, values[name], missing[name]) for name in names}


def _mean(name: str, values: list[float], missing: Counter[Undefined]) -> LexicalMean:
    n, total, absent = len(values), math.fsum(values), missing.total()
    return LexicalMean(
        mean=total / n if n else None,
        n=n,
        missing=dict(missing),
        bounds=(total / (n + absent), (total + absent) / (n + absent)) if METRICS[name].unit == "share" else None,
    )


def _rows(
    samples: Iterable[LexicalSample], metrics: dict[str, LexicalMetric], normalization: Normalization
) -> Iterator[LexicalScores]:
    bags = Bags(normalization)
    needs = [
        (need, reason, [name for name in metrics if need in metrics[name].needs]) for need, reason in _ABSENT.items()
    ]
    for number, texts in enumerate(samples, start=1):
        _check(texts, number)
        if texts.answer is None:
            yield LexicalScores(texts.id, dict.fromkeys(metrics), dict.fromkeys(metrics, "no answer"))
            continue
        absent = {
            "question": not texts.question,
            "contexts": texts.contexts is None,
            "references": not texts.references,
        }
        undefined = {name: reason for need, reason, names in needs if absent[need] for name in names}
        prepared = PreparedSample(
            texts.answer, texts.question, texts.contexts or (), texts.references, normalization, bags
        )
        scores = {name: None if name in undefined else metric.measure(prepared) for name, metric in metrics.items()}
        yield LexicalScores(texts.id, scores, undefined)


def _check(texts: LexicalSample, number: int) -> None:
    single: list[object] = [text for text in (texts.answer, texts.question) if text is not None]
    for field, several in (("contexts", texts.contexts or ()), ("references", texts.references)):
        if isinstance(several, str):
            raise UsageError(
                f"sample {number} {texts.id!r}: {field} is one text, {several[:40]!r}; a list of texts is needed"
            )
        single.extend(several)
    for text in single:
        if not isinstance(text, str):
            raise UsageError(
                f"sample {number} {texts.id!r}: {text!r} is a {type(text).__name__}, a text is needed"
                " (None for an answer or question that is not there)"
            )
