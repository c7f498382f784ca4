"""Find the reasoning of a model in an evaluated answer.

Models that reason write it before the answer, between marks that an application removes. Where it
did not, a judge would take what the model considered for what it said.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from claimeval.types.errors import DataError
from claimeval.types.records import Sample

AnswerReasoning = Literal["drop", "keep"]
"""`drop` leaves the reasoning out of answers; `keep` judges answers as they stand."""

_NAMES = r"(?:seed:)?(?:think|thinking|thoughts?|reasoning|scratchpad|reflection)"
_PAIRS = (
    (rf"<{_NAMES}(?:\s[^<>]*)?>", rf"</{_NAMES}\s*>"),
    (r"\[THINK\]", r"\[/THINK\]"),
    (r"◁think▷", r"◁/think▷"),
    (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    (r"<\|channel\|>analysis<\|message\|>", r"<\|channel\|>final<\|message\|>"),
    (r"<\|channel>thought\b", r"<channel\|>"),
    (r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),
    (r"<\|inner_prefix\|>", r"<\|inner_suffix\|>"),
    (r"Here is my thought process:", r"Here is my response:"),
)
"""How reasoning begins and ends: DeepSeek, Qwen and others, Claude's prompts, Seed-OSS; Magistral;
Kimi; OpenThinker; gpt-oss; Gemma; Command; Apertus; Granite."""
_BEFORE = r"\s*(?:<\|start\|>assistant)?"
_STARTS = tuple(
    (re.compile(_BEFORE + start, re.IGNORECASE), re.compile(end, re.IGNORECASE))
    for start, end in _PAIRS
)
_SIGNS = ("<", "[", "◁", "H", "h")
_ENDS = ("</", "[/", "◁/")
"""What every mark begins with, and every end that may stand alone."""
_HEAD = 64
"""Characters among which the first mark begins, if space stands before it."""
_OPENED = re.compile("|".join(start for start, _ in _PAIRS[:3]), re.IGNORECASE)
_CLOSED = "(?:" + "|".join(end for _, end in _PAIRS[:3]) + ")"
_CLOSING = re.compile(_CLOSED, re.IGNORECASE)
_LONE_END = re.compile(
    rf"(?:^|\n)[^\S\n]*{_CLOSED}|{_CLOSED}[^\S\n]*(?=\n)|(?<=[.!?…。！？]){_CLOSED}", re.IGNORECASE
)
"""An end without a start, which some servers put into the prompt: at the beginning or the end of a
line, or after a sentence. An answer about such marks has them within its sentences."""
_MARKS_OF_ANSWER = re.compile(
    r"<\|(?:(?:begin|end)_of_solution|return|end|(?:START|END)_RESPONSE)\|>"
    r"|^\s*<(?:final_)?(?:answer|response)>|</(?:final_)?(?:answer|response)>\s*$"
)
"""Marks around the answer of OpenThinker, gpt-oss and Command, and those that prompts of DeepSeek
and Hunyuan ask for."""


class _Reasoning(NamedTuple):
    """Reasoning at the beginning of an answer."""

    mark: str
    end: int
    """Where the answer begins. Reasoning that does not end is the whole text."""


def mark_of(text: str) -> str | None:
    """Return the mark by which the reasoning in an answer is known; None if it has none.

    Marks elsewhere in a text, as in an answer that explains them, are none.
    """
    found = _find(text)
    return found and found.mark


def without_reasoning(text: str) -> str:
    """Return an answer without the reasoning before it."""
    found = _find(text)
    while found is not None:
        text = _MARKS_OF_ANSWER.sub("", text[found.end :]).strip()
        found = _find(text)
    return text


def _find(text: str) -> _Reasoning | None:
    # Cheap tests come before the patterns: every answer of a file is looked at, and most have no
    # mark of reasoning.
    if text[:_HEAD].lstrip()[:1] in _SIGNS:
        for start, end in _STARTS:
            if begun := start.match(text):
                ended = end.search(text, begun.end())
                return _Reasoning(begun.group().strip(), ended.end() if ended else len(text))
    if "/" not in text or not any(map(text.__contains__, _ENDS)) or not _CLOSING.search(text):
        return None
    closed = _LONE_END.search(text)
    if closed is None or _OPENED.search(text, 0, closed.start()):
        return None
    return _Reasoning(closed.group().strip(), closed.end())


def settle_reasoning(record: Sample, location: str, choice: AnswerReasoning | None) -> Sample:
    """Return a sample whose answer and history have no reasoning of a model, unless it is kept.

    Args:
        record: The sample.
        location: Where it is, for messages.
        choice: What is done with reasoning.

    Raises:
        DataError: The answer has reasoning, and nothing is said of it.
    """
    said = record.answer or ""
    mark = mark_of(said)
    if mark is None or choice == "keep":
        return record
    if choice is None:
        raise DataError(
            f"{location}, answer: it holds the reasoning of a model ({mark}): add"
            " --answer-reasoning drop to leave it out, or --answer-reasoning keep to judge it as a"
            " part of the answer",
            kind="reasoning in an answer",
        )
    history = tuple(
        turn.model_copy(update={"content": without_reasoning(turn.content)})
        for turn in record.history
    )
    changed = {"answer": without_reasoning(said), "history": history, "sentence_ends": ()}
    return record.model_copy(update=changed)
