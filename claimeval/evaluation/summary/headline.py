"""The first sentence of a run: what judges found, counted.

It counts labels, never scores above a threshold: an answer that is longer than the gold answer has
a low correctness and is right all the same. What a reader must not miss comes first:
contradictions, then facts of the gold answer that are missing, then claims that nothing supports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from claimeval.evaluation.manifest import Manifest
from claimeval.metrics.rows import Metric
from claimeval.metrics.scoring import MetricSummary, counted
from claimeval.statistics.formatting import decimal, number_of
from claimeval.statistics.intervals import wilson_interval
from claimeval.types.records import COUNTED, Label, Part, SampleResult
from claimeval.types.scales import ABSTENTION

if TYPE_CHECKING:
    from claimeval.evaluation.summary.located import CauseTally

WORDS = 25
"""Most words of the sentence."""
ENOUGH = 20
"""Samples below which no cause is named."""
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
    gold: int = 0
    """Claims of the gold answer that were looked for in the documents."""
    all_grounded: bool = False
    all_covered: bool = False
    none_contradicted: bool = False
    """Whether all claims were held against the gold answer and none contradicts it."""

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
    result: SampleResult, metrics: Mapping[Pair, Metric], labels: Labels | None = None
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
    of_answer = any(pair[0] == "answer" for pair in metrics)
    no_claims = result.unextracted.get("answer") == "no_claims"
    return SampleFacts(
        answered=answered or not of_answer,
        declines=answered and of_answer and no_claims,
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
        not_retrieved=sum(label not in (None, "supported") for label in retrieved.values()),
        gold=sum(label is not None for label in retrieved.values()),
        all_grounded=_are_all(grounded, "supported"),
        all_covered=_are_all(covered, "supported"),
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
]
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
        self.contradicted: Counter[str] = Counter()
        """Claims that the evidence contradicts, by metric."""
        self._samples = 0
        self._answers = 0
        self._declined = 0
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
        for pair, metric in self._metrics.items():
            of_pair = labels.get(pair, {}).values()
            self.contradicted[metric.name] += list(of_pair).count("contradicted")
        facts = sample_facts(result, self._metrics, labels)
        self._samples += 1
        self._answers += facts.answered
        self._declined += facts.declines
        self._judged += facts.judged
        self._claims_seen += facts.claims
        self._undecided += facts.undecided
        # An answer that is not there is said to be missing, and not what it lacks.
        self._count(facts if facts.answered else SampleFacts(not_retrieved=facts.not_retrieved))
        self._grounded += facts.all_grounded
        self._complete += facts.all_covered
        right = facts.all_covered and facts.none_contradicted
        self._right += right
        self._fine += right and facts.all_grounded
        if facts.gold:
            self._gold += 1
            failed = facts.answered and (facts.fails or facts.declines)
            self._retrieval += failed and bool(facts.not_retrieved)
            self._model += failed and not facts.not_retrieved

    def _count(self, facts: SampleFacts) -> None:
        """Count an answer under each kind of fault that it has."""
        numbers: dict[Kind, int] = {
            "lacks": facts.lacks,
            "only_gold": facts.only_gold,
            "not_retrieved": facts.not_retrieved,
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
        if all(metric.mean is None for metric in metrics.values()):
            return f"{self._first_decline()}." if self._declined else _no_result(metrics)
        if self._rated:
            return self._ratings.sentence(concludes=self._manifest.concludes)
        if not self._metrics:
            return self._grades.sentence(_of_metrics(metrics))
        if not self._manifest.concludes:
            return self._by_words(metrics)
        usual = {GROUNDED, CORRECT, COVERED, RETRIEVED}
        if usual.isdisjoint(self._metrics) or not self._judged:
            return _of_claims(self._metrics, metrics) or _of_metrics(metrics)
        return self._of_answers(metrics)

    def _first_decline(self) -> str:
        """Return how many of all answers decline."""
        ending = "s" * (self._declined == 1)
        return f"{self._declined:,} of {number_of(self._answers, 'answer')} decline{ending}"

    def _of_answers(self, metrics: Mapping[str, MetricSummary]) -> str:
        found = [*self._contradictions(), *self._faults()]
        total = self._claims_seen
        undecided = self._undecided > UNDECIDED * total
        start = f"{self._undecided:,} of {total:,} claims are undecided. " if undecided else ""
        if found:
            least = "At least " if self._undecided else ""
            text = self._joined(found, f"{start}{least}")
        else:
            text = self._closed(f"{start}{self._good(metrics)}")
        return text[:1].upper() + text[1:]

    def _contradictions(self) -> list[tuple[Kind, int]]:
        """Return how many answers contradict the gold answer and the documents, together if the
        same claims do both in each."""
        both = self._of["contradicts_both"]
        gold = self._of["contradicts_gold"]
        documents = self._of["contradicts_documents"]
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

    def _joined(self, found: list[tuple[Kind, int]], start: str) -> str:
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
        return self._with_retrieval(text)

    def _clause(
        self, kind: Kind, number: int, *, first: bool, parts: list[str], claims: bool
    ) -> str:
        one, many = VERBS[kind]
        verb = one if number == 1 else many
        if kind == "unsupported" and CORRECT not in self._metrics:
            verb = verb.replace("nothing", "no document")
        before = parts[-1] if parts else ""
        if kind == "contradicts_documents" and before:
            verb = "the documents"
        if kind == "lacks" and "contradict" in before and "the documents" not in before:
            verb = verb.replace("a part of the gold answer", "a part of it")
        of = f" of {number_of(self._answers, 'answer')}" if first else ""
        total = self._claims[kind]
        noun = "fact" if kind == "lacks" else "claim"
        counts = f" ({number_of(total, noun)})" if claims and total != number else ""
        return f"{number:,}{of} {verb}{counts}"

    def _declines(self) -> list[str]:
        """Return clauses on answers that say nothing."""
        parts = list[str]()
        if self._declined:
            parts.append(f"{self._declined:,} decline{'s' * (self._declined == 1)}")
        silent = self._samples - self._answers
        if silent:
            parts.append(f"{number_of(silent, 'question')} without an answer")
        return parts

    def _with_retrieval(self, text: str) -> str:
        """Return the sentence with the part that retrieval has in it, if there is room."""
        lacking = self._of["not_retrieved"]
        if not lacking:
            cause = "The model is the weak part: " if self._cause() == "model" else ""
            return self._closed(text, cause)
        weak = {"retrieval": "Retrieval", "model": "The model"}.get(self._cause() or "")
        before = f"{weak} is the weak part: " if weak else ""
        part = "a part of it" if "gold answer" in text else "a part of the gold answer"
        long = f"; for {number_of(lacking, 'question')} the documents lack {part}"
        short = f"; for {lacking:,} the documents lack a part" if "part of" in text else ""
        for start, end in ((before, long), (before, short), ("", long), ("", short), (before, "")):
            if _words(f"{start}{text}{end}") <= WORDS:
                return self._closed(f"{text}{end}", start)
        return self._closed(text)

    def _closed(self, text: str, start: str = "") -> str:
        whole = f"{start}{text}"
        return f"{whole if _words(whole) <= WORDS else text}."

    def _cause(self) -> Literal["retrieval", "model"] | None:
        """Return where most failing answers go wrong; None if the counts are too few or too
        close to tell."""
        n = self._gold
        if n < ENOUGH or self._undecided > UNDECIDED * self._claims_seen:
            return None
        retrieval = wilson_interval(self._retrieval / n, n)
        model = wilson_interval(self._model / n, n)
        if retrieval[0] > model[1]:
            return "retrieval"
        return "model" if model[0] > retrieval[1] else None

    def _good(self, metrics: Mapping[str, MetricSummary]) -> str:
        """Return what is right, in a run in which nothing is wrong with any answer."""
        of = number_of(self._answers, "answer")
        lacking = self._of["not_retrieved"]
        text = self._praise(of, metrics)
        if not text and RETRIEVED in self._metrics and not self._has_answers:
            have = self._gold - lacking
            return (
                f"for {have:,} of {number_of(self._gold, 'question')} the documents have all of the"
                " gold answer"
            )
        if not text:
            return (_of_claims(self._metrics, metrics) or _of_metrics(metrics)).removesuffix(".")
        only_gold = self._of["only_gold"]
        if only_gold and RETRIEVED not in self._metrics:
            verb = "has" if only_gold == 1 else "have"
            text += f"; {only_gold:,} {verb} claims that only the gold answer supports"
        if lacking:
            text += f"; for {number_of(lacking, 'question')} the documents lack a part of it"
        return ", ".join((text, *self._declines()))

    @property
    def _has_answers(self) -> bool:
        return any("answer" in pair for pair in self._metrics)

    def _praise(self, of: str, metrics: Mapping[str, MetricSummary]) -> str:
        if COVERED in self._metrics:
            gold = "all of the gold answer"
            if CORRECT not in self._metrics:
                give = "gives" if self._complete == 1 else "give"
                return f"{self._complete:,} of {of} {give} {gold}"
            if GROUNDED in self._metrics and self._fine and self._fine == self._right:
                be, give = ("is", "gives") if self._fine == 1 else ("are", "give")
                return (
                    f"{self._fine:,} of {of} {be} grounded in the documents and {give} {gold}; none"
                    " contradicts it"
                )
            give = "gives" if self._right == 1 else "give"
            return f"{self._right:,} of {of} {give} {gold}, and none contradicts it"
        if GROUNDED in self._metrics:
            be = "is" if self._grounded == 1 else "are"
            gold = "; none contradicts the gold answer" if CORRECT in self._metrics else ""
            return f"{self._grounded:,} of {of} {be} supported by the documents{gold}"
        summary = metrics.get(self._metrics[CORRECT].name) if CORRECT in self._metrics else None
        if not summary or not summary.judged:
            return ""
        return (
            f"none of {of} contradicts the gold answer; {summary.hits or 0:,} of"
            f" {number_of(summary.judged, 'claim')} {'is' if summary.judged == 1 else 'are'} in it"
        )

    def _by_words(self, metrics: Mapping[str, MetricSummary]) -> str:
        """Return what shared words show, which is no judgment."""
        pair, metric = next(iter(self._metrics.items()))
        summary = metrics.get(metric.name)
        if not summary or not summary.judged:
            return _of_metrics(metrics)
        where = PLACES.get(pair[1], pair[1])
        text = (
            f"By shared words alone, {summary.hits or 0:,} of"
            f" {number_of(summary.judged, 'claim')} {'is' if summary.judged == 1 else 'are'} in"
            f" {where}"
        )
        return f"{', '.join((text, *self._declines()))}."


def _cause_tally(manifest: Manifest) -> CauseTally | None:
    """Return what counts the causes of a run of `locate`, imported only for one."""
    if manifest.job != "locate":
        return None
    from claimeval.evaluation.summary.located import CauseTally

    return CauseTally(manifest)


def _words(text: str) -> int:
    return len(text.split())


def _sentence(start: str, parts: list[str]) -> str:
    return f"{start}{', '.join(parts)}"


def _no_result(metrics: Mapping[str, MetricSummary]) -> str:
    """Return that there is no result, and the most frequent reason."""
    reasons = Counter[str]()
    for metric in metrics.values():
        for reason, number in (*metric.missing.items(), *metric.unassessed.items()):
            reasons[reason] = max(reasons[reason], number)
    if not reasons:
        return "No result: there is no sample." if metrics else ""
    most, times = reasons.most_common(1)[0]
    return f"No result: nothing could be scored ({times:,} {most})."


def _of_claims(pairs: Mapping[Pair, Metric], metrics: Mapping[str, MetricSummary]) -> str:
    """Return how many claims of the first metric are supported; empty if none has a label."""
    for (_, against), metric in pairs.items():
        summary = metrics.get(metric.name)
        if summary and summary.judged:
            where = PLACES.get(against, against.replace("_", " "))
            be = "is" if summary.judged == 1 else "are"
            return (
                f"{summary.hits or 0:,} of {number_of(summary.judged, 'claim')} {be} supported by"
                f" {where}."
            )
    return ""


def _of_metrics(metrics: Mapping[str, MetricSummary]) -> str:
    """Return the mean of the first metric that has one."""
    for name, metric in metrics.items():
        if metric.mean is None:
            continue
        unit = "" if metric.unit == "share" else f" {metric.unit}"
        noun = COUNTED.get(name, "claim")
        if metric.total and metric.judged:
            return (
                f"{name} is {decimal(metric.mean, 2)}: {metric.hits or 0:,} of"
                f" {number_of(metric.judged, noun)}."
            )
        return (
            f"{name} is {decimal(metric.mean, 2)}{unit} on average over"
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
    only."""
    ratings = dict[str, bool]()
    for one in result.whole:
        if one.label is None:
            continue
        declines = one.question == ABSTENTION.metric
        if declines and result.sample.is_answerable is None:
            continue
        ratings[one.question] = one.positive is (
            not result.sample.is_answerable if declines else False
        )
    return ratings


