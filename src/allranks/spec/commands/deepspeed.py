"""`deepspeed`, DeepSpeed's launcher (0.18, `deepspeed/launcher/runner.py`)."""

from __future__ import annotations

import re

from allranks.spec.commands._command import (
    MODULE,
    NOT_PYTHON,
    Command,
    Form,
    Option,
    count,
    each,
    hostfile,
    key,
    local_rank_note,
    own,
    port,
    refused,
)
from allranks.spec.commands.torchrun import head
from allranks.spec.problems import Wrong, shown

ENGINES = {
    "pdsh": "pdsh",
    "openmpi": "mpi",
    "mpich": "mpi",
    "impi": "mpi",
    "mvapich": "mpi",
    "slurm": "slurm",
}
"""Its `--launcher`, and the launcher of a run file that does the same."""


def included(command: Command, value: str, said: str) -> None:
    """`worker-0@worker-1:0,2`: machines, and which of their GPUs. One choice for all of them can be made by
    CUDA_VISIBLE_DEVICES; the others have to be written down."""
    choices: dict[str, str] = {}
    for part in value.split("@"):
        name, _, slots = part.strip().partition(":")
        choices[name] = slots
    if len(set(choices.values())) > 1:
        raise Wrong(
            f"{shown(said)}: the GPUs differ between the machines.",
            "one choice holds for all nodes.",
            "nodes: a list, with gpus and env: {CUDA_VISIBLE_DEVICES: …} of each",
        )
    slots = next(iter(choices.values()), "")
    if slots:
        if not re.fullmatch(r"[0-9]+(,[0-9]+)*", slots):
            raise Wrong(f"{shown(said)}: {shown(slots)} are not GPUs.", do="such as localhost:0,1")
        command.variable("CUDA_VISIBLE_DEVICES", slots, said)
        command.count("ranks", str(len(slots.split(","))), said)
    command.put("nodes", "localhost" if list(choices) == ["localhost"] else list(choices), said)


def engine(command: Command, value: str, said: str) -> None:
    name = ENGINES.get(value.lower())
    if name is None:
        raise Wrong(f"{shown(said)}.", "no launcher of allranks does the same.", "leave it out: ssh")
    command.put("launch.with", name, said)


EXCLUDED = refused("a run file lists the nodes that train.", "nodes without them", takes=1)
OPTIONS = {
    **each("H hostfile", Option(1, hostfile)),
    **each("i include", Option(1, included)),
    **each("e exclude", EXCLUDED),
    "num-nodes": count("nodes"),
    **each("num-gpus num-accelerators", count("ranks")),
    "master-port": key("network.port", port),
    "master-addr": Option(1, head),
    "launcher": Option(1, engine),
    "launcher-args": key("launch.extra", str.split),
    "module": MODULE,
    "no-python": NOT_PYTHON,
    "no-local-rank": Option(0, lambda command, value, said: command.said.update(local_rank="no")),
    "autotuning": refused(
        "allranks starts one training.", "the deepspeed launcher for its autotuning", takes=1
    ),
    "venv-script": key("environment.activate"),
    **each("no-ssh no-ssh-check force-multi save-pid elastic-training bind-cores-to-rank q quiet", own(0)),
    **each("node-rank enable-each-rank-log min-elastic-nodes max-elastic-nodes bind-core-list", own()),
    **each("ssh-port log-level", own()),
}


def read(command: Command) -> None:
    local_rank_note(command, "deepspeed")


FORM = Form(
    programs=("deepspeed", "ds", "deepspeed.pt"),
    modules=("deepspeed.launcher.runner", "deepspeed"),
    options=OPTIONS,
    read=read,
    ranks=True,
    every_gpu=True,
)
