"""Output of many nodes, folded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from allranks.spec.names import expand
from allranks.transport.folding import folded


def test_equal_output_stands_once_and_the_odd_one_by_name() -> None:
    said = [(f"node{n}", "5.15.0") for n in range(1, 31) if n != 7]
    assert folded([*said, ("node7", "5.4.0")]) == [("node[1-6,8-30]", "5.15.0"), ("node7", "5.4.0")]


def test_nothing_said_is_nothing() -> None:
    assert folded([]) == []


@given(st.lists(st.tuples(st.integers(0, 400).map(lambda n: f"gpu-{n:03d}"), st.sampled_from("abc"))))
def test_unfolding_gives_back_who_said_what(said: list[tuple[str, str]]) -> None:
    told = {(node, text) for names, text in folded(said) for node in expand(names)}
    assert told == set(said)
