"""The examples in the docstrings and on the documentation page print what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "lexical-metrics.md"


@pytest.mark.parametrize(
    "module", ["claimeval.lexical", "claimeval.lexical.metrics", "claimeval.lexical.words"]
)
def test_docstring_examples_hold(module: str) -> None:
    failed, attempted = doctest.testmod(importlib.import_module(module))
    assert attempted
    assert not failed


def test_the_examples_of_the_page_hold() -> None:
    failed, attempted = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert attempted
    assert not failed
