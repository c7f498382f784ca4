"""Viewer of a directory in the browser: its runs by system, its experiments, their reports, and
comparisons.

It listens on 127.0.0.1 only, and answers only requests with its address as host, so that pages of
other sites cannot read from it, even under another name (DNS rebinding). It writes an index of the
runs, and labels only with a name to label as, on requests from its own pages.
"""

from __future__ import annotations

import io
import itertools
import os
import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from concurrent import futures
from concurrent.futures import Future
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain
from pathlib import Path
from threading import Lock, Thread
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

from pydantic import Field, ValidationError
from pydantic_core import PydanticSerializationError

from claimeval import __version__
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary import Summary
from claimeval.metrics.derived import LOWER_IS_BETTER
from claimeval.metrics.scoring import MetricSummary
from claimeval.report import pictures, series
from claimeval.report.assets import fill, page
from claimeval.report.charts import Picture, trend
from claimeval.report.packing import as_json, block, tree
from claimeval.report.page import TABLE, experiment_table, is_experiment, render, render_experiment
from claimeval.runs.compare import changed_settings
from claimeval.runs.directory import (
    MANIFEST,
    SUMMARY,
    attached,
    beside,
    has_results,
    label_files,
    load_manifest,
    load_summary,
    number_of_labels,
    results_file,
    write_text,
)
from claimeval.runs.overview import data_name
from claimeval.runs.series import track
from claimeval.runs.systems import Sketch, sketch, together
from claimeval.types.errors import DataError, UsageError, missing_file
from claimeval.types.records import Record

if TYPE_CHECKING:
    from claimeval.report.labeling import Labeling

DEPTH = 4
"""Levels of directories that are searched for runs."""
NOTES = "notes.md"
"""File with notes that people can write into the directory of a run or an experiment."""
LONGEST_NOTE = 300
"""Characters of the notes that are shown."""
POINTS = 30
"""Number of runs in a picture, the newest."""
PICTURES = 6
"""Number of pictures of a data set, for the metrics that most of its runs have."""
SMALL = 360.0
"""Width of a picture in points."""
_DAY = re.compile(r"(19|20)\d\d([-_.]?\d\d){0,2}")


class RunEntry(NamedTuple):
    """A run in the list."""

    name: str
    """Path below the directory, with `/`. `.` is the directory itself."""
    written: float
    """Start of the run from its manifest, else the time of its results; seconds since 1970."""
    job: str
    data: str
    judges: tuple[str, ...]
    samples: int
    complete: bool
    metrics: dict[str, tuple[float | None, tuple[float, float] | None, bool]]
    """Mean, interval or bounds, and whether these are bounds, by metric."""
    dollars: float | None
    """None if no judge was asked, or a price is unknown."""
    calls: int
    notes: tuple[str, ...]
    experiment: str | None = None
    """The experiment whose arm it is."""
    problem: str | None = None
    """Reason why the run has no summary."""
    labels: int = 0
    """Labels that people gave."""
    system: str = ""
    """What answered: the generator of its samples, else the data file."""
    stopped: str = ""
    """Why the run has fewer results than samples; empty for a complete run."""


class ExperimentEntry(NamedTuple):
    """An experiment in the list."""

    name: str
    written: float
    data: str
    samples: int
    arms: tuple[str, ...]
    baseline: str
    chosen: str | None
    failed: dict[str, str]
    """The arms without scores, with reasons."""
    metrics: dict[str, tuple[float | None, ...]]
    """The mean of each arm, by metric."""
    dollars: float | None
    notes: tuple[str, ...]
    problem: str | None = None


