"""The judge of the pages: that of `claim_judge`, which also finds numbers that no document has, and
writes questions."""

from __future__ import annotations

import json
import re
from typing import Any

from benchmarks.loopback import Body, Reply, claim_judge
from benchmarks.loopback.judge import text_of

CLAIM = re.compile(r'^(\w+): (".*")$', re.MULTILINE)


def answer(body: Body) -> Reply:
    """Return the claims, verdicts, ratings, grades or questions that the prompt asks for."""
    text = text_of(body)
    requested = text.rpartition("Reply with this JSON and nothing else:")[2]
    if '{"questions"' in requested:
        return Reply(json.dumps({"questions": _questions(_within(text, "document"))}))
    if '"answerable"' in requested:
        return Reply(requested.strip().replace("true|false", "true"))
    reply = claim_judge.answer(body)
    content = str(reply.content)
    if '"rating"' in requested and "fully" in requested:
        return Reply(content.replace('"rating": "yes"', '"rating": "fully"'))
    if not content.startswith('{"verdicts": ['):
        return reply
    claims = dict(CLAIM.findall(_within(text, "claims")))
    verdicts = json.loads(content)["verdicts"]
    evidence = set(re.findall(r"\d+", _within(text, "evidence")))
    changed = [_by_numbers(verdict, claims, evidence) for verdict in verdicts]
    return Reply(json.dumps({"verdicts": changed}))


def _by_numbers(
    verdict: dict[str, Any], claims: dict[str, str], evidence: set[str]
) -> dict[str, Any]:
    """A claim with a number that the evidence lacks is not supported."""
    missing = sorted(set(re.findall(r"\d+", claims[verdict["id"]])) - evidence)
    words = {"supported": "not_found", "yes": "no", "support": "not_support"}
    if not missing or verdict["label"] not in words:
        return verdict
    reason = f"No document has {', '.join(missing)}."
    return {**verdict, "label": words[verdict["label"]], "reason": reason}


def _questions(document: str) -> list[dict[str, str]]:
    """A question about the longest word of a document's first sentence."""
    passage = re.split(r"(?<=[.!?]) ", json.loads(document.partition("\n")[0]))[0]
    word = max(re.findall(r"\w+", passage), key=len)
    return [{"question": f"What is known about {word}?", "answer": passage, "passage": passage}]


def _within(text: str, tag: str) -> str:
    return text.rpartition(f"<{tag}>\n")[2].partition(f"\n</{tag}>")[0]
