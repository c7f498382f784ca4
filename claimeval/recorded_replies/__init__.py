"""Verdicts in replies that other tools recorded, read in strict forms.

A form finds what a text says in one way of saying it: `first_word` ("No, the candidate ..."), `answer` ("Answer: No"),
`brackets` ("[[Yes]]"), `statement` ("The summary is not factually consistent ..."), `tag:answer`, `json:verdict`,
`score`, `word`, `number`. A text that says both, or neither, is refused with `Unparsable`; nothing is guessed. The
forms are rows of `forms.FORMS`, to which others can be added.
"""

from __future__ import annotations

from claimeval.recorded_replies.forms import FORMS
from claimeval.recorded_replies.reading import Reader, Said, says_yes_or_no
from claimeval.recorded_replies.vocabulary import Meaning, Vocabulary

__all__ = ["FORMS", "Meaning", "Reader", "Said", "Vocabulary", "says_yes_or_no"]
