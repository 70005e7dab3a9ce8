from __future__ import annotations

from allranks.probe.results import RENDEZVOUS
from tests.probe.case import Simulated, fires, silent


def on_head(sim: Simulated) -> None:
    sim.hears("n0", resolved={"10.0.0.1": ("127.0.1.1",)})


def itself(sim: Simulated) -> None:
    sim.breaks("n2", "n0", RENDEZVOUS, "wrong-node", text="n2 answers there", resolved="127.0.1.1")
    there = sim.dials["n2", "n0", RENDEZVOUS]
    sim.dials["n2", "n0", RENDEZVOUS] = type(there)(**{**vars(there), "answered_by": "n2"})


CASES = (
    fires(on_head, node="n0", verdict="block", saw="127.0.1.1"),
    fires(itself, node="n2", saw="answers itself"),
    silent(),
)
