"""Plans, samples, and a provider that is paid, for tests of what a plan foresees."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.loopback import claim_judge
from claimeval.evaluation.claims import ClaimsJob
from claimeval.evaluation.forecast import Forecast, StepForecast, forecast
from claimeval.execution import Executor
from claimeval.judging import prompts
from claimeval.judging.panel import Panel
from claimeval.metrics.rows import rows
from claimeval.store.store import Store, completion, pack
from claimeval.types.chat_format import read_chat, write_chat
from claimeval.types.records import Sample
from claimeval.types.requests import Completion, ExtractTask, Judge, Outcome, Request

METRICS = ("faithfulness", "correctness", "coverage", "context_recall")


def judge(name: str = "a", **settings: Any) -> Judge:
    usual = {"name": name, "model": f"openai:{name}", "endpoint": "http://e", "claims_per_call": 20}
    return Judge.model_validate(usual | settings)


def plan(
    *judges: Judge,
    metrics: Sequence[str] = METRICS,
    extractor: Judge | None = None,
    assess_prompt: str = "three_way",
    **panel: Any,
) -> ClaimsJob:
    judges = judges or (judge(),)
    return ClaimsJob(
        metrics=rows(metrics),
        judges=judges,
        extractor=extractor or judges[0],
        extract_prompt=prompts.load("extract", "atomic"),
        assess_prompt=prompts.load("assess", assess_prompt),
        panel=Panel.model_validate(panel),
        claim_order=None,
    )


def sample(name: str, answer: str | None = "One fact. Two facts.", **fields: Any) -> Sample:
    return Sample.model_validate(
        {
            "id": name,
            "question": f"What of {name}?",
            "answer": answer,
            "contexts": ({"id": "d", "text": f"Much about {name}."},),
            "reference_answers": (f"All about {name}. It is so.",),
            **fields,
        }
    )


SAMPLES = [
    sample("first"),
    sample("second", "It has a WRONG fact. It has a MISSING one. It stands."),
    sample("many", " ".join(f"Fact number {n} holds." for n in range(45))),
    sample("silent", ""),
    sample("no answer", None),
    sample("no contexts", contexts=()),
]


class Paid(Executor):
    """A provider that takes every sentence for a claim; each reply is stored, and counted by step
    and judge."""

    def __init__(self, store: Store, usage: bool = True) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        self.usage: Counter[tuple[str, str, str]] = Counter()
        self._store = store
        self._usage = usage

    async def ask(self, request: Request) -> Outcome:
        if (value := self._store.get(request.key)) is not None:
            return completion(value)
        done = self.reply(request)
        self._store.put(request.key, pack(request, done))
        step = "extract" if isinstance(request.task, ExtractTask) else "assess"
        self.calls[step, request.judge.name] += 1
        self.usage[step, request.judge.name, "prompt"] += done.usage.prompt_tokens or 0
        self.usage[step, request.judge.name, "output"] += done.usage.completion_tokens or 0
        return done

    def reply(self, request: Request) -> Completion:
        """What the model says; a token is four bytes."""
        said = claim_judge.answer({"messages": [asdict(m) for m in request.messages]}).content
        assert isinstance(said, str)
        body = json.loads(write_chat(said, request.judge.model))
        if self._usage:
            tokens = {"prompt_tokens": request.size // 4, "completion_tokens": len(said) // 4}
            body["usage"] = tokens
        return read_chat(json.dumps(body).encode(), latency=0.1)


def foresee(
    samples: Iterable[Sample],
    plan: ClaimsJob,
    store: Store | None = None,
    prices: Path | None = None,
    batched: Sequence[str] = (),
) -> Forecast:
    return asyncio.run(forecast(samples, plan, store, prices, batched=batched))


def pay(samples: Iterable[Sample], plan: ClaimsJob, store: Store, paid: Paid | None = None) -> Paid:
    """Runs the plan for real."""
    paid = paid or Paid(store)

    async def run() -> None:
        for sample in samples:
            await plan.evaluate(sample, paid)

    asyncio.run(run())
    return paid


def line(found: Forecast, step: str, judge: str = "a") -> StepForecast:
    return next(line for line in found.lines if (line.step, line.judge) == (step, judge))


def holds(ends: tuple[float, float], truth: float) -> bool:
    return ends[0] <= truth <= ends[1]
