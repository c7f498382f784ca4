"""The durable store of replies: bytes by key, on diskcache, with locks on keys.

By default, diskcache unpickles values, reads and deletes files that its rows name, evicts silently,
and does not notice truncated values. Here keys are hex digests, values are bytes inside the SQLite
file after the SHA-256 of key and value, eviction is off, only the owner can read the folder (0700),
and rows or settings that this module did not write are refused.

A value is a line with the reply's origin, then the body as received. It is written as soon as it is
received, in WAL mode, so it survives the death of the process at any time. Runs call `Store.sync`
about once a second to flush the log to disk, in case of a power cut.

The folder must be on a local disk, because SQLite's log and locks do not work over a network. Keys
are locked across threads and processes by byte locks on one file, which the system releases when a
process dies. Such locks belong to the whole process, and closing the file anywhere in the process
releases all of them. So its threads share one open file.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import sqlite3
import stat
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from pydantic_core import from_json

from claimeval.store.locked import LockedError, is_locked, wait_until_free
from claimeval.types.chat_format import read_chat
from claimeval.types.errors import StoreError, UsageError
from claimeval.types.paths import expanded
from claimeval.types.requests import Completion, Request

if TYPE_CHECKING:
    import diskcache

MOUNTS = Path("/proc/self/mounts")
ALLOWED = "CLAIMEVAL_NETWORK_CACHE"
"""The environment variable that allows a reply cache on a network file system."""
NETWORKED = frozenset(
    {
        "afs",
        "beegfs",
        "ceph",
        "cephfs",
        "cifs",
        "davfs",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "orangefs",
        "panfs",
        "pvfs2",
        "smb2",
        "smb3",
        "smbfs",
        "wekafs",
        "blobfuse",
        "blobfuse2",
        "gcsfuse",
        "goofys",
        "juicefs",
        "mount-s3",
        "mountpoint-s3",
        "rclone",
        "s3fs",
        "s3ql",
        "sshfs",
    }
)
"""Types of file systems that several machines can mount; FUSE types without `fuse.`."""


class Mount(NamedTuple):
    """A mounted file system."""

    point: Path
    type: str


def network_mount(folder: Path) -> Mount | None:
    """Return the network file system of an existing or future folder; None for a local disk.

    Also None if the system has no list of mounts.
    """
    try:
        listed = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    mount: Mount | None = None
    location = folder.absolute().resolve()
    for line in listed.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        # The list of mounts writes a blank as \040, as in `/mnt/team\040share`.
        point = Path(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields[1]))
        if location.is_relative_to(point) and (mount is None or point.is_relative_to(mount.point)):
            mount = Mount(
                point, fields[2].removeprefix("fuse.")
            )  # a later mount on the same point hides an earlier one
    return mount if mount and mount.type in NETWORKED else None


def check_place(folder: Path) -> None:
    """Raise UsageError for a folder on a network file system, unless the environment allows it."""
    if os.environ.get(ALLOWED) or (mount := network_mount(folder)) is None:
        return
    raise UsageError(
        f"the reply cache {folder} is on a network file system ({mount.type} at {mount.point}),"
        " where replies can be lost and paid for twice. Give a folder on this machine's disk with"
        " --cache; each machine needs its own (docs/reference/scale.md). If this machine alone"
        f" uses the folder, {ALLOWED}=1 allows it"
    )


LARGE = 8_000_000_000
"""Size of the database in bytes above which opening it warns."""
FORMAT = "claimeval-replies-2"
MARKER = "claimeval-store"
_KEY = re.compile(r"[0-9a-f]{64}")
_DIGEST = 32
_RAW = 1
_SETTINGS: dict[str, Any] = {
    # diskcache's default deletes the least recently stored replies beyond 1 GB.
    "eviction_policy": "none",
    "cull_limit": 0,
    "size_limit": 2**60,
    "disk_min_file_size": 2**60,
    "sqlite_journal_mode": "wal",
    "sqlite_synchronous": 1,
    "sqlite_auto_vacuum": 0,
    "sqlite_cache_size": 2**11,
    "sqlite_mmap_size": 0,
    "statistics": 0,
    "tag_index": 0,
}


_DELETED_AT_ONCE = 1_000
"""Rows in one transaction, so that runs in other processes wait for a moment only."""

NAME_ONE = "name a folder that can be written with --cache or CLAIMEVAL_CACHE"
_NOT_WRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR)


def named_cache(cache: str | Path | None) -> bool:
    """Return whether the folder of the reply cache is named, and not the usual one."""
    return bool(cache or os.environ.get("CLAIMEVAL_CACHE"))


def cache_folder(cache: str | Path | None = None) -> Path:
    """Return `cache`, else `$CLAIMEVAL_CACHE`, else `claimeval` in `$XDG_CACHE_HOME`, else
    `~/.cache/claimeval`."""
    if folder := cache or os.environ.get("CLAIMEVAL_CACHE"):
        return expanded(folder)
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared) / "claimeval"
    try:
        return Path.home() / ".cache" / "claimeval"
    except RuntimeError as error:  # a user of a container without a home
        raise UsageError(
            f"this user has no home directory for the reply cache; {NAME_ONE}"
        ) from error


def existing_cache(cache: str | Path | None = None) -> Path:
    """Return the same folder as `cache_folder`. Raises UsageError if it has no reply cache yet."""
    folder = cache_folder(cache)
    if not (folder / MARKER).exists():
        raise UsageError(
            f"there is no reply cache in {folder}; a run creates one. Give another folder with"
            " --cache"
        )
    return folder


def replace_database(folder: Path, replies: Iterable[StoredReply], aside: Path) -> int:
    """Make a new database of replies in the folder of a reply cache, and move the files of the old
    one to `aside`. Return the number of replies."""
    fresh = folder / f"repair-{os.getpid()}"
    count = 0
    with Store(fresh) as store:
        for reply in replies:
            store.put(reply.key, reply.value)
            count += 1
    with _explained(folder):
        aside.mkdir(mode=0o700)
        for file in sorted(folder.glob("cache.db*")):
            # The old database goes aside with its write-ahead log: without the log, its last
            # replies are lost.
            file.replace(aside / file.name)
        for file in sorted(fresh.glob("cache.db*")):
            file.replace(folder / file.name)
        _mark(folder, ready=True)
        for file in fresh.iterdir():
            file.unlink()
        fresh.rmdir()
    return count


def check_cache(cache: str | Path | None) -> None:
    """Raise UsageError or StoreError if the folder of the reply cache cannot be one."""
    folder = cache_folder(cache)
    check_place(folder)
    with _explained(folder):
        _prepare(folder)


class StoredReply(NamedTuple):
    """One reply and its key."""

    key: str
    value: bytes


class StoredRow(NamedTuple):
    """A row of the database."""

    number: int
    key: str
    value: bytes | None
    """None if the row is damaged or claimeval did not write it."""


class Store:
    """Replies by key. Several processes may open the same folder.

    Raises StoreError if the folder is not a reply cache of this format, belongs to another user, is
    damaged, or cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        check_place(folder)
        with _explained(folder):
            ready = _prepare(folder)
            self._cache = _open(folder, ready)
            # diskcache needs a timeout to open a file. From here on `put` waits itself, since a
            # wait of SQLite stops the event loop.
            self._cache._sql("PRAGMA busy_timeout = 0")
            if not ready:
                _mark(folder, ready=True)
            self._reading = _plain(folder / "cache.db", "ro")
            self._cursor = self._reading.cursor()
        self._wal = folder / "cache.db-wal"
        self._broken: StoreError | None = None
        self._warned = False
        self._warn_if_large()

    def _warn_if_large(self) -> None:
        if not self._warned and (size := (self.folder / "cache.db").stat().st_size) > LARGE:
            self._warned = True
            warnings.warn(
                f"the reply cache {self.folder} is one file of {size / 1e9:.1f} GB, which takes"
                " long to copy and to verify. Give large jobs a separate cache with --cache",
                stacklevel=3,
            )

    def get(self, key: str) -> bytes | None:
        """Return the reply under a key; None if there is none. Raises StoreError if it is
        damaged."""
        if not _KEY.fullmatch(key):
            raise StoreError(f"{key[:80]!r} is not a key of the reply cache")
        try:
            columns = self._cursor.execute(_BY_KEY, (key,)).fetchone()
            if columns is None and self._end_read():
                columns = self._cursor.execute(_BY_KEY, (key,)).fetchone()
            # From the first hit on, as a run that is resumed begins with thousands of them.
            elif columns is not None and not self._reading.in_transaction:
                self._cursor.execute("BEGIN")
        except sqlite3.Error as error:
            raise _cannot_be_used(self.folder, error) from error
        return None if columns is None else _checked(self.folder, key, *columns)

    def _end_read(self) -> bool:
        """End the transaction in which stored replies are read; return False if there is none.

        Reading in a transaction takes half the time. It sees the database as it was at its start:
        the replies are still valid, and a missing one is looked up again.
        """
        if not self._reading.in_transaction:
            return False
        self._reading.commit()
        return True

    def put(self, key: str, value: bytes) -> None:
        """Store a reply, which then survives the death of this process. Replaces an older reply."""
        wait_until_free(partial(self.put_at_once, key, value))

    def put_at_once(self, key: str, value: bytes) -> None:
        """Store a reply as `put` does. Raises LockedError while another process writes."""
        if self._broken:
            raise self._broken
        self._end_read()
        with _explained(self.folder):
            self._cache.set(key, digest(key, value) + value, retry=False)

    def sync(self) -> None:
        """Flush stored replies to disk, so that they survive a power cut. If this fails, the next
        `put` raises."""
        try:
            with _explained(self.folder), contextlib.suppress(FileNotFoundError):
                self._warn_if_large()
                descriptor = os.open(self._wal, os.O_RDONLY)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
        except StoreError as error:
            self._broken = error

    def __iter__(self) -> Iterator[StoredReply]:
        """Yield all replies, oldest first."""
        for row in self.rows():
            if row.value is None:
                raise _damaged(self.folder, row.key)
            yield StoredReply(row.key, row.value)

    def rows(self, *, newest_first: bool = False) -> Iterator[StoredRow]:
        """Yield every row, also damaged ones, oldest first. Plain SQLite reads them, so that
        nothing is unpickled."""
        side, order, last = ("<", "DESC", 2**62) if newest_first else (">", "ASC", -(2**62))
        page_after = f"{_ROW} WHERE rowid {side} ? ORDER BY rowid {order} LIMIT 256"
        with (
            _explained(self.folder),
            contextlib.closing(_plain(self.folder / "cache.db", "ro")) as database,
        ):
            while page := database.execute(page_after, (last,)).fetchall():
                for columns in page:
                    if (
                        columns[0] <= last if side == ">" else columns[0] >= last
                    ):  # else it would never end
                        raise _unsound(self.folder, "its rows are out of order")
                    last = columns[0]
                    yield _row(columns)

    def check(self) -> None:
        """Raise StoreError if the database itself is damaged, for example if rows are missing."""
        with (
            _explained(self.folder),
            contextlib.closing(_plain(self.folder / "cache.db", "ro")) as database,
        ):
            # A missing page may hold rows that no checksum misses, because nobody knows that they
            # existed.
            (problem,) = database.execute("PRAGMA integrity_check(1)").fetchone()
        if problem != "ok":
            raise _unsound(self.folder, problem)

    def drop(self, numbers: Iterable[int]) -> int:
        """Remove the rows that are still damaged and return their number. Files that they name are
        not touched."""
        dropped = 0
        with (
            _explained(self.folder),
            contextlib.closing(_plain(self.folder / "cache.db", "rw")) as database,
        ):
            for number in numbers:
                database.execute("BEGIN IMMEDIATE")
                columns = database.execute(f"{_ROW} WHERE rowid = ?", (number,)).fetchone()
                # Another process may have stored the reply anew since the row was found damaged.
                if columns and _row(columns).value is None:
                    dropped += database.execute(
                        "DELETE FROM Cache WHERE rowid = ?", (number,)
                    ).rowcount
                database.execute("COMMIT")
        return dropped

    def delete(self, numbers: Sequence[int]) -> int:
        """Delete rows and return their number. Other commands can use the cache meanwhile."""
        deleted = 0
        with (
            _explained(self.folder),
            contextlib.closing(_plain(self.folder / "cache.db", "rw")) as database,
        ):
            for start in range(0, len(numbers), _DELETED_AT_ONCE):
                rows = [(number,) for number in numbers[start : start + _DELETED_AT_ONCE]]
                database.execute("BEGIN IMMEDIATE")
                removed = database.executemany("DELETE FROM Cache WHERE rowid = ?", rows)
                deleted += removed.rowcount
                database.execute("COMMIT")
        return deleted

    def shrink(self) -> str | None:
        """Give the space of deleted replies back to the disk. Return why that was not possible;
        None if it was."""
        self._end_read()
        try:
            with (
                _explained(self.folder),
                contextlib.closing(_plain(self.folder / "cache.db", "rw")) as database,
            ):
                database.execute("VACUUM")
                # the log still has the pages before, and so the deleted texts
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except StoreError as error:
            return str(error)
        return None

    def __len__(self) -> int:
        with _explained(self.folder):
            return len(self._cache)

    def close(self) -> None:
        """Flush and close the file. A closed store cannot be used again."""
        self.sync()
        self._reading.close()
        self._cache.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


