"""What is said of one setting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SET, DROPPED, VOID, WRONG, COSTLY = "set", "dropped", "void", "wrong", "costly"
"""`set` takes effect; `dropped` is left out or overruled by allranks; `void` is read by nobody; `wrong` does
harm or is refused; `costly` takes effect and is paid for."""


@dataclass(frozen=True)
class Line:
    """`kind` is `variable`, `argument`, `deepspeed` or `flag`; `do` says what to write in its place."""

    kind: str
    name: str
    value: Any
    status: str
    why: str
    do: str = ""

    def __str__(self) -> str:
        value = "" if self.value is None else f"={self.value}"
        return f"{self.name}{value}: {self.status}, {self.why}"
