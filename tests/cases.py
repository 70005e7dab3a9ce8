"""Whether the cases of a rule lie near the numbers that it judges by."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from unittest.mock import patch


def limits(rule: ModuleType) -> dict[str, float]:
    """The numbers that a rule declares, by their names."""
    text = Path(rule.__file__ or "").read_text(encoding="utf-8")
    targets = [one for node in ast.parse(text).body if isinstance(node, ast.Assign) for one in node.targets]
    names = [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
    return {name: value for name in names if type(value := getattr(rule, name)) in (int, float)}


def loose(rule: ModuleType, proofs: Iterable[Callable[[], None]]) -> dict[str, list[str]]:
    """Its numbers that may be a tenth lower or higher and every case still holds: no case lies so near to them, on
    these sides."""
    proofs, found = list(proofs), {}
    for name, value in limits(rule).items():
        step = max(1, round(value / 10)) if isinstance(value, int) else value / 10
        for side, other in (("below", value - step), ("above", value + step)):
            with patch.object(rule, name, other), suppress(AssertionError):
                for proof in proofs:
                    proof()
                found.setdefault(name, []).append(side)
    return found


def undeclared(rule: ModuleType) -> list[str]:
    """The rule's comparisons with a number above two that has no name."""
    found = []
    for node in ast.walk(ast.parse(Path(rule.__file__ or "").read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE):
            sides = [node.left, *node.comparators]
            sides += [one for side in sides if isinstance(side, ast.BinOp) for one in (side.left, side.right)]
            if any(isinstance(one, ast.Constant) and one.value not in (0, 1, 2) for one in sides):
                found.append(ast.unparse(node))
    return found
