"""The wheel, the wheel made from the sdist and the editable install all find prompts and sample
data."""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import get_args

import hatchling.build
import pytest
from packaging.requirements import Requirement

import claimeval
from claimeval.api.push import Platform
from claimeval.judging import prompts
from claimeval.types.bundled import bundled
from tests.command_line import call

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.slow

ASK = """
import sys; sys.path.insert(0, sys.argv[1])
import claimeval
from claimeval.judging import prompts as prompting
from claimeval.types.bundled import bundled
assert claimeval.__file__.startswith(sys.argv[1]), claimeval.__file__
print(*sorted(name for step in prompting.STEPS for name in prompting.shipped(step)))
print(sum(1 for _ in bundled('demo.jsonl').open(encoding='utf-8')))
print(prompting.load('assess', 'three_way').digest)
"""


def build(kind: str, source: Path, out: Path) -> Path:
    """What the build backend makes of a folder; `make release-check` builds through a front end."""
    out.mkdir()
    with contextlib.chdir(source):
        return out / str(getattr(hatchling.build, f"build_{kind}")(str(out)))


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheel of the checkout, and that of the unpacked sdist."""
    folder = tmp_path_factory.mktemp("built")
    sdist = build("sdist", ROOT, folder / "sdist")
    subprocess.run(["tar", "-xzf", str(sdist), "-C", str(folder)], check=True)
    (unpacked,) = (path for path in folder.glob("claimeval_judge-*") if path.is_dir())
    return {
        "wheel": build("wheel", ROOT, folder / "wheel"),
        "wheel from sdist": build("wheel", unpacked, folder / "again"),
    }


@pytest.mark.parametrize("kind", ["wheel", "wheel from sdist"])
def test_an_installed_wheel_finds_prompts_and_samples(
    wheels: dict[str, Path], kind: str, tmp_path: Path
) -> None:
    with zipfile.ZipFile(wheels[kind]) as wheel:
        wheel.extractall(tmp_path)
    done = subprocess.run(
        [sys.executable, "-I", "-c", ASK, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    names, samples, digest = done.stdout.splitlines()
    assert names.split() == sorted(name for step in prompts.STEPS for name in prompts.shipped(step))
    assert int(samples) == len(bundled("demo.jsonl").read_bytes().splitlines())
    assert digest == prompts.load("assess", "three_way").digest


def test_the_wheel_ships_no_tests_and_its_type_marker(wheels: dict[str, Path]) -> None:
    with zipfile.ZipFile(wheels["wheel"]) as wheel:
        names = wheel.namelist()
    assert "claimeval/py.typed" in names
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/", "examples/"))]


@pytest.fixture(scope="module")
def metadata(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the metadata that an installation has, and without the package."""
    folder = tmp_path_factory.mktemp("metadata")
    with zipfile.ZipFile(wheels["wheel"]) as wheel:
        wheel.extractall(
            folder, (name for name in wheel.namelist() if name.startswith("claimeval_judge-"))
        )
    return folder


def test_the_readme_has_no_link_into_the_repository_where_that_is_not_around_it(
    metadata: Path,
) -> None:
    (file,) = metadata.glob("*.dist-info/METADATA")
    text = file.read_text(encoding="utf-8")
    # a link with words of its own keeps these alone
    assert "(`docs/judges.md`)" not in text
    assert "(`docs/cost.md`)" in text
    assert "<picture" not in text
    assert [
        link
        for link in re.findall(r"\]\(([^)]+)\)", text)
        if not link.startswith(("https://", "#"))
    ] == []


NEEDS = """
import sys; sys.path.insert(0, sys.argv[1])
from claimeval.types.errors import not_installed
for extra in sys.argv[2:]:
    print(not_installed("this needs that", extra))
"""


def test_a_missing_package_is_named_as_our_metadata_requires_it(metadata: Path) -> None:
    written = r'not_installed\(f?"[^"]*", (?:"(\w+)"|platform)\)'
    used = {
        extra
        for file in ROOT.glob("claimeval/**/*.py")
        for extra in re.findall(written, file.read_text("utf-8"))
    }
    # Phoenix takes plain requests, which need no package
    extras = sorted(used - {""} | set(get_args(Platform)) - {"phoenix"})
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    assert len(extras) > 6

    done = subprocess.run(
        [sys.executable, "-c", NEEDS, str(metadata), *extras],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    printed = dict(zip(extras, done.stdout.splitlines(), strict=True))
    assert printed["ray"] == "this needs that: pip install 'ray[client]>=2.40'"
    assert (
        printed["lexical"] == "this needs that: pip install 'rouge-score>=0.1.2' 'sacrebleu>=2.4'"
    )
    named = {name: set(map(Requirement, shlex.split(line)[5:])) for name, line in printed.items()}
    assert named == {name: set(map(Requirement, declared[name])) for name in extras}


def installed(folder: Path, entry_points: str) -> None:
    """Write the metadata of a distribution called claimeval."""
    metadata = folder / "claimeval-1.0.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: claimeval\nVersion: 1.0.0\n", encoding="utf-8"
    )
    (metadata / "entry_points.txt").write_text(entry_points, encoding="utf-8")


