"""Runs one collective of a probe: starts its ranks on all nodes at once, and always ends them.

A rank that joins waits silently for the others (torch's TCPStore: 15 minutes if packets are dropped), so there is a
time limit. It counts from the moment when the last rank has imported torch, which may take minutes from shared storage.
After it, or after a rank has failed, all ranks are ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from allranks.core.untrusted import mapping, number, text
from allranks.probe.results import Collective, RankSaid
from allranks.probe.steps import Step
from allranks.probe.tcp import END_SECONDS, lines, tell_to_end
from allranks.transport import NodeProgram, Nodes, ProgramFailed, Unreachable

AFTER_FAILURE_SECONDS = 3.0
"""After a rank has failed, the others cannot succeed. They get this time to report their own errors."""


@dataclass(frozen=True)
class Ranks:
    """How the ranks of a step are started. `environment` maps a node to its ranks' variables."""

    key: str
    python: Mapping[str, str]
    """The Python of the training environment, by node."""

    master: tuple[str, int]
    placed: Mapping[str, Sequence[tuple[int, int]]]
    """Node → its (rank, local rank)."""

    environment: Mapping[str, Mapping[str, str]]
    import_seconds: float = 180.0
    join_seconds: float = 45.0

    @property
    def world_size(self) -> int:
        return sum(len(ranks) for ranks in self.placed.values())


@dataclass
class _Heard:
    """The reports of the ranks so far."""

    said: dict[int, RankSaid]
    unreached: dict[str, str] = field(default_factory=dict)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    stopping: bool = False
    """Whether the ranks are being ended, so that they end without a code."""

    def hear(self, line: Mapping[str, Any]) -> None:
        place = number(line.get("rank"))
        there = self.said.get(int(place)) if place is not None else None
        if there is None:
            return
        told = mapping(line.get("said"))
        if told:
            self.said[there.rank] = heard(there, told)
        if "ended" in line:
            code, tail = number(line.get("ended")), str(line.get("tail") or "")[-2000:]
            self.said[there.rank] = replace(there, code=-1 if code is None else int(code), tail=tail)

    def all_imported(self) -> bool:
        return all(r.torch is not None or r.code is not None for r in self.said.values())

    def ends(self, node: str, placed: Sequence[tuple[int, int]]) -> None:
        """A node's report has ended. If it does not say how its ranks ended, the node's program was killed."""
        if not self.stopping and any(self.said[rank].code is None for rank, _ in placed):
            self.unreached[node] = "its ranks' report ended early"

    def failed(self) -> bool:
        return bool(self.unreached) or any(r.code not in (None, 0) for r in self.said.values())


def heard(there: RankSaid, told: Mapping[str, Any]) -> RankSaid:
    """A rank with its newest report; fields that are missing or of another type stay as they were."""
    new: dict[str, Any] = {"reached": text(told.get("at")) or there.reached}
    for name in ("python", "torch", "nccl", "device"):
        new[name] = text(told.get(name)) or getattr(there, name)
    for name, key in (("wrong", "wrong"), ("numbers", "of"), ("bytes", "bytes")):
        value = number(told.get(key))
        new[name] = getattr(there, name) if value is None else int(value)
    for name in ("seconds", "flops", "copied"):
        new[name] = number(told.get(name)) or getattr(there, name)
    return replace(there, **new)


async def run(nodes: Nodes, step: Step, ranks: Ranks) -> Collective:
    """Runs one step, for at most `import_seconds` + `join_seconds` and some seconds to end it."""
    began = time.monotonic()
    course = _Heard(
        {rank: RankSaid(rank, node) for node, placed in ranks.placed.items() for rank, _ in placed}
    )
    tasks = [
        asyncio.ensure_future(_one_node(nodes[node], step, ranks, placed, course))
        for node, placed in ranks.placed.items()
        if placed
    ]
    try:
        stopped = await _until_over(course, tasks, ranks)
        if stopped:
            course.stopping = True
            await nodes.each(lambda node, program: tell_to_end(program, ranks.key))
            await asyncio.wait(tasks, timeout=END_SECONDS)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return Collective(
        name=step.name,
        backend=step.backend,
        ranks=tuple(course.said[rank] for rank in sorted(course.said)),
        seconds=time.monotonic() - began,
        stopped=stopped,
        environment=step.environment,
        unreached=course.unreached,
    )


async def _one_node(
    program: NodeProgram, step: Step, ranks: Ranks, placed: Sequence[tuple[int, int]], course: _Heard
) -> None:
    wanted = {
        "node": program.node,
        "key": ranks.key,
        "python": ranks.python[program.node],
        "ranks": [{"rank": rank, "local_rank": local} for rank, local in placed],
        "world_size": ranks.world_size,
        "master": {"host": ranks.master[0], "port": ranks.master[1]},
        "backend": step.backend,
        "env": {**ranks.environment.get(program.node, {}), **step.environment},
        "bytes": step.bytes,
        "speed": step.speed,
        "limit_seconds": ranks.import_seconds + ranks.join_seconds,
    }
    stream = lines(program, "ranks", wanted)
    try:
        async for line in stream:
            course.hear(line)
            course.news.set()
        course.ends(program.node, placed)
    except (Unreachable, ProgramFailed) as error:
        course.unreached[program.node] = str(error)
    finally:
        course.news.set()
        with contextlib.suppress(Unreachable, ProgramFailed, OSError, RuntimeError):
            await stream.aclose()


async def _until_over(course: _Heard, tasks: Sequence[asyncio.Future], ranks: Ranks) -> str:
    """Waits until every node's part has ended; returns why the rest must be ended, or an empty text."""
    until = time.monotonic() + ranks.import_seconds
    why = f"torch was not imported everywhere within {ranks.import_seconds:g} s"
    joining = failed = False
    while True:
        if all(task.done() for task in tasks):
            return ""
        if course.all_imported() and not joining:
            joining = True
            until = time.monotonic() + ranks.join_seconds
            why = f"it was not over {ranks.join_seconds:g} s after the last rank had imported torch"
        if course.failed() and not failed:
            failed = joining = True
            until = min(until, time.monotonic() + AFTER_FAILURE_SECONDS)
            why = "a rank had failed"
        left = until - time.monotonic()
        if left <= 0:
            return why
        course.news.clear()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(course.news.wait(), min(left, 1.0))
