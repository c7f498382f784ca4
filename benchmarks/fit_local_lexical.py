"""Fits the coefficients of the lexical support score to human labels.

    python benchmarks/fit_local_lexical.py [--data FOLDER]           prints the coefficients as JSON
    python benchmarks/fit_local_lexical.py [--data FOLDER] --write
        and puts them into lexical_support.json

FOLDER is the same as in benchmarks/local_lexical.py, which also measures the coefficients on
held-out claims.

The regression has three constraints. No coefficient has the wrong sign: more words of a claim in
the evidence never lower its score. Each data set has its own intercept, and both labels of a set
have the same weight, so that the regression cannot learn from a claim's data set; the shipped
intercept is the mean, for claims of which half are supported. No feature is a length. Without these
constraints, the regression learns to distinguish the data sets and is worse on other data.

A claim with several documents is fitted on the one with most of its words in two neighboring
sentences.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from claimeval.lexical import content_words
from claimeval.lexical.support import PreparedDocuments, Weights, prepare
from claimeval.lexical.support.features import FEATURES, feature_values, match_words, read_claim

Floats = NDArray[np.float64]

LOWERING = {"longest_gap", "number_missing", "name_missing", "names_missing_in_two_neighbours"}
PENALTY = 0.003
SHORTEST_PASSAGE = 10
"""Minimum number of words. Some evidence in ExpertQA is only a URL, from which nothing can be
judged."""


class Labeled(NamedTuple):
    """A claim with a human label."""

    data_set: str
    source: str
    """Claims with the same source are held out, and resampled, together."""
    claim: str
    evidence: PreparedDocuments
    contexts: tuple[str, ...]
    supported: bool


def load(folder: Path) -> list[Labeled]:
    """Return the labeled claims of WiCE dev (pages and oracle chunks), ExpertQA and BEGIN."""
    return [
        Labeled(data_set, source, claim, prepare(contexts), contexts, supported)
        for read in (_wice, _expertqa, _begin)
        for data_set, source, claim, contexts, supported in read(folder)
    ]


Row = tuple[str, str, str, tuple[str, ...], bool]


def _wice(folder: Path) -> Iterator[Row]:
    chunks: defaultdict[str, list[str]] = defaultdict(list)
    for chunk in _lines(folder / "wice/dev_oracle_chunks.jsonl"):
        chunks[chunk["id"]].append("\n".join(chunk["evidence"]))
    for row in _lines(folder / "wice/dev_claims.jsonl"):
        supported = row["label"] == "supported"
        yield (
            "WiCE dev, whole pages",
            row["title"],
            row["claim"],
            ("\n".join(row["evidence"]),),
            supported,
        )
        yield (
            "WiCE dev, oracle chunks",
            row["title"],
            row["claim"],
            tuple(chunks[row["id"]]),
            supported,
        )


def _expertqa(folder: Path) -> Iterator[Row]:
    for row in _lines(folder / "expertqa/visible.jsonl"):
        for claim in row["claims"]:
            passages = [
                re.sub(r"^\[\d+\]\s*\S*\s*", "", passage) for passage in claim["evidence"] or ()
            ]
            passages = [passage for passage in passages if len(passage.split()) >= SHORTEST_PASSAGE]
            if passages and claim["support"] in ("Complete", "Partial", "Incomplete", "Missing"):
                text = re.sub(r"\[\d+\]", "", claim["claim_string"])
                yield (
                    "ExpertQA",
                    row["question"],
                    text,
                    tuple(passages),
                    claim["support"] == "Complete",
                )


def _begin(folder: Path) -> Iterator[Row]:
    for row in _lines(folder / "begin/wow_visible.jsonl"):
        yield (
            "BEGIN",
            row["knowledge"],
            row["response"],
            (row["knowledge"],),
            row["label"] == "Fully attributable",
        )


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def measured(rows: Sequence[Labeled]) -> Floats:
    """Return the features of every claim, one row each."""
    values = np.zeros((len(rows), len(FEATURES)))
    for number, row in enumerate(rows):
        claim = read_claim(row.claim)
        matches = [(match_words(claim, document), document) for document in row.evidence.documents]
        best = max(
            ((match, document) for match, document in matches if match),
            key=lambda pair: pair[0].neighbors.bit_count(),
            default=None,
        )
        if best:
            values[number] = feature_values(claim, best[1], best[0])
    return values


def fit(rows: Sequence[Labeled], values: Floats, penalty: float = PENALTY) -> Weights:
    """Return the weights with the highest penalized likelihood under the constraints above."""
    sets = sorted({row.data_set for row in rows})
    of_set = np.array([sets.index(row.data_set) for row in rows])
    supported = np.array([row.supported for row in rows])
    cell = 2 * of_set + supported
    weight = (1 / np.bincount(cell, minlength=2 * len(sets)).clip(1))[cell]
    weight /= weight.sum()
    sign = np.where(supported, 1.0, -1.0)
    count = len(FEATURES)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        coefficients = parameters[:count]
        intercepts = parameters[count:]
        margin = sign * (values @ coefficients + intercepts[of_set])
        slope = -sign * weight / (1 + np.exp(margin))
        value = weight @ np.logaddexp(0, -margin) + penalty * coefficients @ coefficients
        return (
            float(value),
            np.r_[
                values.T @ slope + 2 * penalty * coefficients, np.bincount(of_set, slope, len(sets))
            ],
        )

    bounds = [(None, 0.0) if name in LOWERING else (0.0, None) for name in FEATURES] + [
        (None, None)
    ] * len(sets)
    fitted = minimize(
        loss, np.zeros(count + len(sets)), jac=True, method="L-BFGS-B", bounds=bounds
    ).x
    return Weights(float(fitted[count:].mean()), tuple(map(float, fitted[:count])))


def folds(rows: Sequence[Labeled], count: int = 5, seed: int = 0) -> NDArray[np.int64]:
    """Return the fold of every claim, the same for all claims of a source."""
    sources = sorted({row.source for row in rows})
    fold = dict(
        zip(sources, np.random.default_rng(seed).permutation(len(sources)) % count, strict=True)
    )
    return np.array([fold[row.source] for row in rows])


def data_folder() -> Path:
    """Return $CLAIMEVAL_DATA, or shared/data next to the checkout."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("CLAIMEVAL_DATA", beside))


def main() -> None:
    """Fit on all labeled claims."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = load(options.data)
    weights = fit(rows, measured(rows))
    fitted = {
        "intercept": round(weights.intercept, 3),
        "coefficients": {
            name: round(value, 3)
            for name, value in zip(FEATURES, weights.coefficients, strict=True)
        },
    }
    print(json.dumps(fitted, indent=1))
    if options.write:
        path = Path(content_words.__file__).with_name("lexical_support.json")
        model = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(
            json.dumps(model | fitted, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
