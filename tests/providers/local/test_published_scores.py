"""Scores that were published, computed here where the weights are."""

from __future__ import annotations

import pytest

from claimeval.providers.local import perplexity, published
from claimeval.providers.local.model_files import locate
from claimeval.providers.local.perplexity import QuestionScorer
from claimeval.types.errors import UsageError


@pytest.mark.usefixtures("torch_here")
def test_the_published_scores_are_met_where_the_weights_are_here(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    try:
        locate(perplexity.MODEL)
    except UsageError:
        pytest.skip(f"the weights of {perplexity.MODEL} are not on this machine")
    for example, score in published.compare(QuestionScorer()):
        assert published.agrees(example, score), (example, score)


def test_published_scores_agree_at_two_decimals() -> None:
    example = published.EXAMPLES[0]
    assert published.agrees(example, 0.5449)
    assert not published.agrees(example, 0.5561)
