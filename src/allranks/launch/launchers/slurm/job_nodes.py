"""The nodes of a running SLURM job, reached inside it."""

from __future__ import annotations

from allranks.core import BadInput, Node, Problem
from allranks.launch.launchers.slurm import jobs
from allranks.spec.names import expand
from allranks.transport import Nodes, reached


async def nodes_of_job(number: str) -> Nodes:
    """Connects to the nodes of the job. Raises BadInput for a job without nodes, CouldNotTell if SLURM cannot be
    asked."""
    if not number.replace("_", "").isdigit():
        raise BadInput(
            Problem(f"--slurm-job {number}: not a job's number.", do="squeue --me lists your jobs")
        )
    job = await jobs.job(number)
    if not job.runs or not job.nodes:
        state = job.state or "unknown to SLURM"
        raise BadInput(
            Problem(f"SLURM's job {number} is {state}.", "only a running job can be examined.", "squeue --me")
        )
    nodes = [Node(name=name, address=name, rank=rank) for rank, name in enumerate(expand(job.nodes))]
    return reached(nodes, "slurm", address=job.number)
