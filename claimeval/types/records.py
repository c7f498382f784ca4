"""The records of an evaluation: samples, claims, verdicts, assessments, scores and calls.

All are frozen. Texts are kept exactly as given.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticSerializationError

from claimeval.types import html
from claimeval.types.errors import UsageError, unknown_name, visible

Part = str
"""A text or evidence set: `answer`, `reference`, `contexts`, `reference_contexts`, `history` (the
earlier turns), `contexts+history`, `asked` (the question), `claims` (given claims of no text), or a
name in `Sample.evidence`."""

ASKED: Part = "asked"
"""The question. Claims are rated by their relevance to it; it is no evidence."""

CLAIMS: Part = "claims"
"""The given claims of no text."""

HISTORY: Part = "history"
CONTEXTS_AND_HISTORY: Part = "contexts+history"


def claims_question(of: Part, against: Part) -> str:
    """Return the name of the judge question about claims of one part, assessed against another."""
    if against != ASKED:
        return "support"
    return "on_topic" if of == "answer" else "vital"


References = Literal["any", "together"]
"""Whether any one of several gold answers is enough, or only all of them together."""

Cause = Literal["not_retrieved", "split", "spread", "unused", "contradicted", "not_near"]
"""Where the fault of a failed claim lies, judged against passages of the corpus."""

CAUSES: dict[Cause, str] = {
    "not_retrieved": "stands in a passage that was not retrieved",
    "split": "is split over adjacent chunks",
    "spread": "needs passages that are far apart",
    "unused": "was retrieved and not used",
    "contradicted": "is contradicted by the corpus",
    "not_near": "the nearest passages say nothing of it",
}
"""Each cause in words."""

BETWEEN = "\n\n"
"""Separator of the documents of a part that are joined to one text."""

Label = Literal["supported", "contradicted", "not_found"]
"""A judge's label for one claim. Under a two-way prompt `not_found` means "not supported"."""

LABELS: tuple[Label, ...] = get_args(Label)

Grounding = Literal["exact", "fuzzy", "ids_only", "ungrounded", "given"]
"""How a claim is tied to its source text: verbatim quote, near-verbatim, sentence ids only, or not
at all. `given`: it came with the data."""

Reason = Literal[
    "no_claims",
    "missing_input",
    "no_evidence",
    "no_citations",
    "source_unread",
    "unsure",
    "tie",
    "undecided",
    "same_family",
    "no_quorum",
    "refused",
    "filtered",
    "truncated",
    "unparsable",
    "too_many_claims",
    "incomplete",
    "timeout",
    "provider_error",
    "judge_stopped",
    "over_budget",
    "not_in_cache",
    "too_long",
    "worker_died",
    "not_asked",
]
"""Why there is no label or no score: a closed list, used in results, summaries, tables and
reports."""

REASONS: dict[Reason, str] = {
    "no_claims": "the text makes no factual claim",
    "missing_input": "the sample lacks a text that the metric needs",
    "no_evidence": "there is nothing to count",
    "no_citations": "the answer cites nothing",
    "source_unread": "a source that the answer cites is not there or has no text",
    "unsure": "the judge abstained",
    "tie": "the judges are divided",
    "undecided": "the verdicts leave it open",
    "same_family": "the judge is of the family that wrote the answer",
    "no_quorum": "too few judges gave a verdict",
    "refused": "the judge declined to answer",
    "filtered": "the provider's content filter blocked the call",
    "truncated": "the reply was cut off at the token limit",
    "unparsable": "the reply is not in the agreed format",
    "too_many_claims": "the reply has more claims than its text can make",
    "incomplete": "the reply omits the claim, even when asked again",
    "timeout": "no complete reply in time",
    "provider_error": "the provider or the connection failed",
    "judge_stopped": "an earlier error stopped this judge (bad key, no quota, unknown model)",
    "over_budget": "the limit on cost or calls was reached",
    "not_in_cache": "the reply is not in the cache and no call may be made",
    "too_long": "the text does not fit into the model's context window",
    "worker_died": "its process crashed three times, or ran out of memory",
    "not_asked": "only other samples asked for the metric",
}
"""Each reason in words."""

NOT_APPLICABLE: frozenset[Reason] = frozenset(
    {"no_claims", "missing_input", "no_evidence", "no_citations", "not_asked"}
)
"""Reasons that lie in the sample: the metric does not apply to it. They are no failures."""

ABSTAINED: frozenset[Reason] = frozenset(
    {"unsure", "tie", "undecided", "same_family", "source_unread"}
)
"""Reasons that follow from a judge's abstention, a panel's rule, or a source that nobody could
read: bounds say what they leave open. Reasons in neither set are
failures and count against `--max-missing`."""


_ALPHANUMERIC = re.compile(r"[^\W_]")


def has_words(text: str) -> bool:
    """Return whether a text has a letter, a digit or an ideograph, so that it can make or support a
    claim.

    Texts without one, such as an empty string, `...` or emoji, mislead judges and are never sent.
    """
    return _ALPHANUMERIC.search(text) is not None


SHOWN_TEXT = 80
"""Characters of a text in the repr of a record."""
SHOWN_ITEMS = 3
"""Items of a sequence or mapping in it."""


