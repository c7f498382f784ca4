"""Processes that kill themselves (SIGKILL) at a named instant."""

from __future__ import annotations

import functools
import importlib
import os
import signal
from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple

VARIABLE = "KILLED_AT"
"""Names the instant to the process."""


class Instant(NamedTuple):
    """Just before or after the nth time that something is done."""

    when: str
    what: str
    n: int = 1

    def __str__(self) -> str:
        return f"{self.when} {self.what} {self.n}"


def deadly(step: Callable[..., Any], when: str, n: int) -> Callable[..., Any]:
    """The step, and the death of the process just before or after its nth time."""
    done = 0

    @functools.wraps(step)
    def call(*arguments: Any, **options: Any) -> Any:
        nonlocal done
        done += 1
        if done == n and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        value = step(*arguments, **options)
        if done == n:
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    return call


def obey() -> None:
    """Makes this process die at the instant that the environment names, its `what` being `module:name.name`."""
    if VARIABLE not in os.environ:
        return
    when, what, n = os.environ[VARIABLE].split()
    module, _, path = what.partition(":")
    *owners, name = path.split(".")
    owner = importlib.import_module(module)
    for step in owners:
        owner = getattr(owner, step)
    setattr(owner, name, deadly(attrgetter(name)(owner), when, int(n)))
