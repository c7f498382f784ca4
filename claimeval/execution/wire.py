"""What goes between a client and `claimeval serve`: posts of requests, and a line for each answer.

Texts that several requests share, such as the system prompt and the schema, are in a post once. Requests have no
`task`: only engines on this machine read it, and those are never asked elsewhere.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple

from pydantic import Field, ValidationError

from claimeval.types.chat_format import read_chat
from claimeval.types.errors import AskerError, first_problem
from claimeval.types.records import Record
from claimeval.types.requests import (
    KEY_VERSION,
    CallError,
    Failure,
    Judge,
    Learned,
    Message,
    Outcome,
    ReplyFormat,
    Request,
)

FORMAT = f"1.{KEY_VERSION}"
"""Of posts and answers. Both sides must have the same; the second part is that of the keys of stored replies."""
MOST_BYTES = 16_000_000
"""Of one post."""
TOKEN_VARIABLE = "CLAIMEVAL_TOKEN"
"""The environment variable with the token, on both sides."""


class Asked(NamedTuple):
    """A request that goes elsewhere."""

    request: Request
    stored: bool = False
    """Whether only a stored reply is wanted."""


class PostedRequest(Record):
    """A request whose judge and texts are named by their numbers in the post."""

    judge: int = Field(ge=0)
    messages: tuple[tuple[Literal["system", "user"], int], ...]
    reply_format: ReplyFormat
    response_schema: int | None = None
    max_tokens: int = Field(gt=0, lt=2**31)
    replicate: int = Field(default=0, ge=0)
    attempt: int = Field(default=0, ge=0)
    top_logprobs: int | None = Field(default=None, ge=1, le=20)
    prompt: str = ""
    stored: bool = False


class Post(Record):
    """Requests of one client. A post without any asks only whether its judges may be asked."""

    format: str
    claimeval: str
    """The version of the client."""
    client: str = Field(pattern="^[0-9a-f]{1,32}$")
    """A random name that the client has for as long as its run lasts."""
    judges: tuple[Judge, ...]
    texts: tuple[str, ...] = ()
    requests: tuple[PostedRequest, ...] = ()

    def asked(self, judges: Sequence[Judge]) -> list[Asked]:
        """Return the requests, to these judges in the place of those of the post."""
        try:
            return [self._asked(posted, judges) for posted in self.requests]
        except (IndexError, ValueError, RecursionError) as error:
            raise AskerError(f"the post is malformed: {error}", 400) from error

    def _asked(self, posted: PostedRequest, judges: Sequence[Judge]) -> Asked:
        schema = None if posted.response_schema is None else self._text(posted.response_schema)
        if schema is not None:
            _check_schema(schema)
        request = Request(
            judge=judges[posted.judge],
            messages=tuple(Message(role=role, content=self._text(text)) for role, text in posted.messages),
            reply_format=posted.reply_format,
            response_schema=schema,
            max_tokens=posted.max_tokens,
            replicate=posted.replicate,
            attempt=posted.attempt,
            top_logprobs=posted.top_logprobs,
            prompt=posted.prompt,
        )
        return Asked(request, posted.stored)

    def _text(self, number: int) -> str:
        if number < 0:
            raise IndexError(f"no text has the number {number}")
        return self.texts[number]


@cache
def _version() -> str:
    import claimeval

    return str(claimeval.__version__)


def write_post(client: str, judges: Sequence[Judge], asked: Iterable[Asked] = ()) -> bytes:
    """Return a post as JSON."""
    texts: dict[str, int] = {}
    numbers = {judge.name: number for number, judge in enumerate(judges)}
    requests = []
    for request, stored in asked:
        posted: dict[str, Any] = {
            "judge": numbers[request.judge.name],
            "messages": [(each.role, texts.setdefault(each.content, len(texts))) for each in request.messages],
            "reply_format": request.reply_format,
            "max_tokens": request.max_tokens,
            "prompt": request.prompt,
        }
        if request.response_schema is not None:
            posted["response_schema"] = texts.setdefault(request.response_schema, len(texts))
        posted |= {name: value for name in _RARE if (value := getattr(request, name))}
        if stored:
            posted["stored"] = True
        requests.append(posted)
    post = {
        "format": FORMAT,
        "claimeval": _version(),
        "client": client,
        "judges": [_judge(judge) for judge in judges],
        "texts": list(texts),
        "requests": requests,
    }
    return json.dumps(post, separators=(",", ":")).encode()


_RARE = ("replicate", "attempt", "top_logprobs")


@lru_cache(maxsize=64)
def _check_schema(schema: str) -> None:
    json.loads(schema)


def _judge(judge: Judge) -> dict[str, Any]:
    settings = judge.model_dump(mode="json", exclude_defaults=True, exclude={"key_variable", "family", "price"})
    return {**settings, "name": judge.name, "model": judge.model}


def read_post(body: bytes) -> Post:
    """Return a post; AskerError if it is malformed, or of a client with another format."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise AskerError(f"the post is not JSON: {error}", 400) from error
    if not isinstance(content, dict):
        raise AskerError("the post is no JSON object", 400)
    if (theirs := content.get("format")) != FORMAT:
        raise AskerError(
            f"claimeval {str(content.get('claimeval'))[:20]} writes posts of the format {str(theirs)[:20]}, and this "
            f"server, claimeval {_version()}, reads {FORMAT}; use the same version on both sides",
            409,
        )
    try:
        return Post.model_validate(content)
    except ValidationError as error:
        field, problem, _ = first_problem(error)
        raise AskerError(f"the post is malformed: {field}: {problem}", 400) from error


