"""Files as tools write them are read as samples at once: one example each in `exports`, with the
samples beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import claimeval as ce
from claimeval.data.mapping import presets
from tests.command_line import call

FOLDER = Path(__file__).parent / "exports"
FILES = sorted(path for path in FOLDER.iterdir() if not path.name.endswith(".expected.json"))


def plain(sample: ce.Sample) -> dict[str, Any]:
    return {
        "question": sample.question,
        "answer": sample.answer,
        "contexts": (
            None if sample.contexts is None else [document.text for document in sample.contexts]
        ),
        "reference_answers": list(sample.reference_answers),
    }


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_export_is_read_at_once_and_by_the_mapping_that_doctor_writes(
    file: Path, tmp_path: Path
) -> None:
    expected = json.loads(file.with_name(f"{file.stem}.expected.json").read_text())
    assert [plain(sample) for sample in ce.read_samples(file)] == expected
    surveyed = ce.doctor(file)
    assert surveyed.remarks[0].startswith("read as ")
    mapping = tmp_path / "map.yaml"
    call("doctor", file, "--write-mapping", mapping, folder=tmp_path)
    assert [plain(sample) for sample in ce.read_samples(file, mapping=mapping)] == expected
    assert yaml.safe_load(mapping.read_text())["preset"] in surveyed.remarks[0]


def test_what_was_recognized_is_said_and_kept(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text(
        json.dumps({"input": "Q?", "actual_output": "A.", "retrieval_context": ["A."]})
    )
    line = (
        "read as DeepEval test cases: question from input, answer from actual_output, contexts from"
        " retrieval_context"
    )
    assert line in " ".join(call("doctor", "cases.jsonl", folder=tmp_path).stdout.split())
    call(
        "score",
        "cases.jsonl",
        "-j",
        "local:lexical",
        "-m",
        "faithfulness",
        "-o",
        "run",
        folder=tmp_path,
    )
    assert ce.Run.load(tmp_path / "run").manifest.data.mapping["preset"] == "DeepEval test cases"


def test_a_field_that_is_named_goes_before_that_of_the_preset() -> None:
    row = {"input": "Q?", "actual_output": "A.", "draft": "B.", "retrieval_context": ["A."]}
    (sample,) = ce.read_samples([row], mapping={"answer": "draft"})
    assert (sample.question, sample.answer, len(sample.contexts or ())) == ("Q?", "B.", 1)


def test_the_column_of_the_answers_of_promptfoo_is_named() -> None:
    remark = ce.doctor(FOLDER / "promptfoo-table.csv").remarks[0]
    assert (
        "answer from [openai:gpt-5-mini] Answer from {{context}}: {{question}}, contexts from"
        " context" in remark
    )


def test_a_table_of_two_opik_experiments_names_both_and_offers_documents_beside_answer() -> None:
    row = {
        "id": "d1",
        "dataset.input": "Q?",
        "v1.evaluation_task.output": "A.",
        "v1.evaluation_task.context": ["One says so."],
        "v2.evaluation_task.output": "B.",
        "v2.evaluation_task.context": ["Two says so."],
    }
    answers = [f"--field answer={name}.evaluation_task.output" for name in ("v1", "v2")]
    with pytest.raises(
        ce.DataError, match=f"add {answers[0]} --field contexts=v1.*, or {answers[1]} --field"
    ):
        list(ce.read_samples([row]))
    mapping = {"answer": "v2.evaluation_task.output"}
    with pytest.raises(ce.DataError, match=r"add --field contexts=v2\.evaluation_task\.context \("):
        list(ce.read_samples([row], mapping=mapping))
    (sample,) = ce.read_samples(
        [row], mapping={**mapping, "contexts": "v2.evaluation_task.context"}
    )
    assert (sample.question, plain(sample)["answer"], plain(sample)["contexts"]) == (
        "Q?",
        "B.",
        ["Two says so."],
    )


def test_a_table_of_two_prompts_of_promptfoo_is_read_as_its_refusals_say(tmp_path: Path) -> None:
    of_prompt = ["Status", "Score", "Named Scores", "Grader Reason", "Comment"]
    header = [
        "question",
        "context",
        "[m] Answer. {{question}}",
        *of_prompt,
        "[m] Be brief.",
        *of_prompt,
    ]
    rest = ["PASS", "1.00", "", "", ""]
    cells = ["Who tends the lamp?", "Mara tends it.", "Mara tends it.", *rest, "Mara.", *rest]
    file = tmp_path / "two.csv"
    file.write_text(",".join(header) + "\n" + ",".join(cells) + "\n")
    with pytest.raises(
        ce.DataError, match=r"'Status', .*'Comment'; rename all but one of each, or export JSON"
    ):
        list(ce.read_samples(file))
    renamed = [
        name if i < 9 or name not in of_prompt else f"{name} 2" for i, name in enumerate(header)
    ]
    file.write_text(",".join(renamed) + "\n" + ",".join(cells) + "\n")
    with pytest.raises(
        ce.DataError, match=r"add --field answer='\[m\] .*, or --field answer='\[m\] Be brief\.'"
    ):
        list(ce.read_samples(file))
    (sample,) = ce.read_samples(file, mapping={"answer": "[m] Be brief."})
    assert (sample.answer, sample.contexts and sample.contexts[0].text) == (
        "Mara.",
        "Mara tends it.",
    )
    content = json.loads((FOLDER / "promptfoo.json").read_text())
    rows = content["results"]["results"]
    rows += [{**row, "promptIdx": 1, "response": {"output": "1874."}} for row in rows[:1]]
    (tmp_path / "two.json").write_text(json.dumps(content))
    assert [sample.answer for sample in ce.read_samples(tmp_path / "two.json")] == [
        "It was built in 1874.",
        None,
        "1874.",
    ]


@pytest.mark.parametrize(
    ("field", "path"),
    [
        ("id", "nr"),
        ("answer", "nr"),
        ("contexts", "nr"),
        ("id", "id"),
        ("reference_answers", "ideal"),
    ],
)
def test_a_field_that_is_given_and_not_there_is_refused_in_an_export(field: str, path: str) -> None:
    row = {"vars": {"question": "Q?"}, "provider": "m", "response": {"output": "A."}}
    with pytest.raises(ce.DataError, match=f"no row has '{path}', which was given for {field}"):
        list(ce.read_samples([row], mapping={field: path}))
    (sample,) = ce.read_samples([row], mapping="promptfoo results")
    assert (sample.id, sample.answer) == (
        "1",
        "A.",
    ), "the paths of a preset itself need not be in every row"


def test_rows_are_chosen_by_a_path_that_they_have_or_do_not_have() -> None:
    rows: list[dict[str, Any]] = [
        {"question": "Q1", "answer": "A", "parent": None, "kind": "x"},
        {"question": "Q2", "answer": "A", "parent": "p", "kind": "x"},
        {"question": "Q3", "answer": "A", "kind": "y"},
    ]
    chosen = {"parent": ["Q2"], "parent=": ["Q1", "Q3"], "kind=x": ["Q1", "Q2"]}
    for where, questions in chosen.items():
        assert [
            sample.question for sample in ce.read_samples(rows, mapping={"where": where})
        ] == questions


def test_settings_of_a_mapping_hold_for_columns_that_are_known_by_their_names() -> None:
    row = {"question": "Q?", "answer": "-", "contexts": "The lamp is lit.|Mara tends it."}
    for mapping in (
        {"split": "|", "missing": ["-"]},
        {"split": "|", "missing": ["-"], "contexts": "contexts"},
    ):
        (sample,) = ce.read_samples([row], mapping=mapping)
        assert [document.text for document in sample.contexts or ()] == [
            "The lamp is lit.",
            "Mara tends it.",
        ]
        assert (sample.question, sample.answer) == ("Q?", None)


def test_texts_that_stand_for_nothing_are_missing() -> None:
    rows = [{"q": "Q?", "a": "-", "docs": ["D."]}, {"q": "Q?", "a": "A.", "docs": "-"}]
    mapping = {
        "question": ["q"],
        "answer": ["a", "b", ""],
        "contexts": ["docs", "more", ""],
        "missing": ["-"],
    }
    first, second = ce.read_samples(rows, mapping=mapping)
    assert (first.answer, [document.text for document in first.contexts or ()]) == (None, ["D."])
    assert (second.answer, second.contexts) == ("A.", None)


def test_questions_that_are_references_are_refused(tmp_path: Path) -> None:
    calls = [json.loads(line) for line in (FOLDER / "weave.jsonl").read_text().splitlines()]
    for call_of_op in calls:
        if "example" in call_of_op["inputs"]:
            call_of_op["inputs"]["example"] = "weave:///lab/rag/object/Dataset:x/attr/rows/id/y"
    with pytest.raises(
        ce.DataError, match=r"questions are references, not texts: .*expand_columns=\["
    ):
        list(ce.read_samples(calls))
    assert ce.read_samples(calls, mapping={"question": "inputs.example"}), "unless they are named"


def test_the_option_in_the_message_about_a_list_has_the_path_of_the_list() -> None:
    rows = [
        {
            "name": "rag",
            "input": {"question": "Q?"},
            "output": {"answer": ["A.", "B."]},
            "duration": 1,
        }
    ]
    with pytest.raises(
        ce.DataError, match=r"add --field reference_answers=output\.answer --field answer=''"
    ):
        list(ce.read_samples(rows))
    (sample,) = ce.read_samples(rows, mapping={"reference_answers": "output.answer", "answer": ""})
    assert (sample.answer, sample.reference_answers) == (None, ("A.", "B."))


def test_an_answer_that_is_json_is_taken_as_a_whole_from_a_recognized_export() -> None:
    rows = [
        {
            "input": "Q?",
            "actual_output": '{"steps": ["Climb the tower."]}',
            "retrieval_context": ["C."],
        }
    ]
    with pytest.raises(
        ce.DataError, match=r"answer is JSON text: add .*, or --field answer=actual_output"
    ):
        list(ce.read_samples(rows))
    (sample,) = ce.read_samples(rows, mapping={"answer": "actual_output"})
    assert sample.answer == '{"steps": ["Climb the tower."]}'


def test_a_preset_may_be_named() -> None:
    (sample,) = ce.read_samples(
        [{"query": "Q?", "result": "A.", "source_documents": []}], mapping="LangChain retrieval QA"
    )
    assert (sample.question, sample.answer, sample.contexts) == ("Q?", "A.", ())
    with pytest.raises(ce.UsageError, match="Did you mean 'LangChain retrieval QA'"):
        list(ce.read_samples([{}], mapping={"preset": "LangChain retrieval"}))


@pytest.mark.parametrize("name", presets())
def test_a_preset_names_fields_of_samples_by_paths(name: str) -> None:
    mapping = presets()[name].mapping
    assert mapping.preset == name
    assert mapping.fields
    assert all(paths == ("",) or (paths and all(paths)) for paths in mapping.fields.values())
