"""Runs through batches: the same numbers as online, every request paid once, whatever else is asked
of them."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import claimeval as ce
from benchmarks.loopback import Batching as Plan
from benchmarks.loopback import Name, Options, Reply, ThreadHandle, claim_judge
from benchmarks.loopback.judge import Body, text_of
from claimeval import testing
from claimeval.evaluation.claims import ClaimsOptions, make_job
from claimeval.execution.batch import polling
from claimeval.execution.batch.executor import IDLE_STEPS
from claimeval.execution.batch.files import RequestFile
from claimeval.execution.batch.state import BatchState
from claimeval.execution.runner import run_job
from claimeval.metrics.derived import select_metrics
from claimeval.providers import mistral, openai
from claimeval.providers.batches import FileLimits
from claimeval.runs.lines import write
from claimeval.store.store import LOCK_FILE, KeyLocks, Store
from claimeval.types.errors import UsageError
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import SampleResult
from claimeval.types.requests import Judge, Outcome, Request
from tests import scripted
from tests.conftest import StartServer
from tests.execution.batch_runs import PROVIDERS, ahead, go, samples, spec
from tests.sample_runs import RIGHT, run, without_seconds

pytestmark = pytest.mark.usefixtures("quick_polling")


def lines(results: Sequence[SampleResult]) -> list[bytes]:
    """The results as they would be written, but for the seconds of calls."""
    return [without_seconds(b"".join(write(result))) for result in results]


def test_results_are_those_of_the_online_run_to_the_byte(
    server: ThreadHandle, tmp_path: Path
) -> None:
    judges = [spec(server, provider) for provider in PROVIDERS]
    online = go(server, judges, tmp_path / "online", batch=False)
    came = go(server, judges, tmp_path / "batch")
    assert lines(came.run.results) == lines(online.run.results)
    summaries = [ran.run.outcome.summary.model_dump_json().encode() for ran in (came, online)]
    assert without_seconds(summaries[0]) == without_seconds(summaries[1])
    assert came.online == online.online == 3 * 4, "the batch run asked nothing one by one"
    assert came.batches == 3, "one for extraction, then one for each judge"
    assert len(came.asked) == came.paid.total() == 3 * 4


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_body_in_a_file_is_the_one_that_goes_out_online(
    start_server: StartServer, tmp_path: Path, provider: Name
) -> None:
    bodies: list[Body] = []

    def judge(body: Body) -> Reply:
        bodies.append(body)
        return claim_judge.answer(body)

    server = start_server(judge=judge)
    file = tmp_path / "judge.yaml"
    extra = {"openai": {"service_tier": "default"}, "mistral": {"safe_prompt": True}}
    fields = {"model": spec(server, provider), "seed": 7, "top_p": 0.5, "extra": extra[provider]}
    file.write_text(yaml.safe_dump(fields))
    go(server, [str(file)], tmp_path / "online", 1, batch=False)
    online = [{name: value for name, value in body.items() if name != "stream"} for body in bodies]
    assert not any(body.get("stream") for body in bodies), (
        "the default, which Mistral's SDK says explicitly"
    )
    bodies.clear()
    go(server, [str(file)], tmp_path / "batch", 1)
    assert bodies == online


def test_the_same_run_again_asks_nothing(server: ThreadHandle, tmp_path: Path) -> None:
    first = go(server, [spec(server, "openai")], tmp_path)
    again = go(server, [spec(server, "openai")], tmp_path)
    assert len(again.lines) == len(first.lines) == 8
    assert again.run.progress.cached == 8
    assert lines(again.run.results) == lines(first.run.results)


def test_a_panel_may_ask_one_judge_in_batches_one_online_and_one_here(
    server: ThreadHandle, tmp_path: Path
) -> None:
    judges = [spec(server, "openai"), spec(server, "mistral"), "local:lexical"]
    came = go(
        server,
        [judges[0], Judge(name=judges[1], model=judges[1], batch=False), judges[2]],
        tmp_path,
    )
    assert came.run.outcome.summary.complete
    assert {
        verdict.judge for r in came.run.results for a in r.assessments for verdict in a.verdicts
    } == set(judges)
    assert all(
        v.label is not None for r in came.run.results for a in r.assessments for v in a.verdicts
    )
    assert came.paid.total() == 2 * 4
    assert came.online == 4


def test_questions_that_a_judge_left_open_ride_again_or_go_online(
    start_server: StartServer, tmp_path: Path
) -> None:
    asked: dict[str, int] = {}

    def forgetful(body: Body) -> Reply:
        """Leaves the last of several claims out."""
        reply = claim_judge.answer(body)
        said = json.loads(str(reply.content))
        if len(said.get("verdicts", [])) > 1:
            said["verdicts"].pop()
        asked[text_of(body)] = asked.get(text_of(body), 0) + 1
        return Reply(json.dumps(said))

    server = start_server(judge=forgetful)
    judge = spec(server, "openai")
    riding = go(server, [judge], tmp_path / "batch", 2)
    assert riding.run.values == [RIGHT, RIGHT]
    assert (riding.batches, riding.online, len(riding.lines)) == (3, 0, 6)


def test_a_request_is_given_up_after_three_rides_and_asked_anew_by_the_next_run(
    start_server: StartServer, tmp_path: Path
) -> None:
    server = start_server(
        Options(batching=Plan(lines={"missing": 1.0}, faulty_batches=3)), judge=claim_judge.answer
    )
    came = go(server, [spec(server, "openai")], tmp_path)
    assert came.run.reasons == ["provider_error"] * 4
    assert "neither result file" in (came.run.results[0].calls[0].message or "")
    assert set(came.asked.values()) == {3}
    again = go(server, [spec(server, "openai")], tmp_path)
    assert again.run.values == [RIGHT] * 4


def _limit(monkeypatch: pytest.MonkeyPatch, module: ModuleType, limits: FileLimits) -> None:
    batches = dataclasses.replace(module.PROVIDER.batches, limits=limits)
    monkeypatch.setitem(vars(module.PROVIDER), "batches", batches)


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three requests a file at OpenAI; 5,000 bytes at Mistral, where a request here has more than
    1,667."""
    _limit(monkeypatch, openai, FileLimits(3, 10**9))
    _limit(monkeypatch, mistral, FileLimits(10**9, 5_000))


