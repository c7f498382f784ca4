"""A provider on 127.0.0.1 with OpenAI's and Mistral's APIs, and a log of all requests and of what
they cost.

In a thread of this process, with any callable as judge (fixtures: ``openai_server``,
``mistral_server``, ``start_server``)::

    judge = lambda body: Reply("yes")
    with serve_in_thread(judge=judge) as server, openai_client(server) as client:
        ...
        server.exchanges()      # every request with its result

In a separate process, which ends with this one; benchmarks should use this::

    options = Options(
        # module:name, importable from the root of the checkout
        judge="benchmarks.some_judge:Judge",
        faults=Faults(
            seed=1,
            rates=mixed(0.2, named("rate", "transient", "connection")),
            per="body",
            at_most=3,
        ),
        latency=Latency(seconds=0.2, tail_seconds=3, tail_rate=0.05),
        limits=Limits(requests=60, tokens=10_000),
        batching=Batching(
            seconds=2, outcomes=("expired",), lines={"missing": 0.01}, creates=("unheard",)
        ),
    )
    with serve(options, dialect="mistral") as server:
        server.url, server.events(), server.exchanges(), server.batch_lines()
        server.stop(), server.kill()

One server has both dialects: ``server.url_for("mistral")``. The table of faults is in
``sabotage.py``, those of batches are in ``batch/plan.py``. Tests can predict faults with
``Faults.at(n)`` and ``Batching.line(n, custom_id)``. With ``log=``, ``state=`` and ``port=``, a
server that was killed can be restarted and continues. ``sdk.py`` makes clients of the real SDKs.
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
