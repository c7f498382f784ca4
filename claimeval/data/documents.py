"""Retrieved documents as tools write them: texts, objects, pairs with a score, and objects of
lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from claimeval.data.cells import read_cell

_TEXT = (
    "text",
    "content",
    "page_content",
    "pageContent",
    "document.content",
    "body",
    "chunk",
    "passage",
    "snippet",
    "segment",
    "contents",
    "document",
    "paragraph",
    "chunk_text",
    "passage_text",
    "text_content",
    "message",
)
"""Names of the text of a document, most reliable first."""
_ID = (
    "id",
    "doc_id",
    "document_id",
    "id_",
    "node_id",
    "docid",
    "_id",
    "chunk_id",
    "document.id",
    "docno",
    "pid",
)
_ID_OF_A_PART = ("chunk_id", "segment_id", "node_id", "id_", "passage_id", "pid")
"""Names of the id of a part of a document, which stands beside that of the document."""
_SCORE = ("score", "document.score", "_score", "relevance_score", "similarity")
_AROUND = (
    "kwargs",
    "node",
    "document",
    "doc",
    "payload",
    "_source",
    "content",
    "segment",
    "chunk",
    "entity",
    "data",
    "dataclass",
    "properties",
    "fields",
)
"""Names of the object with the text, within the object of a document."""
_TEXTS = (
    "sentences",
    "passage_text",
    "texts",
    "documents",
    "contents",
    "passages",
    "chunks",
    "text",
    "content",
)
"""Names of the list of texts in an object of lists."""
_NOT_IDS = frozenset(
    {"question", "query", "answer", "response", "context", "input", "output", "title", "prompt"}
)


_ID_SIGN = re.compile(r"[\d./#:-]")
"""What the key of a single text has if it is an id and not the name of a field."""


def document(item: Any) -> dict[str, Any] | None:
    """Return the fields `text`, `id`, `title` and `score` of a document, as far as it has them;
    None without a text."""
    if isinstance(item, str):
        return {"text": item}
    if isinstance(item, (list, tuple)):
        return _pair(*item) if len(item) == 2 else None
    if not isinstance(item, Mapping):
        return None
    item = _with_inner(item)
    metadata = item.get("metadata")
    text = _first(item, _TEXT, str)
    if text is None and isinstance(metadata, Mapping):
        text = _first(metadata, _TEXT, str)
    if text is None:
        return None
    fields = {
        "text": text,
        "id": _first(item, _ID, (str, int, float)),
        "title": _first(item, ("title",), str),
    }
    fields["score"] = _first(item, _SCORE, (int, float))
    return {name: value for name, value in fields.items() if value is not None}


def _with_inner(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an object with the fields of the object within that has the text."""
    for name in _AROUND:
        inner = item.get(name)
        # `isinstance` of an abstract class is slow, and most values are None or a text.
        if inner is not None and not isinstance(inner, str) and isinstance(inner, Mapping):
            item = {**item, **inner}
    return item


def _pair(first: Any, second: Any) -> dict[str, Any] | None:
    """Return the document in two values: a title with its sentences or its text, or a document with
    its score."""
    if isinstance(first, str) and isinstance(second, list):
        return {"title": first, "text": "".join(map(str, second))}
    if isinstance(first, str) and isinstance(second, str):
        # the title is the shorter one
        return {"title": first, "text": second} if len(first) < len(second) else None
    if isinstance(first, (str, dict)) and isinstance(second, (int, float)):
        inner = document(first)
        return inner and {**inner, "score": second}
    return None


def with_empty_texts(items: list[Any]) -> list[Any]:
    """Return documents in which an object whose text is empty, beside objects that have one under
    the same key, is a document without words: a source that could not be read."""
    if not any(map(_has_empty, items)):  # every list of a file is looked at
        return items
    keys: set[str] = set()
    for item in items:
        if isinstance(item, Mapping):
            keys.update(_text_keys(item))
    read = list(items)
    for place, item in enumerate(items):
        if isinstance(item, Mapping) and document(item) is None:
            empty = [key for key in keys if item.get(key) == ""]
            read[place] = {**item, empty[0]: " "} if empty else item
    return read


