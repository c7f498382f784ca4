"""The table of faults: what the client gets, and whether the provider charges for it."""

from __future__ import annotations

import copy
import email.utils
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.loopback.dialects import Dialect
from benchmarks.loopback.wire import Answer, Manner, encode

Group = Literal[
    "rate", "fatal", "transient", "connection", "slow", "malformed", "unusable", "odd", "redirect"
]
"""``rate``: status 429. ``fatal``: a retry cannot succeed. ``transient``: a temporary status.
``connection``: a broken connection. ``slow``: no end of the reply. ``malformed``: status 200
without a usable record. ``unusable``: a valid record without an answer. ``odd``: an unusual record
with the full answer. ``redirect``: a redirect."""

HUGE = 5_000_000
"""Characters of content in a huge reply."""
DEPTH = 200_000
"""Brackets in a deeply nested reply."""
PROXY_PAGE = (
    b"<html><head><title>502 Bad Gateway</title></head><body><center>nginx</center></body></html>"
)


@dataclass(slots=True)
class Scene:
    """The data that a fault can use."""

    dialect: Dialect
    key: str
    """The API key that the client sent."""
    model: str
    path: str
    redirect_to: str
    """The base URL of redirects; "" for this server."""
    now: float
    """Unix time."""
    generate: Callable[[], dict[str, Any]]
    """Asks the judge, and returns the completion record without a fault."""


Make = Callable[[Scene], Answer]


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of fault."""

    group: Group
    make: Make
    paid: bool = False
    """Whether the provider generated a completion and charges for it."""


Words = tuple[str, str, str | None]
"""(message, type, code) of an error record."""


def _refused(status: int, openai: Words, mistral: Words | None = None, **headers: str) -> Make:
    """Return an error with this status and each provider's message."""

    def make(scene: Scene) -> Answer:
        words = mistral if mistral and scene.dialect.name == "mistral" else openai
        message, kind, code = words
        record = scene.dialect.error(
            message.format(model=scene.model, key=scene.key), type=kind, code=code
        )
        return Answer(
            status,
            encode(record),
            {
                name.replace("_", "-"): value.format(key=scene.key)
                for name, value in headers.items()
            },
        )

    return make


def _rate_limited(**headers: str) -> Make:
    return _refused(
        429,
        (
            "Rate limit reached for {model} on requests per min (RPM).",
            "requests",
            "rate_limit_exceeded",
        ),
        ("Rate limit exceeded", "rate_limited", "1300"),
        **headers,
    )


def _rate_limited_until(scene: Scene) -> Answer:
    date = email.utils.formatdate(
        scene.now + 2, usegmt=True
    )  # whole seconds: at least one from now
    return _rate_limited(retry_after=date)(scene)


def _unsupported_parameter(scene: Scene) -> Answer:
    message = "Unsupported value: 'top_p' does not support 1 with this model."
    return scene.dialect.complain(400, message, code="unsupported_value", param="top_p")


def _filtered_prompt(scene: Scene) -> Answer:
    message = (
        "The response was filtered due to the prompt triggering the content management policy."
    )
    return scene.dialect.complain(400, message, code="content_filter", param="prompt")


def _unknown_model(scene: Scene) -> Answer:
    if scene.dialect.name == "mistral":
        return _refused(400, (f"Invalid model: {scene.model}", "invalid_model", "1500"))(scene)
    message = f"The model `{scene.model}` does not exist or you do not have access to it."
    return _refused(404, (message, "invalid_request_error", "model_not_found"))(scene)


def _page(status: int) -> Make:
    return lambda scene: Answer(status, PROXY_PAGE, {"content-type": "text/html"})


def _moved(status: int, query: str = "") -> Make:
    def make(scene: Scene) -> Answer:
        target = f"{scene.redirect_to}/elsewhere{scene.path}{query.format(key=scene.key)}"
        return Answer(status, b"", {"location": target})

    return make


def _broken(manner: Manner) -> Make:
    """Return a generated completion that is sent in this manner."""
    return lambda scene: Answer(200, encode(scene.generate()), manner=manner)


def _instead(body: bytes, content_type: str = "application/json") -> Make:
    """Return status 200 with another body instead of the completion."""

    def make(scene: Scene) -> Answer:
        scene.generate()
        return Answer(200, body, {"content-type": content_type})

    return make


