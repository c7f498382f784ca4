"""Which samples the page of a large run shows: those to look at first, and some of every kind."""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from zlib import crc32

WHOLE = 20_000
"""Samples up to which a page shows all."""
SHOWN = 5_000
"""Samples that the page of a larger run shows at most."""
WORST = 0.3
"""Share of them that have the lowest scores, or changed most."""


class SampleSelection:
    """Takes note of samples one by one, and then chooses some of them.

    Memory is a number for each sample and column.
    """

    def __init__(self, columns: int) -> None:
        """`columns` is how many values a sample has."""
        self._columns = [array("d") for _ in range(columns)]
        self._strata: defaultdict[str, array[int]] = defaultdict(lambda: array("L"))
        self._ids = array("L")

    def add(self, sample_id: str, values: Sequence[float | None], stratum: str) -> None:
        """Add a sample: what it is ranked by, lowest first, and what kind of sample it is."""
        self._strata[stratum].append(len(self._ids))
        self._ids.append(crc32(sample_id.encode("utf-8", "surrogatepass")))
        for column, value in zip(self._columns, values, strict=True):
            column.append(math.nan if value is None else value)

    def chosen(self, count: int, first: Collection[str]) -> list[int]:
        """Return the places of so many samples, from 0, the most important ones first.

        Args:
            count: How many.
            first: Ids of samples that are wanted before all others.
        """
        checksums = {crc32(sample_id.encode("utf-8", "surrogatepass")) for sample_id in first}
        places = dict.fromkeys(place for place, digest in enumerate(self._ids) if digest in checksums)
        lowest = int(WORST * count)
        for place in self._lowest(lowest):
            if len(places) >= lowest:
                break
            places[place] = None
        for place in self._of_every_kind():
            if len(places) >= count:
                break
            places[place] = None
        return list(places)[:count]

    def _lowest(self, count: int) -> Iterator[int]:
        """Yield the samples with the lowest values, the columns in turn."""
        import numpy as np  # not needed for the pages of most runs

        ranked = []
        for column in self._columns:
            values = np.frombuffer(column) if column else np.empty(0)
            order = np.argsort(values, kind="stable")[:count].tolist()  # undefined values come last
            ranked.append([place for place in order if not math.isnan(column[place])])
        for rank in range(max(map(len, ranked), default=0)):
            yield from (places[rank] for places in ranked if rank < len(places))

    def _of_every_kind(self) -> Iterator[int]:
        """Yield the samples of each stratum in turn, evenly from its first to its last."""
        strata = [_spread(places) for _, places in sorted(self._strata.items())]
        while strata:
            for stratum in list(strata):
                if (place := next(stratum, None)) is None:
                    strata.remove(stratum)
                else:
                    yield place


def _spread(places: Sequence[int]) -> Iterator[int]:
    """Yield all places so that the first ones of any number lie evenly: the middle, the quarters, the eighths, ..."""
    step = 1 << len(places).bit_length()
    while step > 1:
        yield from places[step // 2 - 1 :: step]
        step //= 2
