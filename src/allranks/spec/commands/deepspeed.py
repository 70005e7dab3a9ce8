"""`deepspeed`, DeepSpeed's launcher (0.18, `deepspeed/launcher/runner.py`)."""

from __future__ import annotations

import re

from allranks.core import NOTE
from allranks.spec.commands._command import (
    Command,
    Form,
    Option,
    count,
    key,
    own,
    port,
    refused,
)
from allranks.spec.commands.torchrun import head, module
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
            f"{shown(said)}: other GPUs on each machine.",
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


def hostfile(command: Command, value: str, said: str) -> None:
    command.put("nodes", value if "/" in value else f"./{value}", said)


OPTIONS = {
    "H": Option(1, hostfile),
    "hostfile": Option(1, hostfile),
    "i": Option(1, included),
    "include": Option(1, included),
    "e": refused("the nodes that train are named.", "nodes without them", takes=1),
    "exclude": refused("the nodes that train are named.", "nodes without them", takes=1),
    "num-nodes": count("nodes"),
    "num-gpus": count("ranks"),
    "num-accelerators": count("ranks"),
    "master-port": key("network.port", port),
    "master-addr": Option(1, head),
    "node-rank": own(),
    "launcher": Option(1, engine),
    "launcher-args": key("launch.extra", str.split),
    "module": Option(0, module),
    "no-python": refused("allranks starts Python scripts.", "a script, or -m and a module"),
    "no-local-rank": Option(0, lambda command, value, said: command.said.update(local_rank="no")),
    "no-ssh": own(0),
    "no-ssh-check": own(0),
    "force-multi": own(0),
    "save-pid": own(0),
    "enable-each-rank-log": own(),
    "autotuning": refused(
        "allranks starts one training.", "the deepspeed launcher for its autotuning", takes=1
    ),
    "elastic-training": own(0),
    "min-elastic-nodes": own(),
    "max-elastic-nodes": own(),
    "bind-cores-to-rank": own(0),
    "bind-core-list": own(),
    "ssh-port": own(),
    "venv-script": key("environment.activate"),
    "log-level": own(),
    "q": own(0),
    "quiet": own(0),
}


def read(command: Command) -> None:
    if command.module:
        command.words.insert(0, "-m")
        command.module = False
    if "local_rank" not in command.said and not any(w.startswith("--local_rank") for w in command.words):
        command.note(
            "launcher-dropped",
            NOTE,
            "deepspeed would give --local_rank to the script.",
            "torchrun says it as the variable LOCAL_RANK; a script that reads its argument alone takes GPU 0 on "
            "every rank.",
            'int(os.environ["LOCAL_RANK"]) in the script, if it knows --local_rank alone',
        )


FORM = Form(
    programs=("deepspeed", "ds", "deepspeed.pt"),
    modules=("deepspeed.launcher.runner", "deepspeed"),
    options=OPTIONS,
    read=read,
    ranks=True,
)
