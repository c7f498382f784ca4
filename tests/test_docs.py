"""The list of changes, the index of decision records, and the site's navigation and reference are
whole."""

from __future__ import annotations

import ast
import pydoc
import re
import runpy
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

import claimeval as ce
from claimeval.cli.main import app
from claimeval.judging import prompts
from claimeval.judging.panel import Panel
from claimeval.providers.specs import SETTINGS
from claimeval.types.requests import Judge
from tests.report.conftest import Browser, _tab, browser  # noqa: F401  # fixtures

ROOT = Path(__file__).parents[1]
DECISIONS = ROOT / "docs" / "decisions"


def test_every_page_of_decisions_is_in_the_index_once_under_its_title() -> None:
    index = (DECISIONS / "README.md").read_text(encoding="utf-8")
    listed = sorted(re.findall(r"^- \[(.+)\]\((\S+\.md)\)", index, re.MULTILINE))
    written = sorted(path for path in DECISIONS.glob("*.md") if path.name != "README.md")
    titles = [
        path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ") for path in written
    ]
    assert listed == sorted(zip(titles, [path.name for path in written], strict=True))


def test_the_list_of_changes_has_every_heading_and_line_once() -> None:
    unreleased = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1]
    lines = [line for line in unreleased.splitlines() if line.startswith(("### ", "- "))]
    assert [line for line, count in Counter(lines).items() if count > 1] == []


def test_the_unreleased_changes_are_sixty_lines_and_those_of_numbers_come_first() -> None:
    unreleased = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1]
    assert len(unreleased.strip().splitlines()) <= 60
    assert re.findall(r"^### (.+)", unreleased, re.MULTILINE)[0] == "Your numbers change because"


def pages(navigation: object) -> Iterator[str]:
    """The pages of a navigation, in order."""
    if isinstance(navigation, str):
        yield navigation
    elif isinstance(navigation, dict):
        for below in navigation.values():
            yield from pages(below)
    elif isinstance(navigation, list):
        for below in navigation:
            yield from pages(below)


def test_the_navigation_of_the_site_has_every_page_once() -> None:
    """`make docs` builds and checks the site; a new page gets its line in zensical.toml."""
    listed = list(
        pages(tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"])
    )
    written = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    guide = [page for page in written if not re.match(r"decisions/(?!README)", page)]
    made = [
        "reference/command-line.md",
        "reference/metrics.md",
        *runpy.run_path(str(ROOT / "tools" / "build_site.py"))["COPIED"].values(),
    ]
    assert len(listed) == len(set(listed))
    assert set(guide) - set(listed) == set(), "pages without a line in zensical.toml"
    assert set(listed) == {*guide, *made}


def test_the_reference_has_every_public_name_once() -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^::: claimeval\.(\w+)$", page, re.M)) == sorted(ce.__all__)


@pytest.mark.parametrize(
    ("table", "settings"),
    [
        ("judge", set(Judge.model_fields) - {"learned"}),
        ("panel", {"judges", "extractor", *SETTINGS}),
    ],
)
def test_the_page_of_judge_and_panel_files_has_every_setting_with_its_default(
    table: str, settings: set[str]
) -> None:
    page = (ROOT / "docs" / "reference" / "judge-files.md").read_text(encoding="utf-8")
    rows = page.partition(f"<!-- {table} -->")[2].partition("\n\n")[0].splitlines()[3:]
    cells = [[cell.strip().strip("`") for cell in row.split("|")[1:3]] for row in rows]
    assert sorted(name for name, _ in cells) == sorted(settings)
    fields = Judge.model_fields if table == "judge" else Panel.model_fields
    stated = {name: yaml.safe_load(default) for name, default in cells if name in fields}
    assert {
        name: stated[name] for name, value in stated.items() if isinstance(value, bool | int)
    } == {
        name: field.default
        for name, field in fields.items()
        if name in settings and isinstance(field.default, bool | int)
    } | ({"temperature": 0} if table == "judge" else {})


def test_the_prompt_of_the_page_on_prompts_is_complete(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "reference" / "prompts.md").read_text(encoding="utf-8")
    file = tmp_path / "strict.j2"
    file.write_text(page.partition("```jinja\n")[2].partition("```")[0], encoding="utf-8")
    assert prompts.load("assess", str(file)).reply == "json"


def test_names_and_files_of_the_package_that_texts_mention_exist() -> None:
    """`claimeval.room.module.name` and `claimeval/room/module.py`, in the pages and in
    docstrings."""
    texts = [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "claimeval").rglob("*.py"),
    ]
    content = "\n".join(path.read_text(encoding="utf-8") for path in texts)
    rooms = "|".join(
        path.name for path in (ROOT / "claimeval").iterdir() if (path / "__init__.py").exists()
    )
    names = set(re.findall(rf"`(claimeval\.(?:{rooms})(?:\.[A-Za-z_]+)*)`", content))
    files = set(re.findall(r"`(claimeval/[a-z_/]+(?:\.[a-z]+)?)`", content))
    assert len(names) > 5
    assert len(files) > 5
    assert [name for name in sorted(names) if pydoc.locate(name) is None] == []
    assert [file for file in sorted(files) if not (ROOT / file).exists()] == []


def test_the_way_of_a_sample_goes_through_names_that_exist() -> None:
    way = (
        (ROOT / "CONTRIBUTING.md")
        .read_text(encoding="utf-8")
        .partition("## The way of a sample")[2]
    )
    steps = re.findall(r"`([\w/]+?(?:\.py)?):([\w.]+)`", way.partition("\n## ")[0])
    assert len(steps) > 15
    for file, name in steps:
        (path,) = (
            p
            for p in (ROOT / "claimeval").rglob("*")
            if p.as_posix().endswith(f"/claimeval/{file}")
        )
        body = ast.parse(
            (path / "__init__.py" if path.is_dir() else path).read_text(encoding="utf-8")
        ).body
        for part in name.split("."):
            found = [node for node in body if getattr(node, "name", None) == part]
            assert found, f"{file} has no {name}"
            body = getattr(found[0], "body", [])


