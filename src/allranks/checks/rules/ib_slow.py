"""An InfiniBand or RoCE port runs below the others' rate.

## What it looks at
The rate of every active port, against the rate that most active ports have.

## Why it matters
A bad cable makes a port fall back to fewer lanes or a lower generation (HDR 200 to 100 or 50 Gb/s): it still
works, and every collective waits for it.

## What to do
Reseat or replace the cable; `iblinkinfo` shows the width and speed of both ends.

## Source
`/sys/class/infiniband/*/ports/*/rate`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from allranks.checks import fabric
from allranks.checks.context import Context
from allranks.core import Finding
from allranks.core.untrusted import number

NEEDS = ("infiniband.devices",)
UNKNOWN_BLOCKS = False
applies = fabric.wants_infiniband


def check(context: Context) -> Iterator[Finding]:
    rates = [
        (view, device, index, rate)
        for view in context.machines
        for device, index, port in fabric.active(view)
        if (rate := number(port.get("rate_gbits")))
    ]
    counts = Counter(rate for *_, rate in rates)
    if len(counts) < 2:
        return
    usual = counts.most_common(1)[0][0]
    for view, device, index, rate in rates:
        if rate < usual:
            yield context.warn(
                view,
                saw=f"{device}/{index} of {view.name} runs at {rate:g} Gb/s",
                expected=f"{usual:g} Gb/s, as most ports of the run",
                why="every collective that crosses nodes waits for it.",
                fix="reseat or replace its cable; iblinkinfo shows width and speed at both ends",
            )
