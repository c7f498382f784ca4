"""Tools for tests of code that uses claimeval, without keys or network: a scripted judge, a local
server, samples.

>>> import claimeval as ce
>>> from claimeval.testing import ScriptedJudge
>>> judge = ScriptedJudge({"The tower is 58 metres high.": "supported"})
>>> run = ce.score("answers.jsonl", judges=[judge], metrics=["faithfulness"])  # doctest: +SKIP
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from claimeval.providers import Backend, Keep, Provider
from claimeval.providers.local import (
    EngineAnswer,
    claims_by_rule,
    completed,
    write_claims,
    write_verdicts,
)
from claimeval.types.chat_format import write_chat
from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.records import Sample
from claimeval.types.requests import AssessTask, CallError, Completion, ExtractTask, Judge, Request
from claimeval.types.scales import ABSTAIN

__all__ = [
    "LoopbackProvider",
    "ScriptedJudge",
    "claims_reply",
    "provider",
    "samples",
    "serve",
    "verdicts_reply",
]

LABELS = ("supported", "contradicted", "not_found", ABSTAIN)


class _Script(NamedTuple):
    labels: Mapping[str, str]
    default: str
    reply: Callable[[str], str | None] | None


_SCRIPTS: dict[str, _Script] = {}
"""The scripts of this process, by model name."""


class ScriptedJudge(Judge):
    """A judge with fixed labels for claims.

    As an extractor, it splits texts into claims by rules, one or more per sentence. Judges with the
    same script share cached replies.
    """

    def __init__(
        self,
        labels: Mapping[str, str] | None = None,
        *,
        default: str = "not_found",
        reply: Callable[[str], str | None] | None = None,
        name: str = "scripted",
    ) -> None:
        """Make a judge.

        Args:
            labels: The label of each claim, by its text: supported, contradicted, not_found or
                unsure.
            default: The label of all other claims.
            reply: Returns the judge's reply to the text of a prompt, or None to use the labels.
                Questions that are not about claims (ratings, grades, queries) need it.
            name: Name of the judge in tables.

        Raises:
            UsageError: If a label is none of the four.
        """
        script = _Script(dict(labels or {}), default, reply)
        for label in (*script.labels.values(), default):
            if label not in LABELS:
                raise unknown_name("label", label, LABELS)
        written = (
            json.dumps([script.labels, default], sort_keys=True)
            if reply is None
            else uuid.uuid4().hex
        )
        model = hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        _SCRIPTS[model] = script
        super().__init__(name=name, model=f"{PROVIDER.name}:{model}")


class _ScriptedBackend:
    def __init__(self, script: _Script) -> None:
        self._script = script

    async def complete(self, request: Request, keep: Keep) -> Completion:
        """Return the scripted reply to the request."""
        started = time.perf_counter()
        return completed(self._text(request), request, started, keep)

    def _text(self, request: Request) -> str:
        labels, default, reply = self._script
        text = (
            reply("\n\n".join(message.content for message in request.messages)) if reply else None
        )
        task = request.task
        if text is not None:
            return text
        if isinstance(task, ExtractTask):
            return write_claims(claims_by_rule(task), request)
        if isinstance(task, AssessTask):
            assigned = [labels.get(claim.text, default) for claim in task.claims]
            answers = [EngineAnswer(label, None, (), "scripted") for label in assigned]
            return write_verdicts(task, request, answers)
        raise CallError(
            "provider_error",
            "a scripted judge has labels for claims only; give it `reply` for other questions",
            retryable=False,
        )


def _resolve(judge: Judge) -> Judge:
    if judge.model.partition(":")[2] not in _SCRIPTS:
        raise UsageError(
            f"judge {judge.name!r}: the script of {judge.model!r} is not in this process"
        )
    return judge


@asynccontextmanager
async def _open(judge: Judge) -> AsyncIterator[Backend]:
    yield _ScriptedBackend(_SCRIPTS[judge.model.partition(":")[2]])


PROVIDER = Provider(
    name="testing",
    open=_open,
    resolve=_resolve,
    example="",
    costs=False,
    note=lambda judge: "script of a test, not a judgment",
)


def claims_reply(*claims: str) -> str:
    """Return the reply of a judge that extracts these claims from a text, in the `json` format."""
    return json.dumps({"claims": [{"claim": c, "sentences": [1], "quote": c} for c in claims]})


def verdicts_reply(labels: Iterable[str], **fields: object) -> str:
    """Return the reply of a judge that gives the claims c1, c2, ... these labels in order, in the
    `json` format.

    `fields` are added to every verdict, such as `reason="it says so"`.
    """
    return json.dumps(
        {
            "verdicts": [
                {"id": f"c{i}", "label": label, **fields} for i, label in enumerate(labels, 1)
            ]
        }
    )


class LoopbackProvider:
    """A local server with OpenAI's chat completions API."""

    def __init__(self, url: str) -> None:
        self.url = url
        """The base URL, for `openai:MODEL@URL`."""
        self.judge = Judge(name="loopback", model="openai:loopback", endpoint=url)
        """A judge that uses this server."""
        self.requests: list[dict[str, Any]] = []
        """The bodies of all requests so far, in order of arrival."""


@contextmanager
def provider(reply: str | Callable[[str], str]) -> Iterator[LoopbackProvider]:
    """Run a local provider inside the `with` block, to test the requests that are sent.

    `reply` is the model's reply, or a function from the text of a prompt to the reply.
    """
    write = (lambda _: reply) if isinstance(reply, str) else reply

    def respond(path: str, headers: Mapping[str, str], content: bytes) -> tuple[int, bytes]:
        if path != "/v1/chat/completions":
            return 404, b'{"error": {"message": "only /v1/chat/completions is served here"}}'
        body = json.loads(content)
        running.requests.append(body)
        text = write("\n\n".join(message["content"] for message in body["messages"]))
        return 200, write_chat(text, body["model"])

    with serve(respond) as url:
        running = LoopbackProvider(url)
        yield running


@contextmanager
def serve(
    respond: Callable[
        [str, Mapping[str, str], bytes], tuple[int, bytes] | tuple[int, bytes, Mapping[str, str]]
    ],
) -> Iterator[str]:
    """Serve JSON on this machine inside the `with` block, and yield the base URL.

    `respond` gets the path, the headers (with names in lower case) and the body of a request, which
    is empty for a GET. It returns the status, the body and optionally headers of the response.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            """Respond to a request."""
            content = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, body, *more = respond(self.path, headers, content)
            self.send_response(status)
            all_headers = {
                "content-type": "application/json",
                **(more[0] if more else {}),
                "content-length": str(len(body)),
            }
            for name, value in all_headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    )
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def samples() -> list[Sample]:
    """Return the bundled demo: 24 samples on 14 subjects, with planted faults."""
    from claimeval.data.reading import read_samples
    from claimeval.types.bundled import bundled

    return list(read_samples(bundled("demo.jsonl")))
