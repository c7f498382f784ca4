"""Read conversations as chat APIs, agents and their frameworks record them.

One reader for columns, presets, traces and objects in memory: messages of OpenAI's and Anthropic's
APIs and of those like them, items of OpenAI's Responses API, contents of Gemini, messages of
LangChain (also as it serialises them), LangGraph, LlamaIndex, Haystack, pydantic-ai and Vercel's AI
SDK, OpenTelemetry's messages, ShareGPT, and pairs of user and assistant.

A message may hold several things: what was said, what a tool returned, and documents. What a tool
returned is never an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from claimeval.data.cells import parse_json
from claimeval.data.documents import beside, document, numbered
from claimeval.data.paths import opened
from claimeval.types.records import Turn

ROLES = {
    "user": ("user", "human", "customer"),
    "assistant": ("assistant", "ai", "bot", "gpt", "model", "chatbot", "api", "agent"),
    "tool": ("tool", "function", "ipython", "observation", "toolresult"),
    "system": ("system", "developer"),
}
"""The roles of messages, and their names in APIs and frameworks. Flowise has `apiMessage`."""
_ROLE_OF: dict[str, str] = {}
for _role_name, _names in ROLES.items():
    _ROLE_OF.update(dict.fromkeys(_names, _role_name))
_ROLE_OF_KIND = {"request": "user", "response": "assistant"}
"""Roles by the `kind` of pydantic-ai's messages, which parts may change."""
_ROLE_OF_EVENT = {"toolcallexecutionevent": "tool", "toolcallsummarymessage": "tool"}
_SPEAKING = ("textmessage", "multimodalmessage", "stopmessage")
"""Types of AutoGen's messages. A summary of a call repeats what the tool returned."""
_ROLE_OF_PART = {"user-prompt": "user", "system-prompt": "system"}
_AUTHORS = ("role", "_role", "from", "author", "sender", "speaker", "source", "event", "type")
"""Names of the author of a message. Any text under the first three is a role."""
_ROLE_OF_NUMBER = {0: "assistant", 1: "user"}
"""Roles in `from` of the transcripts of Copilot Studio."""
_BY_USER = ("isCreatedByUser", "is_user", "isUser", "from_user", "fromUser")
"""Whether a user wrote a message: the first as LibreChat has it beside the name of a model."""
_ANY_ROLE = ("role", "_role", "from")
_MESSAGE_SUFFIX = re.compile(r"_?message(?:chunk)?$")
"""The end of the names of LangChain's classes and of Flowise's roles."""
_CONTENTS = (
    "parts",
    "content",
    "_content",
    "value",
    "text",
    "blocks",
    "utterance",
    "message",
    "items",
)
"""Names of what a message holds. Vercel's AI SDK has `parts` beside a `content` without tools."""
_CALLS = ("tool_calls", "toolInvocations", "tool_call")
_UNSPOKEN = frozenset(
    (
        "reasoning",
        "thinking",
        "redacted_thinking",
        "thought",
        "summary_text",
        "tool_use",
        "tool-call",
        "tool_call",
        "retry-prompt",
        "web_search_result",
        "image",
        "image_url",
        "input_image",
        "file",
        "input_file",
        "step-start",
        "source-url",
        "source-document",
        "toolcallrequestevent",
        "thoughtevent",
        "memoryqueryevent",
    )
)
"""Types of parts and items that say nothing to the user."""
_RETURNED = frozenset(
    (
        "tool-return",
        "builtin-tool-return",
        "tool_result",
        "tool_call_response",
        "dynamic-tool",
        "function_response",
        "tool_response",
        "functionresultcontent",
    )
)
"""Types of parts that hold what a tool returned, beside `tool-NAME` and `NAME_tool_result`."""
_RETURNED_UNDER = (
    "functionResponse",
    "function_response",
    "toolResult",
    "tool_result",
    "tool_call_result",
    "toolInvocation",
)
"""Names of an object that holds what a tool returned."""
_OUTPUTS = ("output", "result", "response", "content", "results", "outputs", "text")
_DOCUMENTS = ("document", "search_result")


class LoggedMessage(NamedTuple):
    """What one message says or holds."""

    role: str
    """The author: `user`, `assistant`, `system`, `tool` or another name."""
    text: str
    documents: tuple[Any, ...] = ()
    """Documents in the message, as they are there."""
    whole: bool = True
    """Whether the text is joined with that of other parts by line breaks. Anthropic cuts an answer
    with citations within sentences."""


