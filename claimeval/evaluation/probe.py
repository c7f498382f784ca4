"""Test a judge with an extraction, an assessment, and a question about twenty claims: three short
calls."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Set
from itertools import chain
from typing import Literal

from pydantic import JsonValue

from claimeval import providers
from claimeval.execution.learning import advice
from claimeval.judging import assess, extract, prompts
from claimeval.judging.assess import ShownDocuments
from claimeval.judging.replies import loops
from claimeval.judging.reply_values import after_reasoning, json_object
from claimeval.providers import Backend
from claimeval.providers.prices import price_of
from claimeval.providers.windows import known_window, stated_by_server
from claimeval.store.lessons import Lessons
from claimeval.types.chat_format import read_tokens, refuses
from claimeval.types.errors import UsageError, visible
from claimeval.types.options import RunOptions
from claimeval.types.probes import Probe, ProbeStep
from claimeval.types.records import Claim, Document
from claimeval.types.requests import (
    CLAIMS_PER_CALL,
    CallError,
    Completion,
    Failure,
    Judge,
    Outcome,
    Request,
)

QUESTION = "Where is the Eiffel Tower, and when did it open?"
ANSWER = "The Eiffel Tower is in Paris. It opened in 1889."
DOCUMENT = Document(
    id="page", text="The Eiffel Tower in Paris is 330 metres high. It opened on 31 March 1889."
)
CLAIMS = {"The Eiffel Tower is in Paris.": True, "The Eiffel Tower is 500 metres high.": False}
"""Claims, and whether the document supports them."""
LIGHTHOUSE = Document(
    id="page",
    text=(
        "The lighthouse at Orsa was built of grey granite in 1871. It is 34 metres high and has 152"
        " steps. Its lamp turns once in 12 seconds. The keeper's house beside it has four rooms and"
        " a slate roof; it was painted white in 1902. Since 1988 the light has worked without a"
        " keeper. The tower is open on Saturdays and Sundays from May to September. A ticket costs"
        " 6 euros, and children under ten pay nothing. Dogs are not allowed in the tower."
    ),
)
MANY = {
    "The lighthouse at Orsa was built in 1871.": True,
    "The lighthouse at Orsa was built of brick.": False,
    "The lighthouse at Orsa is 34 metres high.": True,
    "The lighthouse at Orsa has 125 steps.": False,
    "The lamp of the lighthouse at Orsa turns once in 12 seconds.": True,
    "The lamp of the lighthouse at Orsa is red.": False,
    "The keeper's house at Orsa has four rooms.": True,
    "The keeper's house at Orsa has a copper roof.": False,
    "The keeper's house at Orsa was painted white in 1902.": True,
    "The lighthouse at Orsa was painted white in 1902.": False,
    "The light at Orsa has worked without a keeper since 1988.": True,
    "The last keeper at Orsa was a woman.": False,
    "The tower at Orsa is open on Sundays in June.": True,
    "The tower at Orsa is open on Mondays.": False,
    "The tower at Orsa is closed in December.": True,
    "The tower at Orsa is open all year.": False,
    "A ticket for the tower at Orsa costs 6 euros.": True,
    "Children under ten pay 3 euros for the tower at Orsa.": False,
    "The lighthouse at Orsa is made of granite.": True,
    "Dogs may climb the tower at Orsa on a lead.": False,
}
"""Twenty claims, and whether the lighthouse's document supports them."""
TOP_LOGPROBS = 5
SMALL_REPLY = 1024
"""Tokens of a reply of a model that loops."""
_THINKS = re.compile(r"^\s*<think|</think", re.IGNORECASE)


def _thinks_aloud(text: str) -> bool:
    """Return whether a reply holds reasoning; JSON may quote its marks."""
    return not text.lstrip().startswith("{") and _THINKS.search(text) is not None