class _Short:
    """A value whose repr is a text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _in_short(value: object) -> object:
    """Return a value, or what a repr shows of a long text, sequence or mapping."""
    if isinstance(value, str):
        return value if len(value) <= SHOWN_TEXT else f"{value[: SHOWN_TEXT - 1]}…"
    if type(value) is tuple:
        return _first_of(value)
    if isinstance(value, Mapping) and len(value) > SHOWN_ITEMS:
        first = dict(islice(value.items(), SHOWN_ITEMS))
        return _Short(f"{repr(first)[:-1]}, ... {len(value):,} in all}}")
    return value


def _first_of(values: tuple[object, ...]) -> object:
    """Return the first values of a sequence in short, with their number if there are more."""
    first = tuple(map(_in_short, values[:SHOWN_ITEMS]))
    if len(values) <= SHOWN_ITEMS:
        return first
    return _Short(f"{repr(first)[:-1]}, ... {len(values):,} in all)")


class Record(BaseModel):
    """A frozen record that rejects undeclared fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, allow_inf_nan=False)

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """Yield the fields that differ from their defaults, long values in short, so that a record
        fits a few lines of a prompt."""
        for name, value in super().__repr_args__():
            field = type(self).model_fields.get(name or "")
            if field is None or value != field.get_default(call_default_factory=True):
                yield name, _in_short(value)

    def model_dump_json(self, *, indent: int | None = None, **options: Any) -> str:
        """Return the JSON that pydantic writes. Lone surrogates, which UTF-8 cannot hold, become
        JSON escapes."""
        try:
            return super().model_dump_json(indent=indent, **options)
        except PydanticSerializationError:
            separators = (",", ":") if indent is None else None
            return json.dumps(
                self.model_dump(mode="json", **options),
                indent=indent,
                separators=separators,
            )

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Self:
        """Return the record that pydantic reads. Escapes of lone surrogates are read too."""
        try:
            return super().model_validate_json(json_data, **options)
        except ValidationError:
            try:
                content = json.loads(json_data)
            except (ValueError, RecursionError):
                content = None
            if not isinstance(content, dict):
                raise
            return cls.model_validate(content, **options)


class Evidence(Record):
    """What a claim is assessed against: a whole part, one of its documents, or its documents in
    another order."""

    part: Part
    document: int | None = Field(default=None, ge=1)
    """Rank of a single document, from 1; None for all documents."""
    order: int | None = Field(default=None, ge=1)
    """Number of the order of the documents, from 1 (see `other_order`); None for the original
    order."""

    @staticmethod
    @lru_cache(maxsize=4096)
    def of(part: Part, document: int | None = None, order: int | None = None) -> Evidence:
        """Return the evidence with these fields; a part alone is whole and in its original
        order."""
        return Evidence(part=part, document=document, order=order)

    @property
    def whole(self) -> Evidence:
        """The whole part in its original order."""
        return Evidence.of(self.part)

    @property
    def is_whole(self) -> bool:
        """Whether this is a whole part in its original order."""
        return self.document is None and self.order is None

    def __str__(self) -> str:
        if self.document is not None:
            return f"{self.part}, document {self.document}"
        return self.part if self.order is None else f"{self.part}, order {self.order}"


class Document(Record):
    """One retrieved or reference text. The order in a tuple is the rank.

    Examples:
        >>> hall = ce.Document(id="hall-1", title="Town hall", text="It opened in 1888.")
        >>> sample = ce.Sample(id="1", question="When did it open?", contexts=[hall])
        >>> sample.contexts[0].id
        'hall-1'
    """

    id: str
    """Its name, by which `reference_context_ids` and citations find it. A context without one gets
    its rank, which matches nothing."""
    text: str
    """What judges and metrics of words read."""
    title: str | None = None
    """Evidence like the text: judges read it too."""
    score: float | None = None
    """The retriever's score. No metric uses it: the rank is the position in `contexts`."""
    id_is_rank: bool = False
    """Whether the data have no id, so that `id` is the rank. Such an id matches nothing: rank 1 of
    one question is another document than rank 1 of the next."""

    @property
    def has_words(self) -> bool:
        """Whether text or title can support a claim."""
        return has_words(self.text) or (self.title is not None and has_words(self.title))


class Turn(Record):
    """One message of a conversation."""

    role: str
    """Author of the message: `user`, `assistant`, `system` or `tool`."""
    content: str

    def __str__(self) -> str:
        return f"{self.role}: {self.content}"


Numbering = Literal["rank", "zero", "printed", "id", "none"]
"""What a number in a citation is: the rank of a context, from 1 or from 0, the number that is
printed before its text or title, or the number in its id. `none`: numbers in brackets are no
citations, and other numbers mean what they mean where nothing is stated."""

GIVEN = "given"
"""The judge of labels that came with the data."""


class GivenClaim(Record):
    """A claim that comes with the data: of the gold answer, as a nugget is, or of no text."""

    text: str
    id: str | None = None
    """Unique in its sample; None: its part and its number, as in `reference-3`."""
    label: Label | None = None
    """The label that people gave it, with which `agreement` compares the judges."""
    importance: Literal["vital", "okay"] | None = None
    """Whether a good answer needs it; None: the judges are asked, if a metric needs it."""
    assignment: Literal["support", "partial_support", "not_support"] | None = None
    """Whether the answer has it; None: the judges are asked."""


