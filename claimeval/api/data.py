"""Data for the public functions, and `read_samples`, `doctor`, `draw` and `import_replies`, which
prepare data."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import itertools
import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel

from claimeval.api.run import Run
from claimeval.data import reading
from claimeval.data.mapping import MappingSpec, RowMapping, Turns, options, parse_mapping
from claimeval.data.objects import unpacked
from claimeval.data.reading import Problems
from claimeval.data.reasoning import AnswerReasoning
from claimeval.data.rows import SourceRow, count_rows, read_json_lines, read_rows, table_rows
from claimeval.data.survey import Survey, survey
from claimeval.evaluation.job import Job, Reiterable
from claimeval.evaluation.manifest import Ids, Manifest
from claimeval.metrics.rows import METRICS, Metric
from claimeval.metrics.rows import rows as metric_rows
from claimeval.report.progress_bar import progress_bar
from claimeval.runs.directory import has_results
from claimeval.runs.jobs import Prepared
from claimeval.types.clusters import CONVERSATION, check_cluster
from claimeval.types.errors import DataError, NoteWarning, UsageError, unknown_name
from claimeval.types.options import PanelOptions, RunOptions, check_at_least
from claimeval.types.paths import expanded
from claimeval.types.progress import Progress
from claimeval.types.records import References, Sample, SampleResult

if TYPE_CHECKING:
    from claimeval.data.sampling import DrawnRows
    from claimeval.evaluation.measure import MeasureJob

Data = str | Path | Run | Sample | Mapping[str, Any] | Iterable[Any]
"""A file; a run directory; a `Run`; one sample or dict; rows as dicts, dataclasses or models; a
DataFrame, Arrow table or Hugging Face Dataset (recognized by shape, never imported); a dict of
columns."""

Metrics = str | Sequence[str | Metric]
"""Names and `NAME=CLAIMS_OF:AGAINST`, as a list or one text with commas; or `Metric` records."""

EXAMINED = 20_000
"""Samples of a large file that are examined before the first call."""
AHEAD = 20
"""Rows of a large file that are read ahead for every sample that is judged."""
HELD = 4 * 2**20
"""Size in bytes up to which the samples of a file are kept in memory."""


class Read(NamedTuple):
    """Options for reading data."""

    mapping: MappingSpec | None = None
    """Where the fields of samples are."""
    limit: int | None = None
    """The number of samples, from the first; None for all."""
    skip_malformed: bool = False
    """Whether to leave out rows that cannot be read or repeat an id."""
    group: str | None = None
    """Columns whose equal values make rows one sample."""
    turns: Turns | None = None
    """Whether every answer of a conversation is a sample or, by default, the last one."""
    answer_reasoning: AnswerReasoning | None = None
    """What is done with reasoning of a model in answers; None: it is refused."""
    sheet: str | None = None
    """The sheet of a spreadsheet."""

    @property
    def parsed(self) -> RowMapping:
        """The mapping, with the other settings. Raises UsageError for an unknown name."""
        return parse_mapping(
            self.mapping,
            group=self.group,
            turns=self.turns,
            answer_reasoning=self.answer_reasoning,
            sheet=self.sheet,
        )

    def cluster(self, options: RunOptions) -> str | None:
        """The field whose equal values are one cluster: the conversation if every turn of it is a
        sample and no other field is named."""
        every_turn = self.parsed.turns == "all"
        return CONVERSATION if every_turn and options.cluster is None else options.cluster


ALL = Read()


def read_samples(
    data: Data,
    *,
    mapping: MappingSpec | None = None,
    group: str | None = None,
    turns: Turns | None = None,
    answer_reasoning: AnswerReasoning | None = None,
    sheet: str | None = None,
    limit: int | None = None,
    skip_malformed: bool = False,
) -> Iterator[Sample]:
    """Read samples one by one; JSON Lines and CSV files are streamed.

    Args:
        data: A file (.jsonl, .json, .csv, .xlsx, .parquet), a run or its directory, samples, rows,
            or a table.
        mapping: As for `score`; takes precedence over the default names.
        group: As for `score`.
        turns: As for `score`.
        answer_reasoning: As for `score`.
        sheet: As for `score`.
        limit: The number of samples to read, from the first; None for all.
        skip_malformed: Leave out rows that cannot be read or repeat an id, and list them in a
            warning.

    Returns:
        The samples, in order.

    Raises:
        DataError: A row is malformed (the message names file, line and field), no column is known,
            or there is no row.
        UsageError: `mapping` names a field that samples do not have, or the data have an
            unsupported type.

    Examples:
        >>> samples = ce.read_samples("answers.jsonl", limit=2)
        >>> [sample.id for sample in samples]
        ['handbook-remote-days', 'handbook-mileage']
    """
    read = Read(mapping, limit, skip_malformed, group, turns, answer_reasoning, sheet)
    return iter(samples_of(data, read))


def doctor(
    data: Data,
    *,
    metrics: Metrics | None = None,
    mapping: MappingSpec | None = None,
    group: str | None = None,
    turns: Turns | None = None,
    answer_reasoning: AnswerReasoning | None = None,
    sheet: str | None = None,
) -> Survey:
    """Examine data: the metrics that they have the fields for, and missing or malformed values.

    Args:
        data: A file, a run or its directory, samples, rows, or a table.
        metrics: The metrics to examine, as for `score`. Default: all built-in metrics.
        mapping: As for `score`.
        group: As for `score`.
        turns: As for `score`.
        answer_reasoning: As for `score`.
        sheet: As for `score`.

    Returns:
        Missing fields per metric, malformed rows with file, line and field, duplicate ids, contexts
        per sample, and the first sample as it was read. Data without a readable row have `samples`
        0.

    Raises:
        DataError: The file does not exist, or cannot be split into rows. A malformed row raises
            nothing.
        UsageError: A metric or a field is unknown.

    Examples:
        >>> survey = ce.doctor("answers.jsonl")
        >>> survey.samples
        24
        >>> survey.has_inputs_for("coverage")
        True
    """
    chosen = metric_rows(tuple(METRICS) if metrics is None else metrics)
    read = Read(mapping, group=group, turns=turns, answer_reasoning=answer_reasoning, sheet=sheet)
    _ = read.parsed
    problems = Problems(skip=True, quiet=True)
    try:
        samples = samples_of(data, read, problems=problems)
        result = surveyed(samples, chosen)
    except DataError as error:
        read_nothing = problems.errors or problems.nowhere
        if not read_nothing or error.kind in reading.REFUSED:
            raise
        result = Survey(
            samples=0, missing_fields={metric.name: () for metric in chosen}, metrics=chosen
        )
    return result.model_copy(
        update={
            "malformed": tuple(map(str, problems.errors)),
            "malformed_rows": problems.count,
            "nowhere": problems.nowhere,
        }
    )


def surveyed(samples: Iterable[Sample], metrics: Sequence[Metric]) -> Survey:
    """Return the survey of samples, with how they were read. Raises DataError if there are none."""
    result = survey(samples, metrics)
    read = samples.samples if isinstance(samples, Examination) else samples
    if not isinstance(read, ReadSamples):
        return result
    problems = read.problems
    noticed = {"offered": problems.offered, "noticed": (*problems.noticed(), *problems.remarks)}
    return result.model_copy(update={"mapping": read.mapping, **noticed})


def draw(
    log: Data,
    *,
    n: int | None = None,
    every: int | None = None,
    stratify: str | Sequence[str] | None = None,
    min_per_stratum: int = 15,
    seed: int = 0,
    keep_duplicates: bool = False,
    duplicate_threshold: float = 90.0,
    mapping: Mapping[str, str] | None = None,
    sheet: str | None = None,
    out: str | Path | None = None,
) -> DrawnRows:
    """Draw a test set from a log of real questions, in one pass and bounded memory.

    Each distinct question is equally likely, however often it was asked. If the log grows, most of
    the draw stays the same. A trace is one row.

    Args:
        log: A file, `-` for JSON Lines on standard input, or rows as mappings.
        n: The number of rows to draw; fewer if the log has fewer distinct questions. Default: 200.
        every: Draw one in this many distinct questions instead of `n`. Whether a question is drawn
            does not depend on the rest of the log, so that logs of different days can be drawn
            separately.
        stratify: A field, such as `generator` or `metadata.topic`, or several, as a list or one
            text with commas; each combination of their values gets its share of the rows.
        min_per_stratum: Minimum number of rows for each value, if it has that many.
        seed: Another seed draws other questions.
        keep_duplicates: Draw from all rows, so that frequent questions are drawn more often.
        duplicate_threshold: Similarity of words, 1 to 100, from which two questions are near
            duplicates; one is kept.
        mapping: The path of the question, as `{"question": "input.prompt"}`, if it has none of the
            default names.
        sheet: The sheet of an Excel or OpenDocument file, if it has several.
        out: A JSON Lines file to write.

    Returns:
        The rows in the order of the log, each with `drawn` added.

    Raises:
        DataError: The log holds no question, or no row has the field `stratify`.
        UsageError: A number is out of range, there are more strata than rows to draw, `every` is
            given with `n` or `stratify` or draws nothing, or `out` is the log.

    Examples:
        >>> drawn = ce.draw("log.jsonl", n=6, seed=1, out="test.jsonl")
        >>> len(drawn)
        6
    """
    from claimeval.data import sampling

    check_at_least(1, n=n, every=every, duplicate_threshold=duplicate_threshold)
    check_at_least(0, min_per_stratum=min_per_stratum)
    if duplicate_threshold > 100:
        raise UsageError(f"duplicate_threshold: {duplicate_threshold!r}; it needs 100 or less")
    if unknown := set(mapping or {}) - {"question"}:
        raise unknown_name("field of a log", min(unknown), ("question",))
    question = (mapping or {}).get("question")
    path = Path(log) if isinstance(log, (str, Path)) and str(log) != "-" else None
    target = None if out is None else expanded(out)
    if target and path and target.exists() and target.resolve() == path.resolve():
        raise UsageError(f"{target} is the log itself; choose another file")
    source, log_rows = _read_log(log, path, question, sheet)
    rows = sampling.draw(
        log_rows,
        n,
        source=source,
        every=every,
        seed=seed,
        stratify=stratify,
        question_field=question,
        duplicate_threshold=None if keep_duplicates else duplicate_threshold,
        min_per_stratum=min_per_stratum,
    )
    if target:
        target.write_text(as_lines(rows), encoding="utf-8", errors="backslashreplace")
    return rows


def as_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _read_log(
    log: Data, path: Path | None, question: str | None, sheet: str | None
) -> tuple[str, Iterable[SourceRow]]:
    """Return what messages call a log, and its rows."""
    rows: Iterable[SourceRow | Sample]
    if path:
        name = path.name
        rows = read_rows(path, sheet=sheet)
    elif isinstance(log, (str, Path)):
        name = "standard input"
        rows = read_json_lines(sys.stdin.buffer, name)
    else:
        name = "rows"
        problems = Problems()
        rows = (_row(item, number, problems) for number, item in enumerate(rows_of(log), 1))
    if not question:
        from claimeval.data.traces import samples_in

        rows = samples_in(rows)
    return name, (row for row in rows if isinstance(row, SourceRow))


def import_replies(
    file: str | Path,
    *,
    mapping: str | Path | Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    panel: PanelOptions = PanelOptions(),
    cluster: str | None = None,
    answer_reasoning: AnswerReasoning | None = None,
) -> Run:
    """Convert recorded replies of judges, or results of RAGChecker, ragas and DeepEval, into a run,
    without a call.

    Args:
        file: The recorded replies: .jsonl, .json, .csv or .parquet.
        mapping: The mapping of fields, as a YAML file or its content; `ragas` or `deepeval` for
            statements or claims of these tools; None for result files of RAGChecker.
        out: The run directory to write. None keeps the run in memory.
        overwrite: Replace a run with other settings in `out`.
        panel: How the verdicts of several judges are counted.
        cluster: The field whose equal values are one cluster in intervals. Default: the question.
        answer_reasoning: `drop` leaves the reasoning of a model out of answers, `keep` keeps it as
            a part of them; None refuses such answers. Claims stay as they were judged.

    Returns:
        The run. Replies without a readable verdict are unassessed, and listed in `unread.jsonl` of
        its directory; `import.json` counts how the replies of each judge were read.

    Raises:
        UsageError: The file is not RAGChecker's and there is no mapping, or the mapping is wrong.
        DataError: A row is malformed.

    Examples:
        >>> run = ce.import_replies("judged.jsonl", mapping="judged.yaml", out="runs/imported")
        >>> [judge.name for judge in run.manifest.judges]
        ['gpt-4']
    """
    from claimeval.data.recorded import field_map, read_mapping
    from claimeval.runs.import_replies import import_judged, open_file, repeats

    chosen = None
    if isinstance(mapping, Mapping):
        chosen = field_map(mapping)
    elif mapping:
        chosen = read_mapping(Path(mapping))
    recorded = open_file(expanded(file), chosen, answer_reasoning)
    if note := repeats(recorded):
        warnings.warn(note, NoteWarning, stacklevel=2)
    if out is not None:
        import_judged(
            recorded, str(file), expanded(out), panel, overwrite=overwrite, cluster=cluster
        )
        return Run.load(out)
    with TemporaryDirectory() as folder:
        import_judged(recorded, str(file), Path(folder), panel, cluster=cluster)
        return Run.load(folder).in_memory()


def samples_of(
    data: Data,
    read: Read = ALL,
    *,
    references: References | None = None,
    problems: Problems | None = None,
) -> Reiterable[Sample]:
    """Return the samples as an iterable that can be iterated more than once; each pass reads a
    large file again.

    Args:
        data: Samples, rows, a run, or the path of a file or run directory.
        read: How the data are read.
        references: Whether one of several gold answers is enough, for all samples.
        problems: How rows that cannot be read are treated, instead of `read.skip_malformed`.

    Raises:
        UsageError: A field is unknown, `limit` is below 1, or the data have an unsupported type.
    """
    check_at_least(1, limit=read.limit)
    skip = read.skip_malformed
    problems = problems or Problems(skip=skip, unique_ids=skip)
    if isinstance(data, Run) or is_run(data):
        _ = read.parsed
        run = data if isinstance(data, Run) else Run.load(str(data))
        return _samples_of_run(run, read.limit, references)
    if isinstance(data, (str, Path)):
        return _samples_of_file(expanded(data), read, references, problems)
    return _samples_of_rows(data, read, references, problems)


def _samples_of_run(run: Run, limit: int | None, references: References | None) -> RunSamples:
    change = {"references": references} if references else {}
    samples = run.samples
    return RunSamples(
        lambda: (sample.model_copy(update=change) for sample in itertools.islice(samples, limit)),
        run.manifest.data.ids,
    )


def _samples_of_file(
    path: Path, read: Read, references: References | None, problems: Problems
) -> ReadSamples:
    decision = reading.decision_of_file(path, read.parsed)
    mapping = decision.mapping
    problems.offered = options(decision.offered) or None
    problems.remarks = decision.remarks

    def read_file(problems: Problems, positions: range | None = None) -> Iterator[Sample]:
        """Read the file, or some of its rows."""
        return reading.read_samples(
            path,
            mapping=mapping,
            references=references,
            limit=read.limit,
            problems=problems,
            positions=positions,
        )

    if path.is_file() and path.stat().st_size > HELD:
        return LargeFile(path, read_file, problems, read, mapping)
    return ReadSamples(lambda: read_file(problems), problems, mapping, hold=True)


def _samples_of_rows(
    data: Data, read: Read, references: References | None, problems: Problems
) -> ReadSamples:
    """Return the samples of rows in memory, which are read at once: an iterator has them once."""
    items = (_row(item, number, problems) for number, item in enumerate(rows_of(data), 1))
    beginning = list(itertools.islice(items, reading.CHECKED))
    decision = reading.decided(read.parsed, beginning, "data")
    mapping = decision.mapping
    problems.offered = options(decision.offered) or None
    problems.remarks = decision.remarks
    rows = itertools.chain(beginning, items)
    samples = list(
        reading.samples_of_rows(
            rows, "data", problems, mapping=mapping, references=references, limit=read.limit
        )
    )
    return ReadSamples(lambda: iter(samples), problems, mapping)


class RunSamples(Reiterable[Sample]):
    """The samples of a run."""

    def __init__(self, begin: Callable[[], Iterator[Sample]], ids: Ids | None) -> None:
        super().__init__(begin)
        self.ids = ids
        """Whether the ids of the run's samples were given or made."""


