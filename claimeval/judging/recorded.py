"""Read verdicts in replies that other tools recorded.

Each form describes one notation of a verdict. The first form that matches decides. A text with no
verdict, or with contradicting ones, is refused. Statements count only if they are unconditional and
about the whole text: not hypothetical ("if the candidate is correct"), about a part ("the rest of
the summary is consistent") or reported ("the claim that the summary is consistent").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from claimeval.judging.reply_values import Unparsable, after_reasoning, fold, json_object
from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.records import Label
from claimeval.types.scales import Scale

Meaning = Label | Literal["unsure"]
"""The label that a word stands for; `unsure` means that the judge abstained."""

WORDS: dict[Meaning, tuple[str, ...]] = {
    "supported": (
        *(
            "yes",
            "true",
            "correct",
            "right",
            "accurate",
            "consistent",
            "supported",
            "fully supported",
            "supports",
        ),
        *(
            "entailment",
            "entailed",
            "entails",
            "attributable",
            "fully attributable",
            "grounded",
            "faithful",
        ),
    ),
    "contradicted": (
        "contradiction",
        "contradicted",
        "contradictory",
        "contradicts",
        "refuted",
        "refutes",
    ),
    "not_found": (
        *(
            "no",
            "false",
            "incorrect",
            "wrong",
            "inaccurate",
            "inconsistent",
            "unsupported",
            "not supported",
        ),
        *("neutral", "not found", "not attributable", "ungrounded", "unfaithful", "not mentioned"),
        *(
            "partial",
            "partially",
            "partly",
            "partially correct",
            "partially supported",
            "partially attributable",
        ),
        *("partial support", "not fully attributable", "not fully supported", "mostly supported"),
    ),
    "unsure": (
        "unknown",
        "unsure",
        "idk",
        "abstain",
        "cannot determine",
        "cannot judge",
        "undetermined",
    ),
}
"""Words recognized for each label. A partially supported claim is not supported."""


class Sign(NamedTuple):
    """A position in a text that states a verdict."""

    meaning: Meaning
    start: int
    grade: int | None = None


class Vocabulary:
    """The words for verdicts, on a scale of labels or of grades."""

    def __init__(
        self,
        meanings: Mapping[str, Meaning] | None = None,
        *,
        binary: bool = False,
        grades: Scale | None = None,
    ) -> None:
        """`meanings` take precedence over `WORDS`; with `binary`, contradicted means not
        supported."""
        self._meanings: dict[str, Meaning] = {}
        for meaning, words in WORDS.items():
            self._meanings |= dict.fromkeys(map(fold, words), meaning)
        for word, given in (meanings or {}).items():
            self._meanings[fold(word)] = given
        self._binary = binary
        self.grades = grades

    def meaning(self, words: str) -> Meaning | None:
        """Return the label that a word or phrase stands for; None for any other text."""
        meaning = self._meanings.get(fold(words))
        return "not_found" if self._binary and meaning == "contradicted" else meaning

    def sign(self, words: str, start: int = 0) -> Sign:
        """Return the verdict of a value that is a known word or a grade on the scale; raises
        Unparsable otherwise."""
        if self.grades is None:
            if meaning := self.meaning(words):
                return Sign(meaning, start)
            raise Unparsable(f"{words[:40]!r} is not a known verdict")
        try:
            grade = int(words)
        except ValueError:
            raise Unparsable(f"{words[:40]!r} is no grade") from None
        if (word := self.grades.of_step(grade)) is None:
            raise Unparsable(
                f"grade {grade} is off the scale {self.grades.steps[0]} to {self.grades.steps[-1]}"
            )
        return Sign("supported" if self.grades.positive(word) else "not_found", start, grade)


Find = Callable[[str, Vocabulary, str], list[Sign]]


class Form(NamedTuple):
    """A notation of verdicts."""

    find: Find
    """Return all verdicts in this form. The third argument is the text after the colon in the
    form's name. Raises Unparsable if the text uses the form incorrectly."""
    free: bool
    """Whether the verdict stands in free text, where verdicts in other free forms count too."""
    example: str


_OPENING = r"[\s\"'*`_>#(\[]*"
_WORD = r"[A-Za-z]+"
_FIRST = re.compile(rf"{_OPENING}({_WORD})(?=[\s\"'*`_)\]]*(?:[.,:;!?\n—–]|-\s|$))")
_ANSWER = re.compile(
    rf"(?<![A-Za-z])answer(?:\s+is)?\s*[:：](?={_OPENING}({_WORD})(?![A-Za-z]))"
    rf"|(?<![A-Za-z])answer\s+is\s+(?=[\"'*`]*({_WORD})(?![A-Za-z]))",
    re.IGNORECASE,
)
_CHOICE = re.compile(r"[\s\"'*`]*(?:or\b|/)[\s\"'*`]*[A-Za-z]")
_NEW_ITEM = re.compile(
    r"^\W{0,3}(?:summary|question|claim|statement|document|candidate|passage|query)\s*\d*\s*:",
    re.I | re.M,
)
_BRACKETS = re.compile(r"\[\[\s*([^\[\]]{1,40}?)\s*\]\]")
_SCORE = re.compile(r"##\s*final score\s*[:：]\s*(-?\d+)(?![\d.])", re.IGNORECASE)


