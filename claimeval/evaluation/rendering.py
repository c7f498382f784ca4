"""Render the messages of a prompt for a sample, and compare two prompts."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from claimeval.judging import assess, extract, grade
from claimeval.judging import rate as rate_answer
from claimeval.judging.prompts import Prompt
from claimeval.lexical.claims import split_claims
from claimeval.metrics.rows import Metric
from claimeval.providers import claims_per_call
from claimeval.types.errors import UsageError
from claimeval.types.records import Claim, Sample
from claimeval.types.requests import Judge, Message
from claimeval.types.scales import ABSTENTION, UMBRELA

_READER = Judge(name="reader", model="any:reader")
"""Any judge; messages do not depend on it."""


def messages(
    prompt: Prompt,
    sample: Sample,
    metric: Metric,
    claims: Sequence[Claim] | None,
) -> tuple[Message, ...]:
    """Return the messages of a request about a sample.

    Prompts that rate answers or grade documents ignore the metric; the latter show the first
    document.

    Args:
        prompt: The prompt.
        sample: The sample.
        metric: The metric, which names the part of the claims and the evidence.
        claims: Claims to assess. Default: the claims that the local splitter extracts.

    Raises:
        UsageError: If the sample lacks a part that the prompt shows.
    """
    if prompt.step in ("answering", "answers"):
        return rate_answer.ask(prompt, _READER, ABSTENTION, sample, ()).messages
    if prompt.step in ("queries", "screen"):
        raise UsageError(
            f"a {prompt.step} prompt is about documents of a corpus, not about samples"
        )
    if prompt.step == "rate":
        if not sample.contexts:
            raise UsageError(
                f"sample {sample.id!r} has no contexts, so no document would be graded"
            )
        return grade.ask(
            prompt,
            _READER,
            sample.full_question,
            sample.contexts[:1],
            UMBRELA,
        ).messages
    if part := metric.missing_part(sample):
        raise UsageError(
            f"sample {sample.id!r} has no {part}, which {metric.name} needs; choose another"
            " --metric"
        )
    text = sample.text(metric.claims_of) or ""
    if prompt.step == "extract":
        return extract.ask(prompt, _READER, metric.claims_of, text, sample.full_question).messages
    split = claims if claims is not None else _split(metric, text)
    if not split:
        raise UsageError(
            f"sample {sample.id!r} has no claims in its {metric.claims_of}, so nothing would be"
            " asked"
        )
    first = assess.shuffled(split, sample.id)[: claims_per_call(_READER)]
    shown = assess.ShownDocuments(
        sample.documents(metric.against) or (), sample.alternatives(metric.against)
    )
    return assess.ask(prompt, _READER, first, shown, sample.full_question).messages


def _split(metric: Metric, text: str) -> list[Claim]:
    return [
        Claim(
            id=f"{metric.claims_of}-{i}",
            of=metric.claims_of,
            text=claim.text,
            grounding="ungrounded",
        )
        for i, claim in enumerate(split_claims(text), 1)
    ]


def difference(a: Prompt, b: Prompt) -> list[str]:
    """Return the unified diff of two prompts; empty if they are the same."""
    return list(
        difflib.unified_diff(
            a.source.splitlines(),
            b.source.splitlines(),
            fromfile=a.name,
            tofile=b.name,
            lineterm="",
        )
    )