class ReadSamples(Reiterable[Sample]):
    """Samples read from rows, and the rows that could not be read."""

    def __init__(
        self,
        begin: Callable[[], Iterator[Sample]],
        problems: Problems,
        mapping: RowMapping,
        *,
        hold: bool = False,
    ) -> None:
        super().__init__(begin, hold=hold)
        self.problems = problems
        self.mapping = mapping

    @property
    def ids(self) -> Ids:
        """Whether the rows that were read so far have ids, or got their numbers."""
        return "made" if self.problems.made_ids else "given"


ReadFile = Callable[[Problems, range | None], Iterator[Sample]]
"""Reads the samples in some rows of a file, or in all rows for None; `Problems` collects rows that
cannot be read."""


class LargeFile(ReadSamples):
    """The samples of a file that is not kept in memory.

    Its beginning is examined before the first call, the remaining rows while samples are judged,
    some rows ahead.
    """

    def __init__(
        self, path: Path, read_file: ReadFile, problems: Problems, read: Read, mapping: RowMapping
    ) -> None:
        super().__init__(lambda: read_file(problems, None), problems, mapping)
        self._path = path
        self._read_file = read_file
        self._read = read
        self.identity = self._digest

    def _digest(self) -> str:
        total = 0
        with self._path.open("rb") as file:
            # A sum has no order: rows that were sorted otherwise are the same run, and open no new
            # cap.
            for line in file:
                total += int.from_bytes(hashlib.blake2b(line.rstrip(), digest_size=16).digest())
        return f"{total:x}"

    @property
    def _row_each(self) -> bool:
        """Whether every row is a sample, or an error that ends the run."""
        return not self.problems.skip and self.mapping.row_each

    def read_ahead(self, positions: range | None) -> Iterator[Sample]:
        """Yield the samples in these rows, each after the following rows were checked.

        Raises DataError for a row that cannot be read.
        """
        ahead = (
            iter(())
            if self.problems.skip
            else self._read_file(Problems(unique_ids=True), positions)
        )
        for sample in self._read_file(self.problems, positions):
            try:
                for _ in itertools.islice(ahead, AHEAD):
                    pass
            except DataError as error:
                stored = (
                    "The replies so far are stored: correct the row, and the same command pays for"
                    " the rest alone"
                )
                raise DataError(f"{error}. {stored}") from error
            yield sample

    def count(self) -> int:
        """Return the number of samples, without parsing rows if each row is a sample."""
        if not self._row_each:
            return super().count()
        count = count_rows(self._path)
        limit = self._read.limit
        return count if limit is None else min(count, limit)

    def part(self, positions: range) -> Reiterable[Sample]:
        """Return the samples at these positions, without parsing the rows before them if each row
        is a sample."""
        if not self._row_each:
            return super().part(positions)
        return Reiterable(lambda: self.read_ahead(positions) if positions else iter(()))

    def examined(self) -> LargeFile:
        """Return the same samples, whose rows are checked ahead while samples are judged."""
        file = copy.copy(self)
        file._begin = lambda: self.read_ahead(None)
        return file


