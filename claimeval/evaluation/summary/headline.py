"""The first sentence of a run: what judges found, counted.

It counts labels, never scores above a threshold: an answer that is longer than the gold answer has
a low correctness and is right all the same. What a reader must not miss comes first:
contradictions, then facts of the gold answer that are missing, then claims that nothing supports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Literal, NamedTuple

from claimeval.evaluation.manifest import Manifest
from claimeval.metrics.rows import Metric
from claimeval.metrics.scoring import MetricSummary, counted
from claimeval.statistics.formatting import number_of
from claimeval.statistics.intervals import wilson_interval
from claimeval.types.records import COUNTED, NOT_APPLICABLE, Label, Part, SampleResult
from claimeval.types.scales import ABSTENTION, RELEVANCE

if TYPE_CHECKING:
    from claimeval.evaluation.summary.located import LocatedCauses

WORDS = 25
"""Most words of the sentence."""
ENOUGH = 20
"""Questions, or clusters, below which no cause is named."""
UNDECIDED = 0.1
"""Share of claims without a label from which the sentence begins with their number."""
PLACES: dict[Part, str] = {
    "contexts": "the documents",
    "reference": "the gold answer",
    "answer": "the answer",
    "reference_contexts": "the reference contexts",
    "evidence": "the evidence",
}
"""Names of parts in sentences."""

GROUNDED = "answer", "contexts"
CORRECT = "answer", "reference"
COVERED = "reference", "answer"
RETRIEVED = "reference", "contexts"


class SampleFacts(NamedTuple):
    """What the labels of one sample say of its answer, in numbers of claims.

    A number is 0 also where nothing was judged; the `all_` fields are true only if every claim has
    a label.
    """

    answered: bool = True
    declines: bool = False
    """The answer makes no claim."""
    lost: bool = False
    """Whether its claims, or those of the gold answer, could not be extracted."""
    claims: int = 0
    undecided: int = 0
    """Claims of which at least one label is open."""
    contradicts_gold: int = 0
    contradicts_documents: int = 0
    contradicts_alike: bool = False
    """Whether the claims that contradict the gold answer are those that contradict the
    documents."""
    lacks: int = 0
    """Claims of the gold answer that the answer does not have."""
    unsupported: int = 0
    """Claims of the answer that neither the documents support nor, if it was asked, the gold
    answer."""
    only_gold: int = 0
    """Claims that the gold answer supports and the documents do not have."""
    made_up: bool = False
    """Whether neither documents nor gold answer support any claim of the answer."""
    not_retrieved: int = 0
    """Claims of the gold answer that the documents do not have."""
    refuted_claims: int = 0
    """Those of them that the documents contradict."""
    gold: int = 0
    """Claims of the gold answer that were looked for in the documents."""
    all_grounded: bool = False
    all_covered: bool = False
    has_gold: bool = False
    """Whether claims of the gold answer were looked for in the answer."""
    none_contradicted: bool = False
    """Whether all claims were held against the gold answer and none contradicts it."""

    @property
    def refuted(self) -> bool:
        """Whether the documents contradict all claims that they do not have: then they lack
        nothing, and either the documents or the gold answer is wrong."""
        return 0 < self.not_retrieved == self.refuted_claims

    @property
    def judged(self) -> bool:
        """Whether a claim has all its labels."""
        return self.claims > self.undecided

    @property
    def fails(self) -> bool:
        """Whether something is wrong or missing in the answer."""
        return bool(
            self.contradicts_gold or self.contradicts_documents or self.lacks or self.unsupported
        )


Pair = tuple[Part, Part]
Labels = dict[Pair, dict[str, Label | None]]
"""The labels of claims by pair of claims and evidence."""


def labels_of(result: SampleResult, metrics: Mapping[Pair, Metric]) -> Labels:
    """Return the labels of the claims that the metric of each pair counts."""
    labels: Labels = {}
    part = {claim.id: claim.of for claim in result.claims}
    ids = {pair: counted(metric, result) for pair, metric in metrics.items()}
    for one in result.whole:
        pair = part.get(one.subject, ""), one.against
        if one.subject in ids.get(pair, ()):
            labels.setdefault(pair, {})[one.subject] = one.support
    return labels


def sample_facts(
    result: SampleResult,
    metrics: Mapping[Pair, Metric],
    labels: Labels | None = None,
) -> SampleFacts:
    """Return what the labels of a sample say.

    Args:
        result: The result of the sample.
        metrics: The metric of each pair of claims and evidence.
        labels: The labels, if they are known already.
    """
    labels = labels_of(result, metrics) if labels is None else labels
    grounded = labels.get(GROUNDED, {})
    correct = labels.get(CORRECT, {})
    covered = labels.get(COVERED, {})
    retrieved = labels.get(RETRIEVED, {})
    by_documents = _with(grounded, "contradicted")
    by_gold = _with(correct if CORRECT in metrics else covered, "contradicted")
    absent = _with(grounded, "not_found")
    in_gold = _with(correct, "supported")
    # A claim that nobody could hold against the gold answer is not known to be unsupported.
    open_gold = _with(correct, None)
    named = set[str]()
    undecided = set[str]()
    for of_pair in labels.values():
        named.update(of_pair)
        undecided |= _with(of_pair, None)
    answered = result.sample.answer is not None and bool(result.sample.answer.strip())
    of_answer = any("answer" in pair for pair in metrics)
    no_claims = result.unextracted.get("answer") == "no_claims"
    failed = {part for part, why in result.unextracted.items() if why not in NOT_APPLICABLE}
    not_retrieved = [label for label in retrieved.values() if label not in (None, "supported")]
    return SampleFacts(
        answered=answered or not of_answer,
        declines=answered and of_answer and no_claims,
        lost=any(part in failed for part, _ in metrics),
        claims=len(named),
        undecided=len(undecided),
        contradicts_gold=len(by_gold),
        contradicts_documents=len(by_documents),
        contradicts_alike=bool(by_gold) and by_gold == by_documents,
        lacks=list(covered.values()).count("not_found"),
        unsupported=len(absent - in_gold - open_gold - by_gold),
        only_gold=len(absent & in_gold),
        made_up=(
            _are_all(grounded, "not_found")
            and _are_all(correct, "not_found")
            and set(correct) == set(grounded)
        ),
        not_retrieved=len(not_retrieved),
        refuted_claims=not_retrieved.count("contradicted"),
        gold=sum(label is not None for label in retrieved.values()),
        all_grounded=_are_all(grounded, "supported"),
        all_covered=_are_all(covered, "supported"),
        has_gold=bool(covered),
        none_contradicted=bool(correct) and {None, "contradicted"}.isdisjoint(correct.values()),
    )


def _with(labels: Mapping[str, Label | None], label: Label | None) -> set[str]:
    return {claim for claim, found in labels.items() if found == label}


def _are_all(labels: Mapping[str, Label | None], label: Label) -> bool:
    return bool(labels) and set(labels.values()) == {label}


def pairs_of(metrics: Iterable[Metric]) -> dict[Pair, Metric]:
    """Return the first metric of each pair of claims and evidence that asks whether a text
    supports a claim."""
    pairs: dict[Pair, Metric] = {}
    for metric in metrics:
        if not metric.prompt:
            pairs.setdefault((metric.claims_of, metric.against), metric)
    return pairs


Kind = Literal[
    "contradicts_gold",
    "contradicts_documents",
    "contradicts_both",
    "lacks",
    "made_up",
    "unsupported",
    "only_gold",
    "not_retrieved",
    "refuted",
]
Cause = Literal["retrieval", "model"]
Verb = tuple[str, str]
"""What one answer does, and what several do."""

VERBS: dict[Kind, Verb] = {
    "contradicts_both": (
        "contradicts the gold answer and the documents",
        "contradict the gold answer and the documents",
    ),
    "contradicts_gold": ("contradicts the gold answer", "contradict the gold answer"),
    "contradicts_documents": ("contradicts the documents", "contradict the documents"),
    "lacks": ("lacks a part of the gold answer", "lack a part of the gold answer"),
    "made_up": ("is made up", "are made up"),
    "unsupported": (
        "makes claims that nothing supports",
        "make claims that nothing supports",
    ),
}


class HeadlineTally:
    """Counts what the first sentence of a run says, sample by sample."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._metrics = pairs_of(manifest.rows)
        self._ratings = RatingTally()
        self._located = _cause_tally(manifest)
        self._rated = any(question.subjects == "answer" for question in manifest.questions)
        self._grades = GradeTally()
        self._tells = manifest.tells_contradictions
        self.contradicted: Counter[str] = Counter()
        """Claims that the evidence contradicts, by metric; empty if no judge can say so."""
        self._samples = 0
        self._answers = 0
        self._declined = 0
        self._lost = 0
        """Answers that could not be judged."""
        self._open = 0
        """Answers with undecided claims and no fault among the others."""
        self._without_gold = 0
        """Judged answers to questions without a gold answer."""
        self._judged = 0
        """Answers with a label."""
        self._claims_seen = 0
        self._undecided = 0
        self._of: Counter[Kind] = Counter()
        """Answers by what is wrong with them."""
        self._claims: Counter[Kind] = Counter()
        """The claims of these answers."""
        self._gold = 0
        """Samples whose gold answer was looked for in the documents."""
        self._retrieval = 0
        """Failing answers to questions whose documents lack a part of the gold answer."""
        self._model = 0
        """Failing answers to questions whose documents have all of it."""
        self._grounded = 0
        self._complete = 0
        self._right = 0
        """Answers that have all of the gold answer and contradict none of it."""
        self._fine = 0
        """Of them, those that the documents support."""

    def add(self, result: SampleResult) -> None:
        """Add the result of a sample."""
        if self._located:
            self._located.add(result)
        elif self._rated:
            self._ratings.add(result)
        elif self._metrics:
            self._add_labels(result)
        else:
            self._grades.add(result)

    def _add_labels(self, result: SampleResult) -> None:
        labels = labels_of(result, self._metrics)
        if self._tells:
            for pair, metric in self._metrics.items():
                of_pair = labels.get(pair, {}).values()
                self.contradicted[metric.name] += list(of_pair).count("contradicted")
        facts = sample_facts(result, self._metrics, labels)
        self._samples += 1
        self._answers += facts.answered
        self._declined += facts.declines
        lost = facts.answered and facts.lost
        self._lost += lost
        self._open += bool(facts.undecided) and not facts.fails and not lost
        self._without_gold += facts.answered and facts.judged and not (facts.has_gold or lost)
        self._judged += facts.judged
        self._claims_seen += facts.claims
        self._undecided += facts.undecided
        # An answer that is not there is said to be missing, and not what it lacks.
        absent = SampleFacts(not_retrieved=facts.not_retrieved, refuted_claims=facts.refuted_claims)
        self._count(facts if facts.answered else absent)
        self._grounded += facts.all_grounded
        self._complete += facts.all_covered
        # Extra facts of a long answer are no fault, so a low correctness does not make an answer
        # wrong.
        right = facts.all_covered and facts.none_contradicted
        self._right += right
        self._fine += right and facts.all_grounded
        if facts.gold:
            self._gold += 1
            failed = facts.answered and (facts.fails or facts.declines)
            self._retrieval += failed and bool(facts.not_retrieved) and not facts.refuted
            self._model += failed and not facts.not_retrieved

    def _count(self, facts: SampleFacts) -> None:
        """Count an answer under each kind of fault that it has."""
        numbers: dict[Kind, int] = {
            "lacks": facts.lacks,
            "only_gold": facts.only_gold,
            "not_retrieved": 0 if facts.refuted else facts.not_retrieved,
            "refuted": facts.not_retrieved if facts.refuted else 0,
            "contradicts_gold": facts.contradicts_gold,
            "contradicts_documents": facts.contradicts_documents,
            "contradicts_both": facts.contradicts_gold if facts.contradicts_alike else 0,
            "made_up": facts.unsupported if facts.made_up else 0,
            "unsupported": 0 if facts.made_up else facts.unsupported,
        }
        for kind, number in numbers.items():
            if number:
                self._of[kind] += 1
                self._claims[kind] += number

    def headline(self, metrics: Mapping[str, MetricSummary]) -> str:
        """Return the sentence; empty if there is nothing to say.

        Args:
            metrics: The metrics of the run, for jobs that judge neither claims nor answers.
        """
        if self._located:
            return self._located.sentence()
        return self._of_labels(metrics)

    def _of_labels(self, metrics: Mapping[str, MetricSummary]) -> str:
        # A run in which every answer declines has no score, and still says something about the
        # system.
        if all(metric.mean is None for metric in metrics.values()):
            if not self._declined:
                return _no_result(metrics)
            decline = _is_are(self._declined, "declines", "decline")
            lost = f", {self._lost:,} could not be judged" if self._lost else ""
            return f"{self._declined:,} of {number_of(self._answers, 'answer')} {decline}{lost}."
        if self._rated:
            return self._ratings.sentence(concludes=self._manifest.concludes)
        if not self._metrics:
            return self._grades.sentence(_of_metrics(metrics))
        # Words are not meaning: of `local:lexical` no sentence says what is wrong with answers.
        if not self._manifest.concludes:
            return self._by_words(metrics)
        # A metric against a set of the user, such as a policy, has no usual words for its faults.
        usual = {GROUNDED, CORRECT, COVERED, RETRIEVED}
        if usual.isdisjoint(self._metrics) or not self._judged:
            return self._of_claims(metrics) or _of_metrics(metrics)
        return self._of_answers(metrics)

    def _of_answers(self, metrics: Mapping[str, MetricSummary]) -> str:
        found = [*self._contradictions(), *self._faults()]
        total = self._claims_seen
        start = ""
        if self._mostly_open:
            start = f"{self._undecided:,} of {total:,} claims are undecided. "
        # Answers without claims have no undecided ones, and would be taken for answers in order.
        if self._lost:
            of = number_of(self._answers, "answer")
            start = f"{self._lost:,} of {of} could not be judged. "
        if found:
            least = "At least " if self._undecided or self._lost else ""
            text = self._joined(found, f"{start}{least}", self._cause(metrics))
        else:
            good = self._good(metrics, start)
            text = f"{start}{good[:1].upper()}{good[1:]}."
        return text[:1].upper() + text[1:]

    @property
    def _mostly_open(self) -> bool:
        """Whether so many claims are undecided that the sentence begins with their number."""
        return self._undecided > UNDECIDED * self._claims_seen

    def _contradictions(self) -> list[tuple[Kind, int]]:
        """Return how many answers contradict the gold answer and the documents, together if the
        same claims do both in each."""
        both = self._of["contradicts_both"]
        gold = self._of["contradicts_gold"]
        documents = self._of["contradicts_documents"]
        # "1 contradicts the gold answer, 1 the documents" would read as two answers.
        if both and both == gold == documents:
            return [("contradicts_both", both)]
        counts: list[tuple[Kind, int]] = [
            ("contradicts_gold", gold),
            ("contradicts_documents", documents),
        ]
        return [(kind, number) for kind, number in counts if number]

    def _faults(self) -> list[tuple[Kind, int]]:
        """Return how many answers lack facts, or have claims without support."""
        kinds: tuple[Kind, ...] = ("lacks", "made_up", "unsupported")
        return [(kind, self._of[kind]) for kind in kinds if self._of[kind]]

    def _joined(self, found: list[tuple[Kind, int]], start: str, cause: Cause | None) -> str:
        """Return the faults in the order of their weight, as many as there is room for; answers
        that decline are always named."""
        last = self._declines()
        parts = list[str]()
        for place, (kind, number) in enumerate(found):
            full = self._clause(kind, number, first=place == 0, parts=parts, claims=True)
            short = self._clause(kind, number, first=place == 0, parts=parts, claims=False)
            for clause in (full, short):
                text = _sentence(start, [*parts, clause, *last])
                if _words(text) <= WORDS or (place == 0 and clause is short):
                    parts.append(clause)
                    break
        text = _sentence(start, [*parts, *last])
        return self._with_retrieval(text, cause)

    def _clause(
        self,
        kind: Kind,
        number: int,
        *,
        first: bool,
        parts: list[str],
        claims: bool,
    ) -> str:
        verb = self._verb(kind, number, parts[-1] if parts else "")
        # How many answers there are has been said where some were lost.
        of = f" of {number_of(self._answers, 'answer')}" if first and not self._lost else ""
        total = self._claims[kind]
        noun = "fact" if kind == "lacks" else "claim"
        counts = f" ({number_of(total, noun)})" if claims and total != number else ""
        return f"{number:,}{of} {verb}{counts}"

    def _verb(self, kind: Kind, number: int, before: str) -> str:
        """Return what so many answers do, after the clause before, which may have named the gold
        answer."""
        if kind == "contradicts_documents" and before:
            return "the documents"
        verb = _is_are(number, *VERBS[kind])
        if kind == "unsupported" and CORRECT not in self._metrics:
            return verb.replace("nothing", "no document")
        if kind == "lacks" and "contradict" in before and "the documents" not in before:
            return verb.replace("a part of the gold answer", "a part of it")
        return verb

    def _declines(self, *, after_claims: bool = False) -> list[str]:
        """Return clauses on answers that say nothing, after clauses on answers, or else on
        claims."""
        parts = list[str]()
        if self._declined:
            who = number_of(self._declined, "answer") if after_claims else f"{self._declined:,}"
            parts.append(f"{who} {_is_are(self._declined, 'declines', 'decline')}")
        silent = self._samples - self._answers
        if silent:
            parts.append(f"{number_of(silent, 'question')} without an answer")
        return parts

    def _with_retrieval(self, text: str, cause: Cause | None) -> str:
        """Return the sentence with the part that retrieval has in it, if there is room."""
        lacking = self._of["not_retrieved"]
        if not lacking and self._of["refuted"]:
            end = self._refuted(text)
            return self._closed(f"{text}{end}" if _words(f"{text}{end}") <= WORDS else text)
        if not lacking:
            return self._closed(text, "The model is the weak part: " * (cause == "model"))
        weak = {"retrieval": "Retrieval", "model": "The model"}.get(cause or "")
        before = f"{weak} is the weak part: " if weak else ""
        part = "a part of it" if "gold answer" in text else "a part of the gold answer"
        long = f"; for {number_of(lacking, 'question')} the documents lack {part}"
        short = f"; for {lacking:,} the documents lack a part" if "part of" in text else ""
        # What to mend comes before how many questions it is about, if there is no room for both.
        for start, end in ((before, long), (before, short), ("", long), ("", short), (before, "")):
            if _words(f"{start}{text}{end}") <= WORDS:
                return self._closed(f"{text}{end}", start)
        return self._closed(text)

    def _refuted(self, text: str) -> str:
        """Return for how many questions the documents contradict the gold answer."""
        gold = "it" if "gold answer" in text else "the gold answer"
        questions = number_of(self._of["refuted"], "question")
        return f"; for {questions} the documents contradict {gold}"

    def _closed(self, text: str, start: str = "") -> str:
        whole = f"{start}{text}"
        return f"{whole if _words(whole) <= WORDS else text}."

    def _cause(self, metrics: Mapping[str, MetricSummary]) -> Cause | None:
        """Return where most failing answers go wrong; None if the counts are too few or too
        close to tell."""
        n = self._gold
        retrieved = (
            metrics.get(self._metrics[RETRIEVED].name) if RETRIEVED in self._metrics else None
        )
        # Twenty answers to one question say no more than one.
        independent = min(n, retrieved.clusters) if retrieved else 0
        # "Retrieval is the weak part" after nineteen answers would be chance that somebody acts on.
        if independent < ENOUGH or self._mostly_open or self._lost:
            return None
        retrieval = wilson_interval(self._retrieval / n, independent)
        model = wilson_interval(self._model / n, independent)
        # Intervals that do not overlap, so that 6 failures against 5 name no culprit.
        if retrieval[0] > model[1]:
            return "retrieval"
        return "model" if model[0] > retrieval[1] else None

    def _good(self, metrics: Mapping[str, MetricSummary], start: str) -> str:
        """Return what is right, in a run in which nothing is wrong with any answer; `start` is said
        before it."""
        of = "" if self._lost else f" of {number_of(self._answers, 'answer')}"
        lacking = self._of["not_retrieved"]
        text = self._praise(of, metrics)
        has_answers = any("answer" in pair for pair in self._metrics)
        if not text and RETRIEVED in self._metrics and not has_answers:
            have = self._gold - lacking - self._of["refuted"]
            text = (
                f"for {have:,} of {number_of(self._gold, 'question')} the documents have all of the"
                " gold answer"
            )
            return f"{text}{self._refuted(text) if self._of['refuted'] else ''}"
        if not text:
            return (self._of_claims(metrics) or _of_metrics(metrics)).removesuffix(".")
        declines = self._declines()
        others = list(self._others())
        shorter = text.replace(", and none contradicts", ", none contradicts")
        held = list(self._held(text))
        for praise, end in (*product((text, shorter), held), (text, "")):
            for last in ([*declines, *others], declines):
                whole = ", ".join((f"{praise}{end}", *last))
                if _words(f"{start}{whole}") <= WORDS:
                    return whole
        return ", ".join((text, *declines))

    def _held(self, text: str) -> Iterator[str]:
        """Yield what is said of the documents after `text`, and the same in fewer words."""
        gold = "it" if "the gold answer" in text else "the gold answer"
        lacking = self._of["not_retrieved"]
        only_gold = self._of["only_gold"]
        if only_gold and RETRIEVED not in self._metrics:
            verb = _is_are(only_gold, "has", "have")
            yield f"; {only_gold:,} {verb} claims that only the gold answer supports"
        elif lacking:
            yield f"; for {number_of(lacking, 'question')} the documents lack a part of {gold}"
            if gold == "it":
                yield f"; for {lacking:,} the documents lack a part"
        elif self._of["refuted"]:
            yield self._refuted(text)

    def _others(self) -> Iterator[str]:
        """Yield why answers without a fault are not among those that are said to be right."""
        if self._open and not self._mostly_open:
            yield f"{self._open:,} {_is_are(self._open, 'is', 'are')} undecided"
        if self._without_gold and COVERED in self._metrics:
            have = _is_are(self._without_gold, "has", "have")
            yield f"{self._without_gold:,} {have} no gold answer"

    def _praise(self, of: str, metrics: Mapping[str, MetricSummary]) -> str:
        if COVERED in self._metrics:
            return self._praise_of_complete(of)
        if GROUNDED in self._metrics:
            be = _is_are(self._grounded, "is", "are")
            asked = CORRECT in self._metrics and self._tells
            gold = "; none contradicts the gold answer" if asked else ""
            return f"{self._grounded:,}{of} {be} supported by the documents{gold}"
        summary = metrics.get(self._metrics[CORRECT].name) if CORRECT in self._metrics else None
        if not summary or not summary.judged:
            return ""
        hits = f"{summary.hits or 0:,} of {number_of(summary.judged, 'claim')}"
        be = _is_are(summary.judged, "is", "are")
        if not self._tells:
            return f"{hits} {be} in the gold answer"
        # An undecided claim may contradict it too.
        known = "is known to contradict" if self._undecided else "contradicts"
        return f"none{of} {known} the gold answer; {hits} {be} in it"

    def _praise_of_complete(self, of: str) -> str:
        """Return how many answers give all of the gold answer, and are right besides."""
        gold = "all of the gold answer"
        if GROUNDED in self._metrics and self._fine and self._fine == self._right:
            be = _is_are(self._fine, "is", "are")
            give = _is_are(self._fine, "gives", "give")
            both = f"{self._fine:,}{of} {be} grounded in the documents and {give} {gold}"
            return f"{both}; none contradicts it" if self._tells else both
        if CORRECT not in self._metrics or not self._tells:
            return f"{self._complete:,}{of} {_is_are(self._complete, 'gives', 'give')} {gold}"
        give = _is_are(self._right, "gives", "give")
        return f"{self._right:,}{of} {give} {gold}, and none contradicts it"

    def _of_claims(self, metrics: Mapping[str, MetricSummary]) -> str:
        """Return how many claims of the first metric are contradicted, and how many supported;
        empty if none has a label."""
        for (_, against), metric in self._metrics.items():
            summary = metrics.get(metric.name)
            if not summary or not summary.judged:
                continue
            where = PLACES.get(against, against.replace("_", " "))
            hits = summary.hits or 0
            of = f"of {number_of(summary.judged, 'claim')} {_is_are(summary.judged, 'is', 'are')}"
            if contradicted := self.contradicted[metric.name]:
                supported = f"{hits:,} {_is_are(hits, 'is', 'are')} supported"
                return f"{contradicted:,} {of} contradicted by {where}; {supported}."
            return f"{hits:,} {of} supported by {where}."
        return ""

    def _by_words(self, metrics: Mapping[str, MetricSummary]) -> str:
        """Return what shared words show, which is no judgment."""
        pair, metric = next(iter(self._metrics.items()))
        summary = metrics.get(metric.name)
        if not summary or not summary.judged:
            return _of_metrics(metrics)
        where = PLACES.get(pair[1], pair[1])
        text = (
            f"By shared words alone, {summary.hits or 0:,} of"
            f" {number_of(summary.judged, 'claim')} {_is_are(summary.judged, 'is', 'are')} in"
            f" {where}"
        )
        return f"{', '.join((text, *self._declines(after_claims=True)))}."


