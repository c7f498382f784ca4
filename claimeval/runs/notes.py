"""Notes on a run: what a reader must know before trusting its numbers, decided here for every form
of a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from claimeval.data.context_ids import NO_IDS, REMEDY, ContextIds
from claimeval.evaluation.summary import Summary
from claimeval.metrics.names import number_of
from claimeval.metrics.scoring import MetricSummary
from claimeval.providers.served import plain_name
from claimeval.statistics.formatting import interval, percent, signed_estimate
from claimeval.types.errors import visible
from claimeval.types.records import REASONS, Record

LOST = 0.01
"""Shares of lost samples and of ungrounded claims above this are mentioned; `--max-missing` has the
same default."""
EXCERPT = 120
"""Characters of a reply that a note quotes."""
ROLES = {
    "judge": "judge",
    "extractor": "extractor",
    "reference_author": "author of the reference answers",
}


class Note(Record):
    """What a reader must know before trusting the numbers."""

    kind: str
    """`note` for what follows from the settings; other kinds, such as `missing`, follow from the
    results."""
    text: str


def notes(summary: Summary, shorter: Mapping[str, str]) -> tuple[Note, ...]:
    """Return the notes on a run, most serious first; `shorter` maps judges to their short names."""
    return tuple(Note(kind=kind, text=text) for kind, text in _notes(summary, shorter))


def decision(summary: Summary) -> str:
    """Return what is certain about the gates of a run that stopped when they were decided."""
    says = "; ".join(gate.says for gate in summary.gates)
    return f"{says[:1].upper()}{says[1:]}."


def _notes(summary: Summary, shorter: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield from _ending(summary)
    yield from _incomplete_panel(summary, shorter)
    for note in summary.notes:
        yield "note", f"{note[0].upper()}{note[1:]}."
    yield from _other_models(summary, shorter)
    yield from _several_models(summary, shorter)
    for long in summary.long:
        yield (
            "long_evidence",
            long.in_words(summary.samples, shorter.get(long.judge, long.judge)),
        )
    if summary.unclear:
        what = "1 statement" if summary.unclear == 1 else f"{summary.unclear} statements"
        yield (
            "unclear",
            f"No claim was extracted from {what}: neither text nor question says what is meant.",
        )
    yield from _families(summary, shorter)
    yield from _losses(summary)
    if doubt := open_to_doubt(summary.metrics):
        yield "abstained", f"{doubt}: bounds are shown instead of an interval."
    if summary.context_ids:
        yield from _of_ids(summary.context_ids, summary.samples)
    yield from _unfed(summary)
    yield from _ungrounded(summary)


def _ending(summary: Summary) -> Iterator[tuple[str, str]]:
    samples = summary.samples
    if summary.decided:
        yield "decided", decision(summary)
    elif not summary.complete:
        first = f"first {samples:,} samples" if samples > 1 else "first sample alone"
        numbers = f"the numbers cover the {first}" if samples else "no sample is finished"
        yield "incomplete", f"The run stopped early: {numbers}. Run the same command to resume."


def _incomplete_panel(summary: Summary, shorter: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    panel = summary.panel
    if not panel or not panel.stopped_judges:
        return
    who = ", ".join(f"{shorter.get(name, name)} on {n}" for name, n in panel.stopped_judges.items())
    yield (
        "incomplete_panel",
        (
            f"The panel is incomplete: of {panel.claims} claims, there are no verdicts of {who},"
            " stopped by an error (bad key, no quota, unknown model). Run the same command to ask"
            " for what is missing."
        ),
    )


def _other_models(summary: Summary, shorter: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    answered = {judge.name: sum(judge.served.values()) for judge in summary.judges}
    for judge in summary.other_models:
        others = [f"{n:,} from {visible(model, EXCERPT)}" for model, n in judge.served.items()]
        yield (
            "other_model",
            (
                f"{sum(judge.served.values()):,} of {answered[judge.name]:,} replies to"
                f" {shorter.get(judge.name, judge.name)} came from another model than was asked:"
                f" {', '.join(others)}. Their cost is that of the model that answered, where its"
                " price is known."
            ),
        )


def _families(summary: Summary, shorter: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield notes on judges of the family that wrote the answers."""
    for tally in summary.same_family:
        yield (
            "same_family",
            (
                f"The {ROLES[tally.role]} {shorter.get(tally.name, tally.name)} is of the family"
                f" ({tally.family}) that wrote {tally.samples} of {summary.samples} answers."
                " Models tend to favor their own family."
            ),
        )
    for preference in summary.panel.self_preference if summary.panel else ():
        if preference.low is not None and preference.low > 0:
            value = f"{preference.metric} {signed_estimate(preference.value, preference.reported)}"
            yield (
                "self_preference",
                f"Judges of {preference.family} do favor answers of {preference.family}: {value}.",
            )


