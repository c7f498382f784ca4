"""Requests to models, and their outcomes."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, JsonValue, model_validator

from claimeval.types.checkers import ReplyRule
from claimeval.types.errors import ClaimevalError, UsageError
from claimeval.types.records import Claim, Document, Reason, Record
from claimeval.types.scales import Scale

logger = logging.getLogger("claimeval")

KEY_VERSION = 4
"""Part of every key. Increased when the meaning of stored replies changes."""
IMPORTED = "imported"
"""Provider of judges whose verdicts were imported. They cannot be asked again."""

ReplyFormat = Literal["json", "bullets", "tags"]
TokenLimit = Literal["max_tokens", "max_completion_tokens"]
"""The names of the field of a request that limits a reply."""
TOKEN_LIMITS: tuple[TokenLimit, ...] = ("max_tokens", "max_completion_tokens")
BYTES_PER_TOKEN = 3
FRAME_TOKENS = 64
SHORTEST_REPLY = 256
"""Assumptions about a prompt in a window of known size, and the minimum number of tokens for its
reply."""
CLAIMS_PER_CALL = 5
AUTOMATIC_CLAIMS = 20
MAX_CLAIMS_PER_CALL = 50
"""Number of claims in one call to a model that the table of models does not name: by default, with
`auto`, and at most."""
MOST_VERDICT_TOKENS = 60
"""Tokens of a verdict with a reason, at most."""
ClaimsPerCall = int | Literal["auto"]
SMALL_REPLY = 1024
"""Tokens of a reply of a small model with the claims of a short text, at most."""
CLAIMS_PER_BYTE = 2
"""Tokens of the claims of a longer text for each of its bytes, at most. Of 46 texts of up to 320
characters, none had claims and quotes of more than 1.6."""
SCHEMA_BOUNDS = ("maxLength", "maxItems")
"""Keywords of a JSON schema that limit a reply's length, which some servers refuse."""
SYSTEM = "system"
"""The role of the first message, which some models and chat templates do not have."""
THINKING = "enable_thinking"
"""The field with which some hosts turn thinking off, which they allow only in streams."""
LONG_REPLY = "max_tokens<="
"""Begins the name of a refused length of a reply, followed by the numbers in the message."""
ANY_KEYS = '"additionalProperties":{'
"""In the JSON schema of an object whose keys it does not name, which providers with a strict mode
refuse there."""
DECIDES_NOTHING = {
    "name",
    "key_variable",
    "uncounted",
    "family",
    "price",
    "num_gpus",
    "batch",
    "learned",
}
"""Fields of a judge that cannot change a reply."""


class Learned(Record):
    """What a run learned about a judge's server from its replies and refusals."""

    refused: tuple[str, ...] = ()
    """Parameters that the server refused and that are no longer sent, by their names in the
    request."""
    schema_honoured: bool | None = None
    """Whether replies followed the JSON schema. None: no schema was sent, or there was no reply."""
    context_tokens: int | None = None
    """Context window that the server stated when it refused a request as too long."""
    max_tokens: int | None = None
    """Longest reply that the server allows, as it stated when it refused a longer one."""
    parameters: int | None = None
    """Number of parameters of a small model, as its server stated. Replies of such a model are
    limited to what the question needs, because it may repeat itself without end."""


HIGHEST_PRICE = 1_000_000
"""US dollars per million tokens: more than a dollar for a token is a mistake."""


class JudgePrice(Record):
    """US dollars per million tokens."""

    input: float = Field(ge=0, le=HIGHEST_PRICE, allow_inf_nan=False)
    output: float = Field(ge=0, le=HIGHEST_PRICE, allow_inf_nan=False)


