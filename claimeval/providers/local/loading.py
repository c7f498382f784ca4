"""Load a local model: locate its files, choose device and precision, and load the weights."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from claimeval.providers.local.tokens import Tokenizing
from claimeval.types.errors import UsageError, not_installed, unknown_name

if TYPE_CHECKING:
    import torch

DTYPES = ("float32", "bfloat16")
"""float16 is left out: the sums of T5 models overflow in it."""


class DeviceSettings(NamedTuple):
    """A device and a precision; as text: `cpu (2 threads), float32`."""

    device: str
    """`cpu`, `cuda`, `cuda:1`, `mps`."""
    dtype: str

    def __str__(self) -> str:
        import torch

        cuda = self.device.startswith("cuda")
        about = f" ({torch.get_num_threads()} threads)" if self.device == "cpu" else ""
        return (
            f"{self.device}{f' ({torch.cuda.get_device_name(self.device)})' if cuda else about},"
            f" {self.dtype}"
        )

    @property
    def torch_dtype(self) -> torch.dtype:
        """Return the precision as torch names it."""
        import torch

        return torch.bfloat16 if self.dtype == "bfloat16" else torch.float32

    @property
    def batch_tokens(self) -> int:
        """Return the tokens in one batch, with padding: enough for the device to be busy, and few
        for its memory."""
        import torch

        if self.device == "cpu":
            return 768 * torch.get_num_threads()
        return 32_768 if self.device.startswith("cuda") else 8_192


def require(package: str) -> ModuleType:
    """Import a package. Raises UsageError with the command to install it if it is absent."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise not_installed(f"models on this machine need {package}", "local") from error


