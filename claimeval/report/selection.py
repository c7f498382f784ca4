"""Selection of the samples in the page of a large run: those with the lowest scores, and some of
every stratum."""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from zlib import crc32

WHOLE = SHOWN = 5_000
"""Number of samples up to which a page shows all, and the maximum number in the page of a larger
run."""
WRITTEN = 20_000
"""Number of samples up to which a run writes its page without being asked to."""
WORST = 0.3
"""Share of the selection for samples with the lowest scores, or the largest changes."""


class SampleSelection:
    """Chooses samples after all were added one by one. Keeps one number per sample and column in
    memory."""

    def __init__(self, columns: int) -> None:
        """`columns` is the number of values of a sample."""
        self._columns = [array("d") for _ in range(columns)]
        self._strata: defaultdict[str, array[int]] = defaultdict(lambda: array("L"))
        self._ids = array("L")

    def add(self, sample_id: str, values: Sequence[float | None], stratum: str) -> None:
        """Add a sample with the values by which it is ranked, lowest first, and its stratum."""
        self._strata[stratum].append(len(self._ids))
        # Four bytes a sample in place of its id, as a run may have a million.
        self._ids.append(crc32(sample_id.encode("utf-8", "surrogatepass")))
        for column, value in zip(self._columns, values, strict=True):
            column.append(math.nan if value is None else value)

    def chosen(self, count: int, first: Collection[str]) -> list[int]:
        """Return the positions of `count` samples, from 0, most important first.

        `first` has the ids of samples that come before all others.
        """
        checksums = {crc32(sample_id.encode("utf-8", "surrogatepass")) for sample_id in first}
        positions = dict.fromkeys(
            position for position, digest in enumerate(self._ids) if digest in checksums
        )
        lowest = int(WORST * count)
        for position in self._lowest(lowest):
            if len(positions) >= lowest:
                break
            positions[position] = None
        for position in self._of_every_stratum():
            if len(positions) >= count:
                break
            positions[position] = None
        return list(positions)[:count]

    def _lowest(self, count: int) -> Iterator[int]:
        """Yield the samples with the lowest values, one column after the other for each rank."""
        import numpy as np  # pages of most runs do not need it

        ranked = []
        for column in self._columns:
            values = np.frombuffer(column) if column else np.empty(0)
            order = np.argsort(values, kind="stable")[:count].tolist()  # undefined values come last
            ranked.append([position for position in order if not math.isnan(column[position])])
        for rank in range(max(map(len, ranked), default=0)):
            yield from (positions[rank] for positions in ranked if rank < len(positions))

    def _of_every_stratum(self) -> Iterator[int]:
        """Yield the samples of each stratum in turn, evenly from its first to its last."""
        strata = [_spread(positions) for _, positions in sorted(self._strata.items())]
        while strata:
            for stratum in list(strata):
                if (position := next(stratum, None)) is None:
                    strata.remove(stratum)
                else:
                    yield position


def _spread(positions: Sequence[int]) -> Iterator[int]:
    """Yield all positions in an order whose beginning is evenly spread: the middle, the quarters,
    the eighths, ..."""
    step = 1 << len(positions).bit_length()
    while step > 1:
        yield from positions[step // 2 - 1 :: step]
        step //= 2
