"""The examples of docs/reference/statistics.md do what they say."""

from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "statistics.md"


def test_every_example_of_the_page_holds() -> None:
    failed, attempted = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert failed == 0
    assert attempted > 10
