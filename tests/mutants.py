"""Whether the fast tests notice a wrong line: `make mutants`, or `python -m tests.mutants [COUNT [SEED [ROOM …]]]`.

It changes one line of a pure room at a time, in a copy of the repository, and runs the fast tests that import the file:
those of its room, and the near ones of the others. A change that no test notices has survived: it is equivalent, or a
test is missing. The same seed makes the same changes.
"""

from __future__ import annotations

import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tests.which import ROOT, Tree, tiers

ROOMS = {
    "spec": ("src/allranks/spec/",),
    "plan": ("src/allranks/plan/",),
    "checks": ("src/allranks/checks/",),
    "probe": ("src/allranks/probe/judge", "src/allranks/probe/blame", "src/allranks/probe/rules/"),
    "checkpoints": ("src/allranks/checkpoints/",),
    "diagnose": ("src/allranks/diagnose/",),
    "monitor": ("src/allranks/monitor/",),
}
"""The rooms that only compute, by the beginnings of their files."""

OPPOSITE = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"), ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}  # fmt: skip
NEAR = 2
"""Tests of other rooms that import a file through more than one other are left out: they are most of the suite."""

SECONDS = 300.0
WORKERS = 2


@dataclass(frozen=True, order=True)
class Mutant:
    file: str
    line: int
    column: int
    before: str
    after: str

    def apply(self, text: str) -> str:
        lines = text.splitlines(keepends=True)
        data = lines[self.line - 1].encode()
        assert data[self.column :].startswith(self.before.encode()), self
        end = self.column + len(self.before.encode())
        lines[self.line - 1] = (data[: self.column] + self.after.encode() + data[end:]).decode()
        return "".join(lines)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column + 1}  {self.before}  ->  {self.after}"


