"""Formulas of citations: whether the contexts that a sentence cites support what it claims.

Each claim of the answer has the citations of its sentences. A claim whose sentences are not known
has unknown ones. All values follow from the verdicts on single contexts. Definitions: ALCE
(arXiv:2305.14627, `eval.py`), support of TREC RAG 2024 (arXiv:2504.15205, castorini/RAGDoll
`support/metrics.py`).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Literal, NamedTuple

from claimeval.lexical.brackets import CitationMark, ShownTexts
from claimeval.lexical.citations import absent_sources, is_bare, marks, masked, name_key
from claimeval.lexical.sentences import Span, sentences
from claimeval.metrics.formulas import (
    BoundedValue,
    FormulaResult,
    Matrix,
    Truth,
    and_,
    not_,
    or_,
    support_of,
)
from claimeval.metrics.numbering import numbers_of
from claimeval.types.records import (
    Assessment,
    Claim,
    Document,
    Label,
    Sample,
    SampleResult,
    has_words,
)

_INDEX = re.compile(r"(?:co:|turn\d+[a-z]+)(?P<index>\d+)")
"""Marks of Cohere and ChatGPT, which number the results of a search from 0."""
_ADDRESS = re.compile(r"(?:https?://|www\.|/)\S+", re.IGNORECASE)


@dataclass(frozen=True)
class Unread:
    """A source that is named, by an address or in a list of sources, and is among no contexts."""

    name: str


Cited = tuple[int, ...] | Unread | str
"""The ranks, from 1, of the contexts that a name means (several if they are parts of one document,
with one title); or the name, if nothing says what it stands for."""


class Citation(NamedTuple):
    """One mark in an answer."""

    start: int
    end: int
    sentence: int
    """Number of its sentence, from 1; a mark between two sentences belongs to the first."""
    cited: tuple[Cited, ...]


_FILE = re.compile(r"[/\\]([^/\\?#]*[^\W\d_][^/\\?#]*\.[A-Za-z]\w{1,4})\Z")
"""The name of a file at the end of a path, by which models cite it."""


def names_of(contexts: Sequence[Document]) -> dict[str, tuple[int, ...]]:
    """Return the ranks, from 1, of the contexts with each name: an id, a title, an address, or the
    name of its file, as `name_key` writes it. An id takes precedence over a title, and a title over
    the name of a file."""
    ranks: dict[str, tuple[int, ...]] = {}
    for rank, document in enumerate(contexts, 1):
        if file := _FILE.search(document.id):
            ranks[name_key(file[1])] = (*ranks.get(name_key(file[1]), ()), rank)
    titles: dict[str, tuple[int, ...]] = {}
    for rank, document in enumerate(contexts, 1):
        if document.title:
            title = name_key(document.title)
            titles[title] = (*titles.get(title, ()), rank)
    ranks |= titles
    ranks |= {name_key(document.id): (rank,) for rank, document in enumerate(contexts, 1)}
    return ranks


def sentence_spans(sample: Sample) -> list[Span]:
    """Return the sentences of the answer: those that the data give, else those that rules find."""
    answer = sample.answer or ""
    if not sample.sentence_ends:
        return sentences(answer)
    spans: list[Span] = []
    start = 0
    for end in sample.sentence_ends:
        gap = answer[start:end]
        spans.append(Span(end - len(gap.lstrip()), end))
        start = end
    return spans


def of(sample: Sample, spans: Sequence[Span] | None = None) -> list[Citation]:
    """Return the citations of the answer, in order.

    A name is that of a context (its id, title or address). Else a number is a place in
    `Sample.sources`, if there are any, or what `numbers_of` says. With the numbering `none`,
    numbers in brackets cite only what `Sample.sources` or a list below the answer gives them.
    `spans` are the sentences of the answer; None: as `sentence_spans` finds them.
    """
    answer = sample.answer or ""
    contexts = sample.contexts or ()
    sources = sample.sources
    ranks = names_of(contexts)
    numbers = numbers_of(sample)
    highest = max(len(sources or contexts), *map(int, numbers)) if numbers else len(sources)
    lowest = min([1, *map(int, numbers)])
    found = marks(answer, ranks, highest, shown(sample), first=lowest)
    absent = absent_sources(answer, ranks)
    if not sample.brackets_cite:
        found = tuple([mark for mark in found if not is_number(answer, mark, absent)])
    if not found:
        return []
    spans = sentence_spans(sample) if spans is None else spans
    spoken = list(_spoken(answer, spans))
    names = _Names(sample, ranks, numbers, absent)
    citations = []
    for mark in found:
        before = bisect_right(spoken, mark.start, key=lambda sentence: sentence[0])
        cited = tuple(dict.fromkeys(map(names.meant, mark.names)))
        citations.append(
            Citation(mark.start, mark.end, spoken[before - 1][1] if before else 1, cited)
        )
    return citations


_NAMES_SOURCES = re.compile(
    r"\W*(?:sources?|references?|citations?|quellen?|fuentes?|fontes?|fonti|источник|来源|來源|出典"
    r"|출처)\s?[:：]",
    re.IGNORECASE,
)
_DASH = re.compile(r"[\s>*_]*(?:[—–―]|--)[\s*_]*")
"""What stands in a line before the name of whom it quotes."""
_ENDS_QUOTE = re.compile(r"[\"”»’“」][\s*_]*\Z")


def _spoken(answer: str, spans: Iterable[Span]) -> Iterator[tuple[int, int]]:
    """Yield the start and the number of the sentences that can be cited for.

    A line as "Source: [1]", or "— Smith [1]" below a quotation, says where the sentence above it
    comes from: its marks are those of that sentence.
    """
    text = masked(answer)
    before: Span | None = None
    for number, span in enumerate(spans, 1):
        if not has_words(text[slice(*span)]):
            continue
        names_source = _NAMES_SOURCES.match(answer, *span) is not None
        if before is None or not (names_source or _is_quoted_from(answer, before, span, text)):
            yield span.start, number
        before = span


def _is_quoted_from(answer: str, quoted: Span, span: Span, text: str) -> bool:
    """Return whether a sentence names whom the sentence before it quotes. `text` is the answer
    without its marks."""
    dash = _DASH.match(answer, answer.rfind("\n", 0, span.start) + 1)
    if dash is None or dash.end() < span.start:
        return False
    line = answer[answer.rfind("\n", 0, quoted.start) + 1 : quoted.start]
    in_block = line.lstrip().startswith(">")
    return in_block or _ENDS_QUOTE.search(text[slice(*quoted)].rstrip()) is not None


def is_number(answer: str, mark: CitationMark, absent: Container[str]) -> bool:
    """Return whether a mark of an answer is numbers in brackets, as `[1]` and `[2, 3]`, that no
    list of sources below the answer explains. `absent` are the labels of its sources that are no
    contexts."""
    if not is_bare(answer[mark.start : mark.end]):
        return False
    return all(name.isdecimal() and name not in absent for name in mark.names)


def shown(sample: Sample) -> ShownTexts:
    """Return what the answer of a sample may quote brackets from: what users asked, and the
    contexts. Earlier answers have marks of their own, which the next one may repeat."""
    asked = [turn.content for turn in sample.history if turn.role == "user"]
    return ShownTexts(
        "\n".join([*asked, sample.question]),
        tuple([context.text for context in sample.contexts or ()]),
    )


class _Names(NamedTuple):
    """What the names and numbers in the marks of an answer stand for."""

    sample: Sample
    ranks: Mapping[str, tuple[int, ...]]
    """The ranks of the contexts by name."""
    numbers: Mapping[str, int]
    """The ranks by the numbers that the data print or imply."""
    absent: Mapping[str, str]
    """Sources of the answer's own list that are no contexts."""

    def meant(self, name: str) -> Cited:
        """Return the contexts with this name or number, or what is known of it if there is none."""
        if name in self.absent:
            return Unread(self.absent[name])
        # A list of sources in the answer decides what its numbers mean, whatever the order of the
        # contexts.
        if name.isdecimal() and self.sample.sources:
            return self._listed(int(name)) or name
        # A context may have the id 7 and stand at another rank: its id is meant, unless the file
        # says how marks count. That brackets cite nothing does not say it of `Document 7`.
        is_counted = self.sample.numbering not in (None, "none")
        if name.isdecimal() and (is_counted or name not in self.ranks):
            return (self.numbers[name],) if name in self.numbers else name
        ranks = self.ranks.get(name_key(name))
        if ranks:
            return ranks
        # `co:0` and `turn1search0` count from 0.
        if place := _INDEX.fullmatch(name):
            rank = int(place["index"]) + 1
            return (rank,) if rank <= len(self.sample.contexts or ()) else name
        return Unread(name) if _ADDRESS.fullmatch(name) else name

    def _listed(self, number: int) -> Cited | None:
        """Return what the source with a number stands for; None if the list has no such number."""
        sources = self.sample.sources
        source = sources[number - 1] if 0 < number <= len(sources) else ""
        # A list with the numbers 1 and 3 has a gap, which is an empty text.
        if not source:
            return None
        return self.ranks.get(name_key(source)) or Unread(source)


