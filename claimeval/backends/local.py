"""Engines that run here: `local:lexical`, a score of shared words that needs no key, model or network.

They read the typed task of a request and answer in the reply format its prompt asks for, so that they pass through
the same parser, store, panel and report as a language model.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache

from claimeval.backends import Keep
from claimeval.calls import AssessTask, Completion, ExtractTask, Judge, Request
from claimeval.errors import UsageError, unknown
from claimeval.local.claim_splitting import split_claims
from claimeval.local.lexical_support import (
    ENGINE,
    NOTICE,
    Evidence,
    Support,
    coefficients_digest,
    label,
    prepare,
    support,
)
from claimeval.prompting import quoted
from claimeval.scales import ABSTAIN, Scale
from claimeval.wire import read_chat, write_chat

NOTE = NOTICE
ENGINES = ("lexical",)


def resolve(judge: Judge) -> Judge:
    """The judge with the engine's version and the digest of its coefficients as endpoint."""
    name = judge.model.partition(":")[2]
    if name not in ENGINES:
        raise unknown("local engine", name, ENGINES)
    if judge.endpoint:
        raise UsageError(f"judge {judge.name!r}: a local engine has no address; leave out what follows the @")
    return judge.model_copy(update={"endpoint": f"{ENGINE}/{coefficients_digest()[:16]}"})


@asynccontextmanager
async def open_backend(judge: Judge) -> AsyncIterator[LexicalBackend]:
    """The engine; it holds nothing that must be closed."""
    yield LexicalBackend()


class LexicalBackend:
    """Splits texts by rule and scores claims by the words they share with the evidence."""

    async def complete(self, request: Request, keep: Keep) -> Completion:
        """The engine's answer in the words of a judge."""
        started = time.perf_counter()
        task = request.task
        assert task is not None, "every step gives its request a task"
        text = _claims(task, request) if isinstance(task, ExtractTask) else _verdicts(task, request)
        reply = read_chat(write_chat(text, request.judge.endpoint or ""), latency=time.perf_counter() - started)
        keep(reply)
        return reply


def _claims(task: ExtractTask, request: Request) -> str:
    claims = split_claims(task.text)
    if request.reply_format == "bullets":
        return "\n".join(f"- {claim.text}" for claim in claims) or "NONE"
    found = [
        {"claim": claim.text, "sentences": [claim.sentence_id + 1], "quote": task.text[claim.start : claim.end]}
        for claim in claims
    ]
    return json.dumps({"claims": found}, ensure_ascii=False)


def _verdicts(task: AssessTask, request: Request) -> str:
    evidence = _evidence(tuple(document.text for document in task.documents))
    found = [support(claim.text, evidence) for claim in task.claims]
    words = [_word(task.scale, s.score) for s in found]
    if request.reply_format == "tags":
        lines = [quoted(claim.text)[1:-1].replace('\\"', '"') for claim in task.claims]
        return "\n".join(f"- {line} SUPPORTED={word}" for line, word in zip(lines, words, strict=True))
    verdicts = [
        {
            "id": f"c{i}",
            "reason": _reason(s),
            "evidence": [] if s.best_document is None else [f"d{s.best_document + 1}"],
            "label": word,
            "probability": s.score,
        }
        for i, (s, word) in enumerate(zip(found, words, strict=True), 1)
    ]
    return json.dumps({"verdicts": verdicts}, ensure_ascii=False)


@lru_cache(maxsize=64)
def _evidence(texts: tuple[str, ...]) -> Evidence:
    return prepare(texts)


def _word(scale: Scale, score: float) -> str:
    wanted = label(score)
    return next((step.word for step in scale.steps if step.label == wanted), ABSTAIN)


def _reason(support: Support) -> str:
    said = f"lexical support {support.score:.2f}"
    if support.possible_conflict:
        said += f"; possible conflict: {', '.join(support.possible_conflict)}"
    if support.flags:
        said += f"; look at: {', '.join(support.flags)}"
    return said