def _first_word(text: str, words: Vocabulary, option: str) -> list[Sign]:
    """Read the first word if it stands alone: "No evidence is given" is not a no."""
    match = _FIRST.match(text)
    meaning = words.meaning(match.group(1)) if match else None
    return [Sign(meaning, match.start(1))] if match and meaning else []


def _answer(text: str, words: Vocabulary, option: str) -> list[Sign]:
    """Read marked answers; a list of choices (`Answer: Yes or No`) is not an answer."""
    signs = []
    for match in _ANSWER.finditer(text):
        group = 1 if match.group(1) else 2
        meaning = words.meaning(match.group(group))
        if meaning and not _CHOICE.match(text, match.end(group)):
            signs.append(Sign(meaning, match.start()))
    for before, after in pairwise(signs):
        if _NEW_ITEM.search(text, before.start, after.start):
            raise Unparsable("the reply continues with an answer about another item")
    return signs


def _brackets(text: str, words: Vocabulary, option: str) -> list[Sign]:
    signs = ((words.meaning(match.group(1)), match.start()) for match in _BRACKETS.finditer(text))
    return [Sign(meaning, start) for meaning, start in signs if meaning]


def _tag(text: str, words: Vocabulary, name: str) -> list[Sign]:
    """Read a tagged block; text outside it, and in other tags, need not be escaped."""
    tag = re.escape(name)
    blocks = list(re.finditer(rf"<{tag}>\s*(.*?)\s*</{tag}>", text, re.DOTALL | re.IGNORECASE))
    # Models repeat the block in a summary, which is no contradiction if it says the same.
    if len({fold(block.group(1)) for block in blocks}) > 1:
        raise Unparsable(f"two different <{name}> blocks")
    return [words.sign(block.group(1), block.start()) for block in blocks[:1]]


def _json(text: str, words: Vocabulary, name: str) -> list[Sign]:
    """Read a field of one JSON object, which may be in a code fence."""
    value = json_object(text).get(name)
    # `{"consistent": false}` has no word for a verdict.
    if isinstance(value, bool):
        return [Sign("supported" if value else "not_found", 0)]
    return [] if value is None else [words.sign(str(value))]


def _score(text: str, words: Vocabulary, option: str) -> list[Sign]:
    return [words.sign(match.group(1), match.start()) for match in _SCORE.finditer(text)]


def _word(text: str, words: Vocabulary, option: str) -> list[Sign]:
    """Read the whole text as a word."""
    meaning = words.meaning(text)
    return [Sign(meaning, 0)] if meaning else []


def _number(text: str, words: Vocabulary, option: str) -> list[Sign]:
    """Read the whole text as a grade."""
    return [words.sign(text.strip())] if re.fullmatch(r"\s*-?\d+\s*", text) else []


def _probability(text: str, words: Vocabulary, option: str) -> list[Sign]:
    """Read the whole text as a probability from 0 to 1; supported from 0.5."""
    if not re.fullmatch(r"\s*(?:0?\.\d+|[01](?:\.0*)?|\d(?:\.\d+)?e-\d+)\s*", text):
        raise Unparsable(f"{text.strip()[:40]!r} is not a probability")
    return [Sign("supported" if float(text) >= 0.5 else "not_found", 0)]


_GOOD = "correct|consistent|accurate|right|true|supported|entailed|faithful|attributable"
_BAD = "incorrect|inconsistent|inaccurate|wrong|false|unsupported|unfaithful"
_PARTLY = ("partially", "partly", "mostly", "almost", "nearly", "largely", "somewhat", "only")
_WHOLLY = ("fully", "entirely", "completely", "totally", "wholly")
_OTHER = (
    "also",
    "therefore",
    "thus",
    "indeed",
    "actually",
    "clearly",
    "factually",
    "still",
    "not",
    "n't",
)
_ADVERBS = "|".join((*_PARTLY, *_WHOLLY, *_OTHER))
_JUDGED = (
    r"(?:candidate(?:'s"
    r" answer)?|answer|summary|claim|statement|response|prediction|sentence|hypothesis)"
)

