"""What differs in the inputs of one sample in two runs: documents, answer, gold answer,
question."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

from claimeval.lexical.claims import sentence_kinds
from claimeval.lexical.languages import NAMES as LANGUAGES
from claimeval.lexical.languages import language_of
from claimeval.lexical.sentences import sentences
from claimeval.metrics.flips import ByText, assessments_by_text
from claimeval.runs.documents import MatchedDocuments, folded, match, name_of
from claimeval.runs.pairing import folded as folded_question
from claimeval.types.records import (
    CONTEXTS_AND_HISTORY,
    Part,
    Sample,
    SampleResult,
    ScoredSample,
    has_words,
)

Answer = Literal["missing", "refusal", "claimless", "longer", "shorter", "answer"]
"""How an answer differs: one run has none, or declines, or makes no claim, or one has all that the
other says and more."""
Kind = Literal["documents", "recut", "order", "answer", "gold", "question", "spelling", "history"]
"""What differs: other documents, of which some may be cut otherwise, the same in another order, or
another text. A question is its own text but for case and blanks, which are its `spelling`;
`history` is another conversation before the same one."""
Retrieval = Literal["lost", "gained", "rewritten"]
KEPT = 0.8
"""Share of the sentences of an answer from which a longer one keeps it."""


class ChangedDocument(NamedTuple):
    """What happened to a document; `name` is None where several changed and nobody can tell which
    counts."""

    change: Retrieval
    name: str | None


def declines(text: str, *, claims: bool) -> bool:
    """Return whether an answer declines to answer, by what it says: a sentence that does, and
    nothing else that is asserted.

    `claims` says whether claims were extracted from it. Without any, what stands beside such a
    sentence ("I do not know. The documents are about rivers.") does not count as an answer, and a
    word alone ("None.") is one where it makes a claim. How often a text is given says nothing:
    "Yes." to twenty questions is twenty answers.
    """
    # "None." and "Unknown." are answers where a judge takes a claim from them.
    if claims and len(text.split()) == 1:
        return False
    has_refusal = False
    for _, kind in sentence_kinds(text):
        if claims and kind == "statement":
            return False  # as of most answers the first sentence, so that no other is looked at
        has_refusal = has_refusal or kind == "refusal"
    return has_refusal


def _texts(sample: Sample, part: Part) -> object:
    """Return the texts of a part that judges are shown."""
    documents = sample.documents(part)
    return documents and [(document.title, document.text) for document in documents]


def _claimless(result: ScoredSample) -> bool:
    reasons = [score.because for score in result.scores.values()]
    return not result.claims_of("answer") and "no_claims" in reasons


@lru_cache(maxsize=4)
def _sentences(text: str) -> set[str]:
    """Return the sentences of an answer, which is compared both ways with that of the other run."""
    return {folded(text[start:end]) for start, end in sentences(text)}


def _says_more(text: str, other: str) -> bool:
    """Return whether an answer has what another one says, and more."""
    longer = _sentences(text)
    shorter = _sentences(other)
    if len(longer) > len(shorter) and len(longer & shorter) >= KEPT * len(shorter):
        return True
    # “It opened in 1902, in spring.” has no sentence more than “It opened in 1902.”
    return folded(text).startswith(folded(other))


def _retrieved(part: Part) -> Part:
    return "contexts" if part == CONTEXTS_AND_HISTORY else part


class Inputs:
    """The inputs of a sample in two runs. `full` reads the verdicts, which say what documents
    judges relied on."""

    def __init__(
        self, a: ScoredSample, b: ScoredSample, full: Callable[[int], SampleResult] | None = None
    ) -> None:
        self.results = (a, b)
        self._full = full
        self._cited: dict[int, dict[tuple[Part, str], set[str]]] = {}
        self.a = a.sample
        self.b = b.sample
        self._documents: dict[Part, MatchedDocuments] = {}
        self._changes: dict[tuple[Part, int], dict[str, ChangedDocument]] = {}
        self._differs: dict[Part, bool] = {}

    def documents(self, part: Part = "contexts") -> MatchedDocuments:
        """Return the matched documents of a part; a conversation has those of its contexts."""
        part = _retrieved(part)
        if part not in self._documents:
            self._documents[part] = match(
                *(sample.documents(part) or () for sample in (self.a, self.b))
            )
        return self._documents[part]

    def differs(self, part: Part) -> bool:
        """Return whether judges are shown other texts of a part."""
        if part not in self._differs:
            texts = _texts(self.a, part) != _texts(self.b, part)
            alternatives = self.a.alternatives(part) != self.b.alternatives(part)
            self._differs[part] = texts or alternatives
        return self._differs[part]

    @cached_property
    def assessments(self) -> tuple[ByText, ByText]:
        """The assessments of each run, by claim and evidence."""
        a, b = map(assessments_by_text, self.results)
        return a, b

    def _cites(self, run: int) -> dict[tuple[Part, str], set[str]]:
        """Return the documents that were cited for each supported claim of a run, by part and text
        of the claim."""
        if run not in self._cited:
            of_run = self._cited[run] = {}
            result = self._full(run) if self._full else None
            texts = {claim.id: claim.text for claim in result.claims} if result else {}
            for one in result.whole if result else ():
                if ids := one.supported_by:
                    claim = _retrieved(one.against), texts.get(one.subject, "")
                    of_run.setdefault(claim, set()).update(ids)
        return self._cited[run]

    def _changed(self, part: Part, run: int) -> dict[str, ChangedDocument]:
        """Return the documents that only this run has, or has with another text, by id."""
        part = _retrieved(part)
        if (part, run) not in self._changes:
            found = self.documents(part)
            sides = [sample.documents(part) or () for sample in (self.a, self.b)]
            before = {pair[run]: sides[0][pair[0]] for pair in found.pairs.items()}
            changed: dict[str, ChangedDocument] = {}
            for place, change in sorted(found.changes[run].items()):
                if place in found.copies[run]:
                    continue
                document = sides[run][place]
                if change == "recut":
                    changed[document.id] = ChangedDocument("rewritten", None)
                else:
                    # A rewritten document has its earlier name, by which people know it.
                    name = name_of(before.get(place, document))
                    changed[document.id] = ChangedDocument(change, name)
            self._changes[part, run] = changed
        return self._changes[part, run]

    def changed_for(self, part: Part, claim: str, *, up: bool) -> ChangedDocument | None:
        """Return the document for which the label of a claim changed: one that was cited for it,
        else what changed.

        None if the documents are the same, apart from their order.
        """
        if not self.documents(part).changed:
            return None
        changed = self._changed(part, int(up))
        # A set of strings has another order in each process, and the same runs shall name the same
        # document.
        for document in sorted(self._cites(up).get((_retrieved(part), claim), ())):
            if document in changed:
                return changed[document]
        return self._anything(part, up=up)

    def all_changed(self, part: Part = "contexts") -> set[ChangedDocument]:
        """Return what happened to the documents of a part."""
        if not self.documents(part).changed:
            return set()
        return {*self._changed(part, 0).values(), *self._changed(part, 1).values()}

    def _anything(self, part: Part, *, up: bool) -> ChangedDocument | None:
        """Return what changed of the documents, with its name if it is only one; None if documents
        of both runs are only repeated."""
        of_both = self.all_changed(part)
        if not of_both:
            return None
        order: tuple[Retrieval, ...] = (
            ("gained", "rewritten", "lost") if up else ("lost", "rewritten", "gained")
        )
        change = next(kind for kind in order if any(one.change == kind for one in of_both))
        names = {one.name for one in of_both if one.change == change}
        return ChangedDocument(change, names.pop() if len(names) == 1 else None)

    def with_answer(self) -> ChangedDocument | None:
        """Return a changed document that was cited in this sample, so that another answer may
        follow from it.

        Without any citation, it is whatever changed.
        """
        if not self.documents().changed:
            return None
        for run in (0, 1):
            changed = self._changed("contexts", run)
            ids = set[str]()
            for (part, _), cites in self._cites(run).items():
                if part == "contexts":
                    ids |= cites
            if found := sorted(ids & changed.keys()):
                return changed[found[0]]
        # Judges who cite documents and cited none of the changed ones are the reason to name none;
        # a local judge cites nothing, and says nothing against any.
        return None if any(map(self._cites, (0, 1))) else self._anything("contexts", up=False)

    @cached_property
    def claimless(self) -> tuple[bool, bool]:
        """Whether no claim was found in the answer of each run."""
        a, b = map(_claimless, self.results)
        return a, b

    @cached_property
    def declined(self) -> tuple[bool, bool]:
        """Whether the answer of each run declines to answer."""
        found: list[bool] = []
        for sample, claimless in zip((self.a, self.b), self.claimless, strict=True):
            answer = sample.answer or ""
            # "None." is the gold answer to "How many moons has Venus?".
            is_gold = folded(answer) in map(folded, sample.reference_answers)
            found.append(not is_gold and declines(answer, claims=not claimless))
        return found[0], found[1]

    @cached_property
    def answer(self) -> Answer | None:
        """How the answers differ; None if they are the same."""
        texts = [sample.answer for sample in (self.a, self.b)]
        if texts[0] == texts[1]:
            return None
        # An empty answer neither declines nor has claims, so that it is told first.
        if not all(text and has_words(text) for text in texts):
            return "missing"
        if self.declined[0] != self.declined[1]:
            return "refusal"
        if self.claimless[0] != self.claimless[1]:
            return "claimless"
        before, after = (text or "" for text in texts)
        if _says_more(after, before):
            return "longer"
        return "shorter" if _says_more(before, after) else "answer"

    @property
    def gold(self) -> bool:
        """Whether gold answers or reference contexts differ."""
        a, b = (
            (one.reference_answers, one.reference_claims, one.reference_contexts)
            for one in (self.a, self.b)
        )
        return a != b

    @property
    def question(self) -> bool:
        """Whether the question, or the conversation before it, differs in more than case and
        blanks, by which samples are paired too."""
        a = self.a.full_question
        b = self.b.full_question
        return a != b and folded_question(a) != folded_question(b)


class Facts(NamedTuple):
    """What differs in the inputs of a sample, for the search of a cause over all samples."""

    documents: frozenset[tuple[Retrieval, str]]
    """Documents that changed, by name."""
    kinds: frozenset[Kind]
    """What differs."""
    answer: Answer | None
    lacking: int | None
    """The run without an answer, or with one that declines or makes no claim."""
    sizes: tuple[int, int]
    """Number of contexts in each run."""
    alone: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())
    """The documents that only run a has, and those that only run b has, each as a number."""
    words: tuple[int, int] = (0, 0)
    """Words of the answers, if they differ."""
    fields: tuple[tuple[str, str, str], ...] = ()
    """Fields of the sample that differ, with both values."""
    texts: tuple[str, str] = ("", "")
    """The answers, if they differ."""

    @classmethod
    def of(cls, inputs: Inputs) -> Facts:
        """Return what differs in the inputs of a sample."""
        a = inputs.a
        b = inputs.b
        sizes = len(a.contexts or ()), len(b.contexts or ())
        if a == b:
            return cls(frozenset(), frozenset(), None, None, sizes)  # nothing differs
        facts = cls(
            documents=frozenset((one.change, one.name) for one in inputs.all_changed() if one.name),
            kinds=_kinds(inputs),
            answer=inputs.answer,
            lacking=_lacking(inputs),
            sizes=sizes,
            alone=_alone(inputs),
            fields=tuple(_other_fields(inputs)),
        )
        # Equal texts are not kept: the facts of all samples stay in memory until the last pair.
        if inputs.answer is None:
            return facts
        texts = a.answer or "", b.answer or ""
        words = len(texts[0].split()), len(texts[1].split())
        return facts._replace(words=words, texts=texts)


def _kinds(inputs: Inputs) -> frozenset[Kind]:
    """Return what differs in the inputs of a sample."""
    matched = inputs.documents()
    same_question = folded_question(inputs.a.question) == folded_question(inputs.b.question)
    kinds: dict[Kind, object] = {
        "documents": matched.changed,
        "recut": any("recut" in of.values() for of in matched.changes),
        "order": matched.moved and not matched.changed,
        "answer": inputs.answer,
        "gold": inputs.gold,
        "question": not same_question,
        "spelling": same_question and inputs.a.question != inputs.b.question,
        "history": inputs.question and same_question,
    }
    return frozenset(kind for kind, differs in kinds.items() if differs)


def _lacking(inputs: Inputs) -> int | None:
    """Return the run without an answer, or with one that declines or makes no claim, if it is one
    of them."""
    if inputs.answer == "missing":
        return int(has_words(inputs.a.answer or ""))
    if inputs.answer == "refusal":
        return int(inputs.declined[1])
    if inputs.answer == "claimless":
        return int(inputs.claimless[1])
    return None


def _alone(inputs: Inputs) -> tuple[frozenset[int], frozenset[int]]:
    """Return the documents that only one run has."""
    only: list[frozenset[int]] = []
    matched = inputs.documents()
    for sample, changes, copies in zip(
        (inputs.a, inputs.b),
        matched.changes,
        matched.copies,
        strict=True,
    ):
        contexts = sample.contexts or ()
        gone = [i for i, change in changes.items() if change in ("lost", "gained")]
        places = [i for i in gone if i not in copies]
        # Numbers in place of texts, which would stay in memory for all samples of both runs.
        only.append(frozenset(hash((contexts[i].title, contexts[i].text)) for i in places))
    return only[0], only[1]


def _other_fields(inputs: Inputs) -> Iterator[tuple[str, str, str]]:
    """Yield the fields that differ, with both values: the generator, metadata, and the language of
    an answer that shares no sentence with the other one."""
    a = inputs.a
    b = inputs.b
    if a.generator != b.generator:
        yield "generator", str(a.generator), str(b.generator)
    for name, value in b.metadata.items():
        before = str(a.metadata.get(name))
        if before != str(value):
            yield name, before, str(value)
    if inputs.answer == "answer" and a.answer and b.answer:
        languages = language_of(a.answer), language_of(b.answer)
        if languages[0] and languages[1] and languages[0] != languages[1]:
            yield "answer language", LANGUAGES[languages[0]], LANGUAGES[languages[1]]
