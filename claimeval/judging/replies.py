"""Parse judges' replies: claims, verdicts, grades, written questions and ratings.

A reply is read only if it has one possible meaning. The reply formats are:

* `json`: one JSON value of the expected shape anywhere in the message: an object with the list, the
  bare list, or a single entry. Two different values are refused.
* `bullets`: every line begins with a bullet; the single line NONE means no claims.
* `tags`: one claim per line, followed by SUPPORTED=1 or SUPPORTED=0.

Verdicts are read claim by claim: a claim with an unknown label, or with two labels, has no verdict,
but the other verdicts of the reply count. A reply that cannot be trusted as a whole raises
`Unparsable`.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from claimeval.judging.reply_values import (
    ParsedReply,
    Unparsable,
    after_reasoning,
    by_id,
    chosen,
    find,
    fold,
    json_object,
    list_of,
    object_with,
    true_or_false,
    unfenced,
    whole_number,
)
from claimeval.lexical.citations import without
from claimeval.types.chat_format import refuses
from claimeval.types.requests import LOOP, TOO_MUCH, Completion, Failure, Request
from claimeval.types.scales import ABSTAIN, Scale


class ExtractedClaim(NamedTuple):
    text: str
    sentences: tuple[int, ...]
    quote: str | None


UNCLEAR = "unclear"
"""The field of an extraction reply for references to something that neither the text nor the
question names."""


class UnclearPhrase(NamedTuple):
    sentence: int
    phrase: str


class ParsedVerdict(NamedTuple):
    label: str | None
    """A word of the scale; None if the judge abstained."""
    explanation: str | None
    evidence: tuple[str, ...]
    probability: float | None
    refused: bool = False
    """Whether an engine declined to answer about this claim."""


class ParsedGrade(NamedTuple):
    grade: int
    explanation: str | None


class WrittenQuery(NamedTuple):
    question: str
    answer: str
    passage: str


SCREENED = ("answerable", "self_contained", "realistic")
"""The criteria by which a judge checks a question that was written for a document."""


class QueryCheck(NamedTuple):
    failed: tuple[str, ...]
    """The criteria in `SCREENED` that the question does not meet."""
    explanation: str | None


class Rating(NamedTuple):
    word: str
    """One of the offered words."""
    flags: tuple[str, ...]
    """The flags that the judge raised."""
    explanation: str | None


MAX_CLAIM_LENGTH = 2000
MAX_CLAIMS = 5_000

_BULLET = re.compile(r"\s*(?:[-*•‣–]|\(?\d{1,3}[.)])\s+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nor|neither|without|cannot|\w+n['’]t)\b", re.IGNORECASE
)

_CLAIMS = list_of("claims", "claim", texts=True)
_VERDICTS = list_of("verdicts", "label")
_GRADES = list_of("grades", "grade")
_QUESTIONS = list_of("questions", "question")


def claims_json(text: str, shown: Iterable[str] = ()) -> tuple[ExtractedClaim, ...]:
    """Read `{"claims": [{"claim", "sentences", "quote"}]}`; an empty list is a valid reply.

    Here and below, `shown` are the texts of the prompt, which the judge may quote and whose JSON is
    not a reply.
    """
    claims = []
    for entry in find(text, _CLAIMS, shown):
        claim = entry.get("claim")
        sentences = entry.get("sentences", [])
        quote = entry.get("quote")
        numbers = [
            whole_number(number)
            # Models write `"sentences": 3` for a single sentence.
            for number in (sentences if isinstance(sentences, list) else [sentences])
        ]
        if None in numbers:
            raise Unparsable("'sentences' of a claim is not a list of whole numbers")
        if quote is not None and not isinstance(quote, str):
            raise Unparsable("'quote' of a claim is not a text")
        if not isinstance(claim, str):
            raise Unparsable("'claim' is not a text")
        claims.append(
            ExtractedClaim(_spaced(claim), tuple([n for n in numbers if n is not None]), quote)
        )
    return _plausible(claims)


def unclear_json(text: str) -> tuple[UnclearPhrase, ...]:
    """Read `{"unclear": [{"sentence", "phrase"}]}` next to the claims; entries of another form are
    ignored."""
    try:
        value = json_object(after_reasoning(text)).get(UNCLEAR)
    except Unparsable:
        return ()
    entries = (
        [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
    )
    phrases = [(whole_number(entry.get("sentence")), entry.get("phrase")) for entry in entries]
    return tuple(
        [
            UnclearPhrase(n, phrase)
            for n, phrase in phrases
            if n is not None and isinstance(phrase, str)
        ]
    )


def claims_bullets(text: str) -> tuple[ExtractedClaim, ...]:
    """Read one claim per line, each with a bullet; the single line NONE is a valid reply.

    A code fence, an introduction that ends with a colon, and a last paragraph after a blank line
    are ignored.
    """
    body = unfenced(text)
    if fold(body) == "none" or fold(_BULLET.sub("", body, count=1)) == "none":
        return ()
    claims = [line for line in _listed_lines(body) if line.strip()]
    for line in claims:
        if not _BULLET.match(line):
            raise Unparsable(f"a line without a bullet: {line.strip()[:80]!r}")
    return _plausible(
        [ExtractedClaim(_spaced(_BULLET.sub("", line, count=1)), (), None) for line in claims]
    )


def _listed_lines(body: str) -> list[str]:
    """Return the lines of a list, without what a model says before and after it."""
    lines = body.splitlines()
    marked = [number for number, line in enumerate(lines) if _BULLET.match(line)]
    if not marked:
        raise Unparsable(f"no line with a bullet: {body[:80]!r}")
    introduction = lines[: marked[0]]
    after = lines[marked[-1] + 1 :]
    # "Here are the claims:" is no claim, but a first line without a colon may be one.
    if "".join(introduction).rstrip().endswith((":", "：")):
        lines = lines[marked[0] :]
    # A line right below the last bullet may go on with it; after a blank line it is a remark.
    if after and not after[0].strip():
        lines = lines[: -len(after)]
    return lines


def _plausible(claims: list[ExtractedClaim]) -> tuple[ExtractedClaim, ...]:
    if len(claims) > MAX_CLAIMS:
        raise Unparsable(f"{len(claims)} claims; at most {MAX_CLAIMS} are plausible")
    for claim in claims:
        if not any(map(str.isalnum, claim.text)):
            raise Unparsable(f"a claim without a word: {claim.text[:80]!r}")
        if len(claim.text) > MAX_CLAIM_LENGTH:
            raise Unparsable(
                f"a claim of {len(claim.text)} characters; at most {MAX_CLAIM_LENGTH} are plausible"
            )
    return tuple(claims)


def _spaced(text: str) -> str:
    return " ".join(text.split())


def verdicts_json(
    text: str,
    ids: Sequence[str],
    scale: Scale,
    shown: Iterable[str] = (),
    *,
    computed: bool = False,
) -> ParsedReply[ParsedVerdict]:
    """Read `{"verdicts": [{"id", "label", "reason", "evidence"}]}`, by id.

    Args:
        text: The reply.
        ids: The ids in the request.
        scale: The scale whose words are labels.
        shown: The texts of the prompt.
        computed: Whether an engine wrote the reply, whose entries can also have `refused` and
            `problem`, as a language model's cannot.

    Raises:
        Unparsable: If the reply is not about these ids.
    """
    labels: dict[str, str | None] = {
        ABSTAIN: None,
        **dict(zip(scale.offered, scale.words, strict=True)),
    }
    words = (*scale.offered, ABSTAIN)

    def read(entry: Mapping[str, object]) -> tuple[str, ParsedVerdict]:
        """Read the verdict on one claim."""
        if computed and entry.get("problem"):
            raise Unparsable(str(entry["problem"]))
        word = _word(entry, "label", words)
        evidence = entry.get("evidence", [])
        probability = entry.get("probability")
        cited = evidence if isinstance(evidence, list) else [evidence]
        return word, ParsedVerdict(
            labels[word],
            _reason(entry),
            tuple([document for document in cited if isinstance(document, str)]),
            probability if isinstance(probability, float) and 0 <= probability <= 1 else None,
            computed and entry.get("refused") is True,
        )

    entries = find(text, _VERDICTS, shown)
    return by_id(entries, ids, "a verdict", read)


def _word(entry: Mapping[str, object], field: str, words: Sequence[str]) -> str:
    word = chosen(entry.get(field), words)
    if word is None:
        raise Unparsable(
            f"unknown {field} {_shortened(entry.get(field))}" if field in entry else f"no {field}"
        )
    return word


def _reason(entry: Mapping[str, object]) -> str | None:
    reason = entry.get("reason")
    return reason if isinstance(reason, str) and reason else None


def _shortened(value: object) -> str:
    literal = repr(value)
    return literal if len(literal) <= 60 else f"{literal[:56]}...{literal[-1]}"


def grades_json(
    text: str,
    ids: Sequence[str],
    steps: Sequence[int],
    shown: Iterable[str] = (),
) -> ParsedReply[ParsedGrade]:
    """Read `{"grades": [{"id", "grade", "reason"}]}`, by id; a grade is a whole number of the
    scale.

    Args:
        text: The reply.
        ids: The ids in the request.
        steps: The grades of the scale.
        shown: The texts of the prompt.

    Raises:
        Unparsable: If the reply is not about these ids.
    """
    entries = find(text, _GRADES, shown)
    return by_id(entries, ids, "a grade", lambda entry: _grade(entry, steps))


def _grade(entry: Mapping[str, object], steps: Sequence[int]) -> tuple[int, ParsedGrade]:
    grade = whole_number(entry.get("grade"))
    if grade is None:
        value = _shortened(entry.get("grade"))
        raise Unparsable(f"grade {value} is no whole number" if "grade" in entry else "no grade")
    if grade not in steps:
        raise Unparsable(f"grade {grade} is off the scale {steps[0]} to {steps[-1]}")
    return grade, ParsedGrade(grade, _reason(entry))


def queries_json(text: str, shown: Iterable[str] = ()) -> tuple[WrittenQuery, ...]:
    """Read `{"questions": [{"question", "answer", "passage"}]}`; an empty list is a valid reply."""
    queries = []
    for entry in find(text, _QUESTIONS, shown):
        texts = [entry.get(field) for field in WrittenQuery._fields]
        if not all(isinstance(value, str) and value.strip() for value in texts):
            raise Unparsable("a question without its text, answer or passage")
        queries.append(WrittenQuery(*(str(value).strip() for value in texts)))
    return tuple(queries)


def screening_json(text: str, shown: Iterable[str] = ()) -> QueryCheck:
    """Read `{"reason", "answerable", "self_contained", "realistic"}`; the last three are true or
    false."""
    reply = find(text, object_with(*SCREENED), shown)
    flags = _flags(reply, SCREENED)
    return QueryCheck(tuple(name for name in SCREENED if not flags[name]), _reason(reply))


def rating_json(
    text: str,
    field: str,
    words: Sequence[str],
    flags: Sequence[str] = (),
    shown: Iterable[str] = (),
) -> Rating:
    """Read `{"reason", FIELD, FLAG...}`.

    Args:
        text: The reply.
        field: Name of the field with the word.
        words: The allowed words.
        flags: Names of the fields that are true or false.
        shown: The texts of the prompt.

    Raises:
        Unparsable: If the field is not one of the words, or a flag is neither true nor false.
    """
    reply = find(text, object_with(field, *flags), shown)
    word = chosen(reply[field], words)
    if word is None:
        raise Unparsable(f"{field!r} is {_shortened(reply[field])}, not one of {', '.join(words)}")
    raised = _flags(reply, flags)
    return Rating(word, tuple(flag for flag in flags if raised[flag]), _reason(reply))


def _flags(reply: Mapping[str, object], names: Sequence[str]) -> dict[str, bool]:
    flags = {name: flag for name in names if (flag := true_or_false(reply.get(name))) is not None}
    for name in names:
        if name not in flags:
            instead = f" but {_shortened(reply[name])}" if name in reply else ""
            raise Unparsable(f"{name!r} is neither true nor false{instead}")
    return flags


FUZZY_MATCH = 90.0
"""Minimum `rapidfuzz.fuzz.ratio` at which a line matches a claim that it does not repeat
exactly."""


def verdicts_tags(text: str, claims: Mapping[str, str], scale: Scale) -> ParsedReply[ParsedVerdict]:
    """Read lines that end with SUPPORTED=1 or SUPPORTED=0. `claims` maps ids to the claims that
    were sent.

    A line belongs to the claim that it repeats, ignoring bullets and white space. A line that
    repeats no claim belongs to the only remaining claim that it nearly repeats with the same
    numbers and negations, ignoring citations. Only the mark at the end of a line counts. A claim
    with no line, or with two different marks, has no verdict.
    """
    by_text = {_spaced(claim): subject for subject, claim in claims.items()}
    marks: dict[str, dict[str, None]] = {}
    unmatched: list[tuple[str, str]] = []
    for line in text.splitlines():
        tags = list(_TAG.finditer(line))
        if not tags:
            continue
        quoted = line[: tags[-1].start()].rstrip("*_`")
        mark = line[tags[-1].end() :].strip()
        repeated = [_spaced(quoted), _spaced(_BULLET.sub("", quoted, count=1))]
        if subject := by_text.get(repeated[0]) or by_text.get(repeated[1]):
            marks.setdefault(subject, {})[mark] = None
        else:
            unmatched.append((repeated[1], mark))
    # Exact lines first: "It opened in 1902" is 94% like "It opened in 1903", which has a line of
    # its own.
    open_claims = {claim: subject for claim, subject in by_text.items() if subject not in marks}
    for quoted, mark in unmatched:
        if near := _nearest_label(quoted, open_claims):
            marks.setdefault(near, {})[mark] = None
    entries: list[dict[str, object]] = []
    for subject, several in marks.items():
        entries += [{"id": subject, "mark": mark} for mark in several]
    return by_id(entries, tuple(claims), "a line", lambda entry: _marked(entry, scale))


_TAG = re.compile(r"(?<![\w\u2010-\u2015-])SUPPORTED\s*=", re.IGNORECASE)


def _marked(entry: Mapping[str, object], scale: Scale) -> tuple[str, ParsedVerdict]:
    word = _word(entry, "mark", (*scale.offered, ABSTAIN))
    return word, ParsedVerdict(scale.word(word), None, (), None)


def _nearest_label(quoted: str, claims: Mapping[str, str]) -> str | None:
    from rapidfuzz import fuzz

    quoted = without(quoted)
    near = [
        subject
        for claim, subject in ((without(claim), subject) for claim, subject in claims.items())
        # A claim that contains `SUPPORTED=1` cannot be told from a line with that mark.
        if not _TAG.search(claim)
        and fuzz.ratio(quoted, claim, score_cutoff=FUZZY_MATCH)
        and _NUMBER.findall(quoted) == _NUMBER.findall(claim)
        and len(_NEGATION.findall(quoted)) == len(_NEGATION.findall(claim))
    ]
    return near[0] if len(near) == 1 else None


def shown(request: Request) -> tuple[str, ...]:
    """Return the texts of the prompt, which the judge may quote."""
    return tuple([message.content for message in request.messages])


_LOOP_LENGTH = 1_500
_DIGITS = re.compile(rb"\d+")
_LOOP_RATIO = 0.14
"""The end of a reply that loops compresses to this share; that of other JSON to .25 and more."""


def loops(text: str) -> bool:
    """Return whether a text ends in a loop: the same words again and again, maybe with a number
    that counts."""
    end = text[-_LOOP_LENGTH:].encode("utf-8", "replace")
    # Small models count on: "claim 41", "claim 42", to the limit.
    same = _DIGITS.sub(b"0", end)
    return len(end) >= _LOOP_LENGTH and len(zlib.compress(same, 9)) < _LOOP_RATIO * len(end)


def _cut(completion: Completion) -> Failure | None:
    """Return the failure of a reply that the server cut at the token limit."""
    if completion.finish_reason not in ("length", "model_length"):
        return None
    return _at_the_limit(completion)


def unreadable(completion: Completion, request: Request, error: Unparsable) -> Failure:
    """Return the failure of a reply that cannot be read.

    Some servers say "stop" of a reply that they cut; it has exactly as many tokens as it may have.
    """
    limit = completion.needed or request.max_tokens
    if completion.usage.completion_tokens == limit:
        return _at_the_limit(completion)
    return Failure(reason="unparsable", message=str(error))


def _at_the_limit(completion: Completion) -> Failure:
    if loops(completion.text or ""):
        return Failure(reason="truncated", message=LOOP)
    if completion.needed:
        return Failure(reason="truncated", message=TOO_MUCH)
    return Failure(
        reason="truncated", message="the reply was cut at the token limit; raise max_tokens"
    )


def _ended_early(completion: Completion, request: Request) -> Failure | None:
    """Return the failure of a reply that is filtered, refused or not known to be whole."""
    finish = completion.finish_reason
    if finish == "content_filter":
        return Failure(reason="filtered", message="the provider's content filter ended the reply")
    if completion.refusal:
        return Failure(reason="refused", message=completion.refusal[:500])
    # Some servers give no finish reason, and then only the length shows a cut.
    if finish is None and (completion.usage.completion_tokens or 0) >= request.max_tokens:
        return Failure(
            reason="truncated", message="the reply is as long as the token limit; raise max_tokens"
        )
    # A list of bullets that was cut looks like a whole one; JSON that was cut does not parse.
    unsure = finish is None and request.reply_format == "bullets"
    if finish not in ("stop", None) or unsure:
        return Failure(
            reason="provider_error",
            message=f"the reply ended with finish reason {finish!r}, not 'stop'",
        )
    return None


def reply_text(completion: Completion, request: Request) -> str | Failure:
    """Return the reply without its reasoning; a truncated, filtered, refused or empty reply is a
    failure."""
    if failure := _cut(completion) or _ended_early(completion, request):
        return failure
    if not completion.text or not completion.text.strip():
        aside = f", its text is in {completion.aside}" if completion.aside else ""
        return Failure(reason="unparsable", message=f"the reply is empty{aside}")
    try:
        text = after_reasoning(completion.text, shown(request))
    except Unparsable as error:
        return unreadable(completion, request, error)
    # Last, since a refusal is prose, and "I cannot" within the reasoning or within JSON is none.
    return Failure(reason="refused", message=text.strip()[:500]) if refuses(text) else text
