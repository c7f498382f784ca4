"""How many samples a difference needs, and which difference so many samples can show."""

from __future__ import annotations

import math

from claimeval.statistics.quantiles import check_level, normal_quantile
from claimeval.types.errors import UsageError


def samples_needed(
    difference: float,
    deviation: float,
    *,
    noise: tuple[float, float] = (0.0, 0.0),
    repeats: tuple[int, int] = (1, 1),
    level: float = 0.95,
    power: float = 0.8,
    design_effect: float = 1.0,
) -> int:
    """How many shared samples show a paired `difference` with the given power.

    n = (z_level + z_power)^2 (omega^2 + sigma_A^2 / K_A + sigma_B^2 / K_B) design_effect / difference^2

    `deviation` is omega, the standard deviation of the paired differences: a pilot's, which then contains the
    judge's noise already, or without noise, with `noise` the judge's deviation sigma on one item in either
    arm and `repeats` the number K of judgements averaged. `design_effect` is for n counted in claims; see
    `design_effect`. Two-sided. Source: Miller 2024, 2411.00640, section 5.
    """
    if difference == 0:
        raise UsageError("no number of samples shows a difference of 0; give the smallest difference that matters")
    variance = _variance(deviation, noise, repeats, design_effect)
    return max(2, math.ceil((_reach(level, power) / difference) ** 2 * variance))


def detectable_difference(
    samples: int,
    deviation: float,
    *,
    noise: tuple[float, float] = (0.0, 0.0),
    repeats: tuple[int, int] = (1, 1),
    level: float = 0.95,
    power: float = 0.8,
    design_effect: float = 1.0,
) -> float:
    """The smallest paired difference that `samples` samples show with the given power; as `samples_needed`."""
    if samples < 2:
        raise UsageError(f"a difference needs two samples or more, given {samples}")
    return _reach(level, power) * math.sqrt(_variance(deviation, noise, repeats, design_effect) / samples)


def design_effect(cluster_size: float, intraclass_correlation: float) -> float:
    """1 + (size - 1) ICC: by how much clustering inflates the variance of a mean; 8 claims at ICC .3 give 3.1.

    The correlation comes from `variance.variance_components` over the claims of each answer. Source: Kish
    1965.
    """
    if cluster_size < 1:
        raise UsageError(f"a cluster has one item or more, given {cluster_size!r}")
    return 1 + (cluster_size - 1) * intraclass_correlation


def _reach(level: float, power: float) -> float:
    check_level(level)
    if not 0 < power < 1:
        raise UsageError(f"power must lie strictly between 0 and 1 (0.8 is usual), given {power!r}")
    return normal_quantile(0.5 + level / 2) + normal_quantile(power)


def _variance(deviation: float, noise: tuple[float, float], repeats: tuple[int, int], design_effect: float) -> float:
    if min(deviation, *noise) < 0 or min(repeats) < 1 or design_effect <= 0:
        raise UsageError(
            "deviations cannot be negative, repeats start at 1, a design effect is positive: given "
            f"{deviation!r}, {noise!r}, {repeats!r}, {design_effect!r}"
        )
    judged = sum(sigma**2 / count for sigma, count in zip(noise, repeats, strict=True))
    return (deviation**2 + judged) * design_effect
