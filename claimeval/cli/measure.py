"""`claimeval measure`, and `lexical`, `retrieval`, `perplexity` and `reward`: the same with a group of metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from claimeval.cli.command import Heading, command
from claimeval.cli.printer import Output
from claimeval.cli.shared import Data, Gated, Gates, Metrics, Out, ReadingOptions, arguments
from claimeval.types.options import LocalOptions, RunOptions

if TYPE_CHECKING:
    from claimeval.api.run import Run
    from claimeval.cli.running import Finished

LISTED = ("Without a judge", 1, "Compute lexical, retrieval and local-model metrics.")
Local = Annotated[LocalOptions, Heading("Local models")]
Options = Annotated[RunOptions, Heading("Cost and speed", "offline", "cache"), Heading("Results and gates", "cluster")]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureOptions:
    """Compute lexical, retrieval and local-model metrics. Deterministic and free: no judge is asked.

    Groups: lexical (words of the answer against contexts and reference answers), retrieval (ranks of the reference
    contexts, as in trec_eval), perplexity (query likelihood of the contexts under a small model), reward (a reward
    model's score of the answer). The last two need pip install 'claimeval[local]'. The metrics of a run become
    RUN/measure, and are shown with its scores.

    `lexical`, `retrieval`, `perplexity` and `reward` are the same command with that group by default; the metrics of a
    run become RUN/lexical and so on.

    Example: claimeval measure runs/a -m rouge_l,token_f1,recall@5
    """

    data: Data
    """The samples (.jsonl, .json, .csv, .parquet), or a run directory."""
    metrics: Metrics = None
    """Names and groups, comma-separated; `claimeval metrics` lists them. Default: the group, else lexical."""
    match: Literal["ids", "text"] = "ids"
    """How a context is known to be a reference: by its id, or by its text."""
    collapse_ids: str | None = None
    """Regular expression cut out of context ids; of equal ids the best stays. '#.*' makes report of report#p12."""
    normalization: Literal["squad", "multilingual"] = "squad"
    """squad (English: no case, punctuation, articles) or multilingual."""
    out: Out = None
    """Run directory; default RUN/COMMAND or runs/DATA-SETTINGS."""
    overwrite: bool = False
    """Replace a run of other settings in --out."""
    reading: ReadingOptions = ReadingOptions()
    output: Output = Output()
    local: Local = LocalOptions()
    gates: Gated = Gates()
    options: Options = RunOptions()


def do(given: MeasureOptions, group: str = "measure") -> int:
    """Measure the data, print the run, and return the exit code."""
    from claimeval.cli.running import print_finished, watch

    finished = watch(lambda options: door(given, options, group), given.options, given.gates, given.output)
    remarks = _remarks(finished)
    for name, value in remarks.items():
        if value:
            given.output.line(f" {name.replace('_', ' ')}: {value}", style="dim")
    return print_finished("measure", finished, given.output, remarks)


def door(given: MeasureOptions, options: RunOptions, group: str = "measure") -> Run:
    """Call the function of the API."""
    from claimeval.api.measures import measure
    from claimeval.runs.directory import has_results

    beside = given.data / group if has_results(given.data) else None
    metrics = given.metrics or ("lexical" if group == "measure" else group)
    return measure(**arguments(given, metrics=metrics, out=given.out or beside or "runs/", options=options))


def _remarks(finished: Finished) -> dict[str, object]:
    """Return what local models did: where they computed, what was cut, and how far reduced precision deviates."""
    from claimeval.cli.printer import say
    from claimeval.evaluation.measure import AnswerReward, MeasureJob, QueryLikelihood
    from claimeval.providers.local.loading import describe

    job, found = finished.prepared.job, dict[str, object]()
    if not isinstance(job, MeasureJob) or not job.local:
        return found
    for source in job.sources:
        if isinstance(source, QueryLikelihood | AnswerReward):
            say(f"{source.scorer.name} on {describe(source.scorer.setting)}")
            if (deviation := source.scorer.deviation) is not None:
                found["largest_deviation_from_float32"] = float(f"{deviation:.2g}")
    details = [result.details for result in finished.run.results]
    texts = [text for one in details for text in _listed(one.get("texts"))]
    if texts:
        found["texts"] = len(texts)
        found["texts_cut"] = sum(bool(text.get("cut")) for text in texts)
        found["texts_in_windows"] = sum(text.get("windows", 1) > 1 for text in texts)
    if cut := sum(bool(one.get("tokens_cut")) for one in details):
        found["answers_cut"] = cut
    return found


def _listed(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _with_group(group: str) -> click.Command:
    """Return `measure` under the name of a group of metrics, which it computes by default."""
    return command(group, MeasureOptions, lambda given: do(given, group))


measure = command("measure", MeasureOptions, do)
lexical, retrieval, perplexity, reward = map(_with_group, ("lexical", "retrieval", "perplexity", "reward"))