def _cause_tally(manifest: Manifest) -> LocatedCauses | None:
    """Return what counts the causes of a run of `locate`, imported only for one."""
    if manifest.job != "locate":
        return None
    from claimeval.evaluation.summary.located import LocatedCauses

    return LocatedCauses(manifest)


def _words(text: str) -> int:
    return len(text.split())


def _sentence(start: str, parts: list[str]) -> str:
    return f"{start}{', '.join(parts)}"


def _no_result(metrics: Mapping[str, MetricSummary]) -> str:
    """Return that there is no result, and the most frequent reason."""
    reasons = Counter[str]()
    for metric in metrics.values():
        for reason, number in (*metric.missing.items(), *metric.unassessed.items()):
            # One lost call is missing in every metric, so counts are not added up over metrics.
            reasons[reason] = max(reasons[reason], number)
    if not reasons:
        return "No result: there is no sample." if metrics else ""
    most, times = reasons.most_common(1)[0]
    return f"No result: nothing could be scored ({times:,} {most})."


def _of_metrics(metrics: Mapping[str, MetricSummary]) -> str:
    """Return the mean of the first metric that has one."""
    for name, metric in metrics.items():
        if metric.mean is None:
            continue
        unit = "" if metric.unit in ("share", "value") else f" ({metric.unit})"
        noun = COUNTED.get(name, "claim")
        if metric.total and metric.judged:
            return (
                f"{name} is {metric.mean_in_words}: {metric.hits or 0:,} of"
                f" {number_of(metric.judged, noun)}."
            )
        return (
            f"{name}{unit} is {metric.mean_in_words} on average over"
            f" {number_of(metric.n, 'sample')}."
        )
    return ""


