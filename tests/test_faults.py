"""Whatever a provider does, a score is right or it is missing with a reason, and a second run mends
it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.loopback import (
    Faults,
    Name,
    Options,
    ThreadHandle,
    claim_judge,
    named,
    serve_in_thread,
)
from benchmarks.loopback.sabotage import KINDS
from claimeval.types.records import REASONS, Sample
from tests.conftest import StartServer
from tests.providers.asking import PROVIDERS, judge_at
from tests.sample_runs import RIGHT, SAMPLE, run

UNSCORED = dict.fromkeys(named("transient", "connection", "malformed"), "provider_error") | {
    "lone_surrogate": "unparsable",
    "hang": "timeout",
    "drip": "timeout",
    "status_400": "provider_error",
    "context_too_long": "too_long",
    "status_413": "too_long",
    "status_422": "provider_error",
    "filtered_prompt": "filtered",
    "capacity_429": "provider_error",
    "finish_length": "truncated",
    "finish_content_filter": "filtered",
    "finish_error": "provider_error",
    "finish_unknown": "provider_error",
    "refusal": "refused",
    "null_content": "unparsable",
    "empty_content": "unparsable",
    "huge_content": "unparsable",
    "deep_content": "unparsable",
}
"""Why there is no score where every assessment meets this fault."""
HARMLESS = (
    "content_parts",
    "no_usage",
    "usage_words",
    "usage_negative",
    "closed_after",
    "key_in_reply",
)
STOPPING = (
    *(
        "insufficient_quota",
        "unsupported_parameter",
        "status_401",
        "key_echo",
        "status_403",
        "status_404",
    ),
    *("unknown_model", "redirect_302", "redirect_307", "key_in_redirect", "rate_limited_day"),
)
WAITED_OUT = tuple(kind for kind in named("rate") if kind not in UNSCORED and kind not in STOPPING)
"""Tested in tests/execution/test_online.py, where waiting takes no time."""


def test_every_fault_is_in_one_of_the_tables() -> None:
    assert sorted([*UNSCORED, *HARMLESS, *STOPPING, *WAITED_OUT]) == sorted(KINDS)
    assert set(UNSCORED.values()) <= set(REASONS)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests; what they ask differs."""
    return tmp_path_factory.mktemp("stores") / "store"


def asked_in(test: str, count: int = 1) -> list[Sample]:
    """Samples that no other test asks about; the right score of each is RIGHT."""
    return [
        SAMPLE.model_copy(update={"id": f"{i}", "question": f"{test}, tower {i}?"})
        for i in range(count)
    ]


@pytest.fixture(scope="module")
def server() -> Iterator[ThreadHandle]:
    with serve_in_thread(Options(drip=0.02), judge=claim_judge.answer) as server:
        yield server


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(("kind", "reason"), UNSCORED.items())
def test_a_fault_that_stays_is_no_score_with_a_reason(
    server: ThreadHandle, store: Path, provider: Name, kind: str, reason: str
) -> None:
    server.server.faults = Faults(first=(None,), rates={kind: 1.0})
    before = len(server.exchanges())
    judge = judge_at(server, provider)
    samples = asked_in(f"stays {kind} {provider}")
    ran = run([judge], store, samples, timeout=0.3 if KINDS[kind].group == "slow" else 5.0)
    assert (ran.values, ran.reasons) == ([None], [reason])
    assert {v.unassessed for a in ran.results[0].assessments for v in a.verdicts} == {reason}
    metric = ran.outcome.summary["faithfulness"]
    assert (metric.mean, metric.n, metric.missing, metric.bounds) == (
        None,
        0,
        {reason: 1},
        (0.0, 1.0),
    )
    assert ran.outcome.summary.complete
    sent = server.exchanges()[before:]
    most = 1 + 2 * 2 * 2  # extraction, then attempts x questions x halves
    if kind == "status_500":
        # It may be a refusal that names nothing: the whole form is asked once more before others.
        most += 1
        assert [one.paid for one in sent].count(True) == 1, "the extraction alone is paid for"
    assert len(sent) <= most

    server.server.faults = Faults()
    mended = run([judge], store, samples)
    assert mended.values == [
        None if KINDS[kind].group == "unusable" or kind == "lone_surrogate" else RIGHT
    ]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("kind", HARMLESS)
