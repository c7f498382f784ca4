"""Splits English sentences into clauses that can stand alone, and clauses about a named person into single facts.

Lists of words identify finite verbs and subjects. Only clauses about a name, he or she are split into births, lists,
examples and relative clauses, because general statements depend on their conditions. A fact is a part of the clause
with other words of the clause before it, mostly subject and verb; only an article is ever added. A clause is not split
if it has a negation, a condition, reported speech, a choice, or anything else that applies to both sides of a cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from claimeval.lexical.sentences import Span
from claimeval.lexical.words import words_of


class Clause(NamedTuple):
    """A part of a sentence that asserts something by itself."""

    before: str
    """Words of the earlier text that complete it, such as the subject; empty if it is complete."""
    span: Span
    after: str = ""
    """Words of the later text that complete it."""


_AUXILIARIES = words_of(
    "is are was were has had have will would can could may might must should does do did isn't aren't wasn't weren't"
    " hasn't hadn't haven't won't wouldn't can't cannot couldn't doesn't don't didn't"
)
_PAST = words_of(
    "became began came fell grew rose drew drove flew gave knew sang took threw wore wrote chose broke went saw spoke"
    " died"
)
"""Past forms that are not participles, and therefore always finite verbs."""
_PAST_OR_PARTICIPLE = words_of(
    "won made lost built bought brought held led left met moved found got kept paid put read said sold sent set spent"
    " stood taught told thought felt ran shot hit cut"
)
_PRESENT = words_of(
    "includes provides offers operates owns contains remains becomes consists comprises allows requires helps features"
)
_PRONOUNS = words_of("he she it they we this these there")
_SUBORDINATORS = words_of("who which that whose whom where when because until while after before how why what")
_OPENERS = words_of(
    "in on at by for from with during after before since while when although though despite according as under to if"
    " because among upon within following"
)
_REACHES_OVER_JOINTS = re.compile(
    r"[\"“”«»]|\b(?:if|unless|whether|either|neither|both|between|said|says|say|claim(?:s|ed)?|stat(?:es|ed)|argu(?:es|ed)"
    r"|report(?:s|ed)|believ(?:es?|ed)|suggest(?:s|ed)?|announced?|estimat(?:es|ed)|according|alleg(?:es|ed)|would|might)\b",
    re.IGNORECASE,
)
_JOINT = re.compile(r"(?P<comma>[,;]?)\s+(?:(?P<and>and|but)|while|whereas|although|though|yet)\s+|(?P<semicolon>;)\s+")
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_LIKE_BORN = words_of("raised educated brought schooled baptized baptised christened buried")
"""Participles that can follow "was born and"; other forms in -ed are a simple past there."""
_ADVERBS = words_of("also later then soon often again still now")
_AFTER_VERB = words_of(
    "the a an in on at as to for from with by his her its their into over under about against through until up out off"
    " back down two three four five six seven eight nine ten many several more some all no one"
)
"""Words that follow a verb and not an adjective, to distinguish "and moved to Rome" from "and related services"."""
_DETERMINERS = words_of(
    "the a an this these his her its their our some many most more all several no each every one two another both"
)
_BEFORE_NOUNS = words_of("the a an his her its their our my your no every")
"""Words that no subject ends with. A form in -ed after them is an adjective, as in "an opened jar"."""
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

    A clause is cut off if it has a subject and a finite verb, or a finite verb to which the first subject belongs.
    """
    parts = [Clause("", sentence)]
    if sentence.end - sentence.start > LONGEST_SENTENCE or _REACHES_OVER_JOINTS.search(text, *sentence):
        return parts
    for joint in _JOINT.finditer(text, *sentence):
        last = parts[-1]
        before = f"{last.before} {text[last.span.start : joint.start()]}".strip()
        after = text[joint.end() : sentence.end]
        if before.count("(") > before.count(")"):
            continue
        if _has_subject(before, after, separated=bool(joint["comma"] or joint["semicolon"])) and any(
            map(is_verb, WORD.findall(before))
        ):
            subject = ""
        elif not (joint["and"] and (subject := _shared_subject(before, after))):
            continue
        parts[-1] = last._replace(span=Span(last.span.start, joint.start()))
        parts.append(Clause(subject, Span(joint.end(), sentence.end)))
    return parts


