"""Message batches of Anthropic through its real SDK and the runner's batches."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from claimeval.execution.batch import read_line
from claimeval.providers import anthropic, specs
from claimeval.providers.batches import batches_of
from claimeval.providers.prices import Price, price
from claimeval.types.requests import CallError, Completion
from tests.execution.batch_runs import samples
from tests.providers.anthropic_server import (
    AnthropicServer,
    anthropic_server,
    error,
    judged,
    message,
    text,
)
from tests.providers.test_anthropic import judge, request
from tests.sample_runs import RIGHT, Run, run

KEY = "0" * 64


pytestmark = pytest.mark.usefixtures("quick_polling")


def batched(server: AnthropicServer, cache: Path, count: int = 3, **options: Any) -> Run:
    given = {"batch": True} | options
    return run([f"anthropic:claude-haiku-4-5@{server.url}"], cache, samples(count), **given)


def test_a_run_through_batches_is_the_run_without_at_half_the_price(tmp_path: Path) -> None:
    with anthropic_server() as server:
        prices = tmp_path / "prices.yaml"
        prices.write_text(
            "anthropic:claude-haiku-4-5: {input: 1, output: 5, cache_write: 1.25, batch: 0.5}\n"
        )
        done = batched(server, tmp_path / "batched", prices=prices, max_cost=1.0)
        assert server.bodies == []  # nothing was asked one by one
        sent = [one for _, asked in reversed(server.batches) for one in asked]
        online = run([f"anthropic:claude-haiku-4-5@{server.url}"], tmp_path / "online", samples(3))
    assert done.values == online.values == [RIGHT] * 3
    assert len(server.batches) == 2  # claims, then verdicts
    assert sorted(json.dumps(one["params"]) for one in sent) == sorted(
        map(json.dumps, server.bodies)
    )
    assert len({one["custom_id"] for one in sent}) == 6
    # 6 replies of 100 + 20 tokens
    assert done.progress.spent == pytest.approx(6 * (100 * 0.5 + 20 * 2.5) / 1e6)


def test_a_batch_whose_making_is_in_doubt_is_found_and_not_made_again(tmp_path: Path) -> None:
    with anthropic_server() as server:
        server.batches.append(
            ({"id": "msgbatch_of_others", "request_counts": {"succeeded": 3}}, [])
        )
        server.unheard = 1
        done = batched(server, tmp_path)
    assert done.values == [RIGHT] * 3
    assert server.creates == len(server.batches) - 1 == 2


def test_errors_in_results_say_what_they_would_online(tmp_path: Path) -> None:
    def reply(body: dict[str, Any]) -> Any:
        if "tower 1" in body["messages"][0]["content"]:
            return error(400, "invalid_request_error", "Output blocked by content filtering policy")
        return judged(body)

    with anthropic_server(reply) as server:
        done = batched(server, tmp_path)
    assert done.values == [RIGHT, None, RIGHT]
    assert done.reasons == [None, "filtered", None]


@pytest.mark.parametrize(
    ("kind", "status", "fields"),
    [
        ("overloaded_error", 529, {"retryable": True, "fatal": False}),
        ("rate_limit_error", 429, {"retryable": True, "rate_limited": True}),
        ("authentication_error", 401, {"fatal": True}),
        ("something_new", 500, {"retryable": True}),
    ],
)
def test_the_type_of_an_error_in_a_line_is_its_status(
    kind: str, status: int, fields: dict[str, bool]
) -> None:
    record = {"type": "error", "error": {"type": kind, "message": "no"}, "request_id": None}
    raw = json.dumps({"custom_id": KEY, "result": {"type": "errored", "error": record}})
    result = read_line(anthropic.as_result(raw.encode()), judge_key())
    assert result is not None
    assert isinstance(result.outcome, CallError)
    assert {"status": result.outcome.status} | {n: getattr(result.outcome, n) for n in fields} == {
        "status": status,
        **fields,
    }


def test_lines_of_every_kind_are_read_and_others_are_left(tmp_path: Path) -> None:
    def outcome(result: object) -> object:
        found = read_line(
            anthropic.as_result(json.dumps({"custom_id": KEY, "result": result}).encode()),
            judge_key(),
        )
        assert found is not None
        return found.outcome

    reply = outcome({"type": "succeeded", "message": message(text("so"))})
    assert isinstance(reply, Completion)
    assert (reply.text, reply.usage.prompt_tokens) == ("so", 100)
    assert outcome({"type": "canceled"}) is None
    expired = outcome({"type": "expired"})
    assert isinstance(expired, CallError)
    assert expired.reason == "timeout"
    for raw in (b"{", b"[]", b'{"custom_id": 1}', b'{"custom_id": "x", "result": null}'):
        assert anthropic.as_result(raw) == raw


def judge_key() -> Any:
    return anthropic.PROVIDER.api_key(judge())


def test_cancelling_stops_a_batch_and_one_that_has_ended_is_no_error(tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"
    file.write_bytes(anthropic.line(request(judge())))

    async def main(server: AnthropicServer) -> None:
        parsed = specs.parse_judge(judge(server))
        async with batches_of(parsed).open(parsed) as batches:
            made = await batches.create(await batches.upload(file, "ours"), "ours")
            assert (made.phase, made.total, made.files) == ("under_way", 1, ())
            await batches.cancel(made.id)
            stopped = await batches.status(made.id)
            assert (stopped.phase, stopped.failed) == ("cancelled", 1)
            await batches.cancel(made.id)
            into = tmp_path / "results"
            await batches.fetch(stopped.files[0], into)
            assert json.loads(into.read_bytes())["response"]["status_code"] == 200
            file.unlink()
            with pytest.raises(CallError) as caught:
                await batches.create(json.dumps({"file": str(file)}), "ours")
            assert caught.value.status == 404

    with anthropic_server() as server:
        asyncio.run(main(server))
        assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_a_batch_costs_half_at_anthropics_own_address() -> None:
    full = Price(1.0, 5.0, 0.1, None, 1.25)
    found = price("anthropic:claude-haiku-4-5", anthropic.OFFICIAL, batched=True)
    assert found is not None
    assert found._replace(as_of=None) == Price(full.input / 2, full.output / 2, None, None, 0.625)