class _Trial:
    """Sends requests to one judge without retries, and records replies and errors."""

    def __init__(self, judge: Judge, backend: Backend, timeout: float) -> None:
        self._judge = judge
        self._backend = backend
        self._timeout = timeout
        self.lessons = Lessons(None)
        self.replies: list[Completion] = []
        self.errors: list[CallError] = []
        self.other_form = False
        """Whether verdicts lack what the schema requires."""

    async def _ask(self, request: Request) -> Outcome:
        """Return the reply, after removing refused parameters; a failure if there is none."""
        while True:
            sent = self.lessons.adapt(request)
            try:
                async with asyncio.timeout(self._timeout):
                    reply = await self._backend.complete(sent, lambda _: None)
            except TimeoutError:
                return Failure(
                    reason="timeout", message=f"no complete reply within {self._timeout:g} s"
                )
            except CallError as error:
                self.errors.append(error)
                if not self.lessons.learn(request, sent, error.failure):
                    return error.failure
            else:
                if not refuses(reply.text or ""):
                    self.lessons.check_schema(sent, reply)
                self.replies.append(reply)
                return reply

    async def extract(self) -> ProbeStep:
        """Ask for the claims of a short answer."""
        request = extract.ask(
            prompts.load("extract", "atomic"), self._judge, "answer", ANSWER, QUESTION
        )
        outcome = await self._ask(request)

        def check(reply: Completion) -> str | None:
            extracted = extract.read(reply, request, "answer", QUESTION)
            if isinstance(extracted, Failure):
                return _problem(extracted)
            return None if extracted else "it finds no claim in an answer with two"

        return _step("extract", outcome, check)

    async def assess(self) -> ProbeStep:
        """Ask for verdicts on a true and a false claim, with log-probabilities unless they are
        refused."""
        claims = _claims(CLAIMS)
        prompt = prompts.load("assess", "three_way")

        def request(judge: Judge) -> Request:
            """Return the question for this judge."""
            return assess.ask(prompt, judge, claims, ShownDocuments([DOCUMENT]), QUESTION)

        judge_request = request(
            self._judge.model_copy(
                update={"top_logprobs": self._judge.top_logprobs or TOP_LOGPROBS}
            )
        )
        outcome = await self._ask(judge_request)
        if isinstance(outcome, Failure) and outcome.refused and not self._judge.top_logprobs:
            judge_request = request(self._judge)
            outcome = await self._ask(judge_request)

        def check(reply: Completion) -> str | None:
            assessed = assess.read(reply, judge_request)
            if assessed.failure:
                return _problem(assessed.failure)
            self.other_form = not _in_form(reply, judge_request)
            labels = [
                assessed.values[claim.id][0].label if claim.id in assessed.values else None
                for claim in claims
            ]
            right = [
                (label == "supported") == true
                for label, true in zip(labels, CLAIMS.values(), strict=True)
            ]
            return (
                None
                if all(right)
                else f"it says {', '.join(map(str, labels))} of a true and a false claim"
            )

        return _step("assess", outcome, check)

    async def assess_many(self) -> int | None:
        """Ask about twenty claims at once, and return how many get the right label; None without a
        reply."""
        claims = _claims(MANY)
        shown = ShownDocuments([LIGHTHOUSE])
        request = assess.ask(
            prompts.load("assess", "three_way"), self._judge, claims, shown, "What is at Orsa?"
        )
        outcome = await self._ask(request)
        if isinstance(outcome, Failure):
            return None
        given = assess.read(outcome, request).values
        labels = [given[claim.id][0].label if claim.id in given else None for claim in claims]
        pairs = zip(labels, MANY.values(), strict=True)
        return sum(label is not None and (label == "supported") == true for label, true in pairs)


def _in_form(reply: Completion, request: Request) -> bool:
    """Return whether verdicts have the fields of the schema."""
    required = json.loads(request.response_schema or "{}")["properties"]["verdicts"]
    verdicts = json_object(after_reasoning(reply.text or "")).get("verdicts")
    if required["type"] == "object":
        return isinstance(verdicts, dict) and set(verdicts) == set(required["required"])
    fields = set(required["items"]["required"])
    return isinstance(verdicts, list) and all(
        isinstance(entry, dict) and fields <= set(entry) for entry in verdicts
    )


def _claims(texts: Iterable[str]) -> list[Claim]:
    return [
        Claim(id=f"answer-{i}", of="answer", text=text, grounding="ungrounded")
        for i, text in enumerate(texts, 1)
    ]


def _problem(failure: Failure) -> str:
    if failure.reason == "refused":
        return "it refuses to answer"
    return (
        f"{failure.message}; {advice(failure)}"
        if failure.reason == "unparsable"
        else failure.message
    )


