"""Completion in a shell: what is offered, through the protocol of the scripts, and in fish and bash
themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import call


def offered(*words: str) -> list[str]:
    """The values that bash is offered for the last word."""
    return [item.partition(",")[2] for item in answer(*words).splitlines() if item]


def answer(*words: str) -> str:
    line = " ".join(("claimeval", *words))
    done = call(_CLAIMEVAL_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(len(words)))
    return done.stdout


def test_commands_options_and_words_are_completed() -> None:
    assert offered("comp") == ["compare", "completion"]
    assert offered("cache", "st") == ["stats"]
    assert offered("score", "a.jsonl", "--max-c") == ["--max-cost", "--max-calls"]
    assert offered("push", "run", "--to", "m") == ["mlflow"]


def test_metrics_are_completed_also_after_a_comma_and_offered_once() -> None:
    assert offered("score", "a", "-m", "cov") == ["coverage"]
    assert offered("score", "a", "-m", "coverage,correctn") == ["coverage,correctness"]
    assert offered("score", "a", "-m", "coverage,cov") == []
    assert offered("measure", "a", "-m", "rouge_") == [
        "rouge_l",
        "rouge_1",
        "rouge_2",
        "rouge_lsum",
    ]
    assert offered("metrics", "major") == ["majority"]


def test_prompts_votes_and_judges_are_completed() -> None:
    assert offered("score", "a", "--assess-prompt", "thr") == ["three_way"]
    assert offered("prompts", "show", "assess/thr") == ["assess/three_way"]
    assert offered("rejudge", "a", "--vote", "maj") == ["majority"]
    assert offered("score", "a", "-j", "local:l") == ["local:lexical"]


def test_what_follows_plan_is_completed_as_the_planned_command() -> None:
    assert offered("plan", "sco") == ["score"]
    assert offered("plan", "score", "a", "--assess-prompt", "thr") == ["three_way"]
    assert offered("plan", "score", "a", "--max-co") == ["--max-cost"]


def test_a_prompt_of_ones_own_is_completed_as_a_file() -> None:
    assert answer("score", "a", "--assess-prompt", "my/") == "file,my/\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_script_names_the_command_and_the_variable(shell: str) -> None:
    if shell == "bash" and not shutil.which("bash"):
        pytest.skip("no bash, whose version click asks for")
    done = call("completion", shell)
    assert done.stderr == ""
    assert f"_CLAIMEVAL_COMPLETE={shell}_complete" in done.stdout
    call("completion", "csh", exits=2)


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_bash_completes_with_the_script(tmp_path: Path) -> None:
    words = "COMP_WORDS=(claimeval score a -m coverage,correctn); COMP_CWORD=4"
    line = f'{words}; _claimeval_completion claimeval; echo "$COMPREPLY"'
    assert (
        in_shell(tmp_path, "bash", "-c", f'eval "$(claimeval completion bash)"; {line}')
        == "coverage,correctness\n"
    )


@pytest.mark.skipif(not shutil.which("fish"), reason="no fish")
def test_fish_completes_values_and_texts_with_commas(tmp_path: Path) -> None:
    line = 'complete -C "claimeval score a -m coverage,correctn"; complete -C "claimeval compl"'
    assert (
        in_shell(tmp_path, "fish", "-c", f"claimeval completion fish | source; {line}")
        == "coverage,correctness\tprecision against the gold answer\n"
        "completion\tComplete commands, metrics and prompts in a shell.\n"
    )


def in_shell(folder: Path, *command: str) -> str:
    """What a shell prints in which `claimeval` is this checkout."""
    program = folder / "claimeval"
    program.write_text(
        f'#!/bin/sh\nexec {sys.executable} -c "from claimeval.cli.main import main; main()" "$@"\n'
    )
    program.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
    }
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    return done.stdout
