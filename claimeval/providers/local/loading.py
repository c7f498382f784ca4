"""Load a local model: locate its files, choose device and precision, load the weights, and use faster layers."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import os
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from claimeval.providers.local.tokens import Tokenizing
from claimeval.types.errors import UsageError, unknown_name

if TYPE_CHECKING:
    import torch
    from torch import nn

DTYPES = ("float32", "bfloat16")
"""float16 is left out: the sums of T5 models overflow in it."""


class DeviceSettings(NamedTuple):
    """A device and a precision."""

    device: str
    """`cpu`, `cuda`, `cuda:1`, `mps`."""
    dtype: str

    @property
    def torch_dtype(self) -> torch.dtype:
        """Return the precision as torch names it."""
        import torch

        return torch.bfloat16 if self.dtype == "bfloat16" else torch.float32


def require(package: str) -> ModuleType:
    """Import a package. Raises UsageError with the command to install it if it is absent."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise UsageError(f"models on this machine need {package}: pip install 'claimeval[local]'") from error


def choose(device: str = "auto", dtype: str = "float32") -> DeviceSettings:
    """Choose the device and precision. `auto` is $CLAIMEVAL_DEVICE, else cuda, else mps, else cpu.

    Reduced precision is never the default: it changes scores. Raises UsageError for a device that is not available.
    """
    require("torch")
    import torch

    if dtype not in DTYPES:
        raise unknown_name("precision", dtype, DTYPES)
    devices = ["cpu"]
    if torch.cuda.is_available():
        devices += ["cuda", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
    if torch.backends.mps.is_available():
        devices.append("mps")
    if device == "auto":
        device = os.environ.get("CLAIMEVAL_DEVICE") or next(d for d in ("cuda", "mps", "cpu") if d in devices)
    if device not in devices:
        raise UsageError(f"no device {device!r} here. Found: {', '.join(devices)}")
    return DeviceSettings(device, dtype)


def describe(setting: DeviceSettings) -> str:
    """Describe device and precision: `cpu (2 threads), float32; bfloat16 is faster here, and less exact`."""
    import torch

    description = setting.device
    if description == "cpu":
        description += f" ({torch.get_num_threads()} threads)"
    elif description.startswith("cuda"):
        description += f" ({torch.cuda.get_device_name(description)})"
    hint = "; bfloat16 is faster here, and less exact" if setting.dtype == "float32" and _has_bfloat16(setting) else ""
    return f"{description}, {setting.dtype}{hint}"


def batch_tokens(setting: DeviceSettings) -> int:
    """Return the tokens in one batch, with padding: enough to keep the device busy, but few enough for its memory."""
    import torch

    if setting.device == "cpu":
        return 768 * torch.get_num_threads()
    return 32_768 if setting.device.startswith("cuda") else 8_192


def _has_bfloat16(setting: DeviceSettings) -> bool:
    import torch

    if setting.device.startswith("cuda"):
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return setting.device == "cpu" and bool(torch.cpu.get_capabilities().get("avx512_bf16"))


_TEXTS = ("*.json", "*.txt", "*.model")
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
"""In order of preference; the second form is read without unpickling objects."""


class ModelFiles(NamedTuple):
    """A model on disk."""

    name: str
    """The name as the user wrote it."""
    folder: Path
    revision: str
    """Version of the files: `NAME@COMMIT` from the hub, `sha256:...` of the contents for a folder."""


def locate(name: str, revision: str | None = None) -> ModelFiles:
    """Locate the model's files: in a folder, else in the hub's cache, else on the hub if the network may be used.

    HF_HOME, HF_HUB_CACHE and HF_HUB_OFFLINE are respected. Raises UsageError with the searched locations, and how to
    download the model.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        if revision:
            raise UsageError(f"{name!r} is a folder; a revision ({revision!r}) needs a name on the hub")
        if not (folder / "config.json").is_file() or not _has_weights(folder):
            raise UsageError(f"the folder {name!r} has no model: config.json and model.safetensors must be in it")
        return ModelFiles(name, folder, f"sha256:{_digest(folder, _states(folder))}")
    if name.startswith(("/", ".", "~")) or name.count("/") > 1:
        raise UsageError(
            f"no folder {name!r}; give the folder of a model, or its name on the hub (`google/flan-t5-small`)"
        )
    snapshot = _on_hub(name, revision)
    return ModelFiles(name, snapshot, f"{name}@{snapshot.name}")


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
        f"With a network: `hf download {name}`, then set HF_HOME to that cache, or give the folder"
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
    """Size and time of a file, which identify its content."""

    name: str
    size: int
    changed: int


def _states(folder: Path) -> tuple[_State, ...]:
    files = {path for pattern in (*_TEXTS, *_WEIGHTS) for path in folder.glob(pattern)}
    return tuple(_State(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(files))


@lru_cache(maxsize=16)
def _digest(folder: Path, states: tuple[_State, ...]) -> str:
    """Return the SHA-256 over the names and contents of all files that can affect results."""
    total = hashlib.sha256()
    for state in states:
        with (folder / state.name).open("rb") as file:
            total.update(f"{state.name}\n{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
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
    config: Any
    tokens: Tokenizing
    window: int
    """Maximum tokens of one input."""
    setting: DeviceSettings


def config_of(files: ModelFiles) -> Any:
    """Read the model's configuration, without its weights."""
    transformers = require("transformers")
    try:
        return transformers.AutoConfig.from_pretrained(files.folder, **_LOCAL_ONLY)
    except (OSError, ValueError) as error:
        raise UsageError(f"model {files.name!r} cannot be read: {_first_line(error)}") from error


def kind_of(config: Any) -> Kind:
    """Return the kind of a model by its architecture's name, because BART and T5 can be either."""
    if any(name.endswith("ForSequenceClassification") for name in config.architectures or ()):
        return "classifier"
    return "seq2seq" if config.is_encoder_decoder else "classifier"


def load(files: ModelFiles, kind: Kind, setting: DeviceSettings) -> Loaded:
    """Load the model onto its device in float32; `reduce` then changes the precision.

    Raises UsageError if the model is of another kind, lacks weights (which would be initialized at random), or has no
    fast tokenizer.
    """
    transformers = require("transformers")
    config = config_of(files)
    _check_tokenizer(files)
    if kind != kind_of(config):
        needed_kind = "a sequence-to-sequence model" if kind == "seq2seq" else "a sequence classifier"
        raise UsageError(f"model {files.name!r} ({config.model_type}) is not {needed_kind}, which is needed here")
    maker = transformers.AutoModelForSeq2SeqLM if kind == "seq2seq" else transformers.AutoModelForSequenceClassification
    unsafe: type[Exception] = require("torch.serialization").pickle.UnpicklingError  # weights with other objects
    with quietly():
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(files.folder, **_LOCAL_ONLY)
            model, info = maker.from_pretrained(files.folder, dtype="float32", output_loading_info=True, **_LOCAL_ONLY)
        except (OSError, ValueError, ImportError, RuntimeError, unsafe) as error:
            raise UsageError(f"model {files.name!r} cannot be loaded: {_first_line(error)}") from error
    if missing := sorted(info["missing_keys"]):
        raise UsageError(
            f"model {files.name!r} has no weights for {missing[0]!r}, so it was not trained as a {kind}; "
            "its scores would be random"
        )
    model.eval()
    replace_layers(model, pack=setting == DeviceSettings("cpu", "float32"))
    model.to(setting.device)
    return Loaded(files, model, config, Tokenizing(tokenizer, files.name), _window(config, tokenizer), setting)


def _check_tokenizer(files: ModelFiles) -> None:
    if not any(next(files.folder.glob(name), None) for name in _TOKENIZERS):
        raise UsageError(f"model {files.name!r} has no tokenizer: tokenizer.json must be in {files.folder}")
    if not (files.folder / "tokenizer.json").is_file() and next(files.folder.glob("*.model"), None):
        require("sentencepiece")
        require("google.protobuf")


def reduce(loaded: Loaded) -> None:
    """Convert the model to the precision of its setting, in place."""
    loaded.model.to(loaded.setting.torch_dtype)


def _window(config: Any, tokenizer: Any) -> int:
    """Return the limit of tokenizer and position embeddings; RoBERTa's positions begin after the padding's."""
    positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    if positions and "roberta" in config.model_type:
        positions -= config.pad_token_id + 1
    limits = [limit for limit in (positions, tokenizer.model_max_length) if limit and 0 < limit < 1_000_000]
    return min(limits, default=DEFAULT_WINDOW)


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Silence the progress bars and warnings of transformers; relevant problems are checked here."""
    logging = require("transformers.utils.logging")
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


_ROWS = 512
"""Number of input rows for which packed weights are optimized; other numbers work too."""


def replace_layers(model: nn.Module, *, pack: bool) -> None:
    """Replace layers of the model by faster ones, in place. `pack` arranges float32 weights for the processor.

    On processors for which MKL is slow with torch's layout, packing gains up to a factor of two; on others, it gains
    for the large output layer. Weights are copied once, and the originals are dropped.
    """
    for name, layer in list(model.named_children()):
        faster = _faster(layer, pack=pack and can_pack())
        if faster is None:
            replace_layers(layer, pack=pack)
        else:
            setattr(model, name, faster)


def _faster(layer: Any, *, pack: bool) -> nn.Module | None:
    from torch import nn

    kind = type(layer).__name__
    if pack and kind.endswith("T5DenseGatedActDense") and type(layer.act).__name__ == "NewGELUActivation":
        return _packed().gated(layer)
    if kind == "NewGELUActivation":
        return nn.GELU(approximate="tanh")
    if kind.endswith("T5LayerNorm"):
        norm = nn.RMSNorm(layer.weight.shape[0], eps=layer.variance_epsilon)
        norm.weight = layer.weight
        return norm
    if pack and type(layer) is nn.Linear:
        return _packed().linear(layer)
    return None


@functools.cache
def can_pack() -> bool:
    """Return whether torch has oneDNN's operators for packed weights, with the same results as its layers.

    They are private to torch: other releases may lack or rename them, or give other numbers.
    """
    import torch
    from torch import nn

    backend: Any = torch.backends.mkldnn
    if not backend.is_available():
        return False
    generator = torch.Generator().manual_seed(0)
    layer = nn.ModuleDict({"wi_0": nn.Linear(8, 16), "wi_1": nn.Linear(8, 16), "wo": nn.Linear(16, 8)})
    for weights in layer.parameters():
        nn.init.normal_(weights, generator=generator)
    x = torch.randn(3, 8, generator=generator)
    with torch.inference_mode():
        plain = layer["wo"](nn.functional.gelu(layer["wi_0"](x), approximate="tanh") * layer["wi_1"](x))
        try:
            return bool(torch.allclose(_packed().gated(layer)(x), plain, rtol=1e-4, atol=1e-4))
        except (AttributeError, RuntimeError, TypeError, ValueError):
            return False


class _PackedBatch(NamedTuple):
    """Layers with oneDNN's operators; their classes are created when torch is imported."""

    linear: Callable[[nn.Linear], nn.Module]
    gated: Callable[[Any], nn.Module]


@functools.cache
def _packed() -> _PackedBatch:
    import torch
    from torch import nn

    class Linear(nn.Module):
        """A linear layer whose weights have oneDNN's fastest layout."""

        def __init__(self, layer: nn.Linear) -> None:
            super().__init__()
            self.packed = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach(), _ROWS)
            self.bias = layer.bias
            self.weight = layer.weight.new_empty(0)  # models look at its dtype

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            """Apply the layer."""
            y: torch.Tensor = torch.ops.mkldnn._linear_pointwise(x, self.packed, self.bias, "none", [], "")
            return y

    class Gated(nn.Module):
        """The feed-forward layer of T5, wo(gelu(wi_0 x) * wi_1 x), with fused GELU and product."""

        def __init__(self, layer: Any) -> None:
            super().__init__()
            self.gate, self.up, self.down = (Linear(layer.get_submodule(name)) for name in ("wi_0", "wi_1", "wo"))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            """Apply the layers."""
            linear = torch.ops.mkldnn._linear_pointwise
            gate = linear(x, self.gate.packed, self.gate.bias, "gelu", [], "tanh")
            y: torch.Tensor = self.down(linear(x, gate, self.up.packed, self.up.bias, "mul"))
            return y

    return _PackedBatch(Linear, Gated)
