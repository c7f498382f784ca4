"""Run directories: writing and reading `manifest.json`, `results.jsonl`, `replies.jsonl.gz` and
`summary.json`.

`manifest.json` has the settings. `results.jsonl` has one line per sample, in the order of the data,
and `replies.jsonl.gz` one line per sample with its requests and replies; `summary.json` is computed
from both. The same settings and replies give the same files, however often the run was interrupted.
During a run, lines go to `.part` files; at the end, replies are compressed. A run directory needs
no other file to be rejudged or reported. Runs of other jobs over the same samples (measured, rated,
graded) are attached: they are directories inside it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import glob
import json
import os
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Self, TextIO, TypeVar

from pydantic import ValidationError

from claimeval.evaluation.manifest import RUN_FORMAT, Manifest
from claimeval.evaluation.summary import Summary, SummaryBuilder
from claimeval.metrics.derived import is_derived
from claimeval.metrics.rows import METRICS
from claimeval.metrics.scoring import MetricSummary
from claimeval.runs import lines
from claimeval.runs.lines import Lines, OnAccess, WrittenResult, compress
from claimeval.statistics.formatting import number_of
from claimeval.types.clusters import check_cluster
from claimeval.types.errors import (
    DataError,
    StoppedEarly,
    UsageError,
    first_problem,
    missing_file,
)
from claimeval.types.records import CLAIMS, Record, SampleResult, ScoredSample

MANIFEST = "manifest.json"
RESULTS = "results.jsonl"
SUMMARY = "summary.json"
PARTS = "parts"
"""Folder in which shards write their parts, until they are merged."""
RESULTS_PART = f"{RESULTS}.part"
RESULTS_COMPRESSED = f"{RESULTS}.gz"
ANNOTATION = "annotation"
"""The folder of what `annotate` drew, and of the labels that people gave."""
LABELS = "labels.jsonl"
"""Human labels that came with the data of the run."""
REPLIES = "replies.jsonl.gz"
REPLIES_PART = "replies.jsonl.part"
RESULTS_WRITTEN = f"{RESULTS}.written.part"
REPLIES_WRITTEN = "replies.jsonl.written.part"
"""What a run had written when it was killed, while it is resumed."""
OUTCOME = (SUMMARY, RESULTS, RESULTS_COMPRESSED, REPLIES)
"""Files that are removed when a run with other settings replaces the run."""


R = TypeVar("R", bound=Record)
T = TypeVar("T")


class RunInMemory:
    """Collects the results of a run in memory."""

    folder = None

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self.results: list[SampleResult] = []

    def add(self, result: SampleResult) -> None:
        """Append one sample."""
        self.results.append(result)

    def added(self) -> Iterator[SampleResult]:
        """Yield the samples added so far."""
        return iter(self.results)

    def revise(self, results: Iterable[SampleResult]) -> None:
        """Replace the samples added so far."""
        self.results = list(results)

    def finish(self, summary: Summary) -> None:
        """End the run with its summary, which adds nothing to a run in memory."""


class ResultFiles:
    """The results and replies of a run or a part of it, which are locked until they are closed."""

    def __init__(
        self,
        folder: Path,
        results: Path,
        replies: Path,
        what: str | None = None,
        *,
        keep: bool = False,
    ) -> None:
        """Open both files of a run directory. `what` names their owner, as in `open_alone`; with
        `keep`, what they hold is moved aside."""
        self.folder = folder
        self.results = results
        self.replies = replies
        self.samples = 0
        self.asked = False
        with contextlib.ExitStack() as opened:
            aside = folder if keep else None
            self._results = opened.enter_context(
                open_alone(results, what, aside and aside / RESULTS_WRITTEN)
            )
            self._replies = opened.enter_context(
                open_alone(replies, what, aside and aside / REPLIES_WRITTEN)
            )
            opened.pop_all()

    def add(self, result: SampleResult) -> None:
        """Append a sample."""
        self.write(lines.write(result))

    def write(self, result: WrittenResult) -> None:
        """Append the lines of a sample, the replies first, so that no result of a killed run lacks
        its replies."""
        with explained(self.folder):
            for file, line in ((self._replies, result.replies), (self._results, result.line)):
                file.write(line)
                file.flush()
        self.samples += 1
        self.asked |= result.asked

    def _sync(self) -> None:
        for file in (self._replies, self._results):
            file.flush()
            os.fsync(file.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the files. What is unfinished can be resumed, or is started again from stored
        replies."""
        for file in (self._results, self._replies):
            with contextlib.suppress(
                OSError
            ):  # a full disk is reported by the error that ended the block
                file.close()


