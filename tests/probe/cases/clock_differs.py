from __future__ import annotations

from dataclasses import replace

from allranks.probe.results import RENDEZVOUS
from tests.probe.case import Simulated, fires, silent


def off(seconds: float, error: float = 0.001):
    def change(sim: Simulated) -> None:
        sim.dials["n1", "n0", RENDEZVOUS] = replace(sim.dials["n1", "n0", RENDEZVOUS], clock=(seconds, error))

    return change


CASES = (
    fires(off(90.0), node="n1", verdict="warn", saw="1 min 30 s ahead of n0's"),
    fires(off(-5.0), node="n1", verdict="note", saw="behind n0's"),
    silent(off(1.0)),
    fires(off(61.0, 1.0), verdict="warn"),
    fires(off(60.9, 1.0), verdict="note"),
    fires(off(3.0, 1.0), verdict="note"),
    silent(off(2.9, 1.0)),
    silent(),
)
