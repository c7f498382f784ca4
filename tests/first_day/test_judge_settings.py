"""Judge files: what they can set, how it is sent, and that nothing in them undoes a cap."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import JsonValue

from claimeval.api.run import Run
from claimeval.evaluation.rebuilder import Rebuilder
from claimeval.providers.specs import parse_judge
from claimeval.runs.directory import load_manifest
from claimeval.types.errors import UsageError
from claimeval.types.requests import Judge
from tests.command_line import Done, call
from tests.first_day.servers import Answer, Body, HabitServer, judged, refusal, reply, serve
from tests.first_day.test_judge_habits import CALLS, SAMPLES, data, refused, refuses


def judge_file(folder: Path, server: HabitServer, model: str = "judge", **settings: Any) -> Path:
    file = folder / "judge.yaml"
    file.write_text(yaml.safe_dump({"model": f"openai:{model}@{server.url}", **settings}))
    return file


def score(judge: object, folder: Path, *options: object) -> Done:
    return call(
        "score",
        data(folder),
        "-j",
        judge,
        "-m",
        "faithfulness",
        "-o",
        folder / "run",
        *options,
        exits=None,
    )


def summary(folder: Path) -> Any:
    return json.loads((folder / "run" / "summary.json").read_text())["metrics"]["faithfulness"]


def manifest(folder: Path) -> Any:
    return json.loads((folder / "run" / "manifest.json").read_text())


def test_extra_headers_query_and_names_are_sent_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOUSE_KEY", "house-secret-12345")
    nested = {
        "chat_template_kwargs": {"enable_thinking": False},
        "provider": {"order": ["a", "b"]},
        "top_k": 3,
    }
    with serve(judged) as server:
        judge = judge_file(
            tmp_path,
            server,
            extra=nested,
            query={"api-version": "2025-01"},
            token_limit="max_completion_tokens",
            headers={"x-team": "search", "api-key": "$HOUSE_KEY"},
            reasoning_effort="low",
            name="house",
        )
        done = score(judge, tmp_path)
    assert done.returncode == 0, done.stderr
    sent = server.asked[0]
    assert {name: sent[name] for name in nested} == nested
    assert sent["max_completion_tokens"] == 4096
    assert "max_tokens" not in sent
    assert sent["reasoning_effort"] == "low"
    assert server.paths[0].endswith("/chat/completions?api-version=2025-01")
    assert (server.headers[0]["x-team"], server.headers[0]["api-key"]) == (
        "search",
        "house-secret-12345",
    )
    assert not [
        file for file in (tmp_path / "run").iterdir() if b"house-secret" in file.read_bytes()
    ]


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (
            {"max_tokens": 50000},
            "'max_tokens' is set by claimeval and counted by the caps; use max_tokens: or toke",
        ),
        (
            {"max_completion_tokens": 50000},
            "'max_completion_tokens' is set by claimeval and counted by the caps",
        ),
        ({"n": 8}, "'n' asks for several replies"),
        ({"model": "other"}, "'model' names another model"),
        ({"messages": []}, "'messages' is set by claimeval"),
        ({"stream": True}, "'stream' is set by claimeval"),
        (
            {"service_tier": "priority"},
            "'service_tier' 'priority' has prices that the caps do not count",
        ),
        ({"temperature": 1}, "use temperature:"),
        ({"models": ["other"]}, "'models' names other models than the judge"),
        ({"plugins": [{"id": "web"}]}, "'plugins' has a price that the caps do not count"),
        ({"options": {"num_predict": -1}}, "'num_predict' in 'options' is set by claimeval"),
        ({"reasoning": {"max_tokens": 50000}}, "'max_tokens' in 'reasoning' is set by claimeval"),
        (
            {"thinking": {"budget_tokens": 50000}},
            "'budget_tokens' in 'thinking' is set by claimeval",
        ),
        ({"extra_body": {}}, "'extra_body' may hide a field that undoes the caps"),
        ({"api_key": "abcdefgh"}, "'api_key' is a secret; use key_variable:"),
    ],
)
def test_no_extra_field_undoes_a_cap(tmp_path: Path, extra: dict[str, object], words: str) -> None:
    with serve(judged) as server:
        done = score(judge_file(tmp_path, server, extra=extra), tmp_path)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
    assert not server.asked


def test_the_worst_case_is_that_of_the_body(tmp_path: Path) -> None:
    """At a dollar a token for the prompt, a text of 500 bytes in `extra` alone passes a cap of 500
    dollars."""
    (tmp_path / "prices.yaml").write_text("openai:judge: {input: 1000000, output: 0}\n")
    with serve(judged) as server:
        judge = judge_file(tmp_path, server, extra={"metadata": {"note": "x" * 500}})
        done = score(judge, tmp_path, "--max-cost", 500, "--prices", tmp_path / "prices.yaml")
    assert done.returncode == 3
    assert not server.asked


def test_other_order_of_the_samples_opens_no_new_cap(tmp_path: Path) -> None:
    with serve(judged) as server:
        first = score(f"openai:judge@{server.url}", tmp_path, "--max-calls", 6)
        lines = data(tmp_path).read_text().splitlines(keepends=True)
        (tmp_path / "turned.jsonl").write_text("".join(reversed(lines)))
        again = call(
            "score",
            tmp_path / "turned.jsonl",
            "-j",
            f"openai:judge@{server.url}",
            "-m",
            "faithfulness",
            "-o",
            tmp_path / "turned",
            "--max-calls",
            6,
            exits=3,
        )
    assert (first.returncode, again.returncode) == (3, 3)
    assert server.paid == 6


@pytest.mark.parametrize(
    ("model", "reasoning"),
    [
        ("gpt-5-mini", True),
        ("gpt-5-mini-2025-08-07", True),
        ("o3-2025-04-16", True),
        ("gpt-5.1", True),
        ("gpt-5.2-pro", True),
        ("openai/gpt-5-nano", True),
        ("azure/o4-mini", True),
        ("gpt-5-chat-latest", False),
        ("gpt-4o", False),
        ("gpt-oss-20b", False),
        ("gpt-4.1-mini-2025-04-14", False),
        ("o365", False),
    ],
)
@pytest.mark.parametrize("url", ["", "@https://eu.api.openai.com/v1", "@http://127.0.0.1:1/v1"])
def test_reasoning_models_are_known_by_pattern_behind_any_gateway(
    model: str, reasoning: bool, url: str
) -> None:
    judge = parse_judge(f"openai:{model}{url}")
    assert (judge.temperature, judge.max_tokens) == ((None, 16_384) if reasoning else (0.0, 4096))
    official = "127.0.0.1" not in url
    assert judge.token_limit == ("max_completion_tokens" if official or reasoning else "max_tokens")


def test_an_address_may_have_a_query(tmp_path: Path) -> None:
    judge = parse_judge(
        "openai:gpt-4o@http://127.0.0.1:1/openai/deployments/gpt-4o?api-version=2024-10-21"
    )
    assert judge.endpoint == "http://127.0.0.1:1/openai/deployments/gpt-4o"
    assert judge.query == {"api-version": "2024-10-21"}


def test_azure_hosts_get_the_key_that_azure_documents() -> None:
    judge = parse_judge("openai:deployment@https://house.openai.azure.com/openai/v1")
    assert judge.key_variable == "AZURE_OPENAI_API_KEY"
    assert parse_judge("openai:deployment@https://azure.com.example.org/v1").key_variable is None


def test_a_password_in_an_address_is_not_printed(tmp_path: Path) -> None:
    done = score("openai:m@http://user:tr0ub4dor@127.0.0.1:9300/v1", tmp_path)
    assert done.returncode == 2
    assert "tr0ub4dor" not in done.stderr + done.stdout
    assert "[hidden]@127.0.0.1:9300" in done.stderr


def test_a_secret_in_a_header_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"headers: 'api-key' holds a secret.*api-key: \$VARIABLE"):
        parse_judge(Judge(name="j", model="openai:m", headers={"api-key": "abc"}))


@pytest.mark.parametrize("setting", ["headers", "query", "extra"])
def test_a_secret_in_any_open_setting_is_refused(setting: str) -> None:
    with pytest.raises(UsageError, match=rf"{setting}: 'access_token' holds a secret") as caught:
        parse_judge(
            Judge.model_validate(
                {"name": "j", "model": "openai:m", setting: {"access_token": "abc"}}
            )
        )
    assert "abc" not in str(caught.value)
    harmless: dict[str, JsonValue] = {
        "stop_token_ids": [1],
        "prompt_cache_key": "claims",
        "skip_special_tokens": True,
    }
    assert parse_judge(Judge(name="j", model="openai:m", extra=harmless)).extra == harmless


@pytest.mark.parametrize("parameter", ["key", "code", "sig", "api-key"])
def test_a_secret_in_the_query_of_an_address_is_refused_unprinted(
    tmp_path: Path, parameter: str
) -> None:
    done = score(f"openai:m@http://127.0.0.1:9300/v1?v=2&{parameter}=tr0ub4dor", tmp_path)
    assert done.returncode == 2
    assert "tr0ub4dor" not in done.stderr + done.stdout
    assert f"?v=2&{parameter}=[hidden]" in done.stderr


def test_a_parameter_of_the_address_is_read_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOUSE_KEY", "house-secret-12345")
    with serve(judged) as server:
        done = score(judge_file(tmp_path, server, query={"key": "$HOUSE_KEY"}), tmp_path)
    assert done.returncode == 0, done.stderr
    assert server.paths[0].endswith("?key=house-secret-12345")
    assert not [
        file for file in (tmp_path / "run").iterdir() if b"house-secret" in file.read_bytes()
    ]


def test_what_is_learned_is_told_once_kept_and_not_paid_or_asked_again(tmp_path: Path) -> None:
    """The second run knows it from the first, and so does a run without the network."""
    with serve(refuses(refused("temperature", "Unsupported value: 'temperature'"))) as server:
        judge = f"openai:judge@{server.url}"
        first = score(judge, tmp_path)
        refusals = len(server.asked) - server.paid
        second = score(judge, tmp_path)
        offline = score(judge, tmp_path, "--offline", "--overwrite")
    assert [done.returncode for done in (first, second, offline)] == [0, 0, 0], (
        first.stderr + offline.stderr
    )
    assert (server.paid, len(server.asked)) == (CALLS, CALLS + refusals)
    assert first.stderr.count("refuses temperature") == 1
    (learned,) = [one["learned"] for one in manifest(tmp_path)["judges"]]
    assert learned["refused"] == ["temperature"]
    assert summary(tmp_path)["n"] == SAMPLES


def schema_at_the_second_step(body: Body) -> Answer | None:
    """Refuse the schema of an assessment, but not that of an extraction."""
    if "<claims>" in json.dumps(body["messages"]) and "response_format" in body:
        return refusal("response_format: $ref is not supported in json_schema")
    return None


def long_prompts(body: Body) -> Answer | None:
    """Refuse what does not fit a window that the prompts of assessments pass, but not those of
    extractions."""
    if "<claims>" in json.dumps(body["messages"]) and body["max_tokens"] > 2000:
        return refusal(
            "This model's maximum context length is 2500 tokens. However, you requested 5000"
            " tokens."
        )
    return None


@pytest.mark.parametrize("says", [schema_at_the_second_step, long_prompts])
def test_what_the_second_step_teaches_leaves_the_replies_of_the_first_where_they_are(
    tmp_path: Path, says: Callable[[Body], Answer | None]
) -> None:
    with serve(refuses(says)) as server:
        judge = f"openai:judge@{server.url}"
        first = score(judge, tmp_path, "--concurrency", 1)
        refused_once = len(server.asked)
        again = score(judge, tmp_path, "--overwrite")
        plan = call("plan", data(tmp_path), "-j", judge, "-m", "faithfulness", "--json")
        offline = score(judge, tmp_path, "--offline", "--overwrite")
        call("cache", "export", tmp_path / "replies.jsonl")
        call("cache", "import", tmp_path / "replies.jsonl", "--cache", tmp_path / "other")
        elsewhere = score(
            judge, tmp_path, "--offline", "--overwrite", "--cache", tmp_path / "other"
        )
    assert elsewhere.returncode == 0, elsewhere.stderr
    assert [done.returncode for done in (first, again, plan, offline)] == [0, 0, 0, 0], (
        first.stderr + offline.stderr
    )
    assert (server.paid, len(server.asked)) == (CALLS, refused_once)
    assert refused_once > CALLS
    rebuilder = Rebuilder(load_manifest(tmp_path / "run"))
    assert all(
        rebuilder.rebuild(result, call)
        for result in Run.load(tmp_path / "run")
        for call in result.calls
    )
    assert [line["calls"] for line in json.loads(plan.stdout)["lines"]] == [[0, 0], [0, 0]]
    assert summary(tmp_path)["n"] == SAMPLES


def test_a_setting_of_the_user_is_not_left_out_and_stops_the_run_at_the_second_step(
    tmp_path: Path,
) -> None:
    """The first step succeeds each time; the second is refused each time."""

    def respond(body: Body) -> Answer:
        if "top_logprobs" in body:
            return refusal(
                "litellm.UnsupportedParamsError: anthropic does not support parameters:"
                " ['logprobs', 'top_logprobs']",
                type="None",
                code="400",
            )
        return judged(body)

    with serve(respond) as server:
        done = score(judge_file(tmp_path, server, top_logprobs=5), tmp_path, "--concurrency", 1)
    assert done.returncode == 3
    assert "top_logprobs" in done.stderr
    assert server.paid <= 3


def test_a_small_window_is_learned_and_replies_fit_it(tmp_path: Path) -> None:
    def respond(body: Body) -> Answer:
        prompt = len(json.dumps(body["messages"])) // 4
        if prompt + body["max_tokens"] > 4096:
            return refusal(
                "This model's maximum context length is 4096 tokens. However, you requested"
                f" {prompt} more."
            )
        return judged(body)

    with serve(respond) as server:
        done = score(f"openai:judge@{server.url}", tmp_path)
    assert done.returncode == 0, done.stderr
    assert server.paid == CALLS
    assert "has a window of 4096 tokens" in done.stderr


def test_a_prompt_that_fits_no_window_fails_alone(tmp_path: Path) -> None:
    with serve(lambda body: refusal("maximum context length is 300 tokens")) as server:
        done = score(f"openai:judge@{server.url}", tmp_path)
    assert done.returncode == 1
    assert "too_long" in done.stdout
    assert server.paid == 0


def test_the_same_refusal_again_and_again_stops_the_run(tmp_path: Path) -> None:
    """A refusal in words that nobody knows, at the second step only."""

    def respond(body: Body) -> Answer:
        if "<claims>" in json.dumps(body["messages"]):
            return refusal("the frobnicator is out of order")
        return judged(body)

    with serve(respond) as server:
        done = score(f"openai:judge@{server.url}", tmp_path, "--concurrency", 1)
    assert done.returncode == 3
    assert "frobnicator" in done.stderr
    assert server.paid < SAMPLES


def test_a_certificate_that_is_not_trusted_is_not_tried_again() -> None:
    import httpx2
    from pydantic import SecretStr

    from claimeval.providers.http import connection_error

    error = connection_error(
        httpx2.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed"), SecretStr("none")
    )
    assert error.fatal
    assert "SSL_CERT_FILE" in error.message


def test_a_refusal_in_prose_is_no_ignored_schema(tmp_path: Path) -> None:
    with serve(lambda body: reply("I'm sorry, but I can't help with that.")) as server:
        done = score(f"openai:judge@{server.url}", tmp_path)
    assert "response_format" not in done.stderr
    assert "refused" in done.stdout + done.stderr


@pytest.mark.parametrize(("reasons", "told"), [("all", 1), ("none", 0)])
def test_replies_with_a_schema_that_is_ignored_are_told_if_it_can_be_enforced(
    tmp_path: Path, reasons: str, told: int
) -> None:
    with serve(
        lambda body: reply(f"Here:\n{judged(body).body['choices'][0]['message']['content']}")
    ) as server:
        done = score(
            f"openai:judge@{server.url}",
            tmp_path,
            "--extractor",
            "local:lexical",
            "--reasons",
            reasons,
        )
    assert done.returncode == 0
    assert done.stderr.count("ignores response_format") == told
    assert manifest(tmp_path)["judges"][0]["learned"].get("schema_honoured") is (
        False if told else None
    )


def test_a_failed_gate_keeps_the_servers_last_words_when_quiet(tmp_path: Path) -> None:
    def respond(body: Body) -> Answer:
        of_third = "Tower 3 " in json.dumps(body["messages"])
        return refusal("no such luck") if of_third else judged(body)

    with serve(respond) as server:
        gate = ("-q", "--fail-under", "faithfulness=0.9")
        done = score(f"openai:judge@{server.url}", tmp_path, *gate)
    assert done.returncode == 1
    assert "gate failed" in done.stderr
    assert "status 400: no such luck" in done.stderr
