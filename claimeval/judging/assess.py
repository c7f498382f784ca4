"""Claims + evidence -> verdicts: asks a judge about each claim by id and reads exactly one answer per id.

The probability of "supported" is read off the log-probabilities of the token that begins a verdict's label. p = the sum
of e^lp over the alternatives that begin a label of support, divided by the sum over those that begin any label of the
scale; spellings that differ in case, quotation marks or leading space are taken together. Where less than half of the
probability is on labels, or the label's place cannot be found, there is none. As in G-Eval and Verdict, but at the
verdict's own place, after the reasons, and normalized.
"""

from __future__ import annotations

import math
import random
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from claimeval.judging import replies
from claimeval.judging.prompts import Prompt, Value, quoted
from claimeval.judging.replies import ParsedReply, ParsedVerdict, shown
from claimeval.judging.reply_values import Readings, meant
from claimeval.judging.requests import (
    REASON,
    build_request,
    closed_schema,
    names_schema,
    numbered,
    read_entries,
    schema_text,
)
from claimeval.types.chat_format import TokenLogprobs, read_tokens
from claimeval.types.records import Claim, Document, Verdict
from claimeval.types.requests import AssessTask, Completion, Judge, Request
from claimeval.types.scales import Scale

LEAST_MASS = 0.5
"""Of the probability at the label's place that must be on labels."""

_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)
_MARK = re.compile(r"SUPPORTED=(?=\S+\s*$)")
_WORD = re.compile(r"[\s\"'*]*([A-Za-z0-9_]+)")


def supported(completion: Completion, request: Request, lines: Mapping[str, str]) -> dict[str, float]:
    """By claim id (c1, c2, ...) the probability of "supported", where the reply came with log-probabilities.

    `lines` are the claims as the `tags` format repeats them.
    """
    if not request.top_logprobs or not completion.text:
        return {}
    assert isinstance(request.task, AssessTask), "probabilities are asked for with assessments only"
    text = completion.text
    tokens = read_tokens(completion.body)
    if not tokens or b"".join(token.content for token in tokens) != text.encode("utf-8", "replace"):
        return {}
    starts = [0, *accumulate(len(token.content) for token in tokens)]
    places = _labels_of_json(text, tuple(lines)) if request.reply_format == "json" else _marks_of_lines(text, lines)
    probabilities = {}
    for subject, place in places:
        token = tokens[bisect_right(starts, len(text[:place].encode("utf-8", "replace"))) - 1]
        probability = _probability(token, request.task.scale)
        if probability is not None:
            probabilities[subject] = probability
    return probabilities


