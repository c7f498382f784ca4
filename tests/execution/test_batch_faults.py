"""What can go wrong with a batch, at both providers: the numbers are those of an undisturbed run,
or a reason stands in their place; what was answered is not asked again.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from benchmarks.loopback import Batching as Plan
from benchmarks.loopback import Name, Options, claim_judge
from benchmarks.loopback.batch.endpoints import Batches
from benchmarks.loopback.batch.plan import CREATES, LINES, ONLY_LINES, OUTCOMES
from benchmarks.loopback.dialects import DIALECTS
from benchmarks.loopback.sabotage import KINDS
from claimeval.store.store import Store
from tests.conftest import StartServer
from tests.execution.batch_runs import PROVIDERS, Came, go, spec
from tests.sample_runs import RIGHT

SAMPLES = 4
CALLS = 2 * SAMPLES
FINAL = {
    "status_400": "provider_error",
    "status_413": "too_long",
    "status_422": "provider_error",
    "context_too_long": "too_long",
    "filtered_prompt": "filtered",
    "finish_content_filter": "filtered",
    "finish_error": "provider_error",
    "finish_unknown": "provider_error",
    "refusal": "refused",
}
"""What asking again cannot better, and what is said instead of a number: the same as online."""
ODD = ("duplicate", "conflict", "stranger", "lone_surrogate")
"""Lines that hold a reply all the same; those of the groups `odd` and `unusable` do too."""
QUOTA = ("mistral", "insufficient_quota")
"""In Mistral's words it is a limit that passes."""


pytestmark = pytest.mark.usefixtures("quick_polling")


def came_of(
    start_server: StartServer, folder: Path, provider: Name, plan: Plan, timeout: float = 5.0
) -> Came:
    server = start_server(Options(batching=plan), judge=claim_judge.answer)
    return go(server, [spec(server, provider)], folder / "store", SAMPLES, timeout=timeout)


def is_right(came: Came) -> bool:
    return came.run.values == [RIGHT] * SAMPLES and came.run.outcome.summary.complete


def is_fatal(kind: str, provider: Name) -> bool:
    return (
        kind in KINDS
        and KINDS[kind].group == "fatal"
        and kind not in FINAL
        and (provider, kind) != QUOTA
    )


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_line_that_fails_is_a_reason_or_is_asked_again(
    start_server: StartServer, tmp_path: Path, provider: Name
) -> None:
    kinds = [kind for kind in LINES if not is_fatal(kind, provider) and kind != "huge_content"]
    plan = Plan(lines=dict.fromkeys(kinds, 1 / len(kinds)), faulty_batches=1)
    server = start_server(Options(batching=plan), judge=claim_judge.answer)
    came = go(server, [spec(server, provider)], tmp_path / "store", 100)
    assert came.run.outcome.summary.complete
    first = came.lines[0].batch
    befell = {str(line.custom_id): str(line.fault) for line in came.lines if line.batch == first}
    for result, value, reason in zip(
        came.run.results, came.run.values, came.run.reasons, strict=True
    ):
        kind = befell[result.calls[0].key]
        assert (kind, value, reason) == (kind, None if kind in FINAL else RIGHT, FINAL.get(kind))
    for key, kind in befell.items():
        odd = kind in ODD or (kind in KINDS and KINDS[kind].group in ("odd", "unusable"))
        assert (kind, came.asked[key]) == (kind, 1 if odd or kind in FINAL else 2)
    with Store(tmp_path / "store") as store:
        stored = list(store)
    assert {reply.key for reply in stored} <= set(came.asked), (
        "a stranger's line is not a reply of ours"
    )
    assert not any(b"sk-" in reply.value for reply in stored)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("kind", ["status_401", "unknown_model", "unsupported_parameter"])
