"""`claimeval prompts`: look at the words that judges read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from claimeval.cli import options as o

prompts = typer.Typer(
    name="prompts",
    no_args_is_help=True,
    help="See exactly what a judge will read: list, show, compare, check and render prompts.",
)

Name = Annotated[str, typer.Argument(help="`three_way`, `assess/three_way`, or the path of a .j2 file.")]
Step = Annotated[
    str | None,
    typer.Option(help="`extract` or `assess`, where the name alone does not tell.", show_default=False),
]


@prompts.command("list")
def list_prompts(json: o.Json = False) -> None:
    """List the shipped prompts with their reply formats, purposes and digests."""
    from claimeval.cli.prompt_printing import print_list

    print_list(as_json=json)


@prompts.command()
def show(prompt: Name, step: Step = None) -> None:
    """Print a prompt's file."""
    from claimeval.cli.prompt_printing import find

    print(find(prompt, step).source, end="")


@prompts.command()
def diff(a: Name, b: Name, step: Step = None) -> None:
    """Show how two prompts differ, line by line; exits with 1 when they do."""
    from claimeval.cli.prompt_printing import find
    from claimeval.cli.prompt_view import difference

    lines = difference(find(a, step), find(b, step))
    print("\n".join(lines) or "no difference")
    raise typer.Exit(1 if lines else 0)


@prompts.command()
def check(prompt: Name, step: Step = None) -> None:
    """Load a prompt as a run would: header, variables, blocks. Says what is wrong, or what it is."""
    from claimeval.cli.prompt_printing import find

    found = find(prompt, step)
    scale = f", scale {found.scale.name}" if found.scale else ""
    print(f"{found.name}: a good {found.step} prompt, reply {found.reply}{scale}, digest {found.digest[:12]}")


@prompts.command()
def render(
    prompt: Name,
    data: o.DataOrRun,
    sample: Annotated[
        str | None, typer.Option(help="Id of the sample; the first unless said.", show_default=False)
    ] = None,
    metric: Annotated[str, typer.Option(help="Which claims and evidence: a metric, or `name=claims_of:against`.")] = (
        "faithfulness"
    ),
    step: Step = None,
    field: o.Field = None,
) -> None:
    """Print the messages a judge would get for one sample.

    From a run directory the run's own claims are shown; from a data file those that the local splitter finds.

    Example: `claimeval prompts render three_way runs/a --sample q7`
    """
    from claimeval.cli.prompt_printing import print_rendered

    print_rendered(Path(data), prompt, step, sample, metric, tuple(field or ()))
