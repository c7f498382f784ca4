"""Quantiles of the normal, Student's t and beta distributions."""

from __future__ import annotations

import math
from statistics import NormalDist

from claimeval.types.errors import UsageError

_NORMAL = NormalDist()


def normal_quantile(probability: float) -> float:
    """Return the quantile of the standard normal for a `probability` in (0, 1)."""
    return _NORMAL.inv_cdf(probability)


def normal_cdf(z: float) -> float:
    """Return the probability that a standard normal is below `z`; exact for infinite `z`."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


def critical_value(level: float, degrees_of_freedom: int | None = None) -> float:
    """Return the two-sided critical value of a level: normal, or Student's t if degrees of freedom
    are given."""
    check_level(level)
    upper = 0.5 + level / 2
    return (
        normal_quantile(upper)
        if degrees_of_freedom is None
        else student_quantile(upper, degrees_of_freedom)
    )


def check_level(level: float) -> None:
    """Raise UsageError unless `level` is a confidence level: strictly between 0 and 1."""
    if not 0 < level < 1:
        raise UsageError(
            f"level must lie strictly between 0 and 1 (0.95 for a 95% interval), given {level!r}"
        )


def student_quantile(probability: float, degrees_of_freedom: int) -> float:
    """Return the quantile of Student's t with 1 or more degrees of freedom.

    Newton's method on the finite series of Abramowitz & Stegun 26.7.3-4; above 200 degrees of
    freedom the expansion 26.7.5. Agrees with `scipy.stats.t.ppf` to 1e-9 relative.
    """
    z = normal_quantile(probability)
    start = _expansion(z, degrees_of_freedom)
    if degrees_of_freedom > 200:
        return start
    # Newton's steps overshoot in the Cauchy distribution's long tails, whose quantile is closed.
    if degrees_of_freedom == 1:
        return math.tan(math.pi * (probability - 0.5))
    v = degrees_of_freedom
    log_scale = math.lgamma((v + 1) / 2) - math.lgamma(v / 2) - 0.5 * math.log(v * math.pi)
    t = start
    for _ in range(50):
        density = math.exp(log_scale - (v + 1) / 2 * math.log1p(t * t / v))
        step = (student_cdf(t, v) - probability) / density
        t -= step
        if abs(step) <= 1e-12 * max(1.0, abs(t)):
            break
    return t


def beta_quantile(probability: float, a: float, b: float) -> float:
    """Return the quantile of the beta distribution, by bisection. Agrees with
    `scipy.stats.beta.ppf` to 1e-12."""
    low, high = 0.0, 1.0
    while high - low > 1e-14 and low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if _beta_cdf(middle, a, b) < probability else (low, middle)
    return (low + high) / 2


def _beta_cdf(x: float, a: float, b: float) -> float:
    """Return the regularized incomplete beta function by its continued fraction, Abramowitz &
    Stegun 26.5.8."""
    # The fraction converges fast only below the mean; above it, that of the mirrored one does.
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_cdf(1 - x, b, a)
    scale = (
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    c = 1.0
    d = 1 / (1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            c = 1 + term / c
            d = 1 / (1 + term * d)
            fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return math.exp(scale) * fraction / a


def _expansion(z: float, v: int) -> float:
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / float(v) ** power for power, term in enumerate(terms, start=1))


def student_cdf(t: float, v: int) -> float:
    """Return the probability that Student's t with `v` degrees of freedom is below `t`.

    The finite series of Abramowitz & Stegun 26.7.3-4. Agrees with `scipy.stats.t.cdf` to 1e-12.
    """
    angle = math.atan(t / math.sqrt(v))
    sine = math.sin(angle)
    cosine = math.cos(angle)
    if v % 2:
        term = total = cosine if v > 1 else 0.0
        for k in range(3, v - 1, 2):
            term *= (k - 1) / k * cosine**2
            total += term
        inside = 2 / math.pi * (angle + sine * total)
    else:
        term = 1.0
        total = 1.0
        for k in range(2, v - 1, 2):
            term *= (k - 1) / k * cosine**2
            total += term
        inside = sine * total
    # Rounding takes the sum of a long series past 1, and a p-value below 0 stopped comparisons.
    return min(max(0.5 + inside / 2, 0.0), 1.0)