class Sample(Record):
    """One question with the answer and contexts of a system.

    Examples:
        >>> sample = ce.Sample(
        ...     question="When did the hall open?",
        ...     answer="It opened in 1888.",
        ...     contexts=["The town hall opened in 1888."],
        ...     reference_answers=["1888"],
        ...     metadata={"topic": "buildings"},
        ... )
        >>> run = ce.score([sample], judges="local:lexical", metrics="faithfulness")
        >>> run["faithfulness"].mean
        1.0
    """

    id: str = ""
    """Empty for a sample made without one, which gets its number when it is read."""
    question: str
    """What was asked. Samples with the same question are one cluster, so that intervals and tests
    count it once."""
    history: tuple[Turn, ...] = ()
    """The turns of the conversation before the question, in order."""
    answer: str | None = None
    """The generated answer; None if there is none, empty if the system returned an empty text."""
    contexts: tuple[Document, ...] | None = None
    """The retrieved documents; `contexts[i]` is rank i+1. Empty if nothing was retrieved, None if
    this is unknown.

    A document without words keeps its rank but is no evidence.
    """
    sources: tuple[str, ...] = ()
    """What `[1]`, `[2]`, ... in the answer stand for, as ids, titles or addresses of contexts;
    empty if a number is the rank of a context."""
    sentence_ends: tuple[int, ...] = ()
    """Where each sentence of the answer ends, in characters, if the data divide it; empty if rules
    find its sentences. Citations belong to these sentences."""
    numbering: Numbering | None = None
    """What the numbers in the answer's citations are, as stated or as found over all samples; None:
    an id that is a number, else the rank of a context."""
    reference_answers: tuple[str, ...] = ()
    """Gold answers, without blank ones and those that differ from an earlier one only in case,
    white space or a final full stop."""
    references: References | None = None
    """`any`: each gold answer is correct by itself, and the closest one counts. `together`: they
    are correct only together. None: not stated, which counts as `any`."""
    reference_claims: tuple[GivenClaim, ...] = ()
    """The claims of the gold answer, if they are given; else they are extracted from
    `reference_answers`."""
    claims: tuple[GivenClaim, ...] = ()
    """Claims of no text, which `assess` was given."""
    reference_contexts: tuple[str, ...] = ()
    """Texts that bear the gold answer. Only `reference_support` reads them."""
    reference_context_ids: tuple[str, ...] = ()
    """Ids of the relevant documents, which retrieval metrics look for among those of `contexts`.
    Empty: these metrics have no value for the sample."""
    is_answerable: bool | None = None
    """Whether the documents answer the question: if not, `abstention_accuracy` wants an answer that
    declines. None: the sample does not count there."""
    generator: str | None = None
    """The model that wrote the answer, as `provider:model`. Judges of its family are flagged, and
    left out of the vote with `on_same_family`."""
    reference_author: str | None = None
    """The model that wrote the gold answers, as `provider:model`; None if people did or it is
    unknown."""
    evidence: dict[str, tuple[Document, ...]] = Field(default_factory=dict)
    """Further named evidence sets that claims can be assessed against."""
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    """Further fields by name. They change no score; tables, clusters and draws can name them."""

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            id: str = "",
            question: str,
            history: Sequence[Turn | Mapping[str, str]] = (),
            answer: str | None = None,
            contexts: Sequence[str | Document | Mapping[str, Any]] | None = None,
            sources: Sequence[str] = (),
            reference_answers: Sequence[str] = (),
            references: References | None = None,
            reference_claims: Sequence[GivenClaim | Mapping[str, Any]] = (),
            claims: Sequence[GivenClaim | Mapping[str, Any]] = (),
            reference_contexts: Sequence[str] = (),
            reference_context_ids: Sequence[str] = (),
            is_answerable: bool | None = None,
            generator: str | None = None,
            reference_author: str | None = None,
            evidence: Mapping[str, Sequence[Document | Mapping[str, Any]]] = {},
            metadata: Mapping[str, JsonValue] = {},
        ) -> None: ...

    @field_validator("contexts", mode="before")
    @classmethod
    def _contexts_are_numbered(cls, contexts: Any) -> Any:
        """Make documents of contexts that are texts or have no id, with their rank as id, as in a
        row of a file."""
        if not isinstance(contexts, (list, tuple)):
            return contexts
        named = ({"text": item} if isinstance(item, str) else item for item in contexts)
        return [
            {"id": str(rank), "id_is_rank": True, **item}
            if isinstance(item, Mapping) and "id" not in item
            else item
            for rank, item in enumerate(named, 1)
        ]

    @field_validator("reference_answers")
    @classmethod
    def _each_answer_once(cls, answers: tuple[str, ...]) -> tuple[str, ...]:
        # The ordinary case, for which a million samples need no comparison.
        if len(answers) == 1 and answers[0].strip():
            return answers
        first: dict[str, str] = {}
        for text in answers:
            if text.strip():
                # Data sets give "1888" and "1888." as two gold answers, which are one.
                first.setdefault(" ".join(text.casefold().split()).rstrip(" ."), text)
        return tuple(first.values())

    @property
    def brackets_cite(self) -> bool:
        """Whether numbers that are all a pair of brackets has are citations. They are unless the
        user says that they are not, and the sample does not say what they stand for."""
        return self.numbering != "none" or bool(self.sources)

    @property
    def full_question(self) -> str:
        """The question as judges read it: after the earlier turns of its conversation, without
        system messages."""
        turns = (
            # What an operator told a system is no part of what a user asked.
            [turn for turn in self.history if turn.role not in ("system", "developer")]
            if self.history
            else []
        )
        if not turns:
            return self.question
        turns.append(Turn(role="user", content=self.question))
        return "\n".join(map(str, turns))

    def has(self, part: Part) -> bool:
        """Return whether the sample has a part, even an empty one: whether `documents` of the part
        is not None."""
        if part == "answer":
            return self.answer is not None
        if part == "contexts":
            return self.contexts is not None
        if part in ("reference", "reference_contexts"):
            return any(
                map(
                    has_words,
                    self.reference_answers if part == "reference" else self.reference_contexts,
                )
            )
        if part == HISTORY:
            return bool(self.history)
        if part == CONTEXTS_AND_HISTORY:
            return self.contexts is not None or bool(self.history)
        return part == ASKED or part in self.evidence

    def has_claims(self, part: Part) -> bool:
        """Return whether the sample has a text with claims, or the claims themselves."""
        if self.has(part):
            return True
        given = self.given_claims(part)
        return bool(given)

    def given_claims(self, part: Part) -> tuple[tuple[str, GivenClaim], ...]:
        """Return the claims of a part that came with the data, each with its id."""
        given: tuple[GivenClaim, ...] = ()
        if part == "reference":
            given = self.reference_claims
        if part == CLAIMS:
            given = self.claims
        named = list[tuple[str, GivenClaim]]()
        for number, claim in enumerate(given, 1):
            name = claim.id or f"{part}-{number}"
            named.append((name, claim))
        return tuple(named)

    def documents(self, of: Part | Evidence) -> tuple[Document, ...] | None:
        """Return the documents of a part, or of evidence, in the order in which judges read them.

        Documents without words are left out. None if the sample does not have the part, empty if
        the part is empty.
        """
        if isinstance(of, str):
            whole = self._set(of)
            return (
                None
                if whole is None
                else tuple([document for document in whole if document.has_words])
            )
        ranked = self._ranked(of)
        return None if ranked is None else tuple(document for _, document in ranked)

    def ranks(self, of: Part | Evidence) -> tuple[int, ...]:
        """Return the original ranks, from 1, of the documents that `documents` returns."""
        return tuple(rank for rank, _ in self._ranked(of) or ())

    def _ranked(self, of: Part | Evidence) -> list[tuple[int, Document]] | None:
        """Return the documents that have words, each with its original rank."""
        part, single, order = (
            (of, None, None) if isinstance(of, str) else (of.part, of.document, of.order)
        )
        if (whole := self._set(part)) is None:
            return None
        ranked = [(rank, document) for rank, document in enumerate(whole, 1) if document.has_words]
        if order is not None:
            return [ranked[i] for i in other_order(self.id, order, len(ranked))]
        if single is not None:
            # A single document without words is no evidence, and not an empty part that supports
            # nothing.
            return [(rank, document) for rank, document in ranked if rank == single] or None
        return ranked

    def _set(self, part: Part) -> tuple[Document, ...] | None:
        """Return all documents of a part, also those without words; None if the sample does not
        have the part."""
        if part == "contexts":
            return self.contexts
        if part == "reference":
            return self._gold_answers() or None
        if part == "reference_contexts":
            return self._gold_contexts()
        if part == "answer":
            return None if self.answer is None else (Document(id="answer", text=self.answer),)
        if part == ASKED:
            return (Document(id="question", text=self.full_question),)
        if part == HISTORY:
            return self._turns() or None
        if part == CONTEXTS_AND_HISTORY:
            return (*(self.contexts or ()), *self._turns()) if self.has(part) else None
        return self.evidence.get(part)

    def _gold_answers(self) -> tuple[Document, ...]:
        answers = enumerate(self.reference_answers, 1)
        return tuple(
            [Document(id=f"reference-{i}", text=text) for i, text in answers if has_words(text)]
        )

    def _gold_contexts(self) -> tuple[Document, ...] | None:
        texts = self.reference_contexts
        if not any(map(has_words, texts)):
            return None
        ids = self.reference_context_ids
        names = ids if len(ids) == len(texts) else [str(i) for i in range(1, len(texts) + 1)]
        return tuple(Document(id=i, text=t) for i, t in zip(names, texts, strict=True))

    def _turns(self) -> tuple[Document, ...]:
        turns = enumerate(self.history, 1)
        return tuple(Document(id=f"turn-{i}", title=t.role, text=t.content) for i, t in turns)

    def alternatives(self, part: Part) -> bool:
        """Return whether a part has several texts each of which is enough, as gold answers have by
        default."""
        several = (
            part == "reference"
            and self.references != "together"
            and len(self.reference_answers) > 1
        )
        return several and sum(map(has_words, self.reference_answers)) > 1

    def texts(self, part: Part) -> tuple[str, ...] | None:
        """Return the texts to extract claims from: each alternative by itself, any other part as
        one text."""
        if self.alternatives(part):
            return tuple(filter(has_words, self.reference_answers))
        text = self.text(part)
        return None if text is None else (text,)

    def text(self, part: Part) -> str | None:
        """Return the part as one text; several documents are joined by a blank line."""
        if part == "answer":
            return self.answer
        if part == "reference":
            return BETWEEN.join(filter(has_words, self.reference_answers)) or None
        documents = self.documents(part)
        return None if documents is None else BETWEEN.join(d.text for d in documents)


