"""The nouns of conversation: a question to a model, and what came back."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import Literal, NamedTuple

from pydantic import Field

from claimeval.types.errors import ClaimevalError
from claimeval.types.records import Claim, Document, Reason, Record
from claimeval.types.scales import Scale

KEY_VERSION = 3
"""Part of every key; raised when the meaning of a stored reply changes."""

ReplyFormat = Literal["json", "bullets", "tags"]


class Judge(Record):
    """A named model with everything that can change its answers. It never holds a key."""

    name: str
    """How tables and files call it; by default the text that the user typed."""
    model: str
    """`provider:name`."""
    endpoint: str | None = None
    """The base URL that calls go to, or the version of a local engine; None until it is resolved."""
    temperature: float | None = None
    """None: not sent, the provider's default holds."""
    top_p: float | None = None
    max_tokens: int = Field(default=4096, gt=0)
    seed: int | None = None
    reasoning_effort: str | None = None
    top_logprobs: int | None = Field(default=None, ge=1, le=20)
    """Alternatives of each token to ask for with their log-probabilities, from which the probability of a verdict is
    taken; None: not asked for."""
    structured: bool = True
    """Ask the server to hold the reply to the JSON schema; replies are checked just as strictly without."""
    key_variable: str | None = None
    """The environment variable that holds the key, where it is not the provider's usual one."""
    extra: dict[str, str | int | float | bool] = Field(default_factory=dict)
    """Further body fields, sent as they are."""

    @property
    def provider(self) -> str:
        return self.model.partition(":")[0]

    @property
    def id(self) -> str:
        """Eight hexadecimal digits of the SHA-256 of all settings that can change an answer.

        Judges of the same id give the same answers: the name and where the key is kept are left out.
        """
        settings = self.model_dump(mode="json", exclude={"name", "key_variable"})
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()[:8]


class Message(Record):
    role: Literal["system", "user"]
    content: str


class ExtractTask(Record):
    """The typed form of an extraction, for engines that are not language models."""

    text: str
    sentences: tuple[tuple[int, int], ...]


class AssessTask(Record):
    """The typed form of an assessment, for engines that are not language models."""

    claims: tuple[Claim, ...]
    """The judge sees them as c1, c2, ..."""
    documents: tuple[Document, ...]
    """The judge sees them as d1, d2, ..."""
    scale: Scale
    alternatives: bool = False
    """Whether each document is right by itself, so that one that supports a claim is enough."""


class Request(Record):
    """One question, complete: whatever can change the answer is a field and so part of the key.

    `task` says the same as `messages` in types and is left out of the key.
    """

    judge: Judge
    messages: tuple[Message, ...]
    reply_format: ReplyFormat
    response_schema: str | None = None
    """The JSON schema of the reply as canonical JSON text."""
    max_tokens: int
    replicate: int = 0
    """Which sample of the same question this is; each is its own call."""
    attempt: int = 0
    """How often the question was put before, because the reply was no use."""
    top_logprobs: int | None = None
    """As in the judge, for questions whose answer has a probability."""
    prompt: str = ""
    """Digest of the prompt file; the messages say all of it that matters, so it is not part of the key."""
    task: ExtractTask | AssessTask | None = None

    @property
    def prompt_id(self) -> str | None:
        """The id of the prompt; None for a request that was made without a prompt file."""
        return self.prompt[:8] or None

    @cached_property
    def key(self) -> str:
        """SHA-256 over provider, endpoint, model, parameters, messages, schema, replicate and attempt, as hex."""
        judge = self.judge
        texts = [judge.model, judge.endpoint or "", judge.reasoning_effort or ""]
        texts.append(json.dumps(sorted(judge.extra.items())) if judge.extra else "")
        texts.append((self.response_schema or "") if judge.structured else "")
        said = f"{KEY_VERSION} {judge.temperature} {judge.top_p} {judge.seed} {self.max_tokens} {self.top_logprobs}"
        said += f" {self.reply_format} {self.replicate} {self.attempt}"
        for message in self.messages:
            said += f" {message.role}"
            texts.append(message.content)
        for text in texts:  # with their lengths, so that none can pass for a part of another
            said += f" {len(text)}"
        return hashlib.sha256("\0".join((said, *texts)).encode("utf-8", "surrogatepass")).hexdigest()


class Usage(Record):
    """Tokens as the provider counted them; None where it did not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None


class Allowance(NamedTuple):
    """Rate limits per minute and what remains of them, as reported by the provider; None if not reported."""

    requests: int | None = None
    requests_left: int | None = None
    tokens: int | None = None
    tokens_left: int | None = None


class Completion(Record):
    """A reply that arrived whole. `body` is what the wire carried; everything else is read from it."""

    body: bytes
    text: str | None
    """The judge's words; None when it gave none (a refusal, a filter)."""
    finish_reason: str | None = None
    refusal: str | None = None
    served_model: str | None = None
    usage: Usage = Usage()
    latency: float | None = None
    """Seconds from sending to the last byte, when the call was made."""
    cached: bool = False
    allowance: Allowance | None = None
    """From the headers of a reply that was just received; not stored."""


class Failure(Record):
    """A call that gave no usable reply: a record in the results, not a crash and not a number."""

    reason: Reason
    message: str


Outcome = Completion | Failure


class CallError(ClaimevalError):
    """What a backend raises when a call fails; the executor retries it or turns it into a `Failure`."""

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
        allowance: Allowance | None = None,
    ) -> None:
        super().__init__(message)
        self.reason: Reason = reason
        self.message = message
        self.status = status
        self.retryable = retryable and not fatal
        self.retry_after = retry_after
        """Seconds the provider asks us to wait."""
        self.fatal = fatal
        """No further call to this judge can succeed."""
        self.rate_limited = rate_limited
        """Too many requests or tokens for now; all calls to this judge should slow down."""
        self.possibly_paid = possibly_paid
        """The provider may have generated (and billed) a reply that was lost on the way."""
        self.allowance = allowance
