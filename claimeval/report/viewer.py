"""Serves a folder of runs to the browser on this machine: lists them, shows each report, sets two side by side.

It reads and never writes, listens on 127.0.0.1 alone, and answers only requests that name it as their host, so that
a page from elsewhere can neither read through it nor reach it under another name (DNS rebinding).
"""

from __future__ import annotations

import io
from collections import OrderedDict
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from urllib.parse import parse_qs, urlsplit

from claimeval.report import run_index
from claimeval.report.assets import page
from claimeval.report.packing import as_json, block
from claimeval.report.page import render
from claimeval.runs.directory import SUMMARY
from claimeval.types.errors import UsageError

ADDRESS = "127.0.0.1"
KEPT = 4
"""Pages that stay in memory."""


class Viewer(ThreadingHTTPServer):
    """The server for one folder; `port` 0 takes a free one. UsageError where the folder or the port cannot be used."""

    daemon_threads = True

    def __init__(self, folder: Path, port: int = 0) -> None:
        if not folder.is_dir():
            raise UsageError(f"{str(folder)!r} is not a folder; give the one that holds your runs")
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            raise UsageError(f"port {port} cannot be used: {error.strerror}; give another --port") from error
        self.folder = folder
        self.hosts = {f"{name}:{self.server_port}" for name in (ADDRESS, "localhost")}
        self._pages: OrderedDict[tuple[tuple[str, int], ...], bytes] = OrderedDict()
        self._lock = Lock()

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.server_port}/"

    def listing(self) -> bytes:
        """The page that lists the runs."""
        found = [run_index.listed(name, path)._asdict() for name, path in run_index.runs(self.folder).items()]
        content = {"folder": self.folder.resolve().name, "runs": found}
        return page("viewer").html.replace("<!--data-->", block("runs", as_json(content))).encode()

    def report(self, names: list[str]) -> bytes | None:
        """The page of one run or of two; None for a name that is not in the list."""
        known = run_index.runs(self.folder)
        if not 1 <= len(names) <= 2 or any(name not in known for name in names):
            return None
        paths = [known[name] for name in names]
        key = tuple((name, (path / SUMMARY).stat().st_mtime_ns) for name, path in zip(names, paths, strict=True))
        with self._lock:
            if key not in self._pages:
                file = io.StringIO()
                render(file, *paths)
                self._pages[key] = file.getvalue().encode()
                if len(self._pages) > KEPT:
                    self._pages.popitem(last=False)
            self._pages.move_to_end(key)
            return self._pages[key]


class _Handler(BaseHTTPRequestHandler):
    server: Viewer
    server_version = "claimeval"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        if refusal := self._refusal():
            return self._answer(HTTPStatus.FORBIDDEN, refusal)
        url = urlsplit(self.path)
        if url.path == "/":
            return self._send(HTTPStatus.OK, self.server.listing(), page("viewer").policy)
        if url.path == "/report":
            return self._report(parse_qs(url.query, keep_blank_values=True).get("run", []))
        return self._answer(HTTPStatus.NOT_FOUND, "There is no such page.")

    do_HEAD = do_GET

    def _report(self, names: list[str]) -> None:
        try:
            found = self.server.report(names)
        except (UsageError, OSError) as error:
            return self._answer(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
        if found is None:
            return self._answer(HTTPStatus.NOT_FOUND, "There is no such run in this folder.")
        return self._send(HTTPStatus.OK, found, page("report").policy)

    def _refusal(self) -> str | None:
        """Why this request gets no answer; None when it comes from this server's own pages or the address bar."""
        if self.headers.get("Host") not in self.server.hosts:
            return "Open this viewer under the address it printed when it started."
        origin = self.headers.get("Origin")
        if origin is not None and origin not in {f"http://{host}" for host in self.server.hosts}:
            return "Pages from elsewhere may not read these runs."
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            return "Pages from elsewhere may not link into these runs."
        return None

    def _answer(self, status: HTTPStatus, text: str) -> None:
        self._send(status, text.encode("utf-8", "backslashreplace"), "default-src 'none'", "text/plain; charset=utf-8")

    def _send(self, status: HTTPStatus, body: bytes, policy: str, kind: str = "text/html; charset=utf-8") -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Content-Security-Policy", f"{policy}; frame-ancestors 'none'"),
            ("X-Content-Type-Options", "nosniff"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Referrer-Policy", "no-referrer"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: the terminal belongs to the person who started the viewer."""
