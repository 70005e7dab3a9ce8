"""The constants that a pickle holds, read from its opcodes. Nothing is loaded, so nothing in it is run.

`pickletools` only names the opcodes of a pickle; a text or number comes out as the file holds it, also if the
pickle refers to an earlier one (its memo).
"""

from __future__ import annotations

import pickletools
from typing import Any, Collection, Dict, Iterator, Union

Constant = Union[str, int]

LARGEST = 32 << 20
"""About 10 s. The list of a distributed checkpoint has some 100 bytes a tensor and rank."""

_TEXTS = frozenset(("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"))
_NUMBERS = frozenset(("BININT", "BININT1", "BININT2", "INT", "LONG1", "LONG4", "LONG"))
_PUTS = frozenset(("BINPUT", "LONG_BINPUT", "PUT"))
_GETS = frozenset(("BINGET", "LONG_BINGET", "GET"))


def constants(data: bytes) -> Iterator[Constant]:
    """Texts and whole numbers in the order in which the pickle names them. Raises ValueError if it is not a pickle."""
    memo: Dict[Any, Constant] = {}
    memoized, last = 0, None
    try:
        for opcode, argument, _ in pickletools.genops(data):
            name = opcode.name
            if name == "MEMOIZE" or name in _PUTS:
                key = memoized if name == "MEMOIZE" else argument
                memoized += 1
                if last is not None:
                    memo[key] = last
                continue
            last = None
            if isinstance(argument, (str, int)) and (name in _TEXTS or name in _NUMBERS):
                last = argument
                yield argument
            elif name in _GETS and argument in memo:
                yield memo[argument]
    except (IndexError, KeyError, UnicodeError, OverflowError, AttributeError) as error:
        raise ValueError("no pickle: %s" % error) from None


def numbers_after(data: bytes, keys: Collection[str]) -> Dict[str, int]:
    """For each text of `keys` the whole number that follows it first: `{"global_step": 40}`."""
    found: Dict[str, int] = {}
    key = None
    for value in constants(data):
        if key is not None and isinstance(value, int):
            found.setdefault(key, value)
        key = value if isinstance(value, str) and value in keys else None
    return found