RATED: dict[str, Verb] = {
    "rated_relevance": ("does not answer the question", "do not answer the question"),
    "noncommittal": ("commits itself to nothing", "commit themselves to nothing"),
    "rated_faithfulness": (
        "is not supported by what was retrieved",
        "are not supported by what was retrieved",
    ),
    "rated_correctness": (
        "does not say what the gold answer says",
        "do not say what the gold answer says",
    ),
    "abstention": (
        "is given or declined where it should not be",
        "are given or declined where they should not be",
    ),
}
"""What answers with a bad rating do, by its name; other ratings are criteria of the user."""


def bad_ratings(result: SampleResult) -> dict[str, bool]:
    """Return whether each rating of an answer is bad. To decline is bad for an answerable question
    only, and to answer for one that is not answerable."""
    ratings = dict[str, bool]()
    for one in result.whole:
        if one.label is None:
            continue
        declines = one.question == ABSTENTION.metric
        # To decline is right for a question without an answer, and nobody said which this is.
        if declines and result.sample.is_answerable is None:
            continue
        ratings[one.question] = one.positive is (
            not result.sample.is_answerable if declines else False
        )
    # An answer that rightly commits itself to nothing does not answer the question either.
    if result.sample.is_answerable is False and all(map(ratings.get, RELEVANCE.flags)):
        for name in (RELEVANCE.metric, *RELEVANCE.flags):
            ratings[name] = False
    return ratings