def _step(
    step: Literal["extract", "assess"], outcome: Outcome, check: Callable[[Completion], str | None]
) -> ProbeStep:
    if isinstance(outcome, Failure):
        return ProbeStep(step=step, right=False, problem=outcome.message)
    problem = check(outcome)
    return ProbeStep(
        step=step,
        right=problem is None,
        problem=problem,
        reply=visible(outcome.text or outcome.refusal or "", 160),
        prompt_tokens=outcome.usage.prompt_tokens,
        completion_tokens=outcome.usage.completion_tokens,
        seconds=outcome.latency,
    )


async def probe(judge: Judge, options: RunOptions) -> Probe:
    """Test a resolved judge; failures are in the result."""
    unprobed = Probe(judge=judge.name, model=judge.model, endpoint=judge.endpoint, reachable=False)
    price = price_of(judge, options.prices)
    unprobed = unprobed.model_copy(
        update={"price": {"input": price.input, "output": price.output} if price else None}
    )
    try:
        providers.check_key(judge)
    except UsageError as error:
        return unprobed.model_copy(update={"problem": str(error), "key_accepted": False})
    async with providers.provider(judge.model).open(judge) as backend:
        trial = _Trial(judge, backend, options.timeout)
        steps = [await trial.extract()]
        if trial.replies or not any(error.fatal or error.status is None for error in trial.errors):
            steps.append(await trial.assess())
        usable = all(step.right for step in steps) and len(steps) == 2
        unprobed = unprobed.model_copy(
            update={"of_twenty": await trial.assess_many() if usable else None}
        )
    result = _result(unprobed, judge, tuple(steps), trial)
    if not trial.replies or result.context_tokens:
        return result
    if stated := await stated_by_server(judge):
        settings = {**result.settings, "context_tokens": stated}
        return result.model_copy(update={"context_tokens": stated, "settings": settings})
    return result.model_copy(update={"context_tokens": known_window(judge)})


def _key_accepted(trial: _Trial, statuses: Set[int | None]) -> bool | None:
    """Return whether the server took the key; None if no reply says so."""
    if trial.replies:
        return True
    return False if statuses & {401, 403} else None


def _result(unprobed: Probe, judge: Judge, steps: tuple[ProbeStep, ...], trial: _Trial) -> Probe:
    statuses = {error.status for error in trial.errors}
    learned = trial.lessons.learned([judge])[judge.name]
    tokens = [read_tokens(reply.body) for reply in trial.replies]
    aloud = [_thinks_aloud(reply.text or "") for reply in trial.replies]
    changes: dict[str, object] = {
        "reachable": bool(trial.replies) or bool(statuses - {None, 200}),
        "key_accepted": _key_accepted(trial, statuses),
        "problem": next((step.problem for step in steps if step.problem), None),
        "served_model": next(
            (reply.served_model for reply in trial.replies if reply.served_model), None
        ),
        "schema_honoured": (
            False if trial.other_form and learned.schema_honoured else learned.schema_honoured
        ),
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
    refused = set(chain.from_iterable(error.refused for error in trial.errors))
    of_user = ("temperature", "top_p", "seed", "reasoning_effort", "top_logprobs")
    refused_of_user = [name for name in of_user if name in refused]
    settings: dict[str, JsonValue] = {
        name: None for name in refused_of_user if getattr(judge, name) is not None
    }
    at_once = providers.claims_per_call(judge)
    if result.of_twenty == len(MANY) > at_once:
        settings["claims_per_call"] = "auto"
    elif (
        result.of_twenty is not None
        and result.of_twenty < len(MANY) - 1
        and at_once > CLAIMS_PER_CALL
    ):
        settings["claims_per_call"] = CLAIMS_PER_CALL
    if adapted.token_limit != judge.token_limit:
        settings["token_limit"] = adapted.token_limit
    if judge.structured and (not adapted.structured or result.schema_honoured is False):
        settings["structured"] = False
    if result.context_tokens and not judge.context_tokens:
        settings["context_tokens"] = result.context_tokens
    cut = [reply for reply in trial.replies if reply.finish_reason in ("length", "model_length")]
    if any(loops(reply.text or "") for reply in cut):
        settings |= {"claims_per_call": 1, "max_tokens": SMALL_REPLY}
    elif cut:
        settings["max_tokens"] = 4 * judge.max_tokens
    return settings
