"""Makes the recordings anew: `python -m tests.recordings.record [NAME...]`, or says what they
cover: `--coverage`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.recordings import harness, stories


def coverage() -> str:
    """The options that no story uses, by command."""
    unused: dict[str, list[str]] = {}
    for command, options in stories.options().items():
        used = stories.options_used().get(command, set())
        if missing := [option for option in options if option not in used]:
            unused[command] = missing
    return "\n".join(f"{command}: {' '.join(missing)}" for command, missing in unused.items())


def main() -> int:
    names = sys.argv[1:]
    if names == ["--coverage"]:
        print(coverage())
        return 0
    harness.REWRITE = True
    chosen = ["-k", " or ".join(names)] if names else []
    imported = [
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",
    ]  # the stories import claimeval before its plugin loads
    return pytest.main(
        [
            "-q",
            "-p",
            "no:cacheprovider",
            *imported,
            str(Path(__file__).with_name("test_recordings.py")),
            *chosen,
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
