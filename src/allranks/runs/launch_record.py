"""Records a run that is being started: it is in the index, with the process that starts it, before anything of it is
on a node.

So allranks knows about an interrupted start: `ps` shows it, and `stop` and `clean` reach its nodes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from allranks.node import processes

TURN_SECONDS = 0.5


def record(run_id: str) -> dict[str, Any]:
    """This process, as the index stores it."""
    return processes.record_of(processes.identify("", run_id))


def lives(entry: Mapping[str, Any]) -> bool | None:
    """Whether the process that starts this run lives; None if that cannot be seen from here, or if there is no such
    process."""
    starting = entry.get("starting")
    return processes.lives(starting) if isinstance(starting, dict) else None


def settled(entry: Mapping[str, Any], told: dict[str, Any], answered: bool = True) -> dict[str, Any]:
    """The state of a run whose keeper has not reported one yet. It is `cut_off` if the process that started it is
    gone.

    `told` is the head's answer, or a substitute for it if the head has not `answered`.
    """
    starting = entry.get("starting")
    if not isinstance(starting, dict) or told.get("state") is not None or "silent_seconds" in told:
        return told
    supervisors = told.get("supervisors") or {}
    who = f"process {starting.get('pid')} on {starting.get('host')}"
    known = {**told, "name": told.get("name") or entry.get("name"), "nodes": nodes_of(entry)}
    alive = lives(entry)
    if alive or any(one.get("alive") for one in supervisors.values()):
        return {
            **known,
            "state": "starting",
            "why": f"{who} starts it" if alive else "its head has just begun",
        }
    if not answered:
        return told
    if alive is None:
        return {**known, "why": f"{who} was starting it, which cannot be seen from here"}
    return {**known, "state": "lost", "why": f"its start was interrupted: {who} is gone", "cut_off": True}


def unknown(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry that `ps` shows for a run whose state is not yet known."""
    return {
        "id": str(entry["id"]),
        "name": entry.get("name"),
        "nodes": nodes_of(entry),
        "findings": [],
        "adapter": None,
        "state": None,
        "step": None,
        "started_at": entry.get("created_at"),
    }


def nodes_of(entry: Mapping[str, Any]) -> list[str]:
    return [str(node["name"]) for node in entry.get("nodes") or ()]


async def called_off(asked: Callable[[], bool], task: asyncio.Task[Any]) -> None:
    """Cancels the task that starts a run when `allranks stop` has called the run off."""
    while not asked():
        await asyncio.sleep(TURN_SECONDS)
    task.cancel()
