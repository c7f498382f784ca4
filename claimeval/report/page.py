"""The HTML page of a run, of two runs, or of an experiment: a self-contained file that makes no
requests."""

from __future__ import annotations

import html
import json
import shutil
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import urlencode

from claimeval import __version__
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.rebuilder import Rebuilder
from claimeval.evaluation.summary.headline import pairs_of, sample_sentence
from claimeval.metrics.derived import LOWER_IS_BETTER
from claimeval.metrics.scoring import ends_in_words
from claimeval.report import render as rendering
from claimeval.report.assets import fill
from claimeval.report.charts import Picture
from claimeval.report.forwarded import fragment
from claimeval.report.packing import (
    Details,
    Index,
    Literals,
    RequestPieces,
    as_json,
    block,
    changed_parts,
    pack,
    row,
    tree,
)
from claimeval.report.pictures import (
    of_arms,
    of_by_rank,
    of_calibration,
    of_changes,
    of_comparison,
    of_confusion,
    of_cost,
    of_diagnosis,
    of_panel,
    of_ranks,
    of_slices,
)
from claimeval.report.selection import SHOWN, WHOLE, WRITTEN, SampleSelection
from claimeval.runs.causes import CAUSES
from claimeval.runs.directory import RunResults, label_files, load_manifest
from claimeval.runs.documents import aligned
from claimeval.runs.forwarded import ForwardedPage, PairTally, RunTally, of_pair, of_run
from claimeval.runs.notes import Note
from claimeval.runs.overview import Overview, OverviewBuilder, PairedRuns, bar
from claimeval.runs.slices import CELLS, Facet, SliceTally
from claimeval.runs.views import Block, tables
from claimeval.runs.views.comparison import documents, flips_in_words, results, where
from claimeval.runs.views.run import judges
from claimeval.runs.views.run import of as view_of
from claimeval.statistics.formatting import short
from claimeval.types.errors import DataError, UsageError, visible
from claimeval.types.records import REASONS, Part, SampleResult
from claimeval.types.requests import Request

if TYPE_CHECKING:
    from claimeval.runs.agreement import Agreement
    from claimeval.runs.compare import ComparedRuns, Pair, PairChanges
    from claimeval.runs.experiments.results import ExperimentResult
    from claimeval.runs.judges import JudgeNumbers

TABLE = "experiment.json"
FLIPS = "flips.jsonl"
MAX_FLIPS = 5000
"""Maximum number of flipped claims in the page of an experiment; the file has all."""


MAX_BYTES = 20_000_000
"""Maximum size in bytes of the samples in the page of a large run; it shows fewer samples if they
are long."""


def render(
    file: IO[str], folder: Path, compared: Path | None = None, *, first: int | None = None
) -> None:
    """Write the page of a run, or of two compared runs, to an open file, sample by sample.

    Above 5,000 samples the page shows a selection of samples and says so; all numbers are over all
    samples.

    Args:
        file: The file to write to.
        folder: The run directory.
        compared: The directory of the run to compare with.
        first: The number of a sample, from 1: show up to 5,000 samples from this one instead of a
            selection.

    Raises:
        DataError: A directory has no finished run.
        UsageError: Two runs share no metric or no sample.
    """
    whole = first is None and len(RunResults.of(folder)) <= WHOLE
    with _scratch() as rows, _scratch() as chunks:
        samples = _Samples(rows, chunks)
        if compared is None:
            content = _content_of(samples, folder, first, whole=whole)
        else:
            runs = _TwoRuns(folder, compared)
            content = runs.all(samples) if whole else runs.some(samples, first)
        samples.write(file, content)


def _content_of(samples: _Samples, folder: Path, first: int | None, *, whole: bool) -> _PageData:
    """Add the samples of a run, and return the other content of its page."""
    run = _OneRun(load_manifest(folder))
    for result in RunResults.of(folder):
        run.note(result)
        if whole:
            run.show(samples, result)
    return run.all(samples, folder) if whole else run.some(samples, folder, first)


