"""Whether the fast tests notice a wrong line: `make mutants`, or `python -m tests.mutants [COUNT [SEED [ROOM …]]]`.
`--own` before them leaves the other rooms' tests out: a lower bound, in a part of the time.

It changes one line of a pure room at a time, in a copy of the repository, and runs the fast tests that import the file
(those of its room, and the near ones of the others) and run the changed statement: `tests/mutants_run.py`. A change
that no test notices has survived: it is equivalent, or a test is missing. The same seed makes the same changes.
`build/mutants.jsonl` keeps what was found: begun again on the same files, it goes on where it was cut off.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

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

WORKERS = 2
QUICK = 5.0
"""Seconds: the room's own test files that take longer than that come after the quick ones of the others."""

KEPT = ROOT / "build" / "mutants.jsonl"
ENDS = ("killed", "timed out", "survived")


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


class FastTests:
    """The test files with tests that are fast, or would be but for torch, that import a file; the nearest first."""

    def __init__(self, tree: Tree, near: int = NEAR):
        self.tree, self.near = tree, near
        self.users: dict[str, list[str]] = {}
        for name, imports in tree.imports.items():
            for one in imports:
                self.users.setdefault(one, []).append(name)
        self.fast = {
            name
            for name in tree.tests
            if "fast" in tiers(tree.files[name]) or "pytest.mark.tensors" in tree.files[name]
        }

    def of(self, file: str) -> list[str]:
        far, waiting = {file: 0}, deque([file])
        while waiting:
            name = waiting.popleft()
            for user in self.users.get(name, ()):
                if user not in far:
                    far[user] = far[name] + 1
                    waiting.append(user)
        room = f"tests/{file.split('/')[2]}/"
        tests = [
            name for name in self.fast if name in far and (name.startswith(room) or far[name] <= self.near)
        ]
        return sorted(tests, key=lambda name: (not name.startswith(room), far[name], name))


def span(text: str, line: int) -> tuple[int, int]:
    """The first and last line of the statement that a line is in; of one that has others, of its beginning."""
    found = (line, line)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.match_case):
            first, body = node.pattern.lineno, node.body
        elif isinstance(node, ast.stmt):
            first, body = node.lineno, getattr(node, "body", None) or getattr(node, "cases", None)
        else:
            continue
        last = getattr(node, "end_lineno", None) or first
        if body:
            inner = body[0].pattern if isinstance(body[0], ast.match_case) else body[0]
            last = max(first, inner.lineno - 1)
        if first <= line <= last and (first >= found[0] or found == (line, line)):
            found = (first, last)
    return found


def in_function(text: str, line: int) -> bool:
    """Whether calling a function runs the line, each time. False: importing the file does, or the value is kept."""
    found, first = None, 0
    for node in ast.walk(ast.parse(text)):
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if is_function and node.body[0].lineno <= line <= (node.end_lineno or 0) and node.lineno >= first:
            found, first = node, node.lineno
    return found is not None and not any("cache" in ast.unparse(one) for one in found.decorator_list)


def copied(folder: Path) -> Path:
    """What git knows of the repository, with uncommitted changes."""
    words = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(words, capture_output=True, text=True, check=True).stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


class Kept:
    """What was found of these files: one JSON object a line."""

    def __init__(self, path: Path, tree: Tree, seed: int):
        self.path, self.seed = path, seed
        self.files = hashlib.sha256(repr(sorted(tree.files.items())).encode()).hexdigest()

    def read(self) -> dict[Mutant, str]:
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        found = [json.loads(line) for line in lines]
        same = [one for one in found if (one["files"], one["seed"]) == (self.files, self.seed)]
        return {Mutant(**one["mutant"]): one["end"] for one in same}

    def add(self, mutant: Mutant, end: str) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = {"files": self.files, "seed": self.seed, "mutant": asdict(mutant), "end": end}
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")


class Worker:
    """A process that runs tests in a copy: what is asked and answered is one line of JSON each."""

    def __init__(self, folder: Path):
        self.folder = folder
        environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTEST_ADDOPTS": "", "CI": ""}
        environment["ALLRANKS_HOME"] = str(folder / "home")
        environment["OMP_NUM_THREADS"] = (
            "1"  # a forked child has none of torch's other threads, and would wait
        )
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # each child would compile everything anew
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.mutants_run"],
            cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def tell(self, value: object) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(value) + "\n")
        self.process.stdin.flush()

    def ask(self, value: object) -> Any:
        assert self.process.stdout
        self.tell(value)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the tests of {self.folder} ended with {self.process.wait()}: see its out.txt")
        return json.loads(line)


