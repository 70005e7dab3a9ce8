"""SLURM's jobs, asked and ended: which allranks started, in what state it is and why, and the end of ours alone.

A job is ours where its comment is `allranks:<run id>`: it was submitted with that. Another job, also one of
the same name or one that a run only uses, is never cancelled.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from allranks.core import CouldNotTell
from allranks.launch import polling
from allranks.launch.launchers.slurm import words
from allranks.launch.polling import Together, of_loop
from allranks.spec import Run
from allranks.transport.base import Completed, Unreachable
from allranks.transport.local import LocalTransport

NAME = "SLURM"
HERE = LocalTransport("this machine")
MARK = "allranks:"
QUEUED = ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SUSPENDED")
"""squeue's states of a job that has not ended and runs nothing at the moment (squeue(1), JOB STATE CODES)."""

FIELDS = "%A|%i|%T|%u|%R|%r|%N|%k"
"""Job id (each task of an array has its own), its name as `ARRAY_TASK`, state, user, reason or nodes, reason,
nodes, comment. The comment comes last: it may hold anything."""


@dataclass(frozen=True)
class Job:
    """One job as squeue tells of it. `state` is empty where SLURM knows the job no more."""

    number: str
    state: str = ""
    reason: str = ""
    nodes: str = ""
    comment: str = ""
    shown: str = ""

    @property
    def task(self) -> int | None:
        """Its index in an array; None for a job of its own."""
        match = re.fullmatch(r"[0-9]+_([0-9]+)", self.shown)
        return int(match[1]) if match else None

    @property
    def waits(self) -> bool:
        return self.state in QUEUED

    @property
    def runs(self) -> bool:
        return self.state in ("RUNNING", "COMPLETING")

    def is_of(self, run_id: str) -> bool:
        """Whether it was submitted for this run, or for the sweep that the run is a part of."""
        mine = self.comment.removeprefix(MARK)
        return self.comment.startswith(MARK) and (run_id == mine or run_id == f"{mine}-{self.task}")


async def slurm_command(command: Sequence[str]) -> Completed | None:
    """What a SLURM command said; None where there is none here."""
    try:
        return await HERE.run(command)
    except Unreachable:
        return None


async def jobs(numbers: Sequence[str]) -> list[Job]:
    """The jobs, of an array each task; empty if SLURM knows none. Raises CouldNotTell."""
    done = await slurm_command(["squeue", "-h", "-r", "-j", ",".join(numbers), "-o", FIELDS])
    if done is None:
        raise CouldNotTell("squeue is not on the path of this machine: SLURM cannot be asked from here.")
    text = done.out.decode("utf-8", "replace")
    if done.code != 0 and b"Invalid job id" not in done.err:
        said = done.err.decode("utf-8", "replace").strip().splitlines()
        raise CouldNotTell(f"squeue: {said[-1] if said else f'exit code {done.code}'}")
    found = []
    for line in text.splitlines():
        values = line.split("|", 7)
        if len(values) == 8:
            own, shown, state, _user, _where, reason, nodes, comment = values
            found.append(Job(own, state, reason, nodes, comment, shown))
    return found


_ASKED: WeakKeyDictionary[asyncio.AbstractEventLoop, Together[list[Job]]] = WeakKeyDictionary()


async def job(number: str) -> Job:
    """One job; with an empty state if SLURM no longer knows it. Those who look at the same moment share a squeue."""
    # By the array's number: squeue then tells of all its tasks.
    known = await of_loop(_ASKED, lambda: Together(jobs)).query(number.partition("_")[0])
    # The number of an array is that of one of its tasks as well.
    return next((job for job in known if number in (job.number, job.shown)), Job(number))


async def cancel(number: str, run_id: str) -> bool:
    """Ends the job if it was submitted for this run; False where it was not, or is not there any more."""
    mine = [job for job in await jobs([number]) if job.is_of(run_id)]
    for job in mine:
        await HERE.run(["scancel", job.number if job.task is None else job.shown])
    return bool(mine)


async def claim(job: Job, run_id: str) -> None:
    """Says in the comment of a job of ours whose it is. By the array and the task: the number of one task may
    be the array's, and would rename the others."""
    if job.comment.startswith(MARK):
        await slurm_command(
            ["scontrol", "update", f"JobId={job.shown or job.number}", f"Comment={MARK}{run_id}"]
        )


async def turn(first: bool = False) -> None:
    turns = polling.turns()
    if first:
        turns.begin()
    await turns.next()


def allocation(environ: Mapping[str, str]) -> str | None:
    return environ.get("SLURM_JOB_ID")


