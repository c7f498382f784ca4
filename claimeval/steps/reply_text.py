"""The text of a completion, or why it must not be read; and what is read of a reply about several items."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

from claimeval.calls import Completion, Failure, Request
from claimeval.records import Claim, Document, Reason, Verdict
from claimeval.reply_values import Unparsable, after_reasoning

Item = TypeVar("Item", Claim, Document)


class Reading(NamedTuple, Generic[Item]):
    """What one reply says: verdicts for some of the items, and why the rest have none."""

    verdicts: tuple[Verdict, ...]
    """With the id of the item as `claim_id`."""
    missing: tuple[Item, ...]
    failure: Failure | None
    """Why the reply as a whole was no use."""
    unread: Mapping[str, str] = MappingProxyType({})
    """By id, what the reply says of items whose verdict could not be read."""

    @property
    def message(self) -> str | None:
        """What could not be read, in words."""
        return "; ".join(f"{name}: {words}" for name, words in self.unread.items()) or None

    def reason(self, item: Item) -> Reason:
        """Why one of the missing has no verdict."""
        if self.failure:
            return self.failure.reason
        return "unparsable" if item.id in self.unread else "incomplete"


def shown(request: Request) -> tuple[str, ...]:
    """The texts that the judge saw, which its reply may quote."""
    return tuple([message.content for message in request.messages])


def reply_text(completion: Completion, request: Request) -> str | Failure:
    """The judge's words after its reasoning; a cut, filtered, refused or empty reply is a failure."""
    finish = completion.finish_reason
    if finish in ("length", "model_length"):
        return Failure(reason="truncated", message="the reply was cut at the token limit; raise max_tokens")
    if finish == "content_filter":
        return Failure(reason="filtered", message="the provider's content filter ended the reply")
    if completion.refusal:
        return Failure(reason="refused", message=completion.refusal[:500])
    if finish != "stop":
        return Failure(reason="provider_error", message=f"the reply ended with finish reason {finish!r}, not 'stop'")
    if not completion.text or not completion.text.strip():
        return Failure(reason="unparsable", message="the reply is empty")
    try:
        return after_reasoning(completion.text, shown(request))
    except Unparsable as error:
        return Failure(reason="unparsable", message=str(error))
