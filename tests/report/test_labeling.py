"""Labels from the browser: what the server takes, whom it refuses, and that nothing is lost."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Any
from zlib import decompress

import pytest

import claimeval as ce
from claimeval.report.viewer import Viewer
from claimeval.types.errors import UsageError
from tests.report.conftest import CONTRAST, RULES, Browser
from tests.report.runs import TOWER, make
from tests.report.test_pages_of_other_jobs import rated

CLAIMS = [f"Room {i} is open." for i in range(30)]
SAMPLES = tuple(
    TOWER.model_copy(update={"id": f"t{i}", "question": f"{i}?", "answer": claim})
    for i, claim in enumerate(CLAIMS)
)
LABEL = {"again": False, "label": "supported", "note": "", "cites": []}


class Desk:
    """A viewer that takes ada's labels, and a page of it."""

    def __init__(self, viewer: Viewer, folder: Path) -> None:
        self.viewer = viewer
        self.folder = folder
        self.page = self.content()

    def get(self, path: str, **headers: str) -> tuple[int, str]:
        return self._send("GET", path, None, headers)

    def content(self, query: str = "run=one") -> dict[str, Any]:
        status, body = self.get(f"/label?{query}")
        assert status == 200, body
        packed = re.search(r'id="queue"[^>]*>([^<]+)<', body)
        assert packed
        found = json.loads(decompress(b64decode(packed[1])))
        assert isinstance(found, dict)
        return found

    @property
    def headers(self) -> dict[str, str]:
        host = f"127.0.0.1:{self.viewer.server_port}"
        return {
            "Host": host,
            "Origin": f"http://{host}",
            "Sec-Fetch-Site": "same-origin",
            "Content-Type": "application/json",
            "X-Claimeval-Token": str(self.page["token"]),
        }

    def post(self, path: str = "/label", headers: Any = None, **fields: Any) -> tuple[int, str]:
        body = json.dumps(
            {"run": "one", "metric": "faithfulness", "queue": "draw", **fields}
        ).encode()
        return self._send("POST", path, body, {**self.headers, **(headers or {})})

    def label(self, sample: str, label: str | None = "supported", **fields: Any) -> tuple[int, str]:
        return self.post(
            **{**LABEL, "sample": sample, "subject": "answer-1", "label": label, **fields}
        )

    def _send(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, str]:
        with closing(
            http.client.HTTPConnection("127.0.0.1", self.viewer.server_port, timeout=10)
        ) as connection:
            kept = {name: value for name, value in headers.items() if value != "-"}
            connection.putrequest(method, path, skip_host="Host" in headers)
            for name, value in kept.items():
                connection.putheader(name, value)
            if body is not None and "Content-Length" not in headers:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            return response.status, response.read().decode()

    def labels(self, metric: str = "faithfulness") -> list[dict[str, object]]:
        file = self.folder / "one" / "annotation" / f"{metric}.labels.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    says: dict[str, dict[str, str]] = {
        "strict": dict.fromkeys(CLAIMS[:4], "not_found"),
        "kind": {},
        "mild": {},
    }
    make(tmp_path / "one", SAMPLES, says, metrics=("faithfulness",))
    with Viewer(tmp_path, label_as="ada") as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield Desk(server, tmp_path)
        server.shutdown()
        thread.join()


def test_a_label_from_the_browser_is_one_of_annotate(desk: Desk) -> None:
    ce.annotate(desk.folder / "one", n=10)
    sample = str(desk.content()["turns"][0]["sample"])
    status, body = desk.label(sample, note="as the guide says", cites=["guide"])
    assert status == 200, body
    (row,) = desk.labels()
    assert row == {
        "id": sample,
        "claim_id": "answer-1",
        "text": f"Room {sample[1:]} is open.",
        "against": "contexts",
        "label": "supported",
        "note": "as the guide says",
        "cites": ["guide"],
        "annotator": "ada",
    }
    assert ce.annotate(desk.folder / "one", annotator="ada").labeled == 1
    assert ce.correct(desk.folder / "one").labeled == 1
    assert desk.label(sample, None)[0] == 200
    assert desk.labels() == []


def test_opening_a_page_writes_nothing_and_a_draw_is_asked_for(desk: Desk) -> None:
    assert desk.page["turns"] == []
    assert not (desk.folder / "one" / "annotation").exists()
    for n in (5, 25):
        assert desk.post("/draw", n=n)[0] == 200
        assert desk.content()["progress"]["drawn"] == n


