"""The verdict on one setting."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

SET, DROPPED, VOID, WRONG, COSTLY = "set", "dropped", "void", "wrong", "costly"
"""`set`: the setting takes effect. `dropped`: allranks leaves it out or overrules it. `void`: no program reads it.
`wrong`: it does harm, or a program refuses it. `costly`: it takes effect, but has a cost."""


@dataclass(frozen=True)
class Line:
    """`kind` is `variable`, `argument` or `deepspeed`; `do` is the text to write in its place."""

    kind: str
    name: str
    value: Any
    status: str
    why: str
    do: str = ""


def nearest(name: str, known: Collection[str], cutoff: float = 0.7, otherwise: str = "take it out") -> str:
    """The known name that was probably meant, as a fix; `otherwise` if none is near."""
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1, cutoff=cutoff)
    return f"{near[0]}, which it knows" if near else otherwise
