"""`claimeval grade`: relevance grades of documents, as qrels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from claimeval.cli.command import Argument, Heading, Names, command
from claimeval.cli.shared import QUESTIONS, Gates, JobOptions, Judges, Out, arguments
from claimeval.cli.terminal import say
from claimeval.statistics.formatting import percent
from claimeval.types.errors import DataError, UsageError
from claimeval.types.options import RunOptions, require_at_least

if TYPE_CHECKING:
    from claimeval import ir
    from claimeval.api.run import Run
    from claimeval.evaluation.validity import Validity

LISTED = {"grade": ("Retrieval", 1, "Grade how relevant documents are; write qrels.")}
MEASURES = "ndcg@10,P@10"
"""Measures that order TREC runs by the judges' grades and by human grades."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeOptions(JobOptions):
    """Grade how relevant documents are to a question; write qrels.

    A pair that could not be graded is unassessed with its reason, never a 0. Samples also get the metrics
    `context_relevance` (share of relevant contexts), `context_grade` (mean grade) and `context_precision_ap`. Stop at
    any time; the same command resumes and pays nothing twice.

    Example: claimeval grade answers.jsonl -j openai:gpt-5-mini -o runs/grades

    Example: claimeval grade queries.tsv --corpus docs.jsonl --trec-run bm25.run -j openai:gpt-5-mini
    """

    data: Annotated[Path, Argument("DATA")]
    """Samples or a run whose contexts are graded; with --corpus, queries; or a BEIR folder."""
    judges: Judges
    """PROVIDER:MODEL[@URL] or judge file; repeatable."""
    corpus: Path | None = None
    """The documents: .jsonl with id and text, or .tsv."""
    trec_runs: Annotated[tuple[Path, ...], Names("--trec-run")] = ()
    """A TREC run whose top documents are graded; repeatable."""
    depth: int = 10
    """Documents to grade for each query and TREC run."""
    qrels: Path | None = None
    """Human grades to compare with: TREC, BEIR or a table with query_id, doc_id, grade. With --corpus, these pairs
    are graded too."""
    measures: Annotated[str | None, Names("-m", "--measures")] = None
    """Rank measures that order TREC runs (ndcg@10,P@10) or, against reference contexts, metrics of the samples."""
    out: Out = None
    """Run directory; default RUN/grade or runs/DATA-SETTINGS."""
    against: Annotated[Literal["question", "reference_contexts"], QUESTIONS] = "question"
    """question, or reference_contexts: whether a context has the content of one of them."""
    scale: Annotated[str, QUESTIONS] = "umbrela"
    """umbrela (0 to 3), graded (0 to 2), binary, or a YAML file with `meanings` and `positive_from`."""
    prompt: Annotated[str | None, QUESTIONS] = None
    """steps, plain, or a .j2 file.  [default: steps]"""
    documents_per_call: Annotated[int, QUESTIONS] = 1
    """Documents per call; with several, a grade also depends on the other documents."""
    gates: Annotated[Gates, Heading("Results and gates", "max_missing")] = Gates()

    def __post_init__(self) -> None:
        require_at_least(self, 0, "depth")
        require_at_least(self, 1, "documents_per_call")


