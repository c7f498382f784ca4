"""Judges as they are, beside how they write (tests/judging): what servers refuse and leave out, by
the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from claimeval.execution.cached import OfflineExecutor
from claimeval.execution.learning import ReviewingExecutor
from claimeval.types.requests import Completion, Failure, Judge, Request
from tests.command_line import Done, call
from tests.first_day.servers import Answer, Body, Respond, judged, refusal, reply, serve

SAMPLES = 12
TRUE_SCORE = 0.5
"""Of the four claims of each sample, two are supported, one is contradicted and one not found."""
CALLS = 2 * SAMPLES
"""An extraction and an assessment each."""


def data(folder: Path, samples: int = SAMPLES) -> Path:
    rows = [
        {
            "id": f"s{n}",
            "question": f"Question {n}?",
            "answer": (
                f"Tower {n} is high. The WRONG king built it. A MISSING priest prayed. It stands."
            ),
            "contexts": [f"Tower {n} is high and stands."],
        }
        for n in range(samples)
    ]
    file = folder / "answers.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def writes(change: Callable[[str], str]) -> Respond:
    """A judge whose text is changed."""

    def respond(body: Body) -> Answer:
        return reply(change(judged(body).body["choices"][0]["message"]["content"]))

    return respond


def refuses(says: Callable[[Body], Answer | None]) -> Respond:
    """A judge that may refuse a request for what is in it."""
    return lambda body: says(body) or judged(body)


def without(*path: str | int) -> Respond:
    """A judge whose reply lacks a field."""

    def respond(body: Body) -> Answer:
        answer = judged(body)
        record: Any = answer.body
        for step in path[:-1]:
            record = record[step]
        del record[path[-1]]
        return answer

    return respond


def refused(name: str, sentence: str) -> Callable[[Body], Answer | None]:
    """Refuses every request that has a field, in OpenAI's words."""

    def says(body: Body) -> Answer | None:
        if name not in body:
            return None
        return refusal(sentence, param=name, code="unsupported_parameter")

    return says


HABITS: dict[str, Respond] = {
    "as asked": judged,
    "refuses temperature": refuses(
        lambda body: (
            refusal(
                "Unsupported value: 'temperature' does not support 0 with this model. Only the"
                " default (1) value is supported.",
                param="temperature",
                code="unsupported_value",
            )
            if "temperature" in body
            else None
        )
    ),
    "refuses temperature, by a gateway": refuses(
        lambda body: (
            refusal(
                "litellm.UnsupportedParamsError: gpt-5 models (including gpt-5-codex) don't support"
                " temperature=0.0. Only temperature=1 is supported.",
                type="None",
                code="400",
            )
            if "temperature" in body
            else None
        )
    ),
    "refuses max_tokens": refuses(
        refused(
            "max_tokens",
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
        )
    ),
    "refuses response_format": refuses(
        lambda body: (
            refusal("Unrecognized request argument supplied: response_format")
            if "response_format" in body
            else None
        )
    ),
    "refuses temperature, max_tokens and response_format": refuses(
        lambda body: next(
            (
                refusal(
                    f"Unsupported parameter: '{name}'", param=name, code="unsupported_parameter"
                )
                for name in ("temperature", "max_tokens", "response_format")
                if name in body
            ),
            None,
        )
    ),
    "refuses a bound of the schema": refuses(
        lambda body: (
            refusal(
                "Invalid schema for response_format 'reply': In context=('reason',), 'maxLength' is"
                " not permitted.",
                param="response_format",
            )
            if "maxLength" in json.dumps(body.get("response_format"))
            else None
        )
    ),
    "no usage": without("usage"),
    "no finish reason": without("choices", 0, "finish_reason"),
}


def least(schema: Body, root: Body) -> Any:
    """The least that a grammar allows: first words, empty texts and lists, and nothing that is not
    required."""
    if "$ref" in schema:
        return least(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] == "object":
        return {name: least(schema["properties"][name], root) for name in schema["required"]}
    return {"array": [], "string": "", "boolean": False}[schema["type"]]


def enforces_the_schema_alone(body: Body) -> Answer:
    """A model that knows nothing, on a server that holds it to the schema when it assesses."""
    schema = body["response_format"]["json_schema"]["schema"]
    return (
        reply(json.dumps(least(schema, schema)))
        if "verdicts" in schema["properties"]
        else judged(body)
    )


class Scored(NamedTuple):
    """A run of the command line."""

    done: Done
    paid: int
    refused: int
    scored: int
    mean: float | None


def score(respond: Respond, folder: Path, *options: object, **settings: object) -> Scored:
    """Score the samples with a judge of this habit; `settings` are those of its judge file."""
    with serve(respond) as server:
        judge = folder / "judge.yaml"
        judge.write_text(
            json.dumps({"model": f"openai:judge@{server.url}", **settings}), encoding="utf-8"
        )
        done = call(
            "score",
            data(folder),
            "-j",
            judge if settings else f"openai:judge@{server.url}",
            "-m",
            "faithfulness",
            "-o",
            folder / "run",
            *options,
            folder=folder,
            exits=None,
        )
        refusals = sum(answer.status != 200 for answer in server.answers)
        summary = folder / "run" / "summary.json"
        metric = (
            json.loads(summary.read_text())["metrics"]["faithfulness"] if summary.exists() else {}
        )
        return Scored(done, server.paid, refusals, metric.get("n", 0), metric.get("mean"))


