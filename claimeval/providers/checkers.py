"""Checkers: `check:NAME@URL` asks a small model in its own form, through a server with OpenAI's
protocol.

A preset is a row of checkers.yaml with the settings of a judge file. The model is named as in
`check:NAME=MODEL@URL`; without a name it is the only one that the server lists.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from claimeval.judging import checkers
from claimeval.judging.reply_values import Unparsable, after_reasoning
from claimeval.providers import Provider
from claimeval.providers import openai as protocol
from claimeval.providers.http import check_endpoint
from claimeval.types.checkers import ReplyRule
from claimeval.types.errors import UsageError, read_yaml, unknown_name
from claimeval.types.records import Record
from claimeval.types.requests import Judge

TABLE = Path(__file__).with_name("checkers.yaml")
SECONDS = 5.0
"""The time within which a server lists its models."""


class CheckerPreset(Record):
    """A checker as it is shipped."""

    title: str
    source: str
    """Where its form is described."""
    settings: dict[str, Any]
    """The settings of a judge file."""


@lru_cache(maxsize=1)
def presets() -> Mapping[str, CheckerPreset]:
    """Return the shipped checkers by name."""
    table = read_yaml(TABLE, "table of checkers")
    return {name: CheckerPreset.model_validate(row) for name, row in table.items()}


def advice(judge: Judge, text: str) -> str | None:
    """Return how to ask a chat judge that replies as a checker does: with a preset whose form its
    reply has, or with a judge file if it is a single word. None for other replies."""
    if judge.asks:
        return None
    try:
        reply = after_reasoning(text)
    except Unparsable:
        return None
    at = f"={judge.model_name}@{judge.endpoint}"
    fitting = [f"`-j check:{name}{at}`" for name in presets() if _reads(name, reply)]
    if fitting:
        named = " or ".join(fitting)
        return f"it replies as a checker does: {named} asks in the form of that model"
    # `{"verdicts":[]}` is one word too, and no checker's.
    if len(reply.split()) == 1 and "{" not in reply:
        return (
            "a model that replies with one word is asked about one claim at a time: `asks: pair` in"
            " a judge file, with `prompt` and `reply` (docs/reference/hosts.md#checkers)"
        )
    return None


def _reads(preset: str, reply: str) -> bool:
    """Return whether a reply has the form of a preset."""
    rule = ReplyRule.model_validate(presets()[preset].settings["reply"])
    try:
        checkers.read(reply, rule)
    except Unparsable:
        return False
    return True


def resolve(judge: Judge) -> Judge:
    """Return the judge with the settings of its preset, and with the name of its model.

    Raises UsageError for an unknown preset, settings that cannot work, or a server of which it is
    not known which model to ask.
    """
    preset, _, model = judge.model.partition(":")[2].partition("=")
    if preset not in presets():
        raise unknown_name("checker", preset, presets())
    if not judge.endpoint:
        raise UsageError(
            f"judge {judge.name!r} names no server: give it as in"
            f" check:{preset}@http://127.0.0.1:8000/v1"
        )
    address = judge.endpoint.partition("?")[0]
    endpoint = check_endpoint(address, judge.name)
    if not model:
        model = _only_model(judge, endpoint, preset)
    settings = {
        **presets()[preset].settings,
        **judge.model_dump(exclude_unset=True),
        "model": f"check:{preset}={model}",
    }
    resolved = protocol.resolve(Judge.model_validate(settings))
    checkers.check(resolved)
    return resolved


def _only_model(judge: Judge, endpoint: str, preset: str) -> str:
    """Return the only model that a server lists. Raises UsageError if it is not clear which one to
    ask."""
    import httpx2

    key = PROVIDER.api_key(judge.model_copy(update={"endpoint": endpoint}))
    headers = {"authorization": f"Bearer {key.get_secret_value()}"}
    name_it = f"name the model, as in -j check:{preset}=MODEL@{endpoint}"
    try:
        reply = httpx2.get(
            f"{endpoint}/models",
            headers=headers,
            timeout=SECONDS,
            trust_env=endpoint.startswith("https://"),
        )
        listed = json.loads(reply.content)["data"] if reply.status_code == 200 else []
        models = [entry["id"] for entry in listed]
    except httpx2.RequestError as error:
        raise UsageError(
            f"judge {judge.name!r}: {endpoint}/models does not answer ({error}); start the server,"
            f" or {name_it}"
        ) from error
    except (ValueError, LookupError, TypeError, RecursionError):
        models = []
    if len(models) != 1:
        served = f"serves {', '.join(map(str, sorted(models)))}" if models else "lists no models"
        raise UsageError(f"judge {judge.name!r}: the server {served}; {name_it}")
    return str(models[0])


PROVIDER = Provider(
    name="check",
    open=protocol.connect,
    resolve=resolve,
    example="check:minicheck@http://127.0.0.1:11434/v1",
    extracts=False,
    packages=protocol.SDK,
)
