"""MLflow: pushing a run as an MLflow run, and scorers for `mlflow.genai.evaluate`.

Server and experiment come from MLFLOW_TRACKING_URI and MLFLOW_EXPERIMENT_NAME. Default experiment:
`claimeval`.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from claimeval.api.push import Pushed, Settings, sending
from claimeval.metrics.rows import canonical_name
from claimeval.report import tables

if TYPE_CHECKING:
    from claimeval.api.jobs import JudgeSpec
    from claimeval.api.run import Run

EXPERIMENT = "claimeval"
IDENTITY = "claimeval.identity"
"""Tag by which a run is found when it is pushed again."""
CONTENT = "claimeval.content"
"""Tag with the digest of what was logged, set last: a push of the same changes nothing."""
NOTE = (
    "The run has means, intervals, counts, settings, samples, claims, verdicts and calls as tables,"
    " and the page. Traces get no scores: `claimeval.integrations.mlflow.scorers` gives them in"
    " `mlflow.genai.evaluate`. A second push changes nothing"
)
TABLES: tuple[tables.Table, ...] = ("samples", "claims", "verdicts", "calls")
PARAM = 500
"""Maximum characters of a parameter."""
BATCH = 500
"""Metrics per request."""


def push(run: Run, settings: Settings) -> Pushed:
    """Log means with intervals and counts as metrics, settings as parameters, tables, and the
    report.

    A run that is pushed again is found by a tag, and overwritten if its content differs.
    """
    where = settings.url or os.environ.get("MLFLOW_TRACKING_URI", "")
    experiment = settings.experiment or os.environ.get("MLFLOW_EXPERIMENT_NAME") or EXPERIMENT
    metrics = _metrics(run)
    params = _params(run)
    records = {
        "metrics": len(metrics),
        "parameters": len(params),
        "tables": len(TABLES),
        "reports": 1,
    }
    if settings.dry_run:
        return Pushed(
            f"experiment {experiment} at {where or 'the default store'}", records, {}, NOTE
        )
    with sending("mlflow", where or "the default store"):
        from mlflow.exceptions import MlflowException
    with (
        sending("mlflow", where or "the default store", MlflowException),
        # MLflow prints addresses of runs on standard output, which has the lines of the command.
        redirect_stdout(sys.stderr),
    ):
        address, is_new = _log(run, settings, experiment, metrics, params)
    return Pushed(address, records if is_new else {}, {}, NOTE)


def _metrics(run: Run) -> dict[str, float]:
    from claimeval.metrics.scoring import figures

    told: dict[str, float | str] = {}
    for name, metric in run.summary.items():
        told.update(figures(name, metric))
    return {
        _name(figure): float(value) for figure, value in told.items() if not isinstance(value, str)
    }


def _name(figure: str) -> str:
    # MLflow takes only these characters in names, and metrics of rankings are named `ndcg@10`.
    return re.sub(r"[^\w./ :-]", "_at_", figure)


def _params(run: Run) -> dict[str, str]:
    record = run.manifest
    params = {
        "job": record.job,
        "judges": ", ".join(judge.model for judge in record.judges),
        "data": record.data.path if record.data else None,
        "data_digest": record.data.digest if record.data else None,
        "samples": str(len(run)),
        **{_name(f"{name}.ends"): metric.ends for name, metric in run.summary.items()},
    }
    return {name: value[:PARAM] for name, value in params.items() if value}


def _log(
    run: Run,
    settings: Settings,
    experiment: str,
    metrics: Mapping[str, float],
    params: Mapping[str, str],
) -> tuple[str, bool]:
    """Return where the run is, and whether anything was logged."""
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param

    client = MlflowClient(tracking_uri=settings.url)
    existing = client.get_experiment_by_name(experiment)
    experiment_id = existing.experiment_id if existing else client.create_experiment(experiment)
    # The date is left out: a run that is made again from stored replies is the same run.
    settled = (
        run.manifest.model_copy(update={"created": None}).model_dump_json()
        + run.record.model_dump_json()
    )
    identity = hashlib.sha256(settled.encode()).hexdigest()
    runs = client.search_runs([experiment_id], f"tags.`{IDENTITY}` = '{identity}'", max_results=1)
    name = run.path.name if run.path else run.job
    logged = (
        runs[0]
        if runs
        else client.create_run(experiment_id, run_name=name, tags={IDENTITY: identity})
    )
    key = logged.info.run_id
    address = f"run {key} in experiment {experiment}"
    files = dict(_files(run))
    content = hashlib.sha256(
        repr((dict(metrics), dict(params), files)).encode(errors="backslashreplace")
    ).hexdigest()
    if logged.data.tags.get(CONTENT) == content:
        return f"{address}, which has them already", False
    created = run.manifest.created
    time = (
        int(datetime.fromisoformat(created).timestamp() * 1000)
        if created
        else logged.info.start_time
    )
    progress = settings.started(len(files) + 1, "parts")

    def done() -> None:
        progress.done += 1
        progress.notify()

    rows = [Metric(name, value, time, 0) for name, value in metrics.items()]
    for start in range(0, len(rows), BATCH):
        client.log_batch(key, metrics=rows[start : start + BATCH])
    client.log_batch(key, params=[Param(name, value) for name, value in params.items()])
    done()
    for file, text in files.items():
        client.log_text(key, text, file)
        done()
    listed = json.dumps([{"path": f"{table}.json", "type": "table"} for table in TABLES])
    client.set_tag(key, "mlflow.loggedArtifacts", listed)
    client.set_terminated(key)
    # Last, so that a push that was cut off is not taken for complete by the next.
    client.set_tag(key, CONTENT, content)
    return address, True


def _files(run: Run) -> Iterator[tuple[str, str]]:
    """Yield the tables and the page, as texts by the names of their files."""
    for table in TABLES:
        head, *cells = tables.rows(run.manifest, run.results, table)
        yield f"{table}.json", json.dumps({"columns": head, "data": cells})
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        run.report(report)
        yield report.name, report.read_text(encoding="utf-8")


def scorers(
    metrics: str | Sequence[str] = "faithfulness",
    *,
    judge: JudgeSpec,
    read: Callable[[Any, Any, Mapping[str, Any], Any], Mapping[str, Any]] | None = None,
    **settings: Any,
) -> list[Any]:
    """Return scorers for `mlflow.genai.evaluate(scorers=...)`, one a metric.

    Inputs, outputs and expectations are read as a row of MLflow's evaluation data: the question
    from `inputs`, the contexts from `inputs` or `outputs` (`contexts`, `context`), else from spans
    of type RETRIEVER of the trace; the gold answer from `expectations` (`reference_answers`,
    `expected_response`). Each feedback has the value, the claims that are not supported as
    rationale, and the judge as source.

    Args:
        metrics: Names, as a list or one text with commas.
        judge: The judge, as for `claimeval.check`.
        read: Returns `answer`, `contexts`, `question` and `reference_answers` from inputs, outputs,
            expectations and trace, for data in another format.
        settings: Other arguments of `claimeval.check`, such as `timeout`.

    Raises:
        UsageError: MLflow is not installed.
    """
    with sending("mlflow", ""):
        from mlflow.entities import AssessmentSource, Feedback
        from mlflow.genai.scorers import scorer

    from claimeval.api.check import check

    names = metrics.split(",") if isinstance(metrics, str) else list(metrics)

    def made(name: str) -> Any:
        """Return the scorer of one metric."""

        def judged(
            inputs: Any = None, outputs: Any = None, expectations: Any = None, trace: Any = None
        ) -> Any:
            """Judge one answer.

            Args:
                inputs: The inputs of the application.
                outputs: Its outputs.
                expectations: The expected answer.
                trace: Its trace, if any.
            """
            sample = (read or sample_of)(inputs, outputs, expectations or {}, trace)
            result = check(**sample, judge=judge, metrics=name, **settings)
            score = result[name]
            rationale = "\n".join(
                [score.in_words(name), *(claim.text for claim in result.failed_claims())]
            )
            source = AssessmentSource(source_type="LLM_JUDGE", source_id=str(judge))
            error = None if score.value is not None else (score.because or "undefined")
            return Feedback(
                name=name, value=score.value, rationale=rationale, source=source, error=error
            )

        return scorer(judged, name=name)

    return [made(canonical_name(name.strip())) for name in names]


def sample_of(
    inputs: Any, outputs: Any, expectations: Mapping[str, Any], trace: Any
) -> dict[str, Any]:
    """Return the arguments of `check` for the arguments of an MLflow scorer.

    Args:
        inputs: The inputs of the application.
        outputs: Its outputs.
        expectations: The expected answer.
        trace: Its trace, which may have retrieved documents.
    """
    parts = [part for part in (inputs, outputs) if isinstance(part, Mapping)]
    given = any("context" in str(key) for key in itertools.chain(*parts))
    spans = [] if given or trace is None else trace.search_spans(span_type="RETRIEVER")
    pages = []
    for span in spans:
        if isinstance(span.outputs, list):
            pages += span.outputs
    return {
        "answer": {"inputs": inputs, "outputs": outputs, "expectations": expectations},
        "contexts": pages,
    }
