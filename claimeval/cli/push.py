"""`claimeval push`: the scores of a run, sent to a platform."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from claimeval.cli.command import Argument, command
from claimeval.cli.printer import Output

LISTED = ("Look", 4, "Send scores to OpenTelemetry, MLflow or Langfuse.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PushOptions:
    """Send the scores of a run and the verdicts on claims to a platform.

    Sent again, they replace what MLflow and Langfuse have. Events of OpenTelemetry cannot be replaced, and keep their
    ids, so that a back end can drop them.

    Keys and addresses come from the platform's usual environment variables.

    Examples: claimeval push runs/a --to langfuse --dry-run; claimeval push runs/a --to otlp --url http://localhost:4318
    """

    run: Annotated[Path, Argument("RUN")]
    """A run directory."""
    to: Literal["otlp", "mlflow", "langfuse"]
    """otlp (events for a collector of OpenTelemetry), mlflow (a run) or langfuse (scores of traces)."""
    url: str | None = None
    """Collector, tracking server or host; by default from the environment."""
    experiment: str | None = None
    """Experiment of mlflow; MLFLOW_EXPERIMENT_NAME or claimeval by default."""
    field: str = "trace_id"
    """Metadata with the id of a sample's trace; id: that of the sample."""
    dry_run: bool = False
    """Print how many records would be sent, and send nothing."""
    output: Output = Output()


def do(given: PushOptions) -> int:
    """Send the run, print what was sent, and return the exit code."""
    from claimeval.api.run import Run
    from claimeval.cli.progress_line import ProgressLine

    output = given.output
    with ProgressLine(None if output.quiet else sys.stderr) as line:
        found = Run.load(given.run).push(
            given.to,
            url=given.url,
            experiment=given.experiment,
            field=given.field,
            dry_run=given.dry_run,
            progress=line.show,
        )
    counts = ", ".join(f"{kind} {count}" for kind, count in found.records.items())
    output.line(f"{'To send' if given.dry_run else 'Sent'}: {counts}; to {found.where}")
    for reason, count in found.left_out.items():
        output.line(f" scores {reason}: {count}", style="dim")
    record = {
        "to": given.to,
        "where": found.where,
        "dry_run": given.dry_run,
        "records": dict(found.records),
        "left_out": dict(found.left_out),
    }
    return output.result("push", record, path=given.run)


push = command("push", PushOptions, do)