def test_an_odd_reply_that_holds_the_answer_is_read(
    server: ThreadHandle, store: Path, provider: Name, kind: str
) -> None:
    server.server.faults = Faults(rates={kind: 1.0})
    assert run([judge_at(server, provider)], store, asked_in(f"odd {kind} {provider}")).values == [
        RIGHT
    ]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("kind", STOPPING)
def test_a_fault_that_nothing_betters_stops_the_run_and_the_same_run_goes_on(
    server: ThreadHandle, store: Path, provider: Name, kind: str
) -> None:
    samples = asked_in(f"stops {kind} {provider}", 4)
    server.server.faults = Faults(first=(None,) * 3, rates={kind: 1.0})
    before = len(server.exchanges())
    judge = judge_at(server, provider)
    stopped = run([judge], store, samples, concurrency=2)
    assert not stopped.outcome.summary.complete
    assert list(stopped.outcome.status.stopped) == [judge.name]
    assert set(stopped.values) <= {RIGHT}
    assert len(server.exchanges()) - before <= 3 + 2

    server.server.faults = Faults()
    before = len(server.exchanges())
    assert run([judge], store, samples).values == [RIGHT] * 4
    assert len(server.exchanges()) - before == 8 - 3


@pytest.mark.parametrize("kind", ["status_401", "status_503", "hang"])
def test_a_panel_goes_on_without_a_judge_that_fails(
    start_server: StartServer, tmp_path: Path, kind: str
) -> None:
    healthy = start_server(judge=claim_judge.answer)
    broken = start_server(Options(faults=Faults(rates={kind: 1.0})), judge=claim_judge.answer)
    good = judge_at(healthy, "openai", name="good")
    bad = judge_at(broken, "openai", name="bad")
    third = judge_at(healthy, "openai", name="third", seed=3)
    ran = run(
        [good, bad, third],
        tmp_path / "store",
        asked_in("panel", 2),
        extractor=good,
        timeout=0.5,
        concurrency=1,
    )
    assert ran.values == [RIGHT] * 2
    verdicts = [
        verdict for result in ran.results for a in result.assessments for verdict in a.verdicts
    ]
    assert {v.unassessed for v in verdicts if v.judge != "bad"} == {None}
    assert None not in {v.unassessed for v in verdicts if v.judge == "bad"}
    assert ran.outcome.summary.complete


def test_a_cap_on_calls_stops_the_run_and_a_higher_one_pays_only_the_rest(
    server: ThreadHandle, store: Path
) -> None:
    samples = asked_in("calls", 20)
    server.server.faults = Faults()
    judge = judge_at(server, "openai")
    before = len(server.exchanges())
    first = run([judge], store, samples, max_calls=15, concurrency=8)
    assert len(server.exchanges()) - before == 15
    assert first.outcome.status.budget_exhausted is not None
    assert first.outcome.status.budget_exhausted.startswith("15 calls ")
    assert set(first.values) <= {RIGHT}
    assert not first.outcome.summary.complete

    again = run([judge], store, samples, max_calls=15)
    assert len(server.exchanges()) - before == 15
    assert again.outcome.status.budget_exhausted

    rest = run([judge], store, samples, max_calls=40)
    assert rest.values == [RIGHT] * 20
    assert rest.outcome.status.budget_exhausted is None
    assert len(server.exchanges()) - before == 40


def test_a_cap_on_money_holds_with_faults_that_may_be_paid(
    server: ThreadHandle, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prices.yaml").write_text("openai:judge-1: {input: 1.0, output: 10.0}\n")
    monkeypatch.setenv("CLAIMEVAL_PRICES", str(tmp_path / "prices.yaml"))
    samples = asked_in("money", 30)
    server.server.faults = Faults(
        seed=1, rates=dict.fromkeys(("reset", "cut_body", "status_503", "null_body"), 0.06)
    )
    judge = judge_at(server, "openai", max_tokens=500)
    before = len(server.exchanges())
    cap = 0.05
    runs = 0
    while (
        ran := run([judge], store, samples, max_cost=cap, attempts=5)
    ).outcome.status.budget_exhausted:
        runs += 1
        paid = [exchange for exchange in server.exchanges()[before:] if exchange.paid]
        assert sum(e.tokens for e in paid) * 1e-6 <= cap, "even if all tokens were prompts"
        cap += 0.05
    assert runs >= 2
    assert ran.values == [RIGHT] * 30
