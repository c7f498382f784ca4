"""Printing a run in the terminal: scores, panel, cost and worst claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claimeval.cli.printer import BOUNDED, Output, tally
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary import Summary
from claimeval.judging.panel import ABSTAIN, CONSERVATIVE, Panel
from claimeval.metrics.derived import derived
from claimeval.metrics.scoring import MetricSummary, ends_in_words
from claimeval.report.selection import WHOLE
from claimeval.runs.directory import ScoresSummary, beside, read_results, results_file
from claimeval.runs.notes import notes
from claimeval.runs.slices import CELLS, DiagnosisCounts, DiagnosisTally, chance_of_many
from claimeval.runs.worst import WorstClaim, WorstClaims
from claimeval.statistics.formatting import decimal, dollars, interval, number_of, percent, signed_estimate
from claimeval.types.clusters import sample_count
from claimeval.types.errors import visible
from claimeval.types.estimates import Cost, Estimate
from claimeval.types.records import Part
from claimeval.types.requests import IMPORTED

if TYPE_CHECKING:
    from claimeval.evaluation.summary.orders import OrderEffects
    from claimeval.evaluation.summary.panel import Dispute, PanelSummary, RaterAgreement, SelfPreference
    from claimeval.types.progress import Progress

MEMBERS = 8
"""Maximum number of judges whose scores are printed below the panel's; for more, the range is printed."""
PAIRS = 10
"""Maximum number of pairs of judges whose agreement is printed; for more, the range is printed."""
DISPUTES = 3
"""Disputed claims that are printed."""
MANY = 20_000
"""Number of samples above which the worst claims are not printed."""
SHOWN = 100
"""Characters of a claim."""
WORST = 5
WIDTH = 66
"""Characters of a text that fit on a line next to its name."""


def report_line(folder: Path, samples: int) -> str | None:
    """Return a line with the path of the report, or with the command that writes it for a large run."""
    report = folder / "report.html"
    if report.exists():
        return f"Report: {report}"
    return f"`claimeval report {folder}` writes the report" if samples > WHOLE else None


def print_run(output: Output, folder: Path, manifest: Manifest, summary: Summary, total: int) -> None:
    """Print the scores, the panel, the worst claims, and the run directory."""
    output.line()
    output.line(_heading(manifest, summary, total), bold=Path(manifest.data.path or "samples").name)
    print_notes(output, manifest, summary)
    micro = any(metric.micro is not None for metric in summary.metrics.values())
    of = "claims" if manifest.of_claims else "samples"
    _print_scores(output, summary.metrics, manifest.short_names, of=of, micro=micro)
    against = {row.name: row.against for row in manifest.rows}
    for name, metric in summary.metrics.items():
        if name in manifest.others:
            continue
        remark = _counted(name, metric) if name in manifest.derived else _details(metric, against[name])
        output.line(f"{name}: {remark}", style="dim", indent=1)
    _print_missing(output, {name: summary[name].missing for name in (*manifest.derived, *manifest.others)})
    for field, means in summary.by.items():
        print_slices(output, field, means)
    print_panel(output, manifest, summary)
    if summary.order_effects:
        print_orders(output, summary.order_effects)
    if sides := beside(folder, summary.metrics):
        print_sides(output, sides)
    diagnosis = DiagnosisTally(concludes=manifest.concludes)
    worst = WorstClaims(manifest.rows, WORST)
    for result in read_results(folder) if summary.samples <= MANY else ():
        worst.add(result)
        diagnosis.add(result)
    if counts := diagnosis.counts():
        _print_diagnosis(output, counts)
    if claims := worst.worst():
        output.line()
        output.line(", one claim a sample", bold="First to read")
    for claim in claims:
        _print_worst_claim(output, claim)
    output.line()
    output.line(f"Run: {folder} ({results_file(folder).name}, summary.json, manifest.json)")


def print_notes(output: Output, manifest: Manifest, summary: Summary) -> None:
    """Print what to know before trusting the numbers; the last line of the command says why a run stopped."""
    for note in notes(summary, manifest.short_names):
        if note.kind != "incomplete":
            output.note(note.text, kind="Note" if note.kind == "note" else "Caution")


