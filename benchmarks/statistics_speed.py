"""Speed of intervals, tests and agreement, compared with scipy where possible, as a Markdown table.

    python benchmarks/statistics_speed.py [--rounds 5]

Times are the best of `--rounds` rounds, claimeval and scipy in turn; set OPENBLAS_NUM_THREADS=1 for one core. scipy's
BCa of 100,000 values is replaced by the percentile interval of as many resamples, because its jackknife takes time and
memory quadratic in the number of values.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from scipy import stats

from claimeval.statistics import (
    Resampling,
    binary_report,
    cohen_kappa,
    correlation,
    dawid_skene,
    krippendorff_alpha,
    mean_interval,
    paired_difference,
    prediction_powered,
    ratio_interval,
    sign_flip_test,
)

Run = Callable[[], object]
CLAIMS, SAMPLES, PER_SAMPLE = 100_000, 12_500, 8


def best(ours: Run, theirs: Run | None, rounds: int) -> tuple[float, float | None]:
    mine, others = [], []
    for _ in range(rounds):
        mine.append(seconds(ours))
        if theirs is not None:
            others.append(seconds(theirs))
    return min(mine), min(others) if others else None


def seconds(run: Run) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def cases() -> list[tuple[str, Run, str, Run | None]]:
    rng = np.random.default_rng(0)
    small, large = rng.beta(4, 1, 200), rng.random(CLAIMS)
    level = np.repeat(rng.beta(4, 1, SAMPLES), PER_SAMPLE)
    claims = (rng.random(CLAIMS) < level).astype(float)
    keys = [index // PER_SAMPLE for index in range(CLAIMS)]
    per_sample = claims.reshape(SAMPLES, PER_SAMPLE).sum(axis=1)
    other = np.clip(small + rng.normal(0, 0.1, 200), 0, 1)
    human, judge = (claims > 0).tolist(), ((claims > 0) ^ (rng.random(CLAIMS) < 0.1)).tolist()
    panel = [[int(claim) ^ int(rng.random() < 0.1) for _ in range(5)] for claim in claims]
    votes = [(item, judge_, label) for item, row in enumerate(panel) for judge_, label in enumerate(row)]
    labels: list[float | None] = [*claims[:500].tolist(), *([None] * (CLAIMS - 500))]
    lists = {"small": small.tolist(), "other": other.tolist(), "large": large.tolist(), "claims": claims.tolist()}

    def bootstrap(values: tuple[np.ndarray, ...], method: str, resamples: int, batch: int | None) -> Run:
        def statistic(*columns: np.ndarray, axis: int = -1) -> np.ndarray:
            if len(columns) == 1:
                return np.asarray(columns[0].mean(axis=axis))
            return np.asarray(columns[0].sum(axis=axis) / columns[1].sum(axis=axis))

        return lambda: stats.bootstrap(
            values, statistic, n_resamples=resamples, method=method, batch=batch, paired=len(values) > 1, rng=0
        )

    def flip() -> object:
        return stats.permutation_test(
            (small - other,), np.mean, permutation_type="samples", n_resamples=10_000, vectorized=True, rng=0
        )

    return [
        (
            "mean of 200 samples, 2,000 resamples",
            lambda: mean_interval(lists["small"]),
            "BCa",
            bootstrap((small,), "BCa", 2000, None),
        ),
        (
            "share of 100,000 claims in 12,500 samples, 1,000 resamples",
            lambda: mean_interval(lists["claims"], clusters=keys, resampling=Resampling(resamples=1000)),
            "percentile",
            bootstrap((per_sample, np.full(SAMPLES, 8.0)), "percentile", 1000, 100),
        ),
        (
            "mean of 100,000 different values, 1,000 resamples",
            lambda: mean_interval(lists["large"], resampling=Resampling(resamples=1000)),
            "percentile",
            bootstrap((large,), "percentile", 1000, 10),
        ),
        (
            "ratio of sums of 12,500 samples, 1,000 resamples",
            lambda: ratio_interval(per_sample.tolist(), [8] * SAMPLES, resampling=Resampling(resamples=1000)),
            "percentile",
            bootstrap((per_sample, np.full(SAMPLES, 8.0)), "percentile", 1000, 100),
        ),
        ("sign flips of 200 pairs, 10,000", lambda: sign_flip_test((small - other).tolist()), "permutation_test", flip),
        ("paired difference of 200 pairs", lambda: paired_difference(lists["small"], lists["other"]), "", None),
        ("Spearman of 200 pairs, 2,000 resamples", lambda: correlation(lists["small"], lists["other"]), "", None),
        ("kappa of 100,000 claims, 2,000 resamples", lambda: cohen_kappa(human, judge, clusters=keys), "", None),
        ("alpha of 5 judges on 100,000 claims, 2,000 resamples", lambda: krippendorff_alpha(panel), "", None),
        ("report on 100,000 claims, 2,000 resamples", lambda: binary_report(judge, human, clusters=keys), "", None),
        (
            "PPI++ of 100,000 claims, 500 labels",
            lambda: prediction_powered(lists["claims"], labels, clusters=keys),
            "",
            None,
        ),
        ("Dawid-Skene of 5 judges on 100,000 claims", lambda: dawid_skene(votes), "", None),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print("| what | seconds | scipy | scipy's method | times faster |")
    print("|---|---|---|---|---|")
    for what, ours, method, theirs in cases():
        mine, other = best(ours, theirs, rounds)
        beside = "| | |" if other is None else f"{other:.4f} | {method} | {other / mine:.1f}"
        print(f"| {what} | {mine:.4f} | {beside} |", flush=True)


if __name__ == "__main__":
    main()
