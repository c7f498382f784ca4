"""Carries the arms of an experiment out, one after the other, over one store: what two arms share is asked once."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from claimeval.data.reading import read_samples
from claimeval.data.survey import Survey, survey
from claimeval.errors import UsageError
from claimeval.evaluation import Outline, carry_out, identity
from claimeval.execution.limits import Limits
from claimeval.execution.progress import Progress
from claimeval.experiments.design import Arm, Design, plan, slug
from claimeval.judges import notes
from claimeval.metrics import METRICS, ClaimMetric, rows
from claimeval.pipeline import Plan
from claimeval.records import Sample
from claimeval.run import RunWriter, manifest

ARMS = "arms"
"""The folder with a run directory for each arm."""


class Prepared(NamedTuple):
    """An experiment that was checked and can be carried out."""

    design: Design
    found: Survey
    metrics: tuple[ClaimMetric, ...]
    plans: tuple[Plan, ...]

    def samples(self) -> Iterator[Sample]:
        """The samples, read anew."""
        return itertools.islice(read_samples(self.design.data, fields=self.design.fields), self.design.limit)


class Carried(NamedTuple):
    """How an experiment ended: the arms that were finished, and the outline of the last one begun."""

    calls: dict[str, int]
    """Requests that were sent for each arm, what earlier arms had asked left out."""
    last: Outline


def prepare(design: Design, choose: Callable[[tuple[str, ...] | None, Survey], tuple[ClaimMetric, ...]]) -> Prepared:
    """Everything checked that can be checked without a call: data, metrics, prompts, judges and their keys."""
    asked = rows(design.metrics) if design.metrics else tuple(METRICS.values())
    samples = itertools.islice(read_samples(design.data, fields=design.fields), design.limit)
    found = survey(samples, asked)
    metrics = choose(design.metrics, found)
    slugs = [slug(arm.name) for arm in design.arms]
    if len(set(slugs)) < len(slugs):
        raise UsageError("two arms have names that differ only in signs; name them by hand")
    return Prepared(design, found, metrics, tuple(plan(arm, metrics) for arm in design.arms))


def arm_folder(folder: Path, arm: Arm) -> Path:
    """The run directory of an arm."""
    return folder / ARMS / slug(arm.name)


async def run(
    prepared: Prepared,
    folder: Path,
    *,
    cache: Path,
    limits: Limits,
    offline: bool,
    show: Callable[[Arm], Callable[[Progress], None]],
) -> Carried:
    """Runs the arms in order and stops with the first that does not reach its end. Caps hold for all arms together."""
    calls: dict[str, int] = {}
    whole = "-".join(identity(p, prepared.samples()) for p in prepared.plans) if limits.capped else ""
    outline: Outline | None = None
    for arm, arm_plan in zip(prepared.design.arms, prepared.plans, strict=True):
        said = notes((*arm_plan.judges, arm_plan.extractor))
        record = manifest(arm_plan, said, str(prepared.design.data))
        writer = RunWriter(arm_folder(folder, arm), record)
        progress = Progress(prepared.found.samples, show(arm))
        outline = await carry_out(
            prepared.samples(),
            arm_plan,
            notes=said,
            cache=cache,
            limits=limits,
            progress=progress,
            offline=offline,
            on_result=writer.add,
            run=hashlib.sha256(whole.encode()).hexdigest(),
        )
        writer.finish(outline.summary)
        calls[arm.name] = progress.calls
        if not outline.summary.complete:
            break
    assert outline, "an experiment has arms"
    return Carried(calls, outline)
