"""The GitHub Action, step by step in a shell, against a loopback server for the comments."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

import claimeval as ce

ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
ROWS = [
    {
        "id": f"s{i}",
        "question": f"When does museum {i} open?",
        "answer": f"Museum {i} opens at {i}.",
        "contexts": [f"Museum {i} opens at {i}."],
    }
    for i in range(12)
]


class GitHub(HTTPServer):
    """Keeps the comments of a pull request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.comments: list[dict[str, Any]] = []
        self.tokens: set[str | None] = set()


class _Handler(BaseHTTPRequestHandler):
    server: GitHub

    def _answer(self, content: object) -> None:
        self.server.tokens.add(self.headers.get("Authorization"))
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _content(self) -> dict[str, Any]:
        read = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert isinstance(read, dict)
        return read

    def do_GET(self) -> None:
        assert self.path == "/repos/org/rag/issues/7/comments?per_page=100&page=1"
        self._answer(self.server.comments)

    def do_POST(self) -> None:
        assert self.path == "/repos/org/rag/issues/7/comments"
        self.server.comments.append({"id": 40 + len(self.server.comments), **self._content()})
        self._answer(self.server.comments[-1])

    def do_PATCH(self) -> None:
        number = int(self.path.rsplit("/", 1)[1])
        comment = next(one for one in self.server.comments if one["id"] == number)
        comment.update(self._content())
        self._answer(comment)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def github() -> Iterator[GitHub]:
    server = GitHub()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def _write(file: Path, wrong: int = 0) -> Path:
    rows = [
        row | ({"answer": f"Camels {i} may swim upstairs."} if i < wrong else {})
        for i, row in enumerate(ROWS)
    ]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return file


def _run(folder: Path, github: GitHub, **inputs: str) -> tuple[int, str]:
    """Runs the steps as the runner does, until one fails; returns the exit code and the step
    summary."""
    (folder / "event.json").write_text(json.dumps({"pull_request": {"number": 7}}))
    output, summary = folder / "output", folder / "step-summary.md"
    for file in (output, summary):
        file.write_text("")
    values = {name: str(of.get("default", "")) for name, of in ACTION["inputs"].items()}
    values |= {"package": "", "token": "secret-token", **inputs}

    def filled(text: str) -> str:
        outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
        text = re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda match: values[match[1]], text)
        return re.sub(
            r"\$\{\{ steps\.score\.outputs\.(\w+) \}\}", lambda match: outputs[match[1]], text
        )

    for step in ACTION["runs"]["steps"]:
        if step["name"] == "Comment" and values["comment"] != "true":
            continue
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_EVENT_PATH": str(folder / "event.json"),
            "GITHUB_API_URL": f"http://127.0.0.1:{github.server_port}",
            "GITHUB_REPOSITORY": "org/rag",
            "CLAIMEVAL_CACHE": str(folder / "cache"),
            **{name: filled(str(value)) for name, value in step["env"].items()},
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        if done.returncode:
            return done.returncode, summary.read_text() + done.stderr
    return 0, summary.read_text()


def test_a_pull_request_gets_one_comment_which_is_written_again(
    tmp_path: Path, github: GitHub
) -> None:
    _write(tmp_path / "answers.jsonl")
    inputs = {"data": "answers.jsonl", "judges": "local:lexical"}
    code, summary = _run(tmp_path, github, **inputs)
    assert code == 0, summary
    assert "| of the answer is supported by these documents (faithfulness) | 100% |" in summary
    (comment,) = github.comments
    assert comment["body"] == f"<!-- claimeval -->\n{summary}"
    assert github.tokens == {"Bearer secret-token"}
    # Others read the thread: it has no text of the data.
    assert "Museum" not in summary
    code, summary = _run(tmp_path, github, **inputs, texts="true")
    assert code == 0
    assert [one["id"] for one in github.comments] == [40]


def test_a_worse_run_fails_after_it_was_said(tmp_path: Path, github: GitHub) -> None:
    before = tmp_path / "main"
    ce.score(ROWS, judges="local:lexical", metrics="faithfulness", out=before)
    _write(tmp_path / "answers.jsonl", wrong=9)
    code, summary = _run(
        tmp_path,
        github,
        data="answers.jsonl",
        judges="local:lexical",
        baseline="main",
        gates="--max-drop faithfulness=0.05",
    )
    assert code == 1
    assert "**A gate failed.**" in summary
    assert "9 worse, 0 better" in summary
    assert github.comments[0]["body"].endswith("**A gate failed.**\n")


def test_a_mistake_fails_with_its_message_and_no_comment(tmp_path: Path, github: GitHub) -> None:
    code, said = _run(
        tmp_path,
        github,
        data="none.jsonl",
        judges="local:lexical",
        options="--limit 3; echo hacked",
    )
    assert code == 2
    assert "hacked" not in said.splitlines()
    assert github.comments == []


def test_texts_of_inputs_are_never_part_of_a_script() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]
