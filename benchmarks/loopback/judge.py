"""Who answers: any callable from the request's JSON body to a Reply. Knows no prompt of claimeval."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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


def load(spec: str, args: Mapping[str, object]) -> Judge:
    """What ``"package.module:name"`` makes of ``args``: a judge that another process can be told to make."""
    module, _, name = spec.partition(":")
    return cast(Judge, getattr(importlib.import_module(module), name)(**args))
