"""The package works without the files of the lexical support score, which only its judge needs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from claimeval.types.bundled import bundled

WITHOUT = (
    "import sys; sys.modules['claimeval.lexical.support'] = None;"
    " from claimeval.__main__ import main; sys.exit(main())"
)
"""A program in which these files are as good as deleted."""


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, *words],
        cwd=folder,
        env=os.environ | {"XDG_CACHE_HOME": str(folder / "cache")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_all_but_the_judge_of_words_works(tmp_path: Path) -> None:
    (tmp_path / "recorded.yaml").write_text("name: recorded\nmodel: recorded:demo\n")
    data = str(bundled("demo.jsonl"))
    commands = (
        ("--help",),
        ("metrics",),
        ("score", data, "-j", "recorded.yaml", "-m", "faithfulness", "-o", "a"),
        ("rejudge", "a", "-o", "b", "-m", "faithfulness"),
        ("compare", "a", "b"),
        ("report", "a"),
    )
    for words in commands:
        finished = command(tmp_path, *words)
        assert finished.returncode == 0, (words, finished.stderr)
    scored = command(tmp_path, "score", data, "-j", "local:lexical", "-o", "c")
    assert scored.returncode == 2
    assert (
        "this needs claimeval.lexical.support, which this installation does not have"
        in scored.stderr
    )
