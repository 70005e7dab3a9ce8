"""`mpirun` and `mpiexec`, of OpenMPI (5.0, mpirun's manual), MPICH and Intel (hydra: `-genv`, `-ppn`, `-f`)."""

from __future__ import annotations

import re

from allranks.spec.commands._command import (
    Command,
    Form,
    Option,
    count,
    each,
    hostfile,
    hosts,
    key,
    own,
    put_hosts,
    refused,
)
from allranks.spec.commands._words import Unknown
from allranks.spec.problems import Wrong


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


SEVERAL = refused("each rank runs the same command.", "one command for all ranks", takes=1)
OPTIONS = {
    **each("np n c", count("all tasks")),
    **each("npernode N ppn perhost", count("tasks")),
    **each("H host hosts", Option(1, named)),
    **each("hostfile machinefile f default-hostfile", Option(1, hostfile)),
    "x": Option(1, variable),
    **each("genv env", Option(2, pair)),
    "map-by": Option(1, mapped),
    **each("wdir wd", key("train.workdir")),
    **each("app configfile", SEVERAL),
    **each("mca gmca prtemca pmixmca", own(2)),
    **each("rank-by bind-to am prefix output-filename display launcher bootstrap iface", own()),
    **each("genvall bind-to-none allow-run-as-root oversubscribe use-hwthread-cpus report-bindings", own(0)),
    **each("tag-output timestamp-output verbose v q quiet display-map l prepend-rank print-rank-map", own(0)),
    **each("nolocal merge-stderr-to-stdout", own(0)),
}


def read(command: Command) -> None:
    if ":" in command.words:
        raise Wrong(
            "`:` between two commands.", "each rank runs the same command.", "one command for all ranks"
        )
    nodes = command.keys.get("nodes")
    if nodes is not None and nodes != "localhost":
        command.put("launch.with", "mpi", "mpirun")


FORM = Form(
    programs=("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun"),
    options=OPTIONS,
    read=read,
    prefixes=False,
)
