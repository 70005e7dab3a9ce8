"""What a healthy rank may do that looks like a fault: each a class, its moment, rank and length drawn from a seed.

`odd_steps.py` and `odd_process.py` hold them. `may` are the warnings that say something true of it, and that are no
false alarm; a finding that ends the run is one in every kind. `apart` are the kinds whose list was written down before
any of them had been run.
"""

from __future__ import annotations

import time
from random import Random
from typing import Any

STILL = ("no-progress", "rank-holds-up")
"""That nothing moves, and whom all wait for: true of a pause that the script tells nobody of."""


class Odd:
    """`begin` is called on each of `ranks` as step `at` begins; `end` once `seconds` have passed since."""

    may: tuple[str, ...] = ()
    apart = False
    lasts = (0.0, 0.0)
    who = "one"
    """`one` rank that is drawn, the `first`, or `all`."""

    def __init__(self, draw: Random, size: int):
        self.draw, self.size = draw, size
        self.at = draw.randint(8, 40)
        self.seconds = draw.uniform(*self.lasts)
        self.ranks = {"one": [draw.randrange(size)], "first": [0], "all": list(range(size))}[self.who]
        self.began: float | None = None
        self.is_over = False
        self.prepare()

    @property
    def drawn(self) -> str:
        """What the seed drew, in a few words."""
        whose = "all ranks" if self.who == "all" else f"rank {self.ranks[0]}"
        return f"{whose}, step {self.at}" + (f", {self.seconds:.0f} s" if self.seconds else "")

    def prepare(self) -> None: ...
    def early(self) -> None: ...
    def begin(self, loop: Any) -> None: ...
    def end(self, loop: Any) -> None: ...

    def look(self, loop: Any) -> None:
        """Called before each step of each rank."""
        if loop.number not in self.ranks or self.is_over:
            return
        if self.began is None and loop.step >= self.at:
            self.began = time.monotonic()
            self.begin(loop)
        if self.began is not None and time.monotonic() >= self.began + self.seconds:
            self.is_over = True
            self.end(loop)
            loop.mark(f"odd-{loop.number}")


def named(module: dict[str, Any]) -> dict[str, type[Odd]]:
    """The kinds of a module by their names: `GilBusy` is `gil-busy`."""
    return named_of(module, Odd)


def named_of(module: dict[str, Any], base: type) -> dict[str, Any]:
    """What is abstract has no words of its own."""
    found = [
        one for one in module.values() if isinstance(one, type) and issubclass(one, base) and one is not base
    ]
    mine = [one for one in found if one.__module__ == module["__name__"] and one.__dict__.get("__doc__")]
    return {_words(one.__name__): one for one in mine}


def _words(name: str) -> str:
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")
