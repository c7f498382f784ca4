"""A run that dies at a named instant, from its first file to its report: the same command ends it
as if nothing was."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from benchmarks.clients import Client, Instant, score, write_samples
from benchmarks.loopback import Options, ProcessHandle, serve
from claimeval.store.store import Store
from tests.sample_runs import untimed

SAMPLES = 6
CALLS = 18
FILES = ("results.jsonl", "replies.jsonl.gz", "summary.json", "manifest.json")
CREATED = re.compile(rb'"created":\s*"[^"]*"')
"""When a run began: all that two runs of equal settings and replies may differ in."""
OPTIONS = ("--concurrency", "3", "--max-calls", "1000")

INSTANTS = (
    Instant("before", "claimeval.runs.directory:write_text"),
    Instant("after", "claimeval.runs.directory:write_text"),
    Instant("before", "claimeval.store.store:_mark"),
    Instant("before", "claimeval.store.store:_open"),
    Instant("before", "claimeval.store.store:_mark", 2),
    Instant("after", "claimeval.store.store:_mark", 2),
    Instant("after", "claimeval.store.store:KeyLocks.acquire", 5),
    Instant("before", "claimeval.execution.budget:Ledger.reserve", 5),
    Instant("after", "claimeval.execution.budget:Ledger.reserve", 5),
    Instant("before", "httpcore2._async.http11:AsyncHTTP11Connection._send_request_headers", 5),
    Instant("before", "httpcore2._async.http11:AsyncHTTP11Connection._receive_response_headers", 5),
    Instant("before", "claimeval.providers.http:record_response", 5),
    Instant("before", "claimeval.store.store:Store.put_at_once", 5),
    Instant("after", "diskcache.core:Cache._row_insert", 5),
    Instant("after", "claimeval.store.store:Store.put_at_once", 5),
    Instant("before", "claimeval.execution.budget:Budget.settle", 5),
    Instant("before", "claimeval.store.store:KeyLocks.release", 5),
    Instant("before", "claimeval.runs.directory:RunWriter.add", 3),
    Instant("after", "claimeval.runs.directory:RunWriter.add", 3),
    Instant("before", "claimeval.store.store:Store.close"),
    Instant("before", "claimeval.runs.directory:RunWriter.finish"),
    Instant("before", "claimeval.runs.directory:compress"),
    Instant("after", "claimeval.runs.directory:compress"),
    Instant("before", "claimeval.runs.directory:write_summary"),
    Instant("after", "claimeval.runs.directory:write_summary"),
    Instant("before", "claimeval.report.page:_table"),
    Instant("before", "claimeval.report.packing:Details.close"),
    Instant("after", "claimeval.report.forms:write_draft"),
)


class Ended(NamedTuple):
    """What a run leaves."""

    files: list[bytes]
    keys: list[str]
    """Of the replies in its store."""


@pytest.fixture(scope="module")
def server() -> Iterator[ProcessHandle]:
    with serve(Options(judge="benchmarks.loopback.claim_judge:make")) as server:
        yield server


def ended(folder: Path) -> Ended:
    with Store(folder / "store") as store:
        keys = sorted(row.key for row in store)
    *_, end, made_of = (folder / "run" / "report.html").read_bytes().splitlines()
    assert end == b"</html>"
    assert made_of.startswith(b"<!--made of ")
    return Ended([CREATED.sub(b"", untimed(folder / "run" / name)) for name in FILES], keys)


@pytest.fixture(scope="module")
def undisturbed(server: ProcessHandle, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    folder = tmp_path_factory.mktemp("undisturbed")
    write_samples(folder / "samples.jsonl", SAMPLES)
    Client(folder, "run", score(server, *OPTIONS)).wait()
    return ended(folder)


@pytest.mark.slow
@pytest.mark.parametrize("instant", INSTANTS, ids=str)
def test_a_run_that_dies_at_this_instant_goes_on_as_if_nothing_was(
    tmp_path: Path, server: ProcessHandle, undisturbed: Ended, instant: Instant
) -> None:
    write_samples(tmp_path / "samples.jsonl", SAMPLES)
    before = len(server.exchanges())
    client = Client(tmp_path, "run", score(server, *OPTIONS), instant)
    client.wait()
    kept = client.noted("end")
    client.start()
    client.wait()
    assert client.codes == [-signal.SIGKILL, 0]
    assert ended(tmp_path) == undisturbed

    answered = [exchange for exchange in server.exchanges()[before:] if exchange.answered]
    assert len({exchange.sha256 for exchange in answered}) == CALLS == len(undisturbed.keys)
    assert len(answered) <= CALLS + 3, "at most what was in flight is asked again"
    again = {exchange.sha256 for exchange in answered if exchange.n not in kept}
    assert not [e for e in answered if e.n in kept and e.sha256 in again], (
        "what was kept is not asked again"
    )
