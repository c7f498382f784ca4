"""How many functions of the package a sample goes through, from the call of `score` to its job and
to a read reply, and in how many containers a reply becomes a label."""

from __future__ import annotations

import asyncio
import contextvars
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
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
    """Count the frames of the package that a task, and the tasks that made it, go through down to
    here."""

    def own(frame: FrameType | None) -> Iterator[FrameType]:
        while frame and not (ABOVE.get() and frame.f_code.co_name == "_run"):
            if frame.f_code.co_filename.startswith(OWN):
                yield frame
            frame = frame.f_back

    return ABOVE.get() + sum(1 for _ in own(sys._getframe(1)))


def test_a_sample_reaches_its_job_in_12_frames_and_a_reply_is_read_in_20(
    server: ThreadHandle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = asyncio.BaseEventLoop.create_task
    evaluate = claims.ClaimsJob.evaluate
    read = assess.read
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


WHY = "the keeper says so"
"""The explanation in the only reply of a judge, which is in whatever holds its verdict."""


def holders(value: object, depth: int = 6) -> list[str] | None:
    """Return the classes of the package around the explanation in a value, the outermost first;
    None without it."""
    if isinstance(value, str):
        return [] if value == WHY else None
    name = type(value).__name__
    own = type(value).__module__.startswith("claimeval.")
    if name == "Completion" and WHY in str(getattr(value, "text", "")):
        return [name]
    inner: Iterable[object] = getattr(value, "__dict__", {}).values() if own else ()
    if is_dataclass(value):
        inner = [getattr(value, field.name, None) for field in fields(value)]
    if isinstance(value, (tuple, list, Mapping)):
        inner = value.values() if isinstance(value, Mapping) else value
    found = (holders(each, depth - 1) for each in (inner if depth else ()))
    around = next((each for each in found if each is not None), None)
    return [name, *around] if own and around is not None else around


def test_a_reply_becomes_a_label_in_five_containers(tmp_path: Path) -> None:
    """The classes of what functions of the package hold and return, down to the vote on the
    claim."""
    seen: dict[str, None] = {}

    def answer(messages: list[dict[str, str]]) -> str:
        if "verdict" in messages[0]["content"]:
            return json.dumps(
                {"verdicts": [{"id": "c1", "reason": WHY, "evidence": [], "label": "supported"}]}
            )
        return json.dumps(
            {"claims": [{"claim": "It opens at ten.", "sentences": [1], "quote": "At ten."}]}
        )

    def watch(frame: FrameType, event: str, value: object) -> None:
        if (
            event == "return"
            and "Assessment" not in seen
            and frame.f_code.co_filename.startswith(OWN)
        ):
            for each in (value, *frame.f_locals.values()):
                seen.update(dict.fromkeys(holders(each) or ()))

    judge = ce.Judge.from_callable("keeper", answer, model="m")
    sample = {"question": "When?", "answer": "At ten.", "contexts": ["It opens at ten."]}
    sys.setprofile(watch)
    try:
        run = ce.score(
            [sample], judges=judge, metrics="faithfulness", options=ce.RunOptions(cache=tmp_path)
        )
    finally:
        sys.setprofile(None)
    (assessment,) = run.results[0].assessments
    assert (assessment.label, assessment.verdicts[0].explanation) == ("supported", WHY)
    verdict = [
        "ParsedVerdict",
        "ReadVerdict",
        "Verdict",
    ]  # as replied, with its judge, with the place of its call
    containers = [name for name in seen if name not in verdict]
    assert containers == ["Completion", "ParsedReply", "Answers", "JudgedSubjects", "Assessment"]
    assert [name for name in seen if name in verdict] == verdict
