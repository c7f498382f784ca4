"""Ask all judges a question about subjects (claims, documents or answers), and vote on a label for
each subject.

This module implements chunks, replicates, judges of the answer's family, single
documents, other document orders, and windows of long documents. Re-asking is in `ask.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from typing import Any, Generic, NamedTuple, TypeVar

from claimeval.evaluation.ask import (
    Answers,
    CallAddress,
    Subject,
    ask_about,
    ask_windows,
    even_chunks,
    numbered,
    smaller_room,
)
from claimeval.evaluation.manifest import Manifest, QuestionRecord
from claimeval.execution import Executor
from claimeval.execution.concurrently import gather_all
from claimeval.judging import typed, windows
from claimeval.judging.panel import Panel, voting
from claimeval.judging.prompts import Prompt
from claimeval.judging.reply_values import ParsedReply
from claimeval.judging.typed import ClaimAndDocument
from claimeval.types.families import Families
from claimeval.types.records import (
    Assessment,
    Call,
    Claim,
    Document,
    Evidence,
    Part,
    ReadVerdict,
    Reason,
    Sample,
    SampleResult,
    Verdict,
)
from claimeval.types.requests import Completion, Failure, Judge, Request

S = TypeVar("S", bound=Subject)


@dataclass(frozen=True)
class Question(Generic[S]):
    """A question about subjects of one kind, assessed against the same evidence."""

    records: tuple[QuestionRecord, ...]
    """The question, and others that the same reply answers about the same subject."""
    address: CallAddress
    """Step and part in the records of calls."""
    evidence: Evidence
    """The whole evidence."""
    documents: Callable[[Evidence], Sequence[Document]]
    """Return the documents at an address; none if subjects are not assessed against documents."""
    ask: Callable[[Judge, Sequence[S], Sequence[Document]], Request]
    """Build the request for a judge's verdicts on subjects, assessed against these documents."""
    read: Callable[[Completion, Request, Sequence[S]], ParsedReply[tuple[ReadVerdict, ...]]]
    """Read the verdicts of a reply: for each subject, one per record."""
    singles: tuple[tuple[Evidence, Document], ...] = ()
    """The single documents that are assessed alone, or ordered anew; none if the evidence is always
    assessed as it is."""
    ask_pairs: Callable[[Judge, Sequence[ClaimAndDocument]], Request] | None = None
    """Build the request of a judge with `matrix: joint` about pairs of subjects and documents; None
    if subjects are not assessed against single documents."""
    by_document: bool = False
    """Whether a checker of pairs is asked about each document by itself."""
    per_call: Callable[[Judge], int] = lambda judge: 1
    """Number of subjects in one request to a judge."""
    order: Callable[[Judge, Sequence[S]], Sequence[S]] = lambda judge, subjects: subjects
    """Return subjects in the order in which a judge sees them."""
    concerns: Callable[[Judge, S], bool] | None = None
    """Whether a judge is asked about a subject; None if every judge is asked about all."""

    @property
    def panel(self) -> Panel:
        """The panel settings of the question."""
        return self.records[0].panel


