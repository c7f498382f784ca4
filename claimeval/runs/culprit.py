"""The culprit of a difference between two runs: one sentence that says what changed, and what it
rests on.

`because` stands only before a part that was computed by exchanging it (`causes`). What changed at
the same time, such as answers of questions that lost a document, is said to have changed together.
A cause is named where the metric differs surely, or where a group of samples differs that is
defined by its inputs alone, never by its verdicts.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from shlex import join
from statistics import stdev
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeVar, get_args

from claimeval.runs.causes import (
    CAUSES,
    CHANCE,
    RETRIEVAL,
    Cause,
    CauseSlice,
    Culprit,
    DocumentChange,
    Totals,
    plain_field,
)
from claimeval.runs.drift import CHANCE as DRIFT
from claimeval.runs.drift import Relabeled, served_otherwise
from claimeval.runs.input_changes import NAMED, InputChanges, most_frequent, quoted
from claimeval.runs.inputs import Facts, Kind
from claimeval.runs.judge_and_inputs import InputsPart, JudgeAndInputs, kinds_read, split
from claimeval.runs.slices import Facet
from claimeval.statistics import holm
from claimeval.statistics.formatting import DIGITS, decimal, digits_of, number_of, p_value, signed
from claimeval.statistics.intervals import sign_flip_test
from claimeval.types.records import REASONS as WHY_MISSING

T = TypeVar("T")
if TYPE_CHECKING:
    from pathlib import Path

    from claimeval.evaluation.manifest import Manifest
    from claimeval.evaluation.summary import Summary
    from claimeval.runs.compare import PairedValues
    from claimeval.runs.overview import MetricComparison

SURE = 0.01
GROUP_CHANCE = 0.01
"""Adjusted p below which the cause of a metric is named, as the sentence picks one of many; below
which a metric or a changed document differs beyond chance; and below which other groups do, of
which there are many."""
GROUP = 6
"""Smallest group that is tested."""
GATE = 0.1
"""Share of the samples from which missing answers, refusals and missing scores are said first."""
MOST = 0.8
FEW = 0.6
"""A slice holds a cause if it has the first share of it, with at most the second share of the
samples."""
BY_CHANCE = 0.001
"""Largest probability that all samples of a cause are in a slice by chance."""
DOCUMENTS = 20
"""Documents that are listed."""
REASONS = {
    "label": "because claims have a label in one run only, in {own}",
    "several": "together with {inputs}: they changed at once, in {own}",
    "order": "because the same documents are in another order, in {order}",
    "evidence": "because the evidence is another one, in {own}",
    "reference": "because the gold answers changed, in {gold}",
    "question": "because the questions or their history changed, in {asked}",
}
"""What is said of a cause that is described in one way."""
ALSO = 0.1
"""Share of a difference from which a second cause that is beyond chance is named too."""
APART = 0.5
"""Share of a difference from which the judging, or the inputs, may be a reason for it although they
are not beyond chance."""
JUDGE = 0.01
"""Largest probability of a judge that did not change, below which it is said to have changed where
a metric differs surely and other labels on the same claims and evidence make most of it."""
UNSHARED = 0.05
"""Share of the questions of a run from which it is said first that the other run lacks them."""
GROUPS = {
    **NAMED,
    "recut": "documents are cut otherwise",
    "order": "the same documents are in another order",
    "gold": "the gold answers changed",
    "question": "the questions changed",
    "spelling": "the same questions are written otherwise",
    "history": "the conversation before the question changed",
    "answer": "the answers changed on the same documents",
    "slice": "inputs changed in {},",
}
"""What defines a group of samples, in words."""
IN_PLURAL: dict[str, str] = {
    "not_retrieved": "stand in a passage that was not retrieved",
    "split": "are split over adjacent chunks",
    "spread": "need passages far apart",
    "unused": "were retrieved and not used",
    "contradicted": "are contradicted by the corpus",
    "not_near": "have nothing near them",
}
"""Each cause as the verb of several claims, as `compare` counts them."""


class _SampleGroup(NamedTuple):
    """A group of samples and how a metric differs in it."""

    kind: str
    name: str
    samples: list[int]
    metric: str
    mean: float
    p: float

    @property
    def words(self) -> str:
        """What defines the group, and how the metric moved."""
        what = GROUPS[self.kind].format(self.name)
        moved = _moved(self.metric, self.mean)
        return f"{what} for {number_of(len(self.samples), 'question')}, and their {moved}"


@dataclass(frozen=True)
class Case:
    """A comparison whose culprit is looked for."""

    facts: Sequence[Facts]
    """What differs in the inputs of each sample."""
    facets: Sequence[Facet]
    """The values of the samples of run b in each field."""
    metrics: Mapping[str, MetricComparison]
    paired: PairedValues
    """The values of the metrics that are the runs' own."""
    totals: tuple[Totals, Totals]
    runs: Sequence[tuple[Path, Manifest, Summary]]
    settings: Sequence[str]
    """Settings that differ, in words."""
    repeated: Callable[[], tuple[int, int]]
    """Counts the samples that only a or only b has and whose question is in both."""
    relabeled: Relabeled
    """Samples that are judged otherwise on the same claims and evidence."""
    without: Collection[int] = ()
    """Samples whose inputs do not count, as they have no score of the metric in question."""

    def culprit(self) -> Culprit:
        """Name the culprit: first what makes a comparison of means misleading, then the cause, and
        whether the judge behind a name changed."""
        found = self._unfinished()
        if not found:
            found = self._among_shared()
            # Means over other questions are no comparison: where run b lacks 24 of 120, this comes
            # first, and the rest is about the 96 in both.
            if first := self._unshared():
                over = f"{first} Over the {self._n:,} in both"
                sentence = re.sub(r"^(No|Run) ", lambda word: word[0].lower(), found.sentence)
                found = found.model_copy(update={"sentence": f"{over}, {sentence}"})
        # A provider that serves another model moves scores also where a prompt or the answers
        # changed (`served_model_and_answers` in `benchmarks/culprit.py`), so it is said beside any
        # other cause.
        _, _, served = self._judge_changed.partition(": ")
        if served and served not in found.sentence:
            sentence = f"{found.sentence.removesuffix('.')}; {self._judge_changed}."
            found = found.model_copy(update={"sentence": sentence})
        return found

    def _among_shared(self) -> Culprit:
        """Return the culprit among the samples of both runs."""
        for gate in (
            self._missing,
            self._refusals,
            self._claimless,
            self._unscored,
            self._samples,
        ):
            if found := gate():
                return found
        if self._head is None or self._head.difference.value is None:
            return self._said("No sample has a score in both runs.")
        if all(manifest.job == "locate" for _, manifest, _ in self.runs):
            return self._located(self._head)
        return self._because(self._head) if _p(self._head) < SURE else self._unsure(self._head)

    def _said(
        self,
        sentence: str,
        metric: str | None = None,
        cause: str | None = None,
        samples: Mapping[int, float] = MappingProxyType({}),
        separate: str | None = None,
    ) -> Culprit:
        """Return a sentence with what it rests on; `samples` are what the cause adds to each
        sample, by number."""
        head = self.metrics.get(metric or "", self._head)
        name = head.metric if head else None
        return Culprit(
            sentence=sentence,
            metric=name,
            significant=bool(head and _significant(head)),
            cause=cause,
            causes=head.because if head else (),
            documents=tuple(self._documents(name)),
            slices=tuple(self._slices(samples)),
            separate=separate,
        )

    @property
    def _n(self) -> int:
        return len(self.facts)

    @cached_property
    def _changes(self) -> InputChanges:
        return InputChanges(self.facts, self.without)

    @property
    def _adds(self) -> Callable[..., dict[int, float]]:
        """Returns what each sample adds to a metric because of causes."""
        return self.paired.causes.by_sample

    @cached_property
    def _own(self) -> list[str]:
        return [name for name in self.paired.values if name in self.metrics]

    @cached_property
    def _head(self) -> MetricComparison | None:
        """The metric that differs most, of those that do so most surely; shares before other
        units."""

        def rank(metric: MetricComparison) -> tuple[bool, bool, bool, bool, float]:
            """Return what puts a metric first."""
            return (
                metric.difference.value is not None,
                _p(metric) < SURE,
                _significant(metric),
                self.paired.units.get(metric.metric) == "share",
                abs(_value(metric)),
            )

        return max(self.metrics.values(), key=rank, default=None)

    @cached_property
    def _judging(self) -> list[str]:
        others = ("data: ", "extract", "claimeval", "metrics: ")
        return _cut([line for line in self.settings if not line.startswith(others)])

    @cached_property
    def _extraction(self) -> list[str]:
        return _cut([line for line in self.settings if line.startswith("extract")])

    @cached_property
    def _served(self) -> tuple[str, ...]:
        """The judges whose servers named other models, in words."""
        before, after = ((manifest, summary) for _, manifest, summary in self.runs)
        return served_otherwise(before, after)

    @cached_property
    def _judge_changed(self) -> str:
        """Whether the judge behind a name changed, in words; empty if nothing shows it."""
        if self._served:
            return "; ".join(self._served)
        # Other settings are said by themselves, and move labels one way.
        return "" if self._judging else self._moved_one_way(DRIFT)

    def _other_judging(self, chance: float = DRIFT) -> str:
        """Return what changed in the judging, in words that follow "because"; empty if nothing
        shows that anything did. `chance` is for labels that moved one way."""
        found = []
        if self._judging:
            found.append(f"the judging changed ({'; '.join(self._judging)})")
        if self._extraction:
            found.append(f"the extraction changed ({'; '.join(self._extraction)})")
        if changed := self._judge_changed or (not found and self._moved_one_way(chance)):
            what, _, shown = changed.partition(": ")
            found.append(f"{what} ({shown})")
        return " and ".join(found)

    @property
    def _unsteady(self) -> str:
        """What gives other values for the same inputs and settings."""
        if any(manifest.judges for _, manifest, _ in self.runs):
            return "the judges disagree with themselves"
        # A function keeps its name when its code changes.
        return "the metrics, which ask no judge, have other values"

    def _moved_one_way(self, chance: float) -> str:
        """Return that the judge changed, if labels of the same claims and evidence moved one way
        more surely than this chance; else nothing."""
        if self.relabeled.p >= chance:
            return ""
        return f"the judge changed behind its name: {self.relabeled.words}"

    def _located(self, head: MetricComparison) -> Culprit:
        """Return how many failed claims have another cause in the second run."""
        moved = list[str]()
        for cause, words in IN_PLURAL.items():
            if cause in self.metrics and _p(self.metrics[cause]) < SURE:
                before, after = self._sums(cause)
                more = "more" if after > before else "fewer"
                counts = f"{before:,.0f} in a, {after:,.0f} in b"
                moved.append(f"{abs(after - before):,.0f} {more} {words} ({counts})")
        corpora = {manifest.settings.get("digest") for _, manifest, _ in self.runs}
        since = "" if len(corpora) == 1 else ", and the corpus is another"
        if not moved:
            return self._said(f"No cause of failed claims differs beyond chance{since}.")
        return self._said(f"Of the failed claims {', '.join(moved)}{since}.", head.metric)

    def _sums(self, name: str) -> tuple[float, float]:
        """Return the sums of a metric over the samples that have it in both runs."""
        before = after = 0.0
        for a, b in self.paired.values[name]:
            if a is not None and b is not None:
                before += a
                after += b
        return before, after

    # what makes a comparison of means misleading

    def _unfinished(self) -> Culprit | None:
        for letter, (_, manifest, summary) in zip(
            "ba",
            reversed(self.runs),
            strict=True,
        ):
            if not summary.complete:
                planned = max(manifest.data.samples or 0, *(one.samples for *_, one in self.runs))
                of = f" of {planned:,}" if planned > summary.samples else ""
                first = (
                    f"Run {letter} is not finished ({summary.samples:,}{of} questions; its command"
                    " again resumes it)."
                )
                if summary.decided:
                    first = f"Run {letter} {summary.stopped}."
                return self._apart(first, "unfinished", (), f"Over the {self._n:,} in both runs")
        return None

    @cached_property
    def _alone(self) -> tuple[int, int]:
        """The numbers of samples that only run a and only run b have."""
        a, b = (summary.samples - self._n for *_, summary in self.runs)
        return a, b

    @cached_property
    def _unshared_questions(self) -> tuple[int, int]:
        """The same, without those that repeat a question of both runs."""
        if not any(self._alone):
            return 0, 0
        a, b = (
            count - again
            for count, again in zip(
                self._alone,
                self.repeated(),
                strict=True,
            )
        )
        return a, b

    def _unshared(self) -> str:
        """Return which run lacks questions of the other one; nothing if they are few."""
        found = []
        for run, count in enumerate(self._unshared_questions):
            samples = self.runs[run][2].samples
            if count > UNSHARED * samples:
                letter, other = "ab"[run], "ba"[run]
                found.append(
                    f"run {other} lacks {count:,} of the {samples:,} questions of run {letter}"
                )
        sentence = " and ".join(found)
        return f"{sentence[0].upper()}{sentence[1:]}." if sentence else ""

    def _more(self, sides: Sequence[Sequence[T]]) -> tuple[int, Sequence[T]]:
        """Return the run that has more of something, and what it has; nothing if they are few."""
        run = int(len(sides[1]) >= len(sides[0]))
        more = len(sides[run]) - len(sides[1 - run])
        are_many = more >= max(2, GATE * self._n)
        return run, sides[run] if are_many else ()

    def _lacking(self, answer: str) -> tuple[int, Sequence[int]]:
        """Return the run that lacks more answers, and its samples."""
        found = [(of.lacking, i) for i, of in enumerate(self.facts) if of.answer == answer]
        return self._more([[i for lacking, i in found if lacking == run] for run in (0, 1)])

    def _missing(self) -> Culprit | None:
        run, samples = self._lacking("missing")
        if not samples:
            return None
        of_all = self._changes.of_all(len(samples))
        first = f"Run {'ab'[run]} lacks {of_all} answers{self._place(samples)}."
        return self._apart(first, "missing", samples, "Over the {:,} that both answer")

    def _refusals(self) -> Culprit | None:
        run, samples = self._lacking("refusal")
        if not samples:
            return None
        # A system that declines for want of a document is not to blame for declining.
        gone = sum(bool(self.facts[i].alone[1 - run]) for i in samples)
        along = ""
        if gone >= FEW * len(samples):
            along = f", {gone:,} of them without a document that run {'ba'[run]} has"
        first = (
            f"Run {'ab'[run]} does not answer {self._changes.of_all(len(samples))} questions that"
            f" run {'ba'[run]} answers{self._quoted(run, samples)}{along}{self._place(samples)}."
        )
        return self._apart(first, "refusals", samples, "Over the {:,} others")

    def _claimless(self) -> Culprit | None:
        run, samples = self._lacking("claimless")
        if not samples:
            return None
        first = (
            f"The answers of run {'ab'[run]} make no claim in"
            f" {self._changes.of_all(len(samples))} questions, and those of run {'ba'[run]}"
            f" do{self._quoted(run, samples)}{self._place(samples)}."
        )
        return self._apart(first, "claimless", samples, "Over the {:,} others")

    def _quoted(self, run: int, samples: Iterable[int]) -> str:
        """Return the answer that a run gives most often to these samples, in brackets."""
        text, _ = most_frequent(self.facts[i].texts[run] for i in samples)
        return f" ({quoted(text)})" if text else ""

    def _unscored(self) -> Culprit | None:
        for name in self._own:
            once = self.paired.causes.once[name]
            run, missing = self._more(
                [[one for one in once if one.is_b != bool(run)] for run in (0, 1)]
            )
            if missing:
                (why, _), *_ = Counter(one.why for one in missing).most_common(1)
                why = "; ".join([why, *self._stated(why)])
                samples = [one.order for one in missing]
                counted = f"{len(missing):,} of {self._n:,} questions"
                first = (
                    f"Run {'ab'[run]} has no {name} for {counted} that have one in run {'ba'[run]}"
                    f" ({why})"
                )
                first += f"{self._place(samples)}."
                found = self._apart(first, "score", samples, "Over the {:,} others")
                others = replace(self, without=frozenset(samples))
                return others._with_cause(found, name)
        return None

    def _with_cause(self, found: Culprit, name: str) -> Culprit:
        """Add why a metric moved over the samples that have it in both runs, if it is the one that
        the sentence names: samples without a score add nothing to its causes."""
        end = f"{_moved(name, _value(self.metrics[name]))}."
        if found.metric != name or not found.sentence.endswith(end):
            return found
        because = self._because(self.metrics[name])
        sentence = found.sentence.removesuffix(end) + because.sentence
        return found.model_copy(update={"sentence": sentence, "separate": because.separate})

    def _stated(self, why: str) -> Sequence[str]:
        """Return the setting that explains why a score is missing: answers may cite nothing because
        their numbers in brackets are stated to be no citations."""
        if why != WHY_MISSING["no_citations"]:
            return ()
        return [line for line in self.settings if line.startswith("numbering: ")]

    def _samples(self) -> Culprit | None:
        """Return the sentence on samples of one run only, if they make most of a difference that is
        beyond chance and are not said first."""
        if self._unshared():
            return None
        found: list[tuple[float, str, int, int]] = []
        for name in self._own:
            metric = self.metrics[name]
            value = sum(abs(part.value) for part in metric.because if part.cause == "samples")
            if value <= max(0.01, abs(metric.change or 0.0) / 2):
                continue
            found += [(value, name, run, count) for run, count in self._unlike_others(name)]
        if not found:
            return None
        _, name, run, count = max(found)
        metric = self.metrics[name]
        again = self.repeated()[run]
        repeat = f" ({again} repeat a question)" if again else ""
        same = "does not differ beyond chance"
        if _significant(metric):
            same = f"differs by {metric.change_in_words.lstrip('+-')}"
        why = f"because of {number_of(count, 'sample')} that only run {'ab'[run]} has{repeat}"
        moved = _moved(name, metric.change or 0.0, _digits(metric))
        text = f"{moved}, {why}; over the {self._n:,} in both it {same}."
        # What moves another metric over the samples of both is no part of it.
        if self._head and self._head.metric != name and _p(self._head) < SURE:
            text += f" There, {self._because(self._head).sentence}"
        return self._said(text, name, "samples")

    def _unlike_others(self, name: str) -> Iterator[tuple[int, int]]:
        """Yield each run whose samples that only it has differ from its others beyond chance, with
        their number."""
        for run, (count, deviation) in enumerate(self.paired.causes.lone(name, self.totals)):
            known = [one for pair in self.paired.values[name] if (one := pair[run]) is not None]
            spread = stdev(known) if len(known) > 1 else 0.0
            # 2.6 standard deviations are a chance of 1% (`SURE`): a few samples more differ
            # from the others by chance.
            if count and abs(deviation / count) > 2.6 * spread * math.sqrt(1 + 1 / count):
                yield run, count

    def _apart(self, first: str, cause: str, samples: Collection[int], over: str) -> Culprit:
        """Return a sentence on what is missing, and on what holds for the other samples.

        A metric is named that differs beyond chance both there and, so that the table does not
        call it chance, over all samples.
        """
        without = set(samples)
        left = [i for i in range(self._n) if i not in without]
        means: dict[str, float] = {}
        chances: list[float] = []
        for name in self._own:
            mean, p, _ = self._test(name, left)
            if p is not None:
                means[name] = mean
                chances.append(p)
        if not means:
            return self._said(first, None, cause)
        sure = []
        for name, p in zip(means, holm(chances), strict=True):
            of_all = self.metrics[name]
            # Without the second condition the sentence names a metric that the table beside it
            # calls chance.
            if p < SURE and _significant(of_all) and _value(of_all) * means[name] > 0:
                sure.append(name)
        name = max(sure, key=lambda name: abs(means[name]), default="")
        rest = _moved(name, means[name]) if name else "no metric differs beyond chance"
        return self._said(f"{first} {over.format(len(left))}, {rest}.", name or None, cause)

    # a metric that differs surely

    def _because(self, metric: MetricComparison) -> Culprit:
        """Return the sentence on a metric that differs surely enough to name the cause."""
        name = metric.metric
        change = _value(metric)
        head = _moved(name, change, _digits(metric))
        sums = defaultdict[Cause, float](float)
        for part in metric.because:
            if part.cause not in ("score", "samples"):
                sums[part.cause] += part.value
        self._merge(name, sums)
        cause = max(sums, key=lambda cause: sums[cause] * change)
        judging = self._other_judging(JUDGE if cause == "disagreement" else DRIFT)
        if judging and (found := self._apportioned(metric, head, judging)):
            return found
        if sums[cause] * change <= 0:
            return self._said(f"{head}, and no single cause explains it.", name)
        samples = self._adds(name, cause)
        if cause in ("answer", "longer", "shorter"):
            # Of answers that changed, some happen to be longer and some shorter; `_merge` has made
            # them one cause.
            samples = self._adds(name, "answer", "longer", "shorter")
        why, named, separate = self._why(name, cause, samples)
        also = self._second(name, sums, cause)
        if cause not in ("question", "several", "disagreement"):
            also += self._asked_otherwise(i for i, value in samples.items() if value)
        return self._said(f"{head}, {why}{also}.", name, named, samples, separate)

    def _why(
        self, name: str, cause: Cause, samples: Mapping[int, float]
    ) -> tuple[str, str | None, str | None]:
        """Return what is said of the largest cause, the cause if it is one, and the commands that
        tell apart what changed with it."""
        place = self._place(samples)
        if cause == "disagreement":
            why = self._judged_otherwise(samples)
            return why, cause if self._moved_one_way(JUDGE) or self._judge_changed else None, None
        if cause == "extraction":
            settings = ", though the extractor is the same"
            if self._extraction:
                settings = f": {'; '.join(self._extraction)}"
            return f"because other claims are taken from the same texts{settings}", cause, None
        if cause in RETRIEVAL:
            return self._by_documents(name, cause, samples), cause, None
        if cause in REASONS:
            counts = {
                kind: f"{self._changes.of_all(self._changes.count(kind))} questions"
                for kind in get_args(Kind)
            }
            own = number_of(sum(map(bool, samples.values())), "question")
            asked = f"{self._changes.of_all(self._changes.count('question', 'history'))} questions"
            inputs = self._changes.in_words()
            said = REASONS[cause].format(own=own, inputs=inputs, asked=asked, **counts)
            return f"{said}{place}", cause, None
        return f"{self._changes.of_answers(cause, samples)}{place}", cause, None

    def _by_documents(self, name: str, cause: Cause, samples: Mapping[int, float]) -> str:
        """Return what retrieval does otherwise, and whether answers changed together with it more
        than the verdicts on the same answers."""
        alone, along = (
            abs(sum(self._adds(name, cause, together=flag).values())) for flag in (False, True)
        )
        changed = f"{self._retrieval(name, cause)}{self._changes.fields(samples)}"
        changed += self._place(samples)
        # `because` is for what was computed by exchanging it alone; an answer that changed with its
        # document was never exchanged.
        if alone < along:
            return f"where {changed}, and the answers changed together with it"
        return f"because {changed}"

    def _judged_otherwise(self, samples: Mapping[int, float]) -> str:
        """Return what is said where labels of the same claims and evidence make most of a
        difference: the judge changed, or it disagrees with itself."""
        inputs = self._changes.in_words()
        beside = f", with {inputs}" if inputs else ""
        if changed := self._judge_changed or self._moved_one_way(JUDGE):
            return f"because {changed}{beside}"
        if self._changes.none:
            return f"though inputs and settings are the same: {self._unsteady}"
        own = number_of(sum(map(bool, samples.values())), "question")
        return f"by other labels on the same texts, in {own}{beside}"

    def _second(self, name: str, sums: Mapping[Cause, float], first: Cause) -> str:
        """Return what a second cause adds, if it makes a good part of the difference and not by
        chance."""
        others = {cause: value for cause, value in sums.items() if cause != first}
        cause = max(others, key=lambda cause: abs(others[cause]), default=None)
        change = _value(self.metrics[name])
        if cause is None or abs(others[cause]) < ALSO * abs(change):
            return ""
        added = self._adds(name, cause)
        clusters = [self.paired.clusters[i] for i in added]
        # Labels that a judge gives otherwise by itself add up to something in every comparison.
        if (sign_flip_test([*added.values()], clusters=clusters).p or 0) >= SURE:
            return ""
        return f"; {signed(others[cause])} of it comes from {CAUSES[cause]}"

    def _asked_otherwise(self, samples: Iterable[int]) -> str:
        """Return that questions changed too, if they did in most of the samples that a cause moves:
        nothing then tells the one from the other."""
        moved = list(samples)
        asked: tuple[Kind, ...] = ("question", "history")
        both = sum(not self.facts[i].kinds.isdisjoint(asked) for i in moved)
        if not both or both < FEW * len(moved):
            return ""
        return (
            f"; the questions changed too, in {self._changes.of_all(self._changes.count(*asked))}"
        )

    def _retrieval(self, name: str, cause: Cause) -> str:
        """Return what happened to the documents: to one that is named, or to all of them."""
        part = next(part for part in self.metrics[name].because if part.cause == cause)
        if part.name:
            return self._changes.of_document(part)
        return self._changes.of_documents(cause)

    def _merge(self, name: str, sums: defaultdict[Cause, float]) -> None:
        """Add parts to the cause that they cannot be told from."""
        if self._judging or self._extraction:
            sums["judge" if self._judging else "extraction"] += sums.pop("several", 0.0)
        for cause in RETRIEVAL:
            if cause in sums and self._elsewhere(name, cause):
                moved = sum(self._adds(name, cause, together=True).values())
                sums[cause] -= moved
                sums["answer"] += moved
        forms: tuple[Cause, ...] = ("longer", "shorter", "answer")
        most = max(forms, key=lambda form: abs(sums.get(form, 0.0)))
        sums[most] = sum(sums.pop(form, 0.0) for form in forms)

    def _elsewhere(self, name: str, cause: Cause) -> bool:
        """Return whether answers changed as much where the documents are the same, so that these
        are not the reason."""
        along = self._adds(name, cause, together=True)
        same = [i for i, of in self._changes.numbered.items() if "documents" not in of.kinds]
        if not along or len(same) < GROUP:
            return False
        plain = self._adds(name, "answer", "longer", "shorter")
        mean = sum(plain.get(i, 0.0) for i in same) / len(same)
        of_cause = sum(along.values()) / max(len(self._changes.having(cause)), len(along))
        # A generator that got worse everywhere (`longer_answers_and_lost_document`) is not to be
        # blamed on the document that some of the questions lost.
        return mean * of_cause > 0 and abs(mean) > abs(of_cause) / 2

    # a difference for which both the judging and the inputs may be the reason

    def _parts(self, name: str) -> tuple[Sequence[Kind], JudgeAndInputs | None]:
        """Return the inputs that a metric reads, and what the judging and they add to its
        difference."""
        read = kinds_read(self.paired.metrics.get(name))
        differences = {
            i: b - a
            for i, (a, b) in enumerate(self.paired.values.get(name, ()))
            if a is not None and b is not None
        }
        parts = split(
            differences,
            self.facts,
            self.paired.clusters,
            read,
        )
        return read, parts

    def _apportioned(self, metric: MetricComparison, head: str, judging: str) -> Culprit | None:
        """Return the sentence on a metric where the judging changed; None if it moves nothing and
        no setting differs."""
        name = metric.metric
        read, parts = self._parts(name)
        inputs = self._changes.in_words(read)
        own: Cause = "extraction" if self._extraction else "disagreement"
        if self._judging:
            own = "judge"
        adds = self._adds(name, own, "several") if own != "disagreement" else self._adds(name, own)
        if not inputs and own == "extraction" and not self._judging:
            return None
        if not inputs:
            return self._said(
                f"{head}, {self._judged_alone(judging)}.",
                name,
                own,
                adds,
            )
        separate = self._separate()
        few = APART * abs(_value(metric))
        if parts and parts.p < SURE and parts.beyond(SURE):
            shares = self._shares(
                parts,
                judging,
                read,
                _digits(metric),
            )
            return self._said(
                f"{head}: {shares}.",
                name,
                own,
                adds,
                separate,
            )
        # Inputs that may be much of the difference are not said to add nothing, even within chance.
        if parts and parts.p < SURE and parts.is_small("inputs", few):
            text = f"{head}, because {judging}; inputs differ too, {inputs}, and add nothing beyond"
            return self._said(
                f"{text} chance.",
                name,
                own,
                adds,
                separate,
            )
        if parts and parts.beyond(SURE) and parts.is_small("judging", few):
            if not (self._judging or self._extraction):
                return None
            with_these = self._groups_in_words(parts.beyond(SURE), read)
            text = f"{head} with {with_these}; {judging}, which moves nothing beyond chance for the"
            text += f" {number_of(parts.same, 'question')} with the same inputs."
            return self._said(
                text,
                name,
                "several",
                adds,
                separate,
            )
        text = f"{head} while {judging}, together with {inputs}."
        return self._said(
            text,
            name,
            "several",
            adds,
            separate,
        )

    def _judged_alone(self, judging: str) -> str:
        """Return what is said where nothing that a metric reads differs but the judging."""
        if self._judging and self._changes.none:
            return f"because the judging changed, not the system: {'; '.join(self._judging)}"
        if self._judging:
            return f"because {judging}"
        return f"because {self._judge_changed or self._moved_one_way(JUDGE)}"

    def _shares(
        self, parts: JudgeAndInputs, judging: str, read: Sequence[Kind], digits: int
    ) -> str:
        """Return what the judging and inputs add, in words."""
        shares = [
            f"about {signed(part.value, digits)} with {self._groups_in_words([part], read)}"
            for part in parts.beyond(SURE)
        ]
        return " and ".join([f"about {signed(parts.judging, digits)} because {judging}", *shares])

    def _groups_in_words(self, parts: Sequence[InputsPart], read: Sequence[Kind]) -> str:
        """Return the inputs that changed in groups of samples."""
        return " and ".join(
            self._changes.of_group(part.kind, part.samples, answers="answer" in read)
            for part in parts
        )

    def _separate(self) -> str | None:
        """Return the commands that tell other judging from other inputs."""
        if not self._judging:
            return None
        (a, *_), (b, manifest, _) = self.runs
        judge = "claimeval", "rejudge", str(a), *_judging(manifest), "-o", f"{a}-again"
        return f"{join(judge)} && {join(('claimeval', 'compare', f'{a}-again', str(b)))}"

    # no metric that differs surely

    def _unsure(self, metric: MetricComparison) -> Culprit:
        """Return the sentence where no metric differs surely: a group that differs beyond chance,
        else what differs."""
        head = "No difference beyond chance"
        yet = "No overall difference beyond chance, yet"
        end = ""
        if _significant(metric):
            moved = _moved(metric.metric, _value(metric), _digits(metric))
            head = f"{moved} (adjusted p {p_value(metric.p_adjusted)})"
            yet = f"{head}, and"
            end = "; too unsure to name a cause"
        groups = [] if self._judging or self._extraction else self._groups_beyond_chance()
        if not groups and (opposite := self._opposite(yet)):
            return opposite
        if groups:
            first = groups[0]
            other = next(
                (one for one in groups if one.kind in RETRIEVAL and one.name != first.name), None
            )
            text = f"{yet} {first.words}{self._place(first.samples)}"
            text += f"; {other.words}" if other else ""
            if first.kind not in ("question", "history", "slice"):
                text += self._asked_otherwise(first.samples)
            text += "."
            return self._said(
                text, first.metric, first.kind, dict.fromkeys(first.samples, first.mean / self._n)
            )
        if self._equal:
            apart = any(self._alone) and not self._unshared()
            both = f" of the {self._n:,} samples in both" if apart else ""
            return self._said(
                f"No difference: inputs, settings and scores{both} are the same.", metric.metric
            )
        return self._said(f"{head}{self._differing()}{end}.", metric.metric)

    def _opposite(self, yet: str) -> Culprit | None:
        """Return the sentence on a metric of which the judging and inputs move much and, as they
        do so in opposite directions, the whole little."""
        judging = self._other_judging()
        found = []
        for name in self._own if judging else ():
            read, parts = self._parts(name)
            # One of several metrics is picked.
            chance = SURE / len(self._own)
            if parts and parts.p < chance and parts.beyond(chance):
                found.append((abs(parts.judging), name, parts, read))
        if not found:
            return None
        _, name, parts, read = max(found, key=lambda one: one[0])
        shares = self._shares(
            parts,
            judging,
            read,
            DIGITS,
        )
        return self._said(f"{yet} {name} moved {shares}.", name, "several")

    @property
    def _equal(self) -> bool:
        """Whether inputs, settings and scores of the samples in both runs are the same."""
        scores = all(
            x == y for x, y in chain.from_iterable(values for values in self.paired.values.values())
        ) and not any(_value(metric) for metric in self.metrics.values())
        return scores and self._changes.none and not (self._judging or self._extraction)

    def _differing(self) -> str:
        """Return what differs where no difference is beyond chance."""
        inputs = self._changes.in_words()
        if settings := (*self._judging, *self._extraction):
            beside = f" and {inputs}" if inputs else ""
            return f", with other judging ({'; '.join(settings)}){beside}"
        if self._n < GROUP:
            return f": {number_of(self._n, 'sample')} can show none"
        if inputs:
            return f", with {inputs}"
        if order := self._changes.count("order"):
            of_all = self._changes.of_all(order)
            return f": the same documents in another order ({of_all} questions)"
        same = ": inputs and settings are the same"
        if not self.relabeled.samples:
            return same
        questions = number_of(self.relabeled.samples, "question")
        return f"{same}, and {self._unsteady} on {questions}"

    def _groups(self) -> Iterator[_SampleGroup]:
        """Yield groups of samples that are defined by their inputs alone; a slice has those whose
        inputs differ."""
        groups: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for i, of in enumerate(self.facts):
            if not of.kinds:
                continue
            # A group by other documents is tested by the name of each, and answers that changed
            # with documents are no group of their own.
            named = of.kinds - {"documents", "answer"} if "documents" in of.kinds else of.kinds
            keys: list[tuple[str, str]] = [*of.documents]
            keys += [(kind, "") for kind in named]
            keys.sort()
            for field, values, codes in self.facets:
                if codes[i] >= 0:
                    keys.append(("slice", f"{plain_field(field)} = {values[codes[i]]}"))
            for key in keys:
                groups[key].append(i)
        for (kind, name), samples in groups.items():
            for metric in self._own if len(samples) >= GROUP else ():
                mean, p, n = self._test(metric, samples)
                if p is not None and n >= GROUP:
                    yield _SampleGroup(kind, name, samples, metric, mean, p)

    def _groups_beyond_chance(self) -> list[_SampleGroup]:
        """Return the groups that differ beyond chance, the surest first: those of documents, else
        others."""
        groups = list(self._groups())
        for chance, wanted in ((CHANCE, True), (GROUP_CHANCE, False)):
            family = [group for group in groups if (group.kind in RETRIEVAL) == wanted]
            adjusted = zip(holm([group.p for group in family]), family, strict=True)
            # Documents are a family of their own: among all slices and kinds, the correction would
            # hide a single lost document.
            if sure := [(p, -abs(group.mean), group) for p, group in adjusted if p < chance]:
                return [group for *_, group in sorted(sure, key=lambda one: one[:2])]
        return []

    # arithmetic

    def _test(self, name: str, samples: Iterable[int]) -> tuple[float, float | None, int]:
        """Return the mean difference of samples, its p-value, and their number; clusters are
        flipped whole."""
        pairs = self.paired.values.get(name)
        clusters = self.paired.clusters
        values = ((i, *pairs[i]) for i in samples) if pairs else ()
        differences: list[float] = []
        of_values: list[int] = []
        for i, x, y in values:
            if x is not None and y is not None:
                differences.append(y - x)
                of_values.append(clusters[i])
        p = sign_flip_test(differences, clusters=of_values).p
        n = len(differences)
        return math.fsum(differences) / max(1, n), p, n

    def _split(self, samples: Mapping[int, float]) -> Iterator[list[CauseSlice]]:
        """Yield what samples add by the values of each field, largest part first."""
        total = math.fsum(samples.values())
        for field, values, codes in self.facets if total else ():
            sizes = Counter(codes)
            hits = Counter[int]()
            added = Counter[int]()
            for i, value in samples.items():
                added[codes[i]] += value  # type: ignore[assignment]  # sums of floats
                hits[codes[i]] += value * total > 0
            rows = (
                CauseSlice(
                    field=field,
                    value=values[code],
                    samples=sizes[code],
                    affected=hits[code],
                    contribution=value,
                    share=value / total,
                )
                for code, value in added.items()
                if code >= 0
            )
            yield sorted(rows, key=lambda row: -row.share)

    def _place(self, samples: Mapping[int, float] | Sequence[int]) -> str:
        """Return the smallest slice that holds most of what samples add, in words, unless it may do
        so by chance."""
        weights = samples if isinstance(samples, Mapping) else dict.fromkeys(samples, 1.0)
        found = [
            one for one in itertools.chain.from_iterable(self._split(weights)) if self._holds(one)
        ]
        return min(found, key=lambda one: one.samples).words if found else ""

    def _holds(self, one: CauseSlice) -> bool:
        """Return whether a slice holds a cause, and not by chance."""
        # A slice with 95% of the samples holds 95% of any cause.
        share = one.samples / self._n
        return one.share >= MOST and share <= FEW and share**one.affected <= BY_CHANCE

    def _slices(self, samples: Mapping[int, float]) -> list[CauseSlice]:
        """Return what the named cause adds by the field in which it is most uneven."""
        fields = [rows for rows in self._split(samples) if rows]
        uneven = max(
            fields,
            key=lambda rows: max(one.share - one.samples / self._n for one in rows),
            default=[],
        )
        return uneven[:8]

    def _documents(self, name: str | None) -> list[DocumentChange]:
        """Return the documents that changed, those that add most to the difference of a metric
        first."""
        values = self.paired.causes.documents(name or "")
        counts = Counter(itertools.chain.from_iterable(of.documents for of in self.facts))
        found = [
            DocumentChange(
                name=title, change=change, samples=count, value=values.get((change, title), 0.0)
            )
            for (change, title), count in counts.items()
        ]
        return sorted(found, key=lambda one: (-abs(one.value), -one.samples, one.name))[:DOCUMENTS]


