from __future__ import annotations

from dataclasses import replace

from tests.probe.case import Simulated, collective, fires, silent


def climbed(sim: Simulated) -> None:
    nodes = [node.name for node in sim.nodes]
    tcp = replace(collective("tcp", nodes, "nccl", 0.4), environment={"NCCL_P2P_DISABLE": "1"})
    p2p = collective("p2p", nodes, "nccl", 0.02)
    sim.collectives += [tcp, p2p]


CASES = (fires(climbed, verdict="note", saw="p2p is the fastest way that passed"), silent())
