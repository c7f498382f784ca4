"""The HTTP API of files and batches: /files and /batches for OpenAI, /files and /batch/jobs for
Mistral."""

from __future__ import annotations

import dataclasses
import datetime
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from benchmarks.loopback.batch import lines, multipart
from benchmarks.loopback.batch.files import Files
from benchmarks.loopback.batch.jobs import Job, Jobs, Phase
from benchmarks.loopback.batch.plan import Batching
from benchmarks.loopback.batch.records import MISTRAL, OVER, told
from benchmarks.loopback.batch.results import Run, settle
from benchmarks.loopback.dialects import Dialect
from benchmarks.loopback.events import EventLog
from benchmarks.loopback.judge import Judge
from benchmarks.loopback.wire import Answer, Manner, Request, encode

CHAT = "/v1/chat/completions"
ENDED: frozenset[Phase] = OVER - {"failed"}
NOT_METADATA = {
    "page",
    "page_size",
    "model",
    "agent_id",
    "created_after",
    "created_by_me",
    "status",
    "order_by",
}
"""Query parameters of Mistral's list of jobs; all others are keys of the metadata."""
MADE: dict[str | None, Manner] = {"unheard": "reset", "unanswered": "hang"}


@dataclass(frozen=True, slots=True)
class Call:
    """One request below /v1/."""

    dialect: Dialect
    request: Request
    body: Any
    """The JSON value of the body; None if there is none."""
    id: str = ""
    """The id in the path."""

    @property
    def query(self) -> list[tuple[str, str]]:
        return parse_qsl(self.request.path.partition("?")[2])

    def absent(self, what: str) -> Answer:
        return self.dialect.complain(404, f"No such {what} object: {self.id}", param="id")


Action = Callable[[Call], Answer]


