"""What a line of `results.jsonl` and one of `replies.jsonl.gz` hold, and that nothing is lost on
the way."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

from claimeval.runs import lines
from claimeval.runs.lines import Lines
from claimeval.types.errors import DataError
from claimeval.types.records import (
    Assessment,
    Call,
    Claim,
    Document,
    Evidence,
    Sample,
    SampleResult,
    Score,
    Verdict,
)

ANSWER = "The tower is 58 m high. It was built by Ana."
CONTEXTS = (
    Document(id="d-a", text="..."),
    Document(id="d-b", text="It is 58 m high."),
    Document(id="d-c", text="Ana."),
)
SAMPLE = Sample(
    id="q7",
    question="How high?",
    answer=ANSWER,
    contexts=CONTEXTS,
    reference_answers=("It is 58 m.", "58 metres"),
)
CLAIMS = (
    Claim(
        id="answer-1",
        text=ANSWER[:23],
        of="answer",
        sentences=(1,),
        span=(0, 23),
        grounding="exact",
    ),
    Claim(
        id="answer-2",
        text="Ana built it.",
        of="answer",
        sentences=(2,),
        span=(24, 44),
        grounding="fuzzy",
    ),
    Claim(
        id="reference-1",
        text="metres",
        of="reference",
        span=(3, 9),
        grounding="exact",
        alternative=2,
    ),
    Claim(
        grounding="ungrounded",
        id="x",
        text="It is red.",
        of="answer",
        repeats=2,
        missing_numbers=("7",),
    ),
)


def call(key: str, judge: str, part: str = "contexts", **fields: Any) -> Call:
    evidence = Evidence(part=part)
    return Call(
        key=key, step="assess", judge=judge, part="answer", evidence=evidence, prompt="p1", **fields
    )


def test_a_line_is_read_without_a_reader() -> None:
    verdicts = [
        Verdict(
            judge="one",
            label="supported",
            probability=0.9,
            explanation="so",
            cites=("d-b",),
            call=0,
        ),
        Verdict(judge="one", unassessed="unsure", probability=0.0, explanation="", call=0),
    ]
    result = SampleResult(
        sample=SAMPLE,
        claims=CLAIMS[:2],
        assessments=tuple(
            Assessment(
                subject=claim.id,
                question="support",
                against="contexts",
                label=verdict.label,
                unassessed=verdict.unassessed,
                probability=verdict.probability if verdict.label else None,
                verdicts=(verdict,),
            )
            for claim, verdict in zip(CLAIMS[:2], verdicts, strict=True)
        ),
        scores={"faithfulness": Score.counted(1, 1, 2)},
        calls=(call("k1", "one", subjects=("answer-1", "answer-2"), reply="{}"),),
    )
    line, replies = lines.write(result)
    about = {"question": "support", "against": "contexts"}
    assert json.loads(line) == {
        "sample": json.loads(SAMPLE.model_dump_json(exclude_defaults=True)),
        "scores": {
            "faithfulness": {
                "value": 1.0,
                "unit": "share",
                "hits": 1,
                "judged": 1,
                "total": 2,
                "bounds": [0.5, 1.0],
            }
        },
        "claims": [
            {
                "id": "answer-1",
                "of": "answer",
                "text": "The tower is 58 m high.",
                "sentences": [1],
                "span": [0, 23],
                "grounding": "exact",
            },
            {
                "id": "answer-2",
                "of": "answer",
                "text": "Ana built it.",
                "sentences": [2],
                "span": [24, 44],
                "grounding": "fuzzy",
            },
        ],
        "assessments": [
            {
                "subject": "answer-1",
                **about,
                "label": "supported",
                "verdicts": [
                    {
                        "judge": "one",
                        "label": "supported",
                        "probability": 0.9,
                        "explanation": "so",
                        "cites": ["d-b"],
                        "call": 0,
                    }
                ],
                "probability": 0.9,
            },
            {
                "subject": "answer-2",
                **about,
                "unassessed": "unsure",
                "verdicts": [
                    {
                        "judge": "one",
                        "unassessed": "unsure",
                        "probability": 0.0,
                        "explanation": "",
                        "call": 0,
                    }
                ],
            },
        ],
    }
    asked = json.loads(replies)
    assert (asked["sample"], [one["reply"] for one in asked["calls"]]) == ("q7", ["{}"])
    assert lines.read(line, replies) == result
    assert lines.read(line) == result.model_copy(update={"calls": ()})
    with pytest.raises(ValueError, match="those of 'other', not of 'q7'"):
        lines.read(line, b'{"sample":"other"}\n')
    with pytest.raises(ValueError, match="names a call that its sample does not have"):
        lines.read(line, b'{"sample":"q7"}\n')


def test_what_is_left_out_of_a_line_is_what_it_is_read_as() -> None:
    """A default that changes would change what old lines say: the lines below are those of
    today."""
    bare = SampleResult.of(Sample(id="s", question=""), scores={"a": Score.undefined(None)})
    line, replies = lines.write(bare)
    assert json.loads(line) == {
        "sample": {"id": "s", "question": ""},
        "scores": {"a": {"value": None, "unit": "share"}},
        "claims": [],
        "assessments": [],
    }
    assert json.loads(replies) == {"sample": "s"}
    unjudged = Assessment(
        subject="answer-1", question="support", against="contexts", label="not_found", verdicts=()
    )
    claim = Claim(id="answer-1", of="answer", text="", grounding="ungrounded")
    written = json.loads(
        lines.write(bare.model_copy(update={"claims": (claim,), "assessments": (unjudged,)})).line
    )
    assert written["claims"] == [
        {"id": "answer-1", "of": "answer", "text": "", "grounding": "ungrounded"}
    ]
    (assessment,) = written["assessments"]
    about = {"subject": "answer-1", "question": "support", "against": "contexts"}
    assert assessment == {**about, "label": "not_found", "verdicts": []}
    asked = Call(key="k", step="assess", judge="one", part="answer", reply="")
    (call_line,) = json.loads(lines.write(bare.model_copy(update={"calls": (asked,)})).replies)[
        "calls"
    ]
    assert call_line == {
        "key": "k",
        "step": "assess",
        "judge": "one",
        "part": "answer",
        "reply": "",
    }


@pytest.mark.parametrize(
    "given",
    [
        {"answer": "", "contexts": [], "is_answerable": False},
        {
            "answer": None,
            "contexts": None,
            "metadata": {"zero": 0, "no": False, "list": [], "text": "", "none": None},
        },
        {
            "contexts": [{"id": "", "text": "", "title": "", "score": 0.0}],
            "generator": "",
            "evidence": {"x": []},
        },
        {
            "reference_answers": ["0"],
            "reference_contexts": [""],
            "history": [{"role": "user", "content": ""}],
        },
    ],
)
def test_whatever_was_given_reads_back_as_given(given: dict[str, Any]) -> None:
    result = SampleResult.of(
        Sample.model_validate({"id": "0", "question": "", **given}),
        scores={"zero": Score.share(0.0), "none": Score.undefined("no_evidence", total=0)},
        details={"zero": 0, "no": False, "list": [], "text": "", "none": None},
    )
    assert lines.read(*lines.write(result)) == result
    written = json.loads(lines.write(result).line)["sample"]
    for name, value in given.items():
        assert written.get(name, None if value is None else "left out") == value, name


def drawn_verdict(rng: random.Random, judge: str, replicate: int) -> Verdict:
    label = rng.choice(["supported", "not_found", "partly", None])
    return Verdict(
        judge=judge,
        replicate=replicate,
        label=label,
        positive=rng.random() < 0.5 if label == "partly" else None,
        unassessed=None if label else rng.choice(["unsure", "timeout"]),
        probability=rng.choice([None, 0.0, 0.25]),
        explanation=rng.choice([None, "", "so \ud800"]),
        cites=rng.choice([(), ("d-b",), ("d-c", "elsewhere", "2")]),
        prompt="p1",
        call=rng.choice([0, 2, None]),
    )


def drawn(seed: int) -> SampleResult:
    """A result with everything that may be in one, in every order."""
    rng = random.Random(seed)

    def assessments(*places: Evidence) -> tuple[Assessment, ...]:
        made = []
        for claim in rng.sample(CLAIMS, rng.randint(0, 4)):
            asked = rng.choice([["one"], ["one", "two"], ["two", "one"], ["one", "one"], []])
            verdicts = tuple(drawn_verdict(rng, judge, i) for i, judge in enumerate(asked))
            label = rng.choice(["supported", None]) if verdicts else "not_found"
            made.append(
                Assessment(
                    subject=claim.id,
                    question=rng.choice(["support", "vital"]),
                    against=(at := rng.choice(places)).part,
                    document=at.document,
                    order=at.order,
                    verdicts=verdicts,
                    label=label,
                    unassessed=None if label else "tie",
                    tied=rng.random() < 0.2,
                    agreement=rng.choice([None, 0.5]),
                    probability=rng.choice([None, 0.0, 0.25]),
                    entropy=rng.choice([None, 0.0]),
                )
            )
        return tuple(made)

    return SampleResult(
        sample=SAMPLE,
        claims=CLAIMS,
        unextracted={"reference": "no_claims"},
        assessments=(
            *assessments(Evidence(part="contexts"), Evidence(part="reference")),
            *assessments(
                Evidence(part="contexts", document=2), Evidence(part="contexts", document=3)
            ),
            *assessments(Evidence(part="contexts", order=1)),
        ),
        scores={
            "a": Score.undefined("no_evidence", total=rng.randint(0, 1)),
            "b": Score.share(0.5, bounds=(0.25, 0.75)),
            "c": Score(
                value=2.0,
                unit="grade",
                hits=1,
                judged=2,
                total=2,
                bounds=rng.choice([None, (0.0, 3.0)]),
            ),
            "d": Score.share(0.5, hits=1, judged=2, total=3, alternative=2),
        },
        calls=(
            call("k0", "one"),
            call("k1", "two", failed="timeout", message="late"),
            call("k1", "one"),
        ),
        details={"words": {"reference": [1, None]}},
    )


@pytest.mark.parametrize("seed", range(40))
def test_what_is_read_is_what_was_written(seed: int) -> None:
    result = drawn(seed)
    assert lines.read(*lines.write(result)) == result


def test_a_compressed_file_is_read_from_any_line_and_by_gzip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MEMBER", 3)
    written = [b'{"n":%d,"text":"%s"}\n' % (n, b"x" * (n % 60)) for n in range(50)]
    (tmp_path / "plain").write_bytes(b"".join(written))
    lines.compress(tmp_path / "plain", tmp_path / "some.gz")
    assert gzip.decompress((tmp_path / "some.gz").read_bytes()) == b"".join(written)
    for chunk in (7, 1 << 18):
        monkeypatch.setattr(lines, "_CHUNK", chunk)
        packed = Lines(tmp_path / "some.gz")
        assert list(packed) == written
        assert [packed[n] for n in (49, 0, -1, 20, 21)] == [written[n] for n in (49, 0, 49, 20, 21)]
        assert packed[3:6] == written[3:6]
    content = (tmp_path / "some.gz").read_bytes()
    for damaged, problem in (
        (content[:-9], "is cut off"),
        (content[:40] + b"?" + content[41:], "is damaged"),
    ):
        (tmp_path / "some.gz").write_bytes(damaged)
        with pytest.raises(DataError, match=problem):
            list(Lines(tmp_path / "some.gz"))