Samples = Reiterable[Sample] | Sequence[Sample]
"""Samples that can be read more than once."""


class Examination:
    """A pass over samples before the first call: over all, or over the first ones of a large
    file."""

    def __init__(
        self, samples: Samples, data: Data | None, read: Read, options: RunOptions
    ) -> None:
        self.path = None if data is None else path_of(data)
        self.samples = samples
        self._read = read
        self._cluster = options.cluster
        self._progress = Progress(None, options.progress or progress_bar(), unit="samples read")

    def __iter__(self) -> Iterator[Sample]:
        first = itertools.islice(
            self.samples, EXAMINED if isinstance(self.samples, LargeFile) else None
        )
        for self._progress.done, sample in enumerate(first, 1):
            if self._progress.done % 1000 == 0:
                self._progress.notify()
            yield sample

    @property
    def total(self) -> int | None:
        """The number of samples, after the pass; None if it did not reach the end."""
        count = self._progress.done
        return None if isinstance(self.samples, LargeFile) and count == EXAMINED else count

    def described(self, record: Manifest) -> Manifest:
        """Return the manifest of a run over these samples, with a note about rows that were left
        out.

        Raises UsageError if no sample has the cluster field.
        """
        check_cluster(self._cluster, self.samples)
        read = self.samples if isinstance(self.samples, ReadSamples) else None
        mapping = read.mapping if read else self._read.parsed
        record = record.of_data(
            str(self.path) if self.path else None,
            limit=self._read.limit,
            mapping=mapping,
            ids=self.samples.ids if isinstance(self.samples, ReadSamples | RunSamples) else None,
        )
        problems = read and read.problems
        notes = problems.notes(complete=self.total is not None) if problems else []
        return record.model_copy(update={"notes": (*record.notes, *notes)}) if notes else record

    def prepared(self, job: Job[Any] | MeasureJob, remarks: Iterable[str] = ()) -> Prepared:
        """Return the job over these samples, with what to say of them before it runs. Raises
        UsageError if no sample has the cluster field."""
        record = self.described(job.manifest)
        said = tuple(remarks)
        return Prepared(job, record, self.items, self.total, self.path, remarks=said)

    @property
    def items(self) -> Samples:
        """The samples to judge."""
        if self.total is not None or not isinstance(self.samples, LargeFile):
            return self.samples
        return self.samples.examined()


