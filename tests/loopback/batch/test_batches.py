"""Files and batches as the two real SDKs see them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import openai
import pytest
from mistralai.client import Mistral, errors
from mistralai.client.models import File
from openai import AsyncOpenAI

from benchmarks.loopback import Batching, Options, Reply, serve, text_of
from benchmarks.loopback.batch.submit import (
    TEN,
    Json,
    jsonl,
    question,
    results,
    run_openai,
    submit,
    with_mistral,
    with_openai,
)
from benchmarks.loopback.process import ThreadHandle
from tests.conftest import StartServer


def test_an_openai_batch_runs_and_answers_in_any_order(openai_server: ThreadHandle) -> None:
    batch, output, failed = run_openai(openai_server)
    assert (batch.status, batch.request_counts.completed, batch.request_counts.total) == ("completed", 10, 10)
    said = {line["custom_id"]: line["response"]["body"]["choices"][0]["message"]["content"] for line in output}
    assert said == {f"c{number}": f"question c{number}" for number in range(10)}
    assert [line["custom_id"] for line in output] != [f"c{number}" for number in range(10)]
    assert failed == []
    assert batch.error_file_id is None


def test_every_line_is_logged_and_paid_once(openai_server: ThreadHandle) -> None:
    run_openai(openai_server)
    lines = openai_server.batch_lines()
    assert sorted(str(line.custom_id) for line in lines) == sorted(f"c{number}" for number in range(10))
    assert all(line.paid and line.tokens > 0 for line in lines)
    assert not any(e.paid for e in openai_server.exchanges())  # uploads, polls and downloads are free


def test_a_new_batch_is_being_validated_and_says_what_it_was_given(openai_server: ThreadHandle) -> None:
    batch = with_openai(openai_server, lambda client: submit(client, intent="abc"))
    assert (batch.status, batch.metadata, batch.output_file_id) == ("validating", {"intent": "abc"}, None)


def test_a_mistral_job_runs(mistral_server: ThreadHandle) -> None:
    async def run(client: Mistral) -> Any:
        content = jsonl(*(question(f"c{number}") for number in range(3)))
        uploaded = await client.files.upload_async(file=File(file_name="in.jsonl", content=content), purpose="batch")
        job = await client.batch.jobs.create_async(
            endpoint="/v1/chat/completions", input_files=[uploaded.id], model="mistral-test", metadata={"intent": "a"}
        )
        assert (job.status, job.total_requests, uploaded.num_lines) == ("QUEUED", 3, 3)
        job = await client.batch.jobs.get_async(job_id=job.id)
        output = await client.files.download_async(file_id=str(job.output_file))
        return job, [json.loads(line) for line in (await output.aread()).splitlines()]

    job, output = with_mistral(mistral_server, run)
    assert (job.status, job.succeeded_requests, job.error_file) == ("SUCCESS", 3, None)
    assert {line["custom_id"] for line in output} == {"c0", "c1", "c2"}
    assert all(line["response"]["body"]["object"] == "chat.completion" for line in output)


def test_mistral_takes_requests_inline_and_lists_jobs_by_metadata(mistral_server: ThreadHandle) -> None:
    async def run(client: Mistral) -> Any:
        create = client.batch.jobs.create_async
        for intent in ("a", "b"):
            requests: Any = [{"custom_id": "0", "body": {"messages": [{"role": "user", "content": intent}]}}]
            await create(endpoint="/v1/chat/completions", requests=requests, model="m", metadata={"intent": intent})
        everything = await client.batch.jobs.list_async()
        return everything, await client.batch.jobs.list_async(metadata={"intent": "a"})

    everything, some = with_mistral(mistral_server, run)
    assert (everything.total, some.total) == (2, 1)
    assert [job.metadata["intent"] for job in everything.data] == ["b", "a"]  # newest first
    assert some.data[0].metadata == {"intent": "a"}


def test_openai_lists_batches_newest_first_page_by_page(openai_server: ThreadHandle) -> None:
    async def run(client: AsyncOpenAI) -> list[str]:
        made = [(await submit(client)).id for _ in range(5)]
        listed = [batch.id async for batch in client.batches.list(limit=2)]
        assert listed == made[::-1]
        return listed

    assert len(set(with_openai(openai_server, run))) == 5


def test_files_are_listed_described_and_deleted(openai_server: ThreadHandle) -> None:
    async def run(client: AsyncOpenAI) -> None:
        uploaded = await client.files.create(file=("in.jsonl", TEN), purpose="batch")
        assert [file.id async for file in client.files.list()] == [uploaded.id]
        described = await client.files.retrieve(uploaded.id)
        assert (described.bytes, described.filename, described.purpose) == (len(TEN), "in.jsonl", "batch")
        assert described.expires_at == described.created_at + 30 * 24 * 3600
        assert (await client.files.content(uploaded.id)).content == TEN
        assert (await client.files.delete(uploaded.id)).deleted
        with pytest.raises(openai.NotFoundError):
            await client.files.content(uploaded.id)

    with_openai(openai_server, run)


@pytest.mark.parametrize(
    ("content", "code", "line"),
    [
        (b"", "empty_file", None),
        (jsonl(question("a")) + b"{nonsense\n", "invalid_json_line", 2),
        (jsonl(question("a"), question("b"), question("a")), "duplicate_custom_id", 3),
        (jsonl(question("a", url="/v1/embeddings")), "url_mismatch", 1),
        (jsonl(question("a"), question("b", body={"model": "other", "messages": []})), "model_mismatch", None),
        (jsonl(*(question(str(number)) for number in range(12))), "too_many_tasks", None),
    ],
)
def test_a_bad_input_file_fails_as_a_batch(
    start_server: StartServer, content: bytes, code: str, line: int | None
) -> None:
    server = start_server(Options(batching=Batching(max_requests=11)))
    batch, output, failed = run_openai(server, content)
    assert batch.status == "failed"
    assert [(error.code, error.line) for error in batch.errors.data] == [(code, line)]
    assert (output, failed, server.batch_lines()) == ([], [], [])


def test_a_file_may_be_too_large_or_of_another_kind(start_server: StartServer) -> None:
    server = start_server(Options(batching=Batching(max_bytes=100)))
    with pytest.raises(openai.APIStatusError, match=r"413 - .*File is too large"):
        with_openai(server, lambda client: client.files.create(file=("in.jsonl", TEN), purpose="batch"))
    with pytest.raises(openai.BadRequestError, match=r"Must be \.jsonl"):
        with_openai(server, lambda client: client.files.create(file=("in.txt", b""), purpose="batch"))


def test_a_line_that_is_wrong_in_itself_is_an_error_line(openai_server: ThreadHandle) -> None:
    wrong = question("b", body={"model": "gpt-test", "messages": [], "random_seed": 1})
    batch, output, failed = run_openai(openai_server, jsonl(question("a"), wrong))
    assert (batch.status, len(output), batch.request_counts.failed) == ("completed", 1, 1)
    assert (failed[0]["custom_id"], failed[0]["response"]["status_code"]) == ("b", 400)


def test_an_expired_batch_delivers_and_bills_what_was_done(start_server: StartServer) -> None:
    server = start_server(Options(batching=Batching(outcomes=("expired",))))
    batch, output, failed = run_openai(server)
    assert (batch.status, len(output), len(failed)) == ("expired", 5, 5)
    assert {line["error"]["code"] for line in failed} == {"batch_expired"}
    assert all(line["response"] is None for line in failed)
    assert sum(line.paid for line in server.batch_lines()) == 5


def test_an_expired_job_at_mistral_leaves_the_rest_out(start_server: StartServer) -> None:
    server = start_server(Options(batching=Batching(outcomes=("expired",))), dialect="mistral")

    async def run(client: Mistral) -> Any:
        requests: Any = [{"custom_id": str(n), "body": question(str(n))["body"]} for n in range(4)]
        made = await client.batch.jobs.create_async(endpoint="/v1/chat/completions", requests=requests, model="m")
        job = await client.batch.jobs.get_async(job_id=made.id)
        output = await client.files.download_async(file_id=str(job.output_file))
        return job, (await output.aread()).splitlines()

    job, output = with_mistral(server, run)
    assert (job.status, job.error_file, len(output)) == ("TIMEOUT_EXCEEDED", None, 2)


@pytest.mark.parametrize(
    ("outcome", "status", "code"),
    [("failed", "failed", "internal_error"), ("token_limit", "failed", "token_limit_exceeded")],
)
def test_a_batch_may_fail_as_a_whole(start_server: StartServer, outcome: str, status: str, code: str) -> None:
    batch, output, _ = run_openai(start_server(Options(batching=Batching(outcomes=(outcome,)))))
    assert (batch.status, batch.errors.data[0].code, output) == (status, code, [])


def test_a_completed_batch_may_have_no_output_file(start_server: StartServer) -> None:
    server = start_server(Options(batching=Batching(outcomes=("all_failed", "blank_error_id"))))
    batch, output, failed = run_openai(server)
    assert (batch.status, batch.output_file_id, len(failed)) == ("completed", None, 10)
    batch, output, _ = run_openai(server)
    assert (batch.status, batch.error_file_id, len(output)) == ("completed", "", 10)


def test_an_output_file_may_be_lost_or_cut(start_server: StartServer) -> None:
    server = start_server(Options(batching=Batching(outcomes=("lost_output", "cut_output"))))
    with pytest.raises(openai.NotFoundError):
        run_openai(server)
    with pytest.raises(json.JSONDecodeError):
        run_openai(server)


def test_a_batch_takes_its_time_and_may_show_a_status_that_nobody_knows(start_server: StartServer) -> None:
    plan = Batching(seconds=0.4, outcomes=("unknown_status",))
    server = start_server(Options(batching=plan))

    async def run(client: AsyncOpenAI) -> list[str]:
        batch = await submit(client)
        seen = [batch.status]
        while batch.status not in ("completed", "failed"):
            batch = await client.batches.retrieve(batch.id)
            if batch.status != seen[-1]:
                seen.append(batch.status)
            await asyncio.sleep(0.01)
        return seen

    assert with_openai(server, run) == ["validating", "in_progress", "archiving", "completed"]


def test_a_stuck_batch_can_be_cancelled_and_delivers_what_was_done(start_server: StartServer) -> None:
    server = start_server(Options(batching=Batching(outcomes=("stuck",))))

    async def run(client: AsyncOpenAI) -> Any:
        made = await submit(client)
        assert (await client.batches.retrieve(made.id)).status == "in_progress"
        assert (await client.batches.cancel(made.id)).status == "cancelling"
        over = await client.batches.retrieve(made.id)
        with pytest.raises(openai.ConflictError):
            await client.batches.cancel(made.id)
        return over

    assert with_openai(server, run).status == "cancelled"


@pytest.mark.parametrize(
    ("odd", "error", "made"),
    [
        ("unheard", openai.APIConnectionError, 1),
        ("unanswered", openai.APITimeoutError, 1),
        ("refused", openai.InternalServerError, 0),
        ("refused_yet_made", openai.InternalServerError, 1),
    ],
)
def test_a_batch_may_be_made_without_the_client_hearing_of_it(
    start_server: StartServer, odd: str, error: type[Exception], made: int
) -> None:
    server = start_server(Options(batching=Batching(creates=(odd,))))

    async def run(client: AsyncOpenAI) -> list[Any]:
        with pytest.raises(error):
            await submit(client.with_options(timeout=0.2), intent="mine")
        return [batch async for batch in client.batches.list()]

    listed = with_openai(server, run)
    assert [batch.metadata for batch in listed] == [{"intent": "mine"}] * made


def test_batches_outlive_their_server(tmp_path: Any) -> None:
    options = Options(
        log=str(tmp_path / "events.jsonl"),
        state=str(tmp_path / "state"),
        judge="benchmarks.loopback.judge:EchoJudge",
        judge_args={"size": 1},
    )
    with serve(options) as server:
        made = with_openai(server, lambda client: submit(client, intent="mine"))
        server.kill()
    with serve(options) as server:
        batch = with_openai(server, lambda client: client.batches.retrieve(made.id))
        assert (batch.status, batch.metadata) == ("completed", {"intent": "mine"})
        server.kill()
    with serve(options) as server:

        async def read(client: AsyncOpenAI) -> list[Json]:
            return await results(client, (await client.batches.retrieve(made.id)).output_file_id)

        output = with_openai(server, read)
        assert {line["response"]["body"]["choices"][0]["message"]["content"] for line in output} == {"q"}
        assert len(server.batch_lines()) == 10
        assert [e.n for e in server.exchanges()] == list(range(5))  # the log goes on where it was


def test_the_judge_of_a_batch_is_the_servers(openai_server: ThreadHandle) -> None:
    openai_server.server.judge = lambda body: Reply(f"{text_of(body)}?")
    _, output, failed = run_openai(openai_server)
    assert {line["response"]["body"]["choices"][0]["message"]["content"] for line in output} == {
        f"question c{i}?" for i in range(10)
    }
    assert not failed


def test_mistral_refuses_what_is_no_job(mistral_server: ThreadHandle) -> None:
    create = lambda client: client.batch.jobs.create_async(  # noqa: E731
        endpoint="/v1/chat/completions", input_files=["nowhere"], model="m"
    )
    with pytest.raises(errors.SDKError) as refused:
        with_mistral(mistral_server, create)
    assert refused.value.status_code == 400


@pytest.mark.parametrize(
    "wrong", [{"outcomes": ("nonsense",)}, {"creates": ("nonsense",)}, {"lines": {"empty_body": 1}}]
)
def test_a_plan_that_cannot_be_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError):
        Batching(**wrong)
