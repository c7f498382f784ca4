"""Claims against gold claims, by hand: who is right, who is found, and what the guard sees."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from claimeval.lexical.extraction import assignment, match

GOLD = [
    "Ada was born in London in 1815.",
    "Ada wrote notes on the engine.",
    "She never met Babbage's son.",
]


def test_equal_lists_match_wholly_and_empty_ones_not_at_all() -> None:
    assert match(GOLD, GOLD) == ((True,) * 3, (True,) * 3)
    assert match([], GOLD) == ((), (False,) * 3)
    assert match(GOLD, []) == ((False,) * 3, ())


@pytest.mark.parametrize(
    ("claim", "right"),
    [
        ("Ada was born in London in 1815.", True),
        ("Ada was born in London in 1815 [3].", True),  # a citation is no number
        ("Ada was born in London in 1816.", False),  # another number
        ("Ada was never born in London in 1815.", False),  # denied
        ("Ada was not never born in London in 1815.", True),  # denied twice
        ("Babbage lived in Paris for years.", False),
    ],
)
def test_the_guard_refuses_other_numbers_and_negation(claim: str, *, right: bool) -> None:
    assert match([claim], GOLD[:1]).right == (right,)


def test_pairs_are_one_to_one() -> None:
    whole = "Ada was born in London and wrote notes on the engine."
    assert match([whole], ["Ada was born in London.", GOLD[1]]).found == (
        False,
        True,
    )  # token F1 10/16 and 12/17
    assert match([GOLD[1], GOLD[1]], GOLD).right.count(True) == 1


def test_the_assignment_has_the_greatest_sum_and_not_the_first_pair() -> None:
    claims = ["Ada wrote notes on it.", "Ada wrote notes."]
    gold = ["Ada wrote notes on the engine.", "Ada wrote notes."]
    assert match(claims, gold) == ((True, True), (True, True))


@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (6, 1), (4, 4), (5, 9), (9, 5)])
def test_the_assignment_has_the_sum_of_scipys(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(7)
    for number in range(60):
        weights = rng.random(shape)
        weights = np.where(weights > 0.6, weights, 0.0) if number % 2 else np.round(weights, 1)
        pairs = assignment(weights)
        assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == min(shape)
        expected = weights[linear_sum_assignment(weights, maximize=True)].sum()
        assert sum(weights[pair] for pair in pairs) == pytest.approx(expected, abs=1e-12)
