"""Texts in the tokens of a local model: prompts around them, and pieces of them that fit a context
window.

Texts of users are data: control tokens in them are broken up before anything is tokenized.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from claimeval.judging.prompts import check_listed_variables, folder, header_fields
from claimeval.lexical.sentences import Span, sentences
from claimeval.types.errors import PromptError, UsageError, missing_file, unknown_name
from claimeval.types.options import LongTexts
from claimeval.types.records import Document

Ids = list[int]

_SURROGATE = re.compile("[\ud800-\udfff]")


class Tokenizing:
    """A fast tokenizer of transformers, for one thread at a time."""

    def __init__(self, tokenizer: Any, model: str) -> None:
        if not tokenizer.is_fast:
            raise UsageError(
                f"model {model!r} has no fast tokenizer: tokenizer.json must be in its folder"
            )
        self._tokenizer = tokenizer
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token
        special = sorted(
            (token for token in tokenizer.all_special_tokens if len(token) > 1),
            key=len,
            reverse=True,
        )
        self._special = re.compile("|".join(map(re.escape, special)) or r"(?!)")
        self.pad = int(tokenizer.pad_token_id or 0)
        """The padding token's id."""
        self.end: str = tokenizer.eos_token or ""
        """The token that ends a text; empty if the model has none."""

    def data(self, text: str) -> str:
        """Insert a space into texts of control tokens (`</s>` becomes `< /s>`).

        Lone surrogates, which tokenizers do not accept, become U+FFFD.
        """
        return self._special.sub(
            lambda match: f"{match[0][0]} {match[0][1:]}", _SURROGATE.sub("\ufffd", text)
        )

    def ids(self, texts: Sequence[str]) -> list[Ids]:
        """Return the tokens of each text, with the control tokens of the model."""
        return self._encode("input_ids", list(texts)) if texts else []

    def targets(self, texts: Sequence[str]) -> list[Ids]:
        """Return the tokens of each text as model output, end token included."""
        return self._encode("input_ids", text_target=list(texts)) if texts else []

    def pair_lengths(self, pairs: Sequence[tuple[str, str]]) -> list[int]:
        """Return the number of tokens of each pair of texts, with the control tokens of the
        model."""
        return (
            [len(ids) for ids in self._encode("input_ids", list(map(tuple, pairs)))]
            if pairs
            else []
        )

    def length(self, text: str) -> int:
        """Return the number of tokens of a text, without control tokens."""
        return len(self.starts(text))

    def starts(self, text: str) -> list[int]:
        """Return the start of each token in characters, without control tokens."""
        offsets = self._encode(
            "offset_mapping", text, add_special_tokens=False, return_offsets_mapping=True
        )
        return [start for start, _ in offsets]

    def around(self, before: str, text: str, after: str) -> tuple[Ids, Ids, Ids]:
        """Return the tokens before, of and after a text within others, with control tokens."""
        encoded = self._tokenizer(before + text + after, return_offsets_mapping=True, verbose=False)
        first = len(before)
        last = len(before) + len(text)
        inside = [start < last and end > first for start, end in encoded["offset_mapping"]]
        number = sum(inside)
        begin = inside.index(True) if number else len(inside)
        ids: Ids = encoded["input_ids"]
        return ids[:begin], ids[begin : begin + number], ids[begin + number :]

    def fit(self, text: str, room: int) -> str:
        """Return the text, or its beginning, with at most `room` tokens."""
        count = room
        # A text that is cut may have more tokens than before, as its last word is divided.
        while len(starts := self.starts(text)) > room:
            text = text[: starts[count]]
            count -= 1
        return text

    def around_a_pair(self) -> int:
        """Return the number of control tokens of a pair of texts."""
        return int(self._tokenizer.num_special_tokens_to_add(pair=True))

    def _encode(self, column: str, *texts: object, **settings: object) -> list[Any]:
        encoded: list[Any] = self._tokenizer(*texts, verbose=False, **settings)[column]
        return encoded


SLACK = 4
"""Tokens by which a piece may grow when it is encoded alone."""
_WORD = re.compile(r"\w+")


class Chunk(NamedTuple):
    """A piece of evidence."""

    text: str
    documents: tuple[int, ...]
    """Indices of its documents; several if sentences are joined."""


