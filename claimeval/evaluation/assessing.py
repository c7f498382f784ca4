"""Claims -> the verdicts of all judges: against all documents together, against each alone, or in several orders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from claimeval.evaluation.plan import ClaimsJob
from claimeval.execution import Executor
from claimeval.execution.concurrently import gather_all
from claimeval.judging import assess, panel
from claimeval.judging.call_record import call_record
from claimeval.judging.prompts import Prompt
from claimeval.judging.replies import Reading
from claimeval.providers import reads_prompts
from claimeval.types.records import ASKED, Call, Claim, Document, Evidence, Part, Reason, Sample, SampleResult, Verdict
from claimeval.types.requests import Failure, Judge

ONE_TEXT = frozenset({"answer", "reference", ASKED})
"""Parts that are read as a whole; all others are sets of documents."""
MAX_ATTEMPTS = 2
"""How often a question is put when the reply is no use or leaves claims out."""
ALONE = 3
"""Up to this many claims that a reply left out are asked about again one by one; more are asked about together."""
RE_ASKED_REASONS: frozenset[Reason] = frozenset({"unparsable", "truncated"})


class EarlierVerdicts:
    """What an earlier result of the sample has: claims of parts whose extraction did not fail, and verdicts."""

    def __init__(self, earlier: SampleResult | None) -> None:
        self.calls = earlier.calls if earlier else ()
        self.extractions = {e.of: e for e in earlier.extractions if not e.failed_because} if earlier else {}
        self._cells = earlier.cells if earlier else ()
        self.verdicts = {
            (a.claim_id, a.evidence, verdict.judge, verdict.replicate): verdict
            for a in ((*earlier.assessments, *earlier.cells) if earlier else ())
            for verdict in a.verdicts
            if verdict.unassessed_because != "not_in_cache"
        }

    def cells(self, question: _Question, claims: Sequence[Claim]) -> Iterator[tuple[Evidence, Verdict]]:
        """What one judge said of the claims against single documents of a set, or its other orders."""
        ids, asked = {claim.id for claim in claims}, (question.judge.name, question.replicate)
        for cell in self._cells:
            if cell.claim_id in ids and cell.evidence.part == question.evidence.part:
                yield from ((cell.evidence, v) for v in cell.verdicts if (v.judge, v.replicate) == asked)


class _Question(NamedTuple):
    """What is asked of one judge, apart from the claims."""

    sample: Sample
    evidence: Evidence
    documents: tuple[Document, ...]
    judge: Judge
    replicate: int
    prompt: Prompt
    on_record: bool
    """Whether the judge's known verdicts are all there is."""

    def about_each_document(self) -> list[_Question]:
        """The same of each document alone, by its rank."""
        part = self.evidence.part
        return [
            self._replace(evidence=Evidence(part=part, document=rank), documents=(document,))
            for rank, document in zip(self.sample.ranks(part), self.documents, strict=True)
        ]

    def in_other_order(self, number: int) -> _Question:
        """The same of the documents in another order."""
        evidence = Evidence(part=self.evidence.part, order=number)
        return self._replace(evidence=evidence, documents=self.sample.documents(evidence) or ())


class Assessed(NamedTuple):
    verdicts: tuple[Verdict, ...]
    """Judge after judge, each on the claims it was asked about."""
    calls: tuple[Call, ...]
    cells: tuple[tuple[Evidence, Verdict], ...] = ()
    """Verdicts against single documents, and against the documents in other orders."""

    def by_claim(self, claims: Sequence[Claim]) -> list[list[Verdict]]:
        """The verdicts on each of the claims."""
        rows: dict[str, list[Verdict]] = {claim.id: [] for claim in claims}
        for verdict in self.verdicts:
            rows[verdict.claim_id].append(verdict)
        return list(rows.values())

    def by_cell(self) -> dict[tuple[Evidence, str], list[Verdict]]:
        """The verdicts on each claim against each single document or other order."""
        found: dict[tuple[Evidence, str], list[Verdict]] = {}
        for evidence, verdict in self.cells:
            found.setdefault((evidence, verdict.claim_id), []).append(verdict)
        return found