class _Samples:
    """The samples of a page in two files: the rows of the list, and the details."""

    def __init__(self, rows: IO[str], chunks: IO[str]) -> None:
        self._files = rows, chunks
        self._begin()

    def _begin(self) -> None:
        self.index = Index(self._files[0])
        self.details = Details(self._files[1])
        self.facets = SliceTally((), None)

    def close(self) -> int:
        """Complete both files, and return their size."""
        self.details.close()
        self.index.close(self.details.starts)
        return sum(file.tell() for file in self._files)

    def write(self, file: IO[str], content: _PageData) -> None:
        """Write the page of the samples, which are complete, with its other content."""
        overview = content.overview
        title = html.escape(visible(overview.manifest.data.path or overview.name))
        first_part = fragment(content.forwarded, linked=True)
        filled = fill("report", title=title, summary=first_part, table=_table(overview))
        before, after = filled.split("<!--data-->")
        between, after = after.split("<!--details-->")
        file.write(before + block("overview", as_json(content.element())))
        rows, chunks = self._files
        _copy(rows, file)
        file.write(between)
        _copy(chunks, file)
        file.write(after)

    def restart(self) -> None:
        """Discard all samples."""
        for file in self._files:
            file.seek(0)
            file.truncate()
        self._begin()

    def add_fitting(self, positions: Sequence[int], add: Callable[[int], None]) -> int:
        """Add the samples at these positions, most important first, as many as fit; close, and
        return their number."""
        while True:
            for position in sorted(positions):
                add(position)
            if (size := self.close()) <= MAX_BYTES or len(positions) <= 1:
                return len(positions)
            # 5% fewer than would fit by their mean size, so that one more pass is mostly enough.
            positions = positions[: int(0.95 * len(positions) * MAX_BYTES / size) or 1]
            self.restart()


def _drawn(blocks: Iterable[Block]) -> dict[str, dict[str, Any]]:
    """Return the tables among views, by name."""
    return {table.name: rendering.as_json(table) for table in tables(blocks)}


def _scratch() -> IO[str]:
    return tempfile.TemporaryFile("w+", encoding="ascii")


def _copy(scratch: IO[str], file: IO[str]) -> None:
    scratch.seek(0)
    shutil.copyfileobj(scratch, file)


