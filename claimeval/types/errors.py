"""The error tree.

::

    ClaimevalError
    ├── UsageError            the caller's to fix; raised before any call; exit code 2
    │   ├── DataError         an input file or record is wrong; names file, line and field
    │   └── PromptError       a prompt is missing, names unknown variables or does not render
    ├── CallError             one call failed at the provider or on the way; becomes a Failure record (in `calls`)
    ├── StoreError            the store of replies cannot be read or written (disk full, damaged, foreign); exit code 3
    └── StoppedEarly          the run stopped before the last sample and can be resumed; exit code 3
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class ClaimevalError(Exception):
    """Any error that claimeval raises on purpose."""


class UsageError(ClaimevalError):
    """The caller's to fix. The message says what was asked, what was given, what is allowed and what to do."""


class DataError(UsageError):
    """An input file or record is wrong; the message names file, line and field."""


class PromptError(UsageError):
    """A prompt is missing, asks for variables that its step does not offer, or does not render."""


class StoreError(ClaimevalError):
    """The store of replies cannot be read or written; the message says which folder and what to do."""


class StoppedEarly(ClaimevalError):
    """The run stopped before the last sample; the same command, or call, resumes it."""

    def __init__(self, reason: str, run: Any = None) -> None:
        super().__init__(reason)
        self.reason = reason
        """Why, and what to do."""
        self.run = run
        """The `Run` as far as it went; None if it has no results yet."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or a signal to end, while a run was under way; the same command, or call, resumes it."""

    def __init__(self, run: Any) -> None:
        super().__init__("Interrupted. All replies received so far are stored; run the same command to resume.")
        self.run = run
        """The `Run` as far as it went."""


def unknown_name(kind: str, given: str, allowed: Iterable[str], error: type[UsageError] = UsageError) -> UsageError:
    """The error for a name that is not in a closed list: closest match first, then all that is allowed."""
    names = sorted(allowed)
    close = difflib.get_close_matches(given, names, n=1, cutoff=0.5)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return error(f"unknown {kind} {given!r}.{hint} Known: {', '.join(names) or 'none'}")
