"""Who answers: any callable from the request's JSON body to a Reply. Knows no prompt of claimeval."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

Body = dict[str, Any]
"""The JSON body of a chat completion request."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the fake model says; everything left out is filled in as the provider would."""

    content: str | list[Any] | None
    finish_reason: str = "stop"
    usage: Mapping[str, object] | None = None
    """Replaces single fields of the counted usage."""
    refusal: str | None = None
    logprobs: Mapping[str, object] | None = None
    model: str | None = None
    """The model name as served, None for the name that was asked for."""


Judge = Callable[[Body], Reply]


class NoReply(LookupError):
    """The script has nothing for this request; the server answers 400 and says so."""


def text_of(body: Body) -> str:
    """All message texts of a request, joined by blank lines; text parts of list contents included."""
    parts: list[str] = []
    for message in body["messages"]:
        content = message.get("content") or ""
        if isinstance(content, str):
            parts.append(content)
        else:
            parts.extend(str(part.get("text", "")) for part in content)
    return "\n\n".join(parts)


@dataclass(frozen=True, slots=True)
class EchoJudge:
    """Says the last message back; with ``size`` repeated and cut to exactly that many characters."""

    size: int | None = None

    def __call__(self, body: Body) -> Reply:
        said = text_of({"messages": body["messages"][-1:]})
        if self.size is not None:
            said = ((said or "x") * (self.size // max(len(said), 1) + 1))[: self.size]
        return Reply(said)


@dataclass(slots=True)
class ScriptedJudge:
    """Says what the test wrote down.

    A list is used up in order of arrival. A dict is searched by substring: the first entry whose key occurs in
    the text of the messages answers, so the key "" matches all; a list under a key is used up in order and its
    last reply repeats. Replies are Reply records, mappings with Reply's fields, or plain strings. A fault that
    comes after the completion was generated uses up a reply, as it does at a provider.
    """

    replies: Sequence[Any] | Mapping[str, Any]
    _used: dict[str, int] = field(default_factory=dict)

    def __call__(self, body: Body) -> Reply:
        if not isinstance(self.replies, Mapping):
            at = self._next("")
            if at >= len(self.replies):
                raise NoReply(f"the script has {len(self.replies)} replies and this is request {at + 1}")
            return _reply(self.replies[at])
        text = text_of(body)
        for key, said in self.replies.items():
            if key in text:
                if isinstance(said, Sequence) and not isinstance(said, str):
                    return _reply(said[min(self._next(key), len(said) - 1)])
                return _reply(said)
        raise NoReply(f"no scripted reply is for this text: {text[:200]!r}")

    def _next(self, key: str) -> int:
        at = self._used.get(key, 0)
        self._used[key] = at + 1
        return at


def _reply(said: Any) -> Reply:
    if isinstance(said, Reply):
        return said
    return Reply(said) if isinstance(said, str) else Reply(**said)


def load(spec: str, args: Mapping[str, object]) -> Judge:
    """What ``"package.module:name"`` makes of ``args``: a judge that another process can be told to make."""
    module, _, name = spec.partition(":")
    return cast(Judge, getattr(importlib.import_module(module), name)(**args))