QUESTION_FRAME = 40
"""Bytes of JSON around a document, a typed question or one of its choices, at most."""
# Filled by the providers, which are a floor above: types cannot import them.
ENGINES: set[str] = {"local"}
"""Providers whose judges read no prompts; their rows add them."""
CHECKER = ("asks", "prompt", "reply", "chat_template", "matrix")
"""Settings of checkers and decision models, which are no part of the id of other judges."""
PLAIN_TEXTS = {
    "document": "{{ document }}",
    "claim": "{{ claim }}",
    "question": "{{ question }}",
}
"""The messages of a function that is asked about one claim at a time."""
JudgeFunction = Callable[[list[dict[str, str]]], str | Awaitable[str]]
"""Returns the reply to messages, each with `role` and `content`."""
FUNCTIONS: dict[tuple[str, str | None], JudgeFunction] = {}
"""Functions that are judges in this process, by model and endpoint."""


class Judge(Record):
    """A named model with all settings that can change its replies. It never contains an API key.

    Examples:
        >>> judge = ce.Judge(name="one at a time", model="openai:gpt-5-mini", claims_per_call=1)
        >>> run = ce.score("answers.jsonl", judges=judge, limit=2)
        >>> run.manifest.judges[0].name
        'one at a time'
    """

    name: str = ""
    """Name in tables and files. Default: the model, as you give it."""
    model: str
    """`provider:name`, optionally followed by `@URL`, the endpoint."""
    endpoint: str | None = None
    """Base URL of the calls, or version of a local engine. None before the judge is resolved."""
    temperature: float | None = None
    """None: not sent, so that the provider's default applies."""
    top_p: float | None = None
    """None: not sent. Like every setting that is sent, another value asks for new replies."""
    max_tokens: int = Field(default=4096, gt=0)
    """Maximum number of tokens in a reply, including hidden reasoning."""
    token_limit: TokenLimit | None = None
    """Name of the field that `max_tokens` is sent in. None: the provider's, or the other one if it
    is refused."""
    context_tokens: int | None = Field(default=None, gt=0)
    """Context window: maximum number of tokens in prompt and reply together."""
    claims_per_call: (
        Annotated[int, Field(ge=1, le=MAX_CLAIMS_PER_CALL)] | Literal["auto"] | None
    ) = None
    """Number of claims in one question: 1 to 50, or `auto` for as many as the model handles by the
    table of models, and 20 for others. None becomes `auto` for a model of the table, and 5 for any
    other, whatever its address."""
    seed: int | None = None
    """None: not sent. Few providers promise the same reply to the same seed."""
    reasoning_effort: str | None = None
    """How long the model thinks before it answers, in the provider's words (`low`, `high`, ...).
    None: not sent. More costs more tokens."""
    top_logprobs: int | None = Field(default=None, ge=1, le=20)
    """Number of alternatives for each token with their log probabilities, which give the
    probability of a verdict."""
    structured: bool = True
    """Whether the server is asked to enforce the JSON schema. Replies are always validated."""
    reply_schema: Literal["list", "closed"] = "list"
    """`list`: one schema for all verdicts with a prompt: a list, or labels by any id. `closed`:
    each request's schema names its claims, so that a server that enforces it leaves none out; this
    defeats the provider's prompt cache."""
    key_variable: str | None = None
    """Environment variable with the API key. Default: the provider's variable."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Additional headers. The value `$NAME` is read from the environment, which keeps secrets out
    of a run's files."""
    query: dict[str, str] = Field(default_factory=dict)
    """Query parameters of the URL, such as `api-version`."""
    extra: dict[str, JsonValue] = Field(default_factory=dict)
    """Additional fields of the request body. Fields that claimeval sets itself are refused."""
    uncounted: bool = False
    """Whether `extra` may hold fields whose price the caps do not count."""
    family: str | None = None
    """Family of the model. Default: from the family table."""
    price: JudgePrice | None = None
    """Price of its tokens. Default: from the price files."""
    num_gpus: float | None = Field(default=None, ge=0)
    """GPUs that each worker of `--engine ray` reserves for a local model; workers can share a GPU
    with a fraction."""
    batch: bool = True
    """Whether `--batch` asks it in batches, if its provider has them."""
    asks: Literal["pair", "set"] | None = None
    """Makes the judge a checker, which is asked about one claim at a time in its own form: against
    each document (`pair`), or all documents together (`set`)."""
    prompt: str | dict[str, str] | None = None
    """Of a checker: what it is sent, a Jinja2 template with `document`, `claim` and `question`, or
    one for each role of its chat template."""
    reply: ReplyRule | None = None
    """Of a checker: what its replies mean."""
    chat_template: dict[str, JsonValue] = Field(default_factory=dict)
    """Of a checker: arguments of the model's chat template. Texts can use the variables of
    `prompt`."""
    matrix: Literal["joint"] | None = None
    """Of a decision model: `joint` asks about every claim and single document in one request, in
    which the model sees all documents."""
    learned: Learned = Learned()
    """Not a setting: what a run learned about the judge's server."""

    @model_validator(mode="before")
    @classmethod
    def _named_by_model(cls, given: Any) -> Any:
        if not isinstance(given, dict) or not isinstance(given.get("model"), str):
            return given
        model, _, url = given["model"].partition("@")
        named = {"name": given["model"], **given}
        is_address = url.startswith(("http://", "https://")) and given.get("endpoint") is None
        return {**named, "model": model, "endpoint": url} if is_address else named

    @classmethod
    def from_callable(
        cls,
        name: str,
        function: JudgeFunction,
        *,
        model: str,
        family: str | None = None,
        price: Mapping[str, float] | None = None,
        revision: str = "",
        asks: Literal["pair", "set"] | None = None,
        reply: Mapping[str, Any] | None = None,
    ) -> Judge:
        """Make a judge from a function, such as a call to a gateway or to a model in this process.

        Its replies are cached, paced and limited like those of a provider. `name`, `model` and
        `revision` are part of the keys of cached replies.

        Args:
            name: Name of the judge in tables and files.
            function: Returns the reply to a list of messages, each with `role` and `content`.
                Either a coroutine function or a plain one, which runs in a thread.
            model: The model that the function calls.
            family: Family of the model, for `on_same_family`. Default: from the family table.
            price: US dollars per million tokens, `input` and `output`, for a limit in dollars.
            revision: Change it when the function changes, so that earlier cached replies are not
                used.
            asks: Makes it a checker: the function gets three messages with the plain texts, of the
                roles `document`, `claim` and `question`, for each claim and document (`pair`) or
                all documents together (`set`).
            reply: What its replies mean, as in a judge file: `{"threshold": 0.5}`.

        Returns:
            A judge that can be used anywhere in this process.

        Raises:
            UsageError: If `function` is not callable, or `price` lacks a value.
        """
        if not callable(function):
            raise UsageError(f"judge {name!r}: a {type(function).__name__} cannot be called")
        if price is not None and set(price) != {"input", "output"}:
            raise UsageError(
                f"judge {name!r}: a price is {{'input': 1.0, 'output': 2.0}}, per million tokens"
            )
        judge = Judge(
            name=name,
            model=f"callable:{model}",
            endpoint=f"{name} {revision}".strip(),
            structured=False,
            family=family,
            price=JudgePrice(**price) if price else None,
            asks=asks,
            prompt=PLAIN_TEXTS if asks else None,
            reply=None if reply is None else ReplyRule.model_validate(reply),
        )
        before = FUNCTIONS.setdefault((judge.model, judge.endpoint), function)
        if before is not function:
            logger.warning(
                "judge %s: the new function gets the stored replies of the previous one; give it"
                " another `revision`",
                name,
            )
            FUNCTIONS[judge.model, judge.endpoint] = function
        return judge

    @property
    def provider(self) -> str:
        """Return the provider in the model's name."""
        return self.model.partition(":")[0]

    @property
    def model_name(self) -> str:
        """Return the model's name at its server: without the provider, and without the preset of a
        checker, as in `check:minicheck=NAME`."""
        name = self.model.partition(":")[2]
        if self.asks and "=" in name:
            return name.partition("=")[2]
        return name

    @property
    def is_engine(self) -> bool:
        """Return whether the judge is a local engine, which reads the typed task of a request
        instead of a prompt."""
        return self.provider in ENGINES

    @cached_property
    def id(self) -> str:
        """Return eight hexadecimal digits of the SHA-256 of all settings but those in
        `DECIDES_NOTHING`."""
        unset = {name for name in CHECKER if not getattr(self, name)}
        settings = self.model_dump(mode="json", exclude=DECIDES_NOTHING | unset)
        return hashlib.sha256(
            json.dumps(settings, sort_keys=True).encode("utf-8", "surrogatepass")
        ).hexdigest()[:8]

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with other settings, which has its own id."""
        copied = super().model_copy(update=update, deep=deep)
        for name in ("id", "forms", "in_keys"):
            copied.__dict__.pop(name, None)
        return copied

    @cached_property
    def in_keys(self) -> tuple[str, tuple[str, ...]]:
        """Return the judge's part of the key of a request: its numbers, and its texts."""
        more = [self.extra, self.headers, self.query]
        extra = json.dumps(more, sort_keys=True) if any(more) else ""
        texts = (
            self.model,
            self.endpoint or "",
            self.reasoning_effort or "",
            self.token_limit or "",
            extra,
        )
        return f"{self.temperature} {self.top_p} {self.seed}", texts

    def without(self, refused: Iterable[str]) -> Judge | None:
        """Return the judge without parameters that its server refuses; None if nothing changes.

        Only claimeval's defaults are left out or renamed: temperature 0, the name of the token
        limit, the JSON schema or its bounds, the role of the system text, a checker's
        log-probabilities. Parameters that a user set stay, so that the user sees the refusal; but a
        reply may be shorter than a user allows.
        """
        names = set(refused)
        replaceable = self._replaceable()
        left_out = [name for name in replaceable if name in names]
        if not set(SCHEMA_BOUNDS).isdisjoint(left_out):
            # a server that refuses a bound may take the schema without it
            left_out = [name for name in left_out if name != "response_format"]
        longest = min(self.max_tokens, self.learned.max_tokens or self.max_tokens)
        limits = [_lower_limit(name, longest) for name in names if name.startswith(LONG_REPLY)]
        limit = next((limit for limit in limits if limit), self.learned.max_tokens)
        if not left_out and limit == self.learned.max_tokens:
            return None
        changes: dict[str, Any] = {}
        for name in left_out:
            changes |= replaceable[name]
        learned = {"refused": (*self.learned.refused, *left_out), "max_tokens": limit}
        changes["learned"] = self.learned.model_copy(update=learned)
        return self.model_copy(update=changes)

    def _replaceable(self) -> dict[str, dict[str, Any]]:
        """Return claimeval's defaults that can still be left out, each with the settings that
        change then."""
        known = self.learned.refused
        replaceable = {bound: dict[str, Any]() for bound in SCHEMA_BOUNDS if bound not in known}
        if self.structured:
            replaceable["response_format"] = {"structured": False}
        if self.temperature == 0:
            replaceable["temperature"] = {"temperature": None}
        if self.asks and self.top_logprobs:
            # a checker's label is complete without its probability
            replaceable["logprobs"] = {"top_logprobs": None}
            replaceable["top_logprobs"] = {"top_logprobs": None}
        if "prompt_cache_key" not in {*known, *self.extra}:
            replaceable["prompt_cache_key"] = {}
        if self.token_limit and set(TOKEN_LIMITS).isdisjoint(known):
            other = next(name for name in TOKEN_LIMITS if name != self.token_limit)
            replaceable[self.token_limit] = {"token_limit": other}
        if SYSTEM not in known:
            replaceable[SYSTEM] = {}
        if THINKING not in {*known, *self.extra}:
            replaceable[THINKING] = {"extra": {**self.extra, THINKING: False}}
        return replaceable

    @property
    def as_asked(self) -> Judge:
        """Return the judge with the settings that its requests are sent with, given what was
        learned."""
        if self.learned == Learned():
            return self
        judge = self.model_copy(update={"learned": Learned()})
        for name in self.learned.refused:
            judge = judge.without([name]) or judge
        window = self.context_tokens or self.learned.context_tokens
        judge = judge.model_copy(update={"learned": self.learned, "context_tokens": window})
        return self if judge == self else judge

    @cached_property
    def forms(self) -> tuple[Judge, ...]:
        """Return the judge with the settings of its requests before each lesson and after the
        last."""
        learned = self.learned
        lessons = []
        for count in range(len(learned.refused) + 1):
            # Replies of before and after a lesson have other keys, and both are paid.
            for window in dict.fromkeys((None, learned.context_tokens)):
                for longest in dict.fromkeys((None, learned.max_tokens)):
                    for parameters in dict.fromkeys((None, learned.parameters)):
                        lesson = {
                            "refused": learned.refused[:count],
                            "context_tokens": window,
                            "max_tokens": longest,
                            "parameters": parameters,
                        }
                        lessons.append(learned.model_copy(update=lesson))
        return tuple(self.model_copy(update={"learned": lesson}).as_asked for lesson in lessons)


