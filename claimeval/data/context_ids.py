"""Ids of retrieved documents: the columns that hold them, and how many gold ids are among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from claimeval.types.records import Record, Sample

NO_IDS = "contexts have no ids"
"""Why contexts are not matched by id."""
MATCHING = "matching"
"""The detail of a sample whose contexts are not matched by id: how they are, and why."""
REMEDY = (
    "without ids, contexts match no id of a reference context: give the ids of the contexts"
    " (--field context_ids=COLUMN, within them as contexts.metadata.id), or compare their"
    " texts with the reference contexts (--match text)"
)
RETRIEVED_IDS = (
    "context_ids",
    "contexts_id",
    "contexts_ids",
    "retrieved_context_ids",
    "retrieved_contexts_ids",
    "retrieved_ids",
    "retrieved_doc_ids",
    "retrieved_docs_ids",
    "retrieved_docids",
    "retrieved_document_ids",
    "retrieved_documents_ids",
    "retrieved_chunk_ids",
    "retrieved_passage_ids",
    "retrieved_node_ids",
    "retrieved_source_ids",
)
"""Names of the column with the ids of the retrieved documents."""
DOCUMENT_IDS = (
    "doc_ids",
    "docids",
    "document_ids",
    "source_ids",
    "chunk_ids",
    "passage_ids",
    "node_ids",
    "source_document_ids",
)
"""Further names of this column, which are ids of the contexts if there are contexts, and else of
something else."""


class ContextIds(Record):
    """Counts of samples whose contexts are to be matched with reference contexts by id."""

    given: int = 0
    """Samples whose contexts have ids in the data."""
    without: int = 0
    """Samples with a context whose id is only its rank, which matches nothing."""
    by_text: int = 0
    """Samples whose texts a rank metric compared, because contexts or references have no ids."""
    unmatched: int = 0
    """Samples that have no rank metric, because their contexts have no ids."""
    references: int = 0
    """Ids of reference contexts, of the samples whose contexts have ids."""
    retrieved: int = 0
    """Those of them that occur among the ids of the contexts."""

    @property
    def disjoint(self) -> bool:
        """Whether there are ids of both kinds, and none occurs in both."""
        return bool(self.references) and not self.retrieved

    @property
    def caution(self) -> str | None:
        """What is wrong with the ids; None if nothing is."""
        if self.disjoint:
            return (
                f"None of the {self.references:,} ids of reference contexts occurs among the ids of"
                " the contexts; compare how both are written, and whether one is of a part of a"
                " document (--collapse-ids)"
            )
        return None

    @property
    def in_words(self) -> str:
        """How many samples have ids, and how many ids of reference contexts occur among them."""
        ids = f"ids of contexts: {self.given:,} of {self.given + self.without:,} samples have them"
        matches = (
            f"{self.retrieved:,} of {self.references:,} ids of reference contexts occur among them"
        )
        return f"{ids}; {matches if self.given else REMEDY}"


def has_ids(sample: Sample) -> bool:
    """Return whether every context of a sample has an id in the data."""
    return not any(document.id_is_rank for document in sample.contexts or ())


def count_ids(samples: Iterable[Sample]) -> ContextIds | None:
    """Return the counts for samples; None if none has ids of reference contexts."""
    tally = ContextIdTally()
    for sample in samples:
        tally.add(sample)
    return tally.counts()


class ContextIdTally:
    """Counts ids sample by sample."""

    def __init__(self, collapse: str | None = None) -> None:
        """Start a count; `collapse` is removed from ids, as in `collapse_ids`."""
        self._collapse = collapse
        self._by_text = 0
        self._unmatched = 0
        self._given = 0
        self._without = 0
        self._references = 0
        self._retrieved = 0

    def add(self, sample: Sample, matching: object = None) -> None:
        """Add a sample; it counts if it has contexts and ids of reference contexts.

        Args:
            sample: The sample.
            matching: The detail `MATCHING` of its result.
        """
        if isinstance(matching, dict):
            by_text = matching.get("match") == "text"
            self._by_text += by_text
            self._unmatched += not by_text
        if sample.contexts is None or not sample.reference_context_ids:
            return
        if not has_ids(sample):
            self._without += 1
            return
        ids = self._names([document.id for document in sample.contexts])
        references = self._names(sample.reference_context_ids)
        self._given += 1
        self._references += len(references)
        self._retrieved += len(references & ids)

    def _names(self, ids: Sequence[str]) -> set[str]:
        if not self._collapse:
            return set(ids)
        from claimeval.ir.mappings import collapse_names

        return set(collapse_names(ids, self._collapse))

    def counts(self) -> ContextIds | None:
        """Return the counts; None if no sample was counted."""
        if not (self._given or self._without or self._by_text):
            return None
        return ContextIds(
            by_text=self._by_text,
            unmatched=self._unmatched,
            given=self._given,
            without=self._without,
            references=self._references,
            retrieved=self._retrieved,
        )