async def assess_all(
    sample: Sample, claims: Sequence[Claim], against: Part, plan: ClaimsJob, executor: Executor, known: EarlierVerdicts
) -> Assessed:
    """The verdicts of all judges; those after `escalate` are asked only about claims that divide the first ones."""
    first = await _assess(sample, claims, against, plan.judges[: plan.panel.escalate], plan, executor, known)
    if not plan.panel.escalate:
        return first
    rows = first.by_claim(claims)
    divided = [claim for claim, row in zip(claims, rows, strict=True) if panel.disputed(row, plan.panel)]
    more = await _assess(sample, divided, against, plan.judges[plan.panel.escalate :], plan, executor, known)
    return Assessed(first.verdicts + more.verdicts, first.calls + more.calls, first.cells + more.cells)


async def _assess(
    sample: Sample,
    claims: Sequence[Claim],
    against: Part,
    judges: Sequence[Judge],
    plan: ClaimsJob,
    executor: Executor,
    known: EarlierVerdicts,
) -> Assessed:
    evidence, documents = Evidence(part=against), sample.documents(against)
    assert documents, "there is evidence to assess against"
    if not claims:
        return Assessed((), ())
    own = plan.voters.same_family(sample, claims[0].of, against)
    excluded = own if plan.panel.on_same_family == "exclude" else frozenset()
    prompt = plan.prompt(claims[0].of, against)
    found = await gather_all(
        [
            _ask_judge(
                _Question(sample, evidence, documents, judge, n, prompt, judge.name in plan.on_record),
                [claim for claim in claims if not plan.panel.own_claims or claim.taken_by == judge.name],
                plan,
                executor,
                known,
            )
            for judge in judges
            if judge.name not in excluded and (prompt.step == "assess" or reads_prompts(judge))
            for n in range(plan.panel.replicates)
        ]
    )
    not_asked = [
        _unassessed(claim, judge, "same_family") for judge in judges if judge.name in excluded for claim in claims
    ]
    return Assessed(
        (*(v for f in found for v in f.verdicts), *not_asked),
        tuple(call for f in found for call in f.calls),
        tuple(cell for f in found for cell in f.cells),
    )


async def _ask_judge(
    question: _Question, claims: Sequence[Claim], plan: ClaimsJob, executor: Executor, known: EarlierVerdicts
) -> Assessed:
    """The verdicts of one judge: on all documents together, on each alone, or in several orders."""
    if question.on_record:
        found = await _ask_about(question, claims, executor, known)
        return found._replace(cells=tuple(known.cells(question, claims)))
    together = question.evidence.part in ONE_TEXT or len(question.documents) < 2
    if plan.panel.per_document and not together:
        return await _ask_per_document(question, claims, plan, executor, known)
    asked = [question]
    if plan.panel.shuffles and not together:
        asked += [question.in_other_order(number) for number in plan.panel.other_orders(len(question.documents))]
    first, *others = await gather_all([_ask_about(q, claims, executor, known) for q in asked])
    return _joined(first.verdicts, (first, *others), zip(asked[1:], others, strict=True))


async def _ask_per_document(
    question: _Question, claims: Sequence[Claim], plan: ClaimsJob, executor: Executor, known: EarlierVerdicts
) -> Assessed:
    """Each document alone; then all together about the claims that none of them supports."""
    asked = question.about_each_document()
    alone = await gather_all([_ask_about(q, claims, executor, known) for q in asked])
    rows = zip(*(found.verdicts for found in alone), strict=True)
    supported = {row[0].claim_id: _supported(row, question.documents) for row in rows if _supports(row)}
    rest = [claim for claim in claims if claim.id not in supported]
    if plan.joint:
        joint = await _ask_about(question, rest, executor, known)
    else:
        joint = Assessed(tuple(_unassessed(c, question.judge, "not_in_cache", question.replicate) for c in rest), ())
    found = supported | {verdict.claim_id: verdict for verdict in joint.verdicts}
    return _joined([found[claim.id] for claim in claims], (*alone, joint), zip(asked, alone, strict=True))


def _joined(
    verdicts: Iterable[Verdict], found: Iterable[Assessed], cells: Iterable[tuple[_Question, Assessed]]
) -> Assessed:
    return Assessed(
        tuple(verdicts),
        tuple(call for f in found for call in f.calls),
        tuple((question.evidence, verdict) for question, f in cells for verdict in f.verdicts),
    )


