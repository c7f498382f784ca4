"""Coarse claims of a text, by rule: a sentence, or its clauses if they can safely stand alone. English.

Rules cannot take a text apart into single facts. This splitter makes only cuts that rarely change the meaning: most
sentences are one claim, and no claim is without a verb unless its sentence is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from claimeval.lexical.citations import masked, without
from claimeval.lexical.sentences import Span, TextBlock, block_sentences, blocks, sentences

_LONGEST_BOILERPLATE = 600
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
    """Return whether a clause refuses, greets, thanks, offers help, names sources, asks, or leads in to what follows.

    What comes after ", but" can still assert something: "I don't know the day, but it was in 1848."
    """
    bare = clause.rstrip("\"'”’)*_ ")
    if bare.endswith(("?", ":", "？", "：")):
        return True
    if len(clause) > _LONGEST_BOILERPLATE or not _EMPTY.match(" ".join(clause.replace("’", "'").split())):
        return False
    _, but, rest = clause.partition(", but ")
    return not but or is_boilerplate(rest)


class Clause(NamedTuple):
    """A part of a sentence that asserts something by itself."""

    subject: str
    """The subject that it shares with the clause before it; empty if it has one."""
    span: Span


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_AUXILIARIES = _words(
    "is are was were has had have will would can could may might must should does do did isn't aren't wasn't weren't"
    " hasn't hadn't haven't won't wouldn't can't cannot couldn't doesn't don't didn't"
)
_PAST = _words(
    "became began came fell grew rose drew drove flew gave knew sang took threw wore wrote chose broke went saw spoke"
)
"""Past forms that are not participles: nothing but a finite verb."""
_PAST_OR_PARTICIPLE = _words(
    "won made lost built bought brought held led left met moved found got kept paid put read said sold sent set spent"
    " stood taught told thought felt ran shot hit cut"
)
_PRESENT = _words(
    "includes provides offers operates owns contains remains becomes consists comprises allows requires helps features"
)
_PRONOUNS = _words("he she it they we this these there")
_SUBORDINATORS = _words("who which that whose whom where when because until while after before how why what")
_OPENERS = _words(
    "in on at by for from with during after before since while when although though despite according as under to if"
    " because among upon within following"
)
_REACHING = re.compile(
    r"[\"“”«»]|\b(?:if|unless|whether|either|neither|both|between|said|says|say|claim(?:s|ed)?|stat(?:es|ed)|argu(?:es|ed)"
    r"|report(?:s|ed)|believ(?:es?|ed)|suggest(?:s|ed)?|announced?|estimat(?:es|ed)|according|alleg(?:es|ed)|would|might)\b",
    re.IGNORECASE,
)
_JOINT = re.compile(r"(?P<comma>[,;]?)\s+(?:(?P<and>and|but)|while|whereas|although|though|yet)\s+|(?P<semicolon>;)\s+")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_LIKE_BORN = _words("raised educated brought schooled baptized baptised christened buried")
"""Participles that "was born and" goes on to; other forms in -ed are a simple past there."""
_ADVERBS = _words("also later then soon often again still now")
_AFTER_VERB = _words(
    "the a an in on at as to for from with by his her its their into over under about against through until up out off"
    " back down two three four five six seven eight nine ten many several more some all no one"
)
"""Words that follow a verb and not an adjective, to tell "and moved to Rome" from "and related services"."""
_DETERMINERS = _words(
    "the a an this these his her its their our some many most more all several no each every one two another both"
)
_LONGEST_SUBJECT = 6
_LONGEST_LIST_MEMBER = 3
"""Words."""
_NEAR = 120
"""Characters in which a subject and its verb are looked for."""
_LONGEST_SENTENCE = 1000
"""Characters: a longer sentence is left whole."""


def is_verb(word: str) -> bool:
    """Return whether a word can be a finite verb; most regular present forms are not recognized."""
    low = word.lower().replace("’", "'")
    return _is_finite(low) or low in _PAST_OR_PARTICIPLE or (len(low) > 4 and low.endswith("ed"))


def _is_finite(word: str) -> bool:
    return word in _AUXILIARIES or word in _PAST or word in _PRESENT


def clauses(text: str, sentence: Span) -> list[Clause]:
    """Split a sentence into clauses; the sentence itself if a cut could change its meaning.

    A clause is cut off if it has a subject and a finite verb, or a finite verb to which the first subject belongs.
    """
    parts = [Clause("", sentence)]
    if sentence.end - sentence.start > _LONGEST_SENTENCE or _REACHING.search(text, *sentence):
        return parts
    for joint in _JOINT.finditer(text, *sentence):
        last = parts[-1]
        before = f"{last.subject} {text[last.span.start : joint.start()]}".strip()
        after = text[joint.end() : sentence.end]
        if before.count("(") > before.count(")"):
            continue
        if _has_subject(before, after, separated=bool(joint["comma"] or joint["semicolon"])) and any(
            map(is_verb, _WORD.findall(before))
        ):
            subject = ""
        elif not (joint["and"] and (subject := _shared_subject(before, after))):
            continue
        parts[-1] = last._replace(span=Span(last.span.start, joint.start()))
        parts.append(Clause(subject, Span(joint.end(), sentence.end)))
    return parts


def _has_subject(before: str, clause: str, *, separated: bool) -> bool:
    """Return whether a clause starts with a subject and finite verb; `separated` by a comma from the text before it.

    A noun is taken for a subject only if it cannot be the last member of a list before it.
    """
    words = [word.lower() for word in _WORD.findall(clause[:_NEAR].split(",")[0])]
    if len(words) > 2 and words[0] in _PRONOUNS and (is_verb(words[1]) or words[1].endswith("s")):
        return True
    verb = next((index for index, word in enumerate(words[: _LONGEST_SUBJECT + 1]) if _is_finite(word)), 0)
    return (
        separated
        and 0 < verb < len(words) - (words[verb] in _AUXILIARIES)
        and (words[0] in _DETERMINERS or words[0].endswith("s") or clause[0].isupper())
        and _SUBORDINATORS.isdisjoint(words[:verb])
        and len(_WORD.findall(before.rpartition(",")[2])) > _LONGEST_LIST_MEMBER
    )


def _shared_subject(before: str, after: str) -> str:
    """Return the subject of `before` if `after` is another predicate of it, else an empty string.

    An adverbial before the subject ("In 1931, he ...") is left out of the second clause.
    """
    words_before = list(_WORD.finditer(before))
    verb = next((index for index, word in enumerate(words_before) if is_verb(word[0])), 0)
    opener, comma, subject = before[: words_before[verb].start()].strip().rpartition(", ") if verb else ("", "", "")
    words = [word.lower() for word in _WORD.findall(before[len(opener + comma) :])]
    named = subject[:1].isupper() or (bool(words) and words[0] in _PRONOUNS)
    verb = len(_WORD.findall(subject))
    if (
        not 0 < verb <= _LONGEST_SUBJECT
        or len(words) < verb + 3
        or not named
        or "," in opener
        or words[0] in _OPENERS
        or not _SUBORDINATORS.isdisjoint(words)
    ):
        return ""
    predicate = [word for word in _WORD.findall(after[:_NEAR]) if not (word.endswith("ly") or word in _ADVERBS)]
    if len(predicate) < 2 or not is_verb(predicate[0]):
        return ""
    after_birth = words[verb + 1] == "born" and predicate[0] not in _LIKE_BORN
    simple_past = after_birth or words[verb] not in _AUXILIARIES | _PRESENT
    object_follows = predicate[1].lower() in _AFTER_VERB or not predicate[1][0].islower()
    return subject[:1].upper() + subject[1:] if _is_finite(predicate[0]) or (simple_past and object_follows) else ""


__all__ = ["SentenceClaim", "Span", "sentences", "split_claims"]


class SentenceClaim(NamedTuple):
    """One claim of a text, with its position."""

    text: str
    """The claim as a separate sentence: without citations and emphasis, a shared subject repeated, table cells named
    by their columns."""
    sentence_id: int
    """The index of its sentence in `sentences` of the same text."""
    start: int
    """`source[start:end]` is the verbatim quote that the claim was made from."""
    end: int


def split_claims(text: str) -> list[SentenceClaim]:
    """Split `text` into claims, in order; none if it asserts nothing.

    A sentence is cut at a semicolon or conjunction if both sides have a finite verb and nothing in it (a condition,
    reported speech, a quotation) could reach across the cut. Questions, refusals, greetings, headings, lead-ins that
    end in a colon, lists of sources, bare links and code assert nothing. A table row is one claim.
    """
    claims: list[SentenceClaim] = []
    sentence_id = 0
    text_blocks = blocks(text)
    bare = masked(text)
    for block, following in zip_longest(text_blocks, text_blocks[1:]):
        for sentence in block_sentences(text, block):
            if not _is_heading(bare, block, following):
                claims += [
                    SentenceClaim(plain, sentence_id, *quote)
                    for words, quote in _asserted(text, bare, block, sentence)
                    if _LETTER_OR_DIGIT.search(plain := _plain(words))
                ]
            sentence_id += 1
    return claims


def _asserted(text: str, bare: str, block: TextBlock, sentence: Span) -> Iterator[tuple[str, Span]]:
    """Yield the parts of a sentence that assert something, as words and quote; citations are masked in `bare`."""
    if block.kind == "row":
        yield _row(text, block), sentence
    elif block.kind in ("prose", "item"):
        for subject, quote in clauses(bare, sentence):
            words = text[quote.start : quote.end]
            if not is_boilerplate(without(words)):
                yield f"{subject} {words}".lstrip(), quote


# --- Headings and tables ---

_HEADING_WORD = re.compile(r"[^\W_]+")
_LONGEST_HEADING = 8
"""Words."""


def _is_heading(text: str, block: TextBlock, following: TextBlock | None) -> bool:
    """Return whether a block is a heading: marked as one, or short and unfinished, without a verb or a digit."""
    if block.kind != "prose" or following is None:
        return block.kind == "heading"
    words = _HEADING_WORD.findall(text, block.start, block.end)
    stands_over = (
        following.kind in ("item", "row") or len(_HEADING_WORD.findall(text, *following[:2])) > _LONGEST_HEADING
    )
    return (
        stands_over
        and len(words) <= _LONGEST_HEADING
        and text[block.start : block.end].rstrip()[-1:].isalnum()
        and not any(is_verb(word) or word.isdecimal() for word in words)
    )


def _row(text: str, block: TextBlock) -> str:
    """Format a table row, its cells named by the header: `Paris; Country: France; Inhabitants: 2.1 million`."""
    cells = _cells(text[block.start : block.end])
    if block.header is None:
        return "; ".join(cell for cell in cells if cell)
    names = _cells(text[block.header.start : block.header.end])
    named = [f"{name}: {cell}" if name else cell for name, cell in zip(names[1:], cells[1:], strict=False) if cell]
    return "; ".join([*cells[:1], *named])


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in (row.strip("|").split("|") if "|" in row else re.split(r" {3,}|\t+", row))]


# --- Plain text ---

_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_NOISE = (
    re.compile(r"\s?\((?:sources?|see|refs?)\b[^()]{0,200}\)", re.IGNORECASE),
    re.compile(r"</?[a-zA-Z][^<>]{0,60}>"),
    re.compile(r"\*\*|__|`|(?<!\w)[*_](?=\w)|(?<=[\w.,!;])[*_](?!\w)"),  # emphasis
)


def _plain(text: str) -> str:
    """Return the text without citations, source notes, emphasis and line breaks."""
    text = without(text)
    for noise in _NOISE:
        text = noise.sub("", text)
    text = " ".join(text.split()).strip(" ,;")
    return text[:1].upper() + text[1:]
