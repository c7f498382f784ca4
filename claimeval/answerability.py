"""Whether a system answers what can be answered and declines what cannot: refusals told apart from answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from claimeval import lineups, panel, prompting
from claimeval.calls import Failure, Judge
from claimeval.carrying import Ending, carry_through
from claimeval.errors import UsageError
from claimeval.execution import Executor
from claimeval.execution.batch import Batching
from claimeval.execution.limits import Limits
from claimeval.execution.progress import Progress
from claimeval.execution.side_by_side import side_by_side
from claimeval.panel import Panel
from claimeval.pipeline import ATTEMPTS
from claimeval.prompting import Prompt
from claimeval.records import Reason, Sample, Verdict
from claimeval.replies import Answering
from claimeval.side_scores import SideRow
from claimeval.steps import answering

METRICS = ("answered", "right_to_answer")
"""`answered`: 1 where the answer gives at least a part of what was asked for. `right_to_answer`: 1 where it does so for
an answerable question or declines an unanswerable one, by `is_answerable`."""


class AnswerabilityPlan(NamedTuple):
    """What is asked about every answer."""

    judges: tuple[Judge, ...]
    prompt: Prompt
    panel: Panel


class _Said(NamedTuple):
    verdict: Verdict
    kind: str | None
    reply: str | None


def answerability_plan(specs: Sequence[str | Judge], prompt: str = "plain") -> AnswerabilityPlan:
    """Checked; UsageError before any call can be made."""
    found = lineups.named(specs)
    if deaf := next((judge for judge in found.judges if judge.provider == "local"), None):
        raise UsageError(f"judge {deaf.name!r} assesses claims only; answers are sorted by a language model")
    settings = lineups.valid_settings(found.settings, {"supported", "not_found"})
    panel.check(settings, [judge.name for judge in found.judges])
    return AnswerabilityPlan(found.judges, prompting.load("answering", prompt), settings)


async def sort_answer(sample: Sample, plan: AnswerabilityPlan, executor: Executor) -> SideRow:
    """The scores of one sample. An empty answer declines without a call; a sample without an answer has no value."""
    if sample.answer is None:
        return _row(sample, None, "missing_input", {})
    if not sample.answer.strip():
        return _row(sample, False, None, {})
    answer = sample.answer
    said: list[_Said] = await side_by_side(
        [
            _ask(sample.question, answer, judge, n, plan, executor)
            for judge in plan.judges
            for n in range(plan.panel.replicates)
        ]
    )
    vote = panel.vote("answer", "question", [one.verdict for one in said], plan.panel)
    details: dict[str, JsonValue] = {
        "judges": [
            {"judge": one.verdict.judge, "kind": one.kind, "reason": one.verdict.reason, "reply": one.reply}
            for one in said
        ]
    }
    answered = None if vote.label == "unassessed" else vote.label == "supported"
    return _row(sample, answered, vote.unassessed_because, details)


async def _ask(
    question: str, answer: str, judge: Judge, replicate: int, plan: AnswerabilityPlan, executor: Executor
) -> _Said:
    found: Answering | Failure = Failure(reason="provider_error", message="not asked")
    reply: str | None = None
    for attempt in range(ATTEMPTS):
        request = answering.ask(plan.prompt, judge, question, answer, attempt=attempt)
        request = request.model_copy(update={"replicate": replicate})
        outcome = await executor.ask(request)
        if isinstance(outcome, Failure):
            found = outcome
            break
        reply, found = outcome.text, answering.read(outcome, request)
        if not isinstance(found, Failure) or found.reason not in ("unparsable", "truncated"):
            break
    if isinstance(found, Failure):
        hole = Verdict(
            claim_id="answer",
            judge=judge.name,
            label="unassessed",
            unassessed_because=found.reason,
            replicate=replicate,
            reason=found.message,
        )
        return _Said(hole, None, reply)
    label = "not_found" if found.kind == "declines" else "supported"
    verdict = Verdict.model_validate(
        {"claim_id": "answer", "judge": judge.name, "label": label, "replicate": replicate, "reason": found.reason}
    )
    return _Said(verdict, found.kind, reply)


def _row(sample: Sample, answered: bool | None, because: Reason | None, details: dict[str, JsonValue]) -> SideRow:
    undefined = {} if because is None else {name: str(because) for name in METRICS}
    right: bool | None = None
    if sample.is_answerable is None:
        undefined["right_to_answer"] = "no is_answerable"
    elif answered is not None:
        right = answered == sample.is_answerable
    scores = {
        "answered": None if answered is None else float(answered),
        "right_to_answer": None if right is None else float(right),
    }
    return SideRow(id=sample.id, scores=scores, undefined=undefined, details=details)


async def run(
    samples: Iterable[Sample],
    plan: AnswerabilityPlan,
    *,
    cache: Path,
    limits: Limits,
    progress: Progress,
    offline: bool = False,
    batching: Batching | None = None,
) -> tuple[list[SideRow], Ending]:
    """The rows of all samples in order. Stops early as `claimeval score` does, and goes on from the stored replies."""
    rows: list[SideRow] = []
    ending = await carry_through(
        samples,
        lambda sample, executor: sort_answer(sample, plan, executor),
        judges=plan.judges,
        cache=cache,
        limits=limits,
        progress=progress,
        offline=offline,
        on_result=rows.append,
        hopeless=lambda stopped: all(judge.name in stopped for judge in plan.judges),
        run=_identity(samples, plan) if limits.capped else "",
        batching=batching,
    )
    return rows, ending


def _identity(samples: Iterable[Sample], plan: AnswerabilityPlan) -> str:
    digest = sha256(repr((plan.judges, plan.prompt.digest, plan.panel)).encode())
    for sample in samples:
        digest.update(repr((sample.id, sample.question, sample.answer)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def outcomes(samples: Iterable[Sample], rows: Iterable[SideRow]) -> Mapping[str, int]:
    """How often answerable and unanswerable questions were answered and declined; those without either are left out."""
    counts: Counter[str] = Counter(
        {f"{kind}_{deed}": 0 for kind in ("answerable", "unanswerable") for deed in ("answered", "declined")}
    )
    for sample, row in zip(samples, rows, strict=True):
        if sample.is_answerable is not None and row.scores["answered"] is not None:
            kind = "answerable" if sample.is_answerable else "unanswerable"
            counts[f"{kind}_{'answered' if row.scores['answered'] else 'declined'}"] += 1
    return counts