def _has_subject(before: str, clause: str, *, separated: bool) -> bool:
    """Return whether a clause starts with a subject and a finite verb. `separated`: there is a comma before it.

    A noun is a subject only if it cannot be the last member of a preceding list.
    """
    words = [word.lower() for word in WORD.findall(clause[:_NEAR].split(",")[0])]
    if len(words) > 2 and words[0] in _PRONOUNS and (is_verb(words[1]) or words[1].endswith("s")):
        return True
    verb = next((index for index, word in enumerate(words[: _LONGEST_SUBJECT + 1]) if is_finite(word)), 0)
    return (
        separated
        and 0 < verb < len(words) - (words[verb] in _AUXILIARIES)
        and (words[0] in _DETERMINERS or words[0].endswith("s") or clause[0].isupper())
        and _SUBORDINATORS.isdisjoint(words[:verb])
        and len(WORD.findall(before.rpartition(",")[2])) > _LONGEST_LIST_MEMBER
    )


def _shared_subject(before: str, after: str) -> str:
    """Return the subject of `before` if `after` is another predicate of it, else an empty string.

    An adverbial before the subject ("In 1931, he ...") is left out of the second clause.
    """
    words_before = list(WORD.finditer(before))
    verb = next(
        (i for i, word in enumerate(words_before) if is_verb(word[0]) and not _is_before_noun(words_before[:i])), 0
    )
    opener, comma, subject = before[: words_before[verb].start()].strip().rpartition(", ") if verb else ("", "", "")
    words = [word.lower() for word in WORD.findall(before[len(opener + comma) :])]
    named = subject[:1].isupper() or (bool(words) and words[0] in _PRONOUNS)
    verb = len(WORD.findall(subject))
    if (
        not 0 < verb <= _LONGEST_SUBJECT
        or len(words) < verb + 3
        or not named
        or "," in opener
        or words[0] in _OPENERS
        or not _SUBORDINATORS.isdisjoint(words)
    ):
        return ""
    predicate = [word for word in WORD.findall(after[:_NEAR]) if not (word.endswith("ly") or word in _ADVERBS)]
    if len(predicate) < 2 or not is_verb(predicate[0]):
        return ""
    after_birth = words[verb + 1] == "born" and predicate[0] not in _LIKE_BORN
    simple_past = after_birth or words[verb] not in _AUXILIARIES | _PRESENT
    object_follows = predicate[1].lower() in _AFTER_VERB or not predicate[1][0].islower()
    return subject[:1].upper() + subject[1:] if is_finite(predicate[0]) or (simple_past and object_follows) else ""


def _is_before_noun(words: Sequence[re.Match[str]]) -> bool:
    """Return whether words end with an article or possessive, ignoring adverbs in -ly after it."""
    last = next((word[0].lower() for word in reversed(words) if not word[0].endswith("ly")), "")
    return last in _BEFORE_NOUNS


_REACHES_OVER_FACTS = re.compile(
    r"\b(?:not|no|never|nor|neither|none|nothing|nobody|without|only|few|little|hardly|except|than|if|unless|whether"
    r"|either|both|between|respectively|together|or|but|said|says|say|claim(?:s|ed)?|stat(?:es|ed)|argu(?:es|ed)"
    r"|believ(?:es?|ed)|suggest(?:s|ed)?|alleged(?:ly)?|reported(?:ly)?|may|might|would|could|should"
    r"|first|last|youngest|oldest|combin\w+|mixed|consist\w*)\b|n['’]t\b|[;:]"
)
_WORD_OF_NAME = r"[A-ZÀ-Þ][^\W_]*(?:[.'’-][^\W_]+)*\.?"
_NAME = rf"{_WORD_OF_NAME}(?:\s(?:(?:of|de|da|di|del|von|van|der|den|al|bin|ibn)\s)?{_WORD_OF_NAME})*"
_ADVERB = r"(?:also|best|well|now|since|then|later|soon|often|most|perhaps|[a-z]+ly)"
_HEAD = re.compile(
    rf"(?P<subject>(?:(?:In|On|At|Since|During|After|Before|By|From|Throughout|Following)\s[^,()]+,\s)?"
    rf"(?P<named>[Hh]e|[Ss]he|(?:[Hh]is|[Hh]er)(?:\s[a-z][\w-]*){{1,3}}?|{_NAME}))"
    rf"(?P<aside>\s\([^()]*\),?|,\s(?:[^(),]|\([^()]*\))+,)?"
    rf"\s(?P<group>(?:{_ADVERB}\s)*(?P<verb>\w+)(?:(?:\s{_ADVERB})*"
    rf"\s(?:been|being|known|born|won|made|given|seen|written|held|sung|begun|passed\saway|[a-z]{{2,}}ed))*)(?=\s)"
)
_NOT_NAMED = words_of(
    "The This That These Those It They There In However Some A An Many Most One You We I If All Each Any Such Other"
    " Passage Document Yes No So What Which Who As For"
)
_ROLE = re.compile(
    r"(?:er|or|ist|cian|man|woman|ess|eur|yst|dian|arian|tect|poet|host|coach|chef|critic|model|icon|activist|president"
    r"|judge|athlete|scholar|diplomat|advocate|priest|rapper|star|saint|king|queen|prince|founder|chairperson|CEO)$"
)
"""Endings of the last word of a profession or office, which adjectives rarely have."""
_NO_ROLE = words_of("former popular minor major senior junior superior inner clever other older younger regular")
_PREPOSITIONS = "in|on|at|for|with|by|as|from|to|of|into|under|alongside|within|among|across|about|against|through|over"
_AUXILIARY = frozenset(["is", "was", "are", "were", "has", "have", "had", "became", "been"])
_EXAMPLES = re.compile(r",? (?:including|such as) ")
_FEW_WORDS = 5


