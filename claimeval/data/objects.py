"""The fields of objects in memory: rows, responses and nodes of LlamaIndex, documents and messages
of LangChain.

Objects are recognized by their attributes, so that no package is imported.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from claimeval.data.rows import plain


def unpacked(item: Any) -> Any:
    """Return the fields of a row; a response of LlamaIndex in it becomes answer and contexts.

    An object with `source_nodes` is a response, one with `page_content` a document, so that neither
    package is imported. A response that is streamed is read to its end.
    """
    if _is_response(item):
        return _of_response(item)
    if isinstance(item, Mapping):
        fields: dict[str, Any] = {}
        for name, value in item.items():
            fields |= _of_response(value) if _is_response(value) else {str(name): _content(value)}
        return plain(fields)
    return plain(item)


def _is_response(value: Any) -> bool:
    return hasattr(value, "source_nodes") and not isinstance(value, Mapping)


def _of_response(response: Any) -> dict[str, Any]:
    answer = response if "response_gen" in dir(response) else response.response
    return {
        "answer": None if answer is None else str(answer),
        "contexts": _content(response.source_nodes),
    }


def _content(value: Any) -> Any:
    """Return the text of a message of LangChain, the fields of its documents and of nodes of
    LlamaIndex."""
    if isinstance(content := getattr(value, "content", None), (str, list)) and hasattr(
        value, "type"
    ):
        parts = [content] if isinstance(content, str) else content
        return "".join(
            part if isinstance(part, str) else str(part.get("text", "")) for part in parts
        )
    return _page(value)


def _page(item: Any) -> Any:
    """Return the fields of a document of LangChain or a node of LlamaIndex, also in lists; other
    values stay."""
    if isinstance(item, (list, tuple)):
        return [_page(value) for value in item]
    if hasattr(item, "page_content") and not dataclasses.is_dataclass(item):
        return {"id": getattr(item, "id", None), "page_content": item.page_content}
    node = getattr(item, "node", item)
    if hasattr(node, "get_content") and hasattr(node, "node_id"):
        return {
            "id": node.node_id,
            "text": node.get_content(),
            "score": plain(getattr(item, "score", None)),
        }
    return item
