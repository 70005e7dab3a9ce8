"""`sudo -E torchrun train.py`: the ranks run as the user whom allranks connects as."""

from __future__ import annotations

from allranks.spec.commands._command import Command, Form, each, no_script, own, refused, take_variables


def read(command: Command) -> None:
    take_variables(command)
    if not command.words:
        raise no_script()
    command.left_out(
        "sudo",
        "the ranks run as the user whom allranks connects as.",
        "nodes: [root@node1, …], if they need root",
    )


FORM = Form(
    programs=("sudo",),
    options={
        **each("u user g group p prompt C close-from h host", own()),
        **each(
            "D chdir",
            refused("the ranks start in the run's folder.", "train: {workdir: the folder}", takes=1),
        ),
        **each("E preserve-env H set-home n non-interactive b background S stdin i login k", own(0)),
    },
    read=read,
    prefixes=False,
)
