from __future__ import annotations

from allranks.probe.results import RENDEZVOUS
from tests.probe.case import Simulated, fires, silent


def all_dropped(sim: Simulated) -> None:
    for node in sim.nodes[1:]:
        sim.breaks(node.name, "n0", RENDEZVOUS, "dropped")


def another_machine(sim: Simulated) -> None:
    sim.breaks("n2", "n0", RENDEZVOUS, "dropped", resolved="10.0.9.9")


def one(outcome: str, **more):
    return lambda sim: sim.breaks("n1", "n0", RENDEZVOUS, outcome, **more)


CASES = (
    fires(
        all_dropped,
        node="n0",
        verdict="block",
        saw="none of the other 3 nodes reaches it: 10.0.0.1:39500 does not",
    ),
    fires(
        lambda sim: sim.breaks("n1", "n0", RENDEZVOUS, "refused"),
        node="n1",
        fix="on n0: iptables -I INPUT -p tcp --dport 39500",
    ),
    fires(another_machine, node="n2", saw="n0 does not have that address, it has 10.0.0.1"),
    fires(
        lambda sim: sim.breaks("n3", "n0", RENDEZVOUS, "unknown-name", text="Name or service not known"),
        node="n3",
        saw="does not resolve",
    ),
    fires(one("no-route"), node="n1", saw="out of reach", fix="on n1: ip route get 10.0.0.1"),
    fires(one("no-route", resolved=None), node="n1", fix="on n1: ip route get 10.0.0.1"),
    # It met itself: `name-loops-back` says so.
    silent(one("wrong-node", answered_by="n1")),
    fires(one("forbidden"), node="n1", fix="on n1: iptables -L OUTPUT -n -v; let TCP to port 39500 out"),
    fires(one("wrong-node", answered_by="n3"), node="n1", saw="is n3, not n0", fix="nodes: {n0: 10.0.0.1}"),
    fires(one("stranger"), node="n1", fix="nodes: {n0: 10.0.0.1}"),
    fires(one("unknown-name"), node="n1", fix="nodes: {n0: 10.0.0.1}"),
    fires(one("dropped", resolved="10.0.9.9"), node="n1", saw="(10.0.9.9)", fix="nodes: {n0: 10.0.0.1}"),
    # Of two nodes one is as likely to blame as the other: it is the one that was tried from.
    fires(one("dropped"), nodes=2, node="n1"),
    silent(),
)
