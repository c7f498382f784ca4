"""Text -> claims: asks a model to take a text apart and ties every claim to its place in the text."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence

from claimeval.judging import replies
from claimeval.judging.grounding import ground
from claimeval.judging.prompts import Prompt, quoted
from claimeval.judging.replies import ExtractedClaim, shown
from claimeval.judging.requests import TEXT, build_request, list_schema, read_reply, schema_text
from claimeval.lexical.citations import without
from claimeval.lexical.sentences import sentences as split_sentences
from claimeval.types.records import BETWEEN, Claim, Part
from claimeval.types.requests import Completion, ExtractTask, Failure, Judge, Request

Claims = tuple[Claim, ...]
_CLAIM = {"claim": TEXT, "sentences": {"type": "array", "items": {"type": "integer"}}, "quote": TEXT}
_SCHEMA = schema_text(list_schema("claims", _CLAIM), sort_keys=True)


def ask(
    prompt: Prompt,
    judge: Judge,
    part: Part,
    text: str,
    question: str,
) -> Request:
    """Return the request for the claims of a text.

    Args:
        prompt: The prompt.
        judge: The model that extracts.
        part: The part of the sample that `text` is.
        text: The text.
        question: The question of the sample.

    Returns:
        The request.
    """
    spans = tuple((span.start, span.end) for span in split_sentences(text))
    return build_request(
        prompt,
        judge,
        {
            "question": quoted(question),
            "part": part,
            "sentences": [{"id": str(i), "text": quoted(text[start:end])} for i, (start, end) in enumerate(spans, 1)],
        },
        _SCHEMA,
        task=ExtractTask(text=text, sentences=spans),
    )


def read(completion: Completion, request: Request, part: Part, question: str) -> Claims | Failure:
    """Return the claims in the reply, each with its place in the text; repeated claims, citations aside, are merged.

    Args:
        completion: The reply.
        request: The request it replies to.
        part: The part of the sample that the claims are of.
        question: The question of the sample.

    Returns:
        The claims, or the reason why the reply cannot be read.
    """
    task = request.task
    assert isinstance(task, ExtractTask)

    def parse(text: str) -> tuple[ExtractedClaim, ...]:
        """Read the claims in the reply's format."""
        as_json = request.reply_format == "json"
        return replies.claims_json(text, shown(request)) if as_json else replies.claims_bullets(text)

    found = read_reply(completion, request, parse)
    if isinstance(found, Failure):
        return found
    claims: dict[str, Claim] = {}
    for said in found:
        same = unicodedata.normalize("NFC", without(said.text)).casefold().rstrip(" .")
        if same in claims:
            claims[same] = claims[same].model_copy(update={"repeats": claims[same].repeats + 1})
            continue
        where = ground(said.text, said.quote, said.sentences, task.text, task.sentences, question)
        claims[same] = Claim(
            id=f"{part}-{len(claims) + 1}",
            text=said.text,
            of=part,
            sentence_ids=tuple([i for i in said.sentences if 1 <= i <= len(task.sentences)]),
            span=where.span,
            grounding=where.grounding,
            missing_numbers=where.missing_numbers,
        )
    return tuple(claims.values())


def one_after_another(part: Part, found: Sequence[tuple[str, Claims | Failure]]) -> Claims | Failure:
    """The claims of texts that are alternatives, each marked with its text; a failure if one failed, for the best of
    them is not known then.

    Sentences and places are counted through, as in the texts joined to one.
    """
    claims: list[Claim] = []
    start = sentences = 0
    for number, (text, taken) in enumerate(found, 1):
        if isinstance(taken, Failure):
            return taken
        for claim in taken:
            update = {
                "id": f"{part}-{len(claims) + 1}",
                "alternative": number,
                "sentence_ids": tuple(sentences + i for i in claim.sentence_ids),
                "span": claim.span and (claim.span[0] + start, claim.span[1] + start),
            }
            claims.append(claim.model_copy(update=update))
        start += len(text) + len(BETWEEN)
        sentences += len(split_sentences(text))
    return tuple(claims)


def side_by_side(part: Part, by_judge: Mapping[str, Claims | Failure]) -> Claims | Failure:
    """The claims of several judges, each marked with who took it; a failure only if all failed."""
    taken = {name: claims for name, claims in by_judge.items() if not isinstance(claims, Failure)}
    if not taken:
        return next(failure for failure in by_judge.values() if isinstance(failure, Failure))
    everyones = [(name, claim) for name, claims in taken.items() for claim in claims]
    return tuple(
        claim.model_copy(update={"id": f"{part}-{number}", "extractor": name})
        for number, (name, claim) in enumerate(everyones, 1)
    )
