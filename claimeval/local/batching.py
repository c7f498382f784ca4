"""Texts into batches by length, so that little is computed on padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def buckets(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Indices of sequences in batches of at most `tokens` tokens, padding included, the shortest sequences first.

    A sequence that is longer than `tokens` is a batch of its own.

    >>> list(buckets([9, 2, 3, 4], 8))
    [[1, 2], [3], [0]]
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and lengths[index] * (len(batch) + 1) > tokens:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
