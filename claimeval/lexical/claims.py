"""Rule-based claims of an English text: a claim is a sentence, or a clause if it can safely stand
alone.

Rules cannot split a text into single facts. This splitter only makes cuts that rarely change the
meaning: most sentences are one claim, and every claim has a verb unless its sentence has none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from importlib.resources import files
from itertools import chain, zip_longest
from typing import Literal, NamedTuple

from claimeval.lexical.citations import masked, without
from claimeval.lexical.clauses import WORD, clauses, is_finite, is_verb
from claimeval.lexical.sentences import (
    Span,
    TextBlock,
    block_sentences,
    blocks,
    is_question,
    sentences,
    untagged,
)
from claimeval.lexical.words import words_of

_LONGEST_BOILERPLATE = 600
"""Maximum number of characters of a sentence that asserts nothing."""

_LEAD_IN = (
    r"(?:(?:(?:i'm|i am|we're)\s(?:very\s|so\s)?|i\s)?"
    r"(?:sorry|apologi[sz]e|apologies|unfortunately|regrettably|however|therefore|but|and|so)\b"
    r"(?:[,.!:]|\s[-–—])?\s*"
    r"|(?:i regret|i'm afraid|i am afraid|it (?:seems|appears))\s(?:that\s)?"
    r"|(?:based on|according to|from|in)\s[^,.]{3,80},\s*)*"
)
_CANNOT = (
    r"(?:cannot|can't|can not|could not|couldn't|won't|'m (?:unable|not able)"
    r" to|(?:am|was)\s(?:unable|not able) to)"
)
_TEXTS = (
    r"(?:(?:(?:provided|given|available|retrieved|supplied|above|following|cited)\s)+(?:\w+\s)?"
    r"(?:information|content|data|materials?|articles?|results?|documents?|contexts?|passages?"
    r"|sources?|excerpts?|texts?)"
    r"|(?:search results?|contexts?|passages?|excerpts?|snippets?|documents?|sources?|texts?)"
    r"(?:\s(?:provided|given))?)"
)
_ARTICLES = r"(?:(?:the|this|these|those|your|my|any|all|of)\s)*"
_TELL = (
    r"(?:contain|mention|provide|include|specify|state|say|give|answer|address|discuss|offer"
    r"|indicate|cover|describe|have|list)"
)
_IN_TEXTS = rf"(?:in|by|from|within)\s{_ARTICLES}{_TEXTS}\b(?!\sof\b)"
_TOO_LITTLE = r"(?:no|not any|not enough|insufficient|not sufficient)"
_KNOWLEDGE = r"(?:\w+\s){0,2}?(?:information|answers?|data|details?|context)\b"
_ABOUT = (
    r"(?:\s(?:is|are|was|were|could be))?"
    r"(?:\s(?:available|found|present|(?:given|provided|included)(?!\sto\b)))?"
    r"(?:\W*$|\s(?:in|about|on|regarding|concerning|for|from|as to"
    r"|to (?:answer|say|tell|determine|this|that|your|the))\b)"
)
"""What follows knowledge that is missing: its end, or what nothing is known about. Without this,
"No data are stored abroad." would be a refusal."""
_ASKED = (
    r"(?:the|this|that|your)\s(?:requested\s|exact\s|relevant\s)?(?:answer|information|data|details?"
    r"|question)(?:\sto (?:this|that|your|the) question)?"
)
_IS_NOT = r"(?:(?:is|was|are|were)(?:\snot|n't)|(?:cannot|can't|could not|couldn't) be)"
_SAID = r"(?:mentioned|stated|specified|known|determined|answered)"
_PRESENT = (
    r"(?:covered|available|contained|addressed|included|described|present|found|given|provided)"
)
_REFUSALS = (
    rf"i\s?{_CANNOT}\b",
    (
        r"i\s(?:do not|don't|did"
        r" not|didn't)\s(?:\w+ly\s)?(?:know|have|find|see|understand|recall|remember)\b"
    ),
    r"i(?:'m|\sam)\s(?:not\s|un)(?:sure|certain|aware|able)\b",
    r"i\s(?:must|have to|will)\s(?:\w+ly\s)?decline(?:\sto\b|\W*$)",
    rf"(?:i|we)\s(?:have|had|found|find|see)\s{_TOO_LITTLE}\s{_KNOWLEDGE}{_ABOUT}",
    rf"we\s(?:do not|don't|did not|didn't)\s(?:have|find)\s(?:any|enough)\s{_KNOWLEDGE}{_ABOUT}",
    r"i\s(?:lack\b|have no idea\b)|no idea\W*$",
    r"i(?:'d|\swould)?\sneed more (?:information|context|details?)\b",
    (
        r"(?:cannot|can't|can not|unable to)\s(?:answer|tell|say|determine"
        r"|(?:find|provide|give)\s(?:the|an|any)\s(?:answer|information))"
        r"(?:\s(?:the|this|that|your|it|from|based)\b[^.;]{0,80})?\W*$"
    ),
    (
        r"(?:as|i'm|i am)\san?\s(?:ai|artificial intelligence|(?:large\s)?language"
        r" model|assistant|chatbot)\b"
    ),
    (
        r"it\s(?:is|was)\s(?:not"
        r" possible|impossible)\sto\s(?:say|tell|answer|determine|know|provide|give)\b"
    ),
    rf"it(?:'s|\sis)\s(?:unclear|not clear|unknown|not known)\s{_IN_TEXTS}",
    r"the question (?:asks|is asking)\b",
    (
        r"(?:this|that|the|your) (?:question|query|request|topic) (?:is|falls|lies)"
        r" (?:out of scope|(?:outside|beyond) (?:of )?(?:the|my) (?:scope|knowledge))\b"
    ),
    (
        rf"{_ARTICLES}{_TEXTS}\s(?:do(?:es)? not|do(?:es)?n't|did"
        rf" not|didn't)\s(?:\w+ly\s|(?:seem|appear) to\s)?{_TELL}\b"
    ),
    rf"{_ARTICLES}{_TEXTS}\s(?:\w+ly\s)?{_TELL}s?\s{_TOO_LITTLE}\s{_KNOWLEDGE}",
    rf"{_ARTICLES}{_TEXTS}\s(?:lacks?\s{_KNOWLEDGE}|(?:mention|say|state)s?\sno(?:thing)?\b)",
    rf"{_ARTICLES}{_TEXTS}\s(?:is|are)\s(?:silent|insufficient|not sufficient|not enough)\b",
    rf"(?:none of|neither(?: of)?) {_ARTICLES}{_TEXTS}\s{_TELL}s?\b",
    r"(?:based on|according"
    rf" to|from|in)\s{_ARTICLES}{_TEXTS}[^,.;]{{0,40}},\s(?:it|there)\s(?:is|are)\s(?:no|not"
    r"|unclear|unknown|difficult|hard|impossible)\b",
    r"[^.;(]{1,150}?\b(?:not|never|nowhere|cannot be|can't be)\s(?:\w+ly\s)?"
    r"(?:mentioned|stated|specified|determined|discussed|given|found|answered)\b"
    rf"[^.;]{{0,40}}?\s{_TEXTS}\b",
    rf"(?:it|this|that|{_ASKED})\s{_IS_NOT}\s(?:{_SAID}(?:\W*$|\s{_IN_TEXTS})"
    rf"|(?:{_PRESENT}\s)?{_IN_TEXTS})",
    rf"{_ASKED}\s{_IS_NOT}\s{_PRESENT}\W*$",
    rf"there(?:'s|\s(?:is|was|are|were))(?:n't (?:any|enough|sufficient)|\s{_TOO_LITTLE})"
    rf"\s{_KNOWLEDGE}{_ABOUT}",
    rf"{_TOO_LITTLE}\s{_KNOWLEDGE}{_ABOUT}",
    rf"(?:there (?:is|was)\s)?no (?:\w+\s)?mention(?:\sof\s[^.;]{{1,100}}?)?\s{_IN_TEXTS}\W*$",
    r"(?:there (?:is|was)\s)?no mention(?:\sof\s(?:this|that|it|them))?\W*$",
    (
        r"(?:no\s(?:\w+\s)?(?:documents?|passages?|sources?|results?|matches|records?|answers?)"
        r"|nothing(?:\s(?:relevant|related|useful))?)\s(?:(?:was|were|could be)\s)?found\b"
        rf"(?:\s{_IN_TEXTS}|\s(?:for|about|on)\s(?:this|that|your|the)\s(?:question|query|topic)\b)?"
        r"\W*$"
    ),
    r"no (?:results|matches)\W*$",
    rf"(?:information|answer|data|details?)\s(?:(?:is|are|was|were)\s)?not\s{_PRESENT}\W*$",
    rf"not\s(?:{_SAID}|{_PRESENT})\s{_IN_TEXTS}\W*$",
    (
        r"(?:unknown|unanswerable|none|n/?a|not"
        r" (?:specified|mentioned|stated|given|available|known|provided|found))\W*$"
    ),
)
_COURTESIES = (
    (
        r"(?:hi|hello|hey|greetings|good"
        r" (?:morning|afternoon|evening|day)|dear\s\w+|welcome)\b[^.;]{0,40}[.]?$"
    ),
    (
        r"(?:yes|no|sure|ok|okay|certainly|absolutely|of course|great|right|exactly|indeed|you're"
        r" welcome|my pleasure)\W*$"
    ),
    r"(?:that's a |what a )?(?:great|good|excellent|interesting) question\W*$",
    r"thank(?:s| you)\b[^.;]{0,80}[.]?$",
    r"(?:i|we)\shope\b|hope\s(?:this|that|it)\b",
    r"(?:please\s)?(?:let (?:me|us) know|feel free|don't hesitate|ask me)\b",
    r"please\s(?:provide|clarify|specify|rephrase|consult|contact|refer|ask|share)\b",
    r"(?:i'm|i am|i'd be|i would be|we're)\s(?:here|happy|glad|pleased) to\b",
    r"if you (?:have|need|would like|want)\s(?:any|more|further)\b",
    r"here(?:'s| is| are)\s(?:\S+\s){0,6}?"
    r"(?:answer|summary|list|overview|breakdown|explanation|response|information)\b"
    r"[^.;:]{0,80}[.:!]*$",
    r"(?:best|kind|warm) regards\b|sincerely\b",
    r"(?:source\(s\)|sources?|references?|citations?|see also|further reading|links?)\s*:",
    r"(?:https?://|www\.)\S+\s*$",
    r"[\w .,&-]{1,100}\.(?:pdf|docx?|html?|txt|xlsx?|pptx?)\W*$",
)


@cache
def _empty() -> re.Pattern[str]:
    """Return the pattern of sentences that assert nothing, compiled on first use."""
    phrases = rf"(?:(?P<refusal>{'|'.join(_REFUSALS)})|(?:{'|'.join(_COURTESIES)}))"
    return re.compile(rf"[\W_]*{_LEAD_IN}{phrases}", re.IGNORECASE)


_DECLINING_WORDS = words_of(
    "nicht nichts kein keine keinen pas aucun aucune impossible no non niet geen niets"
)
_MAY_DECLINE = re.compile(
    rf"\b(?:{'|'.join(sorted(_DECLINING_WORDS))}|não|не|нет|нельзя|невозможно)\b"
    r"|отсутству|नहीं|[无無不没沒未缺]|ません|不明|ない|なく|없|않|모르|모릅|부족|ไม่|لا|لم|لست|ليس|يتعذر|غير",
    re.IGNORECASE,
)
"""Every phrase of `declining.json` has one of these; most sentences have none."""
_LETTERS = re.compile(r"\w+")
_BUT = re.compile(
    r",?\s(?:aber|jedoch|mais|pero|mas|ma|maar|но|لكن|लेकिन)\s"
    r"|[，,、。]?\s?(?:但是|但|不过|不過|ただし|しかし|하지만|แต่)"
)
_LONGEST_APOLOGY = 40
_SORRY = re.compile(
    r"\W*(?:(?:es )?tut mir (?:sehr )?leid|leider|(?:je suis )?désolée?|je regrette|lo siento"
    r"|lamento|desculpe|sinto muito|mi dispiace|sorry|het spijt me|извините|к сожалению"
    r"|क्षमा करें|माफ़ करें|抱歉|对不起|對不起|很遗憾|很遺憾"
    r"|申し訳(?:ありません|ございません)が?|すみませんが?|죄송(?:합니다)?|ขออภัย|ขอโทษ|عذر[اًا]+)\W*",
    re.IGNORECASE,
)


@cache
def _declining() -> re.Pattern[str]:
    """Return the pattern of sentences that decline to answer in other languages than English: the
    speaker cannot tell, or the documents do not say."""
    data = files("claimeval.lexical").joinpath("declining.json").read_text(encoding="utf-8")
    phrases = chain.from_iterable(json.loads(data)["declines"].values())
    return re.compile("|".join(f"(?:{phrase})" for phrase in phrases), re.IGNORECASE)


def _kind_in_another_language(words: str) -> SentenceKind:
    """Return the kind of a clause that is no English phrase without a statement: a refusal declines
    to answer, and asserts nothing before or after a "but"."""
    if len(words) <= _LONGEST_APOLOGY and _SORRY.fullmatch(words):
        return "courtesy"
    if words.isascii():  # as most are: to look their words up takes a third of the time
        may_decline = not _DECLINING_WORDS.isdisjoint(_LETTERS.findall(words.lower()))
    else:
        may_decline = _MAY_DECLINE.search(words) is not None
    if not may_decline:
        return "statement"
    parts = [part for part in _BUT.split(words) if not _SORRY.fullmatch(part)]
    declines = all(_declining().search(part) for part in parts)
    return "refusal" if parts and declines else "statement"


SentenceKind = Literal["statement", "refusal", "courtesy", "question", "lead_in", "heading", "code"]
"""Kind of a sentence. It is a statement if it or one of its clauses asserts something."""


def clause_kind(clause: str) -> SentenceKind:
    """Return the kind of a clause. A courtesy is a greeting, thanks, an offer of help or a list of
    sources.

    Text after ", but" can still assert something: "I don't know the day, but it was in 1848."
    """
    bare = clause.rstrip("\"'”’)*_ ")
    if is_question(bare):
        return "question"
    if bare.endswith((":", "：")):
        return "lead_in"
    if len(clause) > _LONGEST_BOILERPLATE:
        return "statement"
    words = " ".join(clause.replace("’", "'").split())
    empty = _empty().match(words)
    if empty is None:
        return _kind_in_another_language(words)
    # "I don't know the day, but it was in 1848." asserts the year.
    _, but, rest = clause.partition(", but ")
    if but:
        return clause_kind(rest)
    return "refusal" if empty["refusal"] else "courtesy"


__all__ = ["SentenceClaim", "SentenceKind", "Span", "sentence_kinds", "sentences", "split_claims"]


def sentence_kinds(text: str) -> Iterator[tuple[Span, SentenceKind]]:
    """Yield the sentences of `text`, as `sentences` has them, each with its kind."""
    text = untagged(text)
    text_blocks = blocks(text)
    masked_text = masked(text)
    for block, following in zip_longest(text_blocks, text_blocks[1:]):
        for sentence in block_sentences(text, block):
            yield sentence, _sentence_kind(masked_text, block, following, sentence)


def _sentence_kind(
    masked_text: str, block: TextBlock, following: TextBlock | None, sentence: Span
) -> SentenceKind:
    if _is_heading(masked_text, block, following):
        return "heading"
    if block.kind in ("code", "row"):
        return "code" if block.kind == "code" else "statement"
    if _is_only_cited(masked_text, sentence):
        return "courtesy"
    kinds = [
        clause_kind(masked_text[start:end]) for _, (start, end) in clauses(masked_text, sentence)
    ]
    return next((kind for kind in ("statement", "refusal") if kind in kinds), kinds[0])


def _is_only_cited(masked_text: str, sentence: Span) -> bool:
    """Return whether a sentence is a citation or a footnote and nothing else."""
    return _LETTER_OR_DIGIT.search(masked_text, *sentence) is None


class SentenceClaim(NamedTuple):
    """One claim of a text, with its position."""

    text: str
    """The claim as a separate sentence: without citations and emphasis, with the shared subject and
    the lead-in of a list repeated, and with table cells named by their columns."""
    sentences: tuple[int, ...]
    """Indices of its sentences in `sentences` of the same text: its own, after that of the lead-in
    for a list item."""
    start: int
    """`source[start:end]` is the verbatim quote of the claim."""
    end: int


def split_claims(text: str) -> list[SentenceClaim]:
    """Split `text` into claims, in order; empty if it asserts nothing.

    A sentence is cut at a semicolon or conjunction if both sides have a finite verb and nothing in
    it (a condition, reported speech, a quotation) could apply to both sides. Questions, refusals,
    greetings, headings, lead-ins that end in a colon, lists of sources, bare links and code assert
    nothing by themselves. A lead-in is repeated with each list item that is no statement without
    it. A table row is one claim.
    """
    text = untagged(text)
    claims: list[SentenceClaim] = []
    sentence_id = 0
    text_blocks = blocks(text)
    masked_text = masked(text)
    lead_in: _LeadIn | None = None
    last = ""
    for block, following in zip_longest(text_blocks, text_blocks[1:]):
        goes_on = block.kind == "item" or (block.kind == "prose" and last == "prose")
        lead_in = lead_in if goes_on else None
        last = block.kind
        for first, sentence in enumerate(block_sentences(text, block)):
            if not _is_heading(masked_text, block, following):
                inherited = (
                    lead_in
                    if first == 0 and lead_in and _needs_lead_in(masked_text, sentence)
                    else None
                )
                ids = (inherited.sentence_id, sentence_id) if inherited else (sentence_id,)
                claims += [
                    SentenceClaim(plain, ids, *quote)
                    for words, quote in _asserted(text, masked_text, block, sentence)
                    if _LETTER_OR_DIGIT.search(
                        plain := _plain(f"{inherited.words}: {words}" if inherited else words)
                    )
                ]
                if block.kind == "prose":
                    lead_in = _lead_in(text, masked_text, sentence, sentence_id) or inherited
            sentence_id += 1
    return claims


_SHORTEST_LEAD_IN = 4
"""Minimum number of words. "Sure:" and "For example:" say nothing about the items."""


class _LeadIn(NamedTuple):
    """A sentence that the items of a list complete, such as "The symptoms are:"."""

    words: str
    sentence_id: int


def _lead_in(text: str, masked_text: str, sentence: Span, sentence_id: int) -> _LeadIn | None:
    """Return a sentence as the lead-in of a list, if it is one and says something about the
    items."""
    words = text[sentence.start : sentence.end].rstrip("\"'”’)*_ ")
    statement = masked_text[sentence.start : sentence.end].rstrip(" :：*_")
    if not words.endswith((":", "：")) or clause_kind(statement) not in ("statement", "courtesy"):
        return None
    if len(WORD.findall(statement)) < _SHORTEST_LEAD_IN:
        return None
    return _LeadIn(" ".join(statement.split()), sentence_id)


def _needs_lead_in(masked_text: str, item: Span) -> bool:
    """Return whether a list item is not a statement by itself."""
    first, *words = [word.lower() for word in WORD.findall(masked_text[item.start : item.end])] or [
        ""
    ]
    ended = masked_text[item.start : item.end].rstrip("\"'”’)*_ ").endswith(
        (".", "!")
    ) and not first.endswith("ing")
    return not any(is_finite(word) or (ended and is_verb(word)) for word in words)


def _asserted(
    text: str, masked_text: str, block: TextBlock, sentence: Span
) -> Iterator[tuple[str, Span]]:
    """Yield the parts of a sentence that assert something, as words and quote."""
    if block.kind == "row":
        yield _row(text, block), sentence
    elif block.kind in ("prose", "item") and not _is_only_cited(masked_text, sentence):
        for clause in clauses(masked_text, sentence):
            if clause_kind(without(text[clause.span.start : clause.span.end])) == "statement":
                yield (
                    f"{clause.before} {text[clause.span.start : clause.span.end]}".lstrip(),
                    clause.span,
                )


_HEADING_WORD = re.compile(r"[^\W_]+")
_LONGEST_HEADING = 8
"""Maximum number of words."""


def _is_heading(text: str, block: TextBlock, following: TextBlock | None) -> bool:
    """Return whether a block is marked as a heading, or short, without closing punctuation, verb or
    digit."""
    if block.kind != "prose" or following is None:
        return block.kind == "heading"
    words = _HEADING_WORD.findall(text, block.start, block.end)
    has_content = (
        following.kind in ("item", "row")
        or len(_HEADING_WORD.findall(text, *following[:2])) > _LONGEST_HEADING
    )
    return (
        has_content
        and len(words) <= _LONGEST_HEADING
        and text[block.start : block.end].rstrip()[-1:].isalnum()
        and not any(is_verb(word) or word.isdecimal() for word in words)
    )


def _row(text: str, block: TextBlock) -> str:
    """Format a table row with the names of its columns: `Paris; Country: France; Inhabitants: 2.1
    million`."""
    cells = _cells(text[block.start : block.end])
    if block.header is None:
        return "; ".join(cell for cell in cells if cell)
    names = _cells(text[block.header.start : block.header.end])
    named = [
        f"{name}: {cell}" if name else cell
        for name, cell in zip(names[1:], cells[1:], strict=False)
        if masked(cell).strip(" ,;")  # a column of citations is no part of the claim
    ]
    return "; ".join([*cells[:1], *named])


def _cells(row: str) -> list[str]:
    return [
        cell.strip()
        for cell in (row.strip("|").split("|") if "|" in row else re.split(r" {3,}|\t+", row))
    ]


_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_NOISE = (
    re.compile(r"\s?\((?:sources?|see|refs?)\b[^()]{0,200}\)", re.IGNORECASE),
    re.compile(r"\s?\(\s*\)"),  # brackets around a removed citation
    # emphasis, and not the power 10**6, which would be the number 106
    re.compile(
        r"\*\*(?<!\d\*\*)|\*\*(?![+−–-]?\d)|__|`"
        r"|(?<!\w)(?<!\d\*)[*_](?=\w)|(?<=[\w.,!;])(?!\*\*[+−–-]?\d)[*_](?!\w)"
    ),
)

_CODE_OR_TAG = re.compile(
    r"(?P<code>`[^`\n]+`)|(?P<power>(?<=\d)<sup\b[^<>]{0,200}>(?=\s*[+−–-]?\d))"
    r"|</?[a-zA-Z][^<>]{0,200}>",
    re.IGNORECASE,
)
"""A tag, unless a reader sees it between backticks; the beginning of a power of a number apart."""
_LINK = re.compile(
    r"(?P<code>`[^`\n]+`)"
    r"|!?\[(?P<words>[^\[\]\n]{1,200})\]\(\s?(?:https?:|www\.|mailto:|[/#])[^()\s]{0,500}"
    r"(?:\([^()\s]{0,100}\)[^()\s]{0,500}){0,3}(?:\s\"[^\"\n]{0,100}\")?\s?\)"
)
"""A link or picture of Markdown, of which a reader sees the words or what it shows."""
_LEFT_BEFORE_STOP = re.compile(r" (?=[.,](?: |\Z))")
"""The space before a mark or a tag that is gone."""


def _plain(text: str) -> str:
    """Return the text without citations, source notes, emphasis and line breaks."""
    # Without its tag, a power would be another number: 106 for ten to the sixth.
    plain = _CODE_OR_TAG.sub(lambda one: one["code"] or "^" * bool(one["power"]), without(text))
    if "](" in plain:
        plain = _LINK.sub(lambda one: one["code"] or one["words"], plain)
    if "&" in plain:
        plain = without(unescape(plain))
    for noise in _NOISE:
        plain = noise.sub("", plain)
    spaced = " ".join(plain.split())
    if plain != text:
        spaced = _LEFT_BEFORE_STOP.sub("", spaced)
    claim = spaced.strip(" ,;")
    return claim[:1].upper() + claim[1:]