@pytest.mark.usefixtures("small_files")
@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_is_too_much_for_one_file_goes_out_in_several(
    server: ThreadHandle, tmp_path: Path, provider: Name
) -> None:
    came = go(server, [spec(server, provider)], tmp_path, 7)
    assert came.run.values == [RIGHT] * 7
    sizes = sorted(Counter(line.batch for line in came.lines).values())
    assert sizes == [1, 1, 3, 3, 3, 3] if provider == "openai" else max(sizes) <= 2
    assert set(came.asked.values()) == {1}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_file_that_the_queue_does_not_take_is_halved_until_it_does(
    start_server: StartServer, tmp_path: Path, provider: Name, caplog: pytest.LogCaptureFixture
) -> None:
    server = start_server(
        Options(batching=Plan(outcomes=("token_limit",) * 2)), judge=claim_judge.answer
    )
    came = go(server, [spec(server, provider)], tmp_path, 8)
    (line,) = [one for one in caplog.messages if "queue" in one]
    assert re.search(r"the provider's queue of batches is full \(.*oken limit", line)
    assert came.run.values == [RIGHT] * 8
    assert set(came.asked.values()) == {1}
    assert came.batches > 2


@pytest.mark.usefixtures("small_files")
def test_a_file_that_the_queue_does_not_take_waits_for_those_before_it(
    start_server: StartServer, tmp_path: Path
) -> None:
    plan = Plan(outcomes=("completed", "token_limit"), seconds=0.6)
    server = start_server(Options(batching=plan), judge=claim_judge.answer)
    came = go(server, [spec(server, "openai")], tmp_path, 5)
    assert came.run.values == [RIGHT] * 5
    assert came.batches == 4, "nothing was halved"
    assert came.creates == 5