class _PageData(NamedTuple):
    """Content of a page, except for the details of its samples."""

    overview: Overview
    other: Overview | None
    comparison: PairedRuns | None
    facets: list[Facet]
    forwarded: ForwardedPage
    """What the page begins with."""
    agreement: Agreement | None = None
    """Agreement of the judges with the human labels in the run directory."""

    def element(self) -> dict[str, object]:
        """Return the content of the element `overview`."""
        views: list[dict[str, dict[str, Any]]] = []
        for number, overview in enumerate(self._runs):
            _, blocks = view_of(overview)
            of_judges = judges(self._judges(number, overview), overview.manifest.short_names)
            views.append(_drawn([*blocks, *of_judges]))
        return {
            "runs": [overview.model_dump(mode="json") for overview in self._runs],
            "comparison": self.comparison.model_dump(mode="json") if self.comparison else None,
            "facets": [facet._asdict() for facet in self.facets],
            "pictures": {name: tree(picture) for name, picture in self.pictures()},
            "tables": views,
            "compared": _drawn(self._compared()),
            "of": self.forwarded.of,
            "changed": [one.model_dump(mode="json") for one in self.forwarded.changed],
            "flipped": flips_in_words(self.comparison) if self.comparison else "",
            "because": self._because(),
            "causes": CAUSES,
            "cells": CELLS,
            "lower": sorted(LOWER_IS_BETTER),
            "agreement": self.agreement.model_dump(mode="json") if self.agreement else None,
            "reasons": REASONS,
            "version": __version__,
        }

    @property
    def _runs(self) -> list[Overview]:
        return [overview for overview in (self.overview, self.other) if overview]

    def _compared(self) -> list[Block]:
        if not (pair := self.comparison):
            return []
        return [*results(pair), documents(pair), where(pair.culprit)]

    def _because(self) -> dict[str, list[dict[str, object]]]:
        """Return the rows of the table of causes of each metric."""
        metrics = self.comparison.metrics if self.comparison else ()
        return {
            metric.metric: [
                row._asdict()
                | {
                    "part": (
                        row.part and row.part.model_dump(mode="json", exclude={"largest", "parts"})
                    )
                }
                for row in metric.cause_rows
            ]
            for metric in metrics
        }

    def _judges(self, number: int, overview: Overview) -> Sequence[JudgeNumbers]:
        """Return the numbers of the judges of a run, against people where there are labels."""
        return self.agreement.judges if self.agreement and not number else overview.judge_numbers

    def pictures(self) -> Iterator[tuple[str, Picture]]:
        """Yield the pictures of the page, each with its name."""
        if self.comparison:
            yield "differences", of_comparison(self.comparison, width=NARROW)
            yield "differences/wide", of_comparison(self.comparison, width=BROAD)
        for number, overview in enumerate(self._runs):
            yield from _of_results(number, overview)
            yield from self._of_judges(number, overview)
        for rater in self.agreement.raters if self.agreement else ():
            if rater.calibration and rater.calibration.n:
                name = self.overview.manifest.short_names.get(rater.rater, rater.rater)
                yield f"calibration/0/{rater.rater}", of_calibration(rater.calibration, name)
        for changes in self.comparison.slices if self.comparison else ():
            metrics = dict.fromkeys(row.metric for row in changes.rows)
            drawn = of_changes(changes, partial(_sliced, changes.field, {}), width=NARROW)
            yield from (
                (f"changes/{changes.field}/{m}", p) for m, p in zip(metrics, drawn, strict=True)
            )

    def _of_judges(self, number: int, overview: Overview) -> Iterator[tuple[str, Picture]]:
        """Yield the pictures of the judges of a run: agreement, cost, labels beside people's."""
        names = overview.manifest.short_names
        if panel := overview.summary.panel:
            yield f"kappa/{number}", of_panel(panel, {**names, "panel": "panel"})
        compared = self._judges(number, overview)
        if costs := of_cost(compared, names):
            yield f"cost/{number}", costs
        for judge in compared:
            if confusion := of_confusion(judge, names.get(judge.judge, judge.judge)):
                yield f"confusion/{number}/{judge.judge}", confusion


def _of_results(number: int, overview: Overview) -> Iterator[tuple[str, Picture]]:
    """Yield the pictures of the results of a run: slices, faults, ranks."""
    of_run = {"run": number} if number else {}
    for slices in overview.slices:
        metrics = dict.fromkeys(row.metric for row in slices if row.contribution is not None)
        drawn = of_slices(slices, partial(_sliced, slices.field, of_run), width=NARROW)
        for metric, picture in zip(metrics, drawn, strict=True):
            yield f"slices/{number}/{slices.field}/{metric}", picture
    if counts := overview.diagnosis:
        yield (
            f"diagnosis/{number}",
            of_diagnosis(counts, lambda cell: _list_address({**of_run, "blame": cell})),
        )
    if overview.ranks:
        yield f"ranks/{number}", of_ranks(overview.ranks, width=NARROW)
    if overview.by_rank:
        yield f"by_rank/{number}", of_by_rank(overview.by_rank, width=NARROW)


NARROW = 460.0
"""Width of pictures in a page, in points."""
BROAD = 1000.0
"""Width of the picture that all of the page is for, where the window is wide."""


def _list_address(query: Mapping[str, object]) -> str:
    return f"#/samples?{urlencode(query, errors='replace')}"


def _sliced(field: str, of_run: Mapping[str, object], metric: str, value: str | None) -> str:
    """Return the address of the samples of a slice."""
    return _list_address({"metric": metric, **of_run, "is": f"{field}={value or ''}"})


