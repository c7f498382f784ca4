"""Recorded replies become samples, claims and verdicts by a mapping."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from claimeval.data.recorded import RecordedReplies, field_map, read_mapping
from claimeval.data.result_files import JudgedSample, RecordedResults
from claimeval.types.errors import DataError, NoteWarning, UsageError
from claimeval.types.scales import BINARY

BASE: dict[str, Any] = {
    "id": "row",
    "question": "question",
    "answer": "answer",
    "claim": "answer",
    "against": "reference",
}
BY_NAME: dict[str, Any] = {
    **BASE,
    "reference_answers": "gold",
    "human_label": "human",
    "forms": ["first_word", "statement"],
}
BY_NAME |= {
    "judges": {
        "gpt-4": "judges.gpt-4.raw",
        "said": {"reply": "judges.gpt-4.verdict", "forms": ["word"]},
    }
}
ROWS: list[dict[str, Any]] = [
    {
        "row": 0,
        "question": "How long?",
        "gold": ["9 km", "9,000 m"],
        "answer": "9 km",
        "human": "Yes",
        "judges": {"gpt-4": {"raw": "Yes, the candidate is correct.", "verdict": "Yes"}},
    },
    {
        "row": 1,
        "question": "Who?",
        "gold": ["Ana"],
        "answer": "Ben",
        "human": "No",
        "judges": {"gpt-4": {"raw": "No, the candidate is correct.", "verdict": "No"}},
    },
]


def judged(tmp_path: Path, rows: list[Any], mapping: dict[str, Any]) -> RecordedResults:
    path = tmp_path / "replies.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return RecordedReplies(path, field_map(mapping)).recorded_results()


def labels(sample: JudgedSample) -> list[list[str | None]]:
    """Per claim what its verdicts come to, the reason where there is no label."""
    return [[v.unassessed or v.support for v in a.verdicts] for a in sample.result.assessments]


def test_replies_by_the_names_of_judges(tmp_path: Path) -> None:
    found = judged(tmp_path, ROWS, BY_NAME)
    assert [judge.model for judge in found.judges] == ["imported:gpt-4", "imported:said"]
    assert found.scale == BINARY
    assert [metric.name for metric in found.metrics] == ["correctness"]
    one, two = found.samples()
    assert labels(one) == [["supported", "supported"]]
    assert labels(two) == [["unparsable", "not_found"]]
    assert one.result.sample.reference_answers == ("9 km", "9,000 m")
    assert [(h.claim_id, h.label) for h in (*one.human, *two.human)] == [
        ("answer-1", "supported"),
        ("answer-1", "not_found"),
    ]


def test_a_reply_is_kept_whole_beside_why_it_was_refused(tmp_path: Path) -> None:
    _, two = judged(tmp_path, ROWS, BY_NAME).samples()
    call = two.result.calls[0]
    assert (call.reply, call.failed, call.reused) == (
        "No, the candidate is correct.",
        "unparsable",
        True,
    )
    assert call.message == "the reply says both not_found and supported"
    assert two.forms == (("gpt-4", "refused"), ("said", "word"))


def test_replies_in_a_list_of_objects_are_repeats_where_a_judge_stands_twice(
    tmp_path: Path,
) -> None:
    mapping = {
        "id": "doc",
        "claim": "summary",
        "answer": "summary",
        "contexts": "document",
        "against": "contexts",
        "items_field": "outputs",
        "judge": "model",
        "reply": "raw",
        "forms": "answer",
    }
    outputs = [
        {"model": "m", "raw": "Answer: No"},
        {"model": "n", "raw": "Answer: Yes"},
        {"model": "m", "raw": "?"},
    ]
    found = judged(
        tmp_path,
        [{"doc": 1, "document": "It rained.", "summary": "Sun.", "outputs": outputs}],
        mapping,
    )
    assert ([judge.name for judge in found.judges], found.replicates) == (["m", "n"], 2)
    (sample,) = found.samples()
    (assessment,) = sample.result.assessments
    assert [(v.judge, v.replicate, v.label) for v in assessment.verdicts] == [
        ("m", 0, "not_found"),
        ("n", 0, "supported"),
        ("m", 1, None),
    ]
    assert [metric.name for metric in found.metrics] == ["faithfulness"]
    named = judged(
        tmp_path,
        [{"doc": 1, "document": None, "summary": "Sun.", "outputs": outputs}],
        {**mapping, "judge": ["model", "raw"]},
    )
    assert [judge.name for judge in named.judges] == ["m / Answer: No", "n / Answer: Yes", "m / ?"]


GRADED = {
    "id": "query",
    "question": "query",
    "claim": "doc",
    "claim_id": "doc",
    "of": "passages",
    "against": "question",
    "judges": ["a", "b", "c"],
    "replies": "grades",
    "forms": "number",
    "grades": {"lowest": 0, "highest": 3, "positive_from": 2},
    "human_label": "human",
}


def test_grades_in_the_order_of_a_list_of_judges(tmp_path: Path) -> None:
    rows = [
        {"query": "q1", "doc": "d1", "human": 3, "grades": ["3", 2, "1"]},
        {"query": "q1", "doc": "d2", "human": 0, "grades": ["4", None, "-1"]},
        {"query": "q2", "doc": "d1", "human": None, "grades": ["0", "", "relevant"]},
    ]
    one, two = judged(tmp_path, rows, GRADED).samples()
    assert labels(one) == [
        ["supported", "supported", "not_found"],
        ["unparsable", "incomplete", "unparsable"],
    ]
    assert [v.label for v in one.result.assessments[0].verdicts] == ["3", "2", "1"]
    assert labels(two) == [["not_found", "incomplete", "unparsable"]]
    assert [(h.claim_id, h.grade) for h in one.human] == [("d1", 3), ("d2", 0)]
    assert two.human == ()


def test_a_row_may_be_a_single_reply(tmp_path: Path) -> None:
    rows = [
        {"row": "s", "answer": "A.", "judge": judge, "text": text}
        for judge, text in (("x", "Yes."), ("y", "No."), ("x", "No."))
    ]
    rows.append({"row": "s", "answer": "B.", "judge": "x", "text": "Yes."})
    mapping = {**BASE, "judge": "judge", "reply": "text", "forms": "first_word"}
    (sample,) = judged(
        tmp_path, rows, {k: v for k, v in mapping.items() if k != "question"}
    ).samples()
    assert [claim.text for claim in sample.result.claims] == ["A.", "B."]
    assert labels(sample) == [["supported", "not_found", "not_found"], ["supported"]]


def test_words_of_the_mapping_come_first(tmp_path: Path) -> None:
    rows = [{"row": 1, "answer": "A.", "text": "<answer>partially_supported</answer>", "by": "x"}]
    mapping = {
        "id": "row",
        "claim": "answer",
        "against": "contexts",
        "judge": "by",
        "reply": "text",
    }
    own = {**mapping, "forms": ["tag:answer"], "words": {"partially supported": "supported"}}
    assert labels(next(judged(tmp_path, rows, own).samples())) == [["supported"]]


def test_rows_of_one_sample_stand_together(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 3: rows of sample '0' are not consecutive"):
        judged(tmp_path, [*ROWS, ROWS[0]], BY_NAME)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "number"}, "line 1: no field 'number'"),
        ({"judges": ["a"], "replies": "gold"}, "expected 1 replies"),
        (
            {"judges": None, "judge": "row", "reply": "x", "items_field": "gold"},
            "expected a list of objects",
        ),
    ],
)
def test_a_file_that_does_not_fit_the_mapping_is_refused(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        judged(tmp_path, ROWS, {**BY_NAME, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"forms": []}, "forms"),
        ({"form": "first_word"}, "form: is not a known name"),
        ({"judges": None}, "one of these is needed for the replies"),
        ({"items_field": "x"}, "one of these is needed for the replies"),
        ({"words": {"ja": "yes"}}, "words.ja"),
        ({"claim": None}, "claim"),
        ({"against": "policy.2"}, "'policy.2' looks like document 2 of 'policy'"),
    ],
)
def test_a_bad_mapping_is_refused_in_words(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        field_map({**BY_NAME, **change})


def test_a_mapping_is_a_yaml_file(tmp_path: Path) -> None:
    path = tmp_path / "mapping.yaml"
    path.write_text(
        "id: a\nclaim: b\nagainst: contexts\njudge: c\nreply: d\nforms: first_word\n",
        encoding="utf-8",
    )
    assert read_mapping(path).forms == ("first_word",)
    path.write_text("id: [\n", encoding="utf-8")
    with pytest.raises(UsageError, match="is not YAML"):
        read_mapping(path)
    with pytest.raises(UsageError, match=r"no mapping: .*none\.yaml does not exist"):
        read_mapping(tmp_path / "none.yaml")


def test_rows_that_repeat_a_claim_text_are_counted_unless_claims_have_ids(tmp_path: Path) -> None:
    """Two judges, a row each: the second judge's row is no repeat; of the five rows only the last
    is one."""
    rows = [
        {"id": "q", "claim": claim, "answer": "a", "judge": judge, "reply": "Yes", "n": n}
        for n, (claim, judge) in enumerate(
            [
                ("It is old.", "a"),
                ("It is old.", "b"),
                ("It is red.", "a"),
                ("It is red.", "b"),
                ("It is old.", "a"),
            ]
        )
    ]
    mapping: dict[str, Any] = {
        "id": "id",
        "claim": "claim",
        "answer": "answer",
        "question": "answer",
        "against": "contexts",
    }
    mapping |= {"judge": "judge", "reply": "reply", "forms": ["word"]}
    assert judged(tmp_path, rows, mapping).repeated == 1
    assert judged(tmp_path, rows, {**mapping, "claim_id": "n"}).repeated == 0


def test_python_warns_of_equal_claims_that_are_merged_and_notes_them_in_the_run(
    tmp_path: Path,
) -> None:
    replies = [("X is y.", "yes"), ("X is y.", "no"), ("Z is y.", "yes")]
    rows = [
        {"id": "s", "claim": claim, "judge": "a", "reply": reply, "n": n}
        for n, (claim, reply) in enumerate(replies)
    ]
    file = tmp_path / "replies.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    mapping = {"id": "id", "claim": "claim", "answer": "claim", "against": "contexts"}
    mapping |= {"judge": "judge", "reply": "reply"}
    with pytest.warns(NoteWarning, match="1 rows repeat a claim text of their sample"):
        run = ce.import_replies(file, mapping={**mapping, "forms": ["word"]})
    assert [note for note in run.notes if "map `claim_id`" in note]
    apart = ce.import_replies(
        file, mapping={**mapping, "forms": ["word"], "claim_id": "n", "answer": "id"}
    )
    assert not [note for note in apart.notes if "claim_id" in note]


RAGAS: dict[str, Any] = {
    "user_input": "How high is the tower?",
    "response": "63",
    "retrieved_contexts": ["The tower is 63 metres high."],
    "reference": "63 metres",
}
STATEMENTS = [
    {"statement": "It is 63 metres high.", "reason": "said so", "verdict": 1},
    {"statement": "It is red.", "reason": "not said", "verdict": 0},
]
DEEPEVAL: dict[str, Any] = {
    "name": None,
    "input": "How high is the tower?",
    "actualOutput": "63 metres. It rings at noon. It is red.",
    "expectedOutput": "63 metres",
    "retrievalContext": ["The tower is 63 metres high and white."],
    "evaluationModel": "gpt-4o",
    "claims": [
        {"claim": "The tower is 63 metres high.", "verdict": "yes", "reason": None},
        {"claim": "It rings at noon.", "verdict": "borderline", "reason": "nothing on sounds"},
        {"claim": "It is red.", "verdict": "no", "reason": "it is white"},
    ],
}


def traced(statements: list[dict[str, Any]]) -> dict[str, Any]:
    """A row of ragas with its trace."""
    return {
        **RAGAS,
        "traces": {
            "faithfulness": {"n_l_i_statement_prompt": {"output": {"statements": statements}}}
        },
    }


def by_name(tmp_path: Path, name: str, *rows: dict[str, Any]) -> RecordedResults:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return RecordedReplies(path, read_mapping(Path(name))).recorded_results()


def explained(sample: JudgedSample) -> list[tuple[str | None, str | None]]:
    return [(v.label, v.explanation) for a in sample.result.assessments for v in a.verdicts]


def test_statements_of_ragas_become_claims_with_verdicts(tmp_path: Path) -> None:
    found = by_name(tmp_path, "ragas", traced(STATEMENTS), traced(STATEMENTS[:1]))
    assert ([judge.name for judge in found.judges], found.scale) == (["ragas"], BINARY)
    assert [metric.name for metric in found.metrics] == ["faithfulness"]
    one, two = found.samples()
    assert [claim.text for claim in one.result.claims] == ["It is 63 metres high.", "It is red."]
    assert explained(one) == [("supported", "said so"), ("not_found", "not said")]
    assert (one.result.sample.id, two.result.sample.id) == ("1", "2")
    assert (one.result.sample.answer, one.result.sample.reference_answers) == ("63", ("63 metres",))
    assert [document.text for document in one.result.sample.contexts or ()] == RAGAS[
        "retrieved_contexts"
    ]


def test_a_row_without_claims_says_why(tmp_path: Path) -> None:
    """A list that is empty means that there is nothing to judge; one that is missing, that a step
    failed."""
    _, empty, failed = by_name(tmp_path, "ragas", traced(STATEMENTS), traced([]), RAGAS).samples()
    assert (empty.result.unextracted, failed.result.unextracted) == (
        {"answer": "no_claims"},
        {"answer": "incomplete"},
    )
    with pytest.raises(DataError, match=r"no row has claims in 'traces\.faithfulness\."):
        by_name(tmp_path, "ragas", RAGAS)


def test_claims_of_deepeval_become_claims_with_verdicts(tmp_path: Path) -> None:
    (sample,) = by_name(tmp_path, "deepeval", DEEPEVAL).samples()
    assert explained(sample) == [
        ("supported", None),
        ("not_found", "nothing on sounds"),
        ("contradicted", "it is white"),
    ]
    assert {v.judge for a in sample.result.assessments for v in a.verdicts} == {"gpt-4o"}
    assert sample.result.sample.reference_answers == ("63 metres",)


def test_a_text_that_is_twice_in_a_list_is_two_claims(tmp_path: Path) -> None:
    found = by_name(tmp_path, "ragas", traced([STATEMENTS[0], STATEMENTS[0]]))
    (sample,) = found.samples()
    assert ([claim.id for claim in sample.result.claims], found.replicates) == (
        ["answer-1", "answer-2"],
        1,
    )
    assert found.repeated == 0


def test_claims_that_are_no_list_of_objects_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="field 'claims': expected a list of objects"):
        by_name(tmp_path, "deepeval", {**DEEPEVAL, "claims": ["It is red."]})


def test_a_name_that_is_no_mapping_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="Did you mean 'ragas'"):
        read_mapping(Path("ragass"))


def test_a_path_with_slashes_is_refused_with_its_dots() -> None:
    from claimeval.data.recorded import value_at
    from claimeval.data.rows import SourceRow

    row = SourceRow("row 1", 1, {"judges": {"a": "yes"}, "b/c": "no"})
    assert value_at(row, "b/c") == "no"
    with pytest.raises(DataError, match=r"no field 'judges/a'; paths have dots, as in judges\.a"):
        value_at(row, "judges/a", optional=True)
