"""A reply cache on a network file system is refused, and a very large one is said to be so."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import claimeval as ce
from claimeval.store import store
from claimeval.store.store import Store
from claimeval.types.errors import UsageError


@pytest.fixture
def mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which, by the list of what is mounted, there are file systems of many kinds."""
    root = tmp_path.resolve()
    (root / "mounts").write_text(
        "sysfs /sys sysfs rw 0 0\n"
        "/dev/sda1 / ext4 rw,relatime 0 0\n"
        f"server:/export {root}/nfs nfs4 rw,vers=4.2 0 0\n"
        f"/dev/sdb1 {root}/nfs/local xfs rw 0 0\n"
        f"//server/share {root}/my\\040share cifs rw 0 0\n"
        f"bucket {root}/bucket fuse.gcsfuse rw 0 0\n"
        f"home {root}/encrypted fuse.gocryptfs rw 0 0\n"
        f"server:/old {root}/covered nfs rw 0 0\n"
        f"/dev/sdc1 {root}/covered ext4 rw 0 0\n"
    )
    monkeypatch.setattr(store, "MOUNTS", root / "mounts")
    return root


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("nfs/users/ana/cache", "nfs4"),
        ("nfs", "nfs4"),
        ("my share/cache", "cifs"),
        ("bucket/cache", "gcsfuse"),
        ("nfs/local/cache", None),
        ("nfs-backup/cache", None),
        ("encrypted/cache", None),
        ("covered/cache", None),
        ("cache", None),
    ],
)
def test_the_file_system_of_a_folder_is_that_of_the_nearest_mount(
    mounted: Path, folder: str, kind: str | None
) -> None:
    found = store.network_mount(mounted / folder)
    assert (found and found.type) == kind


def test_a_link_does_not_hide_the_network(mounted: Path) -> None:
    (mounted / "nfs").mkdir()
    (mounted / "here").symlink_to(mounted / "nfs")
    assert store.network_mount(mounted / "here" / "cache")


def test_a_store_on_the_network_is_refused_with_what_to_do_before_anything_is_made(
    mounted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        UsageError,
        match=r"is on a network file system \(nfs4 at .*/nfs\).*a folder on this machine's",
    ):
        Store(mounted / "nfs" / "cache")
    assert not (mounted / "nfs").exists()
    monkeypatch.setenv(store.ALLOWED, "1")
    Store(mounted / "nfs" / "cache").close()


def test_a_system_that_does_not_list_its_mounts_is_taken_at_its_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MOUNTS", tmp_path / "none")
    Store(tmp_path / "cache").close()


def test_a_very_large_store_is_said_to_be_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(tmp_path / "cache").close()
    monkeypatch.setattr(store, "LARGE", 1000)
    with pytest.warns(
        UserWarning, match=r"is one file of 0\.0 GB, .* Give large jobs a separate cache"
    ):
        Store(tmp_path / "cache").close()


def test_a_store_that_grows_very_large_is_said_to_be_one_file_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path / "cache") as growing, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        growing.sync()
        assert told == []
        monkeypatch.setattr(store, "LARGE", 1000)
        growing.sync()
        growing.sync()
        assert len(told) == 1


@pytest.fixture
def no_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home below a file, where nobody can make a folder."""
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("CLAIMEVAL_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "file" / "home"))
    return tmp_path


@pytest.mark.usefixtures("no_home")
def test_a_judge_that_asks_nothing_needs_no_cache() -> None:
    result = ce.check("It is 3 m high.", contexts=["It is 3 m high."], judge="local:lexical")
    assert result.scores["faithfulness"].value == 1.0


def test_any_other_judge_says_how_to_name_a_cache(no_home: Path) -> None:
    sample = {"question": "q", "answer": "It is 3 m high.", "contexts": ["It is 3 m high."]}
    judge = "openai:m@http://127.0.0.1:9/v1"
    with pytest.raises(UsageError, match=r"cannot be written.*--cache or CLAIMEVAL_CACHE") as error:
        ce.score([sample], judges=judge, metrics="faithfulness", out=no_home / "run")
    assert error.value.exit_code == 2
    assert not (no_home / "run").exists()
    named = ce.RunOptions(cache=no_home / "file" / "cache")
    with pytest.raises(UsageError, match="--cache or CLAIMEVAL_CACHE"):
        ce.score([sample], judges="local:lexical", metrics="faithfulness", options=named)
