"""What a run, a comparison and an experiment show in a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary import Summary
from claimeval.metrics.flips import Flip, words
from claimeval.metrics.scoring import MetricSummary
from claimeval.runs.experiments import printing
from claimeval.runs.experiments.results import ArmResult, ExperimentResult
from claimeval.runs.overview import PairedRuns, WorstClaim, WorstClaims, cautions
from claimeval.statistics.formatting import decimal, dollars, interval, p_value, signed, signed_interval
from claimeval.types.clusters import sample_count
from claimeval.types.html import Html, element, joined, labeled, listed, shown, table
from claimeval.types.records import Document, Sample, SampleResult

WORST = 5
LOOKED_AT = 2000
"""Samples among which the worst claims are looked for, so that a cell shows its run at once."""
FLIPS = 5
DOCUMENTS = 5
EXCERPT = 400
"""Characters of a document, and of a claim."""
SPACE = Html(" ")


def run(manifest: Manifest, record: Summary, results: Sequence[SampleResult], attached: Mapping[str, Summary]) -> str:
    """Return a card a metric, what must be read with the numbers, and the worst claims with their evidence.

    Args:
        manifest: What was asked.
        record: What the results add up to.
        results: The results; the worst claims are those of the first `LOOKED_AT`.
        attached: The summaries of other jobs over the run.
    """
    names = manifest.short_names
    metrics = record.metrics | {f"{job}/{name}": m for job, one in attached.items() for name, m in one.metrics.items()}
    judges = ", ".join(names[judge.name] for judge in manifest.judges)
    facts = [
        sample_count(record.samples, record.clusters, manifest.cluster),
        *([f"judged by {judges}"] if judges else ()),
        *([f"${dollars(record.cost.total.dollars)}"] if record.cost and record.cost.total.dollars else ()),
    ]
    return shown(
        element("p", element("b", manifest.job.replace("_", " ")), SPACE, ", ".join(facts)),
        element("div", *(_card(name, metric) for name, metric in metrics.items()), class_="cards"),
        *(element("p", caution.text, class_="caution") for caution in cautions(record, names)),
        _worst(manifest, results),
    )


def _card(name: str, metric: MetricSummary) -> Html:
    unit = "" if metric.unit == "share" else metric.unit
    ends = "bounds " if metric.shown == "bounds" else "95 % "
    missing = ", ".join(f"{n} {reason}" for reason, n in metric.missing.items())
    unassessed = sum(metric.unassessed.values())
    counted = f"counted {metric.hits} of {metric.judged}" if metric.total else ""
    because = f"({metric.because})" if metric.because and metric.ends is None else ""
    return element(
        "div",
        element("div", name),
        element("div", decimal(metric.mean), SPACE, element("small", unit), class_="value"),
        _picture(metric),
        element("div", f"{ends}{interval(metric.ends)} {because}"),
        element("div", element("small", f"n {metric.n}" + (f", missing: {missing}" if missing else ""))),
        element("div", element("small", counted + (f", {unassessed} unassessed" if unassessed else ""))),
        class_="card",
    )


def _picture(metric: MetricSummary) -> Html:
    """The mean and what stands beside it on a line from 0 to 1; nothing for other units."""
    if metric.unit != "share" or metric.mean is None:
        return Html()
    marks = [element("line", x1=0, x2=100, y1=5, y2=5, stroke="currentColor", stroke_opacity=0.3)]
    if metric.ends:
        low, high = (decimal(100 * end, 1) for end in metric.ends)
        marks.append(element("line", x1=low, x2=high, y1=5, y2=5, stroke="currentColor", stroke_width=3))
    at = decimal(100 * metric.mean - 1, 1)
    marks.append(element("rect", x=at, y=0, width=2, height=10, fill="currentColor"))
    return element("svg", *marks, viewBox="0 0 100 10", preserveAspectRatio="none", aria_hidden="true")


def _worst(manifest: Manifest, results: Sequence[SampleResult]) -> Html:
    if not manifest.rows:
        return Html()
    found, samples = WorstClaims(tuple(m.against for m in manifest.rows if not m.prompt), WORST), dict[str, Sample]()
    for result in islice(results, LOOKED_AT):
        found.add(result)
        samples[result.sample.id] = result.sample
    among = f" among the first {LOOKED_AT:,} samples" if len(results) > LOOKED_AT else ""
    return listed(f"Worst claims{among}", (_trouble(one, samples[one.sample_id]) for one in found.troubles()), "ol")


def _trouble(worst: WorstClaim, sample: Sample) -> Html:
    documents = sample.documents(worst.evidence) or ()
    excerpt = worst.excerpt or ""
    more = "" if any(excerpt.endswith(document.text) for document in documents) else "…"
    return joined(
        (
            labeled(worst.label, worst.label, worst.claim[:EXCERPT]),
            _line(f"{worst.sample_id}: {worst.question}"),
            *([element("blockquote", excerpt + more)] if excerpt else ()),
            *([_line(f"Judge: {worst.explanation}")] if worst.explanation else ()),
            element(
                "details",
                element("summary", element("small", _evidence(worst, len(documents)))),
                *(_excerpt(document) for document in documents[:DOCUMENTS]),
            ),
        )
    )


def _line(text: str) -> Html:
    return element("div", element("small", text))


def _evidence(worst: WorstClaim, documents: int) -> str:
    of = f", the first {DOCUMENTS}" if documents > DOCUMENTS else ""
    return f"Evidence: {worst.evidence} ({documents} {'text' if documents == 1 else 'texts'}{of})"


def _excerpt(document: Document) -> Html:
    text = document.text if len(document.text) <= EXCERPT else document.text[: EXCERPT - 1] + "…"
    return element("blockquote", element("b", document.id), SPACE, text)


def comparison(pairs: Mapping[str, PairedRuns], baseline: str) -> str:
    """Return the differences of runs to a baseline, and the claims that flipped in the last one.

    Args:
        pairs: By name of the run, it beside the baseline.
        baseline: The name of the baseline.
    """
    last = list(pairs)[-1]
    pair = pairs[last]
    several = len(pairs) > 1
    head = (
        "metric",
        "baseline" if several else "a",
        "mean" if several else "b",
        "difference",
        "95 %",
        "p (Holm)",
        "higher, lower",
        "n",
    )
    rows = (
        (*([name] if several else ()), metric.metric, *metric.cells)
        for name, one in pairs.items()
        for metric in one.metrics
    )
    return shown(
        element(
            "p", element("b", "comparison"), SPACE, f"of a = {baseline} (baseline) with b = {last}, over", SPACE,
            sample_count(pair.shared, pair.clusters, pair.cluster).replace("samples", "shared samples", 1),
        ),
        listed("Asked differently", pair.settings),
        *(element("p", text, class_="caution") for text in pair.abstained),
        table((*(["run"] if several else ()), *head), rows),
        _flips(f"{pair.flipped} of {pair.compared} claims flipped in {last}", pair.flips),
    )  # fmt: skip


def _flips(heading: str, flips: Sequence[Flip]) -> Html:
    return listed(heading, (_flip(flip) for flip in flips[:FLIPS]), "ol")


def _flip(flip: Flip) -> Html:
    return joined(
        (
            labeled(f"{words(flip.a, flip.a_word)} → {words(flip.b, flip.b_word)}", flip.b, flip.claim[:EXCERPT]),
            _line(f"{flip.sample_id}: {flip.question} (against {flip.evidence})"),
            *([_line(f"Judge: {flip.b_explanation}")] if flip.b_explanation else ()),
        )
    )


def experiment(found: ExperimentResult, flips: Sequence[Flip]) -> str:
    """Return a table a metric with a row an arm, what the arms cost, and the last arm's flipped claims."""
    return shown(
        element(
            "p", element("b", "experiment"), SPACE, f"{len(found.arms)} arms over", SPACE,
            sample_count(found.samples, found.clusters, found.cluster),
        ),
        *(element("p", line, class_="caution") for line in printing.failures(found)),
        *([element("p", printing.chosen(found.selection))] if found.selection else ()),
        *_by_metric(found),
        _flips(f"Claims that flipped in {found.arms[-1].name}", flips),
    )  # fmt: skip


def _by_metric(found: ExperimentResult) -> Iterator[Html]:
    head = ("arm", "mean", "95 %", "n", f"difference to {found.baseline}", "95 %", "p (Holm)", "flips", "USD")
    for metric in found.arms[0].metrics:
        yield element("h4", metric)
        yield table(head, (_arm(arm, metric) for arm in found.arms))


def _arm(arm: ArmResult, metric: str) -> tuple[str, ...]:
    cell = arm.metrics[metric]
    change = cell.difference
    ends = interval(cell.ends) + (" (bounds)" if cell.shown == "bounds" else "")
    mine = (arm.name, decimal(cell.mean), ends, str(cell.n))
    cost = dollars(arm.cost.dollars)
    if change is None:
        return (*mine, "", "", "", "", cost)
    return (
        *mine,
        signed(change.value),
        signed_interval(change.interval),
        p_value(cell.p_adjusted),
        str(arm.flips),
        cost,
    )
