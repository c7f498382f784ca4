"""Text of a judge -> checked reply, by reply format. What does not fit is refused, never repaired or guessed.

* `json`: the whole message is one JSON object (white space, a byte order mark and one enclosing code fence apart).
* `bullets`: every line begins with a bullet; the single line NONE means no claims.
* `tags`: every claim on a line of its own, ended by SUPPORTED=1 or SUPPORTED=0.

A list of verdicts is read claim by claim: a claim with a missing, doubled or unknown label has no verdict and is
asked about again, and the others stand. A reply that cannot be trusted as a whole raises `Unparsable`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rapidfuzz import fuzz

from claimeval.errors import ClaimevalError
from claimeval.lexical.citations import without
from claimeval.records import Label
from claimeval.scales import ABSTAIN, Scale


class Unparsable(ClaimevalError):
    """The reply is not in the agreed format; the message says how."""


class ExtractedClaim(NamedTuple):
    text: str
    sentences: tuple[int, ...]
    quote: str | None


class ReadVerdict(NamedTuple):
    label: Label | None
    """None: the judge abstained."""
    reason: str | None
    evidence: tuple[str, ...]
    probability: float | None
    grade: int | None = None
    """On a scale of grades."""


class ReadGrade(NamedTuple):
    grade: int
    reason: str | None


class WrittenQuery(NamedTuple):
    question: str
    answer: str
    passage: str


SCREENED = ("answerable", "self_contained", "realistic")
"""What a judge says of a question that was written for a document."""


class Screening(NamedTuple):
    failed: tuple[str, ...]
    """Those of `SCREENED` that the question is not."""
    reason: str | None


class Rating(NamedTuple):
    word: str
    """One of those that were offered."""
    flags: tuple[str, ...]
    """Those that the judge raised."""
    reason: str | None


MAX_CLAIM_LENGTH = 2000
MAX_CLAIMS = 500

_FENCE = re.compile(r"```(?:json|JSON)?[ \t]*\n(.*)\n```", re.DOTALL)
_THINKING = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_BULLET = re.compile(r"\s*(?:[-*•‣–]|\(?\d{1,3}[.)])\s+")
_TAG = "SUPPORTED="
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NEGATION = re.compile(r"\b(?:not|no|never|none|nor|neither|without|cannot|\w+n['’]t)\b", re.IGNORECASE)


def without_thinking(text: str) -> str:
    """The text after a leading `<think>` block, for models that are declared to write one."""
    return _THINKING.sub("", text, count=1) if text.lstrip().startswith("<think>") else text


def json_object(text: str) -> dict[str, object]:
    """The one JSON object that the text is; duplicate keys, NaN and text around it are refused."""
    body = text.strip().removeprefix("\ufeff").strip()
    if fence := _FENCE.fullmatch(body):
        body = fence.group(1)
    try:
        value = _DECODER.decode(body)
    except RecursionError as error:
        raise Unparsable("the JSON is nested too deeply") from error
    except ValueError as error:
        raise Unparsable(f"not one JSON value: {error}") from error
    if not isinstance(value, dict):
        raise Unparsable(f"a JSON object was asked for, not {type(value).__name__}")
    return value


def _no_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has the same key twice")
    return found


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_no_duplicates, parse_constant=_no_constant)


def _entries(text: str, field: str) -> list[dict[str, object]]:
    entries = json_object(text).get(field)
    if not isinstance(entries, list):
        raise Unparsable(f"no list {field!r}")
    if not all(isinstance(entry, dict) for entry in entries):
        raise Unparsable(f"an entry of {field!r} is not an object")
    return entries


def claims_json(text: str) -> tuple[ExtractedClaim, ...]:
    """`{"claims": [{"claim", "sentences", "quote"}]}`; an empty list is a valid reply."""
    found = []
    for entry in _entries(text, "claims"):
        claim, sentences, quote = entry.get("claim"), entry.get("sentences", []), entry.get("quote")
        if not isinstance(sentences, list) or not all(type(s) is int for s in sentences):
            raise Unparsable("'sentences' of a claim is not a list of whole numbers")
        if quote is not None and not isinstance(quote, str):
            raise Unparsable("'quote' of a claim is not a text")
        if not isinstance(claim, str):
            raise Unparsable("'claim' is not a text")
        found.append(ExtractedClaim(_fold(claim), tuple(sentences), quote))
    return _plausible(found)


def claims_bullets(text: str) -> tuple[ExtractedClaim, ...]:
    """One claim a line, each with a bullet; the single line NONE is a valid reply."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    if [line.strip(" .-*") for line in lines] == ["NONE"]:
        return ()
    if not lines:
        raise Unparsable("the reply is empty")
    for line in lines:
        if not _BULLET.match(line):
            raise Unparsable(f"a line without a bullet: {line.strip()[:80]!r}")
    return _plausible([ExtractedClaim(_fold(_BULLET.sub("", line, count=1)), (), None) for line in lines])


