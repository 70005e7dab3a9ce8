"""On a node, the head's name resolves to the node itself.

## How it is found
On the node, the head's name resolves to an address of 127.0.0.0/8, or the node's connection to the head reaches the
node itself. On the head it is a warning if the other nodes reach the head all the same.

## Why it matters
Debian's installer writes `127.0.1.1 NAME` into /etc/hosts. The head may then listen for the others on its loopback, or
a node waits for itself. gloo without an interface advertises such an address to all others ("connection refused" with
127.0.1.1 in it).

## What to do
Write addresses in place of names into `nodes`, or correct /etc/hosts on the nodes in the finding.

## Source
hosts(5); torch 2.13: TCPStore resolves MASTER_ADDR on each node and listens on all addresses;
ProcessGroupGloo resolves its own host name.

Topic: network
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.core import BLOCK, WARN, Finding
from allranks.core.net import is_loopback
from allranks.probe.judge import Context
from allranks.probe.results import OK


def check(context: Context) -> Iterator[Finding]:
    if not context.several_hosts:
        return
    for node, ear in context.results.ears.items():
        address = context.addresses[context.head]
        loops = [a for a in ear.resolved.get(address, ()) if is_loopback(a)]
        dial = context.rendezvous.get(node)
        met = dial is not None and dial.outcome != OK and dial.answered_by == node
        if loops or met:
            # The head's rendezvous listens on all its addresses, and the others have reached it.
            joined = context.joins >= set(context.results.ears)
            reached = node == context.head and joined and not is_loopback(ear.address)
            yield context.say(
                WARN if reached else BLOCK,
                node,
                key="nodes",
                saw=f"{address} is {loops[0]} here" if loops else f"at {address} this node answers itself",
                expected=f"an address that leads to {context.head}",
                why="the others reach it, but a program that passes this address on sends them to themselves."
                if reached
                else "the head would be reachable by itself alone."
                if node == context.head
                else "it would wait for itself.",
                fix=f"nodes: {{{context.head}: its address}}, or correct /etc/hosts on {node}",
            )