class EarlierVerdicts:
    """Verdicts of an earlier result of the sample, and its claims of parts whose extraction did not
    fail."""

    def __init__(self, item: Sample | SampleResult | None = None) -> None:
        """Know the verdicts of a result; of a sample there are none."""
        earlier = item if isinstance(item, SampleResult) else None
        self.calls = earlier.calls if earlier else ()
        self._earlier = earlier
        self._not_whole = (*earlier.per_document, *earlier.orders) if earlier else ()
        self._verdicts: dict[tuple[str, str, Evidence, str, int], ReadVerdict] = {}
        for a in earlier.assessments if earlier else ():
            for verdict in a.verdicts:
                # An offline run leaves such verdicts behind, and a later run is to ask for them.
                if verdict.unassessed != "not_in_cache":
                    key = (a.question, a.subject, a.evidence, verdict.judge, verdict.replicate)
                    self._verdicts[key] = self._read(verdict)

    def verdicts(
        self,
        question: Question[S],
        subjects: Sequence[S],
        evidence: Evidence,
        judge: Judge,
        replicate: int,
    ) -> dict[str, Sequence[ReadVerdict]]:
        """Return a judge's verdicts, one per record of the question, on the subjects for which all
        are known.

        Args:
            question: The question.
            subjects: The subjects.
            evidence: The evidence.
            judge: The judge.
            replicate: Number of the replicate, from 0.
        """
        known: dict[str, Sequence[ReadVerdict]] = {}
        for subject in subjects if self._verdicts else ():
            keys = [
                (record.name, subject.id, evidence, judge.name, replicate)
                for record in question.records
            ]
            if all(key in self._verdicts for key in keys):
                known[subject.id] = [self._verdicts[key] for key in keys]
        return known

    def _read(self, verdict: Verdict) -> ReadVerdict:
        """Return a verdict with the key of its call."""
        fields = verdict.__dict__ | {
            "key": None if verdict.call is None else self.calls[verdict.call].key
        }
        del fields["call"]
        return ReadVerdict(**fields)

    def claims(self, part: Part) -> tuple[Claim, ...] | None:
        """Return the claims of a part, which may be none; None if they are unknown."""
        if self._earlier is None:
            return None
        return self._earlier.claims_of(part) or (
            () if self._earlier.unextracted.get(part) == "no_claims" else None
        )

    def not_whole(
        self,
        evidence: Evidence,
        subjects: Iterable[Subject],
        judge: Judge,
        replicate: int,
    ) -> JudgedSubjects:
        """Return a judge's verdicts against single documents of a set, or against other orders of
        it.

        Args:
            evidence: The whole set.
            subjects: The subjects.
            judge: The judge.
            replicate: Number of the replicate, from 0.
        """
        ids = {subject.id for subject in subjects}
        verdicts = dict[Evidence, dict[tuple[str, str], list[ReadVerdict]]]()
        for a in self._not_whole:
            if a.subject in ids and a.against == evidence.part:
                of_judge = [
                    v for v in a.verdicts if (v.judge, v.replicate) == (judge.name, replicate)
                ]
                if of_judge:
                    verdicts.setdefault(a.evidence, {})[a.question, a.subject] = [
                        *map(self._read, of_judge)
                    ]
        return JudgedSubjects(verdicts)


class JudgingContext(NamedTuple):
    """What is constant while one item is judged."""

    job: QuestionJob
    executor: Executor
    earlier: EarlierVerdicts = EarlierVerdicts()
    same_family: frozenset[str] = frozenset()
    """The judges of the family that wrote the answer."""


class QuestionJob(ABC):
    """A job that asks a panel about claims, documents or whole answers, and can vote and judge
    again.

    It is a frozen dataclass, of which `recorded_judges` is a field.
    """

    name: str
    judges: tuple[Judge, ...]
    panel: Panel
    recorded_judges: frozenset[str]
    """Judges that are not asked; only their earlier verdicts count."""
    about_answers = True
    """Whether the generator of the answer wrote what is judged."""
    joint = True
    """Whether claims that no single document supports are assessed against all documents
    together."""

    @property
    @abstractmethod
    def manifest(self) -> Manifest:
        """All settings that affect numbers."""

    @property
    @abstractmethod
    def records(self) -> tuple[QuestionRecord, ...]:
        """The questions."""

    @property
    @abstractmethod
    def prompts(self) -> tuple[Prompt, ...]:
        """The prompts of the questions; if there is one, a rejudge can replace it."""

    @abstractmethod
    async def evaluate(self, item: Sample | SampleResult, executor: Executor) -> SampleResult:
        """Return the verdicts and scores of one sample. Failures are reasons in the result."""

    @abstractmethod
    def scored(self, result: SampleResult) -> SampleResult:
        """Return the result with the scores from its assessments."""

    @property
    def usual_votes(self) -> Mapping[str, str]:
        """The default vote of each question whose default is not `majority`."""
        return {}

    @cached_property
    def families(self) -> Families:
        """The families of models."""
        return Families(self.panel.families)

    def same_family(self, sample: Sample, *parts: Part) -> frozenset[str]:
        """Return the judges of the family that wrote the answer, if the answer is one of the
        compared parts."""
        return (
            voting.same_family(self.judges, self.families, sample, *parts)
            if self.about_answers
            else frozenset()
        )

    @property
    def asked_judges(self) -> tuple[Judge, ...]:
        """The judges that are not recorded."""
        return tuple(judge for judge in self.judges if judge.name not in self.recorded_judges)

    @property
    def asked(self) -> tuple[Judge, ...]:
        """All judges that may get requests."""
        return self.asked_judges

    def cannot_continue(self, stopped: Mapping[str, str]) -> bool:
        """Return whether no judge is left."""
        return bool(self.asked_judges) and all(judge.name in stopped for judge in self.asked_judges)

    def prompt_of(self, assessment: Assessment, of: Part | None) -> str | None:
        """Return the id of the prompt of an assessment, of a claim of a part; None if the job does
        not make it."""
        return next(
            (record.prompt for record in self.records if record.name == assessment.question), None
        )

    def check_families(self, generators: Iterable[str | None]) -> None:
        """Raise UsageError if a judge is of a generator's family and `on_same_family` is
        `error`."""
        if self.about_answers:
            voting.refuse_same_family(
                [("judge", judge) for judge in self.judges],
                self.panel,
                generators,
            )


