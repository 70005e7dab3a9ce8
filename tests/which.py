"""Which tests a change asks for: `make which-tests`, or `python -m tests.which [BASE]`.

A test file is asked for if it depends on a changed file. A Python file depends on what it imports, on the modules and
scripts of this repository that its texts name (`-m allranks.cli`, `loop.py`), and on the conftest.py of its folders.
What finds its modules at run time depends on its whole package, and so does a folder of cases. `node/bundle.py` depends
on all that travels to nodes.
"""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests import measured
from tests.tiers import TIERS, tier_of

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("src", "tests", "benchmarks", "examples", "scripts")
PATHS = ("src", "")
"""Where modules begin: `allranks` in src, `tests` and `benchmarks` beside it."""

OURS = ("allranks", "tests", "benchmarks")
EVERYTHING = (
    "pyproject.toml",
    "tests/conftest.py",
    "tests/tiers.py",
    "requirements/",
    "scripts/setup.sh",
    "Makefile",
)
"""What all tests depend on."""

DYNAMIC = re.compile(r"\b(?:pkgutil\.iter_modules|import_module|core\.rules import modules)\b")
MODULE = re.compile(r"\b(?:allranks|tests|benchmarks)(?:\.\w+)+")


class Tree:
    """The repository's Python files, and what each depends on."""

    def __init__(self, root: Path):
        self.root = root
        found = (path for folder in FOLDERS for path in (root / folder).rglob("*.py"))
        self.files = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in found}
        self.scripts: dict[str, list[str]] = {}
        for name in self.files:
            self.scripts.setdefault(name.rpartition("/")[2], []).append(name)
        self.imports: dict[str, frozenset[str]] = {}
        """What runs in the same process."""
        self.needs: dict[str, frozenset[str]] = {}
        for name, text in self.files.items():
            imports, started = self.needed(name, text)
            self.imports[name], self.needs[name] = frozenset(imports), frozenset(imports + started)

    @property
    def tests(self) -> list[str]:
        return sorted(name for name in self.files if re.match(r"tests/(.*/)?test_[^/]*\.py$", name))

    def module(self, dotted: str) -> list[str]:
        """The files that importing this runs: its packages' and its own. Empty where it is not ours."""
        parts, found = dotted.split("."), []
        if parts[0] not in OURS:
            return []
        for number in range(1, len(parts) + 1):
            stem = "/".join(parts[:number])
            for path in PATHS:
                start = f"{path}/{stem}" if path else stem
                found += [name for name in (f"{start}/__init__.py", f"{start}.py") if name in self.files]
        return found

    def needed(self, name: str, text: str) -> tuple[list[str], list[str]]:
        """What the file imports, and what other processes run that its texts name, but for docstrings."""
        imports, started, prose = [], [], set()
        tree, package = ast.parse(text), name.rpartition("/")[0]
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                imports += [one for alias in node.names for one in self.module(alias.name)]
            elif isinstance(node, ast.ImportFrom) and node.module:
                imports += [one for alias in node.names for one in self.module(f"{node.module}.{alias.name}")]
            elif isinstance(node, ast.Expr):
                prose.add(id(node.value))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
                started += self.named(node.value, scripts=not name.startswith("src/"))
        if name.startswith("tests/"):
            folders = [package, *(parent.as_posix() for parent in Path(package).parents)]
            imports += [f"{one}/conftest.py" for one in folders if f"{one}/conftest.py" in self.files]
        if name.endswith("/cases/__init__.py") or (name.startswith("src/") and DYNAMIC.search(text)):
            imports += [other for other in self.files if other.startswith(f"{package}/")]
        if name.endswith("/node/bundle.py"):
            started += self.travels(tree)
        return imports, started

    def named(self, text: str, scripts: bool) -> Iterator[str]:
        """The modules, and the scripts, that a text of the code names."""
        for dotted in MODULE.findall(text) if "." in text else ():
            yield from self.module(dotted)
        if scripts and text.endswith(".py"):
            yield from self.scripts.get(text.rpartition("/")[2], ())

    def travels(self, tree: ast.Module) -> Iterator[str]:
        """What the bundle packs, by its ROOMS and PARTS."""
        values = {
            target.id: ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name) and target.id in ("ROOMS", "PARTS")
        }
        starts = [f"src/allranks/{room}/" for room in values["ROOMS"]]
        starts += [f"src/allranks/{room}/{begin}" for room, begins in values["PARTS"] for begin in begins]
        yield from (name for name in self.files if name.startswith(tuple(starts)))

    @functools.cached_property
    def needed_by(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for name, needs in self.needs.items():
            for need in needs:
                found.setdefault(need, set()).add(name)
        return found

    def reached(self, changed: Iterable[str]) -> set[str]:
        """The changed files and all that depend on one of them."""
        found: set[str] = set()
        waiting = list(changed)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self.needed_by.get(name, ())
        return found

    def naming(self, data: str) -> set[str]:
        """The Python files below tests that name a file of data, or one of its folders in their room."""
        parts = Path(data).parts
        words = {parts[-1], "/".join(parts[-2:])}
        if parts[0] == "tests":
            words.update(parts[1:-1])
        found = set()
        for name, text in self.files.items():
            if name.startswith("tests/") and any(f'{word}"' in text for word in words):
                found.add(name)
        return found

    def asked_for(self, changed: Iterable[str]) -> list[str]:
        """The test files that a change of these files asks for."""
        changed = list(changed)
        if any(name.startswith(EVERYTHING) for name in changed):
            return self.tests
        begun = {name for name in changed if name in self.files}
        for name in changed:
            if not name.endswith(".py"):
                begun |= self.naming(name)
        return sorted(self.reached(begun) & set(self.tests))


def tiers(text: str, name: str = "") -> list[str]:
    """The tiers of the tests in a file, by the marks in its text; what was measured in `name` is marked, too."""
    tree = ast.parse(text)
    whole: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(ast.unparse(one) == "pytestmark" for one in node.targets):
            whole = marks(node.value)
    found = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            slow = {"measured"} if f"{name}::{node.name}" in measured.listed() else set()
            found.add(tier_of(whole.union(slow, *map(marks, node.decorator_list))))
    return [tier for tier in TIERS if tier in found]


def marks(node: ast.AST) -> set[str]:
    """X of every `pytest.mark.X` below a node."""
    return {
        one.attr
        for one in ast.walk(node)
        if isinstance(one, ast.Attribute) and ast.unparse(one.value) == "pytest.mark"
    }


def changed_since(base: str) -> list[str]:
    """Committed, uncommitted and untracked; a file that was removed counts by its old name."""
    words = ["git", "-C", str(ROOT)]
    since = subprocess.run([*words, "merge-base", base, "HEAD"], capture_output=True, text=True, check=True)
    lists = (
        ["diff", "--name-only", "--no-renames", since.stdout.strip()],
        ["ls-files", "-o", "--exclude-standard"],
    )
    found = [
        subprocess.run([*words, *one], capture_output=True, text=True, check=True).stdout for one in lists
    ]
    return sorted({line for text in found for line in text.splitlines()})


def main(words: list[str]) -> int:
    base = words[0] if words else "main"
    tree = Tree(ROOT)
    found = {name: tiers(tree.files[name], name) for name in tree.asked_for(changed_since(base))}
    for name, theirs in found.items():
        print(f"{', '.join(theirs):20} {name}")
    seldom = [name for name, theirs in found.items() if "seldom" in theirs]
    print(f"{len(found)} of {len(tree.tests)} test files depend on what differs from {base}.")
    if seldom:
        print(
            f"`make test` leaves out tests of {len(seldom)} of them: `make test-all`, or pytest -m seldom with"
        )
        print("  " + " ".join(seldom))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
