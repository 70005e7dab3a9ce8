"""`timeout 2h torchrun train.py`: coreutils' time limit before a command."""

from __future__ import annotations

import re

from allranks.spec.commands._command import Command, Form, each, no_script, own

PROGRAM = "timeout"
WITH_VALUE = re.compile(r"-[ks]|--(kill-after|signal)")


def behind(words: list[str]) -> list[str]:
    """The command that gets the limit: the words behind the options and the duration."""
    rest = words[1:]
    while rest and rest[0].startswith("-"):
        del rest[: 2 if WITH_VALUE.fullmatch(rest[0]) else 1]
    return rest[1:]


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
)
