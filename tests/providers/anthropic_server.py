"""Anthropic on this machine: messages and message batches, as their documentation has them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from benchmarks.loopback.claim_judge import answer
from claimeval.testing import serve

Body = dict[str, Any]
Answer = tuple[int, bytes] | tuple[int, bytes, Mapping[str, str]]


def error(status: int, kind: str, message: str, **headers: str) -> Answer:
    """An error as Anthropic writes it."""
    record = {
        "type": "error",
        "error": {"type": kind, "message": message},
        "request_id": "req_body",
    }
    return (
        status,
        json.dumps(record).encode(),
        {name.replace("_", "-"): value for name, value in headers.items()},
    )


def message(*content: Mapping[str, Any], stop_reason: str = "end_turn", **fields: Any) -> Body:
    """A message with these blocks."""
    usage = {
        "input_tokens": 100,
        "output_tokens": 20,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
    }
    return {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5-20251001",
        "content": list(content),
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": usage,
        **fields,
    }


def text(said: str) -> Body:
    return {"type": "text", "text": said}


def tool(given: object) -> Body:
    return {"type": "tool_use", "id": "toolu_01", "name": "reply", "input": given}


def judged(body: Body) -> Body:
    """A message by a judge that follows claimeval's prompts; through the tool where it is told
    to."""
    parts = [part["text"] for part in body.get("system", [])] + [
        one["content"] for one in body["messages"]
    ]
    said = str(answer({"messages": [{"content": part} for part in parts]}).content)
    if "tool_choice" in body:
        given = json.loads(said)
        if "verdicts" in given:  # as the schema has it: an entry for each id
            given = {"verdicts": {entry.pop("id"): entry for entry in given["verdicts"]}}
        return message(tool(given), stop_reason="tool_use", model=body["model"])
    return message(text(said), model=body["model"])


class AnthropicServer:
    """What it was asked, and its batches."""

    def __init__(self, reply: Callable[[Body], Body | Answer]) -> None:
        self.reply = reply
        self.url = ""
        self.bodies: list[Body] = []
        self.headers: list[Mapping[str, str]] = []
        self.paths: list[str] = []
        self.batches: list[tuple[Body, list[Body]]] = []
        """Records and requests, newest first."""
        self.ends = True
        """Whether a batch has ended when its status is asked for."""
        self.unheard = 0
        """Batches still to be made whose making is answered with 504."""

    @property
    def creates(self) -> int:
        return self.paths.count("POST /v1/messages/batches")

    def respond(self, path: str, headers: Mapping[str, str], content: bytes) -> Answer:
        """Answer one request."""
        address = urlsplit(path)
        posted = bool(content) or address.path.endswith("/cancel")
        self.paths.append(f"{'POST' if posted else 'GET'} {address.path}")
        self.headers.append(headers)
        if address.path == "/v1/messages":
            body = json.loads(content)
            self.bodies.append(body)
            said = self.reply(body)
            return (
                (200, json.dumps(said).encode(), {"request-id": "req_head"})
                if isinstance(said, dict)
                else said
            )
        _, _, below = address.path.partition("/v1/messages/batches")
        if posted and not below:
            return self._create(json.loads(content)["requests"])
        if not below:
            return self._list(parse_qs(address.query))
        batch_id, _, what = below.strip("/").partition("/")
        found = next(
            ((record, asked) for record, asked in self.batches if record["id"] == batch_id), None
        )
        if found is None:
            return error(404, "not_found_error", "no such batch")
        record, asked = found
        if what == "results":
            lines = [json.dumps(self._result(one)) for one in reversed(asked)]
            return 200, "\n".join(lines).encode(), {"content-type": "application/x-jsonl"}
        if what == "cancel":
            if record["processing_status"] == "ended":
                return error(
                    400, "invalid_request_error", "Batch cannot be canceled: it has ended."
                )
            record["cancel_initiated_at"] = "2026-11-22T08:00:00Z"
        if self.ends:
            self._end(record)
        return 200, json.dumps(record).encode()

    def _create(self, asked: list[Body]) -> Answer:
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        record: Body = {
            "id": f"msgbatch_{len(self.batches):02d}",
            "type": "message_batch",
            "processing_status": "in_progress",
            "request_counts": {**counts, "processing": len(asked)},
            "created_at": "2026-11-22T07:00:00Z",
            "expires_at": "2026-11-23T07:00:00Z",
            "ended_at": None,
            "cancel_initiated_at": None,
            "archived_at": None,
            "results_url": None,
        }
        self.batches.insert(0, (record, asked))
        if self.unheard:
            self.unheard -= 1
            return error(504, "timeout_error", "the request took too long")
        return 200, json.dumps(record).encode()

    def _list(self, query: Mapping[str, list[str]]) -> Answer:
        records = [record for record, _ in self.batches]
        ids = [record["id"] for record in records]
        start = ids.index(query["after_id"][0]) + 1 if "after_id" in query else 0
        shown = records[start : start + int(query.get("limit", ["20"])[0])]
        return (
            200,
            json.dumps({"data": shown, "has_more": start + len(shown) < len(records)}).encode(),
        )

    def _end(self, record: Body) -> None:
        counts = record["request_counts"]
        done = counts["processing"]
        kind = "canceled" if record["cancel_initiated_at"] else "succeeded"
        record["request_counts"] = {**counts, "processing": 0, kind: counts[kind] + done}
        record["processing_status"] = "ended"
        record["results_url"] = "https://elsewhere.example/results"

    def _result(self, one: Body) -> Body:
        said = self.reply(one["params"])
        if isinstance(said, dict):
            return {"custom_id": one["custom_id"], "result": {"type": "succeeded", "message": said}}
        return {
            "custom_id": one["custom_id"],
            "result": {"type": "errored", "error": json.loads(said[1])},
        }


@contextmanager
def anthropic_server(reply: Callable[[Body], Body | Answer] = judged) -> Iterator[AnthropicServer]:
    """Serve as long as the block lasts."""
    server = AnthropicServer(reply)
    with serve(server.respond) as url:
        server.url = url.removesuffix("/v1")
        yield server
