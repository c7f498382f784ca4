"""Extractors that loop: bounded by the schema, recognized when read, and not followed."""

from __future__ import annotations

import json

import pytest

from claimeval.execution.learning import advice
from claimeval.judging import extract, prompts
from claimeval.judging.replies import loops
from claimeval.types.records import Claim
from claimeval.types.requests import LOOP, Completion, Failure, Judge, Usage

JUDGE = Judge(name="j", model="openai:m", endpoint="http://127.0.0.1/v1")
TEXT = "The tower is old. It is 63 m high. Anna built it in 1899."


def read(claims: list[dict[str, object]], text: str = TEXT) -> tuple[Claim, ...] | Failure:
    request = extract.ask(prompts.load("extract", "atomic"), JUDGE, "answer", text, "What is it?")
    reply = Completion(b"", json.dumps({"claims": claims}), finish_reason="stop")
    return extract.read(reply, request, "answer", "What is it?")


def counted(number: int) -> list[dict[str, object]]:
    return [{"claim": f"The tower is {n} m high.", "sentences": [2]} for n in range(number)]


def test_three_thousand_claims_of_three_sentences_are_none() -> None:
    found = read(counted(3_000))
    assert isinstance(found, Failure)
    assert found.reason == "too_many_claims"
    assert "3,000 claims from 3 sentences; at most 60 are plausible" in found.message


@pytest.mark.parametrize("number", [0, 1, 39, 41, 60])
def test_up_to_twenty_claims_a_sentence_are_read(number: int) -> None:
    found = read(counted(number))
    assert not isinstance(found, Failure)
    assert len(found) == number


def test_a_sentence_may_make_a_claim_of_each_word() -> None:
    names = [f"Name{n}" for n in range(300)]
    text = f"The members are {', '.join(names)}."
    claims: list[dict[str, object]] = [{"claim": f"{name} is a member."} for name in names]
    found = read(claims, text)
    assert not isinstance(found, Failure)
    assert len(found) == 300


def test_as_many_claims_as_the_schema_allows_are_asked_for_in_parts() -> None:
    found = read(counted(extract.MOST_CLAIMS))
    assert isinstance(found, Failure)
    assert found.reason == "too_long"


def test_the_schema_is_bounded_and_the_same_for_all_texts() -> None:
    prompt = prompts.load("extract", "atomic")
    asked = [extract.ask(prompt, JUDGE, "answer", text, "q") for text in (TEXT, "One sentence.")]
    assert asked[0].response_schema == asked[1].response_schema
    claims = json.loads(asked[0].response_schema or "")["properties"]["claims"]
    assert claims["maxItems"] == 40
    assert claims["items"]["properties"]["sentences"]["maxItems"] == 10
    assert claims["items"]["properties"]["claim"]["maxLength"] == 600


LOOPS = [
    '{"claims":[{"claim":"It is old.","sentences":[' + ",".join(map(str, range(1, 900))),
    json.dumps({"claims": [{"claim": "The walk takes 40 minutes.", "sentences": [1]}] * 60}),
    "the same words again " * 200,
    "a" * 3_000,
]
NAMES = [
    "Anna",
    "Ben",
    "Carla",
    "Dora",
    "Emil",
    "Fritz",
    "Gina",
    "Hans",
    "Ida",
    "Jon",
    "Karl",
    "Lea",
]
PRIZES = ["physics", "chemistry", "peace", "medicine", "literature", "economics"]
WHOLE = [
    json.dumps(
        {
            "claims": [
                {
                    "claim": f"{name} won the prize for {PRIZES[n % 6]} in {1900 + 7 * n}.",
                    "sentences": [n],
                    "quote": f"{name} ({PRIZES[n % 6]}, {1900 + 7 * n})",
                }
                for n, name in enumerate(NAMES * 2)
            ]
        }
    ),
    "short " * 20,
    "",
]


@pytest.mark.parametrize("text", LOOPS)
def test_a_reply_that_loops_is_known(text: str) -> None:
    assert loops(text)


@pytest.mark.parametrize("text", WHOLE)
def test_a_reply_of_many_claims_is_no_loop(text: str) -> None:
    assert not loops(text)


CUT = '{"claims":[{"claim":"It is old.","sen'


@pytest.mark.parametrize(
    ("text", "tokens", "reason", "message"),
    [
        (LOOPS[0], 4096, "truncated", LOOP),
        (CUT, 4096, "truncated", "the reply was cut at the token limit; raise max_tokens"),
        (CUT, 4095, "unparsable", "not one JSON value"),
        (CUT, None, "unparsable", "not one JSON value"),
    ],
)
def test_a_reply_that_ends_at_the_limit_is_cut_whatever_its_server_calls_the_end(
    text: str, tokens: int | None, reason: str, message: str
) -> None:
    request = extract.ask(prompts.load("extract", "atomic"), JUDGE, "answer", TEXT, "What is it?")
    assert request.max_tokens == 4096
    reply = Completion(b"", text, finish_reason="stop", usage=Usage(300, tokens))
    found = extract.read(reply, request, "answer", "What is it?")
    assert isinstance(found, Failure)
    assert found.reason == reason
    assert found.message.startswith(message)


def test_a_whole_reply_of_as_many_tokens_as_it_may_have_is_read() -> None:
    request = extract.ask(prompts.load("extract", "atomic"), JUDGE, "answer", TEXT, "What is it?")
    text = json.dumps({"claims": counted(2)})
    reply = Completion(b"", text, finish_reason="stop", usage=Usage(300, request.max_tokens))
    found = extract.read(reply, request, "answer", "What is it?")
    assert not isinstance(found, Failure)
    assert len(found) == 2


def test_the_advice_against_a_loop_is_not_more_of_it() -> None:
    asked = extract.ask(prompts.load("extract", "atomic"), JUDGE, "answer", "A text.", "")
    help_ = advice(Failure(reason="truncated", message=LOOP), asked, Completion(b"", "{"))
    assert "max_tokens: 512" in help_
    assert "--extractor local:lexical" in help_
    assert "raise" not in help_
