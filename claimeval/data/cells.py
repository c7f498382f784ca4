"""Read lists and objects in texts: as JSON, or as Python, pandas and NumPy print them into the
cells of a table."""

from __future__ import annotations

import ast
import json
import re
from contextlib import suppress
from typing import Any

from pydantic_core import from_json

_JSON = json.JSONDecoder(strict=False)
_LONG_NUMBERS = json.JSONDecoder(strict=False, parse_int=lambda digits: digits)
"""Reads integers as texts, because Python does not convert more than 4,300 digits."""


def parse_json(text: str) -> Any:
    """Parse JSON from other programs. Raises ValueError with the problem if it is not JSON."""
    try:
        return from_json(text)
    except ValueError:
        pass  # the slower parsers below accept lone surrogates and line breaks within texts
    try:
        return _JSON.decode(text)
    except RecursionError as error:
        raise ValueError("too deeply nested") from error
    except json.JSONDecodeError:
        raise
    except ValueError:
        return _LONG_NUMBERS.decode(text)


_LITERAL = re.compile(
    r"""(?P<text>'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")
    |(?P<ignored>,\s*dtype=[\w<>']+|(?:np\.\w+|array)(?=\())
    |(?P<value>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])|None\b|True\b|False\b|nan\b)
    |(?P<open>[\[({])
    |(?P<close>[\])}])
    |(?P<mark>[,:])
    |\s+
    """,
    re.VERBOSE | re.DOTALL,
)
"""A token of a list as Python and NumPy print it."""
_PRINTED = re.compile(r"""\s*(?:[\[{]|(?:np\.)?array\(|\(\s*(?:np\.\w+\()?["'])""")
"""The beginning of a list or object, or of a tuple or array of texts."""
_LOOKS_LIKE_A_LIST = re.compile(
    r"""\s*(?:[\[{]\s*["']|\[\s*\{|\[[^\[\]]*,[^\[\]]*\]\s*$"""
    r"""|(?:np\.)?array\(\s*\[|\(\s*(["'])[^"']*\1\s*,\s*["'])"""
)


def read_cell(text: str) -> object:
    """Return the list or object in a text, as JSON or as Python, pandas or NumPy print it; else
    return the text."""
    if not _PRINTED.match(text):
        return text
    with suppress(ValueError):
        return parse_json(text)
    try:
        value = ast.literal_eval(_with_commas(text.strip()))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _read_objects(text)
    if isinstance(value, set) and all(isinstance(item, str) for item in value):
        # an array of PostgreSQL, `{"a","b"}`, whose order a set of Python does not keep
        return ast.literal_eval(f"[{text.strip()[1:-1]}]")
    if isinstance(value, tuple):
        return list(value)
    return value if isinstance(value, (list, dict)) else text


_OBJECT = re.compile(r"\s*[\[(]?\s*\w+\(\w+=")
"""The beginning of an object as Python prints it, or of a list of them."""


def _read_objects(text: str) -> object:
    """Return the objects in a text as Python prints them, such as `[Document(page_content='...')]`,
    as objects of their fields; else return the text."""
    if not _OBJECT.match(text):
        return text
    try:
        value = _printed(ast.parse(text.strip(), mode="eval").body)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text
    return value if isinstance(value, (list, dict)) else text


def _printed(node: ast.expr) -> object:
    """Return the value of an expression. Calls are not made: their named arguments are fields."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_printed(item) for item in node.elts]
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    if node.args or not isinstance(node.func, ast.Name):
        raise ValueError("not an object with named fields")
    fields: dict[str, object] = {}
    if node.func.id.endswith("Message"):
        fields["type"] = node.func.id  # the author of a message of LangChain
    for argument in node.keywords:
        fields[str(argument.arg)] = _printed(argument.value)
    return fields


def _with_commas(text: str) -> str:
    """Return a printed list as Python code: add commas, which NumPy omits, and replace `nan` by
    None."""
    parts = []
    end = 0
    after_item = False
    while end < len(text):
        token = _LITERAL.match(text, end)
        if not token:
            raise ValueError("not a list")
        end = token.end()
        kind = token.lastgroup
        part = token.group()
        if kind in (None, "ignored"):
            continue
        if after_item and kind in ("text", "value", "open"):
            parts.append(",")
        parts.append("None" if part == "nan" else part.replace("\n", "\\n").replace("\r", "\\r"))
        after_item = kind in ("text", "value", "close")
    return "".join(parts)


def looks_like_list(text: str) -> bool:
    """Return whether a text begins like a list or object of texts, or has commas within
    brackets."""
    return bool(_LOOKS_LIKE_A_LIST.match(text))
