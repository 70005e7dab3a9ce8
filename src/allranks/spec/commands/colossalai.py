"""`colossalai run` (ColossalAI 0.5, `colossalai/cli/launcher`)."""

from __future__ import annotations

from allranks.spec.commands._command import (
    Command,
    Form,
    Option,
    count,
    hosts,
    key,
    own,
    port,
    put_hosts,
    refused,
)
from allranks.spec.commands.deepspeed import hostfile
from allranks.spec.commands.torchrun import head, module
from allranks.spec.commands.torchrun import read as put_module
from allranks.spec.problems import Wrong, shown

OPTIONS = {
    "H": Option(1, lambda command, value, said: put_hosts(command, hosts(value), said)),
    "host": Option(1, lambda command, value, said: put_hosts(command, hosts(value), said)),
    "hostfile": Option(1, hostfile),
    "include": Option(
        1, lambda command, value, said: put_hosts(command, hosts(value.replace("@", ",")), said)
    ),
    "exclude": refused("the nodes that train are named.", "nodes without them", takes=1),
    "num-nodes": count("nodes"),
    "nproc-per-node": count("ranks"),
    "master-port": key("network.port", port),
    "master-addr": Option(1, head),
    "extra-launch-args": own(),
    "ssh-port": own(),
    "m": Option(0, module),
}


class Colossal(Form):
    def take(self, command: Command) -> None:
        if command.words[1:2] != ["run"]:
            raise Wrong(
                f"colossalai {shown(' '.join(command.words[1:2]))} starts no training.",
                "of it, `run` starts one.",
                "colossalai run train.py",
            )
        del command.words[1]
        super().take(command)


FORM = Colossal(programs=("colossalai",), options=OPTIONS, read=put_module, ranks=True)
