"""SLURM's jobs: submits them, asks for their state, and cancels those that allranks submitted.

These jobs have the comment `allranks:<run id>`. Any other job is never cancelled, even if it has the same name or a
run uses it.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from allranks.core import CouldNotTell
from allranks.core.text import last_line
from allranks.launch import polling
from allranks.launch.launchers.slurm import words
from allranks.launch.polling import Together, of_loop
from allranks.launch.starting import without_secrets
from allranks.spec import Run
from allranks.transport.base import Completed, Unreachable
from allranks.transport.local import LocalTransport

NAME = "SLURM"
HERE = LocalTransport("this machine")
MARK = "allranks:"
QUEUED = ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SUSPENDED")
"""squeue's states of a job that has not ended and does not run (squeue(1), JOB STATE CODES)."""

FIELDS = "%A|%i|%T|%u|%R|%r|%N|%k"
"""Job id (each task of an array has its own), the same as `ARRAY_TASK`, state, user, reason or nodes, reason, nodes,
comment. The comment comes last, since it may contain anything."""


@dataclass(frozen=True)
class Job:
    """One job as squeue reports it. `state` is empty if SLURM no longer knows the job."""

    number: str
    state: str = ""
    reason: str = ""
    nodes: str = ""
    comment: str = ""
    shown: str = ""

    @property
    def task(self) -> int | None:
        """Its index in an array; None for a job that is not in an array."""
        match = re.fullmatch(r"[0-9]+_([0-9]+)", self.shown)
        return int(match[1]) if match else None

    @property
    def waits(self) -> bool:
        return self.state in QUEUED

    @property
    def runs(self) -> bool:
        return self.state in ("RUNNING", "COMPLETING")

    def is_of(self, run_id: str) -> bool:
        """Whether it was submitted for this run, or for the sweep that this run belongs to."""
        mine = self.comment.removeprefix(MARK)
        return self.comment.startswith(MARK) and (run_id == mine or run_id == f"{mine}-{self.task}")


async def slurm_command(command: Sequence[str]) -> Completed | None:
    """Runs a SLURM command; None if this machine does not have it."""
    try:
        return await HERE.run(command)
    except Unreachable:
        return None


async def printed(command: Sequence[str]) -> str:
    """The output of a SLURM command; empty if it fails or does not exist."""
    done = await slurm_command(command)
    return "" if done is None or done.code != 0 else done.out.decode("utf-8", "replace")


async def jobs(numbers: Sequence[str]) -> list[Job]:
    """The jobs; each task of an array is a separate job. Empty if SLURM knows none. Raises CouldNotTell."""
    done = await slurm_command(["squeue", "-h", "-r", "-j", ",".join(numbers), "-o", FIELDS])
    if done is None:
        raise CouldNotTell("squeue is not on the path of this machine: SLURM cannot be asked from here.")
    if done.code != 0 and b"Invalid job id" not in done.err:
        raise CouldNotTell(f"squeue: {error_of(done)}")
    found = []
    for line in done.out.decode("utf-8", "replace").splitlines():
        values = line.split("|", 7)
        if len(values) == 8:
            own, shown, state, _user, _where, reason, nodes, comment = values
            found.append(Job(own, state, reason, nodes, comment, shown))
    return found


def error_of(done: Completed) -> str:
    return last_line(done.err.decode("utf-8", "replace"), f"exit code {done.code}")


_ASKED: WeakKeyDictionary[asyncio.AbstractEventLoop, Together[list[Job]]] = WeakKeyDictionary()


async def job(number: str) -> Job:
    """One job; its state is empty if SLURM no longer knows it. Calls at the same moment share a squeue."""
    # Ask by the array's number: squeue then lists all its tasks.
    known = await of_loop(_ASKED, lambda: Together(jobs)).query(number.partition("_")[0])
    # The number of an array is also the number of one of its tasks.
    return next((job for job in known if number in (job.number, job.shown)), Job(number))


async def cancel(number: str, run_id: str) -> bool:
    """Ends the job if it was submitted for this run. False if it was not, or no longer exists. Raises CouldNotTell if
    SLURM did not take the order: the job may still wait."""
    mine = [job for job in await jobs([number]) if job.is_of(run_id)]
    for job in mine:
        done = await HERE.run(["scancel", job.number if job.task is None else job.shown])
        if done.code != 0:
            raise CouldNotTell(f"scancel: {error_of(done)}")
    return bool(mine)


async def claim(job: Job, run_id: str) -> None:
    """Writes the run's id into the comment of a job of allranks. It uses `ARRAY_TASK`, because the number of one task
    may be the array's, and would change the other tasks, too."""
    if job.comment.startswith(MARK):
        mark = [f"JobId={job.shown or job.number}", f"Comment={MARK}{run_id}"]
        await slurm_command(["scontrol", "update", *mark])


