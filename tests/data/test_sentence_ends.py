"""Sentences that the data give stay, and citations belong to them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import claimeval as ce
from claimeval.metrics.citations import of, sentence_spans

FIRST = "Rain fell on Bern. It was warm, e.g. in May"
SECOND = "snow fell later"
RUN = {
    "topic_id": "7",
    "topic": "What fell?",
    "references": ["d1", "d2"],
    "segments": ["Rain fell on Bern.", "Snow fell later."],
    "answer": [{"text": FIRST, "citations": [0]}, {"text": SECOND, "citations": [1, 0]}],
}
"""By rule, the first sentence of this run is two, and the second continues it."""


def test_a_run_of_trec_rag_keeps_its_sentences(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text(json.dumps(RUN))
    (sample,) = ce.read_samples(file)
    answer = sample.answer or ""
    assert answer == f"{FIRST} [1] {SECOND} [2][1]"
    assert [answer[slice(*span)] for span in sentence_spans(sample)] == [
        f"{FIRST} [1]",
        f"{SECOND} [2][1]",
    ]
    assert [(c.sentence, c.cited) for c in of(sample)] == [(1, ((1,),)), (2, ((2,),)), (2, ((1,),))]


@pytest.mark.filterwarnings("ignore::claimeval.NoteWarning")
def test_claims_are_counted_in_the_sentences_of_the_data() -> None:
    """Each of two claims is cited in a sentence that the answer divides by no full stop."""
    first = "The tower of Bern is 63 metres high [1]"
    second = "Ana Lind designed the old bridge in 1902 [2]"
    row = {
        "id": "a",
        "question": "?",
        "answer": f"{first}\n{second}",
        "contexts": ["The tower of Bern is 63 metres high.", "Ana Lind designed it in 1902."],
        "sentence_ends": [len(first), len(first) + 1 + len(second)],
    }
    (sample,) = ce.read_samples([row])
    assert sample.sentence_ends == (39, 84)
    run = ce.score([row], judges="local:lexical", metrics="citations,trec_support")
    assert run.results[0]["citation_recall"].total == 2
    assert run.results[0]["support_recall"].value == run.results[0]["support_precision"].value


def test_ends_that_are_no_numbers_are_refused() -> None:
    row = {"question": "?", "answer": "A b.", "sentence_ends": ["4"]}
    with pytest.raises(ce.DataError, match="item 1: a text; give a whole number"):
        list(ce.read_samples([row]))
