"""No line may hold `diagnose` up: every expression of ours, on the lines that are the worst for it."""

from __future__ import annotations

import re
import time

import pytest

from benchmarks._worst_lines import FOUND_BY_MATCH, expressions, has_endless_repeat, line, parsed, recipes

ALL = list(expressions())
SHORT, LONG = 1024, 4096
RUNS = 5
LOOKS = 3
GROWTH = 10
"""A line four times as long costs four times as much if the cost is linear, sixteen times if it is quadratic."""


def test_every_room_of_diagnose_is_looked_at():
    names = {name.partition(".")[0] for name, _, _ in ALL}
    assert {"facts", "lines", "evidence", "progress", "cuda-oom", "collective_mismatch"} <= names
    assert len(ALL) > 200 and set(FOUND_BY_MATCH) == {"prefixes._LAYER", "lines._HEADED"}


def test_no_repetition_is_without_a_limit():
    """So that no expression can cost more than a fixed number of steps a character. A leading `.*` cost a second."""
    assert [(name, e.pattern) for name, _, e in ALL if has_endless_repeat(parsed(e))] == []


@pytest.mark.parametrize(
    "pattern", [r".*\bdist\.(\w{4,30})\(", r"a(?:b|c+)d", r"(?!.*x)y", r"(?:a{1,3}){2,}"]
)
def test_a_repetition_without_a_limit_is_found_at_any_depth(pattern):
    assert has_endless_repeat(parsed(re.compile(pattern)))


def cost(expression, line):
    """CPU time of this thread, the least of some runs: what else the machine does only adds."""
    best = float("inf")
    for _ in range(RUNS):
        began = time.thread_time()
        expression.search(line)
        best = min(best, time.thread_time() - began)
    return best


def grows(literal, expression, floor):
    """The first line of which four times as much costs more than `GROWTH` times as much. A line is only looked at
    closely where it costs more than `floor`, the cost of one that needs few steps a character."""
    for recipe in recipes(literal, expression):
        short, long = line(recipe, literal, SHORT), line(recipe, literal, LONG)
        began = time.thread_time()
        expression.search(long)
        if time.thread_time() - began < floor:
            continue
        if all(cost(expression, long) > GROWTH * cost(expression, short) for _ in range(LOOKS)):
            return recipe
    return None


@pytest.fixture(scope="module")
def floor():
    """What a line costs that is read with 100 steps a character, on this machine and now."""
    return cost(re.compile(r"a{1,100}!"), "a" * LONG)


@pytest.mark.lengthy
def test_cost_grows_with_the_length_of_a_line_and_no_faster(floor):
    slow = {name + " " + literal: found for name, literal, e in ALL if (found := grows(literal, e, floor))}
    assert slow == {}


def test_a_quadratic_expression_is_noticed(floor):
    assert grows("!", re.compile(r".*!\d"), floor)
