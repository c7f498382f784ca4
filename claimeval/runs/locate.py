"""Which claims of a run failed, and which passages of a corpus each is judged against."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from claimeval.data.corpora import Corpus
from claimeval.evaluation.locate import CORPUS, ClaimPassages, Located
from claimeval.evaluation.manifest import Manifest
from claimeval.lexical.passages import PassageIndex
from claimeval.metrics.rows import ABOUT_ANSWERS, METRICS, Metric
from claimeval.metrics.scoring import counted
from claimeval.statistics.formatting import number_of
from claimeval.store.store import MARKER
from claimeval.types.errors import UsageError
from claimeval.types.records import Assessment, Claim, Document, Part, Sample, SampleResult

BEST = 10
"""Passages that the run did not have, for each claim. On planted worlds ten were better than three,
five and twenty."""
WITH_NEIGHBORS = 3
"""Of them, the first ones, whose neighbors are shown too: they have the other half of what a chunk
boundary cuts."""
REST = 3
"""Passages of the best one's document that have most of the words that it lacks: a fact that needs
several passages is seldom near to each of them as a whole. In a planted world, claims of several
passages that were not found fell from 15 to 5 of 70."""
CONTEXTS_WITH_NEIGHBORS = 2
"""The contexts nearest to the claim, whose neighbors are shown too: one half of a claim that is cut
may have been retrieved."""
LOOKED_AT = 50
"""Passages among which these contexts are looked for."""
MOST_ABSENT = 0.1
"""Share of contexts that need not be in the corpus. With more, all would look like passages that
were not retrieved."""
FOLDER = f"{MARKER}-passages"
"""The folder of indexes, in that of the reply cache."""


class UnsupportedClaim(NamedTuple):
    """A claim that failed, and the documents that the run judged with."""

    claim: Claim
    had: tuple[Document, ...]
    used: Assessment | None = None
    """For a claim of the gold answer that the contexts support: that assessment. No judge is
    asked about it."""


class ChosenPassages(NamedTuple):
    """The passages of a claim, as places in the corpus."""

    passages: tuple[int, ...]
    """Places of passages that the run did not have."""
    found: tuple[int | None, ...]
    """The place of each document that the run had; None if it is not in the corpus."""


def failed_claims(result: SampleResult, metrics: Sequence[Metric]) -> list[UnsupportedClaim]:
    """Return the claims of a result that failed, of every part.

    A claim of the answer fails if the contexts do not support it, one of the gold answer if the
    answer does not have it. A run without these labels has others: of the answer against the gold
    answer, of the gold answer against the contexts, or of a custom metric.
    """
    columns = result.columns()
    claims = {claim.id: claim for claim in result.claims}
    retrieved = {one.subject: one for one in columns.get(("reference", "contexts"), ())}
    failed = list[UnsupportedClaim]()
    for metric in decisive(metrics):
        had = _documents_of(result.sample, metric)
        for one in _unsupported(result, metric, columns):
            used = retrieved.get(one.subject) if metric.against == "answer" else None
            if used and used.support != "supported":
                used = None
            failed.append(UnsupportedClaim(claims[one.subject], had, used))
    return failed


def _unsupported(
    result: SampleResult, metric: Metric, columns: Mapping[tuple[Part, Part], list[Assessment]]
) -> Iterator[Assessment]:
    """Yield the assessments of the claims that a metric counts and that have a label, none of
    support."""
    ids = counted(metric, result)
    for one in columns.get((metric.claims_of, metric.against), ()):
        if one.subject in ids and one.support not in (None, "supported"):
            yield one


def decisive(metrics: Iterable[Metric]) -> list[Metric]:
    """Return the metric that decides which claims of each part failed."""
    order = [METRICS[name] for name in ABOUT_ANSWERS]
    asked = [metric for metric in metrics if not metric.prompt]
    by_part: dict[Part, Metric] = {}
    for metric in (*[one for one in order if one in asked], *asked):
        by_part.setdefault(metric.claims_of, metric)
    return list(by_part.values())


def _documents_of(sample: Sample, metric: Metric) -> tuple[Document, ...]:
    """Return the documents that the system had: its contexts, or the evidence of given claims."""
    if sample.contexts is not None:
        return sample.documents("contexts") or ()
    return sample.evidence.get(metric.against, ())


class _JudgedCounts:
    """Counts of what is judged."""

    def __init__(self) -> None:
        self.failed = 0
        self.asked = 0
        self.passages = 0
        self.characters = 0
        self.contexts: set[tuple[str, str]] = set()
        self.absent: set[tuple[str, str]] = set()
        self.renamed = 0
        """Absent contexts whose id is that of a passage with another text."""


class PassageSelection:
    """Chooses the passages of all failed claims of a run before the first call."""

    def __init__(
        self, index: PassageIndex, corpus: Corpus, results: Iterable[SampleResult], run: Manifest
    ) -> None:
        self._index = index
        self._corpus = corpus
        self._results = results
        self._metrics = run.rows
        self._chosen: dict[tuple[str, str], ChosenPassages] = {}
        self.totals = _JudgedCounts()

    def choose(self) -> None:
        """Choose the passages. Raises UsageError if the contexts are not in the corpus."""
        for result in self._results:
            for failed in failed_claims(result, self._metrics):
                self.totals.failed += 1
                if failed.used is None:
                    self._choose(result, failed)
        self._check()

    def _choose(self, result: SampleResult, failed: UnsupportedClaim) -> None:
        totals = self.totals
        found = tuple([self._place(document) for document in failed.had])
        had = [place for place in found if place is not None]
        choice = ChosenPassages(self._nearest(result.sample, failed, had), found)
        self._chosen[result.id, failed.claim.id] = choice
        totals.asked += 1
        totals.passages += len(choice.passages) + len(found)
        totals.characters += self._index.size(choice.passages)
        totals.characters += sum(len(document.text) for document in failed.had)

    def _place(self, document: Document) -> int | None:
        key = document.id, document.text
        known = None if document.id_is_rank else document.id
        place = self._index.find(known, document.text)
        if key not in self.totals.contexts:
            self.totals.contexts.add(key)
            if place is None:
                self.totals.absent.add(key)
                self.totals.renamed += known is not None and self._index.has_id(known)
        return place

    def _nearest(
        self, sample: Sample, failed: UnsupportedClaim, had: Sequence[int]
    ) -> tuple[int, ...]:
        """Return the passages that fit the claim best and that the run did not have, in reading
        order, with the neighbors of the best."""
        query = f"{failed.claim.text} {sample.question}"
        best = self._best(query, failed, had)
        nearest = self._index.search(query, LOOKED_AT) if had else []
        contexts = [place for place in nearest if place in had]
        chosen = {*best, *self._rest(failed.claim.text, best, had)}
        for place in (*best[:WITH_NEIGHBORS], *contexts[:CONTEXTS_WITH_NEIGHBORS]):
            chosen.update(self._index.beside(place))
        return tuple(sorted(chosen.difference(had)))

    def _best(self, query: str, failed: UnsupportedClaim, had: Sequence[int]) -> list[int]:
        """Return the passages nearest to a claim that the run did not have."""
        if self._corpus.chunked:
            return self._index.search(query, BEST, without=had)
        # Paragraphs of a folder stand within the chunks of the run.
        texts = [" ".join(document.text.split()) for document in failed.had]
        best = list[int]()
        for place in self._index.search(query, BEST + LOOKED_AT, without=had):
            paragraph = " ".join(self._index[place].text.split())
            if not any(paragraph in text for text in texts):
                best.append(place)
        return best[:BEST]

    def _rest(self, claim: str, best: Sequence[int], had: Sequence[int]) -> list[int]:
        """Return passages of the document of the best one that have the words that it lacks."""
        document = self._index[best[0]].document if best else ""
        if not document:
            return []
        rest = self._index.rest_of(claim, best[0])
        return self._index.search(rest, REST, within=document, without=[*had, *best])

    def _check(self) -> None:
        """Raise UsageError if no claim failed, or if too many contexts are not in the corpus."""
        totals = self.totals
        if not totals.failed:
            raise UsageError("no claim of the run failed, so there is nothing to locate")
        absent = len(totals.absent)
        if not self._corpus.chunked or absent <= MOST_ABSENT * len(totals.contexts):
            return
        first = min(totals.absent)[0]
        renamed = ""
        if totals.renamed:
            renamed = f"; {totals.renamed:,} have the id of a passage with another text"
        raise UsageError(
            f"{absent:,} of {number_of(len(totals.contexts), 'context')} of the run"
            f" {'is' if absent == 1 else 'are'} not in"
            f" {self._corpus.path} (first: {first!r}){renamed}. Give the chunks that the retriever"
            " searched, with their texts as the run has them: otherwise every claim would seem to"
            " stand in a passage that was not retrieved"
        )

    def items(self) -> Iterator[SampleResult]:
        """Yield the samples of the run with their failed claims and the passages of each."""
        for result in self._results:
            yield self._item(result)

    def _item(self, result: SampleResult) -> SampleResult:
        failed = failed_claims(result, self._metrics)
        sample = result.sample
        passages = _PassagesOfSample(self._index)
        shown = dict[str, ClaimPassages]()
        for one in failed:
            if choice := self._chosen.get((sample.id, one.claim.id)):
                shown[one.claim.id] = passages.add(one.had, choice)
        located = Located(
            places=tuple(passages.places),
            documents=tuple(passages.names),
            scattered=tuple(sorted(self._index.scattered.intersection(passages.names))),
            claims=shown,
        )
        evidence = {**sample.evidence, CORPUS: tuple(passages.documents)}
        used = [_copied(result, one.used) for one in failed if one.used]
        return SampleResult(
            sample=sample.model_copy(update={"evidence": evidence}),
            claims=tuple([one.claim for one in failed]),
            assessments=tuple(used),
            details=located.details,
        )

    @property
    def in_words(self) -> str:
        """What is sent, in words."""
        totals = self.totals
        told = f"{number_of(totals.failed, 'failed claim')}"
        known = totals.failed - totals.asked
        if known:
            told += f", {known:,} of them known to be retrieved and not used"
        tokens = totals.characters // 4
        return (
            f"{told}; {number_of(totals.passages, 'passage')} (about {tokens:,} tokens) of"
            f" {len(self._index):,} in {self._corpus.path}: {self._corpus.reads}{self._scattered}"
        )

    @property
    def _scattered(self) -> str:
        number = len(self._index.scattered)
        if not self._corpus.chunked or not number:
            return ""
        return (
            f"; the passages of {number:,} of {number_of(self._index.documents, 'document')} do not"
            " follow each other, so whether a fact is split over two of theirs cannot be told"
        )

    @property
    def settings(self) -> Mapping[str, str | int]:
        """What describes the corpus in the manifest."""
        return {
            "corpus": str(self._corpus.path),
            "digest": self._corpus.digest,
            "passages": len(self._index),
            "nearest": BEST,
        }


class _PassagesOfSample:
    """The passages of the claims of a sample, each once."""

    def __init__(self, index: PassageIndex) -> None:
        self._index = index
        self.documents = list[Document]()
        self.places = list[int]()
        self.names = list[str]()
        """The document of each passage; empty if it is not known."""
        self._numbers: dict[tuple[int, str], int] = {}
        self._ids = set[str]()

    def add(self, had: Sequence[Document], choice: ChosenPassages) -> ClaimPassages:
        """Add the passages of a claim, and return their numbers in reading order."""
        before = list[int]()
        for document, place in zip(had, choice.found, strict=True):
            before.append(self._number(document, -1 if place is None else place))
        numbers = list(before)
        for place in choice.passages:
            passage = self._index[place]
            document = Document(id=passage.id, text=passage.text, title=passage.title)
            numbers.append(self._number(document, place))
        order = sorted(set(numbers), key=lambda number: (self.places[number], number))
        return ClaimPassages(shown=tuple(order), had=tuple(sorted(set(before))))

    def _number(self, document: Document, place: int) -> int:
        key = place, document.text
        if key not in self._numbers:
            self._numbers[key] = len(self.documents)
            name = document.id
            if name in self._ids:  # ids of contexts may be ranks, and ids of chunks may repeat
                name = f"{name} ({place})"
            self._ids.add(name)
            self.documents.append(document.model_copy(update={"id": name, "score": None}))
            self.places.append(place)
            self.names.append("" if place < 0 else self._index[place].document)
        return self._numbers[key]


def _copied(result: SampleResult, one: Assessment) -> Assessment:
    """Return an assessment of the run whose verdicts name no call, as this run has none."""
    verdicts = [
        verdict.model_copy(update={"prompt": result.prompt_of(verdict), "call": None})
        for verdict in one.verdicts
    ]
    return one.model_copy(update={"verdicts": tuple(verdicts)})


def open_index(corpus: Corpus, cache: Path) -> PassageIndex:
    """Return the index of a corpus, which is made on the first use and kept beside the replies."""
    folder = cache / FOLDER
    file = folder / f"{corpus.digest[:32]}.sqlite"
    if index := PassageIndex.open(file):
        return index
    folder.mkdir(parents=True, exist_ok=True)
    # An index that a kill cut off must not be opened for a whole one.
    part = file.with_suffix(".part")
    part.unlink(missing_ok=True)
    PassageIndex.build(corpus.passages(), part).close()
    part.replace(file)
    index = PassageIndex.open(file)
    assert index, "it was just made"
    return index
