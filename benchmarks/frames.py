"""How deep a sample goes: functions of this package on the stack when its job begins, and when a reply was parsed.

Run it with `python -m benchmarks.frames`. It scores one sample by the command line; functions without a name and those
of other packages are not counted.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from claimeval.cli.main import run

PLACES = {"to the job": ("evaluation/claims.py", "evaluate"), "to a parsed reply": ("judging/assess.py", "read")}
SAMPLE = {"question": "How high?", "answer": "It is 90 m high.", "contexts": ["The tower is 90 m high."]}


def on_the_stack(frame: FrameType | None) -> Iterator[str]:
    """Yield the functions of this package that are on the stack, the innermost first."""
    while frame:
        room, _, file = frame.f_code.co_filename.rpartition("/claimeval/")
        if room and not frame.f_code.co_name.startswith("<"):
            yield f"{file}:{frame.f_code.co_name}"
        frame = frame.f_back


def deepest() -> dict[str, list[str]]:
    """Score a sample, and return the longest stack at each place."""
    stacks: dict[str, list[str]] = {place: [] for place in PLACES}

    def look(frame: FrameType, event: str, _: object) -> None:
        for place, (file, name) in PLACES.items():
            if event == "call" and frame.f_code.co_name == name and frame.f_code.co_filename.endswith(file):
                stacks[place] = max(stacks[place], [*on_the_stack(frame)], key=len)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "data.jsonl").write_text(json.dumps(SAMPLE) + "\n", encoding="utf-8")
        command = (
            f"score {folder}/data.jsonl -j local:lexical -m faithfulness -o {folder}/run --cache {folder}/cache --quiet"
        )
        sys.setprofile(look)
        try:
            run(command.split())
        finally:
            sys.setprofile(None)
    return stacks


if __name__ == "__main__":
    for place, stack in deepest().items():
        print(f"{place}: {len(stack)}")
        print("".join(f"    {function}\n" for function in reversed(stack)), end="")
