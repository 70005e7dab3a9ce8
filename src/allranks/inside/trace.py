"""torch's flight recorder where it is a pickle: torch before 2.5 gives no JSON, and its watchdog's dumps are pickles.

A pickle is a program. This reader runs none: only the opcodes that build numbers, texts, lists, tuples and mappings
are let through (torch's C++ pickler writes no others, torch/csrc/jit/serialization/pickler.cpp), an index into the
memo is bounded, and whatever asks for a class or a function is refused before anything is built.
"""

from __future__ import annotations

import io
import pickle
import pickletools

TYPE_CHECKING = False  # typing costs a start 5 ms; type checkers take this for theirs
if TYPE_CHECKING:
    from typing import Any

MOST_BYTES = 16 << 20
"""2,000 collectives with their stacks are about 5 MB."""

MOST_OPCODES = 4_000_000
MOST_MEMO = 1 << 20
"""C's unpickler allocates as many places as the highest index asks for."""

MOST_DEPTH = 64
"""Containers that begin one inside the other; a dump has about ten."""

ALLOWED = frozenset((
    "PROTO", "FRAME", "STOP", "MARK", "POP", "POP_MARK", "DUP", "NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1",
    "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINBYTES", "SHORT_BINBYTES", "EMPTY_LIST",
    "APPEND", "APPENDS", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "EMPTY_DICT", "SETITEM", "SETITEMS",
    "BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET", "MEMOIZE",
))  # fmt: skip
INDICES = ("BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET")


class Refused(ValueError):
    """The bytes are no dump of numbers, texts and containers."""


class _Reader(pickle.Unpickler):
    """Finds nothing: the opcodes that would ask are refused before, and this is the second lock."""

    def find_class(self, module: str, name: str) -> Any:
        raise Refused("it asks for %s.%s" % (module[:80], name[:80]))

    def persistent_load(self, pid: Any) -> Any:
        raise Refused("it asks for an object by its name")


def load(data: bytes) -> Any:
    """The numbers, texts, lists, tuples and mappings of a pickle. Raises Refused for any other one."""
    if len(data) > MOST_BYTES:
        raise Refused("%d bytes, at most %d are read" % (len(data), MOST_BYTES))
    try:
        _look(data)
        return _Reader(io.BytesIO(data)).load()
    except Refused:
        raise
    except Exception as error:  # truncated, a stack that does not fit, a text that is none, a list as a key
        raise Refused("%s: %s" % (type(error).__name__, str(error)[:200])) from None


def _look(data: bytes) -> None:
    """Every opcode by its name, before any is obeyed."""
    depth = 0
    for number, (opcode, argument, _) in enumerate(pickletools.genops(data)):
        name = opcode.name
        if name not in ALLOWED:
            raise Refused("its opcode %s builds more than numbers, texts and containers" % name)
        if name in INDICES and int(argument or 0) >= MOST_MEMO:
            raise Refused("its memo has an index of %s" % argument)
        if number >= MOST_OPCODES:
            raise Refused("more than %d opcodes" % MOST_OPCODES)
        depth += (name == "MARK") - (name in ("APPENDS", "SETITEMS", "TUPLE", "POP_MARK"))
        if depth > MOST_DEPTH:
            raise Refused("more than %d containers one inside the other" % MOST_DEPTH)
