"""Reads one recorded reply: the first form that finds something decides, and nothing may contradict it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from claimeval.judging.recorded.forms import FORMS, Form
from claimeval.judging.recorded.vocabulary import Meaning, Sign, Vocabulary
from claimeval.judging.reply_values import Unparsable, after_reasoning
from claimeval.types.errors import UsageError, unknown_name

_FREE = tuple(form.find for form in FORMS.values() if form.free)


class RecordedVerdict(NamedTuple):
    """What a reply says."""

    meaning: Meaning
    grade: int | None
    form: str
    """The form in which it says so."""


class Reader:
    """Reads replies in some forms, tried in order."""

    def __init__(self, forms: Sequence[str], words: Vocabulary) -> None:
        """`forms` are names in `FORMS`; UsageError for others."""
        self._forms = tuple((spec, *_form(spec)) for spec in forms)
        self._words = words

    def read(self, text: str) -> RecordedVerdict:
        """What the reply says after its reasoning; Unparsable where it says nothing in these forms, or two things."""
        text = after_reasoning(text)
        for spec, form, option in self._forms:
            if signs := form.find(text, self._words, option):
                return self._agreed(text, spec, form, signs)
        raise Unparsable("no verdict in the forms that are looked for")

    def _agreed(self, text: str, spec: str, form: Form, signs: list[Sign]) -> RecordedVerdict:
        others = [sign for find in _FREE for sign in find(text, self._words, "")] if form.free else []
        said = {(sign.meaning, sign.grade) for sign in (*signs, *others)}
        if said == {("not_found", None), ("unsure", None)}:
            said = {("not_found", None)}  # "No, it cannot be told from the document" gives the reason for its no
        if len(said) > 1:
            both = sorted(meaning if grade is None else str(grade) for meaning, grade in said)
            raise Unparsable(f"the reply says both {' and '.join(both)}")
        ((meaning, grade),) = said
        return RecordedVerdict(meaning, grade, spec)


def says_yes_or_no(forms: Iterable[str]) -> bool:
    """Whether replies in all of these forms are free text that says yes or no, so that the scale has two labels."""
    return all(_form(spec)[0].free for spec in forms)


def _form(spec: str) -> tuple[Form, str]:
    name, _, option = spec.partition(":")
    if name not in FORMS:
        raise unknown_name("form of recorded replies", name, FORMS)
    if (name in ("tag", "json")) != bool(option):
        raise UsageError(f"form {spec!r}: `tag:NAME` and `json:KEY` say what to look for, other forms do not")
    return FORMS[name], option
