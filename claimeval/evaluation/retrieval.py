"""Rank metrics of the retrieved contexts of samples against their reference contexts, by id or by
content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple, get_args

from claimeval import ir
from claimeval.data.context_ids import NO_IDS, has_ids
from claimeval.ir.mappings import collapse_names
from claimeval.lexical.citations import without
from claimeval.metrics.scoring import defined, undefined
from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.records import Sample, Score

MEASURES = "mrr,map,recall@5,P@5,ndcg@10"
"""The default measures. RAG tasks often call `mrr` context correctness."""

Match = Literal["ids", "text"]
"""How retrieved documents are matched with references: by id, or because one text contains the
other. A judge can match the remaining pairs (`grade`). None: by id, or by text in samples whose
contexts or references have no ids."""

CONTAINED_FROM = 20
"""Minimum characters of a retrieved text that counts as a reference because the reference contains
it."""
_AT_ONCE = 1000


def asked(measures: str) -> tuple[ir.Measure, ...]:
    """Return the measures with these names. Raises UsageError for a measure that is not a mean over
    samples."""
    parsed = ir.parse(measures)
    for measure in parsed:
        # A sum such as `num_rel` over questions has no mean with an interval.
        if measure.row.summary != "mean":
            raise UsageError(f"{measure.name} is no mean over samples; use `claimeval rank`")
    return parsed


def units(measures: Sequence[ir.Measure]) -> dict[str, str]:
    """Return the unit of each measure: a share, or gain for DCG without its ideal."""
    return {measure.name: "gain" if measure.row.name == "dcg" else "share" for measure in measures}


def score(
    samples: Iterable[Sample],
    measures: Sequence[ir.Measure],
    match: Match | None = None,
    *,
    fold: str | None = None,
) -> Iterator[dict[str, Score]]:
    """Yield the values of each sample in order, with the numbers of trec_eval; `contexts[i]` is
    rank i+1.

    A sample without references or contexts has no value and a reason, as has a sample that is
    matched by id and whose contexts have no ids in the data: a rank is no id. If its contexts are
    given and empty, its values are 0. Every reference counts as relevant with grade 1.

    Args:
        samples: The samples.
        measures: The measures to compute.
        match: How contexts are matched with references.
        fold: Regular expression whose matches are removed from ids, of references too. If contexts
            then have the same id, the best rank is kept.
    """
    source = iter(samples)
    # The measures are computed in arrays over many samples at once.
    while chunk := list(islice(source, _AT_ONCE)):
        qrels = {}
        run = {}
        for i, sample in enumerate(chunk):
            match_of_sample = matched_by(sample, match).match
            if match_of_sample:
                qrels[str(i)] = dict.fromkeys(_references(sample, match_of_sample, fold), 1)
                run[str(i)] = _scores(_ranked(sample, match_of_sample, fold))
        values = dict(ir.evaluate(qrels, run, measures).per_query) if qrels else {}
        for i, _ in enumerate(chunk):
            value = values.get(str(i))
            if value:
                yield defined(value, units(measures))
            else:
                yield undefined(units(measures), "missing_input")


class Matching(NamedTuple):
    """How the contexts of one sample are matched with its references."""

    match: Match | None
    """None: they are not."""
    because: str | None = None
    """Why they are not matched by id, if the sample has references."""


def matched_by(sample: Sample, match: Match | None) -> Matching:
    """Return how the contexts of a sample are matched with its references."""
    if sample.contexts is None:
        return Matching(None)
    if match == "text":
        return Matching("text" if sample.reference_contexts else None)
    if sample.reference_context_ids and has_ids(sample):
        return Matching("ids")
    because = NO_IDS if sample.reference_context_ids else "references have no ids"
    if match is None and sample.reference_contexts:
        return Matching("text", because)
    return Matching(None, because if sample.reference_context_ids else None)


def check_match(match: str | None, fold: str | None) -> None:
    """Raise UsageError for an unknown match, or if ids are to be collapsed but not compared."""
    if match is not None and match not in get_args(Match):
        raise unknown_name("match", match, get_args(Match))
    if fold and match == "text":
        raise UsageError(
            "ids are collapsed only if contexts are matched by id, not with match='text'"
        )


def _ranked(sample: Sample, match: Match, fold: str | None) -> list[str]:
    """Return the names of the retrieved documents, best first."""
    if match == "text":
        return assigned(references_in_text(sample))
    names = [document.id for document in sample.contexts or ()]
    return collapse_names(names, fold) if fold else names


class ReferenceMatches(NamedTuple):
    """The references that each retrieved document contains."""

    references: dict[str, str]
    """The text of each reference by name: `reference-1`, ..."""
    by_rank: dict[int, set[str]]
    """The names of the references in the document at each rank."""


def references_in_text(sample: Sample) -> ReferenceMatches:
    """Match retrieved documents with references by their texts, ignoring case, white space and
    citations.

    A document matches a reference if it contains its text, or is a piece of it of at least
    `CONTAINED_FROM` characters.
    """
    references = dict(zip(_references(sample, "text"), sample.reference_contexts, strict=True))
    folded = {name: _folded(text) for name, text in references.items()}
    texts = {rank: _folded(document.text) for rank, document in enumerate(sample.contexts or (), 1)}
    return ReferenceMatches(
        references,
        {
            rank: {name for name, reference in folded.items() if _holds(text, reference)}
            for rank, text in texts.items()
        },
    )


def assigned(matches: ReferenceMatches) -> list[str]:
    """Return a name for each retrieved document, best first: that of a reference it matches, or
    `other-RANK`.

    Each reference is assigned to at most one document, so that a passage that is retrieved twice
    counts once.
    """
    unassigned = list(matches.references)
    ids = []
    for rank, names in matches.by_rank.items():
        # A passage that is retrieved twice would otherwise count as two relevant documents.
        match = next((name for name in unassigned if name in names), None)
        if match:
            unassigned.remove(match)
        ids.append(match or f"other-{rank}")
    return ids


def value_of(
    retrieved: Sequence[str],
    references: Sequence[str],
    measures: Sequence[ir.Measure],
) -> dict[str, float | None]:
    """Return the values of the measures for a ranking of names, best first."""
    per_query = ir.evaluate(
        {"": dict.fromkeys(references, 1)},
        {"": _scores(retrieved)},
        measures,
    ).per_query
    return dict(per_query[""])


def _references(sample: Sample, match: Match, fold: str | None = None) -> list[str]:
    if match == "text":
        return [f"reference-{i}" for i, _ in enumerate(sample.reference_contexts, 1)]
    names = sample.reference_context_ids
    return collapse_names(names, fold) if fold else list(dict.fromkeys(names))


def _holds(text: str, reference: str) -> bool:
    return bool(reference) and (
        reference in text or (len(text) >= CONTAINED_FROM and text in reference)
    )


def _folded(text: str) -> str:
    return " ".join(without(text).casefold().split())


def _scores(names: Sequence[str]) -> dict[str, float]:
    """Return scores that decrease with the rank; the first of repeated names counts.

    If nothing was retrieved, there is one unjudged document.
    """
    # trec_eval leaves out a question without results; here it has 0.
    return {name: -float(rank) for rank, name in enumerate(dict.fromkeys(names))} or {"": 0.0}