def _lower_limit(name: str, longest: int) -> int | None:
    """Return the longest reply that a server allows, by the name of a refused one; None if it
    states no lower number.

    Args:
        name: `LONG_REPLY` and the numbers in the server's message, of which one may be that of the
            request: `longest`, or twice as many for a second attempt.
        longest: The longest reply to a first attempt.
    """
    stated = [int(number) for number in name.removeprefix(LONG_REPLY).split(",") if number]
    # The second attempt asks for twice as much; "16384 exceeds the maximum of 8192" may mean
    # either.
    if 2 * longest in stated and longest in stated:
        return longest
    return max((number for number in stated if 16 <= number < longest), default=None)


@dataclass(frozen=True)
class Message:
    """A message of a request."""

    role: str
    """`system` or `user`; a checker's chat template can have others, such as `context`."""
    content: str


_WORDS_IN_BRACKETS = "numbers in brackets are words"


@dataclass(frozen=True)
class ExtractTask:
    """Extraction request for engines that are not language models."""

    text: str
    sentences: tuple[tuple[int, int], ...]
    brackets_cite: bool = True
    """Whether numbers in brackets are citations, and no words of the text."""

    @property
    def texts(self) -> Iterator[str]:
        """Return the texts that the reply depends on."""
        yield self.text
        if not self.brackets_cite:
            yield _WORDS_IN_BRACKETS

    @property
    def frames(self) -> int:
        """Return 0: engines read the text alone."""
        return 0


