"""Runs of ours that still live on this node: supervisors, keepers, and ranks that outlived theirs."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

from allranks.node import paths, processes
from allranks.node.facts import _processes
from allranks.node.facts._reading import Reading


def read(request: Mapping[str, Any], reading: Reading) -> None:
    reading.fact("runs", lambda: parse(_processes.recorded(paths.home()), processes.boot_id()))


def parse(parts: List[Dict[str, Any]], boot: str) -> List[Dict[str, Any]]:
    """The parts with a living process: `run`, `node`, pid of `supervisor` and `keeper`, pids of `processes`."""
    found = []
    for part in parts:
        supervisor = part["supervisor"] if _processes.alive(part["supervisor"], boot) else {}
        keeper = part["keeper"] if _processes.alive(part["keeper"], boot) else {}
        living = sorted({p["pid"] for p in part["processes"] if _processes.alive(p, boot)})
        if supervisor or keeper or living:
            found.append(
                {
                    "run": part["run"],
                    "node": part["node"],
                    "supervisor": supervisor.get("pid"),
                    "keeper": keeper.get("pid"),
                    "processes": living[:64],
                }
            )
    return found