REPORT = "report"
"""The metadata of a cited report: its file, and what is known of its sources without a call."""


def is_report(sample: Sample) -> bool:
    """Return whether a sample was read from a cited report and the folder of its sources. A field
    of a user's own that is called `report` is not enough."""
    found = sample.metadata.get(REPORT)
    return isinstance(found, dict) and {"file", "sources", "cited"} <= found.keys()


def other_order(sample_id: str, number: int, size: int) -> tuple[int, ...]:
    """Return the positions, from 0, of `size` documents in the shuffled order of this number, from
    1.

    The order depends only on the arguments. It is never the original one, and none is repeated
    before all have been used. Fewer than two documents have no other order.
    """
    if size < 2:
        return tuple(range(size))
    others = math.factorial(min(size, 12)) - 1
    cycle, position = divmod(number - 1, others)
    seen = {tuple(range(size))}
    draw = random.Random(
        f"{sample_id}/{cycle}"
    )  # seeded by a text, which Python hashes the same everywhere
    while len(seen) < position + 2:
        order = tuple(draw.sample(range(size), size))
        seen.add(order)
    return order


class Claim(Record):
    """One statement that is true or false by itself."""

    id: str
    """Unique in its sample: `answer-1`, `reference-3`."""
    of: Part
    """The part that the claim was extracted from."""
    text: str
    sentences: tuple[int, ...] = ()
    """Sentences of the source text that make the claim, from 1."""
    span: tuple[int, int] | None = None
    """Character offsets of the claim in the source text."""
    grounding: Grounding
    alternative: int | None = None
    """Number, from 1, of the gold answer that it was extracted from, if several are
    alternatives."""
    repeats: int = 0
    """Number of later claims of the text that repeated it and were left out."""
    missing_numbers: tuple[str, ...] = ()
    """Numbers of the claim that are neither in the source text nor in the question. Such a claim is
    ungrounded."""


