"""The forms in which recorded texts say their verdict, a row each."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from claimeval.judging.recorded.statements import statements
from claimeval.judging.recorded.vocabulary import Sign, Vocabulary
from claimeval.judging.reply_values import Unparsable, fold, json_object

Find = Callable[[str, Vocabulary, str], list[Sign]]


class Form(NamedTuple):
    """One way of saying a verdict."""

    find: Find
    """All places that say one in this way; the third argument is what follows the colon in the form's name. Raises
    Unparsable for a text that has the form and breaks it."""
    free: bool
    """Whether the text around it is free, so that what it says there in other words counts too."""
    example: str


_OPENING = r"[\s\"'*`_>#(\[]*"
_WORD = r"[A-Za-z]+"
_FIRST = re.compile(rf"{_OPENING}({_WORD})(?=[\s\"'*`_)\]]*(?:[.,:;!?\n—–]|-\s|$))")
_ANSWER = re.compile(
    rf"(?<![A-Za-z])answer(?:\s+is)?\s*[:：](?={_OPENING}({_WORD})(?![A-Za-z]))"
    rf"|(?<![A-Za-z])answer\s+is\s+(?=[\"'*`]*({_WORD})(?![A-Za-z]))",
    re.IGNORECASE,
)
_CHOICE = re.compile(r"[\s\"'*`]*(?:or\b|/)[\s\"'*`]*[A-Za-z]")
_NEW_ITEM = re.compile(
    r"^\W{0,3}(?:summary|question|claim|statement|document|candidate|passage|query)\s*\d*\s*:", re.I | re.M
)
_BRACKETS = re.compile(r"\[\[\s*([^\[\]]{1,40}?)\s*\]\]")
_SCORE = re.compile(r"##\s*final score\s*[:：]\s*(-?\d+)(?![\d.])", re.IGNORECASE)


def _first_word(text: str, words: Vocabulary, option: str) -> list[Sign]:
    """The first word, standing alone: "No evidence is given" does not say no."""
    match = _FIRST.match(text)
    meaning = words.meaning(match.group(1)) if match else None
    return [Sign(meaning, match.start(1))] if match and meaning else []


def _answer(text: str, words: Vocabulary, option: str) -> list[Sign]:
    """A marked answer; a choice that is only offered (`Answer: Yes or No`) says nothing."""
    signs = []
    for match in _ANSWER.finditer(text):
        group = 1 if match.group(1) else 2
        meaning = words.meaning(match.group(group))
        if meaning and not _CHOICE.match(text, match.end(group)):
            signs.append(Sign(meaning, match.start()))
    for before, after in pairwise(signs):
        if _NEW_ITEM.search(text, before.start, after.start):
            raise Unparsable("the reply goes on to answer about something else")
    return signs


def _brackets(text: str, words: Vocabulary, option: str) -> list[Sign]:
    found = ((words.meaning(match.group(1)), match.start()) for match in _BRACKETS.finditer(text))
    return [Sign(meaning, start) for meaning, start in found if meaning]


def _tag(text: str, words: Vocabulary, name: str) -> list[Sign]:
    """A tagged block; the text around it, and inside other tags, need not be escaped."""
    tag = re.escape(name)
    blocks = list(re.finditer(rf"<{tag}>\s*(.*?)\s*</{tag}>", text, re.DOTALL | re.IGNORECASE))
    if len({fold(block.group(1)) for block in blocks}) > 1:
        raise Unparsable(f"two different <{name}> blocks")
    return [words.sign(block.group(1), block.start()) for block in blocks[:1]]


def _json(text: str, words: Vocabulary, name: str) -> list[Sign]:
    """One JSON object, and nothing around it but a code fence."""
    value = json_object(text).get(name)
    if isinstance(value, bool):
        return [Sign("supported" if value else "not_found", 0)]
    return [] if value is None else [words.sign(str(value))]


def _score(text: str, words: Vocabulary, option: str) -> list[Sign]:
    return [words.sign(match.group(1), match.start()) for match in _SCORE.finditer(text)]


def _word(text: str, words: Vocabulary, option: str) -> list[Sign]:
    """The whole text."""
    meaning = words.meaning(text)
    return [Sign(meaning, 0)] if meaning else []


def _number(text: str, words: Vocabulary, option: str) -> list[Sign]:
    """The whole text."""
    return [words.sign(text.strip())] if re.fullmatch(r"\s*-?\d+\s*", text) else []


FORMS: dict[str, Form] = {
    "first_word": Form(_first_word, True, "No, the correct answer is 126."),
    "answer": Form(_answer, True, "The document says so in line 3. Answer: Yes"),
    "brackets": Form(_brackets, True, "[[No]]"),
    "statement": Form(statements, True, "The summary is not factually consistent with the document."),
    "tag": Form(_tag, False, "<explanation>A & B</explanation> <answer>partially_supported</answer>"),
    "json": Form(_json, False, '{"verdict": "yes", "reason": "..."}'),
    "score": Form(_score, False, "M: 2 T: 1 ##final score: 2"),
    "word": Form(_word, False, "Entailment"),
    "number": Form(_number, False, "3"),
}
"""By name. `tag` and `json` are written with what to look for: `tag:answer`, `json:verdict`."""
