"""What `local:lexical` says of a claim, which people read on the page."""

from __future__ import annotations

import pytest

from claimeval.lexical import content_words, support
from claimeval.providers import local

DOCUMENT = (
    "The old bank on the hill was founded in 1912 by Ana Lind. Prices rose last year."
    " The tower is not open on Mondays."
)


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        (
            "The bank was founded in 1921.",
            "0.25: a number is in no document, another number stands in its place (1921, 1912)",
        ),
        ("Prices fell last year.", "0.20: an opposite stands in its place (fell, rose)"),
        (
            "The tower is open on Mondays.",
            "0.30: only the claim or the sentence negates (not)",
        ),
        ("It is.", "0.50: the claim has no words to look for"),
        ("The bank was founded in 1912.", "0.93"),
    ],
)
def test_signs_of_a_conflict_are_said_in_words(claim: str, reason: str) -> None:
    found = support.score_claim(claim, support.prepare([DOCUMENT]))
    assert local._reason(found) == f"lexical support {reason}"


def test_every_sign_has_its_words() -> None:
    capping = content_words.model()["caps"].keys()
    assert local.SIGNS.keys() == {*capping, "role_swap", "nothing_to_find"}
