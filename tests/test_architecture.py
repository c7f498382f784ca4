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
    {
        "clustering",
        "metrics",
        "prompting",
        "replies",
        "reply_values",
        "store",
        "grounding",
        "wire",
        "prices",
        "families",
    },
    {"steps", "panel", "flips", "scoring", "derived", "backends", "local", "data", "recorded_replies"},
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
def syntax(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


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

    visit(syntax(path), True)
    return found


def imports_between_rooms() -> list[tuple[str, str]]:
    """Every import from one room of the package by another, as (importer, imported)."""
    return [
        (name(path), module)
        for path in FILES
        for module, _ in imports(path)
        if module.startswith("claimeval.") and room(name(path)) in LEVEL and room(module) in LEVEL
    ]


def test_every_room_has_a_level() -> None:
    rooms = {room(module) for module in MODULES} - {"", "__main__"}
    assert rooms <= set(LEVEL), f"no level in LEVELS: {', '.join(sorted(rooms - set(LEVEL)))}"


def test_imports_point_down() -> None:
    upward = [
        f"{importer} imports {imported}"
        for importer, imported in imports_between_rooms()
        if LEVEL[room(imported)] > LEVEL[room(importer)]
    ]
    assert not upward, "\n".join(upward)


def test_some_rooms_do_not_know_of_others() -> None:
    forbidden = [
        f"{importer} imports {imported}"
        for importer, imported in imports_between_rooms()
        if room(imported) in NEVER.get(room(importer), ())
    ]
    assert not forbidden, "\n".join(forbidden)


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
    forbidden = []
    for path in (PACKAGE / "backends").glob("*.py"):
        own = path.stem.removesuffix("_batch")  # a provider's batches carry what its backend would send
        for module, _ in imports(path):
            other = module.startswith("claimeval.backends.") and module.rsplit(".", 1)[1] not in shared | {own}
            if (other and path.stem != "__init__") or module.startswith("claimeval.steps"):
                forbidden.append(f"{path.stem} imports {module}")
    assert not forbidden, "\n".join(forbidden)


def test_heavy_packages_load_on_first_use() -> None:
    eager = [
        f"{name(path)} imports {module}"
        for path in FILES
        for module, at_once in imports(path)
        if at_once and module.split(".")[0] in HEAVY
    ]
    assert not eager, "\n".join(eager)


def test_nothing_unpickles_or_evaluates() -> None:
    unsafe = [
        f"{name(path)} imports {module}"
        for path in FILES
        for module, _ in imports(path)
        if module.split(".")[0] in {"pickle", "marshal", "shelve", "dill"}
    ] + [
        f"{name(path)}:{node.lineno} calls {node.func.id}"
        for path in FILES
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"eval", "exec", "compile", "__import__"}
    ]
    assert not unsafe, "\n".join(unsafe)


def test_files_are_under_five_hundred_lines() -> None:
    lengths = {name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    long = [f"{module} has {length} lines" for module, length in lengths.items() if length > 500]
    assert not long, "\n".join(long)


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
