"""Whether the judge behind a name changed between two runs: another model was served, or unchanged
claims with unchanged evidence moved one way. No judge is asked.

A judge that is asked twice moves labels up and down alike, so each sample whose labels moved is a
fair coin. It is one coin a sample, not one a claim, because the labels of one reply move together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary import Summary
from claimeval.metrics.flips import ClaimPair, counted_differently
from claimeval.runs.inputs import Inputs
from claimeval.statistics import mcnemar_exact
from claimeval.statistics.formatting import number_of
from claimeval.types.errors import visible

CHANCE = 0.001
"""Probability that a judge which did not change moves so many samples one way, below which it is
said to have changed. It is small because the test is made in every comparison."""
NAMED = 60
"""Characters of the name of a served model."""


class Relabeled(NamedTuple):
    """Samples whose claims are judged otherwise though claims and evidence are the same."""

    up: int = 0
    """Samples of which more claims are supported in run b."""
    down: int = 0
    level: int = 0
    """Samples of which as many claims are supported, but other ones."""

    @property
    def samples(self) -> int:
        """The number of all of them."""
        return self.up + self.down + self.level

    @property
    def p(self) -> float:
        """The probability that a judge which did not change moves as many of them one way."""
        # A sign test is McNemar's with the two directions as its discordant counts.
        return mcnemar_exact(self.up, self.down) if self.up + self.down else 1.0

    @property
    def words(self) -> str:
        """What moved."""
        return (
            f"on the same claims and evidence, {number_of(self.up, 'question')} moved up and"
            f" {self.down:,} down"
        )


class RelabeledTally:
    """Counts samples that are judged otherwise on the same claims and evidence."""

    def __init__(self, *, graded: bool) -> None:
        """`graded`: as in `counted_differently`."""
        self._graded = graded
        self._up = self._down = self._level = 0

    def add(self, inputs: Inputs, pairs: Iterable[ClaimPair]) -> None:
        """Add a sample; `pairs` are its claims that both runs assessed."""
        a, b = inputs.results
        if a.claims or b.claims:
            moves = self._claims(inputs, pairs)
        else:
            moves = _scores(inputs)
        if not moves:
            return
        net = sum(moves)
        self._up += net > 0
        self._down += net < 0
        self._level += net == 0

    def _claims(self, inputs: Inputs, pairs: Iterable[ClaimPair]) -> list[int]:
        """Return 1 for each claim that is only supported in run b, -1 for one only in run a."""
        moves = []
        for one in pairs:
            if not counted_differently(one.a, one.b, graded=self._graded):
                continue
            # A claim on other evidence may rightly have another label.
            if inputs.question or inputs.differs(one.a.evidence.part):
                continue
            before = one.a.support == "supported"
            moves.append((one.b.support == "supported") - before)
        return moves

    def counts(self) -> Relabeled:
        """Return the counts so far."""
        return Relabeled(self._up, self._down, self._level)


def _scores(inputs: Inputs) -> list[int]:
    """Return in which direction the scores of a sample without claims moved; nothing if its inputs
    differ."""
    a, b = inputs.results
    # Runs that are paired by question have other ids for the same sample.
    if a.sample.model_copy(update={"id": b.sample.id}) != b.sample:
        return []
    moves = []
    for name in a.scores.keys() & b.scores.keys():
        x = a.scores[name].value
        y = b.scores[name].value
        if x is not None and y is not None and x != y:
            moves.append(1 if y > x else -1)
    return moves


def served_otherwise(a: tuple[Manifest, Summary], b: tuple[Manifest, Summary]) -> tuple[str, ...]:
    """Return for each judge of both runs whose server named other models what it named, in
    words."""
    before, after = ({one.name: one.served for one in summary.judges} for _, summary in (a, b))
    judges = [judge.name for judge in b[0].judges]
    names = b[0].short_names
    found = []
    for name, served in after.items():
        if name not in before or set(before[name]) == set(served):
            continue
        role = "judge" if name in judges else "extractor"
        found.append(
            f"the {role} changed: {names.get(name, name)} was served as {_models(before[name])} in"
            f" a and as {_models(served)} in b"
        )
    return tuple(found)


def _models(served: Mapping[str, int]) -> str:
    """Return the names of served models, with the number of replies if there are several."""
    if len(served) == 1:
        return visible(next(iter(served)), NAMED)
    models = [f"{visible(name, NAMED)} ({number:,})" for name, number in served.items()]
    return f"{', '.join(models[:-1])} and {models[-1]}"
