"""Finding a model: a folder, or a name on the Hugging Face hub, whose cache is looked in first."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from claimeval.providers.local.devices import require
from claimeval.types.errors import UsageError

_TEXTS = ("*.json", "*.txt", "*.model")
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
"""In the order of preference; the second form is read without unpickling objects."""


class ModelFiles(NamedTuple):
    """A model on the disk."""

    name: str
    """As the user wrote it."""
    folder: Path
    revision: str
    """What the files are: `NAME@COMMIT` from the hub, `sha256:...` of the contents for a folder."""


def locate(name: str, revision: str | None = None) -> ModelFiles:
    """The model's files; fetches them where they are on the hub, not in its cache, and the network may be used.

    A folder of that name comes first. HF_HOME, HF_HUB_CACHE and HF_HUB_OFFLINE hold. UsageError in one line that
    says where was looked and how to fetch the model.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        if revision:
            raise UsageError(f"{name!r} is a folder; a revision ({revision!r}) goes with a name on the hub")
        if not (folder / "config.json").is_file() or not _has_weights(folder):
            raise UsageError(f"the folder {name!r} holds no model: config.json and model.safetensors must be in it")
        return ModelFiles(name, folder, f"sha256:{_digest(folder, _states(folder))}")
    if name.startswith(("/", ".", "~")) or name.count("/") > 1:
        raise UsageError(
            f"no folder {name!r}; give the folder of a model, or its name on the hub (`google/flan-t5-small`)"
        )
    found = _on_hub(name, revision)
    return ModelFiles(name, found, f"{name}@{found.name}")


def _on_hub(name: str, revision: str | None) -> Path:
    require("huggingface_hub")
    from huggingface_hub import constants

    for fetch in (False,) if constants.HF_HUB_OFFLINE else (False, True):
        try:
            folder = _snapshot(name, revision, fetch=fetch)
        except (OSError, ValueError) as error:
            problem = str(error).strip().splitlines()[0] if fetch else "offline mode is on (HF_HUB_OFFLINE)"
        else:
            if _has_weights(folder):
                return folder
            problem = "its weights are not there"
    raise UsageError(
        f"model {name!r} is neither a folder nor in {constants.HF_HUB_CACHE}, and cannot be fetched: {problem}. "
        f"Where there is a network: `hf download {name}`, then set HF_HOME to that cache, or give the folder"
    )


def _snapshot(name: str, revision: str | None, *, fetch: bool) -> Path:
    from huggingface_hub import snapshot_download

    for weights in _WEIGHTS:
        folder = Path(
            snapshot_download(
                name,
                revision=revision,
                allow_patterns=[*_TEXTS, weights],
                ignore_patterns=["*/*"],
                local_files_only=not fetch,
            )
        )
        if _has_weights(folder):
            break
    return folder


def _has_weights(folder: Path) -> bool:
    return any(next(folder.glob(pattern), None) for pattern in _WEIGHTS)


class _State(NamedTuple):
    """Of a file; where it has not changed, neither has the content."""

    name: str
    size: int
    changed: int


def _states(folder: Path) -> tuple[_State, ...]:
    files = {path for pattern in (*_TEXTS, *_WEIGHTS) for path in folder.glob(pattern)}
    return tuple(_State(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(files))


@lru_cache(maxsize=16)
def _digest(folder: Path, states: tuple[_State, ...]) -> str:
    """SHA-256 over the names and contents of all files that can change what the model says."""
    total = hashlib.sha256()
    for state in states:
        with (folder / state.name).open("rb") as file:
            total.update(f"{state.name}\n{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return total.hexdigest()
