"""What `claimeval annotate` does: one question after another, each answer saved at once."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from claimeval.cli.asking import Keys, harmless
from claimeval.runs.labels.draw import ClaimDraw, ClaimToLabel, Design, LabelFile, draw, export, questions
from claimeval.types.records import Label

KEYS: dict[str, Label | Literal["unsure"]] = {
    "y": "supported",
    "c": "contradicted",
    "n": "not_found",
    "?": "unsure",
}
HELP = "y supported   c contradicted   n not found   ? unsure   q stop"


def label_and_tell(
    run: Path, count: int, metric: str | None, design: Design, seed: int, annotator: str | None, to: Path | None
) -> None:
    """Draws, asks until everything is answered or the person stops, and says how it stands."""
    found = draw(run, metric, count, design, seed)
    if to:
        print(f"{export(run, found, to)} claims written to {to}; fill the column `label`, then: "
              f"claimeval correct {run} --labels {to}")  # fmt: skip
        return
    labels = LabelFile(run, found.metric.name)
    console = Console(highlight=False, emoji=False)
    try:
        _ask(console, run, found, labels, annotator)
    except (KeyboardInterrupt, EOFError):
        console.print()
    done = len(labels.answered)
    console.print(f"{done} of {len(found.items)} claims labelled, in {labels.path}", soft_wrap=True)
    if done < len(found.items):
        console.print("Run the same command to resume.")
    else:
        console.print(f"Next: claimeval correct {run}", soft_wrap=True)


def _ask(console: Console, run: Path, found: ClaimDraw, labels: LabelFile, annotator: str | None) -> None:
    keys = Keys()
    for question in questions(run, found, labels.answered):
        _show(console, question, found, len(labels.answered) + 1)
        while (key := keys.next()) not in KEYS:
            if key == "q":
                return
            console.print(HELP)
        console.print(f"[bold]{KEYS[key]}[/]")
        labels.add(question, found.metric.against, KEYS[key], annotator)


def _show(console: Console, question: ClaimToLabel, found: ClaimDraw, number: int) -> None:
    sample = question.result.sample
    console.rule(f"{number} of {len(found.items)}")
    for document in sample.documents(found.metric.against) or ():
        name, title = harmless(document.id), harmless(document.title or "")
        console.print(f"[dim]{escape(name)}[/] [bold]{escape(title)}[/]")
        console.print(Padding(escape(harmless(document.text)), (0, 0, 1, 2)))
    console.print(f"[dim]question[/] {escape(harmless(sample.question))}")
    console.print(f"[dim]claim   [/] [bold]{escape(harmless(question.claim.text))}[/]")
    console.print(f"[dim]Is the claim borne out by the {escape(found.metric.against)} above?  {HELP}[/]")
