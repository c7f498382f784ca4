"""The example in the docstring of each public name runs, and prints what it says."""

from __future__ import annotations

import ast
import contextlib
import doctest
import inspect
import io
from itertools import zip_longest
from pathlib import Path
from types import ModuleType

import pytest

import claimeval as ce
from benchmarks.loopback import Options
from claimeval import ir, lexical, statistics, testing
from tests import test_other_jobs, test_pages
from tests.conftest import StartServer

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


RECORDS = [
    name
    for name in ce.__all__
    if inspect.isclass(getattr(ce, name)) and not issubclass(getattr(ce, name), BaseException)
]


@pytest.mark.parametrize("name", RECORDS)
def test_every_field_of_a_record_says_what_it_does(name: str) -> None:
    """A field without a text is followed by something else than a text in the source."""
    (record,) = ast.parse(inspect.getsource(getattr(ce, name))).body
    assert isinstance(record, ast.ClassDef)
    silent = []
    for field, after in zip_longest(record.body, record.body[1:]):
        has_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        if isinstance(field, ast.AnnAssign) and not has_text:
            silent.append(ast.unparse(field.target))
    assert silent == []


@pytest.mark.parametrize("library", [ce, ir, statistics, lexical, testing])
def test_a_function_with_more_than_three_parameters_explains_them(library: ModuleType) -> None:
    silent = []
    for name in getattr(library, "__all__", None) or vars(library):
        function = inspect.unwrap(getattr(library, name))
        if not inspect.isfunction(function) or not function.__module__.startswith("claimeval"):
            continue
        text = inspect.getdoc(function) or ""
        parameters = inspect.signature(function).parameters
        if not text or (len(parameters) > 3 and "Args:" not in text and "same" not in text):
            silent.append(name)
    assert silent == []
