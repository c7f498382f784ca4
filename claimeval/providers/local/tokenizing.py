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
    """Which of two texts each token is of, for models that are told so."""


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
        """The id that fills up shorter inputs of a batch."""
        return int(self._tokenizer.pad_token_id or 0)

    @property
    def end(self) -> str:
        """The token that ends a text, empty where the model has none."""
        return self._tokenizer.eos_token or ""

    def data(self, text: str) -> str:
        """The text with a space inside everything that reads like a control token (`</s>` becomes `< /s>`).

        Lone surrogates, which no tokenizer takes, become U+FFFD.
        """
        return self._special.sub(lambda match: f"{match[0][0]} {match[0][1:]}", _SURROGATE.sub("\ufffd", text))

    def ids(self, texts: Sequence[str]) -> list[Ids]:
        """The tokens of each text with the control tokens that the model expects around them."""
        return self._encode(texts)["input_ids"] if texts else []

    def targets(self, texts: Sequence[str]) -> list[Ids]:
        """The tokens of each text as a model is to produce them, the end token included."""
        if not texts:
            return []
        found: list[Ids] = self._tokenizer(text_target=list(texts), verbose=False)["input_ids"]
        return found

    def pairs(self, first: Sequence[str], second: Sequence[str]) -> list[Encoded]:
        """The tokens of pairs of texts as the model expects them."""
        if not first:
            return []
        found = self._encode(first, second)
        types = found.get("token_type_ids") or [None] * len(first)
        return [Encoded(ids, kinds) for ids, kinds in zip(found["input_ids"], types, strict=True)]

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has, without control tokens."""
        if not texts:
            return []
        return [len(ids) for ids in self._encode(texts, add_special_tokens=False)["input_ids"]]

    def starts(self, text: str) -> list[int]:
        """Where each token of the text begins, in characters, without control tokens."""
        found = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return [start for start, _ in found["offset_mapping"]]

    def fit(self, text: str, room: int) -> str:
        """The text, or its beginning, with at most `room` tokens."""
        kept = room
        while self.lengths([text])[0] > room:
            text = text[: self.starts(text)[kept]]
            kept -= 1
        return text

    def around_a_pair(self) -> int:
        """How many control tokens a pair of texts is given."""
        return int(self._tokenizer.num_special_tokens_to_add(pair=True))

    def _encode(self, *texts: Sequence[str], add_special_tokens: bool = True) -> dict[str, Any]:
        given = [list(column) for column in texts]
        found: dict[str, Any] = self._tokenizer(
            *given, add_special_tokens=add_special_tokens, return_attention_mask=False, verbose=False
        )
        return found