_IS = re.compile(
    rf"\b{_JUDGED}(?:\s+\d+)?(?:\s+(?:provided|given|statement|above|answer))?"
    r"\s+(?:is|was)(?P<contracted>n't)?\s+"
    rf"(?:unclear\s+and\s+)?(?P<adverbs>(?:(?:{_ADVERBS})\s+)*)(?P<adjective>{_GOOD}|{_BAD})\b"
    r"(?P<restricted>\s+(?:in|about|except|apart|but|regarding|on|if|when|only|as)\b"
    r"|,\s*(?:but|except|however)\b)?",
    re.IGNORECASE,
)
_GIVES = re.compile(
    rf"\b{_JUDGED}\s+(?P<not>(?:(?:does|did)\s+not|doesn't|didn't|fails?\s+to|failed\s+to)\s+)?"
    r"(?:(?:provide|give)[sd]?\s+(?:a|the)\s+(?:correct|right)\s+answer"
    r"|answers?\s+the\s+question\s+correctly)\b"
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
"""Characters before a statement that are searched for the start of its clause."""


def statements(text: str, words: Vocabulary, option: str) -> list[Sign]:
    """Read statements: `The summary is not factually consistent`, `The candidate does not provide a
    correct answer`."""
    signs = []
    for match in _IS.finditer(text):
        meaning = _judgment(match)
        if meaning and _plain(text, match.start()):
            signs.append(Sign(meaning, match.start()))
    for match in _GIVES.finditer(text):
        if _plain(text, match.start()):
            signs.append(
                Sign("not_found" if match["not"] or match["other"] else "supported", match.start())
            )
    return signs + [Sign("unsure", match.start()) for match in _CANNOT_TELL.finditer(text)]


def _plain(text: str, start: int) -> bool:
    """Return whether no word before the statement in its clause makes it conditional, negated,
    reported or partial."""
    clause = _CLAUSE.split(text[max(0, start - _BEFORE) : start])[-1]
    return not _NOT_PLAIN.search(clause)


def _judgment(match: re.Match[str]) -> Meaning | None:
    """Return the label of a statement: partly or not wholly correct is not found, not incorrect is
    no verdict."""
    adverbs = set(match["adverbs"].casefold().split())
    negated = bool(match["contracted"]) or "not" in adverbs or "n't" in adverbs
    if adverbs & set(_PARTLY) or (negated and adverbs & set(_WHOLLY)):
        return "not_found"
    if re.fullmatch(_BAD, match["adjective"], re.IGNORECASE):
        return None if negated else "not_found"
    if negated:
        return "not_found"
    # "The answer is correct in its first part" does not say that it is correct.
    return None if match["restricted"] else "supported"


FORMS: dict[str, Form] = {
    "first_word": Form(_first_word, True, "No, the correct answer is 126."),
    "answer": Form(_answer, True, "The document says so in line 3. Answer: Yes"),
    "brackets": Form(_brackets, True, "[[No]]"),
    "statement": Form(
        statements, True, "The summary is not factually consistent with the document."
    ),
    "tag": Form(
        _tag, False, "<explanation>A & B</explanation> <answer>partially_supported</answer>"
    ),
    "json": Form(_json, False, '{"verdict": "yes", "reason": "..."}'),
    "score": Form(_score, False, "M: 2 T: 1 ##final score: 2"),
    "word": Form(_word, False, "Entailment"),
    "number": Form(_number, False, "3"),
    "probability": Form(_probability, False, "0.83"),
}
"""Forms by name. `tag` and `json` take the name of the tag or key: `tag:answer`, `json:verdict`."""

_FREE = tuple(form.find for form in FORMS.values() if form.free)


class RecordedVerdict(NamedTuple):
    """The verdict of a reply."""

    meaning: Meaning
    grade: int | None
    form: str
    """The form that matched."""


class Reader:
    """Reads replies in the given forms, tried in order."""

    def __init__(self, forms: Sequence[str], words: Vocabulary) -> None:
        """Raises UsageError if a form is not in `FORMS`."""
        self._forms = tuple((spec, *_form(spec)) for spec in forms)
        self._words = words

    def read(self, text: str) -> RecordedVerdict:
        """Return the verdict after the reply's reasoning. Raises Unparsable if there is none, or
        more than one."""
        text = after_reasoning(text)
        for spec, form, option in self._forms:
            if signs := form.find(text, self._words, option):
                return self._agreed(text, spec, form, signs)
        raise Unparsable("no verdict in the given forms")

    def _agreed(self, text: str, spec: str, form: Form, signs: list[Sign]) -> RecordedVerdict:
        others: list[Sign] = []
        if form.free:
            for find in _FREE:
                others += find(text, self._words, "")
        meanings = {(sign.meaning, sign.grade) for sign in (*signs, *others)}
        if meanings == {("not_found", None), ("unsure", None)}:
            meanings = {
                ("not_found", None)
            }  # "No, it cannot be told from the document" explains its no
        if len(meanings) > 1:
            stated = sorted(meaning if grade is None else str(grade) for meaning, grade in meanings)
            raise Unparsable(f"the reply says both {' and '.join(stated)}")
        ((meaning, grade),) = meanings
        return RecordedVerdict(meaning, grade, spec)


def is_binary(forms: Iterable[str]) -> bool:
    """Return whether all forms are free text that says yes or no, so the scale has two labels."""
    return all(_form(spec)[0].free for spec in forms)


def _form(spec: str) -> tuple[Form, str]:
    name, _, option = spec.partition(":")
    if name not in FORMS:
        raise unknown_name("form of recorded replies", name, FORMS)
    if (name in ("tag", "json")) != bool(option):
        raise UsageError(
            f"form {spec!r}: `tag:NAME` and `json:KEY` need a name, other forms take none"
        )
    return FORMS[name], option
