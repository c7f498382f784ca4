"""The files of both providers, stored in a folder with a record next to each content."""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from benchmarks.loopback.dialects import Name

Kind = Literal["request", "result", "error"]
KEPT_FOR = 30 * 24 * 3600
"""Seconds after which OpenAI deletes batch files."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The record of a file."""

    id: str
    dialect: Name
    name: str
    kind: Kind
    size: int
    lines: int
    created: float
    """Unix time."""

    def told(self) -> dict[str, Any]:
        """Return the record in its provider's format."""
        shared: dict[str, Any] = {
            "id": self.id,
            "object": "file",
            "bytes": self.size,
            "created_at": int(self.created),
            "filename": self.name,
            "purpose": "batch",
        }
        if self.dialect == "mistral":
            source = "upload" if self.kind == "request" else "mistral"
            sample_type = f"batch_{self.kind}"
            more = {"num_lines": self.lines, "mimetype": None, "signature": None, "deleted": False}
            return {**shared, "sample_type": sample_type, "source": source, **more}
        shared["purpose"] = "batch" if self.kind == "request" else "batch_output"
        return {
            **shared,
            "status": "processed",
            "status_details": None,
            "expires_at": int(self.created) + KEPT_FOR,
        }


class Files:
    """The files in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def new_id(self, dialect: Name) -> str:
        return str(uuid.uuid4()) if dialect == "mistral" else f"file-{uuid.uuid4().hex}"

    def add(self, dialect: Name, name: str, content: bytes | memoryview, now: float) -> Stored:
        """Store an uploaded file."""
        id = self.new_id(dialect)
        self._folder.mkdir(parents=True, exist_ok=True)
        self.path(id).write_bytes(content)
        return self.adopt(id, dialect, name, "request", now)

    def adopt(self, id: str, dialect: Name, name: str, kind: Kind, now: float) -> Stored:
        """Make a file from the content that is already at ``path(id)``."""
        path = self.path(id)
        with path.open("rb") as lines:
            count = sum(1 for line in lines if line.strip())
        stored = Stored(id, dialect, name, kind, path.stat().st_size, count, now)
        replace(self._record(id), json.dumps(asdict(stored)).encode())
        return stored

    def get(self, id: str) -> Stored | None:
        try:
            return Stored(**json.loads(self._record(id).read_bytes()))
        except FileNotFoundError:
            return None

    def path(self, id: str) -> Path:
        """Return the path of the content. Ids of both providers have no path separators."""
        return self._folder / f"{Path(id).name}.jsonl"

    def all(self, dialect: Name) -> list[Stored]:
        """Return all files of one provider, newest first."""
        files = (Stored(**json.loads(path.read_bytes())) for path in self._folder.glob("*.json"))
        return sorted(
            (f for f in files if f.dialect == dialect),
            key=lambda f: (f.created, f.id),
            reverse=True,
        )

    def delete(self, id: str) -> None:
        self._record(id).unlink(missing_ok=True)
        self.path(id).unlink(missing_ok=True)

    def _record(self, id: str) -> Path:
        return self._folder / f"{Path(id).name}.json"


def replace(path: Path, content: bytes) -> None:
    """Write a file atomically, so that a killed server leaves the old or the new content."""
    partial = path.with_suffix(".partial")
    partial.write_bytes(content)
    partial.replace(path)