@dataclass(frozen=True)
class AssessTask:
    """Assessment request for engines that are not language models."""

    claims: tuple[Claim, ...]
    """Named c1, c2, ... in the messages."""
    documents: tuple[Document, ...]
    """Named d1, d2, ... in the messages."""
    scale: Scale
    alternatives: bool = False
    """Whether one document that supports a claim is enough, as with alternative reference
    answers."""
    brackets_cite: bool = True
    """Whether numbers in brackets are citations, and no words of the claims."""

    @property
    def texts(self) -> Iterator[str]:
        """Return the texts that the reply depends on."""
        if not self.brackets_cite:
            yield _WORDS_IN_BRACKETS
        yield f"{len(self.claims)} {self.alternatives} {'/'.join(self.scale.offered)}"
        yield from self.scale.meanings
        yield from [claim.text for claim in self.claims]
        for document in self.documents:
            yield document.title or ""
            yield document.text

    @property
    def frames(self) -> int:
        """Return an upper bound of the bytes around claims and documents in typed questions."""
        documents = QUESTION_FRAME * (1 + len(self.documents))
        return documents + len(self.claims) * question_size(self.scale)

    @property
    def scales(self) -> tuple[Scale, ...]:
        """Return the scale of each claim."""
        return (self.scale,) * len(self.claims)


