"""`claimeval experiment`: prompt variants, judges and panels over the same samples, compared in pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from claimeval.cli import options as o
from claimeval.cli.judging_options import asking
from claimeval.cli.option_groups import takes
from claimeval.types.options import RunOptions


@takes(options=asking)
def experiment(
    file: Annotated[Path, typer.Argument(help="The experiment: a YAML file with data, judges and a grid or arms.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The folder. Default: `experiments/FILE`.", show_default=False),
    ] = None,
    *,
    options: RunOptions,
    select: Annotated[
        bool,
        typer.Option(
            "--select",
            help="Choose the arm that agrees best with the human labels on one half of the questions, and report it on "
            "the other.",
        ),
    ] = False,
    json: o.Json = False,
) -> None:
    """Judge the same samples in several ways and say which differences are more than noise.

    Questions that two arms share are asked once: an arm that changes only the assessment prompt pays no extraction.
    Stop it at any time; the same command goes on and pays nothing twice.

    A FILE may be: `{data: answers.jsonl, judges: openai:gpt-5-mini, grid: {assess_prompt: [three_way, binary]}}`
    """
    from claimeval.cli.experimenting import experiment_and_tell

    experiment_and_tell(file, out, options, select=select, as_json=json)
