"""`claimeval measure`, and its variants `lexical`, `retrieval`, `perplexity` and `reward` for groups of metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from claimeval.cli.command import Heading, command
from claimeval.cli.shared import Data, JobOptions, Metrics, Out, arguments
from claimeval.cli.terminal import say
from claimeval.types.options import LocalOptions, RunOptions

if TYPE_CHECKING:
    from claimeval.api.run import Run
    from claimeval.cli.running import Finished

LISTED = {"measure": ("Without a judge", 1, "Compute lexical, retrieval and local-model metrics.")}
Local = Annotated[LocalOptions, Heading("Local models")]
Options = Annotated[
    RunOptions,
    Heading("Cost and speed", "offline", "cache"),
    Heading("Batches and machines", "shard"),
    Heading("Results and gates", "cluster"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureOptions(JobOptions):
    """Compute lexical, retrieval and local-model metrics. Deterministic and free: no judge is asked.

    Groups: lexical (words of the answer against contexts and reference answers), overlap (ROUGE-1, -2, -Lsum, BLEU and
    chrF; needs the extra `lexical`), retrieval (ranks of the reference contexts, as in trec_eval),
    perplexity (query likelihood of the contexts under a small model), reward (a reward model's score of the answer),
    similarity (of the embeddings of answer and reference). The last three need the extra `local`. The metrics of
    a run become RUN/measure, and are shown with its scores.

    `lexical`, `retrieval`, `perplexity` and `reward` are the same command with that group by default; the metrics of a
    run become RUN/lexical and so on.

    Example: claimeval measure runs/a -m rouge_l,token_f1,recall@5
    """

    data: Data
    """The samples (.jsonl, .json, .csv, .parquet), or a run directory."""
    metrics: Metrics = None
    """Names and groups, comma-separated; `claimeval metrics` lists them.  [default: the group, else lexical]"""
    match: Literal["ids", "text"] = "ids"
    """Match contexts with references by ids, or by text."""
    collapse_ids: str | None = None
    """Regular expression to remove from context ids; the best of equal ids stays. '#.*' turns report#p12 into
    report."""
    normalization: Literal["squad", "multilingual"] = "squad"
    """squad (English: no case, punctuation, articles) or multilingual."""
    out: Out = None
    """Run directory; default RUN/COMMAND or runs/DATA-SETTINGS."""
    local: Local = LocalOptions()
    options: Options = RunOptions()


def do(args: MeasureOptions, group: str = "measure") -> int:
    """Measure the data, print the run, and return the exit code."""
    from claimeval.cli.running import print_finished, watch

    finished = watch(lambda options: door(args, options, group), args.options, args.gates, args.output)
    if finished.of_shard:
        return print_finished("measure", finished, args.output)
    remarks = _remarks(finished)
    for name, value in remarks.items():
        if value:
            args.output.line(f" {name.replace('_', ' ')}: {value}", style="dim")
    metrics = finished.run.summary.items()
    if unfed := [name for name, metric in metrics if not metric.n and metric.missing.keys() == {"missing_input"}]:
        args.output.note(
            f"no sample can feed {', '.join(unfed)}. `claimeval doctor {args.data}` shows a sample as it is read; map "
            "the columns with --field FIELD=COLUMN."
        )
    return print_finished("measure", finished, args.output, remarks)


def door(args: MeasureOptions, options: RunOptions, group: str = "measure") -> Run:
    """Call the function of the API."""
    from claimeval.api.measures import measure
    from claimeval.runs.directory import has_results

    folder = args.data / group if has_results(args.data) else None
    metrics = args.metrics or ("lexical" if group == "measure" else group)
    return measure(**arguments(args, metrics=metrics, out=args.out or folder or "runs/", options=options))


def _remarks(finished: Finished) -> dict[str, object]:
    """Return remarks about local models: device, truncated texts, and the deviation by reduced precision."""
    from claimeval.evaluation.measure import AnswerReward, MeasureJob, QueryLikelihood

    job, remarks = finished.prepared.job, dict[str, object]()
    if not isinstance(job, MeasureJob) or not job.local:
        return remarks
    for source in job.sources:
        if isinstance(source, QueryLikelihood | AnswerReward):
            say(f"{source.scorer.name} on {source.scorer.setting}")
            if (deviation := source.scorer.deviation) is not None:
                remarks["largest_deviation_from_float32"] = float(f"{deviation:.2g}")
    details = [result.details for result in finished.run.results]
    texts = [text for of_sample in details for text in _listed(of_sample.get("texts"))]
    if texts:
        remarks["texts"] = len(texts)
        remarks["texts_cut"] = sum(bool(text.get("cut")) for text in texts)
        remarks["texts_in_windows"] = sum(text.get("windows", 1) > 1 for text in texts)
    if cut := sum(bool(of_sample.get("tokens_cut")) for of_sample in details):
        remarks["answers_cut"] = cut
    return remarks


def _listed(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _with_group(group: str) -> click.Command:
    """Return `measure` under the name of a group of metrics, which are its default."""
    return command(group, MeasureOptions, lambda args: do(args, group))


measure = command("measure", MeasureOptions, do, door)
lexical, retrieval, perplexity, reward = map(_with_group, ("lexical", "retrieval", "perplexity", "reward"))
