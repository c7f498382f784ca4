"""The parts of a difference add up to it: on random small runs against plain arithmetic, and on
runs worked by hand."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from pathlib import Path

import pytest

from claimeval.evaluation.manifest import Manifest
from claimeval.metrics.rows import METRICS
from claimeval.metrics.scoring import scores
from claimeval.runs.causes import UNPAIRED, Cause, Causes, CauseTally, Totals, rows
from claimeval.runs.compare import compare
from claimeval.runs.inputs import Inputs
from claimeval.statistics.formatting import adding_up
from claimeval.types.records import Assessment, Claim, Document, Sample, SampleResult
from tests.report.runs import DOCUMENTS, TOWER, TOWER_SAYS, make

NAMES = ("faithfulness", "coverage", "f1")
ROWS = [METRICS[name] for name in ("faithfulness", "correctness", "coverage")]
LABELS = ("supported", "contradicted", "not_found", None)


def assessed(claim: Claim, part: str, label: str | None) -> Assessment:
    because = "tie" if label is None else None
    fields = {"subject": claim.id, "question": "support", "against": part, "verdicts": ()}
    return Assessment.model_validate({**fields, "label": label, "unassessed": because})


def result(sample: Sample, claims: list[Claim], assessments: list[Assessment]) -> SampleResult:
    found = SampleResult(sample=sample, claims=tuple(claims), assessments=tuple(assessments))
    return found.model_copy(update={"scores": scores(ROWS, found, ["f1"])})


def drawn(number: int, draw: random.Random) -> SampleResult:
    """A sample with up to four claims a part; the texts are few, so that two runs share some."""
    texts = ["It is old.", "It is red.", "It is high.", "It is new."]
    sample = Sample(
        id=str(number),
        question="Q?",
        answer=draw.choice(["An answer.", "Another."]),
        contexts=(Document(id="d", text=draw.choice(["A text.", "Another."])),),
        reference_answers=("Gold.",) if draw.random() < 0.9 else ("Gold.", "Silver."),
    )
    claims = [
        Claim(
            grounding="ungrounded",
            id=f"{part}-{i}",
            text=draw.choice(texts),
            of=part,
            alternative=draw.choice(of),
        )
        for part, of in (
            ("answer", [None]),
            ("reference", [1, 2] if len(sample.reference_answers) > 1 else [None]),
        )
        for i in range(draw.randrange(5))
    ]
    pairs = [(claim, row.against) for claim in claims for row in ROWS if row.claims_of == claim.of]
    return result(
        sample, claims, [assessed(claim, part, draw.choice(LABELS)) for claim, part in pairs]
    )


def value(result: SampleResult, name: str) -> Fraction | None:
    score = result.scores[name]
    if score.value is None:
        return None
    return Fraction(score.hits or 0, score.judged) if score.judged else Fraction(score.value)


@pytest.mark.parametrize("seed", range(60))
def test_parts_add_up_to_the_difference_of_the_means(seed: int) -> None:
    draw = random.Random(seed)
    runs = [
        {n: drawn(n, draw) for n in draw.sample(range(9), draw.randrange(1, 9))} for _ in range(2)
    ]
    tally = CauseTally(Causes(Manifest(), Manifest()), {name: METRICS.get(name) for name in NAMES})
    totals = Totals(), Totals()
    for total, run in zip(totals, runs, strict=True):
        for result in run.values():
            total.add(result.scores)
    for n in runs[0].keys() & runs[1].keys():
        pair = runs[0][n], runs[1][n]
        tally.add(pair[0].sample.id, pair[0].scores, pair[1].scores, Inputs(*pair))
    for name in NAMES:
        values = [
            {n: v for n, one in run.items() if (v := value(one, name)) is not None} for run in runs
        ]
        parts, change = tally.decomposition(name, totals)
        if not all(values):
            assert (parts, change) == ((), None)
            continue
        means = [sum(of.values()) / Fraction(len(of)) for of in values]
        assert change == math.fsum(part.value for part in parts)
        assert change == pytest.approx(float(means[1] - means[0]), abs=1e-15)
        both = values[0].keys() & values[1].keys()
        paired = sum((values[1][n] - values[0][n] for n in both), Fraction()) / max(1, len(both))
        of_pairs = math.fsum(part.value for part in parts if part.cause not in UNPAIRED)
        assert of_pairs == pytest.approx(float(paired), abs=1e-15)
        table = rows(parts, of_pairs, change, 3)
        printed = [Fraction(row.figure) for row in table if not row.inner]
        outer = [row.words for row in table if not row.inner]
        if any(part.cause in UNPAIRED for part in parts):
            subtotal = next(i for i, words in enumerate(outer) if "both runs" in words)
            assert sum(printed[:subtotal]) == printed[subtotal]
            assert sum(printed[subtotal:-1]) == printed[-1]
        elif parts:
            assert sum(printed[:-1]) == printed[-1]
        for place, row in enumerate(table):
            if row.part and row.part.parts and not row.inner:
                inner = [Fraction(one.figure) for one in table[place + 1 :][: len(row.part.parts)]]
                assert sum(inner) == Fraction(row.figure)


def test_every_claim_of_a_sample_adds_its_share() -> None:
    """A: old +, red +, high - (2 of 3). B: old +, red -, new -, tall + (2 of 4). Both judged: A 2
    of 2, B 1 of 2.

    red: -(1/3 + 1/4) / 2 = -7/24; the mean of both shares is 3/4; high leaves: -(0 - 3/4)/3 = 1/4;
    new comes: (0 - 3/4)/4 = -3/16; tall comes: (1 - 3/4)/4 = 1/16. Together 2/4 - 2/3 = -1/6.
    """

    def one(answer: str, **labels: str) -> SampleResult:
        claims = [
            Claim(grounding="ungrounded", id=f"answer-{i}", text=text, of="answer")
            for i, text in enumerate(labels, 1)
        ]
        sample = Sample(
            id="s", question="Q?", answer=answer, contexts=(Document(id="d", text="A text."),)
        )
        pairs = zip(claims, labels.values(), strict=True)
        return result(
            sample, claims, [assessed(claim, "contexts", label) for claim, label in pairs]
        )

    a = one("A.", old="supported", red="supported", high="not_found")
    b = one("B.", old="supported", red="not_found", new="contradicted", tall="supported")
    changes = Causes(Manifest(), Manifest()).changes(
        "faithfulness", METRICS["faithfulness"], Inputs(a, b)
    )
    assert [(c.claim, c.why.cause, c.run, c.value) for c in changes] == [
        ("red", "disagreement", "a", Fraction(-7, 24)),
        ("high", "answer", "a", Fraction(1, 4)),
        ("new", "answer", "b", Fraction(-3, 16)),
        ("tall", "answer", "b", Fraction(1, 16)),
    ]


def causes(
    a: Path, b: Path, metric: str = "faithfulness"
) -> dict[Cause, tuple[float, int | None, int]]:
    (compared,) = (one for one in compare(a, b).comparison.metrics if one.metric == metric)
    return {
        part.cause: (round(part.value, 12), part.claims, part.samples) for part in compared.because
    }


KIND = {"It is 90 metres high.": "contradicted"}
THIRD = round(1 / 3, 12)


def test_causes_are_told_apart(tmp_path: Path) -> None:
    base = make(tmp_path / "base", [TOWER], {"strict": TOWER_SAYS})
    same = make(tmp_path / "same", [TOWER], {"strict": KIND})
    fewer = make(
        tmp_path / "fewer", [TOWER.model_copy(update={"contexts": DOCUMENTS[:1]})], {"strict": KIND}
    )
    other = make(tmp_path / "other", [TOWER], {"kind": KIND})
    both = make(
        tmp_path / "both", [TOWER.model_copy(update={"contexts": DOCUMENTS[:1]})], {"kind": KIND}
    )
    answer = make(
        tmp_path / "answer", [TOWER.model_copy(update={"answer": "It is 90 metres high."})]
    )
    assert causes(base, base) == {}
    assert causes(base, same) == {"disagreement": (THIRD, 1, 1)}
    assert causes(base, fewer) == {"lost": (THIRD, 1, 1)}
    assert causes(base, other) == {"judge": (THIRD, 1, 1)}
    assert causes(base, both) == {"several": (THIRD, 1, 1)}
    assert causes(base, answer) == {"shorter": (-THIRD, 2, 1)}
    assert causes(base, answer, "coverage") == {}


def test_samples_of_one_run_lead_from_the_paired_difference_to_that_of_the_means(
    tmp_path: Path,
) -> None:
    """A has t1 (1/3) and t2 (1/3), B has t2 (1/3) and t3 (1): no pair differs, and B's mean is
    2/3."""
    samples = [TOWER.model_copy(update={"id": f"t{i}"}) for i in (1, 2, 3)]
    good = samples[2].model_copy(update={"answer": "The tower opened in 1902."})
    a = make(tmp_path / "a", samples[:2])
    b = make(tmp_path / "b", [samples[1], good])
    found, *_ = compare(a, b).comparison.metrics
    assert found.difference.value == 0
    assert [(part.cause, part.samples) for part in found.because] == [("samples", 2)]
    assert found.change == pytest.approx(1 / 3)


def test_printed_parts_add_up() -> None:
    assert adding_up([1 / 3, 1 / 3, 1 / 3], 1.0) == ["+0.34", "+0.33", "+0.33"]
    assert adding_up([-0.004, -0.004, -0.004], -0.012) == ["0.00", "0.00", "-0.01"]
    assert adding_up([-0.0004, -0.0004, -0.0004], -0.0012, digits=3) == ["0.000", "0.000", "-0.001"]