class _OneRun:
    """The samples of one run, which are added one by one."""

    def __init__(self, manifest: Manifest, sent: dict[str, Request] | None = None) -> None:
        """`sent` are requests of the run, by key, which need not be rebuilt."""
        self._manifest = manifest
        self._rebuilder = Rebuilder(manifest, sent)
        self._builder = OverviewBuilder(manifest, sliced=True)
        self._tally = RunTally(manifest)
        self._selection = SampleSelection(len(manifest.names))

    def note(self, result: SampleResult) -> None:
        """Count a sample, which is a candidate for the selection."""
        names = self._manifest.names
        self._builder.add(result)
        self._tally.add(result)
        values = [score.value if (score := result.scores.get(name)) else None for name in names]
        self._selection.add(result.sample.id, values, _kind(result, names[:1]))

    def show(self, samples: _Samples, result: SampleResult) -> None:
        """Add a sample to the index and its details."""
        others = (*self._manifest.derived, *self._manifest.others)
        judges = [judge.name for judge in self._manifest.judges]
        samples.index.add((row(result, self._manifest.rows, others, judges),))
        samples.facets.add(result.sample, {})
        details = samples.details
        requests = [_requests(result, self._rebuilder, details.literals)]
        details.add([result], requests, _summaries(self._manifest, result))

    def ended_with(self, manifest: Manifest) -> bool:
        """Use the manifest with which the run ended, and return whether what was made with the one
        with which it began is the same with it."""
        same = manifest.is_alike(self._manifest, *_COUNTED)
        self._manifest = manifest
        self._builder.manifest = manifest
        return same

    def all(self, samples: _Samples, folder: Path) -> _PageData:
        """Return the content of a page that shows all samples."""
        samples.close()
        return self._data(samples, folder, self._builder.overview(folder))

    def some(self, samples: _Samples, folder: Path, first: int | None) -> _PageData:
        """Add a selection of the samples, or the samples from `first` on."""
        names = self._manifest.names
        overview = self._builder.overview(folder)
        results = RunResults.of(folder)
        sample_ids = _named_in(overview)
        positions = (
            self._selection.chosen(SHOWN, sample_ids)
            if first is None
            else _from(first, len(results))
        )
        shown = samples.add_fitting(
            positions, lambda position: self.show(samples, results[position])
        )
        kinds = (
            f"the ones with the lowest scores, and some with every value of {names[0]}"
            if names
            else "some of them"
        )
        noted = _with_note(overview, _shown(shown, len(results), first, kinds))
        return self._data(samples, folder, noted)

    def _data(self, samples: _Samples, folder: Path, overview: Overview) -> _PageData:
        first_part = of_run(folder, overview, self._tally)
        facets = samples.facets.facets()
        agreement = _agreement(folder, self._manifest)
        return _PageData(overview, None, None, facets, first_part, agreement)


_COUNTED = ("judges", "extractor", "prompts", "questions", "panel", "metrics", "data", "settings")
"""Fields of a manifest on which the numbers and texts of a page rest."""


def _agreement(folder: Path, manifest: Manifest) -> Agreement | None:
    """Return the agreement of the judges with the human labels in the run directory; None if no
    label counts."""
    if not manifest.of_claims or not label_files(folder):
        return None
    from claimeval.runs.agreement import measure_run

    try:
        return measure_run(folder)
    except UsageError:  # all labels are undecided, for example
        return None


