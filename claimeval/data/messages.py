"""Conversations in rows: messages as chat APIs, ragas and ShareGPT write them -> turns, question and answer.

A list of messages ends with the assistant's answer or with the user's question. What came before the question is the
history, and what tools returned after it are the contexts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from claimeval.types.records import Turn

_ROLES = {"human": "user", "ai": "assistant", "bot": "assistant", "gpt": "assistant", "model": "assistant"}
"""Names of roles in LangChain, ragas and ShareGPT."""


class Conversation(NamedTuple):
    """The messages of one row, by what they are."""

    history: tuple[Turn, ...]
    question: str
    answer: str | None
    """None if no message of the assistant follows the question."""
    contexts: tuple[str, ...]
    """What tools returned after the question."""


def turns_in(value: object) -> tuple[Turn, ...] | None:
    """Return the turns in a list of messages or of pairs (user, assistant); None if it is neither.

    Messages without words, such as calls of tools, are left out.
    """
    if isinstance(value, Mapping):
        value = value.get("messages")
    if not isinstance(value, Sequence) or isinstance(value, str):
        return None
    turns: list[Turn] = []
    for item in value:
        if isinstance(item, Sequence) and not isinstance(item, str) and len(item) == 2 and all(map(_is_text, item)):
            turns += [Turn(role="user", content=item[0]), Turn(role="assistant", content=item[1])]
            continue
        role, content = _message(item)
        if role is None:
            return None
        if content.strip():
            turns.append(Turn(role=role, content=content))
    return tuple(turns)


def read_conversation(turns: Sequence[Turn]) -> Conversation:
    """Return the last question of a conversation, what came before it, and the last answer after it."""
    asked = max((i for i, turn in enumerate(turns) if turn.role == "user"), default=None)
    if asked is None:
        return Conversation(tuple(turns), "", None, ())
    after = turns[asked + 1 :]
    answers = [turn.content for turn in after if turn.role == "assistant"]
    return Conversation(
        tuple(turns[:asked]),
        turns[asked].content,
        answers[-1] if answers else None,
        tuple([turn.content for turn in after if turn.role == "tool"]),
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _message(item: object) -> tuple[str | None, str]:
    """Return role and text of a message; no role if it is none."""
    if not isinstance(item, Mapping):
        return None, ""
    role = next((item[name] for name in ("role", "from", "type") if isinstance(item.get(name), str)), None)
    contents = [item[name] for name in ("content", "value", "text", "tool_calls") if name in item]
    if role is None or not contents:
        return None, ""
    return _ROLES.get(role.lower(), role.lower()), _words(contents[0])


def _words(content: Any) -> str:
    """Return the text of a message, whose parts can be a list."""
    if isinstance(content, list):
        return "\n".join(filter(None, map(_words, content)))
    if isinstance(content, Mapping):
        return _words(content.get("text", ""))
    return content if isinstance(content, str) else ""