class RatingTally:
    """Counts bad ratings of whole answers."""

    def __init__(self) -> None:
        self._n = 0
        self._fine = 0
        self._rated: Counter[str] = Counter()
        self._bad: Counter[str] = Counter()
        self._declined = 0

    def add(self, result: SampleResult) -> None:
        """Add the ratings of an answer."""
        ratings = bad_ratings(result)
        has_label = any(one.label is not None for one in result.whole)
        self._n += has_label
        self._fine += has_label and not any(ratings.values())
        self._rated.update(ratings.keys())
        self._bad.update(name for name, bad in ratings.items() if bad)

    def sentence(self, *, concludes: bool) -> str:
        """Return how many answers have each bad rating, the most frequent first."""
        if not self._n:
            return ""
        of = number_of(self._n, "answer")
        bad = [(name, number) for name, number in self._bad.most_common() if number]
        if not bad:
            return f"{self._fine:,} of {of} {'has' if self._fine == 1 else 'have'} no bad rating."
        start = "" if concludes else "By shared words alone, "
        parts = list[str]()
        for name, number in bad:
            one, many = RATED.get(name, (f"does not meet {name}", f"do not meet {name}"))
            first = f" of {number_of(self._rated[name], 'answer')}" if not parts else ""
            clause = f"{number:,}{first} {one if number == 1 else many}"
            if parts and _words(_sentence(start, [*parts, clause])) > WORDS:
                break
            parts.append(clause)
        return f"{_sentence(start, parts)}."


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


