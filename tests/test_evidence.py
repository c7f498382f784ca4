"""The page about the shipped prompts says what the recorded replies say."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

from claimeval.types.bundled import bundled
from tests.shared_data import shared_data

PAGE = Path(__file__).parents[1] / "docs" / "evidence" / "prompts.md"
METRICS = {
    ("answer", "contexts"): "faithfulness",
    ("answer", "reference"): "correctness",
    ("reference", "answer"): "coverage",
    ("reference", "contexts"): "context_recall",
}
PLANTED = {
    "swapped_names": "two names swapped",
    "negation": '"not" added or removed',
    "wrong_number": "a wrong number",
    "contradicted": "the opposite of the documents",
    "made_up_detail": "a detail made up",
}


def test_the_figures_of_the_demo_are_those_of_the_recorded_verdicts() -> None:
    labels: dict[str, dict[str, list[bool]]] = {name: defaultdict(list) for name in METRICS.values()}
    for line in shared_data("demo_replies/verdicts.jsonl").read_text(encoding="utf-8").splitlines():
        verdict = json.loads(line)
        name = METRICS[verdict["part"], verdict["against"]]
        labels[name][verdict["sample"]].append(verdict["label"] == "supported")
    shares = {name: {i: sum(holds) / len(holds) for i, holds in of.items()} for name, of in labels.items()}
    page = PAGE.read_text(encoding="utf-8")

    for name, of in shares.items():
        assert f"| {name} | {sum(of.values()) / len(of):.3f} | {len(of)} |".replace(" 0.", " .") in page
    samples = list(map(json.loads, bundled("demo.jsonl").read_text(encoding="utf-8").splitlines()))
    for kind, words in PLANTED.items():
        two = [shares["faithfulness"][row["id"]] for row in samples if row["metadata"]["kind"] == kind]
        assert f"| {words} | {two[0]:.2f}, {two[1]:.2f} |".replace("0.", ".") in page
    right = [row["id"] for row in samples if row["metadata"]["kind"] in ("good", "good_paraphrase")]
    assert [shares["faithfulness"][i] for i in right] == [1.0] * 6
    counts = [len(holds) for holds in labels["faithfulness"].values()]
    assert (min(counts), max(counts), round(sum(counts) / len(counts), 1)) == (2, 12, 6.4)
