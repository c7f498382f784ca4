"""Models in memory, computed in batches of similar length: sequence-to-sequence models and
classifiers of text pairs.

Results do not depend on the rest of a batch, except for rounding (1e-5).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from claimeval.providers.local.loading import Loaded
from claimeval.providers.local.tokens import Ids
from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

_UNFIT = ("nllb-moe", "prophetnet", "switch_transformers", "xlm-prophetnet")
"""Model types with experts that tokens of a batch compete for, or decoders that predict several
tokens at a time."""
_READS_PADDING = ("nystromformer", "xlnet")
"""Model types whose answers change when their input is padded, so that their batches have one
text."""
_LOGITS = 2**28
"""Maximum number of logits that are computed together."""
_AHEAD = 8
"""Batches that are sent to the device before the results of the first are read: reading waits for
the device, which would be idle until the next batch is ready."""
_SHARED = 8
"""The texts of a batch of the decoder have at most so many times the tokens of a batch of the
encoder."""


class Seq2Seq:
    """A sequence-to-sequence model of transformers, which encodes each source once for all its
    targets."""

    def __init__(self, loaded: Loaded, batch_tokens: int) -> None:
        config = loaded.config
        if config.model_type in _UNFIT:
            raise UsageError(
                f"model {loaded.files.name!r} ({config.model_type}) is of a kind whose tokens"
                " cannot be scored one text at a time; use a model such as T5 or BART"
            )
        self._model = loaded.model
        self._shifted: Callable[..., torch.Tensor] | None = getattr(
            loaded.model, "prepare_decoder_input_ids_from_labels", None
        )
        self._pad = loaded.tokens.pad
        self._batch_tokens = batch_tokens
        self._target_tokens = max(min(batch_tokens, _LOGITS // config.vocab_size), 1)
        limits = (
            getattr(config, f"max_{name}position_embeddings", None) for name in ("decoder_", "")
        )
        self.longest_target: int | None = next(filter(None, limits), None)
        """Maximum tokens of a target; None if the decoder has relative positions."""

    def mean_log_probabilities(
        self,
        sources: Sequence[Ids],
        targets: Sequence[Sequence[Ids]],
    ) -> Iterator[tuple[int, list[float]]]:
        """Yield the index of each source and the mean log-probability of the tokens of each of its
        targets.

        `targets[i]` belong to `sources[i]`; a target has at least one token. Sources come in the
        order of computing.
        """
        begun = deque[_BegunBatch]()
        try:
            lengths = [len(source) for source in sources]
            for batch in length_buckets(lengths, self._batch_tokens):
                begun.append(self._begin(batch, sources, targets))
                if len(begun) > _AHEAD:
                    yield from begun.popleft().means()
        except RuntimeError:  # out of memory, for example: what is computed counts
            while begun:
                yield from begun.popleft().means()
            raise
        for one in begun:
            yield from one.means()

    def _begin(
        self,
        batch: Sequence[int],
        sources: Sequence[Ids],
        targets: Sequence[Sequence[Ids]],
    ) -> _BegunBatch:
        """Send the work of a batch to the device, without waiting for its results."""
        states, mask = self._encode([sources[index] for index in batch])
        pairs: list[_TargetOfSource] = []
        for row, index in enumerate(batch):
            for target in targets[index]:
                pairs.append(_TargetOfSource(row, target))
        least = mask.shape[1] // _SHARED
        lengths = [max(len(pair.target), least) for pair in pairs]
        losses: list[_PairLosses] = []
        for chosen in length_buckets(lengths, self._target_tokens):
            rows = [pairs[number].row for number in chosen]
            tokens = [pairs[number].target for number in chosen]
            of_rows = states
            of_mask = mask
            if rows != list(range(len(batch))):
                places = self._moved(np.array(rows))
                of_rows = states[places]
                of_mask = mask[places]
            sums = self._losses(of_rows, of_mask, tokens)
            losses.append(_PairLosses(chosen, sums))
        numbers = [len(targets[index]) for index in batch]
        return _BegunBatch(batch, numbers, pairs, losses)

    def first_token_logits(
        self,
        sources: Sequence[Ids],
        targets: Sequence[Ids],
    ) -> list[list[float]]:
        """Return, for each source, the logits of the first token of each target as the first of the
        output."""
        results: list[list[float]] = [[]] * len(sources)
        for batch in length_buckets([len(source) for source in sources], self._batch_tokens):
            labels = self._padded([targets[0]] * len(batch), self._pad)
            logits = self._logits(*self._encode([sources[index] for index in batch]), labels)[:, 0]
            for index, row in zip(
                batch,
                logits[:, [target[0] for target in targets]].tolist(),
                strict=True,
            ):
                results[index] = row
        return results

    def _encode(self, sources: Sequence[Ids]) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        ids = self._padded(sources, self._pad)
        lengths = np.array([len(source) for source in sources])
        ends = self._moved(lengths)
        longest = ids.shape[1]
        places = torch.arange(longest, device=ids.device)
        is_token = places < ends[:, None]
        mask = is_token.long()
        with torch.inference_mode():
            return (
                self._model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state,
                mask,
            )

    def _losses(
        self,
        states: torch.Tensor,
        mask: torch.Tensor,
        targets: Sequence[Ids],
    ) -> torch.Tensor:
        """Return the sum of the losses of each target, on the device."""
        import torch

        labels = self._padded(targets, -100)  # which cross_entropy ignores
        logits = self._logits(states, mask, labels)
        losses = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1),
            labels.flatten(),
            reduction="none",
        )
        return losses.view_as(labels).sum(1)

    def _logits(
        self,
        states: torch.Tensor,
        mask: torch.Tensor,
        labels: torch.Tensor,
    ) -> torch.Tensor:
        """Return the logits of all tokens at each position of the labels, in float32."""
        import torch
        from transformers.modeling_outputs import BaseModelOutput

        with torch.inference_mode():
            encoded = BaseModelOutput(last_hidden_state=states)
            # given labels, a model also computes a loss over its whole vocabulary, which is unused
            begun = (
                {"decoder_input_ids": self._shifted(labels=labels)}
                if self._shifted
                else {"labels": labels}
            )
            output = self._model(
                encoder_outputs=encoded,
                attention_mask=mask,
                use_cache=False,
                **begun,
            )
        logits: torch.Tensor = output.logits.float()
        return logits

    def _padded(self, rows: Sequence[Sequence[int]], filler: int) -> torch.Tensor:
        longest = max(map(len, rows))
        shape = len(rows), longest
        filled = np.full(shape, filler, dtype=np.int64)
        for place, row in enumerate(rows):
            filled[place, : len(row)] = row
        return self._moved(filled)

    def _moved(self, values: NDArray[np.int64]) -> torch.Tensor:
        """Return numbers on the model's device; a GPU is not waited for."""
        import torch

        tensor = torch.from_numpy(values)
        device = self._model.device
        if device.type == "cuda":
            tensor = tensor.pin_memory()
        return tensor.to(device, non_blocking=True)


