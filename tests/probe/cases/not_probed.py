from __future__ import annotations

from allranks.probe.results import Link
from tests.probe.case import Simulated, fires, silent


def held(sim: Simulated) -> None:
    sim.hears("n0", ports={39500: "Address already in use"})
    sim.dials = {key: dial for key, dial in sim.dials.items() if key[2] != "rendezvous"}


def silent_node(sim: Simulated) -> None:
    sim.unreached["n3"] = "n3: no answer within 60 s"


def silent_link(sim: Simulated) -> None:
    sim.rdma = [Link("n0", "n1", 12e9), Link("n0", "n2", None, reason="Unable to open device")]


CASES = (
    fires(
        silent_link,
        node="n0",
        verdict="unknown",
        saw="the RDMA link to n2 could not be measured: Unable to open",
    ),
    fires(held, node="n0", verdict="unknown", saw="port 39500 cannot be listened on"),
    fires(silent_node, node="n3", verdict="unknown"),
    silent(),
)
