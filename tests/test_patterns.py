"""No line may hold anything of ours up: every expression, on the lines that are worst for it."""

from __future__ import annotations

import re

import pytest

from benchmarks import _patterns
from benchmarks._worst_lines import expressions, worst_lines
from tests.harness.cost import cost

SIZE = 4096
MOST = 0.020


def cost_for(call, line):
    return cost(lambda: call(line), enough=MOST / 4)


def costs(found):
    lines = worst_lines("", found.expression, SIZE)
    return max((cost_for(getattr(found.expression, found.way), line) for line in lines), default=0.0)


@pytest.fixture(scope="module")
def found():
    return list(_patterns.patterns())


@pytest.mark.lengthy
def test_the_expressions_of_the_sources_are_found(found):
    assert len(found) > 230 and {one.way for one in found} == {"search", "match", "fullmatch"}
    rooms = {one.place.partition("/")[0] for one in found}
    assert {"core", "node", "spec", "launch", "monitor", "runs", "checkpoints", "output", "cli"} <= rooms
    assert all(_patterns.NEVER_SO.values())


@pytest.mark.lengthy
def test_no_expression_needs_more_than_20_ms_for_a_line_of_4_kb(found):
    assert {one.place: took for one in found if (took := costs(one)) > MOST} == {}


@pytest.mark.lengthy
def test_no_expression_of_diagnose_needs_more_than_20_ms():
    most = {}
    for name, literal, expression in expressions():
        took = max(cost_for(expression.search, line) for line in worst_lines(literal, expression, SIZE))
        if took > MOST:
            most[name, literal] = took
    assert most == {}


def test_one_that_needs_more_is_noticed():
    slow = re.compile(r"(\w+)=(\S*)")
    assert cost_for(slow.search, "_" * SIZE) > 10 * cost_for(re.compile(r"(?<!\w)(\w+)=").search, "_" * SIZE)
    assert any(line.startswith("_" * 99) for line in worst_lines("", slow, SIZE))
