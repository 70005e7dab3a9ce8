from __future__ import annotations

from dataclasses import replace

from allranks.probe.results import RENDEZVOUS
from tests.probe.case import Simulated, fires, silent


def off(seconds: float):
    def change(sim: Simulated) -> None:
        sim.dials["n1", "n0", RENDEZVOUS] = replace(sim.dials["n1", "n0", RENDEZVOUS], clock=(seconds, 0.001))

    return change


CASES = (
    fires(off(90.0), node="n1", verdict="warn", saw="90 s ahead of n0's"),
    fires(off(-5.0), node="n1", verdict="note", saw="behind n0's"),
    silent(off(1.0)),
    silent(),
)
