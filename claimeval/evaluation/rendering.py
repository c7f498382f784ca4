"""The messages that a judge will be sent for a sample, and how two prompts differ."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from claimeval.judging import assess, extract, grade
from claimeval.judging import rate as rate_answer
from claimeval.judging.prompts import Prompt
from claimeval.lexical.claims import split_claims
from claimeval.metrics.rows import Metric
from claimeval.types.errors import UsageError
from claimeval.types.records import Claim, Sample
from claimeval.types.requests import Judge, Message
from claimeval.types.scales import ABSTENTION, UMBRELA

_READER = Judge(name="reader", model="any:reader")
"""Stands for any judge: the messages do not depend on who reads them."""


def messages(prompt: Prompt, sample: Sample, metric: Metric, claims: Sequence[Claim] | None) -> tuple[Message, ...]:
    """Return the messages that a judge gets for a sample under a metric.

    A question about a whole answer has no metric, nor has a grading, which shows the first document. An extraction
    shows the metric's `claims_of`.

    Args:
        prompt: The prompt.
        sample: The sample that is shown.
        metric: The metric, which names the text of the claims and the evidence.
        claims: Claims to assess. None: the claims that the local splitter extracts.

    Returns:
        The messages of the request.

    Raises:
        UsageError: If the sample lacks a part that the prompt shows.
    """
    if prompt.step in ("answering", "answers"):
        return rate_answer.ask(prompt, _READER, ABSTENTION, sample, ()).messages
    if prompt.step in ("queries", "screen"):
        raise UsageError(f"a {prompt.step} prompt is about documents of a corpus, not about samples")
    if prompt.step == "rate":
        if not sample.contexts:
            raise UsageError(f"sample {sample.id!r} has no contexts, so no document would be graded")
        return grade.ask(prompt, _READER, sample.full_question, sample.contexts[:1], UMBRELA).messages
    if part := metric.missing_part(sample):
        raise UsageError(f"sample {sample.id!r} has no {part}, which {metric.name} needs; choose another --metric")
    text = sample.text(metric.claims_of) or ""
    if prompt.step == "extract":
        return extract.ask(prompt, _READER, metric.claims_of, text, sample.full_question).messages
    split = claims if claims is not None else _split(metric, text)
    if not split:
        raise UsageError(f"sample {sample.id!r} has no claims in its {metric.claims_of}, so nothing would be asked")
    first = assess.shuffled(split, sample.id)[: _READER.claims_per_call]
    shown = assess.ShownDocuments(sample.documents(metric.against) or (), sample.alternatives(metric.against))
    return assess.ask(prompt, _READER, first, shown, sample.full_question).messages


def _split(metric: Metric, text: str) -> list[Claim]:
    return [
        Claim(id=f"{metric.claims_of}-{i}", text=claim.text, of=metric.claims_of)
        for i, claim in enumerate(split_claims(text), 1)
    ]


def difference(a: Prompt, b: Prompt) -> list[str]:
    """Return the lines in which two prompts differ, as a unified diff; empty when they are the same."""
    return list(
        difflib.unified_diff(a.source.splitlines(), b.source.splitlines(), fromfile=a.name, tofile=b.name, lineterm="")
    )