def test_three_refusals_stop_the_judge_and_the_next_run_may_try_again(
    start_server: StartServer, tmp_path: Path
) -> None:
    server = start_server(
        Options(batching=Plan(outcomes=("failed",) * 3)), judge=claim_judge.answer
    )
    came = go(server, [spec(server, "openai")], tmp_path)
    (why,) = came.run.outcome.status.stopped.values()
    assert "3 batches in a row were refused: internal_error" in why
    assert came.lines == []
    assert go(server, [spec(server, "openai")], tmp_path).run.values == [RIGHT] * 4


def test_a_batch_that_never_ends_is_told_and_left_alone(
    start_server: StartServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "OVERDUE", 0.05)
    server = start_server(
        Options(batching=Plan(outcomes=("stuck",), seconds=0.01)), judge=claim_judge.answer
    )
    came = go(server, [spec(server, "openai")], tmp_path)
    (why,) = came.run.outcome.status.stopped.values()
    assert (
        "is overdue (status 'in_progress'). To send its requests again, run `claimeval batch"
        " cancel " in why
    )
    assert came.creates == 1


def test_a_provider_that_never_answered_is_tried_for_half_a_minute(
    server: ThreadHandle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "FIRST_CONTACT", 0.05)
    judge = spec(server, "openai")
    server.stop()
    came = run([judge], tmp_path, samples(1), batch=True)
    (why,) = came.outcome.status.stopped.values()
    assert why.startswith("unreachable for 0 seconds: no connection")


def test_a_provider_that_has_a_batch_is_tried_for_an_hour(
    start_server: StartServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "FIRST_CONTACT", 0.0)
    monkeypatch.setattr(polling, "UNREACHABLE", 0.3)
    server = start_server(Options(batching=Plan(seconds=3600)), judge=claim_judge.answer)
    judge = spec(server, "openai")
    first = go(server, [judge], tmp_path, detach=True)
    assert first.creates == 1
    server.stop()
    came = run([judge], tmp_path, samples(1), batch=True)
    (why,) = came.outcome.status.stopped.values()
    assert why.startswith("unreachable for 0 seconds: no connection")


def test_a_server_without_batches_is_told_at_once(server: ThreadHandle, tmp_path: Path) -> None:
    judge = f"openai:judge@http://127.0.0.1:{server.port}/nothing/v1"
    came = run([judge], tmp_path, samples(1), batch=True)
    (why,) = came.outcome.status.stopped.values()
    assert f"(if the server has no batches, set `batch: false` in the judge file of {judge})" in why


def test_detached_runs_submit_and_collect_step_by_step(
    start_server: StartServer, tmp_path: Path
) -> None:
    server = start_server(Options(batching=Plan(seconds=3600)), judge=claim_judge.answer)
    judge = spec(server, "mistral")
    first = go(server, [judge], tmp_path, detach=True)
    assert not first.run.results
    assert not first.run.outcome.summary.complete
    assert first.run.outcome.status.pending_batches
    assert first.run.outcome.status.pending_batches.startswith(
        "1 batch with 4 requests pending. Run the same command to resume"
    )
    assert first.creates == 1
    soon = go(server, [judge], tmp_path, detach=True)
    assert soon.run.outcome.status.pending_batches == first.run.outcome.status.pending_batches
    assert soon.creates == 1, "nothing is submitted twice"
    last = go(ahead(start_server, server, Plan()), [judge], tmp_path)
    assert last.run.values == [RIGHT] * 4
    assert set(last.paid.values()) == {1}


def test_two_runs_at_once_pay_for_every_question_once(
    start_server: StartServer, tmp_path: Path
) -> None:
    server = start_server(Options(batching=Plan(seconds=0.1)), judge=claim_judge.answer)
    plan = make_job(
        ClaimsOptions(judges=[spec(server, "openai")]), select_metrics(["faithfulness"])
    )
    results: list[list[SampleResult]] = [[], []]

    async def one(into: list[SampleResult]) -> None:
        await run_job(
            plan, samples(6), into.append, RunOptions(cache=tmp_path, batch=True), Progress()
        )

    async def both() -> None:
        await asyncio.gather(*(one(into) for into in results))

    asyncio.run(both())
    assert lines(results[0]) == lines(results[1])
    assert len(results[0]) == 6
    assert len(server.batch_lines()) == len({line.custom_id for line in server.batch_lines()}) == 12


