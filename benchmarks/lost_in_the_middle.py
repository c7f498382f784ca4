"""How often a planted dip in the middle of the documents is said, in simulations.

    python -m benchmarks.lost_in_the_middle [--draws 300]

200 samples of ten documents; the evidence of each gold claim stands at a rank drawn evenly. The
answer has a claim with a probability that is .2 lower in the dip. Claims that are alike share a
normal effect of their sample (an intraclass correlation of .3 on that scale). The oracle is a
one-sided test of proportions that is told the ranks of the dip: no test of one claim a sample can
say many more. The last rows have no dip, or a fall that is none of the middle, and a sentence there
is false.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from claimeval.runs.by_rank import CHANCE, _fall, _RankedClaim

SEED = 20261129
SAMPLES = 200
DOCUMENTS = 10
CENTER = (DOCUMENTS + 1) / 2
NORMAL = NormalDist()
ALIKE = 0.3


class Shape(NamedTuple):
    """How claims and their ranks are drawn."""

    name: str
    claims: int
    high: float
    alike: bool = False


class World(NamedTuple):
    """The ranks at which the answer has fewer claims."""

    name: str
    inside: Callable[[int], bool]
    dip: bool = True


SHAPES = (
    Shape(".8 to .6, one", 1, 0.8),
    Shape(".9 to .7, one", 1, 0.9),
    Shape(".8 to .6, two", 2, 0.8),
    Shape(".8 to .6, three that are alike", 3, 0.8, alike=True),
)
WORLDS = (
    World("ranks 4 to 7", lambda rank: 4 <= rank <= 7),
    World("3 to 8", lambda rank: 3 <= rank <= 8),
    World("2 to 9", lambda rank: 2 <= rank <= 9),
    World("5 and 6", lambda rank: 5 <= rank <= 6),
    World("no dip", lambda rank: False, dip=False),
    World("from 2 on", lambda rank: rank >= 2, dip=False),
    World("from 6 on", lambda rank: rank >= 6, dip=False),
)


def drawn(shape: Shape, world: World, rng: np.random.Generator) -> list[_RankedClaim]:
    """Draw the gold claims of a run."""
    shared = ALIKE**0.5 if shape.alike else 0.0
    own = (1 - shared**2) ** 0.5
    rows = []
    for cluster in range(SAMPLES):
        of_sample = rng.standard_normal()
        for rank in rng.integers(1, DOCUMENTS + 1, shape.claims).tolist():
            chance = shape.high - (0.2 if world.inside(rank) else 0.0)
            effect = shared * of_sample + own * rng.standard_normal()
            nearness = 1 - abs(rank - CENTER) / (CENTER - 1)
            covered = float(effect < NORMAL.inv_cdf(chance))
            rows.append(_RankedClaim(rank, nearness, covered, cluster, DOCUMENTS))
    return rows


def oracle(rows: Sequence[_RankedClaim], world: World) -> bool:
    """Whether a test that is told the ranks of the dip would say it."""
    inside = [row.covered for row in rows if world.inside(row.rank)]
    outside = [row.covered for row in rows if not world.inside(row.rank)]
    if not inside or not outside:
        return False
    share = sum(row.covered for row in rows) / len(rows)
    error = math.sqrt(share * (1 - share) * (1 / len(inside) + 1 / len(outside)))
    fall = sum(outside) / len(outside) - sum(inside) / len(inside)
    return fall > NORMAL.inv_cdf(1 - CHANCE) * error


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=300)
    draws = parser.parse_args().draws
    print("| dip, claims a sample | " + " | ".join(world.name for world in WORLDS) + " |")
    print("|---|" + "---:|" * len(WORLDS))
    for shape in SHAPES:
        cells = []
        for world in WORLDS:
            rng = np.random.default_rng(SEED)
            said = known = 0
            for _ in range(draws):
                rows = drawn(shape, world, rng)
                fall = _fall(rows)
                said += fall is not None and fall.p <= CHANCE
                known += oracle(rows, world)
            of_oracle = f" ({known / draws:.0%})" if world.dip else ""
            cells.append(f"{said / draws:.0%}{of_oracle}")
        print(f"| {shape.name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
