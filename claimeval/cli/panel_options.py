"""Options of commands that count the verdicts of several judges, and what was said with them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from claimeval.types.options import PanelOptions

PANEL = "Panel"
"""The group under which `--help` lists these options."""

Vote = Annotated[
    str | None,
    typer.Option(
        help="How the verdicts of several judges become a label (first supported or not, then which of the other "
        "labels): `majority` (unless said), `unanimous`, `any` (one judge who finds support is enough), "
        "`median`, `mean` (of probabilities), `weighted`, `dawid_skene`.",
        rich_help_panel=PANEL,
        show_default=False,
    ),
]
Tie = Annotated[
    str | None,
    typer.Option(
        help="What a tie comes to: `abstain` (no label; unless said), `conservative` (not supported; the lowest of "
        "tied grades), or the name of the judge who decides.",
        rich_help_panel=PANEL,
        show_default=False,
    ),
]
Quorum = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Judges who must have given a label, else the claim has none. Unless said, more than half. A judge that "
        "fails or abstains never counts as a no.",
        rich_help_panel=PANEL,
        show_default=False,
    ),
]
Replicates = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Ask each judge so many times, each a call of its own (set a `temperature` in a judge file); a judge's "
        "repeats are one vote, and the summary says how often it contradicts itself.",
        rich_help_panel=PANEL,
        show_default=False,
    ),
]
Escalate = Annotated[
    int | None,
    typer.Option(
        min=2,
        help="Ask only the first N judges about every claim, the others where these are not of one mind. The summary "
        "says how many calls that spared.",
        rich_help_panel=PANEL,
        show_default=False,
    ),
]
PerDocument = Annotated[
    bool | None,
    typer.Option(
        "--per-document/--no-per-document",
        help="Assess claims against each document alone, and those that no single one supports against all together. "
        "Costs about as many times more calls as there are documents, and gives context precision and utilization, "
        "noise sensitivity, hallucination and self-knowledge (`claimeval score --help` names all metrics).",
        rich_help_panel=PANEL,
        show_default=False,
    ),
]
ShuffleContexts = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Assess all claims again under N other orders of the documents, and say how many labels flip and how "
        "support depends on the place of the document that gives it. The scores stay those of the original order.",
        rich_help_panel=PANEL,
        show_default=False,
    ),
]
OwnClaims = Annotated[
    bool,
    typer.Option(
        "--own-claims",
        help="Every judge takes its own claims and assesses those alone. Their scores stand side by side; claim by "
        "claim they cannot be compared.",
        rich_help_panel=PANEL,
    ),
]
OnSameFamily = Annotated[
    str | None,
    typer.Option(
        help="What to do with judges of the model family that wrote the answer (the samples' `generator`): `warn` "
        "(unless said), `skip` (not asked about it), `no-vote` (asked, and not counted), `error` (refuse to begin).",
        rich_help_panel=PANEL,
        show_default=False,
    ),
]
Families = Annotated[
    Path | None,
    typer.Option(
        help="YAML file of further model families, a line `pattern: family` each, as in `house-*: llama`.",
        rich_help_panel=PANEL,
        show_default=False,
    ),
]
Labels = Annotated[
    Path | None,
    typer.Option(
        help="Human labels (see `claimeval agreement --help`) from which `--vote weighted` takes the judges' weights.",
        rich_help_panel=PANEL,
        show_default=False,
    ),
]


def counting(tie: Tie = None, quorum: Quorum = None, replicates: Replicates = None) -> PanelOptions:
    """How several opinions on one thing become one."""
    return PanelOptions(tie=tie, quorum=quorum, replicates=replicates)


def rating(
    tie: Tie = None,
    quorum: Quorum = None,
    replicates: Replicates = None,
    on_same_family: OnSameFamily = None,
    families: Families = None,
) -> PanelOptions:
    """The same, and what becomes of judges of the family that wrote the answer."""
    return PanelOptions(
        tie=tie,
        quorum=quorum,
        replicates=replicates,
        on_same_family=on_same_family,  # type: ignore[arg-type]  # the record checks it
        families=families,
    )


def panel(
    vote: Vote = None,
    tie: Tie = None,
    quorum: Quorum = None,
    replicates: Replicates = None,
    escalate: Escalate = None,
    on_same_family: OnSameFamily = None,
    families: Families = None,
    labels: Labels = None,
) -> PanelOptions:
    """How a panel is asked about claims and counted."""
    return PanelOptions(
        vote=vote,  # type: ignore[arg-type]  # the record checks it
        tie=tie,
        quorum=quorum,
        replicates=replicates,
        escalate=escalate,
        labels=labels,
        on_same_family=on_same_family,  # type: ignore[arg-type]
        families=families,
    )


def voting(counting: PanelOptions, vote: str | None) -> PanelOptions:
    """Return the options with a vote rule whose help is the command's."""
    return replace(counting, vote=vote)  # type: ignore[arg-type]  # the record checks it