def is_run(data: Data) -> bool:
    """Return whether the data are the path of a run directory."""
    return isinstance(data, (str, Path)) and has_results(expanded(data))


def path_of(data: Data) -> Path | None:
    """Return the file or run directory of the data; None for rows and for a run in memory."""
    if isinstance(data, Run):
        return data.path
    return expanded(data) if isinstance(data, (str, Path)) else None


def rows_of(data: Any) -> Iterable[Any]:
    """Return the rows of a table or an iterable; one sample, record or mapping is one row."""
    if isinstance(data, (Sample, SampleResult)):
        return [data]
    if isinstance(data, BaseModel):
        data = data.model_dump()
    if isinstance(data, Mapping):
        return _rows_of_columns(data)
    if hasattr(data, "to_dict") and hasattr(data, "reset_index"):
        # A row of a DataFrame is a Series, which has no columns.
        return _records(data) if hasattr(data, "columns") else [data.to_dict()]
    for method in ("to_pylist", "to_dicts"):
        if hasattr(data, method):
            table: Iterable[Any] = getattr(data, method)()
            return table
    if dataclasses.is_dataclass(data) and not isinstance(data, (type, Iterable)):
        return [data]
    if not isinstance(data, Iterable) or isinstance(data, (bytes, bytearray)):
        raise UsageError(f"data: {type(data).__name__}; give {TAKEN}")
    return data


