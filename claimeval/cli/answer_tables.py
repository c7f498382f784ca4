"""The tables of `claimeval answers`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from claimeval.cli.whole_tables import print_whole
from claimeval.evaluation.baseline import RatingComparison, Share, words
from claimeval.evaluation.raters import Members
from claimeval.evaluation.ratings import RatingsJob
from claimeval.evaluation.summary.records import SameFamily
from claimeval.providers.specs import short_names
from claimeval.statistics.formatting import decimal, interval

SHOWN = 10
"""Samples where whole answer and claims part that are named; `--json` names all."""


def print_members(found: Mapping[str, Members]) -> None:
    """What each judge of a panel said, and how far they agree; nothing for a single judge."""
    console = Console(highlight=False, emoji=False)
    for question, one in found.items():
        if one.alpha is None:
            continue
        table = Table(box=None, header_style="bold", padding=(0, 1))
        table.add_column(question, no_wrap=True)
        said = next(iter(one.judges.values())).words
        for name in (*said, "holes"):
            table.add_column(name, justify="right", no_wrap=True)
        shorter = short_names(list(one.judges))
        for name, member in one.judges.items():
            holes = ", ".join(f"{n} {reason}" for reason, n in member.holes.items()) or "0"
            table.add_row(escape(shorter[name]), *map(str, member.words.values()), holes)
        print_whole(console, table)
        value, ends, n = _cells(one.alpha)
        console.print(
            f" Krippendorff's alpha: {value}{'' if one.alpha.low is None else f' ({ends})'}, {n} answers", style="dim"
        )


def print_family(found: Sequence[SameFamily], plan: RatingsJob) -> None:
    """Judges that rated answers of their own family, and what was done about it."""
    settings = plan.asked[0].panel
    deed = "were not asked about these"
    if settings.on_same_family != "skip":
        deed = "have no vote on these" if settings.on_same_family == "no-vote" else "may favour these"
    console = Console(highlight=False, emoji=False)
    for one in found:
        console.print(
            f" Note: {one.name} and {one.samples} of the answers are of one family ({one.family}); judges {deed}",
            markup=False,
            soft_wrap=True,
        )


def print_baselines(held: Sequence[RatingComparison]) -> None:
    """Whole-answer ratings and claims side by side, and where they part."""
    if not held:
        return
    console = Console(highlight=False, emoji=False)
    table = Table(box=None, header_style="bold", padding=(0, 1))
    table.add_column("whole answer against claims", no_wrap=True)
    for name in ("share", "95 % interval", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in held:
        rows = {
            f"{one.rating}: yes": one.whole,
            f"{one.metric}: every claim supported": one.claims,
            "  agreement": one.agreement,
            "  kappa": one.kappa,
        }
        for name, share in rows.items():
            table.add_row(escape(name), *_cells(share))
    print_whole(console, table)
    for one in held:
        shown = ", ".join(words(apart) for apart in one.apart[:SHOWN])
        rest = f", and {len(one.apart) - SHOWN} more" if len(one.apart) > SHOWN else ""
        text = f"{one.rating} and {one.metric} part in {len(one.apart)} of {one.agreement.n}"
        console.print(f" {text}{': ' if shown else ''}{shown}{rest}", style="dim", markup=False, soft_wrap=True)


def _cells(share: Share) -> tuple[str, str, str]:
    return decimal(share.value), interval((share.low, share.high)), str(share.n)
