"""One judgment: a question is put to every judge about subjects by id, and their verdicts become one label a subject.

Chunks, re-asks, replicates, escalation, judges of the answer's family, single documents and other orders of the
documents are here, for claims, documents and answers alike.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar

from claimeval.evaluation.ask import CallAddress, Replies, Subject, ask_about
from claimeval.evaluation.manifest import QuestionRecord
from claimeval.execution import Executor
from claimeval.execution.concurrently import gather_all
from claimeval.judging.panel import Panel, voting
from claimeval.judging.prompts import Prompt
from claimeval.judging.replies import Reading
from claimeval.types.records import (
    Assessment,
    Call,
    Claim,
    Document,
    Evidence,
    Part,
    Reason,
    SampleResult,
    Verdict,
)
from claimeval.types.requests import Completion, Failure, Judge, Request

S = TypeVar("S", bound=Subject)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Generic[S]):
    """What every judge is asked about subjects of one kind, held against one body of evidence."""

    records: tuple[QuestionRecord, ...]
    """The question, and others that the same reply answers about the same subject."""
    address: CallAddress
    """Step and part that calls are recorded under."""
    evidence: Evidence
    """What the subjects are held against as a whole."""
    ask: Callable[[Judge, Sequence[S], Evidence], Request]
    """Build the request for verdicts of a judge on subjects, held against the evidence."""
    read: Callable[[Completion, Request, Sequence[S]], Reading[tuple[Verdict, ...]]]
    """Read the verdicts of a reply: of each subject one a record."""
    singles: tuple[tuple[Evidence, Document], ...] = ()
    """The single documents of the evidence; none if it is read as a whole."""
    per_call: int = 1
    """Subjects in one request."""
    concerns: Callable[[Judge, S], bool] = lambda judge, subject: True
    """Whether a judge is asked about a subject."""

    @property
    def panel(self) -> Panel:
        """How the judges are asked, and how their verdicts are counted."""
        return self.records[0].panel


class EarlierVerdicts:
    """Claims of parts whose extraction did not fail, and verdicts, of an earlier result of the sample."""

    def __init__(self, earlier: SampleResult | None = None) -> None:
        self.calls = earlier.calls if earlier else ()
        self._earlier = earlier
        self._not_whole = (*earlier.per_document, *earlier.orders) if earlier else ()
        self._verdicts = {
            (a.question, a.subject, a.evidence, verdict.judge, verdict.replicate): verdict
            for a in ((*earlier.assessments, *self._not_whole) if earlier else ())
            for verdict in a.verdicts
            if verdict.unassessed != "not_in_cache"
        }

    def verdicts(
        self, question: Question[S], subject: Subject, evidence: Evidence, judge: Judge, replicate: int
    ) -> tuple[Verdict, ...]:
        """Return a judge's verdicts on a subject, one for each record of the question; none if one is missing.

        Args:
            question: The question.
            subject: The subject.
            evidence: What it is held against.
            judge: The judge.
            replicate: Number of the replicate, from 0.
        """
        if not self._verdicts:
            return ()
        keys = [(record.name, subject.id, evidence, judge.name, replicate) for record in question.records]
        found = tuple(self._verdicts[key] for key in keys if key in self._verdicts)
        return found if len(found) == len(keys) else ()

    def claims(self, part: Part) -> tuple[Claim, ...] | None:
        """Return the claims of a part, none where it makes none; None where they are not known."""
        if self._earlier is None:
            return None
        return self._earlier.claims_of(part) or (() if self._earlier.unextracted.get(part) == "no_claims" else None)

    def not_whole(
        self, evidence: Evidence, subjects: Iterable[Subject], judge: Judge, replicate: int
    ) -> Iterator[_OneVerdict]:
        """Yield a judge's verdicts against single documents of a set, or against other orders of it.

        Args:
            evidence: The whole set.
            subjects: The subjects whose verdicts are wanted.
            judge: The judge.
            replicate: Number of the replicate, from 0.

        Yields:
            The verdicts with question, evidence and subject of each.
        """
        ids, asked = {subject.id for subject in subjects}, (judge.name, replicate)
        for a in self._not_whole:
            if a.subject in ids and a.evidence.part == evidence.part:
                said = (v for v in a.verdicts if (v.judge, v.replicate) == asked)
                yield from (_OneVerdict(a.question, a.evidence, a.subject, v) for v in said)


class JudgingContext(NamedTuple):
    """What is constant while the subjects of one item are judged."""

    judges: tuple[Judge, ...]
    executor: Executor
    same_family: frozenset[str] = frozenset()
    """The judges of the family that wrote the answer."""
    on_record: frozenset[str] = frozenset()
    """Judges that are not asked: the earlier verdicts of theirs are all there is."""
    joint: bool = True
    """Whether claims that no single document supports are assessed against all of them together."""
    earlier: EarlierVerdicts = EarlierVerdicts()


class PanelJob:
    """What jobs have in common that put their questions to a panel."""

    judges: tuple[Judge, ...]
    on_record: frozenset[str]
    """Judges that are not asked: the verdicts that an earlier result has of them are all there is."""

    @property
    def asked_judges(self) -> tuple[Judge, ...]:
        """The judges that are not only on record."""
        return tuple(judge for judge in self.judges if judge.name not in self.on_record)

    @property
    def asked(self) -> tuple[Judge, ...]:
        """Everyone to whom a question may go."""
        return self.asked_judges

    def hopeless(self, stopped: Mapping[str, str]) -> bool:
        """Whether no judge is left."""
        return bool(self.asked_judges) and all(judge.name in stopped for judge in self.asked_judges)


class OtherJudging(NamedTuple):
    """What is other when the answers or documents of a run are judged again."""

    judges: tuple[Judge, ...]
    on_record: frozenset[str]
    """Judges that are not asked."""
    prompt: Prompt | None
    """Another prompt for the only question; None for the same."""
    counted: Callable[[Panel, str], Panel]
    """Returns the panel for a panel of the run and the usual vote of its question."""
    cluster: str | None
    """The field by which samples belong together in intervals."""


class JudgedSubjects(NamedTuple):
    """What all judges replied about the subjects of one question, and what the panel makes of it."""

    assessments: tuple[Assessment, ...]
    """One a subject, in their order."""
    per_document: tuple[Assessment, ...]
    """Against single documents."""
    orders: tuple[Assessment, ...]
    """Against the documents in other orders."""
    calls: tuple[Call, ...]


class _OneVerdict(NamedTuple):
    question: str
    evidence: Evidence
    subject: str
    verdict: Verdict


class _Verdicts(NamedTuple):
    """The verdicts of judges with question, evidence and subject of each, and the calls that brought them."""

    verdicts: tuple[_OneVerdict, ...] = ()
    calls: tuple[Call, ...] = ()

    def by_subject(self) -> dict[tuple[str, Evidence, str], list[Verdict]]:
        """The verdicts on each subject by question and evidence."""
        rows: dict[tuple[str, Evidence, str], list[Verdict]] = {}
        for question, evidence, subject, verdict in self.verdicts:
            rows.setdefault((question, evidence, subject), []).append(verdict)
        return rows


def _joined(parts: Iterable[_Verdicts]) -> _Verdicts:
    verdicts, calls = zip(*parts, strict=True)
    return _Verdicts(tuple(chain.from_iterable(verdicts)), tuple(chain.from_iterable(calls)))


async def judge(question: Question[S], subjects: Sequence[S], context: JudgingContext) -> JudgedSubjects:
    """Ask all judges about the subjects and vote; those after `escalate` are asked only where the first ones differ."""
    judges, settings, whole = context.judges, question.panel, question.evidence
    found = await _ask_judges(question, subjects, judges[: settings.escalate], context)
    if settings.escalate:
        rows, name = found.by_subject(), question.records[0].name
        divided = [one for one in subjects if voting.disputed(rows.get((name, whole, one.id), ()), settings)]
        found = _joined([found, await _ask_judges(question, divided, judges[settings.escalate :], context)])
    rows = found.by_subject()
    panels = {record.name: record.panel.while_running for record in question.records}
    keys = dict.fromkeys([*((name, whole, subject.id) for subject in subjects for name in panels), *rows])
    voted = [
        voting.vote(
            subject,
            evidence,
            rows.get((name, evidence, subject), ()),
            panels[name],
            same_family=context.same_family,
            question=name,
        )
        for name, evidence, subject in keys
    ]
    return JudgedSubjects(
        tuple([one for one in voted if one.evidence is whole or one.evidence == whole]),
        tuple([one for one in voted if one.evidence.document is not None and one.evidence != whole]),
        tuple([one for one in voted if one.evidence.order is not None and one.evidence != whole]),
        found.calls,
    )


async def _ask_judges(
    question: Question[S], subjects: Sequence[S], judges: Sequence[Judge], context: JudgingContext
) -> _Verdicts:
    if not subjects:
        return _Verdicts()
    excluded = context.same_family if question.panel.on_same_family == "skip" else frozenset()
    found = await gather_all(
        [
            _ask_judge(question, [one for one in subjects if question.concerns(judge, one)], judge, n, context)
            for judge in judges
            if judge.name not in excluded
            for n in range(question.panel.replicates)
        ]
    )
    skipped = [judge for judge in judges if judge.name in excluded]
    return _joined(
        [*found, *(_unassessed(question, question.evidence, subjects, judge, "same_family") for judge in skipped)]
    )


async def _ask_judge(
    question: Question[S], subjects: Sequence[S], judge: Judge, replicate: int, context: JudgingContext
) -> _Verdicts:
    """The verdicts of one judge: on all documents together, on each alone, or in several orders."""

    def ask(evidence: Evidence, subjects: Sequence[S] = subjects) -> Coroutine[Any, Any, _Verdicts]:
        """Ask about the subjects against this evidence."""
        return _ask_at(evidence, question, subjects, judge, replicate, context)

    whole, settings = question.evidence, question.panel
    if judge.name in context.on_record:
        others = _Verdicts(tuple(context.earlier.not_whole(whole, subjects, judge, replicate)))
        return _joined([await ask(whole), others])
    if not (settings.per_document or settings.shuffle_contexts) or len(question.singles) < 2:
        return await ask(whole)
    if not settings.per_document:
        orders = [Evidence(part=whole.part, order=n) for n in settings.other_orders(len(question.singles))]
        return _joined(await gather_all([ask(whole), *map(ask, orders)]))
    singles = dict(question.singles)
    alone = _joined(await gather_all([ask(evidence) for evidence in singles]))
    verdicts = _supported(alone, singles)
    rest = [subject for subject in subjects if subject.id not in verdicts]
    if context.joint:
        joint = await ask(whole, rest)
    else:
        joint = _unassessed(question, whole, rest, judge, "not_in_cache", replicate)
    verdicts |= {one.subject: one.verdict for one in joint.verdicts}
    name = question.records[0].name
    together = tuple(_OneVerdict(name, whole, subject.id, verdicts[subject.id]) for subject in subjects)
    return _Verdicts((*alone.verdicts, *together), (*alone.calls, *joint.calls))


def _supported(alone: _Verdicts, documents: Mapping[Evidence, Document]) -> dict[str, Verdict]:
    """What verdicts on single documents, one of which at least supports the claim, come to for all of them."""
    by_subject: dict[str, list[tuple[Evidence, Verdict]]] = {}
    for _, evidence, subject, verdict in alone.verdicts:
        if verdict.support == "supported":
            by_subject.setdefault(subject, []).append((evidence, verdict))
    return {
        subject: yes[0][1].model_copy(
            update={
                "cites": tuple(documents[evidence].id for evidence, _ in yes),
                "probability": max((v.probability for _, v in yes if v.probability is not None), default=None),
            }
        )
        for subject, yes in by_subject.items()
    }


async def _ask_at(
    evidence: Evidence,
    question: Question[S],
    subjects: Sequence[S],
    judge: Judge,
    replicate: int,
    context: JudgingContext,
) -> _Verdicts:
    """The verdicts of one judge on one body of evidence; those that are known are taken over."""
    earlier = {one.id: context.earlier.verdicts(question, one, evidence, judge, replicate) for one in subjects}
    unknown = [subject for subject in subjects if not earlier[subject.id]]
    names = [record.name for record in question.records]

    def given(verdicts: Mapping[str, Sequence[Verdict]]) -> tuple[_OneVerdict, ...]:
        """Return the verdicts in the order of the subjects."""
        return tuple(
            [
                _OneVerdict(name, evidence, subject.id, verdict)
                for subject in subjects
                for name, verdict in zip(names, verdicts[subject.id], strict=True)
            ]
        )

    if judge.name in context.on_record:
        lacking = {one.id: [unassessed(judge, "not_in_cache", replicate)] * len(names) for one in unknown}
        return _Verdicts(given({**earlier, **lacking}))
    chunks = [unknown[start : start + question.per_call] for start in range(0, len(unknown), question.per_call)]
    replies: list[Replies[tuple[Verdict, ...]]] = await gather_all(
        [
            ask_about(
                chunk,
                lambda batch: question.ask(judge, batch, evidence),
                question.read,
                context.executor,
                question.address._replace(evidence=evidence),
                replicate,
            )
            for chunk in chunks
        ]
    )
    prompt = question.records[0].prompt
    values = {name: value for reply in replies for name, value in reply.values.items()}

    def verdicts(subject: S) -> Sequence[Verdict]:
        """Return what the judge replied about the subject, or why there is nothing."""
        value = values[subject.id]
        if isinstance(value, Failure):
            return [unassessed(judge, value.reason, replicate, prompt)] * len(names)
        return value

    return _Verdicts(
        given({**earlier, **{subject.id: verdicts(subject) for subject in unknown}}),
        tuple(call for reply in replies for call in reply.calls),
    )


def _unassessed(
    question: Question[S], evidence: Evidence, subjects: Sequence[S], judge: Judge, reason: Reason, replicate: int = 0
) -> _Verdicts:
    return _Verdicts(
        tuple(
            _OneVerdict(record.name, evidence, subject.id, unassessed(judge, reason, replicate))
            for subject in subjects
            for record in question.records
        )
    )


def one_each(reading: Reading[Verdict]) -> Reading[tuple[Verdict, ...]]:
    """Return the reading of a reply that answers one question alone."""
    values = {subject: (verdict,) for subject, verdict in reading.values.items()}
    return Reading(values, reading.failure, reading.unread)


def unassessed(judge: Judge, reason: Reason, replicate: int = 0, prompt: str | None = None) -> Verdict:
    """Return the verdict of a judge that has none.

    Args:
        judge: The judge.
        reason: Why there is no label.
        replicate: Number of the replicate, from 0.
        prompt: Id of the prompt, if the judge was asked.

    Returns:
        A verdict without a label.
    """
    return Verdict(judge=judge.name, unassessed=reason, replicate=replicate, prompt=prompt)
