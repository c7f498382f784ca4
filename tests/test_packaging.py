"""The wheel, the wheel made from the sdist and the editable install all find prompts and sample data."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import hatchling.build
import pytest

import claimeval
from claimeval.data.test_collections import bundled
from claimeval.judging import prompts

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.slow

ASK = """
import sys; sys.path.insert(0, sys.argv[1])
import claimeval
from claimeval.judging import prompts as prompting
from claimeval.data.test_collections import bundled
assert claimeval.__file__.startswith(sys.argv[1]), claimeval.__file__
print(*sorted(name for step in prompting.VARIABLES for name in prompting.shipped(step)))
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
    (unpacked,) = (path for path in folder.glob("claimeval-*") if path.is_dir())
    return {
        "wheel": build("wheel", ROOT, folder / "wheel"),
        "wheel from sdist": build("wheel", unpacked, folder / "again"),
    }


@pytest.mark.parametrize("kind", ["wheel", "wheel from sdist"])
def test_an_installed_wheel_finds_prompts_and_samples(wheels: dict[str, Path], kind: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheels[kind]) as wheel:
        wheel.extractall(tmp_path)
    done = subprocess.run(
        [sys.executable, "-I", "-c", ASK, str(tmp_path)], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    names, samples, digest = done.stdout.splitlines()
    assert names.split() == sorted(name for step in prompts.VARIABLES for name in prompts.shipped(step))
    assert int(samples) == len(bundled("demo.jsonl").read_bytes().splitlines())
    assert digest == prompts.load("assess", "three_way").digest


def test_the_wheel_ships_no_tests_and_its_type_marker(wheels: dict[str, Path]) -> None:
    with zipfile.ZipFile(wheels["wheel"]) as wheel:
        names = wheel.namelist()
    assert "claimeval/py.typed" in names
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/", "examples/"))]


def test_the_readme_has_no_dead_link_where_the_repository_is_not_around_it(wheels: dict[str, Path]) -> None:
    with zipfile.ZipFile(wheels["wheel"]) as wheel:
        (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        links = re.findall(r"\]\(([^)]+)\)", wheel.read(metadata).decode())
    release = f"https://github.com/claimeval/claimeval/blob/v{claimeval.__version__}/"
    files = {link.removeprefix(release).partition("#")[0] for link in links if link.startswith(release)}
    assert "docs/reliability.md" in files
    assert [file for file in files if not (ROOT / file).exists()] == []
    assert [link for link in links if not link.startswith("https://")] == []


def test_the_citation_names_the_version() -> None:
    assert f"\nversion: {claimeval.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_editable_install_reads_the_checkout() -> None:
    assert prompts.folder() == ROOT / "prompts"
    assert bundled("demo.jsonl") == ROOT / "examples" / "data" / "demo.jsonl"
