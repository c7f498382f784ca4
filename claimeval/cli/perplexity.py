"""`claimeval perplexity`: how relevant the retrieved texts are, by how likely they make the question."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from claimeval.cli import local_options as lo
from claimeval.cli import options as o


def perplexity(
    data: Annotated[
        Path,
        typer.Argument(help="The samples: .jsonl, .json, .csv, .parquet, or the directory of a run over them."),
    ],
    model: lo.Model = "google/flan-t5-small",
    revision: lo.Revision = None,
    prompt: Annotated[
        str | None,
        typer.Option(help="A .j2 file in the place of `prompts/local/question_given_text.j2`.", show_default=False),
    ] = None,
    window: lo.Window = None,
    long: Annotated[
        Literal["cut", "window"],
        typer.Option(help="A text over the window: cut its end off, or read it in windows and take the best."),
    ] = "cut",
    device: lo.Device = "auto",
    dtype: lo.Dtype = "float32",
    batch_size: lo.BatchSize = "auto",
    out: o.Out = None,
    cache: o.Cache = None,
    field: o.Field = None,
    cluster: o.Cluster = None,
    limit: o.Limit = None,
    json: o.Json = False,
) -> None:
    """Score retrieved texts by how likely a small model finds the question after reading them. Free, no judge.

    Gives the best text of a sample (`query_likelihood`), the mean of the first 1, 3 and 5 retrieved (`@3`), and that
    of the best 3 and 5 (`..._best@3`); scores and ranks of all texts are in `scores/perplexity.jsonl`. With a run
    directory the scores are added to that run. Results are stored, so a second run computes nothing. Needs
    `pip install 'claimeval[local]'`.

    Example: `claimeval perplexity answers.jsonl --out runs/a`
    """
    from claimeval.cli import local_scores
    from claimeval.providers.local.perplexity import QuestionScorer
    from claimeval.types.options import LocalOptions

    scorer = QuestionScorer(
        LocalOptions(
            model=model,
            revision=revision,
            context_tokens=window,
            long_texts="truncate" if long == "cut" else "window",
            prompt=prompt,
            device=device,
            dtype=dtype,
            batch_size=local_scores.batch(batch_size) or "auto",
        )
    )
    local_scores.relevance_and_tell(
        scorer, data, out=out, cache=cache, fields=tuple(field or ()), limit=limit, cluster=cluster, as_json=json
    )
