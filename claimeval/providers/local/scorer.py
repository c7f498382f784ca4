"""Base class of local scorers: settings, weights that are loaded on first use, and results in the
reply cache."""

from __future__ import annotations

import hashlib
import json
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar, Generic, TypeVar

from claimeval.providers.local.loading import Kind, Loaded, choose, first_line, load, locate
from claimeval.store.store import ReplyOrigin, Store, completion, join
from claimeval.types.chat_format import write_chat
from claimeval.types.errors import UsageError
from claimeval.types.options import LocalOptions
from claimeval.types.records import Record

CHECKED = 64
"""Number of items on which reduced precision is compared with float32."""
KEY_VERSION = 2
"""Part of every key; increased when the meaning of stored results changes."""


class ModelResult(Record):
    """The result of a model for one item."""

    @property
    @abstractmethod
    def score(self) -> float | None:
        """The score in [0, 1]; None if the model could not score the item."""


Item = TypeVar("Item", bound=tuple[str, ...])
Result = TypeVar("Result", bound=ModelResult)
Answers = Callable[[Sequence[Item]], Iterator[tuple[int, Result]]]
"""A model in memory: yields the index of each item and its result, in the order of computing."""
Scored = Callable[[int], None]
"""Called with the number of items just scored, or read from the reply cache."""


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
        self._batch = (
            self.setting.batch_tokens if options.batch_size == "auto" else options.batch_size
        )
        self._answers: Answers[Item, Result] | None = None
        self.deviation: float | None = None
        """The largest difference from the scores in float32, over some items; None in float32, or
        before scoring."""

    @property
    def settings(self) -> dict[str, str]:
        """The settings that affect scores, as text."""
        return {"precision": self.setting.dtype, "window": str(self._window or "the model's")}

    def key(self, item: Item) -> str:
        """Return the key of an item for this model and its settings, a SHA-256 as hex."""
        parts = (KEY_VERSION, self.what, self.revision, self.prompt, *self.settings.values(), *item)
        return hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode("ascii")).hexdigest()

    @abstractmethod
    def _ask(self, loaded: Loaded) -> Answers[Item, Result]:
        """Return the function that asks the model in memory."""

    def score(self, items: Sequence[Item]) -> Iterator[tuple[int, Result]]:
        """Yield the index of each item and its result, in the order of computing.

        Raises UsageError if the model fails, for example for lack of memory, or a result is not
        finite.
        """
        if not items:
            return
        try:
            self._answers = self._answers or self._start(items[:CHECKED])
            for index, result in self._answers(items):
                if not all(
                    math.isfinite(value)
                    for value in result.model_dump().values()
                    if value is not None
                ):
                    raise UsageError(
                        f"{self.name} gives no finite number in {self.setting.dtype}; use --dtype"
                        " float32"
                    )
                yield index, result
        except RuntimeError as error:  # torch ran out of memory, or a device failed
            raise UsageError(
                f"{self.name} failed on {self.setting.device}: {first_line(error)[:300]}. If memory"
                f" ran out, use batches of fewer than {self._batch} tokens; computed results are"
                " kept"
            ) from error

    def _start(self, sample: Sequence[Item]) -> Answers[Item, Result]:
        loaded = load(self._files, self.kind, self.setting.device)
        answers = self._ask(loaded)
        if self.setting.dtype != "float32":
            # Before the conversion, since a model in half precision cannot be made exact again.
            exact = dict(answers(sample))
            loaded.model.to(self.setting.torch_dtype)
            found = dict(answers(sample))
            self.deviation = max(
                abs((found[i].score or 0.0) - (exact[i].score or 0.0)) for i in exact
            )
        return answers

    def results(
        self,
        items: Iterable[Item],
        store: Store | None,
        on_scored: Scored,
    ) -> dict[Item, Result]:
        """Return the result of every item; those that are not in the reply cache are computed, and
        stored immediately.

        A stored result has the format of replies: a line of origin, then the body of a chat
        completion. Equal items are computed once.
        """
        keys = {item: self.key(item) for item in items}
        stored = (
            {}
            if store is None
            else {item: value for item, key in keys.items() if (value := store.get(key))}
        )
        results = {
            item: self.result.model_validate_json(completion(v).text or "")
            for item, v in stored.items()
        }
        on_scored(len(results))
        missing = [item for item in keys if item not in results]
        for index, result in self.score(missing):
            results[missing[index]] = result
            if store is not None:
                origin = ReplyOrigin(self.name, self.revision, self.prompt, time.time(), None)
                body = write_chat(result.model_dump_json(), self.revision)
                store.put(keys[missing[index]], join(origin, body))
            on_scored(1)
        return results