def choose(device: str = "auto", dtype: str = "float32") -> DeviceSettings:
    """Choose the device and precision. `auto` is $CLAIMEVAL_DEVICE, else cuda, else mps, else cpu.

    Reduced precision is never the default: it changes scores. Raises UsageError for a device that
    is not available.
    """
    torch: Any = require("torch")
    if dtype not in DTYPES:
        raise unknown_name("precision", dtype, DTYPES)
    devices = ["cpu"]
    if torch.cuda.is_available():
        devices += ["cuda", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
    if torch.backends.mps.is_available():
        devices.append("mps")
    if device == "auto":
        device = os.environ.get("CLAIMEVAL_DEVICE") or next(
            d for d in ("cuda", "mps", "cpu") if d in devices
        )
    if device not in devices:
        raise UsageError(f"no device {device!r} here. Found: {', '.join(devices)}")
    return DeviceSettings(device, dtype)


_TEXTS = ("*.json", "*.txt", "*.model")
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
"""In order of preference; the second form is read without unpickling objects."""


class ModelFiles(NamedTuple):
    """A model on disk."""

    name: str
    """The name as the user wrote it."""
    folder: Path
    revision: str
    """Version of the files: `NAME@COMMIT` from the hub, `sha256:...` of the contents for a
    folder."""


def locate(name: str, revision: str | None = None) -> ModelFiles:
    """Locate the model's files: in a folder, else in the hub's cache, else on the hub if the
    network may be used.

    HF_HOME, HF_HUB_CACHE and HF_HUB_OFFLINE are respected. Raises UsageError with the searched
    locations, and how to download the model.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        if revision:
            raise UsageError(
                f"{name!r} is a folder; a revision ({revision!r}) needs a name on the hub"
            )
        if not (folder / "config.json").is_file() or not _has(folder, _WEIGHTS):
            raise UsageError(
                f"the folder {name!r} has no model: config.json and model.safetensors must be in it"
            )
        found = chain.from_iterable(folder.glob(pattern) for pattern in (*_TEXTS, *_WEIGHTS))
        files = sorted(found)
        # Weights of gigabytes are hashed once, and again only if size or time of a file changed.
        states = tuple((path, path.stat().st_size, path.stat().st_mtime_ns) for path in files)
        return ModelFiles(name, folder, f"sha256:{_digest(states)}")
    if name.startswith(("/", ".", "~")) or name.count("/") > 1:
        raise UsageError(
            f"no folder {name!r}; give the folder of a model, or its name on the hub"
            " (`google/flan-t5-small`)"
        )
    snapshot = _on_hub(name, revision)
    return ModelFiles(name, snapshot, f"{name}@{snapshot.name}")


def _on_hub(name: str, revision: str | None) -> Path:
    require("huggingface_hub")
    from huggingface_hub import constants, snapshot_download

    # The cache first: the hub would be asked for the newest commit of a model that is there.
    for offline in (True,) if constants.HF_HUB_OFFLINE else (True, False):
        problem = "its weights are not there"
        try:
            for weights in _WEIGHTS:
                patterns: dict[str, Any] = {
                    "allow_patterns": [*_TEXTS, weights],
                    "ignore_patterns": ["*/*"],
                }
                folder = Path(
                    snapshot_download(name, revision=revision, local_files_only=offline, **patterns)
                )
                if _has(folder, _WEIGHTS):
                    return folder
        except (OSError, ValueError) as error:
            problem = "offline mode is on (HF_HUB_OFFLINE)" if offline else first_line(error)
    raise UsageError(
        f"model {name!r} is neither a folder nor in {constants.HF_HUB_CACHE}, and cannot be"
        f" fetched: {problem}. With a network: `hf download {name}`, then set HF_HOME to that"
        " cache, or give the folder"
    )


def _has(folder: Path, patterns: tuple[str, ...]) -> bool:
    return any(next(folder.glob(pattern), None) for pattern in patterns)


@lru_cache(maxsize=16)
def _digest(states: tuple[tuple[Path, int, int], ...]) -> str:
    """Return the SHA-256 over the names and contents of files that are known by path, size and
    time."""
    total = hashlib.sha256()
    for path, _, _ in states:
        with path.open("rb") as file:
            total.update(
                f"{path.name}\n{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode()
            )
    return total.hexdigest()


Kind = Literal["seq2seq", "classifier"]
_LOCAL_ONLY: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
"""Nothing is downloaded, and no code of a model is run."""
_TOKENIZERS = ("tokenizer.json", "*.model", "vocab.txt", "vocab.json")
"""Without one of these files, transformers creates a tokenizer without a vocabulary."""
DEFAULT_WINDOW = 512
"""Tokens, if neither the model nor its tokenizer has a limit."""


class Loaded(NamedTuple):
    """A model in memory."""

    files: ModelFiles
    model: Any
    """A model of transformers, or for a classifier a CrossEncoder of sentence-transformers."""
    config: Any
    tokens: Tokenizing
    window: int
    """Maximum tokens of one input."""


def config_of(files: ModelFiles) -> Any:
    """Read the model's configuration, without its weights."""
    transformers = require("transformers")
    try:
        return transformers.AutoConfig.from_pretrained(files.folder, **_LOCAL_ONLY)
    except (OSError, ValueError) as error:
        raise UsageError(f"model {files.name!r} cannot be read: {first_line(error)}") from error


def kind_of(config: Any) -> Kind:
    """Return the kind of a model by its architecture's name, because BART and T5 can be either."""
    if any(name.endswith("ForSequenceClassification") for name in config.architectures or ()):
        return "classifier"
    return "seq2seq" if config.is_encoder_decoder else "classifier"


def load(files: ModelFiles, kind: Kind, device: str) -> Loaded:
    """Load the model onto a device in float32.

    Raises UsageError if the model is of another kind, lacks weights (which would be initialized at
    random), or has no fast tokenizer.
    """
    transformers = require("transformers")
    config = config_of(files)
    _check_tokenizer(files)
    if kind != kind_of(config):
        needed_kind = (
            "a sequence-to-sequence model" if kind == "seq2seq" else "a sequence classifier"
        )
        raise UsageError(
            f"model {files.name!r} ({config.model_type}) is not {needed_kind}, which is needed here"
        )
    maker = (
        transformers.AutoModelForSeq2SeqLM
        if kind == "seq2seq"
        else transformers.AutoModelForSequenceClassification
    )
    unsafe: type[Exception] = require(
        "torch.serialization"
    ).pickle.UnpicklingError  # weights with other objects
    with quietly():
        try:
            model, info = maker.from_pretrained(
                files.folder,
                dtype="float32",
                output_loading_info=True,
                **_LOCAL_ONLY,
            )
            if missing := sorted(info["missing_keys"]):
                raise UsageError(
                    f"model {files.name!r} has no weights for {missing[0]!r}, so it was not trained"
                    f" as a {kind}; its scores would be random"
                )
            if (
                kind == "classifier"
            ):  # loaded again, because a CrossEncoder does not say which weights are missing
                encoder = require("sentence_transformers").CrossEncoder
                model = encoder(
                    str(files.folder),
                    device=device,
                    model_kwargs={"dtype": "float32"},
                    **_LOCAL_ONLY,
                )
                tokenizer = model.tokenizer
            else:
                tokenizer = transformers.AutoTokenizer.from_pretrained(files.folder, **_LOCAL_ONLY)
        except (OSError, ValueError, ImportError, RuntimeError, unsafe) as error:
            raise UsageError(
                f"model {files.name!r} cannot be loaded: {first_line(error)}"
            ) from error
    model.eval().to(device)
    return Loaded(
        files,
        model,
        config,
        Tokenizing(tokenizer, files.name),
        _window(config, tokenizer),
    )


def _check_tokenizer(files: ModelFiles) -> None:
    if not _has(files.folder, _TOKENIZERS):
        raise UsageError(
            f"model {files.name!r} has no tokenizer: tokenizer.json must be in {files.folder}"
        )
    if not (files.folder / "tokenizer.json").is_file() and _has(files.folder, ("*.model",)):
        require("sentencepiece")
        require("google.protobuf")


def _window(config: Any, tokenizer: Any) -> int:
    """Return the limit of tokenizer and position embeddings; RoBERTa's positions begin after the
    padding's."""
    positions = getattr(config, "max_position_embeddings", None) or getattr(
        config, "n_positions", None
    )
    if positions and "roberta" in config.model_type:
        positions -= config.pad_token_id + 1
    limits = [
        limit
        for limit in (positions, tokenizer.model_max_length)
        if limit and 0 < limit < 1_000_000
    ]
    return min(limits, default=DEFAULT_WINDOW)


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Silence the progress bars and warnings of transformers; relevant problems are checked
    here."""
    logging = require("transformers.utils.logging")
    level = logging.get_verbosity()
    bars = logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def first_line(error: Exception) -> str:
    """Return the first line of an error's message."""
    return str(error).strip().partition("\n")[0]
