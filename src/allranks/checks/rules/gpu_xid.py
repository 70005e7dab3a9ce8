"""The driver has reported serious errors of a GPU since boot.

## How it is found
The Xid lines of the kernel's log (root can read it; elsewhere this is unknown).

## Why it matters
Some Xids come from a program's mistake (13, 31, 43, 45) and say nothing about the hardware. Others announce the
next failure. These are memory errors (48, 63, 64, 94, 95, 140), a GPU off the bus (79) or that does not initialize
(143), NVLink errors (74, 136), and firmware that no longer answers (119, 120). With 154 the driver itself asks to
reset the GPU or to restart the node.

## What to do
Reboot the node, and have the GPU replaced if the same Xid returns.

## Source
NVIDIA's Xid catalog, https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html. One table holds what
allranks takes from it (`allranks/core/xids.py`); the check, the verdicts and the restarts all judge by it.

Topic: gpus
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, on_gpus
from allranks.core import xids
from allranks.core.text import plural
from allranks.core.untrusted import number

NEEDS = ("driver.xids",)
UNKNOWN_BLOCKS = False
applies = on_gpus


def check(context: Context) -> Findings:
    for view in context.machines:
        for entry in view.maps("driver.xids"):
            xid, last = entry.get("xid"), str(entry.get("last") or "")
            row, count = xids.known(xid, last), int(number(entry.get("count")) or 1)
            if row is not None and row.severity != xids.PROGRAM:
                yield context.warn(
                    view,
                    saw=f"GPU {entry.get('bus_id')} of {view.name}: Xid {xid} ({row.meaning}), "
                    f"{plural(count, 'time')} since boot",
                    expected="no such error",
                    why="what happened once since boot is likely to end a long run.",
                    fix=f"reboot {view.name}, and have the GPU replaced if it returns",
                    evidence=(last,) if last else (),
                )