class Exchange(NamedTuple):
    """A question in a conversation with its answer."""

    question: str
    answer: str | None
    before: tuple[LoggedMessage, ...]
    """The messages before the question."""
    documents: tuple[Any, ...] | None
    """What tools returned, and documents in the messages of the exchange; None without any."""


NO_EXCHANGE = Exchange("", None, (), None)


def turns_of(messages: Iterable[LoggedMessage]) -> tuple[Turn, ...]:
    """Return messages as the turns of a sample; those without text are left out."""
    turns = []
    for one in messages:
        returned = [page["text"] for page in numbered(one.documents)] if one.role == "tool" else []
        if text := one.text or "\n\n".join(returned):
            turns.append(Turn(role=one.role, content=text))
    return tuple(turns)


def messages_in(value: object) -> tuple[LoggedMessage, ...] | None:
    """Return the messages in a list of messages, items or pairs; None if it is not such a list.

    Calls of tools, reasoning and pictures are left out. A message that holds the result of a tool
    and an answer becomes two.
    """
    value = opened(value)
    if isinstance(value, Mapping):
        is_message = _role(_unwrapped(value)) is not None
        value = [value] if is_message else _branch(value, opened(value.get("messages")))
    if isinstance(value, str) or not isinstance(value, Sequence):
        return None
    messages: list[LoggedMessage] = []
    for item in reversed(value) if _is_newest_first(value) else value:
        found = _messages_of(item)
        if found is None:
            return None
        messages += found
    return tuple(messages)


def _branch(history: Mapping[str, Any], messages: Any) -> Any:
    """Return the messages of a tree, as Open WebUI keeps them by id, from the first to the current
    one; other messages stay."""
    if not isinstance(messages, Mapping):
        return messages
    branch: list[Any] = []
    current = messages.get(history.get("currentId", next(reversed(messages), None)))
    while isinstance(current, Mapping) and current not in branch:
        branch.insert(0, current)
        current = messages.get(current.get("parentId"))
    return branch


def _is_newest_first(items: Sequence[Any]) -> bool:
    """Return whether messages are in reverse, as OpenAI's API lists those of a thread."""
    times: list[float] = []
    for item in items:
        at = item.get("created_at") if isinstance(item, Mapping) else None
        if not isinstance(at, (int, float)):
            return False
        times.append(at)
    return len(times) > 1 and all(later > earlier for later, earlier in pairwise(times))


def said_in(value: object) -> tuple[LoggedMessage, ...] | None:
    """Return the messages in a reply: items, messages or the parts of one; None if it is none."""
    if not isinstance(value, list) or not value or len(_objects(value)) < len(value):
        return None
    messages = messages_in(value)
    if messages is None and all(_type(part) for part in value):
        messages = tuple(_joined(_of_parts(value, "assistant")))
    return messages if messages and spoken_by(messages, "assistant") else None


def exchanges(messages: Sequence[LoggedMessage]) -> list[Exchange]:
    """Return the questions of a conversation, each with the last answer before the next one.

    Messages without a text of the user are one exchange without a question.
    """
    asked = [at for at, one in enumerate(messages) if one.role == "user" and one.text.strip()]
    if not asked:
        return [_exchange(messages, -1, len(messages))] if messages else []
    ends = [*asked[1:], len(messages)]
    return [_exchange(messages, at, end) for at, end in zip(asked, ends, strict=True)]


def _exchange(messages: Sequence[LoggedMessage], asked: int, end: int) -> Exchange:
    question = messages[asked].text if asked >= 0 else ""
    after = messages[asked + 1 : end]
    found: list[Any] = []
    for one in messages[max(asked, 0) : end]:
        returned = [one.text] if one.role == "tool" and one.text.strip() else []
        for item in one.documents or returned:
            # Agents call a search twice, and a document that is found again has the rank of the
            # first time.
            if item not in found:
                found.append(item)
    return Exchange(
        question=question,
        answer=spoken_by(after, "assistant"),
        before=tuple(messages[: max(asked, 0)]),
        documents=tuple(found) if found else None,
    )


def spoken_by(messages: Iterable[LoggedMessage], role: str) -> str | None:
    """Return the last text of a role; None without one."""
    texts = [one.text for one in messages if one.role == role and one.text.strip()]
    return texts[-1] if texts else None


