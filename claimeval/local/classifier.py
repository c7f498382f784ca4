"""A sequence classifier asked about pairs of texts, in batches of like length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from claimeval.local.batching import buckets
from claimeval.local.loading import Loaded
from claimeval.local.tokenizing import Encoded

if TYPE_CHECKING:
    import torch


class Classifier:
    """A loaded model. Logits do not depend on what else is in a batch, beyond rounding (1e-5)."""

    def __init__(self, loaded: Loaded, batch_tokens: int) -> None:
        self._model = loaded.model
        self._device = loaded.setting.device
        self._pad = loaded.tokens.pad
        self._batch_tokens = batch_tokens

    def logits(self, inputs: Sequence[Encoded]) -> Iterator[tuple[int, list[float]]]:
        """For each input its index and the logits of all labels, in the order of computing."""
        import torch

        for batch in buckets([len(encoded.ids) for encoded in inputs], self._batch_tokens):
            chosen = [inputs[index] for index in batch]
            with torch.inference_mode():
                logits = self._model(**self._columns(chosen)).logits.float().tolist()
            yield from zip(batch, logits, strict=True)

    def _columns(self, chosen: Sequence[Encoded]) -> dict[str, torch.Tensor]:
        columns = {
            "input_ids": self._padded([encoded.ids for encoded in chosen], self._pad),
            "attention_mask": self._padded([[1] * len(encoded.ids) for encoded in chosen], 0),
        }
        types = [encoded.types for encoded in chosen if encoded.types is not None]
        if types:
            columns["token_type_ids"] = self._padded(types, 0)
        return columns

    def _padded(self, rows: Sequence[Sequence[int]], filler: int) -> torch.Tensor:
        import torch

        width = max(map(len, rows))
        return torch.tensor([[*row, *[filler] * (width - len(row))] for row in rows], device=self._device)
