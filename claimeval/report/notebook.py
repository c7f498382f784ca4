"""HTML of runs, comparisons and experiments in a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary import Summary
from claimeval.metrics.flips import Flip, words
from claimeval.metrics.scoring import MetricSummary
from claimeval.report import pictures, render
from claimeval.report.charts import Picture
from claimeval.report.series import parts
from claimeval.runs.front import Front, FrontBuilder
from claimeval.runs.overview import PairedRuns
from claimeval.runs.series import Series
from claimeval.runs.views import comparison as comparison_view
from claimeval.runs.worst import WorstClaim
from claimeval.statistics.formatting import decimal, dollars, interval, p_value, signed, signed_interval
from claimeval.types.clusters import sample_count
from claimeval.types.html import Html, element, joined, labeled, listed, shown, table
from claimeval.types.records import Document, Sample, SampleResult

if TYPE_CHECKING:
    from claimeval.runs.experiments.results import ArmResult, ExperimentResult

WORST = 5
LOOKED_AT = 2000
"""Number of samples that are searched for the worst claims, so that a cell shows its run quickly."""
FLIPS = 5
DOCUMENTS = 5
EXCERPT = 400
"""Characters of a document, and of a claim."""
SPACE = Html(" ")


def run(manifest: Manifest, record: Summary, results: Sequence[SampleResult], attached: Mapping[str, Summary]) -> str:
    """Return a card for each metric, the cautions, and the worst claims with their evidence.

    Args:
        manifest: The manifest of the run.
        record: The summary of the run.
        results: The results; the worst claims are among the first `LOOKED_AT`.
        attached: The summaries of attached runs.
    """
    builder, samples = FrontBuilder(manifest, WORST), dict[str, Sample]()
    for result in islice(results, LOOKED_AT):
        builder.add(result)
        samples[result.sample.id] = result.sample
    front = builder.front(record)
    among = f" among the first {LOOKED_AT:,} samples" if len(results) > LOOKED_AT else ""
    names = manifest.short_names
    metrics = record.metrics | {
        f"{job}/{name}": m for job, side in attached.items() for name, m in side.metrics.items()
    }
    judges = ", ".join(names[judge.name] for judge in manifest.judges)
    facts = [
        sample_count(record.samples, record.clusters, manifest.cluster),
        *([f"judged by {judges}"] if judges else ()),
        *(
            [f"replies worth ${dollars(record.cost.total.dollars)}"]
            if record.cost and record.cost.total.dollars
            else ()
        ),
    ]
    return shown(
        element("p", element("b", manifest.job.replace("_", " ")), SPACE, ", ".join(facts)),
        element("div", *(_card(name, metric) for name, metric in metrics.items()), class_="cards"),
        _drawn(pictures.of_metrics(metrics, "Means")),
        *(element("p", note.text, class_="caution") for note in front.notes),
        *([element("p", front.sentence)] if front.sentence and not among else ()),
        _read(front, samples, among),
    )


def _card(name: str, metric: MetricSummary) -> Html:
    unit = "" if metric.unit == "share" else metric.unit
    ends = "bounds " if metric.ends == "bounds" else "95 % "
    missing = ", ".join(f"{n} {reason}" for reason, n in metric.missing.items())
    unassessed = sum(metric.unassessed.values())
    counted = f"counted {metric.hits} of {metric.judged}" if metric.total else ""
    because = f"({metric.because})" if metric.because and metric.reported is None else ""
    return element(
        "div",
        element("div", name),
        element("div", decimal(metric.mean), SPACE, element("small", unit), class_="value"),
        element("div", f"{ends}{interval(metric.reported)} {because}"),
        element("div", element("small", f"n {metric.n}" + (f", missing: {missing}" if missing else ""))),
        element("div", element("small", counted + (f", {unassessed} unassessed" if unassessed else ""))),
        class_="card",
    )


def _drawn(picture: Picture | None) -> Html:
    return Html(picture.svg) if picture else Html()


def _read(front: Front, samples: Mapping[str, Sample], among: str) -> Html:
    """Return the claims to read first, each with its sample's documents."""
    if not front.read:
        return Html()
    return listed(
        f"First to read{among}", (_worst_claim(claim, samples[claim.sample_id]) for claim in front.read), "ol"
    )


def _worst_claim(worst: WorstClaim, sample: Sample) -> Html:
    documents = sample.documents(worst.evidence) or ()
    excerpt = worst.excerpt or "Nothing like it there."
    return joined(
        (
            labeled(worst.label, worst.label, worst.claim[:EXCERPT]),
            _line(f"{worst.sample_id}: {worst.question}"),
            _line(worst.standing),
            element("blockquote", excerpt),
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


def comparison(pair: PairedRuns, trend: Series | None = None) -> str:
    """Return the differences of a run to a baseline, and the flipped claims.

    `trend` is a series of more than two runs, which is shown instead of the differences.
    """
    if trend:
        return shown(*parts(trend))
    drawn = _drawn(pictures.of_comparison(pair))
    return shown(render.html(comparison_view.view(pair, flips=FLIPS)), drawn)


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


def experiment(result: ExperimentResult, flips: Sequence[Flip]) -> str:
    """Return a table for each metric with a row for each arm and its cost, and the last arm's flipped claims."""
    from claimeval.report import experiments as printing

    return shown(
        element(
            "p", element("b", "experiment"), SPACE, f"{len(result.arms)} arms over", SPACE,
            sample_count(result.samples, result.clusters, result.cluster),
        ),
        *(element("p", line, class_="caution") for line in printing.failures(result)),
        *([element("p", printing.chosen(result.selection, result.baseline))] if result.selection else ()),
        *_by_metric(result),
        _flips(f"Claims that flipped in {result.arms[-1].name}", flips),
    )  # fmt: skip


def _by_metric(result: ExperimentResult) -> Iterator[Html]:
    head = ("arm", "mean", "95 %", "n", f"difference to {result.baseline}", "95 %", "p (Holm)", "flips", "USD")
    for metric in result.arms[0].metrics:
        yield element("h4", metric)
        yield table(head, (_arm(arm, metric) for arm in result.arms))


def _arm(arm: ArmResult, metric: str) -> tuple[str, ...]:
    cell = arm.metrics[metric]
    change = cell.difference
    ends = interval(cell.reported) + (" (bounds)" if cell.ends == "bounds" else "")
    cells = (arm.name, decimal(cell.mean), ends, str(cell.n))
    cost = dollars(arm.cost.dollars)
    if change is None:
        return (*cells, "", "", "", "", cost)
    return (
        *cells,
        signed(change.value),
        signed_interval(change.reported),
        p_value(cell.p_adjusted),
        str(arm.flips),
        cost,
    )
