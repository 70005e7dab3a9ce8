"""`srun`: SLURM's options become `launch` and `nodes` (SLURM 24.11, srun's manual)."""

from __future__ import annotations

import re

from allranks.spec.commands._command import (
    Command,
    Form,
    Option,
    Unknown,
    count,
    key,
    own,
    refused,
)
from allranks.spec.names import expanded
from allranks.spec.problems import Wrong, nearest


def nodelist(command: Command, value: str, said: str) -> None:
    if not isinstance(value, Unknown):
        command.put("nodes", expanded(value), said)


def nodes(command: Command, value: str, said: str) -> None:
    low, _, high = value.partition("-")
    command.count("nodes", high or low if not isinstance(value, Unknown) else value, said)


def gpus(command: Command, value: str, said: str) -> None:
    """`8`, `a100:8`, and of `--gres` `gpu:a100:8`: the GPUs of a node, not yet the ranks."""
    number = value.rpartition(":")[2]
    if isinstance(value, Unknown) or not number.isdigit():
        return
    command.counts.setdefault("gpus of a node", (int(number), said))


def gres(command: Command, value: str, said: str) -> None:
    for one in value.split(","):
        if one.startswith("gpu"):
            gpus(command, type(value)(one) if type(value) is str else value, said)
        else:
            command.keys.setdefault("launch.extra", []).append(f"--gres={one}")


def extra(takes: int = 1) -> Option:
    """An option of the allocation that SLURM gets as it is written."""

    def act(command: Command, value: str, said: str) -> None:
        if isinstance(value, Unknown):
            return
        _, word, *rest = said.split(" ", 2)
        long = f"{word}={rest[0]}" if rest and word.startswith("--") else "".join((word, *rest))
        command.keys.setdefault("launch.extra", []).append(long)
        command.said.setdefault("launch.extra", "srun's options")

    return Option(takes, act)


def exported(command: Command, value: str, said: str) -> None:
    """`ALL,A=1`: variables that are named with a value."""
    for one in value.split(","):
        name, equals, given = one.partition("=")
        if equals and re.fullmatch(r"[A-Za-z_]\w*", name):
            command.variable(name, given, said)


OPTIONS = {
    "N": Option(1, nodes),
    "nodes": Option(1, nodes),
    "n": count("all tasks"),
    "ntasks": count("all tasks"),
    "ntasks-per-node": count("tasks"),
    "tasks-per-node": count("tasks"),
    "ntasks-per-gpu": own(),
    "gpus-per-node": Option(1, gpus),
    "gpus-per-task": Option(1, lambda c, v, s: c.counts.setdefault("gpus of a task", (1, s))),
    "gpus": own(),
    "G": own(),
    "gres": Option(1, gres),
    "w": Option(1, nodelist),
    "nodelist": Option(1, nodelist),
    "p": key("launch.partition"),
    "partition": key("launch.partition"),
    "A": key("launch.account"),
    "account": key("launch.account"),
    "t": key("launch.time"),
    "time": key("launch.time"),
    "J": key("name"),
    "job-name": key("name"),
    "q": extra(),
    "qos": extra(),
    "C": extra(),
    "constraint": extra(),
    "x": extra(),
    "exclude": extra(),
    "c": extra(),
    "cpus-per-task": extra(),
    "cpus-per-gpu": extra(),
    "mem": extra(),
    "mem-per-cpu": extra(),
    "mem-per-gpu": extra(),
    "reservation": extra(),
    "exclusive": extra(0),
    "signal": own(),
    "begin": extra(),
    "comment": own(),
    "export": Option(1, exported),
    "chdir": key("train.workdir"),
    "D": key("train.workdir"),
    "o": own(),
    "output": own(),
    "e": own(),
    "error": own(),
    "i": own(),
    "input": own(),
    "l": own(0),
    "label": own(0),
    "u": own(0),
    "unbuffered": own(0),
    "K": own(),
    "kill-on-bad-exit": own(),
    "W": own(),
    "wait": own(),
    "jobid": own(),
    "overlap": own(0),
    "cpu-bind": own(),
    "gpu-bind": own(),
    "mem-bind": own(),
    "distribution": own(),
    "m": own(),
    "hint": own(),
    "mpi": own(),
    "accel-bind": own(),
    "network": own(),
    "immediate": own(0),
    "I": own(0),
    "pty": own(0),
    "v": own(0),
    "verbose": own(0),
    "quiet": own(0),
    "Q": own(0),
    "no-kill": own(0),
    "mail-type": own(),
    "mail-user": own(),
    "container-image": refused("the container is a key of its own.", "container: {image: …}", takes=1),
    "container-mounts": refused("the container is a key of its own.", "container: {mounts: […]}", takes=1),
    "container-workdir": refused("the container is a key of its own.", "train: {workdir: …}", takes=1),
    "container-name": refused("the container is a key of its own.", "container: {image: …}", takes=1),
}
GLUED = ("kill-on-bad-exit", "exclusive", "I", "K", "W")
"""Options whose value may be left out, and then stands behind `=`."""


class Srun(Form):
    def find(self, name: str, word: str, program: str) -> Option:
        # A site's own plugins add options: with their value in the same word they can be handed on.
        is_site = word.startswith("--") and "=" in word and nearest(name, self.options) is None
        option = extra() if is_site else super().find(name, word, program)
        if option.takes and "=" not in word and name in GLUED:
            return Option(0, option.act, option.why)
        return option


def read(command: Command) -> None:
    if not command.words:
        raise Wrong("srun without a command.", do="srun … torchrun train.py")
    command.put("launch.with", "slurm", "srun")


FORM = Srun(programs=("srun",), options=OPTIONS, read=read, short=True)