@pytest.mark.parametrize("habit", HABITS)
def test_a_habit_costs_neither_score_nor_calls(tmp_path: Path, habit: str) -> None:
    scored = score(HABITS[habit], tmp_path)
    assert scored.done.returncode == 0, scored.done.stderr
    assert (scored.mean, scored.scored, scored.paid) == (TRUE_SCORE, SAMPLES, CALLS)


def test_the_closed_schema_alone_gives_every_claim_a_verdict(tmp_path: Path) -> None:
    """The first label of the scale is "supported", so all claims are: 1."""
    scored = score(enforces_the_schema_alone, tmp_path, reply_schema="closed")
    assert (scored.done.returncode, scored.mean, scored.scored, scored.paid) == (
        0,
        1.0,
        SAMPLES,
        CALLS,
    )


def test_no_bound_is_sent_again_to_a_server_that_refuses_it(tmp_path: Path) -> None:
    with serve(HABITS["refuses a bound of the schema"]) as server:
        call(
            "score",
            data(tmp_path),
            "-j",
            f"openai:judge@{server.url}",
            "-m",
            "faithfulness",
            "-o",
            tmp_path / "run",
        )
    good = [
        body
        for body, answer in zip(server.asked, server.answers, strict=True)
        if answer.status == 200
    ]
    assert all("response_format" in body for body in good)
    assert not any("maxLength" in json.dumps(body) for body in good)


NONSENSE = "I would be delighted to help you with that today."


def test_ten_useless_replies_in_a_row_stop_the_run(tmp_path: Path) -> None:
    """What a terminal would obey is written out in the message and the summary."""
    scored = score(writes(lambda text: f"{NONSENSE}\n\x1b[31m"), tmp_path, "--concurrency", 1)
    assert scored.done.returncode == 3
    assert "\x1b" not in scored.done.stderr
    examples = json.loads((tmp_path / "run" / "summary.json").read_text())["failures"].values()
    assert f"{NONSENSE} ⟨U+001B⟩[31m" in [example["excerpt"] for example in examples]
    said = " ".join(scored.done.stderr.split())
    assert (
        f'gave 10 unreadable replies in a row ("{NONSENSE} ⟨U+001B⟩[31m": not one JSON value'
        in said
    )
    assert (
        "reads --extract-prompt bullets and --assess-prompt tags; `claimeval doctor --judge"
        " openai:judge@http://127.0.0.1:" in said
    )
    assert scored.paid == 10


def test_replies_that_are_cut_say_which_setting_helps(tmp_path: Path) -> None:
    scored = score(lambda body: reply("{", finish_reason="length"), tmp_path, "--concurrency", 1)
    assert (scored.done.returncode, scored.paid) == (3, 10)
    assert "raise max_tokens in a judge file" in " ".join(scored.done.stderr.split())


def test_more_than_four_in_five_useless_among_the_first_fifty_stop_the_run(tmp_path: Path) -> None:
    """Every eighth sample is read; of 50 replies to the prompt of the extraction fewer than ten
    are."""

    def respond(body: Body) -> Answer:
        match = re.search(r"Question (\d+)", json.dumps(body["messages"]))
        assert match
        number = int(match[1])
        return judged(body) if number % 8 == 0 else reply(NONSENSE)

    file = data(tmp_path, 40)
    with serve(respond) as server:
        judge = f"openai:judge@{server.url}"
        done = call(
            "score",
            file,
            "-j",
            judge,
            "-m",
            "faithfulness",
            "-o",
            tmp_path / "run",
            "--concurrency",
            1,
            exits=3,
        )
        assert re.search(
            r"gave 4\d unreadable replies among the first 50", " ".join(done.stderr.split())
        )
        assert 50 <= server.paid <= 56


def test_a_useless_judge_is_stopped_when_its_fiftieth_reply_is_readable(tmp_path: Path) -> None:
    judge = Judge(name="house", model="openai:m", endpoint="http://127.0.0.1:1/v1")
    stopped = list[tuple[str, str]]()
    request = Request(judge=judge, messages=(), reply_format="json", max_tokens=1)
    useless = Failure(reason="unparsable", message="not one JSON value")
    executor = ReviewingExecutor(OfflineExecutor(), lambda *stop: stopped.append(stop))
    for number in range(1, 51):
        executor.review(
            request, Completion(body=b"", text=NONSENSE), None if number in (1, 50) else useless
        )
    ((name, why),) = stopped
    assert name == "house"
    assert f'48 unreadable replies among the first 50 ("{NONSENSE}": not one JSON value)' in why
    assert "`claimeval doctor --judge openai:m@http://127.0.0.1:1/v1`" in why


def test_one_readable_reply_among_the_first_ten_lets_the_run_go_on(tmp_path: Path) -> None:
    def respond(body: Body) -> Answer:
        return judged(body) if "Question 0?" in json.dumps(body["messages"]) else reply(NONSENSE)

    scored = score(respond, tmp_path)
    assert (scored.done.returncode, scored.scored) == (1, 1)


def test_python_is_told_the_same(tmp_path: Path) -> None:
    import claimeval as ce

    with (
        serve(writes(lambda text: NONSENSE)) as server,
        pytest.raises(ce.StoppedEarly, match="10 unreadable replies in a row"),
    ):
        ce.score(data(tmp_path), judges=f"openai:judge@{server.url}", metrics="faithfulness")
