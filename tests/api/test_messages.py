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
from claimeval.types.errors import UsageError, missing_file, unknown_name
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
    ("reply", "said", "prompt"),
    [
        ("", "the reply is empty); if the server has a reasoning parser, turn it off", None),
        (
            "I would rather not.",
            "a model that writes no JSON reads --extract-prompt bullets and --assess-prompt tags",
            None,
        ),
        (
            '{"verdicts": [{"id": "c1", "label": "no"}]}',
            "a judge that answers yes or no reads --assess-prompt binary",
            None,
        ),
        (
            '{"verdicts": [{"id": "c1", "label": "not_found"}]}',
            "a judge that answers in three labels reads --assess-prompt three_way",
            "binary",
        ),
    ],
)
def test_a_judge_that_cannot_be_read_is_helped_by_cause(
    reply: str, said: str, prompt: str | None, tmp_path: Path, start_server: StartServer
) -> None:
    server = start_server(judge=lambda body: Reply(reply))
    rows = [{**row, "id": f"{i}{row['id']}"} for i in range(6) for row in SAMPLES[:2]]
    with pytest.raises(ce.StoppedEarly) as stopped:
        ce.score(
            rows,
            judges=spec(server),
            extractor="local:lexical",
            metrics="faithfulness",
            assess_prompt=prompt,
            options=ce.RunOptions(cache=tmp_path / "store"),
        )
    assert said in str(stopped.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--by", "metadata.topc"), "unknown field to slice by: 'metadata.topc'"),
        (("--max-cost", "1", "-j", "openai:other"), "A cost limit needs the price"),
        (("-o", "taken"), "taken holds a run with other data"),
        (("-j", "groq:m"), "GROQ_API_KEY"),
        (("--batch", "-j", "local:lexical"), "None of the judges supports batches"),
        (("--fail-under", "faithfulness=80"), "give a value from 0 to 1"),
    ],
)
def test_nothing_is_said_of_the_samples_if_a_setting_refuses_the_run(
    options: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    """A remark above an unrelated error reads as its cause."""
    lines = [json.dumps(row) + "\n" for row in ({**ROWS[0], "reference": "High."}, ROWS[0])]
    (tmp_path / "a.jsonl").write_text("".join(lines))
    (tmp_path / "b.jsonl").write_text(lines[0])
    ask = ("-j", "local:lexical", "-m", "faithfulness,correctness", "-q")
    call("score", "b.jsonl", *ask, "-o", "taken", folder=tmp_path, exits=0)
    judge = () if "-j" in options else ask[:2]
    done = call(
        "score",
        "a.jsonl",
        *ask[2:4],
        *judge,
        *options,
        folder=tmp_path,
        exits=2,
        OPENAI_API_KEY="k",
    )
    assert message in done.stderr
    assert "samples lack" not in done.stderr
    done = call("score", "a.jsonl", *ask[:4], "-o", "new", folder=tmp_path, exits=0)
    assert "1 of 2 samples lack reference_answers" in done.stderr


def test_a_distant_name_is_not_offered() -> None:
    """A guess that is wrong misleads more than none."""

    def said(name: str, *known: str) -> str:
        return str(unknown_name("field", name, known))

    assert "Did you mean 'metadata.topic'?" in said("metadata.topc", "metadata.topic", "question")
    assert "Did you mean 'metadata.kind'?" in said("metadta.kind", "metadata.kind", "question")
    assert "Did you mean 'assess/binary'?" in said("binray", "assess/binary", "assess/rules")
    assert "Did you mean" not in said("metadata.topc", "metadata.kind", "question")
    assert "Did you mean" not in said(".docx", ".csv", ".html", ".json", ".md", ".xlsx")
    assert "Did you mean" not in said("respons", "answer", "question", "contexts")


def test_a_path_is_looked_for_in_the_current_folder_and_a_folder_is_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers.jsonl").write_text("")
    (tmp_path / "m.csv").write_text("")
    (tmp_path / "runs").mkdir()
    assert "Did you mean 'answers.jsonl'?" in str(missing_file(Path("runs/answers.jsonl")))
    assert str(missing_file(Path("my/a.j2"))) == "my/a.j2 does not exist: there is no folder 'my'"


def test_samples_are_clustered_by_the_name_that_slices_take(tmp_path: Path) -> None:
    rows = [
        {**row, "metadata": {"topic": "towers"}, "id": str(i)} for i, row in enumerate(ROWS * 2)
    ]
    runs = [
        ce.score(rows, judges="local:lexical", options=ce.RunOptions(cluster=field))
        for field in ("topic", "metadata.topic")
    ]
    assert [run.record.clusters for run in runs] == [1, 1]
    with pytest.raises(UsageError, match=r"Did you mean .metadata\.topic"):
        ce.score(rows, judges="local:lexical", options=ce.RunOptions(cluster="metadata.topc"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("score", "-j", "openai:a,local:lexical"),
            "is 2 models in one; give each by itself: --judge openai:a --judge local:lexical",
        ),
        (("score", "-j", "local:lexical", "-m", "f1;coverage"), "as in f1,coverage"),
        (("grade", "-j", "openai:m", "--depth", "5"), "add it with --corpus"),
        (("draw", "--n", "1", "-o", "."), "is a directory; give the name of a file"),
        (
            ("extraction", "--extractor", "local:lexical", "--gold", "b.jsonl"),
            "b.jsonl does not exist; the current folder has a.jsonl",
        ),
    ],
)
def test_what_would_be_misread_or_ignored_is_refused(
    words: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(ROWS[0]) + "\n")
    command, *options = words
    done = call(command, "a.jsonl", *options, folder=tmp_path, exits=2, OPENAI_API_KEY="k")
    assert message in done.stderr
