"""What a judge's probabilities change: corrections, doubtful claims, and agreement with people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from claimeval.runs.labeling import disputed_claims
from claimeval.testing import serve

SURE = 0.98
UNSURE = 0.55
"""The judge says `supported` of every claim; it is unsure of those that are wrong."""
NAMES = [f"Town {number} has a tower." for number in range(80)]
WRONG = set(NAMES[::4])


def respond(path: str, headers: Any, content: bytes) -> tuple[int, bytes]:
    body = json.loads(content)
    answers = []
    for question in body["questions"]:
        claim = question["instructions"].removeprefix("Claim: ")
        share = UNSURE if claim in WRONG else SURE
        rest = (1 - share) / 2
        shares = {"supported": share, "contradicted": rest, "not_found": rest}
        answers.append(
            {
                "type": "choice",
                "name": question["name"],
                "choice": "supported",
                "confidence": share,
                "probabilities": [{"value": v, "probability": p} for v, p in shares.items()],
            }
        )
    return 200, json.dumps({"model": body["model"], "answers": answers}).encode()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    samples = [
        {"id": f"s{number}", "question": f"q{number}?", "answer": name, "contexts": ["A document."]}
        for number, name in enumerate(NAMES)
    ]
    with serve(respond) as url:
        ce.score(
            samples,
            metrics=["faithfulness"],
            judges=f"decisions:gpt-6-luna@{url}",
            extractor="local:lexical",
            out=tmp_path / "run",
        )
    return tmp_path / "run"


def labels(run: Path, names: list[str]) -> Path:
    file = run.parent / "labels.jsonl"
    lines = [
        {
            "sample": f"s{NAMES.index(name)}",
            "text": name,
            "label": "not_found" if name in WRONG else "supported",
        }
        for name in names
    ]
    file.write_text("\n".join(map(json.dumps, lines)))
    return file


def test_a_correction_uses_the_probabilities_that_narrow_its_interval(run: Path) -> None:
    # 20 of 80 claims are wrong. The labels say nothing (all are supported); the probabilities say
    # all: corrected by 40 labels, the mean is .75, with a narrower interval than by people alone.
    found = ce.correct(run, labels=labels(run, NAMES[:40]))
    assert found.micro.control == "probability"
    assert found.micro.judged.value == 1.0, "the judges' number stays that of the run"
    assert found.micro.corrected.value == pytest.approx(0.75, abs=0.01)
    corrected = found.micro.corrected.reported
    people = found.micro.people.reported
    assert corrected
    assert people
    assert corrected[1] - corrected[0] < people[1] - people[0]
    assert "weight of the judges by the probabilities that they state" in str(found)


def test_probabilities_that_say_nothing_leave_the_labels(run: Path) -> None:
    upside_down = run.parent / "labels.jsonl"
    lines = [
        {
            "sample": f"s{number}",
            "text": name,
            "label": "supported" if name in WRONG else "not_found",
        }
        for number, name in enumerate(NAMES[:40])
    ]
    upside_down.write_text("\n".join(map(json.dumps, lines)))
    found = ce.correct(run, labels=upside_down)
    assert found.micro.control == "label"
    assert found.micro.corrected.value == pytest.approx(0.25, abs=0.01)


def test_the_claims_that_a_judge_is_least_sure_of_are_labeled_first(run: Path) -> None:
    first = disputed_claims(run, None, 20)
    assert {f"s{NAMES.index(name)}" for name in WRONG} == {item.sample for item in first.items}


def test_agreement_shows_how_often_people_confirm_a_probability(run: Path) -> None:
    found = ce.agreement(run, labels=labels(run, NAMES))
    (rater,) = [one for one in found.raters if one.auroc]
    assert rater.auroc
    assert rater.auroc.value == 1.0
    assert rater.calibration
    assert [(round(point.probability, 2), point.share) for point in rater.calibration.bins] == [
        (0.55, 0.0),
        (0.98, 1.0),
    ]
