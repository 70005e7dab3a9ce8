"""`deepspeed`, DeepSpeed's launcher (0.18, `deepspeed/launcher/runner.py`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from allranks.core import BadInput
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
    put_hosts,
    refused,
)
from allranks.spec.commands.torchrun import head
from allranks.spec.drafts import Draft
from allranks.spec.hostfile import read_hostfile
from allranks.spec.problems import Problems, Wrong, may_be_secret, shown
from allranks.spec.reading import Reading

ENGINES = {
    "pdsh": "pdsh",
    "openmpi": "mpi",
    "mpich": "mpi",
    "impi": "mpi",
    "mvapich": "mpi",
    "slurm": "slurm",
}
"""Its `--launcher`, and the launcher of a run file that does the same."""


def later(name: str) -> Option:
    """An option that counts once the others are known. The command keeps its value and its text."""

    def act(command: Command, value: str, said: str) -> None:
        command.said[name], command.said[f"{name} option"] = value, said

    return Option(1, act)


def included(command: Command, value: str, said: str, listed: Mapping[str, Draft]) -> None:
    """`worker-0@worker-1:0,2`: machines, and which of their GPUs. One choice for all of them can be made by
    CUDA_VISIBLE_DEVICES; the others have to be written down. `listed` are the machines of the hostfile."""
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
    if missing := [name for name in choices if listed and name not in listed]:
        raise Wrong(
            f"{shown(said)}: {shown(missing[0])} is not in {shown(command.said['hostfile'])}.",
            "DeepSpeed chooses among the machines of its hostfile.",
            f"--include with machines of it, such as {shown(next(iter(listed)))}",
        )
    gpus = {name: None if slots or name not in listed else listed[name].gpus for name in choices}
    put_hosts(command, list(gpus.items()), said)


def limited(command: Command, listed: Mapping[str, Draft], said: str) -> None:
    """`--num_nodes` takes the first machines of the hostfile, and `--num_gpus` counts for each, whatever its slots
    are."""
    ranks, machines = command.number("ranks"), command.number("nodes") or len(listed)
    if not listed or (ranks is None and machines >= len(listed)):
        hostfile(command, command.said["hostfile"], said)
        return
    nodes = [as_node(name, one, ranks) for name, one in list(listed.items())[:machines]]
    command.put("nodes", nodes, said)


def as_node(name: str, draft: Draft, ranks: int | None) -> str | dict[str, Any]:
    """A line of a hostfile as an item of `nodes`. Without `ranks` its slots stay."""
    keys = {
        "gpus": None if ranks else draft.gpus,
        "interface": draft.interface,
        "user": draft.user,
        "env": dict(draft.env) or None,
    }
    given = {key: value for key, value in keys.items() if value}
    return {"name": name, **given} if given else name


def machines_of(command: Command, path: str) -> dict[str, Draft]:
    """The machines of the hostfile, as far as it can be read here; the reading of `nodes` reports what is wrong."""
    reading = Reading(path, Problems())
    try:
        found = read_hostfile(command.reads(command.here(path)), path, reading)
    except BadInput:
        return {}
    return {} if reading.problems.found else {one.name: one for one in found}


def engine(command: Command, value: str, said: str) -> None:
    name = ENGINES.get(value.lower())
    if name is None:
        raise Wrong(f"{shown(said)}.", "no launcher of allranks does the same.", "leave it out: ssh")
    command.put("launch.with", name, said)


ENVIRONMENT = "~/.deepspeed_env", ".deepspeed_env"
"""Files of variables that DeepSpeed gives to the ranks of several machines; the later one wins."""


VARIABLE = re.compile(r"[A-Za-z_]\w*")


def from_files(command: Command) -> None:
    found: dict[str, tuple[str, str]] = {}
    for path in ENVIRONMENT:
        try:
            lines = command.reads(command.here(path)).splitlines()
        except BadInput:
            continue
        pairs = (line.split("=", 1) for line in lines if "=" in line)
        named = ((name.strip(), value.strip()) for name, value in pairs)
        found.update({name: (value, path) for name, value in named if VARIABLE.fullmatch(name)})
    for name, (value, path) in found.items():
        if may_be_secret(name, value):
            why = "by its name or its form it is a secret, and a run file holds none."
            fix = f"export {name} where allranks runs, and secrets: [{name}]"
            command.left_out(f"{name} of {path}", why, fix)
        else:
            command.env[name] = value


EXCLUDED = refused("a run file lists the nodes that train.", "nodes without them", takes=1)
OPTIONS = {
    **each("H hostfile", later("hostfile")),
    **each("i include", later("include")),
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
    path, chosen = command.said.get("hostfile"), command.said.get("include")
    listed = machines_of(command, path) if path else {}
    if path is not None or (chosen is not None and not chosen.startswith("localhost")):
        from_files(command)
    if chosen is not None:
        included(command, chosen, command.said["include option"], listed)
    elif path is not None:
        limited(command, listed, command.said["hostfile option"])


FORM = Form(
    programs=("deepspeed", "ds", "deepspeed.pt"),
    modules=("deepspeed.launcher.runner", "deepspeed"),
    options=OPTIONS,
    read=read,
    ranks=True,
    every_gpu=True,
)
