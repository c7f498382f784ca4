"""trec_eval's own text output."""

from __future__ import annotations

from collections.abc import Iterator

from claimeval.ir.names import Measure
from claimeval.ir.results import Evaluation

_ORDER = (
    "num_q num_ret num_rel num_rel_ret map gm_map Rprec bpref recip_rank iprec_at_recall P recall dcg ndcg ndcg_cut "
    "map_cut success set_P set_recall set_F num_nonrel_judged_ret rbp rbp_resid unj"
)
"""The order in which trec_eval 10.0 prints measures, whatever the order they are asked for in."""
_PLACES = {name: place for place, name in enumerate(_ORDER.split())}


def trec_text(evaluation: Evaluation, *, per_query: bool = False, summary: bool = True, run_id: bool = True) -> str:
    """What trec_eval 10.0 prints: ``-q`` is ``per_query``, ``-n`` is ``summary=False``.

    ``run_id`` adds the tag of the run, as trec_eval does where a group of measures is asked for.
    Where missing queries count as 0 (``-c``), its summary ``num_rel`` counts grades above 0 whatever the level.
    Measures that trec_eval lacks follow behind, with four decimals as well; what is undefined is printed as ``nan``.
    """
    measures = sorted(evaluation.measures, key=_place)
    lines: list[str] = []
    if per_query:
        own = [measure for measure in measures if measure.row.name not in ("num_q", "gm_map")]
        for query, values in evaluation.per_query.items():
            lines.extend(_lines(own, query, dict(values)))
    if summary:
        if run_id:
            lines.append(_line("runid", "all", evaluation.run_id or ""))
        means = dict(evaluation.mean)
        if evaluation.counts.missing_are_zero and "num_rel" in means:
            means["num_rel"] = evaluation.counts.graded
        lines.extend(_lines(measures, "all", means))
    return "".join(lines)


def _place(measure: Measure) -> tuple[int, str, float]:
    name = measure.row.trec if measure.cutoff is None else measure.row.trec_cut
    return (_PLACES.get(name, len(_PLACES)), name and measure.row.name, measure.cutoff or 0)


def _lines(measures: list[Measure], query: str, values: dict[str, float | None]) -> Iterator[str]:
    for measure in measures:
        value = values[measure.name]
        number = value if measure.row.summary == "sum" else None if value is None else f"{value:6.4f}"
        yield _line(measure.trec_name, query, "nan" if number is None else str(number))


def _line(name: str, query: str, value: str) -> str:
    return f"{name:<22}\t{query}\t{value}\n"