class JudgedSubjects(NamedTuple):
    """The verdicts of one or several judges on the subjects of a question."""

    verdicts: Mapping[Evidence, Mapping[tuple[str, str], Sequence[ReadVerdict]]]
    """By evidence, then by record of the question and subject: one per judge and replicate."""
    calls: tuple[Call, ...] = ()
    same_family: frozenset[str] = frozenset()
    """The judges of the family that wrote the answer."""

    @classmethod
    def of(
        cls,
        question: Question[S],
        evidence: Evidence,
        verdicts: Mapping[str, Sequence[ReadVerdict]],
        calls: tuple[Call, ...] = (),
    ) -> JudgedSubjects:
        """Return one judge's verdicts against one evidence.

        Args:
            question: The question.
            evidence: The evidence.
            verdicts: By subject: one per record of the question.
            calls: The calls that gave them.
        """
        names = [record.name for record in question.records]
        by_record = {}
        for subject, of_subject in verdicts.items():
            for name, verdict in zip(names, of_subject, strict=True):
                by_record[name, subject] = [verdict]
        return cls({evidence: by_record}, calls)

    @classmethod
    def joined(cls, several: Iterable[JudgedSubjects]) -> JudgedSubjects:
        """Return the verdicts and calls of several, in order."""
        verdicts: dict[Evidence, dict[tuple[str, str], list[ReadVerdict]]] = {}
        calls: list[Call] = []
        for judged in several:
            for evidence, by_record in judged.verdicts.items():
                joined = verdicts.setdefault(evidence, {})
                for key, of_key in by_record.items():
                    joined.setdefault(key, []).extend(of_key)
            calls += judged.calls
        return cls(verdicts, tuple(calls))


def votes(
    judged: Iterable[JudgedSubjects],
    records: Iterable[QuestionRecord],
    calls: Sequence[Call],
) -> tuple[Assessment, ...]:
    """Return the votes on the subjects, in order; each verdict names the place of its call.

    Args:
        judged: The verdicts of all judges on the subjects of each question.
        records: The questions, with their panels.
        calls: All calls of the sample.
    """
    # Reversed, so that of calls with one key the first counts, which is the one that was paid.
    places = {call.key: place for place, call in reversed([*enumerate(calls)])}
    panels = {record.name: record.panel for record in records}
    voted = []
    for of in judged:
        for evidence, by_record in of.verdicts.items():
            for (name, subject), verdicts in by_record.items():
                placed = [verdict.placed(places) for verdict in verdicts]
                vote = voting.vote(
                    subject,
                    evidence,
                    placed,
                    panels[name],
                    same_family=of.same_family,
                    question=name,
                )
                voted.append(vote)
    return tuple(voted)