def _print_diagnosis(output: Output, counts: DiagnosisCounts) -> None:
    rows = [(CELLS[cell], str(n), str(counts.incorrect[cell])) for cell, n in counts.cells.items()]
    columns = ("Retrieval or generation", "samples", "of these with\nlow correctness")
    shown = 3 if counts.correctness else 2
    output.line()
    output.text_table(columns[:shown], [row[:shown] for row in rows])
    undefined = f"; {counts.undefined} samples lack a value" if counts.undefined else ""
    output.line(
        f"high: {counts.threshold:g} or more of context_recall, of faithfulness{undefined}", style="dim", indent=1
    )


def print_slices(output: Output, field: str, means: Mapping[str, Mapping[str, Estimate]]) -> None:
    """Print the means of all metrics by value of a field, largest groups first, and each contribution to the loss."""
    counts = Counter[str]()
    for by_metric in means.values():
        counts.update({name: estimate.n for name, estimate in by_metric.items()})
    rows = [
        (
            value or "(none)",
            name,
            decimal(estimate.value),
            ends_in_words(estimate),
            str(estimate.n),
            decimal(_loss(estimate, counts[name])),
        )
        for value, by_metric in means.items()
        for name, estimate in by_metric.items()
    ]
    output.text_table((field, "metric", "mean", "95 % interval", "n", "adds to\nthe loss"), rows, words=(0, 1))
    if caution := chance_of_many([estimate for by_metric in means.values() for estimate in by_metric.values()]):
        output.note(caution, kind="Caution")


def _loss(estimate: Estimate, samples: int) -> float | None:
    """Return the contribution of a group to one minus the mean of all samples; None for a value outside 0 to 1."""
    if estimate.value is None or not 0 <= estimate.value <= 1:
        return None
    return (1 - estimate.value) * estimate.n / samples


def print_cost(output: Output, summary: Summary, names: Mapping[str, str], progress: Progress | None = None) -> None:
    """Print what all replies of a run are worth, by judge and step, and what a command paid for its own calls.

    Prints nothing for local judges.

    Args:
        output: Where it is printed.
        summary: The summary of the run.
        names: The displayed names of judges.
        progress: The calls of the command; None for a command without any.
    """
    if summary.cost is None or (summary.cost.total.dollars == 0 and summary.cost.total.prompt_tokens is None):
        return
    total = summary.cost.total
    rows = [(names.get(line.judge, line.judge), line.step, *_cost_cells(line.cost)) for line in summary.cost.by]
    if len(rows) > 1:
        rows.append(("all", "", *_cost_cells(total)))
    columns = ("judge", "step", "questions", "of source\nrun", "tokens in", "tokens out", "worth")
    output.text_table(columns, rows, words=(0, 1))
    output.line(paid_and_worth(summary, progress))


def paid_and_worth(summary: Summary, progress: Progress | None) -> str:
    """Return what a command paid for its own calls and what all replies of the run are worth; empty if they are free.

    `progress` has the calls of the command; None for a command without any.
    """
    if summary.cost is None or (summary.cost.total.dollars == 0 and summary.cost.total.prompt_tokens is None):
        return ""
    total = summary.cost.total
    if total.dollars is None:
        return _paid(progress, total) if progress else ""
    worth = f"Worth of all replies of this run: {_price(total.dollars)} ({total.calls + total.reused:,})."
    return f"{_paid(progress, total)} {worth}" if progress else worth


def _paid(progress: Progress, total: Cost) -> str:
    if progress.paid is None:
        return f"Sent now: {number_of(progress.calls, 'call')} ({progress.tokens:,} tokens); price unknown (--prices)."
    paid = _price(progress.paid)
    if progress.paid and (progress.possibly_paid or total.dollars is None):
        paid = f"at most {paid}"
    return f"Paid now: {paid} ({number_of(progress.calls, 'call')}, {progress.tokens:,} tokens)."


def _cost_cells(cost: Cost) -> tuple[str, ...]:
    tokens = ("-" if n is None else f"{n:,}" for n in (cost.prompt_tokens, cost.completion_tokens))
    return (f"{cost.calls + cost.reused:,}", f"{cost.reused:,}", *tokens, _price(cost.dollars))


