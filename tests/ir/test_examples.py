"""The examples in the docstrings and in the page about rank metrics are true, and the page knows
every measure."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

import claimeval.ir
from claimeval.ir.measures import MEASURES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "rank-metrics.md"


@pytest.mark.parametrize("module", ["", ".evaluation", ".fusion", ".lists"])
def test_docstring_examples_are_true(module: str) -> None:
    failed, attempted = doctest.testmod(importlib.import_module(f"{claimeval.ir.__name__}{module}"))

    assert failed == 0
    assert attempted > 0


def test_examples_of_the_page_are_true() -> None:
    failed, attempted = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")

    assert failed == 0
    assert attempted > 0


def test_the_page_lists_every_measure() -> None:
    listed = {
        name.split("@")[0] for name in re.findall(r"`([\w@]+)`", PAGE.read_text(encoding="utf-8"))
    }

    assert {row.name for row in MEASURES} <= listed