async def judge(
    question: Question[S],
    subjects: Sequence[S],
    context: JudgingContext,
) -> JudgedSubjects:
    """Ask all judges about the subjects.

    Returns:
        The verdicts: first those against the whole evidence, by subject and record, of which there
        may be none; then those against single documents, or against the documents in other orders.
    """
    whole = question.evidence
    names = [record.name for record in question.records]
    keys = product((subject.id for subject in subjects), names)
    unasked: dict[tuple[str, str], Sequence[ReadVerdict]] = {
        (name, subject): () for subject, name in keys
    }
    judged = [JudgedSubjects({whole: unasked})]
    judged += await _ask_judges(question, subjects, context.job.judges, context)
    return JudgedSubjects.joined(judged)._replace(same_family=context.same_family)


async def _ask_judges(
    question: Question[S],
    subjects: Sequence[S],
    judges: Sequence[Judge],
    context: JudgingContext,
) -> list[JudgedSubjects]:
    if not subjects:
        return []
    panel = question.panel
    concerns = question.concerns
    # `no-vote` keeps such verdicts to look at, so only `skip` saves the calls.
    excluded = context.same_family if panel.on_same_family == "skip" else frozenset()
    in_parts = bool(question.singles) and (panel.per_document or panel.shuffle_contexts)

    def ask(judge: Judge, replicate: int) -> Coroutine[Any, Any, JudgedSubjects]:
        """Ask one judge about the subjects that concern it."""
        about = (
            [subject for subject in subjects if concerns(judge, subject)] if concerns else subjects
        )
        if in_parts or judge.name in context.job.recorded_judges:
            return _ask_in_parts(question, about, judge, replicate, context)
        return _ask_at(question.evidence, question, about, judge, replicate, context)

    asked = [judge for judge in judges if judge.name not in excluded]
    judged = await gather_all(
        [ask(judge, replicate) for judge, replicate in product(asked, range(panel.replicates))]
    )
    skipped = [
        JudgedSubjects.of(
            question,
            question.evidence,
            _unassessed(question, subjects, judge, "same_family"),
        )
        for judge in judges
        if judge.name in excluded
    ]
    return [*judged, *skipped]


async def _ask_in_parts(
    question: Question[S],
    subjects: Sequence[S],
    judge: Judge,
    replicate: int,
    context: JudgingContext,
) -> JudgedSubjects:
    """Return one judge's verdicts against all documents together, against each alone, or in several
    orders."""

    def ask(
        evidence: Evidence, subjects: Sequence[S] = subjects
    ) -> Coroutine[Any, Any, JudgedSubjects]:
        """Ask about the subjects against this evidence."""
        return _ask_at(evidence, question, subjects, judge, replicate, context)

    whole = question.evidence
    settings = question.panel
    if judge.name in context.job.recorded_judges:
        not_whole = context.earlier.not_whole(whole, subjects, judge, replicate)
        return JudgedSubjects.joined([await ask(whole), not_whole])
    singles = dict(question.singles)
    if settings.per_document is not True:
        if settings.per_document:
            others = [_ask_alone(question, subjects, judge, replicate, context)]
        else:
            orders = settings.other_orders(len(singles))
            others = [ask(Evidence.of(whole.part, order=n)) for n in orders]
        return JudgedSubjects.joined(await gather_all([ask(whole), *others]))
    alone = await _ask_alone(question, subjects, judge, replicate, context)
    # A claim that one document supports, all support: asking again would pay for a known answer.
    supported = _supported(alone, singles)
    unsupported = [subject for subject in subjects if subject.id not in supported]
    if context.job.joint:
        joint = await ask(whole, unsupported)
    else:
        unasked = _unassessed(question, unsupported, judge, "not_in_cache", replicate)
        joint = JudgedSubjects.of(question, whole, unasked)
    return JudgedSubjects.joined([JudgedSubjects.of(question, whole, supported), alone, joint])