def test_judges_are_hidden_until_the_label_is_given(desk: Desk) -> None:
    desk.post("/draw", n=30)
    content = desk.content()
    assert all(turn["judges"] is None for turn in content["turns"])
    text = json.dumps(content)
    assert "strict" not in text
    assert "probability" not in text
    answer = json.loads(desk.label("t0")[1])
    assert answer["judges"] == {
        "strict": ["not_found"],
        "kind": ["supported"],
        "mild": ["supported"],
    }
    shown = [turn["sample"] for turn in desk.content()["turns"] if turn["judges"]]
    assert shown == ["t0"]


def test_disputed_claims_are_a_queue_and_their_labels_are_marked(desk: Desk) -> None:
    turns = desk.content("run=one&queue=disputed")["turns"]
    assert [turn["sample"] for turn in turns] == ["t0", "t1", "t2", "t3"]
    assert desk.label("t0", queue="disputed")[0] == 200
    assert desk.labels()[0]["design"] == "disputed"


def test_labels_of_the_draw_are_no_progress_of_the_disputed_queue(desk: Desk) -> None:
    desk.post("/draw", n=30)
    desk.label("t0")
    progress = desk.content("run=one&queue=disputed")["progress"]
    assert (progress["labeled"], progress["drawn"]) == (0, 3)
    answer = json.loads(desk.label("t1", queue="disputed")[1])
    assert (answer["progress"]["labeled"], answer["progress"]["drawn"]) == (1, 3)


@pytest.mark.parametrize("queue", ["draw", "documents"])
def test_what_the_page_proposes_to_draw_is_there(desk: Desk, queue: str) -> None:
    counts = []
    for n in (5, 30):
        counts.append(desk.content(f"run=one&queue={queue}")["count"])
        assert desk.post("/draw", queue=queue, n=n)[0] == 200
    assert counts == [30, 30]
    assert desk.content(f"run=one&queue={queue}")["count"] == 0, "nothing is left"


def test_documents_are_labeled_in_the_file_of_annotate(desk: Desk) -> None:
    assert desk.post("/draw", queue="documents", n=2)[0] == 200
    turn = desk.content("run=one&queue=documents")["turns"][0]
    fields = {**LABEL, "sample": turn["sample"], "subject": turn["subject"], "label": "good"}
    status, body = desk.post(queue="documents", **fields)
    assert status == 200, body
    qrels = (desk.folder / "one" / "annotation" / "documents.qrels").read_text()
    assert qrels.split() == [turn["sample"], "0", turn["subject"], "1"]


