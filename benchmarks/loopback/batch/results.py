"""Runs a batch that is due, and writes its result files with the faults of the plan."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from benchmarks.loopback.batch import lines
from benchmarks.loopback.batch.files import Files
from benchmarks.loopback.batch.jobs import Job, Settled
from benchmarks.loopback.batch.plan import ONLY_LINES, Batching
from benchmarks.loopback.checks import refuse_body
from benchmarks.loopback.dialects import DIALECTS
from benchmarks.loopback.events import EventLog
from benchmarks.loopback.judge import Judge
from benchmarks.loopback.sabotage import KINDS, Scene
from benchmarks.loopback.wire import Answer, encode

NOT_RUN = {
    "expired": {
        "code": "batch_expired",
        "message": "This request could not be executed before the completion window expired.",
    },
    "cancelled": {
        "code": "batch_cancelled",
        "message": "This request was not executed because the batch was cancelled.",
    },
    "no_response": {"code": "internal", "message": "Something went wrong."},
}

WITHIN_A_LINE = 20
"""Number of bytes before the middle of a file, so that the cut is not between two lines of equal
length."""


class Result(NamedTuple):
    """The result of one line."""

    text: bytes
    """The lines in the result file: one, several or none."""
    good: bool
    """Whether it is in the output file, and not in the error file."""


@dataclass(slots=True)
class Run:
    """The execution of one batch, with its cost so far."""

    job: Job
    plan: Batching
    judge: Judge
    log: EventLog
    tokens: int = 0
    ran: int = 0

    def results(self, files: Files) -> Iterator[Result]:
        """Yield the results of all lines in a seeded order. Lines beyond the share that is done do
        not run."""
        outcome = self.plan.outcome(self.job.n)
        rest = "expired" if outcome == "expired" else "cancelled"
        done = round(self.job.share_done(self.plan) * self.job.total)
        paths = [files.path(id) for id in self.job.inputs]
        ordered = lines.shuffled(paths, f"order {self.plan.seed} {self.job.n}")
        if self.plan.rotated:
            ordered = rotated(list(ordered))
        for position, line in enumerate(ordered):
            if position >= done:
                yield self._not_run(line, rest, told=self.job.dialect == "openai")
            elif outcome == "all_failed":
                yield self._ran(line, "status_500")
            else:
                yield self._ran(line, self.plan.line(self.job.n, str(line.get("custom_id"))))

    def _not_run(
        self, line: lines.Line, why: str, *, told: bool, fault: str | None = None
    ) -> Result:
        self._log(line, fault or why, paid=False, tokens=0)
        record = {
            "id": _id(line),
            "custom_id": line.get("custom_id"),
            "response": None,
            "error": NOT_RUN[why],
        }
        return Result(encode(record) + b"\n" if told else b"", good=False)

    def _ran(self, line: lines.Line, fault: str | None) -> Result:
        if fault == "missing":
            self._log(line, fault, paid=False, tokens=0)
            return Result(b"", good=True)
        if fault in ("expired", "no_response"):
            return self._not_run(line, fault, told=True, fault=fault)
        kind = "rate_limited" if fault == "rate_limited_in_output" else fault
        answer = self._answer(line, None if fault in ONLY_LINES and kind == fault else kind)
        self._log(line, fault, paid=answer.paid, tokens=answer.tokens)
        text = _line(line, answer)
        match fault:
            case "duplicate":
                text += text
            case "conflict":
                text += _line(line, self._answer(line, "empty_content"))
            case "garbled":
                text = text[: len(text) // 2] + b"\n"
            case "stranger":
                text += _line({**line, "custom_id": f"stranger-{line.get('custom_id')}"}, answer)
        return Result(text, good=answer.status == 200 or fault == "rate_limited_in_output")

    def _answer(self, line: lines.Line, kind: str | None) -> Answer:
        """Return the answer that the request would get online, with this fault."""
        dialect = DIALECTS[self.job.dialect]
        body = {"model": self.job.model, **line["body"]} if self.job.model else line["body"]
        refused = refuse_body(dialect, body)
        if refused is not None:
            return refused
        number = self.job.n * self.plan.max_requests + self.ran
        self.ran += 1
        tokens = 0

        def generate() -> dict[str, Any]:
            nonlocal tokens
            completion = dialect.complete(self.judge(body), body, number, int(self.job.created))
            total = completion["usage"]["total_tokens"]
            tokens = total if isinstance(total, int) else 0
            return completion

        if kind is None:
            return Answer(200, encode(generate()), paid=True, tokens=tokens)
        answer = KINDS[kind].make(
            Scene(dialect, "", body["model"], self.job.endpoint, "", time.time(), generate)
        )
        return Answer(
            answer.status, answer.body, answer.headers, paid=KINDS[kind].paid, tokens=tokens
        )

    def _log(self, line: lines.Line, fault: str | None, *, paid: bool, tokens: int) -> None:
        self.tokens += tokens
        self.log.write(
            {
                "event": "batch_line",
                "time": time.time(),
                "batch": self.job.id,
                "custom_id": line.get("custom_id"),
                "sha256": hashlib.sha256(encode(line["body"])).hexdigest(),
                "fault": fault,
                "paid": paid,
                "tokens": tokens,
            }
        )


def settle(run: Run, files: Files, now: float) -> Settled:
    """Write the result files of a batch that has ended."""
    dialect = run.job.dialect
    outcome = run.plan.outcome(run.job.n)
    output = files.new_id(dialect)
    errors = files.new_id(dialect)
    completed = failed = 0
    with files.path(output).open("wb") as good, files.path(errors).open("wb") as bad:
        for result in run.results(files):
            (good if result.good else bad).write(result.text)
            completed = completed + result.good
            failed = failed + (not result.good)
    if outcome == "cut_output":
        path = files.path(output)
        with path.open("r+b") as half:
            half.truncate(path.stat().st_size // 2 - WITHIN_A_LINE)
    kept: list[str | None] = []
    for id, kind in ((output, "result"), (errors, "error")):
        if files.path(id).stat().st_size:
            files.adopt(
                id,
                dialect,
                f"{run.job.id}_{kind}.jsonl",
                "result" if kind == "result" else "error",
                now,
            )
            kept.append(id)
        else:
            files.delete(id)
            kept.append(None)
    if outcome == "lost_output":
        files.delete(output)
    if outcome == "blank_error_id" and kept[1] is None:
        kept[1] = ""
    return Settled(now, kept[0], kept[1], completed, failed, run.tokens)


def _id(line: lines.Line) -> str:
    return "batch_req_" + hashlib.sha256(str(line.get("custom_id")).encode()).hexdigest()[:24]


def rotated(ordered: list[lines.Line]) -> Iterator[lines.Line]:
    """Yield each line under the custom_id of the next one."""
    for line, following in zip(ordered, [*ordered[1:], *ordered[:1]], strict=True):
        yield {**line, "custom_id": following["custom_id"]}


def _line(line: lines.Line, answer: Answer) -> bytes:
    """Return a line of a result file. The body is not changed, so that invalid bytes stay
    invalid."""
    body = answer.body
    if answer.headers.get("content-type") == "text/html":
        body = encode(body.decode())
    head = encode({"id": _id(line), "custom_id": line.get("custom_id")})[:-1]
    middle = json.dumps({"status_code": answer.status, "request_id": _id(line)})[:-1].encode()
    return head + b',"response":' + middle + b',"body":' + body + b'},"error":null}\n'
