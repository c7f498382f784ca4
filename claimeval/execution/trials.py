"""Which parts of a request a server refuses, found by trial.

Servers refuse a part in any words and any language, or without a word. So a refusal that no other
cause explains starts a trial. What the words of the refusal name is tried first. Then the whole
request is sent again and, if it is refused again, its plainest form. If that is answered, the
refused parts are found by bisection. Nothing is learned unless the form with the refused parts left
out was answered, and the whole form was refused again after that.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from claimeval.execution.extra_fields import SHAPING
from claimeval.store.lessons import Lessons
from claimeval.types.requests import (
    LONG_REPLY,
    SCHEMA_BOUNDS,
    SHORTEST_REPLY,
    SYSTEM,
    THINKING,
    Completion,
    Failure,
    Judge,
    Outcome,
    Request,
)

MOST_REQUESTS = 32
"""Requests of one trial, at most. One refused part takes up to 12."""
MOST_TRIALS = 3
"""Trials for one prompt of a model at an endpoint; after one without a result there is no other."""
OF_USER = ("temperature", "top_p", "seed", "reasoning_effort", "top_logprobs")
"""Settings of a judge that a user may set and a server refuse."""

_SPELLED = {"random_seed": "seed", "logprobs": "top_logprobs"}
"""Settings whose fields have other names."""

Ask = Callable[[Request], Awaitable[Outcome]]


class Inconclusive(Exception):
    """A request of a trial failed for another cause, or the trial took too many requests."""


class TriedForms:
    """Which forms of requests servers have answered, and for which prompts others were tried."""

    def __init__(self) -> None:
        self._answered: set[tuple[object, ...]] = set()
        self._trials: Counter[tuple[object, ...]] = Counter()
        self._refused: Counter[tuple[object, ...]] = Counter()
        self.running: set[tuple[object, ...]] = set()
        """Models at endpoints with a trial under way."""

    def may_try(self, request: Request, refused: Iterable[str] = ()) -> bool:
        """Return whether a refusal of a request starts a trial.

        A form that the server has answered with another text is no form that it refuses; but a
        gateway may have passed the request to another host, whose words then name a part.
        """
        known = self.was_answered(request) and not tuple(refused)
        return not known and self._trials[_prompt_of(request)] < MOST_TRIALS

    def was_answered(self, request: Request) -> bool:
        """Return whether a request in this form was answered."""
        return form_of(request) in self._answered

    def add_answered(self, request: Request) -> None:
        """Note that a request in its form was answered."""
        self._answered.add(form_of(request))

    def add_refused(self, request: Request) -> None:
        """Note that a request in its form was refused."""
        self._refused[form_of(request)] += 1

    def refusals(self, request: Request) -> int:
        """Return how often the form of a request was refused."""
        return self._refused[form_of(request)]

    def add_trial(self, request: Request, *, fruitless: bool) -> None:
        """Note that a trial for the request has ended."""
        self._trials[_prompt_of(request)] += MOST_TRIALS if fruitless else 1


def form_of(request: Request) -> tuple[object, ...]:
    """Return what a request has besides its texts."""
    judge = request.judge
    return (
        judge.name,
        judge.in_keys,
        judge.learned.refused,
        tuple(message.role for message in request.messages),
        request.max_tokens,
        request.top_logprobs,
        request.schema_sent,
    )


def model_of(request: Request) -> tuple[object, ...]:
    """Return the model and endpoint of a request."""
    return request.judge.model, request.judge.endpoint


def _prompt_of(request: Request) -> tuple[object, ...]:
    return (*model_of(request), request.prompt)


@dataclass(frozen=True)
class RefusedParts:
    """What a trial found."""

    refused: tuple[str, ...] = ()
    """Parts that the server refuses, and that can be sent in another form."""
    settings: tuple[str, ...] = ()
    """Settings of the user that the server refuses."""
    transient: bool = False
    """Whether the server answered the whole form when it was asked again."""


class FormTrial:
    """Sends one refused request in other forms.

    A form is named by the parts that are left out or changed: names as in `Learned.refused`, and
    settings of the user.
    """

    def __init__(self, request: Request, judge: Judge, ask: Ask) -> None:
        """`judge` is the judge of the request with the settings that it was sent with; `ask` sends
        a form once."""
        self._request = request
        self._judge = judge
        self._ask = ask
        self._settings = frozenset(_settings_of(judge, top_logprobs=request.top_logprobs))
        self._sent = 0
        self._last_named: tuple[str, ...] = ()
        """What the words of the last refusal name."""

    async def run(self, failure: Failure) -> RefusedParts | None:
        """Return what the server refuses, or that it does not; None if other forms are refused too.

        Raises:
            Inconclusive: If a request failed for another cause.
        """
        parts = await self._named(failure.refused)
        if parts is None:
            parts = await self._bisected()
        if parts is None:
            return None
        # An outage refuses the first requests of a run, too, whatever its words name, and ends
        # while other forms are tried.
        if not parts or await self._answers(()):
            return RefusedParts(transient=True)
        return RefusedParts(
            tuple([name for name in parts if name not in self._settings]),
            tuple([name for name in parts if name in self._settings]),
        )

    async def _named(self, names: Sequence[str]) -> Sequence[str] | None:
        """Return what the words of refusals name, if the server answers without it."""
        left_out = list[str]()
        while names:
            longer = list(dict.fromkeys([*left_out, *self._that_can_change(names, left_out)]))
            if not self._differs(longer, left_out):
                return None
            left_out = longer
            if await self._answers(left_out):
                return left_out
            names = self._last_named
        return None

    def _that_can_change(self, names: Sequence[str], left_out: Sequence[str]) -> list[str]:
        """Return the parts with these names that a form without others still has."""
        judge = self._without(left_out)
        parts = [name for name in names if judge.without([name])]
        if not set(SCHEMA_BOUNDS).isdisjoint(parts):
            # a server that refuses a bound may take the schema without it
            parts = [name for name in parts if name != "response_format"]
        spelled = [_SPELLED.get(name, name) for name in names]
        return parts + [name for name in spelled if name in self._settings]

    async def _bisected(self) -> Sequence[str] | None:
        """Return the parts without which the plainest form is not answered; none if the whole
        request is."""
        # The whole request first: a server in trouble answers it now, and this reply is used. The
        # reply to another form would be paid for nothing.
        if await self._answers(()):
            return ()
        plainest = await self._plainest()
        if plainest is None:
            return None
        refused = list[str]()
        remaining = list(plainest)
        answered = 0
        while True:
            # The first `answered` of the remaining parts are accepted, the first `high` are not.
            high = len(remaining)
            while high - answered > 1:
                middle = (answered + high) // 2
                if await self._answers([*refused, *remaining[middle:]]):
                    answered = middle
                else:
                    high = middle
            refused.append(remaining.pop(high - 1))
            if not remaining or await self._answers(refused):
                return await self._milder(refused)

    async def _plainest(self) -> Sequence[str] | None:
        """Return the parts that differ in a plainest form that is answered; None if none is."""
        # No `prompt_cache_key`: only OpenAI is sent it, which names what it refuses.
        defaults = ["response_format", "temperature", "logprobs", SYSTEM]
        if self._form(()).max_tokens > SHORTEST_REPLY:
            defaults.append(f"{LONG_REPLY}{SHORTEST_REPLY}")
        # A reply without a limit would pass the caps, so that it has one under either name.
        changes = [self._judge.token_limit or "", THINKING]
        parts = [name for name in defaults if name not in self._settings]
        parts = [*filter(self._changes_the_request, parts), *sorted(self._settings)]
        changes = [*filter(self._changes_the_request, changes)]
        for number in range(len(changes) + 1):
            for more in combinations(changes, number):
                plainest = [*parts, *more]
                if plainest and await self._answers(plainest):
                    return plainest
        return None

    async def _milder(self, refused: Sequence[str]) -> Sequence[str]:
        """Return the refused parts, with those that can be sent in a form closer to the whole."""
        for part in refused:
            for milder in self._milder_forms(part):
                parts = [*(name for name in refused if name != part), *milder]
                if await self._answers(parts):
                    return parts
        return refused

    def _milder_forms(self, part: str) -> Iterator[Sequence[str]]:
        """Yield what changes less than a refused part does: a schema without bounds, and the
        halves of a length."""
        if part == "response_format" and self._differs(SCHEMA_BOUNDS, ()):
            yield SCHEMA_BOUNDS
        if part.startswith(LONG_REPLY):
            limit = self._form(()).max_tokens // 2
            while limit > SHORTEST_REPLY:
                yield (f"{LONG_REPLY}{limit}",)
                limit //= 2

    def _without(self, left_out: Iterable[str]) -> Judge:
        """Return the judge without parts."""
        judge = self._judge
        for name in left_out:
            if name not in self._settings:
                judge = judge.without([name]) or judge
        settings = self._settings.intersection(left_out)
        changes: dict[str, Any] = dict.fromkeys(settings.intersection(OF_USER))
        extra = {name: value for name, value in judge.extra.items() if name not in settings}
        return judge.model_copy(update={**changes, "extra": extra}) if settings else judge

    def _form(self, left_out: Sequence[str]) -> Request:
        request = self._request.to(self._without(left_out))
        has_logprobs = "top_logprobs" not in self._settings or "top_logprobs" not in left_out
        return request if has_logprobs else replace(request, top_logprobs=None)

    def _changes_the_request(self, part: str) -> bool:
        return self._differs([part], ())

    def _differs(self, left_out: Sequence[str], from_: Sequence[str]) -> bool:
        """Return whether two forms are sent in different bodies."""
        form = self._form(left_out)
        other = self._form(from_)
        # the only part that changes no reply and is in no key
        name = "prompt_cache_key"
        cached = (name in form.judge.learned.refused) == (name in other.judge.learned.refused)
        return form.key != other.key or not cached

    async def _answers(self, left_out: Sequence[str]) -> bool:
        """Return whether the server answers the request without parts."""
        if self._sent == MOST_REQUESTS:
            raise Inconclusive
        self._sent += 1
        outcome = await self._ask(self._form(left_out))
        if isinstance(outcome, Completion):
            return True
        if not (outcome.another_form or outcome.refused):
            raise Inconclusive
        self._last_named = outcome.refused
        return False


def _settings_of(judge: Judge, *, top_logprobs: int | None) -> tuple[str, ...]:
    """Return the settings of the user that a request has and a trial may leave out."""
    values = {name: getattr(judge, name) for name in OF_USER}
    # a checker's label is complete without its probability
    values["top_logprobs"] = None if judge.asks else top_logprobs
    values["temperature"] = judge.temperature or None  # 0 is claimeval's default
    extra = [name for name in judge.extra if name in SHAPING]
    return (*(name for name, value in values.items() if value is not None), *extra)


class Trials:
    """Tries refused requests in other forms, one at a time for each model at an endpoint."""

    def __init__(
        self,
        forms: TriedForms,
        lessons: Lessons,
        ask: Ask,
        stop: Callable[[str, str], None],
    ) -> None:
        """`ask` sends a request, and `stop` is called with a judge whose server refuses a setting
        of the user, and the reason."""
        self.forms = forms
        self._lessons = lessons
        self._ask = ask
        self._stop = stop
        self._locks: dict[tuple[object, ...], asyncio.Lock] = {}

    async def ended(self, request: Request) -> None:
        """Wait until no trial for the model of a request is under way."""
        lock = self._locks.get(model_of(request))
        if lock and lock.locked():
            async with lock:
                return

    async def learn(self, request: Request, sent: Request, failure: Failure) -> None:
        """Try a request, which was refused as `sent`, in other forms.

        The request is then to be sent again: in another form or, if none was answered, in the same
        one, whose outcome counts.
        """
        model = model_of(sent)
        async with self._locks.setdefault(model, asyncio.Lock()):
            if self._lessons.judge(request.judge) != sent.judge:
                return  # learned meanwhile, from another request
            if not self.forms.may_try(sent, failure.refused):
                return
            trial = FormTrial(request, sent.judge, self._ask)
            finding = None
            fruitless = False
            self.forms.running.add(model)
            try:
                finding = await trial.run(failure)
                fruitless = finding is None
            except Inconclusive:
                pass
            finally:
                self.forms.running.discard(model)
            self.forms.add_trial(sent, fruitless=fruitless)
            if finding and finding.settings:
                self._stop(sent.judge.name, refused_settings(failure, finding))
            if finding:
                self._lessons.learn_refused(request.judge, finding.refused)


def refused_settings(failure: Failure, finding: RefusedParts) -> str:
    """Return what is said of settings of the user that a server refuses."""
    names = " and ".join(f"`{name}`" for name in finding.settings)
    return (
        f"{failure.message.rstrip('.')}; it answers without {names}, which the judge sets:"
        " leave that out of the judge's settings"
    )
