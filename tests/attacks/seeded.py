"""What attacks are made of: one seeded source of damage, so that a failure comes again from its seed."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest

TEXTS = (
    "",
    "\x1b[31m\x1b]0;title\x07\x1b]8;;http://x\x1b\\",
    "\x9b31m\x90q\x9c\u202e\u2066\ufeff\x00\x7f",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    '"\'><svg/onload=alert(1)>]]>--><iframe src="javascript:alert(1)">',
    "</style><style>*{background:url(http://x)}",
    "\ud800\udfff",
    "../../etc/passwd",
    "/dev/zero",
    "$(touch /tmp/x) `id` ; rm -rf ~ | x && y\n\r",
    "%n%s%p {{ 7*7 }} {0} ${HOME}",
    "a" * 5000,
    "[bold red]markup[/]",
    "🤦🏽‍♀️" * 50,
)
NUMBERS = (
    0,
    -1,
    1,
    2**31,
    2**63,
    -(2**63),
    10**400,
    -(10**400),
    1e308,
    -1e308,
    1e-320,
    float("inf"),
    float("nan"),
)


class Damage:
    """A source of damage. `Damage(seed)` does the same each time."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)

    def value(self, depth: int = 2) -> Any:
        """Anything that JSON can hold, and some of what Python's reader lets it hold."""
        kind = self.random.randrange(7 if depth else 5)
        if kind < 2:
            return self.random.choice(TEXTS)
        if kind < 4:
            return self.random.choice(NUMBERS)
        if kind == 4:
            return self.random.choice((None, True, False))
        count = self.random.randrange(4)
        if kind == 5:
            return [self.value(depth - 1) for _ in range(count)]
        return {self.random.choice(TEXTS)[:40]: self.value(depth - 1) for _ in range(count)}

    def json(self, data: Any, times: int = 3) -> Any:
        """A copy of the document with some of its parts replaced, left out or doubled."""
        made = copy.deepcopy(data)
        for _ in range(self.random.randint(1, times)):
            places = list(parts(made))
            if not places:
                return self.value()
            above, key = self.random.choice(places)
            if self.random.random() < 0.2:
                del above[key]
            else:
                above[key] = self.value()
        return made

    def bytes(self, data: bytes, times: int = 4) -> bytes:
        """The bytes with some flipped, cut out, doubled or invented."""
        made = bytearray(data)
        for _ in range(self.random.randint(1, times)):
            at = self.random.randrange(len(made) + 1)
            what, end = self.random.randrange(5), at + self.random.randint(1, 64)
            if what == 0 and at < len(made):
                made[at] ^= 1 << self.random.randrange(8)
            elif what == 1:
                del made[at:end]
            elif what == 2:
                made[at:at] = made[at:end]
            elif what == 3:
                made[at:at] = self.random.randbytes(end - at)
            else:
                made[at:at] = self.random.choice(TEXTS).encode("utf-8", "surrogatepass")[:200]
        return bytes(made)


def parts(data: Any) -> Any:
    """(container, key) of every value in a document."""
    keys = list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    for key in keys:
        yield data, key
        yield from parts(data[key])


def attacked(*, quick: int, long: int) -> Callable[[Any], Any]:
    """Runs a test with (damage, rounds): two seeds of `quick` rounds each, and rarely four of `long` rounds."""
    cases = [pytest.param(seed, quick, id=f"seed-{seed}") for seed in (1, 2)]
    cases += [pytest.param(seed, long, id=f"long-{seed}", marks=pytest.mark.seldom) for seed in range(10, 14)]
    return pytest.mark.parametrize(("seed", "rounds"), cases)
