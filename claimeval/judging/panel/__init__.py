"""Settings of a panel: several judges that assess the same claims, and how their verdicts become
one label.

Verdicts are stored per judge. A vote is arithmetic over stored verdicts, so it can be repeated
without calls. A judge without a label (after an outage, a refusal or an abstention) does not vote;
it never counts as a "no".
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import Literal

from pydantic import Field, field_validator

from claimeval.judging.panel.rules import VoteRule, vote_rule
from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.options import OnSameFamily
from claimeval.types.records import Record
from claimeval.types.scales import SCALES, THREE_WAY, Scale

ABSTAIN = "abstain"
CONSERVATIVE = "conservative"
TIE_RULES = (ABSTAIN, CONSERVATIVE)
"""Rules for ties; the name of a judge, who then decides, is also allowed."""


class Panel(Record):
    """The settings of a panel in a run, complete with defaults. They also apply to a single
    judge."""

    vote: str = "majority"
    """A name in `rules.VOTES`."""
    tie: str = ABSTAIN
    """`abstain`: no label; `conservative`: not supported, or the lowest of the tied grades; else
    the name of the judge who decides."""
    quorum: int | None = Field(default=None, ge=1)
    """Minimum number of judges with a label; None for more than half of those who may vote."""
    weights: dict[str, float] = Field(default_factory=dict)
    """Weight of each judge for `weighted`. `statistics.vote_weight` computes one from its accuracy
    on human labels."""
    replicates: int = Field(default=1, ge=1)
    """How often each judge is asked each question. A judge has one vote, the majority of its
    replicates."""
    per_document: bool | Literal["cited"] = False
    """Assess claims against each document alone, and claims that no single document supports
    against all together. `cited`: assess claims against all together, and against each context
    alone that the answer cites."""
    shuffle_contexts: int = Field(default=0, ge=0)
    """Number of other document orders in which claims are also assessed (all others if there are
    fewer), to measure the effect of the order. Scores use the original order."""
    on_same_family: OnSameFamily = "warn"
    """Treatment of judges of the family that wrote the answer: `skip` does not ask them about it,
    `no-vote` keeps their verdicts without counting them."""
    families: dict[str, str] = Field(default_factory=dict)
    """Custom rows of the table of families."""
    scale: Scale = THREE_WAY
    """The labels that judges can give."""

    @field_validator("vote")
    @classmethod
    def _known_rule(cls, vote: str) -> str:
        vote_rule(vote)
        return vote

    @property
    def rule(self) -> VoteRule:
        """The vote rule."""
        return vote_rule(self.vote)

    def other_orders(self, documents: int) -> range:
        """Return the numbers of the other orders in which this many documents are shown."""
        return range(1, min(self.shuffle_contexts, factorial(documents) - 1) + 1)

    def needed(self, voters: int) -> int:
        """Return the quorum for this number of voters."""
        return min(self.quorum, voters) if self.quorum else voters // 2 + 1

    def for_question(self, name: str) -> Panel:
        """Return these settings with the scale of a question about claims."""
        return self if name == "support" else self.model_copy(update={"scale": SCALES[name]})


def check(panel: Panel, judges: Sequence[str]) -> None:
    """Raise UsageError if the settings do not fit the judges with these names."""
    if panel.tie not in TIE_RULES and panel.tie not in judges:
        raise unknown_name("tie rule or judge", panel.tie, [*TIE_RULES, *judges])
    if panel.quorum and panel.quorum > len(judges):
        raise UsageError(f"a quorum of {panel.quorum} can never be met by {len(judges)} judges")
    if panel.per_document and panel.shuffle_contexts:
        raise UsageError(
            "the order of documents matters only if they are read together; use --per-document or"
            " shuffle_contexts, not both (add --no-per-document to rejudge a run without its single"
            " documents)"
        )
    _check_weights(panel, judges)


def _check_weights(panel: Panel, judges: Sequence[str]) -> None:
    """Raise UsageError for weights of other judges, below 0, or missing."""
    if unknown := set(panel.weights) - set(judges):
        raise unknown_name("judge with a weight", min(unknown), judges)
    for judge, weight in panel.weights.items():
        if weight < 0:
            raise UsageError(
                f"the weight of {judge!r} is {weight:g}; give 0 or more, and leave a judge that is"
                " worse than chance out of the panel"
            )
    missing = [judge for judge in judges if judge not in panel.weights]
    if panel.rule.needs_weights and missing:
        raise UsageError(
            f"a weighted vote needs a weight for every judge; {missing[0]!r} has none. Give"
            " `weights` in a panel file"
        )
