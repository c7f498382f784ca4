"""Splits English sentences into clauses that can stand alone.

Lists of words identify finite verbs and subjects. A sentence is not split if it has a condition,
reported speech, a choice, or anything else that applies to both sides of a cut.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from claimeval.lexical.sentences import Span
from claimeval.lexical.words import words_of


class Clause(NamedTuple):
    """A part of a sentence that asserts something by itself."""

    before: str
    """Words of the earlier text that complete it, such as the subject; empty if it is complete."""
    span: Span


_AUXILIARIES = words_of(
    "is are was were has had have will would can could may might must should does do did isn't"
    " aren't wasn't weren't hasn't hadn't haven't won't wouldn't can't cannot couldn't doesn't"
    " don't didn't"
)
_PAST = words_of(
    "became began came fell grew rose drew drove flew gave knew sang took threw wore wrote chose"
    " broke went saw spoke died"
)
"""Past forms that are not participles, and therefore always finite verbs."""
_PAST_OR_PARTICIPLE = words_of(
    "won made lost built bought brought held led left met moved found got kept paid put read said"
    " sold sent set spent stood taught told thought felt ran shot hit cut"
)
_PRESENT = words_of(
    "includes provides offers operates owns contains remains becomes consists comprises allows"
    " requires helps features"
)
_PRONOUNS = words_of("he she it they we this these there")
_SUBORDINATORS = words_of(
    "who which that whose whom where when because until while after before how why what"
)
_OPENERS = words_of(
    "in on at by for from with during after before since while when although though despite"
    " according as under to if because among upon within following"
)
_REACHES_OVER_JOINTS = re.compile(
    r"[\"“”«»]|\b(?:if|unless|whether|either|neither|both|between|said|says|say|claim(?:s|ed)?"
    r"|stat(?:es|ed)|argu(?:es|ed)|report(?:s|ed)|believ(?:es?|ed)|suggest(?:s|ed)?|announced?"
    r"|estimat(?:es|ed)|according|alleg(?:es|ed)|would|might)\b",
    re.IGNORECASE,
)
_JOINT = re.compile(
    r"(?P<comma>[,;]?)\s+(?:(?P<and>and|but)|while|whereas|although|though|yet)\s+"
    r"|(?P<semicolon>;)\s+"
)
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_LIKE_BORN = words_of("raised educated brought schooled baptized baptised christened buried")
"""Participles that can follow "was born and"; other forms in -ed are a simple past there."""
_ADVERBS = words_of("also later then soon often again still now")
_AFTER_VERB = words_of(
    "the a an in on at as to for from with by his her its their into over under about against"
    " through until up out off back down two three four five six seven eight nine ten many several"
    " more some all no one"
)
"""Words that follow a verb and not an adjective, to distinguish "and moved to Rome" from "and
related services"."""
_DETERMINERS = words_of(
    "the a an this these his her its their our some many most more all several no each every one"
    " two another both"
)
_BEFORE_NOUNS = words_of("the a an his her its their our my your no every")
"""Words that no subject ends with. A form in -ed after them is an adjective, as in "an opened
jar"."""
_LONGEST_SUBJECT = 6
_LONGEST_LIST_MEMBER = 3
"""Maximum number of words."""
_NEAR = 120
"""Number of characters that are searched for a subject and its verb."""
LONGEST_SENTENCE = 1000
"""Maximum number of characters of a sentence that is split."""


def is_verb(word: str) -> bool:
    """Return whether a word can be a finite verb; most regular present forms are not recognized."""
    low = word.lower().replace("’", "'")
    return is_finite(low) or low in _PAST_OR_PARTICIPLE or (len(low) > 4 and low.endswith("ed"))


def is_finite(word: str) -> bool:
    """Return whether a lowercase word is always a finite verb."""
    return word in _AUXILIARIES or word in _PAST or word in _PRESENT


