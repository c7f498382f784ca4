"""Labels of claims on the page of a sample: one key, the same file as the queue, kept apart from
labels that were drawn."""

from __future__ import annotations

import http.client
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from claimeval.report.viewer import Viewer
from tests.command_line import call
from tests.report.conftest import Browser
from tests.report.runs import make
from tests.report.test_labeling import SAMPLES, Desk, desk, killed_servers

__all__ = ["desk"]

SEEN = {"queue": "seen", "subject": "answer-1", "note": ""}


def _label(desk: Desk, sample: str, label: str | None, **fields: Any) -> tuple[int, str]:
    content: dict[str, Any] = {**SEEN, "sample": sample, "label": label, **fields}
    return desk.post(**content)


def test_a_label_given_beside_the_verdicts_is_kept_apart(desk: Desk) -> None:
    run = desk.folder / "one"
    assert _label(desk, "t0", "supported", note="as the guide says") == (
        200,
        '{"label":"supported"}',
    )
    assert desk.labels() == [
        {
            "id": "t0",
            "claim_id": "answer-1",
            "text": "Room 0 is open.",
            "against": "contexts",
            "label": "supported",
            "annotator": "ada",
            "note": "as the guide says",
            "design": "seen",
        }
    ]
    # The judges are compared with it; a score is not corrected with it.
    assert ce.agreement(run).raters[0].compared == 1
    ce.annotate(run, n=30, annotator="ben")
    for item in ce.annotate(run, annotator="ben"):
        item.label("supported")
    corrected = ce.correct(run)
    assert (corrected.labels.seen, corrected.labeled) == (1, 30)
    said = "labels left out: 1 given beside the verdicts, which were not drawn"
    assert said in corrected.notes
    assert "1 given beside the verdicts" in " ".join(call("correct", run).stdout.split())
    assert _label(desk, "t0", None) == (200, '{"label":null}')
    assert all(row["annotator"] == "ben" for row in desk.labels())


def test_a_label_of_the_queue_stays(desk: Desk) -> None:
    desk.post("/draw", n=30)
    desk.label("t3", "not_found")
    status, says = _label(desk, "t3", "supported")
    assert status == 422
    assert "before you saw what judges say" in says
    _label(desk, "t3", None)
    (row,) = desk.labels()
    assert row["label"] == "not_found"
    assert "design" not in row


def test_a_claim_that_was_labeled_while_reading_is_drawn_again(desk: Desk) -> None:
    _label(desk, "t3", "supported")
    desk.post("/draw", n=30)
    assert len(list(ce.annotate(desk.folder / "one", annotator="ada"))) == 30


@pytest.mark.parametrize(
    "fields",
    [
        {"sample": "none"},
        {"subject": "answer-9"},
        {"sample": 3},
        {"label": "wrong"},
        {"note": "x" * 501},
        {"note": None},
        {"again": False},
        {"metric": "coverage"},
    ],
)
def test_what_is_no_claim_of_the_run_is_refused(desk: Desk, fields: dict[str, Any]) -> None:
    status, _ = desk.post(**{**SEEN, "sample": "t0", "label": "supported", **fields})
    assert status in (400, 422)
    assert desk.labels() == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "-"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Host": "evil.example"},
        {"X-Claimeval-Token": "guess"},
        {"Content-Type": "text/plain"},
    ],
)
def test_a_label_from_elsewhere_is_refused(desk: Desk, headers: dict[str, str]) -> None:
    status, _ = desk.post(headers=headers, sample="t0", label="supported", **SEEN)
    assert status in (403, 415)
    assert desk.labels() == []


def test_a_report_takes_labels_only_where_somebody_labels(desk: Desk, tmp_path: Path) -> None:
    status, page = desk.get("/report?run=one")
    assert status == 200
    assert 'id="labeling"' in page
    assert "connect-src 'self'" in page
    with Viewer(tmp_path) as server:
        report = server.report(["one"])
    assert report
    assert b'id="labeling"' not in report
    assert b"connect-src" not in report


@pytest.mark.slow
def test_no_label_is_lost_when_the_server_is_killed(tmp_path: Path) -> None:
    """The server is killed at 20 instants of a stream of labels and changes."""
    make(tmp_path / "one", SAMPLES, {"kind": {}}, metrics=("faithfulness",))
    ce.annotate(tmp_path / "one", n=30)
    answered: dict[str, str] = {}
    words = ("supported", "not_found", "unsure")
    for turn, (served, wait) in enumerate(killed_servers(tmp_path)):
        sample = ""
        for number in range(10_000):
            sample = f"t{number % 30}"
            word = words[(turn + number // 30) % 3]
            try:
                status, body = _label(served, sample, word)
            except (OSError, http.client.HTTPException):
                break
            assert status == 200, body
            answered[sample] = word
        wait()
        found = {str(row["id"]): str(row["label"]) for row in served.labels()}
        lost = {one for one, word in answered.items() if found.get(one) != word}
        # the label that was on its way when the server died may be on disk without an answer
        assert lost <= {sample}, (turn, lost)
        answered |= {one: found[one] for one in lost}
    assert answered


@pytest.mark.browser
def test_a_wrong_verdict_is_labeled_with_one_key(browser: Browser, desk: Desk) -> None:
    browser.open(f"{desk.viewer.url}report?run=one", "#/sample/t0?claim=answer-1")
    browser.until(lambda: browser.all("details.claim[open] .own-label"))
    browser.press("y")
    browser.until(lambda: [row["label"] for row in desk.labels()] == ["supported"])
    assert desk.labels()[0]["design"] == "seen"
    browser.until(lambda: "saved: supported" in browser.line(".own-label [role=status]"))
    browser.press("?")
    browser.until(lambda: desk.labels()[0]["label"] == "unsure")
    browser.press("u")
    browser.until(lambda: desk.labels()[0]["label"] == "supported")
    browser.press("u")
    browser.until(lambda: desk.labels() == [])
    # The note is made anew once the page knows that the label is gone from the file.
    browser.until(lambda: "take back" not in browser.line(".own-keys"))
    browser.one(".own-note").send_keys("no y key is taken here")
    browser.one(".own-keys button").click()
    browser.until(lambda: [row["label"] for row in desk.labels()] == ["supported"])
    assert desk.labels()[0]["note"] == "no y key is taken here"
    assert browser.breaches() == []
    for width in (320, 390, 720, 1440):
        browser.size(width)
        assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
    browser.size(1280, 900)
    # It is still there when the page is opened again, beside a label that cannot be changed here.
    desk.post("/draw", n=30)
    desk.label("t1", "not_found")
    browser.open(f"{desk.viewer.url}report?run=one", "#/sample/t0?claim=answer-1")
    pressed = ".own-keys button[aria-pressed=true]"
    browser.until(lambda: browser.all(pressed))
    assert "supported" in browser.line(pressed)
    browser.go("#/sample/t1?claim=answer-1")
    browser.until(lambda: "in the queue" in browser.line(".own-label [role=status]"))
    assert browser.all(".own-keys button:disabled")


@pytest.mark.browser
def test_a_label_that_cannot_be_saved_is_said(browser: Browser, desk: Desk) -> None:
    browser.open(f"{desk.viewer.url}report?run=one", "#/sample/t0?claim=answer-1")
    browser.until(lambda: browser.all(".own-label"))
    folder = desk.folder / "one" / "annotation"
    folder.write_text("in the way")
    browser.press("y")
    browser.until(lambda: "Not saved" in browser.line(".own-label [role=status]"))
    assert not browser.all(".own-keys button[aria-pressed=true]")
    browser.complaints()