_ROW = (
    "SELECT rowid, CAST(key AS BLOB), CAST(value AS BLOB), typeof(key) = 'text' AND typeof(value) ="
    " 'blob' AND raw = 1 AND mode = 1 AND filename IS NULL AND expire_time IS NULL FROM Cache"
)


def _row(columns: tuple[int, bytes | None, bytes | None, int | None]) -> StoredRow:
    number, name, value, as_written = columns
    key = (name or b"").decode("utf-8", "replace")
    return StoredRow(
        number,
        key,
        intact(key, value) if as_written and _KEY.fullmatch(key) else None,
    )


def _plain(database: Path, mode: str) -> sqlite3.Connection:
    """Open the database without diskcache."""
    return sqlite3.connect(
        f"{database.resolve().as_uri()}?mode={mode}", uri=True, timeout=60, isolation_level=None
    )


def digest(key: str, content: bytes) -> bytes:
    """Return the SHA-256 of key and content."""
    checksum = hashlib.sha256(key.encode("ascii", "replace"))
    checksum.update(content)
    return checksum.digest()


def intact(key: str, value: object) -> bytes | None:
    """Return the reply in a stored value; None if its checksum does not match."""
    if not isinstance(value, bytes):
        return None
    reply = value[_DIGEST:]
    return reply if value.startswith(digest(key, reply)) else None


