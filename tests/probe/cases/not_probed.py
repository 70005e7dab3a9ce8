from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from allranks.probe.results import Link
from allranks.spec import Run
from tests.probe.case import Simulated, fires, silent


def held(sim: Simulated) -> None:
    sim.hears("n0", ports={39500: "Address already in use"})
    sim.dials = {key: dial for key, dial in sim.dials.items() if key[2] != "rendezvous"}


def silent_node(sim: Simulated) -> None:
    sim.unreached["n3"] = "n3: no answer within 60 s"


def silent_link(sim: Simulated) -> None:
    sim.rdma = [Link("n0", "n1", 12e9), Link("n0", "n2", None, reason="Unable to open device")]


def no_link(sim: Simulated) -> None:
    sim.rdma = [
        Link("n0", "n3", None, reason="Failed to modify QP to RTR"),
        Link("n1", "n2", None, reason="no"),
    ]


def no_link_of_an_unused_fabric(change: Callable[[Run], Run]):
    def both(sim: Simulated) -> None:
        no_link(sim)
        sim.run = change(sim.run)

    return both


CASES = (
    fires(no_link, verdict="warn", saw="between all pairs that were tried; n0 to n3: Failed to modify QP"),
    silent(no_link_of_an_unused_fabric(lambda run: replace(run, network=replace(run.network, fabric="tcp")))),
    silent(no_link_of_an_unused_fabric(lambda run: replace(run, env={"NCCL_IB_DISABLE": "1"}))),
    silent(no_link_of_an_unused_fabric(lambda run: replace(run, gpus=replace(run.gpus, model="cpu")))),
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
