"""Where output goes: into pipes whose readers leave early, and onto disks that are full."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import NoReturn, TextIO

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class _Patient(io.FileIO):
    """A file that goes on when nobody reads it any more."""

    def write(self, data: object) -> int:
        view = memoryview(data)  # type: ignore[arg-type]  # whatever a buffered writer hands over has a buffer
        try:
            return super().write(view)
        except BrokenPipeError:
            return view.nbytes


def outlast_readers() -> None:
    """Lets a command finish its work, with its own exit code, when the reader of a pipe leaves, as `head` does."""
    if sys.platform != "win32":
        sys.stdout, sys.stderr = _patient(sys.stdout), _patient(sys.stderr)


def _patient(stream: TextIO) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper) or stream.isatty():
        return stream
    stream.flush()
    raw = _Patient(stream.fileno(), "wb", closefd=False)
    line_buffering = stream.line_buffering
    return io.TextIOWrapper(
        io.BufferedWriter(raw), stream.encoding, stream.errors, line_buffering=line_buffering, write_through=False
    )


def fail_for(error: OSError) -> NoReturn:
    """Ends the program with one line for a file that cannot be opened (2) or written (3).

    Other errors of the operating system are none that a user could mend, and are raised again.
    """
    if error.errno not in _FULL and error.filename is None:
        raise error
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # what could not be written is not tried again at the end
    where = f"{error.filename}: " if error.filename else "cannot write the output: "
    print(f"claimeval: {where}{error.strerror}", file=sys.stderr)
    raise SystemExit(3 if error.errno in _FULL else 2)
