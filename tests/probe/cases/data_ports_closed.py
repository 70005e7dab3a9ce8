from __future__ import annotations

from allranks.probe.results import DATA
from tests.probe.case import Simulated, fires, silent


def one(sim: Simulated) -> None:
    sim.cuts("n2", outbound=False, kinds=[DATA])


def everywhere(sim: Simulated) -> None:
    for node in sim.nodes:
        sim.cuts(node.name, kinds=[DATA])


CASES = (
    fires(one, node="n2", verdict="block", saw="closed to 3 other nodes (dropped 3)"),
    fires(everywhere, verdict="block", saw="no data port of any node is open"),
    silent(),
)
