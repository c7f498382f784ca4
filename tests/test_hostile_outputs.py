"""Escape codes, line ends, formulas and quotation marks in every field of data, through the
commands that print it.

No control character of the data reaches a line for people, every CSV has as many rows as there are
results in any reader, and none of its cells is a formula.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas
import pytest
from markdown_it import MarkdownIt

import claimeval as ce
from benchmarks.loopback import claim_judge, serve_in_thread
from claimeval.cli.main import app
from claimeval.judging import prompts
from claimeval.runs.directory import RunResults
from tests.canary import CANARY
from tests.cli.test_command import every_command
from tests.command_line import Done, call

ESCAPE = "\x1b]0;owned\x1b\\"
HOSTILE = (
    ESCAPE,
    "\x1b[31mEVIL",
    "\x9b31mEVIL",
    "Tower stands.\r=1+1",
    "Tower stands.\r\n=1+1,2",
    "a\nb,c",
    "a\x0bb\x0cc\x85d\u2028e\x1cf",
    "\x00\x07\x08\x7f",
    'a "quoted", cell',
    '"',
    ";'\t|",
    "=1+1",
    "+1",
    "-1+1",
    "@user",
    "\t=1",
    "\r=1",
    "＝1+1",
    "＋1",
    "－1",
    "＠user",
    "\u202eabc",
    "\u200b",
    "\ud800",
    "`x` ``y```",
    "a|b\\|c",
    "<script>alert(1)</script>&lt;",
    "[x](javascript:1) ![i](http://x/y)",
    "$$x$$ \\(x\\) <!--",
    "'=1+1",
    "\ufeff=1\U000e0041",
)
"""Thirty-one texts: escape codes, line ends, formulas, markup of Markdown and HTML, characters that
nobody sees."""
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\ud800-\udfff]")
FORMULA = re.compile("[=+@＝＋－＠\t\r\n]|-(?![0-9.e]+$)")
FILE = "\x1b[31mEVIL"
JUDGE = ("--judge", "local:lexical", "--metrics", "faithfulness", "--cache", "store")


def sample(number: int, text: str) -> dict[str, Any]:
    return {
        "id": f"{text}{number}",
        "question": text,
        "answer": f"Tower stands {number}. {text}",
        "contexts": [{"id": text, "title": text, "text": f"Tower stands {number}. {text}"}],
        "retrieved": [text],
        "reference_answers": [f"Tower stands {number}. {text}"],
        "generator": text,
        "metadata": {"topic": f"{text}{number % 2}", text: text},
    }


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with hostile samples, two runs over them, labels, recorded replies, an experiment
    and rankings."""
    folder = tmp_path_factory.mktemp("hostile")
    rows = [sample(number, text) for number, text in enumerate(HOSTILE)]
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    changed = [{**row, "answer": f"{row['answer']} A king came."} for row in rows]
    (folder / "changed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in changed))
    (folder / "tame.jsonl").write_text(json.dumps(sample(1, "x")) + "\n")
    (folder / "twice.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*rows, *rows]))
    for data, out in (("data.jsonl", "a"), ("changed.jsonl", "b"), ("data.jsonl", "c")):
        done = call("score", data, *JUDGE, "--out", out, folder=folder)
        assert_shown(done)
    call("score", "data.jsonl", *JUDGE, "--shard", "1/1", "--out", "parts", folder=folder)
    labels = [
        {
            "id": row["id"],
            "text": f"Tower stands {number}.",
            "label": "supported",
            "annotator": text,
        }
        for number, (row, text) in enumerate(zip(rows, HOSTILE, strict=True))
    ]
    (folder / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in labels))
    replies = [
        {"id": row["id"], "claim": text or "x", "j": '{"label": "supported"}', "k": text}
        for row, text in zip(rows, HOSTILE, strict=True)
    ]
    (folder / "replies.jsonl").write_text("".join(json.dumps(row) + "\n" for row in replies))
    names = {
        "id": "id",
        "claim": "claim",
        "against": "contexts",
        "forms": ["word"],
        "judges": {"\x1b[31mjudge": "j", "=1+1": "k"},
    }
    (folder / "map.yaml").write_text(json.dumps(names))
    arms = [{"name": "=1+1\r=2"}, {"name": f"{ESCAPE}|`x`", "claims_per_call": 1}]
    design = {
        "data": "data.jsonl",
        "judges": ["local:lexical"],
        "metrics": ["faithfulness"],
        "arms": arms,
    }
    (folder / "arms.yaml").write_text(json.dumps(design))
    named = [
        {**row, "id": f"q{i}\x1b[31m", "contexts": [{"id": f"d{i}\x9b1", "text": row["question"]}]}
        for i, row in enumerate(rows)
    ]
    (folder / "named.jsonl").write_text("".join(json.dumps(row) + "\n" for row in named))
    (folder / "docs.jsonl").write_text(
        "".join(
            json.dumps({"id": f"d\x1b[31m{i}", "text": f"Tower {text}"}) + "\n"
            for i, text in enumerate(HOSTILE)
        )
    )
    (folder / "qrels").write_text("q\x1b[31m1 0 d\x9b1 2\nq2 0 d2 1\n")
    for name in ("my.run", f"{FILE}.run"):
        (folder / name).write_text(
            "q\x1b[31m1 Q0 d\x9b1 1 2.0 \x1b[32mtag\nq2 Q0 x 1 1.0 \x1b[32mtag\n"
        )
    (folder / f"{FILE}.j2").write_text(
        prompts.find("three_way").source.replace("You compare", f"You {FILE}", 1)
    )
    with serve_in_thread(judge=claim_judge.answer) as server:
        judge = {"name": "\x1b[31mEVIL|=1+1", "model": f"openai:m@{server.url}"}
        (folder / "judge.yaml").write_text(json.dumps(judge))
        yield folder


def assert_shown(done: Done) -> None:
    """No raw control character stands in what was printed."""
    for text in (done.stdout, done.stderr):
        found = RAW.search(text)
        assert not found, (done.args, found, text[max(0, found.start() - 80) : found.end() + 40])
    assert "Traceback" not in done.stderr


BY = ("--by", "metadata.topic")
JUDGED = ("--judge", "judge.yaml", "--cache", "store")
ELSEWHERE = {
    "demo": "its data are ours",
    "cache repair": "it prints numbers of entries and its own file names",
    "cache size": "it prints a number and the name of its folder",
    "cache clear": "it prints numbers, dates and the name of its folder",
    "metrics": "it reads no data",
    "completion": "it reads no data",
    "view": "tests/report reads its pages",
    "push": "tests/integrations reads what arrives",
    "locate": "tests/api/test_locate.py reads what it prints",
    "perplexity": "it is measure with other metrics",
    "prompts show": "it prints a file as it is",
    "reward": "it is measure with other metrics",
}


@pytest.mark.parametrize(
    ("code", "command"),
    [
        (0, ("doctor", "data.jsonl")),
        (1, ("doctor", "twice.jsonl")),
        (1, ("doctor", "twice.jsonl", "--json")),
        (0, ("plan", "score", "data.jsonl", *JUDGE)),
        (0, ("score", "data.jsonl", *JUDGE, *BY, "--out", "by")),
        (0, ("score", "data.jsonl", *JUDGE, *BY, "--out", "json", "--json")),
        (0, ("score", "data.jsonl", *JUDGE, "--by", f"metadata.{ESCAPE}", "--out", FILE)),
        (0, ("score", "data.jsonl", *JUDGE, "--cluster", ESCAPE, "--out", "clusters")),
        (2, ("score", "data.jsonl", "--judge", "local:lexical", "--metrics", ESCAPE)),
        (2, ("score", f"{FILE}.jsonl", *JUDGE)),
        (0, ("measure", "data.jsonl", "--metrics", "lexical", *BY, "--out", "measured")),
        (0, ("compare", "a", "b", *BY)),
        (0, ("compare", "a", "b", "--by", "generator", "--json")),
        (0, ("rejudge", "a", "--judge", "local:lexical", "--out", "again")),
        (0, ("agreement", "a", "--labels", "labels.jsonl", *BY)),
        (0, ("correct", "a", "--labels", "labels.jsonl")),
        (0, ("extraction", "a")),
        (0, ("import-replies", "replies.jsonl", "--mapping", "map.yaml", "--out", "imported")),
        (0, ("experiment", "arms.yaml", "--out", "arms")),
        (0, ("rank", "qrels", "my.run", f"{FILE}.run", "-q", "--paired")),
        (0, ("prompts", "render", "three_way", "data.jsonl")),
        (0, ("report", "a", "--format", "md")),
        (0, ("report", "a", "--compare", "b", "--format", "md")),
        (0, ("score", "data.jsonl", *JUDGE, "--details", "--out", "details")),
        (0, ("rejudge", "a", "--top", "40", "--out", "more")),
        (0, ("score", "data.jsonl", *JUDGE, "--shard", "1/1", "--out", "shards")),
        (0, ("merge", "parts")),
        (0, ("compare", "a", "b", "c")),
        (0, ("cache", "stats", "--cache", "store")),
        (0, ("batch", "list", "--cache", "store")),
        (0, ("draw", "data.jsonl", "--out", "drawn.jsonl")),
        (0, ("rate", "data.jsonl", *JUDGED, "--details", "--out", "rated")),
        (2, ("grade", "data.jsonl", *JUDGED, "--out", "refused")),
        (0, ("grade", "named.jsonl", *JUDGED, "--out", "graded")),
        (0, ("agreement", "qrels", "--labels", "qrels")),
        (3, ("write-queries", "docs.jsonl", *JUDGED, "--out", "written")),
        (0, ("annotate", "c", "--n", "2")),
        (0, ("fuse", "my.run", f"{FILE}.run", "--out", "fused.run")),
        (0, ("plan", "rate", "data.jsonl", *JUDGED)),
        (0, ("cache", "verify", "--cache", "store")),
        (0, ("cache", "export", f"{FILE}.replies", "--cache", "store", "--json")),
        (0, ("cache", "import", "/dev/null", "--cache", "store")),
        (0, ("batch", "collect", "--cache", "store")),
        (0, ("batch", "cancel", "--all", "--cache", "store")),
        (0, ("prompts", "list")),
        (1, ("prompts", "diff", f"{FILE}.j2", "assess/three_way")),
        (0, ("prompts", "check", f"{FILE}.j2")),
        (2, ("retrieval", "data.jsonl", "--out", "ranks")),
        (0, ("lexical", "data.jsonl", "--out", "words")),
    ],
    ids=lambda value: "_".join(value[:1]) if isinstance(value, tuple) else str(value),
)
def test_no_control_character_of_data_reaches_a_line(
    here: Path, code: int, command: tuple[str, ...]
) -> None:
    forms = [command] if "--json" in command else [command, (*command, "--json")]
    for form in forms:
        done = call(*form, folder=here, exits=code)
        assert_shown(done)
        if "--json" in form and done.stdout:
            assert json.loads(done.stdout)["exit_code"] == code


MADE = {
    "arms": ("experiment", "arms.yaml"),
    "rated": ("rate", "data.jsonl", *JUDGED, "--details"),
    "graded": ("grade", "named.jsonl", *JUDGED),
    "imported": ("import-replies", "replies.jsonl", "--mapping", "map.yaml"),
    "measured": ("measure", "data.jsonl", "--metrics", "lexical", *BY),
}
"""Runs of other commands, by their folder."""


@pytest.fixture(scope="module")
def made(here: Path) -> Path:
    """The folder with all runs."""
    for name, command in MADE.items():
        call(*command, "--out", name, folder=here, OPENAI_API_KEY=CANARY)
    return here


def assert_whole(text: str, expected: int) -> list[dict[str, str]]:
    """Python and pandas read the same `expected` rows from a CSV, and no cell is a formula."""
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    frame = pandas.read_csv(io.BytesIO(text.encode()), dtype=str, keep_default_na=False)
    assert frame.to_dict("records") == rows
    assert len(rows) == expected
    assert not [cell for row in rows for cell in row.values() if FORMULA.match(cell)]
    return rows


@pytest.mark.parametrize("rows", ["samples", "claims"])
def test_a_csv_of_results_has_a_row_for_each(here: Path, rows: str) -> None:
    (here / "report.csv").unlink(missing_ok=True)
    call("report", "a", "--format", "csv", "--rows", rows, "--out", "report.csv", folder=here)
    text = (here / "report.csv").read_bytes().decode().removeprefix("\ufeff")
    claims = sum(len(result.claims) for result in RunResults.of(here / "a"))
    found = assert_whole(text, len(HOSTILE) if rows == "samples" else claims)
    if rows == "samples":
        assert [row["question"].removeprefix("'") for row in found] == [
            t.replace("\ud800", "\\ud800") for t in HOSTILE
        ]


@pytest.mark.parametrize(
    ("name", "expected"), [("rated", 31), ("graded", 31), ("measured", 31), ("imported", 31)]
)
def test_a_csv_of_other_runs_has_a_row_for_each(made: Path, name: str, expected: int) -> None:
    call("report", name, "--format", "csv", "--out", f"{name}.csv", folder=made)
    assert_whole((made / f"{name}.csv").read_bytes().decode().removeprefix("\ufeff"), expected)


def test_a_csv_of_drawn_claims_has_a_row_for_each(here: Path) -> None:
    done = call("annotate", "a", "--n", 10, "--export", "drawn.csv", folder=here)
    assert_shown(done)
    assert_whole((here / "drawn.csv").read_bytes().decode(), 10)


def test_a_csv_of_an_experiment_has_a_row_for_each_arm(here: Path) -> None:
    call("experiment", "arms.yaml", "--out", "tables", folder=here)
    text = (here / "tables" / "experiment.csv").read_bytes().decode()
    assert [row["arm"] for row in assert_whole(text, 2)] == ["'=1+1\r=2", f"{ESCAPE}|`x`"]
    call("report", "tables", "--format", "csv", "--out", "again.csv", folder=here)
    assert (here / "again.csv").read_bytes().decode() == f"\ufeff{text}"
    markdown = (here / "tables" / "experiment.md").read_text()
    assert not RAW.search(markdown)


def test_every_command_is_here_or_says_where() -> None:
    test = test_no_control_character_of_data_reaches_a_line
    marks = test.pytestmark  # type: ignore[attr-defined]
    tried = {" ".join(command) for _, command in marks[0].args[1]}
    missing = [
        name
        for name, _ in every_command(app)
        if not any(f"{line} ".startswith(f"{name} ") for line in tried)
    ]
    assert set(missing) == set(ELSEWHERE)


MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")
OURS = {"sub", "/sub", "br"}


@pytest.mark.parametrize("command", [("a",), ("a", "--compare", "b"), *((name,) for name in MADE)])
def test_markdown_has_no_markup_of_the_data(made: Path, command: tuple[str, ...]) -> None:
    here = made
    done = call("report", *command, "--format", "md", folder=here)
    tokens = MARKDOWN.parse(done.stdout)
    inside = [child for token in tokens for child in token.children or ()]
    markup = [
        token.content for token in (*tokens, *inside) if token.type in ("html_block", "html_inline")
    ]
    assert {re.sub(r"[<>]", "", tag) for tag in markup} <= OURS
    assert not [token for token in inside if token.type in ("link_open", "image")]
    assert not [
        token.content
        for token in inside
        if token.type == "text" and re.search("@user|alert|=1", token.content)
    ]
    rows = [i for i, token in enumerate(tokens) if token.type == "tr_open"]
    head = 0
    for start in rows:
        cells = 0
        for token in tokens[start:]:
            cells += token.type in ("th_open", "td_open")
            if token.type == "tr_close":
                break
        head = cells if tokens[start + 1].type == "th_open" else head
        assert cells == head, "no row is torn"


class Tags(HTMLParser):
    """The elements of a page, and what its attributes hold."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(
            name.startswith("on") or "javascript:" in (value or "") for name, value in attrs
        )
        self.found[tag] += 1


def test_pages_and_cells_of_notebooks_have_no_element_of_the_data(made: Path) -> None:
    here = made

    def tags(*command: str) -> Counter[str]:
        call("report", *command, "--out", "page.html", folder=here)
        page = (here / "page.html").read_text(encoding="utf-8")
        assert not RAW.search(page.replace("\n", ""))
        return Tags(page).found

    call("score", "tame.jsonl", *JUDGE, "--out", "tame", folder=here)
    for command in (("a",), ("a", "--compare", "b")):
        hostile = tags(*command)
        tame = tags("tame", *command[1:2], *(["tame"] if command[1:] else []))
        assert hostile["script"] == tame["script"]
    for name in MADE:
        assert not {"img", "base", "iframe"} & tags(name).keys()
    cells: list[Any] = [
        *(ce.Run.load(here / name) for name in ("a", *MADE) if name != "arms"),
        ce.correct(here / "a", here / "labels.jsonl"),
        ce.compare(here / "a", here / "b"),
        ce.agreement(here / "a", here / "labels.jsonl"),
    ]
    for shown in cells:
        assert not {"script", "a", "img", "b"} - {"b"} & Tags(shown._repr_html_()).found.keys()
        assert not RAW.search(shown._repr_html_().replace("\n", ""))


def test_a_csv_of_any_table_of_a_report_has_its_rows(here: Path) -> None:
    for command, table in ((("a",), "scores"), (("a", "--compare", "b"), "differences")):
        call(
            "report",
            *command,
            "--format",
            "csv",
            "--rows",
            table,
            "--out",
            "table.csv",
            folder=here,
        )
        assert_whole((here / "table.csv").read_bytes().decode().removeprefix("\ufeff"), 1)
