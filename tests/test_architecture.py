"""Who may import whom: the rooms and floors of the package, read from the source."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.command_line import call
from tools import readability

PACKAGE = Path(__file__).parents[1] / "claimeval"
FLOORS = {
    "types": 1,
    "lexical": 2,
    "statistics": 2,
    "store": 2,
    "ir": 3,
    "metrics": 3,
    "judging": 3,
    "providers": 4,
    "data": 4,
    "execution": 5,
    "evaluation": 6,
    "runs": 7,
    "distributed": 8,
    "report": 8,
    "api": 9,
    "cli": 10,
    "integrations": 10,
}
"""Every room and the floor it stands on. A room imports from lower floors only, never from its
own."""
LIBRARIES = ("ir", "lexical", "statistics")
"""Usable alone: of `types` they know the errors and the ids, and they know no pydantic."""
TERMINAL = {"click", "rich"}
"""Known to `cli` alone."""
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
    "langfuse",
    "mlflow",
    "opentelemetry",
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
            if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
                visit(child, at_once)

    visit(syntax(path), True)
    return found


def imports_between_rooms() -> list[tuple[str, str]]:
    """Every import from one room of the package by another, as (importer, imported)."""
    return [
        (name(path), module)
        for path in FILES
        for module, _ in imports(path)
        if module.startswith("claimeval.") and room(name(path)) in FLOORS and room(module) in FLOORS
        if room(module) != room(name(path))
    ]


def test_what_only_tests_need_is_not_imported() -> None:
    """scipy, the reference of the statistics, is installed for tests alone."""
    wrong = [path.name for path in FILES for module, _ in imports(path) if "scipy" in module]
    assert wrong == []


def test_every_room_stands_on_a_floor_and_every_floor_has_its_rooms() -> None:
    assert {room(module) for module in MODULES} - {"", "__main__", "testing"} == set(FLOORS)


def test_imports_point_down_and_never_sideways() -> None:
    wrong = [
        f"{importer} imports {imported}"
        for importer, imported in imports_between_rooms()
        if FLOORS[room(imported)] >= FLOORS[room(importer)]
    ]
    assert not wrong, "\n".join(wrong)


def test_libraries_know_of_the_types_only_the_errors_and_ids() -> None:
    wrong = [
        f"{name(path)} imports {module}"
        for path in FILES
        for module, _ in imports(path)
        if room(name(path)) in LIBRARIES
        if module.split(".")[0] == "pydantic"
        or (
            room(module) == "types"
            and module not in ("claimeval.types.errors", "claimeval.types.ids")
        )
    ]
    assert not wrong, "\n".join(wrong)


def test_only_the_command_line_knows_a_terminal() -> None:
    wrong = [
        f"{name(path)} imports {module}"
        for path in FILES
        for module, _ in imports(path)
        if module.split(".")[0] in TERMINAL and room(name(path)) != "cli"
    ]
    assert not wrong, "\n".join(wrong)


def test_one_file_imports_ray() -> None:
    assert {
        name(path) for path in FILES for module, _ in imports(path) if module.split(".")[0] == "ray"
    } == {"claimeval.distributed.ray_engine"}


def test_integrations_are_loaded_by_name_in_one_place() -> None:
    named = {
        name(path)
        for path in FILES
        if room(name(path)) != "integrations"
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.Constant) and str(node.value).startswith("claimeval.integrations.")
    }
    assert named == {"claimeval.api.push"}


def test_one_function_writes_csv() -> None:
    """Others would have to guard formulas and lone carriage returns themselves."""
    writers = {
        name(path)
        for path in FILES
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.Attribute) and node.attr in ("writer", "DictWriter")
        if isinstance(node.value, ast.Name) and node.value.id == "csv"
    }
    assert writers == {"claimeval.data.rows"}


def test_output_has_one_door() -> None:
    """Others would have to clean texts of data of control characters themselves."""
    writers = {
        name(path)
        for path in FILES
        for node in ast.walk(syntax(path))
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "print"
        )
        or (
            isinstance(node, ast.Attribute)
            and ast.unparse(node) in ("sys.stdout", "sys.stderr.write")
        )
    }
    assert writers == {"claimeval.cli.terminal"}


ADDED_UP = {
    *("_UnextractedTexts", "_RequestCounts", "StepWorkload", "_CorrectionData"),
    *("_ReplyCounts", "Received", "_JobResults", "ExtractionCounts"),
}
"""The dataclasses that change: what they hold is counted one by one, and nobody keeps them."""


def test_records_are_of_three_kinds() -> None:
    """Pydantic if written or public, a NamedTuple if returned together and unpacked, else a frozen
    dataclass.

    None of them is made or changed behind the back of its own constructor.
    """
    wrong = list[str]()
    changing = set[str]()
    for path in FILES:
        for node in ast.walk(syntax(path)):
            if isinstance(node, ast.Attribute) and node.attr in {
                "model_construct",
                "__setattr__",
                "__new__",
            }:
                wrong.append(f"{name(path)}:{node.lineno} uses {node.attr}")
            if isinstance(node, ast.FunctionDef) and node.name in {
                "__new__",
                "__setattr__",
                "model_post_init",
            }:
                wrong.append(f"{name(path)}:{node.lineno} defines {node.name}")
            if isinstance(node, ast.ClassDef):
                bases = {ast.unparse(base).partition("[")[0] for base in node.bases}
                if bases & {"TypedDict", "BaseModel"} and node.name != "Record":
                    wrong.append(
                        f"{name(path)}:{node.lineno} {node.name} is a record of another kind"
                    )
                if any(
                    ast.unparse(kind) in {"dataclass", "dataclass()"}
                    for kind in node.decorator_list
                ):
                    changing.add(node.name)
    assert not wrong, "\n".join(wrong)
    assert changing == ADDED_UP


def test_every_room_says_what_it_holds() -> None:
    silent = [
        room
        for room in FLOORS
        if not (ast.get_docstring(syntax(PACKAGE / room / "__init__.py")) or "").strip()
    ]
    assert not silent, f"no sentence in the __init__ of {', '.join(silent)}"


def test_the_map_for_contributors_names_every_room() -> None:
    page = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    mapped = {
        name: int(line.split("|")[1]) for line in lines for name in re.findall(r"`(\w+)/`", line)
    }
    assert mapped == FLOORS


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    modules = {name(path) for path in FILES}
    graph = {
        name(path): {
            module
            for module, at_once in imports(path)
            if at_once and module in modules and module != name(path)
        }
        for path in FILES
        if name(path) != "claimeval"
    }
    assert list(TopologicalSorter(graph).static_order())


def test_a_provider_knows_no_other_provider() -> None:
    modules = ("anthropic", "mistral", "openai")
    known = {
        (stem, module.removeprefix("claimeval.providers."))
        for stem in modules
        for module, _ in imports(PACKAGE / "providers" / f"{stem}.py")
        if module in {f"claimeval.providers.{other}" for other in modules if other != stem}
    }
    assert known == set()


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


def modules_after(code: str, *arguments: str) -> set[str]:
    """The modules in a fresh interpreter after running some code."""
    script = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split())


def loaded_by(code: str) -> set[str]:
    """The top-level packages in a fresh interpreter after running some code."""
    return {module.split(".")[0] for module in modules_after(code)}


HELP = """
import claimeval.cli.main, contextlib, io, sys
sys.argv = ['claimeval', '--help']
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    claimeval.cli.main.main()
"""


@pytest.mark.parametrize(
    "code", ["import claimeval", "from claimeval import lexical, statistics", HELP]
)
def test_imports_and_help_load_no_sdk_and_nothing_heavy(code: str) -> None:
    assert not loaded_by(code) & (HEAVY | {"jinja2", "pydantic", "rapidfuzz", "numpy"})


def test_the_functions_of_python_load_numpy_when_they_compute() -> None:
    assert "numpy" not in loaded_by("import claimeval; claimeval.score; claimeval.compare")


COMMAND = """
import claimeval.cli.main, contextlib, io
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    claimeval.cli.main.main()
"""


def test_score_with_a_judge_of_this_machine_loads_what_it_uses(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    out = tmp_path / "run"
    data.write_text(
        '{"id": "a", "question": "Where?", "answer": "In Rome.", "contexts": ["It is in Rome."]}\n'
    )
    asked = (
        "score",
        str(data),
        "-j",
        "local:lexical",
        "-o",
        str(out),
        "--cache",
        str(tmp_path / "cache"),
    )
    loaded = modules_after(COMMAND, *asked)
    assert (out / "report.html").exists()
    rooms = {".".join(module.split(".")[:2]) for module in loaded}
    assert not rooms & {"claimeval.ir", "claimeval.distributed", "claimeval.integrations"}
    others = {
        *(
            "claimeval.data.recorded",
            "claimeval.data.result_files",
            "claimeval.data.labels",
            "claimeval.evaluation.grade",
            "claimeval.evaluation.measure",
        ),
        *(
            "claimeval.evaluation.rate",
            "claimeval.evaluation.write_queries",
            "claimeval.execution.batch",
        ),
        *("claimeval.providers.http", "claimeval.providers.local.entailment"),
        *(
            "claimeval.report.markdown",
            "claimeval.report.tables",
            "claimeval.runs.agreement",
            "claimeval.runs.compare",
        ),
        *(
            "claimeval.runs.experiments",
            "claimeval.runs.labels",
            "claimeval.runs.rejudge",
            "claimeval.runs.revote",
        ),
    }
    assert not loaded & others
    packages = {module.split(".")[0] for module in loaded}
    assert not packages & (HEAVY - {"diskcache"} | {"jinja2"})


def test_compare_loads_neither_experiments_nor_what_asks_judges(tmp_path: Path) -> None:
    demo = PACKAGE.parent / "examples" / "data" / "demo.jsonl"
    asked = [
        "--limit",
        "3",
        "-m",
        "faithfulness",
        "-j",
        "local:lexical",
        "--cache",
        str(tmp_path / "cache"),
    ]
    for name in ("a", "b"):
        call("score", demo, *asked, "-o", tmp_path / name, folder=tmp_path)
    loaded = modules_after(COMMAND, "compare", str(tmp_path / "a"), str(tmp_path / "b"))
    assert "claimeval.runs.compare" in loaded
    unused = {
        "asyncio",
        "claimeval.api.jobs",
        "claimeval.evaluation.claims",
        "claimeval.execution.runner",
        "yaml",
    }
    assert not loaded & (unused | {"claimeval.runs.experiments"})


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


def test_a_class_name_stands_for_one_class() -> None:
    """A reader who meets `Source` in two rooms must not have to find out which one it is."""
    defined: dict[str, list[str]] = {}
    for path in FILES:
        for node in ast.walk(syntax(path)):
            if isinstance(node, ast.ClassDef):
                defined.setdefault(node.name.strip("_"), []).append(name(path))
    assert {name: found for name, found in defined.items() if len(found) > 1} == {}


def test_no_room_is_harder_to_read_than_it_was() -> None:
    """Branches, tokens a line, packed assignments, fragments: `tools/readability.py` shows
    them, and records them where they got better."""
    recorded = json.loads((PACKAGE.parent / "tests" / "readability.json").read_text())
    worse = []
    rows = readability.rooms()
    for row in rows:
        for name, value in readability.held(row).items():
            most = recorded.get(row.room, {}).get(name, value)
            if value > most:
                worse.append(f"{row.room}: {name} is {value}, and was {most}")
    advice = "`python tools/readability.py ROOM` lists what is counted"
    assert not worse, "\n".join([*worse, advice])
    assert {row.room for row in rows} == set(recorded)