def support(label: str | None, positive: bool | None) -> Label | None:
    """Return the label as scores of claims count it: a positive word of any scale is
    `supported`."""
    if positive is not None:
        return "supported" if positive else "not_found"
    return label  # type: ignore[return-value]  # without `positive` it is a word of `Label`


class EvidenceSpan(Record):
    """A sentence of a document: `text[start:end]`."""

    document: str
    """Id of the document."""
    start: int = Field(ge=0)
    end: int = Field(ge=0)


class Verdict(Record):
    """One judge's label for the subject of an assessment, or why there is none."""

    judge: str
    label: str | None = None
    """A word of the question's scale."""
    positive: bool | None = None
    """Whether the label counts as a yes. None without a label, and for the words of `Label`, which
    imply it."""
    unassessed: Reason | None = None
    """Why there is no label; None if there is one."""
    probability: float | None = Field(default=None, ge=0, le=1)
    """Probability of "supported", from token log probabilities or a local model; None if there is
    none."""
    explanation: str | None = None
    """The judge's justification of its verdict."""
    cites: tuple[str, ...] = ()
    """Ids of the documents that the judge relied on."""
    evidence: EvidenceSpan | None = None
    """The sentence that the explanation is about, found by its words; None without an explanation,
    and if the claim was not found."""
    replicate: int = 0
    """Number of the replicate, from 0."""
    windows: int | None = Field(default=None, ge=2)
    """Number of context windows that the evidence was read in; None if it was read whole."""
    call: int | None = Field(default=None, ge=0)
    """Place of its call in `SampleResult.calls`, from 0; None if the call gave no verdict, if the
    judge was not asked, and for imported verdicts."""
    prompt: str | None = None
    """Id of the prompt, for a judge that was asked and has no `call`; else the call names it."""

    @property
    def support(self) -> Label | None:
        """The label as scores of claims count it: a positive word of any scale is `supported`."""
        return support(self.label, self.positive)


class ReadVerdict(NamedTuple):
    """A verdict while its sample is evaluated, when its call has no place yet. The fields are those
    of `Verdict`."""

    judge: str
    label: str | None = None
    positive: bool | None = None
    unassessed: Reason | None = None
    probability: float | None = None
    explanation: str | None = None
    cites: tuple[str, ...] = ()
    evidence: EvidenceSpan | None = None
    replicate: int = 0
    windows: int | None = None
    key: str | None = None
    """Key of its call."""
    prompt: str | None = None

    @property
    def support(self) -> Label | None:
        """The label as scores of claims count it."""
        return support(self.label, self.positive)

    def placed(self, places: Mapping[str, int]) -> Verdict:
        """Return the verdict, given the places of the sample's calls by their keys."""
        fields: dict[str, Any] = self._asdict()
        call = None if (key := fields.pop("key")) is None else places[key]
        return Verdict(**fields | {"call": call, "prompt": self.prompt if call is None else None})


class Labeled(Record, extra="ignore"):
    """One subject and its label, without the verdicts behind it."""

    subject: str
    """Id of the claim or document; `answer` for a whole answer."""
    question: str
    """Name of the question that the judges were asked."""
    against: Part
    """The part that is the evidence."""
    document: int | None = Field(default=None, ge=1)
    """Rank, from 1, of the single document of the part that is the evidence; None for all
    documents."""
    order: int | None = Field(default=None, ge=1)
    """Number of the order of the documents, from 1 (see `other_order`); None for the original
    order."""
    label: str | None = None
    """A word of the question's scale."""
    positive: bool | None = None
    """Whether the label counts as a yes. None without a label, and for the words of `Label`, which
    imply it."""
    unassessed: Reason | None = None
    """Why there is no label; None if there is one."""
    tied: bool = False
    """Whether the judges are divided between words that are all positive or all not. The label is
    the lowest."""
    cause: Cause | None = None
    """Where the fault of a failed claim lies, if it was located."""

    @property
    def support(self) -> Label | None:
        """The label as scores of claims count it: a positive word of any scale is `supported`."""
        return support(self.label, self.positive)

    @property
    def evidence(self) -> Evidence:
        """What the subject is assessed against."""
        return Evidence.of(self.against, self.document, self.order)

    @property
    def is_whole(self) -> bool:
        """Whether the evidence is a whole part in its original order."""
        return self.document is None and self.order is None


