"""No line of any command is wider than the terminal."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from rich.cells import cell_len

from benchmarks.loopback import ThreadHandle
from tests.command_line import call

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "data"
LONG = "a-name-of-a-document-that-is-longer-than-most-and-has-no-place-to-break-" * 2
LEXICAL = ("--judge", "local:lexical", "--cache", "store")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs over the demo data, labels, an experiment and rankings."""
    folder = tmp_path_factory.mktemp("widths")
    for file in EXAMPLES.glob("*.jsonl"):
        shutil.copy(file, folder)
    rows = [
        json.loads(line)
        for line in (folder / "demo.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    changed = [
        {**row, "answer": f"{row['answer']} 王様が来た。", "generator": LONG} for row in rows
    ]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in changed)
    (folder / "changed.jsonl").write_text(text, encoding="utf-8")
    for data, out in (("demo.jsonl", "a"), ("changed.jsonl", "b")):
        call("score", data, *LEXICAL, "--out", out, folder=folder)
    arms = [{"name": "one"}, {"name": LONG[:60], "claims_per_call": 1}]
    design = {
        "data": "demo.jsonl",
        "judges": ["local:lexical"],
        "metrics": ["faithfulness"],
        "arms": arms,
    }
    (folder / "arms.yaml").write_text(json.dumps(design))
    (folder / "qrels").write_text("q1 0 d1 2\nq2 0 d2 1\n")
    (folder / "my.run").write_text("q1 Q0 d1 1 2.0 t\nq2 Q0 x 1 1.0 t\n")
    return folder


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize(
    "command",
    [
        ("demo", "--details", "--out", "demo"),
        ("demo", "--out", "demo"),
        ("doctor", "demo.jsonl"),
        ("metrics",),
        (
            "plan",
            "score",
            "demo.jsonl",
            "--judge",
            "openai:gpt-5-mini",
            "--judge",
            "mistral:mistral-large-latest",
        ),
        ("score", "demo.jsonl", *LEXICAL, "--by", "metadata.kind", "--details", "--out", "by"),
        ("score", "changed.jsonl", *LEXICAL, "--by", "generator", "--out", "long"),
        ("score", "demo.jsonl", *LEXICAL, "--per-document", "--details", "--out", "documents"),
        ("measure", "demo.jsonl", "--metrics", "lexical", "--out", "measured"),
        ("extraction", "a"),
        ("compare", "a", "b"),
        ("compare", "a", "b", "--by", "metadata.kind"),
        ("compare", "a", "b", "a"),
        ("agreement", "a", "--labels", "demo_labels.jsonl", "--evidence", "contexts"),
        ("correct", "a", "--labels", "demo_labels.jsonl"),
        ("experiment", "arms.yaml", "--out", "arms"),
        ("cache", "stats", "--cache", "store"),
        ("prompts", "list"),
        ("rank", "qrels", "my.run", "--paired", "my.run"),
        ("compare", "a", "b", "--details"),
        ("rejudge", "a", *LEXICAL, "--details", "--out", "again"),
        ("draw", "demo.jsonl", "--out", "drawn.jsonl"),
        ("cache", "verify", "--cache", "store"),
        ("batch", "list", "--cache", "store"),
        ("metrics", "faithfulness"),
        ("prompts", "check", "three_way"),
        ("report", "a"),
    ],
    ids="_".join,
)
def test_lines_fit(here: Path, command: tuple[str, ...], width: int) -> None:
    done = call(
        *command, folder=here, COLUMNS=str(width), OPENAI_API_KEY="k" * 20, MISTRAL_API_KEY="k" * 20
    )
    assert done.stdout
    assert [line for line in done.stdout.splitlines() if cell_len(line) > width] == []


@pytest.mark.parametrize("width", [80, 120, 200])
def test_lines_of_panels_and_ratings_fit(here: Path, width: int, server: ThreadHandle) -> None:
    judges = [server.url for _ in range(3)]
    options = [
        word for i, url in enumerate(judges) for word in ("--judge", f"openai:judge-{i}@{url}")
    ]
    for command in (
        ("score", "demo.jsonl", *options, "--details", "--limit", "6", "--out", f"panel{width}"),
        ("agreement", f"panel{width}"),
        ("rate", f"panel{width}", *options, "--details"),
        ("grade", "demo.jsonl", *options, "--limit", "6", "--out", f"grades{width}"),
    ):
        done = call(*command, folder=here, COLUMNS=str(width))
        assert [line for line in done.stdout.splitlines() if cell_len(line) > width] == []