class RunWriter(ResultFiles):
    """Writes a run directory line by line; `finish` renames the files to their final names.

    The directory is locked until `finish` or the end of a `with` block. Raises UsageError if it
    holds other files or a run with other settings.
    """

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        *,
        overwrite: bool = False,
        compressed: bool = False,
    ) -> None:
        """Lock the directory and write the manifest.

        `overwrite` replaces a run with other settings, and `compressed` compresses the results at
        the end as replies always are.
        """
        self._compressed = compressed
        self._earlier: Summary | None = None
        """The summary of a run with the same settings in the directory, whose files stay until
        `finish`."""
        self.kept: Summary | None = None
        """The earlier results, if `finish` left them in place."""
        self._written: RunResults | None = None
        """What this run had written before, with the same settings."""
        self._labels = list[Record]()
        try:
            before = None if overwrite else check_free(folder, manifest)
            created = (
                manifest.created
                or (before and before.created)
                or f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
            )
            self.manifest = manifest.model_copy(update={"created": created})
            folder.mkdir(parents=True, exist_ok=True)
            resumed = before is not None and before.settings_digest == manifest.settings_digest
            # Those of a run that was killed are moved; those of one that ended stay in place.
            killed = resumed and not (folder / SUMMARY).exists()
            super().__init__(folder, folder / RESULTS_PART, folder / REPLIES_PART, keep=killed)
            with contextlib.ExitStack() as opened:
                opened.push(self)
                if not killed:
                    for name in (RESULTS_WRITTEN, REPLIES_WRITTEN):
                        (folder / name).unlink(missing_ok=True)
                if resumed:
                    self._written = _written(folder, killed=killed)
                with contextlib.suppress(DataError):  # what is overwritten may be damaged
                    if (folder / SUMMARY).exists() and not (
                        overwrite and manifest.differs(load_manifest(folder))
                    ):
                        self._earlier = load_summary(folder)
                if self._earlier is None:
                    for name in OUTCOME if overwrite else ():
                        (folder / name).unlink(missing_ok=True)
                    with explained(folder):
                        write_text(folder / MANIFEST, self.manifest.text)
                opened.pop_all()
        except OSError as error:
            raise UsageError(
                f"cannot write the run directory {folder}: {error.strerror or error}"
            ) from error

    @property
    def resumes(self) -> bool:
        """Whether this run, with the same settings, had written results before."""
        return self._written is not None

    def written(self) -> Iterator[SampleResult]:
        """Yield the results that this run, with the same settings and the same version of
        claimeval, had written before; none from a damaged one on."""
        with contextlib.suppress(DataError):  # as after a power cut
            yield from self._written or ()

    def add(self, result: SampleResult) -> None:
        """Append a sample, and keep the labels that its given claims came with."""
        super().add(result)
        for name, claim in result.sample.given_claims(CLAIMS):
            if claim.label:
                from claimeval.data.labels import HumanLabel

                label = HumanLabel(sample=result.id, claim_id=name, label=claim.label)
                self._labels.append(label)

    def add_lines(self, results: Iterable[bytes], replies: Iterable[bytes], *, asked: bool) -> None:
        """Append lines in pieces of any size; `asked` says whether a judge was asked."""
        with explained(self.folder):
            self._results.writelines(results)
            self._replies.writelines(replies)
        self.asked |= asked

    def revise(self, results: Iterable[SampleResult]) -> None:
        """Replace the samples added so far; replies stay as they are."""
        with explained(self.folder):
            path = self.folder / f"{RESULTS}.revised"
            revised = open_alone(path)
            revised.writelines(lines.write(result).line for result in results)
            path.replace(self.results)
            self._results.close()
            self._results = revised

    def added(self) -> Iterator[SampleResult]:
        """Read back the samples added so far."""
        self._replies.flush()
        self._results.flush()
        return iter(RunResults(self.results, self.replies))

    def finish(self, summary: Summary) -> None:
        """Rename results and replies to their final names, and write the manifest and the summary.

        Until then the files stay open, and so locked. A run that stopped early does not replace one
        with the same settings that got further: earlier results stay, and are in `kept`.
        """
        with explained(self.folder), self:
            earlier = self._earlier
            further = earlier and (earlier.samples > summary.samples or not _stopped_early(earlier))
            if further and _stopped_early(summary):
                self.kept = earlier
                self.results.unlink()
                self.replies.unlink()
                return
            # A name may reach the disk before what was written: after a power cut, the file would
            # be empty.
            self._sync()
            placed = {REPLIES: self.replies} if self.asked else {}
            placed[RESULTS_COMPRESSED if self._compressed else RESULTS] = self.results
            for name, written in placed.items():
                part = self.folder / f"{name}.part"
                if part != written:
                    compress(written, part)
                part.replace(self.folder / name)
            # `results.jsonl` of an earlier run would be read in place of the compressed results of
            # this one.
            for name in {
                RESULTS,
                RESULTS_COMPRESSED,
                RESULTS_PART,
                REPLIES_PART,
                RESULTS_WRITTEN,
                REPLIES_WRITTEN,
                REPLIES,
            } - placed.keys():
                (self.folder / name).unlink(missing_ok=True)
            write_text(self.folder / MANIFEST, self.manifest.text)
            self._write_labels()
            write_summary(self.folder, summary)

    def _write_labels(self) -> None:
        if not self._labels:
            return
        with write_lines(self.folder / LABELS) as write:
            for label in self._labels:
                write(label)


