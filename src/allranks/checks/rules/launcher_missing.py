"""The launcher's program is not on the head.

## What it looks at
With `launch: {with: slurm | mpi | pdsh | deepspeed}`: whether srun, mpirun or pdsh (which DeepSpeed's launcher
uses) is on the head's path. With
`launch: {with: ray}` and no address, where the run brings its own Ray cluster: whether ray is on every node's path.

## Why it matters
The launch ends at its first command.

## What to do
Install it, load its module (`environment: {modules: [...]}`), or use `launch: {with: ssh}`, which needs nothing
on the nodes.

## Source
The nodes' own PATH, with the training environment's programs first.
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.checks.context import Context
from allranks.core import Finding

NEEDS = ("software.programs",)
UNKNOWN_BLOCKS = False

PROGRAMS = {"slurm": "srun", "mpi": "mpirun", "pdsh": "pdsh", "deepspeed": "pdsh", "ray": "ray"}


def applies(context: Context) -> bool:
    return context.run.launch.with_ in PROGRAMS


def check(context: Context) -> Iterator[Finding]:
    launch = context.run.launch
    program = PROGRAMS[launch.with_]
    if launch.with_ == "ray" and launch.address is not None:
        return  # the cluster runs already, with a Ray of its own
    for view in context.answered if launch.with_ == "ray" else (context.head,):
        programs = view.map("software.programs")
        if programs and not programs.get(program):
            yield context.block(
                view,
                key="launch.with",
                saw=f"{program} is not on the path of {view.name}",
                expected=f"{program}, since launch.with is {launch.with_}",
                why="the launch would end at its first command.",
                fix=f"install {program} on {view.name}, load its module, or launch: {{with: ssh}}",
            )
