"""Scores that were published for google/flan-t5-small, computed here where the weights are."""

from __future__ import annotations

import pytest

from claimeval.providers.local import perplexity
from claimeval.providers.local.loading import locate
from claimeval.providers.local.perplexity import QuestionScorer, QuestionTextPair
from claimeval.types.errors import UsageError

EXAMPLES = (
    ("Which city is the capital of Italy?", "The capital of Italy is Milan", 0.54),
    ("Which city is the capital of Italy?", "The capital of England is London", 0.20),
    ("Which city is the capital of Italy?", "The capital of Spain is Madrid", 0.22),
    ("who are we?", "we are the world", 0.06),
    ("who are we?", "we are the children", 0.07),
    ("who are we?", "we are the people", 0.08),
    ("what are we saving?", "we make a brighter day", 0.07),
    ("what are we saving?", "we are making a choice", 0.06),
    ("what are we saving?", "we are saving our own lives", 0.26),
)
"""Questions, texts and scores at two decimals, from the tests of unitxt."""


@pytest.mark.usefixtures("torch_here")
def test_the_published_scores_are_met_where_the_weights_are_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    try:
        locate(perplexity.MODEL)
    except UsageError:
        pytest.skip(f"the weights of {perplexity.MODEL} are not on this machine")
    scores = dict(
        QuestionScorer().score([QuestionTextPair(text, question) for question, text, _ in EXAMPLES])
    )
    for index, (_, _, published) in enumerate(EXAMPLES):
        assert scores[index].score == pytest.approx(published, abs=0.0051)
