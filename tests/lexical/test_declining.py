"""Sentences that decline to answer, in the languages that the documentation names."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimeval.lexical.claims import sentence_kinds, split_claims


def rows(name: str) -> list[str]:
    return Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("row", rows("declining.txt"))
def test_a_sentence_that_declines_gives_no_claim(row: str) -> None:
    sentence = row.partition("\t")[2]
    assert split_claims(sentence) == []
    assert {kind for _, kind in sentence_kinds(sentence)} == {"refusal"}


@pytest.mark.parametrize("row", rows("asserting.txt"))
def test_a_sentence_with_a_negation_is_a_claim(row: str) -> None:
    assert len(split_claims(row.partition("\t")[2])) == 1


@pytest.mark.parametrize(
    ("answer", "claims"),
    [
        ("Der Turm ist 63 Meter hoch. Das Baujahr kann ich nicht sagen.", 1),
        ("Je ne sais pas, mais la tour est haute de 63 mètres.", 1),
        ("No lo sé, pero la torre mide 63 metros.", 1),
        ("我不知道，但是塔高六十三米。", 1),
        ("文書には記載されていません。塔は63メートルです。", 1),
    ],
)
def test_what_is_said_beside_it_stays(answer: str, claims: int) -> None:
    assert len(split_claims(answer)) == claims


@pytest.mark.parametrize(
    "answer",
    [
        "죄송합니다. 그 질문에는 답변할 수 없습니다.",
        "申し訳ございません。その情報は見つかりませんでした。",
        "Tut mir leid. Das weiß ich nicht.",
        "Lo siento. No lo sé.",
    ],
)
def test_an_apology_beside_it_gives_no_claim(answer: str) -> None:
    assert split_claims(answer) == []