class _TokenizedDocument(NamedTuple):
    """A document in the model's tokens."""

    text: str
    starts: list[int]
    """The start of each token in characters."""
    sentences: list[Span]

    def tokens(self, start: int, end: int) -> int:
        """Return the number of tokens in a span."""
        return bisect_left(self.starts, end) - bisect_left(self.starts, start)


class _Stretch(NamedTuple):
    """A span of a document."""

    document: int
    span: Span

    def lies_in(self, other: _Stretch) -> bool:
        """Return whether the other stretch covers this one."""
        start, end = self.span
        first, last = other.span
        return self.document == other.document and first <= start and end <= last


class EvidenceChunks:
    """Cuts documents into pieces for one model; documents are tokenized once for all claims."""

    def __init__(self, tokens: Tokenizing) -> None:
        self._tokens = tokens
        self._read = lru_cache(maxsize=256)(self._read_once)

    def chunks(self, documents: Sequence[Document], room: int) -> list[Chunk]:
        """Cut all documents into pieces of at most `room` tokens, in order; a document without
        words gives none."""
        texts = self._texts(documents)
        return [
            Chunk(self._tokens.fit(texts[index].text[slice(*span)], room), (index,))
            for index, span in _pieces(texts, room)
        ]

    def joined(self, claim: str, documents: Sequence[Document], room: int) -> Chunk | None:
        """Join the sentences of all documents that share most words with the claim, in order, up to
        `room` tokens.

        Rare words count more. None if all these sentences are in one piece, which was assessed
        already.
        """
        texts = self._texts(documents)
        stretches: list[_Stretch] = []
        for index, document in enumerate(texts):
            stretches.extend(_Stretch(index, span) for span in document.sentences)
        words = [_words(texts[index].text[slice(*span)]) for index, span in stretches]
        weights = _weights(_words(claim), words)
        chosen: list[_Stretch] = []
        free = room
        for number in sorted(range(len(stretches)), key=lambda n: (-weights[n], n)):
            size = texts[stretches[number].document].tokens(*stretches[number].span) + 1
            if weights[number] > 0 and size <= free:
                chosen.append(stretches[number])
                free -= size
        if any(all(stretch.lies_in(piece) for stretch in chosen) for piece in _pieces(texts, room)):
            return None
        text = " ".join(texts[index].text[slice(*span)] for index, span in sorted(chosen))
        return Chunk(
            self._tokens.fit(text, room), tuple(sorted({stretch.document for stretch in chosen}))
        )

    def _texts(self, documents: Sequence[Document]) -> list[_TokenizedDocument]:
        """Return the documents as other judges see them, with their titles."""
        return [self._read(f"{d.title}\n{d.text}" if d.title else d.text) for d in documents]

    def _read_once(self, text: str) -> _TokenizedDocument:
        data = self._tokens.data(text)
        return _TokenizedDocument(data, self._tokens.starts(data), sentences(data))


def _weights(claim: frozenset[str], sentences: Sequence[frozenset[str]]) -> list[float]:
    """Return the weight of each sentence: of each word of the claim that it has, one over the
    number of sentences that have it."""
    frequency = Counter(chain.from_iterable(sentences))
    return [sum(1 / frequency[word] for word in words & claim) for words in sentences]


def _pieces(texts: Sequence[_TokenizedDocument], room: int) -> Iterator[_Stretch]:
    """Yield runs of whole sentences within the room; a longer sentence is cut at the start of a
    token."""
    room -= SLACK
    for index, text in enumerate(texts):
        start = -1
        end = 0
        for sentence in text.sentences:
            if start >= 0 and text.tokens(start, sentence.end) > room:
                yield _Stretch(index, Span(start, end))
                start = -1
            start = sentence.start if start < 0 else start
            while text.tokens(start, sentence.end) > room:
                cut = text.starts[bisect_left(text.starts, start) + room]
                yield _Stretch(index, Span(start, cut))
                start = cut
            end = sentence.end
        if start >= 0:
            yield _Stretch(index, Span(start, end))


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


class ReadText(NamedTuple):
    """A text in the model's tokens, with the prompt around it."""

    sources: list[Ids]
    cut: int
    """Tokens of the text that are in no source."""


