"""`claimeval doctor --judge` and `probe`: what a judge does, before a run is paid."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import claimeval as ce
from claimeval import testing
from claimeval.evaluation.probe import MANY, MORE
from claimeval.providers.specs import parse_judge
from claimeval.types import Probe
from tests.command_line import call
from tests.first_day.servers import (
    Answer,
    Body,
    HabitServer,
    Respond,
    judged,
    refusal,
    reply,
    serve,
)
from tests.first_day.test_judge_habits import refused, refuses
from tests.sample_runs import RIGHT, SAMPLE, run


def knows_paris(body: Body) -> Answer:
    """A good judge of all questions."""
    text = json.dumps(body["messages"])
    if "Orsa" in text:
        return knows_orsa(body)
    if "<claims>" in text:
        entry = {"reason": "r", "evidence": ["d1"]}
        verdicts = [
            {"id": "c1", **entry, "label": "supported"},
            {"id": "c2", **entry, "label": "contradicted"},
        ]
        return reply(json.dumps({"verdicts": verdicts}), "paris-1")
    claims = [
        {
            "claim": "The Eiffel Tower is in Paris.",
            "sentences": [1],
            "quote": "The Eiffel Tower is in Paris.",
        }
    ]
    return reply(json.dumps({"claims": claims}), "paris-1")


def knows_orsa(body: Body, wrong: int = 0, left_out: int = 0) -> Answer:
    """Label the known claims right, but for the first ones, of which some have the other label and
    some have none."""
    shown = dict(re.findall(r'^(c\d+): (".*")$', body["messages"][-1]["content"], re.MULTILINE))
    known = MANY | MORE
    entry = {"reason": "", "evidence": ["d1"]}
    verdicts = [
        {
            "id": name,
            **entry,
            "label": "supported" if known[json.loads(text)] == (n >= wrong) else "not_found",
        }
        for n, (name, text) in enumerate(shown.items())
    ]
    return reply(json.dumps({"verdicts": verdicts[left_out:]}), "paris-1")


def probe(respond: Respond, **settings: object) -> tuple[Probe, HabitServer]:
    with serve(respond) as server:
        return ce.probe({"model": f"openai:judge@{server.url}", **settings}), server


def test_a_good_judge_is_said_to_be_one() -> None:
    found, server = probe(knows_paris)
    assert found.ok
    assert (found.reachable, found.key_accepted, found.schema_honoured, found.thinks_aloud) == (
        True,
        True,
        True,
        False,
    )
    assert (found.log_probabilities, found.refused, found.price) == (False, (), None)
    assert found.settings == {"claims_per_call": 40}
    assert [(step.step, step.right, step.prompt_tokens) for step in found.steps] == [
        ("extract", True, 300),
        ("assess", True, 300),
    ]
    assert found.served_model == "paris-1"
    assert (found.of_twenty, found.claims_at_once, server.paid) == (20, 40, 4)
    assert "reachable: yes, paris-1 answers" in str(found)


def test_a_reply_in_another_field_is_said_to_be_there_with_what_helps() -> None:
    message = {"role": "assistant", "content": None, "reasoning_content": "{}"}
    found, _ = probe(lambda body: reply("", message=message))
    assert not found.ok
    assert (
        found.problem
        == "the reply is empty, its text is in reasoning_content; the server's reasoning parser"
        " took the reply for reasoning: turn it off, or raise max_tokens in a judge file"
    )


def test_what_it_refuses_is_named_with_the_line_for_a_judge_file() -> None:
    def respond(body: Body) -> Answer:
        if "temperature" in body:
            return refusal(
                "Unsupported value: 'temperature' does not support 0", param="temperature"
            )
        if "max_tokens" in body:
            return refusal(
                "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            )
        if "top_logprobs" in body:
            return refusal("does not support parameters: ['logprobs', 'top_logprobs']")
        return knows_paris(body)

    found, server = probe(respond)
    assert found.ok
    assert found.refused == ("temperature", "max_tokens")
    forty = {"claims_per_call": 40}
    assert found.settings == {"temperature": None, **forty, "token_limit": "max_completion_tokens"}
    assert found.log_probabilities is False
    assert server.paid == 4
    lines = 'temperature: null; claims_per_call: 40; token_limit: "max_completion_tokens"'
    assert found.lines["judge file"] == lines


def habit(errors: dict[int, int], left_out: dict[int, int]) -> Respond:
    """A judge with a number of errors, and of claims left out, by the claims in a question."""

    def respond(body: Body) -> Answer:
        text = body["messages"][-1]["content"]
        if "Orsa" not in text:
            return knows_paris(body)
        size = len(re.findall(r"^c\d+: ", text, re.MULTILINE))
        return knows_orsa(body, errors.get(size, 0), left_out.get(size, 0))

    return respond


HABITS = {
    "all right": ({}, {}, 20, 40, 4),
    "one error says nothing": ({20: 1}, {}, 19, 40, 8),
    "errors only in a long list": ({20: 2}, {}, 18, 5, 7),
    "as many errors in fives": ({5: 1, 20: 4, 40: 9}, {}, 16, 40, 8),
    "more in forty": ({5: 1, 20: 4, 40: 10}, {}, 16, 20, 8),
    "one of twenty left out": ({}, {20: 1}, None, 5, 3),
    "one of forty left out": ({}, {40: 1}, 20, 20, 4),
}
"""Errors and claims left out by the size of a question; then how many of twenty are right, how many
it bears, and how many questions were paid."""


@pytest.mark.parametrize("name", HABITS)
@pytest.mark.parametrize("asked", [5, 20, 40, "auto"])
def test_what_a_judge_bears_is_what_it_labels_as_well_as_in_questions_of_five(
    name: str, asked: object
) -> None:
    errors, left_out, right, borne, paid = HABITS[name]
    found, server = probe(habit(errors, left_out), claims_per_call=asked)
    assert (found.ok, found.of_twenty, found.claims_at_once) == (True, right, borne)
    assert server.paid == paid
    unchanged = borne == (20 if asked == "auto" else asked)
    assert found.settings.get("claims_per_call") == (None if unchanged else borne)


def test_the_judge_file_has_the_given_settings_and_the_number_that_the_model_bears(
    tmp_path: Path,
) -> None:
    given = tmp_path / "mine.yaml"
    written = tmp_path / "judge.yaml"
    with serve(habit({}, {40: 1})) as server:
        given.write_text(f"model: openai:judge@{server.url}\nname: mine\nseed: 3\n")
        done = call("doctor", "-j", given, "--write-judge", written)
    assert f"written: {written}" in done.stdout
    assert written.read_text() == (
        f"model: openai:judge@{server.url}\nname: mine\nseed: 3\nclaims_per_call: 20\n"
    )
    before = parse_judge(str(given))
    assert parse_judge(str(written)) == before.model_copy(update={"claims_per_call": 20})


def test_a_judge_that_cannot_be_used_writes_no_file_and_two_judges_are_refused(
    tmp_path: Path,
) -> None:
    written = tmp_path / "judge.yaml"
    with serve(lambda body: reply("Certainly! Paris is lovely.")) as server:
        judge = f"openai:judge@{server.url}"
        call("doctor", "-j", judge, "--write-judge", written, exits=1)
    two = call("doctor", "-j", judge, "-j", "openai:b", "--write-judge", written, exits=2)
    assert not written.exists()
    assert "--write-judge writes one judge file, and 2 judges are tried" in two.stderr


def test_the_settings_are_those_that_help() -> None:
    """With them nothing is refused any more."""
    says = refuses(refused("max_tokens", "Unsupported parameter: 'max_tokens'"))
    found, _ = probe(says)
    again, server = probe(says, **found.settings)
    assert again.refused == ()
    assert all(answer.status == 200 for answer in server.answers)


def test_a_setting_of_the_user_that_is_refused_is_named_too() -> None:
    def respond(body: Body) -> Answer:
        return refusal("Unsupported parameter: 'seed'") if "seed" in body else knows_paris(body)

    found, _ = probe(respond, seed=7)
    assert not found.ok
    assert found.settings == {"seed": None}


def test_a_judge_that_ignores_the_schema_and_thinks_aloud() -> None:
    def respond(body: Body) -> Answer:
        good = knows_paris(body).body["choices"][0]["message"]["content"]
        return reply(f"<think>Is it so?</think>\n```json\n{good}\n```")

    found, _ = probe(respond)
    assert found.ok
    assert (found.schema_honoured, found.thinks_aloud) == (False, True)
    assert found.settings == {"claims_per_call": 40, "structured": False}


def test_a_reply_in_the_form_of_the_prompt_and_not_of_the_schema_ignores_it() -> None:
    def respond(body: Body) -> Answer:
        if "<claims>" not in json.dumps(body["messages"]):
            return knows_paris(body)
        entries = [{"id": "c1", "label": "supported"}, {"id": "c2", "label": "not_found"}]
        return reply(json.dumps({"verdicts": entries}))

    found, _ = probe(respond)
    assert (found.ok, found.schema_honoured) == (True, False)


@pytest.mark.parametrize(
    ("respond", "words"),
    [
        (lambda body: reply("I'm sorry, but I can't help with that."), "it refuses to answer"),
        (lambda body: reply("Certainly! Paris is lovely."), "not one JSON value"),
        (lambda body: refusal("Incorrect API key provided", status=401), "the key is not accepted"),
        (lambda body: refusal("The model does not exist", status=404), "check the model's name"),
        (lambda body: reply("{", finish_reason="length"), "raise max_tokens"),
    ],
)
def test_a_judge_that_is_no_use_says_why(tmp_path: Path, respond: Respond, words: str) -> None:
    with serve(respond) as server:
        done = call("doctor", "--judge", f"openai:judge@{server.url}", COLUMNS="300", exits=1)
    assert done.returncode == 1
    assert words in done.stdout


def test_a_server_that_refuses_every_question_is_reachable_and_no_model_answers() -> None:
    with serve(lambda body: refusal("The model does not exist", status=404)) as server:
        found = ce.probe(f"openai:judge@{server.url}")
    assert found.lines["reachable"] == "yes"


def test_a_server_that_is_down_is_no_error() -> None:
    found = ce.probe("openai:judge@http://127.0.0.1:9/v1")
    assert (found.ok, found.reachable, found.key_accepted) == (False, False, None)
    assert "no connection" in str(found)


def test_a_key_that_is_not_set_is_said(without_keys: None) -> None:
    found = ce.probe("openai:gpt-5-mini")
    assert found.key_accepted is False
    assert "OPENAI_API_KEY is not set" in str(found)


def test_the_command_prints_json_and_needs_something_to_check(tmp_path: Path) -> None:
    with serve(knows_paris) as server:
        done = call("doctor", "-j", f"openai:judge@{server.url}", "--json")
    assert done.returncode == 0
    (found,) = json.loads(done.stdout)["probes"]
    assert found["schema_honoured"] is True
    nothing = call("doctor", exits=2)
    assert "give a data file, or a judge to try with --judge" in nothing.stderr


STRANGE = {
    "a stream": (
        b'data: {"choices": []}\n\n',
        "streams its replies, which claimeval does not read",
    ),
    "a web page": (b"<!doctype html><title>Welcome</title>", "a web page and not with a reply"),
    "no choices": (b'{"choices": []}', "the reply has no choices"),
    "another service": (b'{"error": "no such route"}', "status 200 with an error inside"),
}


@pytest.mark.parametrize(("body", "words"), STRANGE.values(), ids=list(STRANGE))
def test_an_address_that_gives_no_reply_is_not_reached_and_stops_the_judge(
    body: bytes, words: str, tmp_path: Path
) -> None:
    asked: list[str] = []

    def respond(path: str, headers: object, content: bytes) -> tuple[int, bytes]:
        if content:  # not the question after the size of the model
            asked.append(path)
        return 200, body

    with testing.serve(respond) as url:
        found = ce.probe({"model": f"openai:judge@{url}"})
        asked.clear()
        done = run([f"openai:judge@{url}"], tmp_path, [SAMPLE] * 20, attempts=6, concurrency=1)
    assert (found.reachable, found.ok) == (False, False)
    assert words in str(found.problem)
    assert len(asked) == 3
    assert [
        words in why and "check the endpoint" in why for why in done.outcome.status.stopped.values()
    ] == [True]


def test_a_judge_that_has_replied_may_send_a_web_page_for_a_while(tmp_path: Path) -> None:
    asked: list[str] = []

    def respond(path: str, headers: object, content: bytes) -> tuple[int, bytes]:
        if not content:  # the question after the size of the model
            return 404, b"{}"
        asked.append(path)
        answer = judged(json.loads(content))
        return 200, b"<html>" if 2 <= len(asked) <= 5 else json.dumps(answer.body).encode()

    with testing.serve(respond) as url:
        done = run([f"openai:judge@{url}"], tmp_path, attempts=6)
    assert done.values == [RIGHT]
    assert len(asked) == 6
