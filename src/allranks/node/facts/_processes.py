"""Processes of the node, by `/proc`: what may be kept of anybody's (pid, uid, short name), and whose they are."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Optional, Tuple

from allranks.node import paths
from allranks.node.facts._commands import line

Identity = Tuple[int, int]
"""pid and start time."""


def stat(pid: int) -> Optional[Dict[str, Any]]:
    """`name`, `state`, `parent`, `start_time`, `uid` of a process; None where there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            found = parse_stat(file.read().decode("utf-8", "replace"))
        if found is not None:
            found["uid"] = os.stat(f"/proc/{pid}").st_uid
        return found
    except OSError:
        return None


def parse_stat(content: str) -> Optional[Dict[str, Any]]:
    """Reads `/proc/PID/stat` (proc(5)); the short name may hold spaces and parentheses."""
    head, _, tail = content.rpartition(")")
    fields = tail.split()
    if len(fields) < 20:
        return None
    return {
        "name": head.partition("(")[2],
        "state": fields[0],
        "parent": int(fields[1]),
        "start_time": int(fields[19]),
    }


def pids() -> List[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def boot_id() -> str:
    return line("/proc/sys/kernel/random/boot_id")


def alive(identity: Any, boot: str) -> bool:
    """Whether exactly this process lives: pid, start time and boot id agree, and it is no zombie."""
    if not isinstance(identity, dict) or identity.get("boot_id", boot) != boot:
        return False
    pid, start = identity.get("pid"), identity.get("start_time")
    if not isinstance(pid, int) or not isinstance(start, int) or pid <= 0:
        return False
    found = stat(pid)
    return found is not None and found["start_time"] == start and found["state"] not in "ZX"


def recorded(home: str) -> List[Dict[str, Any]]:
    """Every node's part of every run that `<home>/runs` holds: `run`, `node`, `supervisor`, `keeper`, `processes`."""
    found = []
    try:
        runs = sorted(os.listdir(os.path.join(home, "runs")))
    except OSError:
        return []
    for run_id in runs:
        try:
            run = paths.RunDirectory(run_id, home)
        except Exception:
            continue  # a name that no run of ours has
        for node in run.nodes():
            directory = run.node(node)
            supervisor = paths.read_object(directory.supervisor)
            found.append(
                {
                    "run": run_id,
                    "node": node,
                    "supervisor": supervisor,
                    "keeper": paths.read_object(run.keeper.identity) if node == first_of(run) else {},
                    "processes": [
                        {"boot_id": supervisor.get("boot_id"), **seen}
                        for seen in paths.Tail(directory.processes).read()
                    ],
                }
            )
    return found


def first_of(run: paths.RunDirectory) -> Optional[str]:
    """The keeper is told once, with the first node that has a folder here."""
    nodes = run.nodes()
    return nodes[0] if nodes else None


def owners(home: str, boot: str) -> Dict[Identity, str]:
    """The run of every process that our run directories know and that still lives."""
    owned: Dict[Identity, str] = {}
    for part in recorded(home):
        for identity in [part["supervisor"], part["keeper"], *part["processes"]]:
            if alive(identity, boot):
                owned[(identity["pid"], identity["start_time"])] = part["run"]
    return owned


def run_of(pid: int, owned: Dict[Identity, str]) -> Optional[str]:
    """The run that a process belongs to, by itself or by one it descends from; None for a stranger."""
    for _ in range(64):
        found = stat(pid)
        if found is None:
            return None
        run = owned.get((pid, found["start_time"]))
        if run is not None or found["parent"] <= 1:
            return run
        pid = found["parent"]
    return None


def described(pid: int, owned: Dict[Identity, str]) -> Dict[str, Any]:
    """What is kept of a process: pid, uid, short name, and the run where it is ours."""
    found = stat(pid) or {}
    return {"pid": pid, "uid": found.get("uid"), "name": found.get("name"), "run": run_of(pid, owned)}
