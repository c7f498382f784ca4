"""Claims + evidence -> verdicts: asks a judge about each claim by id and reads exactly one answer per id."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache

from claimeval.judging import probabilities, replies
from claimeval.judging.prompts import Prompt, quoted
from claimeval.judging.replies import Reading, reply_text, shown
from claimeval.judging.reply_values import Unparsable
from claimeval.types.records import Claim, Document, Verdict
from claimeval.types.requests import AssessTask, Completion, Failure, Judge, Request
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


@lru_cache(maxsize=16)
def _schema(prompt: Prompt) -> str:
    scale = _scale(prompt)
    cites = {"evidence": {"type": "array", "items": {"type": "string"}}} if prompt.step == "assess" else {}
    verdict = {
        "id": {"type": "string"},
        "reason": {"type": "string"},
        **cites,
        "label": {"type": "string", "enum": list(scale.words)},
    }
    items = {
        "type": "object",
        "properties": verdict,
        "required": list(verdict),
        "additionalProperties": False,
    }
    schema = {
        "type": "object",
        "properties": {"verdicts": {"type": "array", "items": items}},
        "required": ["verdicts"],
        "additionalProperties": False,
    }
    return json.dumps(schema, separators=(",", ":"))


def claim_line(claim: Claim) -> str:
    """The claim as one line that a judge can repeat: escaped like all data, without the quotation marks."""
    return _bare(quoted(claim.text))


def _bare(literal: str) -> str:
    return literal[1:-1].replace('\\"', '"')


def _scale(prompt: Prompt) -> Scale:
    assert prompt.scale is not None, "an assess prompt has a scale; loading checks it"
    return prompt.scale


def ask(
    prompt: Prompt,
    judge: Judge,
    claims: Sequence[Claim],
    documents: Sequence[Document],
    question: str,
    *,
    alternatives: bool = False,
    attempt: int = 0,
    replicate: int = 0,
) -> Request:
    """The request for verdicts on `claims`, which the judge sees as c1, c2, ... beside documents d1, d2, ...

    `alternatives` says that each document is right by itself, so that one that supports a claim is enough.
    """
    texts = [quoted(claim.text) for claim in claims]
    messages = prompt.render(
        {
            "question": quoted(question),
            "documents": [
                {"id": f"d{i}", "text": quoted(f"{d.title}\n{d.text}" if d.title else d.text)}
                for i, d in enumerate(documents, 1)
            ],
            "claims": [{"id": f"c{i}", "text": text, "line": _bare(text)} for i, text in enumerate(texts, 1)],
            "scale": _scale_shown(prompt),
            "alternatives": int(alternatives),
        }
    )
    return Request(
        judge=judge,
        messages=messages,
        reply_format=prompt.reply,
        response_schema=_schema(prompt) if prompt.reply == "json" else None,
        max_tokens=judge.max_tokens * (2 if attempt else 1),
        replicate=replicate,
        attempt=attempt,
        top_logprobs=judge.top_logprobs,
        prompt=prompt.digest,
        task=AssessTask(
            claims=tuple(claims), documents=tuple(documents), scale=_scale(prompt), alternatives=alternatives
        ),
    )


def read(completion: Completion, request: Request, *, computed: bool = False) -> Reading[Claim]:
    """The verdicts in the reply. `missing` are the claims without one.

    `computed` says that the judge computes the probability that it states. What a language model writes there is a word
    like any other; its probability is read off the tokens.
    """
    task = request.task
    assert isinstance(task, AssessTask)
    text = reply_text(completion, request)
    if isinstance(text, Failure):
        return Reading((), task.claims, text)
    by_id = {f"c{i}": claim for i, claim in enumerate(task.claims, 1)}
    try:
        if request.reply_format == "json":
            found = replies.verdicts_json(text, tuple(by_id), task.scale, shown(request))
        else:
            lines = {claim_id: claim_line(claim) for claim_id, claim in by_id.items()}
            found = replies.verdicts_tags(text, lines, task.scale)
    except Unparsable as error:
        return Reading((), task.claims, Failure(reason="unparsable", message=str(error)))
    names = {f"d{i}": document.id for i, document in enumerate(task.documents, 1)}
    likely = probabilities.supported(completion, request, {short: claim_line(claim) for short, claim in by_id.items()})
    settings = request.judge.id
    verdicts = [
        Verdict(
            claim_id=by_id[short].id,
            judge=request.judge.name,
            label=said.label or "unassessed",
            unassessed_because=None if said.label else "unsure",
            grade=said.grade,
            replicate=request.replicate,
            probability=said.probability if computed else likely.get(short),
            reason=said.reason,
            cites=tuple([names[d] for d in dict.fromkeys(map(str.casefold, said.evidence)) if d in names]),
            prompt=request.prompt_id,
            settings=settings,
        )
        for short, said in found.by_id.items()
    ]
    missing = tuple([claim for short, claim in by_id.items() if short not in found.by_id])
    return Reading(tuple(verdicts), missing, None, {by_id[short].id: why for short, why in found.unread.items()})
