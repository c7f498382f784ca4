"""What a judge's server does with the JSON schema is learned from its replies."""

from __future__ import annotations

import logging

import pytest

from claimeval.store.lessons import Lessons
from claimeval.types.requests import Completion, Failure, Judge, Message, Request

JUDGE = Judge(name="j", model="openai:m", endpoint="http://127.0.0.1/v1")
REQUEST = Request(
    judge=JUDGE,
    messages=(Message("user", "x"),),
    reply_format="json",
    max_tokens=100,
    response_schema='{"type":"object"}',
)


def replies(*texts: str, finish: str = "stop") -> Lessons:
    lessons = Lessons(None)
    for text in texts:
        lessons.check_schema(REQUEST, Completion(b"", text, finish_reason=finish))
    return lessons


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        ' {"a": 1}\n',
        '<think>hm {</think>{"a": 1}',
        '{"claim": "It ends with </think>."}',
    ],
)
def test_one_json_object_honours_the_schema(text: str, caplog: pytest.LogCaptureFixture) -> None:
    assert replies(text).learned([JUDGE])["j"].schema_honoured is True
    assert caplog.text == ""


def test_a_schema_that_is_ignored_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        lessons = replies('{"a": 1}', 'Here: {"a": 1}', "[]", '{"a": 1}')
    assert lessons.learned([JUDGE])["j"].schema_honoured is False
    assert caplog.text.count("j ignores response_format") == 1
    assert "'Here: {\"a\": 1}'" in caplog.text


def test_a_reply_that_was_cut_says_nothing_about_the_schema(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert replies('{"a": ', finish="length").learned([JUDGE])["j"].schema_honoured is None
    assert caplog.text == ""


def refused_as_too_long(lessons: Lessons, request: Request, window: int) -> bool:
    failure = Failure(reason="too_long", message="", context_tokens=window)
    return lessons.learn(request, lessons.adapt(request), failure)


LONG = Request(
    judge=JUDGE,
    messages=(Message("user", "x" * 6000),),
    reply_format="json",
    max_tokens=4096,
)


def test_a_second_refusal_corrects_a_window_that_was_too_large() -> None:
    lessons = Lessons(None)
    assert refused_as_too_long(lessons, LONG, 4096)
    assert refused_as_too_long(lessons, LONG, 3000)
    assert lessons.judge(JUDGE).context_tokens == 3000
    assert not refused_as_too_long(lessons, LONG, 8192)
    assert lessons.judge(JUDGE).context_tokens == 3000


def test_a_window_that_a_user_set_is_not_corrected() -> None:
    judge = JUDGE.model_copy(update={"context_tokens": 4096})
    request = Request(judge, LONG.messages, "json", 4096)
    lessons = Lessons(None)
    assert not refused_as_too_long(lessons, request, 3000)
    assert lessons.judge(judge).context_tokens == 4096
