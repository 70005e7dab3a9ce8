"""An InfiniBand or RoCE port runs below the rate of the same port on other nodes.

## How it is found
The rate of every active port that the ranks may use, against the same device and port of the other nodes, if it is
the same hardware. The ports of one node are not compared with each other: storage and compute ports differ by
design. If all nodes have the same rates, in whatever order, nothing is said.

## Why it matters
A bad cable makes a port fall back to fewer lanes or a lower generation (HDR 200 to 100 or 50 Gb/s): it still
works, and every collective waits for it.

## What to do
Reseat or replace the cable; `iblinkinfo` shows the width and speed of both ends. If the port is for something else,
leave it out with NCCL_IB_HCA.

## Source
`/sys/class/infiniband/*/ports/*/rate`.

Topic: network
"""

from __future__ import annotations

from collections import Counter

from allranks.checks import fabric
from allranks.checks.context import Context, Findings, View
from allranks.core.untrusted import mapping, number

NEEDS = ("infiniband.devices",)
UNKNOWN_BLOCKS = False
applies = fabric.wants_infiniband


def check(context: Context) -> Findings:
    rates = {view: port_rates(context, view) for view in context.machines}
    if len({tuple(sorted(found.values())) for found in rates.values()}) < 2:
        return
    for view, found in rates.items():
        for port, rate in found.items():
            counts = Counter(other[port] for other in rates.values() if port in other)
            # Of a tie the faster one: no cable makes a port faster than it is.
            usual = max(counts, key=lambda one: (counts[one], one))
            if rate < usual:
                device, index, _ = port
                yield context.warn(
                    view,
                    saw=f"{device}/{index} of {view.name} runs at {rate:g} Gb/s",
                    expected=f"{usual:g} Gb/s, as the same port of other nodes",
                    why="every collective that crosses nodes waits for it.",
                    fix="reseat or replace its cable (iblinkinfo shows both ends), or leave the port out: NCCL_IB_HCA",
                )


def port_rates(context: Context, view: View) -> dict[tuple[str, str, str], float]:
    """`(device, port, hardware)` to Gb/s, of the active ports."""
    kinds = {name: str(mapping(one).get("type")) for name, one in view.map("infiniband.devices").items()}
    return {
        (device, index, kinds.get(device, "")): rate
        for device, index, port in fabric.chosen_ports(context, view)
        if port.get("state") == "ACTIVE" and (rate := number(port.get("rate_gbits"))) is not None
    }
