"""Requests to models, and their outcomes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self

from pydantic import Field

from claimeval.types.errors import ClaimevalError
from claimeval.types.records import Claim, Document, Reason, Record
from claimeval.types.scales import Scale

KEY_VERSION = 3
"""Part of every key. Increased when the meaning of stored replies changes."""

ReplyFormat = Literal["json", "bullets", "tags"]


class Judge(Record):
    """A named model with all settings that can change its answers. It never contains an API key."""

    name: str
    """Name in tables and files. Default: the text that the user typed."""
    model: str
    """`provider:name`."""
    endpoint: str | None = None
    """Base URL of the calls, or version of a local engine. None before the judge is resolved."""
    temperature: float | None = None
    """None: not sent, so that the provider's default applies."""
    top_p: float | None = None
    max_tokens: int = Field(default=4096, gt=0)
    seed: int | None = None
    reasoning_effort: str | None = None
    top_logprobs: int | None = Field(default=None, ge=1, le=20)
    """Number of alternatives for each token with their log probabilities, which give the probability of a verdict."""
    structured: bool = True
    """Whether the server is asked to enforce the JSON schema. Replies are always validated."""
    key_variable: str | None = None
    """Environment variable with the API key. Default: the provider's variable."""
    extra: dict[str, str | int | float | bool] = Field(default_factory=dict)
    """Additional fields of the request body."""

    @property
    def provider(self) -> str:
        """Return the provider in the model's name."""
        return self.model.partition(":")[0]

    @cached_property
    def id(self) -> str:
        """Return eight hexadecimal digits of the SHA-256 of all settings that can change an answer.

        The name and the variable of the key are not included.
        """
        settings = self.model_dump(mode="json", exclude={"name", "key_variable"})
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()[:8]

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with other settings, and so with another id."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("id", None)
        return copied


class Message(Record):
    """A message of a request."""

    role: Literal["system", "user"]
    content: str


class ExtractTask(Record):
    """Extraction request for engines that are not language models."""

    text: str
    sentences: tuple[tuple[int, int], ...]


class AssessTask(Record):
    """Assessment request for engines that are not language models."""

    claims: tuple[Claim, ...]
    """Named c1, c2, ... in the messages."""
    documents: tuple[Document, ...]
    """Named d1, d2, ... in the messages."""
    scale: Scale
    alternatives: bool = False
    """Whether one document that supports a claim is enough, as with alternative reference answers."""


class Request(Record):
    """A complete request to a judge. All fields that can change the reply are part of the key.

    `task` has the same content as `messages` and is not part of the key.
    """

    judge: Judge
    messages: tuple[Message, ...]
    reply_format: ReplyFormat
    response_schema: str | None = None
    """The JSON schema of the reply as canonical JSON text."""
    max_tokens: int
    replicate: int = 0
    """Number of the replicate, if a question is asked several times."""
    attempt: int = 0
    """Number of earlier attempts whose replies could not be read."""
    top_logprobs: int | None = None
    """As in the judge, for questions whose answer has a probability."""
    prompt: str = ""
    """Digest of the prompt file. Not part of the key, because the messages contain the rendered prompt."""
    task: ExtractTask | AssessTask | None = None

    @property
    def prompt_id(self) -> str | None:
        """Return the id of the prompt, or None if there is no prompt file."""
        return self.prompt[:8] or None

    @cached_property
    def key(self) -> str:
        """Return the SHA-256 of endpoint, model, parameters, messages, schema, replicate and attempt as hex digits."""
        judge = self.judge
        texts = [judge.model, judge.endpoint or "", judge.reasoning_effort or ""]
        texts.append(json.dumps(sorted(judge.extra.items())) if judge.extra else "")
        texts.append((self.response_schema or "") if judge.structured else "")
        header = f"{KEY_VERSION} {judge.temperature} {judge.top_p} {judge.seed} {self.max_tokens} {self.top_logprobs}"
        header += f" {self.reply_format} {self.replicate} {self.attempt}"
        for message in self.messages:
            header += f" {message.role}"
            texts.append(message.content)
        for text in texts:  # lengths make the joined texts unambiguous
            header += f" {len(text)}"
        return hashlib.sha256("\0".join((header, *texts)).encode("utf-8", "surrogatepass")).hexdigest()


class Usage(Record):
    """Token counts reported by the provider, None if not reported."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None


class RateLimitStatus(NamedTuple):
    """Rate limits per minute and what remains of them, as reported by the provider; None if not reported."""

    requests: int | None = None
    requests_remaining: int | None = None
    tokens: int | None = None
    tokens_remaining: int | None = None


class Completion(Record):
    """A complete reply. All other fields are read from `body`."""

    body: bytes
    text: str | None
    """Text of the reply, None for a refusal or a filtered reply."""
    finish_reason: str | None = None
    refusal: str | None = None
    served_model: str | None = None
    usage: Usage = Usage()
    latency: float | None = None
    """Seconds from sending to the last byte."""
    cached: bool = False
    rate_limits: RateLimitStatus | None = None
    """Rate limits from the headers of a live reply. Not stored."""


class Failure(Record):
    """Reason why a request has no reply."""

    reason: Reason
    message: str


Outcome = Completion | Failure


class CallError(ClaimevalError):
    """Failed call. Backends raise it, and the executor retries the call or returns a `Failure`.

    Args:
        reason: Reason of the failure.
        message: Message for the user.
        status: HTTP status.
        retryable: Whether another attempt can succeed.
        retry_after: Seconds that the provider asks to wait.
        fatal: Whether no further call to this judge can succeed.
        rate_limited: Whether the provider throttles, so that all calls to this judge should slow down.
        possibly_paid: Whether the provider may have charged for a reply that was lost.
        rate_limits: Rate limits from the headers.
    """

    def __init__(
        self,
        reason: Reason,
        message: str,
        *,
        status: int | None = None,
        retryable: bool = True,
        retry_after: float | None = None,
        fatal: bool = False,
        rate_limited: bool = False,
        possibly_paid: bool = False,
        rate_limits: RateLimitStatus | None = None,
    ) -> None:
        super().__init__(message)
        self.reason: Reason = reason
        self.message = message
        self.status = status
        self.retryable = retryable and not fatal
        self.retry_after = retry_after
        self.fatal = fatal
        self.rate_limited = rate_limited
        self.possibly_paid = possibly_paid
        self.rate_limits = rate_limits
