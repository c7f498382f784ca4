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
        """Return the request for verdicts on the subjects."""
        ...

    def read(self, completion: Completion, request: Request, subjects: Sequence[S_contra]) -> Reading[Verdict]:
        """Read the verdicts of a reply."""
        ...


class EarlierVerdicts:
    """Claims of parts whose extraction did not fail, and verdicts, of an earlier result of the sample."""

    def __init__(self, earlier: SampleResult | None = None) -> None:
        self.calls = earlier.calls if earlier else ()
        self.extractions = {e.of: e for e in earlier.extractions if not e.failed_because} if earlier else {}
        self._cells = earlier.cells if earlier else ()
        self.verdicts = {
            (a.subject, a.evidence, verdict.judge, verdict.replicate): verdict
            for a in ((*earlier.assessments, *earlier.cells) if earlier else ())
            for verdict in a.verdicts
            if verdict.unassessed != "not_in_cache"
        }

    def cells(
        self, evidence: Evidence, subjects: Iterable[Subject], judge: Judge, replicate: int
    ) -> Iterator[tuple[Evidence, Verdict]]:
        """The verdicts of one judge on the subjects against single documents of a set, or its other orders."""
        ids, asked = {subject.id for subject in subjects}, (judge.name, replicate)
        for cell in self._cells:
            if cell.subject in ids and cell.evidence.part == evidence.part:
                yield from ((cell.evidence, v) for v in cell.verdicts if (v.judge, v.replicate) == asked)


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
    cells: tuple[Assessment, ...]
    """Against single documents, and against the documents in other orders."""
    calls: tuple[Call, ...]


class _Verdicts(NamedTuple):
    """The verdicts of judges, and the calls that brought them."""

    verdicts: tuple[Verdict, ...] = ()
    """On the evidence as a whole."""
    cells: tuple[tuple[Evidence, Verdict], ...] = ()
    """On single documents, and on the documents in other orders."""
    calls: tuple[Call, ...] = ()

    def as_cells(self, evidence: Evidence) -> _Verdicts:
        """The same, as verdicts on a single document or on another order."""
        return _Verdicts((), tuple((evidence, verdict) for verdict in self.verdicts), self.calls)

    def by_subject(self) -> dict[str, list[Verdict]]:
        """The verdicts on the evidence as a whole."""
        rows: dict[str, list[Verdict]] = {}
        for verdict in self.verdicts:
            rows.setdefault(verdict.subject, []).append(verdict)
        return rows

    def by_cell(self) -> dict[tuple[Evidence, str], list[Verdict]]:
        """The verdicts on each subject against each single document or other order."""
        rows: dict[tuple[Evidence, str], list[Verdict]] = {}
        for evidence, verdict in self.cells:
            rows.setdefault((evidence, verdict.subject), []).append(verdict)
        return rows


def _joined(*parts: _Verdicts) -> _Verdicts:
    verdicts, cells, calls = (tuple(chain.from_iterable(column)) for column in zip(*parts, strict=True))
    return _Verdicts(verdicts, cells, calls)


async def judge(question: Question[S], subjects: Sequence[S], context: JudgingContext) -> JudgedSubjects:
    """Ask all judges about the subjects and vote; those after `escalate` are asked only where the first ones differ."""
    judges, settings = context.judges, context.panel
    found = await _ask_judges(question, subjects, judges[: settings.escalate], context)
    if settings.escalate:
        rows = found.by_subject()
        divided = [subject for subject in subjects if panel.disputed(rows.get(subject.id, ()), settings)]
        found = _joined(found, await _ask_judges(question, divided, judges[settings.escalate :], context))
    rows = found.by_subject()

    def vote(subject: str, evidence: Evidence, verdicts: Sequence[Verdict]) -> Assessment:
        return panel.vote(subject, evidence, verdicts, settings, same_family=context.same_family)

    return JudgedSubjects(
        tuple([vote(subject.id, question.evidence, rows.get(subject.id, ())) for subject in subjects]),
        tuple([vote(subject, evidence, row) for (evidence, subject), row in found.by_cell().items()]),
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
    excluded = [judge for judge in judges if judge.name in context.excluded]
    not_asked = tuple(unassessed(subject, judge, "same_family") for judge in excluded for subject in subjects)
    return _joined(*found, _Verdicts(not_asked))


async def _ask_judge(
    question: Question[S], subjects: Sequence[S], judge: Judge, replicate: int, context: JudgingContext
) -> _Verdicts:
    """The verdicts of one judge: on all documents together, on each alone, or in several orders."""

    def ask(evidence: Evidence, subjects: Sequence[S] = subjects) -> Coroutine[Any, Any, _Verdicts]:
        return _ask_at(evidence, question, subjects, judge, replicate, context)

    whole, settings = question.evidence, context.panel
    if judge.name in context.on_record:
        cells = context.earlier.cells(whole, subjects, judge, replicate)
        return (await ask(whole))._replace(cells=tuple(cells))
    if not (settings.per_document or settings.shuffles) or len(question.singles) < 2:
        return await ask(whole)
    if not settings.per_document:
        orders = [Evidence(part=whole.part, order=n) for n in settings.other_orders(len(question.singles))]
        first, *others = await gather_all([ask(whole), *map(ask, orders)])
        return _joined(first, *(found.as_cells(order) for order, found in zip(orders, others, strict=True)))
    singles = dict(question.singles)
    alone = await gather_all([ask(evidence) for evidence in singles])
    cells_alone = _joined(*(found.as_cells(evidence) for evidence, found in zip(singles, alone, strict=True)))
    supported = _supported(cells_alone, singles)
    rest = [subject for subject in subjects if subject.id not in supported]
    if context.joint:
        joint = await ask(whole, rest)
    else:
        joint = _Verdicts(tuple(unassessed(subject, judge, "not_in_cache", replicate) for subject in rest))
    verdicts = supported | {verdict.subject: verdict for verdict in joint.verdicts}
    return _joined(cells_alone, joint)._replace(verdicts=tuple(verdicts[subject.id] for subject in subjects))


def _supported(alone: _Verdicts, documents: Mapping[Evidence, Document]) -> dict[str, Verdict]:
    """What verdicts on single documents, one of which at least supports the claim, come to for all of them."""
    by_subject: dict[str, list[tuple[Evidence, Verdict]]] = {}
    for evidence, verdict in alone.cells:
        if verdict.label == "supported":
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
        return _Verdicts(tuple(verdicts[subject.id] for subject in subjects))
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
        tuple(verdicts[subject.id] for subject in subjects),
        (),
        tuple(call for reply in replies for call in reply.calls),
    )


def unassessed(subject: Subject, judge: Judge, reason: Reason, replicate: int = 0) -> Verdict:
    """Return the verdict of a judge that has none, with the reason."""
    return Verdict(subject=subject.id, judge=judge.name, unassessed=reason, replicate=replicate)
