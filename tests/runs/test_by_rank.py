"""Gold claims in the answer by the rank of their evidence."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import claimeval as ce
from claimeval.runs.by_rank import CHANCE, WINDOWS, _fall, _RankedClaim
from claimeval.statistics.slopes import straight_fall
from claimeval.types.records import Sample
from tests.command_line import call

DOCUMENTS = 5


def sample(number: int, rank: int, *, said: bool, ids: bool = True) -> Sample:
    """A question whose gold document stands at a rank."""
    gold = f"The mill of town {number} was finished in {1800 + number}."
    texts = [f"The road {number}-{at} crosses meadows." for at in range(1, DOCUMENTS)]
    texts.insert(rank - 1, gold)
    names = [f"d{number}-{text[-20:]}" for text in texts]
    return Sample(
        id=str(number),
        question=f"When was the mill of town {number} finished?",
        answer=gold if said else "The road crosses meadows.",
        contexts=(
            tuple(ce.Document(id=name, text=text) for name, text in zip(names, texts, strict=True))
            if ids
            else texts
        ),
        reference_answers=[gold],
        reference_contexts=[gold],
        reference_context_ids=[names[rank - 1]] if ids else [],
    )


def scored(samples: list[Sample], tmp_path: Path, metrics: str) -> ce.Run:
    return ce.score(
        samples,
        judges="local:lexical",
        metrics=metrics,
        out=tmp_path / "run",
        options=ce.RunOptions(cache=tmp_path / "cache"),
    )


def lost(ids: bool = True) -> list[Sample]:
    """20 samples a rank: all are answered at the ends, and 5 of 20 in between."""
    return [
        sample(20 * rank + i, rank, said=rank in (1, DOCUMENTS) or i % 4 == 0, ids=ids)
        for rank in range(1, DOCUMENTS + 1)
        for i in range(20)
    ]


@pytest.mark.parametrize("metrics", ["coverage", "coverage,context_recall"])
@pytest.mark.parametrize("ids", [True, False])
def test_what_is_lost_in_the_middle_is_said(metrics: str, ids: bool, tmp_path: Path) -> None:
    by_rank = scored(lost(ids), tmp_path, metrics).by_rank
    assert by_rank
    shares = {one.rank: (one.share.value, one.share.n) for one in by_rank.ranks}
    assert shares == {1: (1, 20), 2: (0.25, 20), 3: (0.25, 20), 4: (0.25, 20), 5: (1, 20)}
    # the fall is clearest between ranks 1 and 5, not in the inner half, which is rank 3 alone
    assert (by_rank.ends.value, by_rank.middle.value) == (1.0, 0.25)
    assert "between the first and the last" in by_rank.window
    assert by_rank.sentence
    assert by_rank.sentence.startswith("Lost in the middle: the answers have 0.25")


def test_it_stands_in_every_form(tmp_path: Path) -> None:
    run = scored(lost(), tmp_path, "coverage,context_recall")
    words = "Lost in the middle"
    assert words in run.report(format="md")
    printed = call("report", "run", "--format", "csv", "--rows", "ranks", folder=tmp_path).stdout
    assert printed.startswith("rank,in the answer,")
    assert len(printed.splitlines()) == 1 + DOCUMENTS
    compared = call("compare", "run", "run", "--details", folder=tmp_path).stdout
    assert "claims in a" in compared


def test_no_rank_is_known_without_evidence(tmp_path: Path) -> None:
    blind = [
        one.model_copy(update={"reference_contexts": (), "reference_context_ids": ()})
        for one in lost()
    ]
    assert scored(blind, tmp_path, "coverage").by_rank is None


def test_without_coverage_there_is_nothing_to_count(tmp_path: Path) -> None:
    assert scored(lost()[:3], tmp_path, "context_recall").by_rank is None


def planted(
    seed: int, dip: float, claims: int = 3, ranks: tuple[int, int] = (4, 7), base: float = 0.8
) -> bool:
    """Whether a fall is reported for 200 samples of 10 documents with some gold claims each."""
    draw = random.Random(seed)
    first, last = ranks
    rows = []
    for number in range(200):
        for _ in range(claims):
            rank = draw.randint(1, 10)
            chance = base - (dip if first <= rank <= last else 0)
            nearness = 1 - abs(rank - 5.5) / 4.5
            rows.append(_RankedClaim(rank, nearness, float(draw.random() < chance), number, 10))
    fall = _fall(rows)
    return fall is not None and fall.p <= CHANCE


@pytest.mark.parametrize("ranks", [(4, 7), (3, 8), (2, 9), (5, 6)])
def test_a_planted_dip_is_said_wherever_in_the_middle_it_is(ranks: tuple[int, int]) -> None:
    assert sum(planted(seed, 0.2, ranks=ranks) for seed in range(20)) >= 19


def test_a_dip_that_is_not_there_is_hardly_ever_said() -> None:
    """The share of 5%, with room for chance in 40 draws."""
    assert sum(planted(seed, 0.0) for seed in range(40)) <= 5


def test_most_dips_are_said_with_one_claim_a_sample() -> None:
    """A test that knows where the dip from .8 to .6 stands sees 92% of them."""
    assert sum(planted(seed, 0.2, claims=1) for seed in range(40)) >= 28


def test_a_rise_in_the_middle_is_not_said() -> None:
    assert not any(planted(seed, -0.2, claims=1) for seed in range(20))


def test_a_share_that_only_falls_with_the_rank_is_not_lost_in_the_middle() -> None:
    """As retrieval has it: most evidence at the first ranks, and each later one is used less."""
    said = 0
    for seed in range(20):
        draw = random.Random(seed)
        rows = []
        for number in range(200):
            for _ in range(3):
                rank = min(10, 1 + int(draw.expovariate(0.5)))
                nearness = 1 - abs(rank - 5.5) / 4.5
                covered = draw.random() < 0.95 - 0.05 * (rank - 1)
                rows.append(_RankedClaim(rank, nearness, float(covered), number, 10))
        fall = _fall(rows)
        said += fall is not None and fall.p <= CHANCE
    assert said <= 1


def test_windows_are_nested_and_have_the_ranks_of_their_names() -> None:
    def inside(length: int) -> list[list[int]]:
        center = (length + 1) / 2
        levels = {
            rank: _RankedClaim(rank, 1 - abs(rank - center) / (center - 1), 1.0, 0, length).level
            for rank in range(1, length + 1)
        }
        return [[rank for rank, level in levels.items() if level > k] for k in range(len(WINDOWS))]

    assert inside(10) == [[*range(2, 10)], [*range(3, 9)], [*range(4, 8)], [5, 6]]
    assert inside(3) == [[2], [2], [2], [2]]
    assert inside(7) == [[2, 3, 4, 5, 6], [3, 4, 5], [3, 4, 5], [4]]


@given(st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=30))
def test_the_shares_count_each_claim_once(rows: list[tuple[int, bool]]) -> None:
    nearness = [1 - abs(rank - 5) / 4 for rank, _ in rows]
    drop = straight_fall(nearness, [float(has) for _, has in rows], range(len(rows)))
    assert drop.n == len(rows)
    if drop.value is None:
        assert drop.because
    elif len({has for _, has in rows}) == 1:
        assert drop.value == pytest.approx(0, abs=1e-9)
