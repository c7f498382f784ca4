"""Build requests to judges and read their replies: the parts that all judge questions share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from claimeval.judging.prompts import Prompt, Value, quoted
from claimeval.judging.replies import ParsedVerdict, reply_text, unreadable
from claimeval.judging.reply_values import ParsedReply, Unparsable
from claimeval.types.records import Document, ReadVerdict, Reason
from claimeval.types.requests import AssessTask, Completion, Failure, Judge, Request, Task

Schema = dict[str, Any]
Parsed = TypeVar("Parsed")
T = TypeVar("T")

TEXT: Schema = {"type": "string"}
REASON: Schema = {"type": "string", "maxLength": 500}
"""A judge's explanation."""
YES_OR_NO: Schema = {"type": "boolean"}


def object_schema(properties: Mapping[str, Schema]) -> Schema:
    """Return the JSON schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def list_schema(name: str, properties: Mapping[str, Schema]) -> Schema:
    """Return the JSON schema of an object whose only property is a list of objects with these
    properties."""
    return object_schema({name: {"type": "array", "items": object_schema(properties)}})


def closed_schema(name: str, ids: Sequence[str], properties: Mapping[str, Schema]) -> Schema:
    """Return the JSON schema of an object with exactly one entry for each id.

    Prompts ask for a list of entries with an id. A server that enforces the schema returns this
    object instead; both are accepted.
    """
    # Forty entries written out make the schema seven times as long.
    entry = {"$ref": "#/$defs/entry"}
    by_id = object_schema({name: object_schema(dict.fromkeys(ids, entry))})
    return {**by_id, "$defs": {"entry": object_schema(properties)}}


def names_schema(names: Sequence[str]) -> Schema:
    """Return the JSON schema of a list of some of these names."""
    return {
        "type": "array",
        "items": {"type": "string", "enum": list(names)} if names else TEXT,
        "maxItems": len(names),
    }


def schema_text(schema: Schema, *, sort_keys: bool = False) -> str:
    """Return the schema as text, as it is in a request and its key."""
    return json.dumps(schema, separators=(",", ":"), sort_keys=sort_keys)


def document_plain(document: Document) -> str:
    """Return the title and text of a document."""
    return f"{document.title}\n{document.text}" if document.title else document.text


def document_text(document: Document) -> str:
    """Return the title and text of a document as a prompt shows them."""
    return quoted(document_plain(document))


def numbered(letter: str, documents: Iterable[Document]) -> list[Value]:
    """Return documents as a prompt shows them, with the ids d1, d2, ... for the letter d."""
    return [
        {"id": f"{letter}{i}", "text": document_text(document)}
        for i, document in enumerate(documents, 1)
    ]


def build_request(
    prompt: Prompt,
    judge: Judge,
    variables: Mapping[str, Value] | None,
    schema: str,
    task: Task | None = None,
) -> Request:
    """Return a request to a judge.

    Args:
        prompt: The prompt.
        judge: The judge.
        variables: Values of the step's variables; None for an engine, which reads only the task.
        schema: JSON schema of the reply, sent if the prompt asks for JSON.
        task: The question as a typed record. Token probabilities are requested only for
            assessments.
    """
    return Request(
        judge=judge,
        messages=() if variables is None else prompt.render(variables),
        reply_format=prompt.reply,
        response_schema=schema if prompt.reply == "json" else None,
        max_tokens=judge.max_tokens,
        replicate=0,
        attempt=0,
        again=None,
        top_logprobs=judge.top_logprobs if isinstance(task, AssessTask) else None,
        prompt=prompt.digest,
        task=task,
    )


def read_reply(completion: Completion, request: Request, parse: Callable[[str], T]) -> T | Failure:
    """Return the reply parsed by `parse`, or why it cannot be read."""
    text = reply_text(completion, request)
    if isinstance(text, Failure):
        return text
    try:
        return parse(text)
    except Unparsable as error:
        return unreadable(completion, request, error)


def verdict_of(completion: Completion, request: Request, **fields: Any) -> ReadVerdict:
    """Return a verdict of a reply, with the judge, replicate, prompt and call that it is from."""
    key = completion.key or request.key
    return ReadVerdict(
        request.judge.name,
        replicate=request.replicate,
        prompt=request.prompt_id,
        key=key,
        **fields,
    )


def unassessed(parsed: ParsedVerdict) -> Reason | None:
    """Return why an entry of a reply has no label; None if it has one."""
    if parsed.label:
        return None
    return "refused" if parsed.refused else "unsure"


def read_entries(
    completion: Completion,
    request: Request,
    ids: Mapping[str, str],
    parse: Callable[[str], ParsedReply[Parsed]],
    value: Callable[[str, Parsed], T],
) -> ParsedReply[T]:
    """Return the values in a reply about several subjects.

    Args:
        completion: The reply.
        request: The request.
        ids: Id of each subject by its name in the prompt (`c1`, `d1`).
        parse: Reads the entries of the reply by name; raises Unparsable.
        value: Converts the name and entry of a subject to its value.
    """
    entries = read_reply(completion, request, parse)
    if isinstance(entries, Failure):
        return ParsedReply(failure=entries)
    values = {ids[name]: value(name, entry) for name, entry in entries.values.items()}
    return ParsedReply(
        values,
        None,
        {ids[name]: why for name, why in entries.unread.items()} if entries.unread else {},
    )
