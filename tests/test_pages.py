"""Every block that README, the guides, the reference and the help of commands print runs, and
prints what it says.

A page runs from its first block to its last in one folder, in which `page_files` has put the files
that pages name, with a judge on loopback. `<!-- file: NAME -->` before a block makes it that file.
A block that needs somebody else's program or service has a sentence before it that says so: "Needs
a Ray cluster:".
"""

from __future__ import annotations

import contextlib
import csv
import doctest
import io
import itertools
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import urlopen

import click
import pytest

import claimeval as ce
from claimeval.cli.main import app, commands
from claimeval.testing import serve
from tests import page_files
from tests.command_line import call, folded

ROOT = Path(__file__).parents[1]
GUIDES = (
    "start",
    "data",
    "judges",
    "metrics",
    "results",
    "compare",
    "human-labels",
    "cost",
    "retrieval",
    "scale",
)
ELSEWHERE = ("hosts",)
"""Pages of the reference whose blocks another test runs: `test_docs_judges`, against each host."""
REFERENCE = sorted(path.stem for path in (ROOT / "docs" / "reference").glob("*.md"))
PAGES = (
    "README.md",
    "docs/index.md",
    *(f"docs/{name}.md" for name in GUIDES),
    *(f"docs/reference/{name}.md" for name in REFERENCE if name not in ELSEWHERE),
)
RUN = ("console", "sh", "bash", "python")
DEPENDENCY = re.compile(
    r"""(?:pip3? install|uv add|uv pip install|dependencies\s*=|requires\s*=)[^\n]*"""
)
UNRUN = ("view", "push", "batch cancel", "perplexity", "reward")
"""Commands that serve until they are stopped, or need a platform or the weights of a model. Their
examples have tests of their own below."""
KEYS = "y\n" * 300
"""What a person types who labels."""


class Block(NamedTuple):
    """A fenced block of a page."""

    line: int
    kind: str
    text: str
    file: str | None
    """The file that it is."""
    needs: str | None
    """What it needs that a test does not have."""


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    fence = re.compile(
        r"(?:^<!-- file: (?P<file>\S+) -->\n)?"
        r"^(?P<indent> *)```(?P<kind>\w*)\n(?P<text>.*?)^(?P=indent)```$",
        re.DOTALL | re.MULTILINE,
    )
    for match in fence.finditer(text):
        before = text[: match.start()].rstrip().rpartition("\n\n")[2]
        needs = re.search(r"\bNeeds ([^.:]+)[.:]", before)
        indent = len(match["indent"])
        body = "".join(line[indent:] for line in match["text"].splitlines(keepends=True))
        line = text.count("\n", 0, match.start("text")) + 1
        yield Block(line, match["kind"], body, match["file"], needs and needs[1])


@pytest.fixture
def folder(
    page_template: Path,
    page_environment: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """A copy of the folder that pages begin with as the working directory, with a reply cache of
    its own: what a page pays for does not depend on the pages before it."""
    here = tmp_path / "page"
    shutil.copytree(page_template, here)
    monkeypatch.chdir(here)
    for name, value in page_environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CLAIMEVAL_CACHE", str(here / page_files.CACHE))
    return here


def runs(line: str) -> bool:
    """Whether a command can run here."""
    return not re.match(rf"claimeval ({'|'.join(UNRUN)})\b", line)


def run_command(line: str, folder: Path) -> tuple[int, str]:
    """Run a line of a page; the exit code, and what it printed."""
    if re.search(r"[|>&;*[]|\$\(", re.sub(r"'[^']*'|\"[^\"]*\"", "", line)):
        name = f"{shlex.quote(sys.executable)} -m claimeval"
        shell = re.sub(r"(^|[|;&(] *)claimeval(?= )", rf"\1{name}", line)
        done = subprocess.run(
            ["bash", "-c", shell],
            cwd=folder,
            env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            timeout=120,
        )
        return done.returncode, done.stdout + done.stderr
    name, *arguments = shlex.split(line, comments=True)
    if name != "claimeval":
        runner = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*(runner if name == "pytest" else [name]), *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=120,
        )
        return done.returncode, done.stdout + done.stderr
    called = call(*arguments, folder=folder, exits=None, stdin=KEYS)
    return called.returncode, called.stdout + called.stderr


def commands_of(block: Block) -> Iterator[tuple[str, str]]:
    """The commands of a block, and what it shows below each: in a script nothing."""
    text = re.sub(r"\\\n\s*", "", block.text)
    if block.kind == "console":
        for command in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            line, _, shown = command.partition("\n")
            yield line, shown
        return
    for line in text.splitlines():
        if line and not line.startswith("#"):
            yield line, ""