def cited_contexts(sample: Sample) -> frozenset[int]:
    """Return the ranks of the contexts that the answer cites."""
    names = chain.from_iterable(citation.cited for citation in of(sample))
    return frozenset(ranks_of(names))


def ranks_of(cited: Iterable[Cited]) -> set[int]:
    """Return the ranks, from 1, of all contexts that names mean."""
    ranks: set[int] = set()
    for name in cited:
        if isinstance(name, tuple):  # a name that no context has means no rank
            ranks.update(name)
    return ranks


class CitedClaim(NamedTuple):
    """A claim of the answer and what it is known about its support."""

    sentences: Sequence[int]
    """Its sentences, from 1; empty if they are not known."""
    cited: tuple[Cited, ...]
    """What these sentences cite."""
    cells: Mapping[int, Assessment | None]
    """By rank, the assessment against a single context."""
    single: Mapping[int, Truth]
    """By rank, whether the context supports the claim."""
    whole: Truth
    """Whether all contexts together support it."""
    founded: Truth
    """Whether any contexts support it: one of them, else all of them together."""
    unresolved: Truth
    """Whether one of its citations names nothing: no context, no source that is listed."""

    def is_unread(self, cited: Iterable[Cited]) -> bool:
        """Return whether one of these sources is not there, or has no text that could be judged."""
        names = list(cited)
        return bool(ranks_of(names) - self.single.keys()) or any(
            isinstance(name, Unread) for name in names
        )

    def supported_by(self, cited: Iterable[Cited]) -> Truth:
        """Return whether one of these contexts supports the claim, or all of them together.

        Unknown if there are several, and all contexts support the claim together but none of them
        alone; and if none does, but one of them could not be read. A name that no context has
        supports nothing.
        """
        names = list(cited)
        ranks = ranks_of(names) & self.single.keys()
        one = or_([self.single[rank] for rank in ranks])
        # A source that could not be read may be the one that supports the claim.
        if one is False and self.is_unread(names):
            return None
        if one is not False or len(ranks) < 2:
            return one
        return and_(None, self.whole, not_(or_(self.single.values())))

    def support(self, cited: Cited) -> float | None:
        """Return the support of the claim by what one name means: 1, 0.5 if partial, 0 for none."""
        values = [support_of(self.cells[rank]) for rank in ranks_of([cited]) if rank in self.cells]
        if self.is_unread([cited]):
            values.append(None)
        known = [value for value in values if value is not None]
        return None if len(known) < len(values) and 1.0 not in known else max(known, default=0.0)

    @property
    def supported(self) -> Truth:
        """Whether its own citations support it."""
        return self.supported_by(self.cited) if self.sentences else and_(None, self.founded)

    @property
    def cites(self) -> Truth:
        """Whether it has a citation."""
        return bool(self.cited) if self.sentences else None


