"""The table of events in docs/architecture.md, made from the classes that declare them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from typing import Any, Union, get_args, get_origin, get_type_hints

from allranks.core.events import kinds
from allranks.core.payloads import Number, Payload, plan_of

PLAIN = {int: "int", float: "number", Number: "number", str: "text", bool: "bool", Any: "any"}


def table() -> str:
    rows = ["| kind | from | what it reports |", "|---|---|---|"]
    for name, kind in kinds().items():
        about = " ".join((kind.__doc__ or "").split("\n\n")[0].split())
        told = ", ".join(field(kind, one) for one in get_type_hints(kind))
        by = getattr(kind, "BY", "keeper, controller")
        rows.append(f"| `{name}` | {by} | {f'{about} {told}'.strip()} |")
    return "\n".join(rows)


def field(kind: Any, name: str) -> str:
    """One field with its type, and what stands beside it and its parts in the code."""
    remarks = [remark for remark in (comments(kind).get(name), *below(get_type_hints(kind)[name])) if remark]
    text = f"`{name.rstrip('_')}: {shape(get_type_hints(kind)[name])}`"
    if name in plan_of(kind).needed:
        text = f"**{text}**"
    return text + (f" ({'; '.join(remarks)})" if remarks else "")


def shape(hint: Any) -> str:
    """A type as JSON has it."""
    if hint in PLAIN:
        return PLAIN[hint]
    parts = get_args(hint)
    if get_origin(hint) is Union:
        return shape(parts[0])
    if parts:
        named = issubclass(get_origin(hint) or list, Mapping)
        return f"{{name: {shape(parts[1])}}}" if named else f"[{shape(parts[0])}, …]"
    names = get_type_hints(hint)
    if issubclass(hint, tuple):
        return f"[{', '.join(names)}]"
    return f"{{{', '.join(f'{name}: {shape(part)}' for name, part in names.items())}}}"


def below(hint: Any) -> Iterator[str]:
    """The remarks on the parts of a type."""
    for part in get_args(hint):
        yield from below(part)
    if isinstance(hint, type) and issubclass(hint, (Payload, tuple)) and hint not in PLAIN:
        if issubclass(hint, tuple) and hint.__doc__ and not hint.__doc__.startswith(f"{hint.__name__}("):
            yield " ".join(hint.__doc__.split()).rstrip(".")
        for name, remark in comments(hint).items():
            yield f"`{name}`: {remark}"


def comments(kind: Any) -> dict[str, str]:
    """What stands beside the fields of a class, of those it inherits too."""
    found: dict[str, str] = {}
    for one in [c for c in reversed(kind.__mro__) if issubclass(c, Payload) and c is not Payload] or [kind]:
        source = inspect.getsource(one)
        lines = source.splitlines()
        for node in ast.parse(source).body[0].body:  # type: ignore[attr-defined]
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                remark = lines[node.lineno - 1].partition("  # ")[2]
                found.update({node.target.id: remark} if remark else {})
    return found