_BY_KEY = (
    "SELECT value, mode, filename IS NULL AND expire_time IS NULL FROM Cache WHERE key = ? AND"
    " raw = 1"
)


def _checked(folder: Path, key: str, value: object, mode: object, as_written: int) -> bytes:
    if mode == _RAW and as_written and (reply := intact(key, value)) is not None:
        return reply
    raise _damaged(folder, key)


def _damaged(folder: Path, key: str) -> StoreError:
    return StoreError(
        f"the reply cache {folder} has a damaged reply under {key[:12]}; "
        "`claimeval cache verify --drop-damaged` removes it"
    )


def _unsound(folder: Path, problem: object) -> StoreError:
    return StoreError(
        f"the reply cache {folder} is damaged ({' '.join(str(problem).split())}); {SAVE}"
    )


def _prepare(folder: Path) -> bool:
    """Create the folder, or check its format and owner. Return whether it was in use before."""
    _make_folder(folder)
    marker = folder / MARKER
    if not marker.exists():
        others = [entry.name for entry in folder.iterdir() if not entry.name.startswith(MARKER)]
        # Two first runs may meet here: the other one may have marked the folder since.
        if others and not marker.exists():
            # Few people know the hidden files of a folder.
            known = min(others, key=lambda name: (name.startswith("."), name))
            raise StoreError(
                f"{folder} is not a claimeval reply cache (it holds {known!r}); give another folder"
            )
        _mark(folder, ready=False)
    form, *state = marker.read_text(encoding="utf-8").split("\n")
    if form != FORMAT:
        raise StoreError(
            f"the reply cache {folder} has the format {form[:40]!r}, and this version reads"
            f" {FORMAT!r}; move it away, or give another folder with --cache"
        )
    status = folder.stat()
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        raise StoreError(f"the reply cache {folder} belongs to another user; give another folder")
    if not os.access(folder, os.W_OK):
        raise StoreError(
            f"the reply cache {folder} cannot be written, which SQLite needs even for reading; copy"
            " the folder to a writable disk, and give the copy with --cache"
        )
    if stat.S_IMODE(status.st_mode) & 0o077:
        folder.chmod(0o700)
    return "ready" in state


