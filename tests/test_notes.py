"""What to know before trusting the numbers is decided once: command, Python, JSON and report say
the same."""

from __future__ import annotations

import inspect
import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from claimeval.data.context_ids import ContextIds
from claimeval.evaluation.summary import FailureExample, Summary
from claimeval.evaluation.summary.cost import ServedModels
from claimeval.evaluation.summary.panel import SameFamily, SelfPreference
from claimeval.runs import notes as notes_of_runs
from claimeval.runs.directory import load_summary, write_summary
from claimeval.runs.overview import gather
from claimeval.types.estimates import LongEvidence
from tests.command_line import call

ROWS = [
    {
        "question": "How long?",
        "answer": "The walk takes 40 minutes.",
        "contexts": ["The walk takes 40 minutes."],
    },
    {
        "question": "How high?",
        "answer": "It is 12 m high.",
        "contexts": ["The tower is 90 m high."],
    },
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notes")
    rows = [*map(json.dumps, ROWS), '{"question": 1, "answer": ["no"]}']
    (folder / "data.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


def test_command_python_json_and_report_say_the_same(folder: Path) -> None:
    command = (
        "score",
        "data.jsonl",
        "-j",
        "local:lexical",
        "-m",
        "faithfulness",
        "--skip-malformed",
    )
    done = call(*command, "-o", "run", folder=folder)
    run = ce.Run.load(folder / "run")
    printed = [
        line.partition(": ")[2]
        for line in done.stdout.splitlines()
        if line.startswith(("Note: ", "Caution: "))
    ]
    assert run.notes == (
        "Lexical support score, not an LLM judgment.",
        "Claims split by rules: 1.14 per biography sentence; people write 4.05.",
        "1 malformed rows were left out.",
    )
    assert printed == list(run.notes)
    again = call(*command, "-o", "again", "--json", folder=folder)
    assert json.loads(again.stdout)["notes"] == list(run.notes)
    assert [note.text for note in gather(folder / "run").cautions] == list(run.notes)
    assert all(note in run.report(format="md") for note in run.notes)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ce.score(
            folder / "data.jsonl",
            judges="local:lexical",
            metrics="faithfulness",
            skip_malformed=True,
        )
    assert [
        str(warning.message) for warning in caught if warning.category is ce.NoteWarning
    ] == list(run.notes)


NOTED: dict[str, dict[str, Any]] = {
    "note": {"notes": ("claims that are equal were merged",)},
    "long_evidence": {
        "long": (LongEvidence(judge="lexical", context_tokens=4096, samples=1, windows=3),)
    },
    "other_model": {
        "judges": (ServedModels(name="lexical", served={"m": 1, "other": 3}),),
        "other_models": (ServedModels(name="lexical", served={"other": 3}),),
    },
    "several_models": {"judges": (ServedModels(name="lexical", served={"m": 1, "n": 3}),)},
    "unclear": {"unclear": 2},
    "same_family": {
        "same_family": (SameFamily(role="judge", name="lexical", family="gpt", samples=2),)
    },
    "incomplete_panel": {"panel": {"stopped_judges": {"lexical": 1}}},
    "self_preference": {
        "panel": {
            "self_preference": (
                SelfPreference(
                    metric="faithfulness",
                    family="gpt",
                    value=0.2,
                    low=0.1,
                    high=0.3,
                    n=9,
                    clusters=9,
                ),
            )
        }
    },
    "missing": {"metric": {"failure_rate": 0.25}},
    "lost": {
        "metric": {"missing": {"timeout": 1}},
        "failures": {
            "timeout": FailureExample(sample="1", judge="lexical", excerpt="no answer in 30 s")
        },
    },
    "abstained": {"metric": {"unassessed": {"unsure": 1}, "ends": "bounds"}},
    "disjoint_ids": {"context_ids": ContextIds(given=2, references=3)},
    "by_text": {"context_ids": ContextIds(by_text=1)},
    "without_ids": {"context_ids": ContextIds(without=2, unmatched=2)},
    "unfed": {"metric": {"n": 0, "missing": {"missing_input": 2}}},
    "ungrounded": {"metric": {"ungrounded": 1}},
}
"""A change of a summary for each kind of note on a complete run."""


def with_note(summary: Summary, kind: str) -> Summary:
    change = dict(NOTED[kind])
    if of_metric := change.pop("metric", None):
        change["metrics"] = {"faithfulness": summary["faithfulness"].model_copy(update=of_metric)}
    if of_panel := change.pop("panel", None):
        assert summary.panel
        change["panel"] = summary.panel.model_copy(update=of_panel)
    return summary.model_copy(update={"notes": (), **change})


def test_each_kind_of_note_has_its_summary_here() -> None:
    source = inspect.getsource(notes_of_runs)
    kinds = set(re.findall(r'yield\s*\(?\s*"(\w+)"', source))
    elsewhere = {"incomplete", "decided"}
    assert kinds == {*elsewhere, *NOTED}, "these runs are in test_endings and runs/test_stopping"


@pytest.mark.parametrize("kind", NOTED)
def test_each_note_of_a_run_is_in_all_doors(folder: Path, kind: str) -> None:
    run = folder / kind
    twice = ce.PanelOptions(replicates=2)
    ce.score(ROWS, judges="local:lexical", metrics="faithfulness", panel=twice, out=run)
    write_summary(run, with_note(load_summary(run), kind))
    (note,) = ce.Run.load(run).notes
    assert [found.kind for found in gather(run).cautions] == [kind]
    assert [found.text for found in gather(run).cautions] == [note]
    printed = call("merge", kind, folder=folder, exits=None)
    assert f"{'Note' if kind == 'note' else 'Caution'}: {note}\n" in printed.stdout, printed.stderr
    assert json.loads(call("merge", kind, "--json", folder=folder, exits=None).stdout)["notes"] == [
        note
    ]
    markdown = ce.Run.load(run).report(format="md")
    assert note in re.sub(r"\\([`_])", r"\1", markdown)
    with pytest.warns(ce.NoteWarning, match=f"^{re.escape(note)}$"):
        ce.Run.load(run).ended()


def test_every_lost_reply_is_a_note_of_a_shard_and_of_a_run(folder: Path) -> None:
    command = (
        "score",
        "data.jsonl",
        "-j",
        "openai:judge@http://127.0.0.1:9/v1",
        "-m",
        "faithfulness",
        "--offline",
        "--details",
    )
    for more in ((), ("--shard", "1/1")):
        done = call(
            *command, "--skip-malformed", "-o", f"lost{len(more)}", *more, folder=folder, exits=None
        )
        assert "Caution: not_in_cache: " in done.stdout
    done = call(
        *command, "--skip-malformed", "-o", "lost2", "--shard", "1/1", "--json", folder=folder
    )
    assert any(note.startswith("not_in_cache: ") for note in json.loads(done.stdout)["notes"])


@pytest.mark.parametrize(
    ("command", "door"), [("correct", ce.correct), ("agreement", ce.agreement)]
)
def test_notes_on_labels_are_in_all_doors(
    folder: Path, command: str, door: Callable[..., Any]
) -> None:
    run = folder / command
    labels = folder / "labels.csv"
    ce.score(ROWS, judges="local:lexical", metrics="faithfulness", out=run)
    labels.write_text(
        "sample_id,claim_id,label\n"
        "1,answer-1,supported\n2,answer-1,supported\n2,answer-7,supported\n"
    )
    with pytest.warns(ce.NoteWarning) as warned:
        notes = door(run, labels=labels).notes
    assert sum("1 of 3 labels fits nothing" in note for note in notes) == 1
    assert [str(one.message) for one in warned if one.category is ce.NoteWarning] == list(notes)
    printed = call(command, command, "--labels", "labels.csv", folder=folder).stdout
    assert [note for note in notes if note not in printed] == []
    assert json.loads(
        call(command, command, "--labels", "labels.csv", "--json", folder=folder).stdout
    )["notes"] == list(notes)
