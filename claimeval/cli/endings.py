"""How a job that asks judges ended: a message on standard error and the exit code."""

from __future__ import annotations

import sys

from claimeval.execution.runner import RunStatus


def ending_code(ending: RunStatus) -> int:
    """Print why the job ended before its last item and return the exit code; 0 if it did not."""
    if ending.interrupted:
        say("Interrupted. All replies received so far are stored; run the same command to resume.")
        return 130
    for judge, message in ending.stopped.items():
        say(f"judge {judge} was stopped: {message}")
    if ending.over_budget:
        say(f"Budget reached: {ending.over_budget}. To resume, run the same command with a higher limit.")
        return 3
    if ending.paused:
        say(ending.paused)
        return 3
    if not ending.complete:
        say("Stopped early. Fix the problem above and run the same command to resume.")
        return 3
    return 0


def say(text: str) -> None:
    """Print a line on standard error."""
    print(f"claimeval: {text}", file=sys.stderr)
