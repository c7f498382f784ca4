"""Models in memory, computed in batches of similar length: sequence-to-sequence models and
classifiers of text pairs.

Results do not depend on the rest of a batch, except for rounding (1e-5).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from claimeval.providers.local.loading import Loaded
from claimeval.providers.local.tokens import Ids
from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    import torch

_UNFIT = ("nllb-moe", "prophetnet", "switch_transformers", "xlm-prophetnet")
"""Model types with experts that tokens of a batch compete for, or decoders that predict several
tokens at a time."""
_READS_PADDING = ("nystromformer", "xlnet")
"""Model types whose answers change when their input is padded, so that their batches have one
text."""
_LOGITS = 2**28
"""Maximum number of logits that are computed together."""
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
        self._pad = loaded.tokens.pad
        self._batch_tokens = batch_tokens
        self._target_tokens = max(min(batch_tokens, _LOGITS // config.vocab_size), 1)
        limits = (
            getattr(config, f"max_{name}position_embeddings", None) for name in ("decoder_", "")
        )
        self.longest_target: int | None = next(filter(None, limits), None)
        """Maximum tokens of a target; None if the decoder has relative positions."""

    def mean_log_probabilities(
        self, sources: Sequence[Ids], targets: Sequence[Sequence[Ids]]
    ) -> Iterator[tuple[int, list[float]]]:
        """Yield the index of each source and the mean log-probability of the tokens of each of its
        targets.

        `targets[i]` belong to `sources[i]`; a target has at least one token. Sources come in the
        order of computing.
        """
        for batch in length_buckets([len(source) for source in sources], self._batch_tokens):
            states, mask = self._encode([sources[index] for index in batch])
            pairs: list[tuple[int, Ids]] = []
            for row, index in enumerate(batch):
                pairs.extend((row, target) for target in targets[index])
            least = mask.shape[1] // _SHARED
            means = [math.nan] * len(pairs)
            for chosen in length_buckets(
                [max(len(target), least) for _, target in pairs], self._target_tokens
            ):
                rows = [pairs[number][0] for number in chosen]
                values = self._means(
                    states[rows], mask[rows], [pairs[number][1] for number in chosen]
                )
                for number, mean in zip(chosen, values, strict=True):
                    means[number] = mean
            remaining = iter(means)
            yield from ((index, [next(remaining) for _ in targets[index]]) for index in batch)

    def first_token_logits(
        self, sources: Sequence[Ids], targets: Sequence[Ids]
    ) -> list[list[float]]:
        """Return, for each source, the logits of the first token of each target as the first of the
        output."""
        results: list[list[float]] = [[]] * len(sources)
        for batch in length_buckets([len(source) for source in sources], self._batch_tokens):
            labels = self._padded([targets[0]] * len(batch), self._pad)
            logits = self._logits(*self._encode([sources[index] for index in batch]), labels)[:, 0]
            for index, row in zip(
                batch, logits[:, [target[0] for target in targets]].tolist(), strict=True
            ):
                results[index] = row
        return results

    def _encode(self, sources: Sequence[Ids]) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        ids = self._padded(sources, self._pad)
        mask = self._padded([[1] * len(source) for source in sources], 0)
        with torch.inference_mode():
            return (
                self._model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state,
                mask,
            )

    def _means(
        self, states: torch.Tensor, mask: torch.Tensor, targets: Sequence[Ids]
    ) -> list[float]:
        import torch

        labels = self._padded(targets, -100)  # which cross_entropy ignores
        logits = self._logits(states, mask, labels)
        losses = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), reduction="none"
        )
        sums: list[float] = losses.view_as(labels).sum(1).tolist()
        return [-lost / len(target) for lost, target in zip(sums, targets, strict=True)]

    def _logits(
        self, states: torch.Tensor, mask: torch.Tensor, labels: torch.Tensor
    ) -> torch.Tensor:
        """Return the logits of all tokens at each position of the labels, in float32."""
        import torch
        from transformers.modeling_outputs import BaseModelOutput

        with torch.inference_mode():
            encoded = BaseModelOutput(last_hidden_state=states)
            output = self._model(
                encoder_outputs=encoded, attention_mask=mask, labels=labels, use_cache=False
            )
        logits: torch.Tensor = output.logits.float()
        return logits

    def _padded(self, rows: Sequence[Sequence[int]], filler: int) -> torch.Tensor:
        import torch
        from torch.nn.utils.rnn import pad_sequence

        return pad_sequence([torch.tensor(row) for row in rows], True, filler).to(
            self._model.device
        )


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
        for batch in length_buckets(self.tokens.pair_lengths(pairs), self._batch_tokens):
            logits = self._model.predict(
                [pairs[index] for index in batch],
                prompt="",
                batch_size=len(batch),
                show_progress_bar=False,
                activation_fn=torch.nn.Identity(),
                processing_kwargs=processing,
            )
            yield from zip(batch, logits.reshape(len(batch), -1).tolist(), strict=True)


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
