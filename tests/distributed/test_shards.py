"""A run in shards, merged, is the run of one process."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from benchmarks.loopback.claim_judge import answer
from claimeval.distributed.parts import Part, PartWriter, parts_in
from claimeval.distributed.shards import cut
from claimeval.types.options import Shard
from tests.command_line import call
from tests.conftest import StartServer

JUDGE = "local:lexical"
ROWS = [
    {
        "id": f"q{i}",
        "question": f"How high is tower {i % 5}?",
        "answer": (
            ""
            if i == 4
            else f"Tower {i} is {i * 7} metres high. It was built in 19{i:02}. It is old."
        ),
        "contexts": [
            f"Tower {i} is {i * 7} metres high.",
            f"In 19{i + i % 2:02} the tower was built.",
        ],
        "reference_answers": [f"It is {i * 7} metres high."],
        "metadata": {"topic": "even" if i % 2 == 0 else "odd"},
    }
    for i in range(11)
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data file of 11 samples, of which one has an empty answer."""
    file = tmp_path_factory.mktemp("data") / "data.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return file


@pytest.fixture(scope="module")
def plain(data: Path) -> Path:
    """The run of one process."""
    folder = data.parent / "plain"
    ce.score(data, judges=JUDGE, out=folder, options=ce.RunOptions(cache=data.parent / "cache"))
    return folder


def score(data: Path, folder: Path, shard: str, **settings: Any) -> ce.Run:
    """One shard of the run."""
    options = ce.RunOptions(cache=data.parent / "cache", shard=shard)
    return ce.score(data, judges=JUDGE, out=folder, options=options, **settings)


def equal(folder: Path, plain: Path) -> bool:
    """Whether results and summary are the same bytes."""
    return all(
        (folder / name).read_bytes() == (plain / name).read_bytes()
        for name in ("results.jsonl", "replies.jsonl.gz", "summary.json")
    )


@pytest.mark.parametrize("items", [0, 1, 5, 16, 1000])
def test_shards_cover_all_items_once_and_differ_by_one_at_most(items: int) -> None:
    cuts = [cut(items, Shard(number, 16)) for number in range(1, 17)]
    assert [place for one in cuts for place in one] == list(range(items))
    assert max(map(len, cuts)) - min(map(len, cuts)) <= 1


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/3", "1/0", "-1/3", "1/3/5"])
def test_a_shard_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(ce.UsageError, match="give the shard's number and the number of shards"):
        ce.RunOptions(shard=text)


def test_merged_shards_are_byte_for_byte_the_run_of_one_process(
    data: Path, plain: Path, tmp_path: Path
) -> None:
    for number in (2, 1, 3):
        one = score(data, tmp_path / "run", f"{number}/3")
        assert len(one) == len(list(one)) == len(cut(11, Shard(number, 3)))
    merged = ce.Run.merge(tmp_path / "run")
    assert equal(tmp_path / "run", plain)
    assert not (tmp_path / "run" / "parts").exists()
    assert merged.manifest.model_copy(update={"created": None}) == ce.Run.load(
        plain
    ).manifest.model_copy(update={"created": None})
    assert ce.Run.merge(tmp_path / "run") == merged  # merged again, it stays


def test_more_shards_than_samples_merge_too(data: Path, plain: Path, tmp_path: Path) -> None:
    for number in range(1, 14):
        score(data, tmp_path / "run", f"{number}/13")
    ce.Run.merge(tmp_path / "run")
    assert equal(tmp_path / "run", plain)


def test_the_commands_say_what_is_finished_and_what_is_missing(
    data: Path, plain: Path, tmp_path: Path
) -> None:
    arguments = ["score", data, "-j", JUDGE, "--out", "run", "--cache", data.parent / "cache"]
    first = call(*arguments, "--shard", "1/2", folder=tmp_path)
    assert "Shard 1/2: 5 samples in run/parts/00001-of-00002.jsonl" in first.stdout
    assert (
        "1 of 2 shards are finished; `claimeval merge run` joins them when all are" in first.stdout
    )
    missing = call("merge", "run", folder=tmp_path, exits=2)
    assert missing.stdout == ""
    assert "run misses 1 of 2 shards: 2. Run them with --shard N/2, then merge" in missing.stderr
    second = json.loads(call(*arguments, "--shard", "2/2", "--json", folder=tmp_path).stdout)
    assert (second["shard"], second["path"], second["samples"]) == ("2/2", "run", 6)
    merged = call(
        "merge", "run", "--json", "--fail-under", "faithfulness=1", folder=tmp_path, exits=1
    )
    assert json.loads(merged.stdout)["exit_code"] == 1
    again = call("merge", "run", "--compress", folder=tmp_path)
    assert "claimeval: run is merged already; results.jsonl stays uncompressed" in again.stderr
    assert equal(tmp_path / "run", plain)