@dataclass(frozen=True)
class TypedQuestion:
    """A question that is answered with a word of a scale."""

    text: str
    scale: Scale
    subject: str = ""
    """Id of the claim or document that it is about; empty if it is about an answer."""


@dataclass(frozen=True)
class TypedTask:
    """Questions about texts for engines, such as a rating of an answer or grades of documents."""

    inputs: tuple[tuple[str, str], ...]
    """The texts, each with its heading."""
    questions: tuple[TypedQuestion, ...]
    """Named c1, c2, ... in replies."""
    support: AssessTask | None = None
    """The same question in the form "do the documents support a claim?", if it is one; its scale
    has the words of the only question."""

    @property
    def texts(self) -> Iterator[str]:
        """Return the texts that the reply depends on."""
        for heading, text in self.inputs:
            yield heading
            yield text
        for question in self.questions:
            yield question.text
            yield "/".join(question.scale.offered)
            yield from question.scale.meanings

    @property
    def frames(self) -> int:
        """Return an upper bound of the bytes around texts and choices."""
        inputs = QUESTION_FRAME * len(self.inputs)
        return inputs + sum(question_size(question.scale) for question in self.questions)

    @property
    def scales(self) -> tuple[Scale, ...]:
        """Return the scale of each question."""
        return tuple([question.scale for question in self.questions])


