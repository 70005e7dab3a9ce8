"""`timeout 2h torchrun train.py`: coreutils' time limit before a command."""

from __future__ import annotations

from allranks.spec.commands._command import Command, Form, each, no_script, own

PROGRAM = "timeout"


def read(command: Command) -> None:
    if not command.words:
        raise no_script()
    duration = command.words.pop(0)
    command.left_out(
        f"{PROGRAM} {duration}",
        "a run ends with its training.",
        "allranks stop RUN --save when the time is over",
    )


FORM = Form(
    programs=(PROGRAM,),
    options={
        **each("k kill-after s signal", own()),
        **each("preserve-status foreground f p v verbose", own(0)),
    },
    short=True,
    read=read,
    before=1,
)
