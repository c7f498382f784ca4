"""Options of the commands whose scores come from models on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

Model = Annotated[str, typer.Option(help="A folder, or a name on the Hugging Face hub; its cache is looked in first.")]
Revision = Annotated[str | None, typer.Option(help="Branch, tag or commit of a model on the hub.", show_default=False)]
Device = Annotated[
    str, typer.Option(help="`cpu`, `cuda`, `cuda:1`, `mps`; `auto` is $CLAIMEVAL_DEVICE, else the fastest there is.")
]
Dtype = Annotated[
    str,
    typer.Option(
        "--dtype", help="`bfloat16` is faster on many devices and changes the scores; by how much is measured and said."
    ),
]
Window = Annotated[
    int | None, typer.Option(min=16, help="Tokens that the model reads at once; its own limit unless said.")
]
BatchSize = Annotated[
    str, typer.Option(help="Tokens in one batch, padding included, or `auto`. It does not change scores.")
]
