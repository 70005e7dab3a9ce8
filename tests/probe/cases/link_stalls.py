from __future__ import annotations

from tests.probe.case import Simulated, fires, silent


def everywhere(sim: Simulated) -> None:
    for pair in sim.rates:
        sim.rates[pair] = 0.0


def some(sim: Simulated) -> None:
    for pair in list(sim.rates)[:3]:
        sim.rates[pair] = 0.0


CASES = (
    fires(lambda sim: sim.slows("n1", "n2", 0.0), node="n1", verdict="block", saw="no data comes through"),
    fires(everywhere, verdict="block", saw="between any of them"),
    fires(everywhere, nodes=2, saw="through to it"),  # two links may have one end to blame
    fires(some, node="n0", saw="connects with n3"),
    silent(),
)