class RatingTally:
    """Counts bad ratings of whole answers."""

    def __init__(self) -> None:
        self._n = 0
        self._lost = 0
        """Answers that were asked about and have no rating."""
        self._partly = 0
        """Answers that lack a rating, and whose other ratings are not bad."""
        self._fine = 0
        """Answers that have all ratings, none of which is bad."""
        self._rated: Counter[str] = Counter()
        self._bad: Counter[str] = Counter()
        self._silent = 0
        """Questions without an answer, whose ratings are 0 without a judge."""

    def add(self, result: SampleResult) -> None:
        """Add the ratings of an answer."""
        ratings = bad_ratings(result)
        has_label = any(one.label is not None for one in result.whole)
        self._n += has_label
        self._silent += not (result.sample.answer or "").strip()
        self._lost += bool(result.whole) and not has_label
        if has_label and not any(ratings.values()):
            lacks = any(one.label is None for one in result.whole)
            self._partly += lacks
            self._fine += not lacks
        self._rated.update(ratings.keys())
        self._bad.update(name for name, bad in ratings.items() if bad)

    def sentence(self, *, concludes: bool) -> str:
        """Return how many answers have each bad rating, the most frequent first."""
        if not self._n:
            return ""
        lost = ""
        noun = "answer"
        if self._lost:
            noun = "rated answer"
            every = number_of(self._n + self._lost, "answer")
            lost = f"{self._lost:,} of {every} {_is_are(self._lost, 'has', 'have')} no rating. "
        of = number_of(self._n, noun)
        bad = [(name, number) for name, number in self._bad.most_common() if number]
        if not bad:
            have = _is_are(self._fine, "has", "have")
            lack = _is_are(self._partly, "lacks", "lack")
            partly = f", {self._partly:,} {lack} a rating" if self._partly else ""
            return f"{lost}{self._fine:,} of {of} {have} no bad rating{partly}{self._without()}."
        start = lost if concludes else f"{lost}By shared words alone, "
        parts = list[str]()
        for name, number in bad:
            one, many = RATED.get(name, (f"does not meet {name}", f"do not meet {name}"))
            # Not all answers may have this rating, as where some have no gold answer.
            rated = self._rated[name]
            noun = "answer" if rated == self._n + self._lost else "rated answer"
            first = f" of {number_of(rated, noun)}" if not parts else ""
            clause = f"{number:,}{first} {_is_are(number, one, many)}"
            # The first fault is said however long its words are.
            if parts and _words(_sentence(start, [*parts, clause]) + self._without()) > WORDS:
                break
            parts.append(clause)
        return f"{_sentence(start, parts)}{self._without()}."

    def _without(self) -> str:
        """Return how many questions have no answer, as a last clause."""
        silent = number_of(self._silent, "question")
        return f", {silent} without an answer" if self._silent else ""


