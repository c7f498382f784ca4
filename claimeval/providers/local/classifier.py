"""A sequence classifier asked about pairs of texts, in batches of like length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from claimeval.providers.local.batching import buckets
from claimeval.providers.local.loading import Loaded
from claimeval.providers.local.tokenizing import Encoded

if TYPE_CHECKING:
    import torch


_PROBE = ("a", "b")
_TOLERANCE = 1e-4
"""Of logits; models that read padding miss it by far."""


class Classifier:
    """A loaded model. Logits do not depend on what else is in a batch, beyond rounding (1e-5)."""

    def __init__(self, loaded: Loaded, batch_tokens: int) -> None:
        self._model = loaded.model
        self._device = loaded.setting.device
        self._pad = loaded.tokens.pad
        self._batch_tokens = batch_tokens
        self._pads = self._ignores_padding(loaded.tokens.pairs(*([text] for text in _PROBE))[0])

    def logits(self, inputs: Sequence[Encoded]) -> Iterator[tuple[int, list[float]]]:
        """For each input its index and the logits of all labels, in the order of computing."""
        for batch in buckets([len(encoded.ids) for encoded in inputs], self._batch_tokens, pad=self._pads):
            yield from zip(batch, self._batch([inputs[index] for index in batch]), strict=True)

    def _ignores_padding(self, probe: Encoded) -> bool:
        """Whether padding changes nothing, as it should; XLNet and Nyströmformer read what stands at the end."""
        width = len(probe.ids)
        (alone,), (padded,) = self._batch([probe]), self._batch([probe], 2 * width)
        return max(abs(a - b) for a, b in zip(alone, padded, strict=True)) < _TOLERANCE

    def _batch(self, chosen: Sequence[Encoded], width: int = 0) -> list[list[float]]:
        """The logits of each input, all of them padded to the longest, and to the width at least."""
        import torch

        width = max(width, *(len(encoded.ids) for encoded in chosen))
        columns = {
            "input_ids": self._padded([encoded.ids for encoded in chosen], width, self._pad),
            "attention_mask": self._padded([[1] * len(encoded.ids) for encoded in chosen], width, 0),
        }
        types = [encoded.types for encoded in chosen if encoded.types is not None]
        if types:
            columns["token_type_ids"] = self._padded(types, width, 0)
        with torch.inference_mode():
            logits: list[list[float]] = self._model(**columns).logits.float().tolist()
        return logits

    def _padded(self, rows: Sequence[Sequence[int]], width: int, filler: int) -> torch.Tensor:
        import torch

        return torch.tensor([[*row, *[filler] * (width - len(row))] for row in rows], device=self._device)