ResultWriter = RunInMemory | RunWriter
"""Takes the results of a run one by one, then its summary. Before the summary, results can be read
back and revised."""


@contextlib.contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Turn errors of the system into StoppedEarly, with a message that no reply is lost."""
    try:
        yield
    except OSError as error:
        problem = error.strerror or str(error)
        raise StoppedEarly(
            f"the run directory {folder} cannot be written: {problem}. All replies received so far"
            " are stored; fix the problem and run the same command to resume"
        ) from error


def open_alone(file: Path, what: str | None = None, aside: Path | None = None) -> BinaryIO:
    """Open a file, empty and locked by this process. Raises UsageError if another process has
    locked it.

    Args:
        file: The file.
        what: The owner of the file in that error. Default: the run in its directory.
        aside: Where what the file holds is moved to, unless more of it is there.
    """
    while True:
        # Opened to append, since "w" would empty the file of a process that holds the lock. The
        # writer closes it.
        opened = open(file, "ab", buffering=1 << 20, opener=no_follow)  # noqa: SIM115
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            opened.close()
            raise UsageError(
                f"another process is writing {what or f'the run {file.parent}'}; wait for it or"
                " give another --out"
            ) from error
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(opened.fileno()), file.stat()):
                there = aside.stat().st_size if aside and aside.exists() else 0
                if aside is None or file.stat().st_size <= there:
                    opened.truncate(0)
                    return opened
                file.replace(aside)
        opened.close()  # this process has moved it, or the one that wrote it has in the meantime


def check_free(folder: Path, manifest: Manifest) -> Manifest | None:
    """Return the manifest of the run in the folder, if any. Raises UsageError if the run cannot be
    written there."""
    if not folder.exists():
        return None
    if not folder.is_dir():
        raise UsageError(f"{folder} is a file; --out names a directory")
    if not (folder / MANIFEST).exists():
        # A run that was killed at its start has parts but no manifest.
        if not all(entry.name == PARTS or entry.suffix == ".part" for entry in folder.iterdir()):
            raise UsageError(f"{folder} is not empty and holds no run; give another --out")
        return None
    before = load_manifest(folder)
    # A run that stopped at a wrong address or a refused key goes on when its judge file is mended.
    resumed = not (folder / SUMMARY).exists() or _stopped_early(load_summary(folder))
    if what := manifest.differs(_with_judges_of(manifest, before) if resumed else before):
        advice = "give another --out, or --overwrite it"
        if what == "metrics":
            advice = f"{_with_metrics_of(before, manifest)}; or give another --out"
        raise UsageError(f"{folder} holds a run with other {what}; {advice}")
    return before


def _with_metrics_of(before: Manifest, manifest: Manifest) -> str:
    """Return the advice on a run that has other metrics: what it has must not be lost unsaid."""
    if all(name in manifest.names for name in before.names):
        return "--overwrite replaces it, and keeps its metrics"
    return f"to have both, name these too with --overwrite: {','.join(before.names)}"


def _stopped_early(summary: Summary) -> bool:
    """Return whether a run stopped early, or continued without one of its judges."""
    return not summary.complete or bool(summary.panel and summary.panel.stopped_judges)


def _with_judges_of(manifest: Manifest, before: Manifest) -> Manifest:
    """Return the earlier manifest with the current judge settings, if names and models of the
    judges are the same."""
    asked = [[(judge.name, judge.model) for judge in record.asked] for record in (before, manifest)]
    if asked[0] != asked[1]:
        return before
    return before.model_copy(update={"judges": manifest.judges, "extractor": manifest.extractor})


def write_summary(folder: Path, summary: Summary) -> None:
    """Write the summary into the run directory."""
    write_text(
        folder / SUMMARY, json.dumps(summary.model_dump(), indent=1, ensure_ascii=False) + "\n"
    )


def draft(path: Path) -> Path:
    """Return the temporary path, unique to this process, under which a file is written before it is
    renamed.

    Temporary files of the same name that killed processes of this host have left are removed.
    """
    # On a shared disk, whether a process of another host still runs cannot be asked.
    prefix = f"{path.name}.{os.uname().nodename}-"
    for other in path.parent.glob(f"{glob.escape(prefix)}*.part"):
        process = other.name.removeprefix(prefix).removesuffix(".part")
        try:
            if process.isdecimal():
                os.kill(int(process), 0)
        except ProcessLookupError:
            other.unlink(missing_ok=True)
        except PermissionError:  # a running process of another user
            pass
    return path.with_name(f"{prefix}{os.getpid()}.part")


@contextlib.contextmanager
def replacing(path: Path, *, durable: bool = False, mode: int = 0o666) -> Iterator[TextIO]:
    """Open a text file that takes its place atomically after the block; if `durable`, its content
    is then on disk."""
    part = draft(path)
    opener = partial(no_follow, mode=mode)
    with open(
        part, "w", encoding="utf-8", errors="backslashreplace", newline="", opener=opener
    ) as file:
        yield file
        if durable:
            file.flush()
            os.fsync(file.fileno())
    part.replace(path)


def write_text(path: Path, text: str, *, durable: bool = False) -> None:
    """Write a file of a run as `replacing` does."""
    with replacing(path, durable=durable) as file:
        file.write(text)


@contextlib.contextmanager
def write_lines(path: Path) -> Iterator[Callable[[Record], object]]:
    """Write a JSON Lines file of records atomically; the context is a function that writes one
    record."""
    with replacing(path) as file:  # lone surrogates, which UTF-8 cannot encode, become JSON escapes
        yield lambda record: file.write(
            json.dumps(record.model_dump(exclude_none=True), ensure_ascii=False) + "\n"
        )


def label_files(run: Path, metric: str | None = None) -> list[Path]:
    """Return the files of the labels given with `annotate`, for all metrics or one, else that of
    the import, if any."""
    name = "*" if metric is None else glob.escape(metric)
    given = sorted((run / ANNOTATION).glob(f"{name}.labels.jsonl"))
    return given or [file for file in (run / LABELS,) if file.exists()]


def number_of_labels(run: Path) -> int:
    """Return the number of labels that people gave in a run."""
    return sum(file.read_bytes().count(b"\n") for file in label_files(run))


def append_line(path: Path, fields: Mapping[str, object]) -> None:
    """Append a line to a file of human labels; it is on disk when this returns."""
    with open(path, "a", encoding="utf-8", opener=no_follow) as file:
        file.write(json.dumps(fields, ensure_ascii=True) + "\n")
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Make a folder of human labels if there is none, and hold its lock, for which other threads
    and processes wait."""
    folder.mkdir(parents=True, exist_ok=True)
    # The folder itself, because a file of labels is replaced by another one, and a lock file would
    # stay behind after a kill.
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def no_follow(path: str, flags: int, mode: int = 0o666) -> int:
    """Open a file of a run for writing. Raises UsageError for a link, which could point to any
    other file."""
    try:
        return os.open(path, flags | os.O_NOFOLLOW, mode)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UsageError(
                f"{path} is a link, and files of a run are not written through links; remove it"
            ) from error
        raise