class SourceWindows:
    """Cuts texts between tokens to a window, which includes the prompt and the end token."""

    def __init__(
        self,
        tokens: Tokenizing,
        prompt: SourcePrompt,
        window: int,
        long_texts: LongTexts,
    ) -> None:
        self._tokens = tokens
        self._before, self._after = prompt.around("text")
        self._window = window
        self._slides = long_texts == "window"
        before, _, after = tokens.around(self._before, "", self._after)
        if len(before) + len(after) >= window:
            raise UsageError(
                f"a window of {window} tokens has no room next to the prompt; give at least"
                f" {window + 8}"
            )

    def read(self, texts: Sequence[str]) -> list[ReadText]:
        """Return the sources of each text: one, or windows that overlap by half if it is too long.

        All texts are tokenized in one call: one by one takes nine times as long, which on a GPU is
        longer than the model.
        """
        data = [self._tokens.data(text) for text in texts]
        prompts = [self._before + text + self._after for text in data]
        read = []
        for text, ids in zip(data, self._tokens.ids(prompts), strict=True):
            if len(ids) <= self._window:
                read.append(ReadText([ids], 0))
            else:
                read.append(self._cut(text))
        return read

    def _cut(self, data: str) -> ReadText:
        before, inside, after = self._tokens.around(self._before, data, self._after)
        room = max(self._window - len(before) - len(after), 1)
        if not self._slides:
            return ReadText([before + inside[:room] + after], len(inside) - room)
        step = max(room // 2, 1)
        starts = range(0, len(inside) - room + step, step)
        return ReadText([before + inside[start : start + room] + after for start in starts], 0)


VARIABLES = {
    "question_given_text": frozenset({"text"}),
    "claim_given_document": frozenset({"document", "claim", "separator"}),
}
"""The kinds of prompt files, and the variables of each."""

_PLACE = re.compile(r"\{\{\s*(\w+)\s*\}\}")


class SourcePrompt:
    """A prompt file, loaded and checked."""

    def __init__(self, kind: str, path: Path) -> None:
        try:
            source = path.read_text(encoding="utf-8")
        except FileNotFoundError as error:
            raise PromptError(f"no prompt file: {missing_file(path)}") from error
        except (OSError, UnicodeDecodeError) as error:
            raise PromptError(f"cannot read prompt {str(path)!r}: {error}") from error
        self.digest = hashlib.sha256(source.encode()).hexdigest()
        fields = ("purpose", "source", "variables", "supported", "not_supported")
        header = header_fields(str(path), source, ("purpose",), fields)
        check_listed_variables(str(path), header.get("variables", ""), VARIABLES[kind])
        self.header = {name: str(value) for name, value in header.items()}
        text = source.partition("#}")[2].removeprefix("\n").removesuffix("\n")
        self._parts = _PLACE.split(text)
        literal = "".join(self._parts[::2])
        names = set(self._parts[1::2])
        if "{{" in literal or "{%" in literal or "{#" in literal:
            raise PromptError(
                f"prompt {str(path)!r}: only plain variables such as {{{{ text }}}} are allowed"
            )
        if extra := names - VARIABLES[kind]:
            raise unknown_name(
                f"variable in prompt {str(path)!r}:",
                min(extra),
                VARIABLES[kind],
                PromptError,
            )
        if missing := VARIABLES[kind] - names - {"separator"}:
            raise PromptError(f"prompt {str(path)!r} lacks the variable {min(missing)!r}")

    def render(self, values: Mapping[str, str]) -> str:
        """Return the text with the values of the variables."""
        return "".join(
            values[part] if index % 2 else part for index, part in enumerate(self._parts)
        )

    def around(self, name: str) -> tuple[str, str]:
        """Return the texts before and after the only variable. Raises PromptError if it is used
        more than once."""
        if self._parts[1::2] != [name]:
            raise PromptError(
                f"a prompt that uses {name!r} more than once cannot be cut to a window; use it once"
            )
        return self._parts[0], self._parts[2]


def load_prompt(kind: str, path: str | Path | None = None) -> SourcePrompt:
    """Load the shipped prompt of a kind, or the prompt in a file."""
    return SourcePrompt(kind, Path(path) if path else folder() / "local" / f"{kind}.j2")