def make_room(line: str, folder: Path) -> None:
    """Remove the run that the pages begin with where a command writes one of its own."""
    for name in re.findall(r"(?:--out|-o) ([\w/-]+)", line):
        if (folder / name / page_files.GIVEN).exists():
            shutil.rmtree(folder / name)


def fill_in(line: str, folder: Path) -> None:
    """Fill in the labels of a sheet that a command wrote, as a person does."""
    for name in re.findall(r"--export (\S+\.csv)", line):
        with (folder / name).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            sheet = csv.DictWriter(file, list(rows[0]))
            sheet.writeheader()
            labels = itertools.cycle(("supported", "supported", "not_found"))
            sheet.writerows(
                {**row, "label": label} for row, label in zip(rows, labels, strict=False)
            )


def console(block: Block, folder: Path) -> Iterator[str]:
    """Run the commands of a block; what is otherwise than printed."""
    for line, shown in commands_of(block):
        if line.startswith("export ") or not runs(line):
            continue
        make_room(line, folder)
        code, output = run_command(line, folder)
        fill_in(line, folder)
        printed = iter([*folded(output), f"exit code {code}"])
        yield from (
            f"line {block.line}: {line}: not printed: {text}"
            for text in folded(shown)
            if text != "..." and text not in printed
        )
        if code and "exit code" not in shown:
            yield f"line {block.line}: {line}: exit code {code}\n{output[-600:]}"


def python(block: Block, names: dict[str, Any], page: str) -> Iterator[str]:
    """Run the code of a block; what is otherwise than printed."""
    if ">>>" not in block.text:
        exec(compile(block.text, f"{page}:{block.line}", "exec"), names)
        return
    example = doctest.DocTestParser().get_doctest(block.text + "\n", names, page, page, block.line)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        failed = doctest.DocTestRunner(verbose=False).run(example, clear_globs=False)
    names.update(example.globs)
    if failed.failed:
        yield out.getvalue()


def names(folder: Path) -> dict[str, Any]:
    """The names that code of pages takes for granted."""
    import pandas as pd

    rows = page_files.read(folder / "answers.jsonl")
    first = rows[0]
    return {
        "__name__": "page",
        "ce": ce,
        "pytest": pytest,
        "rows": rows,
        "frame": pd.DataFrame(rows),
        "judge": "openai:gpt-5-mini",
        "question": first["question"],
        "answer": first["answer"],
        "contexts": [context["text"] for context in first["contexts"]],
    }


@pytest.mark.parametrize("page", [page for page in PAGES if (ROOT / page).exists()])
def test_every_block_of_a_page_runs_and_prints_what_it_says(page: str, folder: Path) -> None:
    known = names(folder)
    wrong: list[str] = []
    for block in blocks((ROOT / page).read_text(encoding="utf-8")):
        if block.file:
            path = folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.needs or block.kind not in RUN:
            continue
        elif block.kind != "python":
            wrong += console(block, folder)
        else:
            wrong += python(block, known, page)
    assert wrong == [], "\n".join(wrong)


def test_what_a_block_needs_is_read_from_the_sentence_before_it() -> None:
    text = "Runs.\n\n```console\n$ a\n```\n\nNeeds Slurm:\n\n```console\n$ b\n```\n"
    assert [block.needs for block in blocks(text)] == [None, "Slurm"]
    (file,) = blocks('<!-- file: a.jsonl -->\n```json\n{"id": 1}\n```\n')
    assert (file.file, file.kind, file.text) == ("a.jsonl", "json", '{"id": 1}\n')


def test_a_line_that_is_not_printed_and_an_exit_code_are_told(folder: Path) -> None:
    block = Block(1, "console", "$ claimeval score nothing.jsonl\n", None, None)
    assert "exit code 2" in "".join(console(block, folder))
    block = Block(1, "console", "$ claimeval --version\nno such line\n", None, None)
    assert list(console(block, folder)) == [
        "line 1: claimeval --version: not printed: no such line"
    ]


def examples() -> Iterator[tuple[str, str]]:
    """The commands that the help of each command shows as an example."""
    context = click.Context(app, info_name="claimeval")
    groups: list[tuple[str, click.Group]] = [
        (name, app) for names in commands().values() for name in names
    ]
    while groups:
        name, group = groups.pop(0)
        command = group.get_command(context, name)
        assert command, name
        for paragraph in (command.help or "").split("\n\n"):
            text = " ".join(paragraph.split()).partition("xample")[2].partition(": ")[2]
            for line in re.split(r"; (?=claimeval)|, (?:then|or) (?=claimeval)", text):
                if "claimeval" in line:
                    yield f"{command.name}: {line}", line
        if isinstance(command, click.Group):
            groups += [(below, command) for below in command.commands]