def load_manifest(folder: Path) -> Manifest:
    """Read the manifest of a run directory."""
    manifest = _read(Manifest, folder, MANIFEST)
    known = {prompt.id for prompt in manifest.prompts} | {None}
    unknown = [q.prompt for q in manifest.questions if q.prompt not in known]
    unknown += [
        m
        for m in manifest.metrics
        if manifest.of_claims and isinstance(m, str) and not (m in METRICS or is_derived(m))
    ]
    if unknown:
        raise DataError(
            f"{folder / MANIFEST} cannot be read: it names {unknown[0]!r}, which it does not have"
        )
    return manifest


def load_summary(folder: Path) -> Summary:
    """Read the summary of a run directory; if the run is unfinished, summarize its finished
    samples."""
    if (folder / SUMMARY).exists() or not has_results(folder):
        return _read(Summary, folder, SUMMARY)
    manifest = load_manifest(folder)
    tallies = SummaryBuilder(manifest)
    for result in RunResults.of(folder):
        tallies.add(result)
    return tallies.summary(complete=False, stopped="killed, or still running")


def incomplete(folder: Path) -> str | None:
    """Return a sentence that a run is incomplete; None for a complete run and for other folders."""
    if not ((folder / MANIFEST).exists() and has_results(folder)):
        return None
    summary = load_summary(folder) if (folder / SUMMARY).exists() else None
    if summary and summary.complete:
        return None
    if summary and summary.decided:
        return (
            f"{folder} {summary.stopped}; without --stop-when-decided, its command judges the rest"
        )
    samples = number_of(len(RunResults.of(folder)), "sample")
    return (
        f"{folder} is not complete: {samples} finished; run the command that began it again to"
        " resume"
    )


