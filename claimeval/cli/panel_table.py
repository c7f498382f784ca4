"""What a run says of its judges, for a person who reads it at 80 columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from claimeval.cli.whole_tables import print_whole
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary.orders import OrderEffects
from claimeval.evaluation.summary.records import Agreement, Dispute, PanelSummary, SelfPreference
from claimeval.evaluation.summary.run import Summary
from claimeval.judging.panel.settings import ABSTAIN, CONSERVATIVE, Panel
from claimeval.metrics.scoring import MetricSummary
from claimeval.statistics.formatting import decimal, interval, percent, signed, signed_interval

MEMBERS = 8
"""Judges whose scores are printed under the panel's; of more only the range is."""
PAIRS = 10
"""Pairs of judges whose agreement is printed; of more only the range is."""
DISPUTES = 3
"""The most disputed claims that are printed."""
SHOWN = 100
"""Characters of a claim."""


def print_panel(console: Console, manifest: Manifest, summary: Summary) -> None:
    """Rules, agreement, disputes, families; nothing for one judge asked once about answers of nobody's family."""
    names = manifest.short_names
    for caution in _cautions(names, summary):
        console.print(f"[bold yellow]Caution:[/] {escape(caution)}", soft_wrap=True)
    if panel := summary.panel:
        console.print(f"\n[bold]Panel of {len(panel.judges)}[/]: {escape(_rules(manifest.panel, len(panel.judges)))}")
        for line in _agreement(panel, names):
            console.print(Padding(escape(line), (0, 0, 0, 1)))
        if panel.pairs:
            print_whole(console, _pairs([*panel.pairs, *panel.with_panel], names))
        for line in (*_preferences(panel), *_noise(panel, names), *_spared(summary)):
            console.print(Padding(escape(line), (0, 0, 0, 1)))
        if panel.disputed:
            console.print(f" Most disputed of {len(panel.disputed)}{'+' * (len(panel.disputed) == 20)} listed claims:")
        for dispute in panel.disputed[:DISPUTES]:
            console.print(Padding(escape(_dispute(dispute, names)), (0, 0, 0, 3)))


def members(metric: MetricSummary, names: dict[str, str]) -> Iterator[tuple[str, MetricSummary]]:
    """The judges to print under the panel's row, each with its own score; `names` are their short ones."""
    if len(metric.members) <= MEMBERS:
        yield from ((names[judge], member) for judge, member in metric.members.items())