class Answer(NamedTuple):
    """The outcome of the request with this number in its post."""

    number: int
    outcome: Outcome


class Ending(NamedTuple):
    """The last line of the answer to a post."""

    learned: Mapping[str, Learned]
    """What is known of the servers of the post's judges, by the judges' names."""
    ended: str | None
    """Why nothing more can be asked of anybody; the requests without an answer have none then."""


def write_answer(answer: Answer) -> bytes:
    """Return an answer as a line of JSON."""
    number, outcome = answer
    line: dict[str, Any] = {"n": number}
    if isinstance(outcome, Failure):
        line["failure"] = outcome.model_dump(mode="json", exclude_defaults=True)
    else:
        try:
            line["body"] = outcome.body.decode()
        except UnicodeDecodeError:
            line["base64"] = base64.b64encode(outcome.body).decode()
        if outcome.cached:
            line["cached"] = True
        if outcome.key:
            line["key"] = outcome.key
        if outcome.latency is not None:
            line["latency"] = outcome.latency
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


def write_ending(ending: Ending) -> bytes:
    """Return the last line of the answer to a post."""
    learned = {name: lesson.model_dump(mode="json", exclude_defaults=True) for name, lesson in ending.learned.items()}
    return json.dumps({"learned": learned, "ended": ending.ended}).encode() + b"\n"


def read_line(line: bytes) -> Answer | Ending | None:
    """Return what a line says; None for an empty one, which only says that the asker is there.

    Raises AskerError for what no asker writes.
    """
    if not line.strip():
        return None
    try:
        return _line(line)
    except (ValueError, KeyError, TypeError, AttributeError, CallError) as error:
        raise AskerError(f"it does not answer as `claimeval serve` does: {line[:60]!r}", 502) from error


def _line(line: bytes) -> Answer | Ending:
    content = json.loads(line)
    if "learned" in content:
        learned = {name: Learned.model_validate(lesson) for name, lesson in content["learned"].items()}
        return Ending(learned, content["ended"])
    if "failure" in content:
        return Answer(content["n"], Failure.model_validate(content["failure"]))
    body = content["body"].encode() if "body" in content else base64.b64decode(content["base64"])
    completion = read_chat(body, cached=content.get("cached", False))
    more = {name: content[name] for name in ("key", "latency") if name in content}
    return Answer(content["n"], replace(completion, **more) if more else completion)


def write_message(message: Answer | Ending) -> bytes:
    """Write an answer, or how the asker ended, as a line."""
    return write_answer(message) if isinstance(message, Answer) else write_ending(message)
