"""Whether the judge behind a name changed: what its server named, and a sign test with one coin a
sample."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import claimeval as ce
from claimeval import testing
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary import Summary
from claimeval.evaluation.summary.cost import ServedModels
from claimeval.runs.drift import Relabeled, served_otherwise
from claimeval.runs.notes import notes
from claimeval.types.requests import Judge

JANUARY = "gpt-5-mini-2026-01-10"
JULY = "gpt-5-mini-2026-07-01"


@pytest.mark.parametrize(
    ("up", "down", "p"),
    [(0, 0, 1.0), (5, 5, 1.0), (4, 0, 2 / 2**4), (10, 1, 24 / 2**11), (60, 0, 2 / 2**60)],
)
def test_each_sample_is_one_fair_coin(up: int, down: int, p: float) -> None:
    """Two-sided binomial probabilities, by hand: of 11 coins, 0 or 1 fall otherwise in 12 ways."""
    assert Relabeled(up, down).p == pytest.approx(p)


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_order_of_runs_does_not_matter(up: int, down: int) -> None:
    assert Relabeled(up, down).p == pytest.approx(Relabeled(down, up).p)


def side(**served: dict[str, int]) -> tuple[Manifest, Summary]:
    judges = [Judge(name=name, model=f"openai:{name}") for name in ("j", "k")]
    extractor = Judge(name="x", model="openai:x")
    summary = Summary.model_construct(
        judges=tuple(ServedModels(name=name, served=of) for name, of in served.items())
    )
    return Manifest(judges=tuple(judges), extractor=extractor), summary


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ({"j": {"m": 3}}, {"j": {"m": 9}}, ()),
        ({"j": {"m": 3}}, {}, ()),
        ({}, {"j": {"m": 3}}, ()),
        (
            {"j": {"m": 3}},
            {"j": {"n": 3}},
            ("the judge changed: j was served as m in a and as n in b",),
        ),
        (
            {"j": {"m": 3}},
            {"j": {"m": 2, "n": 1}},
            ("the judge changed: j was served as m in a and as m (2) and n (1) in b",),
        ),
        (
            {"j": {"m": 1}, "x": {"m": 3}},
            {"j": {"m": 1}, "x": {"n": 3}},
            ("the extractor changed: x was served as m in a and as n in b",),
        ),
    ],
)
def test_other_served_models_are_named(
    a: dict[str, dict[str, int]], b: dict[str, dict[str, int]], words: tuple[str, ...]
) -> None:
    assert served_otherwise(side(**a), side(**b)) == words


def served_as(state: dict[str, str]) -> Callable[..., tuple[int, bytes]]:
    """A server that names `state["model"]`, and supports as many claims as that one does."""

    def respond(path: str, headers: object, body: bytes) -> tuple[int, bytes]:
        asked = json.loads(body)["messages"][-1]["content"]
        text = testing.claims_reply("It is high.", "It is red.")
        if "<claims>" in asked:
            strict = state["model"] == JANUARY
            text = testing.verdicts_reply(["supported", "not_found" if strict else "supported"])
        reply = {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": state["model"],
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": text},
                }
            ],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }
        return 200, json.dumps(reply).encode()

    return respond


def test_another_model_behind_a_name_is_said_first_and_noted_in_one_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAIMEVAL_ENDPOINT_KEY", "x")
    rows: list[dict[str, Any]] = [
        {
            "id": f"q{i}",
            "question": f"How high {i}?",
            "answer": "It is high. It is red.",
            "contexts": [f"It is high and {i}."],
        }
        for i in range(12)
    ]
    state = {"model": JANUARY}
    with testing.serve(served_as(state)) as url:

        def score(name: str, cache: str, of: list[dict[str, Any]] = rows) -> ce.Run:
            return ce.score(
                of,
                judges=[f"openai:gpt-5-mini@{url}"],
                metrics=["faithfulness"],
                out=tmp_path / name,
                options=ce.RunOptions(cache=tmp_path / f"cache-{cache}"),
            )

        before = score("a", "one")
        score("half", "mixed", rows[:6])
        state["model"] = JULY
        after = score("b", "two")
        mixed = score("mixed", "mixed")
    assert ce.compare(before, after).culprit.sentence == (
        "faithfulness rose 0.50, because the judge changed: gpt-5-mini was served as"
        f" {JANUARY} in a and as {JULY} in b."
    )
    assert not [one for one in notes(before.record, {}) if one.kind == "several_models"]
    (note,) = (one.text for one in notes(mixed.record, {}) if one.kind == "several_models")
    assert "come from 2 models behind its name: 12 from gpt-5-mini-2026-01-10, 12 from" in note


def test_a_restyled_name_is_no_other_model_behind_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAIMEVAL_ENDPOINT_KEY", "x")
    rows = [
        {"id": str(n), "question": f"{n}?", "answer": "It is high.", "contexts": [f"High {n}."]}
        for n in range(4)
    ]
    state = {"model": "gpt-5-mini"}
    with testing.serve(served_as(state)) as url:

        def score(of: list[dict[str, Any]]) -> ce.Run:
            options = ce.RunOptions(cache=tmp_path / "cache")
            judge = f"openai:gpt-5-mini@{url}"
            return ce.score(of, judges=[judge], metrics=["faithfulness"], options=options)

        score(rows[:2])
        state["model"] = "OpenAI/GPT-5-Mini"
        mixed = score(rows)
    assert len(mixed.record.judges[0].served) == 2
    assert not [one for one in notes(mixed.record, {}) if one.kind == "several_models"]