def range_of_members(metric: MetricSummary) -> str | None:
    """The judges' means in a few words, where they are too many to print."""
    means = sorted(member.mean for member in metric.members.values() if member.mean is not None)
    if len(metric.members) <= MEMBERS or not means:
        return None
    middle = decimal(means[len(means) // 2])
    return f"{len(metric.members)} judges alone: {interval((means[0], means[-1]), 3)}, median {middle}"


def _cautions(names: dict[str, str], summary: Summary) -> Iterator[str]:
    roles = {"judge": "", "extractor": " (extractor)", "reference_author": " (author of gold answers)"}
    if summary.panel and summary.panel.stopped:
        stopped = ", ".join(f"{names[name]} on {n}" for name, n in summary.panel.stopped.items())
        yield (
            f"the panel is incomplete: of {summary.panel.claims} claims there is no verdict of {stopped}, stopped by "
            "an error. Mend its cause, and the same command asks for what is missing."
        )
    for kin in summary.same_family:
        yield (
            f"{names.get(kin.name, kin.name)}{roles[kin.role]} is of the family that wrote {kin.samples} of the "
            f"{summary.samples} answers ({kin.family}); judges tend to favour their own kind."
        )
    for found in summary.panel.self_preference if summary.panel else ():
        if found.ci and found.ci[0] > 0:
            yield f"judges of {found.family} do favour answers of {found.family}: {_preference(found)}."


def _preference(found: SelfPreference) -> str:
    return f"{found.metric} {signed(found.value)}" + (f" ({signed_interval(found.ci)})" if found.ci else "")


def _preferences(panel: PanelSummary) -> Iterator[str]:
    for family in dict.fromkeys(found.family for found in panel.self_preference):
        known = [_preference(f) for f in panel.self_preference if f.family == family and f.value is not None]
        if known:
            yield f"own family {family}, more than other judges give it: {', '.join(known)}"


def _rules(panel: Panel, judges: int) -> str:
    if panel.own_claims:
        return "each judge takes its own claims and assesses them alone; a sample's score is the mean of theirs"
    ties = {ABSTAIN: "ties have no label", CONSERVATIVE: "ties are not supported"}
    parts = [f"{panel.vote} vote", ties.get(panel.tie, f"ties are broken by {panel.tie}")]
    if judges > 1:
        parts.append(f"quorum {panel.needed(judges)}")
    if panel.replicates > 1:
        parts.append(f"{panel.replicates} repeats a judge")
    if panel.escalate:
        parts.append(f"the first {panel.escalate} are asked first")
    if panel.on_same_family == "no-vote":
        parts.append("own family left out")
    if panel.on_same_family == "skip":
        parts.append("own family not asked")
    return ", ".join(parts)


def _agreement(panel: PanelSummary, names: dict[str, str]) -> Iterator[str]:
    if len(panel.judges) < 2 or not panel.measured_on:
        return
    yield (
        f"{panel.claims} claims: {panel.unanimous} with equal labels, {panel.split} with different ones; "
        f"{panel.ties} without a label by ties, {panel.no_quorum} for want of a quorum"
    )
    yield f"Krippendorff's alpha {decimal(panel.alpha)}, Gwet's AC1 {decimal(panel.ac1)}"
    if len(panel.measured_on) < len(panel.judges):
        yield (
            f"these are of {' and '.join(names[judge] for judge in panel.measured_on)}, who saw all claims; the others "
            "saw only the disputed ones, which their scores and the pairs marked * are over"
        )


def _pairs(pairs: Sequence[Agreement], names: dict[str, str]) -> Table | str:
    if len(pairs) > PAIRS:
        kappas = sorted(pair.kappa for pair in pairs if pair.kappa is not None)
        return f" Cohen's kappa of {len(pairs)} pairs: {interval((kappas[0], kappas[-1]), 3)}" if kappas else ""
    table = Table(box=None, header_style="bold", padding=(0, 1))
    table.add_column("pair")
    for name in ("claims", "equal", "kappa"):
        table.add_column(name, justify="right", no_wrap=True)
    for pair in pairs:
        name = " / ".join(names.get(judge, judge) for judge in (pair.first, pair.second))
        table.add_row(
            escape(name + " *" * pair.disputed_only), str(pair.claims), decimal(pair.raw), decimal(pair.kappa)
        )
    return table


def _noise(panel: PanelSummary, names: dict[str, str]) -> Iterator[str]:
    for judge, noise in panel.noise.items():
        share = "" if noise.share is None else f"; {percent(noise.share)} of the variance of one verdict is the judge's"
        yield f"{names[judge]}: contradicted itself on {noise.changed} of {noise.repeated} repeated claims{share}"


def _spared(summary: Summary) -> Iterator[str]:
    if summary.calls and summary.calls.spared:
        yield f"escalation spared {summary.calls.spared} calls"


def _dispute(dispute: Dispute, names: dict[str, str]) -> str:
    votes = ", ".join(f"{names[judge]}: {vote}" for judge, vote in dispute.votes.items())
    if len(dispute.votes) > MEMBERS:
        votes = ", ".join(f"{n} say {vote}" for vote, n in Counter(dispute.votes.values()).most_common())
    claim = dispute.claim if len(dispute.claim) <= SHOWN else dispute.claim[: SHOWN - 3] + "..."
    return f"{dispute.sample} {' '.join(claim.split())} ({votes})"


def print_orders(console: Console, orders: OrderEffects) -> None:
    """What other orders of the documents do to the labels."""
    within = f", 95 % interval {percent(orders.ci[0])} to {percent(orders.ci[1])}" if orders.ci else ""
    rate = "" if orders.rate is None else f" ({percent(orders.rate)} of a sample's claims{within})"
    console.print(
        f"\n[bold]Order of the documents[/]: {orders.flipped} of {orders.claims} claims flip in one of "
        f"{orders.orders} other orders{rate}; {orders.lost} labels lose support, {orders.gained} gain it",
        soft_wrap=True,
    )
    table = Table(box=None, header_style="bold", padding=(0, 1))
    for name in ("evidence at rank", "labels", "supported", "in other orders", "flipped"):
        table.add_column(name, justify="right", no_wrap=True)
    for place in orders.places:
        flipped = percent(place.flipped / place.compared if place.compared else None)
        supported = percent(place.supported / place.labelled)
        table.add_row(str(place.rank), str(place.labelled), supported, str(place.compared), flipped)
    if orders.places:
        print_whole(console, table)