def _truncated(scene: Scene) -> Answer:
    whole = encode(scene.generate())
    return Answer(200, whole[: len(whole) // 2])


def _bad_utf8(scene: Scene) -> Answer:
    return Answer(
        200,
        encode(_reply_with(scene.generate(), content="\0")).replace(b"\\u0000", b"caf\xe9 \xff"),
    )


def _lone_surrogate(scene: Scene) -> Answer:
    return Answer(
        200, encode(_reply_with(scene.generate(), content="\0")).replace(b"\\u0000", b"\\ud800")
    )


def _deep(scene: Scene) -> Answer:
    return Answer(200, encode(_reply_with(scene.generate(), content="[" * DEPTH)))


def _huge(scene: Scene) -> Answer:
    return Answer(200, encode(_reply_with(scene.generate(), content="x" * HUGE)))


def _with(**fields: Any) -> Make:
    """Return the completion with other top-level fields."""
    return lambda scene: Answer(200, encode({**scene.generate(), **fields}))


def _without(name: str) -> Make:
    return lambda scene: Answer(
        200, encode({k: v for k, v in scene.generate().items() if k != name})
    )


def _usage(**fields: Any) -> Make:
    def make(scene: Scene) -> Answer:
        record = scene.generate()
        return Answer(200, encode({**record, "usage": {**record["usage"], **fields}}))

    return make


def _reply_with(
    record: Mapping[str, Any], *, finish: str = "stop", **message: Any
) -> dict[str, Any]:
    """Return the completion with another message and finish reason."""
    changed = copy.deepcopy(dict(record))
    choice = changed["choices"][0]
    choice["finish_reason"] = finish
    choice["message"].update(message)
    return changed


def _ended(finish: str, **message: Any) -> Make:
    return lambda scene: Answer(
        200, encode(_reply_with(scene.generate(), finish=finish, **message))
    )


def _cut_short(scene: Scene) -> Answer:
    record = scene.generate()
    content = str(record["choices"][0]["message"]["content"])
    return Answer(
        200, encode(_reply_with(record, finish="length", content=content[: len(content) // 2]))
    )


def _parts(scene: Scene) -> Answer:
    record = scene.generate()
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Let me think."}]}
    text = {"type": "text", "text": record["choices"][0]["message"]["content"]}
    return Answer(200, encode(_reply_with(record, content=[thinking, text])))


def _key_in_reply(scene: Scene) -> Answer:
    escaped = "".join(f"\\u{ord(one):04x}" for one in scene.key)
    debug = {"authorization": f"Bearer {scene.key}", "escaped": "HERE", "escaped_twice": escaped}
    return Answer(
        200, encode({**scene.generate(), "debug": debug}).replace(b"HERE", escaped.encode())
    )


SERVER_ERROR: Words = (
    "The server had an error while processing your request.",
    "server_error",
    None,
)
OVERLOADED: Words = (
    "Service tier capacity exceeded for this model.",
    "invalid_request_error",
    None,
)

KINDS: Mapping[str, Fault] = {
    "rate_limited": Fault("rate", _rate_limited()),
    "rate_limited_zero": Fault("rate", _rate_limited(retry_after="0")),
    "rate_limited_seconds": Fault("rate", _rate_limited(retry_after="1")),
    "rate_limited_ms": Fault("rate", _rate_limited(retry_after_ms="250")),
    "rate_limited_date": Fault("rate", _rate_limited_until),
    "rate_limited_garbage": Fault("rate", _rate_limited(retry_after="soon")),
    "rate_limited_day": Fault("rate", _rate_limited(retry_after="86400")),
    "rate_limited_reset": Fault("rate", _rate_limited(x_ratelimit_reset_requests="500ms")),
    "capacity_429": Fault("rate", _refused(429, OVERLOADED)),
    "insufficient_quota": Fault(
        "fatal",
        _refused(
            429,
            (
                "You exceeded your current quota, please check your plan and billing details.",
                "insufficient_quota",
                "insufficient_quota",
            ),
            ("Rate limit exceeded", "rate_limited", "1300"),
            # how Mistral says that the account has no plan for the model
            x_ratelimit_limit_req_minute="0",
        ),
    ),
    "status_400": Fault(
        "fatal", _refused(400, ("Invalid request.", "invalid_request_error", None))
    ),
    "unsupported_parameter": Fault("fatal", _unsupported_parameter),
    "context_too_long": Fault(
        "fatal",
        _refused(
            400,
            (
                "This model's maximum context length is 8192 tokens.",
                "invalid_request_error",
                "context_length_exceeded",
            ),
        ),
    ),
    "filtered_prompt": Fault("fatal", _filtered_prompt),
    "status_401": Fault(
        "fatal",
        _refused(
            401,
            ("Incorrect API key provided.", "invalid_request_error", "invalid_api_key"),
            ("Unauthorized", "invalid_request_error", None),
        ),
    ),
    "key_echo": Fault(
        "fatal",
        _refused(
            401,
            ("Incorrect API key provided: {key}.", "invalid_request_error", "invalid_api_key"),
            x_echo="Bearer {key}",
        ),
    ),
    "status_403": Fault(
        "fatal",
        _refused(
            403,
            (
                "Country, region, or territory not supported",
                "request_forbidden",
                "unsupported_country_region_territory",
            ),
        ),
    ),
    "status_404": Fault("fatal", _refused(404, ("Not found.", "invalid_request_error", None))),
    "unknown_model": Fault("fatal", _unknown_model),
    "status_413": Fault(
        "fatal", _refused(413, ("Request too large.", "invalid_request_error", None))
    ),
    "status_422": Fault("fatal", _refused(422, ("Unprocessable.", "invalid_request_error", None))),
    "status_408": Fault("transient", _refused(408, ("Request timed out.", "server_error", None))),
    "status_409": Fault("transient", _refused(409, ("Conflict, try again.", "server_error", None))),
    "status_500": Fault("transient", _refused(500, SERVER_ERROR)),
    "status_502": Fault("transient", _page(502)),
    "status_503": Fault("transient", _refused(503, OVERLOADED)),
    "status_504": Fault("transient", _page(504)),
    "status_529": Fault("transient", _refused(529, ("Overloaded", "overloaded_error", None))),
    "reset": Fault("connection", _broken("reset"), paid=True),
    "eof": Fault("connection", _broken("eof"), paid=True),
    "cut_body": Fault("connection", _broken("cut"), paid=True),
    "reset_in_body": Fault("connection", _broken("reset_in_body"), paid=True),
    "garbage": Fault("connection", _broken("garbage"), paid=True),
    "hang": Fault("slow", _broken("hang"), paid=True),
    "drip": Fault("slow", _broken("drip"), paid=True),
    "empty_body": Fault("malformed", _instead(b""), paid=True),
    "html_page": Fault("malformed", _instead(PROXY_PAGE, "text/html"), paid=True),
    "html_as_json": Fault("malformed", _instead(PROXY_PAGE), paid=True),
    "null_body": Fault("malformed", _instead(b"null"), paid=True),
    "list_body": Fault("malformed", _instead(b"[]"), paid=True),
    "error_body": Fault("malformed", _refused(200, SERVER_ERROR)),
    "truncated_json": Fault("malformed", _truncated, paid=True),
    "choices_empty": Fault("malformed", _with(choices=[]), paid=True),
    "choices_null": Fault("malformed", _with(choices=None), paid=True),
    "bad_utf8": Fault("malformed", _bad_utf8, paid=True),
    "lone_surrogate": Fault("malformed", _lone_surrogate, paid=True),
    "finish_length": Fault("unusable", _cut_short, paid=True),
    "finish_content_filter": Fault("unusable", _ended("content_filter", content=""), paid=True),
    "finish_error": Fault("unusable", _ended("error", content=""), paid=True),
    "finish_unknown": Fault("unusable", _ended("enough"), paid=True),
    "refusal": Fault(
        "unusable", _ended("stop", content=None, refusal="I cannot help with that."), paid=True
    ),
    "null_content": Fault("unusable", _ended("stop", content=None), paid=True),
    "empty_content": Fault("unusable", _ended("stop", content=""), paid=True),
    "huge_content": Fault("unusable", _huge, paid=True),
    "deep_content": Fault("unusable", _deep, paid=True),
    "content_parts": Fault("odd", _parts, paid=True),
    "no_usage": Fault("odd", _without("usage"), paid=True),
    "usage_words": Fault("odd", _usage(prompt_tokens="ten", total_tokens=None), paid=True),
    "usage_negative": Fault("odd", _usage(prompt_tokens=-5, total_tokens=-5), paid=True),
    "closed_after": Fault("odd", _broken("then_close"), paid=True),
    "key_in_reply": Fault("odd", _key_in_reply, paid=True),
    "redirect_302": Fault("redirect", _moved(302)),
    "redirect_307": Fault("redirect", _moved(307)),
    "key_in_redirect": Fault("redirect", _moved(307, "?key={key}")),
}