def _has_empty(item: Any) -> bool:
    """Return whether a value of an object is an empty text."""
    if isinstance(item, str) or not isinstance(item, Mapping):
        return False
    return any(isinstance(value, str) and not value for value in item.values())


def _text_keys(item: Mapping[str, Any]) -> list[str]:
    """Return the keys under which an object has its text; none if it has no text."""
    found = document(item)
    return [name for name in _TEXT if found and item.get(name) == found["text"]]


def listed(value: Any) -> list[Any]:
    """Return the documents in a value: a list, one of them, or an object of lists or of texts by
    their ids."""
    if isinstance(value, str):
        value = read_cell(value)
    if isinstance(value, (list, tuple)):
        nested = len(value) == 1 and isinstance(value[0], list) and document(value[0]) is None
        return listed(value[0]) if nested else list(value)
    if isinstance(value, Mapping):
        return _of_lists(value) or _by_id(value) or [value]
    return [] if value is None else [value]


def _of_lists(value: Mapping[str, Any]) -> list[Any]:
    """Return the documents of an object with a list for each of their fields, as Chroma and data
    sets have them; the sentences beside the text of a document are parts of it."""
    if _first(value, _TEXT, str) is not None:
        return []
    for name in _TEXTS:
        texts = value.get(name)
        if (
            isinstance(texts, list)
            and texts
            and isinstance(texts[0], list)
            and "title" not in value
        ):
            texts = texts[0]  # of the first query
        if isinstance(texts, list) and texts and isinstance(texts[0], Mapping):
            return texts  # documents under the name of a text
        if isinstance(texts, list):
            return _with_ids_beside(texts, value)
    return []


def _with_ids_beside(texts: Sequence[Any], value: Mapping[str, Any]) -> list[Any]:
    """Return texts as documents with the ids and titles in the lists beside theirs."""
    ids, titles = (_beside(value.get(key), len(texts)) for key in ("ids", "title"))
    # HotpotQA has each document as a list of its sentences.
    texts = ["".join(text) if isinstance(text, list) else text for text in texts]
    rows = zip(texts, ids, titles, strict=True)
    return [{"text": text, "id": name, "title": title} for text, name, title in rows]


def _beside(values: Any, count: int) -> list[Any]:
    if isinstance(values, list) and len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    return values if isinstance(values, list) and len(values) == count else [None] * count


def _by_id(value: Mapping[str, Any]) -> list[Any]:
    """Return the documents of an object that has them by their ids."""
    if not value or document(value) is not None or not _NOT_IDS.isdisjoint(value):
        return []
    if _are_texts_by_id(value):
        return [{"id": name, "text": text} for name, text in value.items()]
    found = {name: document(item) for name, item in value.items() if isinstance(item, Mapping)}
    return (
        [{"id": name, **item} for name, item in found.items() if item]
        if all(found.values())
        else []
    )


def _are_texts_by_id(value: Mapping[str, Any]) -> bool:
    """Return whether an object has texts by ids, and not a text under the name of a field."""
    texts = [item for item in value.values() if isinstance(item, str)]
    is_field = len(value) == 1 and not any(map(_ID_SIGN.search, value))
    # Single words are values of settings, as in {"model": "gpt-4o", "index": "faq"}.
    return len(texts) == len(value) and any(" " in text for text in texts) and not is_field


def is_span(item: Any) -> bool:
    """Return whether an object says where its text begins or ends in another."""
    return isinstance(item, Mapping) and not _SPAN.isdisjoint(_with_inner(item))


def share_an_id(items: Iterable[Any]) -> bool:
    """Return whether documents with different texts have the same id, as the parts of one document
    have."""
    texts: dict[str, str] = {}
    for found in filter(None, map(document, items)):
        if "id" in found and texts.setdefault(str(found["id"]), found["text"]) != found["text"]:
            return True
    return False


