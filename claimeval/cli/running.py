"""Running a job with a progress line, printing its run with what it cost, and checking the
gates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from shlex import quote
from types import MappingProxyType
from typing import Any, NamedTuple

import click

from claimeval.api.jobs import ShardRun, before_run
from claimeval.api.run import Run
from claimeval.cli.command import SAID
from claimeval.cli.printer import UNLIMITED, Output
from claimeval.cli.shared import GateOptions, Shown
from claimeval.cli.terminal import ProgressLine, encodes, end_on_next_signal, say, write_data
from claimeval.evaluation.job import sample_of
from claimeval.evaluation.summary import Summary
from claimeval.metrics.derived import DOWN
from claimeval.runs.directory import beside, results_file
from claimeval.runs.ending import Ending
from claimeval.runs.front import Front, FrontScore, front
from claimeval.runs.gates import check as check_gates
from claimeval.runs.jobs import Prepared
from claimeval.runs.notes import decision
from claimeval.runs.views import Block
from claimeval.runs.views import run as views
from claimeval.statistics.formatting import dollars, number_of
from claimeval.types.errors import Interrupted, StoppedEarly, UsageError, escaped, visible
from claimeval.types.gates import Gates
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress

MANY = 20_000
"""Number of samples above which claims to read are not printed."""
LAST_WORDS = 200
"""Characters of a server's message that are printed with `--quiet`."""
LINES = 50
"""Lines of the first screen where there is no terminal. With fewer claims to read, it holds more
metrics."""
CELLS = 10
"""Characters of a bar."""