class PageDraft:
    """The page of a run that is made while its judges are asked, when this process mostly waits.

    It is the page that `render` makes of the run directory; requests need not be rebuilt for it.
    """

    def __init__(self, manifest: Manifest) -> None:
        self._sent: dict[str, Request] = {}
        self._run = _OneRun(manifest, self._sent)
        self._noted = 0
        with ExitStack() as opened:
            self._samples = _Samples(
                opened.enter_context(_scratch()), opened.enter_context(_scratch())
            )
            self._opened = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def sent(self, request: Request) -> None:
        """Keep a request until the result of its sample is added, if a page can show it."""
        if self._noted <= WHOLE and request.messages and request.task is not None:
            # The oldest goes: its sample has most likely ended, or waits for a slow judge.
            if len(self._sent) >= MAX_SENT:
                del self._sent[next(iter(self._sent))]
            self._sent[request.key] = request

    def add(self, result: SampleResult) -> None:
        """Add a sample."""
        self._noted += 1
        if self._noted > WRITTEN:
            return
        self._run.note(result)
        if self._noted <= WHOLE:
            self._run.show(self._samples, result)
        # From here on the page shows a selection, which is known at the end.
        elif self._noted == WHOLE + 1:
            self._samples.restart()
            self._sent.clear()

    def write(self, file: IO[str], folder: Path) -> bool:
        """Write the page to an open file, and return True; False if the finished run in the
        directory is another one than the added samples."""
        manifest = load_manifest(folder)
        # An earlier run that got further stays in the directory, and the page must be of its
        # results.
        if len(RunResults.of(folder)) != self._noted or not self._run.ended_with(manifest):
            return False
        if self._noted <= WHOLE:
            content = self._run.all(self._samples, folder)
        else:
            content = self._run.some(self._samples, folder, None)
        self._samples.write(file, content)
        return True


MAX_SENT = 4_000
"""Maximum number of requests that wait for the result of their sample; others are rebuilt."""


class _TwoRuns:
    """The samples that two runs share."""

    def __init__(self, folder: Path, compared: Path) -> None:
        from claimeval.runs.compare import shared_metrics

        self._folders = folder, compared
        manifests = load_manifest(folder), load_manifest(compared)
        names = shared_metrics(*manifests)
        self._metrics = tuple(metric for metric in names.values() if metric)
        self._others = tuple(name for name, metric in names.items() if not metric)
        self._rebuilders = [Rebuilder(manifest) for manifest in manifests]
        self._manifests = manifests

    def all(self, samples: _Samples) -> _PageData:
        """Add all pairs of samples."""
        from claimeval.runs.compare import compare

        tally = PairTally(self._manifests)

        def add(pair: Pair[SampleResult], changes: PairChanges) -> None:
            """Add a pair of samples to the page and to what it begins with."""
            tally.add(*pair)
            self._add(samples, pair, len(changes.flips), changes)

        compared = compare(*self._folders, add, sliced=True)
        samples.close()
        return self._data(samples, compared, tally)

    def _data(self, samples: _Samples, compared: ComparedRuns, tally: PairTally) -> _PageData:
        a, b, comparison = compared
        first_part = of_pair(self._folders, (a, b), comparison, tally)
        return _PageData(a, b, comparison, samples.facets.facets(), first_part)

    def some(self, samples: _Samples, first: int | None) -> _PageData:
        """Add a selection of the pairs, or the pairs from `first` on."""
        from claimeval.runs.compare import ComparisonBuilder, Pair, compare

        names = [metric.name for metric in self._metrics] + list(self._others)
        selection = SampleSelection(1 + len(names))
        ids: list[str] = []
        ids_of_b: list[str] = []
        flips = array("L")
        tally = PairTally(self._manifests)

        def note(pair: Pair[SampleResult], changes: PairChanges) -> None:
            """Add a candidate for the selection."""
            tally.add(*pair)
            ids.append(pair.a.id)
            ids_of_b.append(pair.b.id)
            flips.append(len(changes.flips))
            differences = [_difference(pair, name) for name in names]
            lowest = [None if not difference else -abs(difference) for difference in differences]
            first_one = differences[0] if differences else None
            kind = "" if first_one is None else str((first_one > 0) - (first_one < 0))
            selection.add(
                ids[-1],
                [-len(changes.flips) or None, *lowest],
                kind,
            )

        compared = compare(*self._folders, note, sliced=True)
        sample_ids = (
            _named_in(compared.a)
            | _named_in(compared.b)
            | {flip.sample_id for flip in compared.comparison.flips}
        )
        positions = selection.chosen(SHOWN, sample_ids) if first is None else _from(first, len(ids))
        runs = [RunResults.of(folder) for folder in self._folders]
        builder = ComparisonBuilder(*self._folders)
        places_a = runs[0].places({ids[position] for position in positions})
        places_b = runs[1].places({ids_of_b[position] for position in positions})

        def add(position: int) -> None:
            """Add a pair of samples to the page."""
            pair = Pair(runs[0][places_a[ids[position]]], runs[1][places_b[ids_of_b[position]]])
            self._add(samples, pair, flips[position], builder.add(pair, pair.__getitem__))

        shown = samples.add_fitting(positions, add)
        kinds = "the ones whose claims or scores changed most, and some that rose, fell and stayed"
        text = _shown(shown, len(ids), first, kinds)
        noted = compared._replace(a=_with_note(compared.a, text))
        return self._data(samples, noted, tally)

    def _add(
        self, samples: _Samples, pair: Pair[SampleResult], flips: int, changes: PairChanges
    ) -> None:
        """Add a pair of samples to the index and its details."""
        judges = ([judge.name for judge in manifest.judges] for manifest in self._manifests)
        rows = (
            row(result, self._metrics, self._others, names)
            for result, names in zip(pair, judges, strict=True)
        )
        rounded = {
            name: {cause: short(value) for cause, value in of.items()}
            for name, of in changes.causes.items()
        }
        parts = changed_parts(pair.a.sample, pair.b.sample)
        samples.index.add((*rows, flips, parts, rounded, [name for _, name in changes.documents]))
        samples.facets.add(pair.a.sample, {})
        details = samples.details
        requests = [
            _requests(result, r, details.literals)
            for result, r in zip(pair, self._rebuilders, strict=True)
        ]
        listed = {
            part: _listed(pair, part) for part in {metric.against for metric in self._metrics}
        }
        details.add(pair, requests, _summaries(self._manifests[0], *pair), listed)


