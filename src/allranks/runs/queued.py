"""The state of runs as their queue knows it: runs that wait, and runs that the queue ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allranks.core import CouldNotTell
from allranks.core.run_states import FINAL
from allranks.launch.queue import Queue


async def waiting(queue: Queue, number: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """The state of a run that waits for its nodes: `checking` with the queue's reason, or `lost` with its job.
    `known` is the state to show if the queue does not answer."""
    try:
        job = await queue.job(number)
    except CouldNotTell as error:
        return {**known, "why": str(error)}
    if job.waits:
        why = f"job {job.shown} waits in {queue.NAME}'s queue: {job.reason}"
        return {**known, "state": "checking", "why": why}
    if job.runs:
        why = f"job {job.shown} has its nodes ({job.nodes}) and waits for the program to start"
        return {**known, "state": "checking", "why": why}
    how = await queue.ending(number) or f"{queue.NAME} no longer knows it"
    return {**known, "state": "lost", "why": f"job {number} ended before the run began: {how}"}


async def settled(queue: Queue | None, number: str | None, state: dict[str, Any]) -> dict[str, Any]:
    """A run's state. It is `lost`, with the queue's reason, if its job has ended and the run did not report its own
    end."""
    if queue is None or number is None or state.get("state") in FINAL[:-1]:
        return state
    try:
        job = await queue.job(number)
    except CouldNotTell:
        return state
    if job.state == "SUSPENDED":
        return {**state, "why": f"{queue.NAME} has suspended job {number}"}
    if job.waits:
        why = f"{queue.NAME} has put job {number} back into its queue ({job.reason}); it takes the run up when it runs"
        return {**state, "state": "lost", "why": why}
    if job.runs:
        return state
    how = await queue.ending(number) or f"{queue.NAME} no longer knows it"
    why = f"{queue.NAME}'s job {number} has ended: {how}"
    return {**state, "state": "lost", "why": why}
