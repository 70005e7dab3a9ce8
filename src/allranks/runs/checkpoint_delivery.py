"""`resume: node:/path`: copies the checkpoint from another machine to the nodes that read it, before anything starts.

That machine verifies the checkpoint and reports each file's SHA-256. The pieces pass through this process, which does
not store them, to the folder of the run on each reader (`checkpoints/delivery.py`). The digests are compared there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from allranks.core import CouldNotTell, Facts, placeholders
from allranks.core.net import over_there
from allranks.core.untrusted import mapping
from allranks.runs.checkpoint_fetch import RemoteFile, checked, lines_of, refuse_damaged
from allranks.runs.checkpoint_places import CheckpointPlace, refused
from allranks.runs.node_targets import Access, open_targets
from allranks.spec import Run
from allranks.transport import NodeProgram, Nodes, ProgramFailed

TOGETHER = 16
"""Pieces per request: 16 MiB. A reader gets one request per 16 MiB and holds no more than that in memory."""

RECEIVE_SECONDS = 600.0
COMPARE_SECONDS = 3600.0
"""Time to read a whole checkpoint once more: 1.3 TB at 1 GB/s take 22 minutes."""

Step = Callable[[str, str], None]


async def delivered(run: Run, nodes: Nodes, run_id: str, facts: Sequence[Facts], step: Step) -> Run:
    """The run with a path that its nodes can read; the same run if `resume` does not name another machine. Raises
    BadInput, Blocked for a damaged checkpoint, CouldNotTell for an interrupted copy, Unreachable."""
    elsewhere = over_there(run.resume)
    if elsewhere is None:
        return run
    host, path = elsewhere
    source, is_ours = source_of(run, nodes, host)
    place = CheckpointPlace(str(run.resume), {"path": path}, source, path)
    try:
        told = await place.on_node("files")
        found, report = str(told.get("path") or ""), mapping(told.get("report"))
        refuse_damaged(place, found, report)
        files = checked(told.get("files"), place, found)
        readers = readers_of(run, nodes)
        if set(readers) == set(source.programs) & set(nodes.programs):
            return replace(run, resume=found)  # the checkpoint is already on the machine that reads it
        same_home(run, readers, facts)
        delivery = Delivery(place, found, files, run_id, told.get("single") is True, step)
        return replace(run, resume=await delivery.to(readers))
    except ProgramFailed as error:
        raise refused(error.node, error) from error
    finally:
        if is_ours:
            await source.close()


def source_of(run: Run, nodes: Nodes, host: str) -> tuple[Nodes, bool]:
    """The machine that has the checkpoint, and whether a connection was opened for it: a node of the run with this
    name or address, else any machine that can be reached."""
    for node in nodes.nodes.values():
        if host in (node.name, node.address):
            return Nodes({node.name: nodes.programs[node.name]}, {node.name: node}), False
    return open_targets(host, Access(transport=run.transport)), True


def readers_of(run: Run, nodes: Nodes) -> dict[str, NodeProgram]:
    """The nodes that read the checkpoint: the head, whose rank 0 reads a checkpoint of allranks for all; or every
    node, if ranks read by themselves."""
    own = placeholders.resumes(run.train.command) or "checkpoint-not-resumable" in run.accept
    names = [node.name for node in run.cluster.training] if own else [run.cluster.head.name]
    return {name: nodes.programs[name] for name in names}


def same_home(run: Run, readers: Mapping[str, Any], facts: Sequence[Facts]) -> None:
    """Checks that the folder of the run has one path for all readers, since all ranks get the same path. Raises
    BadInput if it differs."""
    homes = {one.node: str(one.get("system.allranks_home")) for one in facts if one.node in readers}
    if len(set(homes.values())) > 1:
        saw = "; ".join(f"{home} on {name}" for name, home in list(homes.items())[:3])
        why = "all ranks get one path, and the folder of allranks is not the same on the nodes."
        raise run.refuse(
            "resume", f"{run.resume} cannot be copied to one place: {saw}", why, "shared storage"
        )


class Delivery:
    """Copies one checkpoint from its machine to all readers."""

    def __init__(
        self,
        place: CheckpointPlace,
        path: str,
        files: list[RemoteFile],
        run_id: str,
        single: bool,
        step: Step,
    ):
        self.place, self.path, self.files, self.step = place, path, files, step
        name = re.sub(r"[^A-Za-z0-9._-]", "_", PurePosixPath(path).name).lstrip(".-_")[:100] or "checkpoint"
        self.request: dict[str, Any] = {"run": run_id, "name": name, "single": single}
        self.described = [{"name": one.name, "bytes": one.bytes, "sha256": one.sha256} for one in files]

    async def to(self, readers: Mapping[str, NodeProgram]) -> str:
        """The path of the copies. Readers are served one after the other, since several may share a home."""
        paths = set()
        for name, program in readers.items():
            begun = await self.receive(program, COMPARE_SECONDS, files=self.described)
            if begun.get("whole") is not True:
                await self.send(name, program)
                begun = await self.receive(program, COMPARE_SECONDS, files=self.described, whole=True)
            paths.add(str(begun.get("path")))
        if len(paths) != 1:
            raise CouldNotTell(f"{self.place.text}: the nodes name different places for it: {sorted(paths)}")
        return paths.pop()

    async def send(self, name: str, program: NodeProgram) -> None:
        total, done = sum(one.bytes for one in self.files), 0
        wanted = {"path": self.path, "files": {one.name: 0 for one in self.files if one.bytes}}
        pieces: list[Mapping[str, Any]] = []
        async with aclosing(lines_of(self.place, wanted)) as lines:
            async for line in lines:
                pieces.append(line)
                done += 3 * len(str(line.get("data"))) // 4
                if len(pieces) == TOGETHER:
                    await self.receive(program, RECEIVE_SECONDS, pieces=pieces)
                    pieces = []
                    self.step(
                        name, f"copying {self.place.text}: {min(done, total) >> 20:,} of {total >> 20:,} MiB"
                    )
        if pieces:
            await self.receive(program, RECEIVE_SECONDS, pieces=pieces)

    async def receive(self, program: NodeProgram, seconds: float, **more: Any) -> dict[str, Any]:
        wanted = {**self.request, **more}
        return await program.call("checkpoints", "receive", stdin=wanted, timeout_seconds=seconds)