class _ClausePart(NamedTuple):
    """A part of the clause that is a fact: its span, and words of the clause to add before and after it."""

    before: str
    start: int
    end: int
    after: str = ""


def facts(text: str, clause: Clause) -> list[Clause]:
    """Split a clause into single facts, in order; only the clause itself if it is one, or a cut could change it.

    >>> text = "Ana Souto (born 1931 in Porto) is an architect, painter, and teacher."
    >>> [f"{fact.before} {text[slice(*fact.span)]}".strip() for fact in facts(text, Clause("", Span(0, len(text))))]
    ['Ana Souto born 1931', 'Ana Souto born in Porto', 'Ana Souto is an architect', 'Ana Souto is a painter', \
'Ana Souto is a teacher.']
    """
    begin, end = clause.span
    shared = f"{clause.before} " if clause.before else ""
    whole = shared + text[begin:end]
    if (
        len(whole) > LONGEST_SENTENCE
        or _REACHES_OVER_FACTS.search(whole)
        or len(parts := list(_parts(whole, "", 0, len(whole)))) < 2
    ):
        return [clause]
    shift = begin - len(shared)
    return [
        Clause(part.before, Span(part.start + shift, part.end + shift), part.after)
        if part.start + shift >= begin
        else Clause(clause.before, Span(begin, part.end + shift), part.after)
        for part in parts
    ]


def _parts(whole: str, before: str, start: int, end: int) -> Iterator[_ClausePart]:
    """Yield the facts of `whole[start:end]`, which is a clause, or a predicate of the subject `before`."""
    behind = f"{before} " if before else ""
    head = _HEAD.match(behind + whole[start:end])
    if not (head and is_verb(head["verb"]) and head["named"].split()[0] not in _NOT_NAMED):
        yield _ClausePart(before, start, end)
        return
    shift = start - len(behind)
    predicate = _Predicate(whole, head["subject"], head["verb"], head["group"], shift + head.end(), end)
    first, *later = predicate.parts()
    aside = list(_aside(whole, head, shift)) if head["aside"] and not before else []
    if aside:
        yield from aside
        yield first._replace(before=head["subject"], start=shift + head.start("group"))
    else:
        yield first._replace(before=before, start=start)
    yield from later


def _aside(whole: str, head: re.Match[str], shift: int) -> Iterator[_ClausePart]:
    """Yield the text between subject and verb, if it is a fact about the subject."""
    start, end = shift + head.start("aside"), shift + head.end("aside")
    opening = re.compile(r"\W*(?P<what>born|who)\s").match(whole, start, end)
    if not opening:
        return
    end = start + len(whole[start:end].rstrip("), "))
    if opening["what"] == "who":
        yield from _parts(whole, head["named"], opening.end(), end)
        return
    for i, (a, b) in enumerate(_circumstances(whole, opening.end(), end)):
        yield _ClausePart(f"{head['named']} born" if i else head["named"], a if i else opening.start("what"), b)


