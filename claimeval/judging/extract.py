"""Ask a model to extract the claims of a text, and locate every claim in the text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from claimeval.judging import replies
from claimeval.judging.grounding import ground
from claimeval.judging.prompts import Prompt, Value, quoted
from claimeval.judging.replies import UNCLEAR, ExtractedClaim, shown
from claimeval.judging.requests import (
    TEXT,
    Schema,
    build_request,
    list_schema,
    object_schema,
    read_reply,
    schema_text,
)
from claimeval.judging.windows import LINE, SHORTEST, cuts, runs
from claimeval.lexical.citations import without
from claimeval.lexical.sentences import sentences as split_sentences
from claimeval.types.records import BETWEEN, Claim, Part
from claimeval.types.requests import Completion, ExtractTask, Failure, Judge, Request

Claims = tuple[Claim, ...]
CLAIMS_PER_SENTENCE = 20
"""Claims of a sentence, at most, unless it has more words: a list of names may make a claim each.
An extractor that loops makes thousands, and each would be paid for."""
MOST_CLAIMS = 40
"""Claims in a reply to a schema with bounds. A reply with so many may lack others, so the text is
asked about in parts."""
# The bounds are the same for all texts, so that the schema stays in the provider's cache. Small
# models loop without them: over sentence numbers up to any number, or over one claim.
_CLAIM = {
    "claim": {"type": "string", "maxLength": 600},
    "sentences": {"type": "array", "items": {"type": "integer"}, "maxItems": 10},
    "quote": {"type": "string", "maxLength": 600},
}


def _bounded(properties: Mapping[str, Schema]) -> Schema:
    listed = list_schema("claims", properties)
    listed["properties"]["claims"]["maxItems"] = MOST_CLAIMS
    return listed


_SCHEMA = schema_text(_bounded(_CLAIM), sort_keys=True)
_WITHOUT_QUOTE = schema_text(
    _bounded({name: of for name, of in _CLAIM.items() if name != "quote"}),
    sort_keys=True,
)
_PHRASE = {"sentence": {"type": "integer"}, "phrase": TEXT}
_WITH_UNCLEAR = schema_text(
    object_schema(
        {
            name: {"type": "array", "items": object_schema(of)}
            for name, of in (("claims", _CLAIM), (UNCLEAR, _PHRASE))
        }
    ),
    sort_keys=True,
)


class TextWindow(NamedTuple):
    """Consecutive sentences of a text that are shown in one request."""

    first: int
    """Index of the first sentence, from 0."""
    end: int
    """Index after the last sentence."""
    piece: tuple[int, int] | None = None
    """The span in the text of a piece of a single sentence; None if the sentences are whole."""

    def __str__(self) -> str:
        """Return the window as calls record it: `sentences 3-17`, or `sentence 3, characters
        0-9000`."""
        if self.piece:
            return f"sentence {self.end}, characters {self.piece[0]}-{self.piece[1]}"
        return f"sentences {self.first + 1}-{self.end}"

    @classmethod
    def read(cls, words: str) -> TextWindow | None:
        """Return the window that a call records; None if it records none."""
        if whole := re.fullmatch(r"sentences (\d+)-(\d+)", words):
            return cls(int(whole[1]) - 1, int(whole[2]))
        if part := re.fullmatch(r"sentence (\d+), characters (\d+)-(\d+)", words):
            return cls(int(part[1]) - 1, int(part[1]), (int(part[2]), int(part[3])))
        return None

    def shown(self, sentences: Sequence[tuple[int, int]]) -> list[tuple[int, tuple[int, int]]]:
        """Return the number and the span of each sentence."""
        if self.piece:
            return [(self.end, self.piece)]
        return [(i + 1, sentences[i]) for i in range(self.first, self.end)]


NOTHING = TextWindow(0, 0)


def ask(
    prompt: Prompt,
    judge: Judge,
    part: Part,
    text: str,
    question: str,
    window: TextWindow | None = None,
    *,
    brackets_cite: bool = True,
) -> Request:
    """Return the request for the claims of a text, or of some of its sentences.

    Args:
        prompt: The prompt.
        judge: The extractor.
        part: The part of the sample that `text` is.
        text: The text.
        question: The question of the sample.
        window: The sentences to show, which keep their numbers. Default: all.
        brackets_cite: Whether numbers in brackets are citations, for engines that go by rules.
    """
    spans = tuple(split_sentences(text))
    variables: dict[str, Value] | None = None
    if not judge.is_engine:
        variables = {
            "question": quoted(question),
            "part": part,
            "sentences": [
                {"id": str(i), "text": quoted(text[start:end])}
                for i, (start, end) in (
                    enumerate(spans, 1) if window is None else window.shown(spans)
                )
            ],
        }
    usual = _WITH_UNCLEAR if prompt.lists_unclear else _SCHEMA
    return build_request(
        prompt,
        judge,
        variables,
        _WITHOUT_QUOTE if prompt.parameters.get("quotes") == "no" else usual,
        task=ExtractTask(text=text, sentences=spans, brackets_cite=brackets_cite),
    )


def windows(request: Request, empty: Request, room: int) -> list[TextWindow]:
    """Return windows of sentences that fit into requests of `room` bytes; each repeats the end of
    the one before.

    A sentence longer than a window is cut between words into several windows. There are no windows
    if there is hardly room for text. `request` shows all sentences, `empty` is the same request
    without sentences.
    """
    task = request.task
    assert isinstance(task, ExtractTask)
    space = room - empty.size
    sizes = [
        len(quoted(task.text[a:b]).encode("utf-8", "surrogatepass")) + LINE
        for a, b in task.sentences
    ]
    if space < SHORTEST or not sizes:
        return []
    fitting: list[TextWindow] = []
    for first, last in runs(sizes, space):
        if sizes[first] <= space:
            fitting.append(TextWindow(first, last + 1))
            continue
        begin, end = task.sentences[first]
        pieces = cuts(task.text[begin:end], space - LINE)
        fitting += [TextWindow(first, first + 1, (begin + a, begin + b)) for a, b in pieces]
    return fitting


def join_windows(part: Part, shown: Sequence[TextWindow], extracted: Sequence[Claims]) -> Claims:
    """Return the claims of all windows of one text.

    A claim is left out if all its sentences were also in the window before, or if an earlier claim
    has the same words.
    """
    claims: list[Claim] = []
    texts: set[str] = set()
    before = range(0)
    for window, window_claims in zip(shown, extracted, strict=True):
        for claim in window_claims:
            # Windows overlap, so that a sentence may be extracted twice in other words.
            is_repeated = bool(claim.sentences) and all(i - 1 in before for i in claim.sentences)
            if is_repeated or _folded(claim.text) in texts:
                continue
            texts.add(_folded(claim.text))
            claims.append(claim.model_copy(update={"id": f"{part}-{len(claims) + 1}"}))
        before = range(0) if window.piece else range(window.first, window.end)
    return tuple(claims)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", without(text)).casefold().rstrip(" .")


def read(completion: Completion, request: Request, part: Part, question: str) -> Claims | Failure:
    """Return the claims in the reply, located in the text. Claims that are equal apart from
    citations are merged.

    Args:
        completion: The reply.
        request: The request.
        part: The part of the sample that the claims are of.
        question: The question of the sample.
    """
    task = request.task
    assert isinstance(task, ExtractTask)

    def parse(text: str) -> tuple[ExtractedClaim, ...]:
        """Read the claims in the reply's format."""
        as_json = request.reply_format == "json"
        return (
            replies.claims_json(text, shown(request)) if as_json else replies.claims_bullets(text)
        )

    entries = read_reply(completion, request, parse)
    if isinstance(entries, Failure):
        return entries
    # Without a schema nothing keeps a model from more, so forty are then just forty.
    is_bounded = f'"maxItems":{MOST_CLAIMS}' in (request.schema_sent or "")
    if is_bounded and len(entries) == MOST_CLAIMS and len(task.sentences) > 1:
        message = f"the reply has {MOST_CLAIMS} claims, the most that its schema allows"
        return Failure(reason="too_long", message=message)
    claims: dict[str, Claim] = {}
    for entry in entries:
        folded = _folded(entry.text)
        # A judge would be paid twice for one claim, and its score would count twice.
        if folded in claims:
            claims[folded] = claims[folded].model_copy(
                update={"repeats": claims[folded].repeats + 1}
            )
            continue
        match = ground(
            entry.text,
            entry.quote,
            entry.sentences,
            task.text,
            task.sentences,
            question,
        )
        claims[folded] = Claim(
            id=f"{part}-{len(claims) + 1}",
            of=part,
            text=entry.text,
            # Models count from 0, or name the sentence after the last; the quote says where the
            # claim is.
            sentences=tuple([i for i in entry.sentences if 1 <= i <= len(task.sentences)]),
            span=match.span,
            grounding=match.grounding,
            missing_numbers=match.missing_numbers,
        )
    # A list of thirty names in one sentence may make thirty claims, one for each word at most.
    most = max(CLAIMS_PER_SENTENCE * len(task.sentences), len(task.text.split()))
    if len(claims) > most:
        return Failure(
            reason="too_many_claims",
            message=(
                f"{len(claims):,} claims from {len(task.sentences)} sentences; at most {most:,} are"
                " plausible, so none is judged"
            ),
        )
    return tuple(claims.values())


def join_alternatives(
    part: Part, extracted: Sequence[tuple[str, Claims | Failure]]
) -> Claims | Failure:
    """Return the claims of alternative texts, each marked with the number of its text.

    If the extraction of one text failed, the best alternative is unknown, so its failure is
    returned. Sentence ids and spans refer to the concatenated texts.
    """
    claims: list[Claim] = []
    start = sentences = 0
    for number, (text, new_claims) in enumerate(extracted, 1):
        if isinstance(new_claims, Failure):
            return new_claims
        for claim in new_claims:
            update = {
                "id": f"{part}-{len(claims) + 1}",
                "alternative": number,
                "sentences": tuple(sentences + i for i in claim.sentences),
                "span": claim.span and (claim.span[0] + start, claim.span[1] + start),
            }
            claims.append(claim.model_copy(update=update))
        start += len(text) + len(BETWEEN)
        sentences += len(split_sentences(text))
    return tuple(claims)