def test_two_processes_at_once_make_the_run_of_one(data: Path, plain: Path, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "claimeval",
        "score",
        str(data),
        "-j",
        JUDGE,
        "--out",
        "run",
        "--quiet",
    ]
    processes = [
        subprocess.Popen(
            [*command, "--cache", str(data.parent / "cache"), "--shard", f"{n}/2"],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
        )
        for n in (1, 2)
    ]
    assert [process.communicate(timeout=120)[1] for process in processes] == [b"", b""]
    assert [process.returncode for process in processes] == [0, 0]
    ce.Run.merge(tmp_path / "run")
    assert equal(tmp_path / "run", plain)


@pytest.fixture
def finished(data: Path, tmp_path: Path) -> Path:
    """A run of two shards, both finished."""
    for shard in ("1/2", "2/2"):
        score(data, tmp_path / "run", shard)
    return tmp_path / "run"


def test_a_finished_shard_does_nothing_and_says_what_it_made(data: Path, finished: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (finished / "parts").iterdir()}
    again = score(data, finished, "2/2")
    assert {path: path.stat().st_mtime_ns for path in (finished / "parts").iterdir()} == before
    assert ([result.sample.id for result in again], again.complete) == (
        [f"q{i}" for i in range(5, 11)],
        True,
    )
    assert (
        again.record.samples
        == again["faithfulness"].n + sum(again["faithfulness"].missing.values())
        == 6
    )
    ce.Run.merge(finished)
    assert len(score(data, finished, "2/2")) == 11  # of a merged run all is there


