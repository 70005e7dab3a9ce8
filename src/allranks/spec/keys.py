"""A key of the run file is declared once: as the field of the dataclass that holds its value.

The reader, docs/run-file.md, the JSON schema and the hints of error messages walk these fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from typing import Any

from allranks.spec.reading import Reader

KEY = "key"


@dataclass(frozen=True)
class Key:
    """One key: the form of its value, its meaning and default as the reference prints them.

    `read` is None if `load` reads the key itself; `schema` then says what it takes. `section` is the dataclass of
    the keys below it, `field` the name in its own dataclass, `path` the dotted name, with the sections.
    """

    form: str
    says: str
    default: str = ""
    read: Reader | None = None
    name: str = ""
    section: type | None = None
    schema: Mapping[str, Any] | None = None
    field: str = ""
    path: str = ""


def key(
    read: Reader | None,
    says: str,
    default: Any = MISSING,
    *,
    form: str = "",
    unset: str | None = None,
    name: str = "",
    section: type | None = None,
    schema: Mapping[str, Any] | None = None,
) -> Any:
    """A field that is a key. `unset` is what the reference says of a run file without it, if that is not `default`;
    `form` what it says of the value, if that is not what `read` says."""
    if unset is None:
        unset = "none" if default in (None, (), {}) else "false" if default is False else str(default)
    if is_dataclass(default):
        section = type(default)
    form = form or (read.form if read else "a mapping")
    metadata = {KEY: Key(form, says, unset, read, name, section, schema)}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


def declared(kind: type, above: str = "") -> list[Key]:
    """The keys of a dataclass, in the order of its fields; `above` is put before their names."""
    found = []
    for one in fields(kind):
        if KEY in one.metadata:
            name = one.metadata[KEY].name or one.name
            found.append(replace(one.metadata[KEY], name=name, field=one.name, path=above + name))
    return found
