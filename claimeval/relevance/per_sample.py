"""What the grades of its documents say of each sample: context relevance and context precision, in order of rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from claimeval import ir
from claimeval.records import Reason, Sample
from claimeval.relevance_scales import RelevanceScale
from claimeval.side_scores import SideRow

RELEVANT, GRADE, PRECISION = "context_relevance", "context_grade", "context_precision_ap"
"""`context_relevance`: the share of the retrieved documents that is relevant. `context_grade`: their mean grade.
`context_precision_ap`: mean of P@rank over the ranks of the relevant ones, which ragas and DeepEval call context
precision; 0 where none is relevant. Missed documents are in none of them. By reference contexts instead of grades it is
`ap_retrieved` of `claimeval retrieval`."""


def units(scale: RelevanceScale) -> dict[str, str]:
    """The unit of each score."""
    return {RELEVANT: "share", PRECISION: "share", GRADE: f"grade 0 to {scale.grades.most}"}


def rows(
    samples: Iterable[Sample],
    grades: ir.Qrels,
    holes: Mapping[str, Mapping[str, Reason]],
    scale: RelevanceScale,
) -> Iterator[SideRow]:
    """A row a sample, `contexts[i]` being rank i+1.

    Where a document has no grade nothing has a value: the most frequent reason stands there, and the bounds between
    which the value lies. A sample that retrieved nothing has `no_evidence`, one that does not say what it retrieved
    `missing_input`.
    """
    for sample in samples:
        mine, missing = grades.get(sample.id, {}), holes.get(sample.id, {})
        given = [mine.get(document.id) for document in sample.contexts or ()]
        if sample.contexts is None:
            yield SideRow(
                id=sample.id,
                scores=dict.fromkeys(units(scale)),
                undefined=dict.fromkeys(units(scale), "missing_input"),
            )
        else:
            yield _row(sample.id, [None if grade is None else int(grade) for grade in given], missing, scale)


def _row(name: str, grades: Sequence[int | None], holes: Mapping[str, Reason], scale: RelevanceScale) -> SideRow:
    metrics = tuple(units(scale))
    if not grades:
        return SideRow(id=name, scores=dict.fromkeys(metrics), undefined=dict.fromkeys(metrics, "no_evidence"))
    relevant = [None if grade is None else grade >= scale.relevant_from for grade in grades]
    ends = {RELEVANT: _share(relevant), PRECISION: precision(relevant), GRADE: _mean(grades, scale.grades.most)}
    if None in grades:
        because = Counter(holes.values()).most_common(1)[0][0]
        return SideRow(id=name, scores=dict.fromkeys(metrics), undefined=dict.fromkeys(metrics, because), bounds=ends)
    return SideRow(id=name, scores={metric: ends[metric][0] for metric in metrics})


def _share(relevant: Sequence[bool | None]) -> tuple[float, float]:
    yes, open_ = relevant.count(True), relevant.count(None)
    return yes / len(relevant), (yes + open_) / len(relevant)


def _mean(grades: Sequence[int | None], most: int) -> tuple[float, float]:
    total, open_ = sum(grade for grade in grades if grade is not None), grades.count(None)
    return total / len(grades), (total + most * open_) / len(grades)


def precision(relevant: Sequence[bool | None]) -> tuple[float, float]:
    """The least and the greatest `context_precision_ap` that a ranking can have whose None are relevant or not.

    It is the mean of (relevant up to rank k) / k over the relevant ranks k, as `ir.ap_retrieved`, 0 without any. One
    more relevant document can raise it or lower it, so both ends are found by the number of relevant ones so far.
    """
    return min(_means(relevant, min)), max(_means(relevant, max))


def _means(relevant: Sequence[bool | None], better: Callable[[float, float], float]) -> list[float]:
    sums = {0: 0.0}
    for rank, said in enumerate(relevant, 1):
        further: dict[int, float] = {}
        for count, total in sums.items():
            if said is not True:
                further[count] = better(further.get(count, total), total)
            if said is not False:
                more = total + (count + 1) / rank
                further[count + 1] = better(further.get(count + 1, more), more)
        sums = further
    return [total / count if count else 0.0 for count, total in sums.items()]