async def turn(first: bool = False) -> None:
    turns = polling.turns()
    if first:
        turns.begin()
    await turns.next()


def allocation(environ: Mapping[str, str]) -> str | None:
    return environ.get("SLURM_JOB_ID")


async def ending(number: str) -> str:
    """How a job ended: `NODE_FAIL (node3 is down: Not responding)`; empty if SLURM does not know it.

    The controller keeps an ended job for MinJobAge (300 s by default); after that only accounting knows.
    """
    text = await printed(["scontrol", "-o", "show", "job", number])
    told = [dict(re.findall(r"(?<!\w)(\w+)=(\S*)", line)) for line in text.splitlines()]
    # Tasks that still wait share one record.
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
    """The numbers of a job in `scontrol show job`: its own number, and `ARRAY_TASK`."""
    task = f"{record.get('ArrayJobId')}_{record.get('ArrayTaskId')}"
    return (record.get("JobId", ""), task)


async def accounted(number: str) -> str:
    """The state in the site's accounting; empty if there is no accounting."""
    text = await printed(["sacct", "-n", "-X", "-P", "-j", number, "-o", "JobID,JobIDRaw,State"])
    lines = [line.split("|") for line in text.splitlines()]
    return next((line[2].strip() for line in lines if len(line) == 3 and number in line[:2]), "")


async def down(nodes: str) -> list[str]:
    """The nodes of a job that SLURM considers down, with its reason."""
    if not nodes or nodes == "(null)":
        return []
    text = await printed(["sinfo", "-h", "-N", "-n", nodes, "-t", "down,drain,fail,unk", "-o", "%N|%E"])
    rows = (line.partition("|") for line in text.splitlines())
    return sorted({f"{name} is down: {why}" for name, _, why in rows if name})


# ---- the run's own job ----


async def submit(run: Run, run_id: str, again: Sequence[Sequence[str]], tasks: int = 0) -> str:
    """Submits the job, or an array of so many tasks. Returns its number. `again` has each task's command."""
    refuse_other_clusters(run)
    requeue = requeues(run)
    options = words.sbatch(run, run_id, await counts_gpus(run), requeue, tasks)
    text = words.script(again if requeue else ())
    # The controller keeps sbatch's whole environment in its spool folder.
    done = await submitted([*without_secrets(run), *options], text, run_id)
    if done.code != 0:
        raise run.refuse(
            "launch",
            f"sbatch: {error_of(done)}",
            "SLURM did not give any nodes.",
            "partition, account, time and extra below launch; sinfo shows what there is",
        )
    return number_in(done)


async def submitted(command: Sequence[str], text: str, run_id: str) -> Completed:
    """Runs sbatch to its end, also after Ctrl-C: SLURM may already have the job, and only sbatch prints its number."""
    submitting = asyncio.ensure_future(HERE.run(command, stdin=text.encode()))
    try:
        return await asyncio.shield(submitting)
    except asyncio.CancelledError:
        done = await submitting
        if done.code == 0:
            await cancel(number_in(done), run_id)
        raise


def number_in(done: Completed) -> str:
    """The job's number in the output of `sbatch --parsable`: `NUMBER`, or `NUMBER;CLUSTER`."""
    return done.out.decode().strip().split(";")[0]


def requeues(run: Run) -> bool:
    """Whether SLURM may requeue the job by itself. It may do so only if that continues the run.

    Raises BadInput if a requeue is requested for a run with secrets: they are not on any disk and would be missing.
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


def refuse_other_clusters(run: Run) -> None:
    """Raises BadInput for a job of another cluster: squeue, scancel and srun would ask this one for its number."""
    asked = [
        word
        for word in run.launch.extra
        if word.split("=")[0] in ("--clusters", "--cluster") or word[:2] == "-M"
    ]
    # Of SLURM_CLUSTERS all commands hear; a site may set it to its own cluster.
    if asked or os.environ.get("SBATCH_CLUSTERS"):
        named = f"launch.extra: {asked[0]}" if asked else "SBATCH_CLUSTERS is set"
        raise run.refuse(
            "launch",
            f"{named}: the job would be on another cluster.",
            "allranks asks the cluster of this machine for its jobs, and would not find this one again.",
            "run allranks on a login node of that cluster, without this setting",
        )


async def counts_gpus(run: Run) -> bool:
    """Whether `--gres=gpu:N` is needed: the run uses GPUs, and the partition has them as a generic resource."""
    where = ["-p", run.launch.partition] if run.launch.partition else []
    return not run.on_cpu and "gpu" in await printed(["sinfo", "-h", "-o", "%G", *where])
