"""Costs that replies state, in the fields and units that providers document."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from claimeval.providers.served import stated_dollars
from claimeval.types.chat_format import read_chat
from claimeval.types.requests import Judge
from tests.command_line import call
from tests.first_day.servers import Answer, Body, judged, serve
from tests.first_day.test_judge_habits import CALLS, data

TOKENS = {"prompt_tokens": 300, "completion_tokens": 60, "total_tokens": 360}
OPENROUTER = Judge(model="openrouter:m", endpoint="http://127.0.0.1/v1")
AT_OPENROUTER = Judge(model="openai:m", endpoint="https://openrouter.ai/api/v1")
ELSEWHERE = Judge(model="openai:m", endpoint="http://127.0.0.1/v1")
UPSTREAM = {"cost_details": {"upstream_inference_cost": 0.002}}


@pytest.mark.parametrize(
    ("judge", "usage", "dollars"),
    [
        # "37756000 cost $0.0038", https://docs.x.ai/developers/cost-tracking
        (ELSEWHERE, {"cost_in_usd_ticks": 37_756_000}, 0.0037756),
        # "Total cost for the request in USD", Perplexity's schema
        (ELSEWHERE, {"cost": {"total_cost": 0.006, "request_cost": 0.005}}, 0.006),
        (OPENROUTER, {"cost": 0.001}, 0.001),
        (AT_OPENROUTER, {"cost": 0.001}, 0.001),
        (OPENROUTER, {"cost": 0.001, **UPSTREAM, "is_byok": False}, 0.001),
        (OPENROUTER, {"cost": 0.0001, **UPSTREAM, "is_byok": True}, 0.0021),
        (OPENROUTER, {"cost": 0}, 0.0),
        # the user's own key pays, and the reply does not say how much
        (OPENROUTER, {"cost": 0, "is_byok": True}, None),
        (OPENROUTER, {"cost": 0, "is_byok": True, "cost_details": {"x": 1}}, None),
        # zeros of gateways that count nothing
        (ELSEWHERE, {"cost_in_usd_ticks": 0}, None),
        (ELSEWHERE, {"cost": {"total_cost": 0.0}}, None),
        (ELSEWHERE, {"cost": 0.001}, None),
        (ELSEWHERE, {"total_cost": 0.001, "estimated_cost": 1}, None),
        (OPENROUTER, {"cost": "0.001"}, None),
        (OPENROUTER, {"cost": -1}, None),
        (OPENROUTER, {"cost": True}, None),
        (OPENROUTER, {"cost": 1e300}, None),
        (OPENROUTER, {"cost": {}}, None),
        (OPENROUTER, {}, None),
    ],
)
def test_a_cost_counts_where_its_unit_is_documented(
    judge: Judge, usage: dict[str, object], dollars: float | None
) -> None:
    message = {"role": "assistant", "content": "{}"}
    reply = {"choices": [{"message": message}], "usage": TOKENS | usage}
    stated = stated_dollars(judge, read_chat(json.dumps(reply).encode()).usage)
    assert stated == (None if dollars is None else pytest.approx(dollars))


@pytest.mark.parametrize(
    ("usage", "each"), [({"cost_in_usd_ticks": 40_000_000}, 0.004), ({"cost": 0.004}, 0.36)]
)
def test_what_a_run_paid_is_what_its_replies_state(
    tmp_path: Path, usage: dict[str, object], each: float
) -> None:
    """With tokens at $1,000 a million, 360 tokens are $0.36."""

    def respond(body: Body) -> Answer:
        answer = judged(body)
        return Answer(200, answer.body | {"usage": TOKENS | usage})

    with serve(respond) as server:
        judge = tmp_path / "judge.yaml"
        price = {"input": 1000, "output": 1000}
        judge.write_text(json.dumps({"model": f"openai:judge@{server.url}", "price": price}))
        run = tmp_path / "run"
        command = ("score", data(tmp_path), "-j", judge, "-m", "faithfulness", "-o", run)
        done = call(*command, "--json", folder=tmp_path)
        assert len(server.asked) == CALLS
    summary = json.loads((run / "summary.json").read_text())
    assert summary["cost"]["total"]["dollars"] == pytest.approx(CALLS * each)
    assert json.loads(done.stdout)["calls_of_this_command"]["dollars"] == pytest.approx(
        CALLS * each
    )
