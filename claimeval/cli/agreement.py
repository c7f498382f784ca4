"""`claimeval agreement`: how far the judges of a run agree with people and with each other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from claimeval.cli import options as o


def agreement(
    run: Annotated[Path, typer.Argument(help="A run directory.")],
    labels: Annotated[
        Path | None,
        typer.Option(
            help="Human labels: .jsonl or .csv with `id` (of the sample), `claim_id` or `text` (the claim, or a "
            "passage of the answer; neither for the whole sample), `label` (supported, contradicted, not_found, yes, "
            "no, or a grade), and where they help `against` and `annotator`. The labels that were imported with the "
            "run unless said; without any, the judges are held against each other.",
            show_default=False,
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            help="The evidence that the labels are about, where they do not say and claims were assessed against "
            "several: `contexts`, `reference`, ...",
            show_default=False,
        ),
    ] = None,
    cluster: o.Cluster = None,
    json: o.Json = False,
) -> None:
    """Hold judges and panel to human labels, with intervals that resample whole questions. Makes no call.

    Accuracy, balanced accuracy, precision, recall, F1, kappa, AUROC where a judge gives probabilities, and the labels
    that are mistaken for each other; kappa between any two raters, Krippendorff's alpha and Gwet's AC1.

    Example: `claimeval agreement runs/a --labels labels.csv --against contexts`
    """
    from claimeval.cli.agreement_table import measure_and_tell

    measure_and_tell(run, labels, against, cluster, as_json=json)