class Finished(NamedTuple):
    """A run that is complete or stopped early, and the command that made it."""

    command: str
    output: Output
    run: Run
    progress: Progress | None
    """The calls of the command; None if it asks nobody."""
    prepared: Prepared | None
    ending: Ending
    """How it ended, failed gates included."""
    said: int = 0
    """Lines of messages that the terminal shows above it."""

    @property
    def stopped(self) -> str | None:
        """Why it stopped early; None if it is complete."""
        return self.ending.stopped

    @property
    def of_shard(self) -> bool:
        """Whether it is one shard of a run."""
        return isinstance(self.run, ShardRun)

    @property
    def calls(self) -> str:
        """The calls of the command, in a line."""
        sent, cached = (self.progress.calls, self.progress.cached) if self.progress else (0, 0)
        claims, verdicts = self.reused
        words = f"claims of {claims:,} texts, {verdicts:,} lists of verdicts"
        reused = (
            f", {claims + verdicts:,} reused from the run ({words})" if claims or verdicts else ""
        )
        return f"Calls: {sent:,} sent, {cached:,} answered from the reply cache{reused}"

    @property
    def reused(self) -> tuple[int, int]:
        """Extractions and assessments of the run that is judged again which were not repeated."""
        cost = self.run.record.cost
        claims = sum(step.cost.reused for step in cost.by if step.step == "extract") if cost else 0
        return claims, cost.total.reused - claims if cost else 0

    def show(
        self,
        more: Mapping[str, object] = MappingProxyType({}),
        *,
        tables: bool = True,
        shown: Shown | None = None,
        blocks: Iterable[Block] = (),
        next_lines: Sequence[str] = (),
    ) -> int:
        """Print the run and how it ended, and return the exit code.

        Args:
            more: Fields of the JSON object in addition to the record of the run.
            tables: Whether to print the tables of the run.
            shown: What is printed of its first screen; None for commands that print all tables.
            blocks: What is printed below these tables.
            next_lines: What the command made, and what to do with it.
        """
        folder = self.run.part.folder if isinstance(self.run, ShardRun) else self.run.path
        made = self.record(tables=tables, shown=shown, blocks=blocks, next_lines=next_lines)
        record = {**made, **more}
        return self.output.result(
            self.command, record, path=folder, exit_code=self.ending.code, stopped=self.stopped
        )

    def record(
        self,
        *,
        tables: bool = True,
        shown: Shown | None = None,
        blocks: Iterable[Block] = (),
        next_lines: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Print the run and how it ended, and return the fields of the JSON object."""
        run = self.run
        screen = dict[str, object]()
        if isinstance(run, ShardRun):
            screen = self._shard(run)
        elif run.path and (run.record.samples or not self.stopped):
            if tables:
                screen = self._screen(run.path, shown, blocks, next_lines)
            else:
                self.output.lines(*next_lines)
                self._scores_and_report(run.path)
        for line in self.ending.lines:
            say(line)
        if self.output.scores_alone and self.ending.failed:
            self._say_losses()
        if self.of_shard:
            return screen
        report = run.path and run.path / "report.html"
        written = str(report) if report and report.exists() else None
        asked = {}
        if self.progress and run.manifest.asked:
            asked = {"calls_of_this_command": self.progress.record()}
        told = {"notes": run.notes, "failed_gates": self.ending.failed}
        return {"report": written, **run.record.model_dump(), **told, **screen, **asked}

    def _scores_and_report(self, folder: Path) -> None:
        """Print where the report is, and with `--quiet` the scores: the command has tables of its
        own."""
        if self.output.scores_alone:
            _print_scores(self.output, front_of(self.run, 0))
        self.output.line(report_line(folder))

    def _say_losses(self) -> None:
        """Print why judges have not answered, which nothing else says with `--quiet`."""
        for reason, example in self.run.record.lost.items():
            excerpt = visible(example.excerpt, LAST_WORDS)
            say(f"{reason}: {example.judge} on {example.sample}: {excerpt or 'nothing'}")

    def _shard(self, run: ShardRun) -> dict[str, object]:
        """Print the result of a shard and the next step of the run."""
        part = run.part
        output = self.output
        output.draw(views.cautions(run.manifest, run.record))
        if run.complete:
            count = part.shard.count
            ended = part.siblings
            output.line(f"Shard {part.shard}: {number_of(len(run), 'sample')} in {part.lines}")
            if run.manifest.judges:
                output.line(self.calls)
            next_step = f"`claimeval merge {part.folder}` joins them" + (
                "" if ended == count else " when all are"
            )
            output.line(f"{ended} of {count} shards are finished; {next_step}")
        return {"shard": str(part.shard), **run.record.model_dump(), "notes": run.notes}

    def _screen(
        self,
        folder: Path,
        shown: Shown | None,
        blocks: Iterable[Block],
        next_lines: Sequence[str],
    ) -> dict[str, object]:
        """Print the first screen, and with `--details` or without one all tables; with `--quiet` a
        line of scores."""
        run = self.run
        output = self.output
        details = shown is None or shown.details
        asked = run.manifest.asked
        of = front_of(run, max(views.READ * details, shown.top if shown else 0))
        price = paid_and_cost(run.record, self.progress) if asked else ""
        calls = self.calls if self.progress and asked else ""
        look = f"All numbers: --details. Look around: claimeval view {quote(str(folder.parent))}"
        report = report_line(folder)
        record = dict[str, object]()
        last = [*filter(None, (report, calls, price) if details else (price, report, look))]
        last = [*next_lines, *last]
        if output.scores_alone:
            _print_scores(output, of)
        if shown:
            first = of.model_copy(
                update={"read": of.read[: shown.top], "answers": of.answers[: shown.top]}
            )
            record["front"] = first.model_dump(mode="json")
            print_front(output, first, shown, closing=len(last) + self.said)
        if details:
            print_run(output, run, of, front=shown is None, blocks=blocks)
        else:
            units = run.record.units
            output.draw(views.slices(field, means, units) for field, means in run.record.by.items())
            output.line()
        if run.record.decided and not details:
            output.lines(*output.wrap(decision(run.record), output.size[1]), "")
        output.lines(*last)
        return record


def watch(
    command: str,
    door: Callable[[RunOptions], Run],
    options: RunOptions,
    gates: GateOptions,
    output: Output,
) -> Finished:
    """Call an API function with a progress line and check the gates; a run that stopped early is
    returned too.

    Args:
        command: The command, for what is printed of a run that has stopped.
        door: The call, with the options of the run.
        options: The options; their progress is replaced.
        gates: The gates and the field of `--by`.
        output: Where the progress is shown.
    """
    limits = gates.limits
    if options.shard and gates.given:
        raise UsageError("gates and --by are about the whole run; give them to `claimeval merge`")
    progress = Progress()
    jobs = list[Prepared]()

    def show(now: Progress) -> None:
        nonlocal progress
        progress = now
        line.show(now)

    def inspect(prepared: Prepared) -> None:
        # A misspelt gate or field is refused here, before anything is paid.
        check_gates(limits, prepared.manifest.names)
        if gates.by:
            from claimeval.runs.slices import check_field

            check_field(gates.by, map(sample_of, prepared.items))
        jobs.append(prepared)

    said = click.get_current_context().meta[SAID]
    above = len(said)
    with before_run(inspect), ProgressLine(quiet=output.quiet) as line:
        try:
            run = door(replace(options, progress=show, stop_when_decided=gates.stop_when_decided))
        except (StoppedEarly, Interrupted) as early:
            # The second Ctrl-C of an impatient user ends the process, not the summary of the first.
            if isinstance(early, Interrupted):
                end_on_next_signal()
            if early.run is None:
                raise
            run = early.run
    if gates.by and run.path and len(run):
        run = run.with_slices(gates.by)
    failed = _failed_gates(run, limits)
    prepared = jobs[0] if jobs else None
    return Finished(
        command,
        output,
        run,
        prepared and progress,
        prepared,
        run.ending.gated(failed),
        len(said) - above,
    )


def _failed_gates(run: Run, limits: Gates) -> tuple[str, ...]:
    """Return a line for each gate that failed. A shard has a part of the samples, and a run that
    stopped has not all."""
    if isinstance(run, ShardRun) or run.ending.stopped:
        return ()
    outcome = run.record.gates or run.gated(limits)
    return tuple([f"gate failed: {gate.says}" for gate in outcome if gate.failed])


def print_front(output: Output, front: Front, shown: Shown, *, closing: int) -> None:
    """Print the first screen; more than the default number of claims may make it longer.

    Args:
        output: Where it is printed.
        front: The front of the run.
        shown: The number of claims that was asked for, and whether all notes are.
        closing: The number of other lines: messages above, what was paid, and where to go on.
    """
    rows, width = output.size
    # A pipe or a file has no height: `claimeval score > out.txt` has the claims to read too.
    lines = rows or LINES
    more = [f" {text}" for text in (front.missing, front.few) if text]
    # Notes are never cut, so that the point of a caution, at its end, is not lost.
    above = ["", front.head, *_notes(output, front), ""]
    above += [*_scores(front, width), *more]
    above = list(chain.from_iterable(_folded(output, text, width) for text in above))
    if front.sentence:
        above += ["", *output.wrap(front.sentence, width)]
    read = _read_first(front)
    if shown.top <= Shown().top:
        free = lines - len(above) - closing - 3
        count = max(0, free // 2)
        # With room for two lines a claim and a reason each, no text is cut.
        tall = 4 if free >= 4 * len(read) else 1
        read = read[:count]
    else:
        tall = 1
    if read:
        above += ["", "First to read"]
    mark = "✗" if encodes("✗") else "x"
    for said, why in read:
        above += _entry(output, f" {mark} ", visible(said), tall // 2 or 1)
        above += _entry(output, "   ", visible(why), tall // 2 or 1)
    arrow = DOWN if encodes(DOWN) else "v"
    for line in above:
        output.line(fitted(line.replace(DOWN, arrow), width))


def _folded(output: Output, text: str, width: int) -> list[str]:
    """Return a line folded at the width, with its indent; an empty one as it is."""
    indent = len(text) - len(text.lstrip())
    if not text or len(text) <= width or indent > 1:
        return [text]
    return [" " * indent + line for line in output.wrap(text.lstrip(), width - indent)]


def _entry(output: Output, start: str, text: str, most: int) -> list[str]:
    """Return a text in at most so many lines; the last one is cut where it is printed."""
    width = output.size[1] - len(start)
    lines = output.wrap(text, width)
    if len(lines) > most:
        lines = [*lines[: most - 1], " ".join(lines[most - 1 :])]
    rest = [" " * len(start) + line for line in lines[1:]]
    return [start + lines[0], *rest] if lines else [start]


def _read_first(front: Front) -> list[tuple[str, str]]:
    """Return what to read first: a claim or an answer, and why."""
    read = [(f"{claim.sample_id}: {claim.claim}", claim.why) for claim in front.read]
    for answer in front.answers:
        (first, word), *others = answer.ratings.items()
        also = f" (also {', '.join(name for name, _ in others)})" if others else ""
        because = f": {answer.explanation}" if answer.explanation else ""
        read.append((f"{answer.sample_id}: {answer.answer}", f"{first} {word}{also}{because}"))
    return read


def _notes(output: Output, front: Front) -> list[str]:
    """Return the notes, folded; the ending says why a run stopped."""
    notes = [note for note in front.notes if note.kind not in ("incomplete", "decided")]
    lines = list[str]()
    for note in notes:
        kind = "Note" if note.kind == "note" else "Caution"
        lines += output.wrap(f"{kind}: {visible(note.text)}", output.size[1])
    return lines


def _print_scores(output: Output, front: Front) -> None:
    """Print the scores in one line, which is wrapped only on a terminal."""
    scores = (
        f"{one.name} {one.value}{f' ({_ends(one)})' if one.ends else ''}" for one in front.scores
    )
    rows, width = output.size
    lines = output.wrap(", ".join(scores), width if rows else UNLIMITED)
    write_data("\n".join([*lines, ""]))


COUNTS = ("agree", "contradict", "neither")
"""Heads of the columns of claims."""


def _scores(front: Front, width: int) -> list[str]:
    """Return a line for each metric: its name, value, bar, ends and, if they fit, counts; above
    them, the names of the columns."""
    lines = list(_table_of_scores(front, counts=True))
    if max(map(len, lines), default=0) > width:
        lines = list(_table_of_scores(front, counts=False))
    return lines


def _table_of_scores(front: Front, *, counts: bool) -> Iterator[str]:
    scores = front.scores
    if not scores:
        return
    names = max(len(score.name) for score in scores)
    values = max(len(score.value) for score in scores)
    ends = max(len(_ends(score)) for score in scores)
    has_labels = any(score.labels for score in scores)
    head = "95% interval" if ends else ""
    ends = max(ends, len(head))
    of_labels = "  ".join(COUNTS) if has_labels and counts else ""
    if head or of_labels:
        yield f" {'':{names}}  {'':{values}} {'':{CELLS}}  {head:{ends}}  {of_labels}".rstrip()
    for score in scores:
        value = f"{score.value:>{values}} {bar(score)}"
        counted = _counts(score) if score.labels else score.counts
        counted = counted if counts else ""
        yield f" {score.name:{names}}  {value}  {_ends(score):{ends}}  {counted}".rstrip()
    yield from _legend(scores, bars=has_labels and not counts)


def _legend(scores: Sequence[FrontScore], *, bars: bool) -> Iterator[str]:
    """Yield what the cells of bars mean, and the mark on bounds, where there are some."""
    if bars:
        full, half, empty = _cells()
        yield f" {full} agree, {half} contradict, {empty} neither"
    if any(score.bounds for score in scores):
        yield " * lowest and highest possible: over a tenth of the claims are undecided"


def _counts(score: FrontScore) -> str:
    """Return the claims by label, below the names of the columns."""
    numbers = zip(score.labels or (), COUNTS, strict=True)
    return "  ".join(f"{number:>{len(name)},}" for number, name in numbers)


def _ends(score: FrontScore) -> str:
    """Return the ends that are reported of a score, with a mark on bounds."""
    return f"{score.ends}{'*' * score.bounds}"


def bar(score: FrontScore) -> str:
    """Return a bar of `CELLS` characters, in ASCII where standard output has no others: the mean,
    then the share of the rest that is contradicted, then what was not found; blank if the mean is
    no share."""
    if score.share is None:
        return " " * CELLS
    filled = round(max(0.0, min(1.0, score.share)) * CELLS)
    against = 0
    if score.labels:
        _, contradicted, absent = score.labels
        if contradicted + absent:
            against = round((CELLS - filled) * contradicted / (contradicted + absent))
        # What the evidence contradicts is seen even if it is little.
        against = max(against, int(contradicted > 0 and filled < CELLS))
    full, half, empty = _cells()
    return full * filled + half * against + empty * (CELLS - filled - against)


def _cells() -> tuple[str, str, str]:
    """Return the characters of a bar: agree, contradict, neither."""
    return ("█", "▓", "·") if encodes("█▓·") else ("#", "x", ".")


def fitted(text: str, width: int) -> str:
    """Return the text as one line of at most `width` columns."""
    from rich.cells import cell_len, set_cell_size

    line = escaped(text)
    return line if cell_len(line) <= width else f"{set_cell_size(line, width - 1).rstrip()}…"


def report_line(folder: Path) -> str:
    """Return a line with the path of the report or, as for a large run, with the command that
    writes it."""
    report = folder / "report.html"
    return (
        f"Report: {report}"
        if report.exists()
        else f"`claimeval report {quote(str(folder))}` writes the report"
    )


def front_of(run: Run, top: int = views.READ) -> Front:
    """Return the front of a run; of a large one, without claims to read first."""
    results = run.results if run.record.samples <= MANY else ()
    return front(run.manifest, run.record, results, top, run.path)


def print_run(
    output: Output,
    run: Run,
    first: Front,
    *,
    front: bool = True,
    blocks: Iterable[Block] = (),
) -> None:
    """Print all tables of a run and the run directory.

    Args:
        output: Where it is printed.
        run: The run, which is on disk.
        first: What a reader sees first.
        front: Whether `first` is printed too; False if it is printed already.
        blocks: What is printed after the tables.
    """
    assert run.path, "the run is on disk"
    sides = beside(run.path, run.record.metrics)
    few = run.record.samples <= MANY
    diagnosis = run.diagnosis() if few else None
    ranks = run.by_rank if few else None
    output.draw(views.front(run.manifest, run.record, first) if front else ())
    output.draw(
        views.view(
            run.manifest,
            run.record,
            first,
            sides=sides,
            diagnosis=diagnosis,
            by_rank=ranks,
        )
    )
    output.draw(blocks)
    output.line()
    output.line(f"Run: {run.path} ({results_file(run.path).name}, summary.json, manifest.json)")


def paid_and_cost(summary: Summary, progress: Progress | None) -> str:
    """Return what a command paid for its calls and what all replies of the run cost; empty if
    they are free."""
    cost = summary.cost
    if cost is None or views.is_free(cost):
        return ""
    paid = ""
    if progress:
        calls = number_of(progress.calls, "call")
        tokens = f"{progress.tokens:,} tokens"
        at_most = "at most " * bool(
            progress.paid and (progress.possibly_paid or cost.total.dollars is None)
        )
        paid = f"Paid now: {at_most}${dollars(progress.paid)} ({calls}, {tokens}). "
        if progress.paid is None:
            paid = f"Sent now: {calls} ({tokens}); price unknown (--prices). "
    return f"{paid}{views.cost_of_replies(cost)}{views.cheaper(cost)}".strip()
