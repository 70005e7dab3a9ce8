"""What holds for the suite as a whole."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.slowest import durations, table
from tests.tiers import TIERS, tier_of

TESTS = Path(__file__).parent
SOURCES = sorted(path for path in TESTS.rglob("*.py") if "golden" not in path.parts)


def test_helpers_come_from_the_package() -> None:
    """tests is a package. A path of one's own would give a helper a second name, and a second copy of its state."""
    modules = {path.stem for path in SOURCES if (path.parent / "__init__.py").exists()} - {"__init__"}
    texts = {path: path.read_text() for path in SOURCES}
    bare = [
        f"{path.relative_to(TESTS)}:{node.lineno}"
        for path, text in texts.items()
        if not modules.isdisjoint(re.findall(r"^ *from (\w+) import", text, re.MULTILINE))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.module in modules and not node.level
    ]
    assert not bare, "write `from tests.rig.rig import Rig`"


@pytest.mark.parametrize(
    ("marks", "tier"),
    [
        ((), "fast"),
        (("parametrize", "timeout"), "fast"),
        (("rig",), "slow"),
        (("parametrize", "training", "timeout"), "slow"),
        (("rig", "seldom"), "seldom"),
    ],
)
def test_marks_decide_the_tier(marks: tuple[str, ...], tier: str) -> None:
    assert tier_of(marks) == tier


def test_every_test_carries_its_tier(request: pytest.FixtureRequest) -> None:
    """`-m fast` chooses this one because the collection marked it."""
    assert [mark.name for mark in request.node.iter_markers() if mark.name in TIERS] == ["fast"]


def test_the_slowest_tests_and_files_are_told(tmp_path: Path) -> None:
    case = '<testcase classname="tests.{file}" name="{name}" time="{seconds}" />'
    cases = [
        case.format(file=file, name=name, seconds=seconds)
        for file, name, seconds in [
            ("a.test_a", "test_1", 2.5),
            ("a.test_a", "test_2", 2),
            ("test_b", "test_3", 3),
        ]
    ]
    (tmp_path / "slow.xml").write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
    found = durations([tmp_path / "slow.xml", tmp_path / "not-run.xml"])
    assert found[0] == (3.0, "tests/test_b.py", "test_3")
    lines = table(found).splitlines()
    assert [line.split()[-1] for line in lines if "::" in line][-1] == "tests/a/test_a.py::test_2"
    assert lines[-2:] == ["     4.5  tests/a/test_a.py", "     3.0  tests/test_b.py"]
