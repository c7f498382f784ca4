"""`claimeval cache`: what it prints and writes, and how it exits."""

from __future__ import annotations

import json
import os
import pickle
import re
import sqlite3
import stat
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.loopback import ThreadHandle
from claimeval.judging import prompts
from claimeval.store.store import ReplyOrigin, Store, join
from claimeval.types.chat_format import write_chat
from tests.api.test_claims import SAMPLES, spec
from tests.cli.conftest import Run

DIGEST = prompts.load("extract", "atomic").digest
NOON = 1_763_640_000.0
"""2025-11-20 12:00 UTC."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with three replies of one model to a shipped prompt and to another."""
    with Store(tmp_path / "store") as store:
        for number, prompt in enumerate((DIGEST, DIGEST, "f" * 64)):
            origin = ReplyOrigin(
                "openai:m", "http://127.0.0.1:8000/v1", prompt, NOON + 86_400 * number, 0.5
            )
            store.put(f"{number:064x}", join(origin, write_chat("hello", "m")))
    return tmp_path / "store"


def damage(folder: Path) -> None:
    connection = sqlite3.connect(folder / "cache.db", isolation_level=None)
    connection.execute("UPDATE Cache SET value = x'00' WHERE rowid = 1")
    connection.close()


def test_stats_say_what_is_there_by_model_and_prompt(claimeval: Run, folder: Path) -> None:
    done = claimeval("cache", "stats", "--cache", folder)

    assert f"{folder}: 3 replies, " in done.stdout
    assert "2025-11-20 to 2025-11-22" in done.stdout
    assert "openai:m at http://127.0.0.1:8000/v1" in done.stdout
    rows = {
        words[0]: words[1:] for line in done.stdout.splitlines() if len(words := line.split()) == 6
    }
    assert rows["extract/atomic"][0] == "2"
    assert rows["extract/atomic"][-2:] == ["2025-11-20", "2025-11-21"]
    assert rows["f" * 12][0] == "1"
    assert max(map(len, done.stdout.splitlines()[2:])) <= 80


def test_stats_for_scripts(claimeval: Run, folder: Path) -> None:
    found = json.loads(claimeval("cache", "stats", "--json", CLAIMEVAL_CACHE=str(folder)).stdout)

    assert (found["folder"], found["replies"], found["damaged"]) == (str(folder), 3, 0)
    assert found["groups"][0]["first"] == NOON
    assert found["on_disk"] > found["bytes"] > 0


def test_verify_finds_damage_and_repair_drops_it(claimeval: Run, folder: Path) -> None:
    damage(folder)

    found = claimeval("cache", "verify", "--cache", folder, exits=1)
    assert "2 whole replies, damaged rows: 1" in found.stdout
    assert "--drop-damaged" in found.stdout

    mended = claimeval("cache", "verify", "--drop-damaged", "--json", "--cache", folder)
    assert json.loads(mended.stdout)["dropped"] == 1

    claimeval("cache", "verify", "--cache", folder)


