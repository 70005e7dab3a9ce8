"""Whose signal it was: what is read once of all ranks is what is asked of each."""

from __future__ import annotations

import random
from types import SimpleNamespace

from allranks.monitor.culprit import LATE_SECONDS
from allranks.monitor.killed_ranks import Ends
from tests.monitor.told import Run


def asked_of_each(run, node, at):
    ends = [n.ended_at for n in run.nodes.values() if n.name != node and n.ended_code]
    for rank in run.ranks.values():
        if rank.node != node:
            ends += [event.at for event in rank.exceptions]
            ends += [rank.ended_at] if rank.code not in (None, 0) else []
    return any(end is not None and end < at - LATE_SECONDS for end in ends)


def test_an_error_on_another_node_is_found_in_one_pass():
    chance = random.Random(3)
    for _ in range(300):
        run = Run(3, 2).watch.run
        for node in run.nodes.values():
            node.ended_code, node.ended_at = chance.choice([None, 0, 1]), chance.choice([None, 5.0, 9.0])
        for rank in run.ranks.values():
            rank.end_code = rank.gone_code = chance.choice([None, 0, 1, -15])
            rank.gone_at = chance.choice([None, 4.0, 8.0])
            rank.exceptions = [SimpleNamespace(at=chance.choice([3.0, 7.0]))] if chance.random() < 0.3 else []
        known = Ends(run)
        for node in (*run.nodes, None):
            for at in (4.0, 6.0, 10.0):
                assert known.went_wrong_elsewhere(node, at) == asked_of_each(run, node, at)
        assert {node: [r.rank for r in ranks] for node, ranks in known.on_node.items()} == {
            name: [r.rank for r in run.ranks.values() if r.node == name] for name in run.nodes
        }