def _supports(verdicts: Iterable[Verdict]) -> bool:
    return any(verdict.label == "supported" for verdict in verdicts)


def _supported(verdicts: Sequence[Verdict], documents: Sequence[Document]) -> Verdict:
    """What verdicts on single documents, one of which at least supports the claim, come to for all of them."""
    yes = [(v, document) for v, document in zip(verdicts, documents, strict=True) if v.label == "supported"]
    likely = [verdict.probability for verdict, _ in yes if verdict.probability is not None]
    return yes[0][0].model_copy(
        update={"cites": tuple(document.id for _, document in yes), "probability": max(likely, default=None)}
    )


async def _ask_about(
    question: _Question, claims: Sequence[Claim], executor: Executor, known: EarlierVerdicts
) -> Assessed:
    """The verdicts on one set of documents, those that are known taken over."""
    place = question.evidence, question.judge.name, question.replicate
    before = {c.id: v for c in claims if (v := known.verdicts.get((c.id, *place)))}
    if question.on_record:
        absent = (_unassessed(c, question.judge, "not_in_cache", question.replicate) for c in claims)
        return Assessed(tuple(before.get(verdict.claim_id, verdict) for verdict in absent), ())
    unknown = [claim for claim in claims if claim.id not in before]
    found = await gather_all([_assess_chunk(chunk, question, executor) for chunk in assess.chunks(unknown)])
    verdicts = before | {v.claim_id: v for f in found for v in f.verdicts}
    return Assessed(tuple(verdicts[claim.id] for claim in claims), tuple(call for f in found for call in f.calls))


async def _assess_chunk(chunk: tuple[Claim, ...], question: _Question, executor: Executor) -> Assessed:
    """One verdict for every claim of the chunk: the judge's, or `unassessed` and why."""
    verdicts: dict[str, Verdict] = {}
    why: dict[str, Reason] = {}
    calls: list[Call] = []
    batches = [chunk]
    for attempt in range(MAX_ATTEMPTS):
        again: list[tuple[Claim, ...]] = []
        for batch in batches:
            request = assess.ask(
                question.prompt,
                question.judge,
                batch,
                question.documents,
                question.sample.question,
                alternatives=question.sample.alternatives(question.evidence.part),
                attempt=attempt,
                replicate=question.replicate,
            )
            outcome = await executor.ask(request)
            if isinstance(outcome, Failure):
                reading = Reading((), batch, outcome)
            else:
                reading = assess.read(outcome, request, computed=not reads_prompts(question.judge))
            ids = [claim.id for claim in batch]
            place = chunk[0].of, question.evidence
            calls.append(call_record("assess", request, outcome, reading.failure, *place, ids, reading.message))
            verdicts.update({verdict.claim_id: verdict for verdict in reading.verdicts})
            why.update({claim.id: reading.reason(claim) for claim in reading.missing})
            if not isinstance(outcome, Failure):
                again += _to_ask_again(reading)
        batches = again
    judge, n = question.judge, question.replicate
    asked = {"prompt": question.prompt.id, "settings": judge.id}
    for claim in chunk:
        if claim.id not in verdicts:
            verdicts[claim.id] = _unassessed(claim, judge, why[claim.id], n).model_copy(update=asked)
    return Assessed(tuple(verdicts[claim.id] for claim in chunk), tuple(calls))


def _to_ask_again(reading: Reading[Claim]) -> list[tuple[Claim, ...]]:
    """The claims that a reply left out, in the batches they are asked about again."""
    missing = reading.missing
    if reading.failure is None:
        return [(claim,) for claim in missing] if len(missing) <= ALONE else [missing]
    if reading.failure.reason not in RE_ASKED_REASONS:
        return []
    if reading.failure.reason == "truncated" and len(missing) > 1:
        middle = len(missing) // 2
        return [missing[:middle], missing[middle:]]
    return [missing]


def _unassessed(claim: Claim, judge: Judge, reason: Reason, replicate: int = 0) -> Verdict:
    return Verdict(
        claim_id=claim.id, judge=judge.name, label="unassessed", unassessed_because=reason, replicate=replicate
    )
