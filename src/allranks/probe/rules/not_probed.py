"""A part of the probe could not be tried.

## How it is found
A node's listener did not start, a node did not answer, another process holds the rendezvous port on the head, or
`ib_write_bw` fails although the nodes have RDMA devices.

## Why it matters
allranks does not know whether it works, because it was not tried.

## What to do
The finding gives the reason. `allranks check` names the process that holds a port.

## Source
The node program's own answers.

Topic: network
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.core import Finding
from allranks.plan.environment import TCP_FABRICS
from allranks.probe.judge import Context
from allranks.spec import CPU, Run

ABSENT = "not installed"
"""Without perftest on a node nothing can be measured there; that says nothing of the link."""


def check(context: Context) -> Iterator[Finding]:
    for node, reason in context.results.unreached.items():
        yield context.unknown(
            node,
            saw=f"it could not be probed: {reason}",
            expected="an answer of every node",
            why="allranks does not know whether it works, because it was not tried.",
            fix="allranks check FILE",
        )
    yield from over_rdma(context)
    head = context.results.ears.get(context.head)
    for port, reason in (head.ports if head else {}).items():
        if reason is not None:
            yield context.unknown(
                context.head,
                key="network.port",
                saw=f"port {port} cannot be listened on: {reason}",
                expected="a free port for the rendezvous",
                why="whether the others reach it could not be tried; torchrun would not get it either.",
                fix=f"allranks check names the process that holds it; or network: {{port: {port + 1}}}",
            )


def over_rdma(context: Context) -> Iterator[Finding]:
    """One finding for each link, or one for all if no pair has a figure: then the fault is not that of a link."""
    links = context.results.rdma
    broken = [link for link in links if not link.bytes_per_second and ABSENT not in link.reason]
    if not broken or is_unused(context.run):
        return
    if any(link.bytes_per_second for link in links):
        for link in broken:
            yield context.unknown(
                link.source,
                saw=f"the RDMA link to {link.target} could not be measured: {link.reason}",
                expected="a figure of ib_write_bw, as from the other pairs",
                why="allranks does not know whether NCCL can use this link.",
                fix=f"ib_write_bw on {link.target}, then ib_write_bw {link.target} on {link.source}, prints the reason",
            )
        return
    first = broken[0]
    # ib_write_bw may fail for reasons of its own, and the collective shows whether NCCL gets on.
    yield context.warn(
        key="network.fabric",
        saw=f"ib_write_bw failed between all pairs that were tried; {first.source} to {first.target}: {first.reason}",
        expected="a figure of ib_write_bw from each pair",
        why="allranks does not know whether NCCL can use RDMA; without it the run would be slow.",
        fix=f"ib_write_bw on {first.target}, then ib_write_bw {first.target} on {first.source}, prints the reason; or "
        "network: {fabric: tcp}",
    )


def is_unused(run: Run) -> bool:
    """Whether the run cannot use RDMA anyway."""
    off = run.network.fabric.lower() in TCP_FABRICS or run.env.get("NCCL_IB_DISABLE") == "1"
    return off or run.gpus.model == CPU
