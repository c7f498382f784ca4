"""The viewer: what it lists, what it serves, and whom it refuses."""

from __future__ import annotations

import http.client
import os
import shutil
import threading
from pathlib import Path

import pytest

from claimeval.report import forms
from claimeval.report.viewer import Building, Home, Viewer, ready_made, runs
from claimeval.types.errors import UsageError
from tests.report.conftest import Browser
from tests.report.runs import BRIDGE, TOWER, TOWER_SAYS, make


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    make(root / "first", (TOWER, BRIDGE), {"openai:strict@http://127.0.0.1/v1": TOWER_SAYS})
    make(root / "deep" / "er" / "second", (TOWER, BRIDGE), {"kind": {}})
    broken = root / "broken"
    shutil.copytree(root / "first", broken)
    (broken / "summary.json").write_text("{}")
    (root / "notes.txt").write_text("not a run")
    (root / "link").symlink_to(root / "first")
    return root


def ask(
    viewer: Viewer, path: str, method: str = "GET", **headers: str
) -> tuple[int, str, http.client.HTTPMessage]:
    connection = http.client.HTTPConnection("127.0.0.1", viewer.server_port, timeout=10)
    connection.request(
        method, path, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    if "Refresh" in response.headers:
        return ask(viewer, path, method, **headers)
    return response.status, body, response.headers


def test_runs_are_found_at_any_depth_but_not_through_links(folder: Path) -> None:
    assert list(runs(folder)) == ["broken", "deep/er/second", "first"]
    assert list(runs(folder / "first")) == ["."]


def test_a_run_is_listed_with_what_it_came_to(folder: Path) -> None:
    found = next(entry for entry in Home(folder).content()[0] if entry.name == "first")
    assert (found.data, found.judges, found.samples, found.complete) == (
        "towers.jsonl",
        ("strict",),
        2,
        True,
    )
    # tower 1 of 3 claims, bridge 1 of 1
    assert found.metrics["faithfulness"][0] == pytest.approx(2 / 3)


def test_a_run_that_cannot_be_read_is_listed_with_the_reason(folder: Path) -> None:
    broken = next(entry for entry in Home(folder).content()[0] if entry.name == "broken")
    assert "complete: is missing" in (broken.problem or "")


def test_it_listens_on_this_machine_only(viewer: Viewer) -> None:
    assert viewer.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.test"},
        {"Host": "evil.test:80"},
        {"Host": ""},
        {"Origin": "http://evil.test"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
@pytest.mark.parametrize("path", ["/", "/report?run=first"])
def test_other_hosts_and_origins_are_refused(
    viewer: Viewer, path: str, headers: dict[str, str]
) -> None:
    status, body, _ = ask(viewer, path, **headers)
    assert status == 403
    assert "first" not in body


def test_its_own_names_are_let_in(viewer: Viewer) -> None:
    for name in ("127.0.0.1", "localhost"):
        host = f"{name}:{viewer.server_port}"
        assert (
            ask(viewer, "/", Host=host, Origin=f"http://{host}", Sec_Fetch_Site="same-origin")[0]
            == 200
        )


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_it_only_reads(viewer: Viewer, method: str) -> None:
    assert ask(viewer, "/", method)[0] == 501


@pytest.mark.parametrize(
    "path",
    [
        "/first/results.jsonl",
        "/../../etc/passwd",
        "/report",
        "/report?run=../first",
        "/report?run=link",
        "/report?run=/etc",
        "/report?run=first&run=first&run=first",
        "/report?run=",
        "/compare?run=first&run=deep/er/second",
        "/compare?run=first&run=first&run=deep/er/second",
        "/compare?run=first&run=link&run=deep/er/second",
        "/compare?run=first&run=deep/er/second&run=broken&baseline=other",
        "/favicon.ico",
    ],
)
def test_nothing_else_in_the_folder_is_served(viewer: Viewer, path: str) -> None:
    assert ask(viewer, path)[0] == 404


def test_pages_come_with_a_policy_and_are_kept_nowhere(viewer: Viewer) -> None:
    status, body, headers = ask(viewer, "/report?run=first")
    assert status == 200
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    assert "<title>towers.jsonl" in body
    assert ask(viewer, "/report?run=first", "HEAD")[1] == ""


def test_a_run_that_cannot_be_read_is_an_answer_and_no_crash(viewer: Viewer) -> None:
    status, body, _ = ask(viewer, "/report?run=broken")
    assert status == 422
    assert "complete: is missing" in body


def test_a_run_that_was_written_anew_is_read_anew(viewer: Viewer, folder: Path) -> None:
    make(folder / "changing", (TOWER,))
    before = ask(viewer, "/report?run=changing")[1]
    assert ask(viewer, "/report?run=changing")[1] == before
    shutil.rmtree(folder / "changing")
    make(folder / "changing", (BRIDGE,))
    summary = folder / "changing" / "summary.json"
    os.utime(summary, ns=(1, 1))
    assert ask(viewer, "/report?run=changing")[1] != before
    shutil.rmtree(folder / "changing")


def test_a_page_that_lies_ready_is_served_and_an_old_or_foreign_one_is_not(tmp_path: Path) -> None:
    path = forms.write(make(tmp_path / "run"), "html")
    assert ready_made(tmp_path / "run") == path.read_bytes()
    os.utime(tmp_path / "run" / "summary.json", ns=(2**62, 2**62))
    assert ready_made(tmp_path / "run") is None, "older than what it shows"
    os.utime(path, ns=(2**62, 2**62))
    path.write_text(path.read_text().replace("script-src 'sha256-", "script-src 'sha256-A"))
    os.utime(path, ns=(2**62, 2**62))
    assert ready_made(tmp_path / "run") is None, "of another version"
    path.unlink()
    path.symlink_to("/etc/hostname")
    assert ready_made(tmp_path / "run") is None


def test_a_page_that_takes_long_is_announced_and_comes_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "run")
    slow = threading.Event()
    monkeypatch.setattr("claimeval.report.viewer.PATIENCE", 0.01)
    monkeypatch.setattr(
        "claimeval.report.viewer.render",
        lambda file, *_, **__: slow.wait(20) and file.write("done"),
    )
    with Viewer(tmp_path) as server:
        with pytest.raises(Building):
            server.report(["run"])
        assert server.listing(), "the list is not held up"
        slow.set()
        monkeypatch.setattr("claimeval.report.viewer.PATIENCE", 20)
        assert server.report(["run"]) == b"done"


def test_what_hinders_a_page_is_said_and_the_next_look_tries_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "run")
    tried: list[int] = []

    def fail(*_: object, **__: object) -> None:
        tried.append(1)
        raise UsageError("no")

    monkeypatch.setattr("claimeval.report.viewer.render", fail)
    with Viewer(tmp_path) as server:
        for _ in range(2):
            with pytest.raises(UsageError, match="no"):
                server.report(["run"])
    assert len(tried) == 2


def test_a_folder_that_is_none_and_a_taken_port_are_said_in_one_line(
    viewer: Viewer, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="nowhere does not exist"):
        Viewer(tmp_path / "nowhere")
    with pytest.raises(UsageError, match=f"Port {viewer.server_port} cannot be used"):
        Viewer(tmp_path, viewer.server_port)


@pytest.mark.browser
def test_a_person_finds_opens_and_compares_runs(browser: Browser, viewer: Viewer) -> None:
    browser.open(viewer.url)
    assert "3 of 3 runs" in browser.line("#main")
    browser.press("/")
    browser.press("strict")
    assert browser.line("#found") == "1 of 3 runs"
    browser.one("#groups tr:not([hidden]) a").click()
    assert browser.line("h1").startswith("1 of 2 answers contradicts the documents")
    browser.one(".brand a").click()
    for box in browser.all("#groups input"):
        box.click()
    browser.one("#compare").click()
    assert browser.line("h1").startswith("No difference beyond chance")
