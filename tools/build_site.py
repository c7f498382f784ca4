"""Builds the documentation site from docs/: stages the pages and what is made from the code, runs
Zensical, checks it.

Made from the code are the help of all commands, the example notebook with its outputs, and pictures
of the demo, which are committed; those of its report need a Chromium. `make docs` calls this from
the root of the repository.
"""

from __future__ import annotations

import ast
import contextlib
import html
import json
import os
import pprint
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[1]
STAGE = ROOT / "build" / "docs"
SITE = ROOT / "build" / "site"
COPIED = {
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "prompts/README.md": "prompts.md",
    "examples/first_look.ipynb": "notebook.md",
}
"""Pages made of files elsewhere in the repository."""
DRAWN = ROOT / "docs" / "pictures"
"""The pictures, which are committed, so that pages read right in a repository browser."""
PICTURES = {"report": "", "report-sample": "#/sample/city-tram-tickets"}
"""By name, the view of the demo's report."""
SCHEMES = {"light": ("#1f2328", "#f6f8fa"), "dark": ("#e6e6e6", "#1b1f24")}
"""Colors of text and background."""


def main() -> int:
    """Stage, build and check the site."""
    shutil.rmtree(STAGE, ignore_errors=True)
    for source in (ROOT / "docs").rglob("*.md"):
        stage(source, source.relative_to(ROOT / "docs"))
    shutil.copy(ROOT / "docs" / "site.css", STAGE)
    for name, page in COPIED.items():
        stage(ROOT / name, Path(page))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CLAIMEVAL_CACHE"] = f"{folder}/cache"
        (STAGE / "reference" / "command-line.md").write_text(
            "".join(command_line()), encoding="utf-8"
        )
        pictures(Path(folder))
    (STAGE / "reference" / "metrics.md").write_text("".join(metrics()), encoding="utf-8")
    shutil.copytree(DRAWN, STAGE / "pictures")
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--clean", "--strict"], cwd=ROOT
    )
    index = SITE / "search.json"
    if index.exists():
        content = json.loads(index.read_text(encoding="utf-8"))
        content["items"] = guides_first(content["items"])
        content["config"]["separator"] += f"|{without(STOP_WORDS.split())}"
        index.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    relaxed = [relax(worker) for worker in SITE.glob("assets/javascripts/workers/search.*.js")]
    problems = [*broken_links(), *missing_names()]
    if relaxed != [True]:
        problems.append("the search of the site is another one: tools/search.js is not in it")
    print(
        "\n".join(problems)
        or f"{len(list(SITE.rglob('*.html')))} pages in {SITE.relative_to(ROOT)}"
    )
    return done.returncode or bool(problems)


def stage(source: Path, page: Path) -> None:
    """Write a page to the stage, its links to files of the repository turned into links to their
    pages."""
    places = {ROOT / name: Path(to) for name, to in COPIED.items()}

    def moved(link: re.Match[str]) -> str:
        target = (source.parent / link[1]).resolve()
        place = places.get(target) or (
            target.is_relative_to(ROOT / "docs") and target.relative_to(ROOT / "docs")
        )
        return f"]({os.path.relpath(place, page.parent)}{link[2] or ''})" if place else link[0]

    text = (
        "".join(notebook(source))
        if source.suffix == ".ipynb"
        else source.read_text(encoding="utf-8")
    )
    (STAGE / page).parent.mkdir(parents=True, exist_ok=True)
    (STAGE / page).write_text(re.sub(r"\]\(([\w./-]+)(#[\w-]*)?\)", moved, text), encoding="utf-8")


def command_line() -> Iterator[str]:
    """Yield a page with the help of each command."""
    import click

    from claimeval.cli.main import app, commands

    parent = click.Context(app, info_name="claimeval", terminal_width=80)
    yield "# Command line\n\n" + _help(app, parent)
    for heading, names in commands().items():
        yield f"\n## {heading}\n"
        for name in names:
            command = app.get_command(parent, name)
            assert command, name
            context = click.Context(command, info_name=name, parent=parent)
            yield f"\n### {name}\n\n" + _help(command, context)
            for sub, inner in sorted(getattr(command, "commands", {}).items()):
                below = click.Context(inner, info_name=sub, parent=context)
                yield f"\n#### {name} {sub}\n\n" + _help(inner, below)


