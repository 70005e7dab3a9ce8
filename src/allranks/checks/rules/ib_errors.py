"""An InfiniBand port has counted errors.

## How it is found
The error counters of the active ports that the ranks may use: link downed, symbol errors, receive errors, since they
were last cleared.

## Why it matters
A link that goes down for a second ends NCCL's connections over it ("IBV_WC_RETRY_EXC_ERR"), and with them
the run.

## What to do
Reseat or replace the cable; clear the counters (`perfquery -R`) and look again after an hour.

## Source
InfiniBand architecture specification, port counters; `/sys/class/infiniband/*/ports/*/counters`.

Topic: network
"""

from __future__ import annotations

from allranks.checks import fabric
from allranks.checks.context import Context, Findings
from allranks.checks.phrases import listed
from allranks.core.untrusted import mapping, number

NEEDS = ("infiniband.devices",)
UNKNOWN_BLOCKS = False
applies = fabric.wants_infiniband

MOST = {"link_downed": 10, "symbol_error": 1000, "port_rcv_errors": 1000, "link_error_recovery": 10}
"""Ports count a few at each reboot of a node or switch; a bad cable counts thousands."""


def check(context: Context) -> Findings:
    for view in context.machines:
        for device, index, port in fabric.chosen_ports(context, view):
            if port.get("state") != "ACTIVE":
                continue
            counters = mapping(port.get("counters"))
            seen = {name: n for name, most in MOST.items() if (n := number(counters.get(name)) or 0) > most}
            if seen:
                counted = listed(f"{name} {n:,.0f}" for name, n in seen.items())
                yield context.warn(
                    view,
                    saw=f"{device}/{index} of {view.name} has counted {counted}",
                    expected=listed(f"{name} at most {MOST[name]:,}" for name in MOST if name in seen),
                    why="a link that goes down in a run ends NCCL's connections over it.",
                    fix="reseat or replace its cable, clear the counters with perfquery -R, look again",
                )
