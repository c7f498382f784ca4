"""The faults of single lines, as the openai SDK reads them from result files."""

from __future__ import annotations

import json

import pytest
from openai import AsyncOpenAI

from benchmarks.loopback import Batching, Options
from benchmarks.loopback.batch.plan import LINES, ONLY_LINES
from benchmarks.loopback.batch.submit import jsonl, question, run_openai, submit, with_openai
from benchmarks.loopback.process import ThreadHandle
from benchmarks.loopback.sabotage import KINDS
from tests.conftest import StartServer


def _lines_with(start_server: StartServer, kind: str) -> tuple[ThreadHandle, bytes, bytes]:
    """A batch of one line that this fault befalls: the server, the output file and the error file as bytes."""
    server = start_server(Options(batching=Batching(lines={kind: 1.0})))

    async def run(client: AsyncOpenAI) -> tuple[bytes, bytes]:
        batch = await client.batches.retrieve((await submit(client, jsonl(question("a")))).id)
        ids = (batch.output_file_id, batch.error_file_id)
        output, failed = [(await client.files.content(id)).content if id else b"" for id in ids]
        return output, failed

    return server, *with_openai(server, run)


@pytest.mark.parametrize("kind", LINES)
def test_every_line_fault_is_logged_with_what_it_cost(start_server: StartServer, kind: str) -> None:
    server, output, failed = _lines_with(start_server, kind)
    (line,) = server.batch_lines()
    assert line.fault == kind
    assert line.paid == (
        kind in ("duplicate", "conflict", "garbled", "stranger") or (kind in KINDS and KINDS[kind].paid)
    )
    in_neither = kind == "missing"
    assert bool(output) + bool(failed) == (not in_neither)
    good = kind in ("duplicate", "conflict", "garbled", "stranger", "rate_limited_in_output", "error_body")
    assert bool(output) == (good or (kind in KINDS and KINDS[kind].paid))


@pytest.mark.parametrize("kind", ONLY_LINES)
def test_the_faults_of_lines(start_server: StartServer, kind: str) -> None:
    _, output, failed = _lines_with(start_server, kind)
    if kind == "garbled":
        with pytest.raises(json.JSONDecodeError):
            json.loads(output)
        return
    shown = [json.loads(line) for line in (output + failed).splitlines()]
    seen = [
        (line["custom_id"], (line["response"] or {}).get("status_code"), (line["error"] or {}).get("code"))
        for line in shown
    ]
    assert (
        seen
        == {
            "missing": [],
            "expired": [("a", None, "batch_expired")],
            "no_response": [("a", None, "internal")],
            "duplicate": [("a", 200, None), ("a", 200, None)],
            "conflict": [("a", 200, None), ("a", 200, None)],
            "stranger": [("a", 200, None), ("stranger-a", 200, None)],
            "rate_limited_in_output": [("a", 429, None)],
        }[kind]
    )
    if kind in ("duplicate", "conflict"):
        bodies = [line["response"]["body"]["choices"][0]["message"]["content"] for line in shown]
        assert (bodies[0] == bodies[1]) == (kind == "duplicate")


def test_only_the_first_batches_have_faults_when_the_plan_says_so(start_server: StartServer) -> None:
    server = start_server(Options(batching=Batching(lines={"missing": 1.0}, faulty_batches=1)))
    assert len(run_openai(server)[1]) == 0
    assert len(run_openai(server)[1]) == 10