def test_what_no_request_can_better_stops_the_judge_and_loses_nothing(
    start_server: StartServer, tmp_path: Path, provider: Name, kind: str
) -> None:
    server = start_server(
        Options(batching=Plan(lines={kind: 1.0}, faulty_batches=1)), judge=claim_judge.answer
    )
    assert is_fatal(kind, provider)
    judge = spec(server, provider)
    came = go(server, [judge], tmp_path / "store", SAMPLES)
    assert not came.run.results
    assert not came.run.outcome.summary.complete
    assert list(came.run.outcome.status.stopped) == [judge]
    assert came.batches == 1

    again = go(server, [judge], tmp_path / "store", SAMPLES)
    assert is_right(again)
    assert again.batches == 3


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("outcome", [outcome for outcome in OUTCOMES if outcome != "stuck"])
def test_however_a_batch_ends_the_run_comes_to_its_end(
    start_server: StartServer, tmp_path: Path, provider: Name, outcome: str
) -> None:
    seconds = 0.05 if outcome == "unknown_status" else 0.0
    came = came_of(start_server, tmp_path, provider, Plan(outcomes=(outcome,), seconds=seconds))
    assert is_right(came)
    again = {"expired": 2, "all_failed": 4, "lost_output": 4, "cut_output": 3}
    assert came.asked.total() == CALLS + again.get(outcome, 0)
    lost = {"lost_output", "cut_output"}
    assert came.paid.total() == CALLS + (again[outcome] if outcome in lost else 0)
    if outcome == "expired":
        assert came.run.progress.failures == {"timeout": 2}


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("odd", CREATES)
def test_a_batch_that_may_have_been_made_is_looked_for_before_it_is_made_again(
    start_server: StartServer, tmp_path: Path, provider: Name, odd: str
) -> None:
    came = came_of(start_server, tmp_path, provider, Plan(creates=(odd,)), timeout=0.3)
    assert is_right(came)
    assert came.batches == 2
    assert came.paid.total() == came.asked.total() == CALLS
    assert came.creates == (3 if odd in ("refused", "rejected") else 2)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_three_rejections_in_a_row_stop_the_judge(
    start_server: StartServer, tmp_path: Path, provider: Name
) -> None:
    came = came_of(start_server, tmp_path, provider, Plan(creates=("rejected",) * 3))
    assert (came.creates, came.batches) == (3, 0)
    (reason,) = came.run.outcome.status.stopped.values()
    assert reason.startswith("refused 3 times in a row: status 400")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_file_above_the_servers_limit_is_halved_until_it_fits(
    start_server: StartServer, tmp_path: Path, provider: Name
) -> None:
    plan = Plan(max_bytes=10_000)
    server = start_server(Options(batching=plan), judge=claim_judge.answer)
    came = go(server, [spec(server, provider)], tmp_path / "store", 12)
    assert came.run.values == [RIGHT] * 12
    assert set(came.asked.values()) == {1}
    assert came.batches > 2


def test_results_of_another_content_type_are_read(
    start_server: StartServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = Batches._content
    json = {"content-type": "application/json"}
    monkeypatch.setattr(
        Batches,
        "_content",
        lambda self, call: dataclasses.replace(content(self, call), headers=json),
    )
    assert is_right(came_of(start_server, tmp_path, "mistral", Plan()))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_mix_of_faults_leaves_no_trace_in_the_numbers(
    start_server: StartServer, tmp_path: Path, provider: Name
) -> None:
    kinds = [*ONLY_LINES, "status_500", "rate_limited"]
    plan = Plan(
        lines=dict.fromkeys(kinds, 0.04), faulty_batches=2, outcomes=("expired", "cut_output")
    )
    server = start_server(Options(batching=plan), judge=claim_judge.answer)
    came = go(server, [spec(server, provider)], tmp_path / "batch", 20)
    calm = start_server(judge=claim_judge.answer)
    online = go(calm, [spec(calm, provider)], tmp_path / "online", 20, batch=False)
    assert came.run.values == online.run.values == [RIGHT] * 20
    assert came.batches > 3
    assert min(came.paid.values()) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_parameter_that_batches_refuse_is_left_out_of_the_next_one(
    start_server: StartServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provider: Name
) -> None:
    without = dataclasses.replace(
        DIALECTS[provider], fields=DIALECTS[provider].fields - {"temperature"}
    )
    monkeypatch.setitem(DIALECTS, provider, without)
    server = start_server(Options(batching=Plan()), judge=claim_judge.answer)
    judge = spec(server, provider)
    came = go(server, [judge], tmp_path / "store", SAMPLES)
    assert is_right(came)
    assert came.run.outcome.status.learned[judge].refused == ("temperature",)
    assert came.paid.total() == CALLS
    assert came.batches == 3
