"""Records of batches in each provider's format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.loopback.batch.jobs import Job, Phase, Problem
from benchmarks.loopback.batch.plan import Batching

OPENAI: Mapping[Phase, str] = {
    "queued": "validating",
    "running": "in_progress",
    "finishing": "finalizing",
    "done": "completed",
    "failed": "failed",
    "expired": "expired",
    "cancelling": "cancelling",
    "cancelled": "cancelled",
    "unknown": "archiving",
}
MISTRAL: Mapping[Phase, str] = {
    "queued": "QUEUED",
    "running": "RUNNING",
    "finishing": "RUNNING",
    "done": "SUCCESS",
    "failed": "FAILED",
    "expired": "TIMEOUT_EXCEEDED",
    "cancelling": "CANCELLATION_REQUESTED",
    "cancelled": "CANCELLED",
    "unknown": "ARCHIVING",
}
TOLD = {
    "failed": Problem("internal_error", "The batch could not be processed."),
    "token_limit": Problem(
        "token_limit_exceeded", "Enqueued token limit reached. Please try again later."
    ),
}
"""The error of a batch that fails as a whole, by its planned outcome."""
DAY = 24 * 3600
OVER: frozenset[Phase] = frozenset({"done", "failed", "expired", "cancelled"})


def told(job: Job, plan: Batching, phase: Phase, now: float) -> dict[str, Any]:
    """Return the record of a batch in this phase, in its provider's format."""
    problems = job.problems or tuple(filter(None, [TOLD.get(plan.outcome(job.n))]))
    shown = problems if phase == "failed" else ()
    return (_mistral if job.dialect == "mistral" else _openai)(job, phase, shown, now)


def _openai(job: Job, phase: Phase, problems: tuple[Problem, ...], now: float) -> dict[str, Any]:
    settled = job.settled
    ended = {
        "done": "completed_at",
        "failed": "failed_at",
        "expired": "expired_at",
        "cancelled": "cancelled_at",
    }
    times: dict[str, int | None] = dict.fromkeys((*ended.values(), "cancelling_at"))
    if job.cancelled is not None:
        times["cancelling_at"] = int(job.cancelled)
    if phase in ended:
        times[ended[phase]] = int(settled.at if settled else now)
    errors = [
        {"code": p.code, "message": p.message, "line": p.line, "param": None} for p in problems
    ]
    return {
        "id": job.id,
        "object": "batch",
        "endpoint": job.endpoint,
        "errors": {"object": "list", "data": errors} if errors else None,
        "input_file_id": job.inputs[0],
        "completion_window": "24h",
        "status": OPENAI[phase],
        "output_file_id": settled.output if settled else None,
        "error_file_id": settled.errors if settled else None,
        "created_at": int(job.created),
        "expires_at": int(job.created) + DAY,
        **times,
        "request_counts": {
            "total": 0 if phase in ("queued", "failed") else job.total,
            "completed": settled.completed if settled else 0,
            "failed": settled.failed if settled else 0,
        },
        "metadata": job.metadata,
    }


def _mistral(job: Job, phase: Phase, problems: tuple[Problem, ...], now: float) -> dict[str, Any]:
    settled = job.settled
    completed, failed = (settled.completed, settled.failed) if settled else (0, 0)
    return {
        "id": job.id,
        "object": "batch",
        "input_files": list(job.inputs),
        "endpoint": job.endpoint,
        "model": job.model,
        "agent_id": None,
        "metadata": job.metadata,
        "output_file": settled.output if settled else None,
        "error_file": settled.errors if settled else None,
        "errors": [{"message": problem.message, "count": 1} for problem in problems],
        "status": MISTRAL[phase],
        "created_at": int(job.created),
        "total_requests": job.total,
        "completed_requests": completed + failed,
        "succeeded_requests": completed,
        "failed_requests": failed,
        "started_at": None if phase == "queued" else int(job.created),
        "completed_at": int(settled.at if settled else now) if phase in OVER else None,
    }
