"""Status, headers and body of an error -> what is done about it."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from pydantic import SecretStr

from claimeval.providers.http import duration, error_for, rate_limits, retry_after
from claimeval.types.requests import CallError, RateLimitStatus

KEY = SecretStr("sk-CANARY-key")


def error(
    status: int, headers: Mapping[str, str] | None = None, body: str = "", **fields: object
) -> CallError:
    return told(status, fields, headers, body)


def told(
    status: int,
    fields: Mapping[str, object],
    headers: Mapping[str, str] | None = None,
    body: str = "",
) -> CallError:
    return error_for(status, headers or {}, body or json.dumps({"error": fields}), KEY)


RETRIED = {408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 529, 598}
FATAL = {301, 302, 303, 307, 308, 401, 402, 403, 404, 405, 410}
REFUSED = {400, 406, 411, 413, 414, 415, 418, 422, 431, 451}


@pytest.mark.parametrize("status", sorted(RETRIED | FATAL | REFUSED))
def test_every_status_is_retried_fatal_or_refused(status: int) -> None:
    found = error(status, message="No.")
    assert (found.retryable, found.fatal) == (status in RETRIED, status in FATAL)
    assert found.status == status
    assert found.reason == (
        "judge_stopped" if status in FATAL else "too_long" if status == 413 else "provider_error"
    )
    assert found.rate_limited == (status == 429)
    assert found.possibly_paid == (status in {408, 502, 504, 520, 522})


@pytest.mark.parametrize(
    ("status", "fields", "fatal", "advice"),
    [
        (
            429,
            {"code": "insufficient_quota", "message": "You exceeded your quota."},
            True,
            "no quota left",
        ),
        (429, {"type": "insufficient_quota"}, True, "no quota left"),
        (429, {"code": "enforced_spend_limit_reached"}, True, "spend limit"),
        (429, {"type": "budget_exceeded", "code": "429"}, True, "budget for this key is spent"),
        (
            400,
            {"type": "budget_exceeded", "message": "Exceeded!"},
            True,
            "budget for this key is spent",
        ),
        (429, {"code": "billing_not_active"}, True, "billing is not active"),
        (429, {"code": "rate_limit_exceeded", "message": "Slow down."}, False, "Slow down."),
        (400, {"code": "unsupported_value", "message": "No."}, True, "change the judge's settings"),
        (400, {"message": "Invalid model name passed in model=nosuch"}, True, "check its name"),
        (400, {"message": "litellm.AuthenticationError: no"}, True, "the key is not accepted"),
        (400, {"message": "No connected db.", "code": "400"}, True, "the key is not accepted"),
        (
            400,
            {"message": "max_tokens is too large: 50000. This model supports at most 16384."},
            False,
            "a lower max_tok",
        ),
        (
            400,
            {"message": "Unrecognized request argument supplied: x"},
            True,
            "change the judge's settings",
        ),
        (
            422,
            {"message": {"detail": [{"type": "extra_forbidden"}]}},
            True,
            "change the judge's settings",
        ),
        (400, {"code": "model_not_found"}, True, "check its name"),
        (400, {"type": "invalid_model", "message": "Invalid model: x"}, True, "check its name"),
    ],
)
def test_the_code_in_the_body_says_what_the_status_leaves_open(
    status: int, fields: dict[str, object], fatal: bool, advice: str
) -> None:
    found = told(status, fields)
    assert found.fatal == fatal
    assert advice in found.message


LITELLM = {"type": "None", "code": "400"}


@pytest.mark.parametrize(
    ("status", "fields", "refused"),
    [
        (400, {"code": "unsupported_value", "param": "temperature"}, ("temperature",)),
        (400, {"code": "unsupported_parameter", "param": "max_tokens"}, ("max_tokens",)),
        (
            400,
            {
                "message": (
                    "Unsupported parameter: 'max_tokens' is not supported. Use"
                    " 'max_completion_tokens' instead."
                )
            },
            ("max_completion_tokens", "max_tokens"),
        ),
        (
            400,
            {
                "message": "gpt-5 models don't support temperature=0.0. Only temperature=1.",
                **LITELLM,
            },
            ("temperature",),
        ),
        (
            400,
            {"message": "does not support parameters: ['logprobs', 'top_logprobs']", **LITELLM},
            ("logprobs", "top_logprobs"),
        ),
        (
            400,
            {"message": "Unrecognized request argument supplied: response_format"},
            ("response_format",),
        ),
        (400, {"message": "This model does not support structured outputs."}, ("response_format",)),
        (400, {"message": "This response_format type is unavailable now"}, ("response_format",)),
        (
            400,
            {"message": "This model does not support response format `json_schema`."},
            ("response_format",),
        ),
        (
            400,
            {
                "message": (
                    "tools.0.custom.input_schema: JSON schema is invalid. It must match draft"
                    " 2020-12"
                )
            },
            ("response_format",),
        ),
        (
            400,
            {
                "message": (
                    "Invalid schema for response_format 'reply': 'maxLength' is not permitted."
                ),
                "param": "response_format",
            },
            ("maxLength", "response_format"),
        ),
        (
            422,
            {"message": {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"]}]}},
            ("seed",),
        ),
        (400, {"message": "`temperature` is deprecated for this model."}, ("temperature",)),
        (400, {"message": "Invalid value for 'temperature': decimal above maximum value."}, ()),
        (400, {"message": "This is a bad request."}, ()),
    ],
)
def test_a_refusal_names_the_parameters(
    status: int, fields: dict[str, object], refused: tuple[str, ...]
) -> None:
    found = told(status, fields)
    assert found.refused == refused
    assert (found.retryable, found.fatal) == (False, False)


@pytest.mark.parametrize(
    ("words", "window"),
    [
        (
            (
                "This model's maximum context length is 4096 tokens. However, you requested 4796"
                " tokens."
            ),
            4096,
        ),
        (
            (
                "Your input exceeds the context window of this model. Please adjust your input and"
                " try again."
            ),
            None,
        ),
        (
            (
                "Prompt contains 40687 tokens and 0 draft tokens, too large for model with 32768"
                " maximum context length"
            ),
            32768,
        ),
        (
            (
                "The decoder prompt (length 10127) is longer than the maximum model length of 8192."
                " Make sure that ..."
            ),
            8192,
        ),
        (
            (
                "The prompt (total length 25938) is too long to fit into the model (context length"
                " 4096)."
            ),
            4096,
        ),
        (
            (
                "request (20001 tokens) exceeds the available context size (8192 tokens), try"
                " increasing it"
            ),
            8192,
        ),
        ("the request exceeds the available context size. try increasing the context size", None),
        (
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed"
                " (1048576)."
            ),
            1048576,
        ),
        (
            "This model's maximum prompt length is 131072 but the request contains 149617 tokens.",
            131072,
        ),
        (
            (
                "However, the model is loaded with context length of only 4096 tokens, which is not"
                " enough."
            ),
            4096,
        ),
        ("Invalid request: Your request exceeded model token limit: 8192", 8192),
        (
            (
                "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given:"
                " 5000"
            ),
            4097,
        ),
        ("Request too long: 121692 input tokens over the limit of 46112", 46112),
        ("Input is too long for requested model.", None),
        ("context length exceeded", None),
        ("litellm.ContextWindowExceededError: no", None),
    ],
)
def test_a_prompt_that_is_too_long_may_tell_the_window(words: str, window: int | None) -> None:
    found = told(400, {"message": words})
    assert (found.reason, found.context_tokens, found.retryable, found.fatal) == (
        "too_long",
        window,
        False,
        False,
    )


@pytest.mark.parametrize(
    ("status", "words", "window"),
    [
        (400, "Input length 9000 exceeds the maximum allowed length 8192", 8192),
        (
            400,
            "The prompt contains 9000 tokens, which is more than the model's maximum of 8192",
            8192,
        ),
        (400, "Range of input length should be [1, 30720]", 30_720),
        (400, "Prompt exceeds max length", None),
        (422, "`inputs` must have less than 4095 tokens. Given: 5000", 4095),
        (400, "Input tokens exceed the configured limit of 128,000.", 128_000),
        (400, "too many input tokens: 9000, limit 8192", 8192),
        (400, "Please reduce the length of the messages. Current length is 9000", None),
        (500, "The input (9000 tokens) is longer than the context length (8192 tokens).", 8192),
        (400, "prompt tokens (9000) + max_tokens (1024) must be <= 8192", 8192),
        (400, "total message token length exceed model limit", None),
        (400, "max_tokens must be at least 1, got -400.", None),
        (400, "Model context window is 8192 tokens, you requested 256000 tokens", 8192),
        (400, "Prompt too large for this model", None),
        (400, "请求的上下文长度超过模型上限 32768", 32_768),
        (400, "invalid params, context window exceeds limit", None),
    ],
)
def test_other_wordings_of_a_prompt_that_is_too_long(
    status: int, words: str, window: int | None
) -> None:
    found = told(status, {"message": words})
    assert (found.reason, found.context_tokens) == ("too_long", window)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "Input data may contain inappropriate content."),
        (400, "Content Exists Risk"),
        (400, "The request was rejected because it was considered high risk"),
        (403, "SAFETY_CHECK_TYPE_CSAM: Content violates usage guidelines."),
        (400, "系统检测到输入或生成内容可能包含不安全或敏感内容"),
        (400, "Request blocked by guardrail: prompt injection detected"),
        (400, "Your request was rejected as a result of our safety system."),
        (400, "Invalid prompt: it was flagged as potentially violating our usage policy."),
        (403, "Your prompt violates our content policy"),
        (400, "Prompt blocked: PROHIBITED_CONTENT"),
        (400, "The input was classified as unsafe"),
    ],
)
def test_a_refused_prompt_is_filtered_whatever_the_host_calls_it(status: int, words: str) -> None:
    found = told(status, {"message": words})
    assert (found.reason, found.retryable, found.fatal) == ("filtered", False, False)


def test_an_account_that_is_suspended_is_no_refused_prompt() -> None:
    assert told(403, {"message": "Your account violates our usage policy"}).fatal


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "API key expired. Please renew the API key."),
        (400, "Missing Authorization header"),
        (400, "Access token is missing"),
        (400, "Access denied, your account must be in good standing. Arrearage"),
        (429, "余额不足或无可用资源包,请充值。"),
        (429, "Account balance not enough"),
        (400, "Budget has been exceeded! Current cost: 1.1, Max budget: 1.0"),
        (400, "The model `llama3-70b` has been decommissioned and is no longer supported."),
        (400, "gpt-99 is not a valid model ID"),
        (400, "Model Not Exist"),
        (400, "The provided model identifier is invalid."),
        (400, "DeploymentNotFound"),
        (400, "No such model: foo"),
        (400, "The model foo has reached end of life"),
    ],
)
def test_what_no_further_call_can_mend_stops_the_judge(status: int, words: str) -> None:
    found = told(status, {"message": words})
    assert (found.reason, found.fatal) == ("judge_stopped", True)


CAUSE = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead, said the server."
INNER = {"error": {"message": CAUSE, "type": "invalid_request_error", "code": None}}


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "Provider returned error", "metadata": {"raw": json.dumps(INNER)}}},
        {"error": {"message": "Provider returned error", "metadata": {"raw": CAUSE}}},
        {"detail": [{"loc": ["body"], "msg": CAUSE, "input": {"messages": "x" * 300}}]},
        {"message": {"detail": [{"loc": ["body"], "msg": CAUSE}]}},
        {"errors": [{"message": CAUSE, "code": 7000}], "success": False},
        {"Message": CAUSE},
        {"error_code": "BAD_REQUEST", "message": json.dumps(INNER)},
        {"error": {"message": f"litellm.BadRequestError: OpenAIException - {json.dumps(INNER)}"}},
        {"error": {"message": f"Error code: 400 - {INNER!r}"}},
        {"error": {"message": f"VertexAIException - {json.dumps(INNER).encode()!r}"}},
        {"error": {"message": "Bad request", "details": CAUSE}},
        {"success": False, "error": {"message": "upstream", "cause": json.dumps(INNER)}},
        {"error": "invalid_request", "error_description": CAUSE},
        {"error": "Bad Request", "message": CAUSE, "statusCode": 400},
        {"base_resp": {"status_code": 1004, "status_msg": CAUSE}},
    ],
)
def test_the_cause_is_found_in_the_record_of_a_gateway(body: object) -> None:
    found = error_for(400, {}, json.dumps(body), KEY)
    assert "max_tokens" in found.refused
    assert "max_completion_tokens" in found.message


@pytest.mark.parametrize(
    ("status", "fields", "window"),
    [
        (400, {"code": "context_length_exceeded", "message": "no"}, None),
        (
            500,
            {
                "type": "exceed_context_size_error",
                "message": "no",
                "n_prompt_tokens": 1407,
                "n_ctx": 256,
            },
            256,
        ),
        (413, {"message": "Request Entity Too Large"}, None),
        (429, {"code": "rate_limit_exceeded", "message": "Request too large for x."}, None),
    ],
)
def test_a_code_or_a_status_may_say_that_a_prompt_is_too_long(
    status: int, fields: dict[str, object], window: int | None
) -> None:
    found = told(status, fields)
    assert (found.reason, found.context_tokens, found.retryable) == ("too_long", window, False)


def test_gemini_says_in_the_body_how_long_to_wait() -> None:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "36.5s"}
    body = json.dumps(
        [{"error": {"code": 429, "message": "You exceeded your current quota.", "details": [info]}}]
    )
    assert error(429, body=body).retry_after == 36.5
    assert error(429, {"retry-after": "2"}, body).retry_after == 2


def test_a_request_that_never_fits_is_not_asked_again() -> None:
    assert not error(
        429, code="rate_limit_exceeded", message="Request too large for gpt on tokens per min"
    ).retryable


@pytest.mark.parametrize("field", ["code", "type"])
def test_a_content_filter_on_the_prompt_is_no_fault_of_the_judge(field: str) -> None:
    found = told(400, {field: "content_filter", "message": "The prompt was filtered."})
    assert (found.reason, found.retryable, found.fatal) == ("filtered", False, False)


def test_mistral_says_by_a_limit_of_zero_that_the_model_is_not_in_the_plan() -> None:
    body = '{"object":"error","message":"Rate limit exceeded","type":"rate_limited","code":"1300"}'
    assert error(429, {"x-ratelimit-limit-req-minute": "0"}, body).fatal
    assert not error(429, {"x-ratelimit-limit-req-minute": "60"}, body).fatal


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"error": {"message": "a"}}', "a"),
        ('{"error": "b"}', "b"),
        ('{"message": "c", "type": "x"}', "c"),
        ('{"detail": "d"}', "d"),
        ('["e"]', "['e']"),
        ("<html><title>502\n  Bad Gateway</title>", "<html><title>502 Bad Gateway</title>"),
        ("", ""),
        ("null", "None"),
        ("[" * 100_000, "[" * 500),
    ],
)
def test_the_providers_own_words_are_kept(body: str, said: str) -> None:
    assert error_for(500, {}, body, KEY).message == f"status 500: {said}"


def test_an_echoed_key_is_not() -> None:
    found = error(401, message="Incorrect API key provided: sk-CANARY-key.")
    assert "CANARY" not in found.message
    assert "[key]" in found.message


NOW = 1_790_000_000.0
"""2026-09-21 14:13:20 UTC."""


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e9"}, 86_400.0),
        ({"retry-after": "Mon, 21 Sep 2026 14:13:30 GMT"}, 10.0),
        ({"retry-after": "Mon, 21 Sep 2026 14:13:10 GMT"}, None),
        ({"retry-after": "Mon, 99 Sep 2026 14:13:10 GMT"}, None),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "3", "x-ratelimit-reset-requests": "6m0s"}, 3.0),
        ({"x-ratelimit-reset-requests": "1.2s", "x-ratelimit-reset-tokens": "6m0s"}, 360.0),
        (
            {
                "x-ratelimit-reset-requests": "1.2s",
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-tokens": "6m0s",
                "x-ratelimit-remaining-tokens": "500",
            },
            1.2,
        ),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1.2s", 1.2),
        ("6m0s", 360.0),
        ("500ms", 0.5),
        ("1m30s", 90.0),
        ("1h0m1s", 3601.0),
        ("8.64s", 8.64),
        ("9" * 20 + "h", 86_400.0),
    ]
    + [(text, None) for text in ("", "1", "s", "soon", "1m30", "1 s", "-1s", "9" * 400 + "s")],
)
def test_durations(text: str, seconds: float | None) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ({}, None),
        ({"x-request-id": "1"}, None),
        (
            {
                "x-ratelimit-limit-requests": "500",
                "x-ratelimit-remaining-requests": "499",
                "x-ratelimit-limit-tokens": "200000",
                "x-ratelimit-remaining-tokens": "199000",
            },
            RateLimitStatus(500, 499, 200_000, 199_000),
        ),
        (
            {"x-ratelimit-limit-req-minute": "60", "x-ratelimit-remaining-tokens-minute": "9"},
            RateLimitStatus(requests=60, tokens_remaining=9),
        ),
        ({"x-ratelimit-limit-requests": "many"}, None),
    ],
)
def test_what_a_provider_lets_through(
    headers: dict[str, str], told: RateLimitStatus | None
) -> None:
    assert rate_limits(headers) == told
