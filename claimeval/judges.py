"""Judges as users write them: `provider:model`, `provider:model@URL`, or a YAML file with more settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml
from pydantic import JsonValue, ValidationError

from claimeval import backends
from claimeval.calls import Judge
from claimeval.errors import UsageError, unknown

NO_SETTINGS: Mapping[str, JsonValue] = MappingProxyType({})


def judge(spec: str | Judge, settings: Mapping[str, JsonValue] = NO_SETTINGS) -> Judge:
    """The judge with everything settled that can change its answers; no call is made.

    `settings` come on top of those in a judge file. UsageError for an unknown provider, an unreadable file or a bad
    setting. Keys are checked when a run begins that needs them.
    """
    if isinstance(spec, str):
        spec = _from_file(Path(spec)) if spec.endswith((".yaml", ".yml")) else _from_text(spec)
    if settings:
        spec = _valid({**spec.model_dump(exclude_unset=True), **settings}, f"the settings of judge {spec.name!r}")
    return backends.resolve(spec)


def _from_text(text: str) -> Judge:
    model, at, endpoint = text.strip().partition("@")
    backends.provider(model)
    if at and not endpoint:
        raise UsageError(f"judge {text!r} has an @ without an address after it")
    return Judge(name=text.strip(), model=model, endpoint=endpoint or None)


def _from_file(path: Path) -> Judge:
    return from_fields(read_file(path), f"the judge file {str(path)!r}", path.stem)


def read_file(path: Path) -> dict[str, Any]:
    """The settings in a judge or panel file, unchecked; UsageError where it is not YAML with either in it."""
    try:
        fields: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the judge file {str(path)!r}: {error}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"the judge file {str(path)!r} is not YAML: {str(error).splitlines()[0]}") from error
    if not isinstance(fields, dict) or not (isinstance(fields.get("model"), str) or "judges" in fields):
        raise UsageError(
            f"the judge file {str(path)!r} needs at least the line `model: provider:name`, or `judges:` for a panel"
        )
    return fields


def from_fields(fields: Mapping[str, Any], place: str, name: str) -> Judge:
    """The judge with these settings, called `name` unless they say otherwise; `place` says where they stand."""
    if not isinstance(fields.get("model"), str):
        raise UsageError(f"{place} names no model: give `model: provider:name`")
    from_text = _from_text(fields["model"])
    settings = {"name": name, **fields, "model": from_text.model}
    if from_text.endpoint:
        settings["endpoint"] = from_text.endpoint
    return _valid(settings, place)


def _valid(settings: Mapping[str, Any], place: str) -> Judge:
    if extra := set(settings) - set(Judge.model_fields):
        raise unknown(f"setting in {place}:", str(min(extra, key=str)), Judge.model_fields)
    try:
        return Judge.model_validate(settings)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UsageError(f"{place}, {first['loc'][0]}: {first['msg']}") from error


def line_up(specs: Sequence[str | Judge], settings: Mapping[str, JsonValue] = NO_SETTINGS) -> tuple[Judge, ...]:
    """Several judges with names of their own; `settings` come on top of those of each."""
    if not specs:
        examples = "; ".join(row.example for row in backends.PROVIDERS.values())
        raise UsageError(f"no judge named; claimeval never chooses a paid service by itself. Examples: {examples}")
    judges = tuple(judge(spec, settings) for spec in specs)
    names = [j.name for j in judges]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"judge {twice!r} is named twice; give one of them another `name` in a YAML file")
    return judges


def notes(judges: Sequence[Judge], extractor: Judge) -> tuple[str, ...]:
    """What must stand beside the numbers: of all judges, or of those it names; and of claims taken by rule."""
    said = {judge.name: _note(judge) for judge in judges}
    if len(set(said.values())) == 1:
        found = [note for note in set(said.values()) if note]
    else:
        found = [f"{name} gives a {note}" for name, note in said.items() if note]
    if not found and _note(extractor):
        found = [f"claims taken by {extractor.name}, by rule and not by a language model"]
    return tuple(found)


def _note(judge: Judge) -> str | None:
    return backends.note(judge) if judge.provider in backends.PROVIDERS else None


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Return what tables call each judge of a run: its name without address and provider, if no other has that name.

    `openai:gpt-5-mini@http://127.0.0.1:8000/v1` beside `mistral:large` is `gpt-5-mini`; beside `openai:gpt-5-mini` it
    keeps its address. `names` are all judges of the run and its extractor, so that each has one short name throughout.
    """
    forms = {name: _forms(name) for name in names}
    uses = Counter(form for shorter in forms.values() for form in set(shorter))
    return {name: next((form for form in shorter if uses[form] == 1), name) for name, shorter in forms.items()}


def _forms(name: str) -> tuple[str, ...]:
    """The name without provider and address, without address, and whole."""
    without_address = name.partition("@")[0]
    return without_address.partition(":")[2] or without_address, without_address, name
