"""The rendezvous has a publicly routable address.

## How it is found
The head's address: whether it is one that the whole Internet can reach.

## Why it matters
torch's TCPStore has no authentication: whoever reaches its port reads and writes the rendezvous of the run, and gloo
and NCCL accept data from whoever the store names. DeepSpeed and torch unpickle objects that ranks send each other, so a
stranger can run code in your training.

## What to do
Use the addresses of a private network in `nodes`, or close the ports to all but the nodes.

## Source
torch security policy (SECURITY.md): distributed features are "for internal communication only", without
authentication or encryption.

Topic: network
"""

from __future__ import annotations

from allranks.checks import fabric
from allranks.checks.context import Context, Findings
from allranks.core.untrusted import listing, mapping

UNKNOWN_BLOCKS = False
applies = fabric.several_machines


def check(context: Context) -> Findings:
    head = context.run.cluster.head
    candidates = [head.address]
    if fabric.address_of(head.address) is None:
        resolved = mapping(context.head.map("network.resolved").get(head.address))
        candidates = [str(address) for address in listing(resolved.get("addresses"))]
    public = [a for a in candidates if (found := fabric.address_of(a)) is not None and found.is_global]
    if public and not closed(context):
        yield context.warn(
            context.head,
            key="nodes",
            saw=f"the rendezvous would listen at {public[0]}:{context.run.network.rendezvous_port}, a public address",
            expected="an address of a private network",
            why="torch's store has no authentication: whoever reaches the port can join the run.",
            fix="give the nodes' private addresses in nodes, or close the port to all but the nodes",
        )


def closed(context: Context) -> bool:
    """Whether the head's own packet filter refuses what is not let in by name."""
    rules = context.head.map("firewall.input")
    shut = rules.get("policy") == "drop" or rules.get("rejects") is True
    return shut and "anywhere" not in (listing(rules.get("everything_from")))
