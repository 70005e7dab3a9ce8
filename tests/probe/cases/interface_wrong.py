from __future__ import annotations

from allranks.probe.results import DATA
from tests.probe.case import Simulated, fires, silent


def bridge(sim: Simulated) -> None:
    sim.hears("n2", interface="docker0", address="172.17.0.1")
    for node in ("n0", "n1", "n3"):
        sim.breaks(node, "n2", DATA, "refused")


def other_network(sim: Simulated) -> None:
    sim.hears("n2", interface="ib0", address="10.9.0.3")


def told_loopback(sim: Simulated) -> None:
    sim.hears("n2", interface="lo", address="127.0.0.1")
    for node in ("n0", "n1", "n3"):
        sim.breaks(node, "n2", DATA, "refused")


CASES = (
    fires(told_loopback, node="n2", verdict="block", saw="its ranks are told lo (127.0.0.1)"),
    fires(
        bridge, node="n2", verdict="block", saw="docker0 (172.17.0.1), which no other node reaches: refused 3"
    ),
    fires(other_network, node="n2", verdict="note", saw="the others reach it there"),
    silent(),
)
