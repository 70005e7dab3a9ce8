"""`colossalai run` (ColossalAI 0.5, `colossalai/cli/launcher`)."""

from __future__ import annotations

from allranks.spec.commands._command import (
    MODULE,
    Command,
    Form,
    Option,
    count,
    each,
    hostfile,
    hosts,
    key,
    own,
    port,
    put_hosts,
    refused,
)
from allranks.spec.commands.torchrun import head


def named(command: Command, value: str, said: str) -> None:
    put_hosts(command, hosts(value.replace("@", ",")), said)


OPTIONS = {
    **each("H host include", Option(1, named)),
    **each("extra-launch-args ssh-port", own()),
    "hostfile": Option(1, hostfile),
    "exclude": refused("a run file lists the nodes that train.", "nodes without them", takes=1),
    "num-nodes": count("nodes"),
    "nproc-per-node": count("ranks"),
    "master-port": key("network.port", port),
    "master-addr": Option(1, head),
    "m": MODULE,
}

FORM = Form(
    programs=("colossalai",), options=OPTIONS, task=("run",), example="colossalai run train.py", ranks=True
)
