"""Compute loaded models in batches of similar length: classifiers of text pairs and sequence-to-sequence models."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar

from claimeval.providers.local.loading import Loaded
from claimeval.providers.local.tokens import Encoded, Ids
from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    import torch
    from torch import nn

_PROBE = ("a", "b")
_TOLERANCE = 1e-4
"""Maximum difference of logits; models that read padding differ far more."""


class Classifier:
    """A loaded classifier. Logits do not depend on the rest of a batch, except for rounding (1e-5)."""

    def __init__(self, loaded: Loaded, batch_tokens: int) -> None:
        self._model = loaded.model
        self._device = loaded.setting.device
        self._pad = loaded.tokens.pad
        self._batch_tokens = batch_tokens
        self._pads = self._ignores_padding(loaded.tokens.pairs(*([text] for text in _PROBE))[0])

    def logits(self, inputs: Sequence[Encoded]) -> Iterator[tuple[int, list[float]]]:
        """Yield the index of each input and the logits of all labels, in the order of computing."""
        for batch in length_buckets([len(encoded.ids) for encoded in inputs], self._batch_tokens, pad=self._pads):
            yield from zip(batch, self._batch([inputs[index] for index in batch]), strict=True)

    def _ignores_padding(self, probe: Encoded) -> bool:
        """Return whether the model ignores padding; XLNet and Nyströmformer do not."""
        width = len(probe.ids)
        (alone,), (padded,) = self._batch([probe]), self._batch([probe], 2 * width)
        return max(abs(a - b) for a, b in zip(alone, padded, strict=True)) < _TOLERANCE

    def _batch(self, chosen: Sequence[Encoded], width: int = 0) -> list[list[float]]:
        """Return the logits of each input, padded to the longest one and to at least `width`."""
        import torch

        width = max(width, *(len(encoded.ids) for encoded in chosen))
        columns = {
            "input_ids": _padded([encoded.ids for encoded in chosen], width, self._pad, self._device),
            "attention_mask": _padded([[1] * len(encoded.ids) for encoded in chosen], width, 0, self._device),
        }
        types = [encoded.types for encoded in chosen if encoded.types is not None]
        if types:
            columns["token_type_ids"] = _padded(types, width, 0, self._device)
        with torch.inference_mode():
            logits: list[list[float]] = self._model(**columns).logits.float().tolist()
        return logits


def _padded(rows: Sequence[Sequence[int]], width: int, filler: int, device: str) -> torch.Tensor:
    import torch

    return torch.tensor([[*row, *[filler] * (width - len(row))] for row in rows], device=device)


_RELATIVE = ("t5", "mt5")
"""Model types whose decoder has relative positions, so that several targets fit into one row."""
_UNFIT = ("nllb-moe", "prophetnet", "switch_transformers", "xlm-prophetnet")
"""Model types with experts that tokens of a batch compete for, or decoders that predict several tokens at a time."""
_ROW = 256
"""Maximum tokens of targets in one row."""
_STEP = 8
"""Widths of source batches are multiples of it, because oneDNN caches code for every shape, up to a gigabyte."""
_LOGITS = 2**28
"""Maximum number of logits that are computed together."""


class _DecoderRow(NamedTuple):
    """A row of decoder input: targets of one source."""

    source: int
    """Index of the source in the batch."""
    targets: list[int]


class Seq2Seq:
    """A loaded sequence-to-sequence model. Each source is read once for all its targets.

    Scores do not depend on the rest of a batch, except for rounding (1e-5).
    """

    def __init__(self, loaded: Loaded, batch_tokens: int) -> None:
        if loaded.config.model_type in _UNFIT:
            raise UsageError(
                f"model {loaded.files.name!r} ({loaded.config.model_type}) is of a kind whose tokens cannot be scored "
                "one text at a time; use a model such as T5 or BART"
            )
        self._model = loaded.model
        self._device = loaded.setting.device
        self._pad = loaded.tokens.pad
        self._batch_tokens = batch_tokens
        self._decoder_tokens = max(min(batch_tokens, _LOGITS // loaded.config.vocab_size), 1)
        self._start = _start_token(loaded)
        self._folds = loaded.config.model_type in _RELATIVE
        self.longest_target = _longest_target(loaded.config)
        self._in_use: torch.Tensor | None = None
        self._model.get_output_embeddings().register_forward_pre_hook(self._only_in_use)

    def mean_log_probabilities(
        self, sources: Sequence[Ids], targets: Sequence[Sequence[Ids]]
    ) -> Iterator[tuple[int, list[float]]]:
        """Yield the index of each source and the mean log-probability of the tokens of each of its targets.

        `targets[i]` belong to `sources[i]`; a target has at least one token. Sources come in the order of computing.
        """
        import torch

        for batch in length_buckets([len(source) for source in sources], self._batch_tokens):
            with torch.inference_mode():
                states, mask = self._read([sources[index] for index in batch])
                means = self._decode(states, mask, [targets[index] for index in batch])
            yield from zip(batch, means, strict=True)

    def next_token_logits(self, sources: Sequence[Ids], tokens: Sequence[int]) -> list[list[float]]:
        """Return, for each source, the logits of these tokens as the first of the output."""
        import torch

        results: list[list[float]] = [[]] * len(sources)
        for batch in length_buckets([len(source) for source in sources], self._batch_tokens):
            with torch.inference_mode():
                states, mask = self._read([sources[index] for index in batch])
                start = torch.full((len(batch), 1), self._start, device=self._device)
                logits = self._logits(states, mask, start, torch.ones_like(start, dtype=torch.bool), None)
                chosen = logits[:, list(tokens)].tolist()
            for index, row in zip(batch, chosen, strict=True):
                results[index] = row
        return results

    def _read(self, sources: Sequence[Ids]) -> tuple[torch.Tensor, torch.Tensor]:
        ids = self._padded(sources, step=_STEP if self._folds else 1)
        lengths = self._tensor([len(source) for source in sources])
        mask = (self._tensor(range(ids.shape[1])) < lengths[:, None]).long()
        return self._model.get_encoder()(input_ids=ids, attention_mask=mask)[0], mask

    def _decode(self, states: torch.Tensor, mask: torch.Tensor, targets: Sequence[Sequence[Ids]]) -> list[list[float]]:
        rows = [row for source, source_targets in enumerate(targets) for row in self._rows(source, source_targets)]
        sizes = [sum(len(targets[row.source][t]) for t in row.targets) for row in rows]
        means = [[math.nan] * len(source_targets) for source_targets in targets]
        for batch in length_buckets(sizes, self._decoder_tokens):
            chosen = [rows[index] for index in batch]
            segments = [[targets[row.source][t] for t in row.targets] for row in chosen]
            index = self._tensor([row.source for row in chosen])
            log_probabilities = iter(self._token_log_probabilities(states[index], mask[index], segments))
            for row in chosen:
                for target in row.targets:
                    length = len(targets[row.source][target])
                    means[row.source][target] = math.fsum(next(log_probabilities) for _ in range(length)) / length
        return means

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
        """Return the log-probabilities of all tokens, row by row. A target sees itself and its source."""
        labels = self._padded([[token for target in row for token in target] for row in segments])
        shifted = [[token for target in row for token in (self._start, *target[:-1])] for row in segments]
        owner = self._padded([[n for n, target in enumerate(row, 1) for _ in target] for row in segments], 0)
        among = None if all(len(row) == 1 for row in segments) else _block_mask(owner, states.dtype)
        in_use = owner > 0
        logits = self._logits(states, mask, self._padded(shifted), in_use, among)
        chosen = logits.gather(1, labels[in_use][:, None])[:, 0] - logits.logsumexp(1)
        values: list[float] = chosen.tolist()
        return values

    def _logits(
        self,
        states: torch.Tensor,
        mask: torch.Tensor,
        inputs: torch.Tensor,
        in_use: torch.Tensor,
        among: torch.Tensor | None,
    ) -> torch.Tensor:
        """Return the logits at the positions in use, in float32. `among` restricts attention between targets."""
        from transformers.modeling_outputs import BaseModelOutput

        self._in_use = in_use
        output = self._model(
            encoder_outputs=BaseModelOutput(last_hidden_state=states),
            attention_mask=mask,
            decoder_input_ids=inputs,
            decoder_attention_mask=among,
            use_cache=False,
        )
        logits: torch.Tensor = output.logits.float()
        return logits

    def _only_in_use(self, layer: nn.Module, inputs: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
        """Drop positions whose logits are not in use before the output layer."""
        return (inputs[0][self._in_use],)

    def _padded(self, rows: Sequence[Sequence[int]], pad: int | None = None, step: int = 1) -> torch.Tensor:
        width = math.ceil(max(map(len, rows)) / step) * step
        return _padded(rows, width, self._pad if pad is None else pad, self._device)

    def _tensor(self, values: Sequence[object]) -> torch.Tensor:
        import torch

        return torch.tensor(values, device=self._device)


def _longest_target(config: Any) -> int | None:
    """Return the maximum tokens of a target; None if the decoder has relative positions."""
    names = ("max_decoder_position_embeddings", "max_position_embeddings")
    return next((int(limit) for name in names if (limit := getattr(config, name, None))), None)


def _start_token(loaded: Loaded) -> int:
    """Return the token that the decoder reads before the first token of a target."""
    for config in (loaded.config, loaded.model.generation_config):
        if (token := getattr(config, "decoder_start_token_id", None)) is not None:
            return int(token)
    raise UsageError(f"the configuration of model {loaded.files.name!r} has no decoder_start_token_id")


def _block_mask(owner: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return the attention mask to add: 0 for positions of the same segment up to the current one."""
    import torch

    width = owner.shape[1]
    causal = torch.ones(width, width, dtype=torch.bool, device=owner.device).tril()
    may_look = (owner[:, :, None] == owner[:, None, :]) & causal
    mask = torch.zeros(may_look.shape, dtype=dtype, device=owner.device)
    return mask.masked_fill_(~may_look, torch.finfo(dtype).min)[:, None]


