from __future__ import annotations

from allranks.probe.results import RENDEZVOUS
from tests.probe.case import Simulated, fires, silent


def all_dropped(sim: Simulated) -> None:
    for node in sim.nodes[1:]:
        sim.breaks(node.name, "n0", RENDEZVOUS, "dropped")


def another_machine(sim: Simulated) -> None:
    sim.breaks("n2", "n0", RENDEZVOUS, "dropped", resolved="10.0.9.9")


CASES = (
    fires(all_dropped, node="n0", verdict="block", saw="none of the other 3 nodes reaches it"),
    fires(lambda sim: sim.breaks("n1", "n0", RENDEZVOUS, "refused"), node="n1", saw="refuses the connection"),
    fires(another_machine, node="n2", saw="n0 does not have that address, it has 10.0.0.1"),
    fires(
        lambda sim: sim.breaks("n3", "n0", RENDEZVOUS, "unknown-name", text="Name or service not known"),
        node="n3",
        saw="does not resolve",
    ),
    silent(),
)