def tried(
    folders: list[Path],
    fast: FastTests,
    left: list[Mutant],
    seed: int,
    add: Callable[[Mutant, str], None],
) -> None:
    """Tells how the tests end with each change, as they end. Each copy has a process of its own."""
    files, tree = sorted({mutant.file for mutant in left}), fast.tree
    tests = {file: fast.of(file) for file in files}
    every = sorted({name for names in tests.values() for name in names})
    spans = {(one.file, one.line): span(tree.files[one.file], one.line) for one in left}
    watched = {file: sorted({where for place, where in spans.items() if place[0] == file}) for file in files}
    workers = [Worker(folder) for folder in folders]
    try:
        with ThreadPoolExecutor(len(workers)) as pool:
            # Without a change, each runs a part of the test files.
            parts = [every[number :: len(workers)] for number in range(len(workers))]
            first = [{"seed": seed, "watched": watched, "tests": part} for part in parts]
            seen = list(pool.map(Worker.ask, workers, first))
            ran = Ran(tree, seen)
            for worker in workers:
                worker.tell(
                    {"modules": sorted({name for one in seen for name in one["modules"]}), "known": ran.known}
                )
            waiting = deque(left)

            def work(worker: Worker) -> None:
                while waiting:
                    one = waiting.popleft()
                    names = ran.asked(one.file, one.line, spans[one.file, one.line][0], tests[one.file])
                    asked = {"seed": seed, "file": one.file, "text": one.apply(tree.files[one.file]), **names}
                    add(one, worker.ask(asked) if names["names"] else "survived")

            list(pool.map(work, workers))
    finally:
        for worker in workers:
            worker.process.kill()
            worker.process.communicate()


class Ran:
    """What the tests ran without a change."""

    def __init__(self, tree: Tree, seen: list[dict[str, Any]]):
        self.tree = tree
        self.by_line: dict[tuple[str, int], set[str]] = {}
        self.by_file: dict[str, set[str]] = {}
        self.seconds: dict[str, float] = {}
        self.collected = {(file, line) for one in seen for file, line in one["collected"]["lines"]}
        for one in seen:
            self.seconds |= one["seconds"]
            for name, test in one["tests"].items():
                for file, line in test["lines"]:
                    self.by_line.setdefault((file, line), set()).add(name)
                for file in test["files"]:
                    self.by_file.setdefault(file, set()).add(name)

    @property
    def known(self) -> list[str]:
        return sorted(self.seconds)

    def asked(self, file: str, line: int, first: int, tests: list[str]) -> dict[str, Any]:
        """The tests that run a statement; of what importing the file runs, those that call into it or into a file
        that imports it. The files of the room come first, then the quickest."""
        if in_function(self.tree.files[file], line) and (file, first) not in self.collected:
            found = self.by_line.get((file, first), set())
        else:
            users = [
                name for name, used in self.tree.imports.items() if file in used and name.startswith("src/")
            ]
            found = set[str]().union(*(self.by_file.get(name, ()) for name in (file, *users)))
        of_file: dict[str, float] = {}
        for name in (name for name in found if name.partition("::")[0] in tests):
            of_file[name.partition("::")[0]] = of_file.get(name.partition("::")[0], 0.0) + self.seconds[name]
        room = f"tests/{file.split('/')[2]}/"
        files = sorted(
            of_file, key=lambda name: (of_file[name] > QUICK or not name.startswith(room), of_file[name])
        )
        names = sorted(name for name in found if name.partition("::")[0] in of_file)
        return {"names": names, "tests": files, "seconds": sum(of_file.values())}


def main(words: list[str]) -> int:
    own = words[:1] == ["--own"]
    words = words[own:]
    count, seed = (int(word) for word in [*words[:2], *("200", "1")[len(words) :]])
    rooms, tree, begun = words[2:] or list(ROOMS), Tree(ROOT), time.monotonic()
    found = chosen(tree, count, seed, rooms)
    kept = Kept(KEPT.with_stem("mutants-own") if own else KEPT, tree, seed)
    known = kept.read()

    with tempfile.TemporaryDirectory(prefix="allranks-mutants-") as made:
        left = [one for room in rooms for one in found[room] if one not in known]
        if left:
            # Cut off early, it has tried some of each room.
            random.Random(seed).shuffle(left)
            folders = [copied(Path(made) / str(number)) for number in range(WORKERS)]
            tried(folders, FastTests(tree, 0 if own else NEAR), left, seed, kept.add)
    known = kept.read()
    told({room: [(one, known[one]) for one in found[room]] for room in rooms}, time.monotonic() - begun)
    return 0


def told(results: dict[str, list[tuple[Mutant, str]]], seconds: float) -> None:
    """The table, and what the tests did not notice. A test that hangs is noticed: the suite has a time limit."""
    print(f"{'room':12} {'changes':>8} " + " ".join(f"{end:>9}" for end in ENDS))
    for room, ended in results.items():
        ends = Counter(end for _, end in ended)
        print(f"{room:12} {len(ended):8} " + " ".join(f"{ends[end]:9}" for end in ENDS))
    every = [one for ended in results.values() for one in ended]
    for mutant, _ in (one for one in every if one[1] == "survived"):
        print(f"survived: {mutant}")
    noticed = sum(end != "survived" for _, end in every)
    print(
        f"{noticed} of {len(every)} changes were noticed ({noticed / max(1, len(every)):.0%}), in {seconds:.0f} s"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