class CitedSentence(NamedTuple):
    """A sentence with claims or citations."""

    cited: tuple[Cited, ...]
    """What it cites, each once, in order."""
    claims: Sequence[CitedClaim]


class CitationTable(NamedTuple):
    """The claims and sentences of an answer with their citations."""

    citations: list[Citation]
    claims: list[CitedClaim]
    sentences: dict[int, CitedSentence]
    """By number, from 1."""

    @property
    def unplaced(self) -> list[CitedClaim]:
        """The claims whose sentences are not known."""
        return [claim for claim in self.claims if not claim.sentences]

    @property
    def claiming(self) -> list[CitedSentence]:
        """The sentences with claims, and those that may have one whose sentence is not known."""
        everywhere = bool(self.unplaced)
        return [sentence for sentence in self.sentences.values() if sentence.claims or everywhere]


@lru_cache(maxsize=1)
def table(m: Matrix) -> CitationTable:
    """Return the citations of a matrix, which all formulas read; made once."""
    spans = sentence_spans(m.sample)
    citations = of(m.sample, spans)
    # The extractor numbers the sentences that the rule finds, and the data may have ends of their
    # own.
    by_rule = sentences(m.sample.answer or "") if m.sample.sentence_ends else spans
    ranks = m.sample.ranks("contexts")
    cited: dict[int, dict[Cited, None]] = {}
    for citation in citations:
        cited.setdefault(citation.sentence, {}).update(dict.fromkeys(citation.cited))
    claims: list[CitedClaim] = []
    by_sentence: dict[int, list[CitedClaim]] = {number: [] for number in cited}
    every_name = chain.from_iterable(citation.cited for citation in citations)
    names_nothing = any(isinstance(name, str) for name in every_name)
    columns = (
        m.claims_of("answer"),
        m.cells("answer"),
        m.per_document("answer"),
        m.labeled("answer", "contexts"),
    )
    for claim, cells, single, whole in zip(*columns, strict=True):
        numbers = _numbers(claim, by_rule, spans)
        names = tuple(dict.fromkeys(_all_of(cited, numbers)))
        unresolved: Truth = any(isinstance(name, str) for name in names)
        # A claim of no known sentence may be the one whose mark names nothing.
        if not numbers and names_nothing:
            unresolved = None
        claims.append(
            CitedClaim(
                sentences=numbers,
                cited=names,
                cells=dict(zip(ranks, cells, strict=True)),
                single=dict(zip(ranks, single, strict=True)),
                whole=whole,
                founded=or_(single) or whole,
                unresolved=unresolved,
            )
        )
        for number in numbers:
            by_sentence.setdefault(number, []).append(claims[-1])
    numbered = {
        n: CitedSentence(tuple(cited.get(n, ())), by_sentence[n]) for n in sorted(by_sentence)
    }
    return CitationTable(citations, claims, numbered)