def _listed(pair: Pair[SampleResult], part: Part) -> list[tuple[int | None, int | None, str]]:
    """Return the documents of a part in both runs, as one list."""
    a, b = (
        list(
            zip(
                result.sample.ranks(part),
                result.sample.documents(part) or (),
                strict=True,
            )
        )
        for result in pair
    )
    return aligned(a, b)


def _summaries(manifest: Manifest, *results: SampleResult) -> list[str]:
    """Return what judges found in a sample, for each run; empty if they only compare words."""
    pairs = pairs_of(manifest.rows)
    if not manifest.concludes or not pairs:
        return []
    tells = manifest.tells_contradictions
    return [sample_sentence(result, pairs, tells_contradictions=tells) for result in results]


def _kind(result: SampleResult, names: Sequence[str]) -> str:
    """Return the stratum of a sample: whether a call failed, and the range of its first score, or
    why it has none."""
    failed = "failed" if any(call.failed for call in result.calls) else ""
    scores = [score for name in names if (score := result.scores.get(name))]
    for score in scores:
        if score.value is None:
            return f"{failed} {score.because}"
        return f"{failed} {bar(score.value):02}" if score.unit == "share" else failed
    return failed


def _difference(pair: Pair[SampleResult], metric: str) -> float | None:
    a, b = (result.scores[metric].value if metric in result.scores else None for result in pair)
    return None if a is None or b is None else b - a


def _named_in(overview: Overview) -> set[str]:
    """Return the ids of the samples that the overview names."""
    front = overview.front
    failed = {call.sample for call in overview.summary.failures.values()}
    return (
        failed
        | {claim.sample_id for claim in front.read}
        | {answer.sample_id for answer in front.answers}
    )


def _from(first: int, samples: int) -> range:
    return range(min(first, samples) - 1, min(first - 1 + WHOLE, samples))


