"""Base class of local scorers: settings, weights that are loaded on first use, and results in the reply cache."""

from __future__ import annotations

import hashlib
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar, Generic, TypeVar

from claimeval.providers.local.loading import Kind, Loaded, batch_tokens, choose, load, locate, reduce
from claimeval.store.store import Store
from claimeval.types.chat_format import read_chat, write_chat
from claimeval.types.errors import UsageError
from claimeval.types.options import LocalOptions
from claimeval.types.records import Record

CHECKED = 64
"""Number of items on which reduced precision is compared with float32."""


class ModelResult(Record):
    """The result of a model for one item."""

    @property
    @abstractmethod
    def score(self) -> float | None:
        """The score in [0, 1]; None if the model could not score the item."""

    @property
    @abstractmethod
    def finite(self) -> bool:
        """Whether the result is a finite number; sums can overflow in reduced precision."""


Item = TypeVar("Item")
Result = TypeVar("Result", bound=ModelResult)
Answers = Callable[[Sequence[Item]], Iterator[tuple[int, Result]]]
"""A model in memory: yields the index of each item and its result, in the order of computing."""


class Scorer(ABC, Generic[Item, Result]):
    """A local model with its options; its weights are loaded on first use."""

    what: ClassVar[str]
    """The kind of score, as in `local:perplexity=MODEL`."""
    kind: ClassVar[Kind]
    default_model: ClassVar[str]
    result: type[Result]
    """The type of its results."""
    prompt = ""
    """Digest of the prompt, empty if there is none."""

    def __init__(self, options: LocalOptions = LocalOptions()) -> None:
        self.setting = choose(options.device, options.dtype)
        model = options.model or self.default_model
        self._files = locate(model, options.revision)
        self.name = f"local:{self.what}={model}"
        self.revision = self._files.revision
        """The version of the model's files."""
        self._window = options.context_tokens
        self._batch = batch_tokens(self.setting) if options.batch_size == "auto" else options.batch_size
        self._answers: Answers[Item, Result] | None = None
        self.deviation: float | None = None
        """The largest difference from the scores in float32, over some items; None in float32, or before scoring."""

    @property
    def settings(self) -> dict[str, str]:
        """The settings that affect scores, as text."""
        return {"precision": self.setting.dtype, "window": str(self._window or "the model's")}

    @abstractmethod
    def key(self, item: Item) -> str:
        """Return the key of an item for this model and its settings."""

    @abstractmethod
    def _ask(self, loaded: Loaded) -> Answers[Item, Result]:
        """Return the function that asks the model in memory."""

    def score(self, items: Sequence[Item]) -> Iterator[tuple[int, Result]]:
        """Yield the index of each item and its result, in the order of computing.

        Raises UsageError if the model fails, for example for lack of memory, or a result is not finite.
        """
        if not items:
            return
        try:
            self._answers = self._answers or self._start(items[:CHECKED])
            for index, result in self._answers(items):
                if not result.finite:
                    raise UsageError(f"{self.name} gives no finite number in {self.setting.dtype}; use --dtype float32")
                yield index, result
        except RuntimeError as error:  # torch ran out of memory, or a device failed
            problem = str(error).strip().partition("\n")[0]
            raise UsageError(
                f"{self.name} failed on {self.setting.device}: {problem[:300]}. "
                f"If memory ran out, use batches of fewer than {self._batch} tokens; computed results are kept"
            ) from error

    def _start(self, sample: Sequence[Item]) -> Answers[Item, Result]:
        loaded = load(self._files, self.kind, self.setting)
        answers = self._ask(loaded)
        if self.setting.dtype != "float32":
            exact = dict(answers(sample))
            reduce(loaded)
            self.deviation = max(
                abs((result.score or 0.0) - (exact[index].score or 0.0)) for index, result in answers(sample)
            )
        return answers


KEY_VERSION = 1
"""Part of every key; increased when the meaning of stored results changes."""

Scored = Callable[[int], None]
"""Called with the number of items just scored, or read from the reply cache."""


def key_of(*parts: object) -> str:
    """Return the SHA-256 over the parts, as hex."""
    text = json.dumps([KEY_VERSION, *parts], ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def score_items(
    items: Iterable[Item], scorer: Scorer[Item, Result], store: Store | None, on_scored: Scored
) -> dict[Item, Result]:
    """Return the result of every item. Results that are not in the reply cache are computed, and stored immediately.

    Args:
        items: The items; equal ones are computed once.
        scorer: The model.
        store: The reply cache; None to store nothing.
        on_scored: Called with the number of items just scored, or read from the reply cache.
    """
    results: dict[Item, Result] = {}
    missing: dict[str, Item] = {}
    for item in dict.fromkeys(items):
        key = scorer.key(item)
        value = None if store is None else store.get(key)
        if value is None:
            missing[key] = item
        else:
            results[item] = _read(value, scorer.result)
    on_scored(len(results))
    keys, items_to_score = list(missing), list(missing.values())
    for index, result in scorer.score(items_to_score):
        results[items_to_score[index]] = result
        if store is not None:
            store.put(keys[index], _write(scorer.name, scorer.revision, scorer.prompt, result))
        on_scored(1)
    return results


def _write(model: str, revision: str, prompt: str, result: Record) -> bytes:
    """Return the result in the format of stored replies: a line of origin, then the body of a chat completion."""
    origin = {"model": model, "endpoint": revision, "prompt": prompt, "at": time.time(), "latency": None}
    return json.dumps(origin, separators=(",", ":")).encode() + b"\n" + write_chat(result.model_dump_json(), revision)


def _read(value: bytes, kind: type[Result]) -> Result:
    text = read_chat(value.partition(b"\n")[2]).text
    assert text is not None, "results are stored as text"
    return kind.model_validate_json(text)
