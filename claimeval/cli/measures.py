"""`claimeval measure`, its variants `lexical`, `retrieval`, `perplexity` and `reward`, and
`extraction`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast

import claimeval as ce
from claimeval.cli.command import Heading, command
from claimeval.cli.shared import QUESTIONS, Data, Front, JobOptions, Metrics, Shown, arguments
from claimeval.cli.terminal import say
from claimeval.types.errors import DataError
from claimeval.types.options import LocalOptions, RunOptions

if TYPE_CHECKING:
    from claimeval.cli.running import Finished

Local = Annotated[LocalOptions, Heading("Local models")]
Options = Annotated[
    RunOptions,
    Heading("Cost and speed", "offline", "cache"),
    Heading("Batches and machines", "shard"),
    Heading("Results and gates", "cluster"),
]


@command("measure")
class MeasureCommand(JobOptions):
    """Compute lexical, retrieval and local-model metrics. No judge is asked.

    Groups: lexical (words of the answer against contexts and reference answers), overlap (ROUGE-1,
    -2, -Lsum, BLEU and chrF; needs the extra `lexical`), retrieval (ranks of the reference
    contexts, as in trec_eval), perplexity (query likelihood of the contexts under a small model),
    reward (a reward model's score of the answer), similarity (of the embeddings of answer and
    reference). The last three need the extra `local`. The metrics of a run become RUN/measure, and
    are shown with its scores.

    `lexical`, `retrieval`, `perplexity` and `reward` are the same command with that group by
    default; the metrics of a run become RUN/lexical and so on.

    Example: claimeval measure runs/a -m rouge_l,token_f1,recall@5
    """

    data: Data
    """The samples (.jsonl, .json, .csv, .xlsx, .parquet), or a run directory."""
    metrics: Metrics = None
    """Names and groups, comma-separated; `claimeval metrics` lists them.  [default: the group, else
    lexical]"""
    match: Literal["ids", "text"] | None = None
    """Match contexts with references by ids, or by text.  [default: ids, or text if there are no
    ids]"""
    collapse_ids: str | None = None
    """Regular expression to remove from context ids; the best of equal ids stays. '#.*' turns
    report#p12 into report."""
    normalization: Literal["squad", "multilingual"] = "squad"
    """squad (English: no case, punctuation, articles) or multilingual."""
    local: Local = LocalOptions()
    options: Options = RunOptions()
    shown: Front = Shown()

    group: ClassVar[str] = "measure"

    def door(self, options: RunOptions) -> ce.Run:
        from claimeval.runs.directory import has_results

        folder = self.data / self.group if has_results(self.data) else None
        metrics = self.metrics or ("lexical" if self.group == "measure" else self.group)
        return ce.measure(
            **arguments(self, metrics=metrics, out=self.out or folder or "runs/", options=options)
        )

    def do(self) -> int:
        finished = self.watch(self.group)
        remarks = _remarks(finished)
        for name, value in remarks.items():
            if value:
                self.output.line(f" {name.replace('_', ' ')}: {value}", style="dim")
        scores = finished.run.record.metrics.values()
        unfed = all(score.missing.keys() == {"missing_input"} and not score.n for score in scores)
        if scores and unfed and not finished.ending.code:
            finished = finished._replace(ending=finished.ending._replace(code=DataError.exit_code))
        return finished.show(remarks, shown=self.shown)


