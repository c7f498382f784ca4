"""The first sentence of a run: worlds in which we know what is wrong with how many answers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

import pytest

import claimeval as ce
from claimeval.evaluation.summary.headline import pairs_of, sample_sentence
from claimeval.testing import ScriptedJudge

ALL = "faithfulness,correctness,coverage,context_recall"
REFUSAL = "I cannot answer that."
UNREADABLE = "Nobody knows"
UNEXTRACTED = "Garbled"


class Group(NamedTuple):
    """So many samples of one shape; a fact is the number of an attribute of an office."""

    samples: int
    answer: Sequence[int | str] = (0, 1)
    """Facts by number; `x0` is fact 0 with another value; texts are sentences as they are."""
    documents: Sequence[int | str] = (0, 1, 2)
    gold: Sequence[int | str] = (0, 1)


ATTRIBUTES = "fee", "counter", "floor", "color", "size", "code"


def sentence(office: int, fact: int | str) -> str:
    if isinstance(fact, int):
        return f"The {ATTRIBUTES[fact]} of office {office} is {10 * office + fact}."
    if fact.startswith("x"):
        return f"The {ATTRIBUTES[int(fact[1:])]} of office {office} is wrong."
    return fact


def text(office: int, facts: Sequence[int | str]) -> str:
    return " ".join(sentence(office, fact) for fact in facts)


def samples(groups: Sequence[Group]) -> list[ce.Sample]:
    made = list[ce.Sample]()
    for group in groups:
        for _ in range(group.samples):
            office = len(made)
            made.append(
                ce.Sample(
                    id=f"s{office}",
                    question=f"What of office {office}?",
                    answer=text(office, group.answer),
                    contexts=(text(office, group.documents) or "Cats sleep.",),
                    reference_answers=(text(office, group.gold),) if group.gold else (),
                )
            )
    return made


def shown(prompt: str, tag: str) -> list[str]:
    """The entries of the last list with this tag in a prompt."""
    body = prompt.rsplit(f"<{tag}>\n", 1)[1].split(f"\n</{tag}>")[0]
    return [line for line in body.split("\n") if line]


def reply(prompt: str) -> str:
    """An exact judge: a claim is supported by its own words, and contradicted by another value."""
    if "<sentences>" in prompt:
        if UNEXTRACTED in prompt:
            return "no claims in JSON"
        texts = [json.loads(line.split(": ", 1)[1]) for line in shown(prompt, "sentences")]
        claims = [
            {"claim": of, "sentences": [i], "quote": of}
            for i, of in enumerate(texts, 1)
            if of != REFUSAL
        ]
        return json.dumps({"claims": claims})
    evidence = " ".join(json.loads(line.split(": ", 1)[1]) for line in shown(prompt, "evidence"))
    verdicts = {}
    for line in shown(prompt, "claims"):
        name, claim = line.split(": ", 1)
        claim = json.loads(claim)
        if UNREADABLE in claim:
            continue
        subject = re.escape(claim.rsplit(" is ", 1)[0])
        label = "contradicted" if re.search(rf"{subject} is ", evidence) else "not_found"
        if claim in evidence:
            label = "supported"
        cites = [] if label == "not_found" else ["d1"]
        verdicts[name] = {"reason": "", "evidence": cites, "label": label}
    return json.dumps({"verdicts": verdicts})


RIGHT = Group(1)
WORLDS = {
    "documents against the gold answer": (
        ALL,
        [Group(20, answer=(0, 1), documents=(0, 1), gold=("x0", 1))],
        "20 of 20 answers contradict the gold answer; for 20 questions the documents contradict"
        " it.",
    ),
    "one document in four against the gold answer": (
        ALL,
        [Group(5, answer=(0, 1), documents=(0, 1), gold=("x0", 1)), Group(15)],
        "5 of 20 answers contradict the gold answer; for 5 questions the documents contradict it.",
    ),
    "documents against the gold answer alone": (
        "context_recall",
        [Group(5, documents=(0, 1), gold=("x0", 1)), Group(15)],
        "For 15 of 20 questions the documents have all of the gold answer; for 5 questions the"
        " documents contradict it.",
    ),
    "long right answers": (
        ALL,
        [Group(20, answer=(0, 1, 2))],
        "20 of 20 answers are grounded in the documents and give all of the gold answer; none"
        " contradicts it.",
    ),
    "three of four claims in the documents, all right": (
        ALL,
        [Group(20, answer=(0, 1, 2, 3), documents=(0, 1, 2), gold=(0, 1, 2, 3))],
        "20 of 20 answers give all of the gold answer, and none contradicts it; for 20 questions"
        " the documents lack a part of it.",
    ),
    "partial answers": (
        ALL,
        [Group(8, answer=(0,)), Group(12)],
        "The model is the weak part: 8 of 20 answers lack a part of the gold answer.",
    ),
    "one contradiction among many": (
        ALL,
        [Group(1, answer=(0, "x1")), Group(29)],
        "1 of 30 answers contradicts the gold answer and the documents.",
    ),
    "contradictions of the documents alone": (
        ALL,
        [Group(3, answer=(0, 1, "x2")), Group(9)],
        "3 of 12 answers contradict the documents.",
    ),
    "contradictions of the gold answer alone": (
        ALL,
        [Group(2, answer=(0, "x1"), documents=(0, "x1")), Group(8)],
        (
            "2 of 10 answers contradict the gold answer;"
            " for 2 questions the documents contradict it."
        ),
    ),
    "two contradictions in an answer": (
        ALL,
        [Group(4, answer=("x0", "x1")), Group(16)],
        "4 of 20 answers contradict the gold answer and the documents (8 claims).",
    ),
    "refusals of a model that had the documents": (
        ALL,
        [Group(14, answer=(REFUSAL,)), Group(6)],
        "The model is the weak part: 14 of 20 answers lack a part of the gold answer (28 facts),"
        " 14 decline.",
    ),
    "refusals where retrieval found nothing": (
        ALL,
        [Group(14, answer=(REFUSAL,), documents=()), Group(6)],
        "14 of 20 answers lack a part of the gold answer (28 facts), 14 decline; for 14"
        " questions the documents lack a part of it.",
    ),
    "invented answers": (
        ALL,
        [Group(5, answer=(4, 5), documents=(), gold=(0, 1)), Group(20)],
        "5 of 25 answers lack a part of the gold answer (10 facts), 5 are made up (10 claims).",
    ),
    "an invented detail": (
        ALL,
        [Group(6, answer=(0, 1, 5)), Group(14)],
        "6 of 20 answers make claims that nothing supports.",
    ),
    "no references": (
        ALL,
        [Group(5, answer=(0, 5), gold=()), Group(6, gold=()), Group(1)],
        "5 of 12 answers make claims that nothing supports.",
    ),
    "no references, nothing wrong": (
        "faithfulness",
        [Group(9, gold=())],
        "9 of 9 answers are supported by the documents.",
    ),
    "five samples": (
        ALL,
        [Group(2, answer=(5,)), Group(3)],
        "2 of 5 answers lack a part of the gold answer (4 facts), 2 are made up.",
    ),
    "faithfulness alone": (
        "faithfulness",
        [Group(4, answer=(0, 1, 5)), Group(8)],
        "4 of 12 answers make claims that no document supports.",
    ),
    "coverage alone": (
        "coverage",
        [Group(3, answer=(0,)), Group(5)],
        "3 of 8 answers lack a part of the gold answer.",
    ),
    "correctness alone": (
        "correctness",
        [Group(4, answer=(0, 1, 5)), Group(4)],
        "None of 8 answers contradicts the gold answer; 16 of 20 claims are in it.",
    ),
    "refusals alone": (
        "faithfulness",
        [Group(4, answer=(REFUSAL,))],
        "4 of 4 answers decline.",
    ),
    "right without the documents": (
        "faithfulness,correctness",
        [Group(7, documents=()), Group(13)],
        "13 of 20 answers are supported by the documents; none contradicts the gold answer; 7 have"
        " claims that only the gold answer supports.",
    ),
    "retrieval alone": (
        "context_recall",
        [Group(3, documents=(0,)), Group(5)],
        "For 5 of 8 questions the documents have all of the gold answer.",
    ),
    "bounds": (
        ALL,
        [Group(10, answer=(0, 1, f"{UNREADABLE} it.")), Group(2, answer=(0, "x1"))],
        "10 of 58 claims are undecided. At least 2 of 12 answers contradict the gold answer and the"
        " documents.",
    ),
    "nothing can be read": (
        "faithfulness",
        [Group(3, answer=(f"{UNREADABLE} it.",))],
        "No result: nothing could be scored (3 unparsable).",
    ),
    "retrieval is the weak part": (
        ALL,
        [Group(20, answer=(0,), documents=(0,)), Group(10)],
        "Retrieval is the weak part: 20 of 30 answers lack a part of the gold answer; for 20 the"
        " documents lack a part.",
    ),
    "answers that are not there": (
        ALL,
        [Group(5, answer=()), Group(1, answer=("x0", 1)), Group(15)],
        "1 of 16 answers contradicts the gold answer and the documents, 5 questions without an"
        " answer.",
    ),
    "many claims without a label": (
        ALL,
        [Group(20, answer=(0, f"{UNREADABLE} it.", f"{UNREADABLE} me."))],
        "40 of 100 claims are undecided. At least 20 of 20 answers lack a part of the gold answer.",
    ),
    "answers whose claims are lost, the others right": (
        ALL,
        [Group(10, answer=(0, 1, f"{UNEXTRACTED} words.")), Group(10)],
        "10 of 20 answers could not be judged. 10 are grounded in the documents and give all of the"
        " gold answer; none contradicts it.",
    ),
    "answers whose claims are lost, and contradictions": (
        ALL,
        [
            Group(10, answer=(0, 1, f"{UNEXTRACTED} words.")),
            Group(2, answer=(0, "x1")),
            Group(3, answer=()),
        ],
        "10 of 12 answers could not be judged. At least 2 contradict the gold answer and the"
        " documents, 3 questions without an answer.",
    ),
    "lost claims and refusals": (
        "faithfulness",
        [Group(3, answer=(f"{UNEXTRACTED} words.",)), Group(2, answer=(REFUSAL,))],
        "2 of 5 answers decline, 3 could not be judged.",
    ),
    "a few undecided answers": (
        ALL,
        [Group(2, answer=(0, 1, f"{UNREADABLE} it.")), Group(28)],
        "28 of 30 answers are grounded in the documents and give all of the gold answer; none"
        " contradicts it, 2 are undecided.",
    ),
    "half of the gold answers": (
        ALL,
        [Group(10, gold=()), Group(10)],
        "10 of 20 answers are grounded in the documents and give all of the gold answer; none"
        " contradicts it, 10 have no gold answer.",
    ),
    "grounded, and retrieval": (
        "faithfulness,context_recall",
        [Group(5, answer=(0,), documents=(0,)), Group(15)],
        "20 of 20 answers are supported by the documents; for 5 questions the documents lack a part"
        " of the gold answer.",
    ),
    "right answers, more than there is room for": (
        ALL,
        [Group(9, documents=(0,)), Group(9), Group(3, answer=())],
        "18 of 18 answers give all of the gold answer, none contradicts it; for 9 the documents"
        " lack a part, 3 questions without an answer.",
    ),
    "answers that are not there, without claims of answers": (
        "coverage,context_recall",
        [Group(9, answer=()), Group(2, answer=(0,)), Group(9)],
        "2 of 11 answers lack a part of the gold answer, 9 questions without an answer.",
    ),
    "everything at once": (
        ALL,
        [
            Group(2, answer=("x0", 1)),
            Group(3, answer=(0, 1, "x2")),
            Group(4, answer=(0,)),
            Group(5, answer=(REFUSAL,)),
            Group(6, answer=(0, 1, 5)),
        ],
        "2 of 20 answers contradict the gold answer, 5 the documents, 9 lack a part of the gold"
        " answer (14 facts), 5 decline.",
    ),
}


@pytest.mark.parametrize("name", WORLDS)
def test_the_first_sentence_counts_what_was_judged(name: str) -> None:
    metrics, groups, expected = WORLDS[name]
    run = ce.score(samples(groups), judges=ScriptedJudge(reply=reply), metrics=metrics)
    assert run.headline == expected
    assert len(expected.split()) <= 25
    assert run.record.headline == expected


def yes_or_no(prompt: str) -> str:
    """The same judge, which is asked for yes or no."""
    text = reply(prompt)
    if '"label"' not in text:
        return text
    text = re.sub('"label": "supported"', '"label": "yes"', text)
    return re.sub('"label": "(contradicted|not_found)"', '"label": "no"', text)


BINARY = {
    "correctness alone": (
        "correctness",
        Group(20, answer=("x0", 1)),
        "20 of 40 claims are in the gold answer.",
    ),
    "documents against the gold answer": (
        "faithfulness,correctness",
        Group(20, answer=("x0", 1), documents=("x0", 1)),
        "20 of 20 answers are supported by the documents.",
    ),
    "all of the gold answer and its opposite": (
        "correctness,coverage",
        Group(20, answer=(0, 1, "x0")),
        "20 of 20 answers give all of the gold answer.",
    ),
    "the same from documents": (
        ALL,
        Group(20, answer=(0, 1, "x0"), documents=(0, 1, "x0")),
        "20 of 20 answers are grounded in the documents and give all of the gold answer.",
    ),
}
"""Worlds in which every answer contradicts the gold answer, which yes and no cannot tell."""


@pytest.mark.parametrize("name", BINARY)
def test_a_judge_that_says_yes_or_no_rules_out_no_contradiction(name: str) -> None:
    metrics, group, expected = BINARY[name]
    judge = ScriptedJudge(reply=yes_or_no)
    run = ce.score(samples([group]), judges=judge, metrics=metrics, assess_prompt="binary")
    assert run.headline == expected
    # Zero would be a number that nobody counted.
    assert run.record.contradicted == {}
    said = sample_sentence(
        run.results[0],
        pairs_of(run.manifest.rows),
        tells_contradictions=run.manifest.tells_contradictions,
    )
    assert "contradict" not in said


def test_an_undecided_claim_may_contradict_the_gold_answer() -> None:
    run = ce.score(
        samples([Group(4, answer=(0, f"{UNREADABLE} it."))]),
        judges=ScriptedJudge(reply=reply),
        metrics="correctness",
    )
    assert run.headline == (
        "4 of 8 claims are undecided. None of 4 answers is known to contradict the gold answer; 4"
        " of 4 claims are in it."
    )


def test_contradictions_are_compared_only_where_both_judges_can_tell_them() -> None:
    answers = samples([Group(20, answer=("x0", 1))])
    before = ce.score(
        answers,
        judges=ScriptedJudge(reply=yes_or_no),
        metrics="correctness",
        assess_prompt="binary",
    )
    after = ce.score(answers, judges=ScriptedJudge(reply=reply), metrics="correctness")
    assert after.record.contradicted == {"correctness": 20}
    found = ce.compare(before, after).against(1).contradicted
    assert (found.a, found.b, found.only_b) == (0, 0, 0)


def test_the_sentence_of_a_sample_says_that_its_claims_are_lost() -> None:
    made = samples([Group(1, answer=(0, 1, f"{UNEXTRACTED} words."))])
    judge = ScriptedJudge(reply=reply)
    said = []
    for metrics in ("faithfulness", ALL):
        run = ce.score(made, judges=judge, metrics=metrics)
        (result,) = run.results
        said.append(sample_sentence(result, pairs_of(run.manifest.rows)))
    assert said == [
        "The answer could not be judged: its claims are lost.",
        "The answer has all of the gold answer; the documents have all of the gold answer; other"
        " claims are lost.",
    ]


@pytest.mark.parametrize(("cluster", "cause"), [(None, True), ("office", False)])
def test_answers_of_one_cluster_name_no_cause(cluster: str | None, cause: bool) -> None:
    made = [
        sample.model_copy(update={"metadata": {"office": str(number < 10)}})
        for number, sample in enumerate(samples([Group(10, answer=(0,)), Group(14)]))
    ]
    judge = ScriptedJudge(reply=reply)
    options = ce.RunOptions(cluster=cluster)
    run = ce.score(made, judges=judge, metrics=ALL, options=options)
    said = "10 of 24 answers lack a part of the gold answer."
    assert run.headline == ("The model is the weak part: " * cause) + said


def test_documents_that_lack_one_fact_and_contradict_another_are_said_to_do_both() -> None:
    made = samples([Group(1, documents=("x0", 2), gold=(0, 1, 2))])
    run = ce.score(made, judges=ScriptedJudge(reply=reply), metrics="context_recall")
    assert sample_sentence(run.results[0], pairs_of(run.manifest.rows)) == (
        "The documents lack 1 and contradict 1 of 3 facts of the gold answer."
    )


def test_contradictions_by_evidence_of_the_user_are_counted() -> None:
    made = [
        sample.model_copy(update={"evidence": {"policy": sample.contexts or ()}})
        for sample in samples([Group(4, answer=(0, "x1")), Group(4)])
    ]
    judge = ScriptedJudge(reply=reply)
    run = ce.score(made, judges=judge, metrics="on_policy=answer:policy")
    assert run.headline == "4 of 16 claims are contradicted by policy; 12 are supported."


@pytest.mark.parametrize(
    ("rating", "said"),
    [
        ("no", "15 of 20 answers have no rating. 5 of 5 rated answers do not answer the question."),
        ("fully", "15 of 20 answers have no rating. 5 of 5 rated answers have no bad rating."),
    ],
)
def test_answers_without_a_rating_are_counted(rating: str, said: str) -> None:
    def rated(prompt: str) -> str:
        found = re.search(r"office (\d+)", prompt)
        if not found or int(found[1]) >= 5:
            return "I would rather not."
        return json.dumps({"reason": "", "noncommittal": False, "rating": rating})

    run = ce.rate(samples([Group(20)]), judges=ScriptedJudge(reply=rated), ask="relevance")
    assert run.headline == said


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("Half of it.", "3 of 5 answers have no bad rating, 2 lack a rating."),
        ("All WRONG.", "3 of 3 rated answers do not say what the gold answer says."),
    ],
)
def test_answers_that_lack_a_rating_are_not_said_to_have_none_that_is_bad(
    answer: str, said: str
) -> None:
    def rated(prompt: str) -> str:
        if "<references>" not in prompt:
            return json.dumps({"reason": "", "noncommittal": False, "rating": "fully"})
        if "office 3" in prompt or "office 4" in prompt:
            return "I would rather not."
        return json.dumps({"reason": "", "rating": "no" if "WRONG" in prompt else "yes"})

    run = ce.rate(
        samples([Group(5, answer=(answer,))]),
        judges=ScriptedJudge(reply=rated),
        ask="relevance,correctness",
    )
    assert run.headline == said


def test_questions_without_an_answer_are_named_beside_ratings() -> None:
    run = ce.rate(
        samples([Group(3), Group(4, answer=())]),
        judges=ScriptedJudge(reply=lambda _: '{"reason": "", "rating": "yes"}'),
        ask="correctness",
    )
    assert run.summary["rated_correctness"].n == 7
    assert run.headline == ("3 of 3 answers have no bad rating, 4 questions without an answer.")


@pytest.mark.parametrize(
    ("answerable", "said"),
    [
        (False, "6 of 6 answers have no bad rating."),
        (
            True,
            "6 of 6 answers do not answer the question, 6 commit themselves to nothing, 6 are given"
            " or declined where they should not be.",
        ),
    ],
)
def test_to_decline_a_question_without_an_answer_is_not_bad(answerable: bool, said: str) -> None:
    def rated(prompt: str) -> str:
        if '"kind"' in prompt:
            return json.dumps({"reason": "", "kind": "declines"})
        return json.dumps({"reason": "", "noncommittal": True, "rating": "no"})

    asked = [
        sample.model_copy(update={"is_answerable": answerable})
        for sample in samples([Group(6, answer=(REFUSAL,))])
    ]
    judge = ScriptedJudge(reply=rated)
    run = ce.rate(asked, judges=judge, ask="relevance,abstention")
    assert run.headline == said


def test_a_judge_that_compares_words_says_that_it_does() -> None:
    run = ce.score(
        samples([Group(2, answer=(0, 1)), Group(1, answer=(0, "Zebras run."))]),
        judges="local:lexical",
        metrics="faithfulness",
    )
    assert run.headline == "By shared words alone, 5 of 6 claims are in the documents."
