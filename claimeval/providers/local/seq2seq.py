"""A sequence-to-sequence model asked how likely given targets are: each source is read once, however many they are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from claimeval.providers.local.batching import buckets
from claimeval.providers.local.loading import Loaded
from claimeval.providers.local.tokenizing import Ids
from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    import torch
    from torch import nn

_RELATIVE = ("t5", "mt5")
"""Model types whose decoder knows positions by their distance alone, so that several targets can stand in one row."""
_UNFIT = ("nllb-moe", "prophetnet", "switch_transformers", "xlm-prophetnet")
"""Experts that tokens of a batch compete for; decoders that predict several tokens at a time."""
_ROW = 256
"""Tokens of targets in one such row."""
_STEP = 8
"""Widths of source batches are multiples of it: oneDNN keeps code for every shape it has met, up to a gigabyte."""
_LOGITS = 2**28
"""Numbers that the output layer may give at once."""


class _DecoderRow(NamedTuple):
    """What the decoder reads side by side: targets of one source."""

    source: int
    """Its place in the batch."""
    targets: list[int]


class Seq2Seq:
    """A loaded model. Scores do not depend on what else is in a batch, beyond rounding (1e-5)."""

    def __init__(self, loaded: Loaded, batch_tokens: int) -> None:
        if loaded.config.model_type in _UNFIT:
            raise UsageError(
                f"model {loaded.files.name!r} ({loaded.config.model_type}) is of a kind whose tokens cannot be scored "
                "one text at a time; take a T5, a BART or the like"
            )
        self._model = loaded.model
        self._device = loaded.setting.device
        self._pad = loaded.tokens.pad
        self._batch_tokens = batch_tokens
        self._decoder_tokens = max(min(batch_tokens, _LOGITS // loaded.config.vocab_size), 1)
        self._start = _start_token(loaded)
        self._folds = loaded.config.model_type in _RELATIVE
        self.longest_target = _longest_target(loaded.config)
        self._wanted: torch.Tensor | None = None
        self._model.get_output_embeddings().register_forward_pre_hook(self._only_wanted)

    def mean_log_probabilities(
        self, sources: Sequence[Ids], targets: Sequence[Sequence[Ids]]
    ) -> Iterator[tuple[int, list[float]]]:
        """For each source its index and, for each of its targets, the mean log-probability of the target's tokens.

        `targets[i]` belong to `sources[i]`; a target has at least one token. Sources come in the order of computing.
        """
        import torch

        for batch in buckets([len(source) for source in sources], self._batch_tokens):
            with torch.inference_mode():
                states, mask = self._read([sources[index] for index in batch])
                found = self._decode(states, mask, [targets[index] for index in batch])
            yield from zip(batch, found, strict=True)

    def next_token_logits(self, sources: Sequence[Ids], tokens: Sequence[int]) -> list[list[float]]:
        """For each source the logits of these tokens as the first of the output."""
        import torch

        found: list[list[float]] = [[]] * len(sources)
        for batch in buckets([len(source) for source in sources], self._batch_tokens):
            with torch.inference_mode():
                states, mask = self._read([sources[index] for index in batch])
                start = torch.full((len(batch), 1), self._start, device=self._device)
                logits = self._logits(states, mask, start, torch.ones_like(start, dtype=torch.bool), None)
                chosen = logits[:, list(tokens)].tolist()
            for index, row in zip(batch, chosen, strict=True):
                found[index] = row
        return found

    def _read(self, sources: Sequence[Ids]) -> tuple[torch.Tensor, torch.Tensor]:
        ids = self._padded(sources, step=_STEP if self._folds else 1)
        lengths = self._tensor([len(source) for source in sources])
        mask = (self._tensor(range(ids.shape[1])) < lengths[:, None]).long()
        return self._model.get_encoder()(input_ids=ids, attention_mask=mask)[0], mask

    def _decode(self, states: torch.Tensor, mask: torch.Tensor, targets: Sequence[Sequence[Ids]]) -> list[list[float]]:
        rows = [row for source, own in enumerate(targets) for row in self._rows(source, own)]
        sizes = [sum(len(targets[row.source][t]) for t in row.targets) for row in rows]
        found = [[math.nan] * len(own) for own in targets]
        for batch in buckets(sizes, self._decoder_tokens):
            chosen = [rows[index] for index in batch]
            segments = [[targets[row.source][t] for t in row.targets] for row in chosen]
            index = self._tensor([row.source for row in chosen])
            log_probabilities = iter(self._token_log_probabilities(states[index], mask[index], segments))
            for row in chosen:
                for target in row.targets:
                    length = len(targets[row.source][target])
                    found[row.source][target] = math.fsum(next(log_probabilities) for _ in range(length)) / length
        return found

    def _rows(self, source: int, targets: Sequence[Ids]) -> Iterator[_DecoderRow]:
        row: list[int] = []
        size = 0
        for index, target in enumerate(targets):
            if row and (not self._folds or size + len(target) > _ROW):
                yield _DecoderRow(source, row)
                row, size = [], 0
            row.append(index)
            size += len(target)
        if row:
            yield _DecoderRow(source, row)

    def _token_log_probabilities(
        self, states: torch.Tensor, mask: torch.Tensor, segments: Sequence[Sequence[Ids]]
    ) -> list[float]:
        """The log-probabilities of all tokens, row by row. A segment is a target, which sees itself and its source."""
        labels = self._padded([[token for target in row for token in target] for row in segments])
        shifted = [[token for target in row for token in (self._start, *target[:-1])] for row in segments]
        owner = self._padded([[n for n, target in enumerate(row, 1) for _ in target] for row in segments], 0)
        among = None if all(len(row) == 1 for row in segments) else _block_mask(owner, states.dtype)
        wanted = owner > 0
        logits = self._logits(states, mask, self._padded(shifted), wanted, among)
        chosen = logits.gather(1, labels[wanted][:, None])[:, 0] - logits.logsumexp(1)
        found: list[float] = chosen.tolist()
        return found

    def _logits(
        self,
        states: torch.Tensor,
        mask: torch.Tensor,
        inputs: torch.Tensor,
        wanted: torch.Tensor,
        among: torch.Tensor | None,
    ) -> torch.Tensor:
        """The logits at the wanted positions, in float32; without `among`, a position sees all that stand before it."""
        from transformers.modeling_outputs import BaseModelOutput

        self._wanted = wanted
        said = self._model(
            encoder_outputs=BaseModelOutput(last_hidden_state=states),
            attention_mask=mask,
            decoder_input_ids=inputs,
            decoder_attention_mask=among,
            use_cache=False,
        )
        logits: torch.Tensor = said.logits.float()
        return logits

    def _only_wanted(self, layer: nn.Module, inputs: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
        """Before the output layer: drops positions whose logits nobody wants."""
        return (inputs[0][self._wanted],)

    def _padded(self, rows: Sequence[Sequence[int]], pad: int | None = None, step: int = 1) -> torch.Tensor:
        width = math.ceil(max(map(len, rows)) / step) * step
        filler = self._pad if pad is None else pad
        return self._tensor([[*row, *[filler] * (width - len(row))] for row in rows])

    def _tensor(self, values: Sequence[object]) -> torch.Tensor:
        import torch

        return torch.tensor(values, device=self._device)


def _longest_target(config: Any) -> int | None:
    """Tokens that the decoder has positions for; None where it knows them by their distance."""
    names = ("max_decoder_position_embeddings", "max_position_embeddings")
    return next((int(limit) for name in names if (limit := getattr(config, name, None))), None)


def _start_token(loaded: Loaded) -> int:
    """What the decoder reads before the first token of a target."""
    for config in (loaded.config, loaded.model.generation_config):
        if (token := getattr(config, "decoder_start_token_id", None)) is not None:
            return int(token)
    raise UsageError(f"the configuration of model {loaded.files.name!r} does not say decoder_start_token_id")


def _block_mask(owner: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """What is added to attention: 0 where a position may look, which is its own segment up to itself."""
    import torch

    width = owner.shape[1]
    causal = torch.ones(width, width, dtype=torch.bool, device=owner.device).tril()
    may_look = (owner[:, :, None] == owner[:, None, :]) & causal
    mask = torch.zeros(may_look.shape, dtype=dtype, device=owner.device)
    return mask.masked_fill_(~may_look, torch.finfo(dtype).min)[:, None]
