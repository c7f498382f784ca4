"""Replies under other requests' ids stop a run, whatever asked; nothing else does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import claimeval as ce
from benchmarks.loopback import Batching, Options, claim_judge
from claimeval.evaluation.exchanged import ExchangeCheck
from claimeval.types.bundled import bundled
from claimeval.types.errors import StoppedEarly
from claimeval.types.records import Claim, Sample, SampleResult
from tests.command_line import call
from tests.conftest import StartServer
from tests.shared_data import shared_data

NAMES = [
    "harbour",
    "museum",
    "library",
    "theatre",
    "station",
    "castle",
    "bakery",
    "stadium",
    "orchard",
    "foundry",
    "abbey",
    "mill",
    "quarry",
    "hostel",
    "cinema",
    "ferry",
    "tunnel",
    "market",
    "school",
    "brewery",
]


def texts(count: int) -> list[str]:
    """Answers of two sentences, of different things."""
    things = [f"{NAMES[n % 20]} {NAMES[(n // 20 + 7 * n) % 20]}" for n in range(count)]
    return [
        f"The {thing} near {NAMES[(n + 3) % 20]} opened in {1800 + n}. Its {NAMES[(n + 5) % 20]}"
        f" cost {n + 10} francs."
        for n, thing in enumerate(things)
    ]


def results(
    answers: Sequence[str], claims: Sequence[Sequence[str]], question: str = "What of {n}?"
) -> list[SampleResult]:
    """Results without verdicts, whose claims a model located by sentence numbers alone."""
    return [
        SampleResult(
            sample=Sample(id=f"s{n}", question=question.format(n=n), answer=answer),
            claims=tuple(
                Claim(id=f"answer-{i}", of="answer", text=text, grounding="ids_only")
                for i, text in enumerate(of_answer, 1)
            ),
            assessments=(),
        )
        for n, (answer, of_answer) in enumerate(zip(answers, claims, strict=True))
    ]


def split(answers: Sequence[str]) -> list[list[str]]:
    return [[f"{part}." for part in answer.rstrip(".").split(". ")] for answer in answers]


def checked(run: Sequence[SampleResult]) -> None:
    check = ExchangeCheck()
    for result in run:
        check.add(result)
    check.check(run)


@settings(max_examples=40)
@given(st.integers(10, 80), st.integers(1, 9), st.sampled_from(["What of {n}?", "What of it?"]))
def test_claims_rotated_by_any_number_are_found_and_those_in_place_are_not(
    count: int, by: int, question: str
) -> None:
    answers = texts(count)
    claims = split(answers)
    checked(results(answers, claims, question))
    moved = [claims[(n + by) % count] for n in range(count)]
    with pytest.raises(StoppedEarly, match="the replies belong to other requests"):
        checked(results(answers, moved, question))


def test_a_tenth_under_other_ids_is_enough_wherever_it_is_in_the_run() -> None:
    answers = texts(100)
    claims = split(answers)
    tail = [*claims[:88], *claims[89:], claims[88]]
    with pytest.raises(StoppedEarly, match=r"24 of 200 claims .* is in sample 's"):
        checked(results(answers, tail))
    few = [*claims[:95], *claims[96:], claims[95]]
    checked(results(answers, few))


def test_a_tenth_of_the_replies_is_enough_though_they_have_fewer_claims() -> None:
    """Six of sixty replies with one claim each, where the others have two."""
    answers = texts(60)
    claims = [[f"{part.strip('.')}." for part in answer.split(". ")] for answer in answers]
    exchanged = [of[:1] for of in claims[1:6] + claims[:1]]
    found = results(answers, [*exchanged, *claims[6:]])
    check = ExchangeCheck()
    for one in found:
        check.add(one)
    with pytest.raises(StoppedEarly, match="belong to other requests"):
        check.check(found)


@pytest.mark.parametrize("count", [2, 5, 20])
def test_two_replies_of_one_claim_that_have_each_others_ids_are_enough(count: int) -> None:
    answers = texts(count)
    claims = [of[:1] for of in split(answers)]
    checked(results(answers, claims))
    swapped = [claims[1], claims[0], *claims[2:]]
    with pytest.raises(StoppedEarly, match="2 of"):
        checked(results(answers, swapped))


def test_two_claims_of_other_texts_are_chance_where_the_others_are_in_place() -> None:
    """Sample 1 repeats a claim of sample 2, and sample 3 one of sample 4."""
    answers = texts(10)
    claims = [of[:1] for of in split(answers)]
    checked(results(answers, [claims[0], claims[2], claims[2], claims[4], *claims[4:]]))


def test_claims_that_a_model_invents_or_words_otherwise_are_no_exchange() -> None:
    answers = texts(40)
    invented = [
        [*of_answer, f"Nobody ever painted {n} walls purple."]
        for n, of_answer in enumerate(split(answers))
    ]
    checked(results(answers, invented))
    reworded = [["Opening took place.", "Francs were paid for it."] for _ in answers]
    checked(results(answers, reworded))


@pytest.mark.parametrize("form", ["The capital of {} is {}.", "{}'s capital is {}.", "In {}: {}."])
@pytest.mark.parametrize(
    "order",
    [
        [*range(1, 30), 0],
        [n + 1 - 2 * (n % 2) for n in range(30)],
        [1, 2, 0, *range(3, 30)],
        [n - n % 2 for n in range(30)],
        [0] * 30,
    ],
    ids=["rotated", "swapped in pairs", "a tenth", "every second twice", "one for all"],
)
def test_claims_that_differ_in_their_names_alone_are_found_under_other_ids(
    form: str, order: list[int]
) -> None:
    """Most words of such a claim are in its own text, whoever's it is."""
    begun = [f"{'bdfgklmnrs'[n % 10].upper()}{'aei'[n // 10]}" for n in range(30)]
    answers = [form.format(f"{name}nia", f"{name}burg") for name in begun]
    claims = [[answer] for answer in answers]
    checked(results(answers, claims))
    checked(results(answers, claims, "What of it?"))
    with pytest.raises(StoppedEarly, match="the replies belong to other requests"):
        checked(results(answers, [claims[n] for n in order]))


