"""Texts that were made to mislead, in every place of the questions about whole answers: they stay
where they belong."""

from __future__ import annotations

import json

import pytest

from claimeval.judging import prompts, rate
from claimeval.types.records import Document, Sample, has_words
from claimeval.types.scales import ANSWER_QUESTIONS, RatingQuestion
from tests.scripted import judge
from tests.test_hostile_texts import TEXTS, within

ASKED = [(question.step, question.prompt, question) for question in ANSWER_QUESTIONS.values()]


@pytest.mark.parametrize(("step", "name", "question"), ASKED, ids=[name for _, name, _ in ASKED])
@pytest.mark.parametrize("hostile", [text for text in TEXTS.values() if len(text) < 10_000])
def test_no_text_leaves_its_place(
    hostile: str, step: str, name: str, question: RatingQuestion
) -> None:
    sample = Sample(
        id="s",
        question=hostile,
        answer=hostile,
        contexts=(Document(id="a", title=hostile, text=hostile), Document(id="b", text=hostile)),
        reference_answers=(hostile,),
    )
    documents = sample.documents(question.against or "") or ()
    shown = (
        rate.ask(prompts.load(step, name), judge(), question, sample, documents)
        .messages[-1]
        .content
    )
    assert [json.loads(line) for tag in ("question", "answer") for line in within(shown, tag)] == [
        hostile,
        hostile,
    ]
    whole = f"{hostile}\n{hostile}" if hostile else hostile
    listed = {"contexts": ("evidence", [whole, hostile]), "reference": ("references", [hostile])}
    if question.against:
        tag, texts = listed[question.against]
        if not has_words(hostile):
            assert f"<{tag}>\n</{tag}>" in shown
            return
        lines = [line.partition(": ") for line in within(shown, tag)]
        assert [json.loads(text) for _, _, text in lines] == texts