def _judging(manifest: Manifest) -> Iterator[str]:
    """Yield the options of `rejudge` for the judges and the prompt of a run."""
    for judge in manifest.judges:
        yield from ("-j", f"{judge.model}@{judge.endpoint}" if judge.endpoint else judge.model)
    for prompt in manifest.prompts:
        if prompt.step == "assess":
            yield from ("--assess-prompt", prompt.name)


def _p(metric: MetricComparison) -> float:
    return 1.0 if metric.p_adjusted is None else metric.p_adjusted


def _significant(metric: MetricComparison) -> bool:
    return _p(metric) < CHANCE


def _value(metric: MetricComparison) -> float:
    return metric.difference.value or 0.0


def _digits(metric: MetricComparison) -> int:
    return digits_of(metric.difference.reported)


def _moved(name: str, change: float, digits: int = DIGITS) -> str:
    return f"{name} {'rose' if change > 0 else 'fell'} {decimal(abs(change), digits)}"


def _cut(settings: Sequence[str]) -> list[str]:
    """Return settings as a sentence has room for: the first two, without the addresses of
    servers."""
    # Two servers of one model differ in nothing but their addresses, which then stay.
    short = [re.sub(r"@https?://[^\s,;]+", "", line) for line in settings]
    found = [
        new if len(set(new.partition(": ")[2].split(" → "))) > 1 else line
        for new, line in zip(short, settings, strict=True)
    ]
    return [*found[:2], *([f"{len(found) - 2} more settings"] if len(found) > 2 else [])]
