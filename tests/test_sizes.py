"""No module is too long to read in one go, and no function longer than a screen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

SRC = Path(__file__).parent.parent / "src" / "allranks"
MODULE_LINES, FUNCTION_LINES = 400, 60
LONGER = {"node/witness/stack_reader.py": 430}
"""Its text runs by itself under an interpreter that has nothing of ours."""
BEGINS = re.compile(r"^( *)(?:async )?def (\w+)", re.MULTILINE)


def lengths(text: str) -> Iterator[tuple[str, int]]:
    """Each function's name and its lines, with its docstring. By the indentation: ast takes two seconds for all of
    our code, and says the same of what is formatted."""
    for begin in BEGINS.finditer(text):
        rest = text[begin.start() :].splitlines()
        margin = len(begin[1])
        inside = (n for n, line in enumerate(rest) if n and line and len(line) - len(line.lstrip()) <= margin)
        end = next((n for n in inside if not rest[n].lstrip().startswith((")", "]"))), len(rest))
        yield begin[2], len("\n".join(rest[:end]).rstrip().split("\n"))


def test_no_module_is_longer_than_400_lines() -> None:
    modules = [
        path for path in SRC.rglob("*.py") if not path.stem.endswith("pages")
    ]  # those hold texts alone
    found = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in modules}
    assert len(found) > 300
    most = {SRC / name: lines for name, lines in LONGER.items()}
    assert not {path: lines for path, lines in found.items() if lines > most.get(path, MODULE_LINES)}


def test_no_function_is_longer_than_60_lines() -> None:
    found = [
        (str(path.relative_to(SRC)), name, lines)
        for path in SRC.rglob("*.py")
        for name, lines in lengths(path.read_text(encoding="utf-8"))
    ]
    assert len(found) > 3000
    assert not [one for one in found if one[2] > FUNCTION_LINES]


def test_the_lines_of_a_function_are_counted() -> None:
    text = """
class A:
    def first(
        self,
    ) -> None:
        x = 1

        def inside():
            return 2

    async def second(self): return 3

def third():
    pass
"""
    assert list(lengths(text)) == [("first", 7), ("inside", 2), ("second", 1), ("third", 2)]
