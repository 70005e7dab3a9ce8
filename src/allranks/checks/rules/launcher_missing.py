"""The launcher's program is not on the head.

## How it is found
Whether the program of the launcher that `launch.with` names (srun, mpirun, pdsh, which DeepSpeed's launcher uses,
flux) is on the head's path. A run that starts its own Ray cluster needs ray on every node's path.

## Why it matters
The launch ends at its first command.

## What to do
Install it, load its module (`environment: {modules: [...]}`), or use `launch: {with: ssh}`, which needs nothing
on the nodes.

## Source
The nodes' own PATH, with the training environment's programs first.

Topic: software
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.spec.launchers import DEFAULT

NEEDS = ("software.programs",)
UNKNOWN_BLOCKS = False


def applies(context: Context) -> bool:
    launcher = context.run.launcher
    return launcher.program is not None and launcher.needs_program(context.run.launch)


def check(context: Context) -> Findings:
    launcher = context.run.launcher
    program = str(launcher.program)
    for view in context.answered if launcher.on_every_node else (context.head,):
        programs = view.map("software.programs")
        if programs and not programs.get(program):
            yield context.block(
                view,
                key="launch.with",
                saw=f"{program} is not on the path of {view.name}",
                expected=f"{program}, since launch.with is {launcher.name}",
                why="the launch would end at its first command.",
                fix=f"install {program} on {view.name}, load its module, or launch: {{with: {DEFAULT}}}",
            )
