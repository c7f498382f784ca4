"""The executor in front of all others: sends requests as their judge's server takes them, and stops a useless judge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from claimeval.execution import Executor
from claimeval.providers import provider
from claimeval.store.lessons import Lessons
from claimeval.store.store import Store
from claimeval.types.errors import visible
from claimeval.types.requests import Completion, Failure, Outcome, Request

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

    def __init__(
        self, behind: Executor, store: Store, lessons: Lessons, stop: Callable[[str, str], None] | None
    ) -> None:
        """`stop` is told a judge whose replies are of no use, and why; None where nobody is asked."""
        self._behind = behind
        self._store = store
        self._lessons = lessons
        self._stop = stop
        self._replies: dict[tuple[str, str], _ReplyCounts] = {}

    async def ask(self, request: Request) -> Outcome:
        """Return the outcome of the request in the form that the server takes."""
        while True:
            sent = self._lessons.adapt(request, self._store)
            outcome = await self._behind.ask(sent)
            if isinstance(outcome, Completion):
                if provider(sent.judge.model).costs:
                    self._lessons.check_schema(sent, outcome)
                return outcome if sent is request else outcome.model_copy(update={"key": sent.key})
            refused = outcome.refused or outcome.context_tokens
            if not refused or not self._lessons.learn(request, sent, outcome):
                return outcome

    def review(self, request: Request, reply: Completion, useless: Failure | None) -> None:
        """Take in that a reply was read, or why it could not be; stop a judge whose first replies are of no use.

        Stored replies, those of batches included, do not count: nobody is paid for them any more.
        """
        if self._stop is None or reply.cached:
            return
        replies = self._replies.setdefault((request.judge.name, request.prompt), _ReplyCounts())
        if replies.read + replies.useless >= FIRST or not provider(request.judge.model).costs:
            return
        if useless is None or useless.reason in _NOT_COUNTED:
            replies.read += 1
        else:
            replies.useless += 1
            replies.excerpt, replies.why = visible(reply.text or "", 80), useless
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
        help_ += f"; add `--ask-again {reason}` to ask anew what these replies left open"
        self._stop(judge.name, f'it gave {count} ("{replies.excerpt}": {replies.why.message or reason}); {help_}')
