from __future__ import annotations

from dataclasses import replace

from allranks.probe.results import RENDEZVOUS
from tests.probe.case import Simulated, fires, silent


def translated(sim: Simulated) -> None:
    there = sim.dials["n1", "n0", RENDEZVOUS]
    sim.dials["n1", "n0", RENDEZVOUS] = replace(there, saw="192.0.2.7")


CASES = (fires(translated, node="n1", verdict="warn", saw="sees 192.0.2.7"), silent())
