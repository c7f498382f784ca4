"""Texts into batches by length, so that little is computed on padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def buckets(lengths: Sequence[int], tokens: int, *, pad: bool = True) -> Iterator[list[int]]:
    """Indices of sequences in batches of at most `tokens` tokens, padding included, the shortest sequences first.

    A sequence that is longer than `tokens` is a batch of its own. Without `pad`, a batch has one length.

    >>> list(buckets([9, 2, 3, 4], 8))
    [[1, 2], [3], [0]]
    >>> list(buckets([2, 3, 2], 8, pad=False))
    [[0, 2], [1]]
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        full = lengths[index] * (len(batch) + 1) > tokens
        if batch and (full or (not pad and lengths[index] != lengths[batch[0]])):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
