"""Texts of others in a plain-text place: what is invisible or directs the text is written out."""

from __future__ import annotations

import re

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff"
    "\uffa0\ufff9-\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""Control and format characters that no writing needs, and lone surrogates. Joiners stay: Persian needs them."""


def visible(text: str, width: int | None = None) -> str:
    """The text on one line, hidden characters as `⟨U+202E⟩`; cut to `width` characters where that is given."""
    line = " ".join(_HIDDEN.sub(lambda match: f"⟨U+{ord(match.group()):04X}⟩", text).split())
    return line if width is None or len(line) <= width else line[: width - 1] + "…"
