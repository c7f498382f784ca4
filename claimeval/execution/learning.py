"""Executors that adapt requests to what judges' servers accept, and stop judges whose replies
cannot be read."""

from __future__ import annotations

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from claimeval.execution import Executor
from claimeval.execution.trials import Trials
from claimeval.providers import provider
from claimeval.providers.windows import (
    PromptCounts,
    known_window,
    may_be_small,
    size_of_small,
)
from claimeval.store.lessons import Lessons
from claimeval.store.store import Store, completion
from claimeval.types.chat_format import refuses
from claimeval.types.errors import visible
from claimeval.types.requests import (
    ENDLESS,
    Completion,
    Failure,
    Judge,
    Learned,
    Outcome,
    Request,
)

USELESS_IN_A_ROW = 10
"""A judge is stopped if none of this many first replies can be read."""
FIRST = 50
USELESS_SHARE = 0.8
"""A judge is stopped if more than this share of the first replies cannot be read."""
_NOT_COUNTED = ("refused", "filtered")
"""Reasons that depend on the prompt, not on the judge."""
_HELP = (
    (
        re.compile("its text is in"),
        (
            "the server's reasoning parser took the reply for reasoning: turn it off, or raise"
            " max_tokens in a judge file"
        ),
    ),
    (
        re.compile("the reply is empty|reasoning that does not end"),
        "if the server has a reasoning parser, turn it off; else raise max_tokens in a judge file",
    ),
    (
        re.compile("unknown label '(?:supported|contradicted|not_found)'"),
        "a judge that answers in three labels reads --assess-prompt three_way",
    ),
    (
        re.compile("unknown label|no label"),
        "a judge that answers yes or no reads --assess-prompt binary",
    ),
    (
        re.compile("which was not asked about|ids may be counted"),
        "name the ids in its schema with `reply_schema: closed` in a judge file",
    ),
    (
        re.compile("not one JSON value|a JSON object was asked for"),
        "a model that writes no JSON reads --extract-prompt bullets and --assess-prompt tags",
    ),
)
"""What helps, by what the message about an unreadable reply says."""


_LESS = (
    "ask a small model for less: `claims_per_call: 1` and `max_tokens: 512` in a judge file, and"
    " `--extractor local:lexical`"
)


@dataclass
class _ReplyCounts:
    """The first replies of a judge to one prompt."""

    read: int = 0
    useless: int = 0
    excerpt: str = ""
    """Beginning of the last unreadable reply."""
    last_failure: Failure | None = None
    """Why that reply could not be read."""

    @property
    def too_many(self) -> str:
        """How many replies were useless, in words, at the count at which the judge is stopped;
        else empty."""
        if not self.read and self.useless == USELESS_IN_A_ROW:
            return f"{USELESS_IN_A_ROW} unreadable replies in a row"
        if self.read + self.useless == FIRST and self.useless > USELESS_SHARE * FIRST:
            return f"{self.useless} unreadable replies among the first {FIRST}"
        return ""


class CutPrompts:
    """Finds replies to prompts that a server truncated, and learns its window from them."""

    def __init__(self, lessons: Lessons) -> None:
        self._lessons = lessons
        self._counts = defaultdict[str, PromptCounts](PromptCounts)
        self._accepted_before = 0

    def find(self, request: Request, sent: Request, reply: Completion) -> Failure | None:
        """Return a failure if the reply to `request`, sent as `sent`, is one to a truncated
        prompt."""
        judge = self._lessons.judge(request.judge)
        # a reply to an earlier form of the request is checked with the window that is known now
        known = replace(sent, judge=judge) if judge.context_tokens else sent
        counts = self._counts[judge.name]
        cut = counts.cut(known, reply)
        if cut and cut.context_tokens:
            self._lessons.learn_window(request.judge, cut.context_tokens)
            self._accepted_before += counts.take_accepted(cut.context_tokens)
        return cut

    def take_accepted_before(self) -> int:
        """Return how many replies were accepted that a window, learned after them, shows to be
        useless; they are counted once."""
        count = self._accepted_before
        self._accepted_before = 0
        return count