def metrics() -> Iterator[str]:
    """Yield a page with a card for each metric, from the tables that `claimeval metrics` reads."""
    from claimeval.metrics import names

    yield (
        "# All metrics\n\nEvery number that a command prints, with its formula, a worked example"
        " and its names in other tools. `claimeval metrics NAME` prints it in the terminal.\n"
    )
    for number in names.numbers().values():
        if number.variant:
            continue
        yield f"\n## {number.name}\n\n{number.question}\n\n| | |\n|---|---|\n"
        elsewhere = "; ".join(f"{name} ({source})" for source, name in names.names_of(number))
        rows = {
            "formula": number.formula,
            "needs": number.needs,
            "command": ", ".join(f"`{call}`" for call in number.calls),
            "better": number.better,
            "example": " = ".join(number.example),
            "source": number.source,
            "elsewhere": elsewhere,
        }
        yield from (
            f"| {name} | {text.replace('|', chr(92) + '|')} |\n"
            for name, text in rows.items()
            if text
        )


def escaped(text: str) -> str:
    """Return a text for a cell of a table."""
    return text.replace("|", r"\|")


def _help(command: object, context: object) -> str:
    # click, of the run time
    return f"```text\n{command.get_help(context)}\n```\n"  # type: ignore[attr-defined]


def notebook(path: Path) -> Iterator[str]:
    """Run the code of a notebook and yield it as Markdown with what its cells show."""
    names: dict[str, object] = {}
    with contextlib.chdir(path.parent):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                yield f"{source}\n\n"
            else:
                yield f"```python\n{source}\n```\n\n{_shown(_value(source, names))}\n\n"


def _value(source: str, names: dict[str, object]) -> object:
    """Run a cell and return the value of its last expression."""
    *before, last = ast.parse(source).body
    assert isinstance(last, ast.Expr), "every cell of the notebook ends with what it shows"
    names["__name__"] = "notebook"
    exec(compile(ast.Module(before, []), "notebook", "exec"), names)
    # our own notebook
    return eval(compile(ast.Expression(last.value), "notebook", "eval"), names)  # noqa: S307


def _shown(value: object) -> str:
    if hasattr(value, "_repr_html_"):
        page = "\n".join(line for line in value._repr_html_().splitlines() if line.strip())
        return f'<div class="shown">{page}</div>'
    return f"```text\n{pprint.pformat(value, width=80)}\n```"


def pictures(folder: Path, out: Path = DRAWN) -> None:
    """Draw the first screen of the demo and, with a Chromium, its report; without one, the
    committed pictures stay."""
    import claimeval as ce
    from claimeval.testing import samples

    out.mkdir(exist_ok=True)
    for scheme in SCHEMES:
        (out / f"first-screen-{scheme}.svg").write_text(first_screen(scheme), encoding="utf-8")
    browser = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if not browser:
        print("no Chromium: the pictures of the report are not drawn again")
        return
    ce.score(samples(), judges="recorded:demo", out=folder / "demo")
    for name, view in PICTURES.items():
        for scheme, number in (("light", 1), ("dark", 0)):
            address = (folder / "demo" / "report.html").resolve().as_uri() + view
            switches = [
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--window-size=1200,900",
            ]
            switches += [
                f"--blink-settings=preferredColorScheme={number}",
                "--virtual-time-budget=3000",
            ]
            drawn = f"--screenshot={out / f'{name}-{scheme}.png'}"
            with contextlib.suppress(subprocess.TimeoutExpired):
                subprocess.run(
                    [browser, *switches, drawn, address], capture_output=True, timeout=60
                )