class DataGroup(NamedTuple):
    """The runs of one system, which share their questions, except arms of experiments."""

    name: str
    """The most frequent name of their files, in which a date is `*`."""
    runs: tuple[str, ...]
    """Names of the runs, oldest first."""
    changes: dict[str, str]
    """Changes since the previous run (judges, prompts, data), by run."""
    differences: dict[str, dict[str, float]]
    """Change of each mean since the previous run of the same judges and prompts, by run and
    metric."""
    other_data: bool
    """Whether the content of the file changes with every run; then pictures do not mark it."""
    pictures: dict[str, Picture]
    """Mean in each run, by metric."""
    systems: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Names of the runs of each system, if there are several."""


class _ReadRun(NamedTuple):
    written: tuple[int, ...]
    """Modification times of the run's files."""
    entry: RunEntry
    judged: tuple[str, ...]
    """The ids of the judges with their settings, and of the prompts: where one differs, so do the
    numbers."""
    metrics: dict[str, MetricSummary]
    sketch: Sketch = Sketch(frozenset(), 0, "")


class Home:
    """The runs and experiments of a folder.

    Runs that have not changed are not read again: what the list shows of them stands in an index
    beside them, which is made again when it is missing, of another version, or damaged.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        index = _read_index(folder)
        self._known = index.runs
        self._steps = _Steps(folder, index.steps)
        self._grouped: tuple[list[_ReadRun], list[DataGroup]] = [], []

    def content(self) -> tuple[list[RunEntry], list[ExperimentEntry], list[DataGroup]]:
        """Return the runs, the experiments, and the systems, that with the newest run first."""
        experiments = [
            experiment_entry(name, path) for name, path in experiment_folders(self._folder).items()
        ]
        read_runs: dict[str, _ReadRun] = {}
        for name, path in runs(self._folder).items():
            experiment = next(
                (entry.name for entry in experiments if name.startswith(f"{entry.name}/")), None
            )
            read = self._known.get(name)
            if (
                read is None
                or read.written != _written(path)
                or read.entry.experiment != experiment
            ):
                read = _read(name, path, experiment)
            read_runs[name] = read
        is_new = read_runs != self._known and "." not in read_runs  # the folder of one run
        self._known = read_runs
        entries = [
            (
                run.entry
                if run.entry.problem
                else run.entry._replace(labels=number_of_labels(self._folder / name))
            )
            for name, run in read_runs.items()
        ]
        groups = self._groups()
        if is_new or self._steps.is_new:
            self._steps.is_new = False
            _write_index(self._folder, _RunIndex(runs=self._known, steps=self._steps.known))
        return entries, experiments, groups

    def _groups(self) -> list[DataGroup]:
        dated = sorted(self._known.values(), key=lambda run: (run.entry.written, run.entry.name))
        single = [
            run for run in dated if run.entry.problem is None and run.entry.experiment is None
        ]
        if single != self._grouped[0]:
            self._steps.begin()
            groups = _of_one_system(single)
            self._grouped = single, [_group(runs, self._steps) for runs in groups]
        return self._grouped[1]


def _of_one_system(runs: Sequence[_ReadRun]) -> list[list[_ReadRun]]:
    """Return the runs of each system, that with the newest run first."""
    by_name = {run.entry.name: run for run in runs}
    named = together({name: run.sketch for name, run in by_name.items()})
    groups = [[by_name[name] for name in names] for names in named]
    groups.sort(key=lambda runs: -runs[-1].entry.written)
    return groups


INDEX = ".claimeval-view.json"
"""The index of the runs in a folder."""


class _RunIndex(Record):
    """What the list shows of the runs of a folder."""

    version: str = __version__
    runs: dict[str, _ReadRun] = Field(default_factory=dict)
    steps: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """The settings that changed from one run to the next."""


def _read_index(folder: Path) -> _RunIndex:
    """Return the index of a folder; an empty one if there is none that this version can read."""
    file = folder / INDEX
    try:
        # A link in a folder of runs may lead to any file of this user.
        index = _RunIndex.model_validate_json(b"" if file.is_symlink() else file.read_bytes())
    except (OSError, ValidationError):
        return _RunIndex()
    return index if index.version == __version__ else _RunIndex()


def _write_index(folder: Path, index: _RunIndex) -> None:
    """Write the index, unless the folder cannot be written to: then all runs are read at every
    start."""
    # A folder may be read only, and a name in it may be no UTF-8.
    with suppress(OSError, UsageError, PydanticSerializationError):
        write_text(folder / INDEX, index.model_dump_json())


class _Steps:
    """The settings that changed between runs, which are read from their manifests only once."""

    def __init__(self, folder: Path, known: Mapping[str, tuple[str, ...]]) -> None:
        self._folder = folder
        self._before = dict(known)
        self.known = dict(known)
        """Those that were asked for since `begin`, by the names and times of the two runs."""
        self.is_new = False
        self._manifest = lru_cache(maxsize=2)(load_manifest)

    def begin(self) -> None:
        """Forget what is not asked for from now on."""
        self._before |= self.known
        self.known = {}

    def changed(self, before: _ReadRun, after: _ReadRun) -> tuple[str, ...]:
        """Return the names of the settings that changed since the previous run: judges, prompts,
        data, ..."""
        names = [f"{run.entry.name} {run.written}" for run in (before, after)]
        key = " > ".join(names)
        if key not in self.known:
            words = self._before.get(key)
            self.is_new |= words is None
            self.known[key] = self._read(before, after) if words is None else words
        return self.known[key]

    def _read(self, before: _ReadRun, after: _ReadRun) -> tuple[str, ...]:
        a, b = (self._manifest(self._folder / run.entry.name) for run in (before, after))
        # Another name of the file is no other data: logs of each month are named after it.
        names = [setting.partition(":")[0] for setting in changed_settings(a, b)]
        data = ["data"] if a.data.digest != b.data.digest else []
        kept = [name for name in names if name not in ("metrics", "data")]
        return tuple(dict.fromkeys([*kept, *data]))


def runs(folder: Path) -> dict[str, Path]:
    """Return the run directories in a directory by name, without following links."""
    return _named(folder, (path for path in _find(folder, DEPTH) if not is_experiment(path)))


def experiment_folders(folder: Path) -> dict[str, Path]:
    """Return the directories of experiments in a directory by name, without following links."""
    return _named(folder, (path for path in _find(folder, DEPTH) if is_experiment(path)))


def _named(folder: Path, folders: Iterator[Path]) -> dict[str, Path]:
    return dict(sorted((path.relative_to(folder).as_posix(), path) for path in folders))


def _find(folder: Path, depth: int) -> Iterator[Path]:
    entries = [entry for entry in os.scandir(folder) if not entry.name.startswith(".")]
    names = {entry.name for entry in entries}
    if MANIFEST in names and has_results(folder):
        yield folder
        return
    if TABLE in names:
        yield folder
    if depth:
        for entry in entries:
            # A link could lead out of the folder, or in a circle.
            if entry.is_dir(follow_symlinks=False) and os.access(entry.path, os.R_OK | os.X_OK):
                yield from _find(Path(entry.path), depth - 1)


def _written(path: Path) -> tuple[int, ...]:
    files = (results_file(path), path / MANIFEST, path / SUMMARY, path / NOTES)
    return tuple(file.stat().st_mtime_ns if file.exists() else 0 for file in files)


def _read(name: str, path: Path, experiment: str | None) -> _ReadRun:
    written = _written(path)
    try:
        manifest = load_manifest(path)
        summary = load_summary(path)
        metrics = dict(summary.metrics)
        for side in beside(path, summary.metrics):
            metrics |= side.metrics
    except DataError as error:
        entry = RunEntry(
            name,
            0.0,
            "",
            "",
            (),
            0,
            False,
            {},
            None,
            0,
            (),
            experiment,
            str(error),
        )
        return _ReadRun(written, entry, (), {})
    cost = summary.cost.total if summary.cost else None
    found = sketch(path)
    entry = RunEntry(
        name=name,
        written=_begun(manifest) or results_file(path).stat().st_mtime,
        job=manifest.job,
        data=data_name(manifest) or "",
        judges=tuple(manifest.short_names[judge.name] for judge in manifest.judges),
        samples=summary.samples,
        complete=summary.complete,
        metrics={
            key: (metric.mean, metric.reported, metric.ends == "bounds")
            for key, metric in metrics.items()
        },
        dollars=cost.dollars if cost else None,
        calls=cost.calls if cost else 0,
        notes=(*_notes(path), *summary.notes),
        experiment=experiment,
        system=found.generator or data_name(manifest) or "",
        stopped=_stopped(summary),
    )
    return _ReadRun(written, entry, _judged(manifest), metrics, found)


def _judged(manifest: Manifest) -> tuple[str, ...]:
    asked = [*manifest.judges, *([manifest.extractor] if manifest.extractor else [])]
    return (*(judge.id for judge in asked), *sorted(prompt.id for prompt in manifest.prompts))


def _stopped(summary: Summary) -> str:
    if summary.complete:
        return ""
    decided = summary.stopped if summary.decided else None
    return decided or "stopped early"


def _begun(manifest: Manifest) -> float | None:
    try:
        return datetime.fromisoformat(manifest.created or "").timestamp()
    except ValueError:
        return None


def _notes(folder: Path) -> tuple[str, ...]:
    """Return the notes of people about a run, without following a link."""
    file = folder / NOTES
    if file.is_symlink() or not file.is_file():
        return ()
    with file.open(encoding="utf-8", errors="replace") as opened:
        text = " ".join(opened.read(4 * LONGEST_NOTE).split())
    return (text if len(text) <= LONGEST_NOTE else f"{text[: LONGEST_NOTE - 1]}…",) if text else ()


def experiment_entry(name: str, path: Path) -> ExperimentEntry:
    """Return the entry of an experiment in the list."""
    file = path / TABLE
    try:
        table = experiment_table(path)
    except DataError as error:
        return ExperimentEntry(
            name,
            0.0,
            "",
            0,
            (),
            "",
            None,
            {},
            {},
            None,
            (),
            str(error),
        )
    costs = [arm.cost.dollars for arm in table.arms]
    metrics = {
        metric: tuple(arm.metrics[metric].mean for arm in table.arms)
        for metric in table.arms[0].metrics
    }
    return ExperimentEntry(
        name=name,
        written=file.stat().st_mtime,
        data=Path(table.data).name,
        samples=table.samples,
        arms=tuple(arm.name for arm in table.arms),
        baseline=table.baseline,
        chosen=table.selection.arm if table.selection else None,
        failed=table.failed,
        metrics=metrics,
        dollars=None if None in costs else sum(cost or 0 for cost in costs),
        notes=_notes(path),
    )


def _group(runs: Sequence[_ReadRun], settings: _Steps) -> DataGroup:
    counts = Counter(metric for metric in chain.from_iterable(run.metrics for run in runs))
    most = [metric for metric, count in counts.most_common(PICTURES) if count > 1]
    systems = _systems(runs)
    steps = _changes(runs, systems, settings)
    # The log of each month is another file: a mark at every run would say nothing.
    other_data = bool(steps) and all("data" in words for words in steps.values())
    unmarked = {"data"} if other_data else set()
    drawn = {
        metric: _trend(
            metric,
            [run for run in runs if metric in run.metrics][-POINTS:],
            unmarked,
            settings.changed,
        )
        for metric in most
    }
    changes = {after: ", ".join(words) for after, words in steps.items() if words}
    return DataGroup(
        _files(runs),
        tuple(run.entry.name for run in runs),
        changes,
        _differences(runs),
        other_data,
        drawn,
        _by_system(runs, systems),
    )


def _files(runs: Sequence[_ReadRun]) -> str:
    """Return the file that most runs have judged, and how many others there are."""
    # `answers-2026-11-03.jsonl` of each day is the same log: the date is replaced.
    files = Counter(_DAY.sub("*", run.entry.data) for run in runs)
    (name, _), *others = files.most_common()
    return f"{name or 'data given in Python'} and {len(others)} more" if others else name


def _changes(
    runs: Sequence[_ReadRun], systems: Sequence[str], settings: _Steps
) -> dict[str, tuple[str, ...]]:
    """Return the settings that changed since the last run of the same job and system, by run."""
    lines: dict[tuple[str, str], list[_ReadRun]] = {}
    for run, system in zip(runs, systems, strict=True):
        lines.setdefault((run.entry.job, system), []).append(run)
    pairs = itertools.chain.from_iterable(map(itertools.pairwise, lines.values()))
    return {after.entry.name: settings.changed(before, after) for before, after in pairs}


def _by_system(runs: Sequence[_ReadRun], systems: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the runs of each system that has several, if there is more than one system."""
    names: dict[str, list[str]] = {}
    for run, system in zip(runs, systems, strict=True):
        names.setdefault(system, []).append(run.entry.name)
    if len(names) < 2:
        return {}
    return {system: tuple(of) for system, of in names.items() if len(of) > 1}


