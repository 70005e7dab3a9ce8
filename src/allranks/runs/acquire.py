"""The first phase of a run: its nodes. They are there already, or SLURM gives them after a wait in its queue."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from allranks.launch.engines import slurm
from allranks.reach import Nodes, open_nodes, reached
from allranks.reach.local import LocalTransport
from allranks.spec import Run, expand
from allranks.words import BadInput, Cluster, CouldNotTell, Event, Node, Problem

LOOK_SECONDS = 1.0
HERE = LocalTransport("this machine")

Tell = Callable[[Event], None]


@dataclass
class Acquired:
    """A run's nodes, and the run with the names that they turned out to have."""

    run: Run
    nodes: Nodes
    job: str | None = None

    async def release(self) -> None:
        """For a run that did not start: gives the nodes back. Only ever our own job."""
        await self.nodes.close()
        if self.job is not None:
            await cancel(self.job)


async def acquire(run: Run, tell: Tell, accept_new_hosts: bool = False) -> Acquired:
    """Raises BadInput for a job that SLURM refuses, CouldNotTell where the job ends in the queue."""
    if run.launch.with_ != "slurm":
        return Acquired(run, open_nodes(run, accept_new_hosts))
    # sbatch keeps its whole environment in the controller's spool folder; secrets go another way.
    without = [word for name in run.secrets for word in ("-u", name)]
    done = await HERE.run(["env", *without, *slurm.sbatch(run)], stdin=slurm.SCRIPT.encode())
    if done.code != 0:
        why = done.err.decode("utf-8", "replace").strip().splitlines()
        raise BadInput(
            Problem(
                f"sbatch: {why[-1] if why else f'exit code {done.code}'}",
                why="SLURM gives no nodes.",
                do="partition, account, time and extra below launch; sinfo shows what there is",
                file=run.file,
                line=run.line("launch"),
            )
        )
    job = done.out.decode().strip().split(";")[0]
    try:
        given = await granted(job, tell)
        return Acquired(with_nodes(run, job, given), reached(named(run, given), "slurm", address=job), job)
    except BaseException:
        # Also Ctrl-C in the queue.
        await asyncio.shield(cancel(job))
        raise


async def granted(job: str, tell: Tell) -> list[str]:
    """Waits in the queue, and says each time SLURM's reason changes; the nodes' names, the first is the head."""
    said = None
    while True:
        done = await HERE.run(["squeue", "-h", "-j", job, "-o", "%T|%r|%N"])
        state, reason, names = (*done.out.decode().strip().split("|"), "", "", "")[:3]
        if state == "RUNNING":
            return expand(names)
        if state not in ("PENDING", "CONFIGURING"):
            raise CouldNotTell(f"SLURM's job {job} ended in the queue: {state or 'it is no longer known'}.")
        if reason != said:
            said = reason
            tell(Event(time.time(), "phase", None, None, {"phase": "queue", "why": f"job {job}: {reason}"}))
        await asyncio.sleep(LOOK_SECONDS)


def named(run: Run, given: list[str]) -> tuple[Node, ...]:
    """The nodes in SLURM's order: the first is where the job's script runs, and so the head."""
    written = {node.name: node for node in run.cluster.nodes}
    stands_for = run.cluster.nodes
    nodes = []
    for rank, name in enumerate(given):
        node = written.get(name) or stands_for[min(rank, len(stands_for) - 1)]
        nodes.append(replace(node, name=name, address=name, rank=rank))
    return tuple(nodes)


def with_nodes(run: Run, job: str, given: list[str]) -> Run:
    cluster: Cluster = replace(run.cluster, nodes=named(run, given))
    return replace(run, cluster=cluster, nodes_known=True, launch=replace(run.launch, address=job))


async def cancel(job: str) -> None:
    await HERE.run(["scancel", job])
