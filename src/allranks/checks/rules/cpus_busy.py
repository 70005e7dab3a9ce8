"""The processors of a machine are busy before the run starts.

## How it is found
The load averages of the last minute and of the last five minutes, on every machine with GPUs. If both are at least the
number of processors, something has kept them all busy for minutes. If a scheduler gave the run only some of the
processors, nothing is said: the others may be busy for somebody else.

## Why it matters
Each rank needs a processor to feed its GPU, and its data loader's workers need more. Ranks that wait for a processor
make the ranks of all nodes wait, since every collective waits for the last rank.

## What to do
`top` on that node shows what runs. Linux also counts processes that wait for a disk or for NFS: if the load is high
and the processors are idle, look for processes in state D (`ps -eo state,pid,cmd`), which wait for storage.

## Source
proc_loadavg(5); uptime(1), on what a load average means for several processors.

Topic: nodes
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, on_gpus
from allranks.core.untrusted import number

NEEDS = ("system.load", "system.cpus")
UNKNOWN_BLOCKS = False
applies = on_gpus


def check(context: Context) -> Findings:
    for view in context.machines:
        # The last minute alone may be one busy moment; five minutes alone may be a program that has just ended.
        averages = [number(value) for value in view.list("system.load")[:2]]
        online, usable = view.number("system.cpus.online"), view.number("system.cpus.usable")
        known = [value for value in averages if value is not None]
        if len(known) == 2 and online and usable == online and min(known) >= online:
            yield context.note(
                view,
                saw=f"{view.name} has a load of {known[0]:.1f} ({known[1]:.1f} over five minutes) "
                f"on {online:.0f} processors",
                expected=f"a load below {online:.0f} before the run starts",
                why="ranks that wait for a processor slow every collective of all ranks.",
                fix=f"see with top what runs on {view.name}; end what is yours, or use another node",
            )
