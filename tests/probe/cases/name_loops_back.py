from __future__ import annotations

from allranks.probe.results import RENDEZVOUS
from tests.probe.case import Simulated, fires, silent


def on_head(sim: Simulated) -> None:
    sim.hears("n0", resolved={"10.0.0.1": ("127.0.1.1",)})


def on_head_and_unreached(sim: Simulated) -> None:
    on_head(sim)
    sim.dials = {key: dial for key, dial in sim.dials.items() if key[2] != RENDEZVOUS}


def on_head_and_its_interface_is_loopback(sim: Simulated) -> None:
    """With `interface: auto` its ranks would also take their data there."""
    on_head(sim)
    sim.hears("n0", interface="lo", address="127.0.0.1", source="127.0.0.1", way="lo")


def itself(sim: Simulated) -> None:
    sim.breaks("n2", "n0", RENDEZVOUS, "wrong-node", text="n2 answers there", resolved="127.0.1.1")
    there = sim.dials["n2", "n0", RENDEZVOUS]
    sim.dials["n2", "n0", RENDEZVOUS] = type(there)(**{**vars(there), "answered_by": "n2"})


CASES = (
    # The others reach the head: its rendezvous listens on all addresses.
    fires(on_head, node="n0", verdict="warn", saw="127.0.1.1"),
    fires(on_head_and_unreached, node="n0", verdict="block", saw="127.0.1.1"),
    fires(on_head_and_its_interface_is_loopback, node="n0", verdict="block", saw="127.0.1.1"),
    fires(lambda sim: sim.hears("n1", resolved={"10.0.0.1": ("127.0.1.1",)}), node="n1", verdict="block"),
    fires(itself, node="n2", saw="answers itself"),
    silent(),
)
