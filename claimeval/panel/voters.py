"""Who votes on what: the judges of a run with its rules and what is known of their families."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from claimeval.calls import Judge
from claimeval.families import Families
from claimeval.panel.learning import ErrorRates
from claimeval.panel.settings import Panel
from claimeval.panel.voting import vote
from claimeval.records import ASKED, Assessment, Evidence, Part, Sample, Verdict


class Voters(NamedTuple):
    """A line-up and its rules."""

    judges: Sequence[Judge]
    panel: Panel
    families: Families

    def own_family(self, sample: Sample, of: Part, against: Part) -> frozenset[str]:
        """The judges of the family that wrote the sample's answer, where that answer is judged or judged by."""
        if not sample.generator or "answer" not in (of, against):
            return frozenset()
        return self.families.own(((judge.name, judge.model) for judge in self.judges), sample.generator)

    def vote(
        self,
        sample: Sample,
        of: Part,
        evidence: Evidence,
        claim_id: str,
        verdicts: Sequence[Verdict],
        rates: ErrorRates | None = None,
    ) -> Assessment:
        """What the verdicts on one claim come to. Before the whole run is known, a vote that rests on it is by
        majority."""
        panel = self.panel if rates else self.panel.while_running
        if evidence.part == ASKED:
            panel, rates = panel.about_question, None
        own = self.own_family(sample, of, evidence.part)
        return vote(claim_id, evidence, verdicts, panel, own_family=own, rates=rates)
