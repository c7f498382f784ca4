"""Halves of the data for choosing on one and reporting on the other."""

from __future__ import annotations

import hashlib


def in_first_half(key: str) -> bool:
    """Whether the last hexadecimal digit of the key's SHA-256 is even: stable over runs, machines and file order.

    The key is what must not be on both sides, usually the question; case and white space do not count.
    """
    normal = " ".join(key.casefold().split())
    return int(hashlib.sha256(normal.encode()).hexdigest()[-1], 16) % 2 == 0