def results_file(folder: Path) -> Path:
    """Return the file with the results of a run; for an unfinished run, the part with its finished
    samples."""
    for path in (folder / RESULTS, folder / RESULTS_COMPRESSED):
        if path.exists():
            return path
    part = folder / RESULTS_PART
    return part if part.exists() and part.stat().st_size > 0 else folder / RESULTS


def _written(folder: Path, *, killed: bool) -> RunResults | None:
    """Return the results that a run had written before it was killed or had ended."""
    if killed:
        results, replies = folder / RESULTS_WRITTEN, folder / REPLIES_WRITTEN
    else:
        results, replies = results_file(folder), folder / REPLIES
    return RunResults(results, replies) if results.exists() else None


def has_results(folder: Path) -> bool:
    """Return whether a folder holds results of samples."""
    return results_file(folder).exists()


class ReadLines(OnAccess[T]):
    """What is read from the lines of results on each access; only the positions of the lines are
    kept in memory.

    A line that cannot be read raises DataError with its number.
    """

    def __init__(
        self, read: Callable[[bytes, bytes | None], T], results: Lines, replies: Lines | None = None
    ) -> None:
        """`read` gets a line of the results and the line of its replies, which is None if `replies`
        is."""
        self._read = read
        self._results = results
        self._replies = replies

    def _at(self, position: int, line: bytes, replies: bytes | None) -> T:
        try:
            return self._read(line, replies)
        except ValueError as error:
            problem = str(error).splitlines()[0]
            if isinstance(error, ValidationError):
                field, what, value = first_problem(error)
                problem = f"{field or 'the line'}: {what} (it is {value})"
            raise DataError(
                f"{self._results.path}, line {position + 1}: not a result: {problem}"
            ) from error

    def at(self, position: int) -> T:
        """Return what the line at a position says, from 0."""
        return self._at(
            position, self._results[position], self._replies[position] if self._replies else None
        )

    def part(self, positions: range) -> Iterator[T]:
        """Yield what the lines at these positions say, from 0, without parsing the lines before
        them."""
        replies = islice(self._replies or (), positions.start, positions.stop)
        for position, line in islice(enumerate(self._results), positions.start, positions.stop):
            yield self._at(position, line, next(replies, None))

    def __iter__(self) -> Iterator[T]:
        return self.part(range(sys.maxsize))

    def __len__(self) -> int:
        return len(self._results)


