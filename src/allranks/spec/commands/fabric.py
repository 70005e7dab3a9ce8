"""`fabric run` (Lightning Fabric 2.5, `lightning/fabric/cli.py`), which hands its settings to the script in
environment variables."""

from __future__ import annotations

from allranks.spec.commands._command import Command, Form, Option, key, own, port
from allranks.spec.commands.torchrun import head


def told(name: str) -> Option:
    return Option(1, lambda command, value, said: command.variable(name, value, said))


def devices(command: Command, value: str, said: str) -> None:
    """A number, `auto`, or the GPUs by their indices: `0,1`."""
    chosen = [one for one in value.split(",") if one]
    if "," in value:
        command.variable("CUDA_VISIBLE_DEVICES", ",".join(chosen), said)
        command.count("ranks", str(len(chosen)), said)
        command.variable("LT_DEVICES", str(len(chosen)), said)
    elif value != "-1":
        command.count("ranks", value, said)
        command.variable("LT_DEVICES", value, said)


def nodes(command: Command, value: str, said: str) -> None:
    command.count("nodes", value, said)
    command.variable("LT_NUM_NODES", value, said)


def accelerator(command: Command, value: str, said: str) -> None:
    command.cpu = value == "cpu"
    command.variable("LT_ACCELERATOR", value, said)


OPTIONS = {
    "accelerator": Option(1, accelerator),
    "strategy": told("LT_STRATEGY"),
    "devices": Option(1, devices),
    "num-nodes": Option(1, nodes),
    "node-rank": own(),
    "main-address": Option(1, head),
    "main-port": key("network.port", port),
    "precision": told("LT_PRECISION"),
}


class Fabric(Form):
    def take_task(self, command: Command, program: str) -> None:
        super().take_task(command, program)
        if command.words[:1] == ["model"]:
            del command.words[0]


def read(command: Command) -> None:
    command.variable("LT_CLI_USED", "1", "fabric run")


FORM = Fabric(
    programs=("fabric", "lightning"),
    options=OPTIONS,
    task=("run",),
    example="fabric run train.py",
    read=read,
    ranks=True,
)