def _labels_of_json(text: str, ids: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Where the label of each entry begins, behind its quotation mark, with the entry's id, in it or before it."""
    tokens = list(_JSON_TOKEN.finditer(text))
    entry: dict[str, re.Match[str]] = {}
    named: re.Match[str] | None = None
    for before, colon, value in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if before.group() == "{":
            entry = {"id": named} if named else {}
            named = None
        if colon.group() == ":" and value.group() == "{" and meant(before.group().strip('"'), ids):
            named = before
        if colon.group() == ":" and before.group() in ('"id"', '"label"'):
            entry[before.group()[1:-1]] = value
            if len(entry) == 2:
                subject = meant(entry["id"].group().strip('"'), ids)
                if subject and entry["label"].group().startswith('"'):
                    yield subject, entry["label"].start() + 1
                entry = {}


def _marks_of_lines(text: str, lines: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Where the mark of each line begins that repeats a claim."""
    ids = {" ".join(line.split()): subject for subject, line in lines.items()}
    start = 0
    for line in text.splitlines(keepends=True):
        mark = _MARK.search(line)
        claim_id = " ".join(line[: mark.start()].lstrip(" -*•").split()) if mark else ""
        if mark and claim_id in ids:
            yield ids[claim_id], start + mark.end()
        start += len(line)


def _probability(token: TokenLogprobs, scale: Scale) -> float | None:
    by_label = {"supported": 0.0, "other": 0.0}
    for spelling, logprob in token.alternatives:
        labels = _begins(spelling, scale)
        if len(labels) == 1:
            by_label["supported" if scale.positive(labels.pop()) else "other"] += math.exp(logprob)
    mass = math.fsum(by_label.values())
    return min(1.0, by_label["supported"] / mass) if mass >= LEAST_MASS else None


def _begins(spelling: str, scale: Scale) -> set[str]:
    """Return the labels whose word a token may begin, or hold whole."""
    match = _WORD.match(spelling)
    if not match:
        return set()
    start = match.group(1).casefold()
    offered = zip(scale.offered, scale.words, strict=True)
    return {word for reply, word in offered if reply.startswith(start) or start.startswith(reply)}


@lru_cache(maxsize=16)
def _scale_shown(prompt: Prompt) -> list[dict[str, str]]:
    return _scale(prompt).shown


@lru_cache(maxsize=256)
def _schema(prompt: Prompt, claims: int, documents: int) -> str:
    cites = {"evidence": names_schema(_names("d", documents))} if prompt.step == "assess" else {}
    label = {"type": "string", "enum": list(_scale(prompt).offered)}
    return schema_text(closed_schema("verdicts", _names("c", claims), {"reason": REASON, **cites, "label": label}))


@lru_cache(maxsize=256)
def _names(letter: str, count: int) -> tuple[str, ...]:
    return tuple([f"{letter}{i}" for i in range(1, count + 1)])


def claim_line(claim: Claim) -> str:
    """Return the claim as one line that a judge can repeat: escaped like all data, without the quotation marks."""
    return _bare(quoted(claim.text))


def _bare(literal: str) -> str:
    return literal[1:-1].replace('\\"', '"')


def _scale(prompt: Prompt) -> Scale:
    assert prompt.scale is not None, "an assess prompt has a scale; loading checks it"
    return prompt.scale


def shuffled(claims: Sequence[Claim], sample_id: str, number: int | None = 0) -> Sequence[Claim]:
    """Return claims in the order in which judges are shown them: by chance, the same whenever a sample is judged.

    A verdict depends a little on the place of its claim in the question. The order of the text would make it the same
    little for each first and each last claim of an answer. `number` is that of the order, from 0; None is the order of
    the text.
    """
    if len(claims) < 2 or number is None:
        return claims
    return [claims[place] for place in _order(sample_id, number, len(claims))]


@lru_cache(maxsize=64)
def _order(sample_id: str, number: int, count: int) -> list[int]:
    draw = random.Random(f"{sample_id}/claims/{number}".encode(errors="surrogatepass"))  # hashed the same everywhere
    return draw.sample(range(count), count)


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
    variables: dict[str, Value] | None = None
    if not judge.is_engine:
        texts = [quoted(claim.text) for claim in claims]
        variables = {
            "question": quoted(question),
            "documents": numbered("d", evidence.documents),
            "claims": [
                {"id": name, "text": text, "line": _bare(text)}
                for name, text in zip(_names("c", len(texts)), texts, strict=True)
            ],
            "scale": _scale_shown(prompt),
            "alternatives": int(evidence.alternatives),
        }
    return build_request(
        prompt,
        judge,
        variables,
        _schema(prompt, len(claims), len(evidence.documents)),
        task=AssessTask(
            claims=tuple(claims),
            documents=tuple(evidence.documents),
            scale=_scale(prompt),
            alternatives=evidence.alternatives,
        ),
    )


def read(completion: Completion, request: Request, *, computed: bool = False) -> ParsedReply[Verdict]:
    """Return the verdicts in the reply, by claim.

    `computed` says that the judge computes the probability that it states. What a language model writes there is a word
    like any other; its probability is read off the tokens.
    """
    task = request.task
    assert isinstance(task, AssessTask)
    as_json, scale = request.reply_format == "json", task.scale
    judge, prompt, key = request.judge.name, request.prompt_id, request.key
    claims = dict(zip(_names("c", len(task.claims)), [claim.id for claim in task.claims], strict=True))
    lines = dict.fromkeys(claims, "") if as_json else dict(zip(claims, map(claim_line, task.claims), strict=True))
    names = dict(zip(_names("d", len(task.documents)), [document.id for document in task.documents], strict=True))
    likely = {} if computed else supported(completion, request, lines)

    def parse(text: str) -> Readings[ParsedVerdict]:
        """Read the verdicts in the reply's format."""
        if as_json:
            return replies.verdicts_json(text, tuple(claims), scale, shown(request))
        return replies.verdicts_tags(text, lines, scale)

    def verdict(name: str, parsed: ParsedVerdict) -> Verdict:
        """Return the verdict on the claim with this name."""
        return Verdict.holding(
            {
                **scale.labeled(parsed.label),
                "unassessed": None if parsed.label else "unsure",
                "judge": judge,
                "replicate": request.replicate,
                "probability": parsed.probability if computed else likely.get(name),
                "explanation": parsed.explanation,
                "cites": tuple([names[d] for d in dict.fromkeys(map(str.casefold, parsed.evidence)) if d in names]),
                "prompt": prompt,
                "call": key,
                "windows": None,
            }
        )

    return read_entries(completion, request, claims, parse, verdict)
