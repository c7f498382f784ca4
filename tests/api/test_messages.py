"""Messages that name what mends a call or a command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai
import pytest

import claimeval as ce
from benchmarks.loopback import Reply
from claimeval.types.errors import UsageError
from tests.api.test_claims import SAMPLES, spec
from tests.command_line import call
from tests.conftest import StartServer
from tests.first_day import servers

ROWS = [{"question": "How high?", "answer": "It is high.", "contexts": ["It is high."]}]


def judge_of_mine(text: str) -> str:
    return text


def test_arguments_in_the_wrong_place_are_named_with_the_right_one() -> None:
    with pytest.raises(TypeError, match=r"give options=RunOptions\(max_cost=\.\.\.\)"):
        ce.score(ROWS, judges="local:lexical", max_cost=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="Did you mean 'judges'"):
        ce.score(ROWS, judge="local:lexical")  # type: ignore[call-arg]
    for given in (judge_of_mine, [judge_of_mine]):
        with pytest.raises(
            UsageError, match=r"Judge\.from_callable\('judge_of_mine', judge_of_mine, model="
        ):
            ce.score(ROWS, judges=given)  # type: ignore[arg-type]
    askings: list[Callable[[Any], object]] = [
        lambda judge: ce.score(ROWS, judges=judge),
        lambda judge: ce.check("A.", judge=judge),
        ce.probe,
    ]
    for asking in askings:
        with pytest.raises(
            UsageError,
            match=r"^OpenAI is no judge: .* one as Judge\.from_callable\('name', function, ",
        ):
            asking(openai.OpenAI(api_key="k"))
    with pytest.raises(UsageError, match="float is no judge"):
        ce.score(ROWS, judges=1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_a_reply_that_a_reasoning_parser_swallowed_is_said_to_be_there(
    field: str, tmp_path: Path
) -> None:
    message = {
        "role": "assistant",
        "content": None,
        field: '{"verdicts": [{"id": "c1", "label": "supported"}]}',
    }
    rows = "".join(
        json.dumps({**row, "id": f"{i}{row['id']}"}) + "\n" for i in range(6) for row in SAMPLES[:2]
    )
    (tmp_path / "rows.jsonl").write_text(rows)
    with servers.serve(lambda body: servers.reply("", message=message)) as server:
        done = call(
            "score",
            "rows.jsonl",
            "-j",
            f"openai:m@{server.url}",
            "--extractor",
            "local:lexical",
            "-m",
            "faithfulness",
            folder=tmp_path,
            exits=3,
        )
    said = " ".join(done.stderr.split())
    assert (
        f'("": the reply is empty, its text is in {field}); the server\'s reasoning parser took'
        in said
    )
    assert "turn it off, or raise max_tokens in a judge file" in said


def test_a_key_of_another_provider_is_named_where_the_own_one_is_not_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MISTRAL_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "rows.jsonl").write_text(json.dumps(ROWS[0]) + "\n")
    asked = ("score", "rows.jsonl", "-j", "openai:gpt-5-mini", "-m", "faithfulness")
    done = call(*asked, folder=tmp_path, exits=2, MISTRAL_API_KEY="mk-0123456789")
    assert (
        "OPENAI_API_KEY is not set; put your API key there, or name a judge such as mistral:MODEL"
        in done.stderr
    )
    assert "(MISTRAL_API_KEY is set)" in done.stderr
    assert "mk-0123456789" not in done.stderr
    alone = call(*asked, folder=tmp_path, exits=2)
    assert alone.stderr.strip().endswith("OPENAI_API_KEY is not set; put your API key there")


def test_a_folder_of_runs_is_told_from_a_run(tmp_path: Path) -> None:
    for name in ("a", "b"):
        ce.score(ROWS, judges="local:lexical", metrics="faithfulness", out=tmp_path / "runs" / name)
    done = call("report", "runs", folder=tmp_path, exits=2)
    assert "runs holds 2 runs: name one, or browse them with `claimeval view runs`" in done.stderr


@pytest.mark.parametrize("name", ["cache", "prompts", "batch"])
def test_a_group_of_commands_alone_prints_its_page(name: str) -> None:
    done = call(name, exits=2)
    assert done.stderr == ""
    assert done.stdout.startswith(f"Usage: claimeval {name}")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("", "the reply is empty); if the server has a reasoning parser, turn it off"),
        (
            "I would rather not.",
            "a model that writes no JSON reads --extract-prompt bullets and --assess-prompt tags",
        ),
        (
            '{"verdicts": [{"id": "c1", "label": "no"}]}',
            "a judge that answers yes or no reads --assess-prompt binary",
        ),
    ],
)
def test_a_judge_that_cannot_be_read_is_helped_by_cause(
    reply: str, said: str, tmp_path: Path, start_server: StartServer
) -> None:
    server = start_server(judge=lambda body: Reply(reply))
    rows = [{**row, "id": f"{i}{row['id']}"} for i in range(6) for row in SAMPLES[:2]]
    with pytest.raises(ce.StoppedEarly) as stopped:
        ce.score(
            rows,
            judges=spec(server),
            extractor="local:lexical",
            metrics="faithfulness",
            options=ce.RunOptions(cache=tmp_path / "store"),
        )
    assert said in str(stopped.value)
