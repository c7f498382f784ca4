"""Many samples: rows, what is undefined and why, means with their bounds."""

from __future__ import annotations

import json
from itertools import count, islice

import pytest

from claimeval.lexical import (
    METRICS,
    LexicalMean,
    LexicalSample,
    LexicalScores,
    score,
    score_one,
    summarize,
)
from claimeval.types.errors import UsageError
from tests.shared_data import shared_data


def test_rows_come_in_order_and_carry_their_ids() -> None:
    samples = [
        LexicalSample("Paris", references=["Paris"], id="q1"),
        LexicalSample("Rome", references=["Paris"], id="q2"),
    ]
    assert list(score(samples, ["token_f1"])) == [
        LexicalScores("q1", {"token_f1": 1.0, "answer_length": 1.0}, {}),
        LexicalScores("q2", {"token_f1": 0.0, "answer_length": 1.0}, {}),
    ]


def test_samples_are_read_one_at_a_time() -> None:
    endless = (LexicalSample(f"answer {number}", references=["answer"]) for number in count())
    rows = list(islice(score(endless, ["token_recall"]), 3))
    assert [row.scores["token_recall"] for row in rows] == [1, 1, 1]


def test_what_a_sample_lacks_leaves_scores_undefined_with_the_reason() -> None:
    [row] = score([LexicalSample("Paris")])
    assert row.scores["answer_length"] == 1
    assert all(row.scores[name] is None for name in METRICS if METRICS[name].needs)
    assert row.undefined["token_f1"] == "no reference answers"
    assert row.undefined["k_precision"] == "no contexts"
    [row] = score(
        [LexicalSample("Paris", contexts=["Paris"])], ["k_precision", "k_precision_no_question"]
    )
    assert row.scores["k_precision"] == 1
    assert row.undefined == {"k_precision_no_question": "no question"}


def test_a_missing_answer_leaves_every_score_undefined() -> None:
    [row] = score([LexicalSample(None, "who", ["text"], ["text"])])
    assert row.scores == dict.fromkeys(METRICS)
    assert row.undefined == dict.fromkeys(METRICS, "no answer")


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_of_the_table_scores_alone_what_it_scores_among_all(name: str) -> None:
    texts = LexicalSample(
        "In Paris, of course", "Where is it?", ["It is in Paris", "Rome"], ["Paris", "in Lutetia"]
    )
    [alone], [among_all] = score([texts], [name]), score([texts])
    assert alone.scores[name] == among_all.scores[name]
    assert alone.scores[name] is not None
    assert METRICS[name].meaning


def test_one_metric_may_be_asked_for_by_its_bare_name() -> None:
    assert score_one("Paris", references=["Paris"], metrics="exact_match") == {
        "exact_match": 1,
        "answer_length": 1,
    }


def test_unknown_names_are_refused_before_any_sample() -> None:
    with pytest.raises(
        UsageError, match=r"unknown lexical metric 'token_recal'\. Did you mean 'token_recall'\?"
    ):
        score([], ["token_recal"])
    with pytest.raises(UsageError, match="unknown normalization 'german'"):
        score([], normalization="german")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            LexicalSample("x", contexts="one text", id="q7"),
            r"sample 2 'q7': contexts is one text, 'one text'; expected a list",
        ),
        (
            LexicalSample("x", references="gold"),
            r"sample 2 '': references is one text, 'gold'; expected a list",
        ),
        (
            LexicalSample(float("nan")),  # type: ignore[arg-type]  # the point
            r"sample 2 '': nan is a float, expected a text",
        ),
        (
            LexicalSample("x", contexts=["y", None]),  # type: ignore[list-item]  # same
            r"None is a NoneType, expected a text",
        ),
    ],
)
def test_what_is_not_a_text_is_refused_by_number_and_id(texts: LexicalSample, message: str) -> None:
    rows = score([LexicalSample("fine"), texts])
    next(rows)
    with pytest.raises(UsageError, match=message):
        next(rows)


def test_means_count_what_is_missing_and_bound_it() -> None:
    samples = [
        LexicalSample("Paris", references=["Paris"]),
        LexicalSample("Rome", references=["Paris"]),
        LexicalSample(None, references=["Paris"]),
        LexicalSample("Oslo"),
    ]
    summary = summarize(score(samples, ["token_recall"]))
    assert summary == {
        "token_recall": LexicalMean(
            0.5, 2, {"no answer": 1, "no reference answers": 1}, (0.25, 0.75)
        ),
        "answer_length": LexicalMean(1.0, 3, {"no answer": 1}, None),
    }


def test_nothing_defined_has_no_mean_and_open_bounds() -> None:
    summary = summarize(score([LexicalSample(None)], ["k_precision"]))
    assert summary["k_precision"] == LexicalMean(None, 0, {"no answer": 1}, (0.0, 1.0))
    assert summarize([]) == {}


def test_recall_follows_human_labels_about_as_well_as_an_llm_judge() -> None:
    """OpenQA NQ301: recall is near text-davinci-003 and far above exact match, as Adlakha et al.
    report."""
    from scipy.stats import spearmanr

    lines = shared_data("openqa/nq301_visible.jsonl").read_text(encoding="utf-8").splitlines()
    samples = [json.loads(line) for line in lines]
    human = [sample["human"] == "Yes" for sample in samples]
    judge = [sample["judges"]["text-davinci-003"]["recorded"] == "Yes" for sample in samples]
    rows = list(
        score(
            LexicalSample(sample["answer"], references=sample["gold_answers"]) for sample in samples
        )
    )
    agreement = {
        name: spearmanr([row.scores[name] for row in rows], human).statistic
        for name in ("token_recall", "exact_match")
    }
    assert agreement["token_recall"] > spearmanr(judge, human).statistic - 0.1
    assert agreement["token_recall"] > agreement["exact_match"] + 0.1
