"""One question through a real SDK to a loopback server."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from claimeval import backends, judges
from claimeval.calls import CallError, Completion, Judge, Message, Request
from tests.loopback import Handle, Name

PROVIDERS: tuple[Name, ...] = ("openai", "mistral")
KEY = "sk-CANARY/1+2=3&4"
KEY_VARIABLES = {"openai": "OPENAI_API_KEY", "mistral": "MISTRAL_API_KEY"}


class Asked(NamedTuple):
    """What came of one question."""

    outcome: Completion | CallError
    kept: list[Completion]


def judge_at(server: Handle, provider: Name, **settings: object) -> Judge:
    """A resolved judge of this provider at the server."""
    fields = {"name": f"{provider}-judge", "model": f"{provider}:judge-1", "endpoint": server.url_for(provider)}
    return judges.judge(Judge.model_validate(fields | settings))


def question(judge: Judge, text: str = "Is it grounded?", **fields: object) -> Request:
    """A request with one message."""
    request = Request(
        judge=judge, messages=(Message(role="user", content=text),), reply_format="json", max_tokens=judge.max_tokens
    )
    return request.model_copy(update=fields)


async def ask_all(judge: Judge, requests: int) -> list[Asked]:
    """The same question several times, one after the other, through one backend."""

    async def one(backend: backends.Backend) -> Asked:
        kept: list[Completion] = []
        try:
            async with asyncio.timeout(10):
                return Asked(await backend.complete(question(judge), kept.append), kept)
        except CallError as error:
            return Asked(error, kept)

    async with backends.open_backend(judge) as backend:
        return [await one(backend) for _ in range(requests)]


def ask(judge: Judge) -> Asked:
    """One question."""
    return asyncio.run(ask_all(judge, 1))[0]
