"""The driver has reported serious errors of a GPU since boot.

## What it looks at
The Xid lines of the kernel's log (root can read it; elsewhere this is unknown).

## Why it matters
Some Xids come from a program's mistake (13, 31, 43, 45) and say nothing about the hardware. Others announce
the next failure: memory errors (48, 63, 64, 94, 95), a GPU off the bus (79), NVLink errors (74), firmware
that no longer answers (119, 120).

## What to do
Reboot the node, and have the GPU replaced where the same Xid returns.

## Source
NVIDIA "Xid errors" (catalogue and recommended actions).
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.checks import gpus
from allranks.checks.case import Unreadable, fires, silent
from allranks.checks.context import Context
from allranks.words import Finding

NEEDS = ("driver.xids",)
UNKNOWN_BLOCKS = False
applies = gpus.applies

SERIOUS = {
    48: "double-bit memory error",
    62: "internal micro-controller halt",
    63: "memory row remapping",
    64: "row remapping failed",
    74: "NVLink error",
    79: "GPU has fallen off the bus",
    92: "many correctable memory errors",
    94: "contained memory error",
    95: "uncontained memory error",
    119: "firmware (GSP) does not answer",
    120: "firmware (GSP) error",
    136: "NVLink state machine error",
    140: "uncorrectable memory error",
    154: "a recovery action is asked for",
}


def check(context: Context) -> Iterator[Finding]:
    for view in context.machines:
        for entry in view.maps("driver.xids"):
            xid = entry.get("xid")
            if xid in SERIOUS:
                yield context.warn(
                    view,
                    saw=f"GPU {entry.get('bus_id')} of {view.name}: Xid {xid} ({SERIOUS[xid]}), "
                    f"{entry.get('count')} times since boot",
                    expected="no such error",
                    why="what happened once since boot is likely to end a long run.",
                    fix=f"reboot {view.name}, and have the GPU replaced where it returns",
                    evidence=(str(entry.get("last")),) if entry.get("last") else (),
                )


XID = {"bus_id": "0000:53:00.0", "xid": 79, "count": 1, "last": "GPU has fallen off the bus."}
CASES = (
    fires("a100", {"node-1/driver/xids": [XID]}, node="node-1", saw="Xid 79"),
    silent("a100", {"node-1/driver/xids": [{**XID, "xid": 13}]}),
    silent("a100", {"node-1/driver/xids": Unreadable("dmesg: Operation not permitted")}),
)
