"""What `claimeval relevance` does: find the pairs, have them graded, hold the grades against those of people."""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import typer

from claimeval import ir
from claimeval.cli.beside_a_run import Place
from claimeval.cli.endings import ending_code, say
from claimeval.cli.grading_tables import print_grading, print_refused, print_validity
from claimeval.cli.printer import Output
from claimeval.cli.progress_line import ProgressLine
from claimeval.cli.quoting import quote_and_tell
from claimeval.cli.run_table import print_sides
from claimeval.data.corpora import read_corpus, read_queries
from claimeval.data.grades import read_assessors, read_names, read_qrels, relevance_scale, write_assessors
from claimeval.evaluation import relevance, relevance_run
from claimeval.evaluation.job import Reiterable
from claimeval.evaluation.relevance import Candidates
from claimeval.evaluation.relevance_run import GRADES, QRELS, grading_plan, prospects, run
from claimeval.evaluation.validity import Refused, Validity, check_grades, on_scale, share_pairs, validity
from claimeval.ir.output import labels as labels_of
from claimeval.runs import scores
from claimeval.runs.directory import RESULTS
from claimeval.statistics.formatting import percent
from claimeval.types.clusters import cluster_of_question
from claimeval.types.errors import DataError, UsageError
from claimeval.types.options import PanelOptions, RunOptions
from claimeval.types.progress import Progress
from claimeval.types.scales import Scale


class Settings(NamedTuple):
    """The options of the command, as they were given."""

    data: Path | None
    judges: tuple[str, ...]
    scale: str = "umbrela"
    corpus: Path | None = None
    runs: tuple[Path, ...] = ()
    depth: int = 10
    qrels: Path | None = None
    measures: str = "ndcg@10,P@10"
    prompt: str = "steps"
    per_call: int = 1
    panel: PanelOptions = PanelOptions()
    out: Path | None = None
    overwrite: bool = False
    only_plan: bool = False
    options: RunOptions = RunOptions()
    limit: int | None = None
    fields: tuple[str, ...] = ()
    max_missing: float = 0.01
    json: bool = False


def grade_and_tell(settings: Settings) -> None:
    """Grades, writes and prints; exits with the code."""
    if settings.data is None:
        raise UsageError("name the samples or queries, as in `claimeval relevance answers.jsonl --judge ...`")
    plan = grading_plan(
        settings.judges, settings.scale, settings.prompt, per_call=settings.per_call, panel=settings.panel.given
    )
    ir.parse(settings.measures)
    human = read_qrels(settings.qrels) if settings.qrels else None
    runs = _runs(settings.runs)
    place = _place(settings, settings.data)
    items = _items(settings, human, runs, place)
    found = relevance.survey(items)
    if found.without_text:
        say(f"{found.without_text} of {found.pairs} pairs have no text of the question or the document: holes")
    if human:
        check_grades(human)
        if not share_pairs(((item.query, document.id) for item in items for document in item.documents), human):
            raise DataError(f"people graded none of these pairs in {settings.qrels}; are the ids the same?")
    if settings.only_plan:
        quote_and_tell(prospects(items, plan), settings.options, as_json=settings.json)
        return
    folder = _folder(settings, settings.data, place)
    with ProgressLine(sys.stderr) as line:
        outcome = asyncio.run(
            run(
                items,
                plan,
                folder,
                source=str(settings.data),
                options=settings.options,
                progress=Progress(found.items, line.show, unit="pairs" if plan.per_call == 1 else "groups"),
                overwrite=settings.overwrite,
            )
        )
    summary = outcome.summary
    held: dict[str, Validity] = {}
    if human and share_pairs(((q, name) for q, grades in outcome.qrels.items() for name in grades), human):
        held["panel" if len(plan.judges) > 1 else plan.judges[0].name] = _held(
            outcome.qrels,
            human,
            plan.scale,
            runs,
            settings,
            {item.query: cluster_of_question(item.question, item.query) for item in items},
        )
    sides = None
    if place and summary.complete:
        rows = place.clustered(relevance_run.rows(place.samples(), outcome.qrels, outcome.holes, plan.scale))
        sides = scores.write(place.folder, "relevance", rows, summary.settings, place.cluster)
    if settings.json:
        against = {name: one.model_dump(mode="json") for name, one in held.items()}
        shown = summary.model_dump(mode="json", exclude={"prompt": {"source"}})
        samples = sides.model_dump(mode="json")["metrics"] if sides else None
        everything = {"folder": str(folder), **shown, "samples": samples, "against_people": against}
        print(json.dumps(everything, indent=1, ensure_ascii=False))
    else:
        print_grading(summary, folder)
        if sides:
            print_sides(Output(), [sides])
        print_validity(held, confusions=True)
        if summary.complete and outcome.qrels:
            named = " ".join(map(str, settings.runs)) or "YOUR.run"
            print(f"Grades: {folder / QRELS}")
            print(f"Rank by them: claimeval rank {folder / QRELS} {named} -l {plan.scale.positive_from:g}")
        elif summary.complete:
            say(f"no pair was graded, so there is no {QRELS}; {folder / GRADES} says why")
    code = ending_code(outcome.ending)
    lost = summary.counts.failures / summary.counts.pairs if summary.counts.pairs else 0.0
    if not code and lost > settings.max_missing:
        say(f"gate failed: {percent(lost)} of the pairs were lost to failures, over --max-missing")
        code = 1
    raise typer.Exit(code)


