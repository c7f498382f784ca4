"""`claimeval rate` and `grade`, and commands of jobs from other packages: judging whole answers and
documents."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import claimeval as ce
from claimeval.cli.command import Heading, PairForm, command
from claimeval.cli.shared import QUESTIONS, Data, Front, GateOptions, JobOptions, Judges, Shown
from claimeval.cli.terminal import say
from claimeval.statistics.formatting import percent, tally
from claimeval.types.errors import DataError, UsageError
from claimeval.types.options import RunOptions, require_at_least

if TYPE_CHECKING:
    from claimeval.evaluation.grade import Grades
    from claimeval.evaluation.kinds import JobKind
    from claimeval.evaluation.validity import GraderReport
    from claimeval.runs.views import Block


_CRITERION = "NAME=SENTENCE, as in 'polite=The answer stays polite.'"
_PROMPT = "QUESTION=FILE, as in relevance=my/relevance.j2"


@command("rate")
class RateCommand(JobOptions):
    """Judge whole answers: relevant, faithful, correct, declining?

    Takes one call per question, answer and judge: cheaper and coarser than claims. The ratings of a
    run become RUN/rate, and are compared with its claims.

    Example: claimeval rate runs/a -j openai:gpt-5-mini --ask relevance
    """

    data: Data
    """The samples, or a run over them."""
    judges: Judges
    """PROVIDER:MODEL[@URL] or judge file; repeatable."""
    ask: Annotated[str | None, QUESTIONS] = None
    """Comma-separated: relevance, faithfulness, correctness, abstention.  [default: all whose
    fields the data has]"""
    criteria: Annotated[Mapping[str, str], "--criterion", PairForm(_CRITERION), QUESTIONS] = field(
        default_factory=dict
    )
    """NAME=SENTENCE, as in 'polite=The answer stays polite.'; NAME:contexts=... shows the contexts
    too. Repeatable."""
    prompts: Annotated[Mapping[str, str], "--prompt", PairForm(_PROMPT), QUESTIONS] = field(
        default_factory=dict
    )
    """QUESTION=FILE, as in faithfulness=my/strict.j2. Repeatable."""
    shown: Front = Shown()

    def door(self, options: RunOptions) -> ce.Run:
        return ce.rate(**self.settings(options), gates=self.gates.limits)

    def do(self) -> int:
        from claimeval.evaluation.rate import ANSWERED, count_words, outcomes
        from claimeval.evaluation.raters import compare_ratings, members
        from claimeval.runs.directory import RunResults, has_results
        from claimeval.runs.views import ratings

        finished = self.watch("rate")
        run = finished.run
        claims = None if finished.stopped or run.path is None else run.path.parent
        compared = (
            compare_ratings(RunResults.of(claims), run.results, run.manifest.cluster)
            if claims and has_results(claims)
            else ()
        )
        counts = count_words(run.results, run.manifest)
        judged = members(run.results, run.manifest)
        answered = outcomes(run.results) if ANSWERED in run.manifest.names else {}
        if self.shown.details and not finished.stopped:
            self.output.draw(
                ratings.view(
                    counts | ({"outcomes": answered} if answered else {}), judged, compared
                )
            )
        more = {
            "ratings": counts,
            "members": {name: member.model_dump() for name, member in judged.items()},
            "against_claims": [comparison.model_dump() for comparison in compared],
            "outcomes": answered,
        }
        return finished.show(more, shown=self.shown)


@command("grade")
class GradeCommand(JobOptions):
    """Grade how relevant documents are to a question; write qrels.

    A pair that could not be graded is unassessed with its reason, never a 0. Samples also get the
    metrics `context_relevance` (share of relevant contexts), `context_grade` (mean grade) and
    `context_precision_ap`. Stop at any time; the same command resumes and pays nothing twice.

    Example: claimeval grade answers.jsonl -j openai:gpt-5-mini -o runs/grades

    Example: claimeval grade queries.tsv --corpus docs.jsonl --trec-run bm25.run -j
    openai:gpt-5-mini
    """

    data: Annotated[Path, "DATA"]
    """Samples or a run whose contexts are graded; with --corpus, queries; or a BEIR folder."""
    judges: Judges
    """PROVIDER:MODEL[@URL] or judge file; repeatable."""
    corpus: Path | None = None
    """The documents: .jsonl with id and text, or .tsv."""
    trec_runs: Annotated[tuple[Path, ...], "--trec-run"] = ()
    """A TREC run whose top documents are graded; repeatable."""
    depth: int = 10
    """Documents to grade for each query and TREC run."""
    qrels: Path | None = None
    """Human grades to compare with: TREC, BEIR or a table with query_id, doc_id, grade. With
    --corpus, these pairs are graded too."""
    measures: Annotated[str | None, "-m", "--measures"] = None
    """Rank measures that order TREC runs (ndcg@10,P@10) or, against reference contexts, metrics of
    the samples."""
    against: Annotated[Literal["question", "reference_contexts"], QUESTIONS] = "question"
    """question, or reference_contexts: whether a context has the content of one of them."""
    scale: Annotated[str, QUESTIONS] = "umbrela"
    """umbrela (0 to 3), graded (0 to 2), binary, or a YAML file with `meanings` and
    `positive_from`."""
    prompt: Annotated[str | None, QUESTIONS] = None
    """steps, plain, or a .j2 file.  [default: steps]"""
    documents_per_call: Annotated[int, QUESTIONS] = 1
    """Documents per call; with several, a grade also depends on the other documents."""
    gates: Annotated[GateOptions, Heading("Results and gates", "max_missing")] = GateOptions()
    shown: Front = Shown()

    def __post_init__(self) -> None:
        require_at_least(self, 0, "depth")
        require_at_least(self, 1, "documents_per_call")

    def door(self, options: RunOptions) -> ce.Run:
        from claimeval import ir

        matching = self.against == "reference_contexts"
        if matching and (self.corpus or self.trec_runs or self.qrels):
            raise UsageError("--corpus, --trec-run and --qrels go with --against question")
        settings = self.settings(options) | {"corpus": self._corpus}
        if self.measures and not matching:
            ir.parse(self.measures)  # they order TREC runs; `grade` takes measures of matches only
        # `grade` has measures of its own for matches; of TREC runs, `agreement` is asked below.
        if not (matching and self.measures):
            del settings["measures"]
        return ce.grade(**settings)

    def do(self) -> int:
        from claimeval.evaluation.grade import summarize_grades
        from claimeval.runs.jobs import QRELS
        from claimeval.runs.views import ratings as views

        # Pairs are checked below; a sample counts as lost for a single ungraded pair.
        finished = self.watch("grade", GateOptions(max_missing=1.0))
        run = finished.run
        grades = summarize_grades(run.results, run.manifest)
        compared = self._with_people(run)
        blocks: list[Block] = []
        next_lines: list[str] = []
        if self.against == "question" and run.path and not finished.stopped:
            blocks += views.grades(grades, run.manifest)
            blocks += views.validity(compared, confusions=True)
            if grades.counts.graded:
                named = " ".join(map(str, self.trec_runs)) or "YOUR.run"
                scale = run.manifest.questions[0].scale
                next_lines = views.next_step(run.path / QRELS, named, scale)
            else:
                say(
                    f"no pair was graded, so there is no {QRELS}; {run.path / 'results.jsonl'}"
                    " says why"
                )
        if lost := self._losses(grades):
            finished = finished._replace(ending=finished.ending.gated((f"gate failed: {lost}",)))
        record = {
            "counts": grades.counts.model_dump(mode="json"),
            "members": {
                name: counts.model_dump(mode="json") for name, counts in grades.members.items()
            },
            "alpha": grades.alpha and grades.alpha.model_dump(),
            "against_people": {
                name: report.model_dump(mode="json", exclude={"steps", "refused"})
                for name, report in compared.items()
            },
        }
        return finished.show(record, shown=self.shown, blocks=blocks, next_lines=next_lines)

    def _with_people(self, run: ce.Run) -> Mapping[str, GraderReport]:
        """Return how the grades compare with those by people; empty without any."""
        from claimeval.evaluation.validity import MEASURES

        if not self.qrels:
            return {}
        measures = self.measures or MEASURES
        with suppress(DataError):  # no pair that people graded has a grade
            return ce.agreement(
                run, self.qrels, trec_runs=self.trec_runs, measures=measures
            ).assessors
        return {}

    def _losses(self, grades: Grades) -> str | None:
        """Return that more pairs were lost than may be; None if it is no more."""
        failed = grades.counts.failures / (grades.counts.pairs or 1)
        most = self.gates.max_missing
        if failed <= most:
            return None
        return (
            f"{percent(failed)} of the pairs were lost; {percent(most)} may be lost unless you set"
            " --max-missing"
        )

    @property
    def _corpus(self) -> Path | None:
        """The corpus; None if the contexts of samples are graded."""
        from claimeval.runs.directory import has_results

        return self.corpus or (
            self.data if self.data.is_dir() and not has_results(self.data) else None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged(JobOptions):
    """The command of a job from another package: the options that all judged jobs share, and
    `questions` of its own."""

    kind: ClassVar[JobKind]
    data: Data
    """The samples, or a run over them."""
    judges: Judges
    """PROVIDER:MODEL[@URL] or judge file; repeatable."""
    shown: Front = Shown()

    def door(self, options: RunOptions) -> ce.Run:
        settings = self.settings(options)
        own = settings.pop("questions")
        own_settings = {field.name: getattr(own, field.name) for field in fields(own)}
        return ce.judge(self.kind.name, **settings, settings=own_settings)

    def do(self) -> int:
        kind = self.kind
        finished = self.watch(kind.name)
        counts = kind.counts(finished.run.manifest, finished.run.results) if kind.counts else {}
        for name, words in counts.items() if not finished.stopped else ():
            self.output.line(f"{name}: {tally(words)}", indent=1)
        return finished.show({"counts": counts}, shown=self.shown)


def make(name: str) -> None:
    """Make the command of a job of another package: the shared options, and the job's own."""
    from claimeval.api.judged import made_kind

    kind = made_kind(name)
    assert kind.options, "a made kind has options"
    own = {
        "__annotations__": {"questions": Annotated[kind.options, Heading("Questions")]},
        "questions": kind.options(),
        "kind": kind,
        "__module__": __name__,
        "__doc__": kind.options.__doc__,
    }
    command(name)(type("JudgedCommand", (Judged,), own))
