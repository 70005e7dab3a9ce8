"""The first phase of a run: its nodes. They are there already, or SLURM gives them after a wait in its queue."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from allranks.core import BadInput, Cluster, CouldNotTell, Event, Node, Problem
from allranks.launch.engines import slurm
from allranks.runs import index, ray_nodes, slurm_jobs, slurm_poll
from allranks.runs.run_id import new_run_id
from allranks.runs.slurm_jobs import HERE, Job
from allranks.spec import Run, expand
from allranks.transport import Completed, Nodes, open_nodes, reached

SHORT_LIVED_SECONDS = 20.0
"""squeue may not show a job at once that sbatch has just given a number."""

Tell = Callable[[Event], None]


@dataclass
class Acquired:
    """A run's nodes, and the run with the names that they turned out to have. `job` is SLURM's, where it is ours."""

    run: Run
    nodes: Nodes
    run_id: str | None = None
    job: str | None = None

    async def release(self) -> None:
        """For a run that did not start: gives the nodes back. Only ever our own job."""
        await self.nodes.close()
        if self.job is not None and self.run_id is not None:
            await give_back(self.job, self.run_id)


async def acquire(
    run: Run, tell: Tell, accept_new_hosts: bool = False, again: Sequence[str] = ()
) -> Acquired:
    """Raises BadInput for a job that SLURM refuses, CouldNotTell where the job ends in the queue.

    `again` is the command that would start this run once more, for a job that SLURM queues again.
    """
    if run.launch.with_ != "slurm":
        return await there_already(run, accept_new_hosts)
    if "SLURM_JOB_ID" in os.environ:
        return await inside(run, os.environ["SLURM_JOB_ID"], tell)
    run_id = new_run_id(run.name)
    job = await submitted(run, run_id, [again])
    return await one(run, run_id, job, tell)


async def looking(run: Run, accept_new_hosts: bool = False) -> Acquired:
    """For verbs that only look: the nodes as they are, those of the allocation that we are in, no job."""
    if run.launch.with_ == "slurm" and "SLURM_JOB_ID" in os.environ:
        return await inside(run, os.environ["SLURM_JOB_ID"], lambda event: None)
    return await there_already(run, accept_new_hosts)


async def there_already(run: Run, accept_new_hosts: bool) -> Acquired:
    """Nodes that need no waiting for; a Ray cluster says which ones they are where the run file gives a number."""
    if run.launch.with_ == "ray" and not run.nodes_known:
        run = await ray_nodes.chosen(run)
    return Acquired(run, open_nodes(run, accept_new_hosts))


# ---- a job of our own ----


async def submitted(run: Run, run_id: str, again: Sequence[Sequence[str]], tasks: int = 0) -> str:
    """Submits the job, or an array of so many tasks; its number. `again` holds each one's command."""
    # sbatch keeps its whole environment in the controller's spool folder; secrets go another way.
    without = [word for name in run.secrets for word in ("-u", name)]
    requeue = requeues(run)
    words = slurm.sbatch(run, run_id, await counts_gpus(run), requeue, tasks)
    text = slurm.script(again if requeue else ())
    done = await asked_of_slurm(["env", *without, *words], text, run_id)
    if done.code != 0:
        why = done.err.decode("utf-8", "replace").strip().splitlines()
        raise refused(
            run,
            f"sbatch: {why[-1] if why else f'exit code {done.code}'}",
            "SLURM gives no nodes.",
            "partition, account, time and extra below launch; sinfo shows what there is",
        )
    return number_in(done)


async def asked_of_slurm(words: Sequence[str], text: str, run_id: str) -> Completed:
    """sbatch, to its end: SLURM may have the job already when Ctrl-C comes, and only sbatch tells its number."""
    submitting = asyncio.ensure_future(HERE.run(words, stdin=text.encode()))
    try:
        return await asyncio.shield(submitting)
    except asyncio.CancelledError:
        done = await submitting
        if done.code == 0:
            await give_back(number_in(done), run_id)
        raise


def number_in(done: Completed) -> str:
    """The job's number in what `sbatch --parsable` printed: `NUMBER`, or `NUMBER;CLUSTER`."""
    return done.out.decode().strip().split(";")[0]