def _price(amount: float | None) -> str:
    return "price unknown" if amount is None else f"${dollars(amount)}"


def _without_address(name: str, short: Mapping[str, str]) -> str:
    """Return the name of a judge, or its short name if it includes an address."""
    return short[name] if "@" in name else name


def _heading(manifest: Manifest, summary: Summary, total: int) -> str:
    short = manifest.short_names
    named = [_without_address(judge.name, short) for judge in manifest.judges]
    judges = ", ".join(named) if len(named) <= MEMBERS else f"{len(named)} judges"
    extractor = manifest.extractor
    extractor_name = _without_address(extractor.name, short) if extractor else ""
    omitted = extractor is None or extractor_name == judges or extractor.provider == IMPORTED
    extracted_by = "" if omitted else f", claims extracted by {extractor_name}"
    extracted_by = ", each on the claims it extracted" if manifest.panel.extract_per_judge else extracted_by
    count = sample_count(summary.samples, summary.clusters, manifest.cluster)
    if not summary.complete:
        number, _, rest = count.partition(" sample")
        count = f"{number} of {total:,} samples{rest.removeprefix('s')} (stopped early)"
    return f": {count}, judged by {judges + extracted_by}" if judges else f": {count}"


def _print_scores(
    output: Output, metrics: Mapping[str, MetricSummary], names: Mapping[str, str], *, of: str, micro: bool
) -> None:
    """Print a row for each metric and its judges, with micro means and bounds if they differ from the means."""
    rows: list[tuple[str, ...]] = []
    for name, metric in metrics.items():
        rows.append((name if metric.unit == "share" else f"{name} ({metric.unit})", *_cells(metric)))
        rows += ((f"  {judge}", *_cells(member)) for judge, member in (members(metric, names) if names else ()))
    bounded = micro or any(metric.bounds and metric.bounds[0] < metric.bounds[1] for metric in metrics.values())
    left_out = {} if micro and bounded else {5} if bounded else {5, 6}
    columns = ("metric", "mean", "95 % interval", "n", "missing", "micro", "bounds")
    output.text_table(
        [column for i, column in enumerate(columns) if i not in left_out],
        [[cell for i, cell in enumerate(row) if i not in left_out] for row in rows],
        style=lambda row: "dim" if row[0].startswith("  ") else "",
    )
    shown = (estimate for metric in metrics.values() for estimate in (metric, *metric.by_judge.values()))
    if any(estimate.ends == "bounds" for estimate in shown):
        output.line(f"{BOUNDED} of the {of}", indent=1)


def _cells(metric: MetricSummary) -> tuple[str, ...]:
    return (
        decimal(metric.mean),
        ends_in_words(metric, "*"),
        str(metric.n),
        str(sum(metric.missing.values())),
        decimal(metric.micro),
        interval(metric.bounds),
    )


def print_sides(output: Output, summaries: Sequence[ScoresSummary]) -> None:
    """Print the scores of attached runs, with bounds if they differ from the values."""
    metrics = {name: metric for summary in summaries for name, metric in summary.metrics.items()}
    _print_scores(output, metrics, {}, of="samples", micro=False)
    for line in dict.fromkeys(
        sample_count(metric.n, metric.clusters, summary.cluster)
        for summary in summaries
        for metric in summary.metrics.values()
        if metric.clusters < metric.n
    ):
        output.line(line, style="dim", indent=1)
    _print_missing(output, {name: metric.missing for name, metric in metrics.items()})


def _print_missing(output: Output, missing: Mapping[str, Mapping[Any, int]]) -> None:
    """Print why samples have no score, one line for metrics with the same reasons."""
    names: dict[str, list[str]] = {}
    for name, reasons in missing.items():
        if reasons:
            names.setdefault(tally(reasons), []).append(name)
    for reason, metrics in names.items():
        output.line(f"missing: {reason} ({', '.join(metrics)})", style="dim", indent=1)


