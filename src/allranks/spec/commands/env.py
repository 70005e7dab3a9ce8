"""Programs that start another one as it is, perhaps with variables: `env`, `nohup`, `exec`, `time`, `numactl`."""

from __future__ import annotations

import re

from allranks.spec.commands._command import Command, Form, own, refused
from allranks.spec.problems import Wrong

OPTIONS = {
    "u": refused("a variable that is not set needs no word.", "leave it out", takes=1),
    "unset": refused("a variable that is not set needs no word.", "leave it out", takes=1),
    "i": refused("the ranks need the variables of their environment.", "leave it out"),
    "ignore-environment": refused("the ranks need the variables of their environment.", "leave it out"),
    "p": own(0),
    "v": own(0),
    "cpunodebind": own(),
    "membind": own(),
    "interleave": own(),
    "n": own(),
    "N": own(),
    "C": own(),
    "m": own(),
    "physcpubind": own(),
    "localalloc": own(0),
    "l": own(0),
    "c": own(),
}


def read(command: Command) -> None:
    words = command.words
    while words and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*=[\s\S]*", words[0]):
        name, _, value = words.pop(0).partition("=")
        command.variable(name, value)
    if not words:
        raise Wrong("it names no script.", "torchrun needs one.", "command: [train.py, --lr, 1e-5]")


FORM = Form(
    programs=("env", "nohup", "exec", "time", "numactl", "nice", "ionice", "stdbuf", "setsid", "unbuffer"),
    options=OPTIONS,
    read=read,
)
