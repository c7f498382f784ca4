"""What a line of `results.jsonl` and one of `replies.jsonl.gz` hold, and that nothing is lost on the way."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from claimeval.runs import lines
from claimeval.runs.lines import Lines
from claimeval.types.errors import DataError
from claimeval.types.records import Assessment, Call, Claim, Document, Evidence, Sample, SampleResult, Score, Verdict

ANSWER = "The tower is 58 m high. It was built by Ana."
CONTEXTS = (
    Document(id="d-a", text="..."),
    Document(id="d-b", text="It is 58 m high."),
    Document(id="d-c", text="Ana."),
)
SAMPLE = Sample(
    id="q7", question="How high?", answer=ANSWER, contexts=CONTEXTS, reference_answers=("It is 58 m.", "58 metres")
)
CLAIMS = (
    Claim(id="answer-1", text=ANSWER[:23], of="answer", sentence_ids=(1,), span=(0, 23), grounding="exact"),
    Claim(id="answer-2", text="Ana built it.", of="answer", sentence_ids=(2,), span=(24, 44), grounding="fuzzy"),
    Claim(id="reference-1", text="metres", of="reference", span=(3, 9), grounding="exact", alternative=2),
    Claim(id="x", text="It is red.", of="answer", repeats=2, missing_numbers=("7",)),
)


def call(key: str, judge: str, part: str = "contexts", **fields: Any) -> Call:
    evidence = Evidence(part=part)
    return Call(key=key, step="assess", judge=judge, part="answer", evidence=evidence, prompt="p1", **fields)


def test_a_line_says_everything_once() -> None:
    said: dict[str, Any] = {"judge": "one", "prompt": "p1", "call": "k1"}
    verdicts = [
        Verdict(label="supported", **said, probability=0.9, explanation="so", cites=("d-b",)),
        Verdict(unassessed="unsure", **said, probability=0.5),
    ]
    result = SampleResult(
        sample=SAMPLE,
        claims=CLAIMS[:2],
        assessments=tuple(
            Assessment(
                subject=claim.id,
                question="support",
                evidence=Evidence(part="contexts"),
                label=verdict.label,
                unassessed=verdict.unassessed,
                probability=verdict.probability if verdict.label else None,
                verdicts=(verdict,),
            )
            for claim, verdict in zip(CLAIMS[:2], verdicts, strict=True)
        ),
        scores={"faithfulness": Score.share(1.0, hits=1, judged=1, total=2)},
        calls=(call("k1", "one", subjects=("answer-1", "answer-2"), reply="{}"),),
    )
    line, replies = lines.write(result)
    written = json.loads(line)
    assert written.pop("sample") == json.loads(SAMPLE.model_dump_json(exclude_defaults=True))
    assert written == {
        "claims": [
            {
                "of": "answer",
                "text": [None, "Ana built it."],
                "sentence_ids": [[1], [2]],
                "span": [[0, 23], [24, 44]],
                "grounding": ["exact", "fuzzy"],
            }
        ],
        "assessments": [
            {
                "evidence": "contexts",
                "labels": ["supported", None],
                "unassessed": [None, "unsure"],
                "verdicts": {
                    "judge": ["one"],
                    "call": [0],
                    "probability": [[0.9, 0.5]],
                    "explanation": [["so", None]],
                    "cites": [[[2], []]],
                },
            }
        ],
        "scores": {"faithfulness": {"value": 1.0, "hits": 1, "judged": 1, "total": 2}},
    }
    asked = json.loads(replies)
    assert (asked["sample"], [one["reply"] for one in asked["calls"]]) == ("q7", ["{}"])
    assert lines.read(line, replies) == result
    alone = lines.read(line)
    assert (alone.calls, alone.assessments[0].verdicts[0].call) == ((), None)
    assert alone.assessments[0].label == "supported"
    with pytest.raises(ValueError, match="those of 'other', not of 'q7'"):
        lines.read(line, b'{"sample":"other"}\n')


def panel(labels: Sequence[str | None], panel: str | None, **fields: Any) -> SampleResult:
    """The verdicts of several judges on one claim."""
    return SampleResult(
        sample=SAMPLE,
        claims=CLAIMS[:1],
        assessments=(
            Assessment(
                subject="answer-1",
                question="support",
                evidence=Evidence(part="contexts"),
                label=panel,
                unassessed=None if panel else "tie",
                verdicts=tuple(
                    Verdict(judge=f"j{n}", label=label, unassessed=None if label else "unsure")
                    for n, label in enumerate(labels)
                ),
                **fields,
            ),
        ),
    )


@pytest.mark.parametrize(
    ("labels", "label", "implied"),
    [
        (["supported"] * 3, "supported", {"agreement": 1.0, "probability": 1.0, "entropy": 0.0}),
        (["supported", "not_found"], None, {"agreement": None, "probability": 0.5, "entropy": 1.0}),
        (["not_found", None, "not_found"], "not_found", {"agreement": 1.0, "probability": 0.0, "entropy": 0.0}),
        (["contradicted", None], "contradicted", {"agreement": None, "probability": None, "entropy": None}),
    ],
)
def test_how_far_judges_agree_is_written_only_where_their_labels_do_not_say_it(
    labels: list[str | None], label: str | None, implied: dict[str, float | None]
) -> None:
    result = panel(labels, label, **implied)
    line = lines.write(result).line
    [column] = json.loads(line)["assessments"]
    assert not implied.keys() & column.keys()
    assert [lines.read(line, verdicts=verdicts).assessments[0].entropy for verdicts in (True, False)] == [
        implied["entropy"]
    ] * 2
    assert lines.read(line) == result
    counted_otherwise = panel(labels, label, agreement=0.75, probability=0.25, entropy=0.5)
    line = lines.write(counted_otherwise).line
    [column] = json.loads(line)["assessments"]
    assert (column["agreement"], column["probability"], column["entropy"]) == ([0.75], [0.25], [0.5])
    assert lines.read(line) == counted_otherwise


def test_judges_of_a_column_stand_together_with_what_differs_among_them() -> None:
    result = panel(["supported", None, "supported"], "supported", agreement=1.0, probability=1.0, entropy=0.0)
    [column] = json.loads(lines.write(result).line)["assessments"]
    assert column == {
        "evidence": "contexts",
        "labels": ["supported"],
        "verdicts": {
            "judge": ["j0", "j1", "j2"],
            "labels": [None, [None], None],
            "unassessed": [None, ["unsure"], None],
        },
    }


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
        call=rng.choice(["k0", "k1", None, "another run's"]),
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
                    evidence=rng.choice(places),
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
        assessments=assessments(Evidence(part="contexts"), Evidence(part="reference")),
        per_document=assessments(Evidence(part="contexts", document=2), Evidence(part="contexts", document=3)),
        orders=assessments(Evidence(part="contexts", order=1)),
        scores={
            "a": Score.share(None, because="no_evidence", hits=0, judged=0, total=rng.randint(0, 1)),
            "b": Score.share(0.5, bounds=(0.25, 0.75)),
            "c": Score(value=2.0, unit="grade", hits=1, judged=2, total=2, bounds=rng.choice([None, (0.0, 3.0)])),
            "d": Score.share(0.5, hits=1, judged=2, total=3, alternative=2),
        },
        calls=(call("k0", "one"), call("k1", "two", failed="timeout", message="late"), call("k1", "one")),
        details={"words": {"reference": [1, None]}},
    )


@pytest.mark.parametrize("seed", range(40))
def test_what_is_read_is_what_was_written(seed: int) -> None:
    result = drawn(seed)
    assert lines.read(*lines.write(result)) == result


def test_a_compressed_file_is_read_from_any_line_and_by_gzip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    for damaged, problem in ((content[:-9], "is cut off"), (content[:40] + b"?" + content[41:], "is damaged")):
        (tmp_path / "some.gz").write_bytes(damaged)
        with pytest.raises(DataError, match=problem):
            list(Lines(tmp_path / "some.gz"))


@pytest.mark.parametrize("cuts", [(0,), (1, 1), (3, 6), (2, 4, 4, 5, 11), (3, 12), tuple(range(13)), (7, 13)])
def test_parts_that_were_compressed_alone_join_to_the_file_that_was_compressed_whole(
    cuts: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MEMBER", 4)
    written = [b'{"n":%d,"text":"%s"}\n' % (n, b"x" * (n % 60)) for n in range(13)]
    plain = tmp_path / "plain"
    parts: list[lines.Compressed] = []
    for first, stop in pairwise((0, *cuts, 13)):
        plain.write_bytes(b"".join(written[first:stop]))
        packed = lines.compress(plain, path := tmp_path / f"{len(parts)}.gz", first=first)
        parts.append(lines.Compressed(path, packed, first, stop - first))
    plain.write_bytes(b"".join(written))
    lines.compress(plain, tmp_path / "whole.gz")
    assert b"".join(lines.join(parts)) == (tmp_path / "whole.gz").read_bytes()