def ids_of_parts(items: Sequence[Any]) -> list[str] | None:
    """Return the ids of the parts of documents that share an id, as Dify has a `segment_id` beside
    `document_id`; None if some part has no id of its own."""
    objects = [_with_inner(item) if isinstance(item, Mapping) else {} for item in items]
    for key in _ID_OF_A_PART:
        names = [str(_first(item, (key,), (str, int)) or "") for item in objects]
        if all(names) and not share_an_id(
            {"text": text, "id": name} for text, name in zip(_texts_in(items), names, strict=True)
        ):
            return names
    return None


def _texts_in(items: Iterable[Any]) -> list[str]:
    return [found["text"] if found else "" for found in map(document, items)]


def text_path(item: Any, text: str) -> str | None:
    """Return the path that leads to the text of a document within its object; None if none does."""
    if not isinstance(item, Mapping):
        return None
    for name, value in item.items():
        if value == text:
            return str(name)
    for name, value in item.items():
        if path := text_path(value, text):
            return f"{name}.{path}"
    return None


def _first(fields: Mapping[str, Any], names: tuple[str, ...], kind: Any) -> Any:
    for name in names:
        value = fields.get(name)
        if (
            value is not None
            and isinstance(value, kind)
            and not isinstance(value, bool)
            and value == value
            and value != ""
        ):
            return value
    return None


_TEXTS_BESIDE = (
    "contexts",
    "context",
    "retrieved_contexts",
    "retrieved_context",
    "retrieval_context",
    "retrieved_documents",
    "documents",
    "docs",
    "source_documents",
    "sourceDocuments",
    "source_nodes",
    "chunks",
    "passages",
)
"""Names of documents beside a message, which may be texts."""
_OBJECTS_BESIDE = ("search_results", "sources", "results", "references", "reference", "citations")
"""Names of documents beside a message. Texts under these names are addresses or titles."""
_SPAN = frozenset(("start", "end", "start_index", "end_index", "startIndex", "endIndex"))
"""Keys of a citation whose text is a part of the answer, as in Cohere's API."""


def beside(fields: Mapping[str, Any]) -> list[Any]:
    """Return the documents that stand beside the text of a message; empty if there are none."""
    for name in (*_TEXTS_BESIDE, *_OBJECTS_BESIDE):
        value = fields.get(name)
        if isinstance(value, str):
            value = read_cell(value)
        if isinstance(value, Mapping) and document(value) is None:
            value = beside(value)  # as in `context: {"citations": [...]}`
        items = value if isinstance(value, list) else [value]
        pages = list(chain.from_iterable(_pages(item) for item in items))
        is_text = name in _TEXTS_BESIDE
        if pages and all(_is_document(page, text=is_text) for page in pages):
            return pages
    metadata = fields.get("metadata")
    return beside(metadata) if isinstance(metadata, Mapping) else []


def ranked(rank: int) -> dict[str, Any]:
    """Return the id of a document whose data have none: its rank, marked as such."""
    return {"id": str(rank), "id_is_rank": True}


def numbered(items: Iterable[Any]) -> list[dict[str, Any]]:
    """Return the documents in messages, with their own ids if these are distinct, else ranks."""
    pages = [document(item) or {"text": ""} for item in items]
    names = [str(page.get("id", "")) for page in pages]
    are_distinct = all(names) and len(set(names)) == len(names)
    return [
        {**page, "id": name} if are_distinct else {**page, **ranked(rank)}
        for rank, (page, name) in enumerate(zip(pages, names, strict=True), 1)
    ]


def _pages(item: Any) -> list[Any]:
    """Return the documents in an item: several under `document`, as in Open WebUI's sources."""
    texts = item.get("document") if isinstance(item, Mapping) else None
    if not isinstance(texts, list):
        return [item]
    source = item.get("source")
    title = source.get("name") if isinstance(source, Mapping) else None
    return [{"text": text, "title": title} for text in texts]


def _is_document(page: Any, *, text: bool) -> bool:
    if isinstance(page, str):
        return text and bool(page.strip())
    return isinstance(page, Mapping) and document(page) is not None and _SPAN.isdisjoint(page)