HAND_WRITTEN = (
    "README.md",
    "docs/*.md",
    "docs/reference/*.md",
    "docs/tutorial/*.md",
    "prompts/README.md",
)
OTHERS = {
    "--api-key": "vLLM",
    "--array": "Slurm",
    "--claimeval-judge": "pytest, with the plugin",
    "--claimeval-offline": "pytest, with the plugin",
    "--claimeval-out": "pytest, with the plugin",
    "--config": "LiteLLM",
    "--dependency": "Slurm",
    "--index-url": "pip",
    "--junit-xml": "pytest",
    "--long": "a benchmark",
    "--parsable": "Slurm",
    "--tone-prompt": "the job of a page",
    "--wrap": "Slurm",
    "--write": "a benchmark",
}
"""Options of other programs that pages print."""


def options(group: click.Group, context: click.Context) -> Iterator[str]:
    """The long options of all commands below a group."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command, name
        for parameter in command.params:
            yield from (o for o in [*parameter.opts, *parameter.secondary_opts] if o[:2] == "--")
        if isinstance(command, click.Group):
            yield from options(command, click.Context(command, parent=context))


def test_every_option_is_on_a_written_page_and_no_page_has_another() -> None:
    existing = {*options(app, click.Context(app)), "--help", "--version"}
    named: dict[str, str] = {}
    for pattern in HAND_WRITTEN:
        for path in ROOT.glob(pattern):
            text = path.read_text(encoding="utf-8")
            named |= dict.fromkeys(re.findall(r"(?<![\w-])--[a-z][\w-]*", text), path.name)
    assert len(existing) > 100
    assert sorted(existing - {*named}) == [], "options on no page"
    assert {
        name: page for name, page in named.items() if name not in existing | OTHERS.keys()
    } == {}


def test_the_search_of_the_site_ranks_guides_first() -> None:
    site = runpy.run_path(str(ROOT / "tools" / "build_site.py"))
    items = [
        {"location": "reference/cache/", "title": "The reply cache", "text": "Inspect."},
        {"location": "reference/python/#cost", "title": "cost <code>property</code>", "text": ""},
        {"location": "cost/#offline", "title": "Offline", "text": "Stored replies."},
        {"location": "changelog/", "title": "Changelog", "text": "Each release."},
    ]
    first, second, third = site["guides_first"](items)
    assert (first, second["location"]) == (items[2], "reference/cache/")
    assert second["title"].replace(site["JOINER"], "") == "The reply cache"
    assert "reply" not in second["title"].split()
    assert second["text"] == "<p>The reply cache</p> Inspect."
    assert third["location"] == "changelog/"


def test_the_search_leaves_out_the_words_of_a_question_alone() -> None:
    site = runpy.run_path(str(ROOT / "tools" / "build_site.py"))
    pattern = site["without"](site["STOP_WORDS"].split()).replace(r"\p{L}\p{N}_", r"\w")
    kept = re.sub(pattern, " ", "How do I know if my judge is good? What-if, island, the p value")
    assert kept.split() == ["judge", "good", "What-if,", "island,", "p", "value"]


def test_a_search_without_a_section_of_all_words_is_put_into_the_worker(tmp_path: Path) -> None:
    site = runpy.run_path(str(ROOT / "tools" / "build_site.py"))
    worker = tmp_path / "search.js"
    worker.write_text('case 2:let l=J({type:"text",data:t.data});self.postMessage(l)')
    assert site["relax"](worker)
    script = worker.read_text(encoding="utf-8")
    assert script.endswith("case 2:let l=relaxed(J,t.data);self.postMessage(l)")
    assert "function relaxed(search, data)" in script
    assert not site["relax"](worker), "a worker of another form is a problem of the build"


SECTIONS = ["judge reply JSON unreadable", "judge key", "judge price", "cache reply"]
SEARCH = """
const sections = arguments[0].map((text) => text.split(" "));
const search = ({ data }) => {
  const words = data.input.split(" ").filter(Boolean);
  const items = sections.filter((section) => words.every((word) => section.includes(word)));
  const pagination = { total: items.length };
  return { data: { items: items.map((section) => section.join(" ")), pagination } };
};
return relaxed(search, { input: arguments[1] }).data.items;
"""


@pytest.mark.browser
@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("judge reply", SECTIONS[:1]),
        ("judge returns invalid JSON", SECTIONS[:1]),  # two words that no section has
        ("judge cache", SECTIONS[3:]),  # each alone; `cache` has fewer sections
        ("judge reply cache", SECTIONS[:1]),  # as good as `cache reply`, which comes later
        ("unicorn", []),
        ("judge " * 9 + "unicorn", SECTIONS[:3]),
        ("", SECTIONS),
    ],
)
def test_a_search_finds_sections_with_most_of_the_words(
    browser: Browser,  # noqa: F811
    question: str,
    found: list[str],
) -> None:
    browser.driver.get("about:blank")
    script = (ROOT / "tools" / "search.js").read_text(encoding="utf-8")
    assert browser.run(f"{script}\n{SEARCH}", SECTIONS, question) == found


def test_the_guides_and_the_readme_stay_short() -> None:
    """What a reader has to read; rules and tables are in the reference."""
    guides = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")]
    assert sum(len(guide.split()) for guide in guides) <= 26_000
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 1_200
