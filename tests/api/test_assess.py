"""Given claims against given evidence: what is asked, in how many calls, and what comes back."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from benchmarks.loopback import ThreadHandle
from claimeval.api.assess import Evidence
from tests.api.test_claims import spec

CLAIMS = [
    {"id": "age", "text": "Rome is old.", "label": "supported"},
    {"id": "size", "text": "Paris is large.", "label": "no"},
    {"id": "river", "text": "The Seine flows through Paris."},
]
EVIDENCE = ["Rome is old.", "The Seine flows through Paris."]


def test_claims_with_the_same_evidence_share_calls_and_keep_their_ids(
    server: ThreadHandle,
) -> None:
    """Twelve claims are asked in calls of five, as in any run of a judge whose calls hold five."""
    claims = [{"id": f"c{i}", "text": f"Fact {i} holds."} for i in range(12)]
    run = ce.assess(claims, EVIDENCE, judges=spec(server), claims_per_call=5)
    (result,) = run
    assert [call.step for call in result.calls] == ["assess"] * 3
    assert sorted(len(call.subjects) for call in result.calls) == [4, 4, 4]
    assert [claim.id for _, claim in run.claims] == [f"c{i}" for i in range(12)]
    assert {assessment.against for assessment in result.assessments} == {"evidence"}
    assert (run["support"].total, run.manifest.prompts[0].step) == (12, "assess")


def test_each_claim_may_have_its_own_evidence(server: ThreadHandle) -> None:
    evidence = {"age": ["Rome is old."], "size": "Paris is large.", "river": EVIDENCE}
    run = ce.assess(CLAIMS, evidence, judges=spec(server))
    assert {result.id: len(result.sample.evidence["evidence"]) for result in run} == {
        "age": 1,
        "size": 1,
        "river": 2,
    }
    rows = [{**claim, "evidence": evidence[str(claim["id"])]} for claim in CLAIMS]
    assert ce.assess(rows, judges=spec(server)) == run


def test_claims_may_be_texts_or_the_rows_of_a_file(server: ThreadHandle, tmp_path: Path) -> None:
    file = tmp_path / "claims.jsonl"
    file.write_text("".join(json.dumps(claim) + "\n" for claim in CLAIMS))
    of_file = ce.assess(file, EVIDENCE, judges=spec(server))
    of_rows = ce.assess(CLAIMS, EVIDENCE, judges=spec(server))
    assert list(of_file) == list(of_rows)
    assert of_file.manifest.data.path == str(file)
    texts = ce.assess([str(claim["text"]) for claim in CLAIMS], EVIDENCE, judges=spec(server))
    assert [claim.id for _, claim in texts.claims] == ["1", "2", "3"]


def test_a_data_frame_may_have_empty_cells(server: ThreadHandle) -> None:
    import pandas

    frame = pandas.DataFrame([{"text": "Rome is old.", "label": "yes"}, {"text": "It is new."}])
    (result,) = ce.assess(frame, EVIDENCE, judges=spec(server))
    assert [claim.label for claim in result.sample.claims] == ["supported", None]


def test_labels_of_the_rows_are_compared_with_the_judges(tmp_path: Path) -> None:
    """The judge supports one of two claims with a label and is right both times."""
    run = ce.assess(
        CLAIMS,
        EVIDENCE,
        judges="local:lexical",
        out=tmp_path / "run",
    )
    for one in (run, ce.Run.load(tmp_path / "run"), run.in_memory()):
        (rater,) = ce.agreement(one).raters
        assert (rater.compared, rater.same.value) == (2, 1.0)
    lines = (tmp_path / "run" / "labels.jsonl").read_text().splitlines()
    written = [json.loads(line) for line in lines]
    assert [(row["claim_id"], row["label"]) for row in written] == [
        ("age", "supported"),
        ("size", "not_found"),
    ]


def test_a_plan_counts_the_calls_and_asks_nobody(server: ThreadHandle) -> None:
    assert ce.plan(ce.assess, CLAIMS, EVIDENCE, judges=spec(server)).calls == (1, 1)
    assert server.exchanges() == []


def test_a_run_of_given_claims_can_be_judged_again_and_awaited(server: ThreadHandle) -> None:
    run = asyncio.run(ce.aassess(CLAIMS, EVIDENCE, judges=spec(server)))
    again = ce.rejudge(run, assess_prompt="binary")
    assert [claim.id for _, claim in again.claims] == ["age", "size", "river"]
    assert run.headline.endswith("are supported by the evidence.")
    assert not [note for note in run.notes if "xtract" in note]


def test_evidence_by_id_is_for_claims_that_have_none_and_ids_may_be_numbers() -> None:
    run = ce.assess(
        [
            {"id": 1, "text": "Rome is old.", "evidence": ["Rome is old."]},
            {"id": 2, "text": "Oslo is cold."},
        ],
        {2: "Oslo is cold."},  # type: ignore[dict-item]  # as a table has them
        judges="local:lexical",
    )
    assert [assessment.label for assessment in run.results[0].assessments] == ["supported"]
    assert [result.sample.evidence["evidence"][0].text for result in run.results] == [
        "Rome is old.",
        "Oslo is cold.",
    ]


@pytest.mark.parametrize(
    ("claims", "evidence", "message"),
    [
        ([], EVIDENCE, "claims: there is none"),
        (["Rome is old."], None, "claim 1: claim '1' has no evidence"),
        (["Rome is old."], {"9": "Rome."}, "claim '1' has no evidence; `evidence` has none"),
        (["Rome is old."], {"1": "Rome.", "9": "x"}, "no claim has the id '9'"),
        (["..."], EVIDENCE, "claim 1: no claim"),
        ([{"claims": "Rome is old."}], EVIDENCE, "claim 1: no claim"),
        (["Rome is old."], [3], "evidence, document 1: no text in int"),
        ([CLAIMS[0], CLAIMS[0]], EVIDENCE, "claims 1 and 2 have the id 'age'"),
        ([{"text": "Rome is old.", "evidence": ["x"]}], EVIDENCE, "gives some to all; leave one"),
        (
            [{"id": "a", "text": "Rome is old.", "evidence": ["x"]}],
            {"a": "y"},
            "claim 1: the claim has its evidence, and `evidence` gives some to it; leave one out",
        ),
        ("Rome is old.", EVIDENCE, "give a list of texts"),
    ],
)
def test_what_cannot_be_judged_is_refused_before_any_call(
    server: ThreadHandle, claims: Any, evidence: Evidence | None, message: str
) -> None:
    with pytest.raises((ce.UsageError, ce.DataError), match=message):
        ce.assess(claims, evidence, judges=spec(server))
    assert server.exchanges() == []


def test_a_label_that_is_none_is_refused(server: ThreadHandle) -> None:
    with pytest.raises(ce.DataError, match="claim 1: unknown label 'perhaps so'"):
        ce.assess([{"text": "Rome is old.", "label": "perhaps so"}], EVIDENCE, judges=spec(server))