def _systems(runs: Sequence[_ReadRun]) -> list[str]:
    """Return the system of each run, whose runs are one line; empty names for one line in all.

    If every run has another generator, the name is that of the version: then time is the line.
    """
    names = [run.sketch.generator for run in runs]
    several = len({*names}) > 1 and max(Counter(names).values()) > 1
    return names if several else [""] * len(runs)


def _differences(runs: Sequence[_ReadRun]) -> dict[str, dict[str, float]]:
    """Return the difference of each mean to the run before of the same system, job and judges."""
    last: dict[tuple[object, ...], float] = {}
    found: dict[str, dict[str, float]] = {}
    for run, system in zip(runs, _systems(runs), strict=True):
        for metric, summary in run.metrics.items():
            if summary.mean is not None:
                key = (run.entry.job, system, run.judged, metric)
                if key in last:
                    found.setdefault(run.entry.name, {})[metric] = summary.mean - last[key]
                last[key] = summary.mean
    return found


def _trend(
    metric: str,
    runs: Sequence[_ReadRun],
    unmarked: Set[str],
    changed: Callable[[_ReadRun, _ReadRun], tuple[str, ...]],
) -> Picture:
    last = [run.entry.name.rsplit("/", 1)[-1] for run in runs]
    names = last if len(set(last)) == len(last) else [run.entry.name for run in runs]
    marks = [
        pictures.mark(name, run.metrics[metric], f"/report?{urlencode({'run': run.entry.name})}")
        for name, run in zip(names, runs, strict=True)
    ]
    label = pictures.axis_label(runs[0].metrics[metric])
    systems = _systems(runs)
    last_of: dict[str, _ReadRun] = {}
    changes: dict[int, str] = {}
    breaks: set[int] = set()
    for position, (run, system) in enumerate(zip(runs, systems, strict=True)):
        before = last_of.get(system)
        last_of[system] = run
        if before is None:
            continue
        if words := [word for word in changed(before, run) if word not in unmarked]:
            changes[position] = ", ".join(words)
        if before.judged != run.judged:
            breaks.add(position)
    return trend(
        marks,
        metric,
        label,
        changes=changes,
        breaks=breaks,
        systems=[name or "no generator named" for name in systems] if any(systems) else (),
        width=SMALL,
    )


