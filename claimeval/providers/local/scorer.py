"""What the scores of local models share: settled settings, and weights that are loaded when they are first needed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, Generic, TypeVar

from claimeval.providers.local.devices import batch_tokens, choose
from claimeval.providers.local.loading import Kind, Loaded, load, reduce
from claimeval.providers.local.model_files import locate
from claimeval.types.errors import UsageError
from claimeval.types.records import Record

CHECKED = 64
"""Items on which reduced precision is compared with float32."""


class ModelResult(Record):
    """What a model says of one item."""

    @property
    @abstractmethod
    def score(self) -> float | None:
        """In [0, 1]; None where the model could not be asked."""

    @property
    @abstractmethod
    def finite(self) -> bool:
        """Whether what the model gave is a number; sums can overflow in reduced precision."""


Item = TypeVar("Item")
Result = TypeVar("Result", bound=ModelResult)
Answers = Callable[[Sequence[Item]], Iterator[tuple[int, Result]]]
"""A model in memory: gives the index of each item and its result, in the order of computing."""


class Scorer(ABC, Generic[Item, Result]):
    """A local model with all its settings. It loads its weights when it is first asked to score."""

    what: ClassVar[str]
    """The kind of score, as in `local:perplexity=MODEL`."""
    kind: ClassVar[Kind]
    result: type[Result]
    """What it gives for one item."""
    prompt = ""
    """Digest of the prompt, empty where there is none."""

    def __init__(
        self,
        model: str,
        *,
        revision: str | None = None,
        device: str = "auto",
        dtype: str = "float32",
        window: int | None = None,
        batch: int | None = None,
    ) -> None:
        """`window` in tokens, the model's own unless given; `batch` in tokens, fit for the device unless given."""
        self.setting = choose(device, dtype)
        self._files = locate(model, revision)
        self.name = f"local:{self.what}={model}"
        self.revision = self._files.revision
        """What the model's files are."""
        self._window = window
        self._batch = batch or batch_tokens(self.setting)
        self._answers: Answers[Item, Result] | None = None
        self.deviation: float | None = None
        """The largest difference of a score from that in float32, over some items; None in float32, or unmeasured."""

    @property
    def settings(self) -> dict[str, str]:
        """What decides the scores beside the model, for a person."""
        return {"precision": self.setting.dtype, "window": str(self._window or "the model's")}

    @abstractmethod
    def key(self, item: Item) -> str:
        """Names the item and all that can change its result."""

    @abstractmethod
    def _ask(self, loaded: Loaded) -> Answers[Item, Result]:
        """How the model in memory is asked."""

    def score(self, items: Sequence[Item]) -> Iterator[tuple[int, Result]]:
        """The index of each item and its result, in the order of computing.

        UsageError where the model fails, as for want of memory, or gives no number.
        """
        if not items:
            return
        try:
            self._answers = self._answers or self._start(items[:CHECKED])
            for index, said in self._answers(items):
                if not said.finite:
                    raise UsageError(f"{self.name} gives no finite number in {self.setting.dtype}; use --dtype float32")
                yield index, said
        except RuntimeError as error:  # how torch says that memory ran out or a device failed
            problem = str(error).strip().partition("\n")[0]
            raise UsageError(
                f"{self.name} failed on {self.setting.device}: {problem[:300]}. "
                f"If memory ran out: batches had {self._batch} tokens, give fewer; what was computed is kept"
            ) from error

    def _start(self, sample: Sequence[Item]) -> Answers[Item, Result]:
        loaded = load(self._files, self.kind, self.setting)
        answers = self._ask(loaded)
        if self.setting.dtype != "float32":
            exact = dict(answers(sample))
            reduce(loaded)
            self.deviation = max(
                abs((said.score or 0.0) - (exact[index].score or 0.0)) for index, said in answers(sample)
            )
        return answers