class Assessment(Labeled, extra="forbid"):
    """One subject and its evidence: the verdicts of all judges and the label that they add up to.

    If the evidence is an empty part (nothing was retrieved, the answer is empty), no judge is
    asked: there are no verdicts, and the label is `not_found`.
    """

    verdicts: tuple[Verdict, ...]
    agreement: float | None = None
    """Share of the judges with a label who gave this one; None for a single judge or no label."""
    probability: float | None = None
    """Mean of the judges' probabilities of "supported"; a judge without one counts with its share
    of votes. None if the only vote has no probability."""
    entropy: float | None = None
    """Entropy of all votes in bits, 0 if all agree; None for fewer than two votes."""

    @property
    def unasked(self) -> bool:
        """Whether the evidence is empty, so that no judge was asked."""
        return not self.verdicts and self.label is not None

    @property
    def supported_by(self) -> tuple[str, ...]:
        """The ids of the documents that judges cite for a supported claim, each once, in the order
        of the judges; empty for any other claim. Those of outvoted judges do not count: they may
        contradict it."""
        if self.support != "supported":
            return ()
        cites: list[str] = []
        for verdict in self.verdicts:
            if verdict.support == "supported":
                cites += verdict.cites
        return tuple(dict.fromkeys(cites))


FAILED: tuple[Label | None, ...] = ("contradicted", "not_found", None)
"""Labels of claims that are not supported, in the order of messages."""
SHOWN = 160
SHOWN_DOCUMENTS = 3
"""Maximum number of characters of a text, and of documents if none is cited, in a message."""


class FailedClaim(NamedTuple):
    """A claim that is not supported, as text for a message."""

    rank: int
    """0 if contradicted, 1 if not found, 2 without a label, 3 for a text without claims."""
    text: str


_EQUAL = 1e-9
"""Rounding error by which a share may be below 0 or above 1."""


COUNTED = {
    **dict.fromkeys(("citation_precision", "alce_precision"), "citation"),
    **dict.fromkeys(("alce_recall", "support_precision", "support_recall"), "sentence"),
    "statements_lost": "sentence",
    **{
        "context_precision_claims": "context",
        "numbers_lost": "number",
        "dates_lost": "date",
        "names_lost": "name",
    },
}
"""What metrics count, by name; those that are missing count claims."""


class Score(Record):
    """The value of a metric for one sample, usually `hits` / `judged`, or None with the reason."""

    value: float | None
    unit: str
    """`share` for a value in [0, 1]; otherwise what is counted: tokens, gain, grade, ..."""
    hits: int | None = None
    """Number of supported claims; derived metrics may count something else. None if nothing is
    counted."""
    judged: int | None = None
    """Number of claims with a label."""
    total: int | None = None
    """Number of all claims, with the unassessed ones."""
    bounds: tuple[float, float] | None = None
    """The value if all unassessed claims were unsupported, and if all were supported; None if
    unknown."""
    because: Reason | None = None
    """Why there is no value."""
    alternative: int | None = None
    """Number, from 1, of the gold answer that the score is about, if several are alternatives."""

    def in_words(self, name: str) -> str:
        """Return the score in words, such as `faithfulness is 0.50 (1 of 2 claims)`."""
        if self.value is None:
            reason = f" ({self.because}: {REASONS[self.because]})" if self.because else ""
            return f"{name} is undefined{reason}"
        counted = COUNTED.get(name, "claim") + "s" * (self.judged != 1)
        of = (
            f" ({self.hits} of {self.judged} {counted})"
            if self.judged and self.unit == "share"
            else ""
        )
        return f"{name} is {two_decimals(self.value)}{of}"

    @classmethod
    def share(cls, value: float | None, **fields: Any) -> Score:
        """Return the score of a metric with values from 0 to 1."""
        return cls(value=value, unit="share", **fields)

    @classmethod
    def counted(cls, hits: int, judged: int, total: int) -> Score:
        """Return the score `hits / judged`, for at least one claim with a label."""
        bounds = hits / total, (hits + total - judged) / total
        return cls(
            value=hits / judged,
            unit="share",
            hits=hits,
            judged=judged,
            total=total,
            bounds=bounds,
        )

    @classmethod
    def undefined(
        cls,
        because: Reason | None,
        unit: str = "share",
        total: int | None = None,
    ) -> Score:
        """Return the score of a sample for which the metric has no value; `total` is its number of
        unjudged claims."""
        if total is None:
            return cls(value=None, unit=unit, because=because)
        bounds = (0.0, 1.0) if total else None
        return cls(
            value=None,
            unit=unit,
            because=because,
            hits=0,
            judged=0,
            total=total,
            bounds=bounds,
        )