Task = ExtractTask | AssessTask | TypedTask
"""What a request asks, as a typed record."""


def question_size(scale: Scale) -> int:
    """Return an upper bound of the bytes that a typed question with this scale has besides its
    claim."""
    words = [*scale.offered, *scale.meanings]
    return QUESTION_FRAME * (1 + len(scale.words)) + sum(len(word.encode()) for word in words)


class Beginning(NamedTuple):
    """What a request shares with others, for the provider's prompt cache."""

    key: str
    """The same for all requests that begin alike."""
    shared: int
    """Number of characters of the last message that several requests in flight share; 0 if this one
    is alone."""


@dataclass(frozen=True)
class Request:
    """A complete request to a judge. All fields that can change the reply are part of the key.

    `task` has the same content as `messages`. Local engines read only the task: their requests have
    no messages, and the key is computed from the task.
    """

    judge: Judge
    messages: tuple[Message, ...]
    reply_format: ReplyFormat
    max_tokens: int
    response_schema: str | None = None
    """The JSON schema of the reply as canonical JSON text."""
    replicate: int = 0
    """Number of the replicate, if a question is asked several times."""
    attempt: int = 0
    """Number of earlier attempts whose replies could not be read."""
    again: Reason | None = None
    """Why the cached replies of all regular attempts gave no result. Not part of the key."""
    top_logprobs: int | None = None
    """The judge's setting, for questions whose reply gives a probability."""
    prompt: str = ""
    """Digest of the prompt file. Not part of the key, because the messages contain the rendered
    prompt."""
    task: Task | None = None
    chat_template: str | None = None
    """The arguments of a checker's chat template, as JSON."""
    beginning: Beginning | None = None
    """None if the request is too short for a prompt cache. Not part of the key: it changes the
    price, not the reply."""

    @property
    def prompt_id(self) -> str | None:
        """Return the id of the prompt, or None if there is no prompt file."""
        return self.prompt[:8] or None

    def put_to(self, judge: Judge) -> Request:
        """Return the same question to another judge that reads prompts."""
        top_logprobs = judge.top_logprobs if isinstance(self.task, AssessTask) else None
        return replace(self, judge=judge, max_tokens=judge.max_tokens, top_logprobs=top_logprobs)

    def to(self, judge: Judge) -> Request:
        """Return the request for the judge with its learned settings.

        If its context window is known, the reply is limited to what the prompt leaves, at three
        bytes a token.
        """
        limit = self._limit(judge)
        if judge is self.judge and limit == self.max_tokens:
            return self
        top_logprobs = judge.top_logprobs if judge.asks else self.top_logprobs
        request = replace(self, judge=judge, max_tokens=limit, top_logprobs=top_logprobs)
        has_system = any(message.role == "system" for message in self.messages)
        if has_system and SYSTEM in judge.learned.refused:
            # The server refuses the role, and without the text a judge has no instructions.
            text = "\n\n".join(m.content for m in self.messages if m.content.strip())
            return replace(request, messages=(Message("user", text),), beginning=None)
        return request

    def _limit(self, judge: Judge) -> int:
        """Return the maximum length of a reply of the judge with its learned settings."""
        limit = self.max_tokens
        if judge.context_tokens:
            prompt = sum(
                len(message.content.encode("utf-8", "replace")) for message in self.messages
            )
            # A prompt that fills the window leaves nothing; the server then says so itself.
            left = judge.context_tokens - prompt // BYTES_PER_TOKEN - FRAME_TOKENS
            limit = min(max(min(limit, left), SHORTEST_REPLY), self.max_tokens)
        if judge.learned.max_tokens:
            limit = min(limit, judge.learned.max_tokens)
        if judge.learned.parameters:
            limit = min(limit, self._needed)
        return limit

    @property
    def _needed(self) -> int:
        """Return the number of tokens that the reply of a model without reasoning needs, at
        most."""
        if isinstance(self.task, AssessTask | TypedTask):
            return SHORTEST_REPLY + MOST_VERDICT_TOKENS * len(self.task.scales)
        if isinstance(self.task, ExtractTask):
            size = len(self.task.text.encode("utf-8", "surrogatepass"))
            return max(SMALL_REPLY, CLAIMS_PER_BYTE * size)
        return self.max_tokens

    @property
    def size(self) -> int:
        """Return the UTF-8 length of everything that the model may read: messages, schema and
        `extra`, or for an engine its typed task."""
        texts = [message.content for message in self.messages]
        texts += [schema] if (schema := self.schema_sent) else []
        texts += [json.dumps(self.judge.extra)] if self.judge.extra else []
        texts += [self.chat_template] if self.chat_template else []
        frames = 0
        if self.task is not None and self.judge.is_engine:
            texts += self.task.texts
            frames = self.task.frames
        return frames + sum(
            len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
            for text in texts
        )

    def room(self, window: int) -> int:
        """Return the maximum `size` of such a request in a context window of `window` tokens.

        A quarter of a small window is left to the reply. The estimate of three bytes a token is low
        for most texts, so that requests of this size fit.
        """
        reply = min(self.judge.max_tokens, max(SHORTEST_REPLY, window // 4))
        return max(0, window - FRAME_TOKENS - reply) * BYTES_PER_TOKEN

    def repeated(self, attempt: int, replicate: int) -> Request:
        """Return the request with these numbers. After the first attempt, the reply may be twice as
        long."""
        if not attempt and not replicate:
            return self
        return replace(
            self,
            attempt=attempt,
            replicate=replicate,
            # A first reply that cannot be read was often cut off, and twice as much lets it end.
            max_tokens=self.max_tokens * (2 if attempt else 1),
        )

    @property
    def schema_sent(self) -> str | None:
        """Return the JSON schema that is sent, without the bounds that the server refuses; None if
        none is sent."""
        if not self.response_schema or not self.judge.structured:
            return None
        refused = self.judge.learned.refused
        bounds = tuple(name for name in SCHEMA_BOUNDS if name in refused) if refused else ()
        return _without_bounds(self.response_schema, bounds) if bounds else self.response_schema

    @cached_property
    def key(self) -> str:
        """Return the SHA-256 of endpoint, model, parameters, messages, schema, replicate and
        attempt as hex digits."""
        numbers, settings = self.judge.in_keys
        texts = [*settings, self.schema_sent or "", *[message.content for message in self.messages]]
        texts += [self.chat_template] if self.chat_template else []
        if self.task is not None and self.judge.is_engine:
            texts += self.task.texts
        fields = (
            f"{self.max_tokens} {self.top_logprobs} {self.reply_format} {self.replicate}"
            f" {self.attempt}"
        )
        lengths = map(str, map(len, texts))  # they make the joined texts unambiguous
        header = " ".join(
            [
                str(KEY_VERSION),
                numbers,
                fields,
                *[message.role for message in self.messages],
                *lengths,
            ]
        )
        return hashlib.sha256(
            "\0".join((header, *texts)).encode("utf-8", "surrogatepass")
        ).hexdigest()


@lru_cache(maxsize=64)
def _without_bounds(schema: str, bounds: tuple[str, ...]) -> str:
    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: strip(part) for name, part in value.items() if name not in bounds}
        # A property may itself be called maxItems; ours has none, so that names can be removed
        # anywhere.
        return [strip(part) for part in value] if isinstance(value, list) else value

    return json.dumps(strip(json.loads(schema)), separators=(",", ":"))


@dataclass(frozen=True)
class Usage:
    """Token counts reported by the provider, None if not reported."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    """Prompt tokens that the provider read from its cache."""
    cache_write_tokens: int | None = None
    """Prompt tokens that the provider charged for writing to its cache."""
    dollars: float | None = None
    """US dollars that it charged for the reply, in a field that its documentation says is in
    dollars."""
    credits: float | None = None
    """What it charged, as a number in the unit of its host."""


class RateLimitStatus(NamedTuple):
    """Rate limits per minute and what remains of them, as reported by the provider; None if not
    reported."""

    requests: int | None = None
    requests_remaining: int | None = None
    tokens: int | None = None
    tokens_remaining: int | None = None


@dataclass(frozen=True)
class Completion:
    """A complete reply. The fields up to `usage` are read from `body`."""

    body: bytes
    text: str | None
    """Text of the reply; None for a refusal or a filtered reply."""
    finish_reason: str | None = None
    refusal: str | None = None
    aside: str | None = None
    """Field of the message that has a text although `content` is empty, such as
    `reasoning_content`."""
    served_model: str | None = None
    usage: Usage = Usage()
    latency: float | None = None
    """Seconds from sending to the last byte."""
    cached: bool = False
    rate_limits: RateLimitStatus | None = None
    """Rate limits from the headers of a live reply. Not stored."""
    key: str | None = None
    """Key of the cached reply, if the request was sent without refused parameters. Not stored."""
    needed: int | None = None
    """Tokens that the reply of a small model was limited to, because its question needs no more.
    Not stored."""


class Failure(Record):
    """Reason why a request has no reply."""

    reason: Reason
    message: str
    refused: tuple[str, ...] = ()
    """Parameters that the server refused, as in `CallError`."""
    another_form: bool = False
    """Whether the server may answer another form of the request, as in `CallError`."""
    context_tokens: int | None = None


LOOP = "the reply repeats itself up to the token limit"
TOO_MUCH = "the reply of a small model is longer than its question needs"
ENDLESS = (LOOP, TOO_MUCH)
"""Messages about cut replies that more tokens would not complete."""

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
        rate_limited: Whether the provider throttles, so that all calls to this judge should slow
            down.
        possibly_paid: Whether the provider may have charged for a reply that was lost.
        rate_limits: Rate limits from the headers.
        refused: Parameters of the request that the server refused, by name; without them it may
            answer.
        another_form: Whether the server may answer another form of the request, which a trial
            shows: it refused the request, and nothing else explains that.
        context_tokens: The context window that the server stated.
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
        refused: tuple[str, ...] = (),
        another_form: bool = False,
        context_tokens: int | None = None,
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
        self.refused = refused
        self.another_form = another_form
        self.context_tokens = context_tokens

    @property
    def failure(self) -> Failure:
        """Return the failure of a call that is not retried."""
        return Failure(
            reason=self.reason,
            message=self.message,
            refused=self.refused,
            another_form=self.another_form,
            context_tokens=self.context_tokens,
        )
