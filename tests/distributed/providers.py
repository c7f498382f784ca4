"""A provider that counts, and data to judge."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from benchmarks.loopback.claim_judge import answer
from benchmarks.loopback.judge import Body, Reply


class Provider:
    """Counts what it is asked, and does something when it is asked the nth time, before it
    answers."""

    def __init__(self, nth: int, then: Callable[[], object]) -> None:
        self.asked: Counter[str] = Counter()
        self.reached = {nth: then}
        """What is still to be done, and at which question."""
        self._lock = threading.Lock()

    def __call__(self, body: Body) -> Reply:
        with self._lock:
            self.asked[json.dumps(body, sort_keys=True)] += 1
            then = self.reached.pop(self.asked.total(), None)
        if then:
            then()
        return answer(body)

    def rest(self) -> None:
        """Wait until nobody has asked anything for two seconds."""
        before = -1
        while before != (before := self.asked.total()):
            time.sleep(2)


def data(folder: Path, count: int = 4) -> Path:
    """A file of samples with a claim each, every other one of them wrong."""
    file = folder / "answers.jsonl"
    rows = [
        {
            "id": f"q{n}",
            "question": f"What is the value of item {n}?",
            "answer": f"Item {n} has the value {n}." + " This is WRONG." * (n % 2),
            "contexts": [f"Item {n} has the value {n}."],
        }
        for n in range(count)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file
