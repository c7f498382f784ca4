"""Where a sentence can be cut into clauses that stand alone, without a parser. English."""

from __future__ import annotations

import re
from typing import NamedTuple

from claimeval.lexical.sentences import Span


class Clause(NamedTuple):
    """A part of a sentence that says something by itself."""

    subject: str
    """The subject that it shares with the clause before it; empty if it has its own."""
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
_LONGEST = 1000
"""Characters: a longer sentence is left whole."""


def is_verb(word: str) -> bool:
    """Whether a word can be a finite verb; most regular present forms are not recognised."""
    low = word.lower().replace("’", "'")
    return _is_finite(low) or low in _PAST_OR_PARTICIPLE or (len(low) > 4 and low.endswith("ed"))


def _is_finite(word: str) -> bool:
    return word in _AUXILIARIES or word in _PAST or word in _PRESENT


def clauses(text: str, sentence: Span) -> list[Clause]:
    """The clauses of a sentence, or the sentence itself where a cut could change what is said.

    A clause is cut off if it has a subject and a finite verb, or a finite verb to which the first subject belongs.
    """
    found = [Clause("", sentence)]
    if sentence.end - sentence.start > _LONGEST or _REACHING.search(text, *sentence):
        return found
    for joint in _JOINT.finditer(text, *sentence):
        last = found[-1]
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
        found[-1] = last._replace(span=Span(last.span.start, joint.start()))
        found.append(Clause(subject, Span(joint.end(), sentence.end)))
    return found


def _has_subject(before: str, clause: str, *, separated: bool) -> bool:
    """Whether a clause starts with its own subject and finite verb; `separated` by a comma from what is before.

    A noun is taken for a subject only if it cannot be the last member of a list before it.
    """
    words = [word.lower() for word in _WORD.findall(clause[:_NEAR].split(",")[0])]
    if len(words) > 2 and words[0] in _PRONOUNS and (is_verb(words[1]) or words[1].endswith("s")):
        return True
    verb = next((place for place, word in enumerate(words[: _LONGEST_SUBJECT + 1]) if _is_finite(word)), 0)
    return (
        separated
        and 0 < verb < len(words) - (words[verb] in _AUXILIARIES)
        and (words[0] in _DETERMINERS or words[0].endswith("s") or clause[0].isupper())
        and _SUBORDINATORS.isdisjoint(words[:verb])
        and len(_WORD.findall(before.rpartition(",")[2])) > _LONGEST_LIST_MEMBER
    )


def _shared_subject(before: str, after: str) -> str:
    """The subject of `before` if `after` is another predicate of it, else an empty string.

    An adverbial before the subject ("In 1931, he ...") is left out of the second clause.
    """
    left = list(_WORD.finditer(before))
    verb = next((place for place, word in enumerate(left) if is_verb(word[0])), 0)
    opener, comma, subject = before[: left[verb].start()].strip().rpartition(", ") if verb else ("", "", "")
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
