"""Models of a few thousand random weights, with tokenizers made here, saved as from_pretrained
expects them."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TEXTS = (
    (
        "The capital of Italy is Rome. The capital of England is London. The capital of Spain is"
        " Madrid."
    ),
    (
        "Which city is the capital of Italy? Generate a question based on the given content: who"
        " are we?"
    ),
    (
        "The tower was opened in 1889, and 300 metres of iron were painted red. predict: 0 1 yes no"
        " </s> [SEP]"
    ),
    (
        "It rained for seven days; nobody left the house before the eighth. We are saving our own"
        " lives."
    ),
    "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ .,:;?!'-<>/[]",
)


def transformers() -> Any:
    """The package, untyped."""
    return importlib.import_module("transformers")


def t5(folder: Path, *, kind: str = "t5", seed: int = 0, window: int = 256) -> Path:
    """A sequence-to-sequence model with relative positions, of the shape of flan-t5: gated, output
    layer not tied.

    `kind` may be `umt5` and the like.
    """
    lib = transformers()
    torch = importlib.import_module("torch")
    torch.manual_seed(seed)
    tokenizer = _unigram(folder, window)
    config = lib.AutoConfig.for_model(
        kind,
        vocab_size=len(tokenizer),
        d_model=16,
        d_kv=4,
        d_ff=32,
        num_layers=2,
        num_heads=4,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
        decoder_start_token_id=0,
    )
    return _save(lib.AutoModelForSeq2SeqLM.from_config(config), folder)


def bart(folder: Path, *, labels: Sequence[str] = (), seed: int = 0, window: int = 256) -> Path:
    """A sequence-to-sequence model with absolute positions, or with labels, a classifier on top of
    one."""
    lib = transformers()
    torch = importlib.import_module("torch")
    torch.manual_seed(seed)
    tokenizer = _unigram(folder, window)
    config = lib.BartConfig(
        vocab_size=len(tokenizer),
        d_model=16,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=window,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=1,
        decoder_start_token_id=1,
        forced_eos_token_id=None,
        init_std=0.5,
        **_labels(labels),
    )
    made = lib.BartForSequenceClassification if labels else lib.BartForConditionalGeneration
    return _save(made(config), folder)


def classifier(
    folder: Path,
    labels: Sequence[str],
    *,
    kind: str = "bert",
    seed: int = 0,
    window: int = 256,
    **settings: object,
) -> Path:
    """A sequence classifier with these labels, `bert` or `deberta-v2`."""
    lib = transformers()
    torch = importlib.import_module("torch")
    torch.manual_seed(seed)
    tokenizer = _wordpiece(folder, window)
    config = lib.AutoConfig.for_model(
        kind,
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=window,
        pad_token_id=0,
        initializer_range=0.5,
        **_labels(labels),
        **settings,
    )
    return _save(lib.AutoModelForSequenceClassification.from_config(config), folder)


def _labels(names: Sequence[str]) -> dict[str, object]:
    if not names:
        return {}
    return {
        "id2label": dict(enumerate(names)),
        "label2id": {name: index for index, name in enumerate(names)},
    }


def encoder_only(folder: Path) -> Path:
    """A BERT without a classifier on top."""
    lib = transformers()
    tokenizer = _wordpiece(folder, 256)
    config = lib.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
    )
    return _save(lib.BertModel(config), folder)


def _save(model: Any, folder: Path) -> Path:
    model.save_pretrained(folder)
    return folder


def _unigram(folder: Path, window: int) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    words = {f"▁{word[:2]}" for text in TEXTS for word in text.split()}
    letters = {"▁", *"".join(TEXTS)} - {" "}
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    pieces += [(piece, -3.0 - 1 / len(piece)) for piece in sorted(words | letters)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=2))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    fast = transformers().PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=window,
    )
    fast.save_pretrained(folder)
    return fast


def _wordpiece(folder: Path, window: int) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = sorted({*"".join(TEXTS)} - {" "})
    words = sorted(
        {word.strip(".,:;?") for text in TEXTS for word in text.split()} - {*special, *letters, ""}
    )
    pieces = [*special, *letters, *(f"##{letter}" for letter in letters), *words]
    vocabulary = {piece: index for index, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    fast = transformers().PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=window,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )
    fast.save_pretrained(folder)
    return fast
