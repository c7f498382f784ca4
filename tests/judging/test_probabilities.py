"""The probability of a verdict from the token that begins its label, worked by hand."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import claimeval as ce
from benchmarks.loopback.judge import Body, Reply, text_of
from claimeval.judging import assess, prompts
from claimeval.providers import specs
from claimeval.types.chat_format import read_chat
from claimeval.types.errors import UsageError
from claimeval.types.records import Claim, Document, ReadVerdict
from claimeval.types.requests import Completion, Judge, Request
from tests.conftest import StartServer

CLAIMS = (
    Claim(grounding="ungrounded", id="answer-1", text="It is high.", of="answer"),
    Claim(grounding="ungrounded", id="answer-2", text="It is red.", of="answer"),
)
DOCUMENTS = (Document(id="page", text="It is high."),)
Alternatives = dict[str, float]
"""Tokens and their probabilities."""


def request(prompt: str = "three_way", **settings: Any) -> Request:
    judge = Judge.model_validate(
        {"name": "j", "model": "scripted:j", "top_logprobs": 5, **settings}
    )
    return assess.ask(
        prompts.load("assess", prompt),
        judge,
        CLAIMS,
        assess.ShownDocuments(DOCUMENTS),
        "What is it like?",
    )


def logprobs(tokens: list[tuple[str, Alternatives]]) -> dict[str, Any]:
    return {
        "content": [
            {
                "token": token,
                "logprob": math.log(likely.get(token, 1.0)),
                "bytes": list(token.encode()),
                "top_logprobs": [{"token": t, "logprob": math.log(p)} for t, p in likely.items()],
            }
            for token, likely in tokens
        ]
    }


def completion(tokens: list[tuple[str, Alternatives]], text: str | None = None) -> Completion:
    said = "".join(token for token, _ in tokens) if text is None else text
    choice = {"message": {"content": said}, "finish_reason": "stop", "logprobs": logprobs(tokens)}
    return read_chat(json.dumps({"model": "m", "choices": [choice]}).encode())


def reply(
    first: tuple[str, Alternatives], second: tuple[str, Alternatives], rest: str = ""
) -> list[tuple[str, Alternatives]]:
    """Two verdicts; a token of each label's own, the labels' ends and all the rest in tokens
    without alternatives."""
    return [
        (
            (
                '{"verdicts": [{"id": "c1", "reason": "It says \\"id\\": so – ja.", "evidence": [],'
                ' "label": "'
            ),
            {},
        ),
        first,
        (f'{rest}"}}, {{"id": "c2", "reason": "r", "evidence": [], "label": "', {}),
        second,
        ('"}]}', {}),
    ]


def verdicts(
    tokens: list[tuple[str, Alternatives]], text: str | None = None, asked: Request | None = None
) -> list[ReadVerdict]:
    return [
        verdict
        for (verdict,) in assess.read(completion(tokens, text), asked or request()).values.values()
    ]


def test_probabilities_by_hand() -> None:
    """c1: .6 of .6 + .1 + .2 on labels; c2: .05 of .05 + .85."""
    one = ("supported", {"supported": 0.6, "contr": 0.1, "not": 0.2, "maybe": 0.1})
    two = ("not_found", {"not_found": 0.85, "supported": 0.05})
    first, second = verdicts(reply(one, two))
    assert first.probability == pytest.approx(0.6 / 0.9)
    assert second.probability == pytest.approx(0.05 / 0.9)
    assert [v.label for v in (first, second)] == ["supported", "not_found"]


def test_entries_may_stand_under_their_ids() -> None:
    tokens = [
        ('{"verdicts": {"c1": {"reason": "\\"c2\\": {", "evidence": [], "label": "', {}),
        ("supported", {"supported": 0.8, "not": 0.2}),
        ('"}, "c2": {"reason": "r", "evidence": [], "label": "', {}),
        ("not_found", {"not_found": 0.9, "supported": 0.1}),
        ('"}}}', {}),
    ]
    assert [verdict.probability for verdict in verdicts(tokens)] == [
        pytest.approx(0.8),
        pytest.approx(0.1),
    ]


def test_spellings_are_taken_together() -> None:
    one = ("supported", {"supported": 0.3, " Supported": 0.2, "SUPPORT": 0.1, "not": 0.4})
    assert verdicts(reply(one, ("not_found", {"not_found": 1.0})))[0].probability == pytest.approx(
        0.6
    )


def test_a_label_of_several_tokens_is_known_by_its_first() -> None:
    one = ("contr", {"contr": 0.7, "supported": 0.3})
    assert verdicts(reply(one, ("not_found", {"not_found": 1.0}), rest="adicted"))[
        0
    ].probability == pytest.approx(0.3)


def test_a_token_may_hold_the_quotation_mark_before_the_label() -> None:
    tokens = [
        ('{"verdicts": [{"id": "c1", "reason": "r", "evidence": [], "label":', {}),
        (' "supported', {' "supported': 0.8, ' "not': 0.2}),
        ('"}]}', {}),
    ]
    assert verdicts(tokens)[0].probability == pytest.approx(0.8)


def test_too_little_on_labels_is_no_probability() -> None:
    one = ("supported", {"supported": 0.3, "sure": 0.6})
    assert verdicts(reply(one, ("not_found", {"not_found": 1.0})))[0].probability is None


def test_tokens_that_are_not_the_text_give_no_probability() -> None:
    one = ("supported", {"supported": 1.0})
    two = ("not_found", {"not_found": 1.0})
    tokens = reply(one, two)
    other = "".join(token for token, _ in tokens).replace("ja", "yes")
    assert [v.probability for v in verdicts(tokens, other)] == [None, None]


def test_the_last_of_two_places_counts_for_a_judge_that_thinks_aloud() -> None:
    one = ("supported", {"supported": 0.9, "not": 0.1})
    thought: tuple[str, Alternatives] = ('<think>{"id": "c1", "label": "not_found"}</think>', {})
    tokens = [thought, *reply(one, ("not_found", {"not_found": 1.0}))]
    found = verdicts(tokens)
    assert found[0].probability == pytest.approx(0.9)


def test_marks_at_the_end_of_lines() -> None:
    asked = request("tags")
    tokens = [
        ("- It is high. SUPPORTED=", {}),
        ("1", {"1": 0.75, "0": 0.25}),
        ("\n- It is red. SUPPORTED=", {}),
        ("0", {"0": 0.9, "1": 0.1}),
    ]
    assert [v.probability for v in verdicts(tokens, asked=asked)] == [
        pytest.approx(0.75),
        pytest.approx(0.1),
    ]


def test_yes_and_no() -> None:
    one = ("yes", {"yes": 0.6, "no": 0.3, "Yes": 0.1})
    two = ("no", {"no": 1.0})
    assert verdicts(reply(one, two), asked=request("binary"))[0].probability == pytest.approx(0.7)


def test_without_being_asked_for_there_are_none() -> None:
    one = ("supported", {"supported": 1.0})
    two = ("not_found", {"not_found": 1.0})
    asked = request(top_logprobs=None)
    assert [v.probability for v in verdicts(reply(one, two), asked=asked)] == [None, None]
    assert asked.key != request().key


@pytest.mark.parametrize("dialect", ["openai", "mistral"])
def test_both_providers_are_asked_for_them_and_the_panel_has_them(
    start_server: StartServer, dialect: Any
) -> None:
    bodies: list[Body] = []

    def judge(body: Body) -> Reply:
        bodies.append(body)
        if "<claims>" not in text_of(body):
            return Reply(
                json.dumps(
                    {"claims": [{"claim": "It is high.", "sentences": [1], "quote": "It is high."}]}
                )
            )
        tokens = [
            ('{"verdicts": [{"id": "c1", "reason": "r", "evidence": ["d1"], "label": "', {}),
            ("supported", {"supported": 0.8, "not": 0.2}),
            ('"}]}', {}),
        ]
        return Reply("".join(token for token, _ in tokens), logprobs=logprobs(tokens))

    server = start_server(judge=judge, dialect=dialect)
    asked = ce.Judge(name="j", model=f"{dialect}:m", endpoint=server.url, top_logprobs=4)
    sample = {"question": "q", "answer": "It is high.", "contexts": ["It is high."]}
    report = ce.score([sample], judges=[asked], metrics=["faithfulness"])
    (assessment,) = report.results[0].assessments
    assert assessment.verdicts[0].probability == pytest.approx(0.8)
    assert assessment.probability == pytest.approx(0.8)
    assert [(b.get("logprobs"), b.get("top_logprobs")) for b in bodies] == [(None, None), (True, 4)]


def test_models_that_give_none_are_refused_before_any_call() -> None:
    with pytest.raises(UsageError, match="gives no log-probabilities"):
        specs.parse_judge(Judge(name="j", model="openai:gpt-5", top_logprobs=5))


@pytest.mark.parametrize("number", ["12.5", "1000", "1" + "0" * 400])
def test_a_number_that_is_no_log_probability_gives_none(number: str) -> None:
    one = ("supported", {"supported": 0.6, "not": 0.2})
    two = ("not_found", {"not_found": 0.85, "supported": 0.05})
    body = completion(reply(one, two)).body
    stated = f'"logprob": {math.log(0.05)}'.encode()
    assert body.count(stated) == 1
    odd = read_chat(body.replace(stated, b'"logprob": ' + number.encode()))

    read = [verdict for (verdict,) in assess.read(odd, request()).values.values()]

    assert [verdict.label for verdict in read] == ["supported", "not_found"]
    assert read[1].probability is None
