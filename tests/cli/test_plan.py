"""`claimeval plan`: what it prints, and that the run which follows keeps to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from benchmarks.loopback import ThreadHandle
from claimeval.store.store import Store, StoredRow
from tests.api.test_claims import spec
from tests.cli.conftest import Run


def test_plan_takes_the_options_of_the_command_that_it_plans(claimeval: Run, data: Path) -> None:
    command = (
        data,
        "-j",
        "openai:m@http://127.0.0.1:9/v1",
        "--max-cost",
        "1",
        "--overwrite",
        "--rpm",
        "3",
        "--json",
    )
    assert claimeval("plan", *command).stdout == claimeval("plan", "score", *command).stdout
    assert (
        "has no option --ask" in claimeval("plan", *command, "--ask", "relevance", exits=2).stderr
    )
    assert (
        json.loads(claimeval("plan", "rate", *command, "--ask", "relevance").stdout)["command"]
        == "plan"
    )


def test_the_run_makes_the_calls_that_the_plan_says(
    claimeval: Run, data: Path, server: ThreadHandle
) -> None:
    claimeval("score", data, "--judge", spec(server), "--metrics", "faithfulness", "--out", "a")
    command = (
        data,
        "--judge",
        spec(server),
        "--metrics",
        "faithfulness",
        "--assess-prompt",
        "binary",
        "--out",
        "b",
    )
    before = len(server.exchanges())

    planned = claimeval("plan", *command, "--json")
    assert len(server.exchanges()) == before
    found = json.loads(planned.stdout)
    assert found["calls"] == [2, 2]
    assert [(line["step"], line["cached"], line["exact"]) for line in found["lines"]] == [
        ("extract", 2, True),
        ("assess", 0, True),
    ]
    assert found["judges_without_price"] == [spec(server)]

    claimeval("score", *command)
    assert len(server.exchanges()) - before == 2


def test_nuggets_are_planned_with_the_prompt_that_they_are_asked_with(
    claimeval: Run, data: Path, server: ThreadHandle
) -> None:
    """Two samples: two texts to take claims from, and two questions each about what is vital and
    what is covered."""
    command = (data, "--judge", spec(server), "--metrics", "nuggets")
    usual = json.loads(claimeval("plan", *command, "--json").stdout)
    assert usual == json.loads(
        claimeval("plan", *command, "--assess-prompt", "partial", "--json").stdout
    )
    assert usual != json.loads(
        claimeval("plan", *command, "--assess-prompt", "three_way", "--json").stdout
    )

    claimeval("score", *command, "--out", "a")
    assert json.loads(claimeval("plan", *command, "--json").stdout)["calls"] == [0, 0]
    said = claimeval("plan", *command, "--assess-prompt", "three_way").stdout
    assert "assess/three_way has no label for partial support" in said


def test_the_table_says_calls_tokens_money_and_what_they_rest_on(
    claimeval: Run, data: Path
) -> None:
    done = claimeval(
        *("plan", data, "--judge", "openai:gpt-5-mini", "--judge", "mistral:mistral-large-latest"),
        *("--max-cost", "1", "--out", "x"),
        OPENAI_API_KEY="k" * 20,
        MISTRAL_API_KEY="k" * 20,
    )

    lines = done.stdout.splitlines()
    assert (
        lines[1] == "samples.jsonl: 3 samples; faithfulness, correctness, coverage, context_recall"
    )
    assert lines[2].startswith("Likely about $")
    end = next(i for i, line in enumerate(lines) if line.startswith("Upper limit"))
    table = lines[3:end]
    assert max(map(len, table)) <= 80
    assert table[0].split() == [
        "step",
        "judge",
        "cached",
        "calls",
        "tokens",
        "in",
        "tokens",
        "out",
        "USD",
    ]
    assert [
        row.split()[0] for row in table[1:] if row.split()[0] in ("extract", "assess", "total")
    ] == [
        "extract",
        "assess",
        "assess",
        "total",
    ]
    assert "Upper limit $" in done.stdout
    assert (
        "- price of openai:gpt-5-mini: $0.25 in, $2 out a million tokens, stated on 2026-09-05"
        in lines
    )
    assert "- claims: 1.0 to 5.0 per sentence of texts that are not extracted yet, assumed" in lines
    assert any(line.startswith("- not counted: questions asked again") for line in lines)


def test_an_unknown_price_is_said_with_the_line_that_states_it(
    claimeval: Run, data: Path, tmp_path: Path
) -> None:
    judge = "openai:m@http://127.0.0.1:9/v1"
    done = claimeval("plan", data, "--judge", judge)
    assert "unknown" in done.stdout
    row = "openai:m@http://127.0.0.1:9/v1: {input: 0.25, output: 2.00}"
    assert f"price of {judge}: unknown; state it in a file by a line such as `{row}`" in done.stdout
    capped = claimeval("score", data, "--judge", judge, "--max-cost", "1", exits=2)
    assert f"Add a line such as `{row}` (US dollars" in capped.stderr

    prices = tmp_path / "prices.yaml"
    prices.write_text(row, encoding="utf-8")
    for stated in (
        claimeval("plan", data, "--judge", judge, "--prices", prices),
        claimeval("plan", data, "--judge", judge, CLAIMEVAL_PRICES=str(prices)),
    ):
        assert "unknown" not in stated.stdout
        assert f"price of {judge}: $0.25 in, $2 out a million tokens" in stated.stdout


def test_cheaper_forms_are_those_of_the_options_and_in_python_too(
    claimeval: Run, data: Path, tmp_path: Path
) -> None:
    """Each share is that of a plan with the option; batches of a hosted model cost half."""
    judge = "openai:gpt-5-mini"
    options = ce.RunOptions(cache=tmp_path / "store")

    def middle(**asked: Any) -> float:
        """The middle of the dollars with these options."""
        return (
            sum(ce.plan(ce.score, data, judges=judge, **{"options": options, **asked}).known_cost)
            / 2
        )

    usual = middle(claims_per_call=1)
    ahead = ce.plan(ce.score, data, judges=judge, claims_per_call=1, options=options)
    assert ahead.cheaper == pytest.approx(
        {
            "--claims-per-call auto": 1 - middle(claims_per_call="auto") / usual,
            "--reasons none": 1 - middle(claims_per_call=1, reasons="none") / usual,
            "--batch": 0.5,
        }
    )
    command = ("plan", data, "-j", judge, "--claims-per-call", 1, "--cache", tmp_path / "store")
    assert json.loads(claimeval(*command, "--json").stdout)["cheaper"] == pytest.approx(
        ahead.cheaper
    )
    assert "Cheaper, each by itself: --claims-per-call auto" in claimeval(*command).stdout

    assert (
        ce.plan(ce.score, data, judges=f"{judge}@http://127.0.0.1:9/v1", options=options).cheaper
        == {}
    )
    assert ce.plan(ce.rate, data, judges=judge, options=options).cheaper == {}


def test_stored_replies_are_read_once_for_all_forms_that_a_plan_compares(
    claimeval: Run,
    data: Path,
    server: ThreadHandle,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options = ce.RunOptions(cache=tmp_path / "store")
    ce.score(data, judges=spec(server), metrics="faithfulness", options=options)
    passes: list[bool] = []
    rows = Store.rows

    def counted(store: Store, *, newest_first: bool = False) -> Iterator[StoredRow]:
        """Note that somebody begins to read all replies."""
        passes.append(newest_first)
        yield from rows(store, newest_first=newest_first)

    monkeypatch.setattr(Store, "rows", counted)
    ahead = ce.plan(ce.score, data, judges="openai:gpt-5-mini", claims_per_call=1, options=options)

    assert len(ahead.cheaper) == 3, "other forms are compared"
    assert passes == [True]


def test_nothing_is_made_where_there_is_no_store(
    claimeval: Run, data: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "nothing"
    done = claimeval("plan", data, "--judge", "local:lexical", "--cache", folder)

    assert "which cost nothing." in done.stdout
    assert "Upper limit" not in done.stdout
    assert not folder.exists()


def test_every_job_can_be_planned_and_other_commands_say_that_they_cannot(
    claimeval: Run, data: Path, server: ThreadHandle
) -> None:
    judge = ("-j", f"openai:m@{server.url}")
    claimeval("rate", data, *judge, "--ask", "relevance", "-o", "r")
    asked = len(server.exchanges())
    again = json.loads(
        claimeval("plan", "rejudge", "r", "-j", f"openai:n@{server.url}", "--json").stdout
    )
    assert [(line["step"], line["judge"], line["calls"]) for line in again["lines"]] == [
        ("answers", f"openai:n@{server.url}", [asked, asked])
    ]
    assert (
        "No judge is asked" in claimeval("plan", "rejudge", "r", "--vote", "any", "-o", "n").stdout
    )
    assert "No judge is asked" in claimeval("plan", "measure", data, "-m", "answer_length").stdout
    assert len(server.exchanges()) == asked
    assert "compare asks no judge" in claimeval("plan", "compare", "r", "r", exits=2).stderr


def test_help_is_that_of_the_planned_command(claimeval: Run) -> None:
    assert claimeval("plan", "-h").stdout.startswith(
        "Usage: claimeval plan [COMMAND] [OPTIONS] ...\n"
    )
    assert claimeval("plan", "rate", "--help").stdout.startswith(
        "Usage: claimeval plan rate [OPTIONS] DATA\n"
    )
    assert claimeval("plan", "a.yaml", "-h").stdout.startswith(
        "Usage: claimeval plan experiment [OPTIONS] FILE\n"
    )
    assert "can be planned" not in claimeval("plan", exits=2).stdout


def test_a_mistake_is_said_as_score_says_it(claimeval: Run, data: Path) -> None:
    done = claimeval("plan", data, "--judge", "nobody:x", exits=2)

    assert done.stderr.startswith("claimeval: unknown provider 'nobody'")


def test_batches_are_planned_at_half_the_price(claimeval: Run, data: Path, tmp_path: Path) -> None:
    command = (
        data,
        "--judge",
        "openai:gpt-5-mini",
        "--judge",
        "mistral:mistral-large-latest",
        "-m",
        "faithfulness",
    )
    keys = {"OPENAI_API_KEY": "k" * 20, "MISTRAL_API_KEY": "k" * 20}
    online = json.loads(claimeval("plan", *command, "--json", **keys).stdout)
    batches = json.loads(
        claimeval("plan", *command, "--batch", "--detach", "--json", **keys).stdout
    )
    (tmp_path / "live.yaml").write_text(
        "model: openai:gpt-5-mini\nbatch: false\nclaims_per_call: auto\n"
    )
    mixed_command = (data, "-j", tmp_path / "live.yaml", *command[3:], "--batch", "--json")
    mixed = json.loads(claimeval("plan", *mixed_command, **keys).stdout)
    assert batches["calls"] == online["calls"]
    assert batches["cost"] == pytest.approx([amount / 2 for amount in online["cost"]])
    assert batches["cost_bound"] == pytest.approx(online["cost_bound"] / 2)
    shares = [
        m["cost_bound"] / o["cost_bound"]
        for m, o in zip(mixed["lines"], online["lines"], strict=True)
    ]
    assert shares == pytest.approx(
        [1.0, 1.0, 0.5]
    )  # extraction and assessment by OpenAI, assessment by Mistral
    said = " ".join(claimeval("plan", *command, "--batch", **keys).stdout.split())
    assert "price of openai:gpt-5-mini in batches: $0.125 in, $1 out a million tokens" in said
