"""Who is at fault: the exact set of bad nodes from pair results, in seeded cases and in hostile ones."""

from __future__ import annotations

import random
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.probe.blame import Blame, blame, slow
from allranks.probe.rounds import chosen, tournament
from tests.probe.case import seeded

NAMES = [f"n{i}" for i in range(16)]
ALL = list(permutations(NAMES, 2))


@pytest.mark.parametrize("seed", range(200))
def test_the_exact_set_of_bad_nodes_among_16(seed: int) -> None:
    bad, links, failed, pairs = seeded(seed)
    found = blame(pairs, failed)
    assert found.nodes == set(bad)
    assert found.inbound == {n for n, side in bad.items() if side != "outbound"}
    assert found.outbound == {n for n, side in bad.items() if side != "inbound"}
    assert set(found.links) == links


@pytest.mark.parametrize("seed", range(200))
def test_the_exact_set_of_slow_nodes_among_16(seed: int) -> None:
    bad, links, late, pairs = seeded(seed)
    chance = random.Random(-seed)
    rates = {
        pair: 1.1e9 * chance.uniform(0.8, 1.2) * (chance.uniform(0.02, 0.35) if pair in late else 1.0)
        for pair in pairs
    }
    found, usual = slow(rates)
    assert found.nodes == set(bad) and set(found.links) == links
    assert 0.6e9 < usual < 1.4e9


@pytest.mark.parametrize("seed", range(50))
def test_bad_nodes_are_found_by_some_rounds_alone(seed: int) -> None:
    """As with 100 nodes: each has met 15 others, in both directions."""
    chance = random.Random(seed)
    names = [f"n{i}" for i in range(100)]
    bad = set(chance.sample(names, 3))
    tried = [pair for pairs in chosen(names) for a, b in pairs for pair in ((a, b), (b, a))]
    found = blame(tried, [pair for pair in tried if bad & set(pair)])
    assert found == Blame(frozenset(bad), frozenset(bad))


def test_two_nodes_that_fail_in_one_direction_are_a_link() -> None:
    pairs = [("a", "b"), ("b", "a")]
    assert blame(pairs, [("a", "b")]) == Blame(links=(("a", "b"),))
    assert blame(pairs, pairs) == Blame(everywhere=True)
    assert blame(pairs, []) == Blame()


def test_one_bad_node_of_three_is_named_and_not_the_others() -> None:
    pairs = list(permutations("abc", 2))
    assert blame(pairs, [p for p in pairs if "c" in p]).nodes == {"c"}


@pytest.mark.parametrize("seed", range(100))
def test_a_slow_node_of_three_is_named_and_healthy_ones_are_not(seed: int) -> None:
    chance = random.Random(seed)
    rates = {pair: 1.1e9 * chance.uniform(0.8, 1.2) for pair in permutations("abc", 2)}
    assert slow(rates)[0] == Blame()
    late = {pair: rate * chance.uniform(0.02, 0.3) if "c" in pair else rate for pair, rate in rates.items()}
    assert slow(late)[0] == Blame(frozenset("c"), frozenset("c"))


@settings(max_examples=150, deadline=None)
@given(st.sets(st.sampled_from(ALL), max_size=240), st.sets(st.sampled_from(ALL), min_size=1))
def test_every_failed_pair_is_explained_and_nobody_is_blamed_for_nothing(failed, tried) -> None:
    failed &= tried
    found = blame(sorted(tried), sorted(failed))
    if found.everywhere:
        assert failed == tried
        return
    for pair in failed:
        assert pair[0] in found.outbound or pair[1] in found.inbound or pair in found.links
    assert set(found.links) <= failed
    for node in found.inbound:
        assert any(pair[1] == node for pair in failed)
    for node in found.outbound:
        assert any(pair[0] == node for pair in failed)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 16, 17, 100])
def test_rounds_are_disjoint_and_hold_every_pair_once(count: int) -> None:
    names = [f"n{i}" for i in range(count)]
    rounds = tournament(names)
    assert len(rounds) == (0 if count == 1 else count - 1 + count % 2)
    for pairs in rounds:
        nodes = [node for pair in pairs for node in pair]
        assert len(nodes) == len(set(nodes))
    pairs = [frozenset(pair) for one in rounds for pair in one]
    assert len(pairs) == len(set(pairs)) == count * (count - 1) // 2


def test_some_rounds_of_many_let_each_node_meet_as_many_others() -> None:
    names = [f"n{i}" for i in range(100)]
    rounds = chosen(names, 15)
    assert len(rounds) == 15
    met = {name: sum(name in pair for pairs in rounds for pair in pairs) for name in names}
    assert set(met.values()) == {15}
    assert chosen(names, None) == tournament(names)
