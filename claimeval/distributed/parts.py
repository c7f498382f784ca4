"""The parts of a run that shards write, and merging them.

A part has the results of consecutive samples in three files: `parts/00003-of-00016.jsonl` with
lines as in `results.jsonl`, `.replies.jsonl.gz` of the same name as in `replies.jsonl.gz`, and
`.json`, its index. The index is written last and atomically: if it exists, the part is finished.
Merging writes `results.jsonl` and `summary.json`, byte for byte as one process does.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from pydantic import Field, ValidationError

from claimeval.evaluation.kinds import kind_of
from claimeval.evaluation.manifest import RUN_FORMAT, Manifest, file_digest
from claimeval.evaluation.summary import SummaryBuilder
from claimeval.execution import DONE, RunStatus
from claimeval.providers.prices import Price
from claimeval.providers.windows import counts_of_cut
from claimeval.runs.directory import (
    MANIFEST,
    OUTCOME,
    PARTS,
    RESULTS,
    RESULTS_COMPRESSED,
    SUMMARY,
    ResultFiles,
    RunResults,
    RunWriter,
    check_free,
    draft,
    explained,
    load_manifest,
    load_summary,
    write_text,
)
from claimeval.runs.jobs import RunSink
from claimeval.runs.lines import Lines, compress
from claimeval.types.errors import UsageError, repeated_id
from claimeval.types.options import Shard
from claimeval.types.records import Record
from claimeval.types.requests import Learned

logger = logging.getLogger("claimeval")


class PartFile(Record):
    """Size and digest of a finished file of a part."""

    bytes: int
    digest: str
    """SHA-256 of its bytes."""

    @classmethod
    def of(cls, path: Path) -> PartFile:
        """Return size and digest of a file."""
        return cls(bytes=path.stat().st_size, digest=file_digest(path))


class PartIndex(Record):
    """Index of a finished part: its settings, samples and files, and the prices of its judges."""

    format: int = RUN_FORMAT
    claimeval: str
    """The version of claimeval that wrote it."""
    settings: str
    """Digest of the settings of the run, including its data."""
    shard: str
    """Number of the shard and number of shards, as in `3/16`."""
    first: int
    """Position of its first item in the run, from 0."""
    items: int
    """Number of items."""
    samples: int
    """Number of results."""
    has_calls: bool
    """Whether a judge was asked."""
    results: PartFile
    replies: PartFile
    learned: dict[str, Learned] = Field(default_factory=dict)
    """Lessons about the judges' servers, by judge."""
    windows: dict[str, int] = Field(default_factory=dict)
    """The learned context windows that were known before its first request, by judge."""
    prices: dict[str, Price | None]
    """The prices that were paid, by judge."""


@dataclass(frozen=True, slots=True)
class Part:
    """The files of a part in a run directory."""

    folder: Path
    """The run directory."""
    shard: Shard

    @property
    def name(self) -> str:
        """The beginning of its file names."""
        return f"{self.shard.number:05}-of-{self.shard.count:05}"

    @property
    def lines(self) -> Path:
        """The file of its results."""
        return self.folder / PARTS / f"{self.name}.jsonl"

    @property
    def replies(self) -> Path:
        """The compressed file of its requests and replies."""
        return self.folder / PARTS / f"{self.name}.replies.jsonl.gz"

    @property
    def index_file(self) -> Path:
        """The file of its index."""
        return self.folder / PARTS / f"{self.name}.json"

    @property
    def attempts_file(self) -> Path:
        """The file of the items in work, while the shard runs."""
        return self.folder / PARTS / f"{self.name}.attempts"

    @property
    def siblings(self) -> int:
        """Number of finished parts of the run."""
        return len(parts_in(self.folder))

    def finished(self, manifest: Manifest) -> PartIndex | None:
        """Return the index if the part is finished and undamaged; None if the shard must run.

        Raises UsageError for a part of another version or with other settings.
        """
        try:
            index = self.index()
        except UsageError:
            return None
        self.check(index, manifest)
        try:
            for path, file in ((self.lines, index.results), (self.replies, index.replies)):
                for _ in _checked(self, path, file):
                    pass
        except UsageError:
            return None
        return index

    def index(self) -> PartIndex:
        """Read the index of the finished part. Raises UsageError if it cannot be read."""
        try:
            return PartIndex.model_validate(json.loads(self.index_file.read_bytes()))
        except (OSError, ValueError, ValidationError) as error:
            raise UsageError(
                f"{self.index_file} cannot be read: {_first_line(error)}; {self.again}"
            ) from error

    @property
    def settings(self) -> str | None:
        """The digest of its settings; None if its index cannot be read."""
        try:
            return self.index().settings
        except UsageError:
            return None

    def check(self, index: PartIndex, manifest: Manifest) -> None:
        """Raise UsageError for a part of another version or with other settings."""
        if index.claimeval != manifest.claimeval:
            raise UsageError(
                f"{self.index_file} is of claimeval {index.claimeval}, and this is"
                f" {manifest.claimeval}; remove it and {self.again}"
            )
        if index.settings != manifest.settings_digest:
            raise UsageError(
                f"{self.index_file} is of other settings or data than the run; remove it and"
                f" {self.again}"
            )

    @property
    def again(self) -> str:
        """Advice for a damaged part."""
        return f"run shard {self.shard} again"

    def remove(self) -> None:
        """Remove its files, the index first."""
        for path in (self.index_file, self.lines, self.replies):
            path.unlink(missing_ok=True)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


