"""What was judged elsewhere becomes a run directory, without a call.

It holds the files of every run, and also `labels.jsonl` (human labels in the file), `unread.jsonl` (every text in which
no verdict could be read, and why), `import.json` (how the replies were read) and `TOOL/` (a run with the scores of the
other tool).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from claimeval.data.labels import HumanLabel, read_labels
from claimeval.data.recorded import FieldMap, RecordedReplies
from claimeval.data.result_files import READERS, JudgedSample, RecordedResults, UnreadReply, recognize, recorded_judge
from claimeval.evaluation.manifest import Manifest, versions
from claimeval.evaluation.summary import Summary, SummaryBuilder
from claimeval.judging import panel as panels
from claimeval.judging.panel import Panel
from claimeval.metrics.scoring import defined
from claimeval.providers.specs import valid_settings
from claimeval.runs import directory
from claimeval.runs.directory import LABELS, RunWriter, write_lines
from claimeval.runs.revote import Revote, settle
from claimeval.types.clusters import check_cluster
from claimeval.types.errors import UsageError
from claimeval.types.options import PanelOptions
from claimeval.types.records import Record, SampleResult

UNREAD, COUNTS = "unread.jsonl", "import.json"
EXTRACTOR = recorded_judge("recorded")
"""Stands for whoever took the claims, where nobody says."""


class JudgeReading(Record):
    """How the replies of one judge were read."""

    forms: dict[str, int]
    """Replies with a verdict, by the form it was read in."""
    unsure: int
    """Replies in which the judge abstained, among those."""
    refused: dict[str, int]
    """Replies in which no verdict was read, by why."""
    missing: int
    """Claims without a reply on record."""

    @property
    def read(self) -> int:
        """Return the number of replies that were read."""
        return sum(self.forms.values())

    @property
    def replies(self) -> int:
        """Return the number of replies."""
        return self.read + sum(self.refused.values())


class ImportCounts(Record):
    """How the replies of a file were read."""

    readings: dict[str, JudgeReading]
    """Per judge; empty for result files, whose verdicts need no reading."""
    labels: int
    """Human labels that were in the file."""
    repeated: int = 0
    """Rows that repeat a claim text of their sample and were taken for replicates of the judge."""


class ImportedRun(NamedTuple):
    """The run of a file."""

    summary: Summary
    manifest: Manifest
    counts: ImportCounts


def open_file(path: Path, mapping: FieldMap | None = None) -> RecordedResults:
    """Return the file by a mapping, or as a result file of a known tool; UsageError where it is neither."""
    if mapping:
        return RecordedReplies(path, mapping).recorded_results()
    kind = recognize(path)
    if kind is None:
        raise UsageError(
            f"{path} is no result file of {', '.join(READERS)}; say with --mapping which fields hold what "
            "(`claimeval import-replies --help` shows one)"
        )
    return kind


def recorded_manifest(judged: RecordedResults, data: str, panel: Panel) -> Manifest:
    """Return the manifest of the run that recorded results are."""
    record = Manifest(
        metrics=(*judged.metrics, *judged.derived),
        judges=judged.judges,
        extractor=EXTRACTOR,
        panel=panel,
        versions=versions(),
    )
    return record.of_data(data)


def import_judged(
    judged: RecordedResults,
    data: str,
    folder: Path,
    options: PanelOptions = PanelOptions(),
    *,
    overwrite: bool = False,
    cluster: str | None = None,
) -> ImportedRun:
    """Write the run directory of recorded results, reading one sample at a time.

    A weighted vote without weights takes them from the human labels in the file.

    Args:
        judged: The recorded results.
        data: Name of the data.
        folder: Run directory to write.
        options: How verdicts are counted.
        overwrite: Whether a run in `folder` may be replaced.
        cluster: Field by which intervals draw samples together.

    Returns:
        The run and the counts of the import.

    Raises:
        UsageError: If a weighted vote lacks weights and the file has no human labels.
    """
    panel = _panel(judged, options)
    record = recorded_manifest(judged, data, panel).model_copy(update={"cluster": cluster})
    check_cluster(cluster, (sample.result.sample for sample in judged.samples()))
    with RunWriter(folder, record, overwrite=overwrite) as writer:
        revote, tallies = Revote(record), SummaryBuilder(record)
        readings: dict[str, Counter[tuple[str, str]]] = {judge.name: Counter() for judge in judged.judges}
        labels = 0
        with write_lines(folder / LABELS) as labeled, write_lines(folder / UNREAD) as unread:
            for sample in judged.samples():
                result = revote(sample.result)
                writer.add(result)
                tallies.add(result)
                labels += len(sample.human)
                for label in sample.human:
                    labeled(label)
                for reply in _read(sample, readings):
                    unread(reply)
        for name in (LABELS, UNREAD):
            if not (folder / name).stat().st_size:
                (folder / name).unlink()
        summary = tallies.summary()
        if panel.needs_all_verdicts:
            summary, record = settle(writer, _labels(folder), complete=True), writer.manifest
        writer.finish(summary)
    if judged.kind in READERS:
        _keep_scores(judged, folder, cluster)
    counts = ImportCounts(
        readings={name: _reading(counts) for name, counts in readings.items() if judged.kind not in READERS},
        labels=labels,
        repeated=judged.repeated,
    )
    directory.write_text(folder / COUNTS, counts.model_dump_json(indent=1) + "\n")
    return ImportedRun(summary, record, counts)


def _panel(judged: RecordedResults, options: PanelOptions) -> Panel:
    panel = valid_settings({**options.given, **judged.panel_settings}, judged.scale)
    panels.check(panel, [judge.name for judge in judged.judges], with_labels=True)
    return panel


def _labels(folder: Path) -> Iterable[HumanLabel]:
    path = folder / LABELS
    if not path.exists():
        raise UsageError("a weighted vote takes its weights from human labels, and the file has none; map `human`")
    return read_labels(path)


def _read(sample: JudgedSample, readings: Mapping[str, Counter[tuple[str, str]]]) -> Iterator[UnreadReply]:
    """Count how the replies of a sample were read, and yield those that were not."""
    for verdict in (v for a in sample.result.assessments for v in a.verdicts):
        readings[verdict.judge]["unsure", ""] += verdict.unassessed == "unsure"
    for call, (judge, form) in zip(sample.result.calls, sample.forms, strict=True):
        if form != "refused":
            readings[judge]["forms", form] += 1
        else:
            because = call.message or ""
            readings[judge]["refused", because] += 1
            about = {"sample": sample.result.sample.id, "subject": call.subjects[0], "judge": judge}
            yield UnreadReply(**about, because=because, reply=call.reply or "")


def _reading(counts: Counter[tuple[str, str]]) -> JudgeReading:
    def of(kind: str) -> dict[str, int]:
        return {what: n for (which, what), n in counts.most_common() if which == kind}

    forms = of("forms")
    missing = forms.pop("missing", 0)
    return JudgeReading(forms=forms, unsure=counts["unsure", ""], refused=of("refused"), missing=missing)


def _keep_scores(judged: RecordedResults, folder: Path, cluster: str | None) -> None:
    """The other tool's own scores, as it recorded them."""
    ranges: dict[str, tuple[float, float]] = {}
    for sample in judged.samples():
        for name, value in sample.scores.items():
            low, high = ranges.get(name, (0.0, 0.0))
            ranges[name] = min(low, value or 0.0), max(high, value or 0.0)
    if not ranges:
        return
    units = {name: "share" if low >= 0 and high <= 1 else "number" for name, (low, high) in ranges.items()}
    results = (
        SampleResult(
            sample=sample.result.sample,
            scores=defined({name: sample.scores.get(name) for name in units}, units, "missing_input"),
        )
        for sample in judged.samples()
    )
    directory.attach(folder, judged.kind, results, units, {"recorded by": judged.kind}, cluster)