def requeues(run: Run) -> bool:
    """Whether SLURM may start the job again by itself: where that takes the run up instead of beginning anew.

    Raises BadInput where it is asked for and the secrets, which are nowhere on a disk, could not come along.
    """
    asked = "--requeue" in run.launch.extra
    if asked and run.secrets:
        raise refused(
            run,
            f"launch.extra: --requeue, with secrets: {', '.join(run.secrets)}.",
            "their values stand in no file, so a job that SLURM starts again cannot have them.",
            "take one of the two out; without --requeue: run again with resume: auto",
        )
    return (asked or run.resume == "auto") and not run.secrets and "--no-requeue" not in run.launch.extra


async def counts_gpus(run: Run) -> bool:
    """Whether the run needs GPUs and the partition has them as a generic resource: only then `--gres=gpu:N` is asked
    for."""
    where = ["-p", run.launch.partition] if run.launch.partition else []
    if run.on_cpu:
        return False
    done = await slurm_jobs.slurm_command(["sinfo", "-h", "-o", "%G", *where])
    return done is not None and b"gpu" in done.out


async def one(run: Run, run_id: str, job: str, tell: Tell) -> Acquired:
    """Waits for one job's nodes; without them the job is given back."""
    try:
        index.remember_waiting(run_id, run, job)
        mine = await granted(job, run_id, tell)
        given = expand(mine.nodes)
        # A task of an array has a number of its own once it runs.
        job = mine.number
        return Acquired(with_nodes(run, job, given), nodes_of(run, job, given), run_id, job)
    except BaseException:
        # Also Ctrl-C in the queue.
        await asyncio.shield(give_back(job, run_id))
        raise


async def give_back(job: str, run_id: str) -> None:
    await slurm_jobs.cancel(job, run_id)
    index.forget(run_id)


async def granted(number: str, run_id: str, tell: Tell) -> Job:
    """Waits in the queue, and says each time SLURM's reason changes; the first of its nodes is the head."""
    turns, clock = slurm_poll.turns(), asyncio.get_running_loop().time
    said, begin = None, clock()
    turns.begin()
    while True:
        await turns.next()
        job = await slurm_jobs.job(number)
        if job.runs and job.nodes:
            return job
        if not job.waits and not (not job.state and clock() < begin + SHORT_LIVED_SECONDS):
            why = job.state or await slurm_jobs.ending(number) or "SLURM knows it no more"
            raise CouldNotTell(f"SLURM's job {number} of {run_id} ended in the queue: {why}.")
        if job.reason != said:
            said = job.reason
            why = f"job {job.shown or number}: {job.reason}"
            tell(Event(time.time(), "phase", None, None, {"phase": "queue", "why": why}))


# ---- an allocation that we are in ----


async def inside(run: Run, number: str, tell: Tell) -> Acquired:
    """The nodes of the allocation that this process is in. It is never given back: it may not be ours."""
    job = await slurm_jobs.job(number)
    if not job.runs or not job.nodes:
        raise CouldNotTell(f"SLURM_JOB_ID is {number}, and SLURM says of it: {job.state or 'no such job'}.")
    there = expand(job.nodes)
    wanted = [node.name for node in run.cluster.nodes] if run.nodes_known else there[: len(run.cluster.nodes)]
    missing = [name for name in wanted if name not in there]
    if missing or len(wanted) < len(run.cluster.nodes):
        saw = (
            f"{missing[0]} is not among the nodes of job {number}"
            if missing
            else (f"job {number} has {len(there)} nodes and the run wants {len(run.cluster.nodes)}")
        )
        raise refused(
            run,
            f"{saw}: {job.nodes}.",
            "allranks was started in this allocation, and uses it.",
            f"nodes: {len(there)}, or env -u SLURM_JOB_ID allranks run … for a job of its own",
            key="nodes",
        )
    run_id = new_run_id(run.name)
    why = f"in the allocation of job {number}"
    tell(Event(time.time(), "phase", None, None, {"phase": "queue", "why": why}))
    if job.comment.startswith(slurm_jobs.MARK):
        await slurm_jobs.mark(job, run_id)  # a job of ours that SLURM has started again
    placed = with_nodes(run, number, wanted)
    placed = replace(placed, launch=replace(placed.launch, inside=True))
    return Acquired(placed, nodes_of(run, number, wanted), run_id)


# ---- names ----


def nodes_of(run: Run, job: str, given: list[str]) -> Nodes:
    return reached(named(run, given), "slurm", address=job)


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


def refused(run: Run, saw: str, why: str, do: str, key: str = "launch") -> BadInput:
    return BadInput(Problem(saw, why=why, do=do, file=run.file, line=run.line(key)))
