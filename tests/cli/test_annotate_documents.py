"""`claimeval annotate --documents` as a person uses it: on a terminal, key by key."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from claimeval import ir
from tests.cli.conftest import Run
from tests.cli.terminal import Terminal

ASKS = "q stop"
EVIL = "\x1b]0;title\x07\x1b[2J[bold]red[/] \u202eesrever"


def sample(name: str, *texts: str) -> dict[str, object]:
    return {
        "id": name,
        "question": f"What about {name}?",
        "contexts": texts,
        "context_ids": [f"{name}-{i}" for i, _ in enumerate(texts)],
    }


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir(exist_ok=True)
    path = tmp_path / "here" / "samples.jsonl"
    samples = [sample("q1", "Roses.", "Grass.", "Rain."), sample("q2", "Snow."), sample("q3")]
    path.write_text("".join(json.dumps(one) + "\n" for one in samples))
    return path


def command(data: Path, *options: object) -> Terminal:
    return Terminal(
        data.parent, "annotate", data.name, "--documents", "-o", "marks.qrels", *options
    )


def press(terminal: Terminal, keys: str) -> None:
    """Each key at a question of its own."""
    for key in keys:
        terminal.until(ASKS)
        terminal.press(key)


def plain(shown: str) -> str:
    """Without the codes for colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", shown)


def marks(data: Path) -> list[float]:
    path = data.parent / "marks.qrels"
    return (
        [grade for grades in ir.read_qrels(path).values() for grade in grades.values()]
        if path.stat().st_size
        else []
    )


