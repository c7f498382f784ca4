"""Ask a judge for verdicts on claims, and read one verdict per claim.

The probability of "supported" comes from the log-probabilities of the first token of a verdict's
label.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from claimeval.judging import checkers, probabilities, replies, typed
from claimeval.judging.prompts import Prompt, Value, quoted
from claimeval.judging.replies import ParsedVerdict, shown
from claimeval.judging.reply_values import ParsedReply, meant
from claimeval.judging.requests import (
    REASON,
    TEXT,
    Schema,
    build_request,
    closed_schema,
    document_plain,
    list_schema,
    names_schema,
    numbered,
    object_schema,
    read_entries,
    read_reply,
    schema_text,
    unassessed,
    verdict_of,
)
from claimeval.types.records import Claim, Document, ReadVerdict
from claimeval.types.requests import (
    AssessTask,
    Completion,
    Failure,
    Judge,
    Request,
    TypedQuestion,
    TypedTask,
)
from claimeval.types.scales import Scale

_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)
_MARK = re.compile(r"SUPPORTED=(?=\S+\s*$)")
MOST_NAMED = 100
"""Documents that a verdict may name. Without a bound, small models may loop over their ids; and it
is the same for all requests, so that their schemas are."""


def supported(
    completion: Completion,
    request: Request,
    lines: Mapping[str, str],
) -> dict[str, float]:
    """Return the probability of "supported" by claim id (c1, c2, ...); empty without
    log-probabilities.

    `lines` are the claims as the `tags` format repeats them.
    """
    if not request.top_logprobs or not completion.text:
        return {}
    assert isinstance(request.task, AssessTask), "probabilities are asked for with assessments only"
    text = completion.text
    labels = (
        _labels_of_json(text, tuple(lines))
        if request.reply_format == "json"
        else _marks_of_lines(text, lines)
    )
    scale = request.task.scale
    offered = zip(scale.offered, scale.words, strict=True)
    words = {reply: scale.positive(word) for reply, word in offered}
    return probabilities.of_tokens(
        completion, labels, lambda spelling: probabilities.begun(spelling, words)
    )


def _labels_of_json(text: str, ids: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield the id of each entry and the position of its label, after the quotation mark.

    The id is a field of the entry, or the key of the entry or of the label in an object.
    """
    tokens = list(_JSON_TOKEN.finditer(text))
    entry: dict[str, re.Match[str]] = {}
    named: re.Match[str] | None = None
    for before, colon, value in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if before.group() == "{":
            entry = {"id": named} if named else {}
            named = None
        # A closed schema has the id as the key, `{"c1": {"label": ...}}`, and a list has it as a
        # field.
        if colon.group() == ":" and value.group() == "{" and meant(before.group().strip('"'), ids):
            named = before
        if (
            colon.group() == ":"
            and value.group().startswith('"')
            and before.group().strip('"') in ids
        ):
            yield before.group().strip('"'), value.start() + 1
        if colon.group() == ":" and before.group() in ('"id"', '"label"'):
            entry[before.group()[1:-1]] = value
            if len(entry) == 2:
                subject = meant(entry["id"].group().strip('"'), ids)
                if subject and entry["label"].group().startswith('"'):
                    yield subject, entry["label"].start() + 1
                entry = {}


