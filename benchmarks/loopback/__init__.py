"""A provider on 127.0.0.1: OpenAI's and Mistral's wire formats, with an event log of what was asked and paid.

In a thread of this process, with any callable as judge (as fixtures: ``openai_server``, ``mistral_server``,
``start_server``)::

    with serve_in_thread(judge=lambda body: Reply("yes")) as server, openai_client(server) as client:
        ...
        server.exchanges()      # every request, joined with what became of it

In a process of its own, which dies with this one and which benchmarks should use::

    options = Options(
        judge="benchmarks.some_judge:Judge",                # module:name, importable from the root of the checkout
        faults=Faults(seed=1, rates=mixed(0.2, named("rate", "transient", "connection")), per="body", at_most=3),
        latency=Latency(seconds=0.2, tail_seconds=3, tail_rate=0.05),
        limits=Limits(requests=60, tokens=10_000),
        batching=Batching(seconds=2, outcomes=("expired",), lines={"missing": 0.01}, creates=("unheard",)),
    )
    with serve(options, dialect="mistral") as server:
        server.url, server.events(), server.exchanges(), server.batch_lines(), server.stop(), server.kill()

One server speaks both dialects: ``server.url_for("mistral")``. What can go wrong is the table in ``sabotage.py``; for
batches, those in ``batch/plan.py``. ``Faults.at(n)`` and ``Batching.line(n, custom_id)`` tell a test what the server
will do. With ``log=``, ``state=`` and ``port=`` given, a server that was killed can be started again where it was.
``sdk.py`` makes clients of the real SDKs.
"""

from __future__ import annotations

from benchmarks.loopback.batch.plan import Batching
from benchmarks.loopback.dialects import Name
from benchmarks.loopback.events import BatchLine, Event, Exchange
from benchmarks.loopback.faults import Faults, mixed, named
from benchmarks.loopback.judge import Body, EchoJudge, Judge, Reply, text_of
from benchmarks.loopback.limits import Limits
from benchmarks.loopback.options import Latency, Options
from benchmarks.loopback.process import Handle, ProcessHandle, ThreadHandle, serve, serve_in_thread

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
    "Options",
    "ProcessHandle",
    "Reply",
    "ThreadHandle",
    "mixed",
    "named",
    "serve",
    "serve_in_thread",
    "text_of",
]