GROUPS = {
    "lexical": """Score answers by their words, against contexts and reference answers.

    No judge and no model is asked. The scores of a run become RUN/lexical, and are shown with its
    scores. Other groups: `claimeval measure --help`.

    Example: claimeval lexical answers.jsonl
    """,
    "retrieval": """Score retrieved contexts against reference contexts, as trec_eval does.

    No judge and no model is asked. The scores of a run become RUN/retrieval, and are shown with its
    scores. Other groups: `claimeval measure --help`.

    Example: claimeval retrieval answers.jsonl -m mrr,recall@5
    """,
    "perplexity": """Score how likely a small model finds the question, given each context.

    Needs the extra `local`, and weights from the Hugging Face hub or a folder. The scores of a run
    become RUN/perplexity, and are shown with its scores.

    Example: claimeval perplexity answers.jsonl --model google/flan-t5-base
    """,
    "reward": """Score answers with a reward model: would people prefer them?

    Needs the extra `local`, and weights from the Hugging Face hub or a folder. The scores of a run
    become RUN/reward, and are shown with its scores.

    Example: claimeval reward answers.jsonl
    """,
}
"""The groups of metrics with a command of their own, with its help."""
for _group, _help in GROUPS.items():
    command(_group)(
        type(
            _group.title(),
            (MeasureCommand,),
            {"group": _group, "__doc__": _help},
        )
    )


def _remarks(finished: Finished) -> dict[str, object]:
    """Return remarks about local models: device, truncated texts, and the deviation by reduced
    precision."""
    from claimeval.evaluation.measure import AnswerReward, MeasureJob, QueryLikelihood

    job = finished.prepared and finished.prepared.job
    remarks = dict[str, object]()
    if not isinstance(job, MeasureJob) or not job.local:
        return remarks
    for source in job.sources:
        if isinstance(source, QueryLikelihood | AnswerReward):
            say(f"{source.scorer.name} on {source.scorer.setting}")
            if (deviation := source.scorer.deviation) is not None:
                remarks["largest_deviation_from_float32"] = float(f"{deviation:.2g}")
    return remarks | _truncated([result.details for result in finished.run.results])


def _truncated(details: Sequence[Mapping[str, Any]]) -> dict[str, object]:
    """Return how many texts and answers a model did not read as a whole."""
    counts: dict[str, object] = {}
    texts = list[Any]()
    for of_sample in details:
        texts += cast("list[Any]", of_sample.get("texts") or ())
    if texts:
        counts["texts"] = len(texts)
        counts["texts_cut"] = sum(bool(text.get("cut")) for text in texts)
        counts["texts_in_windows"] = sum(text.get("windows", 1) > 1 for text in texts)
    if cut := sum(bool(of_sample.get("tokens_cut")) for of_sample in details):
        counts["answers_cut"] = cut
    return counts


@command("extraction")
class ExtractionCommand(JobOptions):
    """Measure the quality of claims: what they lose of their texts, and how they compare with
    claims by people.

    From the words alone, without a call: statements without a claim, and the numbers, dates and
    names that no claim has. With --gold, precision and recall against claims by
    people, paired one to one.

    A field may be inside lists, such as sentences.facts.text. The metrics of a run become
    RUN/extraction.

    Example: claimeval extraction runs/a

    Example: claimeval extraction answers.jsonl --extractor local:lexical --gold gold.jsonl
    """

    source: Data
    """A run directory, or samples (.jsonl, .json, .csv, .xlsx, .parquet)."""
    claims: Annotated[str | None, QUESTIONS] = None
    """A field, or a prompt for --extractor.  [default: those of the run]"""
    extractor: Annotated[str | None, QUESTIONS] = None
    """Model that extracts claims with the prompt.  [default: local:lexical without a run]"""
    gold: Annotated[str | None, QUESTIONS] = None
    """Claims by people: a field, or a file with id and claims."""

    def door(self, options: RunOptions) -> ce.Run:
        return ce.extraction(**self.settings(options))

    def do(self) -> int:
        from claimeval.runs.views.run import extraction, losing

        finished = self.watch("extraction")
        run = finished.run
        summary = run.record.extraction
        assert summary, "an extraction run has its summary"
        if summary.all_texts:
            self.output.draw(extraction(summary, run.manifest, run.summary))
            self.output.draw(losing(run.results))
        folder = quote(str(run.path and run.path.parent))
        look = f"Look around: claimeval view {folder}. Compare: claimeval extraction --gold"
        return finished.show(tables=False, next_lines=[look])
