"""Viewer of a directory of runs in the browser: a list of the runs, the report of each, and comparisons of two.

It never writes, listens on 127.0.0.1 only, and answers only requests with its address as host. So pages of other sites
cannot read from it, even under another name (DNS rebinding).
"""

from __future__ import annotations

import io
import os
from collections import OrderedDict
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from claimeval.report.assets import page
from claimeval.report.packing import as_json, block
from claimeval.report.page import render
from claimeval.runs.directory import MANIFEST, has_results, load_manifest, load_summary, results_file
from claimeval.runs.overview import data_name
from claimeval.types.errors import DataError, UsageError

ADDRESS = "127.0.0.1"
CACHED_PAGES = 4
DEPTH = 4
"""Levels of directories that are searched for runs."""


class RunEntry(NamedTuple):
    """A run in the list."""

    name: str
    """Path below the directory, with `/`. `.` is the directory itself."""
    changed: float
    """Time when the summary was written, in seconds since 1970."""
    data: str
    judges: tuple[str, ...]
    samples: int
    complete: bool
    metrics: dict[str, tuple[float | None, tuple[float, float] | None]]
    """Mean and interval by metric."""
    problem: str | None = None
    """Reason why the run has no summary."""


def runs(folder: Path) -> dict[str, Path]:
    """Return the run directories in a directory by name, without following links."""
    return dict(sorted((path.relative_to(folder).as_posix(), path) for path in _find(folder, DEPTH)))


def _find(folder: Path, depth: int) -> Iterator[Path]:
    entries = [entry for entry in os.scandir(folder) if not entry.name.startswith(".")]
    names = {entry.name for entry in entries}
    if MANIFEST in names and has_results(folder):
        yield folder
    elif depth:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False) and os.access(entry.path, os.R_OK | os.X_OK):
                yield from _find(Path(entry.path), depth - 1)


def run_entry(name: str, path: Path) -> RunEntry:
    """Return the entry of a run in the list."""
    try:
        manifest, summary = load_manifest(path), load_summary(path)
    except DataError as error:
        return RunEntry(name, 0.0, "", (), 0, False, {}, str(error))
    return RunEntry(
        name=name,
        changed=results_file(path).stat().st_mtime,
        data=data_name(manifest) or "",
        judges=tuple(manifest.short_names[judge.name] for judge in manifest.judges),
        samples=summary.samples,
        complete=summary.complete,
        metrics={metric: (scores.mean, scores.ends) for metric, scores in summary.metrics.items()},
    )


class Viewer(ThreadingHTTPServer):
    """Server of one directory. `port` 0 selects a free port. Raises UsageError if directory or port cannot be used."""

    daemon_threads = True

    def __init__(self, folder: Path, port: int = 0) -> None:
        if not folder.is_dir():
            raise UsageError(f"{str(folder)!r} is not a directory. Give the directory that contains your runs")
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            raise UsageError(f"Port {port} cannot be used: {error.strerror}. Give another --port") from error
        self.folder = folder
        self.hosts = {f"{name}:{self.server_port}" for name in (ADDRESS, "localhost")}
        self._pages: OrderedDict[tuple[tuple[str, int], ...], bytes] = OrderedDict()
        self._lock = Lock()

    @property
    def url(self) -> str:
        """Return the address of the list of runs."""
        return f"http://{ADDRESS}:{self.server_port}/"

    def listing(self) -> bytes:
        """Return the page with the list of runs."""
        entries = [run_entry(name, path)._asdict() for name, path in runs(self.folder).items()]
        content = {"folder": self.folder.resolve().name, "runs": entries}
        return page("viewer").html.replace("<!--data-->", block("runs", as_json(content))).encode()

    def report(self, names: list[str]) -> bytes | None:
        """Return the page of one run or of two, or None if a name is not in the list."""
        paths_by_name = runs(self.folder)
        if not 1 <= len(names) <= 2 or any(name not in paths_by_name for name in names):
            return None
        paths = [paths_by_name[name] for name in names]
        key = tuple((name, results_file(path).stat().st_mtime_ns) for name, path in zip(names, paths, strict=True))
        with self._lock:
            if key not in self._pages:
                file = io.StringIO()
                render(file, *paths)
                self._pages[key] = file.getvalue().encode()
                if len(self._pages) > CACHED_PAGES:
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
        """Answer a GET request of the browser."""
        if refusal := self._refusal():
            return self._answer(HTTPStatus.FORBIDDEN, refusal)
        url = urlsplit(self.path)
        if url.path == "/":
            return self._send(HTTPStatus.OK, self.server.listing(), page("viewer").policy)
        if url.path == "/report":
            return self._report(parse_qs(url.query, keep_blank_values=True).get("run", []))
        return self._answer(HTTPStatus.NOT_FOUND, "Page not found.")

    do_HEAD = do_GET

    def _report(self, names: list[str]) -> None:
        try:
            report = self.server.report(names)
        except (UsageError, OSError) as error:
            return self._answer(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
        if report is None:
            return self._answer(HTTPStatus.NOT_FOUND, "Run not found in this directory.")
        return self._send(HTTPStatus.OK, report, page("report").policy)

    def _refusal(self) -> str | None:
        """Return why a request is refused, or None if it comes from this server's pages or the address bar."""
        if self.headers.get("Host") not in self.server.hosts:
            return "Open the viewer under the address that it printed when it started."
        origin = self.headers.get("Origin")
        if origin is not None and origin not in {f"http://{host}" for host in self.server.hosts}:
            return "Pages of other sites may not read these runs."
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            return "Pages of other sites may not link to these runs."
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
        """Log nothing."""
