"""The list of changes and the index of decision records are whole."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
DECISIONS = ROOT / "docs" / "decisions"


def test_every_decision_record_is_in_the_index_once_under_its_title() -> None:
    index = (DECISIONS / "README.md").read_text(encoding="utf-8")
    listed = sorted(re.findall(r"^- \[(.+)\]\((\S+\.md)\)", index, re.MULTILINE))
    records = sorted(path for path in DECISIONS.glob("*.md") if path.name != "README.md")
    titles = [path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ") for path in records]
    assert listed == sorted(zip(titles, [path.name for path in records], strict=True))


def test_every_decision_record_has_its_number() -> None:
    names = sorted(path.name for path in DECISIONS.glob("[0-9]*.md"))
    numbers = Counter(name[:3] for name in names)
    assert [name for name in names if numbers[name[:3]] > 1] == []
    assert all((DECISIONS / name).read_text(encoding="utf-8").startswith(f"# {name[:3]} ") for name in names)


def test_a_record_that_a_later_one_amends_or_overturns_is_marked_in_both_places() -> None:
    index = (DECISIONS / "README.md").read_text(encoding="utf-8")
    marked = set(re.findall(r"\]\((\S+\.md)\) \((?:amended|overturned) by \d{3}\)", index))
    records = {path.name: path.read_text(encoding="utf-8") for path in DECISIONS.glob("[0-9]*.md")}
    assert marked == {name for name, text in records.items() if re.search(r"^> (Amended|Overturned) ", text, re.M)}


def test_the_list_of_changes_has_every_heading_and_line_once() -> None:
    unreleased = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1]
    lines = [line for line in unreleased.splitlines() if line.startswith(("### ", "- "))]
    assert [line for line, count in Counter(lines).items() if count > 1] == []
