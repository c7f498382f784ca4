"""Votes and preference for one's own family."""

from __future__ import annotations

import numpy as np
import pytest

from claimeval.statistics import effective_votes, self_preference, vote_entropy
from claimeval.types.errors import UsageError


def test_entropy_is_in_bits_and_ignores_abstentions() -> None:
    assert vote_entropy(["yes", "no", None]) == 1.0
    assert vote_entropy(["yes", "yes"]) == 0.0
    assert vote_entropy(["a", "a", "b", "c"]) == 1.5
    assert vote_entropy([None]) is None


def test_self_preference_worked_by_hand() -> None:
    """x leads y by .2 and .4 on its own items (mean .3) and by .1 and -.1 on those of z (mean
    0)."""
    scores = {"x": [0.9, 0.8, 0.6, 0.4], "y": [0.7, 0.4, 0.5, 0.5]}
    result = self_preference(scores, ["x", "x", "z", "z"])
    assert result["x"].value == pytest.approx(0.3)
    assert result["y"].value is None
    assert result["y"].because == "needs scored items of this family and of another"


def test_a_strict_judge_and_a_good_generator_are_no_preference() -> None:
    quality = [0.5, 0.7, 0.6, 0.8, 0.2, 0.3, 0.4, 0.1]
    scores = {"x": [q - 0.1 for q in quality], "y": quality, "z": [q + 0.1 for q in quality]}
    result = self_preference(scores, ["x", "y", "x", "y", "z", "z", "x", "y"])
    assert [estimate.value for estimate in result.values()] == pytest.approx([0, 0, 0])


def test_items_without_another_judge_do_not_count() -> None:
    result = self_preference({"x": [0.9, None, 0.5], "y": [0.5, 0.4, None]}, ["x", "x", "y"])
    assert result["x"].n == 1


def test_lengths_must_agree() -> None:
    with pytest.raises(UsageError, match="same items"):
        self_preference({"x": [1.0]}, ["x", "y"])


def test_judges_that_err_together_are_one_vote() -> None:
    alike = [True, False, False, True, False]
    found = effective_votes([alike, alike, alike])
    assert found is not None
    assert found.votes == pytest.approx(1.0)
    assert (found.correlation, found.items) == (1.0, 5)


def test_judges_that_err_apart_are_as_many_votes() -> None:
    """By hand: both err on 1 of 4 and never together, phi = -1/3, which counts as 0."""
    found = effective_votes([[True, False, False, False], [False, True, False, False]])
    assert found is not None
    assert (found.votes, found.correlation) == (2.0, 0.0)


def test_votes_follow_the_mean_correlation_of_errors() -> None:
    """phi of (2 of 4, 1 of 4, both 1) = (4 * 1 - 2 * 1) / sqrt(2 * 2 * 1 * 3) = 0.5774; numpy's
    corrcoef gives the same, and 2 / (1 + 0.5774) = 1.2679."""
    found = effective_votes([[True, False, False, True], [True, False, False, False]])
    assert found is not None
    assert found.correlation == pytest.approx(np.corrcoef([1, 0, 0, 1], [1, 0, 0, 0])[0, 1])
    assert found.votes == pytest.approx(1.2679, abs=1e-4)


def test_votes_have_an_interval_over_clusters() -> None:
    """Judges that err together on a part of the items are worth less than two votes beyond chance;
    independent errors have the two votes in the interval."""
    first = [i % 4 == 0 for i in range(80)]
    together = effective_votes([first, [i % 8 == 0 for i in range(80)]])
    assert together is not None
    assert together.interval is not None
    assert together.interval[0] < together.votes < together.interval[1] < 2.0
    apart = effective_votes([first, [i % 5 == 0 for i in range(80)]])
    assert apart is not None
    assert apart.interval is not None
    assert apart.interval[0] < apart.votes <= apart.interval[1] == 2.0
    few = effective_votes([first, [i % 8 == 0 for i in range(80)]], clusters=[0] * 80)
    assert few is not None
    assert few.interval is None


def test_nothing_is_said_of_a_judge_alone_or_of_judges_that_never_err() -> None:
    assert effective_votes([[True, False]]) is None
    assert effective_votes([[False, False], [False, False]]) is None
    assert effective_votes([[True, None], [None, False]]) is None
