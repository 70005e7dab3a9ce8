"""`make mutants`: which changes it makes, and what a copy's tests say of each."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path

import pytest

from tests.mutants import (
    ROOMS,
    FastTests,
    Kept,
    Mutant,
    chosen,
    considered,
    in_function,
    mutants,
    span,
    told,
    tried,
)
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


@pytest.mark.lengthy
def test_the_same_seed_makes_the_same_changes(tree: Tree) -> None:
    first, second, third = (chosen(tree, 11, seed, ["spec", "probe"]) for seed in (1, 1, 2))
    assert first == second != third
    assert [len(first[room]) for room in ("spec", "probe")] == [6, 5]
    for one in [*first["spec"], *first["probe"]]:
        ast.parse(one.apply(tree.files[one.file]))


@pytest.mark.lengthy
def test_every_room_has_files(tree: Tree) -> None:
    for starts in ROOMS.values():
        assert all(any(name.startswith(start) for name in tree.files) for start in starts)


@pytest.mark.lengthy
def test_the_tests_of_the_room_come_first(tree: Tree) -> None:
    tests = FastTests(tree).of("src/allranks/monitor/hang_thresholds.py")
    rooms = [re.sub("tests/([^/]*)/.*", r"\1", name) for name in tests]
    assert rooms[0] == "monitor" and rooms == sorted(rooms, key=lambda room: room != "monitor")
    assert "tests/runs/test_faults.py" not in tests
    own = FastTests(tree, 0).of("src/allranks/monitor/hang_thresholds.py")
    assert own == [name for name in tests if name.startswith("tests/monitor/")]


@pytest.mark.lengthy
def test_the_tests_that_run_the_statement_decide(tmp_path: Path) -> None:
    """In a tree of its own: changes that a test notices, in a function and of a value, and changes that none does."""
    for folder in ("src/allranks", "tests"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "__init__.py").touch()
    for name in ("__init__", "mutants_run"):
        shutil.copy2(ROOT / "tests" / f"{name}.py", tmp_path / "tests")
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\nmarkers = ["fast"]\naddopts = "--import-mode=importlib"\n'
    )
    file, test = "src/allranks/thing.py", "tests/test_thing.py"
    text = "LEAST = 2\n\n\ndef much(size):\n    return size > LEAST\n\n\ndef unused():\n    return 1\n"
    (tmp_path / file).write_text(text)
    (tmp_path / test).write_text(
        "import pytest\nfrom allranks.thing import much\npytestmark = pytest.mark.fast\n\n"
        "def test_more():\n    assert much(3)\n\ndef test_wrong_already():\n    assert much(1)\n"
    )
    tree = Tree(tmp_path)
    ends: dict[str, str] = {}
    every = mutants(file, text)
    tried(
        [tmp_path], FastTests(tree), every, 1, lambda one, end: ends.update({f"{one.line} {one.after}": end})
    )
    assert ends == {
        "1 3": "killed",  # LEAST
        "5 >=": "survived",
        "5 None": "killed",
        "9 2": "survived",  # no test calls it
        "9 None": "survived",
    }
    assert (tmp_path / file).read_text() == text
    assert "test_wrong_already" in (tmp_path / "out.txt").read_text()


def test_a_statement_is_watched_as_a_whole() -> None:
    text = (
        "def f(a,\n  b=1):\n"
        "  if (a and\n   b):\n    return [\n      1,\n      2]\n"
        "  match a:\n    case 1:\n      pass\n"
    )
    assert [span(text, line) for line in range(1, 11)] == [
        (1, 2), (1, 2), (3, 4), (3, 4), (5, 7), (5, 7), (5, 7), (8, 8), (9, 9), (10, 10),
    ]  # fmt: skip
    assert not in_function(text, 2) and in_function(text, 6)


def test_what_was_found_is_kept_for_the_same_files(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    path, one = tmp_path / "build" / "kept.jsonl", Mutant("src/allranks/x.py", 1, 2, "3", "4")
    Kept(path, tree, 1).add(one, "killed")
    assert Kept(path, tree, 1).read() == {one: "killed"}
    assert Kept(path, tree, 2).read() == {}
    other = Tree(tmp_path)
    other.files["src/allranks/x.py"] = ""
    assert Kept(path, other, 1).read() == {}


def test_the_score_counts_what_hangs_as_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    ends = ("killed", "timed out", "survived", "killed")
    told({"plan": [(Mutant("x.py", n, 0, "1", "2"), end) for n, end in enumerate(ends)]}, 5.0)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["plan", "4", "2", "1", "1"]
    assert lines[2:] == ["survived: x.py:2:1  1  ->  2", "3 of 4 changes were noticed (75%), in 5 s"]