def _messages_of(item: object) -> list[LoggedMessage] | None:
    """Return the messages in an item of a list; None if it is none."""
    if isinstance(item, Sequence) and not isinstance(item, str):
        return _of_sequence(item)
    if not isinstance(item, Mapping):
        return None
    item = _unwrapped(item)
    kind = _type(item)
    if _is_aside(item, kind):
        return []
    role = _ROLE_OF_EVENT.get(kind) or _role(item)
    if role is None and kind in _SPEAKING:
        role = "assistant"  # an agent under its own name
    if role is None and (of_item := _of_item(item, kind)) is not None:
        return of_item
    return _of_exchange(item) if role is None else _of_role(item, role)


def _of_role(item: Mapping[str, Any], role: str) -> list[LoggedMessage] | None:
    """Return the messages in what somebody of a role said; None if it holds nothing that is
    said."""
    if not any(name in item for name in (*_CONTENTS, *_CALLS)):
        return None
    if role == "tool" and not any(isinstance(part, Mapping) for part in _parts(item)):
        return _returned(item)
    found = _of_parts(_parts(item), role)
    if role == "tool":
        found = [one._replace(role="tool") for one in found]
    documents = () if role == "tool" else tuple(beside(item))
    return _with_documents(_joined(found), role, documents)


def _is_aside(item: Mapping[str, Any], kind: str) -> bool:
    """Return whether an entry of a transcript is no message: what Rasa does between messages, and
    what Copilot Studio logs."""
    event = item.get("event")
    if isinstance(event, str) and event.lower() not in _ROLE_OF and not _role(item):
        return True
    activity = isinstance(item.get("from"), Mapping) and kind not in ("", "message")
    return activity and not item.get("text")


def _of_sequence(item: Sequence[Any]) -> list[LoggedMessage] | None:
    """Return the messages of a pair (user, assistant) or (role, text), or of a list within."""
    if len(item) == 2 and all(isinstance(text, str) for text in item):
        if role := _ROLE_OF.get(item[0].lower()):
            return [LoggedMessage(role, item[1])]
        return [LoggedMessage("user", item[0]), LoggedMessage("assistant", item[1])]
    found = messages_in(item) if item else ()
    return None if found is None else list(found)


def _of_exchange(item: Mapping[str, Any]) -> list[LoggedMessage] | None:
    """Return the messages of an object with a text for the user and one for the assistant."""
    if isinstance(item.get("inputs"), Mapping) and isinstance(item.get("outputs"), Mapping):
        item = {**item["inputs"], **item["outputs"]}  # the chat history of Prompt flow
    for user, assistant in (("user", "assistant"), ("human", "ai"), ("question", "answer")):
        texts = [item.get(user), item.get(assistant)]
        if all(isinstance(text, str) for text in texts):
            return [LoggedMessage("user", str(texts[0])), LoggedMessage("assistant", str(texts[1]))]
    return None


def _of_item(item: Mapping[str, Any], kind: str) -> list[LoggedMessage] | None:
    """Return the messages of an item of OpenAI's Responses API without a role; None for others."""
    if kind == "message":
        return _of_parts(_parts(item), "assistant")
    if kind.endswith("_call_output"):
        return _returned(item)
    if kind.endswith(("_call", "_list_tools", "_approval_request", "_reference")):
        results = [name for name in ("results", "output", "outputs") if item.get(name)]
        return _returned(item) if results else []
    return [] if kind in _UNSPOKEN else None


