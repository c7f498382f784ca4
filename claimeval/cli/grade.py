"""`claimeval grade`: how relevant documents are, as qrels."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from claimeval.cli.command import Argument, Heading, Names, command
from claimeval.cli.printer import Output, say
from claimeval.cli.shared import AskingAndCluster, Judges, Out, ReadingOptions
from claimeval.types.errors import UsageError
from claimeval.types.options import PanelOptions, RunOptions, require_at_least

if TYPE_CHECKING:
    from claimeval import ir
    from claimeval.cli.beside_a_run import Place
    from claimeval.evaluation.relevance import Candidates, GradingPlan
    from claimeval.evaluation.relevance_run import RelevanceSummary
    from claimeval.types.records import Reason

GradingPanel = Annotated[PanelOptions, Heading("Panel", "vote", "tie", "quorum", "replicates")]


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeQuestions:
    """What the judges are asked."""

    against: Literal["question", "reference_contexts"] = "question"
    """question, or reference_contexts: whether a context holds what one of them says."""
    scale: str = "umbrela"
    """umbrela (0 to 3), graded (0 to 2), binary, or a YAML file with `meanings` and `positive_from`."""
    prompt: str | None = None
    """steps, plain, or a .j2 file.  [default: steps]"""
    documents_per_call: int = 1
    """Documents in one question; with more, a grade also depends on its neighbors."""

    def __post_init__(self) -> None:
        require_at_least(self, 1, "documents_per_call")


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeOptions:
    """Grade how relevant documents are to a question; write qrels.

    A pair that could not be graded is unassessed with its reason, never a 0. Of samples it also gives the metrics
    `context_relevance` (share of relevant contexts), `context_grade` (mean grade) and `context_precision_ap`. Stop at
    any time; the same command resumes and pays nothing twice.

    Example: claimeval grade answers.jsonl -j openai:gpt-5-mini -o runs/grades

    Example: claimeval grade queries.tsv --corpus docs.jsonl --trec-run bm25.run -j openai:gpt-5-mini
    """

    data: Annotated[Path, Argument("DATA")]
    """Samples or a run, whose contexts are graded; queries with --corpus; or a BEIR folder."""
    judges: Judges
    """PROVIDER:MODEL[@URL] or judge file; repeatable."""
    corpus: Path | None = None
    """The documents: .jsonl with id and text, or .tsv."""
    trec_runs: Annotated[tuple[Path, ...], Names("--trec-run")] = ()
    """A TREC run whose first documents are graded; repeatable."""
    depth: int = 10
    """Documents of each query and run that are graded."""
    qrels: Path | None = None
    """Grades by people to compare with: TREC, BEIR or a table with query_id, doc_id, grade. With --corpus these pairs
    are graded too."""
    measures: Annotated[str | None, Names("-m", "--measures")] = None
    """Rank measures, of the order of systems (ndcg@10,P@10) or, against reference contexts, of the samples."""
    out: Out = None
    """Run directory; default RUN/relevance or runs/DATA-relevance."""
    overwrite: bool = False
    """Replace grades of other settings in --out."""
    reading: ReadingOptions = ReadingOptions()
    output: Output = Output()
    questions: Annotated[GradeQuestions, Heading("Questions")] = GradeQuestions()
    panel: GradingPanel = PanelOptions()
    max_missing: Annotated[float, Heading("Results and gates")] = 0.01
    """Exit 1 when more is lost to failures."""
    options: AskingAndCluster = RunOptions()

    def __post_init__(self) -> None:
        require_at_least(self, 0, "depth", "max_missing")


def do(given: GradeOptions) -> int:
    """Grade the documents, write and print the grades, and return the exit code."""
    if given.questions.against == "reference_contexts":
        return _match(given)
    return _grade(given)


grade = command("grade", GradeOptions, do)


def forecast(given: GradeOptions) -> int:
    """Print what `do` would ask, and return the exit code."""
    from claimeval.cli.plan import print_quotes
    from claimeval.evaluation import matching
    from claimeval.evaluation.relevance_run import prospects

    if given.questions.against == "reference_contexts":
        plan, place = _matching(given)
        items: Iterable[Candidates] = matching.every_candidate(place.samples(), plan.per_call)
        return print_quotes(prospects(items, plan), given.options, given.output)
    return print_quotes(prospects(_items(given, _place(given)), _plan(given)), given.options, given.output)


def _plan(given: GradeOptions) -> GradingPlan:
    from claimeval.evaluation.relevance_run import grading_plan

    asked = given.questions
    prompt, size = asked.prompt or "steps", asked.documents_per_call
    return grading_plan(given.judges, asked.scale, prompt, per_call=size, panel=given.panel.given)


def _grade(given: GradeOptions) -> int:
    import asyncio

    from claimeval import ir
    from claimeval.cli.progress_line import ProgressLine
    from claimeval.cli.run_table import print_sides
    from claimeval.cli.running import ending, gate_of_missing, notes_on_stderr
    from claimeval.cli.validity_table import print_validity
    from claimeval.data.grades import read_qrels
    from claimeval.evaluation import relevance, relevance_run
    from claimeval.evaluation.validity import Validity, against_people, check_grades, share_pairs
    from claimeval.runs import scores
    from claimeval.types.clusters import cluster_of_question
    from claimeval.types.errors import DataError
    from claimeval.types.progress import Progress

    plan, output = _plan(given), given.output
    measures = given.measures or "ndcg@10,P@10"
    ir.parse(measures)
    human = read_qrels(given.qrels) if given.qrels else None
    place = _place(given)
    items = _items(given, place)
    found = relevance.survey(items)
    if found.without_text:
        say(f"{found.without_text} of {found.pairs} pairs have no text of the question or the document: holes")
    if human:
        check_grades(human)
        if not share_pairs(((item.query, document.id) for item in items for document in item.documents), human):
            raise DataError(f"people graded none of these pairs in {given.qrels}; are the ids the same?")
    folder = _folder(given, place)
    with notes_on_stderr(quiet=output.quiet), ProgressLine(None if output.quiet else sys.stderr) as line:
        outcome = asyncio.run(
            relevance_run.run(
                items,
                plan,
                folder,
                source=str(given.data),
                options=given.options,
                progress=Progress(found.items, line.show, unit="pairs" if plan.per_call == 1 else "groups"),
                overwrite=given.overwrite,
            )
        )
    summary = outcome.summary
    compared: dict[str, Validity] = {}
    if human and share_pairs(((q, name) for q, grades in outcome.qrels.items() for name in grades), human):
        clusters = {item.query: cluster_of_question(item.question, item.query) for item in items}
        name = "panel" if len(plan.judges) > 1 else plan.judges[0].name
        runs = _trec_runs(given)
        compared[name] = against_people(outcome.qrels, human, plan.scale, runs, measures, clusters)
    sides = None
    if place and summary.complete:
        rows = place.clustered(relevance_run.rows(place.samples(), outcome.qrels, outcome.holes, plan.scale))
        sides = scores.write(place.folder, "relevance", rows, summary.settings, place.cluster)
    _print(output, summary, folder)
    if sides:
        print_sides(output, [sides])
    print_validity(output, compared, confusions=True)
    if summary.complete and outcome.qrels:
        named = " ".join(map(str, given.trec_runs)) or "YOUR.run"
        qrels = folder / relevance_run.QRELS
        output.line(f"Grades: {qrels}")
        output.line(f"Rank by them: claimeval rank {qrels} {named} -l {plan.scale.positive_from:g}")
    elif summary.complete:
        say(f"no pair was graded, so there is no {relevance_run.QRELS}; {folder / relevance_run.GRADES} says why")
    code, stopped = ending(outcome.ending)
    lost = summary.counts.failures / summary.counts.pairs if summary.counts.pairs else 0.0
    if not code:
        code = gate_of_missing(lost, "pairs", given.max_missing)
    record = {
        **summary.model_dump(mode="json", exclude={"prompt": {"source"}}),
        "samples": sides.model_dump(mode="json")["metrics"] if sides else None,
        "against_people": {name: one.model_dump(mode="json") for name, one in compared.items()},
    }
    return output.result("grade", record, path=folder, exit_code=code, stopped=stopped)


def _matching(given: GradeOptions) -> tuple[GradingPlan, Place]:
    from claimeval.cli.beside_a_run import Place
    from claimeval.evaluation.matching import matching_plan

    asked = given.questions
    if given.corpus or given.trec_runs or given.qrels:
        raise UsageError("--corpus, --trec-run and --qrels go with --against question")
    prompt, size = asked.prompt or "same_content", asked.documents_per_call
    plan = matching_plan(given.judges, prompt, per_call=size, panel=given.panel.given)
    reading = given.reading
    place = Place(
        given.data,
        "retrieval",
        out=given.out,
        fields=reading.fields,
        limit=reading.limit,
        cluster=given.options.cluster,
    )
    if not any(sample.reference_contexts for sample in place.samples()):
        raise UsageError("no sample has reference_contexts to compare the contexts with")
    return plan, place


def _match(given: GradeOptions) -> int:
    import asyncio

    from claimeval.cli.progress_line import ProgressLine
    from claimeval.cli.run_table import print_sides
    from claimeval.cli.running import ending, gate_of_missing, notes_on_stderr
    from claimeval.evaluation import matching, retrieval
    from claimeval.evaluation.job import Reiterable
    from claimeval.evaluation.run import lost, score_each
    from claimeval.runs import scores
    from claimeval.types.progress import Progress

    plan, place = _matching(given)
    output = given.output
    work = matching.matching_work(plan, retrieval.asked(given.measures or retrieval.MEASURES))
    total = sum(1 for _ in place.samples())
    with notes_on_stderr(quiet=output.quiet), ProgressLine(None if output.quiet else sys.stderr) as line:
        progress = Progress(total, line.show)
        found, status = asyncio.run(
            score_each(Reiterable(place.samples), work, options=given.options, progress=progress)
        )
    code, stopped = ending(status)
    if code:
        return output.result("grade", {}, exit_code=code, stopped=stopped)
    rows = list(place.clustered(found))
    summary = scores.write(place.folder, "retrieval", rows, matching.settings(plan), place.cluster)
    judged = matching.judged_pairs(rows)
    print_sides(output, [summary])
    if judged:
        output.line(f" pairs judged: {judged}", style="dim")
    output.line(f"Run: {place.folder}")
    code = gate_of_missing(lost(rows), "scores", given.max_missing)
    record = {**summary.model_dump(), "pairs_judged": judged}
    return output.result("grade", record, path=place.folder, exit_code=code)


def _trec_runs(given: GradeOptions) -> dict[str, ir.TrecRun]:
    from claimeval import ir
    from claimeval.ir.output import labels

    return {name: ir.read_run(path) for name, path in zip(labels(given.trec_runs), given.trec_runs, strict=True)}


def _place(given: GradeOptions) -> Place | None:
    """Where samples come from and their scores go; None if queries and a corpus are graded."""
    from claimeval.cli.beside_a_run import Place
    from claimeval.runs.directory import RESULTS

    data, reading = given.data, given.reading
    if (data / RESULTS).exists() or not (given.corpus or data.is_dir()):
        cluster = given.options.cluster
        return Place(data, "relevance", out=given.out, fields=reading.fields, limit=reading.limit, cluster=cluster)
    return None


def _folder(given: GradeOptions, place: Place | None) -> Path:
    """Where the grades go: those of a run into a folder inside it, unless another is named."""
    from claimeval.runs.directory import RESULTS

    if place and (place.folder / RESULTS).exists():
        return given.out if given.out and given.out != place.folder else place.folder / "relevance"
    return given.out or Path("runs") / f"{given.data.stem}-relevance"


def _items(given: GradeOptions, place: Place | None) -> Iterable[Candidates]:
    """What is graded, to be iterated as often as needed."""
    from claimeval.data.corpora import read_corpus, read_queries
    from claimeval.data.grades import read_qrels
    from claimeval.evaluation import relevance
    from claimeval.evaluation.job import Reiterable

    size = given.questions.documents_per_call
    if place:
        return Reiterable(lambda: relevance.of_samples(place.samples(), size))
    human = read_qrels(given.qrels) if given.qrels else None
    runs = _trec_runs(given)
    if not runs and human is None:
        raise UsageError("with a corpus, say what is graded: the first documents of a --trec-run, or the --qrels")
    pool = dict(itertools.islice(relevance.pool(runs.values(), given.depth, human).items(), given.reading.limit))
    queries = read_queries(given.data)
    wanted = {name for names in pool.values() for name in names}
    corpus = read_corpus(given.corpus or given.data)
    documents = {document.id: document for document in corpus if document.id in wanted}
    return Reiterable(lambda: relevance.of_pool(pool, queries, documents, size))


def _print(output: Output, summary: RelevanceSummary, folder: Path) -> None:
    """Print how often each judge gave each grade, and the pairs without a grade by reason."""
    from claimeval.providers.specs import short_names
    from claimeval.statistics.formatting import decimal, interval

    scale = summary.scale
    output.line()
    output.line(
        f"  scale {scale.name} (relevant from {scale.positive_from:g}), prompt {summary.prompt.name}", bold=str(folder)
    )
    names = short_names(summary.members)
    counts = {names[judge]: one for judge, one in summary.members.items()}
    if len(counts) > 1:
        counts[f"panel ({summary.panel.vote})"] = summary.counts
    rows = [
        (name, str(one.pairs), *(str(one.grades.get(grade, 0)) for grade in scale.steps), _reasons(one.holes))
        for name, one in counts.items()
    ]
    output.table(("", "pairs", *map(str, scale.steps), "holes"), rows)
    if summary.alpha:
        value = "undefined" if summary.alpha.value is None else decimal(summary.alpha.value)
        ends = f" ({interval(summary.alpha.interval)})" if summary.alpha.interval else ""
        pairs = summary.alpha.n
        output.line(f" Krippendorff's alpha of the judges, ordinal: {value}{ends}, {pairs} pairs", style="dim")


def _reasons(holes: Mapping[Reason, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in holes.items()) or "0"