def _all_of(cited: Mapping[int, Mapping[Cited, None]], numbers: Iterable[int]) -> Iterator[Cited]:
    for number in numbers:
        yield from cited.get(number, ())


def _numbers(claim: Claim, by_rule: Sequence[Span], spans: Sequence[Span]) -> Sequence[int]:
    """Return the numbers of the sentences of a claim, those of the data where they are given."""
    numbers = _sentences(claim, by_rule)
    if by_rule is spans:
        return numbers
    return _given_sentences(claim, [by_rule[n - 1] for n in numbers], spans)


def _sentences(claim: Claim, spans: Sequence[Span]) -> Sequence[int]:
    """Return the numbers of the sentences of a claim: those it names, else those of its place in
    the text."""
    if claim.sentences or claim.span is None:
        return [number for number in dict.fromkeys(claim.sentences) if number <= len(spans)]
    start, end = claim.span
    return range(
        bisect_right(spans, start, key=lambda span: span.end) + 1,
        bisect_left(spans, end, key=lambda span: span.start) + 1,
    )


def _given_sentences(claim: Claim, by_rule: Sequence[Span], spans: Sequence[Span]) -> Sequence[int]:
    """Return the numbers of the sentences of the data in which a claim is: those of its place, else
    those that its sentences by rule overlap."""
    places = [Span(*claim.span)] if claim.span else by_rule
    numbers: dict[int, None] = {}
    for place in places:
        for number, span in enumerate(spans, 1):
            if span.start < place.end and place.start < span.end:
                numbers[number] = None
    return list(numbers)


class CheckedCitation(NamedTuple):
    """One mark in an answer, with what the verdicts say about it."""

    start: int
    end: int
    label: Label | None
    """Whether a context that it cites supports a claim of its sentence; None if this is not
    known."""
    document: str | None
    """Id of the first context that it cites."""
    words: str