class RunResults(ReadLines[SampleResult]):
    """Results of a run, read from disk on each access. If the replies are missing, results have no
    calls."""

    def __init__(self, results: Path, replies: Path, metrics: Collection[str] = ()) -> None:
        """`metrics` have a score in every result."""

        def read(line: bytes, replies: bytes | None) -> SampleResult:
            result = lines.read(line, replies)
            if lost := expected - result.scores.keys():
                raise ValueError(f"it has no score of {min(lost)}")
            return result

        expected = frozenset(metrics)
        super().__init__(
            read,
            Lines(results),
            Lines(replies) if replies.exists() else None,
        )

    @classmethod
    def of(cls, folder: Path) -> RunResults:
        """Return the results of a run directory. Raises DataError if there are none."""
        results = results_file(folder)
        if not results.exists():
            raise no_run(folder, RESULTS)
        replies = folder / (REPLIES_PART if results.name == RESULTS_PART else REPLIES)
        return cls(results, replies, load_manifest(folder).names)

    def places(self, ids: Container[str]) -> dict[str, int]:
        """Return the positions of the results of these samples, by id, without parsing any
        result."""
        numbered = (
            (lines.sample_id(line), position) for position, line in enumerate(self._results)
        )
        return {sample_id: position for sample_id, position in numbered if sample_id in ids}

    def judged(self) -> ReadLines[SampleResult]:
        """Return the results without their calls, which are longest to read."""
        return ReadLines(self._read, self._results)

    def scored(self) -> ReadLines[ScoredSample]:
        """Return claims, labels and scores, without verdicts and calls."""
        return self.lines(ScoredSample)

    def lines(self, record: type[R]) -> ReadLines[R]:
        """Return the fields of each result that a record has."""
        return ReadLines(lambda line, _: record.model_validate_json(line), self._results)

    def __repr__(self) -> str:
        return f"<RunResults: {len(self):,} results, read when they are used>"


