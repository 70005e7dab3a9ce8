"""The first phase of a run: it gets its nodes. They exist already, or a batch system allocates them after a wait."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from allranks.core import Cluster, CouldNotTell, Event, Node, told
from allranks.core.run_events import Phase
from allranks.launch.queue import Job, Queue
from allranks.runs import index
from allranks.runs.run_id import new_run_id
from allranks.spec import Run, expand
from allranks.transport import Nodes, open_nodes, reached

SHORT_LIVED_SECONDS = 20.0
"""A queue may not show a new job at once."""

Tell = Callable[[Event], None]


@dataclass
class Acquired:
    """A run's nodes, and the run with their names. `job` is the job that holds them, if it was submitted for this
    run."""

    run: Run
    nodes: Nodes
    run_id: str | None = None
    job: str | None = None

    async def release(self) -> None:
        """Cancels the job if it was submitted for this run. Call it for a run that did not start."""
        await self.nodes.close()
        if self.job is not None and self.run_id is not None:
            await give_back(queue_of(self.run), self.job, self.run_id)


def queue_of(run: Run) -> Queue:
    make = run.launcher.queue
    assert make is not None
    return make()


async def acquire(
    run: Run, tell: Tell, accept_new_hosts: bool = False, again: Sequence[str] = ()
) -> Acquired:
    """Gets the nodes of a run. Raises BadInput if the job is refused, CouldNotTell if the job ends in the queue.

    `again` is the command that starts this run again, for a job that is requeued.
    """
    if run.launcher.queue is None:
        return await there_already(run, accept_new_hosts)
    queue = queue_of(run)
    number = queue.allocation(os.environ)
    if number is not None:
        return await inside(run, number, tell)
    run_id = new_run_id(run.name)
    job = await queue.submit(run, run_id, [again])
    return await one(run, run_id, job, tell)


async def looking(run: Run, accept_new_hosts: bool = False) -> Acquired:
    """For verbs that only look: the nodes as they are, or those of the current allocation. No job is submitted."""
    number = None if run.launcher.queue is None else queue_of(run).allocation(os.environ)
    if number is not None:
        return await inside(run, number, lambda event: None)
    return await there_already(run, accept_new_hosts)


async def there_already(run: Run, accept_new_hosts: bool) -> Acquired:
    """Nodes without a queue. If the run file gives only a number, the launcher's cluster chooses the nodes."""
    if run.launcher.nodes_of is not None and not run.nodes_known:
        run = await run.launcher.nodes_of(run)
    return Acquired(run, open_nodes(run, accept_new_hosts))


# ---- the run's own job ----


async def one(run: Run, run_id: str, job: str, tell: Tell) -> Acquired:
    """Waits for one job's nodes; if that fails, the job is cancelled."""
    queue = queue_of(run)
    try:
        index.remember_waiting(run_id, run, job)
        mine = await granted(queue, job, run_id, tell)
        given = expand(mine.nodes)
        # A task of an array gets its own number when it runs.
        job = mine.number
        return Acquired(with_nodes(run, job, given), nodes_of(run, job, given), run_id, job)
    except BaseException:
        # Also after Ctrl-C in the queue.
        await asyncio.shield(give_back(queue, job, run_id))
        raise


async def give_back(queue: Queue, job: str, run_id: str) -> None:
    await queue.cancel(job, run_id)
    index.forget(run_id)


async def granted(queue: Queue, number: str, run_id: str, tell: Tell) -> Job:
    """Waits in the queue, and reports each new reason for it; the first of the job's nodes is the head."""
    clock = asyncio.get_running_loop().time
    said, begin, first, heard = None, clock(), True, False
    while True:
        await queue.turn(first)
        first = False
        try:
            job = await queue.job(number)
        except CouldNotTell as error:
            if not heard:
                raise
            # it may be starting again: the job waits, and so does the run
            if said != str(error):
                said = str(error)
                tell(told(Phase(phase="queue", why=f"job {number}: {error}")))
            continue
        heard = True
        if job.runs and job.nodes:
            return job
        if not job.waits and not (not job.state and clock() < begin + SHORT_LIVED_SECONDS):
            why = job.state or await queue.ending(number) or f"{queue.NAME} no longer knows it"
            raise CouldNotTell(f"{queue.NAME}'s job {number} of {run_id} ended in the queue: {why}.")
        if job.reason != said:
            said = job.reason
            why = f"job {job.shown or number}: {job.reason}"
            tell(told(Phase(phase="queue", why=why)))


# ---- an existing allocation ----


async def inside(run: Run, number: str, tell: Tell) -> Acquired:
    """The nodes of the allocation that this process runs in. allranks never cancels it, because another user or
    script may have made it."""
    queue = queue_of(run)
    job = await queue.job(number)
    if not job.runs or not job.nodes:
        said = f"but {queue.NAME} reports: {job.state or 'no such job'}."
        raise CouldNotTell(f"The environment's variables say that this is job {number}, {said}")
    there = expand(job.nodes)
    wanted = [node.name for node in run.cluster.nodes] if run.nodes_known else there[: len(run.cluster.nodes)]
    missing = [name for name in wanted if name not in there]
    if missing or len(wanted) < len(run.cluster.nodes):
        saw = f"job {number} has {len(there)} nodes and the run wants {len(run.cluster.nodes)}"
        if missing:
            saw = f"{missing[0]} is not among the nodes of job {number}"
        raise run.refuse(
            "nodes",
            f"{saw}: {job.nodes}.",
            "allranks was started in this allocation, and uses it.",
            f"nodes: {len(there)}, or start it outside of the allocation to get a separate job",
        )
    run_id = new_run_id(run.name)
    why = f"in the allocation of job {number}"
    tell(told(Phase(phase="queue", why=why)))
    await queue.claim(job, run_id)  # a job that allranks submitted may have been queued again
    placed = with_nodes(run, number, wanted)
    placed = replace(placed, launch=replace(placed.launch, inside=True))
    return Acquired(placed, nodes_of(run, number, wanted), run_id)


# ---- names ----


def nodes_of(run: Run, job: str, given: list[str]) -> Nodes:
    return reached(named(run, given), run.launch.with_, address=job)


def named(run: Run, given: list[str]) -> tuple[Node, ...]:
    """The nodes in the job's order: the job's script runs on the first one, which is the head."""
    described = run.cluster.nodes
    written = {node.name: node for node in described}
    nodes = []
    for rank, name in enumerate(given):
        node = written.get(name) or described[min(rank, len(described) - 1)]
        nodes.append(replace(node, name=name, address=name, rank=rank))
    return tuple(nodes)


def with_nodes(run: Run, job: str, given: list[str]) -> Run:
    cluster: Cluster = replace(run.cluster, nodes=named(run, given))
    return replace(run, cluster=cluster, nodes_known=True, launch=replace(run.launch, address=job))