def test_another_projects_package_of_the_same_name_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    installed(tmp_path, "[console_scripts]\nclaimeval = claimeval.__main__:main\n")
    note = (
        "claimeval: another project's package `claimeval` 1.0.0 is installed in the same folder,"
        " and each replaces files of the other: `pip uninstall claimeval claimeval-judge`, then"
        " install this one again\n"
    )

    version = call("--version")
    assert (version.returncode, version.stdout, version.stderr) == (
        0,
        f"claimeval {claimeval.__version__}\n",
        note,
    )
    checked = call("doctor", bundled("demo.jsonl"))
    assert (checked.returncode, checked.stderr) == (0, note)
    monkeypatch.setattr("claimeval.cli.main.run", lambda arguments: 1 / 0)
    crashed = call("demo", exits=70)
    assert crashed.stderr.endswith(f"ZeroDivisionError: division by zero\n{note}")


def test_an_installation_of_this_project_under_its_former_name_is_no_other_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    installed(tmp_path, "[pytest11]\nclaimeval = claimeval.integrations.pytest_plugin\n")
    assert call("--version").stderr == ""


FOREIGN = re.compile(
    r"github\.com/claimeval|pypi\.org/project/claimeval"
    r"|\b(?:pip|uv|pipx)\b[^\n`|;&]*\b(?:install|add)\b[^\n`|;&]*["
    r" '\"]claimeval(?:-judge)?(?![\w./-])"
)
"""The repository and packages of an index that have our names: they belong to others, or could."""


def test_nothing_leads_to_another_projects_package_or_repository() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    found = []
    for name in listed.stdout.decode().split("\0")[:-1]:
        if (ROOT / name).is_file():
            text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
            found += [f"{name}: {match.group()}" for match in FOREIGN.finditer(text)]
    assert found == []


@pytest.mark.parametrize(
    ("text", "is_foreign"),
    [
        ("pip install 'NAME[otlp]'", True),
        ("`pip install -U NAME`", True),
        ("uv pip install --upgrade NAME-judge", True),
        ("uv add NAME", True),
        ("https://github.com/NAME/NAME/issues", True),
        ("pip install '.[otlp]'; NAME demo", False),
        ("pip uninstall NAME NAME-judge", False),
        ("pip install dist/NAME_judge-0.2.0-py3-none-any.whl", False),
    ],
)
def test_what_leads_to_another_project(text: str, is_foreign: bool) -> None:
    assert bool(FOREIGN.search(text.replace("NAME", "claimeval"))) is is_foreign


@pytest.mark.skipif(not shutil.which("make"), reason="no make here")
def test_only_make_browser_changes_the_machine_outside_the_checkout(tmp_path: Path) -> None:
    def commands(*targets: str) -> str:
        """What make would run in a fresh checkout."""
        options = ["--dry-run", "--always-make", "--no-print-directory"]
        done = subprocess.run(
            ["make", *options, *targets], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return done.stdout

    for file in ("Makefile", "pyproject.toml", "tools/page/package-lock.json"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    changes = re.compile(r"apt-get|apt |sudo|chromedriver")
    assert changes.search(commands("browser"))
    assert "pytest -n auto" in commands("test")
    assert (
        changes.findall(
            commands(
                "demo", "test", "check", "docs", "compatibility", "integrations", "release-check"
            )
        )
        == []
    )


def test_nothing_publishes() -> None:
    workflows = [
        file.read_text(encoding="utf-8") for file in (ROOT / ".github" / "workflows").iterdir()
    ]
    assert workflows
    assert not [text for text in workflows if re.search(r"publish|twine upload|id-token", text)]
    assert (
        "urls"
        not in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    )


def test_the_citation_names_the_version() -> None:
    assert f"\nversion: {claimeval.__version__}\n" in (ROOT / "CITATION.cff").read_text(
        encoding="utf-8"
    )


def test_the_editable_install_reads_the_checkout() -> None:
    assert prompts.folder() == ROOT / "prompts"
    assert bundled("demo.jsonl") == ROOT / "examples" / "data" / "demo.jsonl"
