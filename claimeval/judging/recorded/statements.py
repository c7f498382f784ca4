"""Sentences that say of the judged text that it is, or is not, correct.

Only plain statements about the whole of it count: not what is hypothetical ("if the candidate is correct"), said of a
part ("the rest of the summary is consistent") or only reported ("the claim that the summary is consistent").
"""

from __future__ import annotations

import re

from claimeval.judging.recorded.vocabulary import Meaning, Sign, Vocabulary

_GOOD = "correct|consistent|accurate|right|true|supported|entailed|faithful|attributable"
_BAD = "incorrect|inconsistent|inaccurate|wrong|false|unsupported|unfaithful"
_PARTLY = ("partially", "partly", "mostly", "almost", "nearly", "largely", "somewhat", "only")
_WHOLLY = ("fully", "entirely", "completely", "totally", "wholly")
_OTHER = ("also", "therefore", "thus", "indeed", "actually", "clearly", "factually", "still", "not", "n't")
_ADVERBS = "|".join((*_PARTLY, *_WHOLLY, *_OTHER))
_JUDGED = r"(?:candidate(?:'s answer)?|answer|summary|claim|statement|response|prediction|sentence|hypothesis)"

_IS = re.compile(
    rf"\b{_JUDGED}(?:\s+\d+)?(?:\s+(?:provided|given|statement|above|answer))?\s+(?:is|was)(?P<contracted>n't)?\s+"
    rf"(?:unclear\s+and\s+)?(?P<adverbs>(?:(?:{_ADVERBS})\s+)*)(?P<adjective>{_GOOD}|{_BAD})\b"
    r"(?P<restricted>\s+(?:in|about|except|apart|but|regarding|on|if|when|only|as)\b|,\s*(?:but|except|however)\b)?",
    re.IGNORECASE,
)
_GIVES = re.compile(
    rf"\b{_JUDGED}\s+(?P<not>(?:(?:does|did)\s+not|doesn't|didn't|fails?\s+to|failed\s+to)\s+)?"
    r"(?:(?:provide|give)[sd]?\s+(?:a|the)\s+(?:correct|right)\s+answer|answers?\s+the\s+question\s+correctly)\b"
    rf"|\b{_JUDGED}\s+(?:provide|give|name)s\s+an?\s+\w+,\s+(?P<other>not)\s+an?\s+\w+",
    re.IGNORECASE,
)
_CANNOT_TELL = re.compile(
    r"\b(?:cannot|can't|can\s+not|unable\s+to|impossible\s+to|not\s+possible\s+to)\s+(?:be\s+)?"
    r"(?:determined?|tell|judged?|say|verify|verified)\b",
    re.IGNORECASE,
)
_NOT_PLAIN = re.compile(
    r"\b(?:if|whether|unless|would|could|should|might|cannot|can't|not|never|hardly|that)\b|n't\b|"
    r"\b(?:rest|parts?|portion|half|remainder)\s+of\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.!?\n;:]|,\s")
_BEFORE = 200
"""Characters before a statement in which the beginning of its clause is looked for."""


def statements(text: str, words: Vocabulary, option: str) -> list[Sign]:
    """`The summary is not factually consistent`, `The candidate does not provide a correct answer`."""
    signs = []
    for match in _IS.finditer(text):
        meaning = _judgement(match)
        if meaning and _plain(text, match.start()):
            signs.append(Sign(meaning, match.start()))
    for match in _GIVES.finditer(text):
        if _plain(text, match.start()):
            signs.append(Sign("not_found" if match["not"] or match["other"] else "supported", match.start()))
    return signs + [Sign("unsure", match.start()) for match in _CANNOT_TELL.finditer(text)]


def _plain(text: str, start: int) -> bool:
    """Whether nothing before the statement in its clause makes it less than one."""
    clause = _CLAUSE.split(text[max(0, start - _BEFORE) : start])[-1]
    return not _NOT_PLAIN.search(clause)


def _judgement(match: re.Match[str]) -> Meaning | None:
    """Partly correct is not supported, nor is what is not wholly correct; not incorrect says nothing."""
    said = set(match["adverbs"].casefold().split())
    negated = bool(match["contracted"]) or "not" in said or "n't" in said
    if said & set(_PARTLY) or (negated and said & set(_WHOLLY)):
        return "not_found"
    if re.fullmatch(_BAD, match["adjective"], re.IGNORECASE):
        return None if negated else "not_found"
    if negated:
        return "not_found"
    return None if match["restricted"] else "supported"