def test_short_answers_are_told_apart_by_their_questions() -> None:
    """The claim has words of the question, the answer has one alone."""
    asked = "What is the capital of land {n}?"
    answers = [f"{name.title()}ville." for name in NAMES]
    claims = [[f"The capital of land {n} is {answer}"] for n, answer in enumerate(answers)]
    checked(results(answers, claims, asked))
    with pytest.raises(StoppedEarly, match="in sample 's1'"):
        checked(results(answers, [*claims[1:], claims[0]], asked))


def test_answers_of_several_systems_to_one_question_may_share_claims() -> None:
    """An extractor that knows the answer adds what another system said."""
    pairs = [texts(20)[n // 2] if n % 2 else f"I know little of it, {n} facts." for n in range(40)]
    claims = [split(texts(20))[n // 2] for n in range(40)]
    run = [
        result.model_copy(
            update={"sample": result.sample.model_copy(update={"question": f"What of {n // 2}?"})}
        )
        for n, result in enumerate(results(pairs, claims))
    ]
    checked(run)


def test_checked_claims_of_people_are_in_place_and_found_when_they_are_not() -> None:
    path = shared_data("refchecker/visible.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    answers = [row["response"] for row in rows]
    claims = [[" ".join(claim["triplet"]) for claim in row["claims"]] for row in rows]
    checked(results(answers, claims))
    for size in (10, 60, len(rows)):
        moved = [*claims[1:size], claims[0]]
        with pytest.raises(StoppedEarly):
            checked(results(answers[:size], moved))


@pytest.mark.parametrize("count", [10, 60])
def test_a_batch_whose_results_are_rotated_by_one_stops_without_a_score(
    count: int, tmp_path: Path, start_server: StartServer
) -> None:
    server = start_server(Options(batching=Batching(rotated=True)), judge=claim_judge.answer)
    with (tmp_path / "samples.jsonl").open("w") as file:
        for n, answer in enumerate(texts(count)):
            row = {"id": f"s{n}", "question": f"What of {n}?", "answer": answer}
            file.write(json.dumps({**row, "contexts": [answer]}) + "\n")
    typed = ("score", "samples.jsonl", "-j", f"openai:judge@{server.url_for('openai')}")
    done = call(*typed, "-m", "faithfulness", "-o", "run", "--batch", folder=tmp_path, exits=3)
    assert "belong to other" in done.stderr
    assert "faithfulness" not in done.stdout
    assert not (tmp_path / "run" / "summary.json").exists()


def test_a_file_of_replies_whose_rows_were_shifted_is_not_imported(tmp_path: Path) -> None:
    answers = texts(20)
    claims = split(answers)

    def rows(by: int) -> str:
        lines = [
            {
                "id": f"s{n}",
                "question": f"What of {n}?",
                "answer": answer,
                "claims": [{"text": text, "reply": "yes"} for text in claims[(n + by) % 20]],
                "judge": "m",
            }
            for n, answer in enumerate(answers)
        ]
        return "\n".join(map(json.dumps, lines))

    mapping = {
        "id": "id",
        "question": "question",
        "answer": "answer",
        "claims": "claims",
        "claim": "text",
        "judge": "judge",
        "reply": "reply",
        "against": "contexts",
        "forms": "word",
    }
    for by in (0, 1):
        (tmp_path / f"{by}.jsonl").write_text(rows(by))
    ce.import_replies(tmp_path / "0.jsonl", mapping=mapping)
    with pytest.raises(StoppedEarly, match="rows were shifted"):
        ce.import_replies(tmp_path / "1.jsonl", mapping=mapping)


def test_the_demo_is_in_place_for_every_extractor(tmp_path: Path) -> None:
    options = ce.RunOptions(cache=tmp_path)
    run = ce.score(bundled("demo.jsonl"), judges="local:lexical", options=options)
    checked(list(run.results))