class GradeTally:
    """Counts relevant documents, and questions that have none."""

    def __init__(self) -> None:
        self._documents = 0
        self._graded = 0
        self._relevant = 0
        self._questions = 0
        self._without = 0
        """Questions of which all documents have a grade and none is relevant."""
        self._matched = False
        """Whether documents were held against reference contexts."""

    def add(self, result: SampleResult) -> None:
        """Add the grades of the documents of a question."""
        if not result.whole:
            return
        labels = [one.positive for one in result.whole if one.label is not None]
        self._documents += len(result.whole)
        self._graded += len(labels)
        self._relevant += labels.count(True)
        self._questions += 1
        self._without += len(labels) == len(result.whole) and True not in labels
        self._matched = self._matched or result.whole[0].against == "reference_contexts"

    def sentence(self, otherwise: str) -> str:
        """Return how many documents are relevant, and how many questions have none; `otherwise`
        without a grade."""
        if not self._graded:
            return otherwise
        relevant = _is_are(self._relevant, "is relevant", "are relevant")
        what = "relevant"
        if self._matched:
            content = "the content of a reference context"
            relevant = _is_are(self._relevant, f"has {content}", f"have {content}")
            what = "such"
        of = number_of(self._graded, "document")
        undecided = ""
        if ungraded := self._documents - self._graded:
            of = number_of(self._graded, "graded document")
            every = number_of(self._documents, "document")
            undecided = f"{ungraded:,} of {every} {_is_are(ungraded, 'has', 'have')} no grade. "
        without = ""
        if self._without:
            every = number_of(self._questions, "question")
            has = _is_are(self._without, "has", "have")
            without = f"; {self._without:,} of {every} {has} no {what} document"
        return f"{undecided}{self._relevant:,} of {of} {relevant}{without}."