class SmallModels:
    """Asks servers on this machine, before the first request to a judge, whether its model is
    small, because replies of small models are limited."""

    def __init__(self, judges: Iterable[Judge], store: Store, lessons: Lessons) -> None:
        self._store = store
        self._lessons = lessons
        self._unasked = {judge.name for judge in judges if may_be_small(judge)}
        self._asking = asyncio.Lock()

    async def learn(self, request: Request) -> None:
        """Learn the size of the judge's model, unless the request has a stored reply."""
        judge = request.judge
        if judge.name not in self._unasked:
            return
        sent = self._lessons.adapt(request, self._store)
        if self._store.get(sent.key) is not None:
            return
        async with self._asking:
            if judge.name not in self._unasked:
                return
            known = self._lessons.judge(judge).learned.parameters
            parameters = None if known else await size_of_small(judge)
            self._unasked.discard(judge.name)
            if parameters:
                self._lessons.learn_size(judge, parameters)


class LearningExecutor(Executor):
    """Executor that removes parameters that a judge's server refuses, after the first refusal."""

    def __init__(
        self,
        behind: Executor,
        store: Store,
        lessons: Lessons,
        cut_prompts: CutPrompts,
        small: SmallModels | None = None,
        trials: Trials | None = None,
    ) -> None:
        """`small` asks servers for the sizes of their models, and `trials` sends refused requests
        in other forms; None if nothing is sent, or only in batches."""
        self._behind = behind
        self._store = store
        self._lessons = lessons
        self._cut_prompts = cut_prompts
        self._small = small
        self._trials = trials

    async def ask(self, request: Request) -> Outcome:
        """Return the outcome of the request in a form that the server accepts."""
        if self._small:
            await self._small.learn(request)
        while True:
            if self._trials:
                await self._trials.ended(request)
            sent = self._lessons.adapt(request, self._store)
            outcome = await self._behind.ask(sent)
            if isinstance(outcome, Completion):
                return self._answered(request, sent, outcome)
            if self._trials and outcome.another_form:
                await self._trials.learn(request, sent, outcome)
                continue
            refused = outcome.refused or outcome.context_tokens
            if not refused or not self._lessons.learn(request, sent, outcome):
                return outcome

    def _answered(self, request: Request, sent: Request, reply: Completion) -> Outcome:
        """Return the reply to `request`, sent as `sent`, or that its prompt was truncated."""
        if self._trials:
            self._trials.forms.add_answered(sent)
        if cut := self.cut(request, sent, reply):
            return cut
        if sent is request:
            return reply
        needed = sent.max_tokens if sent.judge.learned.parameters else None
        return replace(reply, key=sent.key, needed=needed)

    def cut(self, request: Request, sent: Request, reply: Completion) -> Failure | None:
        """Learn from a reply to `request`, sent as `sent`; return a failure if it is one to a
        truncated prompt."""
        if not provider(sent.judge.model).costs:
            return None
        if cut := self._cut_prompts.find(request, sent, reply):
            return cut
        if not refuses(reply.text or ""):
            self._lessons.check_schema(sent, reply)
        return None


class ReviewingExecutor(Executor):
    """Executor that stops a judge whose first replies cannot be read, and knows the windows of
    judges."""

    def __init__(
        self,
        behind: Executor,
        stop: Callable[[str, str], None] | None,
        windows: JudgeWindows | None = None,
        replies: StoredReplies | None = None,
    ) -> None:
        """`stop` is called with a judge whose replies cannot be read, and the reason; None if
        nothing is sent."""
        self._behind = behind
        self._stop = stop
        self.windows = windows
        self.replies = replies
        self._replies: dict[tuple[str, str], _ReplyCounts] = {}
        self._counters: defaultdict[str, Counter[str]] = defaultdict(Counter)

    async def ask(self, request: Request) -> Outcome:
        """Return the outcome of the executor behind."""
        return await self._behind.ask(request)

    def counters(self, subject: str) -> Counter[str]:
        """Return the counters of a subject, kept as long as this executor."""
        return self._counters[subject]

    def review(self, request: Request, completion: Completion, failure: Failure | None) -> None:
        """Count a reply as read or unreadable, and stop the judge if too many of its first replies
        are unreadable.

        Stored replies, including those of batches, are ignored, because they cost nothing more.
        """
        if self._stop is None or completion.cached:
            return
        replies = self._replies.setdefault((request.judge.name, request.prompt), _ReplyCounts())
        if replies.read + replies.useless >= FIRST or not provider(request.judge.model).costs:
            return
        if failure is None or failure.reason in _NOT_COUNTED:
            replies.read += 1
        else:
            replies.useless += 1
            replies.excerpt = visible(completion.text or "", 80)
            replies.last_failure = failure
        count = replies.too_many
        if count:
            assert replies.last_failure, "there is an unreadable reply"
            failure = replies.last_failure
            problem = failure.message or failure.reason
            help_ = _next_steps(failure, request, completion)
            self._stop(
                request.judge.name, f'it gave {count} ("{replies.excerpt}": {problem}); {help_}'
            )