def _plausible(claims: list[ExtractedClaim]) -> tuple[ExtractedClaim, ...]:
    if len(claims) > MAX_CLAIMS:
        raise Unparsable(f"{len(claims)} claims; at most {MAX_CLAIMS} are plausible")
    for claim in claims:
        if not any(c.isalnum() for c in claim.text):
            raise Unparsable(f"a claim without a word: {claim.text[:80]!r}")
        if len(claim.text) > MAX_CLAIM_LENGTH:
            raise Unparsable(f"a claim of {len(claim.text)} characters; at most {MAX_CLAIM_LENGTH} are plausible")
    return tuple(claims)


def _fold(text: str) -> str:
    return " ".join(text.split())


def verdicts_json(text: str, ids: Sequence[str], scale: Scale) -> dict[str, ReadVerdict]:
    """`{"verdicts": [{"id", "label", "reason", "evidence"}]}`, by id, for the ids that got exactly one valid label.

    An id that was not sent shows that the list is not about these claims and refuses the whole reply.
    """
    found: dict[str, ReadVerdict] = {}
    seen: set[str] = set()
    doubled: set[str] = set()
    for entry in _entries(text, "verdicts"):
        claim_id = entry.get("id")
        if not isinstance(claim_id, str) or claim_id not in ids:
            raise Unparsable(f"a verdict for the id {str(claim_id)[:40]!r}, which was not asked about")
        if claim_id in seen:
            doubled.add(claim_id)
        seen.add(claim_id)
        if verdict := _verdict(entry, scale):
            found[claim_id] = verdict
    return {claim_id: verdict for claim_id, verdict in found.items() if claim_id not in doubled}


def _verdict(entry: Mapping[str, object], scale: Scale) -> ReadVerdict | None:
    word, reason, evidence = entry.get("label"), entry.get("reason"), entry.get("evidence", [])
    if not isinstance(word, str):
        return None
    label = scale.label(word)
    if label is None and word != ABSTAIN:
        return None
    probability = entry.get("probability")
    return ReadVerdict(
        label=label,
        reason=reason if isinstance(reason, str) else None,
        evidence=tuple([e for e in evidence if isinstance(e, str)]) if isinstance(evidence, list) else (),
        probability=probability if isinstance(probability, float) and 0 <= probability <= 1 else None,
        grade=scale.grade(word),
    )


def grades_json(text: str, ids: Sequence[str], steps: Sequence[int]) -> dict[str, ReadGrade]:
    """`{"grades": [{"id", "grade", "reason"}]}`, by id, for the ids that got exactly one grade of the scale.

    A grade that is no step of the scale, or no whole number, is none. An id that was not sent refuses the whole reply.
    """
    found: dict[str, ReadGrade] = {}
    seen: set[str] = set()
    doubled: set[str] = set()
    for entry in _entries(text, "grades"):
        name, grade, reason = entry.get("id"), entry.get("grade"), entry.get("reason")
        if not isinstance(name, str) or name not in ids:
            raise Unparsable(f"a grade for the id {str(name)[:40]!r}, which was not asked about")
        if name in seen:
            doubled.add(name)
        seen.add(name)
        if type(grade) is int and grade in steps:
            found[name] = ReadGrade(grade, reason if isinstance(reason, str) else None)
    return {name: said for name, said in found.items() if name not in doubled}


