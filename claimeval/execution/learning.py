"""Executors that adapt requests to what judges' servers accept, and stop judges whose replies
cannot be read."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from claimeval.execution import Executor
from claimeval.providers import provider
from claimeval.providers.windows import PromptCounts, known_window
from claimeval.store.lessons import Lessons
from claimeval.store.store import Store
from claimeval.types.chat_format import refuses
from claimeval.types.errors import visible
from claimeval.types.requests import Completion, Failure, Judge, Outcome, Request

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


class LearningExecutor(Executor):
    """Executor that removes parameters that a judge's server refuses, after the first refusal."""

    def __init__(
        self, behind: Executor, store: Store, lessons: Lessons, cut_prompts: CutPrompts
    ) -> None:
        self._behind = behind
        self._store = store
        self._lessons = lessons
        self._cut_prompts = cut_prompts

    async def ask(self, request: Request) -> Outcome:
        """Return the outcome of the request in a form that the server accepts."""
        while True:
            sent = self._lessons.adapt(request, self._store)
            outcome = await self._behind.ask(sent)
            if isinstance(outcome, Completion):
                if provider(sent.judge.model).costs:
                    if cut := self._cut_prompts.find(request, sent, outcome):
                        return cut
                    if not refuses(outcome.text or ""):
                        self._lessons.check_schema(sent, outcome)
                return outcome if sent is request else replace(outcome, key=sent.key)
            refused = outcome.refused or outcome.context_tokens
            if not refused or not self._lessons.learn(request, sent, outcome):
                return outcome


class ReviewingExecutor(Executor):
    """Executor that stops a judge whose first replies cannot be read, and knows the windows of
    judges."""

    def __init__(
        self,
        behind: Executor,
        stop: Callable[[str, str], None] | None,
        windows: JudgeWindows | None = None,
    ) -> None:
        """`stop` is called with a judge whose replies cannot be read, and the reason; None if
        nothing is sent."""
        self._behind = behind
        self._stop = stop
        self.windows = windows
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
        if not replies.read and replies.useless == USELESS_IN_A_ROW:
            count = f"{USELESS_IN_A_ROW} unreadable replies in a row"
        elif replies.read + replies.useless == FIRST and replies.useless > USELESS_SHARE * FIRST:
            count = f"{replies.useless} unreadable replies among the first {FIRST}"
        else:
            return
        assert replies.last_failure, "there is an unreadable reply"
        judge = request.judge
        reason = replies.last_failure.reason
        problem = replies.last_failure.message or reason
        help_ = advice(replies.last_failure, request, completion)
        if provider(judge.model).example:
            help_ += (
                "; `claimeval doctor --judge"
                f" {judge.model}{f'@{judge.endpoint}' if judge.endpoint else ''}` tries it"
            )
        help_ += f"; add `--ask-again {reason}` to ask again about the claims of these replies"
        self._stop(judge.name, f'it gave {count} ("{replies.excerpt}": {problem}); {help_}')


def advice(failure: Failure, request: Request, completion: Completion) -> str:
    """Return what helps against replies that cannot be read, of which this is one."""
    from claimeval.providers import checkers

    if failure.reason == "truncated":
        looping = "repeats itself" in failure.message
        return _LESS if looping else "raise max_tokens in a judge file"
    text = completion.text or ""
    preset = checkers.advice(request.judge, text)
    if preset:
        return preset
    problem = failure.message or failure.reason
    return next(
        (help_ for cause, help_ in _HELP if cause.search(problem)),
        "another model or prompt may help",
    )


class JudgeWindows:
    """The known context windows of judges: from their settings, from earlier refusals, and from
    their providers."""

    def __init__(
        self, learned: Callable[[Judge], int | None], holds: Callable[[Request], Awaitable[bool]]
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
        window = self._learned(request.judge) or self._stated_window(request.judge)
        return None if window is None else request.room(window)

    def _stated_window(self, judge: Judge) -> int | None:
        settings = judge.model, judge.endpoint, judge.context_tokens
        if settings not in self._known:
            self._known[settings] = known_window(judge)
        return self._known[settings]
