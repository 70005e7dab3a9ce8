"""No module imports another one that needs it, be it at the top, in a function or for a type checker alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"


def modules(source: Path) -> dict[str, Path]:
    """The modules below `source` by their dotted names."""
    found = {}
    for path in source.rglob("*.py"):
        parts = path.relative_to(source).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(name: str, path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """Every module of `known` that an import statement names, wherever it stands."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name in known)
        elif isinstance(node, ast.ImportFrom):
            package = name if path.name == "__init__.py" else name.rpartition(".")[0]
            above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for one in node.names:
                whole = f"{base}.{one.name}"
                yield from [whole] if whole in known else [base] if base in known else []


def arrows(source: Path) -> dict[str, Set[str]]:
    known = modules(source)
    return {name: set(imported(name, path, known)) - {name} for name, path in known.items()}


def circles(graph: Mapping[str, Set[str]]) -> list[list[str]]:
    """Modules that reach each other. What nothing needs, or needs nothing, is in none: it is taken away until only
    circles are left, and what lies between two of them."""
    left = {name: set(needs) for name, needs in graph.items()}
    while True:
        needed = set().union(*left.values()) if left else set()
        loose = [name for name, needs in left.items() if not needs or name not in needed]
        if not loose:
            break
        for name in loose:
            del left[name]
        for needs in left.values():
            needs.difference_update(loose)
    found: list[list[str]] = []
    for name in sorted(left):
        circle = sorted(other for other in reached(name, left) if name in reached(other, left))
        if circle and circle not in found:
            found.append(circle)
    return found


def reached(name: str, graph: Mapping[str, Set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = set(graph[name])
    while waiting:
        one = waiting.pop()
        seen.add(one)
        waiting |= graph[one] - seen
    return seen


@pytest.mark.lengthy
def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = arrows(SOURCE)
    assert len(graph) > 300 and sum(map(len, graph.values())) > 1000, "it did not look"
    assert circles(graph) == []


@pytest.mark.parametrize(
    "back",
    [
        "from house.first import A",
        "from house import first",
        "from . import first",
        "import house.first",
        "def late():\n    from house.first import A",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from house.first import A",
    ],
)
def test_an_import_at_any_place_closes_a_circle(tmp_path: Path, back: str) -> None:
    house = tmp_path / "house"
    house.mkdir()
    (house / "__init__.py").write_text("from house.above import B\n")
    (house / "above.py").write_text("from house.first import A\n")
    (house / "first.py").write_text("from house.second import C\n")
    (house / "second.py").write_text("import json\n")
    assert circles(arrows(tmp_path)) == []
    (house / "second.py").write_text(back + "\n")
    assert circles(arrows(tmp_path)) == [["house.first", "house.second"]]
