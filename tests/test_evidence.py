"""The page about the shipped prompts says what the recorded replies say."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import numpy as np

from benchmarks import prompts
from claimeval.statistics import cohen_kappa
from claimeval.types.bundled import bundled
from tests.shared_data import ROOT, shared_data

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
READINGS = {
    "three_way": "`assess/three_way`",
    "three_way_again": "the same, another reader",
    "draft": "a draft with rules",
    "refchecker": "RAGChecker (refchecker 0.2.17)",
    "minicheck": "MiniCheck, for large models",
    "wice": "WiCE, three examples",
    "ragas": "ragas 0.4.3, Faithfulness",
}
SOURCES = prompts.SOURCES


def test_the_figures_of_the_demo_are_those_of_the_recorded_verdicts() -> None:
    labels: dict[str, dict[str, list[bool]]] = {
        name: defaultdict(list) for name in METRICS.values()
    }
    for line in shared_data("demo_replies/verdicts.jsonl").read_text(encoding="utf-8").splitlines():
        verdict = json.loads(line)
        name = METRICS[verdict["part"], verdict["against"]]
        labels[name][verdict["sample"]].append(verdict["label"] == "supported")
    shares = {
        name: {i: sum(holds) / len(holds) for i, holds in of.items()} for name, of in labels.items()
    }
    page = PAGE.read_text(encoding="utf-8")

    for name, of in shares.items():
        assert f"| {name} | {sum(of.values()) / len(of):.3f} | {len(of)} |" in page
    samples = list(map(json.loads, bundled("demo.jsonl").read_text(encoding="utf-8").splitlines()))
    for kind, words in PLANTED.items():
        two = [
            shares["faithfulness"][row["id"]] for row in samples if row["metadata"]["kind"] == kind
        ]
        assert f"| {words} | {two[0]:.2f}, {two[1]:.2f} |" in page
    right = [row["id"] for row in samples if row["metadata"]["kind"] in ("good", "good_paraphrase")]
    assert [shares["faithfulness"][i] for i in right] == [1.0] * 6
    counts = [len(holds) for holds in labels["faithfulness"].values()]
    assert (min(counts), max(counts), round(sum(counts) / len(counts), 1)) == (2, 12, 6.4)


def test_agreement_with_people_is_that_of_the_recorded_labels(tmp_path: Path) -> None:
    for name in (
        "wice/dev_claims.jsonl",
        "expertqa/visible.jsonl",
        "summedits/sales_call.jsonl",
        "refchecker/visible.jsonl",
    ):
        shared_data(name)
    prompts.draw(tmp_path, ROOT, 450)
    items = [item for item in prompts.load(tmp_path) if item.half != "choose"]
    readings = {
        path.stem: json.loads(path.read_text())
        for path in Path(prompts.__file__).with_name("readings").glob("*.json")
    }
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    report = [item for item in items if item.half == "report"]
    first = [item for item in report if item.id in readings["wice"]]
    assert (len(report), len(first)) == (709, 300)

    def row(reading: str, of: list[prompts.Item]) -> str:
        said = np.array([readings[reading][item.id] == "supported" for item in of])
        supported = np.array([item.supported for item in of])
        draws = (prompts.balanced(supported, said, weights) for weights in prompts.resampled(of))
        low, high = prompts.ends(draws).strip("[]").split(", ")
        parts = [
            np.array([item.source in which for item in of], dtype=float)
            for which in (SOURCES, *zip(SOURCES))
        ]
        figures = [f"{prompts.balanced(supported, said, part):.3f}" for part in parts]
        kappa = cohen_kappa(list(map(bool, supported)), list(map(bool, said))).value
        return " | ".join((figures[0], f"{low} to {high}", *figures[1:], f"{kappa:.3f}"))

    def share(reading: str, kind: str, label: str) -> str:
        labels = [
            readings[reading][item.id]
            for item in items
            if item.half == "contradictions" and item.kind == kind
        ]
        return f"{labels.count(label) / len(labels):.2f}"

    for reading, name in READINGS.items():
        for of in [report, first] if reading in ("three_way", "draft", "ragas") else [first]:
            assert f"| {name} | {row(reading, of)} |" in page
    for reading in ("three_way", "draft"):
        labels = ("contradicted", "not_found", "supported")
        shares = ", ".join(share(reading, "Contradiction", label) for label in labels)
        others = (
            f"{share(reading, 'Entailment', 'supported')} |"
            f" {share(reading, 'Neutral', 'not_found')}"
        )
        assert f"| {READINGS[reading]} | {shares} | {others} |" in page