def test_what_a_dead_process_was_gathering_is_gathered_again(
    server: ThreadHandle, tmp_path: Path
) -> None:
    plan = make_job(
        ClaimsOptions(judges=[spec(server, "openai")]), select_metrics(["faithfulness"])
    )
    first = scripted.Scripted(extract=[scripted.FAILED])
    asyncio.run(plan.evaluate(samples(1)[0], first))
    (request,) = first.requests
    with Store(tmp_path), BatchState(tmp_path) as state:
        locks = KeyLocks(tmp_path / LOCK_FILE)
        request_file = RequestFile(state, locks, request.judge, "")
        assert state.claim(request_file.name, request.key, "", 0)
        request_file.close()
        locks.release(request_file.name)  # as the system does when a process dies
        locks.close()
    came = go(server, [spec(server, "openai")], tmp_path, 1)
    assert came.run.values == [RIGHT]
    assert len(came.lines) == 2
    with BatchState(tmp_path) as state:
        assert state[request_file.name].state == "dropped"
        assert not list(state.folder.iterdir()), "files are gone once they were read"


def test_nobody_to_ask_in_batches_is_told_before_any_call(
    server: ThreadHandle, tmp_path: Path
) -> None:
    judge = spec(server, "openai")
    with pytest.raises(
        UsageError, match=r"None of the judges supports batches: local:lexical\. Remove --batch"
    ):
        go(server, ["local:lexical"], tmp_path)
    with pytest.raises(UsageError, match="None of the judges supports batches"):
        go(server, [Judge(model=judge, batch=False)], tmp_path)
    assert server.exchanges() == []


def test_a_sample_is_let_go_when_it_waits_and_not_long_before(tmp_path: Path) -> None:
    # How many turns of the event loop pass between two questions of one sample, in the widest plan
    # there is: the margin of STILL must be several times that.
    turns = 0
    longest = 0

    class Counting(scripted.Scripted):
        async def ask(self, request: Request) -> Outcome:
            nonlocal longest, turns
            longest = max(longest, turns)
            turns = 0
            return await super().ask(request)

    panel = [Judge(name=f"judge-{n}", model=f"scripted:{n}") for n in range(3)]
    plan = scripted.plan("faithfulness", "coverage", judges=panel)
    plan = replace(plan, panel=plan.panel.model_copy(update={"replicates": 2}))
    executor = Counting(
        extract=[testing.claims_reply("The tower is high.")] * 2,
        assess=[testing.verdicts_reply([label]) for label in ("supported", "contradicted") * 20],
    )

    async def main() -> None:
        nonlocal turns
        way = asyncio.create_task(plan.evaluate(samples(1)[0], executor))
        while not way.done():
            turns += 1
            await asyncio.sleep(0)
        way.result()

    asyncio.run(main())
    assert len(executor.requests) > 8
    assert longest <= IDLE_STEPS / 4, longest


def test_batches_are_asked_from_python(server: ThreadHandle, tmp_path: Path) -> None:
    material = [sample.model_dump() for sample in samples(2)]
    judge = spec(server, "openai")
    report = ce.score(
        material,
        judges=[judge],
        metrics=["faithfulness"],
        options=RunOptions(cache=tmp_path, batch=True),
    )
    assert [result["faithfulness"].value for result in report.results] == [RIGHT] * 2
    assert len(server.batch_lines()) == 4


def test_a_detached_call_from_python_says_what_is_under_way(
    start_server: StartServer, tmp_path: Path
) -> None:
    server = start_server(Options(batching=Plan(seconds=60)), judge=claim_judge.answer)
    material = [sample.model_dump() for sample in samples(2)]
    judge = spec(server, "openai")
    with pytest.raises(
        ce.StoppedEarly, match=r"1 batch with 2 requests pending\. Run the same command to resume"
    ):
        ce.score(
            material,
            judges=[judge],
            metrics=["faithfulness"],
            options=RunOptions(cache=tmp_path, batch=True, detach=True),
        )
