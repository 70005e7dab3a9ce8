"""What holds for the suite as a whole."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parent
SOURCES = sorted(path for path in TESTS.rglob("*.py") if "golden" not in path.parts)


def test_helpers_come_from_the_package() -> None:
    """tests is a package. A path of one's own would give a helper a second name, and a second copy of its state."""
    modules = {path.stem for path in SOURCES if (path.parent / "__init__.py").exists()} - {"__init__"}
    bare = [
        f"{path.relative_to(TESTS)}:{node.lineno}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module in modules and not node.level
    ]
    assert not bare, "write `from tests.rig.rig import Rig`"
