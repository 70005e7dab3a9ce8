from __future__ import annotations

from tests.probe.case import Simulated, fires, silent


def held(sim: Simulated) -> None:
    sim.hears("n0", ports={39500: "Address already in use"})
    sim.dials = {key: dial for key, dial in sim.dials.items() if key[2] != "rendezvous"}


def silent_node(sim: Simulated) -> None:
    sim.unreached["n3"] = "n3: no answer within 60 s"


CASES = (
    fires(held, node="n0", verdict="unknown", saw="port 39500 cannot be listened on"),
    fires(silent_node, node="n3", verdict="unknown"),
    silent(),
)