async def _ask_alone(
    question: Question[S],
    subjects: Sequence[S],
    judge: Judge,
    replicate: int,
    context: JudgingContext,
) -> JudgedSubjects:
    """Return one judge's verdicts against each single document: of a request for each, or of one
    request about all pairs."""
    singles = [evidence for evidence, _ in question.singles]
    if not judge.matrix:
        asked = [
            _ask_at(evidence, question, subjects, judge, replicate, context) for evidence in singles
        ]
        return JudgedSubjects.joined(await gather_all(asked))
    known = {
        evidence: context.earlier.verdicts(question, subjects, evidence, judge, replicate)
        for evidence in singles
    }
    pairs = _open_pairs(question, subjects, known)
    replies = await _ask_pairs(question, pairs, judge, replicate, context)
    values = dict(chain.from_iterable(reply.values.items() for reply in replies))
    prompt = question.records[0].prompt
    for pair in pairs:
        (value,) = values[pair.id]
        if isinstance(value, Failure):
            value = (unassessed(judge, value.reason, replicate, prompt),)
        known[pair.evidence][pair.subject.id] = value
    verdicts = JudgedSubjects.joined(
        [JudgedSubjects.of(question, evidence, known[evidence]) for evidence in singles]
    )
    return verdicts._replace(calls=tuple(chain.from_iterable([each.calls for each in replies])))


def _open_pairs(
    question: Question[S],
    subjects: Sequence[S],
    known: Mapping[Evidence, Mapping[str, Sequence[ReadVerdict]]],
) -> list[ClaimAndDocument]:
    """Return the pairs of subjects and single documents without a known verdict."""
    pairs = []
    for evidence, document in question.singles:
        for subject in subjects:
            if subject.id not in known[evidence]:
                name = f"{subject.id} {evidence.document}"
                pairs.append(ClaimAndDocument(name, subject, evidence, document))
    return pairs


async def _ask_pairs(
    question: Question[S],
    pairs: Sequence[ClaimAndDocument],
    judge: Judge,
    replicate: int,
    context: JudgingContext,
) -> list[Answers[tuple[ReadVerdict, ...]]]:
    """Ask one judge about pairs, each of which is a subject of the request."""
    ask = question.ask_pairs
    assert ask is not None, "single documents are asked about in pairs too"
    about_pairs = Question[ClaimAndDocument](
        records=question.records,
        address=question.address,
        evidence=question.evidence,
        documents=lambda _: (),
        ask=lambda judge, pairs, _: ask(judge, pairs),
        read=lambda completion, request, _: typed.read_by_subject(completion, request),
    )
    step, part, _ = question.address
    address = CallAddress(step, part, question.evidence)
    asking = _Asking(about_pairs, judge, address, replicate, context.executor)
    chunks = even_chunks(pairs, question.per_call(judge))
    return await gather_all([asking.read(chunk, ()) for chunk in chunks])


def _supported(
    alone: JudgedSubjects, documents: Mapping[Evidence, Document]
) -> dict[str, tuple[ReadVerdict, ...]]:
    """Merge the verdicts of claims that at least one single document supports into verdicts on all
    documents."""
    by_subject: dict[str, list[tuple[Evidence, ReadVerdict]]] = {}
    for evidence, by_record in alone.verdicts.items():
        for (_, subject), (verdict,) in by_record.items():
            if verdict.support == "supported":
                by_subject.setdefault(subject, []).append((evidence, verdict))
    return {
        subject: (
            pairs[0][1]._replace(
                cites=tuple(documents[evidence].id for evidence, _ in pairs),
                probability=max(
                    (v.probability for _, v in pairs if v.probability is not None), default=None
                ),
            ),
        )
        for subject, pairs in by_subject.items()
    }