class Call(Record):
    """One question to a judge about this sample, and the reply as it was received."""

    key: str
    """Key of the request in the reply cache."""
    step: str
    """`extract` or `assess`."""
    judge: str
    part: Part
    """The part whose claims the call is about."""
    evidence: Evidence | None = None
    """What the claims are assessed against; None for an extraction."""
    window: int | None = Field(default=None, ge=1)
    """Number of the context window, from 1, of a text that is too long for one; None for a whole
    text."""
    subjects: tuple[str, ...] = ()
    """Ids of the claims or documents that the call is about."""
    prompt: str | None = None
    """Id of the prompt; None for an imported call."""
    attempt: int = 0
    replicate: int = 0
    reused: bool = False
    """Whether the reply was copied from an earlier run, so that this run did not ask."""
    reply: str | None = None
    """The judge's unchanged text; None if the call failed."""
    failed: Reason | None = None
    message: str | None = None
    """The provider's error message, or what is wrong with the reply."""
    served_model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    """Prompt tokens that the provider read from its cache."""
    cache_write_tokens: int | None = None
    """Prompt tokens that the provider charged for writing to its cache."""
    dollars: float | None = None
    """US dollars that the provider states it charged; None if it states none."""
    seconds: float | None = None
    """Seconds from sending to the last byte of the original call; None if unknown."""


class ScoredSample(Record, extra="ignore"):
    """The claims, labels and scores of a sample: what a comparison reads of a line of
    `results.jsonl`."""

    sample: Sample
    scores: dict[str, Score] = Field(default_factory=dict)
    """The scores by metric."""
    claims: tuple[Claim, ...]
    """The claims of all parts."""
    assessments: tuple[Labeled, ...]
    """Claims, answers or documents against whole parts; then, if requested, against single
    documents, or against the documents in other orders."""

    @property
    def id(self) -> str:
        """The id of the sample."""
        return self.sample.id

    @property
    def labels(self) -> Sequence[Labeled]:
        """The labels that scores count: of claims, those against whole parts in their original
        order."""
        return [a for a in self.assessments if a.is_whole] if self.claims else self.assessments

    def claims_of(self, part: Part) -> tuple[Claim, ...]:
        """Return the claims of a part."""
        return tuple([claim for claim in self.claims if claim.of == part])


def two_decimals(value: float) -> str:
    """Return a value as representations show it; one digit of a number that would read as zero."""
    shown = f"{value:.2f}"
    return shown if float(shown) or not value else f"{value:.1g}"


def _score(score: Score) -> str:
    """Return a score with its counts, or why there is none."""
    if score.value is None:
        return f"undefined ({score.because})"
    counts = f" ({score.hits} of {score.judged})" if score.judged else ""
    return f"{two_decimals(score.value)}{counts}"


