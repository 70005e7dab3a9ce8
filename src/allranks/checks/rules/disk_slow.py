"""The folder that checkpoints go to is slow.

## How it is found
How long 1 MiB took to be written through to the disk (fsync) there.

## Why it matters
A disk that takes a second for 1 MiB is broken, full of other people's writes, or a network filesystem in
trouble: each save stops all ranks for as long as the slowest takes.

## What to do
`iostat -x 1` on that node; save elsewhere (`save.to`).

## Source
A timed write by the fact itself. A disk takes 5 to 30 ms, an NFS server in good order below 100 ms.

Topic: storage
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.checks.rules.disk_space import target
from allranks.core.untrusted import mapping, number

NEEDS = ("storage.paths", "system.allranks_home")
UNKNOWN_BLOCKS = False

MOST_SECONDS = 1.0


def check(context: Context) -> Findings:
    for view in context.machines:
        path = target(context, view)
        seconds = number(mapping(view.map("storage.paths").get(path)).get("write_seconds"))
        if seconds is not None and seconds > MOST_SECONDS:
            yield context.warn(
                view,
                key="save.to",
                saw=f"1 MiB took {seconds:.1f} s to be written to {path} on {view.name}",
                expected=f"less than {MOST_SECONDS:g} s",
                why="each save stops all ranks for as long as the slowest disk takes.",
                fix=f"iostat -x 1 on {view.name} shows who is writing; or save: {{to: …}} elsewhere",
            )