class _TargetOfSource(NamedTuple):
    """A target of a source."""

    row: int
    """The row of the source in its batch."""
    target: Ids


class _PairLosses(NamedTuple):
    """Sums of losses, on the device."""

    numbers: Sequence[int]
    """The numbers of the pairs."""
    sums: torch.Tensor


class _BegunBatch(NamedTuple):
    """A batch whose results the device may still be computing."""

    batch: Sequence[int]
    """The indices of its sources."""
    numbers: Sequence[int]
    """The number of targets of each source."""
    pairs: Sequence[_TargetOfSource]
    losses: Sequence[_PairLosses]

    def means(self) -> Iterator[tuple[int, list[float]]]:
        """Wait for the results, and yield the index of each source with the mean log-probability of
        each target."""
        means = [math.nan] * len(self.pairs)
        for losses in self.losses:
            sums = losses.sums.tolist()
            for number, lost in zip(losses.numbers, sums, strict=True):
                size = len(self.pairs[number].target)
                means[number] = -lost / size
        remaining = iter(means)
        for index, number in zip(self.batch, self.numbers, strict=True):
            of_source = list(islice(remaining, number))
            yield index, of_source


class Classifier:
    """A classifier of pairs of texts, by the CrossEncoder of sentence-transformers."""

    def __init__(self, loaded: Loaded, window: int, batch_tokens: int) -> None:
        self.tokens = loaded.tokens
        self.window = window
        self._model = loaded.model
        self._batch_tokens = 1 if loaded.config.model_type in _READS_PADDING else batch_tokens

    def logits(self, pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[int, list[float]]]:
        """Yield the index of each pair and the logits of all labels, in the order of computing.

        The second text is cut at its end if the pair is longer than the window.
        """
        import torch

        processing = {
            "text": {"padding": True, "truncation": "only_second", "max_length": self.window}
        }
        begun = deque[tuple[list[int], torch.Tensor]]()
        for batch in length_buckets(self.tokens.pair_lengths(pairs), self._batch_tokens):
            logits = self._model.predict(
                [pairs[index] for index in batch],
                prompt="",
                batch_size=len(batch),
                show_progress_bar=False,
                activation_fn=torch.nn.Identity(),
                convert_to_tensor=True,
                processing_kwargs=processing,
            )
            rows = logits.reshape(len(batch), -1)
            begun.append((batch, rows))
            if len(begun) > _AHEAD:
                yield from _read_rows(*begun.popleft())
        for one in begun:
            yield from _read_rows(*one)


def _read_rows(batch: Sequence[int], logits: torch.Tensor) -> Iterator[tuple[int, list[float]]]:
    """Wait for the logits of a batch, and yield the index and the row of each pair."""
    rows = logits.float().tolist()
    yield from zip(batch, rows, strict=True)


def length_buckets(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Yield indices of sequences in batches of at most `tokens` tokens, padding included, the
    shortest sequences first.

    A sequence that is longer than `tokens` is a batch by itself.

    >>> list(length_buckets([9, 2, 3, 4], 8))
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