class Batches:
    """The files and batches of one server, in one folder."""

    def __init__(self, folder: Path, plan: Batching, judge: Judge, log: EventLog) -> None:
        self.plan = plan
        self._files = Files(folder / "files")
        self._jobs = Jobs(folder / "jobs")
        self._judge = judge
        self._log = log
        self._creates = 0
        self._routes = {
            "openai": self._routes_of("batches"),
            "mistral": self._routes_of("batch/jobs"),
        }

    def _routes_of(self, jobs: str) -> dict[tuple[str, str], Action]:
        return {
            ("POST", "files"): self._upload,
            ("GET", "files"): self._list_files,
            ("GET", "files/*"): self._file,
            ("GET", "files/*/content"): self._content,
            ("DELETE", "files/*"): self._delete_file,
            ("POST", jobs): self._create,
            ("GET", jobs): self._list_jobs,
            ("GET", f"{jobs}/*"): self._job,
            ("POST", f"{jobs}/*/cancel"): self._cancel,
        }

    def answer(self, dialect: Dialect, request: Request, path: str, body: Any) -> Answer | None:
        """Return the answer to a request for a path below /v1/; None if it is not about files or
        batches."""
        routes = self._routes[dialect.name]
        call = Call(dialect, request, body)
        if (action := routes.get((request.method, path))) is not None:
            return action(call)
        parts = path.split("/")
        for at in range(1, len(parts)):
            pattern = "/".join([*parts[:at], "*", *parts[at + 1 :]])
            if (action := routes.get((request.method, pattern))) is not None:
                return action(dataclasses.replace(call, id=parts[at]))
        return None

    def _upload(self, call: Call) -> Answer:
        complain = call.dialect.complain
        upload = multipart.read(call.request)
        if upload is None:
            return complain(400, "Missing required parameter: 'file'.", param="file")
        if upload.fields.get("purpose") != "batch":
            return complain(
                400, f"Invalid purpose {upload.fields.get('purpose')!r}.", param="purpose"
            )
        if not upload.filename.endswith(".jsonl"):
            return complain(400, "Invalid file format for Batch API. Must be .jsonl")
        if len(upload.content) > self.plan.max_bytes:
            return complain(413, "File is too large.")
        stored = self._files.add(call.dialect.name, upload.filename, upload.content, time.time())
        return Answer(200, encode(stored.told()))

    def _list_files(self, call: Call) -> Answer:
        return _page(call, [stored.told() for stored in self._files.all(call.dialect.name)])

    def _file(self, call: Call) -> Answer:
        stored = self._files.get(call.id)
        return Answer(200, encode(stored.told())) if stored else call.absent("File")

    def _content(self, call: Call) -> Answer:
        if self._files.get(call.id) is None:
            return call.absent("File")
        content = self._files.path(call.id).read_bytes()
        return Answer(200, content, {"content-type": "application/octet-stream"})

    def _delete_file(self, call: Call) -> Answer:
        if self._files.get(call.id) is None:
            return call.absent("File")
        self._files.delete(call.id)
        return Answer(200, encode({"id": call.id, "object": "file", "deleted": True}))

    def _create(self, call: Call) -> Answer:
        odd = self.plan.create(self._creates)
        self._creates += 1
        error = call.dialect.error(
            "The server had an error while processing your request.", type="server_error"
        )
        failure = Answer(500, encode(error), fault=odd)
        if odd == "refused":
            return failure
        if odd == "rejected":
            return Answer(
                400,
                encode(call.dialect.error("Invalid request.", type="invalid_request_error")),
                fault=odd,
            )
        job = self._new_job(call)
        if isinstance(job, Answer):
            return job
        self._jobs.save(job)
        if odd == "refused_yet_made":
            return failure
        record = told(job, self.plan, "queued", job.created)
        return Answer(200, encode(record), manner=MADE.get(odd, "whole"), fault=odd)

    def _new_job(self, call: Call) -> Job | Answer:
        body = call.body
        dialect = call.dialect
        now = time.time()
        if not isinstance(body, dict) or body.get("endpoint") != CHAT:
            return dialect.complain(
                400, f"Invalid endpoint; this server batches {CHAT}.", param="endpoint"
            )
        if dialect.name == "openai":
            if body.get("completion_window") != "24h":
                return dialect.complain(
                    400, "Invalid 'completion_window'.", param="completion_window"
                )
            inputs = [body.get("input_file_id")]
        else:
            if not isinstance(body.get("model"), str):
                return dialect.complain(422, "Field required: model", param="model")
            inputs = list(body.get("input_files") or [])
            if body.get("requests"):
                content = b"".join(encode(line) + b"\n" for line in body["requests"])
                inputs.append(self._files.add("mistral", "inline.jsonl", content, now).id)
        stored = [self._files.get(str(id)) for id in inputs]
        if not stored or None in stored:
            return dialect.complain(400, "Invalid input file: no such file.", param="input_file_id")
        paths = [self._files.path(str(id)) for id in inputs]
        return Job(
            id=str(uuid.uuid4()) if dialect.name == "mistral" else f"batch_{uuid.uuid4().hex}",
            n=self._jobs.count(),
            dialect=dialect.name,
            inputs=tuple(map(str, inputs)),
            endpoint=CHAT,
            model=body.get("model"),
            metadata=body.get("metadata"),
            created=now,
            total=lines.count(paths),
            problems=lines.problems(dialect.name, paths, CHAT, self.plan),
        )

    def _list_jobs(self, call: Call) -> Answer:
        jobs = [self._job_record(job) for job in self._jobs.all(call.dialect.name)]
        if call.dialect.name == "openai":
            return _page(call, jobs)
        query = dict(call.query)
        statuses = {value for name, value in call.query if name == "status"}
        metadata = {name: value for name, value in call.query if name not in NOT_METADATA}
        since = query.get("created_after")
        after = datetime.datetime.fromisoformat(since).timestamp() if since else 0.0
        return _page(
            call,
            [
                job
                for job in jobs
                if (not statuses or job["status"] in statuses)
                and metadata.items() <= (job["metadata"] or {}).items()
                and query.get("model") in (None, job["model"])
                and job["created_at"] >= int(after)
            ],
        )

    def _job(self, call: Call) -> Answer:
        job = self._jobs.get(call.dialect.name, call.id)
        return Answer(200, encode(self._job_record(job))) if job else call.absent("Batch")

    def _cancel(self, call: Call) -> Answer:
        job = self._jobs.get(call.dialect.name, call.id)
        if job is None:
            return call.absent("Batch")
        phase = job.phase(self.plan, time.time())
        if phase in OVER:
            return call.dialect.complain(
                409, f"Cannot cancel a batch with status '{MISTRAL[phase].lower()}'."
            )
        if job.cancelled is None:
            job = self._jobs.save(dataclasses.replace(job, cancelled=time.time()))
        return Answer(200, encode(told(job, self.plan, "cancelling", time.time())))

    def _job_record(self, job: Job) -> dict[str, Any]:
        """Return the current record of a batch, and run the batch if it is due."""
        now = time.time()
        phase = job.phase(self.plan, now)
        if phase in ENDED and job.settled is None:
            settled = settle(Run(job, self.plan, self._judge, self._log), self._files, now)
            job = self._jobs.save(dataclasses.replace(job, settled=settled))
        return told(job, self.plan, phase, now)


def _page(call: Call, records: list[dict[str, Any]]) -> Answer:
    """Return a page of a list, newest first: after and limit for OpenAI, page and page_size for
    Mistral."""
    query = dict(call.query)
    if call.dialect.name == "mistral":
        size = int(query.get("page_size", 100))
        start = int(query.get("page", 0)) * size
        shown = records[start : start + size]
        return Answer(200, encode({"object": "list", "data": shown, "total": len(records)}))
    ids = [record["id"] for record in records]
    start = ids.index(query["after"]) + 1 if query.get("after") in ids else 0
    shown = records[start : start + int(query.get("limit", 20))]
    ends = (
        {"first_id": shown[0]["id"], "last_id": shown[-1]["id"]}
        if shown
        else {"first_id": None, "last_id": None}
    )
    more = start + len(shown) < len(records)
    return Answer(200, encode({"object": "list", "data": shown, **ends, "has_more": more}))
