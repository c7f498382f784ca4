"""Judges: callables from the JSON body of a request to a Reply."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

Body = dict[str, Any]
"""The JSON body of a chat completion request."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply of the fake model. Fields that are left out have the values that the provider would
    set."""

    content: str | list[Any] | None
    finish_reason: str = "stop"
    usage: Mapping[str, object] | None = None
    """Replaces fields of the computed usage."""
    refusal: str | None = None
    logprobs: Mapping[str, object] | None = None
    model: str | None = None
    """The name of the served model; None for the requested name."""


Judge = Callable[[Body], Reply]


def text_of(body: Body) -> str:
    """Return all message texts of a request, joined by blank lines."""
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
    """Replies with the last message, with ``size`` repeated or cut to this number of characters."""

    size: int | None = None

    def __call__(self, body: Body) -> Reply:
        text = text_of({"messages": body["messages"][-1:]})
        if self.size is not None:
            text = ((text or "x") * (self.size // max(len(text), 1) + 1))[: self.size]
        return Reply(text)


def load(spec: str, args: Mapping[str, object]) -> Judge:
    """Return the judge that the function ``"package.module:name"`` makes from ``args``, in any
    process."""
    module, _, name = spec.partition(":")
    return cast(Judge, getattr(importlib.import_module(module), name)(**args))