def checked(result: SampleResult) -> list[CheckedCitation]:
    """Return the citations of the answer with what the verdicts on single contexts say; none
    without such verdicts."""
    if not any(a.against == "contexts" for a in result.per_document):
        return []
    known = table(Matrix.of(result))
    contexts = result.sample.contexts or ()

    found = []
    for start, end, sentence, cited in known.citations:
        claims = known.sentences[sentence].claims
        said = [_checked(contexts, claims, name) for name in cited]
        truth = or_(truth for truth, _ in said)
        label: Label | None = None
        if truth is not None:
            label = "supported" if truth else "not_found"
        document = next(
            (contexts[name[0] - 1].id for name in cited if isinstance(name, tuple)), None
        )
        found.append(
            CheckedCitation(start, end, label, document, "; ".join(text for _, text in said))
        )
    return found


def _checked(
    contexts: Sequence[Document],
    claims: Sequence[CitedClaim],
    cited: Cited,
) -> tuple[Truth, str]:
    """Return whether what a name means supports the claims of a sentence, and this in words."""
    if isinstance(cited, str):
        return None, f"no context is called {cited}"
    if isinstance(cited, Unread):
        return None, f"the source {cited.name} is not among the contexts"
    ids = _ids(contexts, cited)
    truth = or_([claim.supported_by([cited]) for claim in claims]) if claims else None
    if truth:
        return True, f"{ids} supports it"
    if truth is False:
        return False, f"not supported by {ids}{_instead(contexts, claims)}"
    if not any(contexts[rank - 1].has_words for rank in cited):
        return None, f"{ids} has no text"
    return None, f"not known whether {ids} supports it"


def _ids(contexts: Sequence[Document], ranks: Iterable[int]) -> str:
    return ", ".join([contexts[rank - 1].id for rank in ranks])


def _instead(contexts: Sequence[Document], claims: Sequence[CitedClaim]) -> str:
    """Return the contexts that support claims, in words; empty if there are none."""
    others: set[int] = set()
    for claim in claims:
        others.update([rank for rank, single in claim.single.items() if single])
    return f", supported by {_ids(contexts, sorted(others))} instead" if others else ""


LABELS: dict[Truth, str | None] = {True: "supported", False: "not_found", None: None}


class CitedSource(NamedTuple):
    """A source that a mark cites, and what judges say of it."""

    mark: str
    source: str | None
    """Id of the context, or the name of a source that is not there; None if the mark names
    nothing."""
    label: str | None
    """`supported`, `not_found`, `citation_unresolved` or `source_unread`; None if it is not
    known."""
    words: str
    sentence: str
    claims: tuple[str, ...]
    passage: str | None
    """The sentence of the source that a judge's reason is about."""


def cited_sources(result: SampleResult) -> list[CitedSource]:
    """Return every source that the marks of an answer cite, in order; none without verdicts on
    single contexts."""
    if not any(a.against == "contexts" for a in result.per_document):
        return []
    matrix = Matrix.of(result)
    known = table(matrix)
    texts = dict(zip(map(id, known.claims), matrix.claims_of("answer"), strict=True))
    found = list[CitedSource]()
    for citation in known.citations:
        claims = known.sentences[citation.sentence].claims
        stated = tuple([texts[id(claim)].text for claim in claims])
        for name in citation.cited:
            found.append(_cited_source(result.sample, citation, claims, name, stated))
    return found


def _cited_source(
    sample: Sample,
    citation: Citation,
    claims: Sequence[CitedClaim],
    name: Cited,
    stated: tuple[str, ...],
) -> CitedSource:
    answer = sample.answer or ""
    span = sentence_spans(sample)[citation.sentence - 1]
    truth, words = _checked(sample.contexts or (), claims, name)
    label = LABELS[truth]
    if isinstance(name, str):
        label = "citation_unresolved"
    elif any(claim.is_unread([name]) for claim in claims):
        label = "source_unread"
    return CitedSource(
        mark=answer[citation.start : citation.end].strip(),
        source=_name_of(sample, name),
        label=label,
        words=words,
        sentence=answer[span.start : span.end],
        claims=stated,
        passage=_passage(sample, claims, name),
    )


def _name_of(sample: Sample, cited: Cited) -> str | None:
    if isinstance(cited, Unread):
        return cited.name
    if isinstance(cited, str):
        return None
    return _ids(sample.contexts or (), cited)


def _passage(sample: Sample, claims: Sequence[CitedClaim], cited: Cited) -> str | None:
    """Return the sentence of a source that the reason of a judge is about; None without one."""
    contexts = sample.contexts or ()
    for rank in sorted(ranks_of([cited])):
        for claim in claims:
            cell = claim.cells.get(rank)
            for verdict in cell.verdicts if cell else ():
                if verdict.evidence:
                    return contexts[rank - 1].text[verdict.evidence.start : verdict.evidence.end]
    return None


