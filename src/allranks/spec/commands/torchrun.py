"""`torchrun`, also as `python -m torch.distributed.run` (torch 2.13, `torch/distributed/run.py`)."""

from __future__ import annotations

from allranks.spec.commands._command import (
    Command,
    Form,
    Option,
    count,
    key,
    own,
    port,
    refused,
    whole,
)
from allranks.spec.problems import Wrong


def nodes(command: Command, value: str, said: str) -> None:
    """`2`, or `1:4` for an elastic number: the run has as many as its nodes say."""
    low, _, high = value.partition(":")
    if high and low != high:
        command.counts.setdefault("most nodes", (int(high) if high.isdigit() else 0, said))
        return
    command.count("nodes", type(value)(low) if type(value) is str else value, said)


def endpoint(command: Command, value: str, said: str) -> None:
    """`head:29500`: the first node leads, and the port is the run's."""
    host, colon, number = value.rpartition(":")
    if colon and number.isdigit():
        command.put("network.port", port(number), said)
    head(command, host if colon else value, said)


def head(command: Command, value: str, said: str) -> None:
    if "$" not in value and value not in ("", "localhost", "127.0.0.1", "::1"):
        command.said["head"] = value


def restarts(command: Command, value: str, said: str) -> None:
    if "$" not in value and whole(value):
        command.put("launch.restarts", whole(value), said)


def module(command: Command, value: str, said: str) -> None:
    command.module = True


OPTIONS = {
    "nnodes": Option(1, nodes),
    "nproc-per-node": count("ranks"),
    "rdzv-backend": own(),
    "rdzv-endpoint": Option(1, endpoint),
    "rdzv-id": own(),
    "rdzv-conf": own(),
    "standalone": Option(0, lambda command, value, said: command.count("nodes", "1", said)),
    "max-restarts": Option(1, restarts),
    "monitor-interval": own(),
    "start-method": own(),
    "event-log-handler": own(),
    "role": own(),
    "m": Option(0, module),
    "module": Option(0, module),
    "no-python": refused("allranks starts Python scripts.", "a script, or -m and a module"),
    "run-path": refused("allranks starts Python scripts.", "a script, or -m and a module"),
    "log-dir": own(),
    "r": own(),
    "redirects": own(),
    "t": own(),
    "tee": own(),
    "local-ranks-filter": own(),
    "duplicate-stdout-filters": own(),
    "duplicate-stderr-filters": own(),
    "node-rank": own(),
    "master-addr": Option(1, head),
    "master-port": key("network.port", port),
    "local-addr": own(),
    "logs-specs": own(),
    "numa-binding": own(),
    "signals-to-handle": own(),
    "shutdown-timeout": own(),
    "virtual-local-rank": own(0),
    "use-env": own(0),
}


def read(command: Command) -> None:
    if command.module:
        command.words.insert(0, "-m")
        command.module = False


def no_script(command: Command) -> None:
    if not command.words:
        raise Wrong("it names no script.", "torchrun needs one.", "command: [train.py, --lr, 1e-5]")


FORM = Form(
    programs=("torchrun",),
    modules=("torch.distributed.run", "torch.distributed.launch"),
    options=OPTIONS,
    read=read,
    ranks=True,
)
