"""Test a judge with an extraction, an assessment, and a question about twenty claims: three short
calls. A judge that labels all of the twenty is also asked about forty, and one that errs is asked
about the same claims five at a time, which shows whether their number is the cause."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import chain
from typing import Literal, NamedTuple

from pydantic import JsonValue

from claimeval import providers
from claimeval.evaluation.ask import even_chunks
from claimeval.execution.learning import advice
from claimeval.execution.trials import FormTrial, Inconclusive, refused_settings
from claimeval.judging import assess, extract, prompts
from claimeval.judging.assess import ShownDocuments
from claimeval.judging.replies import loops
from claimeval.judging.reply_values import after_reasoning, json_object
from claimeval.providers import Backend
from claimeval.providers.prices import price_of
from claimeval.providers.windows import (
    known_window,
    may_be_small,
    size_of_small,
    stated_by_server,
)
from claimeval.store.lessons import Lessons
from claimeval.types.chat_format import read_tokens, refuses
from claimeval.types.errors import UsageError, visible
from claimeval.types.options import RunOptions
from claimeval.types.probes import Probe, ProbeStep
from claimeval.types.records import Claim, Document, ReadVerdict
from claimeval.types.requests import (
    CLAIMS_PER_CALL,
    SMALL_REPLY,
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
LIBRARY = Document(
    id="report",
    text=(
        "The town library of Tjome lent 84,200 books in 2019, and 61,400 in 2020, when it was"
        " closed from 12 March to 2 June. It has employed nine people since 2016, three of them"
        " part-time. The building dates from 1938 and was extended in 1977 by a reading room with"
        " 60 seats. Of the loans in 2019, 46 per cent were children's books. A card is free for"
        " residents; others pay 150 kroner a year. Two vans brought books to the outer islands"
        " until 2011; one has done so since then, every second Thursday. The director, Ada Holm,"
        " said that the library would open on Sundays if the council approved the budget."
    ),
)
MORE = {
    "The library of Tjome lent 84,200 books in 2019.": True,
    "The library of Tjome lent more books in 2020 than in 2019.": False,
    "The library of Tjome was closed in April 2020.": True,
    "The library of Tjome reopened on 12 March 2020.": False,
    "Nine people work at the library of Tjome.": True,
    "All employees of the library of Tjome work full-time.": False,
    "The library building of Tjome is from 1938.": True,
    "The reading room of the library of Tjome was added in 1938.": False,
    "The reading room of the library of Tjome has 60 seats.": True,
    "The reading room of the library of Tjome has 77 seats.": False,
    "Fewer than half of the loans in Tjome in 2019 were children's books.": True,
    "Children borrowed 46 per cent of the books of the library of Tjome in 2020.": False,
    "Residents of Tjome pay nothing for a library card.": True,
    "Visitors pay 150 kroner a month for a card of the library of Tjome.": False,
    "One van brings books from Tjome to the outer islands.": True,
    "Two vans bring books from Tjome to the outer islands today.": False,
    "Ada Holm is the director of the library of Tjome.": True,
    "The library of Tjome is open on Sundays.": False,
    "Ada Holm said that Sundays depend on the budget.": True,
    "The council of Tjome approved the budget of the library.": False,
}
"""Twenty more, for the report; a question about forty has both documents."""
TOP_LOGPROBS = 5
MOST_FORMS = 10
"""Forms of a request that are sent one after another, each without what the last one taught."""
CHANCE = 1
"""Errors that say nothing about the number of claims in a question: two readings of twenty claims
often differ in one label."""
_THINKS = re.compile(r"^\s*<think|</think", re.IGNORECASE)


class Borne(NamedTuple):
    """How many claims a judge bears in one question."""

    of_twenty: int | None
    """How many of twenty claims it labels right; None if one gets no label."""
    at_once: int


class _Trial:
    """Sends requests to one judge without retries, and records replies and errors."""

    def __init__(self, judge: Judge, backend: Backend, timeout: float) -> None:
        self._judge = judge
        self._backend = backend
        self._timeout = timeout
        self.lessons = Lessons(None)
        self.replies: list[Completion] = []
        self._by_key: dict[str, Completion] = {}
        """All replies, also those to other forms of a request, so that none is paid twice."""
        self.errors: list[CallError] = []
        self.beyond: list[Completion] = []
        """The replies about more claims at once than the judge would be asked."""
        self.refused: set[str] = set()
        """Settings of the user that the server refuses, as other forms of a request have shown."""
        self.other_form = False
        """Whether verdicts lack what the schema requires."""
        self.states_probability = False
        """Whether a verdict of a judge that reads no prompts has a probability."""

    async def _ask(self, request: Request) -> Outcome:
        """Return the reply, after other forms of a refused request; a failure if there is none."""
        for _ in range(MOST_FORMS):
            sent = self.lessons.adapt(request)
            outcome = await self._send(sent)
            if isinstance(outcome, Completion):
                if not refuses(outcome.text or ""):
                    self.lessons.check_schema(sent, outcome)
                self.replies.append(outcome)
                return outcome
            failure = outcome
            if failure.another_form:
                remaining = await self._tried(request, sent, failure)
                if remaining:
                    return remaining
            elif not self.lessons.learn(request, sent, failure):
                break
        return failure

    async def _send(self, request: Request) -> Outcome:
        """Return the reply to a request as it is; a failure if there is none."""
        if request.key in self._by_key:
            return self._by_key[request.key]
        try:
            async with asyncio.timeout(self._timeout):
                reply = await self._backend.complete(request, lambda _: None)
        except TimeoutError:
            return Failure(
                reason="timeout", message=f"no complete reply within {self._timeout:g} s"
            )
        except CallError as error:
            self.errors.append(error)
            return error.failure
        self._by_key[request.key] = reply
        return reply

    async def _tried(self, request: Request, sent: Request, failure: Failure) -> Failure | None:
        """Try a refused request in other forms. Return the failure that remains; None if it is to
        be sent again."""
        try:
            finding = await FormTrial(request, sent.judge, self._send).run(failure)
        except Inconclusive:
            finding = None
        if finding is None:
            return failure.model_copy(update={"refused": ()})
        if finding.settings:
            message = refused_settings(failure, finding)
            self.refused.update(finding.settings)
            return failure.model_copy(update={"message": message, "refused": finding.settings})
        self.lessons.learn_refused(request.judge, finding.refused)
        return None

    async def extract(self) -> ProbeStep:
        """Ask for the claims of a short answer."""
        request = extract.ask(
            prompts.load("extract", "atomic"),
            self._judge,
            "answer",
            ANSWER,
            QUESTION,
        )
        outcome = await self._ask(request)

        def check(reply: Completion) -> str | None:
            extracted = extract.read(reply, request, "answer", QUESTION)
            if isinstance(extracted, Failure):
                return _problem(extracted, request, reply)
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
                return _problem(assessed.failure, judge_request, reply)
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

    async def assess_typed(self) -> ProbeStep:
        """Ask a judge that reads no prompts of a run about a true and a false claim."""
        prompt = prompts.load("assess", "three_way")
        shown = ShownDocuments([DOCUMENT])
        verdicts: list[ReadVerdict] = []
        step = ProbeStep(step="assess", right=False)
        for chunk in even_chunks(_claims(CLAIMS), providers.claims_per_call(self._judge)):
            request = assess.ask(prompt, self._judge, chunk, shown, QUESTION)
            outcome = await self._ask(request)
            if isinstance(outcome, Failure):
                return _step("assess", outcome, lambda _: None)
            assessed = assess.read(outcome, request, computed=True)
            lacking = [claim for claim in chunk if claim.id not in assessed.values]
            step = _step("assess", outcome, lambda _: None)
            if lacking:
                problem = assessed.lack(lacking[0].id)
                why = problem.message or assessed.message or problem.reason
                return step.model_copy(update={"right": False, "problem": why})
            verdicts += [assessed.values[claim.id][0] for claim in chunk]
        self.states_probability = any(each.probability is not None for each in verdicts)
        labels = [verdict.label for verdict in verdicts]
        if [label == "supported" for label in labels] == [*CLAIMS.values()]:
            return step
        wrong = f"it says {', '.join(map(str, labels))} of a true and a false claim"
        return step.model_copy(update={"right": False, "problem": wrong})

    async def right_of(
        self,
        known: Mapping[str, bool],
        documents: Sequence[Document],
        at_once: int,
    ) -> int | None:
        """Ask about known claims, this number at once, and return how many get the right label;
        None if one gets none."""
        right = 0
        for chunk in even_chunks(_claims(known), at_once):
            labels = await self._labels(chunk, documents)
            if None in labels:
                return None
            pairs = zip(labels, chunk, strict=True)
            right += sum((label == "supported") == known[claim.text] for label, claim in pairs)
        return right

    async def _labels(
        self,
        claims: Sequence[Claim],
        documents: Sequence[Document],
    ) -> list[str | None]:
        """Return the labels of claims in one question; None for each without one."""
        request = assess.ask(
            prompts.load("assess", "three_way"),
            self._judge,
            claims,
            ShownDocuments(documents),
            "What is at Orsa, and what is said of the library?",
        )
        outcome = await self._ask(request)
        if isinstance(outcome, Failure):
            return [None]
        # A reply of forty claims may be cut where no question of a run would be, so it does not
        # count against the limit.
        if len(claims) > providers.claims_per_call(self._judge):
            self.beyond.append(outcome)
        given = assess.read(outcome, request).values
        return [given[claim.id][0].label if claim.id in given else None for claim in claims]

    async def borne(self) -> Borne:
        """Return how many known claims it labels in one question, and as well as in small ones."""
        right = await self.right_of(MANY, [LIGHTHOUSE], len(MANY))
        if right is None or await self._is_better_in_fives(right):
            return Borne(right, CLAIMS_PER_CALL)
        both = MANY | MORE
        of_forty = await self.right_of(both, [LIGHTHOUSE, LIBRARY], len(both))
        # Forty claims have to be labeled about as well as twenty, or the errors of long lists cost
        # more than the calls they save.
        if of_forty is None or of_forty < 2 * right - CHANCE:
            return Borne(right, len(MANY))
        return Borne(right, len(both))

    async def _is_better_in_fives(self, right: int) -> bool:
        """Return whether more of the twenty claims get the right label in questions of five.

        Errors in one question say nothing by themselves: a small model may err as often about each
        claim alone.
        """
        if right == len(MANY):
            return False
        in_fives = await self.right_of(MANY, [LIGHTHOUSE], CLAIMS_PER_CALL)
        return in_fives is not None and in_fives > right + CHANCE


def _in_form(reply: Completion, request: Request) -> bool:
    """Return whether verdicts have the fields of the schema."""
    # Servers that ignore a schema still send good JSON, with fields of their own: only the names
    # tell.
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


def _problem(failure: Failure, request: Request, reply: Completion) -> str:
    if failure.reason == "refused":
        return "it refuses to answer"
    return (
        f"{failure.message}; {advice(failure, request, reply)}"
        if failure.reason == "unparsable"
        else failure.message
    )


def _step(
    step: Literal["extract", "assess"],
    outcome: Outcome,
    check: Callable[[Completion], str | None],
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
        if may_be_small(judge) and (size := await size_of_small(judge)):
            trial.lessons.learn_size(judge, size)
        steps, usable = await _tried(judge, trial)
        borne = await trial.borne() if usable else Borne(None, providers.claims_per_call(judge))
        update = {"of_twenty": borne.of_twenty, "claims_at_once": borne.at_once if usable else None}
        unprobed = unprobed.model_copy(update=update)
    result = _result(unprobed, judge, tuple(steps), trial)
    if not trial.replies or result.context_tokens:
        return result
    if stated := await stated_by_server(judge):
        window: dict[str, JsonValue] = {"context_tokens": stated}
        stating: dict[str, object] = {
            "context_tokens": stated,
            "settings": result.settings | window,
            "judge_file": result.judge_file | window,
        }
        return result.model_copy(update=stating)
    return result.model_copy(update={"context_tokens": known_window(judge)})


async def _tried(judge: Judge, trial: _Trial) -> tuple[list[ProbeStep], bool]:
    """Return the steps, and whether the judge can be asked about many claims at once."""
    if not providers.reads_prompts(judge):
        return [await trial.assess_typed()], False
    steps = [await trial.extract()]
    if trial.replies or not any(error.fatal or error.status is None for error in trial.errors):
        steps.append(await trial.assess())
    return steps, all(step.right for step in steps) and len(steps) == 2


def _result(unprobed: Probe, judge: Judge, steps: tuple[ProbeStep, ...], trial: _Trial) -> Probe:
    statuses = {error.status for error in trial.errors}
    learned = trial.lessons.learned([judge])[judge.name]
    changes: dict[str, object] = {
        # A refused key is an answer of a server, and a 200 that was no reply may be that of a web
        # page.
        "reachable": bool(trial.replies) or bool(statuses - {None, 200}),
        "problem": next((step.problem for step in steps if step.problem), None),
        "schema_honoured": (
            False if trial.other_form and learned.schema_honoured else learned.schema_honoured
        ),
        "refused": tuple(name for name in learned.refused if name not in judge.learned.refused),
        "context_tokens": judge.context_tokens or learned.context_tokens,
        "steps": steps,
        **_shown_by_replies(trial, statuses),
    }
    result = unprobed.model_copy(update=changes)
    settings = _settings(judge, result, trial)
    files: dict[str, object] = {
        "settings": settings,
        "judge_file": _judge_file(judge, result) | settings,
    }
    return result.model_copy(update=files)


def _shown_by_replies(trial: _Trial, statuses: Set[int | None]) -> dict[str, object]:
    """Return what the replies show of the server and its model; without a reply, only whether a
    status refused the key."""
    if not trial.replies:
        return {"key_accepted": False if statuses & {401, 403} else None}
    served = filter(None, (reply.served_model for reply in trial.replies))
    # JSON may quote the marks of reasoning.
    texts = [reply.text or "" for reply in trial.replies]
    free = [text for text in texts if not text.lstrip().startswith("{")]
    has_tokens = any(read_tokens(reply.body) for reply in trial.replies)
    return {
        "key_accepted": True,
        "served_model": next(served, None),
        "thinks_aloud": any(map(_THINKS.search, free)),
        "log_probabilities": trial.states_probability or has_tokens,
    }


def _judge_file(judge: Judge, result: Probe) -> dict[str, JsonValue]:
    """Return a judge file with the settings that a judge has, and the number of claims that it
    bears."""
    row = providers.row_of(judge)
    at = f"@{judge.endpoint}" if judge.endpoint not in (None, row.default_endpoint) else ""
    plain = row.resolve(Judge(name=judge.name, model=judge.model, endpoint=judge.endpoint))
    usual = plain.model_dump(mode="json")
    elsewhere = {"model", "endpoint", "learned", "claims_per_call"}
    settings = judge.model_dump(mode="json", exclude=elsewhere)
    # People read and edit the file, so it has only what differs from a plain judge of the model.
    given = {name: value for name, value in settings.items() if value != usual[name]}
    if judge.name not in (judge.model, f"{judge.model}{at}"):
        given = {"name": judge.name, **given}
    borne = {} if result.claims_at_once is None else {"claims_per_call": result.claims_at_once}
    return {"model": f"{judge.model}{at}", **given, **borne}


def _settings(judge: Judge, result: Probe, trial: _Trial) -> dict[str, JsonValue]:
    """Return settings for a judge file that fit the results."""
    adapted = trial.lessons.judge(judge)
    refused = set(chain.from_iterable(error.refused for error in trial.errors)) | trial.refused
    of_user = ("temperature", "top_p", "seed", "reasoning_effort", "top_logprobs")
    given = [name for name in of_user if getattr(judge, name) is not None]
    settings: dict[str, JsonValue] = {name: None for name in given if name in refused}
    at_once = result.claims_at_once
    if at_once not in (None, providers.claims_per_call(judge)):
        settings["claims_per_call"] = at_once
    if adapted.token_limit != judge.token_limit:
        settings["token_limit"] = adapted.token_limit
    if judge.structured and (not adapted.structured or result.schema_honoured is False):
        settings["structured"] = False
    if result.context_tokens and not judge.context_tokens:
        settings["context_tokens"] = result.context_tokens
    return settings | _settings_of_length(judge, trial)


def _settings_of_length(judge: Judge, trial: _Trial) -> dict[str, JsonValue]:
    """Return settings that fit the length of the replies, if one was cut."""
    cut = [
        reply
        for reply in trial.replies
        if reply.finish_reason in ("length", "model_length") and reply not in trial.beyond
    ]
    # A reply that repeats itself ends at any limit, so a lower one costs less; a reply that goes on
    # needs a higher one.
    if any(loops(reply.text or "") for reply in cut):
        return {"claims_per_call": 1, "max_tokens": SMALL_REPLY}
    return {"max_tokens": 4 * judge.max_tokens} if cut else {}