CitationKind = Literal["right", "misplaced", "missing", "unfounded", "unresolved", "unknown"]
"""What is right or wrong with the citations of a claim."""


class ClaimCitations(NamedTuple):
    """What the verdicts on single contexts say about the citations of one claim."""

    claim: str
    """The id of the claim."""
    kind: CitationKind
    """`missing` if a context supports the claim and none is cited, `misplaced` if another context
    than the cited ones supports it, `unfounded` if none does, `unresolved` if a citation names
    nothing, `unknown` if verdicts are missing or the claim needs none."""
    cited: tuple[str, ...]
    """Ids of the contexts that it cites."""
    supporting: tuple[str, ...]
    """Ids of the contexts that support it alone, else of those that judges of all contexts name."""

    @property
    def words(self) -> str:
        """What is wrong, in words; empty if nothing is."""
        cited = ", ".join(f"[{name}]" for name in self.cited)
        supporting = ", ".join(f"[{name}]" for name in self.supporting)
        supporting = supporting or "all documents together"
        return {
            "misplaced": f"cites {cited}, and is supported by {supporting}",
            "missing": f"cites nothing, and is supported by {supporting}",
            "unfounded": f"cites {cited}, and no document supports it",
            "unresolved": "has a citation that names no document",
        }.get(self.kind, "")


def of_claims(result: SampleResult) -> list[ClaimCitations]:
    """Return what is right or wrong with the citations of each claim of the answer; none without
    verdicts on single contexts."""
    if not any(a.against == "contexts" for a in result.per_document):
        return []
    m = Matrix.of(result)
    # a context without words has a rank and is no document: a source that could not be read
    documents = m.sample.documents("contexts") or ()
    ids = {
        rank: document.id
        for rank, document in zip(m.sample.ranks("contexts"), documents, strict=True)
    }
    of_contexts = [one for one in result.whole if one.against == "contexts"]
    named = {one.subject: one.supported_by for one in of_contexts}
    found = []
    for claim, known in zip(m.claims_of("answer"), table(m).claims, strict=True):
        cited = [ids[rank] for rank in sorted(ranks_of(known.cited)) if rank in ids]
        supporting = [ids[rank] for rank, truth in known.single.items() if truth]
        # Where cited contexts alone were judged, a judge of all of them names the one that does.
        sources = tuple(supporting) or named.get(claim.id, ())
        found.append(ClaimCitations(claim.id, _kind(known), tuple(cited), sources))
    return found


def _kind(claim: CitedClaim) -> CitationKind:
    """Return what is right or wrong; the kinds are those that the metrics count."""
    if claim.supported:
        return "right"
    if claim.cites is False:
        return "missing" if claim.founded else "unknown"
    if claim.cites is None or claim.unresolved is None or claim.supported is None:
        return "unknown"
    if claim.unresolved:
        return "unresolved"
    if claim.founded is None:
        return "unknown"
    return "misplaced" if claim.founded else "unfounded"


def recall(m: Matrix) -> FormulaResult:
    """Answer claims that the contexts cited with them support."""
    return [claim.supported for claim in table(m).claims]


def missing(m: Matrix) -> FormulaResult:
    """Answer claims without a citation that the contexts support."""
    return [and_(not_(claim.cites), claim.founded) for claim in table(m).claims]


def misplaced(m: Matrix) -> FormulaResult:
    """Answer claims with citations that do not support them, while other contexts do."""
    return [
        and_(claim.cites, not_(claim.unresolved), not_(claim.supported), claim.founded)
        for claim in table(m).claims
    ]


def unfounded(m: Matrix) -> FormulaResult:
    """Answer claims with citations that no contexts support."""
    return [
        and_(claim.cites, not_(claim.unresolved), not_(claim.supported), not_(claim.founded))
        for claim in table(m).claims
    ]


def unresolved(m: Matrix) -> FormulaResult:
    """Answer claims with a citation that names nothing, and without one that supports them.

    Nobody knows what it stands for, so the claim is neither misplaced nor unfounded.
    """
    return [and_(claim.unresolved, not_(claim.supported)) for claim in table(m).claims]


