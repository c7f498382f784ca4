"""An experiment over numbers and orders of claims in a question counts the labels that flip."""

from __future__ import annotations

import json
import re
from pathlib import Path

import claimeval as ce
from claimeval.testing import provider

LAMPS = [f"Lamp {i} is lit." for i in range(1, 11)]
SAMPLES = [
    {
        "id": name,
        "question": "Which lamps are lit?",
        "answer": " ".join(LAMPS),
        "contexts": ["All lamps are lit."],
    }
    for name in ("a", "b", "c")
]


def hasty(prompt: str) -> str:
    """Support the first four claims of a question, whatever they say."""
    if "<sentences>" in prompt:
        return json.dumps(
            {"claims": [{"claim": c, "sentences": [i], "quote": c} for i, c in enumerate(LAMPS, 1)]}
        )
    names = re.findall(r"^(c\d+): ", prompt, re.MULTILINE)
    labels = ["supported" if i < 4 else "not_found" for i, _ in enumerate(names)]
    return json.dumps(
        {"verdicts": [{"id": n, "label": label} for n, label in zip(names, labels, strict=True)]}
    )


def test_sizes_and_orders_flip_labels_of_a_judge_that_looks_at_the_place_of_a_claim(
    tmp_path: Path,
) -> None:
    design = {
        "data": str(tmp_path / "data.jsonl"),
        "metrics": "faithfulness",
        "baseline": "claims_per_call=5 claim_order=0",
        "grid": {"claims_per_call": [1, 5, 20], "claim_order": [0, 1]},
    }
    (tmp_path / "data.jsonl").write_text(
        "".join(json.dumps(one) + "\n" for one in SAMPLES), encoding="utf-8"
    )
    with provider(hasty) as server:
        options = ce.RunOptions(cache=tmp_path / "cache")
        found = ce.experiment(
            {**design, "judges": server.judge.model + "@" + server.url}, options=options
        )
        extractions = sum(
            "<sentences>" in body["messages"][-1]["content"] for body in server.requests
        )
    assert found.table
    arms = {arm.name: arm for arm in found.table.arms}
    assert extractions == 1  # all samples have one answer, and all arms judge its claims
    assert {arm.compared for name, arm in arms.items() if name != design["baseline"]} == {30}
    assert (
        arms["claims_per_call=1 claim_order=0"].flips == 6
    )  # of two questions a sample, the fifth claim of each
    assert arms["claims_per_call=1 claim_order=1"].flips == 6
    assert arms["claims_per_call=20 claim_order=0"].flips > 6
    assert 0 < arms["claims_per_call=5 claim_order=1"].flips <= 12