def _make_folder(folder: Path) -> None:
    """Create and mark the folder, or leave the one that is there."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"the reply cache {folder} is a file; --cache needs a folder")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_new = not any(folder.iterdir())
        if is_new:
            _mark(folder, ready=False)
    except OSError as error:
        # Only a place that cannot be written is a mistake in --cache; others are faults of a disk.
        if error.errno not in _NOT_WRITABLE:
            raise
        raise UsageError(
            f"the reply cache {folder} cannot be written: {error.strerror}; {NAME_ONE}"
        ) from error


def _mark(folder: Path, *, ready: bool) -> None:
    fresh = folder / f"{MARKER}.{os.getpid()}.{threading.get_ident()}"
    fresh.write_text(f"{FORMAT}\nready\n" if ready else f"{FORMAT}\n", encoding="utf-8")
    fresh.replace(folder / MARKER)


def _open(folder: Path, ready: bool) -> diskcache.Cache:
    import diskcache

    class BytesDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache has no types
        """Accepts only hex digests as keys and bytes inside the database as values; never uses
        pickle or files."""

        def put(self, key: object) -> tuple[object, bool]:
            """Check a key, which is stored as text."""
            if not isinstance(key, str) or not _KEY.fullmatch(key):
                raise StoreError(f"{str(key)[:80]!r} is not a key of the reply cache")
            return key, True

        def get(self, key: object, raw: object) -> object:
            """Return the key of a row."""
            return self.put(key)[0]

        def store(
            self, value: object, read: bool, key: object = None
        ) -> tuple[int, int, None, memoryview]:
            """Store bytes inside the database."""
            if read or not isinstance(value, bytes):
                raise StoreError("the reply cache keeps bytes only")
            return 0, _RAW, None, memoryview(value)

        def fetch(self, mode: object, filename: object, value: object, read: bool) -> object:
            """Return the bytes of a row. Raises StoreError for any other row.

            Args:
                mode: diskcache's number for the format of the value.
                filename: A file that contains the value; refused.
                value: The value in the row.
                read: Whether to return an open file; refused.
            """
            if mode != _RAW or filename is not None or read or not isinstance(value, bytes):
                raise StoreError(
                    f"the reply cache {folder} has a row that claimeval did not write; move the"
                    " folder away"
                )
            return value

        def remove(self, file_path: object) -> None:
            """Refuse to remove a file that a row names."""
            raise StoreError(
                f"the reply cache {folder} has a row that names a file; move the folder away"
            )

    database = folder / "cache.db"
    if ready and not (database.exists() and database.stat().st_size):
        raise StoreError(
            f"the reply cache {folder} has no database; restore it or remove the folder to start"
            " again"
        )
    if database.exists():
        _check_settings(folder, database)
    old = os.umask(0o077)
    try:
        return diskcache.Cache(str(folder), timeout=60, disk=BytesDisk, **_SETTINGS)
    finally:
        os.umask(old)


def _check_settings(folder: Path, database: Path) -> None:
    """Raise StoreError for settings that would make diskcache evict replies or read files."""
    with contextlib.closing(_plain(database, "ro")) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'Settings'").fetchone():
            return  # another process is creating it
        settings = dict(connection.execute("SELECT key, value FROM Settings"))
    counters = {"count", "size", "hits", "misses"}
    for name, value in settings.items():
        if not isinstance(name, str):
            raise _unsound(folder, f"a setting is named {name!r}")
        # These change speed or are set at each opening; none makes diskcache delete or read a file.
        if name in counters or name.startswith(("sqlite_", "disk_pickle")):
            continue
        if name not in _SETTINGS or value != _SETTINGS[name]:
            raise StoreError(
                f"the reply cache {folder} was opened by another program with the setting"
                f" {name}={str(value)[:40]!r}, which could delete replies. Move the folder away and"
                " import its replies"
            )


@contextlib.contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Translate errors of SQLite and the system into messages that name the folder."""
    import diskcache

    try:
        yield
    except diskcache.Timeout as error:
        # diskcache says "timeout" for whatever SQLite says when a transaction begins.
        if is_locked(error.__context__):
            raise LockedError(
                f"the reply cache {folder} is locked by another process for over a minute"
            ) from error
        problem = _with_advice(str(error.__context__ or ""))
        raise StoreError(f"the reply cache {folder} cannot be written: {problem}") from error
    except UnicodeDecodeError as error:  # in SQLite's message about a damaged database
        raise _unsound(folder, error.object[:80]) from error
    except (sqlite3.Error, OSError) as error:
        raise _cannot_be_used(folder, error) from error