def queries_json(text: str) -> tuple[WrittenQuery, ...]:
    """`{"questions": [{"question", "answer", "passage"}]}`; an empty list is a valid reply."""
    found = []
    for entry in _entries(text, "questions"):
        texts = [entry.get(field) for field in WrittenQuery._fields]
        if not all(isinstance(value, str) and value.strip() for value in texts):
            raise Unparsable("a question without its text, answer or passage")
        found.append(WrittenQuery(*(str(value).strip() for value in texts)))
    return tuple(found)


def screening_json(text: str) -> Screening:
    """`{"reason", "answerable", "self_contained", "realistic"}`, each of the three true or false."""
    said = json_object(text)
    if missing := [name for name in SCREENED if not isinstance(said.get(name), bool)]:
        raise Unparsable(f"{missing[0]!r} is neither true nor false")
    reason = said.get("reason")
    return Screening(tuple(name for name in SCREENED if not said[name]), reason if isinstance(reason, str) else None)


def rating_json(text: str, field: str, words: Sequence[str], flags: Sequence[str] = ()) -> Rating:
    """`{"reason", FIELD, FLAG...}`: the field is one of the words exactly, every flag true or false."""
    said = json_object(text)
    word, reason = said.get(field), said.get("reason")
    if not isinstance(word, str) or word not in words:
        raise Unparsable(f"{field!r} is {str(word)[:40]!r}, not one of {', '.join(words)}")
    if missing := [flag for flag in flags if not isinstance(said.get(flag), bool)]:
        raise Unparsable(f"{missing[0]!r} is neither true nor false")
    raised = tuple(flag for flag in flags if said[flag])
    return Rating(word, raised, reason if isinstance(reason, str) else None)


FUZZY_MATCH = 90.0
"""The least `rapidfuzz.fuzz.ratio` by which a line is taken for a claim that it does not repeat exactly."""


def verdicts_tags(text: str, claims: Mapping[str, str], scale: Scale) -> dict[str, ReadVerdict]:
    """Lines ended by SUPPORTED=1 or SUPPORTED=0, matched to the claims that were sent, by id.

    A line belongs to the claim it repeats (bullets and white space apart); a line that repeats none belongs to the
    one remaining claim that it nearly repeats, with the same numbers and negations, citations aside. Only the mark at
    the end of the line counts. A claim with no line or several has no verdict.
    """
    by_text = {_fold(claim): claim_id for claim_id, claim in claims.items()}
    marks: dict[str, list[str]] = {}
    unmatched: list[tuple[str, str]] = []
    for line in text.splitlines():
        said, tag, mark = line.rstrip().rpartition(_TAG)
        if not tag or mark not in (*scale.words, ABSTAIN) or said[-1:].isalnum():
            continue
        claim_id = by_text.get(_fold(said)) or by_text.get(_fold(_BULLET.sub("", said, count=1)))
        if claim_id:
            marks.setdefault(claim_id, []).append(mark)
        else:
            unmatched.append((_fold(_BULLET.sub("", said, count=1)), mark))
    open_claims = {claim: claim_id for claim, claim_id in by_text.items() if claim_id not in marks}
    for said, mark in unmatched:
        if near := _one_near(said, open_claims):
            marks.setdefault(near, []).append(mark)
    return {
        claim_id: ReadVerdict(scale.label(mark[0]), None, (), None, scale.grade(mark[0]))
        for claim_id, mark in marks.items()
        if len(mark) == 1
    }


def _one_near(said: str, claims: Mapping[str, str]) -> str | None:
    said = without(said)
    near = [
        claim_id
        for claim, claim_id in ((without(claim), claim_id) for claim, claim_id in claims.items())
        if _TAG not in claim.upper()
        and fuzz.ratio(said, claim, score_cutoff=FUZZY_MATCH)
        and _NUMBER.findall(said) == _NUMBER.findall(claim)
        and len(_NEGATION.findall(said)) == len(_NEGATION.findall(claim))
    ]
    return near[0] if len(near) == 1 else None
