"""What is read off the matrix: worked by hand, by the identities of the definitions, and from
recorded labels."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from claimeval.judging.panel import Panel, voting
from claimeval.metrics.derived import GROUPS, scores
from claimeval.metrics.formulas import Matrix
from claimeval.runs.directory import RunResults
from claimeval.runs.import_replies import import_judged, open_file
from claimeval.types.records import Claim, Document, Evidence, Sample, SampleResult, Score
from claimeval.types.scales import PARTIAL
from tests.judging.panel.test_voting import grades_of
from tests.metrics.matrices import matrix
from tests.shared_data import shared_data


def one(name: str, **rows: object) -> Score:
    return scores([name], matrix(**rows))[name]  # type: ignore[arg-type]


R = ("sn", "ns", "nn", "nc", "sn")
"""Answer claims: two from context 1, one from context 2, two from none."""
C = ("sn", "nn", "sn")
"""Reference claims: context 1 has the first and third; so it is relevant, and context 2 is not."""
P = "snsnn"
Q = "sns"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("f1", 2 * (2 / 5) * (2 / 3) / (2 / 5 + 2 / 3)),
        ("claim_recall", 2 / 3),
        ("context_precision_claims", 1 / 2),
        ("context_utilization", 2 / 2),
        ("faithfulness_per_document", 3 / 5),
        ("noise_sensitivity_in_relevant", 1 / 5),
        ("noise_sensitivity_in_irrelevant", 1 / 5),
        ("hallucination", 1 / 5),
        ("self_knowledge", 1 / 5),
        ("faithful_but_incorrect", 2 / 5),
        ("contradiction_rate", 1 / 5),
        ("context_conflict_rate", 0.0),
    ],
)
def test_worked_by_hand(name: str, value: float) -> None:
    found = one(name, p=P, q=Q, R=R, C=C)
    assert found.value == pytest.approx(value, abs=1e-15)
    assert found.because is None


def test_the_identities_hold_for_every_matrix() -> None:
    draw = random.Random(0)
    names = (*GROUPS["ragchecker"][2:], "faithful_but_incorrect")
    for _ in range(300):
        n = draw.randint(1, 6)
        m = draw.randint(1, 6)
        d = draw.randint(1, 5)
        letters = draw.choice(["sn", "snc", "snn"])
        rows: dict[str, str | tuple[str, ...]] = {
            "p": "".join(draw.choices(letters, k=n)),
            "q": "".join(draw.choices(letters, k=m)),
            "R": tuple("".join(draw.choices(letters, k=d)) for _ in range(n)),
            "C": tuple("".join(draw.choices(letters, k=d)) for _ in range(m)),
        }
        defined = scores(names, matrix(**rows))  # type: ignore[arg-type]
        found = {name: score.value for name, score in defined.items() if score.value is not None}
        assert all(0 <= value <= 1 for value in found.values())
        assert found["faithfulness_per_document"] + found["hallucination"] + found[
            "self_knowledge"
        ] == pytest.approx(1)
        wrong = 1 - rows["p"].count("s") / n
        noise = found["noise_sensitivity_in_relevant"] + found["noise_sensitivity_in_irrelevant"]
        assert noise + found["hallucination"] == pytest.approx(wrong)
        assert noise == pytest.approx(found["faithful_but_incorrect"])


@pytest.mark.parametrize("name", ["examples_checking.jsonl"])
def test_recorded_labels_of_ragchecker_give_its_eleven_numbers(name: str, tmp_path: Path) -> None:
    path = shared_data("ragchecker") / name
    import_judged(open_file(path), str(path), tmp_path / "run")
    called = {
        "precision": "correctness",
        "recall": "coverage",
        "faithfulness": "faithfulness_per_document",
        "context_precision": "context_precision_claims",
    }
    lines = path.read_text(encoding="utf-8").splitlines()
    results = list(RunResults.of(tmp_path / "run"))
    for line, result in zip(lines, results, strict=True):
        recorded = json.loads(line)["metrics"]
        assert len(recorded) == 11
        for metric, value in recorded.items():
            assert result[called.get(metric, metric)].value == pytest.approx(value, abs=1e-12), (
                metric
            )
    overall = json.loads((path.parent / "examples_metrics.json").read_text(encoding="utf-8"))
    for metric, percent in {k: v for group in overall.values() for k, v in group.items()}.items():
        values = [result[called.get(metric, metric)].value or 0.0 for result in results]
        assert round(100 * sum(values) / len(values), 1) == percent, metric


@pytest.mark.parametrize(
    ("name", "rows", "counts"),
    [
        # supported by the first context whatever the second says; the second claim may or may not
        # be
        ("faithfulness_per_document", {"R": ("s?", "n?")}, (1, 1, 2)),
        # right claims are no hallucinations, grounded ones neither
        ("hallucination", {"p": "s??", "R": ("??", "s?", "nn")}, (0, 2, 3)),
        ("context_precision_claims", {"C": ("sn", "??")}, (1, 1, 2)),
        ("context_utilization", {"q": "ss?", "C": ("sn", "?n", "sn")}, (1, 1, 3)),
        ("contradiction_rate", {"f": "c?n"}, (1, 2, 3)),
        ("context_conflict_rate", {"R": ("sc", "sn", "s?", "?c", "nn")}, (1, 3, 5)),
    ],
)
def test_what_is_not_known_is_not_counted(
    name: str, rows: dict[str, object], counts: tuple[int, int, int]
) -> None:
    found = one(name, **rows)
    assert (found.hits, found.judged, found.total) == counts
    assert found.value == counts[0] / counts[1]


def test_bounds_of_values_that_are_no_shares() -> None:
    found = one("f1", p="s?", q="sn")
    assert found.value == pytest.approx(2 / 3)  # P 1, R 1/2
    assert found.bounds == pytest.approx((0.5, 2 / 3))  # P from 1/2 to 1
    assert one("factscore@4", f="s?").bounds == pytest.approx((0.5 * math.exp(-1), math.exp(-1)))
    # V: the first alone, 1/2, or with the second, 1/4
    assert one("nugget_recall_vital", q="pn", vital="s?").bounds == pytest.approx((0.25, 0.5))
    assert one("nugget_recall_vital", q="pn", vital="s?").value == 0.5
    # the second vital and unsupported, or vital and supported
    assert one("nugget_recall_weighted", q="p?", vital="s?").bounds == pytest.approx(
        (0.5 / 2, 1.5 / 2)
    )
    assert one("long_form_f1@4", f="s?").bounds == pytest.approx(
        (2 * 0.5 * 0.25 / 0.75, 2 * 1 * 0.5 / 1.5)
    )
    # P from 1/3 to 1, R from 1/4 to 3/4
    assert one("long_form_f1@4", f="s??").bounds == pytest.approx(
        (2 / 12 / (7 / 12), 2 * 0.75 / 1.75)
    )


@pytest.mark.parametrize(
    ("name", "rows", "reason"),
    [
        ("f1", {"p": "s"}, "no_claims"),
        ("f1", {"p": "??", "q": "s"}, "refused"),
        ("context_precision_claims", {"p": "s"}, "no_claims"),
        ("context_utilization", {"q": "ss", "C": ("nn", "nn")}, "no_evidence"),
        ("context_utilization", {"q": "??", "C": ("sn", "sn")}, "refused"),
        ("nugget_recall_vital", {"q": "ss", "vital": "nn"}, "no_claims"),
        ("nugget_recall_vital", {"q": "s", "vital": "?"}, "refused"),
        ("nugget_recall_vital", {"q": "ss", "vital": "n?"}, "refused"),  # there may be a vital one
        ("factscore@10", {"q": "s"}, "no_claims"),
    ],
)
def test_undefined_is_none_with_the_reason(name: str, rows: dict[str, object], reason: str) -> None:
    found = one(name, **rows)
    assert (found.value, found.because) == (None, reason)


@pytest.mark.parametrize(
    ("contexts", "reason"),
    [((Document(id="1", text="d"),), "not_in_cache"), (None, "missing_input")],
)
def test_labels_against_contexts_are_missing_where_there_are_none_and_else_not_asked_for(
    contexts: tuple[Document, ...] | None, reason: str
) -> None:
    sample = Sample(id="s", question="?", answer="a", contexts=contexts)
    claim = Claim(grounding="ungrounded", id="answer-1", text="c", of="answer")
    m = Matrix.of(SampleResult(sample=sample, claims=(claim,), assessments=()))
    assert scores(["factscore@10"], m)["factscore@10"].because == reason


@pytest.mark.parametrize(
    ("name", "value"),
    [
        # vital: support, partial, none; okay: support, none
        ("nugget_recall_vital", 1.5 / 3),
        ("nugget_recall_vital_strict", 1 / 3),
        ("nugget_recall", 2.5 / 5),
        ("nugget_recall_strict", 2 / 5),
        ("nugget_recall_weighted", (1.5 + 0.5) / (3 + 1)),
        ("nugget_recall_weighted_strict", (1 + 0.5) / (3 + 1)),
    ],
)
def test_nuggets(name: str, value: float) -> None:
    assert one(name, q="spnsn", vital="sssnn").value == pytest.approx(value)


def test_a_nugget_between_partial_and_none_is_open_except_where_only_support_counts() -> None:
    """Of two claims one is supported; of the other one judge says partial support and one says
    none."""
    m = matrix(q="sn", vital="ss")
    split = voting.vote(
        "reference-1", Evidence(part="answer"), grades_of([0, 1], PARTIAL), Panel(scale=PARTIAL)
    )
    # a dict underneath
    m.columns["reference", Evidence(part="answer")]["reference-1"] = split  # type: ignore[index]
    found = scores(["nugget_recall", "nugget_recall_strict"], m)
    assert (split.label, split.tied) == ("not_found", True)
    assert found["nugget_recall"].value == 1.0
    assert found["nugget_recall"].bounds == (0.5, 1.0)
    assert found["nugget_recall_strict"].value == 0.5


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("factscore@10", 0.75 * math.exp(1 - 10 / 4)),
        ("factscore@4", 0.75),  # as many claims as gamma: exp(0)
        ("factscore@3", 0.75),
        ("long_form_f1@3", 2 * 0.75 * 1 / 1.75),
        ("long_form_f1@6", 2 * 0.75 * 0.5 / 1.25),
        ("long_form_f1_on_topic@2", 2 * (2 / 3) * 1 / (5 / 3)),
    ],
)
def test_length_counts(name: str, value: float) -> None:
    assert one(name, f="sssn", on_topic="ssns").value == pytest.approx(value)


def test_no_supported_claim_on_topic_is_zero() -> None:
    assert one("long_form_f1_on_topic@2", f="ns", on_topic="sn").value == 0.0
    assert one("long_form_f1_on_topic@2", f="ss", on_topic="nn").value == 0.0


def test_one_context_is_its_own_column() -> None:
    found = {
        name: s.value
        for name, s in scores(
            GROUPS["ragchecker"][2:], matrix(p="sn", q="s", R=("s", "n"), C=("s",))
        ).items()
    }
    assert found["faithfulness_per_document"] == 0.5
    assert found["context_precision_claims"] == 1.0


def test_bounds_hold_whatever_is_not_known() -> None:
    draw = random.Random(1)
    names = [
        *GROUPS["nuggets"],
        "f1",
        "context_utilization",
        "factscore@2",
        "long_form_f1@2",
        "long_form_f1_on_topic@2",
    ]
    for _ in range(15):
        rows = {
            row: draw.choices("snp?" if row == "q" else "sn?", k=2)
            for row in ("q", "vital", "f", "on_topic", "p", "C1", "C2")
        }
        found = scores(names, _matrix(rows))
        for complete in _completions(rows):
            for name, would_be in scores(names, _matrix(complete)).items():
                score = found[name]
                if score.value is not None and score.bounds and would_be.value is not None:
                    low, high = score.bounds
                    assert low - 1e-12 <= score.value <= high + 1e-12
                    assert low - 1e-12 <= would_be.value <= high + 1e-12, (
                        rows,
                        complete,
                        score,
                        would_be,
                    )


def _matrix(rows: dict[str, list[str]]) -> Matrix:
    whole = {row: "".join(letters) for row, letters in rows.items()}
    C = (whole.pop("C1"), whole.pop("C2"))
    return matrix(C=C, **whole)


def _completions(rows: dict[str, list[str]]) -> Iterator[dict[str, list[str]]]:
    """Every way in which what is not known may be."""
    for row, letters in rows.items():
        if "?" in letters:
            at = letters.index("?")
            for letter in "snp" if row == "q" else "sn":
                yield from _completions({**rows, row: [*letters[:at], letter, *letters[at + 1 :]]})
            return
    yield rows