def _marks_of_lines(text: str, lines: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Yield the id of each claim that a line repeats, and the position of the line's mark."""
    ids = {" ".join(line.split()): subject for subject, line in lines.items()}
    start = 0
    for line in text.splitlines(keepends=True):
        mark = _MARK.search(line)
        claim_id = " ".join(line[: mark.start()].lstrip(" -*•").split()) if mark else ""
        if mark and claim_id in ids:
            yield ids[claim_id], start + mark.end()
        start += len(line)


@lru_cache(maxsize=256)
def _schema(prompt: Prompt, claims: int | None = None, documents: int = 0) -> str:
    """Return the schema of a list of verdicts, or with a number of claims of an object that has
    them all.

    The list is the same for all requests with a prompt, so that the provider's prompt cache, which
    a schema precedes, can hold what requests share.
    """
    label = {"type": "string", "enum": list(_scale(prompt).offered)}
    of_evidence = prompt.step == "assess"
    if claims is None:
        names = {"type": "array", "items": TEXT, "maxItems": MOST_NAMED}
        cites = {"evidence": names} if of_evidence else {}
        return schema_text(
            list_schema("verdicts", {"id": TEXT, "reason": REASON, **cites, "label": label})
        )
    cites = {"evidence": names_schema(_names("d", documents))} if of_evidence else {}
    return schema_text(
        closed_schema("verdicts", _names("c", claims), {"reason": REASON, **cites, "label": label})
    )


@lru_cache(maxsize=256)
def _labels_schema(prompt: Prompt, claims: int | None = None) -> str:
    """Return the schema of an object with labels by id, or with a number of claims of one that has
    them all."""
    label = {"type": "string", "enum": list(_scale(prompt).offered)}
    if claims is None:
        return schema_text(
            object_schema({"verdicts": {"type": "object", "additionalProperties": label}})
        )
    named: Schema = {"$ref": "#/$defs/label"}
    by_id = object_schema(dict.fromkeys(_names("c", claims), named))
    return schema_text({**object_schema({"verdicts": by_id}), "$defs": {"label": label}})


@lru_cache(maxsize=256)
def _names(letter: str, count: int) -> tuple[str, ...]:
    return tuple([f"{letter}{i}" for i in range(1, count + 1)])


def claim_line(claim: Claim) -> str:
    """Return the claim as one line that a judge can repeat: escaped, but without quotation
    marks."""
    return _bare(quoted(claim.text))


def _bare(literal: str) -> str:
    return literal[1:-1].replace('\\"', '"')


def _scale(prompt: Prompt) -> Scale:
    assert prompt.scale is not None, "an assess prompt has a scale; loading checks it"
    return prompt.scale


def shuffled(claims: Sequence[Claim], sample_id: str, number: int | None = 0) -> Sequence[Claim]:
    """Return claims in the order in which judges see them, which is random but fixed for each
    sample.

    A verdict depends slightly on the position of its claim in the request. In text order, this
    effect would be the same for every first and every last claim. `number` selects the order, from
    0; None is the order of the text.
    """
    if len(claims) < 2 or number is None:
        return claims
    return [claims[index] for index in _order(sample_id, number, len(claims))]


@lru_cache(maxsize=64)
def _order(sample_id: str, number: int, count: int) -> list[int]:
    draw = random.Random(
        f"{sample_id}/claims/{number}".encode(errors="surrogatepass")
    )  # hashed the same everywhere
    return draw.sample(range(count), count)


class ShownDocuments(NamedTuple):
    """The documents that claims are assessed against."""

    documents: Sequence[Document]
    alternatives: bool = False
    """Whether the documents are alternatives, so that support by one of them is enough."""
    brackets_cite: bool = True
    """Whether numbers in the brackets of claims are citations, for engines that compare words."""


def ask(
    prompt: Prompt,
    judge: Judge,
    claims: Sequence[Claim],
    evidence: ShownDocuments,
    question: str,
) -> Request:
    """Return the request for verdicts on claims, shown as c1, c2, ... with documents d1, d2, ...

    Args:
        prompt: The prompt.
        judge: The judge.
        claims: The claims to assess.
        evidence: The documents to assess them against.
        question: The question of the sample.
    """
    if judge.asks:
        return _ask_checker(prompt, judge, claims, evidence, question)
    variables: dict[str, Value] | None = None
    if not judge.is_engine:
        texts = [quoted(claim.text) for claim in claims]
        variables = {
            "question": quoted(question),
            "documents": numbered("d", evidence.documents),
            "claims": [
                {"id": name, "text": text, "line": _bare(text)}
                for name, text in zip(_names("c", len(texts)), texts, strict=True)
            ],
            "scale": _scale(prompt).shown,
            "alternatives": int(evidence.alternatives),
        }
    if judge.is_engine and prompt.step == "weigh":
        scale = _scale(prompt)
        questions = [TypedQuestion(f"Claim: {claim.text}", scale, claim.id) for claim in claims]
        task = TypedTask((("Question", question),), tuple(questions))
        return typed.ask(prompt, judge, task)
    counts = (len(claims), len(evidence.documents)) if judge.reply_schema == "closed" else ()
    labels_alone = prompt.parameters.get("reasons") == "none"
    return build_request(
        prompt,
        judge,
        variables,
        _labels_schema(prompt, *counts[:1]) if labels_alone else _schema(prompt, *counts),
        task=AssessTask(
            claims=tuple(claims),
            documents=tuple(evidence.documents),
            scale=_scale(prompt),
            alternatives=evidence.alternatives,
            brackets_cite=evidence.brackets_cite,
        ),
    )


def _ask_checker(
    prompt: Prompt,
    judge: Judge,
    claims: Sequence[Claim],
    evidence: ShownDocuments,
    question: str,
) -> Request:
    """Return the request of a checker, which is asked about a single claim."""
    (claim,) = claims
    asked = checkers.question(judge, claim.text, evidence.documents, question)
    return Request(
        judge=judge,
        messages=asked.messages,
        reply_format="json",
        max_tokens=judge.max_tokens,
        top_logprobs=judge.top_logprobs,
        prompt=prompt.digest,
        task=AssessTask(
            claims=(claim,),
            documents=tuple(evidence.documents),
            scale=_scale(prompt),
            alternatives=evidence.alternatives,
        ),
        chat_template=asked.chat_template,
    )


def ask_pairs(prompt: Prompt, judge: Judge, pairs: Sequence[typed.ClaimAndDocument]) -> Request:
    """Return the request of a decision model about claims, each against one of its documents."""
    scale = _scale(prompt)
    # A document that several pairs share is sent once.
    texts = dict.fromkeys(document_plain(pair.document) for pair in pairs)
    numbers = {text: f"d{number}" for number, text in enumerate(texts, 1)}
    questions = []
    for pair in pairs:
        number = numbers[document_plain(pair.document)]
        asked = f"By {number} alone, as if it were the only document. Claim: {pair.subject.text}"
        questions.append(TypedQuestion(asked, scale, pair.id))
    inputs = tuple([(number, text) for text, number in numbers.items()])
    return typed.ask(prompt, judge, TypedTask(inputs, tuple(questions)))


def _read_checker(completion: Completion, request: Request) -> ParsedReply[tuple[ReadVerdict, ...]]:
    """Return the verdict of a checker, which supports its claim by the documents that it saw."""
    task = request.task
    rule = request.judge.reply
    assert isinstance(task, AssessTask)
    assert rule is not None, "checkers are resolved with a rule"
    (claim,) = task.claims

    def parse(text: str) -> ReadVerdict:
        """Read the verdict in the checker's form."""
        reading = checkers.read(text, rule)
        label = checkers.word_of(task.scale, reading.label)
        # Of several documents that were joined, a checker does not say which one supports.
        seen = [document.id for document in task.documents] if len(task.documents) == 1 else []
        return verdict_of(
            completion,
            request,
            **task.scale.labeled(label),
            probability=checkers.probability(completion, text, reading, rule),
            cites=tuple(seen) if task.scale.positive(label) else (),
        )

    verdict = read_reply(completion, request, parse)
    if isinstance(verdict, Failure):
        return ParsedReply(failure=verdict)
    return ParsedReply({claim.id: (verdict,)})


def read(
    completion: Completion,
    request: Request,
    *,
    computed: bool = False,
) -> ParsedReply[tuple[ReadVerdict, ...]]:
    """Return the verdicts in the reply, one per claim.

    With `computed`, the reply states a probability that the judge computed. For language models,
    the probability comes from the tokens, because a number that they write is only text.
    """
    if request.judge.asks:
        return _read_checker(completion, request)
    if isinstance(request.task, TypedTask):
        return typed.read_by_subject(completion, request)
    task = request.task
    assert isinstance(task, AssessTask)
    as_json = request.reply_format == "json"
    scale = task.scale
    claims = dict(
        zip(_names("c", len(task.claims)), [claim.id for claim in task.claims], strict=True)
    )
    lines = (
        dict.fromkeys(claims, "")
        if as_json
        else dict(zip(claims, map(claim_line, task.claims), strict=True))
    )
    names = dict(
        zip(
            _names("d", len(task.documents)),
            [document.id for document in task.documents],
            strict=True,
        )
    )
    # A number that a language model writes is a word like others; only the tokens' probabilities
    # are measured.
    of_tokens = {} if computed else supported(completion, request, lines)

    def parse(text: str) -> ParsedReply[ParsedVerdict]:
        """Read the verdicts in the reply's format."""
        if as_json:
            return replies.verdicts_json(
                text,
                tuple(claims),
                scale,
                shown(request),
                computed=computed,
            )
        return replies.verdicts_tags(text, lines, scale)

    def cited(evidence: Sequence[str]) -> tuple[str, ...]:
        """Return the ids of the documents with these names."""
        return tuple(
            # Models write "D1" for d1, and now and then a document that is not there.
            [names[name] for name in dict.fromkeys(map(str.casefold, evidence)) if name in names]
        )

    def verdict(name: str, parsed: ParsedVerdict) -> tuple[ReadVerdict, ...]:
        """Return the verdict on the claim with this name."""
        return (
            verdict_of(
                completion,
                request,
                **scale.labeled(parsed.label),
                unassessed=unassessed(parsed),
                probability=parsed.probability if computed else of_tokens.get(name),
                explanation=parsed.explanation,
                cites=cited(parsed.evidence) if parsed.evidence else (),
            ),
        )

    return read_entries(completion, request, claims, parse, verdict)
