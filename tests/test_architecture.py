"""Who may import whom: the levels of the design, read from the source."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "claimeval"
LEVELS = (
    {"errors", "ir", "lexical", "statistics"},
    {"records", "calls", "scales", "relevance_scales", "answer_questions"},
    {"metrics", "prompting", "replies", "store", "grounding", "wire", "prices", "families"},
    {"steps", "panel", "scoring", "derived", "backends", "local", "data", "recorded_replies"},
    {"execution", "judges", "lineups", "plan"},
    {"pipeline", "assessing", "carrying", "hearing", "run", "agreement", "side_scores", "revoting"},
    {
        "evaluation",
        "experiments",
        "api",
        "report",
        "planning",
        "annotating",
        "marking",
        "correcting",
        "prompt_views",
        "rejudging",
        "importing",
        "exchange",
        "comparing",
        "inventory",
        "relevance",
        "retrieval",
        "test_sets",
        "tracking",
        "answerability",
        "answers",
        "side_judging",
        "matching",
        "asking",
    },
    {"cli"},
)
"""Imports point down or stay on a level."""
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
NEVER = {room: {"backends", "execution"} for room in ("steps", "panel", "scoring", "metrics")}
HEAVY = {
    "openai",
    "mistralai",
    "httpx2",
    "torch",
    "transformers",
    "scipy",
    "pandas",
    "pyarrow",
    "tenacity",
    "diskcache",
}
FILES = sorted(PACKAGE.rglob("*.py"))


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def name(path: Path) -> str:
    parts = ("claimeval", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(part for part in parts if part != "__init__")


MODULES = {name(path) for path in FILES}


@cache
def imports(path: Path) -> list[tuple[str, bool]]:
    """Every module that a file imports, and whether it does so as soon as it is imported itself."""
    found: list[tuple[str, bool]] = []

    def visit(node: ast.AST, at_once: bool) -> None:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            at_once = False
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            at_once = False
        if isinstance(node, ast.Import):
            found.extend((alias.name, at_once) for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            named = [f"{node.module}.{alias.name}" for alias in node.names]
            submodules = [module for module in named if module in MODULES]
            found.extend((module, at_once) for module in submodules)
            if len(submodules) < len(named):
                found.append((node.module or "", at_once))
        for child in ast.iter_child_nodes(node):
            visit(child, at_once)

    visit(ast.parse(path.read_text(encoding="utf-8")), True)
    return found


@pytest.mark.parametrize("path", FILES, ids=name)
def test_imports_point_down(path: Path) -> None:
    mine = room(name(path))
    if not mine or mine == "__main__":
        return
    assert mine in LEVEL, f"{mine} has no level; give it one in LEVELS"
    for module, _ in imports(path):
        theirs = room(module) if module.startswith("claimeval.") else ""
        if theirs not in LEVEL:
            continue
        assert LEVEL[theirs] <= LEVEL[mine], f"{name(path)} imports {module} from a higher level"
        assert theirs not in NEVER.get(mine, ()), f"{mine} must not know {theirs}"


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    modules = {name(path) for path in FILES}
    graph = {
        name(path): {
            module for module, at_once in imports(path) if at_once and module in modules and module != name(path)
        }
        for path in FILES
        if name(path) != "claimeval"
    }
    assert list(TopologicalSorter(graph).static_order())


def test_a_backend_knows_no_other_backend_no_step_and_no_prompt() -> None:
    shared = {"batching", "exchange", "http_client", "http_errors", "keys"}
    for path in (PACKAGE / "backends").glob("*.py"):
        for module, _ in imports(path):
            if module.startswith("claimeval.backends.") and path.stem != "__init__":
                own = path.stem.removesuffix("_batch")  # a provider's batches carry what its backend would send
                assert module.rsplit(".", 1)[1] in shared | {own}, f"{path.stem} imports {module}"
            assert not module.startswith("claimeval.steps"), f"{path.stem} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=name)
def test_heavy_packages_load_on_first_use(path: Path) -> None:
    at_once = {module.split(".")[0] for module, now in imports(path) if now}
    assert not at_once & HEAVY


@pytest.mark.parametrize("path", FILES, ids=name)
def test_nothing_unpickles_or_evaluates(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("eval", "exec", "compile", "__import__")
    assert not {module.split(".")[0] for module, _ in imports(path)} & {"pickle", "marshal", "shelve", "dill"}


@pytest.mark.parametrize("path", FILES, ids=name)
def test_files_are_under_four_hundred_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def loaded_by(code: str) -> set[str]:
    """The top-level packages in a fresh interpreter after running some code."""
    script = f"{code}\nimport sys; print(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


HELP = """
import claimeval.cli.main, contextlib, io, sys
sys.argv = ['claimeval', '--help']
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    claimeval.cli.main.main()
"""


@pytest.mark.parametrize("code", ["import claimeval", "from claimeval import lexical, statistics", HELP])
def test_imports_and_help_load_no_sdk_and_nothing_heavy(code: str) -> None:
    assert not loaded_by(code) & (HEAVY | {"jinja2", "pydantic", "rapidfuzz", "numpy"})


def test_rank_metrics_need_numpy_at_most() -> None:
    assert not loaded_by("from claimeval import ir") & (HEAVY | {"jinja2", "pydantic", "rapidfuzz"})


def test_public_names_exist_and_are_all_listed() -> None:
    import claimeval

    assert sorted(claimeval.__all__) == sorted(set(claimeval.__all__))
    assert set(claimeval.__all__) == set(claimeval._HOME_OF)
    for public in claimeval.__all__:
        assert getattr(claimeval, public) is not None
    with pytest.raises(AttributeError, match="no attribute 'scores'"):
        claimeval.__getattr__("scores")
