"""Messages between a client and `claimeval serve`: posts with requests, and one line per answer.

Texts that several requests share, such as the system prompt and the schema, are in a post once. Requests have no
`task`, because only engines on this machine read it, and these are never asked remotely.
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
"""Version of posts and answers, which must be the same on both sides. The second part is that of reply cache keys."""
MOST_BYTES = 16_000_000
"""Maximum size of one post."""
TOKEN_VARIABLE = "CLAIMEVAL_TOKEN"
"""The environment variable with the token, on both sides."""


class Asked(NamedTuple):
    """A request to a remote asker."""

    request: Request
    stored: bool = False
    """Whether only a stored reply is requested."""


class PostedRequest(Record):
    """A request that refers to its judge and texts by their index in the post."""

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
    """Requests of one client. A post without requests only checks whether its judges may be asked."""

    format: str
    claimeval: str
    """The version of the client."""
    client: str = Field(pattern="^[0-9a-f]{1,32}$")
    """A random name of the client for the duration of its run."""
    judges: tuple[Judge, ...]
    texts: tuple[str, ...] = ()
    requests: tuple[PostedRequest, ...] = ()

    def asked(self, judges: Sequence[Judge]) -> list[Asked]:
        """Return the requests, with these judges in place of those in the post."""
        try:
            return [self._asked(posted, judges) for posted in self.requests]
        except (IndexError, ValueError, RecursionError) as error:
            raise AskerError(f"the post is malformed: {error}", 400) from error

    def _asked(self, posted: PostedRequest, judges: Sequence[Judge]) -> Asked:
        schema = None if posted.response_schema is None else self._text(posted.response_schema)
        if schema is not None:
            _check_json(schema)
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
def _check_json(text: str) -> None:
    json.loads(text)


def _judge(judge: Judge) -> dict[str, Any]:
    settings = judge.model_dump(mode="json", exclude_defaults=True, exclude={"key_variable", "family", "price"})
    return {**settings, "name": judge.name, "model": judge.model}


def read_post(body: bytes) -> Post:
    """Return a post. Raises AskerError if it is malformed or has another format."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise AskerError(f"the post is not JSON: {error}", 400) from error
    if not isinstance(content, dict):
        raise AskerError("the post is not a JSON object", 400)
    if (client_format := content.get("format")) != FORMAT:
        raise AskerError(
            f"claimeval {str(content.get('claimeval'))[:20]} writes posts of the format {str(client_format)[:20]}, and "
            f"this server, claimeval {_version()}, reads {FORMAT}; use the same version on both sides",
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
    """What was learned about the servers of the post's judges, by judge name."""
    ended: str | None
    """Why the asker answers no further requests, if so; some requests of the post then have no answer."""


def write_message(message: Answer | Ending) -> bytes:
    """Return an answer or an ending as a line of JSON."""
    return json.dumps(_content(message), separators=(",", ":")).encode() + b"\n"


def _content(message: Answer | Ending) -> dict[str, Any]:
    if isinstance(message, Ending):
        lessons = message.learned.items()
        learned = {name: lesson.model_dump(mode="json", exclude_defaults=True) for name, lesson in lessons}
        return {"learned": learned, "ended": message.ended}
    line: dict[str, Any] = {"n": message.number}
    outcome = message.outcome
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
    return line


def read_line(line: bytes) -> Answer | Ending | None:
    """Return the content of a line; None for an empty line, which is a heartbeat.

    Raises AskerError for a line that no asker writes.
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
