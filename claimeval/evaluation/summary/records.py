"""What a run says about its panel: agreement, disputes, repeats, families."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from claimeval.judging.panel.error_rates import ErrorRates
from claimeval.types.estimates import Estimate
from claimeval.types.records import Evidence, Part, Record


class RaterAgreement(Record):
    """Two raters over the claims that both labelled."""

    first: str
    second: str
    claims: int
    raw_agreement: float | None
    """Share of equal labels."""
    kappa: float | None
    """Cohen's kappa; None where both use only one label."""
    disputed_only: bool = False
    """Whether one of them, by escalation, was asked only about claims on which the first judges are not of one mind:
    nothing to quote as reliability."""


class Dispute(Record):
    """A claim on which the votes are split."""

    sample: str
    subject: str
    claim: str
    of: Part
    """Whose claim it is."""
    evidence: Evidence
    votes: dict[str, str]
    """Per judge its label (or grade), or why there is none."""
    entropy: float
    """Of all votes, in bits."""


class ReplicateNoise(Record):
    """What repeats of one judge show of its own chance."""

    claims: int
    """Claims with two labels or more of this judge."""
    inconsistent: int
    """Those of them on which it contradicted itself."""
    variance_share: float | None
    """Of the variance of a single verdict (supported or not), the part that lies between repeats of one claim."""
    score_variance_share: dict[str, float | None]
    """The same for a sample's score, per metric: what averaging over repeats can remove."""


class SameFamily(Record):
    """Someone who is of the family that wrote answers of the run."""

    role: Literal["judge", "extractor", "reference_author"]
    name: str
    family: str
    samples: int
    """Samples whose answer that family wrote."""


class SelfPreference(Estimate):
    """How much more a family of judges favours answers of its own family than other judges do.

    The difference in differences of `statistics.self_preference`, with its 95 % interval over questions.
    """

    metric: str
    family: str


class PanelSummary(Record):
    """How the judges of a run stand to each other."""

    judges: tuple[str, ...]
    claims: int
    """Claims that were put to the panel, once for each evidence they were assessed against."""
    measured_on: tuple[str, ...]
    """The judges who were asked about all claims; `unanimous`, `split`, `alpha` and `ac1` are theirs. With escalation
    the first ones; none where every judge takes its own claims, and then nothing is said of agreement."""
    unanimous: int
    """Claims with two labels or more (or grades), all equal."""
    split: int
    """Claims with two labels or more that differ, also where all of them count the same in a score."""
    ties: int
    """Claims without a label because the judges are divided."""
    no_quorum: int
    """Claims without a label because too few judges gave one."""
    alpha: float | None
    """Krippendorff's alpha (nominal over labels; ordinal over grades), missing labels allowed."""
    ac1: float | None
    """Gwet's AC1."""
    judge_pairs: tuple[RaterAgreement, ...]
    """Every pair of judges, on the claims that both labelled."""
    judge_vs_panel: tuple[RaterAgreement, ...]
    """Every judge (first) beside the panel's own label (second)."""
    noise: dict[str, ReplicateNoise]
    """Per judge, where questions were repeated."""
    disputes: tuple[Dispute, ...]
    """The claims that divide the judges most, at most 20."""
    self_preference: tuple[SelfPreference, ...] = ()
    """Where answers of two families or more and judges of two families or more are known."""
    error_rates: ErrorRates | None = None
    """What the judges' votes say of their errors, where the vote rests on it."""
    stopped_judges: dict[str, int] = Field(default_factory=dict)
    """Judges that an error stopped (bad key, no quota, unknown model), with the number of claims they therefore say
    nothing of: the panel is incomplete."""
