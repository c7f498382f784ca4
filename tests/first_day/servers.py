"""Servers with habits of their own, on this machine: how a judge writes, what it refuses, what it
leaves out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from benchmarks.loopback import claim_judge
from claimeval import testing

Body = dict[str, Any]


class Answer(NamedTuple):
    """What a server sends."""

    status: int
    body: Body


Respond = Callable[[Body], Answer]


class HabitServer:
    """A chat-completions server and what it was asked."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.answers: list[Answer] = []

    @property
    def paid(self) -> int:
        """Replies that a provider would charge for."""
        return sum(answer.status == 200 for answer in self.answers)


def reply(text: str, model: str = "served", **changes: object) -> Answer:
    """A good answer with this text; `changes` are of the choice."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
    } | changes
    usage = {"prompt_tokens": 300, "completion_tokens": 60, "total_tokens": 360}
    return Answer(
        200, {"object": "chat.completion", "model": model, "choices": [choice], "usage": usage}
    )


def judged(body: Body) -> Answer:
    """What a good judge answers, by the rule of `claim_judge`."""
    return reply(str(claim_judge.answer(body).content), body["model"])


def refusal(message: str, *, status: int = 400, **fields: object) -> Answer:
    """An error, in OpenAI's form."""
    error = {
        "message": message,
        "type": "invalid_request_error",
        "param": None,
        "code": None,
    } | fields
    return Answer(status, {"error": error})


@contextmanager
def serve(respond: Respond) -> Iterator[HabitServer]:
    """A server that lives as long as the block."""

    def answer_to(path: str, headers: Mapping[str, str], content: bytes) -> tuple[int, bytes]:
        if not content:  # the question after the size of the model
            return 404, b"{}"
        body = json.loads(content)
        answer = respond(body)
        running.asked.append(body)
        running.paths.append(path)
        running.headers.append(dict(headers))
        running.answers.append(answer)
        return answer.status, json.dumps(answer.body).encode()

    with testing.serve(answer_to) as url:
        running = HabitServer(url)
        yield running