def cut_in_the_middle(part: Part) -> str:
    os.truncate(part.lines, part.lines.stat().st_size // 2)
    return (
        r"00002-of-00002.jsonl has \d[\d,]* bytes and had \d[\d,]* when it was finished; run shard"
        r" 2/2 again"
    )


def changed(part: Part) -> str:
    part.lines.write_bytes(part.lines.read_bytes().replace(b"q5", b"q4"))
    return "00002-of-00002.jsonl was changed after it was finished"


def without_lines(part: Part) -> str:
    part.lines.unlink()
    return "00002-of-00002.jsonl is missing"


def damaged_replies(part: Part) -> str:
    os.truncate(part.replies, 10)
    return "00002-of-00002.replies.jsonl.gz has 10 bytes"


def damaged_index(part: Part) -> str:
    os.truncate(part.index_file, 10)
    return "00002-of-00002.json cannot be read"


def of_another_version(part: Part) -> str:
    rewrite(part, claimeval="0.0.9")
    return (
        "00002-of-00002.json is of claimeval 0.0.9, and this is .*; remove it and run shard 2/2"
        " again"
    )


def of_other_settings(part: Part) -> str:
    rewrite(part, settings="0" * 64)
    return "00002-of-00002.json is of other settings or data than the run"


def of_other_samples(part: Part) -> str:
    rewrite(part, first=6)
    return "00002-of-00002.json is about other samples than its number says"


def rewrite(part: Part, **fields: object) -> None:
    part.index_file.write_text(json.dumps(json.loads(part.index_file.read_text()) | fields))


@pytest.mark.parametrize(
    "damage",
    [
        cut_in_the_middle,
        changed,
        without_lines,
        damaged_replies,
        damaged_index,
        of_another_version,
        of_other_settings,
        of_other_samples,
    ],
)
def test_a_part_that_is_not_what_it_was_is_refused(
    damage: Callable[[Part], str], data: Path, finished: Path, plain: Path
) -> None:
    message = damage(Part(finished, Shard(2, 2)))
    with pytest.raises(ce.UsageError, match=message) as refused:
        ce.Run.merge(finished)
    assert not (finished / "results.jsonl").exists()
    if "remove it" in str(refused.value):  # not damaged, but of another run
        Part(finished, Shard(2, 2)).index_file.unlink()
    score(data, finished, "2/2")
    ce.Run.merge(finished)
    assert equal(finished, plain)


def test_a_shard_of_another_version_or_other_settings_is_refused(
    data: Path, finished: Path
) -> None:
    with pytest.raises(ce.UsageError, match="holds a run with other panel"):
        score(data, finished, "1/2", assess_prompt="binary")
    with pytest.raises(ce.UsageError, match="has parts of 2 shards; cut it in as many"):
        score(data, finished, "1/3")
    manifest = finished / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"claimeval": "', '"claimeval": "9.'))
    with pytest.raises(
        ce.UsageError, match=r"was begun by claimeval 9\..*; shards of a run need the same version"
    ):
        score(data, finished, "1/2")
    data.with_name("other.jsonl").write_text(data.read_text().replace("old", "new"))
    with pytest.raises(ce.UsageError, match="holds a run with other data"):
        score(data.with_name("other.jsonl"), finished, "1/2")


def test_what_a_merge_that_was_killed_at_its_end_leaves_is_removed_by_the_next(
    data: Path, finished: Path, plain: Path
) -> None:
    shutil.copytree(finished / "parts", finished.parent / "parts")
    ce.Run.merge(finished)
    shutil.move(finished.parent / "parts", finished)
    (finished / "parts" / "00001-of-00002.jsonl").unlink()
    assert len(ce.Run.merge(finished)) == 11
    assert equal(finished, plain)
    assert not (finished / "parts").exists()


def test_overwriting_replaces_the_parts_of_other_settings(
    data: Path, finished: Path, plain: Path
) -> None:
    damaged_index(Part(finished, Shard(2, 2)))
    score(data, finished, "1/2", assess_prompt="binary", overwrite=True)
    assert [part.shard.number for part in parts_in(finished)] == [1]
    for shard in ("1/2", "2/2"):
        score(data, finished, shard, overwrite=True)
    ce.Run.merge(finished)
    assert equal(finished, plain)


def test_a_cap_holds_over_all_shards_that_share_a_cache(
    start_server: StartServer, data: Path, tmp_path: Path
) -> None:
    server = start_server(judge=answer)

    def capped(shard: str, calls: int) -> None:
        options = ce.RunOptions(
            cache=tmp_path / "cache", shard=shard, max_calls=calls, concurrency=1
        )
        ce.score(
            data,
            judges=f"openai:m@{server.url}",
            metrics="faithfulness",
            out=tmp_path / "run",
            options=options,
        )

    for shard in ("1/2", "2/2"):
        with pytest.raises(ce.StoppedEarly, match="Budget reached: 5 calls"):
            capped(shard, 5)
    assert len(server.exchanges()) == 5
    for shard in ("1/2", "2/2"):
        capped(shard, 100)
    sent = len(server.exchanges())
    assert (
        len({exchange.sha256 for exchange in server.exchanges()}) == sent
    )  # nothing was asked twice
    assert len(ce.Run.merge(tmp_path / "run")) == 11


def test_a_shard_on_a_full_disk_stops_and_can_be_resumed(
    data: Path, plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: PartWriter, *_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("claimeval.distributed.parts.compress", full)
        with pytest.raises(ce.StoppedEarly, match="cannot be written: No space left on device"):
            score(data, tmp_path / "run", "1/1")
    assert parts_in(tmp_path / "run") == []
    score(data, tmp_path / "run", "1/1")
    ce.Run.merge(tmp_path / "run")
    assert equal(tmp_path / "run", plain)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 16 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "none", folder], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("mounting a small disk takes the rights of root")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_disk_that_is_really_full_ends_shard_and_merge_with_3_and_the_same_commands_go_on(
    data: Path, plain: Path, disk: Path, tmp_path: Path
) -> None:
    shard = (
        "score",
        data,
        "-j",
        JUDGE,
        "-o",
        disk / "run",
        "--cache",
        tmp_path / "cache",
        "--shard",
        "1/1",
    )
    full = disk / "other"
    for command in (shard, ("merge", disk / "run")):
        with contextlib.suppress(OSError):
            full.write_bytes(b"0" * 2**20)
        stopped = call(*command, exits=3)
        assert "cannot be written: No space left on device" in stopped.stderr
        full.unlink()
        subprocess.run(["mount", "-o", "remount,size=1m", disk], check=True)
        call(*command)
    assert equal(disk / "run", plain)


def test_a_run_that_is_not_merged_says_so(finished: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ce.DataError, match=r"it has no results; `claimeval merge .*` joins its shards"
    ):
        ce.Run.load(finished)
    with pytest.raises(ce.DataError, match="has no manifest"):
        ce.Run.merge(tmp_path)


def test_a_shard_without_a_directory_and_gates_on_a_shard_are_refused(
    data: Path, tmp_path: Path
) -> None:
    with pytest.raises(
        ce.UsageError, match="a shard needs `out`, the run directory that all shards share"
    ):
        ce.score(data, judges=JUDGE, options=ce.RunOptions(shard="1/2"))
    done = call(
        "score",
        data,
        "-j",
        JUDGE,
        "--shard",
        "1/2",
        "--fail-under",
        "faithfulness=1",
        folder=tmp_path,
        exits=2,
    )
    assert "give them to `claimeval merge`" in done.stderr
