"""The launcher's program is not on the head.

## What it looks at
With `launch: {with: slurm | mpi | pdsh | ray}`: whether srun, mpirun, pdsh or ray is on the head's path.

## Why it matters
The launch ends at its first command.

## What to do
Install it, load its module (`environment: {modules: [...]}`), or use `launch: {with: ssh}`, which needs nothing
on the nodes.

## Source
The head's own PATH, with the training environment's programs first.
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.checks.case import fires, silent
from allranks.checks.context import Context
from allranks.words import Finding

NEEDS = ("software.programs",)
UNKNOWN_BLOCKS = False

PROGRAMS = {"slurm": "srun", "mpi": "mpirun", "pdsh": "pdsh", "ray": "ray"}


def applies(context: Context) -> bool:
    return context.run.launch.with_ in PROGRAMS


def check(context: Context) -> Iterator[Finding]:
    program = PROGRAMS[context.run.launch.with_]
    programs = context.head.map("software.programs")
    if programs and not programs.get(program):
        yield context.block(
            context.head,
            key="launch.with",
            saw=f"{program} is not on the path of {context.head.name}",
            expected=f"{program}, since launch.with is {context.run.launch.with_}",
            why="the launch would end at its first command.",
            fix=f"install {program} on {context.head.name}, load its module, or launch: {{with: ssh}}",
        )


CASES = (
    fires("cpu", {"run/launch/with_": "slurm"}, node="node-0", verdict="block", saw="srun"),
    silent("cpu", {"run/launch/with_": "slurm", "node-0/software/programs": {"srun": "/usr/bin/srun"}}),
    silent("cpu"),
)
