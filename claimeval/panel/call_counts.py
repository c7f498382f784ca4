"""Counts the questions that results rest on, and those that escalation spared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from claimeval.panel.settings import Panel
from claimeval.panel.summary import CallCounts
from claimeval.records import Evidence, Part, SampleResult
from claimeval.steps.assess import CLAIMS_PER_CALL


class CallTally:
    """Adds up the calls of a run."""

    def __init__(self, judges: Sequence[str], panel: Panel) -> None:
        self._later = tuple(judges[panel.escalate :]) if panel.escalate else ()
        self._repeats = panel.replicates
        self._asked = self._reused = self._spared = 0

    def add(self, result: SampleResult) -> None:
        """Counts the calls of one sample in."""
        reused = sum(call.reused for call in result.calls)
        self._reused += reused
        self._asked += len(result.calls) - reused
        if self._later:
            self._spared += self._not_needed(result)

    def _not_needed(self, result: SampleResult) -> int:
        """Calls that the later judges would have had, each asked about all claims, less those they had."""
        part_of = {claim.id: claim.of for claim in result.claims}
        claims: Counter[tuple[Part, Evidence]] = Counter(
            (part_of[a.claim_id], a.evidence) for a in result.assessments if not a.unasked
        )
        in_all = sum(-(-n // CLAIMS_PER_CALL) for n in claims.values()) * len(self._later) * self._repeats
        had = sum(c.step == "assess" and c.judge in self._later and not c.attempt for c in result.calls)
        return max(0, in_all - had)

    def summary(self) -> CallCounts:
        """The counts so far."""
        return CallCounts(asked=self._asked, reused=self._reused, spared=self._spared)