def _is_are(count: int, one: str, many: str) -> str:
    return one if count == 1 else many


def sample_sentence(
    result: SampleResult, pairs: Mapping[Pair, Metric], *, tells_contradictions: bool = True
) -> str:
    """Return what judges found in one answer, counted; empty without labels.

    Args:
        result: The result of the answer.
        pairs: The metric of each pair of claims and evidence.
        tells_contradictions: As in the manifest of the run.
    """
    facts = sample_facts(result, pairs)
    if facts.declines:
        held = _held(facts)
        return f"The answer declines: it makes no claim{held and f', and {held}'}."
    if not facts.answered:
        held = _held(facts)
        return f"There is no answer{held and f'; {held}'}."
    if not facts.judged:
        return "The answer could not be judged: its claims are lost." if facts.lost else ""
    parts = _faults(facts, nothing="nothing" if CORRECT in pairs else "no document")
    if not parts:
        parts.append(_fine(facts, tells_contradictions=tells_contradictions))
    if held := _held(facts):
        parts.append(held)
    if facts.lost:
        parts.append("other claims are lost")
    text = "; ".join(filter(None, parts))
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _faults(facts: SampleFacts, nothing: str) -> list[str]:
    """Return what is wrong or missing in an answer, counted; `nothing` is what supports a claim
    without support."""
    counts = (
        (facts.contradicts_gold, "contradict{s} the gold answer"),
        (facts.contradicts_documents, "contradict{s} the documents"),
        (facts.unsupported, f"{{be}} supported by {nothing}"),
        (facts.only_gold, "{be} in the gold answer and not in the documents"),
    )
    parts = list[str]()
    for number, words in counts:
        if number:
            verb = words.format(s="s" * (number == 1), be=_is_are(number, "is", "are"))
            noun = number_of(number, "claim") if not parts else f"{number:,}"
            parts.append(f"{noun} {verb}")
    if facts.lacks:
        parts.append(f"{number_of(facts.lacks, 'fact')} of the gold answer missing")
    return parts


def _fine(facts: SampleFacts, *, tells_contradictions: bool) -> str:
    if facts.made_up:
        return "nothing supports the answer"
    grounded = "the documents support all claims" if facts.all_grounded else ""
    gold = "the answer has all of the gold answer" if facts.all_covered else ""
    known = facts.none_contradicted and tells_contradictions
    against = "nothing contradicts it" if known and gold else ""
    return ", ".join(filter(None, (grounded, gold, against)))


def _held(facts: SampleFacts) -> str:
    """Return what the documents have of the gold answer."""
    if not facts.gold:
        return ""
    if not facts.not_retrieved:
        return "the documents have all of the gold answer"
    counts = (
        ("lack", facts.not_retrieved - facts.refuted_claims),
        ("contradict", facts.refuted_claims),
    )
    verbs = " and ".join(f"{verb} {number:,}" for verb, number in counts if number)
    return f"the documents {verbs} of {number_of(facts.gold, 'fact')} of the gold answer"
