"""Negations in Thai, Chinese and Japanese, which stand within a run of letters without spaces.

Thai and Chinese negate what follows, as in `ไม่ฟรี` and `不免费`, Japanese the verb before, as in
`開かない`. A claim and a sentence disagree if the letters that one of them negates are in the other
one without a negation. Words in which these syllables negate nothing, such as `อย่าง`, `非常` and
`少ない`, are listed, because a text without spaces does not show where a word begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_THAI = re.compile(
    "(?<!หรือ)ไม่(?!ว่า(?!ง)|เพียง(?!พอ)|แต่เพียง|แค่|ใช่เพียง|ใช่แค่|ต้องสงสัย|งั้น|เช่นนั้น)"
    "|มิ(?=ได้|ใช่|อาจ|ให้|ควร)|ห้าม(?!ล้อ)|อย่า(?!ง)"
)
_THAI_BETWEEN = re.compile("ได้|เคย|ต้อง|ควร|ใช่|มี|สามารถ|ให้|อาจ")
"""What can stand between a negation and what it negates: `ไม่ได้เปิด` denies `เปิด`."""
_CHINESE = re.compile(
    # words that negate nothing, or whose opposite is another word
    r"([\u4e00-\u9fff])[不没沒]\1|[有是][没沒否]有?|不(?:[同错錯仅僅但断斷久过過管论論少愧止光单單禁妨丹]"
    r"|得不|得已|由得|列[颠顛]|[锈鏽][钢鋼]|[动動][产產]|一定|一样|一樣)"
    r"|差不多|[对對]不起|了不起|[时時]不[时時]|好不容易|[无無](?:[论論锡錫线線疑非机機数數]|人[机機])"
    r"|未[来來]|[没沒][收落]|[沉淹埋出][没沒]|非[常洲凡得要典]|[除是莫南北东東西中]非"
    r"|(?P<not>[没沒]有|[不没沒未无無非勿])"
)
_CHINESE_BETWEEN = re.compile("[有是能会會曾再可]")
_JAPANESE = re.compile(
    # "must", "only", "no doubt", "perhaps", and words that end alike
    "(?:なけれ|なく|ない|ね)(?:ば|ては|と)?(?:なら|いけ)(?:ない|ません|なかった)|ざるを得(?:ない|ません)"
    "|に(?:違|ちが)い(?:ない|ありません)|間違いな[いくし]|に(?:過|す)ぎ(?:ない|ません)"
    "|しか[^。、]{0,12}?(?:ない|ません|なかった)|だけでは?な[くい]|のみならず"
    "|(?:少|危|切|幼|つまら|何気|さりげ)な(?:い|く|か)|かもしれ(?:ない|ません)"
    "|(?:では|じゃ)ない(?:か|で)|ないし|必ず|はず|ずつ|ずっと|わずか|いずれ|なかなか|なくな[るりっ]"
    "|(?P<not>(?:では|じゃ)?(?:あり|ござい)ません|(?:では|じゃ)な(?:い|く|か)|ません|な(?:い|く|かった)"
    "|[わかさたなまらばがせれ]ず(?:に|、|。|$))"
)
_KANA = re.compile(r"[\u3041-\u309f]")
_THAI_LETTER = re.compile(r"[\u0e01-\u0e4e]")
_STEM = re.compile(r"[^\u3041-\u309f][\u3041-\u309f]{0,3}\Z")
"""The end of a Japanese verb before a negation: `開か` of `開かない`."""
_THAI_LETTERS = 4
_HAN_LETTERS = 2
"""Minimum number of letters that both texts have where one of them is negated."""
_LONGEST = 40
"""Number of letters that are compared before and after a negation."""
_MOST = 10
_ALIKE = 3
"""Number of negations of a text, and of equal places for one, that are looked at: a text of 150
negations took a minute."""
_ENDS_PART = " 。，、！？,.!?;；:："


class _Undenied(NamedTuple):
    """A text without the negations of what follows them."""

    letters: str
    total: int
    """Number of negations."""
    denied: dict[int, str]
    """The negation at each place at which denied letters begin or, in Japanese, end."""


def one_sided(claim: str, sentence: str) -> tuple[str, ...]:
    """Return the negation that only one of two texts has of the same letters; empty if there is
    none.

    >>> one_sided("เด็กเข้าไม่ฟรี", "เด็กเข้าฟรี"), one_sided("两者不同", "两者相同")
    (('ไม่',), ())
    """
    claimed = _read(claim)
    stated = _read(sentence)
    is_backward = _KANA.search(claim) is not None
    least = _THAI_LETTERS if _THAI_LETTER.search(claim) else _HAN_LETTERS
    places = {*list(claimed.denied)[:_MOST]}
    for place in list(stated.denied)[:_MOST]:
        places.update(_closest(stated.letters, place, claimed.letters, least, is_backward))
    for place in sorted(places):
        denial = claimed.denied.get(place, "")
        found: list[str] = []
        for other in _closest(claimed.letters, place, stated.letters, least, is_backward):
            # "Not on Saturday, but it opens on Monday" denies nothing of "it opens on Monday".
            if place in _closest(stated.letters, other, claimed.letters, least, is_backward):
                found.append(stated.denied.get(other, ""))
        if found and not any(bool(one) == bool(denial) for one in found):
            return (denial or found[0],)
    return ()


def negations(text: str) -> int:
    """Return the number of negations in a text without spaces."""
    return _read(text).total


@lru_cache(maxsize=256)
def _read(text: str) -> _Undenied:
    if _KANA.search(text):
        found = dict(_japanese(text))
        return _Undenied(text, len(found), found)
    is_thai = _THAI_LETTER.search(text) is not None
    pattern = _THAI if is_thai else _CHINESE
    between = _THAI_BETWEEN if is_thai else _CHINESE_BETWEEN
    letters = ""
    count = 0
    denied: dict[int, str] = {}
    at = 0
    for match in pattern.finditer(text):
        negation = match[0] if is_thai else match["not"]
        if not negation:
            continue
        count += 1
        letters += text[at : match.start()]
        denied[len(letters)] = negation
        at = match.end()
        if following := between.match(text, at):
            denied[len(letters) + len(following[0])] = negation
        if len(negation) == 2 and not is_thai:
            # `没有票` denies `有票`, and `没有开放` denies `开放`.
            denied[len(letters) + 1] = negation
            at -= 1
    return _Undenied(letters + text[at:], count, denied)


def _japanese(text: str) -> Iterator[tuple[int, str]]:
    """Yield where the letters before a negation end, without the ending of a verb."""
    for match in _JAPANESE.finditer(text):
        if not match["not"]:
            continue
        stem = _STEM.search(text, max(0, match.start() - 4), match.start())
        yield (stem.start() + 1 if stem else match.start()), match["not"]


def _places(letters: str, place: int, others: str, least: int, is_backward: bool) -> Iterator[int]:
    """Yield where the letters at a place are in another text."""
    for other in range(len(others) + 1):
        if _fits(letters, place, others, other, least, is_backward):
            yield other


def _closest(letters: str, place: int, others: str, least: int, is_backward: bool) -> list[int]:
    """Return where the letters at a place are in another text with most of the letters around
    them."""
    found: dict[int, list[int]] = {}
    for other in _places(letters, place, others, least, is_backward):
        length = _after(letters, place, others, other) + _before(letters, place, others, other)
        found.setdefault(length, []).append(other)
    return found[max(found)][:_ALIKE] if found else []


def _fits(letters: str, place: int, others: str, other: int, least: int, is_backward: bool) -> bool:
    """Return whether two places have the same letters where a negation would deny them."""
    if is_backward:
        if letters[place - 1 : place] != others[other - 1 : other]:
            return False
        return _before(letters, place, others, other) >= least
    if letters[place : place + 1] != others[other : other + 1]:
        return False
    after = _after(letters, place, others, other)
    if after >= least:
        return True
    end = place + after
    is_part = end == len(letters) or letters[end] in _ENDS_PART
    return is_part and after + _before(letters, place, others, other) >= least + 2


def _after(letters: str, place: int, others: str, other: int) -> int:
    """Return how many letters from two places on are the same, up to the end of a part."""
    count = 0
    pairs = zip(letters[place : place + _LONGEST], others[other : other + _LONGEST], strict=False)
    for one, two in pairs:
        if one != two or one in _ENDS_PART:
            break
        count += 1
    return count


def _before(letters: str, place: int, others: str, other: int) -> int:
    """Return how many letters before two places are the same."""
    one = letters[max(0, place - _LONGEST) : place]
    two = others[max(0, other - _LONGEST) : other]
    return _after(one[::-1], 0, two[::-1], 0)