def _read(record: type[R], folder: Path, name: str) -> R:
    path = folder / name
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        # Before the record is checked, which would complain of the first field that another format
        # has.
        if isinstance(content, dict) and content.get("format", RUN_FORMAT) != RUN_FORMAT:
            raise DataError(
                f"{folder} is a run of format {content['format']}, and this version reads format"
                f" {RUN_FORMAT}. Run its command again with another --out: replies are in the reply"
                " cache, and cost nothing"
            )
        return record.model_validate(content)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise no_run(folder, name) from error
    except ValidationError as error:
        field, problem, _ = first_problem(error)
        raise DataError(
            f"{path} cannot be read by this version of claimeval: {field or 'the file'}: {problem}"
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error


def no_run(folder: Path, name: str = MANIFEST) -> DataError:
    """Return the error for a path that is given as a run and is none: it does not exist, is a file,
    another folder, or an unfinished run.

    Args:
        folder: The path that was given.
        name: The file of a run that it lacks.
    """
    if not folder.exists():
        return missing_file(folder)
    if not folder.is_dir():
        return DataError(_file_as_run(folder))
    if resume := _how_to_resume(folder):
        return DataError(f"{folder} is not a finished run: {resume}")
    inside = list(folder.glob(f"*/{SUMMARY}"))
    if inside:
        what = "a run" if len(inside) == 1 else f"{len(inside)} runs"
        return DataError(
            f"{folder} holds {what}: name one, or browse them with `claimeval view {folder}`"
        )
    near = [str(run.parent) for run in sorted(folder.parent.glob(f"*/{SUMMARY}"))]
    others = f"; runs next to it: {', '.join(near[:3])}" if near else ""
    return DataError(
        f"{folder} is not a run: it has no {name}, which commands such as `claimeval score` write"
        f"{others}"
    )


def _file_as_run(path: Path) -> str:
    """Return the message for a file that is given as a run."""
    if (path.parent / MANIFEST).exists():
        return f"{path} is a file of a run; give its folder: {path.parent}"
    return (
        f"{path} is a file, and a run is a folder. If it has samples, `claimeval score"
        f" {shlex.quote(str(path))}` judges them and prints the folder of the run"
    )


def _how_to_resume(folder: Path) -> str:
    """Return what completes a run that was begun; empty if there is none."""
    if (folder / PARTS).is_dir():
        return f"it has no results; `claimeval merge {folder}` joins its shards"
    if (folder / RESULTS_PART).exists() or (folder / MANIFEST).exists():
        return "it has no results; run the command that began it again to resume"
    return ""


def attached(folder: Path) -> dict[str, Path]:
    """Return the finished attached runs in a run directory, by name."""
    folders = (entry.parent for entry in sorted(folder.glob(f"*/{MANIFEST}")))
    return {
        entry.name: entry for entry in folders if has_results(entry) and (entry / SUMMARY).exists()
    }


def cluster_field(folder: Path, cluster: str | None) -> str | None:
    """Return the cluster field: `cluster`, or that of the run; None for the question.

    Raises UsageError if no sample has the field `cluster`.
    """
    if cluster is None:
        return load_manifest(folder).cluster
    check_cluster(cluster, (result.sample for result in RunResults.of(folder)))
    return cluster


class ScoresSummary(Record):
    """Metrics of one attached run."""

    kind: str
    """Name of the attached run: `measure`, `rate`, `grade`, ..."""
    metrics: dict[str, MetricSummary]
    cluster: str | None = None
    """The field whose equal values are one cluster in intervals; None for the question."""


def beside(folder: Path, reserved: Iterable[str] = ()) -> tuple[ScoresSummary, ...]:
    """Return the summaries of the attached runs.

    Metric names are unique: a name that several jobs, or the run itself (`reserved`), have becomes
    `JOB/NAME`.
    """
    runs = {
        job: (load_manifest(inner), load_summary(inner)) for job, inner in attached(folder).items()
    }
    scored = []
    for job, (_, summary) in runs.items():
        scored += [(job, name) for name in summary.metrics]
    names = joint_names(scored, reserved)
    return tuple(
        ScoresSummary(
            kind=job,
            metrics={names[job, name]: metric for name, metric in summary.metrics.items()},
            cluster=manifest.cluster,
        )
        for job, (manifest, summary) in runs.items()
    )


def joint_names(
    metrics: Iterable[tuple[str, str]], reserved: Iterable[str] = ()
) -> dict[tuple[str, str], str]:
    """Return unique names for (job, metric) pairs: `JOB/NAME` if several jobs, or `reserved`, have
    the name."""
    keys = list(metrics)
    counts = Counter([*reserved, *(name for _, name in keys)])
    return {(job, name): f"{job}/{name}" if counts[name] > 1 else name for job, name in keys}
