"""Halves of characters, infinities and numbers beyond all floats, in data and in replies: no
command ends on them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from claimeval.testing import provider
from tests.command_line import call

HALF = "\ud800"
"""Half of an emoji, as JSON that was cut off has it."""
HUGE = "1" + "0" * 400


def row(i: int) -> str:
    half = "\\ud800" if i in (3, 5) else ""
    return (
        f'{{"id": "q{i}{half}", "question": "Q {i} {half}?", "answer": "The tower is {i} metres'
        f' high. {half}", "contexts": ["The tower is {i} metres high {half}.", "other"],'
        f' "context_ids": ["1", "2{half}"], "reference_answers": ["R {i} {half}"],'
        f' "reference_contexts": ["The tower is {i} metres high {half}."], "reference_context_ids":'
        f' ["1"], "generator": "g{half}", "is_answerable": true, "topic": "t{half}", "year":'
        f' {HUGE if half else 1}, "size": {"1e999" if half else "NaN"}}}\n'
    )


def reply(prompt: str) -> str:
    """Every text has a half, every further field an absurd number."""
    odd = f'"reason": "because \\ud800", "year": {HUGE}, "size": 1e999'
    if '"grades"' in prompt:
        return f'{{"grades": [{{"id": "d1", "grade": 2, {odd}}}]}}'
    if '"claims":[' in prompt:
        return (
            f'{{"claims": [{{"claim": "It is high \\ud800", "sentences": [1, {HUGE}], "quote": "The'
            f' tower", {odd}}}]}}'
        )
    if '"verdicts"' in prompt:
        return f'{{"verdicts": [{{"id": "c1", "evidence": ["d1"], "label": "supported", {odd}}}]}}'
    if '"queries"' in prompt or '"questions"' in prompt:
        return json.dumps(
            {
                name: [{"question": f"How {HALF}?", "answer": "8"}]
                for name in ("queries", "questions")
            }
        )
    return (
        f'{{"rating": "{"yes" if "yes|no" in prompt else "partly"}", "noncommittal": false, "kind":'
        f' "partly", {odd}}}'
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, and two finished runs over it."""
    here = tmp_path_factory.mktemp("odd")
    (here / "data.jsonl").write_text("".join(map(row, range(8))))
    (here / "corpus.jsonl").write_text(
        "".join(f'{{"id": "{i}\\ud800", "text": "Tower {i} \\ud800"}}\n' for i in range(4))
    )
    (here / "design.yaml").write_text(
        "{data: data.jsonl, metrics: [faithfulness], judges: [local:lexical], grid: {per_document:"
        " [false, true]}}"
    )
    (here / "labels.jsonl").write_text(
        '{"id": "q3\\ud800", "claim_id": "answer-1", "label": "supported"}\n'
        '{"id": "q0", "claim_id": "answer-1", "label": "supported"}\n'
        '{"id": "q1", "claim_id": "answer-1", "label": "not_found"}\n'
    )
    (here / "replies.jsonl").write_text(
        '{"id": "a\\ud800", "c": "C \\ud800", "j": "m\\ud800", "r": "supported \\ud800"}\n'
    )
    (here / "map.yaml").write_text(
        "{id: id, claim: c, judge: j, reply: r, against: contexts, forms: [word]}"
    )
    for out in ("run", "other"):
        call(
            "score",
            "data.jsonl",
            "-j",
            "local:lexical",
            "-m",
            "faithfulness",
            "-o",
            out,
            folder=here,
        )
    return here


@pytest.fixture(scope="module")
def judge() -> Iterator[str]:
    """A judge whose replies are odd."""
    with provider(reply) as server:
        yield f"openai:odd@{server.url}"


COMMANDS = """
doctor data.jsonl --json
plan score data.jsonl -j JUDGE
score data.jsonl -j JUDGE -j local:lexical -m faithfulness --cluster topic -o panel
rejudge run -j JUDGE -o again
rate data.jsonl -j JUDGE
grade data.jsonl -j JUDGE -o grades
grade data.jsonl -j JUDGE --against reference_contexts
lexical data.jsonl
retrieval data.jsonl --match text
measure run -m rouge_l
compare run other -o page.html
report run -f csv -o report.csv
report run -f md -o report.md
draw data.jsonl -n 4 --stratify topic --min-per-stratum 1 -o drawn.jsonl
annotate run -n 4 --metric faithfulness --export claims.csv
correct run --labels labels.jsonl
experiment design.yaml -o arms
write-queries corpus.jsonl -j JUDGE -n 3
prompts render three_way run
import-replies replies.jsonl --mapping map.yaml -o imported
"""


@pytest.mark.parametrize("command", COMMANDS.strip().splitlines())
def test_no_command_ends_on_an_odd_value(command: str, folder: Path, judge: str) -> None:
    before = set(folder.rglob("*"))
    call(*command.replace("JUDGE", judge).split(), folder=folder)
    written = [
        path
        for path in set(folder.rglob("*")) - before
        if path.suffix in (".json", ".jsonl", ".csv", ".md")
    ]
    assert not [path for path in written if "\ud800" in path.read_text(encoding="utf-8")]


def test_labels_of_people_are_read_with_odd_ids(folder: Path, judge: str) -> None:
    call(
        "annotate",
        "other",
        "-n",
        "4",
        "--metric",
        "faithfulness",
        "--export",
        "claims.csv",
        folder=folder,
    )
    call("correct", "other", "--labels", "labels.jsonl", folder=folder)
