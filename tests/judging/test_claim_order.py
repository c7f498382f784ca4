"""How many claims are in one question, and in which order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import claimeval as ce
from claimeval.judging.assess import shuffled
from claimeval.providers import claims_per_call, prices
from claimeval.providers.specs import parse_judge
from claimeval.testing import provider
from claimeval.types.records import Claim
from claimeval.types.requests import ClaimsPerCall, Judge

CLAIMS = [
    Claim(grounding="ungrounded", id=f"answer-{i}", text=f"Lamp {i} is lit.", of="answer")
    for i in range(1, 13)
]
SAMPLE = {
    "id": "pier",
    "question": "Which lamps are lit?",
    "answer": " ".join(claim.text for claim in CLAIMS),
    "contexts": ["Lamps 1 to 6 are lit."],
}


def test_the_order_is_a_samples_own_and_always_the_same() -> None:
    orders = {name: [claim.id for claim in shuffled(CLAIMS, name)] for name in ("a", "b", "c")}
    assert orders == {name: [claim.id for claim in shuffled(CLAIMS, name)] for name in orders}
    assert all(sorted(order) == sorted(claim.id for claim in CLAIMS) for order in orders.values())
    assert len({*map(tuple, orders.values()), tuple(claim.id for claim in CLAIMS)}) == 4
    assert shuffled(CLAIMS, "a", 1) != shuffled(CLAIMS, "a")
    assert list(shuffled(CLAIMS[:1], "a")) == CLAIMS[:1]


def test_every_place_in_the_question_is_taken_by_every_claim() -> None:
    first = {shuffled(CLAIMS, f"sample {n}")[0].id for n in range(200)}
    assert first == {claim.id for claim in CLAIMS}


def reply(prompt: str) -> str:
    """Take a claim a sentence; call lamps up to the sixth lit."""
    if "<sentences>" in prompt:
        claims = [
            {"claim": c.text, "sentences": [i], "quote": c.text} for i, c in enumerate(CLAIMS, 1)
        ]
        return json.dumps({"claims": claims})
    asked = [
        line.partition(": ")
        for line in prompt.splitlines()
        if line.startswith("c") and ': "Lamp' in line
    ]
    labels = {
        name: "supported" if int(text.split()[1]) <= 6 else "not_found" for name, _, text in asked
    }
    return json.dumps(
        {"verdicts": [{"id": name, "label": label} for name, label in labels.items()]}
    )


@pytest.mark.parametrize(("asked", "calls"), [(None, 3), (1, 12), (20, 1), ("auto", 1)])
def test_a_server_of_ones_own_is_asked_about_five_at_a_time(
    asked: ClaimsPerCall | None, calls: int, tmp_path: Path
) -> None:
    options = ce.RunOptions(cache=tmp_path)
    with provider(reply) as server:
        ahead = ce.plan(
            ce.score,
            [SAMPLE],
            judges=server.judge,
            metrics=["faithfulness"],
            claims_per_call=asked,
            options=options,
        )
        run = ce.score(
            [SAMPLE],
            judges=server.judge,
            metrics=["faithfulness"],
            claims_per_call=asked,
            options=options,
        )
    (result,) = run.results
    of_claims = [call for call in result.calls if call.step == "assess"]
    assert len(of_claims) == calls
    assert ahead.calls[0] - 1 <= calls <= ahead.calls[1] - 1
    assert [i for call in of_claims for i in call.subjects] == [
        claim.id for claim in shuffled(CLAIMS, "pier")
    ]
    assert [a.subject for a in result.assessments] == [claim.id for claim in CLAIMS]
    assert {a.subject for a in result.assessments if a.label == "supported"} == {
        c.id for c in CLAIMS[:6]
    }
    assert run.manifest.judges[0].claims_per_call == (asked or 5)


def test_more_claims_than_fifty_are_refused() -> None:
    with pytest.raises(ce.UsageError, match=r"claims_per_call: needs 50 or less"):
        ce.score([SAMPLE], judges="local:lexical", claims_per_call=51)


def test_rejudging_with_another_number_asks_again_and_takes_no_claim_anew(tmp_path: Path) -> None:
    options = ce.RunOptions(cache=tmp_path)
    with provider(reply) as server:
        run = ce.score([SAMPLE], judges=server.judge, metrics=["faithfulness"], options=options)
        again = ce.rejudge(run, claims_per_call=1, options=options)
    assert len([call for call in again.results[0].calls if not call.reused]) == 12
    assert again["faithfulness"].mean == run["faithfulness"].mean == 0.5


@pytest.mark.parametrize(
    ("judge", "size"),
    [
        ("openai:gpt-5-mini", 40),
        ("openai:gpt-5-mini@http://127.0.0.1:1/v1", 40),
        ("openai:openai/gpt-5-mini-2025-08-07@https://gateway.example/v1", 40),
        ("bedrock:us.anthropic.claude-haiku-4-5-20251001-v1:0@http://127.0.0.1:1/v1", 40),
        ("openrouter:anthropic/claude-haiku-4.5", 40),
        ("azure:gpt-4.1@https://mine.openai.azure.com/openai/v1", 40),
        ("openai:gpt-5-nano@http://127.0.0.1:1/v1", 20),
        ("mistral:ministral-8b-2512", 20),
        ("vllm:meta-llama/Llama-3.3-70B-Instruct", 20),
        ("mistral:small", 5),
        ("ollama:qwen3:8b", 5),
        ("openai:gpt-oss-20b", 5),
        ("openai:my-gpt-5-mini", 5),
        ("openai:gpt-5-mini-distilled", 5),
        ("ollama:deepseek-v3:7b", 5),
        ("openai:m@http://127.0.0.1:1/v1", 5),
        (Judge(model="openai:gpt-5-mini", max_tokens=600), 10),
        (Judge(model="openai:m", claims_per_call="auto"), 20),
        (Judge(model="openai:m", claims_per_call="auto", max_tokens=600), 10),
        (Judge(model="openai:m", claims_per_call=7), 7),
        (Judge(model="openai:gpt-5-mini", claims_per_call=7), 7),
        ("local:lexical", 50),
    ],
)
def test_a_model_is_asked_about_as_many_as_the_table_says_and_any_other_about_five(
    judge: str | Judge, size: int
) -> None:
    assert claims_per_call(parse_judge(judge)) == size


def test_every_model_with_a_price_has_a_number_of_claims() -> None:
    priced = {model for model, _ in prices._read(prices.TABLE)}
    assert {model for model in priced if not prices.known_claims(model)} == set()


@pytest.mark.parametrize(("lines", "size"), [("", 40), ("claims_per_call: 5\n", 5)])
def test_a_judge_file_has_the_number_of_its_model_unless_it_says_another(
    lines: str, size: int, tmp_path: Path
) -> None:
    file = tmp_path / "careful.yaml"
    file.write_text(f"model: openai:gpt-5-mini\n{lines}")
    assert claims_per_call(parse_judge(str(file))) == size
