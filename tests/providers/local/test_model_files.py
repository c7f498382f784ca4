"""Finding models: folders, the cache of the hub, and what is said when there is neither model nor
network."""

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
LOCATE = """
import pathlib, sys
from claimeval.providers.local.loading import locate
from claimeval.types.errors import UsageError

for model in sys.argv[1:]:
    if model.startswith("without "):
        pathlib.Path(model.removeprefix("without ")).unlink()
        continue
    try:
        print(locate(model))
    except UsageError as error:
        print(str(error).replace("\\n", " "))
"""


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
    with pytest.raises(UsageError, match="has no model"):
        locate(str(copy))


def test_a_folder_has_no_revision_and_a_path_is_not_looked_for_on_the_hub(t5: Path) -> None:
    with pytest.raises(UsageError, match="needs a name on the hub"):
        locate(str(t5), "main")
    for path in ("/no/such/folder", "./folder", "one/two/three"):
        with pytest.raises(UsageError, match="no folder"):
            locate(path)


def in_a_process(home: Path, *models: str, **environment: str) -> list[str]:
    """What `locate` says of each model in a process of its own, since the hub's settings are read
    when it is imported.

    `without PATH` among the models removes a file.
    """
    done = subprocess.run(
        [sys.executable, "-c", LOCATE, *models],
        env={**os.environ, "HF_HOME": str(home), **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


HOW_TO_FETCH = ("'google/flan-t5-small'", "offline mode", "`hf download google/flan-t5-small`")


@pytest.mark.usefixtures("torch_here")
def test_a_network_that_is_down_is_said_in_one_line(tmp_path: Path) -> None:
    (message,) = in_a_process(tmp_path, "google/flan-t5-small", HF_ENDPOINT="http://127.0.0.1:9")
    assert "cannot be fetched" in message


@pytest.mark.usefixtures("torch_here")
def test_the_cache_of_the_hub_is_used_offline_and_what_it_lacks_is_said(
    t5: Path, tmp_path: Path
) -> None:
    repository = tmp_path / "hub" / "models--someone--tiny"
    weights = shutil.copytree(t5, repository / "snapshots" / COMMIT) / "model.safetensors"
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    models = ("someone/tiny", f"without {weights}", "someone/tiny", "google/flan-t5-small")
    whole, cut, absent = in_a_process(tmp_path, *models, HF_HUB_OFFLINE="1")
    assert f"someone/tiny@{COMMIT}" in whole
    assert "weights" in cut
    assert [part for part in (*HOW_TO_FETCH, str(tmp_path / "hub")) if part not in absent] == []
