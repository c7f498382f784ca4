"""Models and their tokenizers from the disk into memory, ready to be asked."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from claimeval.providers.local.devices import DeviceSettings, require
from claimeval.providers.local.fused_layers import exchange
from claimeval.providers.local.model_files import ModelFiles
from claimeval.providers.local.tokenizing import Tokenizing
from claimeval.types.errors import UsageError

Kind = Literal["seq2seq", "classifier"]
_OWN: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
"""Nothing is fetched, and no code that comes with a model is run."""
_TOKENIZERS = ("tokenizer.json", "*.model", "vocab.txt", "vocab.json")
"""Without one of these files, transformers makes a tokenizer that knows no words."""
DEFAULT_WINDOW = 512
"""Tokens, where neither the model nor its tokenizer names a limit."""


class Loaded(NamedTuple):
    """A model in memory."""

    files: ModelFiles
    model: Any
    config: Any
    tokens: Tokenizing
    window: int
    """The most tokens of one input that the model was made for."""
    setting: DeviceSettings


def config_of(files: ModelFiles) -> Any:
    """The model's configuration; no weights are read."""
    transformers = require("transformers")
    try:
        return transformers.AutoConfig.from_pretrained(files.folder, **_OWN)
    except (OSError, ValueError) as error:
        raise UsageError(f"model {files.name!r} cannot be read: {_first_line(error)}") from error


def kind_of(config: Any) -> Kind:
    """What a model was saved as. BART and T5 can be either; the name of the architecture tells."""
    if any(name.endswith("ForSequenceClassification") for name in config.architectures or ()):
        return "classifier"
    return "seq2seq" if config.is_encoder_decoder else "classifier"


def load(files: ModelFiles, kind: Kind, setting: DeviceSettings) -> Loaded:
    """The model on its device, in float32 whatever the setting says: `reduce` comes after.

    UsageError where it is not of that kind, lacks weights (which would otherwise be drawn at random), or has no fast
    tokenizer.
    """
    transformers = require("transformers")
    config = config_of(files)
    _check_tokenizer(files)
    if kind != kind_of(config):
        wanted = "a sequence-to-sequence model" if kind == "seq2seq" else "a sequence classifier"
        raise UsageError(f"model {files.name!r} ({config.model_type}) is not {wanted}, which is needed here")
    maker = transformers.AutoModelForSeq2SeqLM if kind == "seq2seq" else transformers.AutoModelForSequenceClassification
    unsafe: type[Exception] = require("torch.serialization").pickle.UnpicklingError  # weights that are no mere numbers
    with _quietly():
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(files.folder, **_OWN)
            model, found = maker.from_pretrained(files.folder, dtype="float32", output_loading_info=True, **_OWN)
        except (OSError, ValueError, ImportError, RuntimeError, unsafe) as error:
            raise UsageError(f"model {files.name!r} cannot be loaded: {_first_line(error)}") from error
    if missing := sorted(found["missing_keys"]):
        raise UsageError(
            f"model {files.name!r} has no weights for {missing[0]!r}, so it was not trained as a {kind}; "
            "its scores would be random"
        )
    model.eval()
    exchange(model, pack=setting == DeviceSettings("cpu", "float32"))
    model.to(setting.device)
    return Loaded(files, model, config, Tokenizing(tokenizer, files.name), _window(config, tokenizer), setting)


def _check_tokenizer(files: ModelFiles) -> None:
    if not any(next(files.folder.glob(name), None) for name in _TOKENIZERS):
        raise UsageError(f"model {files.name!r} has no tokenizer: tokenizer.json must be in {files.folder}")
    if not (files.folder / "tokenizer.json").is_file() and next(files.folder.glob("*.model"), None):
        require("sentencepiece")
        require("google.protobuf")


def reduce(loaded: Loaded) -> None:
    """Brings the model to the precision of its setting, in place."""
    loaded.model.to(loaded.setting.torch_dtype)


def _window(config: Any, tokenizer: Any) -> int:
    """What the tokenizer and the positions of the model allow; RoBERTa's positions begin after that of the pad."""
    positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    if positions and "roberta" in config.model_type:
        positions -= config.pad_token_id + 1
    limits = [limit for limit in (positions, tokenizer.model_max_length) if limit and 0 < limit < 1_000_000]
    return min(limits, default=DEFAULT_WINDOW)


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Without the progress bars and remarks of transformers; what matters in them is checked here."""
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
