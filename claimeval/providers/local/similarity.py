"""Answer similarity: the cosine of the embeddings of answer and reference answer, by
sentence-transformers.

value = cosine in [-1, 1], higher is closer; of several references the closest counts. It recognizes
the same meaning in other words, but hardly a negation or a changed number. Values of different
models are not comparable. Source: Reimers and Gurevych 2019; the semantic answer similarity
(bi-encoder) of Risch et al. 2021.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import JsonValue

from claimeval.providers.local.loading import choose, first_line, locate, quietly, require
from claimeval.types.errors import UsageError
from claimeval.types.options import LocalOptions

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
METRIC = "answer_similarity"
BLOCK = 1024
"""Samples whose texts are sorted into batches together."""


class Similarity(NamedTuple):
    """The similarity of one answer to its references."""

    value: float | None
    """None if the answer or every reference is missing or blank."""
    cut: int = 0
    """Tokens at the end of the texts that the model did not read."""


class SimilarityScorer:
    """A model of sentence-transformers with its settings."""

    def __init__(self, local: LocalOptions) -> None:
        if local.prompt is not None or local.long_texts != "truncate":
            raise UsageError(f"{METRIC} takes neither a prompt nor windows; leave them out")
        sentence_transformers = require("sentence_transformers")
        self.name = local.model or MODEL
        self._setting = choose(local.device, local.dtype)
        folder = Path(self.name).expanduser()
        try:
            with quietly():
                self._model: Any = sentence_transformers.SentenceTransformer(
                    str(folder) if folder.is_dir() else self.name,
                    revision=local.revision,
                    device=self._setting.device,
                    model_kwargs={"dtype": self._setting.torch_dtype},
                )
        except (OSError, ValueError) as error:
            problem = (
                f"{first_line(error).rstrip('.')}. Give a folder, or with a network: `hf download"
                f" {self.name}`"
            )
            raise UsageError(f"model {self.name!r} cannot be loaded: {problem}") from error
        if local.context_tokens:
            self._model.max_seq_length = min(local.context_tokens, self._model.max_seq_length)
        commit = getattr(self._model[0].auto_model.config, "_commit_hash", None) or local.revision
        self.revision = (
            locate(self.name).revision if folder.is_dir() else f"{self.name}@{commit or 'main'}"
        )

    @property
    def settings(self) -> dict[str, JsonValue]:
        """The settings that affect scores."""
        return {"dtype": self._setting.dtype, "context_tokens": self._model.max_seq_length}

    def embed(self, texts: Sequence[str]) -> Any:
        """Return an array with a row of length 1 for each text."""
        return self._model.encode(
            list(texts), normalize_embeddings=True, show_progress_bar=False
        ).astype("float64")

    def cut(self, text: str) -> int:
        """Count the tokens of a text that the model does not read."""
        return max(
            0,
            len(self._model.tokenizer(text, verbose=False)["input_ids"])
            - int(self._model.max_seq_length),
        )


def measure(
    samples: Iterable[tuple[str | None, Sequence[str]]], scorer: SimilarityScorer
) -> Iterator[Similarity]:
    """Yield the similarity of each answer with its references, in order. Memory does not grow with
    the samples."""
    remaining = iter(samples)
    while block := list(islice(remaining, BLOCK)):
        pairs = [
            (answer, [text for text in references if text.strip()]) for answer, references in block
        ]
        distinct: dict[str, None] = {}
        for answer, others in pairs:
            if answer and others:
                distinct.update(dict.fromkeys((answer, *others)))
        texts = list(distinct)
        rows = dict(zip(texts, scorer.embed(texts), strict=True)) if texts else {}
        for answer, others in pairs:
            if not (answer and answer.strip() and others):
                yield Similarity(None)
                continue
            best = max(float(rows[answer] @ rows[other]) for other in others)
            yield Similarity(min(1.0, max(-1.0, best)), sum(map(scorer.cut, (answer, *others))))
