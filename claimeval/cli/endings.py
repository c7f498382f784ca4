"""How work that asks judges ended: said on standard error, with the exit code that stands for it."""

from __future__ import annotations

import sys

from claimeval.execution.runner import Ending


def ending_code(ending: Ending) -> int:
    """Says why the work ended before its last item, and gives the exit code; 0 if it did not."""
    if ending.interrupted:
        say("interrupted; what was paid for is stored, and the same command goes on from here")
        return 130
    for judge, message in ending.stopped.items():
        say(f"judge {judge} was stopped: {message}")
    if ending.over_budget:
        say(f"the cap is reached: {ending.over_budget}. The same command with a higher cap goes on from here")
        return 3
    if ending.paused:
        say(ending.paused)
        return 3
    if not ending.complete:
        say("stopped before the end; mend the cause, and the same command goes on from here")
        return 3
    return 0


def say(text: str) -> None:
    """A line on standard error."""
    print(f"claimeval: {text}", file=sys.stderr)