async def _ask_at(
    evidence: Evidence,
    question: Question[S],
    subjects: Sequence[S],
    judge: Judge,
    replicate: int,
    context: JudgingContext,
) -> JudgedSubjects:
    """Return one judge's verdicts against one evidence; known verdicts are reused."""
    verdicts = context.earlier.verdicts(question, subjects, evidence, judge, replicate)
    unknown: Sequence[S] = (
        [subject for subject in subjects if subject.id not in verdicts] if verdicts else subjects
    )
    if judge.name in context.job.recorded_judges:
        missing = _unassessed(question, unknown, judge, "not_in_cache", replicate)
        return JudgedSubjects.of(question, evidence, verdicts | missing)
    chunks = even_chunks(question.order(judge, unknown), question.per_call(judge))
    # The reply about known verdicts and these could differ, so only open subjects are asked about.
    step, part, _ = question.address
    asking = _Asking(
        question,
        judge,
        CallAddress(step, part, evidence),
        replicate,
        context.executor,
    )
    documents = tuple(question.documents(evidence))
    read = asking.read_each if asking.asks_pairs and len(documents) > 1 else asking.read
    replies = await gather_all([read(chunk, documents) for chunk in chunks])
    for reply in replies:
        for subject_id, values in reply.values.items():
            value = values[0] if len(values) == 1 else asking.merged(values, len(documents))
            if isinstance(value, Failure):
                none = unassessed(judge, value.reason, replicate, question.records[0].prompt)
                verdicts[subject_id] = [none] * len(question.records)
            else:
                verdicts[subject_id] = value
    calls = tuple(chain.from_iterable([reply.calls for reply in replies]))
    return JudgedSubjects.of(
        question,
        evidence,
        {subject.id: verdicts[subject.id] for subject in subjects},
        calls,
    )


