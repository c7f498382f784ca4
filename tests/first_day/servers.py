"""Servers with habits of their own, on this machine: how a judge writes, what it refuses, what it leaves out."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from benchmarks.loopback import claim_judge

Body = dict[str, Any]


class Answer(NamedTuple):
    """What a server sends."""

    status: int
    body: Body


Respond = Callable[[Body], Answer]


class HabitServer:
    """A chat-completions server and what it was asked."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.answers: list[Answer] = []

    @property
    def paid(self) -> int:
        """Replies that a provider would charge for."""
        return sum(answer.status == 200 for answer in self.answers)


def reply(text: str, model: str = "served", **changes: object) -> Answer:
    """A good answer with this text; `changes` are of the choice."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"} | changes
    usage = {"prompt_tokens": 300, "completion_tokens": 60, "total_tokens": 360}
    return Answer(200, {"object": "chat.completion", "model": model, "choices": [choice], "usage": usage})


def judged(body: Body) -> Answer:
    """What a good judge answers, by the rule of `claim_judge`."""
    return reply(str(claim_judge.answer(body).content), body["model"])


def refusal(message: str, *, status: int = 400, **fields: object) -> Answer:
    """An error, in OpenAI's form."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None} | fields
    return Answer(status, {"error": error})


@contextmanager
def serve(respond: Respond) -> Iterator[HabitServer]:
    """A server that lives as long as the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers.get("content-length", 0)))
            body = json.loads(content)
            answer = respond(body)
            running.asked.append(body)
            running.paths.append(self.path)
            running.headers.append({name.lower(): value for name, value in self.headers.items()})
            running.answers.append(answer)
            data = json.dumps(answer.body).encode()
            self.send_response(answer.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    running = HabitServer(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
