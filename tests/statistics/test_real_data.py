"""Statistics of recorded judges and annotators."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import scipy

from claimeval.statistics import (
    NO_INTERVAL,
    cohen_kappa,
    correlation,
    gwet_ac1,
    krippendorff_alpha,
    prediction_powered,
    raw_agreement,
    rogan_gladen,
)
from tests.shared_data import shared_data


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in shared_data(name).read_text(encoding="utf-8").splitlines()]


def openqa() -> dict[str, list[str | None]]:
    rows = lines("openqa/nq301_visible.jsonl")
    recorded = {
        judge: [row["judges"][judge]["recorded"] or None for row in rows]
        for judge in ("gpt-4", "text-davinci-003")
    }
    return {"human": [row["human"] for row in rows], **recorded}


def test_150_labels_with_gpt_4_say_more_than_alone_and_more_than_rogan_gladen() -> None:
    """Over 300 draws of labels: PPI++ is nearer to the share by all 803 human labels, and all three
    cover it."""
    labels = openqa()
    kept = [i for i, verdict in enumerate(labels["gpt-4"]) if verdict is not None]
    human = np.array([labels["human"][i] == "Yes" for i in kept])
    judge = np.array([labels["gpt-4"][i] == "Yes" for i in kept])
    rng = np.random.default_rng(0)
    errors: dict[str, list[float]] = {"ppi": [], "people": [], "rogan-gladen": []}
    covered = dict.fromkeys(errors, 0)
    for _ in range(300):
        chosen = set(rng.choice(len(kept), 150, replace=False).tolist())
        known = [bool(label) if i in chosen else None for i, label in enumerate(human)]
        powered = prediction_powered(judge.astype(float).tolist(), known, resampling=NO_INTERVAL)
        corrected = rogan_gladen(judge.tolist(), known, resampling=NO_INTERVAL).corrected
        for name, estimate in (
            ("ppi", powered.corrected),
            ("people", powered.human),
            ("rogan-gladen", corrected),
        ):
            assert estimate.value is not None
            assert estimate.low is not None
            assert estimate.high is not None
            errors[name].append(estimate.value - human.mean())
            covered[name] += bool(estimate.low <= human.mean() <= estimate.high)
    spread = {name: float(np.sqrt(np.mean(np.square(values)))) for name, values in errors.items()}
    assert spread["ppi"] < 0.8 * spread["people"] < 0.8 * spread["rogan-gladen"]
    assert min(covered.values()) >= 0.94 * 300


def test_agreement_of_recorded_judges_with_people_equals_other_programs() -> None:
    import krippendorff
    from sklearn import metrics

    labels = openqa()
    for judge in ("gpt-4", "text-davinci-003"):
        pairs = [
            (h, j) for h, j in zip(labels["human"], labels[judge], strict=True) if j is not None
        ]
        human, verdicts = zip(*pairs, strict=True)
        mine = cohen_kappa(labels["human"], labels[judge], resampling=NO_INTERVAL).value
        assert mine == pytest.approx(metrics.cohen_kappa_score(human, verdicts), abs=1e-9)
        agreed = raw_agreement(labels["human"], labels[judge]).value
        assert agreed == pytest.approx(metrics.accuracy_score(human, verdicts), abs=1e-12)
    coded = [
        [np.nan if label is None else label == "Yes" for label in given]
        for given in labels.values()
    ]
    ratings = list(zip(*labels.values(), strict=True))
    theirs = krippendorff.alpha(
        reliability_data=np.array(coded, dtype=float), level_of_measurement="nominal"
    )
    assert krippendorff_alpha(ratings, resampling=NO_INTERVAL).value == pytest.approx(
        theirs, abs=1e-9
    )


def test_ac1_of_recorded_judges_by_its_formula() -> None:
    labels = openqa()
    pairs = [(h, j) for h, j in zip(labels["human"], labels["gpt-4"], strict=True) if j is not None]
    agreed = np.mean([h == j for h, j in pairs])
    share = np.mean([[h == "Yes", j == "Yes"] for h, j in pairs])
    chance = 2 * share * (1 - share)
    assert gwet_ac1(pairs, resampling=NO_INTERVAL).value == pytest.approx(
        (agreed - chance) / (1 - chance), abs=1e-9
    )


def test_ragchecker_follows_annotators_about_as_well_as_they_follow_each_other() -> None:
    pairs = lines("ragchecker/pairs_visible.jsonl")
    score = [
        pair["responses"][1]["ragchecker"]["f1"] - pair["responses"][0]["ragchecker"]["f1"]
        for pair in pairs
    ]
    first, second = ([pair["human"][who]["overall"] for pair in pairs] for who in (0, 1))
    with_first = correlation(score, first)
    between = correlation(first, second)
    assert with_first.value == pytest.approx(
        scipy.stats.spearmanr(score, first).statistic, abs=1e-12
    )
    assert between.value == pytest.approx(scipy.stats.spearmanr(first, second).statistic, abs=1e-12)
    assert with_first.low is not None
    assert between.value is not None
    assert with_first.high is not None
    assert with_first.low < between.value < with_first.high
