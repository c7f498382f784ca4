"""Weights of votes, from the accuracy of judges."""

from __future__ import annotations

import math

import pytest

from claimeval.statistics import vote_weight
from claimeval.types.errors import UsageError


def test_weights_of_votes_worked_by_hand() -> None:
    assert vote_weight(8, 10) == pytest.approx(math.log(0.75 / 0.25))
    assert vote_weight(5, 10) == 0
    assert vote_weight(2, 10) == -vote_weight(8, 10)
    assert vote_weight(8, 10, labels=3) == pytest.approx(math.log(2 * 0.75 / 0.25))


def test_more_correct_verdicts_than_verdicts_are_refused() -> None:
    with pytest.raises(UsageError, match="correct <= judged"):
        vote_weight(3, 2)