def figure(claimeval: Run, *options: object) -> dict[str, object]:
    done = claimeval(
        "annotate", "samples.jsonl", "--documents", "-o", "marks.qrels", "--json", *options
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.fixture
def folder(data: Path) -> Path:
    return data.parent


def test_keys_become_qrels_and_the_figure(data: Path) -> None:
    with command(data) as terminal:
        press(terminal, "yn?y")
        assert terminal.ended() == 0
    assert "documents: 2 good, 1 not, 1 unsure, 0 not yet labeled" in terminal.shown
    assert "questions: 2 begun of 2 drawn; nothing was retrieved" in terminal.shown
    assert re.search(r"LGTM@10  (0\.75|0\.67|0\.83|0\.50|1\.00)\b", terminal.shown)
    assert sorted(marks(data)) == [0, 1, 1]


def test_the_same_command_goes_on_after_q_and_after_ctrl_c(data: Path) -> None:
    with command(data) as terminal:
        press(terminal, "yq")
        assert terminal.ended() == 0
        assert "Run the same command to resume." in terminal.shown
    with command(data) as terminal:
        press(terminal, "n\x03")
        assert terminal.ended() == 0
        assert "1 good, 1 not, 0 unsure, 2 not yet labeled" in terminal.shown
    assert sorted(marks(data)) == [0, 1]
    with command(data) as terminal:
        press(terminal, "yy")
        assert terminal.ended() == 0
    assert sorted(marks(data)) == [0, 1, 1, 1]
    with command(data) as terminal:
        assert terminal.ended() == 0
        assert ASKS not in terminal.shown
        assert "3 good, 1 not" in terminal.shown


def test_marks_are_on_the_disk_when_the_process_is_killed(data: Path) -> None:
    with command(data) as terminal:
        press(terminal, "yn")
        terminal.until(ASKS)
        terminal.process.kill()
        terminal.process.join()
    assert sorted(marks(data)) == [0, 1]
    with command(data) as terminal:
        press(terminal, "yy")
        assert terminal.ended() == 0
        assert "3 good, 1 not, 0 unsure, 0 not yet labeled" in terminal.shown


def test_b_goes_back_and_the_new_mark_stands(data: Path) -> None:
    with command(data) as terminal:
        press(terminal, "yb")
        again = terminal.until(ASKS)
        assert "so far   good" in plain(again)
        terminal.press("n")
        press(terminal, "q")
        assert terminal.ended() == 0
    assert marks(data) == [0]


def test_b_on_the_first_and_unknown_keys_mark_nothing(data: Path) -> None:
    with command(data) as terminal:
        terminal.until(ASKS)
        terminal.press("b")
        terminal.until("This is the first item.")
        for key in ("x", "\x1b[A"):
            terminal.press(key)
            terminal.until(ASKS)
        terminal.press("q")
        assert terminal.ended() == 0
    assert marks(data) == []


def test_a_long_text_is_cut_to_the_screen_until_m_shows_all_of_it(data: Path) -> None:
    words = [f"word{i}" for i in range(2000)]
    data.write_text(json.dumps(sample("q1", " ".join(words))) + "\n")
    with command(data) as terminal:
        seen = terminal.until(ASKS)
        assert "word0" in seen
        assert "word1999" not in seen
        assert "characters in all; m shows them" in " ".join(seen.split())
        assert seen.count("\n") <= 24
        terminal.press("m")
        everything = terminal.until(ASKS)
        assert set(words) <= set(everything.split())
        terminal.press("y")
        assert terminal.ended() == 0
    lines = plain(terminal.shown).splitlines()
    before = lines[: next(i for i, line in enumerate(lines) if "Labels:" in line)]
    assert max(map(len, before)) <= 60


def test_texts_cannot_steer_the_terminal(data: Path) -> None:
    hostile = {**sample("q1", EVIL), "question": EVIL, "context_ids": ["\x1b[31mid"]}
    data.write_text(json.dumps(hostile) + "\n")
    with command(data) as terminal:
        seen = terminal.until(ASKS)
        terminal.press("y")
        assert terminal.ended() == 0
    assert "\x1b]0" not in seen
    assert "\x1b[2J" not in seen
    assert "\x1b[31m" not in seen
    assert "\u202e" not in seen
    assert seen.count("[bold]red[/]") == 2


def test_rank_and_relevance_take_the_marks_at_once(claimeval: Run, data: Path) -> None:
    with command(data) as terminal:
        press(terminal, "yyyy")
        assert terminal.ended() == 0
    run = data.parent / "my.run"
    run.write_text("q1 Q0 q1-0 1 3 t\nq1 Q0 other 2 2 t\nq2 Q0 q2-0 1 1 t\n")
    ranked = claimeval("rank", "marks.qrels", "my.run", "-m", "P@2", "--json")
    assert json.loads(ranked.stdout)["runs"][0]["mean"]["P@2"] == 0.5
    (data.parent / "judge.qrels").write_text("q1 0 q1-0 1\nq1 0 q1-1 1\nq2 0 q2-0 0\n")
    held = claimeval(
        "agreement", "judge.qrels", "--labels", "marks.qrels", "--scale", "binary", "--json"
    )
    assert json.loads(held.stdout)["assessors"]["judge.qrels"]["pairs"] == 3


def test_the_figure_is_printed_again_without_asking(claimeval: Run, data: Path) -> None:
    with command(data) as terminal:
        press(terminal, "yyq")
        assert terminal.ended() == 0
    found = figure(claimeval)
    assert found["value"] == 1.0
    assert (found["good"], found["bad"], found["unmarked"], found["without_results"]) == (
        2,
        0,
        2,
        1,
    )


def test_documents_of_a_run_and_a_corpus_are_marked_from_a_pipe_too(
    process: Run, folder: Path
) -> None:
    (folder / "queries.tsv").write_text("q1\tWhat is red?\n")
    (folder / "docs.jsonl").write_text(
        '{"id": "a", "title": "A", "text": "roses"}\n{"id": "b", "text": "grass"}\n'
    )
    (folder / "my.run").write_text("q1 Q0 a 1 2 t\nq1 Q0 b 2 1 t\nq1 Q0 lost 3 0.5 t\n")
    options = ["--corpus", "docs.jsonl", "--trec-run", "my.run", "--json"]
    done = process("annotate", "queries.tsv", "--documents", *options, stdin="y\nn\n")
    found = json.loads(done.stdout)
    assert (found["value"], found["good"], found["bad"], found["without_text"]) == (0.5, 1, 1, 1)
    assert found["bounds"] == pytest.approx([1 / 3, 2 / 3])
    assert "What is red?" in done.stderr
    assert (folder / found["labels"]).read_text().count("\n") == 2


def test_marks_of_a_run_directory_stand_in_it(claimeval: Run, data: Path) -> None:
    rows = [{**json.loads(line), "answer": "Roses."} for line in data.read_text().splitlines()]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    claimeval("score", data, "-j", "local:lexical", "-m", "faithfulness", "--out", "run")
    with Terminal(
        data.parent, "annotate", "run", "--documents", "--n", 1, "--depth", 2
    ) as terminal:
        press(terminal, "yq")
        assert terminal.ended() == 0
        assert "LGTM@2" in terminal.shown
    assert (data.parent / "run" / "annotation" / "documents.qrels").read_text().endswith(" 1\n")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--documents", "--design", "stratified"], "are for claims"),
        (["--documents", "--corpus", "x.jsonl"], "need both"),
        (["--depth", "5"], "go with documents=True (--documents)"),
    ],
)
def test_what_does_not_go_together_is_said(
    claimeval: Run, data: Path, options: list[str], words: str
) -> None:
    done = claimeval("annotate", data.name, *options, exits=2)
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
