"""torch's flight recorder as a pickle: torch before 2.5 does not offer JSON, and its watchdog's dumps are pickles.

A pickle is a program. This reader does not run any: it accepts only the opcodes that build numbers, texts, lists,
tuples and mappings. torch's C++ pickler writes no others (torch/csrc/jit/serialization/pickler.cpp). An index into
the memo is bounded, and a pickle that asks for a class or a function is refused before anything is built.
"""

from __future__ import annotations

import io
import pickle
import pickletools

TYPE_CHECKING = False  # typing costs a start 5 ms; type checkers take this for theirs
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

MOST_BYTES = 16 << 20
"""2,000 collectives with their stacks are about 5 MB."""

MOST_OPCODES = 4_000_000
MOST_MEMO = 1 << 20
"""C's unpickler allocates as many places as the highest index asks for."""

MOST_DEPTH = 64
"""Containers one inside the other; a dump has about ten."""

ALLOWED = frozenset((
    "PROTO", "FRAME", "STOP", "MARK", "POP", "POP_MARK", "DUP", "NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1",
    "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINBYTES", "SHORT_BINBYTES", "EMPTY_LIST",
    "APPEND", "APPENDS", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "EMPTY_DICT", "SETITEM", "SETITEMS",
    "BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET", "MEMOIZE",
))  # fmt: skip
INDICES = ("BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET")
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class Refused(ValueError):
    """The bytes are not a dump of numbers, texts and containers."""


class _Reader(pickle.Unpickler):
    """Does not find anything: the opcodes that would ask are refused earlier, and this is the second barrier."""

    def find_class(self, module: str, name: str) -> Any:
        raise Refused("it asks for %s.%s" % (module[:80], name[:80]))

    def persistent_load(self, pid: Any) -> Any:
        raise Refused("it asks for an object by its name")


def load(data: bytes) -> Any:
    """The numbers, texts, lists, tuples and mappings of a pickle. Raises Refused for any other one."""
    if len(data) > MOST_BYTES:
        raise Refused("%d bytes, at most %d are read" % (len(data), MOST_BYTES))
    try:
        _refuse_unknown(data)
        return _Reader(io.BytesIO(data)).load()
    except Refused:
        raise
    except Exception as error:  # truncated, a stack that does not fit, a text that is none, a list as a key
        raise Refused("%s: %s" % (type(error).__name__, str(error)[:200])) from None


def _refuse_unknown(data: bytes) -> None:
    """Every opcode by its name, before any is obeyed."""
    shapes = _Shapes()
    for number, (opcode, argument, _) in enumerate(pickletools.genops(data)):
        name = opcode.name
        if name not in ALLOWED:
            raise Refused("its opcode %s builds more than numbers, texts and containers" % name)
        if name in INDICES and int(argument or 0) >= MOST_MEMO:
            raise Refused("its memo has an index of %s" % argument)
        if number >= MOST_OPCODES:
            raise Refused("more than %d opcodes" % MOST_OPCODES)
        shapes.follow(name, argument)


class _Shapes:
    """The stack that the opcodes build, with each object's depth in place of the object: 0 for numbers and texts.

    A mapping's keys must have depth 0. A tuple as a key would be hashed: one that holds itself twice, 40 times over,
    takes forever, and one that is a million deep ends the process.
    """

    def __init__(self) -> None:
        self.stack: List[int] = []
        self.marks: List[int] = []
        self.memo: Dict[int, int] = {}

    def follow(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name == "MARK":
            self.marks.append(len(stack))
        elif name in TUPLES or name == "TUPLE":
            self.push(1 + max(self.pop(TUPLES.get(name)), default=0))
        elif name in ("APPEND", "APPENDS"):
            items = self.pop(1 if name == "APPEND" else None)
            stack[-1] = max(stack[-1], 1 + max(items, default=0))
        elif name in ("SETITEM", "SETITEMS"):
            items = self.pop(2 if name == "SETITEM" else None)
            if any(items[::2]):
                raise Refused("a mapping has a container for a key")
            stack[-1] = max(stack[-1], 1 + max(items, default=0))
        elif name in ("POP", "POP_MARK"):
            self.pop(1 if name == "POP" else None)
        elif name in INDICES or name in ("MEMOIZE", "DUP"):
            self.remember(name, argument)
        elif name not in ("PROTO", "FRAME", "STOP"):
            self.push(1 if name in ("EMPTY_LIST", "EMPTY_TUPLE", "EMPTY_DICT") else 0)
        if len(self.marks) > MOST_DEPTH or (stack and stack[-1] > MOST_DEPTH):
            raise Refused("more than %d containers one inside the other" % MOST_DEPTH)

    def remember(self, name: str, argument: Any) -> None:
        if name == "DUP":
            self.push(self.stack[-1])
        elif name.endswith("GET"):
            self.push(self.memo[int(argument)])
        else:
            self.memo[len(self.memo) if name == "MEMOIZE" else int(argument)] = self.stack[-1]

    def push(self, depth: int) -> None:
        self.stack.append(depth)

    def pop(self, count: Optional[int]) -> List[int]:
        """The newest `count` objects, or all after the newest mark; they leave the stack."""
        if count is None:
            first = self.marks.pop()
        else:
            first = len(self.stack) - count
            if first < (self.marks[-1] if self.marks else 0):
                raise Refused("its stack does not fit")
        items = self.stack[first:]
        del self.stack[first:]
        return items
