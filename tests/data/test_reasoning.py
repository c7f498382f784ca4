"""Reasoning of models in evaluated answers: what is it, and what is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import claimeval as ce
from claimeval.data.reasoning import mark_of, without_reasoning
from tests.command_line import call

ANSWER = "It is 63 m high."
WITH = {
    "DeepSeek": "<think>\nIt could be 58 m.\n</think>\n\nIt is 63 m high.",
    "empty": "<think>\n\n</think>\n\nIt is 63 m high.",
    "on one line": "<think>It could be 58 m.</think>It is 63 m high.",
    "Claude's prompts": "<thinking>58 m? No.</thinking>\nIt is 63 m high.",
    "upper case": "<THINK>58 m?</THINK> It is 63 m high.",
    "after space": "\n <think>58 m?</think>It is 63 m high.",
    "Magistral": "[THINK]58 m?[/THINK]It is 63 m high.",
    "Kimi": "◁think▷58 m?◁/think▷It is 63 m high.",
    "Seed-OSS": "<seed:think>58 m?</seed:think>It is 63 m high.",
    "OpenThinker": (
        "<|begin_of_thought|>58 m?<|end_of_thought|>"
        "<|begin_of_solution|>It is 63 m high.<|end_of_solution|>"
    ),
    "gpt-oss": (
        "<|channel|>analysis<|message|>58 m?<|end|>"
        "<|start|>assistant<|channel|>final<|message|>It is 63 m high.<|return|>"
    ),
    "a lone end": "The user asks. It could be 58 m.\n</think>\n\nIt is 63 m high.",
    "a lone end after a sentence": "It could be 58 m.</think>It is 63 m high.",
    "a lone end of Kimi": "58 m?\n◁/think▷It is 63 m high.",
    "a scratchpad": "<scratchpad>58 m?</scratchpad>\nIt is 63 m high.",
    "a reflection": "<reflection>58 m?</reflection>It is 63 m high.",
    "Gemma": "<|channel>thought\n58 m?<channel|>It is 63 m high.",
    "Command": (
        "<|START_THINKING|>58 m?<|END_THINKING|><|START_RESPONSE|>It is 63 m high.<|END_RESPONSE|>"
    ),
    "Apertus": "<|inner_prefix|>58 m?<|inner_suffix|>It is 63 m high.",
    "Granite": "Here is my thought process:\n58 m?\nHere is my response: It is 63 m high.",
    "an answer in marks": "<think>58 m?</think>\n<answer>\nIt is 63 m high.\n</answer>",
    "twice": "<think>a</think><think>b</think>It is 63 m high.",
}
WITHOUT = (
    ANSWER,
    "Models write <think> before they reason and </think> after it.",
    "Close the block with `</think>`, else all is reasoning.",
    'The marks are "<think>" and "</think>".',
    "Use this form:\n```\n<think>\n...\n</think>\nanswer\n```\nThen parse it.",
    "I think it is 63 m high. [THINKING is not shown.]",
    "<p>It is <b>63 m</b> high.</p>",
    "<thinker> is an element of our schema.",
    "<answer>It is 63 m high.</answer>",
    "In [1], think tanks are listed; see [THINKERS].",
    "Here is my thought on the tower: it is 63 m high.",
    "Reasoning: the plan says 63 m. It is 63 m high.",
    "",
)


@pytest.mark.parametrize("text", WITH.values(), ids=WITH)
def test_reasoning_is_found_and_left_out(text: str) -> None:
    assert mark_of(text)
    assert without_reasoning(text) == ANSWER


@pytest.mark.parametrize("text", WITHOUT)
def test_answers_about_such_marks_and_other_markup_are_no_reasoning(text: str) -> None:
    assert mark_of(text) is None
    assert without_reasoning(text) == text


def test_reasoning_that_does_not_end_is_the_whole_text() -> None:
    assert without_reasoning("<think>\nIt could be 58 m, or") == ""


@given(st.text())
def test_what_is_left_has_no_reasoning(text: str) -> None:
    for start, end in (("<think>", "</think>"), ("[THINK]", "[/THINK]")):
        assert mark_of(without_reasoning(f"{start}{text}{end}{text}")) is None


ROW: dict[str, Any] = {
    "question": "How high?",
    "answer": WITH["DeepSeek"],
    "contexts": [ANSWER],
    "reference_answers": [ANSWER],
}


def test_every_door_refuses_reasoning_with_two_options(tmp_path: Path) -> None:
    judge = "local:lexical"
    doors = (
        lambda: list(ce.read_samples([ROW])),
        lambda: ce.score([ROW], judges=judge),
        lambda: ce.score([ce.Sample(**ROW)], judges=judge),
        lambda: ce.measure([ROW], "exact_match"),
        lambda: ce.rate([ROW], judges="openai:m@http://127.0.0.1:9/v1"),
        lambda: ce.check(ROW, judge=judge),
        lambda: ce.check(ROW["answer"], [ANSWER], judge=judge),
    )
    for door in doors:
        with pytest.raises(ce.UsageError, match=r"--answer-reasoning drop .* keep"):
            door()
    assert "--answer-reasoning drop" in ce.doctor([ROW]).malformed[0]


def test_dropped_it_is_not_judged_and_counted_and_kept_it_is_a_part(tmp_path: Path) -> None:
    dropped = ce.score([ROW], judges="local:lexical", answer_reasoning="drop")
    assert dropped.results[0].sample.answer == ANSWER
    assert dropped["faithfulness"].mean == 1.0
    assert "the reasoning in 1 answer is left out" in " ".join(dropped.manifest.notes)
    kept = ce.measure([ROW], "exact_match", answer_reasoning="keep")
    assert kept["exact_match"].mean == 0.0
    checked = ce.check(ROW, judge="local:lexical", answer_reasoning="drop")
    assert checked.sample.answer == ANSWER


def test_the_commands_take_the_options_as_they_are_printed(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps([ROW]))
    measured = ("lexical", "a.json", "-m", "exact_match")
    refused = call(*measured, folder=tmp_path, exits=2)
    assert "--answer-reasoning drop" in refused.stderr
    for option in ("drop", "keep"):
        call(*measured, "--answer-reasoning", option, "-o", option, folder=tmp_path)
    assert ce.Run.load(tmp_path / "drop")["exact_match"].mean == 1.0
    assert ce.Run.load(tmp_path / "keep")["exact_match"].mean == 0.0


def test_recorded_replies_about_an_answer_with_reasoning_are_asked_about(tmp_path: Path) -> None:
    row = {"row": 1, "answer": ROW["answer"], "claim": ANSWER, "gpt": "Yes", "gold": "It is so."}
    (tmp_path / "a.jsonl").write_text(json.dumps(row))
    (tmp_path / "m.yaml").write_text(
        "{id: row, answer: answer, claim: claim, against: reference, reference_answers: gold,"
        " judges: {gpt: gpt}, forms: [first_word]}"
    )
    imported = ("import-replies", "a.jsonl", "--mapping", "m.yaml", "-o", "run")
    refused = call(*imported, folder=tmp_path, exits=2)
    assert "--answer-reasoning drop" in refused.stderr
    for option, answer in (("drop", ANSWER), ("keep", ROW["answer"])):
        call(*imported, "--answer-reasoning", option, "--overwrite", folder=tmp_path)
        (result,) = ce.Run.load(tmp_path / "run").results
        assert result.sample.answer == answer