def mutants(file: str, text: str) -> list[Mutant]:
    """All changes of one line, in the file's order. Texts, types and what imports alone are left as they are."""
    tree, found = ast.parse(text), set()
    lines = [line.encode() for line in text.splitlines()]

    def between(node: ast.expr, following: ast.expr) -> tuple[int, int, str]:
        """Line, column and text of what stands between two expressions; empty if that is more than one line."""
        line, column = node.end_lineno or 0, node.end_col_offset or 0
        same = line == following.lineno
        return line, column, lines[line - 1][column : following.col_offset].decode() if same else ""

    def whole(node: ast.expr, after: str) -> None:
        if node.lineno == node.end_lineno:
            before = lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode()
            if before != after:
                found.add(Mutant(file, node.lineno, node.col_offset, before, after))

    for node in considered(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            before, after = OPPOSITE[type(node.ops[0])]
            line, column, there = between(node.left, node.comparators[0])
            if there.strip("() ") == before:
                found.add(Mutant(file, line, column + there.index(before), before, after))
        elif isinstance(node, ast.BoolOp):
            before, after = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            line, column, there = between(node.values[0], node.values[1])
            if there.strip("() ") == before:
                found.add(Mutant(file, line, column + there.index(before), before, after))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            found.add(Mutant(file, node.lineno, node.col_offset, "not ", ""))
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            whole(node, repr(node.value + 1))
        elif isinstance(node, ast.Return) and node.value is not None:
            value = node.value
            known = isinstance(value, ast.Constant) and isinstance(value.value, bool)
            whole(value, repr(not value.value) if known else "None")
    return sorted(found)


def considered(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of code, without annotations and `if TYPE_CHECKING:`."""
    if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from considered(child)


def chosen(tree: Tree, count: int, seed: int, rooms: list[str]) -> dict[str, list[Mutant]]:
    """As many of each room, or all that it has."""
    found = {}
    for number, room in enumerate(rooms):
        files = sorted(name for name in tree.files if name.startswith(ROOMS[room]))
        there = [one for name in files for one in mutants(name, tree.files[name])]
        share = count // len(rooms) + (number < count % len(rooms))
        found[room] = sorted(random.Random(f"{seed} {room}").sample(there, min(share, len(there))))
    return found


def fast_tests(tree: Tree, file: str) -> list[str]:
    """The test files with fast tests that import the file, the nearest first."""
    users: dict[str, list[str]] = {}
    for name, imports in tree.imports.items():
        for one in imports:
            users.setdefault(one, []).append(name)
    far, waiting = {file: 0}, deque([file])
    while waiting:
        name = waiting.popleft()
        for user in users.get(name, ()):
            if user not in far:
                far[user] = far[name] + 1
                waiting.append(user)
    room = f"tests/{file.split('/')[2]}/"
    tests = [name for name in tree.tests if name in far and (name.startswith(room) or far[name] <= NEAR)]
    tests = [name for name in tests if "fast" in tiers(tree.files[name])]
    return sorted(tests, key=lambda name: (not name.startswith(room), far[name], name))


def copied(folder: Path) -> Path:
    """What git knows of the repository, with uncommitted changes."""
    words = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(words, capture_output=True, text=True, check=True).stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def run(
    folder: Path, tests: list[str], seed: int, options: Sequence[str] = ("-x",), seconds: float = SECONDS
) -> str:
    """`passed`, `failed` or `timed out`, of the tests in a copy."""
    words = [sys.executable, "-m", "pytest", "-q", "-m", "fast", "-p", "no:cacheprovider", *options]
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    environment |= {"ALLRANKS_HOME": str(folder / "home"), "PYTEST_ADDOPTS": "", "CI": ""}
    out = folder / "out.txt"
    with out.open("w") as file:
        try:
            done = subprocess.run(
                [*words, f"--hypothesis-seed={seed}", f"--basetemp={folder / 'temporary'}", *tests],
                cwd=folder, env=environment, stdout=file, stderr=file, timeout=seconds,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "timed out"
    # 2 is an error of collection: the module cannot be imported any more. 5: no test was chosen.
    known = {0: "passed", 5: "passed", 1: "failed", 2: "failed"}
    return known.get(done.returncode) or out.read_text()[-2000:]


def failing(folder: Path, tests: list[str], seed: int) -> list[str]:
    """The tests that fail in a copy without a change."""
    ends = folder / "ends.xml"
    options = ["-n", str(2 * WORKERS), "--dist=worksteal", f"--junitxml={ends}"]
    end = run(folder, tests, seed, options, 3600.0)
    if not ends.exists():
        raise SystemExit(f"the tests without a change: {end}")
    cases = ElementTree.parse(ends).iter("testcase")
    return [
        case.get("classname", "").replace(".", "/") + ".py::" + case.get("name", "")
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]


def main(words: list[str]) -> int:
    count, seed = (int(word) for word in [*words[:2], *("200", "1")[len(words) :]])
    rooms = words[2:] or list(ROOMS)
    tree = Tree(ROOT)
    found = chosen(tree, count, seed, rooms)
    with tempfile.TemporaryDirectory(prefix="allranks-mutants-") as made:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(WORKERS):
            copies.put(copied(Path(made) / str(number)))

        every = [mutant for room in rooms for mutant in found[room]]
        tests = {file: fast_tests(tree, file) for file in {mutant.file for mutant in every}}
        # What fails without a change, too, says nothing of one.
        broken = failing(Path(made) / "0", sorted({name for names in tests.values() for name in names}), seed)
        for name in broken:
            print(f"left out, since it fails without a change: {name}", file=sys.stderr)
        options = ["-x", *(f"--deselect={name}" for name in broken)]

        def tried(mutant: Mutant) -> str:
            if not tests[mutant.file]:
                return "passed"
            folder = copies.get()
            path = folder / mutant.file
            try:
                path.write_text(mutant.apply(tree.files[mutant.file]))
                return run(folder, tests[mutant.file], seed, options)
            finally:
                path.write_text(tree.files[mutant.file])
                copies.put(folder)

        begun = time.monotonic()
        with ThreadPoolExecutor(WORKERS) as pool:
            ended = list(pool.map(tried, every))
    return told(rooms, list(zip(every, ended, strict=True)), time.monotonic() - begun)


def told(rooms: list[str], results: list[tuple[Mutant, str]], seconds: float) -> int:
    print(f"{'room':12} {'killed':>7} {'survived':>9} {'timed out':>10}")
    for room in rooms:
        ends = Counter(end for mutant, end in results if mutant.file.startswith(ROOMS[room]))
        print(f"{room:12} {ends['failed']:7} {ends['passed']:9} {ends['timed out']:10}")
    for title, end in (("survived", "passed"), ("timed out", "timed out")):
        for mutant, _ in (one for one in results if one[1] == end):
            print(f"{title}: {mutant}")
    odd = [one for one in results if one[1] not in ("passed", "failed", "timed out")]
    for mutant, end in odd:
        print(f"could not tell: {mutant}: {end}")
    print(f"{len(results)} changes in {seconds:.0f} s")
    return 3 if odd else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