SAVE = "`claimeval cache repair` saves what can be read"
_DAMAGED = ("malformed", "not a database", "unsupported file format")


def _cannot_be_used(folder: Path, error: sqlite3.Error | OSError) -> StoreError:
    problem = (isinstance(error, OSError) and error.strerror) or error
    return StoreError(f"the reply cache {folder} cannot be used: {_with_advice(str(problem))}")


def _with_advice(problem: str) -> str:
    """Return the message of SQLite or the system, with advice if the disk is full or the file is
    damaged."""
    if any(words in problem for words in _DAMAGED):
        return f"{problem}; {SAVE}"
    return (
        f"{problem}; free space on its disk"
        # SQLite says that the disk is full, the system that no space is left or a quota is
        # exceeded.
        if re.search("is full|No space|quota", problem)
        else problem
    )


LOCK_FILE = "locks"
"""File name in the directory of the reply cache."""

_Identity = tuple[int, int, int]
_open_files: dict[_Identity, _File] = {}
_guard = threading.Lock()


class _File:
    """The open lock file of this process."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.locked: set[int] = set()
        self.users = 0


def _identity(status: os.stat_result) -> _Identity:
    # A child of a fork has the descriptor and not the locks, which stay with the parent.
    return os.getpid(), status.st_dev, status.st_ino


class KeyLocks:
    """Locks of one run. Raises StoreError if the file system does not support locks."""

    def __init__(self, file: Path) -> None:
        with _guard:
            file.touch(mode=0o600)
            self._identity = _identity(file.stat())
            if self._identity not in _open_files:
                _open_files[self._identity] = _File(os.open(file, os.O_RDWR))
            self._file = _open_files[self._identity]
            self._file.users += 1

    def acquire(self, key: str) -> bool:
        """Acquire the lock of a key. Return False if another run has it."""
        import fcntl

        byte = int(key[:10], 16)
        with _guard:
            if byte in self._file.locked:
                return False
            try:
                fcntl.lockf(self._file.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
            # A lock that is held is EAGAIN on Linux and EACCES on other systems.
            except (BlockingIOError, PermissionError):
                return False
            except OSError as error:
                raise StoreError(
                    f"The file system of the reply cache has no locks: {error.strerror}. Use"
                    " another directory"
                ) from error
            self._file.locked.add(byte)
            return True

    def release(self, key: str) -> None:
        """Release the lock of a key."""
        import fcntl

        byte = int(key[:10], 16)
        with _guard:
            self._file.locked.discard(byte)
            fcntl.lockf(self._file.descriptor, fcntl.LOCK_UN, 1, byte)

    def close(self) -> None:
        """Close the locks. The last user in the process closes the file."""
        with _guard:
            self._file.users -= 1
            if not self._file.users:
                os.close(_open_files.pop(self._identity).descriptor)


class ReplyOrigin(NamedTuple):
    """The origin of a stored reply, for statistics only."""

    model: str
    endpoint: str | None
    prompt: str
    """Digest of the prompt."""
    at: float
    """Seconds since 1970."""
    latency: float | None


def pack(request: Request, completion: Completion) -> bytes:
    """Return the value to store for a new reply."""
    origin = ReplyOrigin(
        request.judge.model,
        request.judge.endpoint,
        request.prompt,
        time.time(),
        completion.latency,
    )
    return join(origin, completion.body)


def join(origin: ReplyOrigin, body: bytes) -> bytes:
    """Return the value to store for a reply with a known origin."""
    return json.dumps(origin._asdict(), separators=(",", ":")).encode() + b"\n" + body


def unpack(value: bytes) -> tuple[ReplyOrigin, bytes]:
    """Split a stored value into origin and body."""
    line, _, body = value.partition(b"\n")
    return ReplyOrigin(**json.loads(line)), body


def completion(value: bytes) -> Completion:
    """Return the completion in a stored value, marked as cached, with the latency of the original
    call."""
    line, _, body = value.partition(b"\n")
    return read_chat(body, latency=from_json(line)["latency"], cached=True)