def compare_and_tell(settings: Settings, files: tuple[Path, ...], names: Path | None) -> None:
    """Holds grades that are there against those of people; with --out also writes them as qrels, a file an assessor."""
    if settings.qrels is None:
        raise UsageError("--grades is held against grades of people: name them with --qrels")
    scale = relevance_scale(settings.scale)
    human, runs = read_qrels(settings.qrels), _runs(settings.runs)
    assessors: dict[str, dict[str, dict[str, int]]] = {}
    refused: dict[str, list[Refused]] = {}
    for name, grades in _assessors(files, read_names(names) if names else ()).items():
        assessors[name], refused[name] = on_scale(grades, scale)
        if not assessors[name]:
            raise DataError(
                f"no grade of {name} is on the scale {scale.name!r} ({scale.steps[0]} to {scale.steps[-1]}); give "
                "another --scale"
            )
    held = {name: _held(grades, human, scale, runs, settings) for name, grades in assessors.items()}
    written = write_assessors(assessors, settings.out) if settings.out else []
    if settings.json:
        shown = {
            name: {**one.model_dump(mode="json"), "refused": [grade._asdict() for grade in refused[name]]}
            for name, one in held.items()
        }
        print(json.dumps(shown, indent=1))
        return
    print_validity(held, confusions=len(held) == 1)
    print_refused(refused, scale)
    if settings.out:
        print(f"Grades: {len(written)} files in {settings.out}")
        print(f"Rank by them: claimeval rank {written[0]} YOUR.run -l {scale.positive_from:g}")


def _assessors(files: tuple[Path, ...], names: Sequence[str]) -> dict[str, ir.Qrels]:
    """All assessors of all files; those of a file that has a namesake are called after their file too."""
    found: dict[str, ir.Qrels] = {}
    for label, path in zip(labels_of(files), files, strict=True):
        for name, grades in read_assessors(path, names).items():
            own = label if name in (path.name, path.stem) else name
            found[f"{label} {name}" if own in found else own] = grades
    return found


def _held(
    grades: ir.Qrels,
    human: ir.Qrels,
    scale: Scale,
    runs: Mapping[str, ir.TrecRun],
    settings: Settings,
    clusters: Mapping[str, int] = MappingProxyType({}),
) -> Validity:
    highest = max((grade for row in human.values() for grade in row.values()), default=0)
    return validity(
        grades,
        human,
        relevant_from=int(scale.positive_from),
        most=scale.steps[-1],
        human_relevant_from=None if highest == scale.steps[-1] else 2 if highest > 2 else 1,
        runs=runs,
        measures=settings.measures,
        clusters=clusters,
    )


def _runs(paths: tuple[Path, ...]) -> dict[str, ir.TrecRun]:
    return {name: ir.read_run(path) for name, path in zip(labels_of(paths), paths, strict=True)}


def _place(settings: Settings, data: Path) -> Place | None:
    """Where samples come from and their scores go; None where it is queries and a corpus that are graded."""
    if (data / RESULTS).exists() or not (settings.corpus or data.is_dir()):
        return Place(data, "relevance", out=settings.out, fields=settings.fields, limit=settings.limit)
    return None


def _folder(settings: Settings, data: Path, place: Place | None) -> Path:
    """Where the grades go: of a run into a folder of its own inside it, unless another is named."""
    if place and (place.folder / RESULTS).exists():
        return settings.out if settings.out and settings.out != place.folder else place.folder / "relevance"
    return settings.out or Path("runs") / f"{data.stem}-relevance"


def _items(
    settings: Settings, human: ir.Qrels | None, runs: Mapping[str, ir.TrecRun], place: Place | None
) -> Iterable[Candidates]:
    """What is graded, to be gone over as often as needed."""
    if place:
        return Reiterable(lambda: relevance.of_samples(place.samples(), settings.per_call))
    assert settings.data is not None, "checked before"
    if not runs and human is None:
        raise UsageError("with a corpus, say what is to be graded: the first documents of a --run, or the --qrels")
    pool = dict(itertools.islice(relevance.pool(runs.values(), settings.depth, human).items(), settings.limit))
    queries = read_queries(settings.data)
    wanted = {name for names in pool.values() for name in names}
    corpus = read_corpus(settings.corpus or settings.data)
    documents = {document.id: document for document in corpus if document.id in wanted}
    return Reiterable(lambda: relevance.of_pool(pool, queries, documents, settings.per_call))
