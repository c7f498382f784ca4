"""`claimeval prompts`: list, show, compare, check and render prompts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from claimeval.cli.command import command, group
from claimeval.cli.shared import OutputOptions, RowOptions, arguments
from claimeval.judging import prompts
from claimeval.judging.prompts import Prompt, find
from claimeval.runs.views import columns, table
from claimeval.types.errors import UsageError, escaped
from claimeval.types.records import Claim, Sample

Name = Annotated[str, "PROMPT"]


@command("prompts list")
class PromptListCommand(OutputOptions):
    """List the shipped prompts with their reply formats, purposes and digests."""

    def do(self) -> int:
        shipped = list[Prompt]()
        for step in prompts.STEPS:
            shipped += (prompts.load(step, name) for name in prompts.shipped(step))
        rows = [
            (one.name, one.reply, one.digest[:8], one.purpose)
            for one in shipped
            if "." not in one.name
        ]
        self.output.draw(
            [
                table(
                    "prompts",
                    columns("prompt", "reply", "digest", "purpose"),
                    rows,
                )
            ]
        )
        addresses = list[str]()
        for step, names in prompts.TRANSLATED.items():
            addresses += (f"{step}/{name}" for name in names)
        translated = ", ".join(addresses)
        languages = ", ".join(prompts.languages())
        self.output.line(
            f"In {languages} there are {translated}, called assess/three_way.de and so on"
        )
        return self.output.result("prompts list", {"prompts": list(map(_named, shipped))})


def _named(prompt: Prompt) -> dict[str, str]:
    return {name: getattr(prompt, name) for name in ("name", "step", "reply", "purpose", "digest")}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOptions(OutputOptions):
    """Options of commands that find prompts by name."""

    step: str | None = None
    """extract, assess, ..., if the name alone is not enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptOptions(StepOptions):
    """Options of commands about a prompt."""

    prompt: Name
    """three_way, assess/three_way, or the path of a .j2 file."""


@command("prompts show")
class ShowCommand(PromptOptions):
    """Print a prompt's file."""

    def do(self) -> int:
        prompt = find(self.prompt, self.step)
        self.output.data(prompt.source)
        return self.output.result("prompts show", {**_named(prompt), "source": prompt.source})


@command("prompts diff")
class DiffCommand(StepOptions):
    """Show how two prompts differ, line by line. Exits with 1 if they do."""

    a: Annotated[str, "A"]
    """three_way, assess/three_way, or the path of a .j2 file."""
    b: Annotated[str, "B"]
    """The other prompt."""

    def do(self) -> int:
        from claimeval.evaluation.rendering import difference

        lines = difference(find(self.a, self.step), find(self.b, self.step))
        for line in lines or ["no difference"]:
            self.output.line(line)
        return self.output.result("prompts diff", {"lines": lines}, exit_code=1 if lines else 0)


@command("prompts check")
class CheckCommand(PromptOptions):
    """Load a prompt as a run would, and check its header, variables and blocks."""

    def do(self) -> int:
        prompt = find(self.prompt, self.step)
        scale = f", scale {prompt.scale.name}" if prompt.scale else ""
        self.output.line(
            f"{prompt.name}: a valid {prompt.step} prompt, reply {prompt.reply}{scale}, digest"
            f" {prompt.digest[:12]}"
        )
        if unused := prompts.STEPS[prompt.step].variables - prompt.reads:
            self.output.line(f"unused variables: {', '.join(sorted(unused))}")
        return self.output.result(
            "prompts check", {**_named(prompt), "scale": prompt.scale and prompt.scale.name}
        )


@command("prompts render")
class RenderCommand(PromptOptions):
    """Print the messages that a judge would get for one sample.

    The claims are those of the run or, for a data file, those of the local splitter.

    Example: claimeval prompts render three_way runs/a
    """

    prompt: Name
    """three_way, assess/three_way, or the path of a .j2 file."""
    data: Annotated[Path, "DATA"]
    """The samples (.jsonl, .json, .csv, .xlsx, .parquet), or a run directory."""
    sample: str | None = None
    """Id of the sample.  [default: the first]"""
    metric: str = "faithfulness"
    """Metric whose claims and evidence are shown, or NAME=CLAIMS_OF:AGAINST."""
    rows: RowOptions = RowOptions()

    def do(self) -> int:
        from claimeval.api.data import read_samples
        from claimeval.evaluation.rendering import messages
        from claimeval.metrics.rows import metric
        from claimeval.runs.directory import RunResults, has_results

        prompt = find(self.prompt, self.step)
        row = metric(self.metric)
        found: Iterator[tuple[Sample, list[Claim] | None]]
        if has_results(self.data):
            found = (
                (one.sample, [c for c in one.claims if c.of == row.claims_of])
                for one in RunResults.of(self.data)
            )
        else:
            found = ((sample, None) for sample in read_samples(self.data, **arguments(self.rows)))
        sample, claims = next(
            (one for one in found if self.sample in (None, one[0].id)), (None, None)
        )
        if sample is None:
            raise UsageError(f"{self.data} has no sample {self.sample!r}")
        rendered = messages(prompt, sample, row, claims)
        for message in rendered:
            where = escaped(f"{prompt.name}, sample {sample.id}, {row.name}")
            self.output.data(f"--- {message.role} ({where})\n{message.content}\n")
        shown = [{"role": message.role, "content": message.content} for message in rendered]
        record = {"prompt": prompt.name, "sample": sample.id, "metric": row.name, "messages": shown}
        return self.output.result("prompts render", record)


group(
    "prompts", "List, show, compare, check and render prompts, to see exactly what a judge reads."
)
