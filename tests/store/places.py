"""Keys, and what another program does to the database."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path


def key(of: object) -> str:
    return hashlib.sha256(str(of).encode()).hexdigest()


def sql(folder: Path, statement: str, *values: object) -> None:
    """What another program does to the database."""
    connection = sqlite3.connect(folder / "cache.db", isolation_level=None)
    connection.execute(statement, values)
    connection.close()
