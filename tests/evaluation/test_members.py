"""What each judge of a panel said."""

from __future__ import annotations

import pytest

from claimeval.evaluation.raters import members
from claimeval.types.records import SampleResult
from tests.evaluation.test_rating import plan, rated, says
from tests.scripted import FAILED


def rows() -> list[SampleResult]:
    said = [("yes", "yes"), ("no", "yes"), ("no", "no")]
    made = plan("faithfulness", judges=("a", "b"))
    found = [rated(made, (says(one),), (says(other),))[0] for one, other in said]
    return [*found, rated(made, (says("yes"),), (FAILED,))[0]]


def test_words_and_holes_are_counted_by_judge_with_their_agreement() -> None:
    found = members(rows(), plan("faithfulness", judges=("a", "b")).manifest)["rated_faithfulness"]
    assert found.judges["a"].words == {"yes": 2, "no": 2}
    assert (found.judges["b"].words, found.judges["b"].unassessed) == (
        {"yes": 2, "no": 1},
        {"provider_error": 1},
    )
    assert found.alpha
    # three answers with two ratings: 1 of 3 disagrees; of 6 ratings 3 yes and 3 no: 1 - (2/6) /
    # (2*3*3 / (6*5))
    assert found.alpha.value == pytest.approx(1 - (1 / 3) / (18 / 30))
    assert found.alpha.n == 3


def test_a_single_judge_agrees_with_nobody() -> None:
    row, _ = rated(plan("faithfulness"), (says("yes"),))
    assert members([row], plan("faithfulness").manifest)["rated_faithfulness"].alpha is None


def test_repeats_of_a_judge_are_one() -> None:
    made = plan("faithfulness", replicates=3)
    row, _ = rated(made, (says("yes"), says("no"), says("yes")))
    assert members([row], made.manifest)["rated_faithfulness"].judges["j0"].words == {
        "yes": 1,
        "no": 0,
    }
