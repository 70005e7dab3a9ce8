"""The JSON schema of a run file, for editors. It knows single keys; what only holds together, `load` checks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from allranks.spec import drafts
from allranks.spec.keys import Key, declared
from allranks.spec.reading import SCALAR
from allranks.spec.run import KEYS

NO_KEYS = {"type": "object", "additionalProperties": False}


def json_schema() -> dict[str, Any]:
    """Draft 2020-12, for the values that YAML 1.2 reads."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "allranks run file",
        **table(KEYS),
        "patternProperties": {"^x-": {}},
        "required": ["nodes", "train"],
    }


def table(keys: Iterable[Key]) -> dict[str, Any]:
    return {**NO_KEYS, "properties": {key.name: described(key) for key in keys}}


def described(key: Key) -> dict[str, Any]:
    says = f"{key.says} Default: {key.default}." if key.default else key.says
    return {"description": says, **(of_nodes() if key.path == "nodes" else value(key))}


def value(key: Key) -> dict[str, Any]:
    """The schema of the key's value. A key that is not required may also be empty."""
    schema = dict(key.schema or (key.read.schema if key.read else {}))
    if key.section:
        section = table(declared(key.section))
        schema = {"anyOf": [schema, section]} if key.read else {**section, **schema}
    return schema if key.default in ("", "required") else or_nothing(schema)


def or_nothing(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, extended by null: a key without a value counts as not given."""
    if "enum" in schema:
        return {**schema, "enum": [*schema["enum"], None]}
    if "type" in schema:
        kinds = schema["type"]
        return {**schema, "type": [*([kinds] if isinstance(kinds, str) else kinds), "null"]}
    return {"anyOf": [*schema["anyOf"], {"type": "null"}]}


def of_nodes() -> dict[str, Any]:
    """One text or number, a list, one node's mapping, or a mapping from names to addresses or nodes."""
    node = table(drafts.KEYS)
    unnamed = table(drafts.KEYS[1:])
    named = {"anyOf": [{"required": ["name"]}, {"required": ["address"]}]}
    names = {
        "type": "object",
        "minProperties": 1,
        "not": {"propertyNames": {"enum": list(drafts.NAMES)}},
        "additionalProperties": {"anyOf": [{"type": [*SCALAR["type"], "null"]}, unnamed]},
    }
    one = {**node, **named}
    return {
        "type": [*SCALAR["type"], "array", "object"],
        "minItems": 1,
        "items": {"anyOf": [SCALAR, one]},
        "if": {"type": "object"},
        "then": {"if": named, "then": node, "else": names},
    }
