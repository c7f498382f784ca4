"""Write records.d.ts: the records that Python puts into the pages, as types for their scripts.

A field that is renamed in Python then fails `make scripts` wherever a script still reads the old
name.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_type_hints

from pydantic import TypeAdapter, create_model

from claimeval.report.packing import SampleRow
from claimeval.report.viewer import ExperimentEntry, RunEntry
from claimeval.runs.agreement import Agreement
from claimeval.runs.annotation import LabelProgress
from claimeval.runs.experiments.results import ArmFlip, ExperimentResult
from claimeval.runs.forwarded import DecidingClaim
from claimeval.runs.overview import Overview, PairedRuns
from claimeval.types.records import SampleResult

FILE = Path(__file__).with_name("records.d.ts")


def _by_name(entry: type) -> type:
    """Return a record with the fields of a named tuple that pages get as an object."""
    fields: Any = {name: (kind, ...) for name, kind in get_type_hints(entry).items()}
    record: type = create_model(entry.__name__, **fields)
    return record


WHOLE: tuple[type, ...] = (
    *(Overview, PairedRuns, DecidingClaim, Agreement, SampleRow, ExperimentResult, ArmFlip),
    *map(_by_name, (RunEntry, ExperimentEntry, LabelProgress)),
)
"""Records that are written with all their fields."""
SPARSE: tuple[type, ...] = (SampleResult,)
"""Records of results.jsonl, whose fields are left out where they have their default."""
MANY = 8
"""Words from which on a type is `string`."""
PLAIN = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}


def declarations() -> str:
    """Return the content of records.d.ts."""
    lines = [
        (
            "// Written by tools/page/records.py from the records in Python. `make records` writes"
            " it again."
        ),
        "",
    ]
    lines += ["declare namespace Page {", *_namespace(WHOLE, "serialization"), "}", ""]
    lines += ["declare namespace Line {", *_namespace(SPARSE, "validation"), "}"]
    return "\n".join(lines) + "\n"


def _namespace(
    records: tuple[type, ...], mode: Literal["serialization", "validation"]
) -> Iterator[str]:
    _, schema = TypeAdapter.json_schemas(
        [(record, mode, TypeAdapter(record)) for record in records]
    )
    for name, definition in sorted(schema["$defs"].items()):
        yield f"  type {_identifier(name)} = {_type(definition, mode)};"


def _type(schema: Mapping[str, Any], mode: str) -> str:
    """Return a JSON schema as a type. Written records have all their fields."""
    if "$ref" in schema:
        return _identifier(schema["$ref"].rsplit("/", 1)[1])
    if "const" in schema or "enum" in schema:
        words = schema.get("enum", [schema.get("const")])
        return " | ".join(f'"{word}"' for word in words) if len(words) < MANY else "string"
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return " | ".join(dict.fromkeys(_type(option, mode) for option in options))
    kind = schema.get("type")
    if kind == "array":
        if "prefixItems" in schema:
            return f"[{', '.join(_type(item, mode) for item in schema['prefixItems'])}]"
        return f"Array<{_type(schema.get('items', {}), mode)}>"
    if kind == "object" and "properties" in schema:
        required = set(schema.get("required", ()))
        fields = (
            f"{_key(name)}{'' if name in required or mode == 'serialization' else '?'}:"
            f" {_type(field, mode)}"
            for name, field in schema["properties"].items()
        )
        return f"{{ {'; '.join(fields)} }}"
    if kind == "object":
        values = schema.get("additionalProperties", {})
        return f"Record<string, {_type(values, mode) if isinstance(values, Mapping) else 'any'}>"
    return PLAIN.get(str(kind), "any")


def _identifier(name: str) -> str:
    return "".join(character if character.isalnum() else "_" for character in name)


def _key(name: str) -> str:
    return name if name.isidentifier() else f'"{name}"'


if __name__ == "__main__":
    if "--check" not in sys.argv:
        FILE.write_text(declarations(), encoding="utf-8")
    elif FILE.read_text(encoding="utf-8") != declarations():
        sys.exit("tools/page/records.d.ts is not of these records: run `make records`.")