def length_buckets(lengths: Sequence[int], tokens: int, *, pad: bool = True) -> Iterator[list[int]]:
    """Yield indices of sequences in batches of at most `tokens` tokens, padding included, the shortest sequences first.

    A sequence that is longer than `tokens` is a batch by itself. Without `pad`, a batch has one length.

    >>> list(length_buckets([9, 2, 3, 4], 8))
    [[1, 2], [3], [0]]
    >>> list(length_buckets([2, 3, 2], 8, pad=False))
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


Item = TypeVar("Item", bound=Hashable)
Answer = TypeVar("Answer")
T = TypeVar("T")


class MicroBatcher(Generic[Item, Answer]):
    """Collects items while the model is busy, and computes them in batches, in order of arrival, in one thread.

    Equal items that wait at the same time are computed once. A call of `compute` gets at most `max_items` items.
    """

    def __init__(self, compute: Callable[[Sequence[Item]], Sequence[Answer]], max_items: int) -> None:
        self._compute = compute
        self._max_items = max_items
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="claimeval-model")
        self._waiting: deque[Item] = deque()
        self._answers: dict[Item, asyncio.Future[Answer]] = {}
        self._worker: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._worker:
            self._worker.cancel()
        self._thread.shutdown(wait=True, cancel_futures=True)

    async def ask(self, items: Sequence[Item]) -> list[Answer]:
        """Return the answers to these items. An exception from `compute` is raised here."""
        futures = [self._answer(item) for item in items]
        if futures and self._worker is None:
            self._worker = asyncio.create_task(self._work())
            self._worker.add_done_callback(self._ended)
        if futures:
            await asyncio.wait(futures)
        return [future.result() for future in futures]

    async def run(self, function: Callable[[], T]) -> T:
        """Run a function that uses the model, in the model's thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)

    def _answer(self, item: Item) -> asyncio.Future[Answer]:
        if item not in self._answers:
            self._answers[item] = asyncio.get_running_loop().create_future()
            self._waiting.append(item)
        return self._answers[item]

    async def _work(self) -> None:
        while self._waiting:
            await asyncio.sleep(0)  # so that ready tasks can add their items
            batch = [self._waiting.popleft() for _ in range(min(self._max_items, len(self._waiting)))]
            answers = await self.run(lambda batch=batch: self._compute(batch))  # type: ignore[misc]
            for item, answer in zip(batch, answers, strict=True):
                self._answers.pop(item).set_result(answer)

    def _ended(self, worker: asyncio.Task[None]) -> None:
        self._worker = None
        self._waiting.clear()
        answers, self._answers = self._answers, {}
        for future in answers.values():
            if worker.cancelled() or (error := worker.exception()) is None:
                future.cancel()
            else:
                future.set_exception(error)
