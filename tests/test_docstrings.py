"""The example in the docstring of each public name runs, and prints what it says."""

from __future__ import annotations

import contextlib
import doctest
import inspect
import io
from pathlib import Path

import pytest

import claimeval as ce
from benchmarks.loopback import Options
from tests import test_other_jobs, test_pages
from tests.conftest import StartServer

provider = test_pages.provider
environment = test_pages.environment
template = test_pages.template
folder = test_pages.folder
site = test_other_jobs.site

NEEDS_A_JOB = "judge"
"""The function that runs a job of another package."""


def example_of(name: str) -> doctest.DocTest:
    """The examples of a public name, with `ce` as the only name that they take for granted."""
    text = inspect.getdoc(getattr(ce, name)) or ""
    return doctest.DocTestParser().get_doctest(text, {"ce": ce}, name, None, 0)


def report(name: str) -> str:
    """Run the examples of a name; what they print otherwise than they say."""
    found = io.StringIO()
    with contextlib.redirect_stdout(found):
        doctest.DocTestRunner(verbose=False).run(example_of(name))
    return found.getvalue()


@pytest.mark.parametrize("name", ce.__all__)
def test_every_public_name_has_an_example_that_nothing_skips(name: str) -> None:
    examples = example_of(name).examples
    assert examples, f"ce.{name} has no example"
    assert any(f"ce.{name}" in example.source for example in examples)
    assert not any(doctest.SKIP in example.options for example in examples)


@pytest.mark.parametrize("name", [name for name in ce.__all__ if name != NEEDS_A_JOB])
def test_the_example_of_a_public_name_prints_what_it_says(name: str, folder: Path) -> None:
    assert report(name) == ""


def test_the_example_of_a_job_runs_the_job_of_the_guide(
    site: Path, tmp_path: Path, start_server: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = '{{"id": "{0}", "question": "When does it close?", "answer": "{1}"}}\n'
    data = "".join(rows.format(*pair) for pair in test_other_jobs.ANSWERS.items())
    (tmp_path / "data.jsonl").write_text(data, encoding="utf-8")
    server = start_server(Options(), judge=test_other_jobs.tone)
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.chdir(tmp_path)
    assert report(NEEDS_A_JOB) == ""