ADDRESS = "127.0.0.1"
CACHED_PAGES = 4
PATIENCE = 2.0
"""Seconds that a browser waits for a page before it gets a placeholder that reloads itself."""
SOON = 0.8
"""The same for the list of runs."""
AGAIN = 1
"""Seconds after which the placeholder reloads."""
Key = tuple[tuple[str, ...], tuple[int, ...]]


def _build(write: Callable[[IO[str]], None]) -> Future[bytes]:
    """Write a page in a daemon thread, which the end of the process does not wait for."""
    page = Future[bytes]()

    def run() -> None:
        """Hand the page, or the error that ended it, to those who wait."""
        try:
            file = io.StringIO()
            write(file)
            page.set_result(file.getvalue().encode("utf-8", "backslashreplace"))
        except Exception as error:  # noqa: BLE001  # raised again where the page is requested
            page.set_exception(error)

    # A browser that waits asks again, and all its requests are answered by this one page.
    Thread(target=run, daemon=True).start()
    return page


class Building(Exception):
    """Not an error: the page is being built."""


class Viewer(ThreadingHTTPServer):
    """Server for one directory. `port` 0 selects a free port; with `label_as`, pages take the
    labels of this person.

    Raises UsageError if directory, port or name cannot be used.
    """

    daemon_threads = True

    def __init__(self, folder: Path, port: int = 0, label_as: str | None = None) -> None:
        self.labeling: Labeling | None = None
        if label_as is not None:
            # What draws claims loads numpy, which takes as long as all other parts of the viewer.
            from claimeval.report.labeling import Labeling

            self.labeling = Labeling(lambda: runs(folder), label_as)
        if not folder.is_dir():
            if not folder.exists():
                raise missing_file(folder)
            raise UsageError(f"{folder} is a file. Give the folder that contains your runs")
        try:
            super().__init__((ADDRESS, port), _ViewerHandler)
        except OSError as error:
            raise UsageError(
                f"Port {port} cannot be used: {error.strerror}. Give another --port"
            ) from error
        self.folder = folder
        self.hosts = {f"{name}:{self.server_port}" for name in (ADDRESS, "localhost")}
        self._home = Home(folder)
        self._pages: OrderedDict[Key, bytes] = OrderedDict()
        self._builds: dict[Key, Future[bytes]] = {}
        self._listing: Future[bytes] | None = None
        self._lock = Lock()
        self._reading = Lock()

    @property
    def url(self) -> str:
        """The address of the list of runs."""
        return f"http://{ADDRESS}:{self.server_port}/"

    def listing(self) -> bytes:
        """Return the page with the list of runs. Raises Building while runs that the index lacks
        are read."""
        with self._lock:
            if self._listing is None:
                self._listing = _build(self._write_listing)
            listing = self._listing
        futures.wait([listing], SOON)
        if not listing.done():
            raise Building
        with self._lock:
            self._listing = None
        return listing.result()

    def _write_listing(self, file: IO[str]) -> None:
        with self._reading:
            entries, experiments, groups = self._home.content()
        content = {
            "folder": self.folder.resolve().name,
            "annotator": self.labeling and self.labeling.annotator,
            "lower": sorted(LOWER_IS_BETTER),
            "runs": [entry._asdict() for entry in entries],
            "experiments": [entry._asdict() for entry in experiments],
            "groups": [
                {
                    **group._asdict(),
                    "systems": dict(group.systems),
                    "pictures": [tree(picture) for picture in group.pictures.values()],
                }
                for group in groups
            ],
        }
        file.write(fill("viewer", data=block("runs", as_json(content))))

    def report(self, names: list[str], first: int | None = None) -> bytes | None:
        """Return the page of one run, of two, or of an experiment; None if a name is not in the
        list.

        `first` is the number of the first sample to show instead of a selection.
        """
        if len(names) == 1 and (folder := experiment_folders(self.folder).get(names[0])):
            return self._page(
                (names[0],), [folder / TABLE], lambda file: render_experiment(file, folder)
            )
        paths = self._paths(names)
        if paths is None or not 1 <= len(paths) <= 2:
            return None
        return self._taking_labels(self._report(names, paths, first), names)

    def _taking_labels(self, report: bytes, names: list[str]) -> bytes:
        """Return a report that takes labels, if somebody labels and a run has claims."""
        content = self.labeling.of_report(names) if self.labeling else None
        if content is None:
            return report
        # The page of a run is stored without what labels need: the token is of this start of the
        # server.
        head, body, rest = report.partition(b"<body>")
        template = page("report")
        head = head.replace(template.policy.encode(), template.connected_policy.encode(), 1)
        return head + body + block("labeling", as_json(content)).encode() + rest

    def _report(self, names: list[str], paths: list[Path], first: int | None) -> bytes:
        """Return the page of one run or of two, as it is stored in files."""
        if len(paths) == 1 and first is None and (ready := ready_made(paths[0])):
            return ready
        key = (*names, f"from {first}")
        files = list[Path]()
        for path in paths:
            files += (results_file(path), *label_files(path))
        return self._page(key, files, lambda file: render(file, *paths, first=first))

    def series(self, names: list[str], baseline: str) -> bytes | None:
        """Return the page of three or more runs, oldest first; None if a name is not in the
        list."""
        paths = self._paths(names)
        if paths is None or len(set(names)) < len(names) or baseline not in names:
            return None

        def write(file: IO[str]) -> None:
            """Write the page of the series."""
            compared = track(paths, baseline=names.index(baseline), names=names)
            file.write(series.render(compared, f"{len(names)} runs", served=True))

        return self._page(("series", baseline, *names), map(results_file, paths), write)

    def _paths(self, names: list[str]) -> list[Path] | None:
        paths = runs(self.folder)
        return None if any(name not in paths for name in names) else [paths[name] for name in names]

    def _page(
        self, names: tuple[str, ...], files: Iterable[Path], write: Callable[[IO[str]], None]
    ) -> bytes:
        """Return a page, written again only if one of these files changed. Raises Building if it is
        not ready."""
        key = (names, tuple(file.stat().st_mtime_ns for file in files))
        with self._lock:
            if key in self._pages:
                self._pages.move_to_end(key)
                return self._pages[key]
            # Put last whenever a browser comes back for it: the first is then the one that none
            # has come back for, and goes when too many wait.
            build = self._builds.pop(key, None) or _build(write)
            self._builds[key] = build
            if len(self._builds) > CACHED_PAGES:
                del self._builds[next(iter(self._builds))]
        futures.wait([build], PATIENCE)
        if not build.done():
            raise Building
        self._builds.pop(key, None)
        content = build.result()
        with self._lock:
            self._pages[key] = content
            if len(self._pages) > CACHED_PAGES:
                self._pages.popitem(last=False)
        return content


