"""The formulas: worked by hand, by named programs, and against a plain reference for any texts."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimeval.lexical import METRICS, score_one
from claimeval.lexical.metrics import lcs_length

VOCABULARY = "red blue fish Fish, the a é’s — ’ 1.5 co-op"
WORDS = st.lists(st.sampled_from([*VOCABULARY.split(), "\n", "\x00"]), max_size=9)
TEXTS = WORDS.map(" ".join)


def plain_words(text: str) -> list[str]:
    """The words of the SQuAD evaluation script."""
    bare = "".join(character for character in text.lower() if character not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", bare).split()


def plain_token_scores(
    answer: Sequence[str], reference: Sequence[str]
) -> tuple[float, float, float]:
    """Precision, recall and F1 with the empty cases of instruct-qa."""
    common = sum((Counter(answer) & Counter(reference)).values())
    precision = common / len(answer) if answer else 0.0
    recall = common / len(reference) if reference else 1.0
    if not answer or not reference:
        return precision, recall, float(answer == reference)
    return precision, recall, 2 * precision * recall / (precision + recall) if common else 0.0


def plain_lcs(first: Sequence[str], second: Sequence[str]) -> int:
    """Longest common subsequence by the usual table."""
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, one in enumerate(first):
        for j, other in enumerate(second):
            table[i + 1][j + 1] = (
                table[i][j] + 1 if one == other else max(table[i][j + 1], table[i + 1][j])
            )
    return table[-1][-1]


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
def test_reference_metrics_equal_the_plain_definitions(answer: str, references: list[str]) -> None:
    words = plain_words(answer)
    normal = " ".join(words)
    each = [plain_token_scores(words, plain_words(reference)) for reference in references]
    scores = score_one(answer, references=references)
    assert scores["token_precision"] == max(precision for precision, _, _ in each)
    assert scores["token_recall"] == max(recall for _, recall, _ in each)
    assert scores["token_f1"] == max(f1 for _, _, f1 in each)
    assert scores["strict_recall"] == any(recall == 1 for _, recall, _ in each)
    assert scores["exact_match"] == any(
        normal == " ".join(plain_words(reference)) for reference in references
    )
    assert scores["contains_reference"] == any(
        " ".join(plain_words(reference)) in normal for reference in references
    )
    assert scores["answer_length"] == len(words)


@given(TEXTS, TEXTS, st.lists(TEXTS, min_size=1, max_size=4))
def test_k_precision_equals_the_plain_definitions(
    answer: str, question: str, contexts: list[str]
) -> None:
    words = plain_words(answer)
    asked = plain_words(question)
    new = [word for word in words if word not in asked]
    joined = plain_words(" ".join(contexts))
    scores = score_one(answer, question=question, contexts=contexts)
    assert scores["k_precision"] == plain_token_scores(words, joined)[0]
    assert scores["k_precision_best_context"] == max(
        plain_token_scores(words, plain_words(text))[0] for text in contexts
    )
    if question:
        ignoring = plain_token_scores(new, joined)[0] if new else 1.0
        assert scores["k_precision_no_question"] == ignoring


@given(
    st.lists(st.sampled_from("abcd"), max_size=90), st.lists(st.sampled_from("abcd"), max_size=90)
)
def test_the_longest_common_subsequence_equals_the_plain_table(
    first: list[str], second: list[str]
) -> None:
    assert lcs_length(first, second) == plain_lcs(first, second)


@given(
    TEXTS,
    TEXTS,
    st.lists(TEXTS, max_size=3),
    st.lists(TEXTS, max_size=3),
    st.sampled_from(["squad", "multilingual"]),
)
def test_shares_lie_between_0_and_1(
    answer: str, question: str, contexts: list[str], references: list[str], normalization: str
) -> None:
    scores = score_one(
        answer,
        question=question,
        contexts=contexts,
        references=references,
        normalization=normalization,
    )
    assert list(scores) == list(METRICS)
    for name, value in scores.items():
        assert value is None or 0 <= value <= (1 if METRICS[name].unit == "share" else float("inf"))


def test_token_metrics_worked_by_hand() -> None:
    # answer: big red dog saw red fish (6 words); reference: red red red fish swam (5); shared: red
    # red fish (3)
    scores = score_one("The big red dog saw a red fish.", references=["red red red fish swam"])
    assert scores["token_precision"] == 3 / 6
    assert scores["token_recall"] == 3 / 5
    assert scores["token_f1"] == pytest.approx(2 * 3 / (6 + 5))
    assert scores["strict_recall"] == 0
    assert scores["answer_length"] == 6


def test_each_metric_takes_its_own_best_reference() -> None:
    # against "paris": P 1/2, R 1/1, F1 2/3; against "paris texas usa north": P 2/2, R 2/4, F1 2/3
    scores = score_one("Paris, Texas", references=["Paris", "Paris Texas USA North"])
    assert scores["token_precision"] == 1
    assert scores["token_recall"] == 1
    assert scores["token_f1"] == pytest.approx(2 / 3)


def test_exact_match_and_containment_compare_normalized_texts() -> None:
    scores = score_one("It was the F.B.I.", references=["an FBI", "it was FBI"])
    assert (scores["exact_match"], scores["contains_reference"]) == (1, 1)
    scores = score_one("a political party", references=["art"])
    assert (scores["exact_match"], scores["contains_reference"], scores["token_recall"]) == (
        0,
        1,
        0,
    )


def test_strict_recall_needs_every_word_as_often_as_the_reference() -> None:
    assert score_one("bora", references=["Bora Bora"])["strict_recall"] == 0
    assert score_one("Bora, Bora!", references=["Bora Bora"])["strict_recall"] == 1
    assert score_one("Bora and once more Bora", references=["Bora Bora"])["strict_recall"] == 1


def test_k_precision_joins_contexts_and_its_variant_takes_the_best() -> None:
    # answer: rome rome lies in italy (5 words); joined: all but "lies"; alone: rome in, rome italy
    scores = score_one("Rome, Rome lies in Italy", contexts=["Rome in", "Rome Italy"])
    assert scores["k_precision"] == 4 / 5
    assert scores["k_precision_best_context"] == 2 / 5


def test_k_precision_can_ignore_the_words_of_the_question() -> None:
    # left of the answer: rome (in the context), milan (not)
    scores = score_one(
        "The capital is Rome or Milan", question="Is the capital or what?", contexts=["Rome"]
    )
    assert scores["k_precision_no_question"] == 1 / 2
    assert scores["k_precision"] == 1 / 5


@pytest.mark.parametrize(
    ("answer", "reference", "f1"),
    [
        ("police kill the gunman", "police killed the gunman", 0.75),
        ("the gunman kill police", "police killed the gunman", 0.5),
        (
            "The quick brown dog jumps on the log.",
            "The quick brown fox jumps over the lazy dog",
            0.5882352941176471,
        ),
        ("cafe au lait 3 5", "Café-au-lait, 3.5%", 0.8000000000000002),
        ("two one three two one two", "one two three one two", 0.7272727272727272),
        ("", "", 0),
        ("", "red", 0),
    ],
)
def test_rouge_l_is_what_rouge_score_prints(answer: str, reference: str, f1: float) -> None:
    """Values of rouge-score 0.1.2, `RougeScorer(["rougeL"])`; the first two pairs are those of Lin
    2004."""
    assert score_one(answer, references=[reference])["rouge_l"] == f1


def test_rouge_l_uses_the_words_of_the_multilingual_normalization() -> None:
    assert score_one("Αθήνα", references=["Αθήνα"])["rouge_l"] == 0
    assert score_one("Αθήνα", references=["Αθήνα"], normalization="multilingual")["rouge_l"] == 1


# Texts without words, by instruct-qa: metric, then (answer, text) both empty, empty answer, empty
# text.
EMPTY = {
    "k_precision": (0, 0, 0),
    "k_precision_best_context": (0, 0, 0),
    "k_precision_no_question": (1, 1, 0),
    "token_recall": (1, 0, 1),
    "token_precision": (0, 0, 0),
    "token_f1": (1, 0, 0),
    "strict_recall": (1, 0, 1),
    "exact_match": (1, 0, 0),
    "contains_reference": (1, 0, 1),
    "rouge_l": (0, 0, 0),
    "answer_length": (0, 0, 1),
}


# To ROUGE-L articles are words.
BLANKS = [
    (name, blank)
    for name in METRICS
    for blank in ("", "An \n (the)")
    if not (name == "rouge_l" and blank)
]


@pytest.mark.parametrize(("name", "blank"), BLANKS)
def test_texts_without_words_score_as_documented(name: str, blank: str) -> None:
    def value(answer: str, text: str) -> float | None:
        return score_one(answer, question="who", contexts=[text], references=[text])[name]

    assert (value(blank, blank), value(blank, "Paris"), value("Paris", blank)) == EMPTY[name]


def test_words_outside_ascii_match_across_ascii_and_other_texts() -> None:
    scores = score_one(
        "The café “Flore” — Paris", contexts=["plain Paris text", "un café"], references=["paris"]
    )
    assert scores["k_precision"] == 2 / 4
    assert scores["token_recall"] == 1
