"""The list of tests that are too slow for the fast tier."""

from __future__ import annotations

from pathlib import Path

from tests import measured

LIMIT = measured.LIMIT


def test_each_listed_function_is_there() -> None:
    root = measured.LIST.parents[1]
    texts = {
        name: (root / name).read_text("utf-8")
        for name in {one.partition("::")[0] for one in measured.listed()}
    }
    assert texts
    for one in measured.listed():
        file, _, name = one.partition("::")
        assert f"def {name}(" in texts[file], f"{one} is gone: python -m tests.measured writes the list again"


def test_a_function_is_listed_above_the_limit_and_stays_until_half_of_it() -> None:
    before = frozenset(("a::old", "a::gone", "a::better", "a::elsewhere"))
    fast = {"a::new": LIMIT * 1.01, "a::quick": LIMIT, "a::old": LIMIT * 0.51, "a::better": LIMIT * 0.49}
    others = {"a::elsewhere": LIMIT * 0.4, "a::training": 9.0}
    assert measured.judged(fast, others, before) == ["a::gone", "a::new", "a::old"]


def test_the_seconds_are_those_of_a_test_on_average(tmp_path: Path) -> None:
    case = '<testcase classname="tests.a.test_b" name="test_c[{}]" time="{}"/>'
    cases = case.format("x::y", 0.1) + case.format(2, 0.3)
    (tmp_path / "fast.xml").write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    assert measured.means(tmp_path / "fast.xml") == {"tests/a/test_b.py::test_c": 0.2}