def first_screen(scheme: str) -> str:
    """Return a picture of what `claimeval demo` prints, as the first guide has it."""
    ink, paper = SCHEMES[scheme]
    shown = (
        (ROOT / "docs" / "start.md")
        .read_text(encoding="utf-8")
        .partition("<!-- demo -->\n```\n")[2]
        .partition("```")[0]
    )
    lines = ["$ claimeval demo", *shown.rstrip("\n").split("\n")]
    texts = "".join(
        f'<text x="16" y="{38 + 18 * number}" xml:space="preserve">{html.escape(line)}</text>'
        for number, line in enumerate(lines)
        if line
    )
    width, height = 16 * 2 + 82 * 8, 18 * len(lines) + 40
    style = (
        "text{font:13.3px ui-monospace,Menlo,Consolas,'DejaVu Sans"
        f" Mono',monospace;fill:{ink};white-space:pre}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img"><title>What claimeval demo'
        f' prints</title><style>{style}</style><rect width="{width}" height="{height}" rx="8"'
        f' fill="{paper}"/>{texts}</svg>\n'
    )


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what points somewhere, and what can be pointed at."""
        for name, value in attrs:
            if value and name == "id":
                self.anchors.add(value)
            elif value and name in ("href", "src") and tag != "link":
                self.links.append(value)


JOINER = "\u2060"
"""An invisible character that parts no word on the page, and makes another word for the search."""
STOP_WORDS = (
    "a an and any are as at be but by can could do does for from get had has have how i if in is it"
    " its know many me much my need of on or should so someone take than that the their them then"
    " there these they this to too use was we what when where which who will with would you your"
)
"""Words of a question that a section which answers it need not have. The search finds sections with
all words, so `is my data sent to someone` found none."""
RELAXED = ROOT / "tools" / "search.js"
ASKED = re.compile(r"\b(\w+)=(\w+)\(\{type:\"text\",data:(\w+\.data)\}\)")
"""Where the worker of the site's search answers a question."""
MEMBER = re.compile(r"<code>[\w-]*(?:property|attribute)")


def guides_first(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries of the search so that guides come before all other pages.

    The search ranks a word in a title before a word in a text, and a title of one word first. So
    `cost` led to six properties of the Python reference. Here titles of other pages than the guides
    do not count as titles, only as the beginning of their texts, members of classes are found
    through their class, and records of decisions are not found at all.
    """
    guides = [item for item in items if is_guide(item["location"])]
    others = [
        as_text(item)
        for item in items
        if not is_guide(item["location"])
        and not item["location"].startswith("decisions/")
        and not MEMBER.search(item["title"])
    ]
    return [*guides, *others]


def without(words: Iterable[str]) -> str:
    """Return a pattern of these words, with a small or a capital first letter, and of question
    marks: for the search, they part other words as blanks do."""
    either = "|".join(f"[{word[0].upper()}{word[0]}]{word[1:]}" for word in words)
    beside = r"[\p{L}\p{N}_'’-]"
    return rf"(?<!{beside})(?:{either})(?!{beside})|[?;]"


def relax(worker: Path) -> bool:
    """Let the search find sections without all words, if none has all; whether it could be done."""
    script, count = ASKED.subn(r"\1=relaxed(\2,\3)", worker.read_text(encoding="utf-8"))
    if count == 1:
        worker.write_text(f"{RELAXED.read_text(encoding='utf-8')}{script}", encoding="utf-8")
    return count == 1


def is_guide(location: str) -> bool:
    """Whether a place is the home or a guide: a page of docs/ itself."""
    page = location.partition("#")[0].rstrip("/")
    if "/" in page:
        return False
    return not page or (ROOT / "docs" / f"{page}.md").exists()


def as_text(item: dict[str, Any]) -> dict[str, Any]:
    """Return an entry whose title is shown as before, and searched as a part of its text."""
    title = item["title"]
    first_letter = r"(<[^>]+>)|(?<![^\W_])([^\W_])"
    hidden = re.sub(first_letter, lambda match: match[1] or match[2] + JOINER, title)
    words = re.sub(r"<[^>]+>", "", title).strip()
    return {**item, "title": hidden, "text": f"<p>{words}</p> {item['text']}"}


def broken_links() -> Iterator[str]:
    """Yield each link within the site to a page or anchor that is not there."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in SITE.rglob("*.html")}
    for path, page in pages.items():
        for link in page.links if path.name != "404.html" else ():
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchors = pages[target].anchors if target in pages else None
            if not target.exists() or (
                parts.fragment and anchors is not None and unquote(parts.fragment) not in anchors
            ):
                yield f"{path.relative_to(SITE)}: broken link {link}"


def missing_names() -> Iterator[str]:
    """Yield each public name without a place in the reference."""
    import claimeval as ce

    anchors = Page(
        (SITE / "reference" / "python" / "index.html").read_text(encoding="utf-8")
    ).anchors
    yield from (
        f"reference: no entry for {name}"
        for name in ce.__all__
        if f"claimeval.{name}" not in anchors
    )


if __name__ == "__main__":
    sys.exit(main())