ATTACKS: dict[str, tuple[int, dict[str, str], dict[str, object]]] = {
    "another host": (403, {"Host": "evil.test"}, {}),
    "a rebound name": (403, {"Host": "evil.test:8811"}, {}),
    "another origin": (403, {"Origin": "http://evil.test"}, {}),
    "an opaque origin": (403, {"Origin": "null"}, {}),
    "no origin": (403, {"Origin": "-"}, {}),
    "another port of this machine": (403, {"Origin": "http://127.0.0.1:1"}, {}),
    "another site": (403, {"Sec-Fetch-Site": "cross-site"}, {}),
    "a sibling site": (403, {"Sec-Fetch-Site": "same-site"}, {}),
    "a link": (403, {"Sec-Fetch-Site": "none"}, {}),
    "a form": (415, {"Content-Type": "text/plain"}, {}),
    "no content type": (415, {"Content-Type": "-"}, {}),
    "no token": (403, {"X-Claimeval-Token": "-"}, {}),
    "a wrong token": (403, {"X-Claimeval-Token": "x" * 43}, {}),
    "a long text": (413, {}, {"note": "x" * 5000}),
    "a false length": (413, {"Content-Length": "-1"}, {}),
    "a label of its own": (400, {}, {"label": "<script>"}),
    "a claim out of the queue": (400, {}, {"sample": "other"}),
    "a document of another sample": (400, {}, {"cites": ["../guide"]}),
    "a path as a run": (400, {}, {"run": "../one"}),
    "a link as a run": (400, {}, {"run": "link"}),
    "a queue of its own": (400, {}, {"queue": "../../labels"}),
    "a path as a metric": (422, {}, {"metric": "../faithfulness"}),
    "a list as a run": (400, {}, {"run": ["one"]}),
    "a field more": (400, {}, {"annotator": "ben"}),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_is_refused_and_writes_nothing(desk: Desk, attack: str) -> None:
    (desk.folder / "link").symlink_to(desk.folder / "one")
    desk.post("/draw", n=30)
    expected, headers, fields = ATTACKS[attack]
    whole: dict[str, Any] = {**LABEL, "sample": "t0", "subject": "answer-1", **fields}
    status, body = desk.post(headers=headers, **whole)
    assert (status, str(desk.page["token"]) in body) == (expected, False)
    assert desk.labels() == []
    assert {path.name for path in (desk.folder / "one" / "annotation").iterdir()} == {
        "faithfulness.json"
    }


def test_other_requests_that_write_are_refused(desk: Desk) -> None:
    assert desk.post("/report")[0] == 404
    assert desk.post("/draw", n=0)[0] == 400
    assert desk.post("/draw", n=10**9)[0] == 400
    assert desk.post("/draw", n=True)[0] == 400
    assert desk.post("/draw", n=5, metric="fluency")[0] == 422
    assert desk.get("/label?run=../one")[0] == 404
    assert desk.get("/label?run=one&queue=other")[0] == 404
    assert desk.get("/label?run=one", **{"Sec-Fetch-Site": "cross-site"})[0] == 403
    assert not (desk.folder / "one" / "annotation").exists()


def test_without_a_name_nothing_can_be_written(tmp_path: Path) -> None:
    for name in ("", " ", "a\nb", "x" * 81):
        with pytest.raises(UsageError, match="printable characters"):
            Viewer(tmp_path, label_as=name)
    with Viewer(tmp_path) as server:
        assert server.labeling is None


SERVE = """
import os
import sys
from pathlib import Path
from claimeval.report.viewer import Viewer

for _ in sys.stdin:
    child = os.fork()
    if not child:
        with Viewer(Path(sys.argv[1]), label_as="ada") as server:
            print(os.getpid(), server.server_port, flush=True)
            server.serve_forever()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Serves in a process of its own for each line that it reads; all of them import once."""


def killed_servers(folder: Path) -> Iterator[tuple[Desk, Callable[[], None]]]:
    """Start 20 servers one after the other, each of which is killed a little later than the one
    before; yield its desk, and what waits for its end."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVE, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as driver:
        assert driver.stdin
        assert driver.stdout
        for turn in range(20):
            print(file=driver.stdin, flush=True)
            process, port = map(int, driver.stdout.readline().split())
            served = Desk(type("Port", (), {"server_port": port})(), folder)
            killer = threading.Timer(0.02 + 0.011 * turn, os.kill, (process, signal.SIGKILL))
            killer.start()

            def wait(killer: threading.Timer = killer, answers: IO[str] = driver.stdout) -> None:
                killer.join()
                assert int(answers.readline()) == -signal.SIGKILL

            yield served, wait


@pytest.mark.slow
def test_a_label_that_was_answered_outlives_a_kill_while_a_terminal_labels_too(
    tmp_path: Path,
) -> None:
    """The server is killed at 20 instants of a stream of labels and changes; another process labels
    beside it."""
    run = make(tmp_path / "one", SAMPLES, {"kind": {}}, metrics=("faithfulness",))
    beside = ce.annotate(run, n=30, annotator="ben")
    answered: dict[str, str] = {}
    words = ("supported", "not_found", "unsure")
    for turn, (desk, wait) in enumerate(killed_servers(tmp_path)):
        for number in range(10_000):
            sample = f"t{number % 30}"
            word = words[(turn + number // 30) % 3]
            try:
                status, body = desk.label(sample, word)
            except (OSError, http.client.HTTPException):
                break
            assert status == 200, body
            answered[sample] = word
            if number % 5 == 0:
                next(item for item in beside.turns if item.key[0] == sample).label(word)
                answered[f"ben t{number % 30}"] = word
        wait()
        found = ce.annotate(run, annotator="ada").labels
        lost = {
            sample: word
            for sample, word in answered.items()
            if not sample.startswith("ben") and found.get((sample, "answer-1")) != word
        }
        # the one label that was on its way when the server died may be on disk without an answer
        assert set(lost) <= {sample}, (turn, lost)
        answered |= {one: found[one, "answer-1"] for one in lost}
    assert len(ce.annotate(run, annotator="ben").labels) == len(
        [key for key in answered if key.startswith("ben")]
    )
    assert answered


@pytest.mark.browser
def test_a_person_labels_with_keys_alone(browser: Browser, desk: Desk) -> None:
    desk.post("/draw", n=30)
    browser.open(f"{desk.viewer.url}label?run=one")
    browser.press("1y")
    browser.press("nc?y")
    browser.until(lambda: "5 of 30" in browser.line("#progress"))
    assert [row["label"] for row in desk.labels()] == [
        "supported",
        "not_found",
        "contradicted",
        "unsure",
        "supported",
    ]
    assert desk.labels()[0]["cites"] == ["guide"]
    assert browser.all("#said") == [], "nothing of the judges before the label"
    browser.press("u")
    browser.until(lambda: "4 of 30" in browser.line("#progress"))
    assert len(desk.labels()) == 4
    browser.press("\ue012")  # left
    assert "You: unsure. Judges: strict" in browser.line("#said")
    browser.press("\ue007")  # Enter leads to the note, and from it back
    browser.press("hard to say\ue007")
    browser.until(lambda: desk.labels()[3].get("note") == "hard to say")
    browser.press("y")
    browser.until(lambda: desk.labels()[3]["label"] == "supported")
    assert desk.labels()[3]["note"] == "hard to say"
    browser.press("y" * 26 + "y" * 2)
    browser.until(lambda: "Everything has a label." in browser.line("#item"))
    assert "30 of 30 labeled · the same label on" in browser.line("#progress")
    assert (
        f"claimeval agreement {desk.folder}/one claimeval correct {desk.folder}/one"
        in browser.line("#item")
    )
    assert len(desk.labels()) == 30


@pytest.mark.browser
def test_drawing_more_asks_for_the_total(browser: Browser, desk: Desk) -> None:
    browser.open(f"{desk.viewer.url}label?run=one")
    assert "Claims in total" not in browser.line(".queues")
    desk.post("/draw", n=10)
    browser.open(f"{desk.viewer.url}label?run=one")
    assert browser.line(".queues").endswith("Claims in total Draw more")
    browser.run("document.querySelector('.queues input').value = 12")
    browser.one(".queues button").click()
    browser.until(lambda: "of 12 labeled" in browser.line("#progress"))


@pytest.mark.browser
def test_whole_answers_are_labeled_by_the_digits_of_the_words_of_the_rating(
    browser: Browser, desk: Desk
) -> None:
    rated(desk.folder)
    browser.open(f"{desk.viewer.url}label?run=run")
    assert browser.texts(".queues option")[3:] == ["rated_relevance"], (
        "whether it is evasive is no rating"
    )
    assert "Answers" in browser.line(".queues")
    browser.one(".queues button").click()
    assert browser.line("blockquote").endswith("metres high.")
    assert browser.all("#item .document") == [], "the question alone is what the answer is rated by"
    browser.press("13?")
    browser.until(lambda: "3 of 4" in browser.line("#progress"))
    rows = (
        (desk.folder / "run" / "annotation" / "rated_relevance.labels.jsonl")
        .read_text()
        .splitlines()
    )
    assert [json.loads(row)["label"] for row in rows] == ["no", "fully", "unsure"]
    assert ce.agreement(desk.folder / "run").items == 2


@pytest.mark.browser
def test_a_label_that_cannot_be_saved_is_said_and_the_claim_stays(
    browser: Browser, desk: Desk
) -> None:
    desk.post("/draw", n=30)
    browser.open(f"{desk.viewer.url}label?run=one")
    before = browser.line("blockquote")
    (desk.folder / "one" / "annotation" / "faithfulness.labels.jsonl").symlink_to("/etc/hostname")
    browser.press("y")
    assert "Not saved:" in browser.until(lambda: browser.all("#problem")[0].text)
    assert browser.line("blockquote") == before
    browser.complaints()


@pytest.mark.browser
@pytest.mark.parametrize(
    "query", ["run=one", "run=one&queue=documents", "run=one&queue=disputed", "run=run"]
)
def test_the_labeling_page_fits_every_window_and_breaks_no_rule_of_axe(
    browser: Browser, desk: Desk, query: str
) -> None:
    rated(desk.folder)
    desk.post("/draw", n=30)
    desk.post("/draw", queue="documents", n=3)
    assert desk.post("/draw", run="run", metric="rated_relevance", n=3)[0] == 200
    for width, scheme in ((390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")):
        browser.size(width, 844)
        browser.colours(scheme)
        browser.open(f"{desk.viewer.url}label?{query}")
        browser.picture(f"label-{width}-{scheme}-{query.rpartition('=')[2]}")
        assert browser.all("#keys button[data-label]"), "there is something to label"
        assert browser.run("return document.documentElement.scrollWidth") == width
        assert browser.breaches(RULES if scheme == "light" else CONTRAST) == []
