from __future__ import annotations

from tests.probe.case import Simulated, fires, silent


def missing(sim: Simulated) -> None:
    sim.hears(
        "n1", interface="ib0", address=None, port=None, reason="there is no interface ib0; there are eth0, lo"
    )
    for node in sim.nodes:
        sim.dials.pop((node.name, "n1", "data"), None)
        sim.rates.pop((node.name, "n1", "data"), None)


CASES = (fires(missing, node="n1", verdict="block", saw="there is no interface ib0"), silent())
