"""Dawid-Skene on the data it was published with."""

from __future__ import annotations

import math

import pytest

from claimeval.statistics import DawidSkene, Vote, dawid_skene, vote_weight
from claimeval.types.errors import UsageError

# Dawid & Skene 1979, table 1: 45 patients; the first anaesthetist assessed every patient three times.
OBSERVERS = (1, 1, 1, 2, 3, 4, 5)
ASSESSMENTS = (
    "131222132242121111222222112111131224223111212",
    "131222232342122111222222113111131223233112322",
    "132222232242121111222221112112131223123111212",
    "142333232243131211212232112111131234233112212",
    "131123142243121111232222112111121223224111212",
    "132222132244111111222222112112131234333111212",
    "142122133343121111122122112111131223232111212",
)
VOTES = [
    Vote(patient, observer, int(label))
    for observer, row in zip(OBSERVERS, ASSESSMENTS, strict=True)
    for patient, label in enumerate(row)
]


def consensus(result: DawidSkene) -> tuple[object, ...]:
    """The most probable label of each item."""
    return tuple(result.labels[row.index(max(row))] for row in result.posteriors)


def test_the_anaesthetists_of_1979() -> None:
    result = dawid_skene(VOTES)
    assert result.converged
    assert [round(share, 2) for share in result.prevalence] == [0.40, 0.42, 0.11, 0.07]
    assert [[round(rate, 2) for rate in row] for row in result.confusion[0]] == [
        [0.89, 0.11, 0.00, 0.00],
        [0.07, 0.88, 0.05, 0.00],
        [0.00, 0.34, 0.66, 0.00],
        [0.00, 0.00, 0.55, 0.44],
    ]


def test_the_published_row_needs_no_smoothing() -> None:
    assert dawid_skene(VOTES, smoothing=1e-9).confusion[0][3] == pytest.approx((0, 0, 0.56, 0.44), abs=0.005)


def test_posteriors_add_up_and_unanimous_items_keep_their_label() -> None:
    result = dawid_skene(VOTES)
    assert all(math.isclose(sum(row), 1) for row in result.posteriors)
    assert consensus(result)[0] == 1
    assert consensus(result)[10] == 4


def test_a_good_judge_outvotes_two_that_guess() -> None:
    """Judge g is always right, r and s say yes to everything: where g says no, the truth is no."""
    votes = [(i, judge, (i % 2 == 0) or judge != "g") for i in range(40) for judge in "grs"]
    votes += [(100 + i, judge, i % 2 == 0) for i in range(40) for judge in "gt"]
    result = dawid_skene(votes)
    assert consensus(result)[:40] == tuple(i % 2 == 0 for i in range(40))


def test_an_even_split_stays_even() -> None:
    result = dawid_skene([("item", "a", "yes"), ("item", "b", "no")])
    assert result.posteriors[0] == pytest.approx((0.5, 0.5))


def test_abstentions_are_no_votes() -> None:
    votes = [(i, judge, "yes" if i < 5 else "no") for i in range(10) for judge in "ab"]
    with_gaps = [(i, judge, None if (i, judge) in {(0, "a"), (9, "b")} else label) for i, judge, label in votes]
    assert consensus(dawid_skene(with_gaps)) == ("yes",) * 5 + ("no",) * 5
    assert dawid_skene([*votes, (99, "a", None)]).items == tuple(range(10))


def test_counts_say_how_many_items_got_the_same_votes() -> None:
    patterns = {"a": "yyn", "b": "nny", "c": "yyy", "d": "nnn"}
    counts = {"a": 3, "b": 2, "c": 20, "d": 15}
    short = dawid_skene([(i, j, v) for i, said in patterns.items() for j, v in enumerate(said)], counts=counts)
    items = [(f"{i}{n}", said) for i, said in patterns.items() for n in range(counts[i])]
    long = dawid_skene([(i, j, v) for i, said in items for j, v in enumerate(said)])
    assert short.prevalence == pytest.approx(long.prevalence, abs=1e-9)
    assert short.posteriors[1] == pytest.approx(long.posteriors[3], abs=1e-9)
    assert short.confusion[2][0] == pytest.approx(long.confusion[2][0], abs=1e-9)


def test_weights_of_votes_worked_by_hand() -> None:
    assert vote_weight(8, 10) == pytest.approx(math.log(0.75 / 0.25))
    assert vote_weight(5, 10) == 0
    assert vote_weight(2, 10) == -vote_weight(8, 10)
    assert vote_weight(8, 10, labels=3) == pytest.approx(math.log(2 * 0.75 / 0.25))


def test_bad_input_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match="needs votes"):
        dawid_skene([])
    with pytest.raises(UsageError, match="correct <= judged"):
        vote_weight(3, 2)
    with pytest.raises(UsageError, match="off the scale"):
        dawid_skene([("i", "a", "maybe")], labels=["yes", "no"])
