"""ROUGE, BLEU and chrF: the values of their libraries, the empty cases, and what is said without a
library."""

from __future__ import annotations

import sys

import pytest

from claimeval import lexical
from claimeval.lexical import metrics
from claimeval.types.errors import UsageError

ANSWER = "The cats were running.\nRome has been founded in 753 BC."
REFERENCES = ["Rome was founded in 753 BC.\nA cat runs.", "Cats are running in the founded city"]
NAMES = list(lexical.OVERLAP_METRICS)


def test_values_are_those_of_the_libraries() -> None:
    import sacrebleu
    from rouge_score.rouge_scorer import RougeScorer

    scores = lexical.score_one(ANSWER, references=REFERENCES, metrics=NAMES)

    rouge = RougeScorer(["rouge1", "rouge2", "rougeLsum"], use_stemmer=True).score_multi(
        REFERENCES, ANSWER
    )
    assert scores == {
        "rouge_1": rouge["rouge1"].fmeasure,
        "rouge_2": rouge["rouge2"].fmeasure,
        "rouge_lsum": rouge["rougeLsum"].fmeasure,
        "bleu": pytest.approx(sacrebleu.sentence_bleu(ANSWER, REFERENCES).score / 100),
        "chrf": pytest.approx(sacrebleu.sentence_chrf(ANSWER, REFERENCES).score / 100),
        "answer_length": 10,
    }


def test_words_are_stemmed_and_lines_are_sentences() -> None:
    """Stemmed the texts are alike, in another order of lines; without stemming, four of six
    words."""
    scores = lexical.score_one(
        "dogs barked\ncats ran off", references=["cats ran off\ndog barks"], metrics=NAMES
    )

    assert (scores["rouge_1"], scores["rouge_lsum"]) == (1, 1)
    assert lexical.score_one("dogs barked", references=["dog barks"])["rouge_l"] == 0


@pytest.mark.parametrize(
    ("answer", "reference"), [("", ""), ("", "a b"), ("a b", ""), (" \n", "a")]
)
@pytest.mark.parametrize("name", NAMES)
def test_a_side_without_words_is_zero(name: str, answer: str, reference: str) -> None:
    assert lexical.score_one(answer, references=[reference], metrics=[name])[name] == 0


@pytest.mark.parametrize("text", ["a \ud800 bc de fg", "x", "Rome, Rome, Rome! 753 BC"])
def test_equal_texts_reach_one_and_no_more(text: str) -> None:
    scores = lexical.score_one(text, references=[text], metrics=NAMES)

    assert all(scores[name] == (0 if (name, text) == ("rouge_2", "x") else 1) for name in NAMES)


def test_scripts_without_spaces_are_split_by_the_multilingual_normalization() -> None:
    import sacrebleu

    scores = lexical.score_one(
        "首都東京", references=["東京首都"], metrics=NAMES, normalization="multilingual"
    )

    assert (scores["rouge_1"], scores["rouge_lsum"]) == (1, 0.5)
    assert scores["rouge_2"] == pytest.approx(2 / 3)
    assert scores["bleu"] == pytest.approx(
        sacrebleu.sentence_bleu("首 都 東 京", ["東 京 首 都"], tokenize="none").score / 100
    )


def test_a_library_that_is_not_installed_is_named_before_anything_is_scored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    metrics._load.cache_clear()
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)

    with pytest.raises(UsageError, match="bleu, chrf need sacrebleu"):
        lexical.score([], ["bleu"])
    assert lexical.score_one("a", references=["a"])["token_f1"] == 1
    metrics._load.cache_clear()
