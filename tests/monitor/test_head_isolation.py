"""The head's own link: all other nodes vanish at once, and none of them is blamed by chance of order."""

from __future__ import annotations

import pytest

from allranks.core import BLOCK
from allranks.monitor.head_isolation import _one_lives
from tests.monitor.told import Run

LEASE = {"why": "nothing was heard from the keeper for 30 s"}


def run_of(nodes=3, **more):
    run = Run(nodes, head="n0", lease_seconds=30.0, **more)
    assert run.train(1, 60) == 60 and run.said == []
    return run


def dark(run, first, last, nodes):
    """Seconds in which nothing is heard of `nodes`, and nobody moves."""
    for at in range(first, last + 1):
        run.second(float(at), 60, False, dark=nodes)


def broken(run, at, *nodes):
    """Where data waited for it, TCP gives up after 20 s, in no order."""
    for node in nodes:
        run.event(at, "lost", node, why="the connection broke: timed out")


def ended(run, at, *nodes):
    """Their link is back: what they did in the meantime, by their own clocks."""
    for node in nodes:
        run.event(at, "joined", node)
        run.event(at - 20.0, "lease-lost", node, **LEASE)
        run.event(at - 19.9, "stopping", node, why="lease-lost")
        run.event(at - 15.0, "rank-gone", node, node, pid=100 + node, code=-15)
        run.event(at - 14.0, "torchrun-ended", node, code=1)


def blamed(run):
    return {
        (name, node)
        for _, name, _, node, _ in run.alarms()
        if name in ("head-cut-off", "node-lost", "lease-lost")
    }


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_all_other_nodes_that_vanish_at_once_are_the_heads_own_link(order):
    run = run_of()
    dark(run, 61, 82, (1, 2))
    broken(run, 82.8, *order)
    dark(run, 83, 114, (1, 2))
    assert blamed(run) == {("head-cut-off", "n0")}
    (warned, _, _, _, _), (stopped, _, verdict, _, _) = run.alarms("head-cut-off")
    assert warned <= 72.0 and verdict == BLOCK and stopped <= 114.0
    ended(run, 115.0, *order)
    found = run.watch.verdict(120.0)
    assert found is not None and (found.cause, found.where.node) == ("head-cut-off", "n0")


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_the_ends_of_their_leases_blame_nobody_when_the_link_is_back(order):
    """Back before the keeper's own limit: the first to speak is no culprit."""
    run = run_of()
    dark(run, 61, 82, (1, 2))
    broken(run, 82.8, *order)
    dark(run, 83, 105, (1, 2))
    ended(run, 106.0, *order)
    assert blamed(run) == {("head-cut-off", "n0")}
    assert [f[2] for f in run.alarms("head-cut-off")] == ["warn", "block"]
    run.event(
        106.5, "exception", 0, 0, type="RuntimeError", message="Connection reset by peer", communication=True
    )
    found = run.watch.verdict(120.0)
    assert found is not None and (found.cause, found.where.node) == ("head-cut-off", "n0")


def test_a_rank_on_the_head_that_loses_its_peers_first_hides_nothing():
    """gloo sees its connections end before ten seconds of silence are over."""
    run = run_of()
    dark(run, 61, 68, (1, 2))
    run.event(
        68.0, "exception", 0, 0, type="RuntimeError", message="Connection closed by peer", communication=True
    )
    dark(run, 69, 71, (1, 2))
    found = run.watch.verdict(71.0)
    assert found is not None and found.where.node not in ("n1", "n2")


def test_two_of_four_nodes_that_vanish_at_once_are_two_lost_nodes():
    run = run_of(4)
    dark(run, 61, 120, (1, 2))
    assert blamed(run) == {("node-lost", "n1"), ("node-lost", "n2")}


def test_nodes_that_vanish_one_after_the_other_are_lost_nodes():
    run = run_of()
    dark(run, 61, 66, (1,))
    dark(run, 67, 130, (1, 2))
    assert ("node-lost", "n1") in blamed(run) and "head-cut-off" not in {name for name, _ in blamed(run)}


def test_of_two_nodes_nobody_can_say_which_end_it_was():
    run = run_of(2)
    dark(run, 61, 90, (1,))
    assert blamed(run) == {("node-lost", "n1")}


def test_a_spare_that_is_still_heard_shows_that_the_heads_link_lives():
    run = run_of()
    for at in range(61, 90):
        run.watch.run.aside_at = float(at)
        dark(run, at, at, (1, 2))
    assert blamed(run) == {("node-lost", "n1"), ("node-lost", "n2")}


def test_one_machine_that_carries_all_other_nodes_is_not_the_heads_link():
    run = run_of()
    for node in (1, 2):
        run.event(60.1, "supervisor", node, process={"boot_id": "one machine"})
    dark(run, 61, 90, (1, 2))
    assert "head-cut-off" not in {name for name, _ in blamed(run)}


def test_a_link_that_comes_back_in_time_is_over_and_a_later_loss_is_that_nodes():
    run = run_of()
    dark(run, 61, 75, (1, 2))
    step = run.train(76, 400, 60)
    assert [f[2] for f in run.alarms("head-cut-off")] == ["warn"]
    for at in range(401, 435):
        run.second(float(at), step, False, dark=(2,))
    assert run.alarms()[-1][1:4] == ("node-lost", "warn", "n2")
    broken(run, 435.0, 2)
    for at in range(436, 470):
        run.second(float(at), step, False, dark=(2,))
    found = run.watch.verdict(470.0)
    assert found is not None and found.where.node == "n2"


def test_many_nodes_are_asked_in_one_pass_what_is_asked_of_each():
    import random

    chance = random.Random(7)
    for _ in range(300):
        run = Run(4, head="n0").watch.run
        for node in run.nodes.values():
            node.boot_id = chance.choice(["", "b1", "b2", "b3"])
            node.lost_at = chance.choice([None, 5.0])
            node.lost_why = chance.choice(["", "closed", "the connection broke"])
        nodes = chance.sample(list(run.nodes.values()), 3)
        assert _one_lives(run, nodes) == any(run.machine_lives(node) for node in nodes)