def test_a_store_goes_to_another_folder_and_back(
    claimeval: Run, folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "replies.jsonl"
    other = tmp_path / "other"

    claimeval("cache", "export", file, "--cache", folder)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(file.read_bytes().splitlines()) == 3
    again = claimeval("cache", "export", file, "--cache", folder, exits=2)
    assert "exists already" in again.stderr

    done = claimeval("cache", "import", file, "--cache", other)
    assert done.stdout == "replies added: 3, already present: 0\n"
    assert claimeval("cache", "export", "-", "--cache", other).stdout == file.read_text(
        encoding="utf-8"
    )


def test_conflicts_and_bad_files_are_said_in_one_line(
    claimeval: Run, folder: Path, tmp_path: Path
) -> None:
    with Store(tmp_path / "other") as other:
        origin = ReplyOrigin("openai:m", None, "", NOON, None)
        other.put("0" * 64, join(origin, write_chat("something else", "m")))
    done = claimeval("cache", "export", "-", "--cache", folder)
    file = tmp_path / "replies.jsonl"
    file.write_text(done.stdout + "{}\n", encoding="utf-8")

    bad = claimeval("cache", "import", file, "--cache", tmp_path / "other", exits=2)
    assert bad.stderr.startswith(
        f"claimeval: {file}, line 4: not an exported reply: key: is missing"
    )

    file.write_text(done.stdout, encoding="utf-8")
    conflict = claimeval("cache", "import", file, "--json", "--cache", tmp_path / "other", exits=1)
    assert json.loads(conflict.stdout)["conflicts"] == 1
    assert conflict.stderr.splitlines() == [
        "replies added: 0, already present: 2",
        "claimeval: questions with another reply in the cache, which was kept: 1 (000000000000)",
    ]


def test_a_folder_without_a_store_is_the_callers_mistake_and_stays_as_it_is(
    claimeval: Run, tmp_path: Path
) -> None:
    done = claimeval("cache", "stats", "--cache", tmp_path / "nothing", exits=2)

    assert "there is no reply cache in" in done.stderr
    assert not (tmp_path / "nothing").exists()


def test_the_replies_of_one_run_answer_the_same_command_elsewhere(
    claimeval: Run, tmp_path: Path, server: ThreadHandle
) -> None:
    judge = spec(server)
    for name, samples in (("a", SAMPLES[:1]), ("b", SAMPLES)):
        (tmp_path / f"{name}.jsonl").write_text(
            "".join(json.dumps(sample) + "\n" for sample in samples)
        )
        asked = ("score", tmp_path / f"{name}.jsonl", "-j", judge, "-m", "faithfulness")
        claimeval(*asked, "-o", name, "--cache", tmp_path / "store")
    replies = tmp_path / "replies.jsonl"
    done = claimeval("cache", "export", replies, "--run", "a", "--cache", tmp_path / "store")
    assert done.stderr == "claimeval: replies exported: 2\n"
    claimeval("cache", "import", replies, "--cache", tmp_path / "other")
    offline = ("score", tmp_path / "a.jsonl", "-j", judge, "-m", "faithfulness", "--offline")
    claimeval(*offline, "-o", "again", "--cache", tmp_path / "other")
    first, again = (tmp_path / "here" / name / "results.jsonl" for name in ("a", "again"))
    assert again.read_bytes() == first.read_bytes()
    lacking = claimeval(
        "cache",
        "export",
        tmp_path / "b-replies",
        "--run",
        "b",
        "--cache",
        tmp_path / "other",
        exits=1,
    )
    assert "replies of the run that the cache lacks: " in lacking.stderr


class Touch:
    """Creates a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (f"touch {self.file}",)


def test_a_pickle_in_the_cache_runs_in_no_command(
    claimeval: Run, server: ThreadHandle, tmp_path: Path
) -> None:
    """What CVE-2025-69872 is about: diskcache by itself would load the planted values."""
    data = tmp_path / "data.jsonl"
    cache = tmp_path / "cache"
    proof = tmp_path / "proof"
    data.write_text(
        '{"id": "1", "question": "?", "answer": "It is high.", "contexts": ["It is high."]}\n'
    )
    judge = spec(server)
    score = ("score", data, "--judge", judge, "--metrics", "faithfulness", "--cache", cache)
    claimeval(*score, "--out", tmp_path / "before")
    with closing(sqlite3.connect(cache / "cache.db", isolation_level=None)) as connection:
        planted = connection.execute(
            "UPDATE Cache SET mode = 4, value = ?", (pickle.dumps(Touch(proof)),)
        ).rowcount
    assert planted > 0

    codes = {
        "score": claimeval(*score, "--out", tmp_path / "after", exits=3).returncode,
        **{
            what: claimeval("cache", what, "--cache", cache, exits=None).returncode
            for what in ("stats", "verify")
        },
        "export": (
            claimeval(
                "cache", "export", tmp_path / "replies.jsonl", "--cache", cache, exits=1
            ).returncode
        ),
        "drop": claimeval("cache", "verify", "--drop-damaged", "--cache", cache).returncode,
    }

    assert not proof.exists()
    assert codes == {"score": 3, "stats": 0, "verify": 1, "export": 1, "drop": 0}


def test_size_is_one_line(claimeval: Run, folder: Path) -> None:
    done = claimeval("cache", "size", "--cache", folder)
    assert re.fullmatch(rf"{folder}: 3 replies, [0-9.]+ kB on disk\n", done.stdout)


def test_clear_says_what_it_would_delete_before_it_asks(claimeval: Run, folder: Path) -> None:
    done = claimeval("cache", "clear", "--cache", folder, stdin="n\n")
    first, second = done.stdout.splitlines()
    assert first.startswith(f"{folder}: 3 replies, ")
    assert "2025-11-20 to 2025-11-22, would be deleted; 0 are kept" in first
    assert second == "Nothing was deleted."
    assert done.stderr == "claimeval: Delete them? y or n\n"
    assert "3 replies" in claimeval("cache", "size", "--cache", folder).stdout


def test_clear_deletes_nothing_if_nobody_can_answer(claimeval: Run, folder: Path) -> None:
    done = claimeval("cache", "clear", "--cache", folder, stdin="", exits=2)
    assert "nothing was deleted: add --yes" in done.stderr
    assert "3 replies" in claimeval("cache", "size", "--cache", folder).stdout


def test_clear_deletes_old_replies_and_their_texts_leave_the_file(
    claimeval: Run, tmp_path: Path
) -> None:
    """The first reply is from 1970, the second from now."""
    folder = tmp_path / "store"
    secret = "a text that must not stay in the file " * 200
    with Store(folder) as store:
        for number, (at, text) in enumerate([(NOON, secret), (time.time(), "kept")]):
            origin = ReplyOrigin("openai:m", None, DIGEST, at, 0.5)
            store.put(f"{number:064x}", join(origin, write_chat(text, "m")))
    done = claimeval("cache", "clear", "--older-than", "30", "--cache", folder, "--yes", "--json")
    record = json.loads(done.stdout)
    assert (record["selected"], record["deleted"], record["remaining"]) == (1, 1, 1)
    files = b"".join(path.read_bytes() for path in folder.glob("cache.db*"))
    assert b"must not stay" not in files
    assert b"kept" in files
    with Store(folder) as store:
        assert [reply.key for reply in store] == [f"{1:064x}"]


def test_clear_of_a_run_deletes_its_replies_only_and_the_run_stays_as_it_is(
    claimeval: Run, server: ThreadHandle, here: Path
) -> None:
    for name, sample in zip("ab", SAMPLES, strict=False):
        (here / f"{name}.jsonl").write_text(json.dumps(sample) + "\n", encoding="utf-8")
        claimeval("score", f"{name}.jsonl", "-j", spec(server), "-o", f"runs/{name}")
    both = json.loads(claimeval("cache", "size", "--json").stdout)["replies"]
    before = (here / "runs/a/results.jsonl").read_bytes()
    done = claimeval("cache", "clear", "--run", "runs/a", "--yes", "--json")
    deleted = json.loads(done.stdout)["deleted"]
    assert 0 < deleted < both
    assert (here / "runs/a/results.jsonl").read_bytes() == before
    claimeval("score", "b.jsonl", "-j", spec(server), "-o", "runs/b2", "--offline")
    lost = claimeval("score", "a.jsonl", "-j", spec(server), "-o", "runs/a2", "--offline", exits=1)
    assert "not_in_cache" in lost.stderr


def test_clear_names_the_damaged_databases_that_a_repair_kept(claimeval: Run, folder: Path) -> None:
    (folder / "damaged-20261128-120000").mkdir()
    done = claimeval("cache", "clear", "--cache", folder, "--yes")
    assert f"kept in {folder / 'damaged-20261128-120000'}: delete the folder" in done.stdout
