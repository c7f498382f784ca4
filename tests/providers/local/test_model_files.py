"""Finding models: folders, the cache of the hub, and what is said when there is neither model nor network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from claimeval.providers.local.loading import locate
from claimeval.types.errors import UsageError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LOCATE = "import sys; from claimeval.providers.local.loading import locate; print(locate(*sys.argv[1:]))"


def test_a_folder_is_known_by_the_contents_of_its_files(t5: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(t5, tmp_path / "copy")
    assert locate(str(copy)).revision == locate(str(t5)).revision
    (copy / "config.json").write_text((t5 / "config.json").read_text() + "\n")
    assert locate(str(copy)).revision != locate(str(t5)).revision
    (copy / "README.md").write_text("says nothing about the scores")
    before = locate(str(copy)).revision
    (copy / "README.md").write_text("still nothing")
    assert locate(str(copy)).revision == before


@pytest.mark.parametrize("lacking", ["config.json", "model.safetensors"])
def test_a_folder_without_a_model_is_refused(t5: Path, tmp_path: Path, lacking: str) -> None:
    copy = shutil.copytree(t5, tmp_path / "copy")
    (copy / lacking).unlink()
    with pytest.raises(UsageError, match="holds no model"):
        locate(str(copy))


def test_a_folder_has_no_revision_and_a_path_is_not_looked_for_on_the_hub(t5: Path) -> None:
    with pytest.raises(UsageError, match="goes with a name on the hub"):
        locate(str(t5), "main")
    for path in ("/no/such/folder", "./folder", "one/two/three"):
        with pytest.raises(UsageError, match="no folder"):
            locate(path)


def in_a_process(home: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`locate` in a process of its own, since the hub's settings are read when it is imported."""
    return subprocess.run(
        [sys.executable, "-c", LOCATE, *arguments],
        env={**os.environ, "HF_HOME": str(home), **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.usefixtures("torch_here")
@pytest.mark.parametrize("variable", ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"])
def test_offline_mode_is_said_with_the_folder_looked_in_and_how_to_fetch(tmp_path: Path, variable: str) -> None:
    done = in_a_process(tmp_path, "google/flan-t5-small", **{variable: "1"})
    message = done.stderr.strip().splitlines()[-1]
    for part in ("'google/flan-t5-small'", str(tmp_path / "hub"), "offline mode", "`hf download google/flan-t5-small`"):
        assert part in message


@pytest.mark.usefixtures("torch_here")
def test_a_network_that_is_down_is_said_in_one_line(tmp_path: Path) -> None:
    done = in_a_process(tmp_path, "google/flan-t5-small", HF_ENDPOINT="http://127.0.0.1:9")
    assert "cannot be fetched" in done.stderr.strip().splitlines()[-1]


@pytest.mark.usefixtures("torch_here")
def test_the_cache_of_the_hub_is_used_without_a_network(t5: Path, tmp_path: Path) -> None:
    repository = tmp_path / "hub" / "models--someone--tiny"
    shutil.copytree(t5, repository / "snapshots" / COMMIT)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    done = in_a_process(tmp_path, "someone/tiny", HF_HUB_OFFLINE="1")
    assert f"someone/tiny@{COMMIT}" in done.stdout, done.stderr
    (repository / "snapshots" / COMMIT / "model.safetensors").unlink()
    assert "weights" in in_a_process(tmp_path, "someone/tiny", HF_HUB_OFFLINE="1").stderr.splitlines()[-1]