EXAMPLES = dict(examples())


@pytest.mark.parametrize("line", sorted(filter(runs, set(EXAMPLES.values()))))
def test_examples_of_help_run(line: str, folder: Path) -> None:
    if line.startswith("claimeval merge"):
        local = "claimeval score answers.jsonl -j local:lexical -o runs/sharded --shard"
        line = line.replace("runs/a", "runs/sharded")
        assert [run_command(f"{local} {number}/2", folder)[0] for number in (1, 2)] == [0, 0]
    code, output = run_command(line, folder)
    assert code == 0, output[-800:]


def example_of(command: str) -> list[list[str]]:
    """The examples of a command, as words."""
    return [shlex.split(line)[1:] for line in EXAMPLES.values() if f"claimeval {command} " in line]


@pytest.mark.parametrize("words", example_of("view"), ids=" ".join)
def test_examples_of_view_serve_the_runs_until_they_are_stopped(
    words: list[str], folder: Path
) -> None:
    # Where the tests run in the background of a shell, SIGINT is ignored, and so it would be in
    # the viewer.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "claimeval", *words, "--port", "0"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as viewer:
        signal.signal(signal.SIGINT, before)
        try:
            assert viewer.stdout
            printed = iter(viewer.stdout.readline, "")
            address = next(url for line in printed for url in re.findall(r"http://\S+", line))
            with urlopen(address.rstrip(".,"), timeout=30) as page:
                assert "<title>" in page.read().decode()
            viewer.send_signal(signal.SIGINT)
            assert viewer.wait(timeout=30) == 0
        finally:
            viewer.kill()


def test_examples_of_push_reach_a_server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "not-a-key")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "not-a-key")
    rows = page_files.read(folder / "answers.jsonl")
    traced = [{**row, "metadata": {"trace_id": f"{n:032x}"}} for n, row in enumerate(rows, 1)]
    shutil.rmtree(folder / "runs" / "a")
    ce.score(traced, judges="local:lexical", metrics="faithfulness", out=folder / "runs" / "a")
    requests: list[str] = []

    def respond(path: str, headers: Mapping[str, str], content: bytes) -> tuple[int, bytes]:
        requests.append(path)
        return 200, b"{}"

    with serve(respond) as url:
        for words in example_of("push"):
            line = shlex.join(words).replace("http://localhost:4318", url.removesuffix("/v1"))
            code, output = run_command(f"claimeval {line}", folder)
            assert code == 0, output
            assert "scores 2" in output
    assert set(requests) == {"/v1/logs"}


def test_examples_of_local_models_run_with_small_weights(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the extra local")
    pytest.importorskip("transformers", reason="needs the extra local")
    from tests.providers.local import tiny_models

    models = {
        "perplexity": tiny_models.t5(tmp_path / "t5"),
        "reward": tiny_models.classifier(tmp_path / "reward", ["LABEL_0"], kind="deberta-v2"),
    }
    for command, weights in models.items():
        for words in example_of(command):
            kept = words[: words.index("--model")] if "--model" in words else words
            line = shlex.join([*kept, "--model", str(weights), "--device", "cpu", "--limit", "3"])
            code, output = run_command(f"claimeval {line}", folder)
            assert code == 0, output
            assert "Run: runs/" in output


def test_the_example_of_batch_cancel_names_the_batches_that_there_are(folder: Path) -> None:
    for words in example_of("batch cancel"):
        code, output = run_command(f"claimeval {shlex.join(words)}", folder)
        assert (code, "`claimeval batch list` shows them" in output) == (2, True)


def test_dependencies_that_pages_print_name_this_package() -> None:
    """`claimeval` on the package index is another project: installing it beside a key would run
    somebody else's code."""
    pages = [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "prompts").rglob("*.md"),
    ]
    wrong = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in pages
        for block in blocks(path.read_text(encoding="utf-8"))
        for line in foreign(block.text)
    ]
    assert wrong == []


def foreign(text: str) -> list[str]:
    """The dependencies in a text that are the other package of that name."""
    return [
        line
        for line in DEPENDENCY.findall(text)
        if re.search(r"""(?<![\w/.-])claimeval(?![\w-]|\.\w)""", line)
    ]


def test_only_the_other_package_is_foreign() -> None:
    assert foreign('dependencies = ["claimeval"]\npip install claimeval[ray]\n')
    assert not foreign('dependencies = ["claimeval-judge @ file:///home/me/claimeval"]')
    assert not foreign("pip uninstall claimeval claimeval-judge\npip install '.[pandas]'\n")
