"""`claimeval retrieval`: rank metrics of the contexts of each sample."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from claimeval.cli import options as o


def retrieval(
    data: o.DataOrRun,
    measures: Annotated[
        str,
        typer.Option(
            "-m",
            "--measures",
            help="Comma-separated, as in `claimeval rank`: `mrr`, `map`, `ndcg@10`, `recall@5`, `P@5`, `success@1`. "
            "`ap_retrieved` is what some tools call MAP or context precision.",
        ),
    ] = "mrr,map,recall@5,P@5,ndcg@10",
    match: Annotated[
        Literal["ids", "text"],
        typer.Option(
            help="`ids`: a context is right when its id is among `reference_context_ids`. `text`: when it holds one of "
            "`reference_contexts`, or is a piece of it."
        ),
    ] = "ids",
    fold: Annotated[
        str | None,
        typer.Option(
            help="A regular expression that is cut out of ids before they are compared; of contexts that are the same "
            "then, the best stays. `'#.*'` makes documents of pages such as `report#p12`.",
            show_default=False,
        ),
    ] = None,
    out: o.Out = None,
    limit: o.Limit = None,
    field: o.Field = None,
    json: o.Json = False,
) -> None:
    """Score what each sample retrieved against its reference contexts, as context correctness. Makes no call.

    The numbers are those of trec_eval, per sample and with intervals over samples; those of a run directory stand
    beside the judges' scores. A sample without reference contexts has no value and is counted.

    Example: `claimeval retrieval answers.jsonl -m mrr,map,recall@5`
    """
    from claimeval import retrieval as retrieved
    from claimeval import side_scores
    from claimeval.cli.beside_a_run import Place, tell

    asked = retrieved.asked(measures)
    place = Place(Path(data), "retrieval", out=out, fields=tuple(field or ()), limit=limit)
    summary = side_scores.write(
        place.folder,
        "retrieval",
        retrieved.score(place.samples(), asked, match, fold=fold),
        retrieved.units(asked),
        {"match": match, **({"fold": fold} if fold else {})},
    )
    tell(summary, place.folder, {}, as_json=json)
