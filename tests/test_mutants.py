"""`make mutants`: which changes it makes, and what the copy's tests say of one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.mutants import ROOMS, chosen, considered, fast_tests, mutants, run
from tests.which import ROOT, Tree

TEXT = """
def much(size: int = 3, *words: "Literal[7]") -> bool:
    'é'; big = not size
    if size > 2 and words[0] not in "a == b":
        return True
    return len(words)
"""


@pytest.fixture(scope="module")
def tree() -> Tree:
    return Tree(ROOT)


def test_every_kind_of_change_is_made_on_one_line() -> None:
    changed = []
    for one in mutants("x.py", TEXT):
        text = one.apply(TEXT)
        (new,) = [line for line, old in zip(text.splitlines(), TEXT.splitlines(), strict=True) if line != old]
        ast.parse(text)
        changed.append(new.strip())
    assert changed == [
        'def much(size: int = 4, *words: "Literal[7]") -> bool:',
        "'é'; big = size",
        'if size >= 2 and words[0] not in "a == b":',
        'if size > 3 and words[0] not in "a == b":',
        'if size > 2 or words[0] not in "a == b":',
        'if size > 2 and words[1] not in "a == b":',
        'if size > 2 and words[0] in "a == b":',
        "return False",
        "return None",
    ]


def test_what_is_for_types_alone_is_left() -> None:
    text = "if TYPE_CHECKING:\n    x = 1\ny: Literal[2] = 3\n"
    numbers = [node.value for node in considered(ast.parse(text)) if isinstance(node, ast.Constant)]
    assert numbers == [3]


def test_the_same_seed_makes_the_same_changes(tree: Tree) -> None:
    first, second, third = (chosen(tree, 11, seed, ["spec", "probe"]) for seed in (1, 1, 2))
    assert first == second != third
    assert [len(first[room]) for room in ("spec", "probe")] == [6, 5]
    for one in [*first["spec"], *first["probe"]]:
        ast.parse(one.apply(tree.files[one.file]))


def test_every_room_has_files(tree: Tree) -> None:
    for starts in ROOMS.values():
        assert all(any(name.startswith(start) for name in tree.files) for start in starts)


def test_the_tests_of_the_room_come_first(tree: Tree) -> None:
    tests = fast_tests(tree, "src/allranks/monitor/hang_thresholds.py")
    rooms = [re.sub("tests/([^/]*)/.*", r"\1", name) for name in tests]
    assert rooms[0] == "monitor" and rooms == sorted(rooms, key=lambda room: room != "monitor")
    assert "tests/runs/test_faults.py" not in tests


@pytest.mark.lengthy
@pytest.mark.parametrize(("value", "end"), [(1, "passed"), (2, "failed")])
def test_the_tests_of_a_copy_decide(tmp_path: Path, value: int, end: str) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "thing.py").write_text(f"VALUE = {value}\n")
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\nmarkers = ["fast"]\n')
    text = "import pytest, thing\n@pytest.mark.fast\ndef test_value():\n    assert thing.VALUE == 1\n"
    (tmp_path / "test_thing.py").write_text(text)
    assert run(tmp_path, ["test_thing.py"], 1) == end
