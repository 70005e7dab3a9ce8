"""A node does not reach the head's rendezvous port.

## How it is found
Every node opens a TCP connection to the rendezvous port at the address that its ranks get. A listener of the probe
answers with its node's name. Failures are: no answer (dropped), refused, no route, an unresolved name, and an
answer from another machine or another program.

## Why it matters
The ranks meet there. If packets to the port are dropped, torch's TCPStore tries again silently for 15
minutes (901 s were measured); its error then names no node.

## What to do
Dropped or forbidden: open the port in the head's packet filter or the provider's security group. Refused: a filter
rejects the connection, or another machine has this address. No route, another machine: write the head's address on the
network that all nodes share into `nodes`.

## Source
connect(2); torch 2.13 `TCPStore`; the listener proves by the probe's key which node it is.

Topic: network
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.checks.phrases import listed
from allranks.core import Finding
from allranks.core.net import is_loopback
from allranks.probe.judge import Context
from allranks.probe.results import OK, Dial


def check(context: Context) -> Iterator[Finding]:
    failed = [d for d in context.rendezvous.values() if d.outcome != OK and not loops(context, d)]
    kinds = {(dial.outcome, saw(context, dial)) for dial in failed}
    if len(kinds) == 1 and len(failed) == len(context.rendezvous) > 1:
        yield finding(context, failed[0], context.head, f"none of the other {len(failed)} nodes reaches it: ")
        return
    for dial in failed:
        yield finding(context, dial, dial.source, "")


def loops(context: Context, dial: Dial) -> bool:
    """Whether the node has connected to itself: that is `name-loops-back`."""
    return dial.answered_by == dial.source or (context.several_hosts and is_loopback(dial.resolved))


def finding(context: Context, dial: Dial, node: str, before: str) -> Finding:
    return context.block(
        node,
        key="network.port",
        saw=f"{before}{saw(context, dial)}",
        expected=f"{context.head} answers on port {dial.port}",
        why="the ranks there would wait for the rendezvous, up to 15 minutes without an error.",
        fix=fix(context, dial),
    )


def saw(context: Context, dial: Dial) -> str:
    place = f"{dial.address}:{dial.port}"
    if dial.resolved and dial.resolved != dial.address:
        place += f" ({dial.resolved})"
    said = {
        "dropped": f"{place} does not answer: packets are dropped ({dial.text})",
        "refused": f"{place} refuses the connection although {context.head} listens",
        "forbidden": f"this node's own packet filter forbids the connection to {place}",
        "unknown-name": f"{dial.address} does not resolve ({dial.text})",
        "wrong-node": f"{place} is {dial.answered_by}, not {context.head}",
        "stranger": f"{place} is not {context.head}: {dial.text}",
        "no-route": f"{place} is out of reach: {dial.text}",
        "silent": f"{place} accepts the connection, but no data comes through: {dial.text}",
    }.get(dial.outcome, f"{place} fails: {dial.text}")
    return said + ("; " + wrong if (wrong := wrong_address(context, dial)) else "")


def wrong_address(context: Context, dial: Dial) -> str:
    """A note if the head does not have the address that was dialled."""
    head, dialled = context.results.ears.get(context.head), dial.resolved or dial.address
    if head is None or not head.addresses or dialled in head.addresses or not is_address(dialled):
        return ""
    own = [address for address in sorted(head.addresses) if not address.startswith(("127.", "::1", "fe80"))]
    return f"{context.head} does not have that address, it has {listed(own)}"


def is_address(text: str) -> bool:
    return ":" in text or text.replace(".", "").isdigit()


def fix(context: Context, dial: Dial) -> str:
    head = context.results.ears.get(context.head)
    wrong = wrong_address(context, dial) or dial.outcome in ("wrong-node", "stranger", "unknown-name")
    if wrong and head is not None and head.address:
        return f"nodes: {{{context.head}: {head.address}}}, or the head's address on the network that all nodes share"
    if dial.outcome == "no-route":
        return f"on {dial.source}: ip route get {dial.resolved or dial.address}"
    if dial.outcome == "forbidden":
        return f"on {dial.source}: iptables -L OUTPUT -n -v; let TCP to port {dial.port} out"
    opened = f"iptables -I INPUT -p tcp --dport {dial.port} -j ACCEPT"
    return f"on {context.head}: {opened}, or the provider's security group"
