"""What the texts at a path are like: questions, sentences, passages, names, JSON, or several
passages in one text.

Nothing here knows which field a path may be; `path_ranks.py` does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

from claimeval.data.field_names import speaks_of_documents, words_of
from claimeval.data.paths import elements_in, in_brackets, labels, opened, passages
from claimeval.data.profile import PathValues

_LONG_WORD = 4
"""Letters from which a word seldom is one of grammar alone."""
_SENTENCE = 4
"""Words from which a text may be an answer or a passage although its name hardly says so."""
_FILE = re.compile(r"\.(?:pdf|docx?|pptx?|xlsx?|md|txt|html?|csv|jsonl?)$", re.IGNORECASE)
"""The end of the name of a file."""
_ADDRESS = re.compile(r"\s*[a-z][\w+.-]*://\S+\s*", re.IGNORECASE)
"""A text that is only the address of something."""
_END = re.compile(r"[.!?][\"'”’)\]]*(?:\s|$)|[。！？।؟]")
"""The end of a sentence."""
NUMBERED = "numbered"
_SEPARATORS = ("|||", "|")
"""What joins contexts in one text, the longest first: one bar as DeepEval writes CSV."""
_WORDS = 3
"""Words that each of joined passages has at least."""
_RULE = re.compile(r"[^\w\s|](?:[^\S\n]*[^\w\s|])+|([^\w\s|])\1+[^\n]{1,40}?\1{2,}")
"""A line that is no text: `---`, `* * *`, `=== NEXT ===`."""
_TOKEN = re.compile(r"<[/|]?\w+\|?>|\[[A-Z_]{3,}\]")
"""A sign that is no text: `[SEP]`, `</s>`, `<|endoftext|>`."""
_ELEMENT = re.compile(r"<([A-Za-z][\w-]*)(?:\s[^<>]*)?>[^<>]*</\1>")
"""An element with nothing but text in it."""
HTML_TAG = re.compile(
    r"</?(?:p|div|br|hr|table|thead|tbody|tr|td|th|ul|ol|li|h[1-6]|span|b|i|u|em|strong|a|sup|sub)"
    r"(?:\s[^<>]{0,500})?/?>",
    re.IGNORECASE,
)
"""A tag of HTML."""


def separator_of(text: str) -> str | None:
    """Return what joins several passages in a text."""
    # A single `[1]` at the beginning may be a mark of a citation.
    if text.lstrip().startswith("[") and in_brackets(text) > 1:
        return NUMBERED
    labelled = labels(text)
    # chapters and steps are parts of one document
    if len(labelled) > 1 and speaks_of_documents(words_of(labelled[0])):
        return NUMBERED
    if element := _elements(text):
        return element
    for separator in _SEPARATORS:
        parts = text.split(separator)
        # those of a table have spaces beside one bar
        apart = separator != "|" or all(part == part.strip() for part in parts)
        if len(parts) > 1 and apart and all(len(part.split()) >= _WORDS for part in parts):
            return separator
    return None


def _elements(text: str) -> str | None:
    """Return the tag of the elements that a text has its passages in, as `<doc>`; None if it has
    none, or those of HTML."""
    names = [match[1] for match in _ELEMENT.finditer(text) if not HTML_TAG.match(match[0])]
    for name in dict.fromkeys(names):
        parts = elements_in(text, name)
        if len(parts) > 1 and _are_long(parts):
            return f"<{name}>"
    return None


def _are_long(parts: Sequence[str]) -> bool:
    return all(len(part.split()) >= _WORDS for part in parts)


def _separators_in(text: str) -> set[str]:
    """Return the lines and signs in a text that are no text, and so may be separators of
    passages."""
    rules = Counter(line for line in map(str.strip, text.splitlines()) if _RULE.fullmatch(line))
    # two rules, of which one begins the text, have the properties of a page between them
    begins = text.lstrip().partition("\n")[0].strip()
    lines = {line for line, count in rules.items() if count > 2 or line != begins}
    tokens = {token for token in _TOKEN.findall(text) if not HTML_TAG.fullmatch(token)}
    return lines | tokens


def step_of(texts: Sequence[str]) -> str | None:
    """Return the step that most of these texts hold several passages by."""
    separators = Counter(chain.from_iterable(map(_separators_in, texts)))
    elements = Counter(filter(None, map(_elements, texts)))
    # the most frequent first, since a rule in one document is a part of it
    splits = [f"split: {mark}" for mark, _ in [*elements.most_common(1), *separators.most_common()]]
    for step in (NUMBERED, *splits, "paragraphs", "lines"):
        several = 0
        for text in texts:
            parts = passages(text, step)
            several += len(parts) > 1 and _are_long(parts)
        if 2 * several > len(texts):
            return step
    return None


def is_json(text: str) -> bool:
    """Return whether a text is a JSON object or list."""
    text = text.strip()
    return text[:1] in ("{", "[") and text[-1:] in ("}", "]") and not isinstance(opened(text), str)


def holds(whole: PathValues, part: PathValues) -> bool:
    """Return whether a path holds the text of another in most rows."""
    held = 0
    for row, text in part.values.items():
        held += any(folded(str(text)) in folded(other) for other in whole.texts(row))
    return 2 * held > len(part.values)


def folded(text: str) -> str:
    """Return a text as it is compared: without case, and with single spaces."""
    return " ".join(text.split()).casefold()


def are_same(texts: Iterable[str], others: Iterable[str]) -> bool:
    """Return whether texts are the same but for white space, also if one has them joined."""
    return folded(" ".join(texts)) == folded(" ".join(others))


def telling_words(text: str) -> set[str]:
    """Return the words of a text that say what it is about, as far as their length shows."""
    return {word for word in re.findall(r"\w+", text) if len(word) >= _LONG_WORD}


def facts_in(text: str) -> set[str]:
    """Return the words of a text that say what it is about, and its numbers."""
    plain = folded(text)
    return telling_words(plain) | set(re.findall(r"\d+", plain))


def has_letters(path: PathValues) -> bool:
    """Return whether some text has a letter, which numbers and dates have not, and is no
    address."""
    texts = [str(text) for text in path.values.values()]
    return any(any(map(str.isalpha, text)) and not _ADDRESS.fullmatch(text) for text in texts)


def has_documents(path: PathValues) -> bool:
    """Return whether a path has lists of documents or of texts with several words."""
    return path.kind == "documents" or (path.kind == "texts" and has_spaces(path))


def is_text_of_sentences(path: PathValues) -> bool:
    """Return whether a path has one text a row, mostly of several words."""
    return path.kind == "text" and are_sentences(path)


def has_spaces(path: PathValues) -> bool:
    """Return whether some text has several words."""
    return any(" " in text for text in chain.from_iterable(map(path.texts, path.values)))


def mean_length(path: PathValues) -> float:
    """Return the mean number of characters."""
    texts = [len(str(text)) for text in path.values.values()]
    return sum(texts) / len(texts)


def count_questions(path: PathValues) -> int:
    """Return the number of texts that end with a question mark."""
    return sum(str(text).rstrip().endswith(("?", "？", "؟")) for text in path.values.values())


def are_sentences(path: PathValues) -> bool:
    """Return whether most texts have several words."""
    long = sum(len(str(text).split()) >= _SENTENCE for text in path.values.values())
    return 2 * long > len(path.values)


def are_passages(path: PathValues) -> bool:
    """Return whether most texts are sentences, and not the names of documents."""
    texts = list(chain.from_iterable(path.texts(row) for row in path.values))
    names = [text for text in texts if is_name(text)]
    return 2 * len(names) < len(texts)


def have_sentences(path: PathValues) -> bool:
    """Return whether most texts have a sentence that ends: titles and names of sources do not."""
    ending = 0
    for text in chain.from_iterable(path.texts(row) for row in path.values):
        ending += not is_name(text) and bool(_END.search(text))
    return 2 * ending > len(path.values)


def is_name(text: str) -> bool:
    """Return whether a text is more likely the name of a document than a passage of it."""
    short = len(text.split()) < _SENTENCE and text.rstrip()[-1:] not in (".", "!", "?", "。")
    return short or bool(_FILE.search(text))
