"""Programs that start another one as it is, perhaps with variables: `env`, `nohup`, `exec`, `time`, `numactl`."""

from __future__ import annotations

from allranks.spec.commands._command import Command, Form, each, no_script, own, refused, take_variables

OPTIONS = {
    **each("u unset", refused("a variable that is not set needs no word.", "leave it out", takes=1)),
    **each(
        "i ignore-environment", refused("the ranks need the variables of their environment.", "leave it out")
    ),
    **each("p v l localalloc", own(0)),
    **each("cpunodebind membind interleave n N C c m physcpubind", own()),
}


def read(command: Command) -> None:
    take_variables(command)
    if not command.words:
        raise no_script()


FORM = Form(
    programs=("env", "nohup", "exec", "time", "numactl", "nice", "ionice", "stdbuf", "setsid", "unbuffer"),
    options=OPTIONS,
    read=read,
)
