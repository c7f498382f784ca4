"""What `claimeval perplexity` and `claimeval reward` do: samples from a file or a run, scored by a local model."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

from pydantic import JsonValue

from claimeval.cli.beside_a_run import Place, tell
from claimeval.cli.progress_line import ProgressLine
from claimeval.metrics.scoring import SampleScores
from claimeval.providers.local import perplexity, reward
from claimeval.providers.local.loading import describe
from claimeval.runs import scores
from claimeval.store.store import Store, cache_folder
from claimeval.types.errors import UsageError
from claimeval.types.records import Reason, Score


def batch(text: str) -> int | None:
    """The tokens of a batch; None for `auto`."""
    if text == "auto":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"--batch-size {text!r} is neither `auto` nor a number of tokens")
    return int(text)


def relevance_and_tell(
    scorer: perplexity.QuestionScorer,
    data: Path,
    *,
    out: Path | None,
    cache: Path | None,
    fields: tuple[str, ...],
    limit: int | None,
    cluster: str | None,
    as_json: bool,
) -> None:
    """Scores all retrieved texts and prints what they add up to."""
    place = Place(data, "perplexity", out=out, fields=fields, limit=limit, cluster=cluster)
    counts = {"texts": 0, "texts_cut": 0, "texts_in_windows": 0}
    with ExitStack() as stack:
        counter = _Counter(
            stack,
            scorer,
            sum(len(sample.contexts or ()) for sample in place.samples() if sample.question.strip()),
            "texts",
        )
        store = stack.enter_context(Store(cache_folder(cache)))
        found = perplexity.measure(place.samples(), scorer, store, on_scored=counter.add)
        summary = scores.write(
            place.folder, "perplexity", place.clustered(_rows(found, counts)), _settings(scorer), place.cluster
        )
    tell(summary, place.folder, _remarks(scorer.deviation, counts), as_json=as_json)


def _rows(found: Iterable[perplexity.ContextRelevance], counts: dict[str, int]) -> Iterator[SampleScores]:
    for relevance in found:
        counts["texts"] += len(relevance.texts)
        counts["texts_cut"] += sum(text.cut > 0 for text in relevance.texts)
        counts["texts_in_windows"] += sum(text.windows > 1 for text in relevance.texts)
        why: Reason | None = "missing_input" if relevance.because else None
        yield SampleScores(
            id=relevance.id,
            scores=tuple(Score(metric=m, value=v, because=why) for m, v in relevance.scores.items()),
            details={"texts": [text.model_dump(exclude_defaults=True) for text in relevance.texts]},
        )


def reward_and_tell(
    scorer: reward.RewardScorer,
    data: Path,
    *,
    out: Path | None,
    cache: Path | None,
    fields: tuple[str, ...],
    limit: int | None,
    cluster: str | None,
    as_json: bool,
) -> None:
    """Rates all answers and prints what they add up to."""
    place = Place(data, "reward", out=out, fields=fields, limit=limit, cluster=cluster)
    counts = {"answers_cut": 0}
    with ExitStack() as stack:
        counter = _Counter(stack, scorer, sum(bool(sample.answer) for sample in place.samples()), "answers")
        store = stack.enter_context(Store(cache_folder(cache)))
        found = reward.measure(place.samples(), scorer, store, on_scored=counter.add)
        summary = scores.write(
            place.folder,
            "reward",
            place.clustered(_rewards(found, counts)),
            _settings(scorer),
            place.cluster,
        )
    tell(summary, place.folder, _remarks(scorer.deviation, counts), as_json=as_json)


REWARD_REASONS: dict[reward.Missing, Reason] = {
    "no question": "missing_input",
    "no answer": "missing_input",
    "question too long": "too_long",
}


def _rewards(found: Iterable[reward.SampleReward], counts: dict[str, int]) -> Iterator[SampleScores]:
    for answer in found:
        counts["answers_cut"] += answer.cut > 0
        why = REWARD_REASONS[answer.because] if answer.because else None
        yield SampleScores(
            id=answer.id,
            scores=(Score(metric=reward.METRIC, value=answer.score, because=why),),
            details={"tokens_cut": answer.cut} if answer.cut else {},
        )


class _Counter:
    """Shows how many items are done, and for how long the rest keeps the machine busy."""

    def __init__(
        self, stack: ExitStack, scorer: perplexity.QuestionScorer | reward.RewardScorer, total: int, items: str
    ) -> None:
        print(f"claimeval: {scorer.name} on {describe(scorer.setting)}", file=sys.stderr)
        self._line = stack.enter_context(ProgressLine(sys.stderr))
        self._total = total
        self._items = items
        self._done = self._before = 0
        self._since = 0.0

    def add(self, number: int) -> None:
        """So many more are done."""
        self._done += number
        if number > 1 or not self._before:  # they were in the store, or waited for the weights: no measure of speed
            self._before, self._since = self._done, time.monotonic()
        self._line.draw(self._text)

    def _text(self) -> str:
        done = f"{self._done}/{self._total} {self._items}"
        if self._done == self._before:
            return done
        seconds = (time.monotonic() - self._since) / (self._done - self._before) * (self._total - self._done)
        return f"{done}  {int(seconds) // 60}:{int(seconds) % 60:02d} left"


def _settings(scorer: perplexity.QuestionScorer | reward.RewardScorer) -> dict[str, str]:
    return {"model": scorer.name, "revision": scorer.revision, **scorer.settings}


def _remarks(deviation: float | None, counts: dict[str, int]) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {**counts}
    if deviation is not None:
        found["largest_deviation_from_float32"] = float(f"{deviation:.2g}")
    return found