def _details(metric: MetricSummary, against: Part) -> str:
    parts = [f"{metric.hits or 0} of {metric.judged or 0} judged claims supported"]
    if metric.unassessed:
        parts.append(f"{sum(metric.unassessed.values())} more unassessed ({tally(metric.unassessed)})")
    if metric.ungrounded:
        parts.append(f"{metric.ungrounded} ungrounded")
    if metric.unasked:
        lack = "an answer" if against == "answer" else "documents"
        single = metric.unasked == 1
        parts.append(f"{metric.unasked} sample{'' if single else 's'} without {lack} count{'s' if single else ''} 0")
    if metric.missing:
        parts.append(f"samples without a score: {tally(metric.missing)}")
    if range_ := range_of_members(metric):
        parts.append(range_)
    return "; ".join(parts)


def _counted(name: str, metric: MetricSummary) -> str:
    """Return the description of a derived metric with its counts."""
    text = derived(name).description + (f": {metric.hits} of {metric.judged}" if metric.judged else "")
    unassessed = sum(metric.unassessed.values())
    return text + (f"; {unassessed} more not known ({tally(metric.unassessed)})" if unassessed else "")


def _print_worst_claim(output: Output, claim: WorstClaim) -> None:
    label = "contradicted by" if claim.label == "contradicted" else "not found in"
    why = f": {visible(claim.explanation, WIDTH)}" if claim.explanation else ""
    output.line()
    output.line(bold=claim.sample_id, indent=1)
    output.pairs(
        {
            "question": (visible(claim.question, 2 * WIDTH), ""),
            "claim": (visible(claim.claim, 2 * WIDTH), ""),
            "verdict": (f"{label} the {claim.evidence}{why}", "red"),
            "answer": (claim.standing, ""),
            "evidence": (visible(claim.excerpt or "nothing like it there", 2 * WIDTH), ""),
        },
        indent=3,
    )


def print_panel(output: Output, manifest: Manifest, summary: Summary) -> None:
    """Print the rules, agreement and disputes of a panel; nothing for a single judge."""
    names = manifest.short_names
    if panel := summary.panel:
        output.line()
        output.line(f": {_rules(manifest.panel, len(panel.judges))}", bold=f"Panel of {len(panel.judges)}")
        for line in _agreement(panel, names):
            output.line(line, indent=1)
        if panel.judge_pairs:
            _print_pairs(output, [*panel.judge_pairs, *panel.judge_vs_panel], names)
        for line in (*_preferences(panel), *_noise(panel, names), *_spared(summary)):
            output.line(line, indent=1)
        if panel.disputes:
            output.line("The claims that divide them most:", indent=1)
        for dispute in panel.disputes[:DISPUTES]:
            output.line(_dispute(dispute, names), indent=3)


def members(metric: MetricSummary, names: Mapping[str, str]) -> Iterator[tuple[str, MetricSummary]]:
    """Yield the judges to print below the panel, by short name, each with its score."""
    if len(metric.by_judge) <= MEMBERS:
        yield from ((names[judge], member) for judge, member in metric.by_judge.items())


