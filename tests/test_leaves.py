"""What others do without: each part below is deleted from a copy of the package, in which the
ordinary commands still work, and the command that needs the part names what is missing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.loopback import ThreadHandle, claim_judge, serve_in_thread

ROOT = Path(__file__).parents[1]
SAMPLE = {
    "id": "a",
    "question": "Where is Berlin?",
    "answer": "Berlin is in Germany. It has a wall.",
    "contexts": ["Berlin is in Germany."],
    "reference": "In Germany.",
}
SPAN = {"traceId": "1", "spanId": "2", "name": "answer", "attributes": {"input.value": "Where?"}}
REPLY = {"id": "a", "claim": "Berlin is in Germany.", "judges": {"x": "supported"}}

DRIVER = """
import json, os, sys
import click, jinja2, numpy, pydantic, rich.console, yaml  # once for all commands
sys.path.insert(0, os.getcwd())
for command in json.loads(sys.argv[1]):
    sys.stderr.write("\\0")
    sys.stderr.flush()
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.argv = ["claimeval", *command]
        from claimeval.__main__ import main
        import claimeval
        assert claimeval.__file__.startswith(os.getcwd()), claimeval.__file__
        main()
    sys.stderr.write(f"\\n{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}")
    sys.stderr.flush()
"""
"""Runs commands one after the other, each in a process of its own."""


@pytest.fixture(scope="module")
def judge() -> Iterator[str]:
    server: ThreadHandle
    with serve_in_thread(judge=claim_judge.answer) as server:
        yield f"openai:m@{server.url}"


LEAVES: dict[str, tuple[tuple[str, ...], str, str]] = {
    "Ray": (("distributed/ray_engine.py",), "score s.jsonl -j JUDGE --engine ray --out x", ""),
    "shards": (("distributed",), "score s.jsonl -j JUDGE --shard 1/2 --out x", ""),
    "pushes": (("integrations",), "push r1 --to langfuse --dry-run", ""),
    "viewer": (("report/viewer.py",), "view .", ""),
    "Anthropic": (("providers/anthropic.py",), "score s.jsonl -j anthropic:m --out x", ""),
    "Mistral": (("providers/mistral.py",), "score s.jsonl -j mistral:m --out x", ""),
    "decision models": (("providers/decisions.py",), "doctor -j decisions:m", ""),
    "local models": (
        ("providers/local/entailment.py",),
        "score s.jsonl -j local:nli=m --out x",
        "",
    ),
    "shared words": (("lexical/support",), "score s.jsonl -j local:lexical --out x", ""),
    "batches": (("execution/batch",), "score s.jsonl -j openai:m --batch --out x", ""),
    "grades": (("evaluation/grade.py",), "grade s.jsonl -j JUDGE --out x", ""),
    "ratings": (("evaluation/rate.py",), "rate s.jsonl -j JUDGE --out x", ""),
    "validity": (("evaluation/validity.py",), "rate s.jsonl -j JUDGE --ask validity --out x", ""),
    "queries": (("evaluation/write_queries.py",), "write-queries s.jsonl -j JUDGE --out x", ""),
    "measures": (("evaluation/measure.py",), "lexical s.jsonl --out x", ""),
    "questions to a judge": (("evaluation/probe.py",), "doctor -j JUDGE", ""),
    "forecasts": (("evaluation/forecast.py",), "plan score s.jsonl -j JUDGE", ""),
    "claim quality": (
        (
            "evaluation/extraction.py",
            "evaluation/summary/extraction.py",
            "lexical/extraction.py",
            "metrics/extraction.py",
        ),
        "extraction s.jsonl --extractor local:lexical --out x",
        "",
    ),
    "rankings": (("ir",), "rank qrels.txt a.run", ""),
    "corrections": (("runs/correct.py",), "correct r1 --labels labels.jsonl", ""),
    "causes of a change": (("runs/culprit.py",), "compare r1 r2", "compare r1 r2"),
    "series": (("runs/series.py",), "compare r1 r2 r1", ""),
    "traces": (("data/traces.py",), "doctor spans.jsonl", ""),
    "recorded replies": (("data/recorded.py",), "import-replies replies.jsonl --out x", ""),
}
"""The files of each leaf, the command that needs it, and which ordinary command that is."""

ORDINARY = (
    "--help",
    "demo --out demo",
    "score s.jsonl -j JUDGE --out r1",
    "rejudge r1 --out r2",
    "compare r1 r2",
    "report r1",
    "metrics",
)


@pytest.mark.parametrize("leaf", LEAVES)
def test_the_others_do_without(leaf: str, judge: str, tmp_path: Path) -> None:
    files, needing, also = LEAVES[leaf]
    _copy(tmp_path, files)
    commands = [command for command in ORDINARY if command != also]
    ended = _run(tmp_path, [*commands, needing], judge)
    for command, (code, words) in zip(commands, ended[:-1], strict=True):
        assert code == 0, f"{command}: {words}"
    code, words = ended[-1]
    lacking = files[0].removesuffix(".py").replace("/", ".")
    assert code == 2, words
    assert f"claimeval.{lacking}" in words
    assert "which this installation does not have; install claimeval again" in words


def _copy(folder: Path, without: tuple[str, ...]) -> None:
    """Copy the package as far as commands need it, without some of its files."""
    unread = shutil.ignore_patterns("__pycache__", "assets")
    shutil.copytree(ROOT / "claimeval", folder / "claimeval", ignore=unread)
    assets = "claimeval/report/assets"
    (folder / assets).symlink_to(ROOT / assets)
    for name in ("prompts", "examples"):
        (folder / name).symlink_to(ROOT / name)
    for name in without:
        path = folder / "claimeval" / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    for name, row in (("s", SAMPLE), ("spans", SPAN), ("replies", REPLY)):
        (folder / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    (folder / "qrels.txt").write_text("1 0 a 1\n")
    (folder / "a.run").write_text("1 Q0 a 1 0.5 x\n")
    (folder / "labels.jsonl").write_text('{"sample": "a", "claim": "1", "label": "supported"}\n')


def _run(folder: Path, commands: list[str], judge: str) -> list[tuple[int, str]]:
    """Return the exit code of each command and what it wrote on standard error."""
    told = [command.replace("JUDGE", judge).split() for command in commands]
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, json.dumps(told)],
        cwd=folder,
        env=os.environ | {"CLAIMEVAL_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    ended = []
    for part in done.stderr.split("\0")[1:]:
        words, _, code = part.rpartition("\n")
        ended.append((int(code), words))
    return ended