def _next_steps(failure: Failure, request: Request, completion: Completion) -> str:
    """Return what helps, and the commands that try a judge and ask it again."""
    judge = request.judge
    help_ = advice(failure, request, completion)
    if provider(judge.model).example:
        address = f"@{judge.endpoint}" if judge.endpoint else ""
        help_ += f"; `claimeval doctor --judge {judge.model}{address}` tries it"
    return (
        f"{help_}; add `--ask-again {failure.reason}` to ask again about the claims of these"
        " replies"
    )


def advice(failure: Failure, request: Request, completion: Completion) -> str:
    """Return what helps against replies that cannot be read, of which this is one."""
    from claimeval.providers import checkers

    if failure.reason == "truncated":
        return _LESS if failure.message in ENDLESS else "raise max_tokens in a judge file"
    text = completion.text or ""
    preset = checkers.advice(request.judge, text)
    if preset:
        return preset
    problem = failure.message or failure.reason
    return next(
        (help_ for cause, help_ in _HELP if cause.search(problem)),
        "another model or prompt may help",
    )


class StoredReplies:
    """The replies in the reply cache, for results of a run that is resumed."""

    def __init__(
        self,
        store: Store,
        learning: LearningExecutor,
        learned: Mapping[str, Learned],
        note: Callable[[Request, Completion], None],
    ) -> None:
        """`learned` is what is known of judges' servers, by name, and `note` gets each request that
        is answered."""
        self._store = store
        self._learning = learning
        self._note = note
        self.learned = learned

    def answer(self, requests: Iterable[Request]) -> bool:
        """Return whether each request, in the form that was sent, has a stored reply that may be
        used; then all of them are noted as answered."""
        answers = list[tuple[Request, Completion]]()
        for request in requests:
            value = self._store.get(request.key)
            if value is None:
                return False
            reply = completion(value)
            if self._learning.cut(request, request, reply):
                return False
            answers.append((request, reply))
        for request, reply in answers:
            self._note(request, reply)
        return True


class JudgeWindows:
    """The known context windows of judges: from their settings, from earlier refusals, and from
    their providers."""

    def __init__(
        self,
        learned: Callable[[Judge], int | None],
        holds: Callable[[Request], Awaitable[bool]],
    ) -> None:
        """`learned` returns the window that was set or learned, `holds` whether the reply to a
        request is stored."""
        self._learned = learned
        self._holds = holds
        self._known: dict[tuple[str, str | None, int | None], int | None] = {}

    async def fits(self, request: Request) -> bool:
        """Return whether a request may be sent whole: it fits, the window is unknown, or its reply
        is stored.

        So a window that is learned during a run does not invalidate earlier replies.
        """
        room = self.room(request)
        return room is None or request.size <= room or await self._holds(request)

    def room(self, request: Request) -> int | None:
        """Return the maximum size of a request for its judge's window; None if the window is
        unknown."""
        judge = request.judge
        window = self._learned(judge)
        if not window:
            settings = judge.model, judge.endpoint, judge.context_tokens
            if settings not in self._known:
                self._known[settings] = known_window(judge)
            window = self._known[settings]
        return None if window is None else request.room(window)