class PartWriter(ResultFiles):
    """Writes a part line by line; `finish` renames the files to their final names.

    The part is locked until `finish` or the end of a `with` block. Raises UsageError if another
    process writes it.
    """

    def __init__(self, part: Part) -> None:
        self.part = part
        replies = part.lines.with_name(f"{part.name}.replies.part")
        with explained(part.folder):
            results = part.lines.with_name(f"{part.lines.name}.part")
            super().__init__(part.folder, results, replies, f"shard {part.shard} of {part.folder}")

    def finish(
        self,
        manifest: Manifest,
        items: range,
        prices: Mapping[str, Price | None],
        status: RunStatus,
    ) -> PartIndex:
        """Rename the files to their final names and write the index.

        Args:
            manifest: The manifest of the run.
            items: The positions of its items in the run.
            prices: The prices that were paid, by judge.
            status: How the shard ended, with the lessons about the judges' servers.
        """
        packed = self.part.replies.with_name(f"{self.part.replies.name}.part")
        with explained(self.folder):
            self._sync()
            compress(self.replies, packed)
            index = PartIndex(
                claimeval=manifest.claimeval,
                settings=manifest.settings_digest,
                shard=str(self.part.shard),
                first=items.start,
                items=len(items),
                samples=self.samples,
                has_calls=self.asked,
                results=PartFile.of(self.results),
                replies=PartFile.of(packed),
                learned=dict(status.learned),
                windows=dict(status.windows),
                prices=dict(prices),
            )
            # While the files are replaced there is no index, so that a process killed in between
            # leaves a shard to run, not an index of other files.
            self.part.index_file.unlink(missing_ok=True)
            self.results.replace(self.part.lines)
            packed.replace(self.part.replies)
            write_text(self.part.index_file, json.dumps(index.model_dump(mode="json")) + "\n")
            self.replies.unlink(missing_ok=True)
        return index