def are_unread(m: Matrix) -> bool:
    """Return whether an answer cites a source that is not there or has no text."""
    return any(claim.is_unread(claim.cited) for claim in table(m).claims)


def precision(m: Matrix) -> FormulaResult:
    """Citations that support a claim of their sentence; one of a document that does not exist
    supports none."""
    citations = table(m)
    truths: list[Truth] = []
    for sentence in citations.sentences.values():
        for name in sentence.cited:
            if isinstance(name, str):
                # A mark that names nothing counts against precision, as a citation that a reader
                # cannot follow.
                truths.append(False)
            elif sentence.claims or citations.unplaced:
                here = [claim.supported_by([name]) for claim in sentence.claims]
                truths.append(
                    or_(
                        here
                        + [and_(None, claim.supported_by([name])) for claim in citations.unplaced]
                    )
                )
    return truths


def alce_recall(m: Matrix) -> FormulaResult:
    """Sentences with claims whose citations, together, support all their claims; none that cite
    what does not exist."""
    return [_entailed(sentence, sentence.cited, m) for sentence in table(m).claiming]


def alce_precision(m: Matrix) -> FormulaResult:
    """Citations of supported sentences that support the sentence alone, or without which the others
    do not.

    The citations of a sentence that cites a document that does not exist are not counted.
    """
    truths: list[Truth] = []
    for sentence in table(m).claiming:
        if any(isinstance(name, str) for name in sentence.cited):
            continue
        supported = _entailed(sentence, sentence.cited, m)
        for name in sentence.cited:
            others = [other for other in sentence.cited if other != name]
            alone = supported is not False and _entailed(sentence, [name], m)
            # ALCE's rule: a citation is redundant if the others support the sentence without it.
            needed = not others or (alone is not True and not_(_entailed(sentence, others, m)))
            truths.append(and_(supported, or_([alone, needed])))
    return truths


def support_precision(m: Matrix) -> FormulaResult:
    """Mean support of the sentences with claims and citations by the first context that they
    cite."""
    return _mean_support(m, [sentence for sentence in table(m).claiming if sentence.cited])


def support_recall(m: Matrix) -> FormulaResult:
    """Mean support of all sentences with claims by the first context that they cite; 0 without
    citation."""
    return _mean_support(m, table(m).claiming)


def _entailed(sentence: CitedSentence, cited: Sequence[Cited], m: Matrix) -> Truth:
    """Return whether these contexts, together, support all claims of a sentence."""
    if not cited or any(isinstance(name, str) for name in cited):
        return False
    here = [claim.supported_by(cited) for claim in sentence.claims]
    return and_(*here, *(or_([None, claim.supported_by(cited)]) for claim in table(m).unplaced))


def _mean_support(m: Matrix, counted: Sequence[CitedSentence]) -> FormulaResult:
    """Return the mean over sentences of 1 if the first citation has all their claims, 0.5 if some,
    0 if none."""
    ends = [list(_grades(sentence, table(m).unplaced)) for sentence in counted]
    if not ends:
        return []
    # A sentence that may or may not have one more claim is in the bounds only.
    known = [grades[0] for grades in ends if min(grades) == max(grades)]
    if not known:
        return None
    low, high = (sum(map(end, ends)) / len(ends) for end in (min, max))
    return BoundedValue(sum(known) / len(known), low, high)


def _grades(sentence: CitedSentence, unplaced: Sequence[CitedClaim]) -> Iterator[float]:
    """Yield the least and most support of a sentence, with and without the claims that may be in
    it."""
    if not sentence.cited:
        yield 0.0
        return
    here = [claim.support(sentence.cited[0]) for claim in sentence.claims]
    possible = [here]
    if unplaced:
        possible.append(here + [claim.support(sentence.cited[0]) for claim in unplaced])
    for cells in filter(None, possible):
        for unknown in (0.0, 1.0) if None in cells else (0.0,):
            yield _grade([unknown if cell is None else cell for cell in cells])


def _grade(supports: Sequence[float]) -> float:
    """Return the support of a sentence: 1 if all its claims have it, 0.5 if some, 0 if none."""
    if min(supports) == 1:
        return 1.0
    return 0.5 if max(supports) > 0 else 0.0
