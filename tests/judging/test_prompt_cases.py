"""Sixty planted cases and eight scripted judges: each planted fault is named by a measure, with every prompt."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import cache

import pytest

from benchmarks.prompt_cases import (
    ASSESS,
    EXTRACT,
    FAULTS,
    LANGUAGES,
    Case,
    Shares,
    cases,
    measure,
    of_script,
    request,
    run,
    scripted,
    shipped,
)
from claimeval.judging import extract
from claimeval.judging.prompts import Prompt, languages
from claimeval.types.chat_format import read_chat, write_chat
from claimeval.types.requests import Failure, Judge

JUDGE = Judge(name="scripted", model="scripted:scripted")
PROMPTS = {prompt.name: prompt for prompt in shipped()}
ENGLISH = [name for name in PROMPTS if "." not in name]
"""Scripted judges read no prompt: in another language they do the same, and what could differ is the contract."""
NAMED_BY: dict[str, dict[str, str]] = {
    "extract": {
        "copies the format line": "found",
        "drops the last claim": "found",
        "swaps ids": "places",
        "ignores conditions": "found",
        "guesses references": "right",
        "answers from knowledge": "right",
        "supports everything": "right",
    },
    "assess": {
        "copies the format line": "read",
        "drops the last claim": "answered",
        "swaps ids": "accuracy",
        "answers from knowledge": "accuracy",
        "supports everything": "contradicted",
    },
}
"""The measure that falls most clearly for a fault. Conditions and references are lost before claims are assessed."""


@cache
def measured(name: str, fault: str) -> dict[str, Shares]:
    return asyncio.run(run(PROMPTS[name], JUDGE, of_script(fault)))


def shares(prompt: Prompt, fault: str, point: str = "") -> dict[str, float]:
    return {name: hits / of for name, (hits, of) in measured(prompt.name, fault)[point].items() if of}


def test_there_are_four_cases_a_point_half_of_them_german_and_two_in_each_language_of_the_prompts() -> None:
    core = [case for case in cases() if case.point != LANGUAGES]
    assert len(core) == 60
    assert set(Counter(case.point for case in core).values()) == {4}
    assert set(Counter((case.point, case.language) for case in core).values()) == {2}
    assert Counter(case.language for case in cases() if case.point == LANGUAGES) == dict.fromkeys(languages(), 2)


@pytest.mark.parametrize("name", [name for name in PROMPTS if "." in name])
def test_a_prompt_in_its_own_language_shows_what_is_right_and_what_is_not(name: str) -> None:
    prompt, language = PROMPTS[name], name.rpartition(".")[2]
    assert set(shares(prompt, "perfect", language).values()) == {1.0}
    faults = ("drops the last claim", "swaps ids", "answers from knowledge", "supports everything")
    for fault in (*faults, *(("ignores conditions",) if prompt.step == "extract" else ())):
        assert shares(prompt, fault, language)[NAMED_BY[prompt.step][fault]] < 1


@pytest.mark.parametrize("case", [case for case in cases() if case.point == LANGUAGES and case.step == "extract"])
def test_claims_in_other_digits_and_scripts_are_grounded(case: Case) -> None:
    prompt = PROMPTS[f"extract/atomic.{case.language}"]
    completion = read_chat(write_chat(scripted(case, prompt, "perfect"), "m"))
    read = extract.read(completion, request(case, prompt, JUDGE), "answer", case.fields["question"])
    assert not isinstance(read, Failure)
    assert all(claim.grounding != "ungrounded" and not claim.missing_numbers for claim in read)


@pytest.mark.parametrize("name", PROMPTS)
def test_a_perfect_judge_has_everything_right(name: str) -> None:
    prompt = PROMPTS[name]
    found = shares(prompt, "perfect")
    assert set(found.values()) == {1.0}
    assert set(found) <= set(EXTRACT if prompt.step == "extract" else ASSESS)


@pytest.mark.parametrize("name", ENGLISH)
@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "perfect"])
def test_a_planted_fault_is_named_by_a_measure(name: str, fault: str) -> None:
    prompt = PROMPTS[name]
    measure = NAMED_BY[prompt.step].get(fault)
    found = shares(prompt, fault)
    if measure == "places" and prompt.reply == "bullets":
        assert "places" not in found  # bullets name no sentences
    elif measure:
        assert found[measure] <= 0.97
    else:
        assert set(found.values()) == {1.0}


PLANTED = {
    ("extract", "ignores conditions"): ("bare", ("conditions", "attribution", "lists", "one fact")),
    ("extract", "guesses references"): ("guessed", ("fragment", "references")),
    ("extract", "answers from knowledge"): ("known", ("grounded",)),
    ("assess", "answers from knowledge"): ("known", ("documents", "hedges")),
}
"""The field of a case that holds what a judge with a fault writes there, and the points that have it."""


@pytest.mark.parametrize(("step", "fault"), PLANTED)
@pytest.mark.parametrize("language", ["en", "de"])
def test_a_fault_is_planted_and_seen_in_both_languages(step: str, fault: str, language: str) -> None:
    field, points = PLANTED[step, fault]
    of_language = [case for case in cases() if case.language == language and case.point != LANGUAGES]
    planted = [case for case in of_language if case.step == step and field in case.fields]
    assert {case.point for case in planted} == set(points)
    prompt = PROMPTS[f"{step}/{'complete' if step == 'extract' else 'rules'}"]
    for case in planted:
        asked = request(case, prompt, JUDGE)
        written = measure(case, prompt, asked, read_chat(write_chat(scripted(case, prompt, fault), "m")))
        assert any(hits < of for hits, of in written.values()), case


@pytest.mark.parametrize("name", [name for name in PROMPTS if name.startswith("assess/")])
def test_a_copied_example_is_never_a_label(name: str) -> None:
    assert shares(PROMPTS[name], "copies the format line")["answered"] == 0


def test_only_the_prompt_that_asks_for_unclear_references_counts_them() -> None:
    counted = {name for name, prompt in PROMPTS.items() if "unclear" in shares(prompt, "perfect")}
    assert counted == {"extract/complete"}
    assert shares(PROMPTS["extract/complete"], "guesses references", "references")["unclear"] == 0


@pytest.mark.parametrize("name", PROMPTS)
def test_what_is_judged_is_no_part_of_a_prompt(name: str) -> None:
    """A prompt whose examples are the cases would be tested on what it was told."""
    prompt = PROMPTS[name]

    def texts(case: Case) -> list[str]:
        return [case.fields["text"]] if case.step == "extract" else list(case.fields["documents"])

    mine = [case for case in cases() if case.step == prompt.step]
    judged = [text for case in mine for text in (*texts(case), *case.fields["claims"]) if len(text) > 12]
    assert not [text for text in judged if text in prompt.source]
    shown = request(mine[0], prompt, JUDGE).messages[-1].content
    assert texts(mine[0])[0] in shown
