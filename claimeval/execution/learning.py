"""The executors in front: send requests as their judge's server takes them, and stop a judge that is of no use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from claimeval.execution import Executor
from claimeval.providers import provider
from claimeval.providers.windows import cut_by, known_window
from claimeval.store.lessons import Lessons
from claimeval.store.store import Store
from claimeval.types.errors import visible
from claimeval.types.requests import Completion, Failure, Judge, Outcome, Request

USELESS_IN_A_ROW = 10
"""Replies from the start after which a judge is stopped if none of them could be read."""
FIRST, USELESS_SHARE = 50, 0.8
"""Replies after which a judge is stopped if a larger share of them could not be read."""
_NOT_COUNTED = ("refused", "filtered")
"""Reasons that lie in what was asked."""
_HELP = {
    "truncated": "raise max_tokens in a judge file",
    "unparsable": "try `structured: false` in a judge file",
}


@dataclass
class _ReplyCounts:
    """The first replies of a judge to one prompt."""

    read: int = 0
    useless: int = 0
    excerpt: str = ""
    """Of the last useless reply."""
    why: Failure | None = None
    """Why that one was useless."""


class LearningExecutor:
    """Executor that leaves out of requests what a judge's server refuses, which it learns from the first refusal."""

    def __init__(self, behind: Executor, store: Store, lessons: Lessons) -> None:
        self._behind = behind
        self._store = store
        self._lessons = lessons

    async def ask(self, request: Request) -> Outcome:
        """Return the outcome of the request in the form that the server takes."""
        while True:
            sent = self._lessons.adapt(request, self._store)
            outcome = await self._behind.ask(sent)
            if isinstance(outcome, Completion):
                if provider(sent.judge.model).costs:
                    if cut := cut_by(sent, outcome):
                        self._lessons.learn_window(request.judge, cut.context_tokens or 0)
                        return cut
                    self._lessons.check_schema(sent, outcome)
                return outcome if sent is request else replace(outcome, key=sent.key)
            refused = outcome.refused or outcome.context_tokens
            if not refused or not self._lessons.learn(request, sent, outcome):
                return outcome


class ReviewingExecutor:
    """Executor that stops a judge whose first replies could not be read, and knows the windows of judges."""

    def __init__(
        self, behind: Executor, stop: Callable[[str, str], None] | None, windows: JudgeWindows | None = None
    ) -> None:
        """`stop` is told a judge whose replies are of no use, and why; None where nobody is asked."""
        self.ask = behind.ask
        if windows:
            self.fits, self.room = windows.fits, windows.room
        self._stop = stop
        self._replies: dict[tuple[str, str], _ReplyCounts] = {}

    def review(self, request: Request, reply: Completion, unreadable: Failure | None) -> None:
        """Take in that a reply was read, or why it could not be; stop a judge whose first replies are of no use.

        Stored replies, those of batches included, do not count: nobody is paid for them any more.
        """
        if self._stop is None or reply.cached:
            return
        replies = self._replies.setdefault((request.judge.name, request.prompt), _ReplyCounts())
        if replies.read + replies.useless >= FIRST or not provider(request.judge.model).costs:
            return
        if unreadable is None or unreadable.reason in _NOT_COUNTED:
            replies.read += 1
        else:
            replies.useless += 1
            replies.excerpt, replies.why = visible(reply.text or "", 80), unreadable
        if not replies.read and replies.useless == USELESS_IN_A_ROW:
            count = f"{USELESS_IN_A_ROW} unreadable replies in a row"
        elif replies.read + replies.useless == FIRST and replies.useless > USELESS_SHARE * FIRST:
            count = f"{replies.useless} unreadable replies among the first {FIRST}"
        else:
            return
        assert replies.why, "there is a useless reply"
        judge, reason = request.judge, replies.why.reason
        help_ = _HELP.get(reason, _HELP["unparsable"])
        if provider(judge.model).example:
            help_ += f", or `claimeval doctor --judge {judge.model}{f'@{judge.endpoint}' if judge.endpoint else ''}`"
        help_ += f"; add `--ask-again {reason}` to ask again about the claims of these replies"
        self._stop(judge.name, f'it gave {count} ("{replies.excerpt}": {replies.why.message or reason}); {help_}')


class JudgeWindows:
    """What is known of the windows of judges: settings, what a run has learned, and statements of their providers."""

    def __init__(self, learned: Callable[[Judge], int | None], holds: Callable[[Request], Awaitable[bool]]) -> None:
        """`learned` returns the window of a judge that is set or was learned, `holds` whether a reply is stored."""
        self._learned = learned
        self._holds = holds
        self._known: dict[tuple[str, str | None, int | None], int | None] = {}

    async def fits(self, request: Request) -> bool:
        """Return whether a request may be sent whole: it fits, nothing is known of the window, or its reply is stored.

        A window that is learned in the middle of a run so leaves the replies before it where they are.
        """
        room = self.room(request)
        return room is None or request.size <= room or await self._holds(request)

    def room(self, request: Request) -> int | None:
        """Return the size that a request may have in its judge's window; None if that is not known."""
        window = self._learned(request.judge) or self._known_window(request.judge)
        return None if window is None else request.room(window)

    def _known_window(self, judge: Judge) -> int | None:
        named = judge.model, judge.endpoint, judge.context_tokens
        if named not in self._known:
            self._known[named] = known_window(judge)
        return self._known[named]
