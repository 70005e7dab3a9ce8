from __future__ import annotations

from tests.probe.case import Simulated, fires, silent


def everywhere(sim: Simulated) -> None:
    for pair in sim.rates:
        sim.rates[pair] = 0.0


CASES = (
    fires(lambda sim: sim.slows("n1", "n2", 0.0), node="n1", verdict="block", saw="no data comes through"),
    fires(everywhere, verdict="block", saw="between any of them"),
    silent(),
)
