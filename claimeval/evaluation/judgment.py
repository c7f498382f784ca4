"""One judgment: a question is put to every judge about subjects by id, and their verdicts become one label a subject.

Chunks, re-asks, replicates, escalation, judges of the answer's family, single documents and other orders of the
documents are here, for claims, documents and answers alike.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, Protocol, TypeVar

from claimeval.evaluation.ask import CallAddress, Replies, Subject, ask_about
from claimeval.execution import Executor
from claimeval.execution.concurrently import gather_all
from claimeval.judging import panel
from claimeval.judging.panel import Panel
from claimeval.judging.prompts import Prompt
from claimeval.judging.replies import Reading
from claimeval.types.records import Assessment, Call, Document, Evidence, Reason, SampleResult, Verdict
from claimeval.types.requests import Completion, Failure, Judge, Request

S = TypeVar("S", bound=Subject)
S_contra = TypeVar("S_contra", bound=Subject, contravariant=True)


class Question(Protocol[S_contra]):
    """What every judge is asked about subjects of one kind, held against one body of evidence."""

    @property
    def name(self) -> str:
        """Which question it is: `support`, `on_topic`, `grade`, `rated_relevance`, ..."""
        ...

    @property
    def prompt(self) -> Prompt:
        """What judges are asked with."""
        ...

    @property
    def address(self) -> CallAddress:
        """Step and part that calls are recorded under."""
        ...

    @property
    def evidence(self) -> Evidence:
        """What the subjects are held against as a whole."""
        ...

    @property
    def singles(self) -> tuple[tuple[Evidence, Document], ...]:
        """The single documents of the evidence; none if it is read as a whole."""
        ...

    @property
    def per_call(self) -> int:
        """Subjects in one request."""
        ...

    def concerns(self, judge: Judge, subject: S_contra) -> bool:
        """Whether this judge is asked about the subject."""
        ...

    def ask(
        self, judge: Judge, subjects: Sequence[S_contra], evidence: Evidence, *, attempt: int, replicate: int
    ) -> Request:
        """Return the request for verdicts on the subjects.

        Args:
            judge: The judge that is asked.
            subjects: The subjects of the request.
            evidence: The evidence to judge against.
            attempt: Number of earlier attempts.
            replicate: Number of the replicate, from 0.

        Returns:
            The request.
        """
        ...

    def read(self, completion: Completion, request: Request, subjects: Sequence[S_contra]) -> Reading[Verdict]:
        """Read the verdicts of a reply."""
        ...


class EarlierVerdicts:
    """Claims of parts whose extraction did not fail, and verdicts, of an earlier result of the sample."""

    def __init__(self, earlier: SampleResult | None = None) -> None:
        self.calls = earlier.calls if earlier else ()
        self.extractions = {e.of: e for e in earlier.extractions if not e.failed_because} if earlier else {}
        self._not_whole = (*earlier.per_document, *earlier.orders) if earlier else ()
        self.verdicts = {
            (a.subject, a.evidence, verdict.judge, verdict.replicate): verdict
            for a in ((*earlier.assessments, *self._not_whole) if earlier else ())
            for verdict in a.verdicts
            if verdict.unassessed != "not_in_cache"
        }

    def not_whole(
        self, evidence: Evidence, subjects: Iterable[Subject], judge: Judge, replicate: int
    ) -> Iterator[tuple[Evidence, Verdict]]:
        """Yield a judge's verdicts against single documents of a set, or against other orders of it.

        Args:
            evidence: The whole set.
            subjects: The subjects whose verdicts are wanted.
            judge: The judge.
            replicate: Number of the replicate, from 0.

        Yields:
            The evidence of each verdict and the verdict.
        """
        ids, asked = {subject.id for subject in subjects}, (judge.name, replicate)
        for a in self._not_whole:
            if a.subject in ids and a.evidence.part == evidence.part:
                yield from ((a.evidence, v) for v in a.verdicts if (v.judge, v.replicate) == asked)


class JudgingContext(NamedTuple):
    """What is constant while the subjects of one item are judged."""

    judges: tuple[Judge, ...]
    panel: Panel
    executor: Executor
    same_family: frozenset[str] = frozenset()
    """The judges of the family that wrote the answer."""
    on_record: frozenset[str] = frozenset()
    """Judges that are not asked: the earlier verdicts of theirs are all there is."""
    joint: bool = True
    """Whether claims that no single document supports are assessed against all of them together."""
    earlier: EarlierVerdicts = EarlierVerdicts()

    @property
    def excluded(self) -> frozenset[str]:
        """The judges that are not asked because of their family."""
        return self.same_family if self.panel.on_same_family == "skip" else frozenset()


class JudgedSubjects(NamedTuple):
    """What all judges replied about the subjects of one question, and what the panel makes of it."""

    assessments: tuple[Assessment, ...]
    """One a subject, in their order."""
    per_document: tuple[Assessment, ...]
    """Against single documents."""
    orders: tuple[Assessment, ...]
    """Against the documents in other orders."""
    calls: tuple[Call, ...]


class _Verdicts(NamedTuple):
    """The verdicts of judges with the evidence of each, and the calls that brought them."""

    verdicts: tuple[tuple[Evidence, Verdict], ...] = ()
    calls: tuple[Call, ...] = ()

    def by_subject(self) -> dict[tuple[Evidence, str], list[Verdict]]:
        """The verdicts on each subject against each body of evidence."""
        rows: dict[tuple[Evidence, str], list[Verdict]] = {}
        for evidence, verdict in self.verdicts:
            rows.setdefault((evidence, verdict.subject), []).append(verdict)
        return rows


def _joined(parts: Iterable[_Verdicts]) -> _Verdicts:
    verdicts, calls = zip(*parts, strict=True)
    return _Verdicts(tuple(chain.from_iterable(verdicts)), tuple(chain.from_iterable(calls)))


async def judge(question: Question[S], subjects: Sequence[S], context: JudgingContext) -> JudgedSubjects:
    """Ask all judges about the subjects and vote; those after `escalate` are asked only where the first ones differ."""
    judges, settings, whole = context.judges, context.panel, question.evidence
    found = await _ask_judges(question, subjects, judges[: settings.escalate], context)
    if settings.escalate:
        rows = found.by_subject()
        divided = [subject for subject in subjects if panel.disputed(rows.get((whole, subject.id), ()), settings)]
        found = _joined([found, await _ask_judges(question, divided, judges[settings.escalate :], context)])
    rows = found.by_subject()
    pairs = dict.fromkeys([*((whole, subject.id) for subject in subjects), *rows])
    voted = {
        (evidence, subject): panel.vote(
            subject,
            evidence,
            rows.get((evidence, subject), ()),
            settings,
            same_family=context.same_family,
            question=question.name,
        )
        for evidence, subject in pairs
    }
    return JudgedSubjects(
        tuple([voted[whole, subject.id] for subject in subjects]),
        tuple([one for (evidence, _), one in voted.items() if evidence != whole and evidence.document is not None]),
        tuple([one for (evidence, _), one in voted.items() if evidence != whole and evidence.order is not None]),
        found.calls,
    )


async def _ask_judges(
    question: Question[S], subjects: Sequence[S], judges: Sequence[Judge], context: JudgingContext
) -> _Verdicts:
    if not subjects:
        return _Verdicts()
    found = await gather_all(
        [
            _ask_judge(question, [one for one in subjects if question.concerns(judge, one)], judge, n, context)
            for judge in judges
            if judge.name not in context.excluded
            for n in range(context.panel.replicates)
        ]
    )
    not_asked = tuple(
        (question.evidence, unassessed(subject, judge, "same_family"))
        for judge in judges
        if judge.name in context.excluded
        for subject in subjects
    )
    return _joined([*found, _Verdicts(not_asked)])


async def _ask_judge(
    question: Question[S], subjects: Sequence[S], judge: Judge, replicate: int, context: JudgingContext
) -> _Verdicts:
    """The verdicts of one judge: on all documents together, on each alone, or in several orders."""

    def ask(evidence: Evidence, subjects: Sequence[S] = subjects) -> Coroutine[Any, Any, _Verdicts]:
        """Ask about the subjects against this evidence."""
        return _ask_at(evidence, question, subjects, judge, replicate, context)

    whole, settings = question.evidence, context.panel
    if judge.name in context.on_record:
        others = _Verdicts(tuple(context.earlier.not_whole(whole, subjects, judge, replicate)))
        return _joined([await ask(whole), others])
    if not (settings.per_document or settings.shuffles) or len(question.singles) < 2:
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
        joint = _Verdicts(tuple((whole, unassessed(one, judge, "not_in_cache", replicate)) for one in rest))
    verdicts |= {verdict.subject: verdict for _, verdict in joint.verdicts}
    together = tuple((whole, verdicts[subject.id]) for subject in subjects)
    return _Verdicts((*alone.verdicts, *together), (*alone.calls, *joint.calls))


def _supported(alone: _Verdicts, documents: Mapping[Evidence, Document]) -> dict[str, Verdict]:
    """What verdicts on single documents, one of which at least supports the claim, come to for all of them."""
    by_subject: dict[str, list[tuple[Evidence, Verdict]]] = {}
    for evidence, verdict in alone.verdicts:
        if verdict.support == "supported":
            by_subject.setdefault(verdict.subject, []).append((evidence, verdict))
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
    earlier = context.earlier.verdicts
    verdicts = {one.id: v for one in subjects if (v := earlier.get((one.id, evidence, judge.name, replicate)))}
    unknown = [subject for subject in subjects if subject.id not in verdicts]
    if judge.name in context.on_record:
        verdicts |= {one.id: unassessed(one, judge, "not_in_cache", replicate) for one in unknown}
        return _Verdicts(tuple((evidence, verdicts[subject.id]) for subject in subjects))
    chunks = [unknown[start : start + question.per_call] for start in range(0, len(unknown), question.per_call)]
    replies: list[Replies[Verdict]] = await gather_all(
        [
            ask_about(
                chunk,
                lambda batch, attempt: question.ask(judge, batch, evidence, attempt=attempt, replicate=replicate),
                question.read,
                context.executor,
                question.address._replace(evidence=evidence),
            )
            for chunk in chunks
        ]
    )
    asked = {"prompt": question.prompt.id, "settings": judge.id}
    values = {name: value for reply in replies for name, value in reply.values.items()}
    for subject in unknown:
        value = values[subject.id]
        verdicts[subject.id] = (
            unassessed(subject, judge, value.reason, replicate).model_copy(update=asked)
            if isinstance(value, Failure)
            else value
        )
    return _Verdicts(
        tuple((evidence, verdicts[subject.id]) for subject in subjects),
        tuple(call for reply in replies for call in reply.calls),
    )


def unassessed(subject: Subject, judge: Judge, reason: Reason, replicate: int = 0) -> Verdict:
    """Return the verdict of a judge that has none.

    Args:
        subject: The subject without a label.
        judge: The judge.
        reason: Why there is no label.
        replicate: Number of the replicate, from 0.

    Returns:
        A verdict without a label.
    """
    return Verdict(subject=subject.id, judge=judge.name, unassessed=reason, replicate=replicate)
