"""The claims job for cited reports: each claim is judged against the best passages of the sources
that its sentence cites, and where these do not support it, against those of all sources.

A report cites dozens of sources of tens of thousands of tokens. All of them in every call would
cost a hundred times as much as the passages that are near to the claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain, islice

from claimeval.evaluation.claims import ClaimsJob, claims_of, job_of, why_without_claims
from claimeval.evaluation.evidence import with_evidence
from claimeval.evaluation.job import sample_of
from claimeval.evaluation.judgment import (
    EarlierVerdicts,
    JudgedSubjects,
    JudgingContext,
    Question,
    judge,
    votes,
)
from claimeval.evaluation.manifest import Manifest
from claimeval.execution import Executor
from claimeval.execution.concurrently import gather_all
from claimeval.lexical.languages import is_foreign
from claimeval.lexical.passages import Passage, PassageIndex
from claimeval.lexical.sentences import sentences
from claimeval.metrics.citations import sentence_spans, table
from claimeval.metrics.formulas import Matrix
from claimeval.providers import claims_per_call, reads_prompts
from claimeval.types.records import (
    Assessment,
    Claim,
    Document,
    Evidence,
    Sample,
    SampleResult,
    has_words,
)
from claimeval.types.requests import Failure

PASSAGES = "passages"
"""The setting of manifests: passages of a source that a claim is judged against."""
BEST = 8
WITH_NEIGHBORS = 3
"""Passages of a source for each claim, and how many of them have their neighbors with them. Of 115
claims of articles of up to 700 sentences, their whole support was among them for 98%."""
BEST_OF_FOREIGN = 40
"""Passages of a source in another language than the report: a search by words finds in it only what
has the same names and numbers. In 60 sentences of German, it missed the support of three of six
claims in English."""
MOST_CLAIMS = 5
"""Claims in one call, which shows the passages of all of them."""
SENTENCES = 5
"""Sentences of a passage."""
MOST_WORDS = 250
"""Words of a passage, of texts without sentences, such as tables."""


@dataclass(frozen=True)
class ReportJob(ClaimsJob):
    """Judge the claims of cited reports against passages of their sources."""

    passages: int = BEST
    _sources: dict[str, SourceIndex] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, job: ClaimsJob) -> ReportJob:
        """Return the job of a report with the settings of a claims job."""
        return cls(**{one.name: getattr(job, one.name) for one in fields(ClaimsJob)})

    @property
    def manifest(self) -> Manifest:
        """All settings that affect numbers."""
        record = super().manifest
        return record.model_copy(update={"settings": {**record.settings, PASSAGES: self.passages}})

    @property
    def first_stage(self) -> ReportJob:
        """The job itself: what a report cites is known without verdicts."""
        return self

    async def evaluate(self, item: Sample | SampleResult, executor: Executor) -> SampleResult:
        """Return the claims, verdicts and scores of one report."""
        sample = self.numbered(sample_of(item))
        earlier = EarlierVerdicts(item)
        extracted = await claims_of(sample, "answer", self, executor, earlier)
        if isinstance(extracted.value, Failure) or not extracted.value:
            reasons = {"answer": why_without_claims(extracted)}
            calls = earlier.calls + extracted.calls
            return self.scored(SampleResult.of(sample, unextracted=reasons, calls=calls))
        claims = extracted.value
        context = JudgingContext(self, executor, earlier, self.same_family(sample, "answer"))
        asking = _ReportAsking(self, sample, self._index(sample), context)
        cited: list[JudgedSubjects] = await gather_all(
            [asking.ask(rank, part) for rank, part in asking.cited(claims)]
        )
        calls = earlier.calls + extracted.calls
        calls += tuple(chain.from_iterable(one.calls for one in cited))
        singles = votes(cited, asking.question.records, calls)
        supported = _supported(singles)
        rest = [claim for claim in claims if claim.id not in supported]
        among_all: list[JudgedSubjects] = await gather_all(
            [asking.ask(None, part) for part in asking.chunks(rest)]
        )
        calls += tuple(chain.from_iterable(one.calls for one in among_all))
        together = votes(among_all, asking.question.records, calls)
        # What a cited source supports, all sources together support.
        whole = [one.model_copy(update={"document": None}) for one in supported.values()]
        whole += together
        elsewhere = _by_one_source(sample, together)
        reasoning = {judge.name for judge in self.judges if reads_prompts(judge)}
        assessments = with_evidence(sample, claims, (*whole, *singles, *elsewhere), reasoning)
        result = SampleResult(sample=sample, claims=claims, assessments=assessments, calls=calls)
        return self.scored(result)

    def _index(self, sample: Sample) -> SourceIndex:
        if sample.id not in self._sources:
            self._sources[sample.id] = SourceIndex(sample.contexts or (), sample.answer or "")
        return self._sources[sample.id]


class _ReportAsking:
    """Asks about the claims of one report."""

    def __init__(
        self,
        job: ReportJob,
        sample: Sample,
        index: SourceIndex,
        context: JudgingContext,
    ) -> None:
        self._job = job
        self._sample = sample
        self._index = index
        self._context = context
        self.question = job.question(sample, "answer", "contexts", ())
        self._size = min(MOST_CLAIMS, *map(claims_per_call, job.judges))

    def cited(self, claims: Sequence[Claim]) -> list[tuple[int, Sequence[Claim]]]:
        """Return the claims of each call about one source that they cite, with its rank."""
        by_rank: dict[int, list[Claim]] = {}
        known = table(Matrix(self._sample, tuple(claims), {}, {}))
        readable = set(self._sample.ranks("contexts"))
        for claim, found in zip(claims, known.claims, strict=True):
            named = (name for name in found.cited if isinstance(name, tuple))
            for rank in dict.fromkeys(chain.from_iterable(named)):
                if rank in readable:
                    # A source that could not be read is not asked about: silence of an empty text
                    # is no verdict on it.
                    by_rank.setdefault(rank, []).append(claim)
        asked = list[tuple[int, Sequence[Claim]]]()
        for rank in sorted(by_rank):
            asked += [(rank, part) for part in self.chunks(by_rank[rank])]
        return asked

    def chunks(self, claims: Sequence[Claim]) -> list[Sequence[Claim]]:
        """Return claims in the numbers that stand in one call."""
        return [claims[i : i + self._size] for i in range(0, len(claims), self._size)]

    async def ask(self, rank: int | None, claims: Sequence[Claim]) -> JudgedSubjects:
        """Judge claims against the best passages of a source, or of all."""
        shown = self._index.nearest(claims, self._job.passages, rank)
        question = Question(
            records=self.question.records,
            address=self.question.address,
            evidence=Evidence.of("contexts", document=rank),
            documents=lambda _: shown,
            ask=self.question.ask,
            read=self.question.read,
            per_call=self.question.per_call,
            order=self.question.order,
        )
        return await judge(question, claims, self._context)


def _supported(singles: Iterable[Assessment]) -> dict[str, Assessment]:
    """Return the first assessment that supports each claim."""
    supported: dict[str, Assessment] = {}
    for one in singles:
        if one.support == "supported":
            supported.setdefault(one.subject, one)
    return supported


def _by_one_source(sample: Sample, together: Iterable[Assessment]) -> list[Assessment]:
    """Return what all sources together support, as assessments against the source that the judges
    name, where it is one: where a misplaced citation should have pointed."""
    ranks = {document.id: rank for rank, document in enumerate(sample.contexts or (), 1)}
    found = list[Assessment]()
    for one in together:
        named = one.supported_by
        # A claim that needs two sources has no single place where its citation should have pointed.
        if len(named) == 1:
            found.append(one.model_copy(update={"document": ranks[named[0]]}))
    return found


class SourceIndex:
    """The passages of the sources of a report, searched by their words."""

    def __init__(self, sources: Sequence[Document], report: str = "") -> None:
        self._sources = sources
        self._foreign = {
            rank for rank, source in enumerate(sources, 1) if is_foreign(source.text, report)
        }
        self._passages = list[Passage]()
        for rank, source in enumerate(sources, 1):
            for number, text in enumerate(cut(source.text)):
                self._passages.append(Passage(str(number), str(rank), text))
        self._index = PassageIndex.build(self._passages)

    def nearest(
        self,
        claims: Sequence[Claim],
        best: int,
        rank: int | None,
    ) -> tuple[Document, ...]:
        """Return the passages that are nearest to claims, in reading order, as documents with the
        ids of their sources."""
        within = None if rank is None else str(rank)
        places = set[int]()
        for claim in claims:
            found = self._index.search(claim.text, best, within=within)
            places.update(found)
            for place in found[:WITH_NEIGHBORS]:
                places.update(self._index.beside(place))
        if rank is not None or not places:
            # What says the same in other words has few in common with the claim, or none.
            least = BEST_OF_FOREIGN if rank in self._foreign else best
            inside = (
                place
                for place, one in enumerate(self._passages)
                if within in (None, one.document) and place not in places
            )
            places.update([*islice(inside, max(0, least - len(places)))])
        runs = self._runs(places)
        return tuple(map(self._document, runs))

    def _runs(self, places: Iterable[int]) -> Iterator[list[Passage]]:
        """Yield passages that follow each other in a source together: a sentence that is cut where
        a passage ends is whole again, and the title is shown once."""
        run = list[Passage]()
        last = -1
        document = ""
        for place in sorted(places):
            passage = self._passages[place]
            follows = place == last + 1 and passage.document == document
            if run and not follows:
                yield run
                run = []
            run.append(passage)
            last = place
            document = passage.document
        if run:
            yield run

    def _document(self, run: Sequence[Passage]) -> Document:
        rank = int(run[0].document)
        source = self._sources[rank - 1]
        texts = [passage.text for passage in run]
        return Document(
            id=source.id,
            text=" ".join(texts),
            title=source.title,
        )


def cut(text: str) -> list[str]:
    """Return a text in passages of a few sentences, or of some words where sentences are long."""
    passages = list[str]()
    part = list[str]()
    words = 0
    for span in sentences(text):
        sentence = text[span.start : span.end]
        for piece in _pieces(sentence):
            count = len(piece.split())
            # Lines of a table or of a page without full stops are one long sentence.
            if part and (len(part) == SENTENCES or words + count > MOST_WORDS):
                passages.append(" ".join(part))
                part = []
                words = 0
            part.append(piece)
            words += count
    if part:
        passages.append(" ".join(part))
    return passages


def _pieces(sentence: str) -> list[str]:
    words = sentence.split()
    if len(words) <= MOST_WORDS:
        return [sentence]
    starts = range(0, len(words), MOST_WORDS)
    return [" ".join(words[start : start + MOST_WORDS]) for start in starts]


def sentence_claims(sample: Sample) -> tuple[Claim, ...]:
    """Return the sentences of a report as claims, for a forecast."""
    answer = sample.answer or ""
    claims = list[Claim]()
    for number, span in enumerate(sentence_spans(sample), 1):
        text = answer[span.start : span.end]
        if has_words(text):
            name = f"answer-{number}"
            claims.append(
                Claim(id=name, of="answer", text=text, sentences=(number,), grounding="ids_only")
            )
    return tuple(claims)


def report_job_of(record: Manifest) -> ClaimsJob:
    """Return the job of a run of claims, also of cited reports."""
    job = job_of(record)
    return ReportJob.of(job) if PASSAGES in record.settings else job