def _shown(shown: int, samples: int, first: int | None, kinds: str) -> str:
    """Return which samples the page shows, in words."""
    if first is not None:
        last = first + shown - 1
        return (
            f"This page shows samples {first:,} to {last:,} of {samples:,}. All numbers are over"
            " all samples."
        )
    return (
        f"This page shows {shown:,} of {samples:,} samples: {kinds}. All numbers are over all"
        f" samples. `claimeval view` shows the others, {WHOLE:,} at a time: add &from=1 to the"
        f" address of the run there, &from={WHOLE + 1}, ..."
    )


def _with_note(overview: Overview, text: str) -> Overview:
    return overview.model_copy(
        update={"cautions": (Note(kind="selection", text=text), *overview.cautions)}
    )


def _requests(
    result: SampleResult, rebuilder: Rebuilder, literals: Literals
) -> list[RequestPieces | None]:
    """Return the request of each call, or None if it cannot be rebuilt with the call's key.

    Messages that several judges of a panel get are packed once.
    """
    packed: dict[tuple[str, ...], RequestPieces] = {}
    requests: list[RequestPieces | None] = []
    for call in result.calls:
        request = rebuilder.rebuild(result, call)
        if request is None:
            requests.append(None)
            continue
        texts = tuple([message.content for message in request.messages])
        if texts not in packed:
            packed[texts] = pack(request, result.sample, call.evidence, literals)
        requests.append(packed[texts])
    return requests


def _table(overview: Overview) -> str:
    """Return the means as a plain table, for browsers without scripts."""
    rows = "".join(
        f"<tr><th>{html.escape(visible(name))}</th><td>{metric.mean_in_words}</td>"
        f"<td>{ends_in_words(metric)}</td><td>{metric.n}</td></tr>"
        for name, metric in overview.summary.metrics.items()
    )
    return (
        "<table><tr><th>metric</th><th>mean</th><th>95%"
        f" interval</th><th>samples</th></tr>{rows}</table>"
    )


def is_experiment(folder: Path) -> bool:
    """Return whether a directory is that of an experiment."""
    return (folder / TABLE).is_file()


def experiment_table(folder: Path) -> ExperimentResult:
    """Return the table of an experiment. Raises DataError if it cannot be read."""
    from claimeval.runs.experiments.results import ExperimentResult

    try:
        return ExperimentResult.model_validate(
            json.loads((folder / TABLE).read_text(encoding="utf-8"))
        )
    except (OSError, ValueError) as error:
        raise _unreadable(folder, error) from error


def _unreadable(folder: Path, error: Exception) -> DataError:
    return DataError(
        f"The experiment {folder} cannot be read: {str(error).splitlines()[0]}. `claimeval"
        f" experiment FILE --out {folder}` writes it again; cached replies cost nothing"
    )


def render_experiment(file: IO[str], folder: Path) -> None:
    """Write the page of an experiment to an open file. Raises DataError if its tables cannot be
    read."""
    from claimeval.runs.experiments.results import ArmFlip
    from claimeval.runs.views import experiment as view

    table = experiment_table(folder)
    try:
        with (folder / FLIPS).open("rb") as lines:
            flips = [ArmFlip.model_validate_json(line) for line in islice(lines, MAX_FLIPS)]
    except (OSError, ValueError) as error:
        raise _unreadable(folder, error) from error
    arms = tuple(arm.model_copy(update={"run": Path(arm.run).name}) for arm in table.arms)
    selection = table.selection and table.selection.model_copy(update={"written": None})
    names = {"data": Path(table.data).name, "arms": arms, "selection": selection}
    content = {
        "name": folder.resolve().name,
        "table": table.model_copy(update=names).model_dump(mode="json"),
        "pictures": {
            name: [tree(picture) for picture in drawn] for name, drawn in of_arms(table).items()
        },
        "tables": _drawn(view.view(table)),
        "changes": view.other_changes(table),
        "selection": view.chosen(table.selection, table.baseline) if table.selection else None,
        "failures": view.failures(table),
        "flips": [flip.model_dump(mode="json") for flip in flips],
    }
    title = html.escape(visible(Path(table.data).name))
    file.write(fill("experiment", title=title, data=block("experiment", as_json(content))))
