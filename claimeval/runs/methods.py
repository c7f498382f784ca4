"""The methods paragraph of a run: what a paper has to say so that others can judge and repeat its
numbers, with the sources in BibTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from claimeval.evaluation.manifest import Manifest, QuestionRecord
from claimeval.evaluation.summary import Summary
from claimeval.metrics import names, sources
from claimeval.metrics.rows import Metric
from claimeval.metrics.scoring import MetricSummary, ends_and_kind
from claimeval.providers import reads_prompts
from claimeval.runs.agreement import RaterReport, measure_run
from claimeval.runs.directory import label_files
from claimeval.statistics.estimates import METHODS
from claimeval.statistics.formatting import estimate, number_of
from claimeval.types.clusters import cluster_noun
from claimeval.types.errors import UsageError
from claimeval.types.estimates import Estimate
from claimeval.types.records import Record
from claimeval.types.requests import Judge

DIGITS = 12
"""Hexadecimal digits of a digest. A collision among the prompts of one study is out of question."""
RESAMPLES = 2_000
_CITED = re.compile(r"(?<=[\[ ])([a-z]+(?:19|20)\d\d)(?=[\],])")
"""Keys of papers in the text, as in `[min2023, es2023]`."""
_SETTINGS = ("temperature", "top_p", "seed", "reasoning_effort")
"""Settings of a judge that papers report."""


class Methods(Record):
    """What a paper says of a run."""

    text: str
    """Paragraphs in plain words: data, judges, prompts, metrics, intervals, agreement with
    people."""
    bibtex: str
    """The software and the sources of its metrics and statistics."""

    def __str__(self) -> str:
        return f"{self.text}\n\n{self.bibtex}\n"

    def _repr_html_(self) -> str:
        """Show both texts, with their lines."""
        from claimeval.types import html

        return html.shown(
            *(html.element("p", paragraph) for paragraph in self.text.split("\n\n")),
            html.element("pre", self.bibtex),
        )


def methods(manifest: Manifest, summary: Summary, folder: Path | None) -> Methods:
    """Return the methods paragraph of a run.

    Args:
        manifest: The settings of the run.
        summary: Its numbers.
        folder: Its directory, in which labels by people are looked for; None for a run in memory.
    """
    paragraphs = [
        " ".join([*_data(manifest, summary), *_judges(manifest, summary)]),
        " ".join(_metrics(manifest, summary)),
        " ".join([*_intervals(manifest, summary), *_missing(summary)]),
        " ".join(_people(manifest, folder)),
    ]
    text = "\n\n".join(filter(None, paragraphs))
    entries = [_software(manifest), sources.bibtex(_CITED.findall(text))]
    return Methods(text=text, bibtex="\n\n".join(filter(None, entries)))


def _cite(keys: Iterable[str]) -> str:
    """Return the keys of papers as the text cites them; empty for none."""
    names = ", ".join(dict.fromkeys(keys))
    return f" [{names}]" if names else ""


def _software(manifest: Manifest) -> str:
    year = (manifest.created or "")[:4]
    fields = [
        "@software{claimeval",
        "author = {{The claimeval authors}}",
        "title = {claimeval: claim-by-claim evaluation of question-answering systems}",
        f"version = {{{manifest.claimeval}}}",
        *([f"year = {{{year}}}"] if year else []),
    ]
    return ",\n  ".join(fields) + "\n}"


def _data(manifest: Manifest, summary: Summary) -> Iterator[str]:
    data = manifest.data
    samples = number_of(summary.samples, "sample")
    if summary.clusters < summary.samples:
        samples += f" ({summary.clusters:,} {cluster_noun(manifest.cluster, summary.clusters)})"
    origin = ""
    if data.path:
        origin = f" of {Path(data.path).name}"
    if data.digest:
        origin += f" (SHA-256 {data.digest[:DIGITS]})"
    date = f" on {manifest.created[:10]}" if manifest.created else ""
    yield f"We evaluated {samples}{origin} with claimeval {manifest.claimeval}{date}."
    if not summary.complete:
        yield f"The run is not complete: {summary.stopped}."
    if manifest.source and manifest.source.digest:
        yield (
            "Claims, and verdicts of judges who were asked before, come from an earlier run"
            f" (SHA-256 of its results {manifest.source.digest[:DIGITS]})."
        )


def _judges(manifest: Manifest, summary: Summary) -> Iterator[str]:
    if not manifest.judges and not manifest.extractor:
        yield "No language model was asked."
        return
    if not any(map(reads_prompts, manifest.asked)):
        yield "No language model was asked."
    if extractor := manifest.extractor:
        prompt = _prompt(manifest, "extract") if reads_prompts(extractor) else ""
        yield f"{_judge(extractor, summary)} extracted the claims of each text{prompt}."
    subject = _panel_members(manifest, summary)
    for question in manifest.questions:
        yield f"{subject} {_question(manifest, question)}."
        subject = "The judges" if len(manifest.judges) > 1 else "The judge"
    if len(manifest.judges) > 1:
        yield _panel(manifest)


def _panel_members(manifest: Manifest, summary: Summary) -> str:
    """Return the judges as the subject of a sentence."""
    if manifest.judges == (manifest.extractor,):
        return "The same judge"
    judges = [_judge(judge, summary) for judge in manifest.judges]
    if len(judges) < 2:
        return "".join(judges)
    return f"{', '.join(judges[:-1])} and {judges[-1]}"


def _judge(judge: Judge, summary: Summary) -> str:
    """Return the model as it was asked, as it was served, and its settings."""
    served = {found.name: found.served for found in summary.judges}.get(judge.name, {})
    models = [f"{model} ({count:,} replies)" for model, count in served.items()]
    if len(models) == 1:
        models = list(served)
    facts = [f"served as {', '.join(models)}"] if models else []
    settings = judge.model_dump()
    for name in _SETTINGS:
        if settings[name] is not None:
            facts.append(f"{name.replace('_', ' ')} {settings[name]}")
    if models and judge.temperature is None:
        facts.append("no temperature set")
    return f"{judge.model} ({'; '.join(facts)})" if facts else judge.model


def _prompt(manifest: Manifest, step: str) -> str:
    """Return the prompt of a step with its digest."""
    for prompt in manifest.prompts:
        if prompt.step == step:
            return f" with the prompt {prompt.name} (SHA-256 {prompt.digest[:DIGITS]})"
    return ""


def _question(manifest: Manifest, question: QuestionRecord) -> str:
    """Return what judges were asked, with which prompt and labels."""
    prompts = {prompt.id: prompt for prompt in manifest.prompts}
    prompt = prompts.get(question.prompt or "")
    subjects = {"claims": "each claim", "documents": "each document", "answer": "each answer"}
    words = ", ".join(word.replace("_", " ") for word in question.scale.words)
    source = ""
    if not prompt:
        source = ", from replies that were recorded"
    elif any(map(reads_prompts, manifest.judges)):
        source = f" with the prompt {prompt.name} (SHA-256 {prompt.digest[:DIGITS]})"
    what = "" if question.name == "support" else f" for {question.name.replace('_', ' ')}"
    return f"labeled {subjects[question.subjects]}{what} ({words}){source}"


def _panel(manifest: Manifest) -> str:
    panel = manifest.panel
    quorum = f", with at least {panel.quorum} votes" if panel.quorum else ""
    replicates = f"; each was asked {panel.replicates} times" if panel.replicates > 1 else ""
    return (
        f"Their labels were combined by {panel.vote} vote{quorum} (ties: {panel.tie}{replicates})."
    )


def _metrics(manifest: Manifest, summary: Summary) -> Iterator[str]:
    custom = {row.name: row for row in manifest.metrics if isinstance(row, Metric)}
    for name, metric in summary.metrics.items():
        number = names.number_of(name)
        if name in custom or number is None:
            row = custom.get(name)
            definition = ""
            if row:
                definition = (
                    f" (share of the claims of {row.claims_of} that {row.against} supports)"
                )
            yield f"{name}{definition}: {_value(metric)}."
            continue
        cited = _cite(sources.cited(number.source))
        yield f"{name} is {number.formula}{cited}: {_value(metric)}."


def _value(metric: MetricSummary) -> str:
    counts = f"n = {metric.n:,}"
    if metric.total:
        counts += f", {metric.hits:,} of {metric.judged:,} claims"
    if metric.mean is None:
        return f"undefined ({metric.because})"
    return f"mean {metric.mean_in_words} ({ends_and_kind(metric)}; {counts})"


def _intervals(manifest: Manifest, summary: Summary) -> Iterator[str]:
    words = METHODS["mean"].words
    unit = cluster_noun(manifest.cluster)
    kinds = {metric.ends for metric in summary.metrics.values()}
    if "interval" in kinds:
        yield (
            f"Means are over samples; 95% intervals resample whole {unit} ({words};"
            f" {RESAMPLES:,} resamples, seed 0){_cite(sources.cited(words))}."
        )
    if "bounds" in kinds:
        yield (
            "Where judges abstained on over a tenth of the claims, bounds take the place of the"
            " interval: the mean if all unassessed claims were unsupported, and if all were"
            " supported."
        )
    if "sequence" in kinds:
        yield (
            "The run stopped when its gates were decided; the ends hold with 95% certainty however"
            " often one looked."
        )


def _missing(summary: Summary) -> Iterator[str]:
    """Yield which metrics lack samples, once for all with the same counts."""
    alike: dict[str, list[str]] = {}
    for name, metric in summary.metrics.items():
        counts = [
            f"{reason.replace('_', ' ')} {count:,}" for reason, count in metric.missing.items()
        ]
        if counts:
            alike.setdefault(", ".join(counts), []).append(name)
    for words, metrics in alike.items():
        yield f"Samples without {', '.join(metrics)}: {words}."


def _people(manifest: Manifest, folder: Path | None) -> Iterator[str]:
    if not manifest.judges:
        return
    raters = _raters(folder)
    if not raters:
        yield "Agreement of the judges with people was not measured."
        return
    for rater in raters:
        yield (
            f"On {number_of(rater.compared, 'item')} that people labeled, {rater.rater} gave the"
            f" same label in a share of {_estimate(rater.same)}; Cohen's kappa is"
            f" {_estimate(rater.kappa_of_labels)}{_cite(['cohen1960'])}."
        )


def _estimate(value: Estimate) -> str:
    return estimate(value.value, value.reported)


def _raters(folder: Path | None) -> tuple[RaterReport, ...]:
    """Return the judges compared with the labels in the run's directory; empty without any."""
    if folder is None or not label_files(folder):
        return ()
    try:
        return measure_run(folder).raters
    except UsageError:  # labels of other claims, or of several kinds of evidence
        return ()
