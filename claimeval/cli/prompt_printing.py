"""What `claimeval prompts` prints."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from claimeval.cli.prompt_view import messages
from claimeval.data.reading import parse_fields, read_samples
from claimeval.judging import prompts
from claimeval.judging.prompts import Prompt
from claimeval.metrics.rows import metric as metric_row
from claimeval.runs.directory import RESULTS, read_results
from claimeval.types.errors import PromptError, UsageError
from claimeval.types.records import Claim, Sample


def find(spec: str, step: str | None) -> Prompt:
    """A prompt of either step; one of one's own is tried under both where the step is not said."""
    if step:
        return prompts.load(step, spec)
    if spec.partition("/")[0] in prompts.VARIABLES and not Path(spec).is_file():
        return prompts.load(spec.partition("/")[0], spec)
    steps = [step for step in prompts.VARIABLES if f"{step}/{spec}" in prompts.shipped(step)]
    if steps:
        return prompts.load(steps[0], spec)
    if not Path(spec).is_file():
        return prompts.load("assess", spec)
    try:
        return prompts.load("assess", spec)
    except PromptError as as_assess:
        try:
            return prompts.load("extract", spec)
        except PromptError as as_extract:
            raise PromptError(f"as assess: {as_assess}; as extract: {as_extract}") from as_extract


def print_list(*, as_json: bool) -> None:
    """All shipped prompts, a row each."""
    found = [prompts.load(step, name) for step in prompts.VARIABLES for name in prompts.shipped(step)]
    if as_json:
        rows = [
            {"name": p.name, "step": p.step, "reply": p.reply, "purpose": p.purpose, "digest": p.digest} for p in found
        ]
        print(json.dumps(rows, indent=1))
        return
    table = Table(box=None, header_style="bold", padding=(0, 1))
    for column in ("prompt", "reply", "digest", "purpose"):
        table.add_column(column, no_wrap=column != "purpose")
    for prompt in found:
        table.add_row(prompt.name, prompt.reply, prompt.digest[:8], escape(prompt.purpose))
    Console(highlight=False).print(table)


def print_rendered(
    data: Path, spec: str, step: str | None, sample_id: str | None, metric: str, fields: tuple[str, ...]
) -> None:
    """The messages for one sample, under a line that says whose."""
    prompt = find(spec, step)
    row = metric_row(metric)
    sample, claims = _sample(data, sample_id, row.claims_of, fields)
    for message in messages(prompt, sample, row, claims):
        print(f"--- {message.role} ({prompt.name}, sample {sample.id}, {row.name})")
        print(message.content)


def _sample(data: Path, sample_id: str | None, part: str, fields: tuple[str, ...]) -> tuple[Sample, list[Claim] | None]:
    if (data / RESULTS).exists():
        for result in read_results(data):
            if sample_id in (None, result.sample.id):
                return result.sample, [claim for claim in result.claims if claim.of == part]
    else:
        for sample in read_samples(data, fields=parse_fields(list(fields))):
            if sample_id in (None, sample.id):
                return sample, None
    raise UsageError(f"{data} has no sample {sample_id!r}")
