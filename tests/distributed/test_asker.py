"""One asker for many clients: over a real server on loopback, with the real SDK behind it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

import claimeval as ce
from benchmarks.loopback.claim_judge import answer
from benchmarks.loopback.options import Latency, Options
from benchmarks.loopback.process import ThreadHandle, serve_in_thread
from claimeval.execution.wire import FORMAT, MOST_BYTES
from claimeval.providers.specs import parse_judge
from claimeval.types.errors import StoppedEarly, UsageError
from claimeval.types.options import RunOptions
from tests.distributed.askers import Serving, data, serving
from tests.sample_runs import untimed

TOKEN = "a-token-of-the-tests"


@pytest.fixture(scope="module")
def provider() -> Iterator[ThreadHandle]:
    with serve_in_thread(judge=answer) as server:
        yield server


@pytest.fixture(scope="module")
def judge(provider: ThreadHandle) -> str:
    return f"openai:model@{provider.url}"


@pytest.fixture(scope="module")
def guarded(judge: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """An asker with a token, which makes no call."""
    with serving([judge], RunOptions(cache=tmp_path_factory.mktemp("cache")), token=TOKEN) as asker:
        yield asker


def files(run: Path) -> list[bytes]:
    return [untimed(run / name) for name in ("results.jsonl", "summary.json")]


def test_two_clients_at_once_get_the_bytes_of_a_run_at_home_and_each_request_is_sent_once(tmp_path: Path) -> None:
    samples = data(tmp_path, 12)
    with serve_in_thread(Options(latency=Latency(seconds=0.02)), judge=answer) as server:
        judge = f"openai:model@{server.url}"
        with serving([judge], RunOptions(cache=tmp_path / "asker")) as asker, ThreadPoolExecutor() as threads:
            shared = RunOptions(via=asker.via)
            runs = [
                threads.submit(ce.score, samples, judges=judge, out=tmp_path / name, options=shared) for name in "ab"
            ]
            assert all(run.result().complete for run in runs)
        asked = [exchange.sha256 for exchange in server.exchanges()]
        assert len(asked) == len(set(asked)) == asker.progress.calls
        ce.score(samples, judges=judge, out=tmp_path / "home", options=RunOptions(cache=tmp_path / "asker"))
    assert files(tmp_path / "a") == files(tmp_path / "b") == files(tmp_path / "home")


def test_local_judges_are_asked_at_home(provider: ThreadHandle, judge: str, tmp_path: Path) -> None:
    samples = data(tmp_path)
    with serving([judge], RunOptions(cache=tmp_path / "asker")) as asker:
        run = ce.score(
            samples, judges=["local:lexical", judge], extractor="local:lexical", options=RunOptions(via=asker.via)
        )
        calls = asker.progress.calls
    steps = {(call.judge, call.step) for result in run.results for call in result.calls}
    assert steps == {("local:lexical", "extract"), ("local:lexical", "assess"), (judge, "assess")}
    assert calls == 4


def test_experiments_and_single_checks_ask_there_too(judge: str, tmp_path: Path) -> None:
    design = {"data": str(data(tmp_path)), "judges": judge, "grid": {"assess_prompt": ["three_way", "binary"]}}
    with serving([judge], RunOptions(cache=tmp_path / "asker")) as asker:
        there = RunOptions(via=asker.via)
        compared = ce.experiment(design, options=there)
        result = ce.check("Item 1 has the value 1.", ["Item 1 has the value 1."], judge=judge, options=there)
        told = httpx2.get(f"http://{asker.via}/v1/status").json()
    assert [run.complete for run in compared.runs] == [True, True]
    assert result.faithfulness == 1.0
    assert (told["calls"], told["clients"], told["waiting"]) == (4 + 4 + 4 + 2, 0, 0)


def test_a_judge_that_the_asker_does_not_know_is_refused_before_any_call(
    guarded: Serving, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CLAIMEVAL_TOKEN", TOKEN)
    for other, problem in (
        ("openai:other@http://127.0.0.1:1/v1", "openai:other at http://127.0.0.1:1/v1 may not be asked here; it asks"),
        ({**_settings(guarded), "extra": {"top_k": 1}}, "is asked here with other headers, query or extra"),
    ):
        with pytest.raises(UsageError, match=problem):
            ce.score(data(tmp_path), judges=[other], options=RunOptions(via=guarded.via))
    assert guarded.progress.calls == 0


def _settings(asker: Serving) -> dict[str, str]:
    (name,) = asker.asker.judges
    judge = parse_judge(name)
    return {"model": judge.model, "endpoint": judge.endpoint or ""}


def test_a_client_without_the_token_is_refused(guarded: Serving, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the token in CLAIMEVAL_TOKEN is missing or differs from the server's"):
        ce.score(data(tmp_path), judges=list(guarded.asker.judges), options=RunOptions(via=guarded.via))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Authorization": "Bearer other"}, 401),
        ({"Authorization": ""}, 401),
        ({"Host": "example.org"}, 403),
        ({"Origin": "http://127.0.0.1"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
def test_what_a_page_or_a_stranger_sends_is_refused(guarded: Serving, headers: dict[str, str], status: int) -> None:
    told = httpx2.get(f"http://{guarded.via}/v1/status", headers={"Authorization": f"Bearer {TOKEN}", **headers})
    assert told.status_code == status
    assert ("judges" in told.json()) == (status == 200)


def post(asker: Serving, content: bytes | Iterator[bytes]) -> tuple[int, str]:
    told = httpx2.post(
        f"http://{asker.via}/v1/ask", content=content, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60
    )
    return told.status_code, told.json()["error"]


def test_a_post_over_16_mb_is_refused_with_and_without_its_length(guarded: Serving) -> None:
    part = b"x" * 1_000_000
    for content in (part * 17, iter([part] * 17)):
        assert post(guarded, content) == (413, f"a post has at most {MOST_BYTES:,} bytes")


@pytest.mark.parametrize(
    ("change", "status", "problem"),
    [
        ({"format": "0.1", "claimeval": "0.1"}, 409, "claimeval 0.1 writes posts of the format 0.1, and this server"),
        ({"requests": [{"judge": 1}]}, 400, "the post is malformed: requests.0.messages: Field required"),
        ({"client": "../x"}, 400, "the post is malformed: client: String should match pattern"),
        ({"judges": []}, 400, "the post is malformed: list index out of range"),
        ({"max_cost": 9}, 400, "the post is malformed: max_cost: Extra inputs are not permitted"),
    ],
)
def test_a_post_of_another_format_is_refused(
    guarded: Serving, change: dict[str, object], status: int, problem: str
) -> None:
    request = {"judge": 0, "messages": [["user", 0]], "reply_format": "json", "max_tokens": 9}
    judges = [{"name": "j", **_settings(guarded)}]
    good = {"format": FORMAT, "claimeval": "x", "client": "ab", "judges": judges, "texts": ["a"], "requests": [request]}
    told, error = post(guarded, json.dumps(good | change).encode())
    assert told == status
    assert problem in error
    assert post(guarded, b"[" * 100_000)[0] == 400


def test_an_asker_that_speaks_no_tls_is_said_so_before_any_call(guarded: Serving, tmp_path: Path) -> None:
    options = RunOptions(via=f"https://{guarded.via}")
    with pytest.raises(UsageError, match=r"WRONG_VERSION_NUMBER.*plain HTTP: leave out https://"):
        ce.score(data(tmp_path), judges=list(guarded.asker.judges), options=options)


def test_a_cap_counts_what_earlier_askers_of_the_budget_spent(
    provider: ThreadHandle, judge: str, tmp_path: Path
) -> None:
    samples = data(tmp_path, 20)
    before = len(provider.exchanges())
    with serving([judge], RunOptions(cache=tmp_path / "asker", max_calls=10)) as asker:
        _stopped(samples, judge, asker.via)
        spending = httpx2.get(f"http://{asker.via}/v1/status").json()["spending"]
    assert len(provider.exchanges()) - before == 10
    assert spending.startswith("10 calls")
    with serving([judge], RunOptions(cache=tmp_path / "asker", max_calls=12)) as asker:
        _stopped(samples, judge, asker.via)
    assert len(provider.exchanges()) - before == 12


def _stopped(samples: Path, judge: str, via: str) -> None:
    with pytest.raises(StoppedEarly, match="Budget reached"):
        ce.score(samples, judges=judge, options=RunOptions(via=via))


def test_options_of_the_asker_are_refused_at_home() -> None:
    for given in ({"max_cost": 1.0}, {"rpm": 5}, {"cache": "replies"}, {"batch": True}):
        with pytest.raises(UsageError, match=f"--{next(iter(given)).replace('_', '-')} cannot be used with --via"):
            RunOptions(via="127.0.0.1:1", **given)
