"""Claims + evidence -> verdicts: asks a judge about each claim by id and reads exactly one answer per id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from claimeval.judging import probabilities, replies
from claimeval.judging.prompts import Prompt, quoted
from claimeval.judging.replies import ParsedVerdict, Reading, shown
from claimeval.judging.reply_values import Readings
from claimeval.judging.requests import (
    REASON,
    build_request,
    closed_schema,
    names_schema,
    numbered,
    read_entries,
    schema_text,
)
from claimeval.types.records import Claim, Document, Verdict
from claimeval.types.requests import AssessTask, Completion, Judge, Request
from claimeval.types.scales import Scale

CLAIMS_PER_CALL = 20
"""Claims in one request; a longer list is asked about in several."""


def chunks(claims: Sequence[Claim], size: int = CLAIMS_PER_CALL) -> Iterator[tuple[Claim, ...]]:
    """The claims in runs of at most `size`."""
    for start in range(0, len(claims), size):
        yield tuple(claims[start : start + size])


@lru_cache(maxsize=16)
def _scale_shown(prompt: Prompt) -> list[dict[str, str]]:
    return _scale(prompt).shown


@lru_cache(maxsize=256)
def _schema(prompt: Prompt, claims: int, documents: int) -> str:
    cites = {"evidence": names_schema([f"d{i}" for i in range(1, documents + 1)])} if prompt.step == "assess" else {}
    label = {"type": "string", "enum": list(_scale(prompt).offered)}
    ids = [f"c{i}" for i in range(1, claims + 1)]
    return schema_text(closed_schema("verdicts", ids, {"reason": REASON, **cites, "label": label}))


def claim_line(claim: Claim) -> str:
    """The claim as one line that a judge can repeat: escaped like all data, without the quotation marks."""
    return _bare(quoted(claim.text))


def _bare(literal: str) -> str:
    return literal[1:-1].replace('\\"', '"')


def _scale(prompt: Prompt) -> Scale:
    assert prompt.scale is not None, "an assess prompt has a scale; loading checks it"
    return prompt.scale


class ShownDocuments(NamedTuple):
    """The documents that a judge sees beside claims."""

    documents: Sequence[Document]
    alternatives: bool = False
    """Whether each document is right by itself, so that one that supports a claim is enough."""


def ask(
    prompt: Prompt,
    judge: Judge,
    claims: Sequence[Claim],
    evidence: ShownDocuments,
    question: str,
) -> Request:
    """Return the request for verdicts on claims, shown as c1, c2, ... beside documents d1, d2, ...

    Args:
        prompt: The prompt.
        judge: The judge that is asked.
        claims: The claims to assess.
        evidence: The documents to assess them against.
        question: The question of the sample.

    Returns:
        The request.
    """
    texts = [quoted(claim.text) for claim in claims]
    return build_request(
        prompt,
        judge,
        {
            "question": quoted(question),
            "documents": numbered("d", evidence.documents),
            "claims": [{"id": f"c{i}", "text": text, "line": _bare(text)} for i, text in enumerate(texts, 1)],
            "scale": _scale_shown(prompt),
            "alternatives": int(evidence.alternatives),
        },
        _schema(prompt, len(claims), len(evidence.documents)),
        task=AssessTask(
            claims=tuple(claims),
            documents=tuple(evidence.documents),
            scale=_scale(prompt),
            alternatives=evidence.alternatives,
        ),
    )


def read(completion: Completion, request: Request, *, computed: bool = False) -> Reading[Verdict]:
    """The verdicts in the reply, by claim.

    `computed` says that the judge computes the probability that it states. What a language model writes there is a word
    like any other; its probability is read off the tokens.
    """
    task = request.task
    assert isinstance(task, AssessTask)
    as_json = request.reply_format == "json"
    lines = {f"c{i}": "" if as_json else claim_line(claim) for i, claim in enumerate(task.claims, 1)}
    claims = {f"c{i}": claim.id for i, claim in enumerate(task.claims, 1)}
    names = {f"d{i}": document.id for i, document in enumerate(task.documents, 1)}
    likely = {} if computed else probabilities.supported(completion, request, lines)

    def parse(text: str) -> Readings[ParsedVerdict]:
        """Read the verdicts in the reply's format."""
        if as_json:
            return replies.verdicts_json(text, tuple(claims), task.scale, shown(request))
        return replies.verdicts_tags(text, lines, task.scale)

    def verdict(name: str, said: ParsedVerdict) -> Verdict:
        """Return the verdict on the claim with this name."""
        return Verdict(
            judge=request.judge.name,
            **task.scale.labeled(said.label),
            unassessed=None if said.label else "unsure",
            replicate=request.replicate,
            probability=said.probability if computed else likely.get(name),
            explanation=said.explanation,
            cites=tuple([names[d] for d in dict.fromkeys(map(str.casefold, said.evidence)) if d in names]),
            prompt=request.prompt_id,
            call=request.key,
        )

    return read_entries(completion, request, claims, parse, verdict)
