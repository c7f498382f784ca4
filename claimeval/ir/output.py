"""Evaluations as tables with remarks, JSON, trec_eval's output, and charts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from claimeval.ir.evaluation import Evaluation, Pairing
from claimeval.ir.measures import Measure
from claimeval.statistics.estimates import coverage_notes, least_covered
from claimeval.statistics.formatting import number_of, p_value, signed, signed_interval
from claimeval.types.errors import escaped

SHOWN_RUNS = 6
"""Runs side by side on a terminal: with the names of measures, seven columns."""
PAIRED = "Pairing.comparison"
"""What a comparison of two runs is in the table of estimates."""
LOWEST = 3
"""Queries to read first."""


def labels(runs: Sequence[Path]) -> list[str]:
    """Return names for runs: their file names if these differ, else their paths."""
    names = [run.name for run in runs]
    return names if len(set(names)) == len(names) else [str(run) for run in runs]


def text(
    evaluations: Sequence[Evaluation],
    labels: Sequence[str],
    *,
    per_query: bool,
    summary: bool,
) -> str:
    """Format the values per query of each run, and a table of the means of all runs, with remarks
    below.

    Args:
        evaluations: The evaluation of each run, with the same measures.
        labels: The name of each run.
        per_query: Print the values of each query.
        summary: Print the means.
    """
    parts = []
    if per_query:
        parts += [
            f"{label}\n{_of_queries(ev)}" for label, ev in zip(labels, evaluations, strict=True)
        ]
    if summary:
        parts.append(_of_means(evaluations, labels))
    remarks = [_remark(label, ev) for label, ev in zip(labels, evaluations, strict=True)]
    return "\n".join([*parts, "".join(remarks)])


def first_screen(
    evaluations: Sequence[Evaluation],
    labels: Sequence[str],
    *,
    paired: bool,
    shown: Callable[[str], str] = str,
) -> str:
    """Format what a terminal shows: a sentence, the means, the queries to read, and the next step.

    Args:
        evaluations: The evaluation of each run, with the same measures.
        labels: The name of each run.
        paired: Whether the runs are compared with the first already.
        shown: Returns how the name of a measure is written.
    """
    starts = range(0, len(labels), SHOWN_RUNS)
    tables = [
        _of_means(
            evaluations[start : start + SHOWN_RUNS],
            labels[start : start + SHOWN_RUNS],
            shown,
        )
        for start in starts
    ]
    remarks = [_remark(label, ev) for label, ev in zip(labels, evaluations, strict=True)]
    name = _first_mean(evaluations)
    if name is None:
        means = any(measure.row.summary != "sum" for measure in evaluations[0].measures)
        opening = ["No result: no query has a value.\n"] * means
        return "\n".join([*opening, *tables, "".join(remarks)])
    steps = "Next: -q shows the values of each query"
    if len(labels) > 1 and not paired:
        steps += ", --paired compares the runs with the first"
    return "\n".join(
        [
            f"{_sentence(evaluations, labels, name)}\n",
            *tables,
            "".join(remarks),
            *_lowest(evaluations[0], labels[0], name),
            f"{steps}.\n",
        ]
    )


def _sentence(evaluations: Sequence[Evaluation], labels: Sequence[str], name: str) -> str:
    """Return which run has the highest mean. Runs with values for other queries are not ordered:
    one that leaves out the hard queries would come first."""
    queries = [
        {query for query, values in ev.per_query.items() if values[name] is not None}
        for ev in evaluations
    ]
    if len(labels) == 1:
        mean = _format(evaluations[0].mean[name])
        return f"{labels[0]} has {name} {mean} over {number_of(len(queries[0]), 'query')}."
    # Means over other queries are not one number: nDCG of ten easy queries beside that of fifty.
    if any(of_run != queries[0] for of_run in queries):
        return f"The runs have {name} for different queries: their means do not compare."
    over = f"over {number_of(len(queries[0]), 'query')}"
    return f"{_highest(evaluations, labels, name)} {over}."


def _highest(evaluations: Sequence[Evaluation], labels: Sequence[str], name: str) -> str:
    means = [evaluation.mean[name] or 0.0 for evaluation in evaluations]
    highest = max(means)
    first = [label for label, mean in zip(labels, means, strict=True) if mean == highest]
    has = "has" if len(first) == 1 else "have"
    return f"{' and '.join(first)} {has} the highest {name}, {_format(highest)}"


def _first_mean(evaluations: Sequence[Evaluation]) -> str | None:
    """Return the first measure that is no count and has a value."""
    for measure in evaluations[0].measures:
        known = any(evaluation.mean[measure.name] is not None for evaluation in evaluations)
        if known and measure.row.summary != "sum":
            return measure.name
    return None


def _lowest(evaluation: Evaluation, label: str, name: str) -> Iterator[str]:
    """Yield a line with the queries of the lowest values."""
    known = [
        (value, query)
        for query, values in evaluation.per_query.items()
        if (value := values[name]) is not None
    ]
    if len(known) > LOWEST:
        lowest = ", ".join(f"{query} {_format(value)}" for value, query in sorted(known)[:LOWEST])
        yield f"Lowest {name} of {label}: {lowest}\n"


def _remark(label: str, evaluation: Evaluation) -> str:
    return f"{label}: {'; '.join([counts_line(evaluation), *warnings(evaluation)])}\n"


def pairings_text(pairings: Sequence[Pairing], first: str) -> str:
    """Format comparisons with the first run as a table, with one row per measure and run, and what
    its intervals cover below it."""
    rows = [
        ["measure", f"run minus {first}", "difference", "95% interval", "p", "p (Holm)", "queries"]
    ]
    for run, measure, comparison, p_adjusted in pairings:
        interval = signed_interval((comparison.low, comparison.high), 4)
        difference = signed(comparison.value, 4)
        rows.append(
            [
                measure,
                run,
                difference,
                interval,
                p_value(comparison.p),
                p_value(p_adjusted),
                str(comparison.n),
            ]
        )
    notes = coverage_notes("difference", PAIRED) if _with_interval(pairings) else ()
    return _align(rows) + "".join(f"{note}\n" for note in notes)


def _with_interval(pairings: Sequence[Pairing]) -> bool:
    return any(pairing.comparison.low is not None for pairing in pairings)


def as_record(
    evaluations: Sequence[Evaluation],
    labels: Sequence[str],
    *,
    per_query: bool,
    pairings: Sequence[Pairing] = (),
) -> dict[str, object]:
    """Return evaluations as one object for JSON: `runs`, and `pairs` if runs were compared.

    Args:
        evaluations: The evaluation of each run.
        labels: The name of each run.
        per_query: Include the values of each query.
        pairings: Comparisons with the first run.
    """
    runs = [
        {"run": label, **evaluation.as_dict(per_query=per_query)}
        for label, evaluation in zip(labels, evaluations, strict=True)
    ]
    pairs = [
        {
            "run": p.run,
            "minus": labels[0],
            "measure": p.measure,
            **asdict(p.comparison),
            "p_adjusted": p.p_adjusted,
        }
        for p in pairings
    ]
    if not pairs:
        return {"runs": runs}
    covered = least_covered(PAIRED) if _with_interval(pairings) else None
    coverage = {"interval_coverage": {"pairs": covered}} if covered else {}
    return {"runs": runs, "pairs": pairs, **coverage}


def counts_line(evaluation: Evaluation) -> str:
    """Format the numbers of queries and documents that the means are based on."""
    counts = evaluation.counts
    line = (
        f"{number_of(counts.queries, 'query')}, {number_of(counts.retrieved, 'document')} retrieved"
    )
    return (
        line if counts.unjudged is None else f"{line}, {counts.unjudged} of them without judgment"
    )


def warnings(evaluation: Evaluation) -> Iterator[str]:
    """Yield remarks on queries that the means leave out or count as 0, and on the grades that count
    as relevant."""
    counts = evaluation.counts
    if counts.highest_grade > 1 and any(
        measure.row.relevance == "binary" for measure in evaluation.measures
    ):
        yield f"grades reach {counts.highest_grade:g}, relevant from {counts.level:g} on (-l)"
    if 0 < counts.highest_grade < counts.level:
        yield (
            f"no grade reaches {counts.level:g}, from which on documents are relevant (-l); the"
            f" highest is {counts.highest_grade:g}"
        )
    if counts.missing:
        counted = "counted as 0" if counts.missing_are_zero else "left out (-c counts them as 0)"
        yield f"{_first_queries(counts.missing)} of the qrels not in the run, {counted}"
    if counts.not_judged:
        yield f"{_first_queries(counts.not_judged)} of the run not in the qrels, ignored"
    if counts.no_relevant:
        counted = "counted as 0" if counts.no_relevant_are_zero else "left out"
        yield f"{_first_queries(counts.no_relevant)} without a relevant document, {counted}"


def _of_means(
    evaluations: Sequence[Evaluation],
    labels: Sequence[str],
    shown: Callable[[str], str] = str,
) -> str:
    names = [measure.name for measure in evaluations[0].measures]
    rows = [
        [shown(name), *(_format(evaluation.mean[name]) for evaluation in evaluations)]
        for name in names
    ]
    return _align([["measure", *labels], *rows])


def _of_queries(evaluation: Evaluation) -> str:
    names = [measure.name for measure in evaluation.measures]
    rows = [
        [query, *(_format(values[name]) for name in names)]
        for query, values in evaluation.per_query.items()
    ]
    return _align([["query", *names], *rows])


def _format(value: float | None) -> str:
    return "-" if value is None else _number(value)


def _number(value: float, width: int = 0) -> str:
    return str(value) if isinstance(value, int) else f"{value:{width}.4f}"


def _align(rows: list[list[str]]) -> str:
    """Align the first column to the left, and the others to the right."""
    rows = [[escaped(cell) for cell in row] for row in rows]
    first, *others = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join(
        "  ".join(
            [
                name.ljust(first),
                *(cell.rjust(width) for cell, width in zip(cells, others, strict=True)),
            ]
        )
        + "\n"
        for name, *cells in rows
    )


def _first_queries(names: Sequence[str]) -> str:
    listed = ", ".join(names[:5])
    return f"{number_of(len(names), 'query')} ({listed}{', ...' if len(names) > 5 else ''})"


_ORDER = (
    "num_q num_ret num_rel num_rel_ret map gm_map Rprec bpref recip_rank iprec_at_recall P recall"
    " infAP utility dcg ndcg ndcg_cut map_cut success set_P set_recall set_F num_nonrel_judged_ret"
    " rbp rbp_resid unj"
)
"""The order in which trec_eval 10.0 always prints measures."""
_POSITIONS = {name: position for position, name in enumerate(_ORDER.split())}


def trec_text(
    evaluation: Evaluation,
    *,
    per_query: bool = False,
    summary: bool = True,
    run_id: bool = True,
    prefix: str = "",
) -> str:
    """Format an evaluation like the output of trec_eval 10.0.

    If missing queries count as 0 (``-c``), the total ``num_rel`` counts grades above 0 for any
    relevance level. Measures that trec_eval does not have come last, also with four decimals.
    Undefined values are ``nan``.

    Args:
        evaluation: The values of one run.
        per_query: Print the values of each query (``-q``).
        summary: Print the means; False is ``-n``.
        run_id: Print the tag of the run, as trec_eval does for a group of measures.
        prefix: Prefix of the names of measures: `Z` for Z scores (``-Z``).
    """
    measures = sorted(evaluation.measures, key=_trec_position)
    lines: list[str] = []
    if per_query:
        per_query_measures = [
            measure for measure in measures if measure.row.name not in ("num_q", "gm_map")
        ]
        for query, values in evaluation.per_query.items():
            lines.extend(_lines(per_query_measures, query, dict(values), prefix))
    if summary:
        if run_id:
            lines.append(_line("runid", "all", evaluation.run_id or ""))
        means = dict(evaluation.mean)
        if evaluation.counts.missing_are_zero and "num_rel" in means:
            means["num_rel"] = evaluation.counts.graded
        lines.extend(_lines(measures, "all", means, prefix))
    return "".join(lines)


def _trec_position(measure: Measure) -> tuple[int, str, float]:
    name = measure.row.trec if measure.cutoff is None else measure.row.trec_cut
    return (_POSITIONS.get(name, len(_POSITIONS)), name and measure.row.name, measure.cutoff or 0)


def _lines(
    measures: list[Measure],
    query: str,
    values: dict[str, float | None],
    prefix: str,
) -> Iterator[str]:
    for measure in measures:
        value = values[measure.name]
        yield prefix + _line(
            measure.trec_name,
            query,
            "nan" if value is None else _number(value, 6),
        )


def _line(name: str, query: str, value: str) -> str:
    return f"{name:<22}\t{query}\t{value}\n"
