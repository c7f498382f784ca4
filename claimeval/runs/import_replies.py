"""Importing recorded replies, or results of another tool, as a run directory, without a call.

In addition to the usual files, the directory has `labels.jsonl` (human labels in the file),
`unread.jsonl` (replies without a readable verdict, with reasons) and `import.json` (counts of how
the replies were read).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from claimeval.data.reasoning import AnswerReasoning
from claimeval.data.recorded import MAPPINGS, FieldMap, RecordedReplies
from claimeval.data.result_files import (
    JudgedSample,
    RecordedResults,
    UnreadReply,
    recognize,
    recorded_judge,
)
from claimeval.evaluation.manifest import Manifest, versions
from claimeval.evaluation.summary import Summary
from claimeval.judging import panel as panels
from claimeval.judging.panel import Panel
from claimeval.providers.specs import valid_settings
from claimeval.runs import directory
from claimeval.runs.directory import LABELS, RunWriter, write_lines
from claimeval.runs.jobs import RunSink
from claimeval.runs.revote import Revote
from claimeval.types.clusters import check_cluster
from claimeval.types.errors import UsageError
from claimeval.types.options import PanelOptions
from claimeval.types.records import Record

UNREAD = "unread.jsonl"
COUNTS = "import.json"
EXTRACTOR = recorded_judge("recorded")
"""The extractor of recorded claims, which is unknown."""


class JudgeReading(Record):
    """Counts of how the replies of one judge were read."""

    forms: dict[str, int]
    """Replies with a verdict, by the form in which it was read."""
    unsure: int
    """Replies with a verdict in which the judge abstained."""
    refused: dict[str, int]
    """Replies without a readable verdict, by reason."""
    missing: int
    """Claims without a recorded reply."""

    @property
    def read(self) -> int:
        """The number of replies that were read."""
        return sum(self.forms.values())

    @property
    def replies(self) -> int:
        """The number of replies."""
        return self.read + sum(self.refused.values())


class ImportCounts(Record):
    """Counts of how a file was read."""

    readings: dict[str, JudgeReading]
    """Counts by judge; empty for result files, whose verdicts are not parsed."""
    labels: int
    """Human labels in the file."""
    repeated: int = 0
    """Rows that repeat a claim text of their sample and count as replicates of the judge."""


class ImportedRun(NamedTuple):
    """The run of an imported file."""

    summary: Summary
    manifest: Manifest
    counts: ImportCounts


def open_file(
    path: Path, mapping: FieldMap | None = None, reasoning: AnswerReasoning | None = None
) -> RecordedResults:
    """Open a file with a mapping, or a result file of RAGChecker; `reasoning` says what is done
    with that of a model in answers. Raises UsageError if it is neither."""
    if mapping:
        return RecordedReplies(path, mapping, reasoning).recorded_results()
    results = recognize(path, reasoning)
    if results is None:
        raise UsageError(
            f"{path} is no result file of RAGChecker; say with --mapping which fields hold what: a"
            " file of yours (`claimeval import-replies --help` shows one), or"
            f" {' or '.join(sorted(MAPPINGS))}"
        )
    return results


def recorded_manifest(judged: RecordedResults, data: str, panel: Panel) -> Manifest:
    """Return the manifest of the run for recorded results."""
    record = Manifest(
        metrics=(*judged.metrics, *judged.derived),
        judges=judged.judges,
        extractor=EXTRACTOR,
        panel=panel,
        versions=versions(),
    )
    noted = record.of_data(data)
    return (
        noted.model_copy(update={"notes": (*noted.notes, note)})
        if (note := repeats(judged))
        else noted
    )


def repeats(judged: RecordedResults) -> str | None:
    """Return a note if rows that may be separate claims count as replicates of a judge."""
    if not judged.repeated:
        return None
    return (
        f"{judged.repeated} rows repeat a claim text of their sample and count as replicates of the"
        " judge; if they are separate claims, map `claim_id` to a field that distinguishes them"
    )


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

    Args:
        judged: The recorded results.
        data: Name of the data.
        folder: Run directory to write.
        options: How verdicts are counted.
        overwrite: Whether to replace a run in `folder`.
        cluster: Field whose equal values are one cluster in intervals.

    Raises:
        UsageError: A weighted vote has no weight for a judge.
        DataError: A row cannot be read. Nothing is written then.
    """
    panel = _panel(judged, options)
    record = recorded_manifest(judged, data, panel).model_copy(update={"cluster": cluster})
    check_cluster(cluster, (sample.result.sample for sample in judged.samples()))
    # A row that cannot be read is told before a run is begun, or one replaced. Half a run would
    # refuse the corrected file, and be read as if it were whole.
    deque(judged.samples(), maxlen=0)
    with RunWriter(folder, record, overwrite=overwrite) as writer:
        revote = Revote(record)
        sink = RunSink(writer)
        readings: dict[str, Counter[tuple[str, str]]] = {
            judge.name: Counter() for judge in judged.judges
        }
        labels = 0
        with write_lines(folder / LABELS) as labeled, write_lines(folder / UNREAD) as unread:
            for sample in judged.samples():
                sink.add(revote(sample.result))
                labels += len(sample.human)
                for label in sample.human:
                    labeled(label)
                for reply in _read(sample, readings):
                    unread(reply)
        for name in (LABELS, UNREAD):
            if not (folder / name).stat().st_size:
                (folder / name).unlink()
        summary = sink.finish()
    counts = ImportCounts(
        readings={name: _reading(counts) for name, counts in readings.items() if counts.total()},
        labels=labels,
        repeated=judged.repeated,
    )
    directory.write_text(folder / COUNTS, counts.model_dump_json(indent=1) + "\n")
    return ImportedRun(summary, writer.manifest, counts)


def _panel(judged: RecordedResults, options: PanelOptions) -> Panel:
    panel = valid_settings({**options.given, **judged.panel_settings}, judged.scale)
    panels.check(panel, [judge.name for judge in judged.judges])
    return panel


def _read(
    sample: JudgedSample, readings: Mapping[str, Counter[tuple[str, str]]]
) -> Iterator[UnreadReply]:
    """Count how the replies of a sample were read, and yield those without a readable verdict."""
    for assessment in sample.result.assessments:
        for verdict in assessment.verdicts:
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
        return {name: n for (counted, name), n in counts.most_common() if counted == kind}

    forms = of("forms")
    missing = forms.pop("missing", 0)
    return JudgeReading(
        forms=forms, unsure=counts["unsure", ""], refused=of("refused"), missing=missing
    )
