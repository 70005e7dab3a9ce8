"""`torchrun`, also as `python -m torch.distributed.run` (torch 2.13, `torch/distributed/run.py`)."""

from __future__ import annotations

from allranks.spec.commands._command import (
    MODULE,
    NOT_PYTHON,
    Command,
    Form,
    Option,
    count,
    each,
    key,
    local_rank_note,
    own,
    port,
    port_or_any,
    whole,
)
from allranks.spec.commands._words import Unknown


def nodes(command: Command, value: str, said: str) -> None:
    """`2`, or `1:4` for an elastic number: the run has as many as its nodes say."""
    low, _, high = value.partition(":")
    if high and low != high:
        command.counts.setdefault("most nodes", (int(high) if high.isdigit() else 0, said))
        return
    command.count("nodes", value if isinstance(value, Unknown) else low, said)


def endpoint(command: Command, value: str, said: str) -> None:
    """`head:29500`: the first node leads, and the port is the run's."""
    host, colon, number = value.rpartition(":")
    if colon and number.isdigit() and int(number):
        command.put("network.port", port(number), said)
    head(command, host if colon else value, said)


def head(command: Command, value: str, said: str) -> None:
    if "$" not in value and value not in ("", "localhost", "127.0.0.1", "::1"):
        command.said["head"] = value


def restarts(command: Command, value: str, said: str) -> None:
    if "$" not in value and whole(value):
        command.put("launch.restarts", whole(value), said)


OPTIONS = {
    "nnodes": Option(1, nodes),
    "nproc-per-node": count("ranks"),
    "rdzv-endpoint": Option(1, endpoint),
    "standalone": Option(0, lambda command, value, said: command.count("nodes", "1", said)),
    "max-restarts": Option(1, restarts),
    **each("m module", MODULE),
    **each("no-python run-path", NOT_PYTHON),
    "master-addr": Option(1, head),
    "master-port": key("network.port", port_or_any),
    **each("rdzv-backend rdzv-id rdzv-conf monitor-interval start-method event-log-handler role", own()),
    **each("log-dir r redirects t tee local-ranks-filter duplicate-stdout-filters", own()),
    **each("duplicate-stderr-filters node-rank local-addr logs-specs numa-binding", own()),
    **each("signals-to-handle shutdown-timeout", own()),
    "virtual-local-rank": own(0),
    "use-env": Option(0, lambda command, value, said: command.said.update(local_rank="no")),
}


class Torchrun(Form):
    def take(self, command: Command) -> None:
        older = command.words[0] == LAUNCH
        super().take(command)
        if older:  # without --use-env it adds the argument (torch/distributed/run.py, config_from_args)
            local_rank_note(command, LAUNCH)


LAUNCH = "torch.distributed.launch"
FORM = Torchrun(
    programs=("torchrun",),
    modules=("torch.distributed.run", LAUNCH),
    options=OPTIONS,
    ranks=True,
)
