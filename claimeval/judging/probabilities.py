"""The probability of "supported" from the log-probabilities of the token that begins a verdict's label.

p = the sum of e^lp over the alternatives that begin a label of support, divided by the sum over those that begin any
label of the scale; spellings that differ in case, quotation marks or leading space are taken together. Where less than
half of the probability is on labels, or the label's place cannot be found, there is none. As in G-Eval and Verdict, but
at the verdict's own place, after the reasons, and normalised.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from claimeval.judging.reply_values import meant
from claimeval.types.chat_format import TokenLogprobs, read_tokens
from claimeval.types.requests import AssessTask, Completion, Request
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
    found = {}
    for subject, place in places:
        token = tokens[bisect_right(starts, len(text[:place].encode("utf-8", "replace"))) - 1]
        probability = _probability(token, request.task.scale)
        if probability is not None:
            found[subject] = probability
    return found


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
        said = " ".join(line[: mark.start()].lstrip(" -*•").split()) if mark else ""
        if mark and said in ids:
            yield ids[said], start + mark.end()
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
    """The labels whose word a token may begin, or hold whole."""
    match = _WORD.match(spelling)
    if not match:
        return set()
    said = match.group(1).casefold()
    offered = zip(scale.offered, scale.words, strict=True)
    return {word for reply, word in offered if reply.startswith(said) or said.startswith(reply)}
