"""Claims against gold claims, by hand: who is right, who is found, and what the guard sees."""

from __future__ import annotations

import pytest

from claimeval.lexical.extraction import MATCHINGS, match
from claimeval.types.errors import UsageError

GOLD = ["Ada was born in London in 1815.", "Ada wrote notes on the engine.", "She never met Babbage's son."]


@pytest.mark.parametrize("matching", MATCHINGS)
def test_equal_lists_match_wholly_and_empty_ones_not_at_all(matching: str) -> None:
    assert match(GOLD, GOLD, matching) == ((True,) * 3, (True,) * 3)  # type: ignore[arg-type]
    assert match([], GOLD, matching) == ((), (False,) * 3)  # type: ignore[arg-type]
    assert match(GOLD, [], matching) == ((False,) * 3, ())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("claim", "guarded", "pairs"),
    [
        ("Ada was born in London in 1815.", True, True),
        ("Ada was born in London in 1816.", False, True),  # another number
        ("Ada was never born in London in 1815.", False, True),  # denied
        ("Ada was not never born in London in 1815.", True, True),  # denied twice
        ("Babbage lived in Paris for years.", False, False),
    ],
)
def test_the_guard_refuses_other_numbers_and_negation(claim: str, *, guarded: bool, pairs: bool) -> None:
    assert match([claim], GOLD[:1], "guarded").right == (guarded,)
    assert match([claim], GOLD[:1], "pairs").right == (pairs,)


def test_pairs_are_one_to_one_and_containment_is_not() -> None:
    whole = "Ada was born in London in 1815 and wrote notes on the engine."
    assert match([whole], GOLD[:2], "pairs").found == (True, False)  # token F1 12/18 and 10/18: the better one
    assert match([whole], GOLD[:2], "contain") == ((True,), (True, True))
    assert match([GOLD[1], GOLD[1]], GOLD, "guarded").right.count(True) == 1


def test_the_assignment_has_the_greatest_sum_and_not_the_first_pair() -> None:
    claims, gold = (
        ["Ada wrote notes on it.", "Ada wrote notes."],
        ["Ada wrote notes on the engine.", "Ada wrote notes."],
    )
    assert match(claims, gold, "guarded") == ((True, True), (True, True))


def test_citations_are_no_numbers() -> None:
    assert match(["Ada was born in London in 1815 [3]."], GOLD[:1], "guarded").right == (True,)


def test_an_unknown_matching_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="Did you mean 'guarded'"):
        match(GOLD, GOLD, "garded")  # type: ignore[arg-type]
