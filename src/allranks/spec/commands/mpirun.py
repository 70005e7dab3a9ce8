"""`mpirun` and `mpiexec`, of OpenMPI (5.0, mpirun's manual), MPICH and Intel (hydra: `-genv`, `-ppn`, `-f`)."""

from __future__ import annotations

import re

from allranks.spec.commands._command import (
    Command,
    Form,
    Option,
    Unknown,
    count,
    hosts,
    key,
    own,
    put_hosts,
    refused,
)
from allranks.spec.commands.deepspeed import hostfile
from allranks.spec.problems import Wrong, shown


def named(command: Command, value: str, said: str) -> None:
    """`-H a:8,b:8`."""
    if not isinstance(value, Unknown):
        put_hosts(command, hosts(value), said)


def variable(command: Command, value: str, said: str) -> None:
    """`-x NAME=value`; `-x NAME` takes what mpirun itself sees, which the nodes do not."""
    name, equals, given = value.partition("=")
    if not equals:
        found = command.environ.get(name)
        if name in ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH"):
            return
        if found is None:
            command.left_out(
                said,
                f"the value of {name} is not known here.",
                f"env: {{{name}: its value}}, or secrets: [{name}]",
            )
            return
        given = found
    command.variable(name, given, said)


def pair(command: Command, value: list[str], said: str) -> None:
    """`-genv NAME value` of MPICH and Intel MPI."""
    command.variable(value[0], value[1], said)


def mapped(command: Command, value: str, said: str) -> None:
    """`ppr:8:node` says the ranks of a node; other words bind processes, which the ranks do not need."""
    if match := re.match(r"ppr:([0-9]+):node", value):
        command.count("tasks", match.group(1), said)


def several(command: Command, value: str, said: str) -> None:
    raise Wrong(f"{shown(said)}.", "each rank runs the same command.", "one command for all ranks")


OPTIONS = {
    "np": count("all tasks"),
    "n": count("all tasks"),
    "c": count("all tasks"),
    "npernode": count("tasks"),
    "N": count("tasks"),
    "ppn": count("tasks"),
    "perhost": count("tasks"),
    "H": Option(1, named),
    "host": Option(1, named),
    "hosts": Option(1, named),
    "hostfile": Option(1, hostfile),
    "machinefile": Option(1, hostfile),
    "f": Option(1, hostfile),
    "default-hostfile": Option(1, hostfile),
    "x": Option(1, variable),
    "genv": Option(2, pair),
    "env": Option(2, pair),
    "genvall": own(0),
    "map-by": Option(1, mapped),
    "rank-by": own(),
    "bind-to": own(),
    "bind-to-none": own(0),
    "mca": own(2),
    "gmca": own(2),
    "prtemca": own(2),
    "pmixmca": own(2),
    "am": own(),
    "allow-run-as-root": own(0),
    "oversubscribe": own(0),
    "use-hwthread-cpus": own(0),
    "report-bindings": own(0),
    "tag-output": own(0),
    "prefix": own(),
    "wdir": key("train.workdir"),
    "wd": key("train.workdir"),
    "output-filename": own(),
    "timestamp-output": own(0),
    "verbose": own(0),
    "v": own(0),
    "q": own(0),
    "quiet": own(0),
    "display-map": own(0),
    "display": own(),
    "launcher": own(),
    "bootstrap": own(),
    "iface": own(),
    "l": own(0),
    "prepend-rank": own(0),
    "print-rank-map": own(0),
    "nolocal": own(0),
    "merge-stderr-to-stdout": own(0),
    "app": refused("each rank runs the same command.", "one command for all ranks", takes=1),
    "configfile": refused("each rank runs the same command.", "one command for all ranks", takes=1),
}


def read(command: Command) -> None:
    if ":" in command.words:
        several(command, ":", ":")
    nodes = command.keys.get("nodes")
    if nodes is not None and nodes != "localhost":
        command.put("launch.with", "mpi", "mpirun")


FORM = Form(
    programs=("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun"),
    options=OPTIONS,
    read=read,
    short=False,
    prefixes=False,
)
