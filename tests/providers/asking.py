"""One question through a real SDK to a loopback server."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, NamedTuple

from benchmarks.loopback import Handle, Name
from claimeval import providers
from claimeval.providers import specs
from claimeval.types.requests import CallError, Completion, Judge, Message, Request

PROVIDERS: tuple[Name, ...] = ("openai", "mistral")
KEY = "sk-CANARY/1+2=3&4"


class Asked(NamedTuple):
    """What came of one question."""

    outcome: Completion | CallError
    kept: list[Completion]


def judge_at(server: Handle, provider: Name, **settings: object) -> Judge:
    """A resolved judge of this provider at the server."""
    fields = {
        "name": f"{provider}-judge",
        "model": f"{provider}:judge-1",
        "endpoint": server.url_for(provider),
    }
    return specs.parse_judge(Judge.model_validate(fields | settings))


def question(judge: Judge, text: str = "Is it grounded?", **fields: Any) -> Request:
    """A request with one message."""
    request = Request(
        judge=judge,
        messages=(Message(role="user", content=text),),
        reply_format="json",
        max_tokens=judge.max_tokens,
    )
    return replace(request, **fields)


def ask(judge: Judge) -> Asked:
    """One question, through a backend of its own."""
    return asyncio.run(_ask(judge))


async def _ask(judge: Judge) -> Asked:
    kept: list[Completion] = []
    async with providers.provider(judge.model).open(judge) as backend:
        try:
            async with asyncio.timeout(10):
                return Asked(await backend.complete(question(judge), kept.append), kept)
        except CallError as error:
            return Asked(error, kept)