def do(args: GradeOptions) -> int:
    """Grade the documents, write and print the grades, and return the exit code."""
    from claimeval.cli.running import print_finished, watch
    from claimeval.evaluation.grade import summarize_grades
    from claimeval.runs.jobs import QRELS
    from claimeval.runs.views import grades as views

    people = _people(args)
    gates = Gates(max_missing=1.0)  # pairs are checked below; a sample counts as lost for a single ungraded pair
    finished = watch(lambda options: door(args, options), args.options, gates, args.output)
    run, output = finished.run, args.output
    if finished.of_shard:
        return print_finished("grade", finished, output)
    grades = summarize_grades(run.results, run.manifest)
    compared = _compared(args, run, people) if people else {}
    if args.against == "question" and run.path and not finished.stopped:
        output.draw(views.counts(grades, run.manifest))
        output.draw(views.validity(compared, confusions=True))
        if grades.counts.graded:
            named, scale = " ".join(map(str, args.trec_runs)) or "YOUR.run", run.manifest.questions[0].scale
            output.line(f"Grades: {run.path / QRELS}")
            output.line(f"Rank by them: claimeval rank {run.path / QRELS} {named} -l {scale.positive_from:g}")
        else:
            say(f"no pair was graded, so there is no {QRELS}; {run.path / 'results.jsonl'} says why")
    failed, most, ending = grades.counts.failures / (grades.counts.pairs or 1), args.gates.max_missing, finished.ending
    if failed > most and not finished.stopped:
        lost = f"{percent(failed)} of the pairs were lost; {percent(most)} may be lost unless you set --max-missing"
        ending = ending.gated((f"gate failed: {lost}",))
    record = {
        "counts": grades.counts.model_dump(mode="json"),
        "members": {name: counts.model_dump(mode="json") for name, counts in grades.members.items()},
        "alpha": grades.alpha and grades.alpha.model_dump(),
        "against_people": {name: report.model_dump(mode="json") for name, report in compared.items()},
    }
    return print_finished("grade", finished._replace(ending=ending), output, record)


def door(args: GradeOptions, options: RunOptions) -> Run:
    """Call the function of the API."""
    from claimeval.api.ratings import grade

    matching = args.against == "reference_contexts"
    if matching and (args.corpus or args.trec_runs or args.qrels):
        raise UsageError("--corpus, --trec-run and --qrels go with --against question")
    settings = arguments(args, corpus=_corpus(args), out=args.out or "runs/", options=options)
    if not (matching and args.measures):
        del settings["measures"]  # they order TREC runs; `grade` takes measures of matches only
    return grade(**settings)


def _corpus(args: GradeOptions) -> Path | None:
    """Return the corpus; None if the contexts of samples are graded."""
    from claimeval.runs.directory import has_results

    if args.corpus or not args.data.is_dir() or has_results(args.data):
        return args.corpus
    return args.data


def _people(args: GradeOptions) -> ir.Qrels | None:
    """Return the grades by people, which are refused before any call if they fit nothing that is graded."""
    from claimeval import ir
    from claimeval.api.data import Read
    from claimeval.api.ratings import graded_samples
    from claimeval.data.test_collections import read_qrels
    from claimeval.evaluation.grade import survey
    from claimeval.evaluation.validity import check_grades, share_pairs

    if args.against == "reference_contexts":
        return None
    ir.parse(args.measures or MEASURES)
    reading = args.reading
    samples = graded_samples(
        args.data,
        Read(arguments(reading)["mapping"], reading.limit, reading.skip_malformed, reading.group),
        corpus=_corpus(args),
        trec_runs=args.trec_runs,
        depth=args.depth,
        qrels=args.qrels,
    )
    surveyed = survey(samples)
    if surveyed.without_text:
        say(f"{surveyed.without_text} of {surveyed.pairs} pairs have no text of the question or the document")
    if args.qrels is None:
        return None
    people = read_qrels(args.qrels)
    check_grades(people)
    if not share_pairs(((sample.id, context.id) for sample in samples for context in sample.contexts or ()), people):
        raise DataError(f"people graded none of these pairs in {args.qrels}; are the ids the same?")
    return people


def _compared(args: GradeOptions, run: Run, people: ir.Qrels) -> dict[str, Validity]:
    from claimeval import ir
    from claimeval.evaluation.validity import share_pairs, validity
    from claimeval.ir.output import labels
    from claimeval.types.clusters import cluster_of

    qrels, judges = run.qrels, run.manifest.judges
    if not share_pairs(((query, name) for query, grades in qrels.items() for name in grades), people):
        return {}
    clusters = {sample.id: cluster_of(sample, run.manifest.cluster) for sample in run.samples}
    names = labels(args.trec_runs)
    runs = {name: ir.read_run(path) for name, path in zip(names, args.trec_runs, strict=True)}
    scale = run.manifest.questions[0].scale
    assessor = "panel" if len(judges) > 1 else judges[0].name
    return {assessor: validity(qrels, people, scale, runs=runs, measures=args.measures or MEASURES, clusters=clusters)}


grade = command("grade", GradeOptions, do, door)
