"""Results of local models, kept in the store of replies: what was computed once is not computed again."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable

from claimeval.providers.local.scorer import Item, Result, Scorer
from claimeval.store.store import Store
from claimeval.types.chat_format import read_chat, write_chat
from claimeval.types.records import Record

KEY_VERSION = 1
"""Part of every key; raised when the meaning of a stored result changes."""

Scored = Callable[[int], None]
"""Is told how many items were just scored, or found in the store."""


def key_of(*parts: object) -> str:
    """SHA-256 over the parts, as hex."""
    text = json.dumps([KEY_VERSION, *parts], ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def scored(
    items: Iterable[Item], scorer: Scorer[Item, Result], store: Store | None, on_scored: Scored
) -> dict[Item, Result]:
    """The result of every item. What is not in the store is computed and stored at once, batch by batch."""
    found: dict[Item, Result] = {}
    missing: dict[str, Item] = {}
    for item in dict.fromkeys(items):
        key = scorer.key(item)
        value = None if store is None else store.get(key)
        if value is None:
            missing[key] = item
        else:
            found[item] = _read(value, scorer.result)
    on_scored(len(found))
    keys, rest = list(missing), list(missing.values())
    for index, result in scorer.score(rest):
        found[rest[index]] = result
        if store is not None:
            store.put(keys[index], _pack(scorer.name, scorer.revision, scorer.prompt, result))
        on_scored(1)
    return found


def _pack(model: str, revision: str, prompt: str, result: Record) -> bytes:
    """The result as the store keeps replies: a line of origin, then the body of a chat completion."""
    origin = {"model": model, "endpoint": revision, "prompt": prompt, "at": time.time(), "latency": None}
    return json.dumps(origin, separators=(",", ":")).encode() + b"\n" + write_chat(result.model_dump_json(), revision)


def _read(value: bytes, kind: type[Result]) -> Result:
    text = read_chat(value.partition(b"\n")[2]).text
    assert text is not None, "results are stored as text"
    return kind.model_validate_json(text)