class SampleResult(ScoredSample, extra="forbid"):
    """The result of one sample, a line of `results.jsonl`: its claims, assessments, scores and
    calls."""

    assessments: tuple[Assessment, ...]
    """As for `ScoredSample`, with the verdicts of the judges."""
    unextracted: dict[Part, Reason] = Field(default_factory=dict)
    """Why no claims were extracted from a part: `no_claims`, or the reason of the failure."""
    details: dict[str, JsonValue] = Field(default_factory=dict)
    """What scores without a judge were computed from, and other results of a job that are no
    verdicts."""
    calls: tuple[Call, ...] = ()
    """A line of `replies.jsonl.gz`."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        """Raise ValueError for a label beside a reason, a label without `positive`, or a share
        above 1.

        These are checked once a line, because a check of every record takes as long as reading it.
        """
        for assessment in self.assessments:
            both: Sequence[Assessment | Verdict] = (assessment, *assessment.verdicts)
            for one in both:
                if (one.label is None) == (one.unassessed is None):
                    raise ValueError(
                        "a verdict or an assessment has a label or a reason why it has none, and"
                        " not both"
                    )
                if (one.positive is None) != (one.label is None or one.label in LABELS):
                    raise ValueError(
                        f"positive is set for words other than {', '.join(LABELS)}, and only for"
                        " these"
                    )
        for score in self.scores.values():
            if (
                score.unit == "share"
                and score.value is not None
                and not -_EQUAL <= score.value <= 1 + _EQUAL
            ):
                raise ValueError(f"the score is a share and has the value {score.value}")
        return self

    @classmethod
    def of(cls, sample: Sample, **fields: Any) -> SampleResult:
        """Return the result of a sample without claims and assessments."""
        return cls(sample=sample, claims=(), assessments=(), **fields)

    @property
    def whole(self) -> tuple[Assessment, ...]:
        """The assessments that scores count: of claims, those against whole parts in their original
        order."""
        return (
            tuple([a for a in self.assessments if a.is_whole]) if self.claims else self.assessments
        )

    @property
    def per_document(self) -> tuple[Assessment, ...]:
        """The assessments of claims against single documents."""
        return tuple([a for a in self.assessments if a.document is not None]) if self.claims else ()

    @property
    def orders(self) -> tuple[Assessment, ...]:
        """The assessments of claims against the documents in other orders."""
        return tuple([a for a in self.assessments if a.order is not None]) if self.claims else ()

    def columns(self) -> dict[tuple[Part, Part], list[Assessment]]:
        """Return the assessments of claims against whole parts, by (part of the claims, part of the
        evidence)."""
        part = {claim.id: claim.of for claim in self.claims}
        columns: dict[tuple[Part, Part], list[Assessment]] = {}
        for assessment in self.whole:
            columns.setdefault((part[assessment.subject], assessment.against), []).append(
                assessment
            )
        return columns

    def prompt_of(self, verdict: Verdict) -> str | None:
        """Return the id of the prompt of a verdict; None if the judge was not asked, and for
        imported verdicts."""
        if verdict.call is None:
            return verdict.prompt
        return self.calls[verdict.call].prompt if verdict.call < len(self.calls) else None

    def __getitem__(self, metric: str) -> Score:
        """Return the score of a metric by name. The KeyError for an unknown name has the closest
        metric."""
        if (score := self.scores.get(metric)) is None:
            raise KeyError(str(unknown_name("metric", metric, self.scores)))
        return score

    if TYPE_CHECKING:

        @property
        def faithfulness(self) -> float | None:
            """The value of this metric."""

        @property
        def correctness(self) -> float | None:
            """The value of this metric."""

        @property
        def coverage(self) -> float | None:
            """The value of this metric."""

        @property
        def context_recall(self) -> float | None:
            """The value of this metric."""

    else:

        def __getattr__(self, name: str) -> Any:
            """Return the value of a requested metric, as in `result.faithfulness`; None if it is
            undefined."""
            scores = self.__dict__.get("scores", {})
            return scores[name].value if name in scores else super().__getattr__(name)

    def assert_at_least(self, **minimums: float) -> None:
        """Assert minimum scores: `result.assert_at_least(faithfulness=0.9)`.

        Raises:
            AssertionError: If a score is lower or undefined. The message lists the claims that are
                not supported, with the judges' explanations and the evidence.
            UsageError: If there is no such score, or a limit is not from 0 to 1.
        """
        __tracebackhide__ = True
        if not minimums:
            raise UsageError("no metric to assert; name one, as in faithfulness=0.9")
        failed = []
        for name, limit in minimums.items():
            if name not in self.scores:
                raise unknown_name("metric", name, self.scores)
            if not 0 <= limit <= 1:
                raise UsageError(f"{name}={limit:g}: give a value from 0 to 1")
            if (value := self.scores[name].value) is None or value < limit:
                failed.append(f"{self.scores[name].in_words(name)}, not at least {limit:g}")
        if failed:
            raise AssertionError(
                "\n".join([*failed, *(claim.text for claim in self.failed_claims())])
            )

    def failed_claims(
        self,
        of: Part | None = None,
        against: Part | None = None,
    ) -> tuple[FailedClaim, ...]:
        """Return the claims that are not supported, as text: label and claim, then explanations and
        evidence.

        Contradicted claims come first, then those not found, then those without a label. `of` and
        `against` select the part of the claims and of the evidence; None for all.
        """
        claims = {claim.id: claim for claim in self.claims}
        failed: list[FailedClaim] = []
        for assessment in self.whole:
            claim = claims.get(assessment.subject)
            if claim is None or assessment.support == "supported":
                continue
            if of in (None, claim.of) and against in (None, assessment.against):
                words = self._in_words(claim, assessment)
                failed.append(FailedClaim(FAILED.index(assessment.support), words))
        unsupported = [
            FailedClaim(len(FAILED), f"no claims of {part}: {REASONS[why]}")
            for part, why in self.unextracted.items()
            if of in (None, part)
        ]
        return (*sorted(failed, key=lambda claim: claim.rank), *unsupported)

    def _in_words(self, claim: Claim, assessment: Assessment) -> str:
        why = assessment.unassessed and f"unassessed ({assessment.unassessed})"
        lines = [f"{why or assessment.label}: {visible(claim.text)}"]
        for verdict in assessment.verdicts:
            reason = verdict.explanation or (verdict.unassessed and REASONS[verdict.unassessed])
            if reason:
                lines.append(f"{verdict.judge}: {visible(reason, SHOWN)}")
        lines += self._evidence_in_words(assessment)
        return "\n    ".join(lines)

    def _evidence_in_words(self, assessment: Assessment) -> Iterator[str]:
        """Yield the documents that judges cite, else the first ones, a line each."""
        documents = self.sample.documents(assessment.evidence) or ()
        if not documents:
            yield f"{assessment.against}: empty"
            return
        cited = set[str]().union(*(verdict.cites for verdict in assessment.verdicts))
        shown = [document for document in documents if document.id in cited]
        for document in shown or documents[:SHOWN_DOCUMENTS]:
            yield f"{assessment.against} {document.id}: {visible(document.text, SHOWN)}"
        more = len(documents) - SHOWN_DOCUMENTS
        if not cited and more > 0:
            yield f"and {more} more"

    def _repr_html_(self) -> str:
        claims = {claim.id: claim for claim in self.claims}
        columns: dict[str, list[html.Html]] = {}
        for a in (*self.whole, *self.per_document):
            claim = claims.get(a.subject)
            line = html.labeled(
                a.label or f"{a.unassessed}",
                a.support,
                claim.text if claim else a.subject,
            )
            columns.setdefault(
                f"{claim.of if claim else a.question} against {a.evidence}", []
            ).append(line)
        return html.shown(
            *(
                html.element("div", html.element("small", str(turn)))
                for turn in self.sample.history
            ),
            html.element("p", html.element("b", f"{self.sample.id}: {self.sample.question}")),
            *([html.element("blockquote", self.sample.answer)] if self.sample.answer else ()),
            *(html.element("div", score.in_words(name)) for name, score in self.scores.items()),
            *(html.listed(heading, lines) for heading, lines in columns.items()),
        )

    def __repr__(self) -> str:
        scores = ", ".join(f"{name} {_score(score)}" for name, score in self.scores.items())
        return (
            f"<SampleResult {self.sample.id!r}, {len(self.claims)} claims: {scores or 'no score'}>"
        )

    __str__ = __repr__
