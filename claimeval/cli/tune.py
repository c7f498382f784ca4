"""`claimeval tune`: alignment of a judge's prompt with human labels."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from claimeval.cli.command import Argument, Heading, Names, command
from claimeval.cli.printer import Output, notes_on_stderr
from claimeval.cli.shared import Asking, arguments
from claimeval.cli.terminal import ProgressLine
from claimeval.statistics.formatting import decimal, dollars, estimate, p_value, signed, signed_interval
from claimeval.types.options import RunOptions, require_at_least

if TYPE_CHECKING:
    from claimeval.runs.tune import Gain, Tuning

LISTED = {"tune": ("Judge", 7, "Align a judge's prompt with human labels.")}


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneQuestions:
    """Options for the prompts to try."""

    assess_prompt: str | None = None
    """Prompt to start from: three_way, binary, or a .j2 file.  [default: that of the run]"""
    candidates: int = 10
    """Prompts to try besides the one in use."""
    proposer: str | None = None
    """Judge that writes candidates (needs gepa).  [default: fixed sentences]"""
    second_judge: str | None = None
    """Another judge for which to report the chosen prompt."""

    def __post_init__(self) -> None:
        require_at_least(self, 1, "candidates")


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions:
    """Align a judge's prompt with people: choose it on half of the labels, and report its gain on the other half.

    The labels are split by question. Candidates add sentences to the prompt in use. The one with the best
    cross-validated kappa is chosen, or a shorter one within a standard error of it. With few labels a gain is mostly
    noise, so the power of the labels is printed before any call. Stop at any time; the same command resumes.

    LABELS is a run with labels (from `claimeval annotate`, or imported), or a table with one labeled claim per row:
    id, question, contexts, claim, label, and annotator if there are several.

    Example: claimeval tune runs/a -j openai:gpt-5-mini -o aligned.j2
    """

    labels: Annotated[Path, Argument("LABELS")]
    """A run directory with human labels, or a table of labeled claims."""
    judge: Annotated[str, Names("-j", "--judge")]
    """PROVIDER:MODEL[@URL] or judge file whose prompt is aligned."""
    out: Annotated[Path | None, Names("-o", "--out")] = None
    """File (.j2) for the chosen prompt, written if its gain is more than noise."""
    write_anyway: bool = False
    """Write the prompt even if its gain is not; its first lines say so."""
    anyway: bool = False
    """Continue with fewer than 60 labels."""
    seed: int = 0
    """Another seed splits the labels differently."""
    output: Output = Output()
    questions: Annotated[TuneQuestions, Heading("Questions")] = TuneQuestions()
    options: Asking = RunOptions()


def do(args: TuneOptions) -> int:
    """Align the prompt, print its gain, and return the exit code."""
    output = args.output
    with notes_on_stderr(quiet=output.quiet), ProgressLine(None if output.quiet else sys.stderr) as line:
        tuning = door(args, replace(args.options, progress=line.show))
    _print(output, tuning, args)
    record = {**tuning.model_dump(), "beyond_noise": tuning.beyond_noise, "conclusion": tuning.conclusion()}
    return output.result("tune", record)


def door(args: TuneOptions, options: RunOptions) -> Tuning:
    """Call the function of the API."""
    from claimeval.api.tune import tune

    return tune(**arguments(args, options=options))


tune = command("tune", TuneOptions, do, door)


def _print(output: Output, tuning: Tuning, args: TuneOptions) -> None:
    output.line()
    output.line(f": {tuning.power.in_words()}", bold=args.labels.name)
    output.line()
    rows = [
        (
            candidate.name + " *" * (candidate.name == (tuning.chosen or tuning.prompt)),
            decimal(candidate.kappa),
            decimal(candidate.standard_error),
            decimal(candidate.agreement),
            str(candidate.unassessed),
        )
        for candidate in tuning.candidates
    ]
    output.table(("prompt, on the choosing half", "kappa", "± error", "equal", "unassessed"), rows)
    output.line("* chosen: the first within one standard error of the best", style="dim", indent=1)
    _print_gain(output, tuning.gain, f"on the other {tuning.power.reported_on} labels")
    if tuning.transfer:
        _print_gain(output, tuning.transfer, f"by {tuning.transfer.judge}, for which nothing was chosen")
    output.line()
    output.line(tuning.conclusion(), style="bold", wrap=True)
    for remark in _remarks(tuning, args):
        output.line(f"- {remark}", wrap=True)
    for sentence in tuning.sentences:
        output.line(f"- {tuning.chosen} adds: {sentence}", wrap=True)
    if tuning.written:
        output.line(f"Prompt: {tuning.written}; use it with --assess-prompt {tuning.written}")
    price = "unknown price" if tuning.cost.dollars is None else f"${dollars(tuning.cost.dollars)}"
    output.line(f"Cost: {tuning.cost.calls:,} questions, {price}")


def _print_gain(output: Output, gain: Gain, of: str) -> None:
    before, after = gain.before, gain.after
    numbers = (
        ("equal to people", before.same.value, after.same.value, gain.agreement, p_value(gain.p)),
        ("kappa", before.kappa_of_labels.value, after.kappa_of_labels.value, gain.kappa, ""),
    )
    rows = [
        (name, decimal(first), decimal(second), signed(change.value), signed_interval(change.interval), p)
        for name, first, second, change, p in numbers
    ]
    rows.append(("unassessed", str(before.unassessed), str(after.unassessed), "", "", ""))
    output.table((of, "before", "after", "gain", "95 % interval", "p"), rows)
    for name, report in {"before": before, "after": after}.items():
        output.confusion(f"people \\ {name}", report.labels, report.confusion)


def _remarks(tuning: Tuning, args: TuneOptions) -> list[str]:
    remarks = []
    if tuning.chosen and tuning.seeming_gain is not None:
        seeming = signed(tuning.seeming_gain)
        remarks.append(f"on the choosing half the gain is {seeming}, which is too optimistic: part of it is luck")
    if tuning.transfer and tuning.chosen:
        verdict = "transfers" if tuning.transfer.beyond_noise else "is not shown"
        remarks.append(f"the gain {verdict} for {tuning.transfer.judge}")
    if tuning.equal_labels:
        same = estimate(tuning.equal_labels.value, tuning.equal_labels.interval)
        remarks.append(
            f"two labels of one claim are equal in {same} of {tuning.equal_labels.n} cases, which no judge can beat"
        )
    else:
        remarks.append("no claim has two labels; label some twice to see how far people agree, which no judge can beat")
    if count := tuning.gain.after.labels_needed:
        remarks.append(f"{count:,} more labels to report on would give the share of equal labels within ±5 points")
    if words := tuning.labels.words():
        remarks.append(f"labels {words}")
    if not tuning.beyond_noise and (fixed := tuning.correction):
        numbers = (
            f"{decimal(fixed.judged.value)} by the judges, {estimate(fixed.corrected.value, fixed.corrected.interval)}"
        )
        remarks.append(
            f"`claimeval correct {args.labels}` uses these labels better: {fixed.metric} is {numbers}, corrected"
        )
    elif not tuning.beyond_noise:
        remarks.append("on a run, `claimeval correct` corrects the score with these labels, without a call")
    if tuning.beyond_noise and not args.out:
        remarks.append("--out FILE.j2 writes the chosen prompt, without a further call")
    if tuning.chosen and args.out and not tuning.written:
        remarks.append(f"{args.out} was not written; add --write-anyway to write it regardless")
    return remarks
