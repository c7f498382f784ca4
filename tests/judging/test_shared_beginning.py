"""What two questions with one prompt have in common before the first byte that differs.

Providers keep the beginning of a prompt: vLLM and DeepSeek from 64 tokens, OpenAI from 1,024. So
the words that are the same in all questions stand first, then the evidence, which the chunks of an
answer share, then the claims. A schema counts as the first bytes, where providers put it.
"""

from __future__ import annotations

import re
from os.path import commonprefix

import pytest

from claimeval.judging import assess, extract, prompts
from claimeval.judging.assess import ShownDocuments
from claimeval.types.records import Claim, Document
from claimeval.types.requests import Judge, Request

JUDGE = Judge(model="openai:m")
ASSESS = sorted(prompts.shipped("assess"))
EXTRACT = sorted(prompts.shipped("extract"))
LINES_AT_THE_END = 1
"""After the data: one line that says what to reply with."""


def claims(first: int, number: int) -> list[Claim]:
    return [
        Claim(id=f"answer-{n}", of="answer", text=f"{n} lamps are lit.", grounding="exact")
        for n in range(first, first + number)
    ]


def assessing(name: str, shown: list[Claim], text: str, *, alternatives: bool = False) -> Request:
    documents = [Document(id="a", text=text), Document(id="b", text=f"{text} too.")]
    prompt = prompts.load("assess", name)
    evidence = ShownDocuments(documents, alternatives)
    return assess.ask(prompt, JUDGE, shown, evidence, f"What of {text}?")


def extracting(name: str, text: str) -> Request:
    return extract.ask(prompts.load("extract", name), JUDGE, "answer", text, f"What of {text}?")


def sent(request: Request) -> str:
    """The bytes as a provider reads them."""
    texts = [message.content for message in request.messages]
    return "\n".join([request.schema_sent or "", *texts])


def tokens(text: str) -> int:
    """Words, and marks between them: fewer than the tokens of any byte-pair tokenizer."""
    return len(re.findall(r"\w+|[^\w\s]", text))


def words(texts: list[str]) -> set[str]:
    return {word for text in texts for word in re.findall(r"\w{4,}", text)}


def shared(one: Request, other: Request) -> str:
    return commonprefix([sent(one), sent(other)])  # noqa: RUF071  # characters are meant


@pytest.mark.parametrize("name", ASSESS)
@pytest.mark.parametrize("alternatives", [False, True])
def test_questions_about_other_evidence_differ_first_in_the_first_document(
    name: str, alternatives: bool
) -> None:
    one = assessing(name, claims(1, 3), "Harbour", alternatives=alternatives)
    other = assessing(name, claims(7, 2), "Meadow")
    beginning = shared(one, other)
    assert beginning.endswith('<evidence>\nd1: "')
    rest = sent(one).removeprefix(beginning)
    after = rest.rpartition("</claims>")[2].strip().splitlines()
    assert len(after) <= LINES_AT_THE_END


@pytest.mark.parametrize("name", ASSESS)
def test_questions_about_the_same_evidence_differ_first_in_the_first_claim(name: str) -> None:
    one = assessing(name, claims(1, 3), "Harbour")
    other = assessing(name, claims(7, 2), "Harbour")
    assert shared(one, other).rpartition("<claims>\n")[2] in ('c1: "', "- ")


@pytest.mark.parametrize("name", EXTRACT)
def test_extractions_of_other_texts_differ_first_in_the_question(name: str) -> None:
    beginning = shared(extracting(name, "Harbours are old."), extracting(name, "Meadows are."))
    assert beginning.endswith('<question>\n"What of ')
    rest = sent(extracting(name, "Harbours are old.")).removeprefix(beginning)
    after = rest.rpartition("</sentences>")[2].strip().splitlines()
    assert len(after) <= LINES_AT_THE_END


@pytest.mark.parametrize(
    ("request_", "other", "least"),
    [
        (assessing("three_way", claims(1, 3), "A"), assessing("three_way", claims(1, 3), "B"), 310),
        (extracting("atomic", "A is."), extracting("atomic", "B is."), 330),
    ],
    ids=["assess", "extract"],
)
def test_the_defaults_begin_alike_for_hundreds_of_tokens(
    request_: Request, other: Request, least: int
) -> None:
    """Counted by words and marks; before, 147 and 126 tokens were alike."""
    assert tokens(shared(request_, other)) >= least