def range_of_members(metric: MetricSummary) -> str | None:
    """Return range and median of the judges' means if there are too many judges to print; else None."""
    means = sorted(member.mean for member in metric.by_judge.values() if member.mean is not None)
    if len(metric.by_judge) <= MEMBERS or not means:
        return None
    middle = decimal(means[len(means) // 2])
    return f"{len(metric.by_judge)} judges alone: {interval((means[0], means[-1]), 3)}, median {middle}"


def _preference(preference: SelfPreference) -> str:
    return f"{preference.metric} {signed_estimate(preference.value, preference.reported)}"


def _preferences(panel: PanelSummary) -> Iterator[str]:
    for family in dict.fromkeys(preference.family for preference in panel.self_preference):
        estimates = [_preference(f) for f in panel.self_preference if f.family == family and f.value is not None]
        if estimates:
            preferences = ", ".join(estimates)
            yield f"preference of {family} for answers of the same family, compared with other judges: {preferences}"


def _rules(panel: Panel, judges: int) -> str:
    if panel.extract_per_judge:
        return "each judge extracts and assesses separate claims; a sample's score is the mean over judges"
    ties = {ABSTAIN: "ties have no label", CONSERVATIVE: "ties are not supported"}
    parts = [f"{panel.vote} vote", ties.get(panel.tie, f"ties are broken by {panel.tie}")]
    if judges > 1:
        parts.append(f"quorum {panel.needed(judges)}")
    if panel.replicates > 1:
        parts.append(f"{panel.replicates} repeats a judge")
    if panel.escalate:
        parts.append(f"the first {panel.escalate} are asked first")
    if panel.on_same_family == "no-vote":
        parts.append("judges of the same family do not vote")
    if panel.on_same_family == "skip":
        parts.append("judges of the same family are not asked")
    return ", ".join(parts)


def _agreement(panel: PanelSummary, names: dict[str, str]) -> Iterator[str]:
    if len(panel.judges) < 2 or not panel.measured_on:
        return
    yield (
        f"{panel.claims} claims: {panel.unanimous} with equal labels, {panel.split} with different ones; "
        f"{panel.ties} without a label because of ties, {panel.no_quorum} for lack of a quorum"
    )
    yield f"Krippendorff's alpha {decimal(panel.alpha)}, Gwet's AC1 {decimal(panel.ac1)}"
    if len(panel.measured_on) < len(panel.judges):
        yield (
            f"these cover {' and '.join(names[judge] for judge in panel.measured_on)}, who saw all claims; the scores "
            "of the other judges, and pairs marked *, cover disputed claims only"
        )


def _print_pairs(output: Output, pairs: Sequence[RaterAgreement], names: dict[str, str]) -> None:
    if len(pairs) > PAIRS:
        if kappas := sorted(pair.kappa for pair in pairs if pair.kappa is not None):
            ends = interval((kappas[0], kappas[-1]), 3)
            output.line(f"Cohen's kappa of {len(pairs)} pairs: {ends}", indent=1)
        return
    rows = [
        (
            " / ".join(names.get(judge, judge) for judge in (pair.first, pair.second)) + " *" * pair.disputed_only,
            str(pair.claims),
            decimal(pair.raw_agreement),
            decimal(pair.kappa),
        )
        for pair in pairs
    ]
    output.text_table(("pair", "claims", "equal", "kappa"), rows)


def _noise(panel: PanelSummary, names: dict[str, str]) -> Iterator[str]:
    for judge, noise in panel.noise.items():
        of_verdict = noise.variance_share
        share = "" if of_verdict is None else f"; {percent(of_verdict)} of the variance of one verdict is the judge's"
        yield f"{names[judge]}: contradicted itself on {noise.inconsistent} of {noise.claims} repeated claims{share}"


def _spared(summary: Summary) -> Iterator[str]:
    if summary.cost and summary.cost.skipped:
        yield f"escalation spared {summary.cost.skipped} calls"


def _dispute(dispute: Dispute, names: dict[str, str]) -> str:
    votes = ", ".join(f"{names[judge]}: {vote}" for judge, vote in dispute.votes.items())
    if len(dispute.votes) > MEMBERS:
        votes = ", ".join(f"{n} say {vote}" for vote, n in Counter(dispute.votes.values()).most_common())
    claim = dispute.claim if len(dispute.claim) <= SHOWN else dispute.claim[: SHOWN - 3] + "..."
    return f"{dispute.sample} {' '.join(claim.split())} ({votes})"


def print_orders(output: Output, orders: OrderEffects) -> None:
    """Print how labels change under other document orders."""
    ends = orders.rate.reported
    within = f", 95 % interval {percent(ends[0])} to {percent(ends[1])}" if ends else ""
    rate = "" if orders.rate.value is None else f" ({percent(orders.rate.value)} of a sample's claims{within})"
    output.line()
    output.line(
        f": {orders.flipped} of {orders.claims} claims flip in one of {orders.orders} other orders{rate}; "
        f"{orders.lost} labels lose support, {orders.gained} gain it",
        bold="Order of the documents",
    )
    rows = [
        (
            str(rank.rank),
            str(rank.labeled),
            percent(rank.supported / rank.labeled),
            str(rank.compared),
            percent(rank.flipped / rank.compared if rank.compared else None),
        )
        for rank in orders.places
    ]
    if rows:
        columns = ("evidence at rank", "labels", "supported", "in other orders", "flipped")
        output.text_table(columns, rows, words=())
