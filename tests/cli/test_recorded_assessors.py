"""`claimeval relevance --grades` on the recorded grades of TREC DL 2023's assessors, language
models and people."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from claimeval import ir
from tests.cli.conftest import Run
from tests.shared_data import shared_data


def kappa(pairs: Sequence[tuple[object, object]]) -> float:
    """By definition, from counts."""
    n = len(pairs)
    observed = sum(a == b for a, b in pairs) / n
    first = Counter(a for a, _ in pairs)
    second = Counter(b for _, b in pairs)
    expected = sum(first[label] * second[label] for label in first) / n**2
    return (observed - expected) / (1 - expected)


def test_33_recorded_assessors_of_trec_dl_2023_as_qrels_against_nist(
    claimeval: Run, tmp_path: Path
) -> None:
    """Written as qrels and read back; every kappa, over four grades and over relevant or not,
    equals the definition."""
    judgments = shared_data("llmjudge/judgments_visible.jsonl")
    names = shared_data("llmjudge/judges.json")
    rows = [json.loads(line) for line in judgments.read_text().splitlines()]
    assessors = json.loads(names.read_text())["judges"]
    out = tmp_path / "qrels"
    options = (judgments, "--labels", judgments, "--assessors", names, "--out", out, "--json")
    done = claimeval("agreement", *options)
    found = json.loads(done.stdout)["assessors"]
    assert list(found) == assessors
    assert len(found) == 33
    for number, name in enumerate(assessors):
        pairs = [
            (row["human"], row["grades"][number])
            for row in rows
            if row["grades"][number] is not None
        ]
        assert found[name]["pairs"] == len(pairs)
        assert found[name]["kappa"]["value"] == pytest.approx(kappa(pairs))
        assert found[name]["kappa_binary"]["value"] == pytest.approx(
            kappa([(a >= 2, b >= 2) for a, b in pairs])
        )
        written = ir.read_qrels(out / f"{name}.qrels")
        assert sum(map(len, written.values())) == len(pairs)
    best = max(assessors, key=lambda name: found[name]["kappa"]["value"])
    assert (best, round(found[best]["kappa"]["value"], 3)) == ("h2oloo-zeroshot1", 0.288)
    again = claimeval("agreement", out / f"{best}.qrels", "--labels", judgments, "--json")
    assert list(json.loads(again.stdout)["assessors"].values()) == [found[best]]
