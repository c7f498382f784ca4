"""Sentences of an answer that assert nothing about its subject: refusals, courtesies, lists of sources. English."""

from __future__ import annotations

import re

_LONGEST = 600
"""Characters: a longer sentence asserts something."""

_LEAD_IN = (
    r"(?:(?:(?:i'm|i am|we're)\s(?:very\s|so\s)?|i\s)?"
    r"(?:sorry|apologi[sz]e|apologies|unfortunately|regrettably|however|therefore|but|and|so)\b[,.!:]?\s*"
    r"|(?:based on|according to|from|in)\s[^,.]{3,80},\s*)*"
)
_CANNOT = (
    r"(?:cannot|can't|can not|could not|couldn't|won't|'m (?:unable|not able) to|(?:am|was)\s(?:unable|not able) to)"
)
_TEXTS = (
    r"(?:(?:(?:provided|given|available|retrieved|supplied|above|following|cited)\s)+(?:\w+\s)?"
    r"(?:information|content|data|materials?|articles?|results?|documents?|contexts?|passages?|sources?|excerpts?"
    r"|texts?)"
    r"|(?:search results?|contexts?|passages?|excerpts?|snippets?|documents?|sources?|texts?)(?:\s(?:provided|given))?)"
)
_ARTICLES = r"(?:(?:the|this|these|those|your|any|all|of)\s)*"
_TELL = (
    r"(?:contain|mention|provide|include|specify|state|say|give|answer|address|discuss|offer|indicate|cover|describe"
    r"|have|list)"
)
_REFUSALS = (
    rf"i\s?{_CANNOT}\b",
    r"i\s(?:do not|don't|did not|didn't)\s(?:\w+ly\s)?(?:know|have|find|see|understand|recall|remember)\b",
    r"i(?:'m|\sam)\s(?:not\s|un)(?:sure|certain|aware|able)\b",
    r"(?:as|i'm|i am)\san?\s(?:ai|artificial intelligence|(?:large\s)?language model|assistant|chatbot)\b",
    r"it\s(?:is|was)\s(?:not possible|impossible)\sto\s(?:say|tell|answer|determine|know|provide|give)\b",
    r"the question (?:asks|is asking)\b",
    rf"{_ARTICLES}{_TEXTS}\s(?:do(?:es)? not|do(?:es)?n't|did not|didn't)\s(?:\w+ly\s|(?:seem|appear) to\s)?{_TELL}\b",
    rf"none of {_ARTICLES}{_TEXTS}\s{_TELL}s?\b",
    rf"(?:based on|according to|from|in)\s{_ARTICLES}{_TEXTS}[^,.;]{{0,40}},\s(?:it|there)\s(?:is|are)\s(?:no|not"
    r"|unclear|unknown|difficult|hard|impossible)\b",
    r"[^.;(]{1,150}?\b(?:not|never|nowhere|cannot be|can't be)\s(?:\w+ly\s)?"
    rf"(?:mentioned|stated|specified|determined|discussed|given|found|answered)\b[^.;]{{0,40}}?\s{_TEXTS}\b",
    r"there\s(?:is|was|are|were)\s(?:no|not enough|insufficient)\s(?:\w+\s){0,2}?"
    r"(?:information|mention|details?|answer)\s(?:\S+\s){0,6}?(?:in|about|on|regarding|available|provided|given|to|that)\b",
    r"(?:no|not enough|insufficient|not sufficient)\s(?:\w+\s){0,2}?(?:information|answer|context|data|details?)\b"
    r"[^.;]{0,60}[.]?$",
    r"(?:unknown|unanswerable|none|n/?a|not (?:specified|mentioned|stated|given|available|known|provided|found))\W*$",
)
_COURTESIES = (
    r"(?:hi|hello|hey|greetings|good (?:morning|afternoon|evening|day)|dear\s\w+|welcome)\b[^.;]{0,40}[.]?$",
    r"(?:yes|no|sure|ok|okay|certainly|absolutely|of course|great|right|exactly|indeed|you're welcome|my pleasure)\W*$",
    r"(?:that's a |what a )?(?:great|good|excellent|interesting) question\W*$",
    r"thank(?:s| you)\b[^.;]{0,80}[.]?$",
    r"(?:i|we)\shope\b|hope\s(?:this|that|it)\b",
    r"(?:please\s)?(?:let (?:me|us) know|feel free|don't hesitate|ask me)\b",
    r"please\s(?:provide|clarify|specify|rephrase|consult|contact|refer|ask|share)\b",
    r"(?:i'm|i am|i'd be|i would be|we're)\s(?:here|happy|glad|pleased) to\b",
    r"if you (?:have|need|would like|want)\s(?:any|more|further)\b",
    r"here(?:'s| is| are)\s(?:\S+\s){0,6}?(?:answer|summary|list|overview|breakdown|explanation|response|information)\b"
    r"[^.;:]{0,80}[.:!]*$",
    r"(?:best|kind|warm) regards\b|sincerely\b",
    r"(?:source\(s\)|sources?|references?|citations?|see also|further reading|links?)\s*:",
    r"(?:https?://|www\.)\S+\s*$",
    r"[\w .,&-]{1,100}\.(?:pdf|docx?|html?|txt|xlsx?|pptx?)\W*$",
)
_EMPTY = re.compile(rf"[\W_]*{_LEAD_IN}(?:{'|'.join((*_REFUSALS, *_COURTESIES))})", re.IGNORECASE)


def is_boilerplate(clause: str) -> bool:
    """Whether a clause refuses, greets, thanks, offers help, names sources, asks, or leads in to what follows.

    What comes after ", but" can still assert something: "I don't know the day, but it was in 1848."
    """
    bare = clause.rstrip("\"'”’)*_ ")
    if bare.endswith(("?", ":", "？", "：")):
        return True
    if len(clause) > _LONGEST or not _EMPTY.match(" ".join(clause.replace("’", "'").split())):
        return False
    _, but, rest = clause.partition(", but ")
    return not but or is_boilerplate(rest)