def _unwrapped(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the message within an object that has it under a name."""
    if isinstance(item.get("raw_item"), Mapping):  # of OpenAI's Agents SDK
        item = item["raw_item"]
    if "Role" in item or "$type" in item:  # of Semantic Kernel, as .NET writes it
        item = {name.lower(): value for name, value in item.items()}
    if "lc" in item and isinstance(item.get("kwargs"), Mapping):  # as LangChain dumps it
        names = item.get("id")
        name = names[-1] if isinstance(names, list) and names else None
        item = {"type": name, **item["kwargs"]}
    if isinstance(item.get("data"), Mapping) and "content" in item["data"]:
        item = {"type": item.get("type"), **item["data"]}  # LangChain's messages_to_dict
    if "role" not in item and isinstance(item.get("message"), Mapping):
        item = item["message"]  # a choice of OpenAI's chat API
    content = item.get("content")
    if isinstance(content, Mapping) and isinstance(content.get("parts"), list):
        item = {**item, **content}  # an event of Google's ADK, a candidate of Gemini
    return item


def _type(item: Mapping[str, Any]) -> str:
    for name in ("part_kind", "type", "block_type", "$type"):
        if isinstance(kind := item.get(name), str):
            return kind.lower()
    return ""


def _role(item: Mapping[str, Any]) -> str | None:
    """Return the role of a message; None if it has no author."""
    for name in _BY_USER:
        if isinstance(by_user := item.get(name), bool):
            return "user" if by_user else "assistant"
    for name in _AUTHORS:
        if role := _role_under(name, item.get(name)):
            return role
    kind = item.get("kind")
    return _ROLE_OF_KIND.get(kind) if isinstance(kind, str) and "parts" in item else None


def _role_under(name: str, value: object) -> str | None:
    """Return the role of an author, who stands under a name; None if it is none."""
    if isinstance(value, Mapping):
        value = value.get("role", value.get("Label", value.get("label")))
        if isinstance(value, int):
            return _ROLE_OF_NUMBER.get(value)
    if not isinstance(value, str):
        return None
    role = _MESSAGE_SUFFIX.sub("", value.lower())
    if name == "speaker" and role == "system":
        return "assistant"  # of a dialogue: a prompt is not spoken
    known = role if name in _ANY_ROLE else None
    return _ROLE_OF.get(role, known) or None


def _parts(item: Mapping[str, Any]) -> list[Any]:
    """Return what a message holds, as a list."""
    calls = opened(item.get("toolInvocations"))
    returned = [{"toolInvocation": call} for call in calls] if isinstance(calls, list) else []
    for name in _CONTENTS:
        content = item.get(name)
        if content not in (None, "", []):
            return [*returned, *(content if isinstance(content, list) else [content])]
    return returned


def _of_parts(parts: Iterable[Any], role: str) -> list[LoggedMessage]:
    found: list[LoggedMessage] = []
    for part in parts:
        found += _of_part(part, role)
    return found


def _of_part(part: Any, role: str) -> list[LoggedMessage]:
    """Return the messages in a part of a message."""
    if isinstance(part, str):
        return [LoggedMessage(role, part)]
    if isinstance(part, list):
        return _of_parts(part, role)
    if not isinstance(part, Mapping):
        return []
    if "$type" in part:
        part = _unwrapped(part)
    kind = _type(part)
    if part.get("thought") is True or kind in _UNSPOKEN:
        return []
    for name in _RETURNED_UNDER:
        if isinstance(part.get(name), Mapping):
            return _returned(part[name])
    is_result = kind in _RETURNED or kind.endswith("_tool_result") or kind.startswith("tool-")
    if is_result:
        return _returned(part)
    if kind in _DOCUMENTS:
        return [LoggedMessage(role, "", (_document_of(part),))]
    role = _ROLE_OF_PART.get(kind, role)
    for name in ("text", "content", "value"):
        content = part.get(name)
        if isinstance(content, str):
            return [LoggedMessage(role, content, whole="citations" not in part)]
        if isinstance(content, (list, Mapping)):
            return _of_part(content, role)
    return []


def _document_of(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document in a part of Anthropic's API: its text, or that of its blocks."""
    source = part.get("source")
    holder = source if isinstance(source, Mapping) else part
    content = holder.get("data") if "data" in holder else holder.get("content")
    blocks = content if isinstance(content, list) else [content]
    texts = [block.get("text") if isinstance(block, Mapping) else block for block in blocks]
    text = "\n".join(text for text in texts if isinstance(text, str))
    return {"text": text, "title": part.get("title")}


def _returned(item: Mapping[str, Any]) -> list[LoggedMessage]:
    """Return what a tool returned: a text, or one message with its documents."""
    value = _output(item)
    if isinstance(value, str):
        if pages := _documents_in_json(value):
            return [LoggedMessage("tool", "", pages)]
        return [LoggedMessage("tool", value)] if value else []
    given = value if isinstance(value, list) else [value]
    items = [one for one in given if not _is_unspoken(one)]
    if not items:
        return []
    texts = [text for one in items if (text := _text_alone(one)) is not None]
    if len(texts) == len(items):
        return [LoggedMessage("tool", "\n".join(texts))]
    if pages := _documents_of(items):
        return [LoggedMessage("tool", "", pages)]
    written = items if isinstance(value, list) else value
    return [LoggedMessage("tool", json.dumps(written, ensure_ascii=False, default=str))]


_OF_A_DOCUMENT = frozenset(
    (
        *("text", "content", "page_content", "pageContent", "snippet", "chunk", "passage"),
        *("id", "doc_id", "document_id", "chunk_id", "_id", "title", "name", "score", "similarity"),
        *("source", "url", "uri", "link", "metadata", "meta", "page", "file", "filename", "rank"),
        *("type", "distance", "relevance_score", "date"),
    )
)
"""Keys of a document from a search. An object with others is data, which is read as it is."""


def _documents_in_json(text: str) -> tuple[Any, ...]:
    """Return the documents in what a tool returned as JSON; empty if it is another text or has more
    than documents."""
    if text.lstrip()[:1] not in ("[", "{"):
        return ()
    value = parsed(text)
    while isinstance(value, Mapping) and len(value) == 1:
        value = next(iter(value.values()))
    if not isinstance(value, list):
        return ()
    for item in value:
        if not isinstance(item, Mapping) or not item.keys() <= _OF_A_DOCUMENT:
            return ()
    return _documents_of(value)


def _output(item: Mapping[str, Any]) -> Any:
    """Return what is under the first name of an output, without objects around it."""
    value: Any = next((item[name] for name in _OUTPUTS if item.get(name) is not None), None)
    if isinstance(value, Mapping) and {"type", "value"} <= value.keys():
        value = value["value"]  # the output of a tool in Vercel's AI SDK
    while isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in _OUTPUTS:
        value = next(iter(value.values()))
    return value


def _is_unspoken(part: Any) -> bool:
    """Return whether a part is nothing, a picture, or an address without a text."""
    return part in (None, {}) or (isinstance(part, Mapping) and _type(part) in _UNSPOKEN)


def _documents_of(items: Sequence[Any]) -> tuple[Any, ...]:
    """Return the documents in a list; empty if one of its items is none."""
    pages = [_document_of(one) if _type(one) in _DOCUMENTS else one for one in _objects(items)]
    if len(pages) < len(items) or not all(map(document, pages)):
        return ()
    return tuple(pages)


def _objects(items: Iterable[Any]) -> list[Mapping[str, Any]]:
    return [item for item in items if isinstance(item, Mapping)]


def _text_alone(part: Any) -> str | None:
    """Return a text, also that of a part with a type or nothing beside it; None for other parts."""
    if isinstance(part, Mapping) and "text" in part and part.keys() <= {"text", "type"}:
        return str(part["text"])
    return part if isinstance(part, str) else None


def _joined(messages: Iterable[LoggedMessage]) -> list[LoggedMessage]:
    """Return messages in which the texts of neighbours by one author are joined; results of tools
    stay apart."""
    found: list[LoggedMessage] = []
    for one in messages:
        last = found[-1] if found else None
        if last is None or last.role != one.role or one.role == "tool":
            found.append(one)
            continue
        space = "\n" if last.text and one.text and last.whole and one.whole else ""
        text = f"{last.text}{space}{one.text}"
        found[-1] = LoggedMessage(one.role, text, (*last.documents, *one.documents), one.whole)
    return found


def _with_documents(
    messages: list[LoggedMessage],
    role: str,
    documents: tuple[Any, ...],
) -> list[LoggedMessage]:
    """Return the messages with the documents beside their text, which are the last one's."""
    if not documents:
        return messages
    last = messages[-1] if messages else LoggedMessage(role, "")
    return [*messages[:-1], last._replace(documents=(*last.documents, *documents))]


_UNDER = {
    "user": (
        "question",
        "query",
        "user_input",
        "input",
        "query_str",
        "user_query",
        "prompt",
        "message",
        "messages",
        "text",
        "content",
        "parts",
        "kwargs",
    ),
    "assistant": (
        "answer",
        "response",
        "output",
        "result",
        "output_text",
        "message",
        "messages",
        "choices",
        "generations",
        "text",
        "content",
        "parts",
        "kwargs",
    ),
}
"""Names of the text of a role in what went into or came out of an application."""


def spoken(value: Any, role: str) -> str | None:
    """Return the text of a role in a text, an object, messages or their JSON; None if there is
    none.

    Of messages, it is the last text of the role, and never that of another one.
    """
    content = parsed(value)
    if isinstance(content, str):
        return content if content.strip() else None
    if isinstance(content, Mapping):
        return _spoken_in(content, role)
    if not isinstance(content, list):
        return None
    if messages := messages_in(content):
        return spoken_by(messages, role)
    texts = (spoken(item, role) for item in reversed(content))
    text = next((text for text in texts if text), None)
    return text or (value if isinstance(value, str) else None)


def _spoken_in(fields: Mapping[str, Any], role: str) -> str | None:
    if _role(_unwrapped(fields)) and (messages := messages_in(fields)):
        return spoken_by(messages, role)
    texts = (spoken(fields.get(name), role) for name in _UNDER[role])
    return next((text for text in texts if text), None)


def parsed(value: Any) -> Any:
    """Return the content of a text that is JSON; other values stay."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"'):
        try:
            return parse_json(value)
        except ValueError:
            return value
    return value
