"""Every command that prints a result begins with a sentence, and ends with where to go on."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest

from tests.recordings import harness, stories

RESULTS = {
    *("demo", "score", "rate", "rejudge", "locate", "experiment", "extraction", "compare"),
    *("plan", "agreement", "correct", "grade", "measure", "lexical", "retrieval", "perplexity"),
    *("reward", "write-queries", "import-replies"),
}
"""Commands that print a result. `rank` prints its sentence on terminals alone: what is piped is
read by programs."""
NEXT = re.compile(r"claimeval [a-z]+|--details|--json|Report: |--prices FILE|Next: ")
FAR = 45
"""Lines within which the sentence stands, after cautions and a line for each metric."""


def screens() -> dict[str, str]:
    """What recorded commands print, without their tables of details, by command line."""
    found: dict[str, str] = {}
    for name in stories.STORIES:
        steps: list[dict[str, Any]] = harness.load(name)
        for step in steps:
            command = step.get("command", "")
            words = shlex.split(command)[1:]
            hidden = {
                "--json",
                "--help",
                "-q",
                "--quiet",
                "--details",
                "--detach",
                "-f",
                "--format",
            }
            if not words or words[0] not in RESULTS or hidden & {*words} or step.get("exit"):
                continue
            found[command] = "\n".join(step["stdout"])
    return found


SCREENS = screens()


@pytest.mark.parametrize("command", SCREENS)
def test_a_screen_has_a_sentence_and_a_next_step(command: str) -> None:
    lines = SCREENS[command].splitlines()
    # A sentence ends with a full stop, also where it is folded.
    sentences = [line for line in lines[:FAR] if line.endswith(".") and " " in line.strip()]
    assert sentences, SCREENS[command]
    assert NEXT.search("\n".join(lines[-8:])), lines[-8:]


@pytest.mark.parametrize("command", SCREENS)
def test_a_table_of_a_screen_has_at_most_seven_columns(command: str) -> None:
    for line in SCREENS[command].splitlines():
        # the head of a table: names of columns apart by two blanks
        if re.match(r"^ \w", line) and re.search(r"\b(95% interval|mean|calls|items)\b", line):
            assert len(re.split(r" {2,}", line.strip())) <= 7, line