def ready_made(folder: Path) -> bytes | None:
    """Return the report in a run directory, if this version wrote it after all files that it
    shows."""
    file = folder / "report.html"
    if file.is_symlink() or not file.is_file():
        return None
    runs = (folder, *attached(folder).values())
    sources = list[Path](label_files(folder))
    for run in runs:
        sources += (results_file(run), run / MANIFEST, run / SUMMARY)
    if any(
        source.exists() and source.stat().st_mtime_ns > file.stat().st_mtime_ns
        for source in sources
    ):
        return None
    content = file.read_bytes()
    # The policy has hashes of style and script, so that a page of another version is not this
    # one's.
    same = f'content="{page("report").policy}"'.encode()
    return content if same in content[: len(same) + 500] else None


class _ViewerHandler(BaseHTTPRequestHandler):
    server: Viewer
    server_version = "claimeval"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        """Answer a request of the browser."""
        if refusal := self._refusal():
            return self._answer(HTTPStatus.FORBIDDEN, refusal)
        url = urlsplit(self.path)
        query = parse_qs(url.query, keep_blank_values=True)
        names = query.get("run", [])
        if url.path == "/":
            return self._answer_with("viewer", self.server.listing)
        if url.path == "/report":
            return self._report(names, query.get("from", [""])[-1])
        if url.path == "/compare" and len(names) > 2:
            baseline = query.get("baseline", names)[0]
            return self._answer_with("series", lambda: self.server.series(names, baseline))
        if url.path == "/label" and (labeling := self.server.labeling) and len(names) == 1:
            metric = query.get("metric", [""])[-1]
            queue = query.get("queue", ["draw"])[-1]
            return self._answer_with("label", lambda: labeling.html(names[0], metric, queue))
        return self._answer(HTTPStatus.NOT_FOUND, "Page not found.")

    do_HEAD = do_GET

    def _report(self, names: list[str], start: str) -> None:
        """Answer with the page of runs or of an experiment, from the sample with this number."""
        first = max(1, int(start)) if start.isdecimal() else None
        experiment = len(names) == 1 and names[0] in experiment_folders(self.server.folder)
        name = "experiment" if experiment else "report"
        takes_labels = bool(self.server.labeling) and not experiment
        return self._answer_with(
            name, lambda: self.server.report(names, first), connected=takes_labels
        )

    def do_POST(self) -> None:
        """Take a label, or draw claims to label; only from a page of this server, and only with a
        name to label as."""
        labeling = self.server.labeling
        path = urlsplit(self.path).path
        self.close_connection = True  # what a refused request still sends is not read
        if labeling is None:
            return self.send_error(HTTPStatus.NOT_IMPLEMENTED)
        if refused := self._refused_writing(labeling, path):
            return self._answer(*refused)
        from claimeval.report.labeling import LARGEST, Refused

        size = self.headers.get("Content-Length", "")
        if not (size.isascii() and size.isdecimal() and int(size) <= LARGEST):
            return self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"Send up to {LARGEST} bytes.")
        try:
            answer = labeling.take(path, self.rfile.read(int(size)))
        except Refused as error:
            return self._answer(HTTPStatus.BAD_REQUEST, str(error))
        except (UsageError, DataError, OSError) as error:
            return self._answer(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
        self.close_connection = False
        return self._send(HTTPStatus.OK, as_json(answer), "default-src 'none'", "application/json")

    def _refused_writing(self, labeling: Labeling, path: str) -> tuple[HTTPStatus, str] | None:
        """Return why a request to write is refused; None for one of a page of this start of the
        server."""
        headers = self.headers
        if refusal := self._refusal():
            return HTTPStatus.FORBIDDEN, refusal
        if headers.get("Origin") is None:
            return HTTPStatus.FORBIDDEN, "Only pages of this server may write."
        # A form of another site sends text or form data without asking, and JSON only after it.
        if headers.get_content_type() != "application/json" or "Content-Type" not in headers:
            return HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Send JSON."
        if not labeling.is_token(headers.get("X-Claimeval-Token", "")):
            earlier = "This page is of an earlier start of the server: reload it."
            return HTTPStatus.FORBIDDEN, earlier
        if path not in ("/label", "/draw"):
            return HTTPStatus.NOT_FOUND, "Page not found."
        return None

    def _answer_with(
        self, name: str, make: Callable[[], bytes | None], *, connected: bool = False
    ) -> None:
        try:
            content = make()
        except Building:
            message = (
                "<!doctype html><html lang=en><title>claimeval</title><p>The page is being built;"
                " it opens by itself."
            )
            return self._send(
                HTTPStatus.OK, message.encode(), "default-src 'none'", Refresh=str(AGAIN)
            )
        except (UsageError, OSError) as error:
            return self._answer(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
        if content is None:
            return self._answer(HTTPStatus.NOT_FOUND, "Run not found in this directory.")
        template = page(name)
        policy = template.connected_policy if connected else template.policy
        return self._send(HTTPStatus.OK, content, policy)

    def _refusal(self) -> str | None:
        """Return why a request is refused; None if it comes from a page of this server or the
        address bar."""
        # A page of another site may call this server by a name of its own that leads to 127.0.0.1.
        if self.headers.get("Host") not in self.server.hosts:
            return "Open the viewer under the address that it printed when it started."
        origin = self.headers.get("Origin")
        if origin is not None and origin not in {f"http://{host}" for host in self.server.hosts}:
            return "Pages of other sites may not read these runs."
        # `none` is an address that a person typed or opened from bookmarks.
        own = ("same-origin",) if self.command == "POST" else ("none", "same-origin")
        if self.headers.get("Sec-Fetch-Site", own[0]) not in own:
            return "Pages of other sites may not link to these runs."
        return None

    def _answer(self, status: HTTPStatus, text: str) -> None:
        self._send(
            status,
            text.encode("utf-8", "backslashreplace"),
            "default-src 'none'",
            "text/plain; charset=utf-8",
        )

    def _send(
        self,
        status: HTTPStatus,
        body: bytes,
        policy: str,
        kind: str = "text/html; charset=utf-8",
        **more: str,
    ) -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Content-Security-Policy", f"{policy}; frame-ancestors 'none'"),
            ("X-Content-Type-Options", "nosniff"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Referrer-Policy", "no-referrer"),
            ("Cache-Control", "no-store"),
            *more.items(),
        ):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""