def _rows_of_columns(data: Mapping[Any, Any]) -> Iterable[Any]:
    # `load_dataset` of Hugging Face gives a dict of data sets unless a split is named.
    if data and all(hasattr(value, "column_names") for value in data.values()):
        raise UsageError(
            f"data: several data sets ({', '.join(map(str, data))}); give one of them, as in"
            " data[NAME]"
        )
    return table_rows(unpacked(data), "data")


def _records(frame: Any) -> list[dict[str, Any]]:
    """Return the rows of a data frame, with its index: as columns if it has names, else as
    `index`, by which scores find their way back into the frame."""
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
        return [dict(row) for row in frame.to_dict("records")]
    rows: list[dict[str, Any]] = frame.to_dict("records")
    if INDEX in frame.columns or frame.index.nlevels > 1:
        return rows
    return [
        {**row, INDEX: label}
        for row, label in zip(
            rows,
            frame.index.tolist(),
            strict=True,
        )
    ]


INDEX = "index"
"""The name in the metadata of a frame's index."""
TAKEN = (
    "the name of a file, a run, samples, dicts, dataclasses or models, a dict of columns, a"
    " DataFrame, an Arrow table or a Hugging Face Dataset"
)
"""Supported data, as messages list them."""


def _row(item: Any, number: int, problems: Problems) -> SourceRow | Sample:
    """Return a row of a table in memory; `problems` notes samples that get their number as id."""
    if isinstance(item, Sample):
        if item.id:
            return item
        problems.made_ids = True
        return item.model_copy(update={"id": str(number)})
    if isinstance(item, SampleResult):
        return item.sample
    fields = unpacked(item._asdict() if hasattr(item, "_asdict") else item)
    if not isinstance(fields, dict):
        raise UsageError(
            f"data: sample {number} is {type(item).__name__} {str(item)[:40]!r}; give {TAKEN}"
        )
    return SourceRow(f"sample {number}", number, fields)