async def ending(number: str) -> str:
    """How a job ended, as SLURM tells it: `NODE_FAIL (node3 is down: Not responding)`; empty where it knows no more.

    The controller keeps an ended job for MinJobAge (300 s by default); after that only sites with accounting know.
    """
    done = await slurm_command(["scontrol", "-o", "show", "job", number])
    text = "" if done is None or done.code != 0 else done.out.decode("utf-8", "replace")
    told = [dict(re.findall(r"(\w+)=(\S*)", line)) for line in text.splitlines()]
    # A task that still waits with others is told as one record of them all.
    alone = told[0] if len(told) == 1 and "_" in number else {}
    values = next((one for one in told if number in names_in(one)), alone)
    state = values.get("JobState", "") or await accounted(number)
    if not state:
        return ""
    more = []
    if values.get("Reason", "None") not in ("None", "", state):
        more.append(values["Reason"])
    if state == "NODE_FAIL" or values.get("Reason") == "NodeDown":
        more += await down(values.get("NodeList", ""))
    return state + (f" ({'; '.join(more)})" if more else "")


def names_in(record: Mapping[str, str]) -> tuple[str, ...]:
    """The numbers under which `scontrol show job` knows a job: its own, and `ARRAY_TASK`."""
    task = f"{record.get('ArrayJobId')}_{record.get('ArrayTaskId')}"
    return (record.get("JobId", ""), task)


async def accounted(number: str) -> str:
    """The state by the site's accounting; empty where there is none."""
    done = await slurm_command(["sacct", "-n", "-X", "-P", "-j", number, "-o", "JobID,JobIDRaw,State"])
    text = "" if done is None or done.code != 0 else done.out.decode("utf-8", "replace")
    lines = [line.split("|") for line in text.splitlines()]
    return next((line[2].strip() for line in lines if len(line) == 3 and number in line[:2]), "")


async def down(nodes: str) -> list[str]:
    """Those of a job's nodes that SLURM holds for down, with its reason."""
    if not nodes or nodes == "(null)":
        return []
    done = await slurm_command(["sinfo", "-h", "-N", "-n", nodes, "-t", "down,drain,fail,unk", "-o", "%N|%E"])
    lines = [] if done is None else done.out.decode("utf-8", "replace").splitlines()
    return sorted(
        {f"{name} is down: {why}" for name, _, why in (line.partition("|") for line in lines) if name}
    )


# ---- a job of our own ----


async def submit(run: Run, run_id: str, again: Sequence[Sequence[str]], tasks: int = 0) -> str:
    """Submits the job, or an array of so many tasks; its number. `again` holds each one's command."""
    # sbatch keeps its whole environment in the controller's spool folder; secrets go another way.
    without = [word for name in run.secrets for word in ("-u", name)]
    requeue = requeues(run)
    options = words.sbatch(run, run_id, await counts_gpus(run), requeue, tasks)
    text = words.script(again if requeue else ())
    done = await asked_of_slurm(["env", *without, *options], text, run_id)
    if done.code != 0:
        why = done.err.decode("utf-8", "replace").strip().splitlines()
        raise run.refuse(
            "launch",
            f"sbatch: {why[-1] if why else f'exit code {done.code}'}",
            "SLURM did not give any nodes.",
            "partition, account, time and extra below launch; sinfo shows what there is",
        )
    return number_in(done)


async def asked_of_slurm(command: Sequence[str], text: str, run_id: str) -> Completed:
    """sbatch, to its end: SLURM may have the job already when Ctrl-C comes, and only sbatch tells its number."""
    submitting = asyncio.ensure_future(HERE.run(command, stdin=text.encode()))
    try:
        return await asyncio.shield(submitting)
    except asyncio.CancelledError:
        done = await submitting
        if done.code == 0:
            await cancel(number_in(done), run_id)
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
        raise run.refuse(
            "launch",
            f"launch.extra: --requeue, with secrets: {', '.join(run.secrets)}.",
            "their values are not in any file, so a job that SLURM starts again cannot have them.",
            "take one of the two out; without --requeue: run again with resume: auto",
        )
    return (asked or run.resume == "auto") and not run.secrets and "--no-requeue" not in run.launch.extra


async def counts_gpus(run: Run) -> bool:
    """Whether the run needs GPUs and the partition has them as a generic resource: only then `--gres=gpu:N` is asked
    for."""
    where = ["-p", run.launch.partition] if run.launch.partition else []
    if run.on_cpu:
        return False
    done = await slurm_command(["sinfo", "-h", "-o", "%G", *where])
    return done is not None and b"gpu" in done.out
