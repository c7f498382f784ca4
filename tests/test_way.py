"""How many functions of the package a sample goes through, from the call of `score` to its job and to a read reply."""

from __future__ import annotations

import asyncio
import contextvars
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import claimeval as ce
from benchmarks.loopback import ThreadHandle
from claimeval.evaluation import claims
from claimeval.judging import assess

OWN = str(Path(ce.__file__).parent)
ABOVE: contextvars.ContextVar[int] = contextvars.ContextVar("above", default=0)
"""Frames of the package above the task."""


def frames() -> int:
    """Count the frames of the package that a task, and the tasks that made it, go through down to here."""

    def own(frame: FrameType | None) -> Iterator[FrameType]:
        while frame and not (ABOVE.get() and frame.f_code.co_name == "_run"):
            if frame.f_code.co_filename.startswith(OWN):
                yield frame
            frame = frame.f_back

    return ABOVE.get() + sum(1 for _ in own(sys._getframe(1)))


def test_a_sample_reaches_its_job_in_12_frames_and_a_reply_is_read_in_20(
    server: ThreadHandle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create, evaluate, read = asyncio.BaseEventLoop.create_task, claims.ClaimsJob.evaluate, assess.read
    seen: dict[str, list[int]] = {"job": [], "reply": []}

    def create_task(loop: Any, coroutine: Any, **options: Any) -> Any:
        context = options.pop("context", None) or contextvars.copy_context()
        context.run(ABOVE.set, frames())
        return create(loop, coroutine, context=context, **options)

    def evaluated(self: Any, *arguments: Any) -> Any:
        seen["job"].append(frames() + 1)
        return evaluate(self, *arguments)

    def was_read(*arguments: Any, **named: Any) -> Any:
        seen["reply"].append(frames() + 1)
        return read(*arguments, **named)

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_task", create_task)
    monkeypatch.setattr(claims.ClaimsJob, "evaluate", evaluated)
    monkeypatch.setattr(assess, "read", was_read)
    sample = {"question": "When?", "answer": "At ten.", "contexts": ["It opens at ten."]}
    judge = f"openai:m@{server.url}"
    ce.score([sample], judges=judge, options=ce.RunOptions(cache=tmp_path))
    assert max(seen["job"]) <= 12
    assert max(seen["reply"]) <= 20
