"""Decisions about the mean of a finite set, made before all of it is known.

A run of N samples would print a mean M. `SequentialMean` reads the scores in an order that was
fixed before any was known, and says as soon as it is certain enough whether M is above or below a
threshold. The certainty holds however often one looks, and for whatever rule one stops by.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Side = Literal["above", "below"]

CONFIDENCE = 0.95
"""Default probability that a decision is that of the whole set."""
LEAST = 10
"""Minimum number of clusters before a decision that is not arithmetic: earlier ones are possible
only where all scores are equal, and nobody trusts them."""
SHARE_OF_CAPITAL = 0.75
"""Largest share of its capital that a player can lose with one score. With all of it, one score
could end a player for good (section 4.2 of the source names 1/2 and 3/4)."""
STEPS = 1000
"""Default number of steps from the smallest to the largest possible mean for which the interval is
computed."""
ROUNDING = 1e-9
"""Arithmetic decides only beyond this: a mean that equals the threshold is decided by nobody."""


class SequentialMean:
    """Tests of whether the mean of a finite set is above or below thresholds, and a confidence
    sequence for the mean.

    For each threshold, two players bet on every score before it is read: one that the mean is
    above, one that it is below. After i of N scores with sum s, the other scores have the mean
    `m = (N t - s) / (N - i)` if the mean of all is the threshold t. A player's capital is
    multiplied by `1 + l (x - m)`, with l chosen from the scores before x. If the mean is t, no
    player can expect to win, so that a capital of 1 / (1 - confidence) is reached with a
    probability of at most `1 - confidence`, at any time. Where m is below 0 or above 1, arithmetic
    decides. Source: Waudby-Smith and Ramdas 2024, "Estimating means of bounded random
    variables by betting", section on sampling without replacement.

    * A sample without a score counts as the threshold itself: it moves the sum of `x - t` by
      nothing, as it does in the mean over samples with a score, whose number nobody knows before
      the end.
    * The samples of a cluster (a question) are read together, as one score
      `t + sum(x - t) / largest`, because they are not in random order one by one.

    >>> mean = SequentialMean(1000, [0.8])
    >>> for _ in range(30):
    ...     mean.add([1.0])
    >>> mean.decision(0.8), [round(end, 2) for end in mean.interval]
    ('above', [0.86, 1.0])
    """

    def __init__(
        self,
        clusters: int,
        thresholds: Sequence[float],
        *,
        largest: int = 1,
        confidence: float = CONFIDENCE,
        low: float = 0.0,
        high: float = 1.0,
        steps: int = STEPS,
    ) -> None:
        """Start with no scores.

        Args:
            clusters: The number of clusters of the whole set, N.
            thresholds: The thresholds to decide about, between `low` and `high`.
            largest: The number of samples of the largest cluster.
            confidence: The probability, for each threshold, that the decision is right.
            low: The smallest possible score.
            high: The largest possible score.
            steps: Number of steps from `low` to `high` in which the interval is computed.

        Raises:
            ValueError: A number is out of range.
        """
        import numpy as np

        if clusters < 1 or largest < 1 or not 0 < confidence < 1 or low >= high:
            raise ValueError("clusters and largest are at least 1, confidence is between 0 and 1")
        self.clusters = clusters
        self.read = 0
        """The number of clusters read so far."""
        self._largest = largest
        self._low = low
        self._width = high - low
        self._needed = -np.log1p(-confidence)
        grid = np.linspace(0.0, 1.0, steps + 1)
        asked = [(threshold - low) / self._width for threshold in thresholds]
        self._t: Floats = np.unique(np.concatenate([grid, np.array(asked, dtype=float)]))
        size = len(self._t)
        self._sum = np.zeros(size)
        self._squares = np.zeros(size)
        self._log_capital = np.zeros((2, size))
        self._decided: dict[Side, NDArray[np.bool_]] = {
            "above": np.zeros(size, dtype=bool),
            "below": np.zeros(size, dtype=bool),
        }

    def add(self, scores: Iterable[float | None]) -> None:
        """Read the scores of all samples of the next cluster; None for a sample without one."""
        import numpy as np

        if self.read == self.clusters:
            raise ValueError(f"all {self.clusters} clusters have been read")
        t = self._t
        scaled = [(score - self._low) / self._width for score in scores if score is not None]
        x = t + (sum(scaled) - len(scaled) * t) / self._largest
        rest = self.clusters - self.read
        m = (self.clusters * t - self._sum) / rest
        mean = (0.5 + self._sum) / (self.read + 1)
        deviations = self._squares - self._sum**2 / max(self.read, 1)
        variance = (0.25 + np.maximum(deviations, 0.0)) / (self.read + 1)
        stake = (mean - m) / (variance + (mean - m) ** 2)
        above = np.minimum(np.maximum(stake, 0.0), SHARE_OF_CAPITAL / np.maximum(m, 1e-9))
        below = np.minimum(np.maximum(-stake, 0.0), SHARE_OF_CAPITAL / np.maximum(1.0 - m, 1e-9))
        possible = (m >= 0.0) & (m <= 1.0)
        gain = np.where(possible, x - m, 0.0)
        self._log_capital[0] += np.log1p(above * gain)
        self._log_capital[1] += np.log1p(-below * gain)
        self._sum += x
        self._squares += x**2
        self.read += 1
        self._decide()

    def _decide(self) -> None:
        rest = self.clusters - self.read
        # what the clusters that are not read must add up to if the mean is the threshold
        missing = self.clusters * self._t - self._sum
        above = missing < -ROUNDING
        below = missing > rest + ROUNDING
        if self.read >= LEAST:
            above |= self._log_capital[0] >= self._needed
            below |= self._log_capital[1] >= self._needed
        # The first decision stands: what is read after it can only be noise around a certainty.
        self._decided["above"] |= above & ~self._decided["below"]
        self._decided["below"] |= below & ~self._decided["above"]

    def decision(self, threshold: float) -> Side | None:
        """Return on which side of a threshold the mean of the whole set is; None while that is
        open."""
        import numpy as np

        place = int(np.argmin(np.abs(self._t - (threshold - self._low) / self._width)))
        for side, decided in self._decided.items():
            if decided[place]:
                return side
        return None

    @property
    def interval(self) -> tuple[float, float]:
        """The thresholds that are not decided yet, from the smallest to the largest.

        Each end is beyond the mean of the whole set with a probability of at most
        `1 - confidence`, however often it is looked at.
        """
        import numpy as np

        is_open = ~(self._decided["above"] | self._decided["below"])
        if not is_open.any():
            # all is read: only rounding keeps the mean itself from being on the grid
            edge = float(self._t[np.argmax(self._decided["below"])])
            return self._of_scale(edge), self._of_scale(edge)
        places = np.flatnonzero(is_open)
        return self._of_scale(float(self._t[places[0]])), self._of_scale(float(self._t[places[-1]]))

    def _of_scale(self, share: float) -> float:
        return self._low + self._width * share