def _losses(summary: Summary) -> Iterator[tuple[str, str]]:
    """Yield notes on what failed, with an example of each reason."""
    failed: list[str] = []
    for name, metric in summary.metrics.items():
        if metric.failure_rate > LOST:
            bounds = f" (bounds {interval(metric.bounds)})" if metric.bounds else ""
            failed.append(f"{name} {percent(metric.failure_rate)}{bounds}")
    if failed:
        yield "missing", f"Samples or claims were lost to failures: {', '.join(failed)}."
    for reason, example in summary.lost.items():
        excerpt = visible(example.excerpt, EXCERPT) or "nothing"
        yield "lost", f"{reason}: {REASONS[reason]}; {example.judge} on {example.sample}: {excerpt}"


def _unfed(summary: Summary) -> Iterator[tuple[str, str]]:
    unfed = []
    for name, metric in summary.metrics.items():
        if not metric.n and metric.missing.keys() == {"missing_input"}:
            unfed.append(name)
    if unfed:
        numbers = filter(None, map(number_of, unfed))
        fields = dict.fromkeys(number.fields_needed for number in numbers)
        needed = f" ({'; '.join(fields)})" if fields else ""
        advice = (
            "`claimeval doctor` shows a sample as it is read; map the columns with --field"
            " FIELD=COLUMN"
        )
        yield "unfed", f"No sample has the fields for {', '.join(unfed)}{needed}. {advice}."


def _ungrounded(summary: Summary) -> Iterator[tuple[str, str]]:
    ungrounded = [
        f"{metric.ungrounded:,} of {metric.total:,} in {name}"
        for name, metric in summary.metrics.items()
        if metric.total and metric.ungrounded / metric.total > LOST
    ]
    if ungrounded:
        yield (
            "ungrounded",
            (
                "Claims that do not occur in the text they were extracted from:"
                f" {', '.join(ungrounded)}."
            ),
        )


def _of_ids(ids: ContextIds, samples: int) -> Iterator[tuple[str, str]]:
    """Yield notes on ids of contexts that match no reference."""
    if ids.caution:
        yield "disjoint_ids", f"{ids.caution}."
    if ids.by_text:
        what = "contexts or references have no ids, so their texts were compared"
        options = "--match text for all; --match ids for none"
        yield "by_text", f"{ids.by_text:,} of {samples:,} samples: {what} ({options})."
    if ids.unmatched:
        advice = f"{REMEDY[0].upper()}{REMEDY[1:]}"
        yield "without_ids", f"{ids.unmatched:,} of {samples:,} samples: {NO_IDS}. {advice}."


def _several_models(summary: Summary, shorter: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield which judges several models answered for, so that verdicts are of different judges.

    Other models than the asked one have a note already.
    """
    noted = {judge.name for judge in summary.other_models}
    for judge in summary.judges:
        # a name in another case, or with its organization, is no other model
        different = len({plain_name(model) for model in judge.served})
        if different < 2 or judge.name in noted:
            continue
        models = [f"{n:,} from {visible(model, EXCERPT)}" for model, n in judge.served.items()]
        yield (
            "several_models",
            (
                f"Replies to {shorter.get(judge.name, judge.name)} come from"
                f" {different} models behind its name: {', '.join(models)}. With an empty"
                " cache, all come from the model that is served now."
            ),
        )


def open_to_doubt(metrics: Mapping[str, MetricSummary]) -> str:
    """Return a sentence naming the metrics on which judges abstained often; empty if there are
    none."""
    doubtful: list[str] = []
    unread: list[str] = []
    for name, m in metrics.items():
        if m.ends != "bounds":
            continue
        count = f"{m.abstained:,} of {m.total:,} in {name}" if m.total else name
        only_unread = m.abstained == m.unassessed.get("source_unread", 0) > 0
        (unread if only_unread else doubtful).append(count)
    parts: list[str] = []
    if doubtful:
        parts.append(f"Judges abstained on claims or are divided ({', '.join(doubtful)})")
    if unread:
        parts.append(f"Cited sources are not there or have no text ({', '.join(unread)})")
    if not parts:
        return ""
    return f"{'. '.join(parts)}; means cover the other claims only"
