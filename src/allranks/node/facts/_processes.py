"""The owner of a process, as far as allranks may report it: pid, uid, short name, and its run if allranks started
it."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Optional, Tuple

from allranks.node import paths, processes

Identity = Tuple[int, int]
"""pid and start time."""


def recorded(home: str) -> List[Dict[str, Any]]:
    """Each node's part of each run below `<home>/runs`: `run`, `node`, `supervisor`, `keeper`, `processes`."""
    found = []
    try:
        names = sorted(os.listdir(os.path.join(home, "runs")))
    except OSError:
        return []
    for run_id in names:
        try:
            run = paths.RunDirectory(run_id, home)
        except Exception:
            continue  # a name that no run of allranks has
        keeper = paths.read_object(run.keeper.identity)
        for node in run.node_directories():
            part: Dict[str, Any] = {"run": run_id, "node": node.name, "keeper": keeper}
            part["supervisor"] = paths.read_object(node.supervisor)
            part["processes"] = paths.Tail(node.processes).read()
            found.append(part)
            keeper = {}  # told once, with the first node that has a folder here
    return found


def owners(home: str) -> Dict[Identity, str]:
    """The run of every process that our run directories know and that still lives."""
    owned: Dict[Identity, str] = {}
    for part in recorded(home):
        for record in [part["supervisor"], part["keeper"], *part["processes"]]:
            if processes.lives(record):
                owned[(record["pid"], record["start_time"])] = part["run"]
    return owned


def run_of(pid: int, owned: Dict[Identity, str]) -> Optional[str]:
    """The run that a process belongs to, by itself or by one it descends from; None for a stranger."""
    for _ in range(64):
        found = processes.read_stat(pid)
        if found is None:
            return None
        run = owned.get((pid, found.start_time))
        if run is not None or found.ppid <= 1:
            return run
        pid = found.ppid
    return None


def described(pid: int, owned: Dict[Identity, str]) -> Dict[str, Any]:
    """The facts that are kept about a process: pid, uid, short name, age, and its run if allranks started it."""
    found = processes.read_stat(pid)
    if found is None:
        return {"pid": pid, "uid": None, "name": None, "run": None, "age_seconds": None}
    with open("/proc/uptime", encoding="ascii") as file:
        up = float(file.read().split()[0])
    return {
        "pid": pid,
        "uid": processes.owner(pid),
        "name": found.name,
        "run": run_of(pid, owned),
        "age_seconds": round(max(0.0, up - found.start_time / os.sysconf("SC_CLK_TCK")), 1),
    }
