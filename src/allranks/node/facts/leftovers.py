"""Trainings that are still on this node: runs of allranks with their ranks, and other launchers, which are left
alone."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, Optional

from allranks.node import paths, processes
from allranks.node.facts import _processes
from allranks.node.facts._reading import Reading


def read(request: Mapping[str, Any], reading: Reading) -> None:
    reading.fact("runs", lambda: with_processes(_processes.recorded(paths.home())))
    reading.fact("others", others)


def with_processes(parts: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """The parts with a living process: `run`, `node`, pid of `supervisor` and `keeper`, pids of `processes`."""
    found = []
    for part in parts:
        supervisor = part["supervisor"] if processes.lives(part["supervisor"]) else {}
        keeper = part["keeper"] if processes.lives(part["keeper"]) else {}
        living = sorted({p["pid"] for p in part["processes"] if processes.lives(p)})
        if supervisor or keeper or living:
            pids = {
                "supervisor": supervisor.get("pid"),
                "keeper": keeper.get("pid"),
                "processes": living[:64],
            }
            found.append({"run": part["run"], "node": part["node"], **pids})
    return found


LAUNCHERS = {
    "torchrun": "torchrun",
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torch.distributed.launch",
    "deepspeed": "deepspeed",
    "deepspeed.launcher.launch": "deepspeed",
    "deepspeed.launcher.runner": "deepspeed",
    "accelerate": "accelerate",
    "accelerate.commands.launch": "accelerate",
    "llamafactory-cli": "llamafactory-cli",
    "llamafactory.cli": "llamafactory-cli",
    "horovodrun": "horovodrun",
}
"""How the launchers of distributed training are in a command line: the program's name, or the module after -m."""

MOST_OTHERS = 64


def others() -> List[Dict[str, Any]]:
    """The launchers that do not belong to a run of allranks: `launcher`, and the facts of `_processes.described`
    about each."""
    owned = _processes.owners(paths.home())
    found = []
    for pid in processes.pids():
        launcher = launcher_of(_command(pid))
        if launcher is None or _processes.run_of(pid, owned) is not None:
            continue
        found.append({"launcher": launcher, **_processes.described(pid, owned)})
    # A process that ended while it was looked at has no name any longer.
    return [one for one in found if one["name"] is not None][:MOST_OTHERS]


def launcher_of(argv: List[str]) -> Optional[str]:
    """The launcher that a command line starts, itself or by a Python; None if it starts none.

    Only the program and what Python runs count: `less torchrun` and `grep deepspeed` launch nothing.
    """
    if not argv:
        return None
    program = os.path.basename(argv[0])
    if not program.startswith("python"):
        return LAUNCHERS.get(program)
    words = iter(argv[1:])
    for word in words:
        if word == "-m":
            return LAUNCHERS.get(next(words, ""))
        if word in ("-W", "-X"):
            next(words, "")
        elif not word.startswith("-"):
            return LAUNCHERS.get(os.path.basename(word))
        elif word == "-c":
            return None
    return None


def _command(pid: int) -> List[str]:
    """The first words of a command line; empty for a kernel thread, and where there is no such process."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read(4096).split(b"\0")
    except OSError:
        return []
    return [word.decode("utf-8", "replace") for word in words[:16] if word]
