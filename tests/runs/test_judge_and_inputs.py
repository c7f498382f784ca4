"""What other judging and other inputs add to a difference, worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimeval.metrics.rows import METRICS
from claimeval.runs.inputs import Facts, Kind
from claimeval.runs.judge_and_inputs import FIRST, kinds_read, split


def facts(*kinds: Kind) -> Facts:
    return Facts(frozenset(), frozenset(kinds), None, None, (1, 1))


def test_samples_with_the_same_inputs_say_what_the_judging_adds() -> None:
    """Of 20 samples 10 fall by 0.2 under the other judge; of the 10 others, with other documents,
    each falls by 0.6: half of the 0.4 more is the documents' part of the mean, -0.4."""
    differences = {i: (-0.2 if i < 10 else -0.6) + 0.01 * (i % 2) for i in range(20)}
    found = split(
        differences, [facts()] * 10 + [facts("documents", "answer")] * 10, range(20), FIRST
    )
    assert found is not None
    (documents,) = found.inputs
    assert (found.same, documents.kind, len(documents.samples)) == (10, "documents", 10)
    assert found.judging == pytest.approx(-0.195)
    assert documents.value == pytest.approx(-0.2)
    assert found.p < 0.01
    assert found.beyond(0.01) == [documents]


@given(
    st.lists(
        st.tuples(st.floats(-1, 1), st.sampled_from([None, "documents", "answer", "gold"])),
        min_size=8,
        max_size=40,
    )
)
def test_the_parts_add_up_to_the_difference(rows: list[tuple[float, Kind | None]]) -> None:
    differences = {i: value for i, (value, _) in enumerate(rows)}
    of_all = [facts(kind) if kind else facts() for _, kind in rows]
    if found := split(differences, of_all, range(len(rows)), FIRST):
        whole = found.judging + sum(part.value for part in found.inputs)
        assert whole == pytest.approx(sum(differences.values()) / len(rows), abs=1e-9)
        assert all(0 <= part.p <= 1 for part in found.inputs)


def test_too_few_samples_with_the_same_inputs_say_nothing() -> None:
    changed = [facts("answer")] * 20
    assert split(dict.fromkeys(range(20), 0.1), changed, range(20), FIRST) is None
    assert split(dict.fromkeys(range(20), 0.1), [facts()] * 20, range(20), FIRST) is None


def test_what_a_metric_does_not_read_is_the_same_input() -> None:
    """Gold claims are judged on contexts, whatever the answer is."""
    recall = METRICS["context_recall"]
    assert set(kinds_read(recall)) == {"question", "history", "documents", "gold", "order"}
    assert set(kinds_read(METRICS["correctness"])) == {"question", "history", "answer", "gold"}
    assert kinds_read(None) == FIRST


def test_a_few_samples_show_no_difference() -> None:
    differences = {i: 0.0 if i < 12 else 1.0 for i in range(15)}
    found = split(differences, [facts()] * 12 + [facts("documents")] * 3, range(15), FIRST)
    assert found is not None
    assert not found.beyond(0.05)
