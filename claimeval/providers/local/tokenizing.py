"""Texts into tokens of a model, so that nothing in a text can pass for one of the model's control tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from claimeval.types.errors import UsageError

Ids = list[int]

_SURROGATE = re.compile("[\ud800-\udfff]")


class Encoded(NamedTuple):
    """One input of a model."""

    ids: Ids
    types: Ids | None
    """Which of two texts each token is of, for models that use it."""


class Tokenizing:
    """A fast tokenizer of transformers. Not for several threads at once."""

    def __init__(self, tokenizer: Any, model: str) -> None:
        if not tokenizer.is_fast:
            raise UsageError(f"model {model!r} has no fast tokenizer: tokenizer.json must be in its folder")
        self._tokenizer = tokenizer
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token
        special = sorted((token for token in tokenizer.all_special_tokens if len(token) > 1), key=len, reverse=True)
        self._special = re.compile("|".join(map(re.escape, special)) or r"(?!)")

    @property
    def pad(self) -> int:
        """Return the id that fills shorter inputs of a batch."""
        return int(self._tokenizer.pad_token_id or 0)

    @property
    def end(self) -> str:
        """Return the token that ends a text, empty if the model has none."""
        return self._tokenizer.eos_token or ""

    def data(self, text: str) -> str:
        """Put a space inside everything that reads like a control token (`</s>` becomes `< /s>`).

        Lone surrogates, which no tokenizer takes, become U+FFFD.
        """
        return self._special.sub(lambda match: f"{match[0][0]} {match[0][1:]}", _SURROGATE.sub("\ufffd", text))

    def ids(self, texts: Sequence[str]) -> list[Ids]:
        """Return the tokens of each text, with the control tokens that the model expects around them."""
        return self._encode(texts)["input_ids"] if texts else []

    def targets(self, texts: Sequence[str]) -> list[Ids]:
        """Return the tokens of each text as a model is to produce them, the end token included."""
        if not texts:
            return []
        ids: list[Ids] = self._tokenizer(text_target=list(texts), verbose=False)["input_ids"]
        return ids

    def pairs(self, first: Sequence[str], second: Sequence[str]) -> list[Encoded]:
        """Return the tokens of pairs of texts as the model expects them."""
        if not first:
            return []
        encoded = self._encode(first, second)
        types = encoded.get("token_type_ids") or [None] * len(first)
        return [Encoded(ids, kinds) for ids, kinds in zip(encoded["input_ids"], types, strict=True)]

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens each text has, without control tokens."""
        if not texts:
            return []
        return [len(ids) for ids in self._encode(texts, add_special_tokens=False)["input_ids"]]

    def starts(self, text: str) -> list[int]:
        """Return where each token of the text begins, in characters, without control tokens."""
        encoded = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return [start for start, _ in encoded["offset_mapping"]]

    def fit(self, text: str, room: int) -> str:
        """Return the text, or its beginning, with at most `room` tokens."""
        count = room
        while self.lengths([text])[0] > room:
            text = text[: self.starts(text)[count]]
            count -= 1
        return text

    def around_a_pair(self) -> int:
        """Return how many control tokens a pair of texts is given."""
        return int(self._tokenizer.num_special_tokens_to_add(pair=True))

    def _encode(self, *texts: Sequence[str], add_special_tokens: bool = True) -> dict[str, Any]:
        columns = [list(column) for column in texts]
        encoded: dict[str, Any] = self._tokenizer(
            *columns, add_special_tokens=add_special_tokens, return_attention_mask=False, verbose=False
        )
        return encoded