def sample_sentence(result: SampleResult, pairs: Mapping[Pair, Metric]) -> str:
    """Return what judges found in one answer, counted; empty without labels."""
    facts = sample_facts(result, pairs)
    if facts.declines:
        held = _held(facts)
        return f"The answer declines: it makes no claim{held and f', and {held}'}."
    if not facts.answered:
        held = _held(facts)
        return f"There is no answer{held and f'; {held}'}."
    if not facts.judged:
        return ""
    nothing = "nothing" if CORRECT in pairs else "no document"
    counts = (
        (facts.contradicts_gold, "contradict{s} the gold answer"),
        (facts.contradicts_documents, "contradict{s} the documents"),
        (facts.unsupported, f"{{be}} supported by {nothing}"),
        (facts.only_gold, "{be} in the gold answer and not in the documents"),
    )
    parts = list[str]()
    for number, words in counts:
        if number:
            verb = words.format(s="s" * (number == 1), be="is" if number == 1 else "are")
            noun = number_of(number, "claim") if not parts else f"{number:,}"
            parts.append(f"{noun} {verb}")
    if facts.lacks:
        parts.append(f"{number_of(facts.lacks, 'fact')} of the gold answer missing")
    if not parts:
        parts.append(_fine(facts))
    if held := _held(facts):
        parts.append(held)
    text = "; ".join(filter(None, parts))
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _fine(facts: SampleFacts) -> str:
    if facts.made_up:
        return "nothing supports the answer"
    grounded = "the documents support all claims" if facts.all_grounded else ""
    gold = "the answer has all of the gold answer" if facts.all_covered else ""
    against = "nothing contradicts it" if facts.none_contradicted and gold else ""
    return ", ".join(filter(None, (grounded, gold, against)))


def _held(facts: SampleFacts) -> str:
    """Return what the documents have of the gold answer."""
    if not facts.gold:
        return ""
    if not facts.not_retrieved:
        return "the documents have all of the gold answer"
    return (
        f"the documents lack {facts.not_retrieved:,} of"
        f" {number_of(facts.gold, 'fact')} of the gold answer"
    )
