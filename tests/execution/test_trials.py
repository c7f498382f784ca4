"""Refusals whose words say nothing: the refused parts are found by trial."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claimeval import testing
from claimeval.execution.trials import MOST_REQUESTS, FormTrial, Inconclusive, RefusedParts
from claimeval.types.chat_format import request_body
from claimeval.types.requests import (
    Completion,
    Failure,
    Judge,
    Message,
    Outcome,
    Request,
)
from tests.command_line import call
from tests.first_day.servers import Body, judged
from tests.first_day.test_judge_habits import CALLS, SAMPLES, TRUE_SCORE, data

Refuses = Callable[[Body], bool]


def longer_than(tokens: int) -> Refuses:
    return lambda body: (
        max(body.get(n, 0) for n in ("max_tokens", "max_completion_tokens")) > tokens
    )


PARTS: dict[str, Refuses] = {
    "response_format": lambda body: "response_format" in body,
    "maxItems": lambda body: "maxItems" in json.dumps(body.get("response_format")),
    "temperature": lambda body: "temperature" in body,
    "max_tokens": lambda body: "max_tokens" in body,
    "max_tokens<=": longer_than(1500),
    "system": lambda body: any(message["role"] == "system" for message in body["messages"]),
    "enable_thinking": lambda body: body.get("enable_thinking") is not False,
}
OF_USER: dict[str, Refuses] = {
    name: lambda body, name=name: name in body  # type: ignore[misc]  # the default is no argument
    for name in ("top_p", "seed", "reasoning_effort", "top_k")
}
JUDGE = Judge.model_validate(
    {
        "model": "openai:m",
        "endpoint": "http://127.0.0.1/v1",
        "temperature": 0.0,
        "token_limit": "max_tokens",
        "top_p": 0.9,
        "seed": 7,
        "reasoning_effort": "low",
        "extra": {"top_k": 20, "provider": {"data_collection": "deny"}},
    }
)
REQUEST = Request(
    judge=JUDGE,
    messages=(Message("system", "S"), Message("user", "U")),
    reply_format="json",
    max_tokens=4096,
    response_schema='{"type":"array","maxItems":3}',
)
REPLY = Completion(body=b"", text="{}")
REFUSAL = Failure(reason="provider_error", message="status 400: ?", another_form=True)
OVERLOAD = Failure(reason="provider_error", message="status 529")


class Tried(NamedTuple):
    """What a trial found, and the bodies that it sent."""

    finding: RefusedParts | None
    sent: list[Body]


def tried(respond: Callable[[Body], Outcome], failure: Failure = REFUSAL) -> Tried:
    sent = list[Body]()

    async def ask(request: Request) -> Outcome:
        sent.append(request_body(request))
        return respond(sent[-1])

    return Tried(asyncio.run(FormTrial(REQUEST, JUDGE, ask).run(failure)), sent)


def refuses(names: Sequence[str]) -> Callable[[Body], Outcome]:
    parts = PARTS | OF_USER
    return lambda body: REFUSAL if any(parts[name](body) for name in names) else REPLY


@pytest.mark.parametrize("name", PARTS)
def test_one_refused_part_is_found_whatever_the_words(name: str) -> None:
    found = tried(refuses([name]))
    assert found.finding
    (refused, *rest) = found.finding.refused
    if name == "maxItems":
        assert {refused, *rest} == {"maxItems", "maxLength"}
    else:
        assert (refused.rstrip("0123456789"), rest) == (name, [])
    assert found.finding.settings == ()
    assert len(found.sent) <= 12


@pytest.mark.parametrize("name", OF_USER)
def test_a_setting_of_the_user_that_is_refused_is_found(name: str) -> None:
    found = tried(refuses([name]))
    assert found.finding == RefusedParts(settings=(name,))
    assert len(found.sent) <= 12


@settings(max_examples=200)
@given(st.sets(st.sampled_from(sorted(PARTS | OF_USER)), min_size=1, max_size=3))
def test_what_is_found_is_enough_and_needed(names: set[str]) -> None:
    found = tried(refuses(sorted(names)))
    assert found.finding
    assert len(found.sent) <= MOST_REQUESTS
    refused = {name.rstrip("0123456789") for name in found.finding.refused}
    parts = refused | set(found.finding.settings)
    if "maxItems" in names and "response_format" not in names:
        parts -= {"maxLength"}
    if "response_format" in names:
        names -= {"maxItems"}
    assert parts == names


def test_a_field_that_says_who_gets_the_texts_is_always_sent() -> None:
    for name in PARTS | OF_USER:
        assert all("provider" in body for body in tried(refuses([name])).sent)


def test_every_form_limits_the_reply() -> None:
    for name in PARTS | OF_USER:
        for body in tried(refuses([name])).sent:
            assert {"max_tokens", "max_completion_tokens"} & set(body)


def test_nothing_is_found_if_the_plainest_form_is_refused() -> None:
    found = tried(lambda _: REFUSAL)
    assert found.finding is None
    assert len(found.sent) == 5


@pytest.mark.parametrize(
    ("named", "other_forms"),
    # the last names what the request does not have
    [((), 0), (("temperature",), 1), (("response_format", "maxLength"), 0)],
)
def test_an_error_that_does_not_come_again_teaches_nothing(
    named: tuple[str, ...], other_forms: int
) -> None:
    found = tried(lambda _: REPLY, REFUSAL.model_copy(update={"refused": named}))
    assert found.finding == RefusedParts(transient=True)
    assert found.sent[other_forms:] == [request_body(REQUEST)]


@settings(max_examples=200)
@given(st.lists(st.booleans(), max_size=40))
def test_errors_by_chance_teach_nothing_that_the_whole_request_did_not_show(
    answered: list[bool],
) -> None:
    """What is learned was answered, and the whole request was refused after that."""
    outcomes = iter(answered)
    history = list[tuple[Body, bool]]()

    def respond(body: Body) -> Outcome:
        history.append((body, next(outcomes, False)))
        return REPLY if history[-1][1] else REFUSAL

    try:
        found = tried(respond)
    except Inconclusive:
        assert len(history) == MOST_REQUESTS
        return
    if found.finding and not found.finding.transient:
        whole = request_body(REQUEST)
        assert history[-1] == (whole, False)
        assert not any(answer for body, answer in history if body == whole)


def test_what_the_words_name_is_tried_first() -> None:
    failure = REFUSAL.model_copy(update={"refused": ("temperature",)})
    found = tried(refuses(["temperature"]), failure)
    assert found.finding == RefusedParts(("temperature",))
    assert len(found.sent) == 2


def test_words_that_name_another_part_mislead_nobody() -> None:
    failure = REFUSAL.model_copy(update={"refused": ("temperature",)})
    assert tried(refuses(["seed"]), failure).finding == RefusedParts(settings=("seed",))


def test_another_failure_ends_the_trial() -> None:
    with pytest.raises(Inconclusive):
        tried(lambda _: OVERLOAD)


WORDS = (
    "",
    "null",
    "{}",
    '{"error": {}}',
    '{"detail": "x"}',
    "bad input",
    "Requête non valide",
    "参数错误",
    "ungültige Anfrage",
    "Ошибка запроса",
    "<html><body><h1>Bad Request</h1></body></html>",
)


class Scored(NamedTuple):
    """A run with a server that refuses parts."""

    stderr: str
    metric: dict[str, Any]
    statuses: Counter[int]
    last: Body
    """The last request that was answered."""


def score(respond: Callable[[Body], tuple[int, bytes]], folder: Path, *options: object) -> Scored:
    return scores(respond, folder, *options, times=1)[0]


def scores(
    respond: Callable[[Body], tuple[int, bytes]],
    folder: Path,
    *options: object,
    times: int,
) -> list[Scored]:
    """The same run several times, each with a directory of its own."""
    statuses = Counter[int]()
    answered: list[Body] = []
    runs = list[Scored]()

    def answer_to(_path: str, _headers: object, content: bytes) -> tuple[int, bytes]:
        if not content:  # the question after the size of the model
            return 404, b"{}"
        body = json.loads(content)
        status, text = respond(body)
        statuses[status] += 1
        answered.extend([body] if status == 200 else [])
        return status, text

    with testing.serve(answer_to) as url:
        for number in range(times):
            run = folder / f"run-{number}"
            command = ("score", data(folder), "-j", f"openai:judge@{url}", "-m", "faithfulness")
            done = call(*command, "-o", run, *options, folder=folder, exits=None)
            file = run / "summary.json"
            metrics = json.loads(file.read_text())["metrics"] if file.exists() else {}
            last = answered[-1] if answered else {}
            metric = metrics.get("faithfulness", {})
            runs.append(Scored(done.stderr, metric, Counter(statuses), last))
            statuses.clear()
    return runs


def right(body: Body) -> tuple[int, bytes]:
    return 200, json.dumps(judged(body).body).encode()


@pytest.mark.parametrize("name", PARTS)
def test_a_server_that_refuses_a_part_in_any_words_costs_no_score(
    tmp_path: Path, name: str
) -> None:
    chance = random.Random(name)
    status = chance.choice([400, 404, 422, 500])

    def respond(body: Body) -> tuple[int, bytes]:
        if PARTS[name](body):
            return status, chance.choice(WORDS).encode()
        return right(body)

    scored = score(respond, tmp_path)
    assert (scored.metric["mean"], scored.metric["n"]) == (TRUE_SCORE, SAMPLES), scored.stderr
    assert not PARTS[name](scored.last)
    assert scored.statuses[200] - CALLS <= 4
    # those in flight when the first is refused, and the trial's own
    assert scored.statuses[status] <= 8 + 13


def test_a_server_that_refuses_everything_gets_a_few_requests_more(tmp_path: Path) -> None:
    scored = score(lambda _: (400, "参数错误".encode()), tmp_path, "--concurrency", 1)
    assert "refused 4 requests in a row in the same words" in scored.stderr
    # one or two are in flight at first; a trial takes five, and four more stop the judge
    assert scored.statuses[400] <= 2 + 5 + 4


def test_an_error_of_one_sample_changes_no_other_request(tmp_path: Path) -> None:
    def respond(body: Body) -> tuple[int, bytes]:
        if "Tower 3 " in json.dumps(body["messages"]):
            return 400, b'{"error": {"message": "temperature is not supported by sensor 3"}}'
        return right(body)

    scored = score(respond, tmp_path)
    assert (scored.metric["mean"], scored.metric["n"]) == (TRUE_SCORE, SAMPLES - 1)
    assert "refuses" not in scored.stderr
    assert "temperature" in scored.last


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("temperature", "temperature must not be set above 30 in the greenhouse"),
        ("response_format", "unexpected EOF while reading response_format.json"),
        ("system", "'role: system not supported' is what a pattern of attacks says"),
    ],
)
def test_an_outage_of_the_first_requests_changes_no_other_request(
    tmp_path: Path, name: str, words: str
) -> None:
    seen = Counter[str]()

    def respond(body: Body) -> tuple[int, bytes]:
        seen["requests"] += 1
        return (400, words.encode()) if seen["requests"] <= 3 else right(body)

    scored = score(respond, tmp_path)
    assert (scored.metric["mean"], scored.metric["n"]) == (TRUE_SCORE, SAMPLES)
    assert PARTS[name](scored.last)


def test_a_server_that_begins_with_errors_is_paid_for_no_other_form(tmp_path: Path) -> None:
    """Two errors before the first reply look like a refusal of every request in this form."""
    requests = Counter[str]()
    answered = Counter[str]()

    def respond(body: Body) -> tuple[int, bytes]:
        schema = json.dumps(body.get("response_format"))
        requests[schema] += 1
        if requests[schema] <= 2:
            return 500, b'{"error": {"message": "The server had an error."}}'
        answered[json.dumps(body)] += 1
        return right(body)

    scored = score(respond, tmp_path, "--concurrency", 1)
    assert (scored.metric["mean"], scored.metric["n"]) == (TRUE_SCORE, SAMPLES), scored.stderr
    assert scored.statuses == {500: 2 * 2, 200: CALLS}
    assert set(answered.values()) == {1}


def test_a_resumed_run_sends_what_was_learned(tmp_path: Path) -> None:
    def respond(body: Body) -> tuple[int, bytes]:
        return (422, b"") if PARTS["system"](body) else right(body)

    first, again = scores(respond, tmp_path, "--limit", 3, times=2)
    assert first.statuses[422] > 0
    assert again.statuses == {}
    assert again.metric == first.metric
