"""Every command into pipes of other encodings, on narrow and wide terminals, without colour."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.loopback import serve_in_thread
from benchmarks.loopback.judge import Body, Reply, text_of
from tests.command_line import call

NAME = "f\u00fcr-\u4e2d\u6587-\U0001f600-\u2013"
"""An id with characters that cp1252 has and has not, and one beyond the first plane."""
ROWS = [
    {
        "id": NAME,
        "question": "Wie hoch \u2013 \u9ad8\u3055?",
        "answer": "The tower is 63 m high \u2013 \u9ad8\u3044.",
    },
    {"id": "other", "question": "How old?", "answer": "It was built in 1887 \u2192 1889."},
]
SHARED = {
    "contexts": ["The tower is 63 m high \u2013 \u9ad8\u3044.", "\U0001f600 Grass."],
    "reference_answers": ["63 m \u2013"],
}
LABELS = "id,claim_id,label\n" + NAME + ",answer-1,supported\nother,answer-1,not_found\n"
QRELS = "q\u00fc 0 d\u4e2d 1\n"
TREC_RUN = "q\u00fc Q0 d\u4e2d 1 0.5 t\u2013\n"


def answer(body: Body) -> Reply:
    """Replies to every question of these commands with one that fits."""
    text = text_of(body)
    if '"grades"' in text:
        return Reply(json.dumps({"grades": [{"id": "d1", "reason": "\u9ad8", "grade": 2}]}))
    if '"rating"' in text:
        return Reply(
            json.dumps({"reason": "\u2013", "rating": "yes" if "yes|no" in text else "fully"})
        )
    return Reply(
        json.dumps({"question": "\u9ad8\u3055 \u2013?", "answer": "63 m", "verdict": "yes"})
    )


@pytest.fixture(scope="module")
def judge() -> Iterator[str]:
    with serve_in_thread(judge=answer) as server:
        yield f"openai:m@{server.url}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, judge: str) -> Path:
    """A folder with data, runs, and a reply cache."""
    here = tmp_path_factory.mktemp("outputs")
    rows = [{**row, **SHARED} for row in ROWS]
    (here / "data.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )
    (here / "pages.jsonl").write_text(
        json.dumps({"id": NAME, "text": "The tower is 63 m high \u2013."}) + "\n"
    )
    (here / "labels.csv").write_text(LABELS, encoding="utf-8")
    (here / "qrels.txt").write_text(QRELS, encoding="utf-8")
    (here / "bm25.run").write_text(TREC_RUN, encoding="utf-8")
    for command in (
        ("score", "data.jsonl", "-j", "local:lexical", "-o", "a"),
        ("score", "data.jsonl", "-j", "local:lexical", "-o", "b"),
        (
            "rate",
            "data.jsonl",
            "-j",
            judge,
            "-o",
            "rated",
            "--cache",
            "replies",
            "--max-missing",
            "1",
        ),
    ):
        call(*command, folder=here, OPENAI_API_KEY="k", CLAIMEVAL_CACHE=str(here / "replies"))
    return here


COMMANDS = [
    ("demo",),
    ("doctor", "data.jsonl"),
    ("metrics",),
    ("metrics", "faithfulness"),
    ("plan", "data.jsonl", "-j", "local:lexical"),
    ("score", "data.jsonl", "-j", "local:lexical", "-o", "a"),
    ("rejudge", "a", "--tie", "conservative", "-o", "c"),
    ("report", "a", "--format", "md"),
    ("report", "a", "--format", "csv", "--rows", "claims"),
    ("report", "a", "--format", "json"),
    ("report", "a"),
    ("compare", "a", "b"),
    ("compare", "a", "b", "a"),
    ("agreement", "a", "--labels", "labels.csv", "--evidence", "contexts"),
    ("correct", "a", "--labels", "labels.csv", "--metric", "faithfulness"),
    ("annotate", "a", "-n", "1", "--metric", "faithfulness", "--export", "marks.csv"),
    ("rank", "qrels.txt", "bm25.run", "-q"),
    ("rank", "qrels.txt", "bm25.run", "--trec", "-q"),
    ("fuse", "bm25.run", "bm25.run"),
    ("measure", "data.jsonl", "-m", "rouge_l", "-o", "m"),
    ("draw", "data.jsonl", "-n", "2"),
    ("cache", "stats", "--cache", "replies"),
    ("cache", "export", "-", "--cache", "replies"),
    ("batch", "list", "--cache", "replies"),
    ("prompts", "list"),
    ("prompts", "show", "assess/three_way"),
    ("prompts", "diff", "assess/three_way", "assess/binary"),
    ("prompts", "check", "assess/three_way"),
    ("prompts", "render", "assess/three_way", "a"),
    (
        "rate",
        "data.jsonl",
        "-j",
        "JUDGE",
        "-o",
        "rated",
        "--cache",
        "replies",
        "--max-missing",
        "1",
    ),
    ("grade", "data.jsonl", "-j", "JUDGE", "-o", "graded", "--max-missing", "1"),
    ("write-queries", "pages.jsonl", "-j", "JUDGE", "-o", "written"),
]


@pytest.mark.parametrize(("encoding", "columns"), [("cp1252", 40), ("ascii", 200)])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_encoding_and_no_width_ends_a_command(
    folder: Path, judge: str, command: tuple[str, ...], encoding: str, columns: int
) -> None:
    arguments = [judge if word == "JUDGE" else word for word in command]
    environment = {
        "PYTHONIOENCODING": encoding,
        "COLUMNS": str(columns),
        "NO_COLOR": "1",
        "OPENAI_API_KEY": "k",
    }
    done = call(*arguments, folder=folder, **environment, exits=1 if "diff" in command else 0)
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stdout
    assert done.stdout


@pytest.mark.parametrize(
    "command", [("doctor", "data.jsonl"), ("report", "a", "--format", "json"), ("metrics",)]
)
def test_json_is_utf_8_in_every_locale(folder: Path, command: tuple[str, ...]) -> None:
    more = () if "report" in command else ("--json",)
    as_usual = call(*command, *more, folder=folder)
    assert json.loads(as_usual.stdout)
    assert call(*command, *more, folder=folder, PYTHONIOENCODING="cp1252").stdout == as_usual.stdout