def begin(
    folder: Path,
    manifest: Manifest,
    shard: Shard,
    *,
    overwrite: bool,
) -> Manifest | None:
    """Create the run directory that shards share, unless another shard has, and return its
    manifest.

    Args:
        folder: The run directory.
        manifest: The settings of this shard.
        shard: The shard that starts.
        overwrite: Whether to replace the manifest and the parts of a run with other settings.

    Returns:
        The manifest; None if the run is merged already.

    Raises:
        UsageError: The folder holds other files, or a run with other settings, another version or
            another number of shards.
    """
    if not overwrite and is_merged(folder, manifest):
        return None
    manifest = manifest.model_copy(update={"created": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"})
    if overwrite:
        _replace(folder, manifest, shard)
        return load_manifest(folder)
    before = check_free(folder, manifest)
    if before and before.claimeval != manifest.claimeval:
        raise UsageError(
            f"{folder} was begun by claimeval {before.claimeval}, and this is {manifest.claimeval};"
            " shards of a run need the same version. Give another --out, or --overwrite it"
        )
    if before and before.settings_digest != manifest.settings_digest:
        raise UsageError(
            f"{folder} holds a run with other judges; give another --out, or --overwrite it"
        )
    with explained(folder):
        (folder / PARTS).mkdir(parents=True, exist_ok=True)
        for part in parts_in(folder):
            if part.shard.count != shard.count:
                raise UsageError(
                    f"{folder} has parts of {part.shard.count} shards; cut it in as many, or"
                    " --overwrite them"
                )
        if before is None:
            _write_once(folder, manifest)
    return load_manifest(folder)


def _replace(folder: Path, manifest: Manifest, shard: Shard) -> None:
    """Write the manifest over that of another run, and remove what shards of this run cannot
    use."""
    with explained(folder):
        (folder / PARTS).mkdir(parents=True, exist_ok=True)
        for part in parts_in(folder):
            # Every shard of a run gets --overwrite: those that are finished must not be removed by
            # those that start later.
            if part.shard.count != shard.count or part.settings != manifest.settings_digest:
                part.remove()
        for name in OUTCOME:
            (folder / name).unlink(missing_ok=True)
        write_text(folder / MANIFEST, manifest.text)


def _write_once(folder: Path, manifest: Manifest) -> None:
    """Write the manifest, unless another shard has just done so."""
    written = draft(folder / PARTS / MANIFEST)
    write_text(written, manifest.text)
    try:
        # A link fails if the file exists, which a rename does not: of shards that start at once,
        # the second must not replace the manifest, with its date, of the first.
        os.link(written, folder / MANIFEST)
    except FileExistsError:
        check_free(folder, manifest)
    except OSError:
        # Not every file system has links: exFAT and some network shares refuse them.
        written.replace(folder / MANIFEST)
    finally:
        written.unlink(missing_ok=True)


def parts_in(folder: Path) -> list[Part]:
    """Return the finished parts of a run directory, in order."""
    parts = []
    for file in (folder / PARTS).glob("*-of-*.json"):
        number, _, count = file.stem.partition("-of-")
        if number.isdecimal() and count.isdecimal():
            parts.append(Part(folder, Shard(int(number), int(count))))
    return sorted(parts, key=lambda part: (part.shard.count, part.shard.number))


def is_merged(folder: Path, manifest: Manifest) -> bool:
    """Return whether a run directory holds the complete run with these settings."""
    merged = (folder / MANIFEST).exists() and (folder / SUMMARY).exists()
    if not (merged and any((folder / name).exists() for name in (RESULTS, RESULTS_COMPRESSED))):
        return False
    return (
        load_manifest(folder).settings_digest == manifest.settings_digest
        and load_summary(folder).complete
    )


def tallies_of(manifest: Manifest, part: Part, index: PartIndex) -> SummaryBuilder:
    """Sum up the results of a finished part."""
    tallies = SummaryBuilder(manifest, known=index.prices)
    for result in RunResults(part.lines, part.replies):
        tallies.add(result)
    return tallies


def learned_windows(folder: Path) -> dict[str, int]:
    """Return the context windows that finished shards of a run learned, by judge: the smallest of
    each."""
    indexes = []
    for part in parts_in(folder):
        with suppress(UsageError):  # a damaged part is run again
            indexes.append(part.index())
    return _windows(indexes)


def _windows(indexes: Iterable[PartIndex]) -> dict[str, int]:
    windows: dict[str, int] = {}
    for index in indexes:
        for judge, learned in index.learned.items():
            if window := learned.context_tokens:
                windows[judge] = min(window, windows.get(judge, window))
    return windows


def remove_outdated(folder: Path) -> list[Shard]:
    """Remove the finished parts with replies to prompts that a server may have truncated, as a
    window shows that another shard learned after they began. Return their shards.

    They run again from the reply cache, and leave these replies out.
    """
    parts = parts_in(folder)
    indexes = [part.index() for part in parts]
    windows = _windows(indexes)
    outdated = []
    for part, index in zip(parts, indexes, strict=True):
        late = {
            judge: window for judge, window in windows.items() if index.windows.get(judge) != window
        }
        if late and _has_cut(part, late):
            part.remove()
            outdated.append(part.shard)
    return outdated


def _has_cut(part: Part, windows: Mapping[str, int]) -> bool:
    """Return whether a reply of a part counted as many tokens as a server with these windows keeps
    of a longer prompt."""
    for result in RunResults(part.lines, part.replies):
        for call in result.calls:
            window = windows.get(call.judge)
            if window and not call.failed and call.prompt_tokens in counts_of_cut(window):
                return True
    return False


PIECE = 2**20
"""Bytes per read."""
LISTED = 12
"""Maximum number of missing shards that a message lists."""


def merge(folder: Path, *, compress: bool = False) -> None:
    """Merge the finished shards of a run, take the votes that need the whole run, and write the
    run.

    A merged run is left unchanged. `compress` writes `results.jsonl.gz` instead of `results.jsonl`.

    Raises:
        UsageError: Shards are missing, or a part is truncated or has other settings, data or
            versions.
        StoppedEarly: The run directory cannot be written, as on a full disk.
    """
    manifest = load_manifest(folder)
    if is_merged(folder, manifest):
        # Left by a merge that was killed at its end.
        shutil.rmtree(folder / PARTS, ignore_errors=True)
        kept = f"; {RESULTS} stays uncompressed" if compress and (folder / RESULTS).exists() else ""
        logger.info("%s is merged already%s", folder, kept)
        return
    parts = _all_parts(folder)
    indexes = _indexes(parts, manifest)
    if outdated := remove_outdated(folder):
        named = ", ".join(str(shard.number) for shard in outdated[:LISTED])
        raise UsageError(
            f"{folder}: a judge's server truncated prompts of shards {named}, as another shard"
            " learned after them. Run them again with"
            f" --shard N/{outdated[0].count}, then merge; their replies are stored"
        )
    with RunWriter(folder, manifest.with_learned(_learned(indexes)), compressed=compress) as writer:
        finished = list(zip(parts, indexes, strict=True))
        results = chain.from_iterable(
            _checked(part, part.lines, index.results) for part, index in finished
        )
        replies = chain.from_iterable(_replies(part, index) for part, index in finished)
        writer.add_lines(results, replies, asked=any(index.has_calls for index in indexes))
        sink = RunSink(writer, SummaryBuilder(manifest, known=indexes[0].prices))
        numbers: dict[str, int] = {}
        # Each shard has checked its own ids; an id that two shards have is seen here first.
        unique = kind_of(manifest).unique
        for number, result in enumerate(writer.added(), 1):
            first = numbers.setdefault(result.id, number)
            if unique and first != number:
                raise repeated_id(result.id, first, number)
            sink.count(result)
        sink.finish(DONE)
    shutil.rmtree(folder / PARTS, ignore_errors=True)


def _all_parts(folder: Path) -> list[Part]:
    """Return the finished parts of a run. Raises UsageError if shards are missing."""
    parts = parts_in(folder)
    if not parts:
        raise UsageError(
            f"{folder} has no finished shard; run the shards first, as in --out {folder} --shard"
            " 1/16"
        )
    if missing := missing_shards(parts):
        count = parts[0].shard.count
        named = ", ".join(map(str, missing[:LISTED])) + (", ..." if len(missing) > LISTED else "")
        raise UsageError(
            f"{folder} misses {len(missing)} of {count} shards: {named}. Run them with --shard"
            f" N/{count}, then merge"
        )
    return parts


def _indexes(parts: Sequence[Part], manifest: Manifest) -> list[PartIndex]:
    """Return the indexes of the parts. Raises UsageError for a part of another run, or one that
    does not begin where the part before it ends."""
    indexes: list[PartIndex] = []
    next_item = 0
    for part in parts:
        index = part.index()
        part.check(index, manifest)
        if index.first != next_item:
            raise UsageError(
                f"{part.index_file} is about other samples than its number says; remove it and"
                f" {part.again}"
            )
        next_item = index.first + index.items
        indexes.append(index)
    return indexes


def missing_shards(parts: Sequence[Part]) -> list[int]:
    """Return the numbers of the shards without a part. Raises UsageError for parts of different
    numbers of shards."""
    counts = sorted({part.shard.count for part in parts})
    if len(counts) > 1:
        raise UsageError(
            f"{parts[0].folder / PARTS} has parts of {counts[0]} and of {counts[1]} shards; remove"
            " those of one"
        )
    present = {part.shard.number for part in parts}
    return [
        number for number in range(1, (counts[0] if counts else 0) + 1) if number not in present
    ]


def _learned(indexes: Iterable[PartIndex]) -> dict[str, Learned]:
    """Return the lessons about each judge's server, from the last shard that has some."""
    lessons: dict[str, Learned] = {}
    for index in indexes:
        lessons |= {
            judge: learned for judge, learned in index.learned.items() if learned != Learned()
        }
    return lessons


def _replies(part: Part, index: PartIndex) -> Iterator[bytes]:
    """Yield the lines of the replies of a part."""
    # Read twice, because its digest is known at its end only: lines of a damaged file must not be
    # merged before.
    for _ in _checked(part, part.replies, index.replies):
        pass
    yield from Lines(part.replies)


def _checked(part: Part, path: Path, expected: PartFile) -> Iterator[bytes]:
    """Yield the bytes of a file in pieces. Raises UsageError at its end if size or digest
    differ."""
    digest = hashlib.sha256()
    size = 0
    try:
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                digest.update(piece)
                size += len(piece)
                yield piece
    except FileNotFoundError as error:
        raise UsageError(f"{path} is missing; {part.again}") from error
    if size != expected.bytes:
        raise UsageError(
            f"{path} has {size:,} bytes and had {expected.bytes:,} when it was finished;"
            f" {part.again}"
        )
    if digest.hexdigest() != expected.digest:
        raise UsageError(f"{path} was changed after it was finished; {part.again}")
