"""What a judge's server does with the JSON schema is learned from its replies."""

from __future__ import annotations

import logging

import pytest

from claimeval.store.lessons import Lessons
from claimeval.types.requests import Completion, Judge, Message, Request

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