@dataclass(frozen=True)
class _Asking(Generic[S]):
    """Asks one judge about chunks of subjects, in windows if a request does not fit into the
    judge's context window."""

    question: Question[S]
    judge: Judge
    address: CallAddress
    replicate: int
    executor: Executor

    def merged(
        self,
        values: Sequence[tuple[ReadVerdict, ...] | Failure],
        documents: int,
    ) -> tuple[ReadVerdict, ...] | Failure:
        """Merge the verdicts on all windows, or on each of the documents, for each record of the
        question."""
        merged = [
            windows.merge(
                [value if isinstance(value, Failure) else value[n] for value in values],
                record.scale,
            )
            for n, record in enumerate(self.question.records)
        ]
        failed = next((value for value in merged if isinstance(value, Failure)), None)
        parts = self._windows(len(values), documents)
        return failed or tuple(
            value._replace(windows=parts) for value in merged if isinstance(value, ReadVerdict)
        )

    def _windows(self, values: int, documents: int) -> int | None:
        """Return the number of windows that so many values are from; None if there is one for each
        document."""
        # A checker that sees one document at a time read no windows, though it has as many values.
        return None if self.asks_pairs and values == documents else values

    @property
    def asks_pairs(self) -> bool:
        """Whether the judge is asked about each document by itself."""
        return self.judge.asks == "pair" and self.question.by_document

    async def read_each(
        self,
        chunk: tuple[S, ...],
        documents: tuple[Document, ...],
    ) -> Answers[tuple[ReadVerdict, ...]]:
        """Ask about the subjects against each document by itself, of which the best one decides."""
        answers = await gather_all([self.read(chunk, (each,)) for each in documents])
        values = defaultdict[str, list[tuple[ReadVerdict, ...] | Failure]](list)
        calls: list[Call] = []
        for answer in answers:
            calls += answer.calls
            for subject, of_document in answer.values.items():
                values[subject] += of_document
        return Answers(values, tuple(calls))

    async def read(
        self,
        chunk: tuple[S, ...],
        documents: tuple[Document, ...],
        limit: int | None = None,
    ) -> Answers[tuple[ReadVerdict, ...]]:
        """Ask about the subjects, in parts if they do not fit; `limit` is half the size of a
        refused request."""
        request = self.question.ask(self.judge, chunk, documents)
        room = self.executor.room(request)
        if (limit is not None and request.size > limit) or (
            room is not None and not await self.executor.fits(request)
        ):
            known = min(size for size in (room, limit) if size is not None)
            if parts := await self._in_parts(chunk, documents, known, limit):
                return parts
        # The request about the whole chunk is built already, to see whether it fits.
        answers = await ask_about(
            chunk,
            lambda batch: (
                request
                if len(batch) == len(chunk)
                else self.question.ask(self.judge, batch, documents)
            ),
            self.question.read,
            self.executor,
            self.address,
            self.replicate,
        )
        if not (refused := answers.too_long):
            return answers._replace(limit=limit)
        too_long = tuple([subject for subject in chunk if subject.id in refused])
        room = smaller_room(
            request,
            answers.values[refused[0]][0],
            self.executor.room(request),
            limit,
        )
        limit = min(request.size // 2, limit or request.size)
        if smaller := await self._in_parts(too_long, documents, room, limit):
            return smaller._replace(
                values=answers.values | smaller.values, calls=(*answers.calls, *smaller.calls)
            )
        return answers._replace(limit=limit)

    async def _in_parts(
        self,
        chunk: tuple[S, ...],
        documents: tuple[Document, ...],
        room: int,
        limit: int | None,
    ) -> Answers[tuple[ReadVerdict, ...]] | None:
        """Ask about parts of at most this size that cover all subjects and documents; None if that
        is impossible.

        If the subjects alone need more than half of the room, they are divided; else the documents
        are, or the only subject if it is a document.
        """
        # Room for at least half a window of evidence: else forty claims would leave space for
        # single words.
        alone = self.question.ask(self.judge, chunk, ()).size if documents else room
        if len(chunk) > 1 and alone > room // 2:
            middle = len(chunk) // 2
            halves = await ask_windows(
                (chunk[:middle], chunk[middle:]),
                lambda half, limit: self.read(half, documents, limit),
                limit,
            )
            # The second half is not asked if the first was refused, and then has the same reason.
            unread = halves[0].values[chunk[0].id]
            values = dict.fromkeys([subject.id for subject in chunk], unread)
            for half in halves:
                values |= half.values
            return Answers(
                values,
                tuple(chain.from_iterable([half.calls for half in halves])),
                1,
                halves[0].limit,
            )
        if documents:
            return await self._in_windows(
                _split(documents, room - alone),
                lambda window, limit: self.read(chunk, window, limit),
                limit,
            )
        (subject,) = chunk
        if not isinstance(subject, Document):
            return None
        alone = self.question.ask(
            self.judge,
            (subject.model_copy(update={"text": "", "title": None}),),
            (),
        ).size
        return await self._in_windows(
            _split((subject,), room - alone),
            lambda window, limit: self.read(window, (), limit),
            limit,
        )

    async def _in_windows(
        self,
        split: Sequence[tuple[Any, ...]],
        ask: Callable[
            [tuple[Any, ...], int | None], Coroutine[Any, Any, Answers[tuple[ReadVerdict, ...]]]
        ],
        limit: int | None,
    ) -> Answers[tuple[ReadVerdict, ...]] | None:
        """Ask about the same subjects in each window; None if there are no windows."""
        if not split:
            return None
        answers = await ask_windows(split, ask, limit)
        values: dict[str, list[tuple[ReadVerdict, ...] | Failure]] = {}
        for answer in answers:
            for subject, of_window in answer.values.items():
                values.setdefault(subject, []).extend(of_window)
        total = sum(answer.windows for answer in answers)
        return Answers(values, numbered(answers), total, answers[0].limit)


def _split(documents: Sequence[Document], room: int) -> list[tuple[Any, ...]]:
    """Return documents in at least two windows of at most this size; none if the size is too
    small."""
    # A text that was refused whole is to be cut at least once, even if the stated window says that
    # it fits.
    while len(parts := windows.split(documents, room)) == 1:
        room = room * 3 // 4
    return [*parts]


def _unassessed(
    question: Question[S],
    subjects: Sequence[S],
    judge: Judge,
    reason: Reason,
    replicate: int = 0,
) -> dict[str, Sequence[ReadVerdict]]:
    return {
        subject.id: [unassessed(judge, reason, replicate)] * len(question.records)
        for subject in subjects
    }


def unassessed(
    judge: Judge,
    reason: Reason,
    replicate: int = 0,
    prompt: str | None = None,
) -> ReadVerdict:
    """Return a verdict without a label.

    Args:
        judge: The judge.
        reason: Why there is no label.
        replicate: Number of the replicate, from 0.
        prompt: Id of the prompt, if the judge was asked.
    """
    return ReadVerdict(judge.name, unassessed=reason, replicate=replicate, prompt=prompt)
