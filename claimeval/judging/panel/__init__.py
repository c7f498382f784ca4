"""Several judges over the same claims: how they are asked, how their verdicts become a label, how far they agree.

Verdicts are stored per judge. A vote is arithmetic over stored verdicts, so it can be redone without a call, and a
judge that gave no label (an outage, a refusal, an abstention) has no part in it: it never counts as a "no".
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial

from pydantic import Field, field_validator

from claimeval.judging.panel.rules import VoteRule, vote_rule
from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.options import OnSameFamily
from claimeval.types.records import Record
from claimeval.types.scales import SCALES, THREE_WAY, Scale

ABSTAIN, CONSERVATIVE = "abstain", "conservative"
TIE_RULES = (ABSTAIN, CONSERVATIVE)
"""What may be said of ties besides the name of a judge who breaks them."""


class Panel(Record):
    """The settings of a panel as a run is carried out: what `PanelOptions`, the panel file or the source left open is
    settled, and here are the defaults. They fit a single judge too."""

    vote: str = "majority"
    """A name in `rules.VOTES`."""
    tie: str = ABSTAIN
    """`abstain`: no label; `conservative`: not supported, or the lowest of the tied grades; else the judge who
    decides."""
    quorum: int | None = Field(default=None, ge=1)
    """Judges that must have given a label; None for more than half of those who may vote."""
    weights: dict[str, float] = Field(default_factory=dict)
    """Per judge, for `weighted`: `statistics.vote_weight` of its accuracy on human labels."""
    replicates: int = Field(default=1, ge=1)
    """How often each judge is asked each question; the verdicts of one judge become its one vote by majority."""
    escalate: int | None = Field(default=None, ge=2)
    """Only the first so many judges are asked about every claim, the others about claims to which these do
    not give the same value. None: all are asked about everything."""
    per_document: bool = False
    """Claims are assessed against each document of a set alone, and those that no single document supports against all
    of them together."""
    shuffle_contexts: int = Field(default=0, ge=0)
    """In how many other orders of the documents the claims are assessed too (in all others, where there are fewer), to
    see what the order does to the labels; the scores are those of the original order."""
    extract_per_judge: bool = False
    """Every judge takes its own claims from the texts and assesses those alone: their scores stand side by side, their
    verdicts do not meet, and the panel's score of a sample is the mean of theirs."""
    on_same_family: OnSameFamily = "warn"
    """What becomes of judges of the family that wrote the answer: `skip` does not ask them about it, `no-vote` asks
    them and keeps their verdicts without counting them."""
    families: dict[str, str] = Field(default_factory=dict)
    """Rows of the user's own for the table of families."""
    scale: Scale = THREE_WAY
    """The words that the judges can give."""

    @field_validator("vote")
    @classmethod
    def _known_rule(cls, vote: str) -> str:
        vote_rule(vote)
        return vote

    @property
    def rule(self) -> VoteRule:
        """The rule of the vote."""
        return vote_rule(self.vote)

    def other_orders(self, documents: int) -> range:
        """Return the numbers of the other orders in which so many documents are shown; no more than they have."""
        return range(1, min(self.shuffle_contexts, factorial(documents) - 1) + 1)

    def asked_about_all(self, judges: Sequence[str]) -> tuple[str, ...]:
        """Return the judges who assess every claim; fewer with escalation, none where each has claims of its own."""
        return () if self.extract_per_judge else tuple(judges[: self.escalate])

    def needed(self, voters: int) -> int:
        """Return the quorum where so many judges may vote."""
        return min(self.quorum, voters) if self.quorum else voters // 2 + 1

    @property
    def provisional(self) -> Panel:
        """These settings with a vote that needs no more than one claim's verdicts; a run that needs more votes again
        when it is complete."""
        return self.model_copy(update={"vote": "majority"}) if self.needs_all_verdicts else self

    @property
    def needs_all_verdicts(self) -> bool:
        """Whether the vote on one claim rests on what the whole run shows: errors, or weights still to be learned."""
        return self.rule.learns == "error_rates" or (self.rule.learns == "weights" and not self.weights)

    def for_question(self, name: str) -> Panel:
        """Return these settings for a question about claims; one that weighs them by the question has its scale."""
        return self if name == "support" else self.model_copy(update={"scale": SCALES[name]})


def check(panel: Panel, judges: Sequence[str], *, with_labels: bool = False) -> None:
    """UsageError where the settings do not fit the judges with these names.

    `with_labels`: human labels are at hand from which weights can be learned.
    """
    if panel.tie not in TIE_RULES and panel.tie not in judges:
        raise unknown_name("tie rule or judge", panel.tie, [*TIE_RULES, *judges])
    if panel.quorum and panel.quorum > len(judges):
        raise UsageError(f"a quorum of {panel.quorum} can never be met by {len(judges)} judges")
    if panel.escalate and panel.escalate >= len(judges):
        raise UsageError(
            f"escalation asks the first {panel.escalate} judges and leaves none of {len(judges)} for disputed claims"
        )
    if panel.escalate and panel.extract_per_judge:
        raise UsageError("escalation needs claims that several judges assess; leave out extract_per_judge or escalate")
    if panel.per_document and panel.shuffle_contexts:
        raise UsageError(
            "the order of documents matters where they are read together: either --per-document or --shuffle-contexts "
            "(--no-per-document judges a run with single documents without them)"
        )
    if unknown := set(panel.weights) - set(judges):
        raise unknown_name("judge with a weight", min(unknown), judges)
    learned = with_labels and not panel.weights
    if panel.rule.learns == "weights" and not learned and (missing := [n for n in judges if n not in panel.weights]):
        raise UsageError(
            f"a weighted vote needs a weight for every judge; {missing[0]!r} has none. Give `weights` in a panel file, "
            "or human labels with --labels to take them from"
        )
