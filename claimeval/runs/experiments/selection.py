"""Agreement of arms with human labels, and the choice of an arm that is not judged on what it was chosen by."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterable
from pathlib import Path

from claimeval.data.labels import HumanLabel, read_labels
from claimeval.runs.agreement import measure
from claimeval.runs.directory import load_manifest, read_results
from claimeval.runs.experiments import Arm, Experiment
from claimeval.runs.experiments.running import arm_folder
from claimeval.runs.labels import PANEL, join
from claimeval.types.errors import UsageError
from claimeval.types.estimates import Estimate
from claimeval.types.records import Record, Sample, SampleResult

Keep = Callable[[Sample], bool]


class LabelAgreement(Record):
    """How an arm agrees with human labels; yes is "supported"."""

    claims: int
    """Labelled claims that the arm judged."""
    accuracy: Estimate = Estimate()
    balanced_accuracy: Estimate = Estimate()
    kappa: Estimate = Estimate()


class Selection(Record):
    """The arm that agrees best with people on one half of the questions, and how it does on the other."""

    arm: str
    chosen_on: dict[str, LabelAgreement]
    """Every arm on the half that chose."""
    held_out: LabelAgreement
    """The chosen arm on the other half: the only numbers to report."""
    held_out_baseline: LabelAgreement


def everything(_: Sample) -> bool:
    """Keeps every sample."""
    return True


def half(sample: Sample) -> int:
    """0 or 1 by a hash of the question, so that all answers to one question fall into the same half."""
    question = " ".join(sample.question.casefold().split())
    return hashlib.sha256(question.encode("utf-8", "surrogatepass")).digest()[-1] & 1


def agreement(design: Experiment, folder: Path, arm: Arm, keep: Keep = everything) -> LabelAgreement | None:
    """Return how one arm agrees with the experiment's labels.

    Args:
        design: The experiment.
        folder: Directory of the runs.
        arm: The arm.
        keep: Which samples count.

    Returns:
        The agreement; None if there are no labels.
    """
    if design.labels is None:
        return None
    run = arm_folder(folder, arm)
    manifest = load_manifest(run)
    kept: Iterable[SampleResult] = (result for result in read_results(run) if keep(result.sample))
    ids = {result.sample.id for result in read_results(run) if keep(result.sample)}
    labels: Iterable[HumanLabel] = (label for label in read_labels(design.labels) if label.sample in ids)
    against = manifest.rows[0].against
    joined = join(kept, [judge.name for judge in manifest.judges], manifest.panel, labels, against, manifest.cluster)
    raters = {report.rater: report for report in measure(joined, manifest.panel).raters}
    if not raters:
        return LabelAgreement(claims=0)
    found = raters.get(PANEL) or next(iter(raters.values()))
    return LabelAgreement(
        claims=found.compared,
        accuracy=found.accuracy,
        balanced_accuracy=found.balanced_accuracy,
        kappa=found.kappa,
    )


def select(design: Experiment, folder: Path, failed: Container[str] = ()) -> Selection:
    """Choose an arm that did not fail by balanced accuracy on half 0, and report on half 1.

    Raises:
        UsageError: There are no labels on both halves.
    """
    if design.labels is None:
        raise UsageError("--select needs human labels: give the experiment the key `labels`")
    chosen_on = {arm.name: _on_half(design, folder, arm, 0) for arm in design.arms if arm.name not in failed}
    best = max(chosen_on, key=lambda name: chosen_on[name].balanced_accuracy.value or -1.0)
    held_out = _on_half(design, folder, design.arm(best), 1)
    if chosen_on[best].balanced_accuracy.value is None or not held_out.claims:
        raise UsageError("--select needs labelled claims of both kinds in each half of the questions; give more labels")
    baseline = _on_half(design, folder, design.arm(design.baseline), 1)
    return Selection(arm=best, chosen_on=chosen_on, held_out=held_out, held_out_baseline=baseline)


def _on_half(design: Experiment, folder: Path, arm: Arm, which: int) -> LabelAgreement:
    found = agreement(design, folder, arm, lambda sample: half(sample) == which)
    assert found, "the experiment has labels"
    return found
