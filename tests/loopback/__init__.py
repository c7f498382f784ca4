"""A provider on 127.0.0.1: OpenAI's and Mistral's wire formats, with an event log of what was asked and paid.

    with serve_in_thread(judge=ScriptedJudge({"": "yes"})) as server:
        AsyncOpenAI(base_url=server.url, api_key="sk-test", max_retries=0)
        ...
    server.exchanges()      # inside the block: every request with what became of it

``serve(Options(...))`` does the same in a process of its own.
"""

from __future__ import annotations

from tests.loopback.batch.plan import Batching
from tests.loopback.dialects import Name
from tests.loopback.events import BatchLine, Event, Exchange
from tests.loopback.faults import Faults, mixed, named
from tests.loopback.judge import Body, EchoJudge, Judge, NoReply, Reply, ScriptedJudge, text_of
from tests.loopback.limits import Limits
from tests.loopback.options import Latency, Options
from tests.loopback.process import Handle, ProcessHandle, ThreadHandle, serve, serve_in_thread

__all__ = [
    "BatchLine",
    "Batching",
    "Body",
    "EchoJudge",
    "Event",
    "Exchange",
    "Faults",
    "Handle",
    "Judge",
    "Latency",
    "Limits",
    "Name",
    "NoReply",
    "Options",
    "ProcessHandle",
    "Reply",
    "ScriptedJudge",
    "ThreadHandle",
    "mixed",
    "named",
    "serve",
    "serve_in_thread",
    "text_of",
]
