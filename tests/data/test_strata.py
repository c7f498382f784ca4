"""Strata by the values of several fields."""

from __future__ import annotations

import pytest

import claimeval as ce

LOG = [
    {"question": f"What is the height of tower {topic}{model}{i}?", "topic": topic, "model": model}
    for topic in "xy"
    for model in "ab"
    for i in ("red", "green", "blue", "old")
]


@pytest.mark.parametrize("stratify", ["topic,model", ["topic", "model"]])
def test_each_combination_of_values_gets_its_share(stratify: str | list[str]) -> None:
    drawn = ce.draw(LOG, n=8, stratify=stratify, min_per_stratum=2, keep_duplicates=True)
    strata = [row["drawn"]["stratum"] for row in drawn]
    assert sorted(set(strata)) == ["x / a", "x / b", "y / a", "y / b"]
    assert {strata.count(stratum) for stratum in strata} == {2}


def test_a_field_that_no_row_has_is_named() -> None:
    with pytest.raises(ce.DataError, match="--stratify colour: no row has this field"):
        ce.draw(LOG, n=8, stratify=["topic", "colour"])
