"""Splits a text in any script into blocks and sentences by rules, in linear time.

Abbreviations are known in English, German, French, Spanish, Portuguese, Italian, Dutch, Russian,
Greek and Hindi. In scripts without signs for the end of a sentence, such as Thai, only ?, ! and
line breaks end one.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from claimeval.lexical.citations import (
    LINK,
    LINK_IN_BRACKETS,
    LINK_TO_PLACE,
    OPENING_MARK,
    OPENS_MARK,
    TRAILING_MARK,
)
from claimeval.lexical.languages import language_of
from claimeval.lexical.words import beyond_ascii, words_of

Kind = Literal["prose", "item", "heading", "row", "code"]


class Span(NamedTuple):
    """A stretch of a text: `text[start:end]`."""

    start: int
    end: int


class TextBlock(NamedTuple):
    """A paragraph, or one list item, heading, table row or line of code."""

    start: int
    end: int
    kind: Kind
    header: Span | None = None
    """For a table row, the row with the names of the columns."""


def sentences(text: str) -> list[Span]:
    """Split `text` into sentences, without the white space, list markers and heading marks around
    them.

    Headings, list items and table rows are separate sentences. A line break inside a paragraph ends
    a sentence only if the line is short and the next line does not start in lower case. Text
    without letters or digits has no sentences.
    """
    text = untagged(text)
    spans: list[Span] = []
    for block in blocks(text):
        spans += block_sentences(text, block)
    return spans


_TAG = re.compile(
    r"<(?P<close>/?)(?:(?P<block>address|article|aside|blockquote|br|caption|center|dd|details|div"
    r"|dl|dt|figcaption|figure|footer|form|h[1-6]|header|hr|li|main|nav|ol|p|pre|section|summary"
    r"|table|tbody|td|tfoot|th|thead|title|tr|ul)"
    r"|a|abbr|b|big|code|del|em|font|i|img|ins|kbd|mark|q|s|small|span|strong|sub|sup|u|var)"
    r"(?:\s[^<>]{0,200})?/?>",
    re.IGNORECASE,
)
# No part reaches over the beginning of another one: 25,000 times `<!--` took four seconds.
_HIDDEN = re.compile(
    r"(?<!`)(?:<!--(?:(?!<!--).){0,10000}?-->"
    r"|<(?P<element>script|style)\b[^<>]{0,200}>"
    r"(?:(?!<(?:script|style)\b).){0,10000}?</(?P=element)\s?>)(?!`)",
    re.IGNORECASE | re.DOTALL,
)
"""What a browser does not show; tags between backticks are shown."""
_FILLER = "\f"
"""White space in place of a tag: unlike spaces and tabs, it makes no row of a table."""
_OPENS = {"li": "\n- ", "tr": "\n|", **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), "\n# ")}
_ROW_OF_TAGS = re.compile(r"\|\f+")
_RULE = "\n-\n"
"""A line below the names of the columns, as Markdown has it."""


def untagged(text: str) -> str:
    """Return a text with line breaks and marks of lists, headings and tables in place of the tags
    of HTML, so that every other character keeps its place.

    A tag within a word, as in H<sub>2</sub>O, parts nothing and stays, as do tags that cite.
    """
    if "<" not in text:
        return text
    text = _HIDDEN.sub(lambda hidden: _FILLER * len(hidden[0]), text)
    if not _TAG.search(text):
        return text
    parts: list[str] = []
    at = 0
    has_names = False
    in_row = False
    for tag in _TAG.finditer(text):
        start, end = tag.span()
        block = (tag["block"] or "").lower()
        between = text[at:start].replace("\n", _FILLER) if in_row else text[at:start]
        parts += [between, _in_place_of(text, tag, block, below_names=has_names)]
        at = end
        if block == "tr":
            in_row = not tag["close"]
        if block in ("th", "tr"):
            has_names = block == "th"
    return "".join([*parts, text[at:]])


def _in_place_of(text: str, tag: re.Match[str], block: str, *, below_names: bool) -> str:
    start, end = tag.span()
    if not block:
        within_word = text[start - 1 : start].isalnum() and text[end : end + 1].isalnum()
        is_raised = text[start:end].lower().lstrip("</").startswith("sup")
        return tag[0] if within_word or is_raised else _FILLER * (end - start)
    shown = "\n"
    if block in ("td", "th"):
        shown = "|" if tag["close"] else ""
    elif tag["close"]:
        shown = _RULE if below_names and block == "tr" else "\n"
    else:
        shown = _OPENS.get(block, "\n")
    return shown.ljust(end - start, _FILLER)


_MARKED = re.compile(r"[^\w\s]|\d{1,3}[.)]|[a-z]\)")
_MARKER = re.compile(
    r"(?:>[ \t]*+)*+(?:(?:[-*+•◦▪‣·–—]|\(?\d{1,3}[.)]|\(?[a-z]\))(?:[ \t\f]++|$))*+"
)
_HEADING = re.compile(r"#{1,6}(?:[ \t\f]++|$)")
_BOLD_LINE = re.compile(r"(?:\*\*|__)[^*_]++(?:\*\*|__):?$")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_SOFT_WRAP = 60
"""Minimum number of characters of a line that is considered wrapped."""


def blocks(text: str) -> list[TextBlock]:
    """Split `text` into blocks, in order. Horizontal rules, empty lines and code fences are left
    out."""
    text_blocks: list[TextBlock] = []
    goes_on = in_code = False
    last = ""
    offset = 0
    for raw in text.split("\n"):
        line = raw.strip()
        start = offset + raw.find(line)
        offset += len(raw) + 1
        if line.startswith("```"):
            in_code = not in_code
            goes_on = False
        elif not _LETTER_OR_DIGIT.search(line):
            if line and text_blocks and text_blocks[-1].kind == "row":
                # `|---|---|` below a row says that the row has the names of the columns.
                text_blocks[-1] = text_blocks[-1]._replace(kind="heading")
            goes_on = False
        else:
            kind, mark = _kind(line, in_code=in_code)
            if goes_on and kind == "prose" and _continues(line, last, text_blocks[-1]):
                text_blocks[-1] = text_blocks[-1]._replace(end=start + len(line))
            else:
                header = _header_above(text, text_blocks) if kind == "row" else None
                shown = line.rstrip("|") if kind == "row" and mark else line  # cells of HTML
                text_blocks.append(TextBlock(start + mark, start + len(shown), kind, header))
            goes_on = kind in ("prose", "item")
        last = line
    # "7." alone is an answer, not a list marker.
    if text_blocks and all(block.start == block.end for block in text_blocks):
        return [TextBlock(*_trimmed(text, 0, len(text)), "prose")]
    return text_blocks


def _kind(line: str, *, in_code: bool) -> tuple[Kind, int]:
    """Return the kind of a line, and the length of its marker."""
    if in_code:
        return "code", 0
    if line[0] == "|" or "   " in line or "\t" in line:
        opening = _ROW_OF_TAGS.match(line)
        return "row", opening.end() if opening else 0
    if not _MARKED.match(line):
        return "prose", 0
    if heading := _HEADING.match(line):
        return "heading", heading.end()
    if _BOLD_LINE.match(line):
        return "heading", 0
    marker = _MARKER.match(line)
    return ("item", marker.end()) if marker and marker.end() else ("prose", 0)


def _continues(line: str, last: str, block: TextBlock) -> bool:
    """Return whether a line of prose continues the paragraph or list item before it."""
    return (
        block.start == block.end
        or _is_small(line[0])
        # A long line that ends with a colon introduces the lines below it, "The symptoms are
        # these:" and "Fever".
        or (len(last) >= _SOFT_WRAP and last[-1] != ":")
    )


def _header_above(text: str, text_blocks: list[TextBlock]) -> Span | None:
    if not text_blocks:
        return None
    above = text_blocks[-1]
    line_start = text.rfind("\n", 0, above.start) + 1
    if text[line_start : above.start + 1].lstrip()[:1] != "|":
        return None
    return Span(above.start, above.end) if above.kind == "heading" else above.header


def _trimmed(text: str, start: int, end: int) -> Span:
    part = text[start:end].lstrip()
    return Span(end - len(part), end - len(part) + len(part.rstrip()))


_OPENING = re.compile(rf"\s*+{OPENING_MARK}?+[\"'“„‘«(\[*_¿¡]*+")
_LAST_WORD = 24
"""Number of characters before a full stop that are searched for an abbreviation."""
_NEXT_WORD = re.compile(r"[^\W\d_]+")
_DOTTED = re.compile(r"(?:[^\W\d_]{1,2}\.-?)*[^\W\d_]$|(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}$")
_STOPS = "。．！？｡؟۔।॥։።፧።။។៕᙮᠃꓿"
"""Signs that always end a sentence, in scripts without full stops or spaces."""
_QUESTIONS = ("?", "？", "؟", "፧", "՞", ";")
_INDIC = re.compile(r"[\u0900-\u0dff]")
_CAPITALS = re.compile(r"[\u0041-\u058f\u1e00-\u1fff]")
"""The scripts that begin sentences with a capital letter: Latin, Greek, Cyrillic and Armenian."""
_GOES_ON = re.compile(r"[とっをがはもにのでへ、，,]|[^，。！？\n]{0,8}[说說道问問喊叫答]")
"""Text after a quotation that continues the sentence, in Japanese and Chinese."""


_OTHER_SIGNS = re.compile(rf"[…\u0370-\u03ff\u0561-\u0587{_STOPS}]")
"""Signs that end a sentence outside ASCII, and letters after which signs of ASCII do."""


@cache
def _trailing_links() -> str:
    """Return the pattern of links that stand alone after the full stop of their sentence, as in
    "It is old. ([example.org](https://...)) It is high."

    A link that the next words may continue, "[The town](https://...) says so.", begins a sentence:
    one with a name as its text stands alone only at the end of a line, and before a word that
    seldom continues a name.
    """
    starters = "|".join(sorted(word.capitalize() for word in _STARTERS))
    begins = rf"\s+(?:{starters})\b"
    return (
        rf"\s?(?:(?i:{LINK_IN_BRACKETS})|(?i:{LINK_TO_PLACE})(?=\s*(?:[\n\[(]|\Z)|\s+[^\W\d_a-z])"
        rf"|(?i:{LINK})(?=\s*(?:\n|\Z)|{begins}))"
    )


@cache
def _end(plain: bool, marked: bool, linked: bool) -> re.Pattern[str]:
    """Return the pattern of the end of a sentence, compiled on first use.

    `plain`: the text has none of `_OTHER_SIGNS`; `marked`: it may have citation marks; `linked`: it
    has links. These make up most of the pattern, and take most of its time.
    """
    links = f"|{_trailing_links()}" if linked else ""
    marks = rf"(?:[ \t]?{TRAILING_MARK}{links})*+" if marked else ""
    sign = "[.!?]" if plain else "[.!?…]"
    closing = rf"(?:[\"'”’»“«)\]*_]|[ \u00a0\u202f]»)*+{marks}(?=\s)"
    # What stands before the sign is looked at after it, since that takes the most time.
    full_stop = rf"{sign}(?:{_plain_end()}|(?<!{sign}{{2}}){sign}*+{closing})"
    if plain:
        return re.compile(full_stop)
    return re.compile(
        rf"{full_stop}|(?<=[\u0370-\u03ff])[;\u037e](?=\s)|(?<=[\u0561-\u0587]):(?=\s)"
        rf"|(?:[{_STOPS}](?<!．(?=\d)))(?:[{_STOPS}!?…](?<!．(?=\d)))*+[」』”’»\")）]*+{marks}"
    )


def is_question(sentence: str) -> bool:
    """Return whether a sentence, without closing quotes or brackets, ends with a question mark of
    any script."""
    return sentence.endswith(_QUESTIONS) and (
        sentence[-1] != ";" or "\u0370" <= sentence[-2:-1] <= "\u03ff"
    )


_NEVER_LAST = words_of(
    "mr mrs ms messrs dr prof rev hon pres gov sen rep gen col maj capt cmdr lt sgt cpl adm fr mt"
    " ft e.g i.e eg ie vs v cf viz dept approx est resp incl excl hr frl dipl ing med phil bzw vgl"
    " abb z.b d.h evtl ggf inkl zzgl rd bspw sog geb hrsg str fa mio mrd mme mlle mgr env ed bd lic"
    " arq sr sra dra srta avda aprox ee profa sig sig.ra dott mevr dhr bijv d.w.z ул рис стр гл пер"
    " им проф акад тыс млн δρ κα κος π.χ डॉ प्रो पं रु सौ ডা ড ts ths"
)
# "He is No. 5." goes on and "No. It is." does not, so these need a digit after them.
_BEFORE_NUMBERS = words_of(
    "no nos vol vols p pp fig figs sec sect ch chap art arts eq eqs par para ca c r ver ed tel"
    " jan feb mar apr jun jul aug sep sept oct nov dec"
    " nr bl blz s pág págs párr núm n º al ene abr ago dic lun mié jue vie sáb абз αρ σελ"
)
_LAST_BEFORE_STARTER = words_of(
    "etc inc corp ltd co llc plc jr sr st ave blvd rd al bros esq ph.d univ assn natl intl usw ecc"
    " enz av"
)
_STARTERS = words_of(
    "the this these those that there he she it they we i you his her its their our my in on at as"
    " an and but for from after before during since while when where although though however"
    " moreover furthermore additionally also thus therefore then if by with to under according some"
    " many most all both each one no not er sie es wir heute dann danach dort dieser diese dieses"
    " il elle ils elles cette ces ella ele ela"
)
"""Words that more often start a sentence than continue a name after "Apple Inc." or "U.S."."""
_STARTERS_AFTER_A_CALL = words_of(
    "what who whom whose why how which have has had do does did is are was were can could will"
    " would shall should may might must let please yes now so here well"
)
"""Words that start a sentence after a name that is called, as in "I like Elvis! Have you"."""
_ABBREVIATIONS = _NEVER_LAST | _BEFORE_NUMBERS | _LAST_BEFORE_STARTER
_BEFORE_ORDINALS = words_of("vom zum beim im den dem der des das zur ab bis seit")
_AFTER_ORDINALS = words_of(
    "januar jänner februar märz april mai juni juli august september oktober november dezember"
    " jahrhundert jh"
)
"""In German, a full stop makes a number an ordinal: "im 19. Jahrhundert", "am 3. Mai"."""


@cache
def _plain_end() -> str:
    """Return the pattern of what stands around most ends: an ordinary word with a full stop, and a
    capital letter. Such an end needs no rule, which takes ten times as long.

    Words that are too short to be sure, and abbreviations in any form, are left to the rules.
    """
    by_length = dict[int, list[str]]()
    for word in sorted(_ABBREVIATIONS):
        if len(word) >= _ORDINARY and word.isascii() and word.isalpha():
            by_length.setdefault(len(word), []).append(word)
    no_abbreviation = "".join(
        rf"(?<!(?<![^\W_])(?i:{'|'.join(words)})\.)" for words in by_length.values()
    )
    return rf"(?P<plain>(?= [A-Z])(?<=[a-z]{{{_ORDINARY}}}\.){no_abbreviation})"


_ORDINARY = 4
"""Minimum number of letters of a word after which a full stop plainly ends a sentence."""


@lru_cache(maxsize=256)
def block_sentences(text: str, block: TextBlock) -> tuple[Span, ...]:
    """Split one block into sentences. Extraction prompts, claims by rule and their measures split
    the same texts."""
    if block.kind not in ("prose", "item"):
        return (Span(block.start, block.end),)
    marked = OPENS_MARK.search(text, block.start, block.end) is not None
    beyond = beyond_ascii(text[block.start : block.end])
    plain = not _OTHER_SIGNS.search(beyond)
    linked = marked and "://" in text[block.start : block.end]
    ends = _end(plain, marked, linked).finditer(text, block.start, block.end)
    cuts = [
        match.end()
        for match in ends
        if match.lastgroup == "plain" or _ends_sentence(text, block.start, match)
    ]
    spans = [
        _trimmed(text, start, end)
        for start, end in zip([block.start, *cuts], [*cuts, block.end], strict=True)
    ]
    return tuple([span for span in spans if _LETTER_OR_DIGIT.search(text, *span)])


def _ends_sentence(text: str, block_start: int, end: re.Match[str]) -> bool:
    """Return whether the terminator at `end` ends a sentence, and not an abbreviation or a
    quotation inside one."""
    start, stop = end.span()
    if text[start] in _STOPS:
        return not _inside_quotation(text, block_start, end)
    after = _OPENING.match(text, stop)
    assert after is not None, "every part of the pattern is optional"
    begins = after.end()
    follows = text[begins : begins + 2]
    # "It fell. pH was 7. mRNA rose." are three sentences: such names keep their small letter.
    in_lower_case = _is_small(follows[:1]) and not follows[1:].isupper()
    before = text[max(block_start, start - _LAST_WORD) : start].split()
    if text[start:stop] == "!" and _is_in_a_name(text, block_start, stop, before):
        return False
    if text[start:stop] != ".":
        return not in_lower_case
    word = _last_word(before)
    ordinary = len(word) > 2 and word.isalpha() and word.lower() not in _ABBREVIATIONS
    if in_lower_case:
        # Some models write no capitals, "it opened in 1902 there. then it closed.", but "approx.
        # five" goes on.
        return ordinary and len(word) > 3 and word.islower()
    if ordinary and word.isascii():
        return True
    return _stops_after_other_word(text, begins, word, before[:-1])


def _is_in_a_name(text: str, block_start: int, stop: int, before: list[str]) -> bool:
    """Return whether an exclamation mark is part of a name, as in "on Impulse! Records": after a
    word with a capital letter that does not start its sentence, and before another such word that
    seldom starts one. Not in German, where every noun has a capital letter.

    Of 28 such places in texts from the Web, 21 were names, among them Shout! Factory and Yahoo!
    News.
    """
    following = _NEXT_WORD.match(text, stop + 1)
    if following is None or len(before) < 2 or before[-2][-1] in ".:;!?…":
        return False
    names = (before[-1], following[0])
    if not all(name[0].isupper() and name[1:].islower() for name in names):
        return False
    if following[0].lower() in _STARTERS | _STARTERS_AFTER_A_CALL:
        return False
    return language_of(text[block_start : stop + _LAST_WORD]) != "de"


def _last_word(before: list[str]) -> str:
    if not before:
        return ""
    return before[-1].lstrip("\"'“„‘«([*_¿¡").rpartition("’")[2].rpartition("'")[2]


def _stops_after_other_word(text: str, begins: int, word: str, before: list[str]) -> bool:
    """Return whether a full stop after an abbreviation, a number or a word that is not ASCII ends
    a sentence.

    Args:
        text: The whole text.
        begins: Where the text goes on after the full stop, past blanks and opening marks.
        word: The word before the full stop.
        before: The words before that.
    """
    abbreviation = word.lower()
    if abbreviation in _NEVER_LAST:
        return False
    if abbreviation in _BEFORE_NUMBERS and text[begins : begins + 1].isdigit():
        return False
    if _INDIC.match(word) and "।" in text:  # if dandas end sentences, full stops mark abbreviations
        return False
    following = _NEXT_WORD.match(text, begins)
    next_word = following[0].lower() if following else ""
    if abbreviation in _LAST_BEFORE_STARTER or _DOTTED.match(word):
        return next_word in _STARTERS
    if word.isdigit() and len(word) < 3:
        after_ordinal = next_word in _AFTER_ORDINALS
        before_ordinal = bool(before) and before[-1].lower() in _BEFORE_ORDINALS
        # "im 19. Jahrhundert" is an ordinal, and in "Steps: 1. Open it." the number belongs to what
        # follows.
        return not (after_ordinal or before_ordinal or _starts_item(before))
    return True


def _is_small(letter: str) -> bool:
    return letter.islower() and _CAPITALS.match(letter) is not None


def _inside_quotation(text: str, block_start: int, end: re.Match[str]) -> bool:
    """Return whether the sentence continues after a quotation that ends here, or the quotation
    itself continues."""
    if end[0].endswith(("」", "』", "”")):
        return _GOES_ON.match(text, end.end()) is not None
    opened = text.rfind("「", block_start, end.start())
    return (
        opened >= 0
        and "」" not in text[opened : end.end()]
        and 0 <= text.find("」", end.end()) - opened < _SHORT_QUOTE
    )


_SHORT_QUOTE = 80
"""Maximum number of characters of a quotation whose sentences are not split."""


def _starts_item(before: list[str]) -> bool:
    """Return whether a number after these words numbers an item ("Steps: 1. Open it. 2. Close
    it.")."""
    return not before or (
        before[-1][-1] in ".:;!?" and before[-1][:-1].lower() not in _ABBREVIATIONS
    )
