"""Test a judge with one extraction and one assessment, at the price of two short calls."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Literal

from pydantic import JsonValue

from claimeval import providers
from claimeval.judging import assess, extract, prompts
from claimeval.judging.assess import ShownDocuments
from claimeval.providers import Backend
from claimeval.providers.prices import price_of
from claimeval.providers.windows import known_window, stated_by_server
from claimeval.store.lessons import Lessons
from claimeval.types.chat_format import read_tokens
from claimeval.types.errors import UsageError, visible
from claimeval.types.options import RunOptions
from claimeval.types.probes import Probe, ProbeStep
from claimeval.types.records import Claim, Document
from claimeval.types.requests import CallError, Completion, Failure, Judge, Outcome, Request

QUESTION = "Where is the Eiffel Tower, and when did it open?"
ANSWER = "The Eiffel Tower is in Paris. It opened in 1889."
DOCUMENT = Document(id="page", text="The Eiffel Tower in Paris is 330 metres high. It opened on 31 March 1889.")
CLAIMS = {"The Eiffel Tower is in Paris.": True, "The Eiffel Tower is 500 metres high.": False}
"""Claims, and whether the document supports them."""
TOP_LOGPROBS = 5
_THINKS = re.compile(r"^\s*<think|</think", re.IGNORECASE)
_LIST = re.compile(r'\{\s*"verdicts"\s*:\s*\[')
"""A reply in the form that the prompt shows, although the schema asks for entries by id."""


class _Trial:
    """Sends requests to one judge without retries, and records replies and errors."""

    def __init__(self, judge: Judge, backend: Backend, timeout: float) -> None:
        self._judge = judge
        self._backend = backend
        self._timeout = timeout
        self.lessons = Lessons(None)
        self.replies: list[Completion] = []
        self.errors: list[CallError] = []

    async def _ask(self, request: Request) -> Outcome:
        """Return the reply, after removing refused parameters; a failure if there is none."""
        while True:
            sent = self.lessons.adapt(request)
            try:
                async with asyncio.timeout(self._timeout):
                    reply = await self._backend.complete(sent, lambda _: None)
            except TimeoutError:
                return Failure(reason="timeout", message=f"no complete reply within {self._timeout:g} s")
            except CallError as error:
                self.errors.append(error)
                if not self.lessons.learn(request, sent, error.failure):
                    return error.failure
            else:
                self.lessons.check_schema(sent, reply)
                self.replies.append(reply)
                return reply

    async def extract(self) -> ProbeStep:
        """Ask for the claims of a short answer."""
        request = extract.ask(prompts.load("extract", "atomic"), self._judge, "answer", ANSWER, QUESTION)
        outcome = await self._ask(request)

        def check(reply: Completion) -> str | None:
            extracted = extract.read(reply, request, "answer", QUESTION)
            if isinstance(extracted, Failure):
                return extracted.message
            return None if extracted else "it finds no claim in an answer with two"

        return _step("extract", outcome, check)

    async def assess(self) -> ProbeStep:
        """Ask for verdicts on a true and a false claim, with log-probabilities unless they are refused."""
        claims = [
            Claim(id=f"answer-{i}", of="answer", text=text, grounding="ungrounded") for i, text in enumerate(CLAIMS, 1)
        ]
        prompt = prompts.load("assess", "three_way")

        def request(judge: Judge) -> Request:
            """Return the question for this judge."""
            return assess.ask(prompt, judge, claims, ShownDocuments([DOCUMENT]), QUESTION)

        judge_request = request(
            self._judge.model_copy(update={"top_logprobs": self._judge.top_logprobs or TOP_LOGPROBS})
        )
        outcome = await self._ask(judge_request)
        if isinstance(outcome, Failure) and outcome.refused and not self._judge.top_logprobs:
            judge_request = request(self._judge)
            outcome = await self._ask(judge_request)

        def check(reply: Completion) -> str | None:
            assessed = assess.read(reply, judge_request)
            if assessed.failure:
                return assessed.failure.message
            labels = [assessed.values[claim.id].label if claim.id in assessed.values else None for claim in claims]
            right = [(label == "supported") == true for label, true in zip(labels, CLAIMS.values(), strict=True)]
            return None if all(right) else f"it says {', '.join(map(str, labels))} of a true and a false claim"

        return _step("assess", outcome, check)


def _step(step: Literal["extract", "assess"], outcome: Outcome, check: Callable[[Completion], str | None]) -> ProbeStep:
    if isinstance(outcome, Failure):
        return ProbeStep(step=step, right=False, problem=outcome.message)
    problem = check(outcome)
    return ProbeStep(
        step=step,
        right=problem is None,
        problem=problem,
        reply=visible(outcome.text or "", 160),
        prompt_tokens=outcome.usage.prompt_tokens,
        completion_tokens=outcome.usage.completion_tokens,
        seconds=outcome.latency,
    )


async def probe(judge: Judge, options: RunOptions) -> Probe:
    """Test a resolved judge; failures are in the result."""
    unprobed = Probe(judge=judge.name, model=judge.model, endpoint=judge.endpoint, reachable=False)
    price = price_of(judge, options.prices)
    unprobed = unprobed.model_copy(update={"price": {"input": price.input, "output": price.output} if price else None})
    try:
        providers.check_key(judge)
    except UsageError as error:
        return unprobed.model_copy(update={"problem": str(error), "key_accepted": False})
    async with providers.provider(judge.model).open(judge) as backend:
        trial = _Trial(judge, backend, options.timeout)
        steps = [await trial.extract()]
        if trial.replies or not any(error.fatal or error.status is None for error in trial.errors):
            steps.append(await trial.assess())
    result = _result(unprobed, judge, tuple(steps), trial)
    if not trial.replies or result.context_tokens:
        return result
    if stated := await stated_by_server(judge):
        settings = {**result.settings, "context_tokens": stated}
        return result.model_copy(update={"context_tokens": stated, "settings": settings})
    return result.model_copy(update={"context_tokens": known_window(judge)})


def _result(unprobed: Probe, judge: Judge, steps: tuple[ProbeStep, ...], trial: _Trial) -> Probe:
    statuses = {error.status for error in trial.errors}
    learned = trial.lessons.learned([judge])[judge.name]
    lists = [reply for reply in trial.replies if _LIST.match((reply.text or "").rpartition("</think>")[2].strip())]
    tokens = [read_tokens(reply.body) for reply in trial.replies]
    aloud = [_THINKS.search(reply.text or "") is not None for reply in trial.replies]
    changes: dict[str, object] = {
        "reachable": bool(trial.replies) or bool(statuses - {None, 200}),
        "key_accepted": True if trial.replies else False if statuses & {401, 403} else None,
        "problem": next((step.problem for step in steps if step.problem), None),
        "served_model": next((reply.served_model for reply in trial.replies if reply.served_model), None),
        "schema_honoured": False if lists and learned.schema_honoured else learned.schema_honoured,
        "thinks_aloud": any(aloud) if aloud else None,
        "log_probabilities": any(tokens) if trial.replies else None,
        "refused": tuple(name for name in learned.refused if name not in judge.learned.refused),
        "context_tokens": judge.context_tokens or learned.context_tokens,
        "steps": steps,
    }
    result = unprobed.model_copy(update=changes)
    return result.model_copy(update={"settings": _settings(judge, result, trial)})


def _settings(judge: Judge, result: Probe, trial: _Trial) -> dict[str, JsonValue]:
    """Return settings for a judge file that fit the results."""
    adapted = trial.lessons.judge(judge)
    refused = {name for error in trial.errors for name in error.refused}
    of_user = ("temperature", "top_p", "seed", "reasoning_effort", "top_logprobs")
    settings: dict[str, JsonValue] = {
        name: None for name in of_user if name in refused and getattr(judge, name) is not None
    }
    if adapted.token_limit != judge.token_limit:
        settings["token_limit"] = adapted.token_limit
    if judge.structured and (not adapted.structured or result.schema_honoured is False):
        settings["structured"] = False
    if result.context_tokens and not judge.context_tokens:
        settings["context_tokens"] = result.context_tokens
    if any(reply.finish_reason in ("length", "model_length") for reply in trial.replies):
        settings["max_tokens"] = 4 * judge.max_tokens
    return settings
