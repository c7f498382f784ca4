"""Scores that were published, computed here where the weights are."""

from __future__ import annotations

import pytest

from claimeval.errors import UsageError
from claimeval.local import perplexity, published_scores
from claimeval.local.model_files import locate
from claimeval.local.perplexity import QuestionScorer


@pytest.mark.usefixtures("torch_here")
def test_the_published_scores_are_met_where_the_weights_are_here(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    try:
        locate(perplexity.MODEL)
    except UsageError:
        pytest.skip(f"the weights of {perplexity.MODEL} are not on this machine")
    for example, score in published_scores.compare(QuestionScorer()):
        assert published_scores.agrees(example, score), (example, score)


def test_published_scores_agree_at_two_decimals() -> None:
    example = published_scores.EXAMPLES[0]
    assert published_scores.agrees(example, 0.5449)
    assert not published_scores.agrees(example, 0.5561)