def clauses(text: str, sentence: Span) -> list[Clause]:
    """Split a sentence into clauses; the sentence itself if a cut could change its meaning.

    A clause is cut off if it has a subject and a finite verb, or a finite verb to which the first
    subject belongs.
    """
    parts = [Clause("", sentence)]
    if sentence.end - sentence.start > LONGEST_SENTENCE:
        return parts
    joints = list(_JOINT.finditer(text, *sentence))
    # Half of all sentences have no joint, which is found in half the time.
    if not joints or _REACHES_OVER_JOINTS.search(text, *sentence):
        return parts
    for joint in joints:
        last = parts[-1]
        before = f"{last.before} {text[last.span.start : joint.start()]}".strip()
        after = text[joint.end() : sentence.end]
        # In "old (and it is large) and it has a tower" only the second "and" is a joint.
        if before.count("(") > before.count(")"):
            continue
        if _has_subject(
            before, after, separated=bool(joint["comma"] or joint["semicolon"])
        ) and any(map(is_verb, WORD.findall(before))):
            subject = ""
        elif not (joint["and"] and (subject := _shared_subject(before, after))):
            continue
        parts[-1] = last._replace(span=Span(last.span.start, joint.start()))
        parts.append(Clause(subject, Span(joint.end(), sentence.end)))
    return parts


def _has_subject(before: str, clause: str, *, separated: bool) -> bool:
    """Return whether a clause starts with a subject and a finite verb. `separated`: there is a
    comma before it.

    A noun is a subject only if it cannot be the last member of a preceding list.
    """
    words = [word.lower() for word in WORD.findall(clause[:_NEAR].split(",")[0])]
    if len(words) > 2 and words[0] in _PRONOUNS and (is_verb(words[1]) or words[1].endswith("s")):
        return True
    verb = next(
        (index for index, word in enumerate(words[: _LONGEST_SUBJECT + 1]) if is_finite(word)), 0
    )
    return (
        separated
        # An auxiliary that ends the clause has its verb in the clause before: "he sang, and Ana
        # did".
        and 0 < verb < len(words) - (words[verb] in _AUXILIARIES)
        and (words[0] in _DETERMINERS or words[0].endswith("s") or clause[0].isupper())
        and _SUBORDINATORS.isdisjoint(words[:verb])
        and len(WORD.findall(before.rpartition(",")[2])) > _LONGEST_LIST_MEMBER
    )


def _shared_subject(before: str, after: str) -> str:
    """Return the subject of `before` if `after` is another predicate of it, else an empty string.

    An adverbial before the subject ("In 1931, he ...") is left out of the second clause.
    """
    found = _main_clause(before)
    if found is None:
        return ""
    subject, predicate_before = found
    predicate = [
        word
        for word in WORD.findall(after[:_NEAR])
        if not (word.endswith("ly") or word in _ADVERBS)
    ]
    if len(predicate) < 2 or not is_verb(predicate[0]):
        return ""
    # "was born in Rome and moved to Paris" has a second verb; "was born and raised in Rome" has a
    # second participle.
    after_birth = predicate_before[1] == "born" and predicate[0] not in _LIKE_BORN
    simple_past = after_birth or predicate_before[0] not in _AUXILIARIES | _PRESENT
    object_follows = predicate[1].lower() in _AFTER_VERB or not predicate[1][0].islower()
    if is_finite(predicate[0]) or (simple_past and object_follows):
        return subject[:1].upper() + subject[1:]
    return ""


def _main_clause(text: str) -> tuple[str, list[str]] | None:
    """Return the subject of a plain clause, and the words from its verb on in lower case; None if
    the clause is of another form or has fewer than three words after its subject."""
    words = list(WORD.finditer(text))
    verbs = (
        word for i, word in enumerate(words) if is_verb(word[0]) and not _is_before_noun(words[:i])
    )
    verb = next(verbs, None)
    if verb is None:
        return None
    opener, comma, subject = text[: verb.start()].strip().rpartition(", ")
    clause = [word.lower() for word in WORD.findall(text[len(opener + comma) :])]
    length = len(WORD.findall(subject))
    if not 0 < length <= _LONGEST_SUBJECT or len(clause) < length + 3:
        return None
    named = subject[:1].isupper() or clause[0] in _PRONOUNS
    if not named or "," in opener or clause[0] in _OPENERS:
        return None
    return (subject, clause[length:]) if _SUBORDINATORS.isdisjoint(clause) else None


def _is_before_noun(words: Sequence[re.Match[str]]) -> bool:
    """Return whether words end with an article or possessive, ignoring adverbs in -ly after it."""
    last = next((word[0].lower() for word in reversed(words) if not word[0].endswith("ly")), "")
    return last in _BEFORE_NOUNS
