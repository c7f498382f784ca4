"""Labels to scores, scores to summaries; every number worked by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import claimeval as ce
from claimeval.judging.panel import voting
from claimeval.metrics.extraction import ratio_score
from claimeval.metrics.rows import metric
from claimeval.metrics.scoring import MetricTally, ends_in_words, score
from claimeval.runs.notes import open_to_doubt
from claimeval.statistics import Resampling, mean_interval
from claimeval.testing import ScriptedJudge
from claimeval.types.records import (
    Assessment,
    Claim,
    Evidence,
    Reason,
    SampleResult,
    Score,
    Verdict,
)

METRIC = metric("faithfulness")


def verdict(label: str | None, judge: str = "one", reason: Reason | None = None) -> Verdict:
    return Verdict.model_validate({"judge": judge, "label": label, "unassessed": reason})


def claims(n: int) -> list[Claim]:
    return [
        Claim(grounding="ungrounded", id=f"answer-{i}", text=f"C{i}", of="answer") for i in range(n)
    ]


def labeled(*labels: str) -> list[Assessment]:
    reasons = {"unsure", "incomplete", "refused"}
    return [
        Assessment.model_validate(
            {
                "subject": f"answer-{i}",
                "question": "support",
                "against": "contexts",
                "verdicts": (),
                "label": None if label in reasons else label,
                "unassessed": label if label in reasons else None,
            }
        )
        for i, label in enumerate(labels)
    ]


def test_contradicted_and_not_found_both_count_as_unsupported() -> None:
    found = score(METRIC, claims(4), labeled("supported", "contradicted", "not_found", "supported"))
    assert (found.value, found.hits, found.judged, found.total) == (0.5, 2, 4, 4)


def test_the_score_is_over_the_judged_claims_and_the_bounds_over_all() -> None:
    found = score(METRIC, claims(4), labeled("supported", "unsure", "not_found", "incomplete"))
    assert (found.value, found.judged, found.total) == (0.5, 2, 4)
    assert found.bounds == (0.25, 0.75)


def test_no_judged_claim_is_no_score_with_the_most_frequent_reason() -> None:
    found = score(METRIC, claims(3), labeled("unsure", "refused", "refused"))
    assert (found.value, found.because, found.total) == (None, "refused", 3)


def test_a_verdict_needs_a_reason_exactly_when_it_is_unassessed() -> None:
    about = {
        "subject": "answer-1",
        "question": "support",
        "against": "contexts",
        "label": "supported",
    }
    for bad in (verdict(None), verdict("supported", reason="unsure")):
        with pytest.raises(ValueError, match="label or a reason"):
            SampleResult.model_validate(
                {
                    "sample": {"id": "s", "question": ""},
                    "claims": (),
                    "assessments": ({**about, "verdicts": (bad,)},),
                }
            )


def test_one_judges_label_stands_as_it_is() -> None:
    found = voting.vote("answer-1", Evidence(part="contexts"), [verdict("contradicted")])
    assert (found.label, found.agreement) == ("contradicted", None)


def summary_of(*scores: tuple[float | None, int, int, int, Reason | None]) -> MetricTally:
    tally = MetricTally()
    for number, (value, hits, judged, total, reason) in enumerate(scores):
        unassessed: list[Reason] = ["incomplete"] * (total - judged)
        found = (
            Score.undefined(reason, total=total)
            if value is None
            else Score.counted(hits, judged, total)
        )
        tally.add(found, unassessed, ungrounded=0, cluster=number)
    return tally


def test_macro_micro_bounds_and_counts_by_hand() -> None:
    found = summary_of(
        (1.0, 4, 4, 4, None),
        (0.5, 1, 2, 4, None),
        (None, 0, 0, 2, "incomplete"),
        (None, 0, 0, 0, "no_claims"),
    ).summary()
    assert found.mean == 0.75
    assert found.n == 2
    assert found.micro == 5 / 6
    assert found.missing == {"incomplete": 1, "no_claims": 1}
    assert found.unassessed == {"incomplete": 4}
    assert found.bounds == pytest.approx(((1 + 1 / 4 + 0) / 3, (1 + 3 / 4 + 1) / 3))
    assert found.failure_rate == 4 / 10


def test_a_count_that_is_not_known_has_no_bounds_and_neither_has_the_mean() -> None:
    tally = MetricTally()
    for number, value in enumerate([2.0, 1.0]):
        counted = Score(value=value, unit="questions")
        tally.add(counted, (), ungrounded=0, cluster=number)
    assert tally.summary().bounds == (1.5, 1.5)
    lost = Score.undefined("unparsable", "questions")
    tally.add(lost, (), ungrounded=0, cluster=2)
    # The third may be any number: 1.5 to 1.5 would say that it changes nothing.
    assert tally.summary().bounds is None


def test_nothing_scored_is_none_and_not_zero() -> None:
    found = summary_of((None, 0, 0, 0, "no_claims")).summary()
    assert (found.mean, found.reported, found.micro, found.bounds, found.n) == (
        None,
        None,
        None,
        None,
        0,
    )
    assert found.failure_rate == 0.0


def test_values_without_counts_count_no_claims() -> None:
    tally = MetricTally()
    tally.add(Score.share(0.5), cluster=0)
    found = tally.summary()
    assert (found.mean, found.hits, found.judged, found.total) == (0.5, None, None, None)


def test_a_failed_extraction_may_be_anything_between_no_and_all() -> None:
    found = summary_of((1.0, 1, 1, 1, None), (None, 0, 0, 0, "provider_error")).summary()
    assert found.bounds == (0.5, 1.0)
    assert found.failure_rate == 0.5


def test_abstentions_are_no_failures() -> None:
    tally = MetricTally()
    tally.add(Score.undefined("unsure", total=2), ["unsure", "unsure"], ungrounded=1, cluster=0)
    found = tally.summary()
    assert (found.failure_rate, found.ungrounded) == (0.0, 1)


def of_claims(supported: int, judged: int, unsure: int, failed: int = 0) -> MetricTally:
    """Samples of one claim each."""
    tally = MetricTally()
    for i in range(judged):
        value = float(i < supported)
        tally.add(Score.share(value, hits=int(value), judged=1, total=1), [], 0, cluster=i)
    reasons: list[Reason] = [
        "unsure" if i < unsure else "provider_error" for i in range(unsure + failed)
    ]
    for i, reason in enumerate(reasons):
        tally.add(Score.undefined(reason, total=1), [reason], 0, cluster=judged + i)
    return tally


def test_bounds_stand_in_place_of_an_interval_where_over_a_tenth_of_the_claims_is_open() -> None:
    """2 of 9 right and 2 unsure: between 2/11 and 4/11; with sampling error, the low end of the 90
    % interval of 2 of 11 and the high end of that of 4 of 11."""
    found = of_claims(2, 9, 2).summary()
    assert (found.ends, found.abstained) == ("bounds", 2)
    assert found.bounds == pytest.approx((2 / 11, 4 / 11))
    ends = [
        mean_interval([1.0] * n + [0.0] * (11 - n), resampling=Resampling(level=0.9))
        for n in (2, 4)
    ]
    assert (found.low, found.high) == found.reported == (ends[0].low, ends[1].high)
    assert ends_in_words(found, "*") == "0.03 to 0.68*"


@pytest.mark.parametrize(("unsure", "shown"), [(4, "bounds"), (1, "interval")])
def test_a_metric_that_counts_no_claims_goes_by_those_that_it_is_read_off(
    unsure: int, shown: str, tmp_path: Path
) -> None:
    """Each of 4 samples has a value, over 4 or 3 of its 4 claims."""
    texts = [[f"Tower {i} has {n} doors." for n in range(4)] for i in range(4)]
    judge = ScriptedJudge({one[0]: "unsure" for one in texts[:unsure]}, default="supported")
    samples = [
        {"question": f"{one[0]}?", "answer": " ".join(one), "contexts": ["x"]} for one in texts
    ]
    run = ce.score(
        samples, judges=judge, metrics="factscore@10", options=ce.RunOptions(cache=tmp_path)
    )
    assert (run["factscore@10"].n, run["factscore@10"].ends, run["faithfulness"].ends) == (
        4,
        shown,
        shown,
    )
    doubtful = "(4 of 16 in faithfulness, factscore@10)" if shown == "bounds" else ""
    assert doubtful in open_to_doubt(run.summary)


def test_a_tenth_of_abstentions_and_any_failures_leave_the_interval() -> None:
    assert of_claims(2, 9, 1).summary().ends == "interval"
    failed = of_claims(2, 9, 0, failed=5).summary()
    assert failed.ends == "interval"
    assert failed.reported != failed.bounds


@pytest.mark.parametrize(
    ("name", "score", "words"),
    [
        ("faithfulness", Score.counted(1, 2, 3), "faithfulness is 0.50 (1 of 2 claims)"),
        ("citation_recall", Score.counted(0, 1, 1), "citation_recall is 0.00 (0 of 1 claim)"),
        (
            "citation_precision",
            Score.counted(1, 2, 2),
            "citation_precision is 0.50 (1 of 2 citations)",
        ),
        ("alce_recall", Score.counted(1, 1, 1), "alce_recall is 1.00 (1 of 1 sentence)"),
        (
            "context_precision_claims",
            Score.counted(1, 4, 4),
            "context_precision_claims is 0.25 (1 of 4 contexts)",
        ),
        (
            "numbers_lost",
            ratio_score("numbers_lost", 1, 2),
            "numbers_lost is 0.50 (1 of 2 numbers)",
        ),
        ("words_per_claim", ratio_score("words_per_claim", 12, 2), "words_per_claim is 6.00"),
    ],
)
def test_a_score_in_words_says_what_is_counted(name: str, score: Score, words: str) -> None:
    assert score.in_words(name) == words


def test_a_length_has_no_interval_below_zero() -> None:
    """Of 1 and 18 words, Student's interval begins at -98.5; at most it may begin at 0."""
    tally = MetricTally()
    for cluster, words in enumerate((1.0, 18.0)):
        tally.add(Score(value=words, unit="words"), cluster=cluster)
    summary = tally.summary()
    assert summary.low == 0.0
    assert summary.high is not None
    assert summary.high > 100