def _circumstances(whole: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of times and places, as in "on 3 May 1931 in Porto"."""
    if not _CLAUSE_IN_CLAUSE.search(whole, start, end):
        for cut in re.compile(r",?\s(?=(?:in|on|at|to|into|of)\s)").finditer(_closed(whole[:end]), start + 1):
            yield start, cut.start()
            start = cut.end()
    yield start, end


def _closed(words: str) -> str:
    """Return the words with quotations, parentheses and dates replaced by single names of the same length."""
    words = re.sub(r'"[^"]*"|“[^”]*”', lambda match: "Q" * len(match[0]), words)
    words = re.sub(r"\([^()]*\)", lambda match: "P" * len(match[0]), words)
    return re.sub(r"(?<=\d), (?=\d{4})", "__", words)


_CLAUSE_IN_CLAUSE = re.compile(r"\b(?:and|where|when|while|who|which|before|after|as|from)\b")
_SAID_TOO = re.compile(r",? (?:(?P<who>who) (?=\w+ )|(?:and )?(?=(?:best |well |widely )?(?:known|born) ))")
_SEPARATOR = re.compile(r",? and |, |(?<=QQ) (?=QQ)")


class _Predicate(NamedTuple):
    """The predicate of a clause: a verb, and `whole[start:end]` after it."""

    whole: str
    subject: str
    verb: str
    group: str
    """The verb with its auxiliaries and adverbs."""
    start: int
    end: int

    def parts(self) -> Iterator[_ClausePart]:
        """Yield the facts, each with subject and verb before it. The first may be moved to the start of the clause."""
        rest = _closed(self.whole[self.start : self.end])
        last = self.group.split()[-1]
        is_a = last in ("is", "was", "became")
        said_too = _SAID_TOO.search(rest) if is_a else None
        if last in ("born", "died", "away"):
            for start, end in _circumstances(self.whole, self.start + 1, self.end):
                yield self._part("", start, end)
        elif said_too and said_too.start():
            yield from self._replace(end=self.start + said_too.start()).parts()
            yield from self._said_too(self.start + said_too.end(), who=bool(said_too["who"]))
        elif (examples := _EXAMPLES.search(rest)) and examples.start():
            yield from self._examples(rest, examples)
        elif len(members := self._members(rest, is_a=is_a)) > 1:
            yield from members
        else:
            yield self._part("", self.start + 1, self.end)

    def _said_too(self, start: int, *, who: bool) -> Iterator[_ClausePart]:
        """Yield the facts after "who", "born" or "known", which follow what the subject is."""
        born = f"{self.subject} was" if self.verb == "was" else self.subject
        if not self.whole.startswith("born ", start):
            yield from _parts(self.whole, self.subject if who else f"{self.subject} {self.verb}", start, self.end)
            return
        for i, (at, end) in enumerate(_circumstances(self.whole, start + len("born "), self.end)):
            yield _ClausePart(f"{born} born" if i else born, at if i else start, end)

    def _part(self, lead: str, start: int, end: int, after: str = "") -> _ClausePart:
        return _ClausePart(f"{self.subject} {self.group} {lead}".rstrip(), start, end, after)

    def _examples(self, rest: str, cut: re.Match[str]) -> Iterator[_ClausePart]:
        """Yield the kind of the examples, then each example after the kind, or instead of it if that is clear."""
        yield from self._replace(end=self.start + cut.start()).parts()
        kind = re.match(rf" (?P<lead>(?:(?:roles|work) )?(?:{_PREPOSITIONS}) )?(?P<kind>[^,]+)$", rest[: cut.start()])
        plain = (
            kind
            and not re.search(rf" (?:{_PREPOSITIONS}) ", re.sub(r"^.*?\bof\b", "", kind["kind"]))
            and not re.match(rf"(?:{_PREPOSITIONS}) ", rest[cut.end() :])
            and self.group.split()[-1] not in _AUXILIARY
        )
        lead = (kind["lead"] or "") if kind and plain else self.whole[self.start + 1 : self.start + cut.end()]
        for start, end in _split(rest, cut.end()):
            yield self._part(lead, self.start + start, self.start + end)

    def _members(self, rest: str, *, is_a: bool) -> list[_ClausePart]:
        """Return the facts of a list of offices, of two phrases with the same first word, or of names or things."""
        return (self._offices(rest) if is_a else []) or self._alike(rest) or self._things(rest)

    def _offices(self, rest: str) -> list[_ClausePart]:
        article = re.match(r" (an?|the) ", rest)
        members = _split(rest, 1)
        if not article or any(is_verb(rest[start:end].split()[0]) for start, end in members):
            return []
        for start, end in members[:-1]:
            *_, office = rest[start:end].split()
            if not _ROLE.search(office) or office in _NO_ROLE or len(rest[start:end].split()) > _FEW_WORDS:
                return []
            if re.search(rf" (?:{_PREPOSITIONS}) ", rest[start:end]):
                return []
        last = re.split(rf" (?:{_PREPOSITIONS}) ", rest[slice(*members[-1])])[0]
        if len(last.split()) > _FEW_WORDS:
            return []
        of = re.search(r" (?:of|for|at) .*", rest[slice(*members[-1])]) if article[1] == "the" else None
        after = self.whole[self.start + members[-1][0] + of.start() : self.end].rstrip(" .") if of else ""
        offices = []
        for start, end in members:
            determined = re.match(r"(?:an?|the|one|his|her) ", rest[start:])
            lead = "" if determined else "the" if article[1] == "the" else "an" if rest[start] in "aeioAEIO" else "a"
            offices.append(
                self._part(lead, self.start + start, self.start + end, after if end != members[-1][1] else "")
            )
        return offices

    def _alike(self, rest: str) -> list[_ClausePart]:
        """Return both of "for her voice and for her wit": the second begins with a word of the first."""
        *_, cut = [None, *re.finditer(r" and (?=(\w+) )", rest)]
        if not cut or cut[1] not in _BEGINNINGS:
            return []
        beginnings = list(re.finditer(rf"\b{cut[1]}\b", rest[: cut.start()]))
        at = beginnings[0].start() if len(beginnings) == 1 else 0
        if not at or "," in rest[at:]:
            return []
        if cut[1] in _BEFORE_NOUNS and not re.fullmatch(rf" (?:(?:{_PREPOSITIONS}) )?", rest[:at]):
            return []
        first = self._part("", self.start + 1, self.start + cut.start())
        return [first, self._part(self.whole[self.start + 1 : self.start + at], self.start + cut.end(), self.end)]

    def _things(self, rest: str) -> list[_ClausePart]:
        listed = _LIST.match(rest, 1) or _TWO_NAMES.match(rest, 1)
        if not listed:
            return []
        lead = self.whole[self.start + 1 : self.start + listed.start("list")]
        members = _split(rest, listed.start("list"))
        return [self._part(lead, self.start + start, self.start + end) for start, end in members]


_BEGINNINGS = {"his", "her", "the", "a", "an"} | {"for", "in", "as", "with", "to", "at", "by", "from", "on"}
_LEAD = r"(?P<lead>|[^,]*\b(?:in|on|at|for|with|by|as|from|to|alongside|his|her) )"
_MEMBER = rf"(?:the )?(?:{_WORD_OF_NAME})(?: (?:of|the|de|&|\d+|{_WORD_OF_NAME}))*"
_LIST = re.compile(
    rf"{_LEAD}(?P<list>{_MEMBER}(?:, {_MEMBER})+,? and {_MEMBER}\.?"
    r"|[a-z-]+(?: [a-z-]+)?(?:, [a-z-]+(?: [a-z-]+){0,2})+,? and [a-z-]+(?: [a-z-]+){0,2}\.?)$"
)
_FULL_NAME = rf"{_WORD_OF_NAME} {_WORD_OF_NAME}"
_TWO_NAMES = re.compile(rf"(?P<lead>[^,]*\b(?:with|alongside) )(?P<list>{_FULL_NAME} and {_FULL_NAME})$")


def _split(rest: str, at: int) -> list[tuple[int, int]]:
    """Return the spans of the members of the list that starts at `at`; a single span if it is not a list."""
    cuts = list(_SEPARATOR.finditer(rest, at))
    ends = [*(cut.start() for cut in cuts), len(rest)]
    members = list(zip([at, *(cut.end() for cut in cuts)], ends, strict=True))
    texts = [rest[start:end] for start, end in members]
    plain = (
        all(re.match(r"(?:an? |the )?[\"“A-Z]", text) for text in texts) or max(map(len, map(str.split, texts))) <= 3
    )
    odd = any(not text or re.match(r"(?:(?:for|in|of) )?(?:which|who|whom|whose|where|as)\b", text) for text in texts)
    if odd or not (plain or at == 1):
        return [(at, len(rest))]
    years = [bool(re.search(r" P+\.?$", text)) for text in texts]
    if not any(years):
        return members
    joined, begin = [], at  # "Kill Me, Heal Me (2015)" is one title
    for i, ((_, end), dated) in enumerate(zip(members, years, strict=True)):
        if dated or end == len(rest):
            joined.append((begin, end))
            begin = members[i + 1][0] if i + 1 < len(members) else end
    return joined
